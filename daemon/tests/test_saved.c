// SPDX-License-Identifier: GPL-2.0-or-later
/* saved.h: folio sizes that a measurement which was killed has left. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfolioctl/saved.h"

#include "machine.h"

#define SIZE_64K "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"
#define SIZE_1M "sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled"

static int start(void **state)
{
	const struct tree *t = *state;

	machine_system(t);
	machine_remove(t, "run");
	tree_write(t, "run/x", "");
	return 0;
}

static struct saved *opened(const struct tree *t)
{
	struct saved *saved = NULL;

	assert_int_equal(saved_open(t->path, &saved), 0);
	return saved;
}

static void test_put_back(void **state)
{
	const struct tree *t = *state;
	struct saved *saved = opened(t);

	assert_int_equal(saved_note(saved), 0);
	tree_write(t, SIZE_64K, "");
	tree_write(t, SIZE_1M, "");
	/* As if killed. */
	saved_free(saved);
	saved = opened(t);
	tree_expect(t, SIZE_64K, "inherit");
	tree_expect(t, SIZE_1M, "always");

	/* Once. */
	tree_write(t, SIZE_64K, "");
	saved_free(saved);
	saved_free(opened(t));
	tree_expect(t, SIZE_64K, "");
}

static void test_forget(void **state)
{
	const struct tree *t = *state;
	struct saved *saved = opened(t);

	assert_int_equal(saved_note(saved), 0);
	saved_forget(saved);
	saved_free(saved);
	tree_expect(t, SAVED_FILE, "");
	tree_write(t, SIZE_64K, "");
	saved_free(opened(t));
	tree_expect(t, SIZE_64K, "");
}

static void test_one_at_a_time(void **state)
{
	const struct tree *t = *state;
	struct saved *saved = opened(t), *second = NULL;

	assert_int_equal(saved_open(t->path, &second), -EBUSY);
	assert_null(second);
	saved_free(saved);
	saved_free(opened(t));
}

static void test_damaged(void **state)
{
	const struct tree *t = *state;

	tree_write(t, SIZE_64K, "");
	tree_write(t, SAVED_FILE, "{\"" SIZE_64K "\": \"alw");
	saved_free(opened(t));
	tree_expect(t, SIZE_64K, "");
	/* No other file is written, whatever stands there. */
	tree_write(t, "sys/other", "");
	tree_write(t, SAVED_FILE, "{\"sys/other\": \"x\", \"" SIZE_64K "\": 3}");
	saved_free(opened(t));
	tree_expect(t, "sys/other", "");
	tree_expect(t, SIZE_64K, "");
}

static void test_errors(void **state)
{
	const struct tree *t = *state;
	struct saved *saved = NULL;

	tree_write(t, "run/zfolio", "a file");
	assert_int_equal(saved_open(t->path, &saved), -ENOTDIR);
	machine_remove(t, "run");
	assert_int_equal(saved_open(t->path, &saved), -ENOENT);
	tree_write(t, "run/x", "");
	saved = opened(t);
	tree_write(t, SIZE_64K, "no word in brackets");
	assert_int_equal(saved_note(saved), -EINVAL);
	saved_free(saved);
}

#define T(fn) cmocka_unit_test_setup(fn, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_put_back), T(test_forget), T(test_one_at_a_time),
		T(test_damaged), T(test_errors),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
