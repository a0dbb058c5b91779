// SPDX-License-Identifier: GPL-2.0-or-later
/* units.h and glob.h: what people write in a configuration. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <zfolio/glob.h>
#include <zfolio/units.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- units ---- */

struct value_case {
	const char *text;
	int r;
	uint64_t value;
};

static void check_values(const struct value_case *cases, size_t nr,
			 int (*parse)(const char *text, uint64_t *ret))
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = 4711;
		int r = parse(cases[i].text, &value);

		if (r != cases[i].r ||
		    value != (r ? 4711 : cases[i].value))
			fail_msg("'%s': r %d value %llu", cases[i].text, r,
				 (unsigned long long)value);
	}
}

static void test_bytes(void **state)
{
	static const struct value_case cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "64K", 0, 65536 },
		{ " 64 k ", 0, 65536 },
		{ "1.5G", 0, 3ULL << 29 },
		{ "0.0001K", 0, 0 },
		{ "2T", 0, 2ULL << 40 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "16777216T", -ERANGE, 0 },
		{ "1.25000000000000000000000000000000000000K", 0, 1280 },
		{ "1.5", -EINVAL, 0 },
		{ "1.K", -EINVAL, 0 },
		{ ".5K", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 },
		{ "1KiB", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "1 2", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "max", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ " ", -EINVAL, 0 },
	};

	(void)state;
	check_values(cases, ARRAY_SIZE(cases), zf_parse_bytes);
}

static void test_times(void **state)
{
	static const struct value_case cases[] = {
		{ "0", 0, 0 },
		{ "500ms", 0, 500000 },
		{ "2s", 0, 2000000 },
		{ "1.5 s", 0, 1500000 },
		{ "10min", 0, 600000000 },
		{ "1h", 0, 3600000000 },
		{ "1day", 0, 86400000000 },
		{ "2", -EINVAL, 0 },
		{ "2S", -EINVAL, 0 },
		{ "2m", -EINVAL, 0 },
		{ "2 s 3", -EINVAL, 0 },
		{ "99999999999999999h", -ERANGE, 0 },
	};

	(void)state;
	check_values(cases, ARRAY_SIZE(cases), zf_parse_time);
}

static void test_shares(void **state)
{
	static const struct value_case cases[] = {
		{ "20%", 0, 200000 },
		{ "0.2 %", 0, 2000 },
		{ "100%", 0, 1000000 },
		{ "0.0001%", 0, 1 },
		{ "20", -EINVAL, 0 },
		{ "%", -EINVAL, 0 },
		{ "20%%", -EINVAL, 0 },
	};

	(void)state;
	check_values(cases, ARRAY_SIZE(cases), zf_parse_share);
}

static void test_amounts(void **state)
{
	struct zf_amount amount = { .value = 5 };

	(void)state;
	assert_int_equal(zf_parse_amount("25%", &amount), 0);
	assert_true(amount.is_share);
	assert_int_equal(zf_amount_bytes(amount, 1000), 250);
	assert_int_equal(zf_amount_bytes(amount, UINT64_MAX), UINT64_MAX / 4);
	assert_int_equal(zf_parse_amount("2M", &amount), 0);
	assert_false(amount.is_share);
	assert_int_equal(zf_amount_bytes(amount, 1000), 2 << 20);
	assert_int_equal(zf_parse_amount("max", &amount), 0);
	assert_true(zf_amount_bytes(amount, 0) == UINT64_MAX);
	assert_int_equal(zf_parse_amount("maximum", &amount), -EINVAL);
	assert_true(amount.value == UINT64_MAX);
}

static void test_rates(void **state)
{
	struct zf_rate rate = { .amount = 5, .usec = 6 };

	(void)state;
	assert_int_equal(zf_parse_rate("8M/s", &rate), 0);
	assert_true(rate.amount == 8 << 20 && rate.usec == ZF_USEC_PER_SEC);
	assert_int_equal(zf_parse_rate("20 G / day", &rate), 0);
	assert_true(rate.amount == 20ULL << 30 && rate.usec == ZF_USEC_PER_DAY);
	assert_int_equal(zf_parse_pace("0.2%/min", &rate), 0);
	assert_true(rate.amount == 2000 && rate.usec == ZF_USEC_PER_MIN);
	assert_int_equal(zf_parse_rate("8M", &rate), -EINVAL);
	assert_int_equal(zf_parse_rate("8M/", &rate), -EINVAL);
	assert_int_equal(zf_parse_rate("8M/sec", &rate), -EINVAL);
	assert_int_equal(zf_parse_rate("/s", &rate), -EINVAL);
	assert_int_equal(zf_parse_rate("1%/s", &rate), -EINVAL);
	assert_int_equal(zf_parse_pace("1/min", &rate), -EINVAL);
	assert_true(rate.amount == 2000 && rate.usec == ZF_USEC_PER_MIN);
}

static void test_mul_div(void **state)
{
	(void)state;
	assert_true(zf_mul_div(UINT64_MAX, UINT64_MAX, UINT64_MAX) ==
		    UINT64_MAX);
	assert_true(zf_mul_div(UINT64_MAX, 3, 2) == UINT64_MAX);
	assert_true(zf_mul_div(7, 3, 2) == 10);
	assert_true(zf_mul_div(1, 1, 0) == UINT64_MAX);
}

static void test_format(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0" }, { 1023, "1023" }, { 1024, "1K" }, { 1536, "1.5K" },
		{ 1048575, "1023K" }, { 64 << 20, "64M" },
		{ UINT64_MAX - 1, "15.9E" }, { UINT64_MAX, "max" },
	};
	char text[ZF_BYTES_LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(zf_format_bytes(cases[i].bytes, text),
				    cases[i].text);
}

/* ---- globs ---- */

static void test_glob_match(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} cases[] = {
		{ "a", "a", true },
		{ "a", "a/b", false },
		{ "a", "", false },
		{ "", "", true },
		{ "*", "a", true },
		{ "*", "", false },
		{ "*", "a/b", false },
		{ "**", "", true },
		{ "**", "a/b/c", true },
		{ "user.slice/**", "user.slice", true },
		{ "user.slice/**", "user.slice/a/b", true },
		{ "user.slice/**", "user.slice2", false },
		{ "user.slice/*", "user.slice/a", true },
		{ "user.slice/*", "user.slice/a/b", false },
		{ "**/db.service", "db.service", true },
		{ "**/db.service", "system.slice/db.service", true },
		{ "**/db.service", "system.slice/db.service/sub", false },
		{ "a/**/z", "a/z", true },
		{ "a/**/z", "a/b/c/z", true },
		{ "a/**/z", "a/b/c/y", false },
		{ "a/**/m/**/z", "a/m/z/m/q/z", true },
		{ "a/**/m/**/z", "a/q/m/q/y", false },
		{ "db@[0-9]*.service", "db@12.service", true },
		{ "db@[0-9]*.service", "db@x.service", false },
		/* Names of systemd, as they stand in the file system. */
		{ "dev-disk-by\\x2duuid.swap", "dev-disk-by\\x2duuid.swap", true },
		{ "app-*\\x2d*.scope", "app-a\\x2db.scope", true },
		{ "with space:and colon", "with space:and colon", true },
		{ "gr\xc3\xbc\xc3\x9f""e.service", "gr\xc3\xbc\xc3\x9f""e.service", true },
		{ "a[*]", "a*", true },
		{ "a[*]", "ab", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (zf_glob_match(cases[i].pattern, cases[i].path) !=
		    cases[i].match)
			fail_msg("'%s' on '%s'", cases[i].pattern,
				 cases[i].path);
	}
}

static void test_glob_of_long_names(void **state)
{
	char name[256], exact[4 * 255 + 1] = "";

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	assert_true(zf_glob_match(name, name));
	assert_true(zf_glob_match("n*n", name));
	for (size_t i = 0; i < 255; i++)
		strcat(exact, "[n]");
	assert_true(zf_glob_match(exact, name));
}

/* A pattern of many "**" against a long path: must not try every division. */
static void test_glob_is_not_exponential(void **state)
{
	char pattern[400] = "", path[400] = "";

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		strcat(pattern, "**/a/");
		strcat(path, "a/a/a/");
	}
	strcat(pattern, "b");
	strcat(path, "c");
	assert_false(zf_glob_match(pattern, path));
}

static void test_glob_check(void **state)
{
	(void)state;
	assert_int_equal(zf_glob_check("a/**/b"), 0);
	assert_int_equal(zf_glob_check(""), 0);
	assert_int_equal(zf_glob_check("/a"), -EINVAL);
	assert_int_equal(zf_glob_check("a/"), -EINVAL);
	assert_int_equal(zf_glob_check("a//b"), -EINVAL);
	assert_int_equal(zf_glob_check("a**"), -EINVAL);
	assert_int_equal(zf_glob_check("a/***"), -EINVAL);
}

static void test_glob_specificity(void **state)
{
	/* From the least to the most specific one. */
	static const char *const order[] = {
		"**", "*", "*/*", "user.slice/**", "user.slice/*",
		"user.slice/a*/**", "user.slice/a[bc]d*", "u/x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(order); j++) {
			int have = zf_glob_compare(order[i], order[j]);

			/* These two differ in depth alone. */
			if (i + j == 3 && i && j)
				continue;
			if ((have > 0) != (i > j) || (have < 0) != (i < j))
				fail_msg("'%s' and '%s': %d", order[i],
					 order[j], have);
		}
	}
	assert_int_equal(zf_glob_compare("*", "*/*"), 0);
}

#define T(fn) cmocka_unit_test(fn)

static void test_format_share_and_time(void **state)
{
	static const struct {
		uint64_t usec;
		const char *want;
	} times[] = {
		{ 0, "0s" }, { 999, "0s" }, { 1000, "1ms" },
		{ 250999, "250ms" }, { 1999999, "1s" }, { 60000000, "1min" },
		{ 200000000, "3min 20s" }, { 7500000000, "2h 5min" },
		{ 86400000000, "1d" }, { 356400000000, "4d 3h" },
		{ UINT64_MAX, "213503982d 8h" },
	};
	char text[ZF_TIME_LEN], share[ZF_SHARE_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		assert_string_equal(zf_format_time(times[i].usec, text),
				    times[i].want);
	assert_string_equal(zf_format_share(123499, share), "12.34%");
	assert_string_equal(zf_format_share(0, share), "0.00%");
	assert_string_equal(zf_format_share(UINT64_MAX, share),
			    "1844674407370955.16%");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_bytes),
		T(test_times),
		T(test_shares),
		T(test_amounts),
		T(test_rates),
		T(test_mul_div),
		T(test_format),
		T(test_glob_match),
		T(test_glob_of_long_names),
		T(test_glob_is_not_exponential),
		T(test_glob_check),
		T(test_glob_specificity),
		cmocka_unit_test(test_format_share_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
