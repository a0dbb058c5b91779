// SPDX-License-Identifier: GPL-2.0-or-later
/* control.h: each rule, tick by tick. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/control.h"

#include "ticks.h"

#define SEC ZF_USEC_PER_SEC

static struct control *control;
static struct settings settings;
static struct ticks t;
static const struct decision *d;	/* of the last tick */
static size_t nr;

static int start(void **state)
{
	(void)state;
	settings = settings_default;
	ticks_init(&t, 1);
	return control_new(&control);
}

static int stop(void **state)
{
	(void)state;
	control_free(control);
	return 0;
}

static void tick(void)
{
	assert_int_equal(control_tick(control, &settings, &t.tick, &d, &nr), 0);
}

/* Ticks until something is decided; fails after @max without. */
static int ticks_until_decision(int max)
{
	for (int i = 1; i <= max; i++) {
		tick();
		if (nr)
			return i;
	}
	fail_msg("no decision in %d ticks", max);
	return 0;
}

static void quiet_for(int ticks)
{
	for (int i = 0; i < ticks; i++) {
		char text[DECISION_TEXT_LEN];

		tick();
		if (nr)
			fail_msg("%s", decision_format(d, text));
	}
}

static void thrash(struct cgroup_sample *cgroup)
{
	/* 4 MiB in and 4 MiB out in 2 s: 187 % of 64 MiB a minute. */
	cgroup->of[FIELD_ZSWPIN] = 1024;
	cgroup->of[FIELD_ZSWPOUT] = 1024;
	cgroup->of[FIELD_MEMORY_STALL] = SEC;
}

static void calm(struct cgroup_sample *cgroup)
{
	cgroup->of[FIELD_ZSWPIN] = cgroup->of[FIELD_ZSWPOUT] = 0;
	cgroup->of[FIELD_PSWPIN] = cgroup->of[FIELD_MEMORY_STALL] = 0;
}

/* ---- swap-in size ---- */

static void test_thrashing_lowers_swapin_within_three_ticks(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];
	char text[DECISION_TEXT_LEN];

	(void)state;
	quiet_for(5);
	thrash(cgroup);
	assert_int_equal(ticks_until_decision(3), 3);
	assert_int_equal(nr, 1);
	assert_int_equal(d->knob, KNOB_SWAPIN_MAX);
	assert_true(d->old == UINT64_MAX && d->value == 65536);
	assert_int_equal(d->reason, REASON_THRASH);
	assert_string_equal(decision_format(d, text),
			    "test.slice/a: memory.zswap.swapin_max max -> 65536: 187.50% of its memory swapped in and out each minute, above 5.00%");
}

static void test_swapin_goes_down_to_single_pages_and_back(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	thrash(cgroup);
	ticks_until_decision(3);
	cgroup->of[FIELD_SWAPIN_MAX] = d->value;
	/* The next one a dwell later, not earlier. */
	assert_int_equal(ticks_until_decision(400), 300);
	assert_true(d->value == 4096);
	cgroup->of[FIELD_SWAPIN_MAX] = d->value;
	quiet_for(700);
	calm(cgroup);
	assert_int_equal(ticks_until_decision(200), 150);
	assert_int_equal(d->reason, REASON_CALM);
	assert_true(d->value == 65536);
	cgroup->of[FIELD_SWAPIN_MAX] = d->value;
	assert_int_equal(ticks_until_decision(400), 300);
	/* The largest enabled size is no limit, as it was found. */
	assert_true(d->value == UINT64_MAX);
	cgroup->of[FIELD_SWAPIN_MAX] = d->value;
	quiet_for(1000);
}

static void test_swapin_returns_to_what_was_found(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	cgroup->of[FIELD_SWAPIN_MAX] = 65536;
	thrash(cgroup);
	ticks_until_decision(3);
	assert_true(d->value == 4096);
	cgroup->of[FIELD_SWAPIN_MAX] = d->value;
	calm(cgroup);
	ticks_until_decision(400);
	assert_true(d->value == 65536);
	cgroup->of[FIELD_SWAPIN_MAX] = d->value;
	quiet_for(1000);
}

static void test_swapin_needs_pressure_and_both_directions(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	thrash(cgroup);
	cgroup->of[FIELD_MEMORY_STALL] = 0;
	quiet_for(10);
	thrash(cgroup);
	cgroup->of[FIELD_ZSWPOUT] = 0;
	quiet_for(10);
	/* What write-back sends out is no second direction. */
	cgroup->of[FIELD_PSWPOUT] = cgroup->of[FIELD_ZSWPWB] = 1024;
	quiet_for(10);
	/* Two ticks, a pause, two ticks. */
	thrash(cgroup);
	cgroup->of[FIELD_PSWPOUT] = cgroup->of[FIELD_ZSWPWB] = 0;
	quiet_for(2);
	calm(cgroup);
	quiet_for(1);
	thrash(cgroup);
	quiet_for(2);
}

static void test_swapin_stays_in_its_bounds(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	t.policies[0].swapin_min = 65536;
	cgroup->of[FIELD_SWAPIN_MAX] = 65536;
	thrash(cgroup);
	quiet_for(20);
	t.policies[0].swapin = SWAPIN_LEAVE;
	cgroup->of[FIELD_SWAPIN_MAX] = UINT64_MAX;
	quiet_for(20);
	/* The upper bound is a configured value. */
	calm(cgroup);
	t.policies[0].swapin = SWAPIN_AUTO;
	t.policies[0].swapin_max = 65536;
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->reason, REASON_CONFIGURED);
	assert_true(d->value == 65536);
}

static void test_no_large_sizes_nothing_to_lower(void **state)
{
	(void)state;
	t.tick.sizes = 0;
	thrash(&t.cgroups[0]);
	quiet_for(20);
}

/* ---- switching write-back ---- */

/* 3 MiB a minute out of 32 MiB on disk: 9 %. */
static void refault(struct cgroup_sample *cgroup)
{
	cgroup->of[FIELD_PSWPIN] = 26;
}

static void test_disk_refaults_switch_off(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	refault(cgroup);
	assert_int_equal(ticks_until_decision(3), 3);
	assert_int_equal(d->knob, KNOB_WRITEBACK);
	assert_int_equal(d->value, 0);
	assert_int_equal(d->reason, REASON_DISK_REFAULTS);
	assert_in_range(d->signal, 90000, 96000);
	assert_int_equal(d->threshold, 20000);
	cgroup->of[FIELD_WRITEBACK] = cgroup->of[FIELD_WRITEBACK_HERE] = 0;
	quiet_for(1000);
}

static void test_never_off_while_zswap_is_full(void **state)
{
	(void)state;
	refault(&t.cgroups[0]);
	t.tick.rejected = 1;
	quiet_for(10);
	t.tick.rejected = 0;
	t.policies[0].proactive = false;
	t.tick.pool = 75 * MIB;
	quiet_for(10);
	t.tick.pool = 65 * MIB;
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->knob, KNOB_WRITEBACK);
}

static void switch_off(void)
{
	refault(&t.cgroups[0]);
	ticks_until_decision(3);
	t.cgroups[0].of[FIELD_WRITEBACK] = 0;
	t.cgroups[0].of[FIELD_WRITEBACK_HERE] = 0;
	calm(&t.cgroups[0]);
}

static void test_on_again_when_the_pool_is_near_its_limit(void **state)
{
	(void)state;
	switch_off();
	quiet_for(400);
	t.tick.pool = 95 * MIB;
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->value, 1);
	assert_int_equal(d->reason, REASON_POOL_NEAR_LIMIT);
}

static void test_on_again_when_stores_are_refused_after_a_dwell(void **state)
{
	(void)state;
	switch_off();
	t.tick.rejected = 3;
	assert_int_equal(ticks_until_decision(400), 300);
	assert_int_equal(d->value, 1);
	assert_int_equal(d->reason, REASON_STORES_REFUSED);
}

/* Where pages have nowhere to go, reading them back is the lesser evil. */
static void test_on_again_even_while_refaults_go_on(void **state)
{
	(void)state;
	switch_off();
	refault(&t.cgroups[0]);
	quiet_for(1000);
	t.tick.rejected = 3;
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->value, 1);
	t.cgroups[0].of[FIELD_WRITEBACK] = 1;
	t.cgroups[0].of[FIELD_WRITEBACK_HERE] = 1;
	quiet_for(1000);
	t.tick.rejected = 0;
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->value, 0);
}

static void test_never_on_without_a_device(void **state)
{
	(void)state;
	switch_off();
	t.tick.rejected = 3;
	t.device.used = t.device.size;
	quiet_for(400);
	t.tick.nr_devices = 0;
	quiet_for(400);
	t.tick.nr_devices = 1;
	t.device.used = 0;
	t.device.policy.reserved = true;
	quiet_for(400);
	t.device.policy.reserved = false;
	assert_int_equal(ticks_until_decision(1), 1);
}

static void test_what_others_switched_off_stays_off(void **state)
{
	(void)state;
	t.cgroups[0].of[FIELD_WRITEBACK] = 0;
	t.tick.rejected = 3;
	t.tick.pool = 95 * MIB;
	t.policies[0].proactive = false;
	quiet_for(1000);
}

static void test_fixed_values(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	t.policies[0].writeback = WRITEBACK_OFF;
	t.policies[0].zswap_max = (struct zf_amount){ .value = 5 * MIB + 1 };
	tick();
	assert_true(nr == 1 && d->knob == KNOB_WRITEBACK && !d->value);
	cgroup->of[FIELD_WRITEBACK] = 0;
	/* One knob a tick. */
	tick();
	assert_true(nr == 1 && d->knob == KNOB_ZSWAP_MAX);
	assert_true(d->value == 5 * MIB);
	cgroup->of[FIELD_ZSWAP_MAX] = d->value;
	quiet_for(400);
	t.policies[0].writeback = WRITEBACK_ON;
	tick();
	assert_true(nr == 1 && d->knob == KNOB_WRITEBACK && d->value == 1);
}

/* ---- proactive write-back ---- */

static void test_pool_above_low_writes_back_in_growing_steps(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	t.tick.pool = 60 * MIB;
	tick();
	assert_true(nr == 1 && d->knob == KNOB_RECLAIM);
	assert_true(d->value == MIB && d->cost == 4 * MIB);
	assert_int_equal(d->reason, REASON_POOL_ABOVE_LOW);
	/* Nothing while it runs, one step more when it was done. */
	cgroup->reclaim = RECLAIM_RUNNING;
	quiet_for(3);
	cgroup->reclaim = RECLAIM_DONE;
	tick();
	assert_true(nr == 1 && d->value == 2 * MIB);
	cgroup->reclaim = RECLAIM_PARTIAL;
	tick();
	assert_true(nr == 1 && d->value == 2 * MIB);
	cgroup->reclaim = RECLAIM_FAILED;
	tick();
	assert_true(nr == 1 && d->value == MIB);
}

static void test_pressure_and_refaults_stop_it(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	t.tick.pool = 60 * MIB;
	cgroup->of[FIELD_MEMORY_STALL] = SEC;
	quiet_for(3);
	cgroup->of[FIELD_MEMORY_STALL] = 0;
	cgroup->of[FIELD_IO_STALL] = SEC;
	quiet_for(3);
	cgroup->of[FIELD_IO_STALL] = 0;
	/* Below off_refaults (2 %), above refault_limit (0.2 %): stops in a
	 * few ticks and goes on minutes after the last one. */
	cgroup->of[FIELD_PSWPIN] = 5;
	for (int i = 0; i < 10; i++)
		tick();
	assert_int_equal(nr, 0);
	cgroup->of[FIELD_PSWPIN] = 0;
	assert_in_range(ticks_until_decision(200), 5, 60);
}

static void test_a_running_one_is_cancelled_under_pressure(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];
	char text[DECISION_TEXT_LEN];

	(void)state;
	cgroup->reclaim = RECLAIM_RUNNING;
	quiet_for(3);
	cgroup->of[FIELD_MEMORY_STALL] = SEC;
	tick();
	assert_true(nr == 1 && d->knob == KNOB_RECLAIM && !d->value);
	assert_string_equal(decision_format(d, text),
			    "test.slice/a: write-back cancelled: waited 50.00% of the time for memory, above 10.00%");
	cgroup->reclaim = RECLAIM_PARTIAL;
	quiet_for(3);
}

static void test_target_of_a_cgroup(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	t.policies[0].pool_target = (struct zf_amount){ .value = 7 * MIB };
	tick();
	assert_true(nr == 1 && d->reason == REASON_ABOVE_TARGET);
	assert_true(d->value == MIB);
	assert_true(d->signal == 8 * MIB && d->threshold == 7 * MIB);
	/* Half a step above is not worth a request. */
	cgroup->of[FIELD_ZSWAP] = 7 * MIB + MIB / 2;
	quiet_for(3);
	/* But the whole of a small cgroup is. */
	t.policies[0].pool_target = (struct zf_amount){ .value = 0 };
	cgroup->of[FIELD_ZSWAP] = MIB / 2;
	tick();
	assert_true(nr == 1 && d->value == MIB / 2);
}

static void test_nothing_without_the_command_or_permission(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	t.tick.pool = 60 * MIB;
	/* A stock kernel: never by way of zswap.max. */
	cgroup->has &= ~KNOB_BIT(KNOB_RECLAIM);
	quiet_for(10);
	cgroup->has |= KNOB_BIT(KNOB_RECLAIM);
	cgroup->locked = KNOB_BIT(KNOB_RECLAIM);
	quiet_for(10);
	cgroup->locked = 0;
	cgroup->of[FIELD_WRITEBACK_HERE] = 0;
	quiet_for(10);
	cgroup->of[FIELD_WRITEBACK_HERE] = 1;
	t.policies[0].proactive = false;
	quiet_for(10);
	t.policies[0].proactive = true;
	t.device.policy.reserved = true;
	quiet_for(10);
	t.device.policy.reserved = false;
	tick();
	assert_int_equal(nr, 1);
}

static void test_budget_is_shared_by_weight(void **state)
{
	uint64_t cost[3] = { 0 };

	(void)state;
	ticks_init(&t, 3);
	t.policies[0].weight = 100;
	t.policies[1].weight = 200;
	t.policies[2].weight = 400;
	for (int i = 0; i < 3; i++) {
		t.policies[i].pool_target = (struct zf_amount){ .value = 0 };
		t.cgroups[i].of[FIELD_ZSWAP] = 80 * MIB;
		t.cgroups[i].of[FIELD_ZSWAPPED] = 320 * MIB;
		t.cgroups[i].of[FIELD_SWAP] = 640 * MIB;
		t.cgroups[i].reclaim = RECLAIM_DONE;
	}
	t.device.policy.write_daily.amount = 1ULL << 50;
	/* The first burst is not shared: all start alike. */
	for (int i = 0; i < 2000; i++) {
		tick();
		for (size_t j = 0; j < nr && i >= 100; j++)
			cost[d[j].id - 100] += d[j].cost;
	}
	assert_in_range(cost[1] * 100 / cost[0], 180, 220);
	assert_in_range(cost[2] * 100 / cost[0], 360, 440);
	/* And all of the budget is used: 8 MiB/s for 1900 ticks of 2 s. */
	assert_in_range((cost[0] + cost[1] + cost[2]) / MIB, 29000, 30500);
}

static void test_small_budgets_are_used_too(void **state)
{
	uint64_t cost = 0;

	(void)state;
	/* In a burst 1 MiB, while the smallest step would be 4 on disk. */
	t.device.policy.write_rate.amount = MIB / 10;
	t.policies[0].pool_target = (struct zf_amount){ .value = 0 };
	for (int i = 0; i < 600; i++) {
		tick();
		cost += nr ? d->cost : 0;
	}
	/* 20 minutes of it. */
	assert_in_range(cost / MIB, 110, 121);
}

/* ---- time and identity ---- */

static void test_clock_jump_decides_nothing(void **state)
{
	(void)state;
	t.policies[0].writeback = WRITEBACK_OFF;
	t.tick.pool = 60 * MIB;
	t.tick.elapsed = 8 * ZF_USEC_PER_HOUR;
	quiet_for(3);
	t.tick.elapsed = 0;
	quiet_for(3);
	t.tick.elapsed = settings.interval;
	tick();
	assert_int_equal(nr, 1);
}

static void test_jump_forgets_the_trend(void **state)
{
	(void)state;
	refault(&t.cgroups[0]);
	quiet_for(2);
	t.tick.elapsed = ZF_USEC_PER_HOUR;
	quiet_for(1);
	t.tick.elapsed = settings.interval;
	quiet_for(2);
	tick();
	assert_int_equal(nr, 1);
}

static void test_first_look_decides_nothing(void **state)
{
	(void)state;
	t.tick.pool = 60 * MIB;
	t.cgroups[0].fresh = true;
	quiet_for(3);
}

static void test_recreated_path_starts_afresh(void **state)
{
	(void)state;
	refault(&t.cgroups[0]);
	quiet_for(2);
	t.cgroups[0].id = 7;
	quiet_for(2);
	tick();
	assert_int_equal(nr, 1);
	assert_int_equal(control_nr_cgroups(control), 1);
}

static void test_vanished_cgroup_is_forgotten(void **state)
{
	(void)state;
	switch_off();
	t.tick.nr_cgroups = 0;
	quiet_for(1);
	assert_int_equal(control_nr_cgroups(control), 0);
	t.tick.nr_cgroups = 1;
	t.tick.rejected = 3;
	quiet_for(1000);
}

static void test_forgetting_keeps_the_budget(void **state)
{
	uint64_t cost = 0;

	(void)state;
	t.policies[0].pool_target = (struct zf_amount){ .value = 0 };
	t.cgroups[0].of[FIELD_ZSWAP] = 512 * MIB;
	t.cgroups[0].of[FIELD_ZSWAPPED] = 2048 * MIB;
	t.policies[0].step_min = t.policies[0].step_max = 64 * MIB;
	t.device.policy.write_rate.amount = 1024 * MIB;
	t.device.policy.write_daily.amount = 4096 * MIB;
	for (int i = 0; i < 50; i++) {
		control_forget_cgroups(control);
		tick();
		cost += nr ? d->cost : 0;
	}
	assert_int_equal(control_nr_cgroups(control), 1);
	assert_in_range(cost / MIB, 256, 520);
}

static void test_locked_knobs_are_left(void **state)
{
	(void)state;
	t.cgroups[0].locked = KNOB_BIT(KNOB_WRITEBACK) |
			      KNOB_BIT(KNOB_SWAPIN_MAX);
	refault(&t.cgroups[0]);
	thrash(&t.cgroups[0]);
	quiet_for(20);
}

static void test_without_pswpin_refaults_are_estimated(void **state)
{
	struct cgroup_sample *cgroup = &t.cgroups[0];

	(void)state;
	cgroup->has_pswpin = false;
	cgroup->of[FIELD_PSWPIN] = 0;
	cgroup->of[FIELD_REFAULT_ANON] = 100;
	cgroup->of[FIELD_ZSWPIN] = 100;
	quiet_for(10);
	cgroup->of[FIELD_ZSWPIN] = 74;
	ticks_until_decision(3);
	assert_int_equal(d->knob, KNOB_WRITEBACK);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_thrashing_lowers_swapin_within_three_ticks),
		T(test_swapin_goes_down_to_single_pages_and_back),
		T(test_swapin_returns_to_what_was_found),
		T(test_swapin_needs_pressure_and_both_directions),
		T(test_swapin_stays_in_its_bounds),
		T(test_no_large_sizes_nothing_to_lower),
		T(test_disk_refaults_switch_off),
		T(test_never_off_while_zswap_is_full),
		T(test_on_again_when_the_pool_is_near_its_limit),
		T(test_on_again_when_stores_are_refused_after_a_dwell),
		T(test_on_again_even_while_refaults_go_on),
		T(test_never_on_without_a_device),
		T(test_what_others_switched_off_stays_off),
		T(test_fixed_values),
		T(test_pool_above_low_writes_back_in_growing_steps),
		T(test_pressure_and_refaults_stop_it),
		T(test_a_running_one_is_cancelled_under_pressure),
		T(test_target_of_a_cgroup),
		T(test_nothing_without_the_command_or_permission),
		T(test_budget_is_shared_by_weight),
		T(test_small_budgets_are_used_too),
		T(test_clock_jump_decides_nothing),
		T(test_jump_forgets_the_trend),
		T(test_first_look_decides_nothing),
		T(test_recreated_path_starts_afresh),
		T(test_vanished_cgroup_is_forgotten),
		T(test_forgetting_keeps_the_budget),
		T(test_locked_knobs_are_left),
		T(test_without_pswpin_refaults_are_estimated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
