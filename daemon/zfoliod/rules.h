/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h - the rules of control.h for one cgroup on one tick
 *
 * What the law remembers of a cgroup between ticks, what a tick says about it,
 * and the rules in the order in which control.h numbers them. Only control.c
 * calls these.
 */
#ifndef ZFOLIOD_RULES_H
#define ZFOLIOD_RULES_H

#include "budget.h"
#include "decision.h"

/*
 * Stocks and memories below this count as this much: with less, one page a
 * tick would be a signal.
 */
#define RULES_STOCK_MIN (16ULL << 20)

/* A cgroup between ticks. */
struct unit {
	uint64_t id;
	uint64_t changed_at[NR_KNOBS];	/* in the time of struct control */
	uint32_t changed;		/* KNOB_BIT(): changed_at is valid */
	uint32_t hot_ticks;		/* disk refaults above off_refaults */
	uint32_t thrash_ticks;
	uint64_t calm_for;		/* flow and pressure below half */
	uint64_t refault_pace;		/* average, ppm a minute */
	uint64_t step;
	uint64_t served;		/* cost by weight: who is next */
	uint64_t swapin_found;		/* before the first lowering */
	bool lowered;			/* swapin_found is valid */
	bool switched_off;		/* write-back, by this law */
};

/* What one tick knows about one cgroup, worked out once. */
struct signals {
	uint64_t memory_pressure;	/* ppm */
	uint64_t io_pressure;
	uint64_t refault_pace;		/* ppm a minute of the stock on disk */
	uint64_t flow_pace;		/* ppm a minute of the memory */
};

/* What one tick knows about all of them. */
struct call {
	uint64_t now;				/* sum of all ticks, microseconds */
	const struct settings *settings;
	const struct tick *tick;
	const struct device_sample *device;	/* where pages go now, or NULL */
	struct budget *budget;			/* its budget */
	uint64_t capacity;			/* the most that it ever holds */
	uint64_t pool_excess;			/* bytes above pool_low */
	uint64_t pool_level;			/* ppm of the limit */
};

/* Signals of a sample; the tick's elapsed time is not 0. */
struct signals rules_signals(const struct cgroup_sample *sample,
			     const struct tick *tick);

/* Averages, and ticks and times in a row; once a tick, before the rest. */
void rules_watch(const struct call *call, struct unit *unit,
		 const struct cgroup_sample *sample, const struct signals *s);

/* What was counted before a jump says nothing about the time after it. */
void rules_forget_trend(struct unit *unit);

/* Rules 1 to 5: true with a decision in *d, without its id and path. */
bool rules_knob(const struct call *call, struct unit *unit,
		const struct cgroup_sample *sample, const struct signals *s,
		struct decision *d);

/* Whether rule 6 may take a step of write-back on this tick. */
bool rules_asks(const struct call *call, const struct unit *unit,
		const struct cgroup_sample *sample, const struct signals *s);

/* Whether a write-back that is running is to end: true with that in *d. */
bool rules_cancel(const struct unit *unit, const struct cgroup_sample *sample,
		  const struct signals *s, struct decision *d);

/*
 * Rule 6: as rules_knob(), for those that ask, in the order in which they are
 * to be served; takes from the budget and from the pool's excess.
 */
bool rules_writeback(struct call *call, struct unit *unit,
		     const struct cgroup_sample *sample, struct decision *d);

#endif
