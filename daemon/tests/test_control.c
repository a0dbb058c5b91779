// SPDX-License-Identifier: GPL-2.0-or-later
/* control.h, rule 6, and what holds for all rules: time and identity. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "law.h"

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

/* One that is forgotten may be changed again at once; others are not touched. */
static void test_forgetting_one(void **state)
{
	(void)state;
	switch_off();
	control_forget_cgroup(control, t.cgroups[0].id + 1);
	assert_int_equal(control_nr_cgroups(control), 1);
	t.policies[0].writeback = WRITEBACK_ON;
	quiet_for(3);
	control_forget_cgroup(control, t.cgroups[0].id);
	assert_int_equal(control_nr_cgroups(control), 0);
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->knob, KNOB_WRITEBACK);
	assert_int_equal(d->value, 1);
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
		T(test_forgetting_keeps_the_budget), T(test_forgetting_one),
		T(test_locked_knobs_are_left),
		T(test_without_pswpin_refaults_are_estimated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
