// SPDX-License-Identifier: GPL-2.0-or-later
/* pattern.h: every damaged byte counts, and no page passes for another. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <zfolio/cleanup.h>
#include <zfolio/pattern.h>

#define PAGE 4096

static void test_what_is_written_is_right(void **state)
{
	_cleanup_free_ unsigned char *page = aligned_alloc(PAGE, PAGE);

	(void)state;
	for (int kind = 0; kind < ZF_NR_PATTERNS; kind++) {
		_cleanup_free_ struct zf_pattern *p = NULL;

		assert_int_equal(zf_pattern_new(kind, PAGE, 7, &p), 0);
		for (uint64_t i = 0; i < 3000; i++) {
			memset(page, 0xee, PAGE);
			zf_pattern_fill(p, page, i);
			assert_int_equal(zf_pattern_wrong_bytes(p, page, i),
					 0);
		}
	}
}

static void test_every_byte_counts(void **state)
{
	_cleanup_free_ unsigned char *page = aligned_alloc(PAGE, PAGE);

	(void)state;
	for (int kind = 0; kind < ZF_NR_PATTERNS; kind++) {
		_cleanup_free_ struct zf_pattern *p = NULL;

		assert_int_equal(zf_pattern_new(kind, PAGE, 7, &p), 0);
		zf_pattern_fill(p, page, 3);
		for (int at = 0; at < PAGE; at++) {
			for (int bit = 0; bit < 8; bit++) {
				page[at] ^= 1 << bit;
				assert_int_equal(
					zf_pattern_wrong_bytes(p, page, 3), 1);
				page[at] ^= 1 << bit;
			}
		}
		memset(page, 0, PAGE);
		assert_true(zf_pattern_wrong_bytes(p, page, 3) > PAGE / 5);
	}
}

static void test_other_pages_are_wrong(void **state)
{
	_cleanup_free_ unsigned char *page = aligned_alloc(PAGE, PAGE);

	(void)state;
	for (int kind = 0; kind < ZF_NR_PATTERNS; kind++) {
		_cleanup_free_ struct zf_pattern *a = NULL, *b = NULL;

		assert_int_equal(zf_pattern_new(kind, PAGE, 1, &a), 0);
		assert_int_equal(zf_pattern_new(kind, PAGE, 2, &b), 0);
		zf_pattern_fill(a, page, 5);
		/* Another page, also one with the same head; another fill. */
		for (uint64_t i = 0; i < 5000; i++)
			assert_true(i == 5 ||
				    zf_pattern_wrong_bytes(a, page, i) > 0);
		assert_true(zf_pattern_wrong_bytes(b, page, 5) > 0);
	}
}

static void test_share_of_zeros(void **state)
{
	static const size_t data[ZF_NR_PATTERNS] = {
		[ZF_PATTERN_HALF] = PAGE / 2,
		[ZF_PATTERN_QUARTER_RANDOM] = PAGE / 4,
	};
	_cleanup_free_ unsigned char *page = aligned_alloc(PAGE, PAGE);

	(void)state;
	for (int kind = 0; kind < ZF_NR_PATTERNS; kind++) {
		_cleanup_free_ struct zf_pattern *p = NULL;

		assert_int_equal(zf_pattern_new(kind, PAGE, 0, &p), 0);
		/* Page 0 of seed 0: the stamp itself is zero then. */
		zf_pattern_fill(p, page, 0);
		for (size_t i = data[kind]; i < PAGE; i++)
			assert_int_equal(page[i], 0);
		assert_true(page[8] | page[9] | page[data[kind] - 1]);
	}
}

static void test_parameters(void **state)
{
	struct zf_pattern *p = NULL;

	(void)state;
	assert_int_equal(zf_pattern_new(ZF_PATTERN_HALF, 512, 0, &p), -EINVAL);
	assert_int_equal(zf_pattern_new(ZF_PATTERN_HALF, 5000, 0, &p),
			 -EINVAL);
	assert_null(p);
	for (int kind = 0; kind < ZF_NR_PATTERNS; kind++)
		assert_int_equal(zf_pattern_from_name(zf_pattern_name(kind)),
				 kind);
	assert_int_equal(zf_pattern_from_name("whole"), -EINVAL);
	assert_int_equal(zf_pattern_new(ZF_PATTERN_HALF, 65536, 0, &p), 0);
	free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_right),
		cmocka_unit_test(test_every_byte_counts),
		cmocka_unit_test(test_other_pages_are_wrong),
		cmocka_unit_test(test_share_of_zeros),
		cmocka_unit_test(test_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
