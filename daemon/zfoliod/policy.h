/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - what an administrator can choose, with its defaults
 *
 * The values of [daemon], [device NAME] and [cgroup GLOB] as the control law
 * takes them. The names of the members are the keys of the configuration; the
 * defaults stand in policy.c beside the reason for each. Units: bytes,
 * microseconds, parts per million (ZF_PPM is all), ticks.
 */
#ifndef ZFOLIOD_POLICY_H
#define ZFOLIOD_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include <zfolio/units.h>

/* What to do when somebody else changes a value that the daemon has set. */
enum drift_mode {
	DRIFT_RESPECT,		/* leave it and never touch this one again */
	DRIFT_REAPPLY,		/* write it again, at most each reapply_interval */
};

/* How memory.zswap.writeback of a cgroup is treated. */
enum writeback_mode {
	WRITEBACK_AUTO,		/* off while pages keep coming back from disk */
	WRITEBACK_ON,		/* kept on */
	WRITEBACK_OFF,		/* kept off: no page of it goes to disk */
	WRITEBACK_LEAVE,	/* not touched */
};

/* How memory.zswap.swapin_max of a cgroup is treated. */
enum swapin_mode {
	SWAPIN_AUTO,		/* lower while it thrashes, higher when calm */
	SWAPIN_LEAVE,		/* not touched */
};

/* [daemon] */
struct settings {
	uint64_t interval;		/* time between two ticks */
	uint64_t rescan;		/* time between two walks of the tree */
	uint64_t pool_low;		/* ppm of the pool's limit: write back above */
	uint64_t pool_high;		/* ppm: near the limit */
	uint64_t burst;			/* time whose write_rate may be spent at once */
	uint64_t reclaim_timeout;	/* one write-back may take so long */
	uint64_t reapply_interval;
	enum drift_mode drift;
	uint64_t group;			/* whose members may ask; GROUP_NONE: only root */
};

#define GROUP_NONE UINT64_MAX

/* [device NAME]: a swap device, by its name in /proc/swaps without /dev/ */
struct device_policy {
	struct zf_rate write_rate;	/* bytes written back each second */
	struct zf_rate write_daily;	/* bytes written back each day */
	bool reserved;			/* kept for hibernation: nothing is sent there */
};

/* [cgroup GLOB] */
struct policy {
	enum writeback_mode writeback;
	enum swapin_mode swapin;
	bool proactive;			/* write back before anything has to */
	bool subtree;			/* one unit: nothing below is touched */
	uint64_t weight;		/* share of the budget among those that ask */
	struct zf_amount pool_target;	/* compressed; shares are of the pool's limit */
	uint64_t step_min;		/* compressed bytes of one write-back */
	uint64_t step_max;
	uint64_t memory_pressure;	/* ppm of time with some task waiting */
	uint64_t io_pressure;
	struct zf_rate refault_limit;	/* of the stock on disk: no write-back above */
	struct zf_rate off_refaults;	/* of the stock on disk: write-back off above */
	uint64_t off_ticks;		/* ticks above it in a row */
	struct zf_rate thrash_limit;	/* of the memory, both in and out */
	uint64_t thrash_ticks;		/* ticks above it in a row */
	uint64_t calm;			/* time below half of it before sizes grow */
	uint64_t dwell;			/* least time between changes of one knob */
	uint64_t swapin_min;		/* bounds of memory.zswap.swapin_max */
	uint64_t swapin_max;		/* UINT64_MAX: no limit */
	struct zf_amount zswap_max;	/* memory.zswap.max; shares as above */
};

/* As zswap_max: memory.zswap.max is not touched. No share is that large. */
#define AMOUNT_LEAVE ((struct zf_amount){ .value = UINT64_MAX, .is_share = true })

static inline bool amount_is_leave(struct zf_amount amount)
{
	return amount.is_share && amount.value == UINT64_MAX;
}

/*
 * Whether the values fit each other: NULL, or what is wrong, as "step_min:
 * expected at most step_max".
 */
const char *policy_check(const struct policy *policy);

extern const struct settings settings_default;
extern const struct device_policy device_policy_default;
extern const struct policy policy_default;

#endif
