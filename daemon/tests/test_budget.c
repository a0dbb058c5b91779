// SPDX-License-Identifier: GPL-2.0-or-later
/* budget.h: sums that hold in every window of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/budget.h"

#define MIB (UINT64_C(1) << 20)
#define SEC ZF_USEC_PER_SEC

static void test_budget_of_a_day(void **state)
{
	const struct device_policy policy = {
		.write_rate = { .amount = 100 * MIB, .usec = SEC },
		.write_daily = { .amount = 1000 * MIB,
				 .usec = ZF_USEC_PER_DAY },
	};
	struct budget budget;
	uint64_t taken = 0;

	(void)state;
	budget_start(&budget, &policy, 10 * SEC, 0, 0);
	for (int i = 0; i < 24 * 60; i++) {
		uint64_t bytes = budget_available(&budget);

		budget_take(&budget, bytes);
		taken += bytes;
		budget_refill(&budget, &policy, 10 * SEC, ZF_USEC_PER_MIN);
	}
	assert_in_range(taken, 999 * MIB, 1000 * MIB);
}

static void test_budget_carries_fractions(void **state)
{
	const struct device_policy policy = {
		.write_rate = { .amount = 7, .usec = ZF_USEC_PER_DAY },
		.write_daily = { .amount = 1 << 30, .usec = ZF_USEC_PER_DAY },
	};
	struct budget budget;

	(void)state;
	budget_start(&budget, &policy, ZF_USEC_PER_DAY, 0, 0);
	assert_int_equal(budget_available(&budget), 7);
	budget_take(&budget, 7);
	for (int i = 0; i < 86400; i++)
		budget_refill(&budget, &policy, ZF_USEC_PER_DAY, SEC);
	assert_int_equal(budget_available(&budget), 7);
}

static void test_budget_counts_what_others_write(void **state)
{
	struct device_policy policy = device_policy_default;
	struct budget budget;
	uint64_t before;

	(void)state;
	budget_start(&budget, &policy, 10 * SEC, 0, 0);
	before = budget_available(&budget);
	budget_take(&budget, 10 * MIB);
	budget_see_written(&budget, 10 * MIB);
	assert_true(budget_available(&budget) == before - 10 * MIB);
	budget_see_written(&budget, 5 * MIB);
	assert_true(budget_available(&budget) == before - 15 * MIB);
	budget_see_written(&budget, UINT64_MAX);
	assert_int_equal(budget_available(&budget), 0);
}

static void test_restarts_give_no_budget_anew(void **state)
{
	struct device_policy policy = device_policy_default;
	uint64_t eighth = policy.write_daily.amount / 8;
	struct budget budget;

	(void)state;
	policy.write_rate.amount = UINT64_C(1) << 40;
	budget_start(&budget, &policy, SEC, eighth / 2, 0);
	assert_true(budget_available(&budget) == eighth - eighth / 2);
	budget_start(&budget, &policy, SEC, eighth, 0);
	assert_int_equal(budget_available(&budget), 0);
	/* An hour gives a 24th of the other seven eighths. */
	budget_start(&budget, &policy, SEC, eighth, ZF_USEC_PER_HOUR);
	assert_true(budget_available(&budget) ==
		    (policy.write_daily.amount - eighth) / 24);
	budget_start(&budget, &policy, SEC, eighth, ZF_USEC_PER_DAY);
	assert_true(budget_available(&budget) == eighth);
}

#define T(fn) cmocka_unit_test(fn)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_budget_of_a_day),
		T(test_budget_carries_fractions),
		T(test_budget_counts_what_others_write),
		T(test_restarts_give_no_budget_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
