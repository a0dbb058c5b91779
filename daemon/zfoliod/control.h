/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.h - the control law: state and a tick give decisions
 *
 * Pure: no file is read or written, and there is no clock but the tick's
 * elapsed time. The same ticks always give the same decisions. Time is real
 * time; the thresholds are those of policy.h, and every decision says which
 * signal it comes from, its value and the threshold.
 *
 * For each cgroup at most one knob is decided on a tick, the first of:
 *
 *  1. memory.zswap.swapin_max one size lower. Pages come in and go out at the
 *     same time: the smaller of both flows is above thrash_limit (share of the
 *     cgroup's memory) and memory pressure above memory_pressure for
 *     thrash_ticks in a row. Large folios then bring in pages that are thrown
 *     out again.
 *  2. memory.zswap.writeback off. Pages come back from the device: disk
 *     refaults are above off_refaults (share of the cgroup's stock on disk) for
 *     off_ticks in a row. Not while stores are refused or the pool is above the
 *     middle of pool_low and pool_high: its pages might have nowhere to go.
 *  3. memory.zswap.writeback on, only where this law switched it off, when
 *     stores are refused or the pool is above pool_high. Never without a swap
 *     device that has room and is not reserved.
 *  4. values that the configuration fixes: writeback = on or off, zswap_max,
 *     and the upper bound swapin_max.
 *  5. memory.zswap.swapin_max one size higher, up to what was found: the flow
 *     and the pressure were below half of their limits for the time of calm.
 *  6. memory.reclaim "N source=zswap", a step of proactive write-back: the pool
 *     is above pool_low or the cgroup above its pool_target, pressure and
 *     disk refaults (averaged over a minute) are below their limits, and the
 *     device has budget (budget.h). The step grows by step_min after each
 *     write-back that was done in full, up to step_max, and is halved on
 *     pressure, refaults and failures, down to step_min. One that is running
 *     when pressure or refaults are above their limits is cancelled.
 *
 * 1 to 5 change one knob of one cgroup at most once a dwell; the first change
 * may come at once. Cgroups that ask for write-back are served by weight: the
 * one that had the least for its weight comes first.
 *
 * A cgroup's first tick, and a tick after a jump of the clock (suspend, a
 * machine that stood still), decide nothing. A cgroup that is missing in a tick
 * is forgotten; ids, not paths, tell cgroups apart.
 */
#ifndef ZFOLIOD_CONTROL_H
#define ZFOLIOD_CONTROL_H

#include <zfolio/cleanup.h>

#include "decision.h"

/* A longer tick than this many intervals is a jump of the clock. */
#define CONTROL_JUMP_INTERVALS 5

static inline bool control_is_jump(const struct settings *settings,
				   const struct tick *tick)
{
	return tick->elapsed > settings->interval * CONTROL_JUMP_INTERVALS;
}

struct control;

/* Return: 0 or -ENOMEM. */
int control_new(struct control **ret_control);

void control_free(struct control *control);
ZF_DEFINE_CLEANUP(struct control, control_free, control_free)

/**
 * control_tick() - decide
 * @control:	state; changed only on success
 * @settings:	[daemon]
 * @tick:	what happened and what is; the policies stand in it
 * @ret_decisions: ordered by id; belong to @control until the next call
 * @ret_nr:	number of them
 *
 * Return: 0 or -ENOMEM.
 */
int control_tick(struct control *control, const struct settings *settings,
		 const struct tick *tick,
		 const struct decision **ret_decisions, size_t *ret_nr);

/* Forget all cgroups; what was taken from the budgets stays taken. */
void control_forget_cgroups(struct control *control);

/* Forget one: it is looked at as one that has just come. */
void control_forget_cgroup(struct control *control, uint64_t id);

/* How many cgroups it remembers. */
size_t control_nr_cgroups(const struct control *control);

#endif
