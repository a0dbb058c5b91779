/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ticks.h - ticks for tests of the control law, with everything at rest
 *
 * One device with room and one pool at a fifth of its limit; cgroups that have
 * all knobs, write-back on and nothing going on. A test changes what it is
 * about.
 */
#ifndef ZFOLIO_TESTS_TICKS_H
#define ZFOLIO_TESTS_TICKS_H

#include <string.h>

#include "../zfoliod/tick.h"

#define MIB (UINT64_C(1) << 20)
#define TICKS_MAX_CGROUPS 16

struct ticks {
	struct tick tick;
	struct device_sample device;
	struct cgroup_sample cgroups[TICKS_MAX_CGROUPS];
	struct policy policies[TICKS_MAX_CGROUPS];
	char paths[TICKS_MAX_CGROUPS][16];
};

static inline void ticks_init(struct ticks *t, size_t nr_cgroups)
{
	memset(t, 0, sizeof(*t));
	t->device = (struct device_sample){
		.name = "vda", .policy = device_policy_default,
		.size = 4096 * MIB, .priority = -2,
	};
	t->tick = (struct tick){
		.elapsed = settings_default.interval, .page_size = 4096,
		.pool = 20 * MIB, .pool_limit = 100 * MIB,
		.sizes = 1 << 4 | 1 << 8,	/* 64 KiB and 1 MiB */
		.devices = &t->device, .nr_devices = 1,
		.cgroups = t->cgroups, .nr_cgroups = nr_cgroups,
	};
	for (size_t i = 0; i < TICKS_MAX_CGROUPS; i++) {
		struct cgroup_sample *cgroup = &t->cgroups[i];

		t->policies[i] = policy_default;
		strcpy(t->paths[i], "test.slice/a");
		t->paths[i][11] += i;
		cgroup->id = 100 + i;
		cgroup->path = t->paths[i];
		cgroup->policy = &t->policies[i];
		cgroup->has = KNOB_BIT(NR_KNOBS) - 1;
		cgroup->has_pswpin = true;
		cgroup->of[FIELD_CURRENT] = 64 * MIB;
		cgroup->of[FIELD_SWAP] = 64 * MIB;
		cgroup->of[FIELD_ZSWAPPED] = 32 * MIB;
		cgroup->of[FIELD_ZSWAP] = 8 * MIB;
		cgroup->of[FIELD_ZSWAP_MAX] = UINT64_MAX;
		cgroup->of[FIELD_SWAPIN_MAX] = UINT64_MAX;
		cgroup->of[FIELD_WRITEBACK] = 1;
		cgroup->of[FIELD_WRITEBACK_HERE] = 1;
	}
}

#endif
