// SPDX-License-Identifier: GPL-2.0-or-later
/* control.h, rules 1 to 5: knobs, tick by tick. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "law.h"

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

/* Somebody switches it on, and the actuator off again: still ours. */
static void test_drift_does_not_lose_it(void **state)
{
	(void)state;
	switch_off();
	quiet_for(50);
	t.cgroups[0].of[FIELD_WRITEBACK] = 1;
	t.tick.rejected = 3;
	quiet_for(300);
	t.cgroups[0].of[FIELD_WRITEBACK] = 0;
	assert_int_equal(ticks_until_decision(1), 1);
	assert_int_equal(d->value, 1);
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
		T(test_drift_does_not_lose_it),
		T(test_never_on_without_a_device),
		T(test_what_others_switched_off_stays_off),
		T(test_fixed_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
