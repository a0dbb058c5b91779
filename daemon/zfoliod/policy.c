// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>

#include "policy.h"

const struct settings settings_default = {
	/* PSI averages its shortest window each two seconds as well. */
	.interval = 2 * ZF_USEC_PER_SEC,
	/* A cgroup that lives shorter is not worth tuning. */
	.rescan = 10 * ZF_USEC_PER_SEC,
	/* Half the pool stays for what may come back soon. */
	.pool_low = 500000,
	/* zswap itself accepts stores again at 90 % (accept_threshold_percent). */
	.pool_high = 900000,
	/* Long enough for one step_max out of write_rate. */
	.burst = 10 * ZF_USEC_PER_SEC,
	/* A disk that takes longer for one step is the bottleneck. */
	.reclaim_timeout = 30 * ZF_USEC_PER_SEC,
	/* Two owners who write in turn should cost nothing. */
	.reapply_interval = ZF_USEC_PER_MIN,
	/* Whoever changed it knew what for. */
	.drift = DRIFT_RESPECT,
	/* Names of cgroups and what they do are not for everybody. */
	.group = GROUP_NONE,
};

const struct device_policy device_policy_default = {
	/* A fiftieth of what a SATA SSD writes: nobody else notices. */
	.write_rate = { .amount = 8 << 20, .usec = ZF_USEC_PER_SEC },
	/* A consumer SSD is warranted for about 0.3 drive writes a day: 1/15
	 * of that on a disk of 1 TB. */
	.write_daily = { .amount = 20ULL << 30, .usec = ZF_USEC_PER_DAY },
	.reserved = false,
};

const struct policy policy_default = {
	.writeback = WRITEBACK_AUTO,
	.swapin = SWAPIN_AUTO,
	.proactive = true,
	.subtree = false,
	/* As cgroup v2's own weights: 1 to 10000. */
	.weight = 100,
	/* The pool's watermark alone decides, until somebody says more. */
	.pool_target = { .value = UINT64_MAX },
	/* One step becomes a few requests that a disk likes (100 KiB and up). */
	.step_min = 1 << 20,
	/* 64 MiB compressed are some 200 MiB on disk: a second of a SATA SSD. */
	.step_max = 64 << 20,
	/* Tasks that wait a tenth of the time are slowed by what we can see. */
	.memory_pressure = 100000,
	.io_pressure = 200000,
	/* Google's g-swap bounds promotions to 0.2 % of the working set a
	 * minute; the stock on disk is the part that we sent away. */
	.refault_limit = { .amount = 2000, .usec = ZF_USEC_PER_MIN },
	/* Ten times that: what is written comes back within the hour. */
	.off_refaults = { .amount = 20000, .usec = ZF_USEC_PER_MIN },
	/* One burst of faults is a program that wakes up, three are a habit. */
	.off_ticks = 3,
	/* Five per cent of the memory out and in again each minute: half
	 * of the memory is exchanged within one dwell. */
	.thrash_limit = { .amount = 50000, .usec = ZF_USEC_PER_MIN },
	.thrash_ticks = 3,
	.calm = 5 * ZF_USEC_PER_MIN,
	/* The effect of a change on refaults shows in minutes. */
	.dwell = 10 * ZF_USEC_PER_MIN,
	/* The smallest page of x86 and most arm64 systems. */
	.swapin_min = 4096,
	.swapin_max = UINT64_MAX,
	/* A limit is a decision about the workload. */
	.zswap_max = AMOUNT_LEAVE,
};

const char *policy_check(const struct policy *policy)
{
	if (policy->step_min > policy->step_max)
		return "step_min: expected at most step_max";
	if (policy->swapin_min > policy->swapin_max)
		return "swapin_min: expected at most swapin_max";
	return NULL;
}
