// SPDX-License-Identifier: GPL-2.0-or-later
/* histogram.h: properties over all buckets and over random values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <zfolio/histogram.h>

/* xorshift64 with a fixed start: the same values in every run. */
static uint64_t random_state = 0x2545f4914f6cdd1dULL;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* All magnitudes alike, so that small and large buckets are met. */
static uint64_t random_magnitude(void)
{
	return next_random() >> (next_random() % 64);
}

static void test_buckets_cover_everything_once(void **state)
{
	(void)state;
	assert_true(zf_histogram_lower(0) == 0);
	for (unsigned int i = 0; i < ZF_HISTOGRAM_BUCKETS; i++) {
		uint64_t lower = zf_histogram_lower(i);
		uint64_t upper = zf_histogram_upper(i);

		assert_true(lower <= upper);
		assert_int_equal(zf_histogram_index(lower), i);
		assert_int_equal(zf_histogram_index(upper), i);
		if (i)
			assert_true(zf_histogram_upper(i - 1) + 1 == lower);
	}
	assert_true(zf_histogram_upper(ZF_HISTOGRAM_BUCKETS - 1) ==
		    UINT64_MAX);
	assert_int_equal(zf_histogram_index(UINT64_MAX),
			 ZF_HISTOGRAM_BUCKETS - 1);
}

static void test_error_is_within_the_stated_bound(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		static struct zf_histogram h;
		uint64_t value = random_magnitude(), got;

		memset(&h, 0, sizeof(h));
		zf_histogram_add(&h, value);
		/* Two further values, so that min and max do not help. */
		zf_histogram_add(&h, 0);
		zf_histogram_add(&h, UINT64_MAX);
		got = zf_histogram_percentile(&h, 500000);
		got = got > value ? got - value : value - got;
		assert_true(got <= value >> (ZF_HISTOGRAM_BITS + 1));
	}
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_percentiles_against_sorting(void **state)
{
	static const unsigned int ranks[] = {
		0, 1, 500000, 900000, 990000, 999000, 999999, ZF_RANK_ALL,
		ZF_RANK_ALL + 1
	};
	enum { NR = 4099 };
	static uint64_t values[NR];
	static struct zf_histogram h;

	(void)state;
	memset(&h, 0, sizeof(h));
	for (int i = 0; i < NR; i++) {
		values[i] = 1000 + next_random() % 1000000;
		zf_histogram_add(&h, values[i]);
	}
	qsort(values, NR, sizeof(*values), compare_u64);
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		uint64_t rank = ranks[i] > ZF_RANK_ALL ? ZF_RANK_ALL : ranks[i];
		uint64_t nth = (NR * rank + ZF_RANK_ALL - 1) / ZF_RANK_ALL;
		uint64_t want = values[nth ? nth - 1 : 0];
		uint64_t got = zf_histogram_percentile(&h, ranks[i]);

		if (!rank || rank == ZF_RANK_ALL)
			assert_true(got == want);
		else
			assert_in_range(got, want - (want >> 6),
					want + (want >> 6));
	}
}

static void test_percentiles_never_fall(void **state)
{
	static struct zf_histogram h;
	uint64_t last = 0;

	(void)state;
	memset(&h, 0, sizeof(h));
	for (int i = 0; i < 1000; i++)
		zf_histogram_add(&h, random_magnitude());
	for (unsigned int rank = 0; rank <= ZF_RANK_ALL; rank += 500) {
		uint64_t value = zf_histogram_percentile(&h, rank);

		assert_true(value >= last && value >= h.min && value <= h.max);
		last = value;
	}
}

static void test_merge_is_adding_all(void **state)
{
	static struct zf_histogram all, part[3];

	(void)state;
	memset(&all, 0, sizeof(all));
	memset(part, 0, sizeof(part));
	for (int i = 0; i < 3000; i++) {
		uint64_t value = random_magnitude();

		zf_histogram_add(&all, value);
		/* The third part stays empty. */
		zf_histogram_add(&part[i % 2], value);
	}
	zf_histogram_merge(&part[2], &part[0]);
	zf_histogram_merge(&part[2], &part[1]);
	assert_memory_equal(&part[2], &all, sizeof(all));
	memset(part, 0, sizeof(part));
	zf_histogram_merge(&all, &part[0]);
	assert_memory_equal(&part[2], &part[1], sizeof(all));
	assert_int_equal(all.count, 3000);
}

static void test_empty(void **state)
{
	static struct zf_histogram h;

	(void)state;
	assert_true(zf_histogram_percentile(&h, 500000) == 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_cover_everything_once),
		cmocka_unit_test(test_error_is_within_the_stated_bound),
		cmocka_unit_test(test_percentiles_against_sorting),
		cmocka_unit_test(test_percentiles_never_fall),
		cmocka_unit_test(test_merge_is_adding_all),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
