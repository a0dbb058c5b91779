// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control law in a closed loop: a small model of the kernel carries out the
 * decisions, and its counters are the next tick. What has to come of a policy,
 * where test_control.c has single rules.
 *
 * The model: each cgroup has bytes in zswap (compressed 4:1) and on disk;
 * write-back moves them out, a workload reads some back, under pressure or not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/control.h"

#include "ticks.h"

#define SEC ZF_USEC_PER_SEC
#define TICKS_A_MINUTE 30
#define RATIO 4

static struct control *control;
static struct settings settings;
static struct ticks t;
static int changes[TICKS_MAX_CGROUPS];	/* of knobs */
static uint64_t written;

static void start(size_t nr_cgroups)
{
	assert_int_equal(control_new(&control), 0);
	settings = settings_default;
	ticks_init(&t, nr_cgroups);
	memset(changes, 0, sizeof(changes));
	written = 0;
	for (size_t i = 0; i < nr_cgroups; i++) {
		uint64_t *of = t.cgroups[i].of;

		of[FIELD_SWAP] = of[FIELD_ZSWAPPED] = 128 * MIB;
		of[FIELD_ZSWAP] = 128 * MIB / RATIO;
	}
}

static uint64_t on_disk(const struct cgroup_sample *cgroup)
{
	return cgroup->of[FIELD_SWAP] - cgroup->of[FIELD_ZSWAPPED];
}

static void carry_out(const struct decision *d)
{
	struct cgroup_sample *cgroup = &t.cgroups[d->id - 100];

	switch (d->knob) {
	case KNOB_RECLAIM:
		cgroup->of[FIELD_ZSWAP] -= d->value;
		cgroup->of[FIELD_ZSWAPPED] = cgroup->of[FIELD_ZSWAP] * RATIO;
		cgroup->of[FIELD_ZSWPWB] = d->value * RATIO / 4096;
		cgroup->reclaim = RECLAIM_DONE;
		t.device.written += d->value * RATIO;
		written += d->cost;
		return;
	case KNOB_WRITEBACK:
		cgroup->of[FIELD_WRITEBACK] = d->value;
		cgroup->of[FIELD_WRITEBACK_HERE] = d->value;
		break;
	case KNOB_SWAPIN_MAX:
		cgroup->of[FIELD_SWAPIN_MAX] = d->value;
		break;
	default:
		fail();
	}
	changes[d->id - 100]++;
}

/* One tick; what the workload does was put into the cgroups before. */
static void step(void)
{
	const struct decision *d;
	size_t nr;

	t.tick.pool = 0;
	for (size_t i = 0; i < t.tick.nr_cgroups; i++)
		t.tick.pool += t.cgroups[i].of[FIELD_ZSWAP];
	assert_int_equal(control_tick(control, &settings, &t.tick, &d, &nr), 0);
	t.device.written = 0;
	for (size_t i = 0; i < t.tick.nr_cgroups; i++) {
		t.cgroups[i].of[FIELD_ZSWPWB] = 0;
		t.cgroups[i].reclaim = RECLAIM_NONE;
	}
	for (size_t i = 0; i < nr; i++)
		carry_out(&d[i]);
}

/* The workload reads a share (ppm) of its stock on disk back in each minute. */
static void read_back(struct cgroup_sample *cgroup, uint64_t ppm_a_minute)
{
	uint64_t bytes = on_disk(cgroup) * ppm_a_minute / ZF_PPM /
			 TICKS_A_MINUTE;

	cgroup->of[FIELD_PSWPIN] = bytes / 4096;
	cgroup->of[FIELD_SWAP] -= bytes / 4096 * 4096;
}

static void test_idle_service_is_on_disk_within_ten_minutes(void **state)
{
	struct cgroup_sample *idle = &t.cgroups[0], *busy = &t.cgroups[1];
	uint64_t before;

	(void)state;
	start(2);
	before = idle->of[FIELD_ZSWAP];
	t.tick.pool_limit = 1024 * MIB;
	t.policies[0].pool_target = (struct zf_amount){ .value = 0 };
	for (int i = 0; i < 10 * TICKS_A_MINUTE; i++)
		step();
	assert_true(idle->of[FIELD_ZSWAP] <= before / 5);
	/* The other one has no target, and the pool is nearly empty. */
	assert_int_equal(busy->of[FIELD_ZSWAP], before);
	assert_int_equal(changes[0] + changes[1], 0);
	/* Within 8 MiB a second and its burst. */
	assert_true(written <= 8 * MIB * (600 + 10));
	control_free(control);
}

static void test_hot_service_keeps_its_pages(void **state)
{
	struct cgroup_sample *hot = &t.cgroups[0];
	uint64_t most = 0;

	(void)state;
	start(2);
	/* Both are to go to disk; what goes there of one comes back at once. */
	t.policies[0].pool_target = (struct zf_amount){ .value = 0 };
	t.policies[1].pool_target = (struct zf_amount){ .value = 0 };
	for (int i = 0; i < 10 * TICKS_A_MINUTE; i++) {
		uint64_t bytes = on_disk(hot) / 2;

		/* Read back, and stored in zswap again when it is cold. */
		hot->of[FIELD_PSWPIN] = bytes / 4096;
		hot->of[FIELD_ZSWAPPED] += bytes;
		hot->of[FIELD_ZSWAP] = hot->of[FIELD_ZSWAPPED] / RATIO;
		if (on_disk(hot) > most)
			most = on_disk(hot);
		step();
	}
	/* A few steps were tried, then no more. */
	assert_true(most <= 32 * MIB);
	assert_true(on_disk(hot) < MIB);
	assert_in_range(changes[0], 0, 1);
	assert_true(t.cgroups[1].of[FIELD_ZSWAP] < 7 * MIB);
	control_free(control);
}

/* An hour of alternating load, on the edge of every threshold. */
static void test_nothing_flaps_in_an_hour(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	start(1);
	cgroup->of[FIELD_ZSWAPPED] = 64 * MIB;
	cgroup->of[FIELD_ZSWAP] = 16 * MIB;
	for (int i = 0; i < 60 * TICKS_A_MINUTE; i++) {
		bool bad = i / 10 % 2;

		read_back(cgroup, bad ? 30000 : 15000);
		cgroup->of[FIELD_ZSWPIN] = bad ? 1000 : 20;
		cgroup->of[FIELD_ZSWPOUT] = bad ? 1000 : 20;
		cgroup->of[FIELD_MEMORY_STALL] = bad ? SEC / 4 : 0;
		step();
	}
	/* Once off, and down by both sizes; no calm that lasts in between. */
	assert_in_range(changes[0], 2, 3);
	assert_int_equal(cgroup->of[FIELD_SWAPIN_MAX], 4096);
	assert_int_equal(cgroup->of[FIELD_WRITEBACK], 0);
	control_free(control);
}

static void test_a_full_pool_is_drained_to_its_watermark(void **state)
{
	(void)state;
	start(3);
	for (int i = 0; i < 30 * TICKS_A_MINUTE; i++)
		step();
	/* 96 of 100 MiB at first, then half, and no further. */
	assert_in_range(t.tick.pool, 49 * MIB, 51 * MIB);
	/* All gave their part. */
	for (int i = 0; i < 3; i++)
		assert_in_range(t.cgroups[i].of[FIELD_ZSWAP], 10 * MIB,
				24 * MIB);
	control_free(control);
}

#define T(fn) cmocka_unit_test(fn)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_idle_service_is_on_disk_within_ten_minutes),
		T(test_hot_service_keeps_its_pages),
		T(test_nothing_flaps_in_an_hour),
		T(test_a_full_pool_is_drained_to_its_watermark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
