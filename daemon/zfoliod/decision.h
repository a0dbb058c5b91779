/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decision.h - what the control law decides, why, and how that is said
 */
#ifndef ZFOLIOD_DECISION_H
#define ZFOLIOD_DECISION_H

#include "tick.h"

enum reason {
	REASON_THRASH,			/* ppm a minute of the memory */
	REASON_DISK_REFAULTS,		/* ppm a minute of the stock on disk */
	REASON_STORES_REFUSED,		/* pages */
	REASON_POOL_NEAR_LIMIT,		/* ppm of the pool's limit */
	REASON_CONFIGURED,		/* the configured value */
	REASON_CALM,			/* microseconds */
	REASON_POOL_ABOVE_LOW,		/* ppm of the pool's limit */
	REASON_ABOVE_TARGET,		/* compressed bytes of the cgroup */
	REASON_MEMORY_PRESSURE,		/* ppm of the time */
	REASON_IO_PRESSURE,		/* likewise */
	NR_REASONS
};

struct decision {
	uint64_t id;
	const char *path;	/* belongs to the tick */
	enum knob knob;
	uint64_t old, value;	/* for KNOB_RECLAIM @value compressed bytes, or
				 * 0 to cancel what is running */
	uint64_t cost;		/* of KNOB_RECLAIM: bytes on the device */
	enum reason reason;
	uint64_t signal;	/* in the unit of the reason */
	uint64_t threshold;	/* likewise */
};

/* The word for a reason, as the journal's field REASON= has it. */
extern const char *const reason_words[NR_REASONS];

/* The reason for people: "pool at 62.50% of its limit, above 50.00%". */
#define REASON_TEXT_LEN 160
const char *decision_format_reason(const struct decision *decision,
				   char text[REASON_TEXT_LEN]);

/* What is done and why: "memory.zswap.writeback 1 -> 0: " and the reason. */
#define DECISION_ACTION_LEN 320
const char *decision_format_action(const struct decision *decision,
				   char text[DECISION_ACTION_LEN]);

/* All of it: "system.slice/a: memory.zswap.writeback 1 -> 0: " and the reason. */
#define DECISION_TEXT_LEN 640
const char *decision_format(const struct decision *decision,
			    char text[DECISION_TEXT_LEN]);

/* What is written into the knob's file, as "1048576 source=zswap" or "max". */
#define DECISION_VALUE_LEN 48
const char *decision_value(enum knob knob, uint64_t value,
			   char text[DECISION_VALUE_LEN]);

#endif
