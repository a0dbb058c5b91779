/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget.h - how much may be written to a swap device
 *
 * Two token buckets in bytes on the device. The first holds what write_rate
 * gives in the time of one burst and is refilled at write_rate. The second
 * holds an eighth of write_daily and is refilled with the other seven eighths
 * over its period. So in every stretch of time T
 *
 *	taken <= write_rate * (T + burst)
 *	taken <= write_daily, for any T up to the period of write_daily
 *
 * hold without rounding errors: fractions of a byte are carried over. What
 * others write to the device is taken from both buckets as far as they reach,
 * since wear does not ask who wrote.
 *
 * Nothing here has a clock: the caller says how much time has passed.
 */
#ifndef ZFOLIOD_BUDGET_H
#define ZFOLIOD_BUDGET_H

#include <stdint.h>

#include "policy.h"

struct bucket {
	uint64_t tokens;
	uint64_t carry;		/* of the last refill, in byte-microseconds */
};

struct budget {
	struct bucket rate;
	struct bucket daily;
	uint64_t granted;	/* taken, and not yet seen among what was written */
};

/*
 * Both buckets full, as when the system started, but for what has been written
 * in its @uptime beyond that time's refill of write_daily: so that starting
 * again and again gives no budget anew.
 */
void budget_start(struct budget *budget, const struct device_policy *policy,
		  uint64_t burst, uint64_t written, uint64_t uptime);

/* Time passes; also cuts the buckets down after the policy has changed. */
void budget_refill(struct budget *budget, const struct device_policy *policy,
		   uint64_t burst, uint64_t elapsed);

/*
 * @bytes were seen to be written to the device: first what was granted, the
 * rest by others.
 */
void budget_see_written(struct budget *budget, uint64_t bytes);

/* The most that may ever be taken at once. */
uint64_t budget_capacity(const struct device_policy *policy, uint64_t burst);

/* What may be taken now. */
uint64_t budget_available(const struct budget *budget);

/* Take @bytes, which must be available. */
void budget_take(struct budget *budget, uint64_t bytes);

#endif
