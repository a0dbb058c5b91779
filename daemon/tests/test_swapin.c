// SPDX-License-Identifier: GPL-2.0-or-later
/* swapin.h: what is removed of measurements that were killed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <zfolio/swapin.h>

#include "machine.h"

/* The number of a process that has ended, and of none since. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void make_dir(const struct tree *t, const char *name)
{
	char whole[128];

	snprintf(whole, sizeof(whole), CG "/%s", name);
	assert_int_equal(mkdirat(zf_path_fd(t->path), whole, 0755), 0);
}

static bool has_dir(const struct tree *t, const char *name)
{
	char whole[128];

	snprintf(whole, sizeof(whole), CG "/%s", name);
	return zf_path_has(t->path, whole);
}

static void test_tidy(void **state)
{
	const struct tree *t = *state;
	char dead[64], alive[64], busy[64];

	machine_system(t);
	snprintf(dead, sizeof(dead), "zfolio-swapin-%d", (int)dead_pid());
	snprintf(alive, sizeof(alive), "zfolio-swapin-%d", (int)getpid());
	make_dir(t, dead);
	make_dir(t, alive);
	make_dir(t, "zfolio-swapin-");
	make_dir(t, "zfolio-swapin-12x");
	make_dir(t, "zfolio-swapin-99999999999");
	make_dir(t, "other");
	assert_int_equal(zf_swapin_tidy(t->path, CG), 0);
	assert_false(has_dir(t, dead));
	assert_true(has_dir(t, alive));
	assert_true(has_dir(t, "zfolio-swapin-"));
	assert_true(has_dir(t, "zfolio-swapin-12x"));
	assert_true(has_dir(t, "zfolio-swapin-99999999999"));
	assert_true(has_dir(t, "other"));
	/* Nothing is left to do. */
	assert_int_equal(zf_swapin_tidy(t->path, CG), 0);

	/* One that can not be removed is told, and ends nothing. */
	snprintf(busy, sizeof(busy), "zfolio-swapin-%d", (int)dead_pid());
	make_dir(t, busy);
	strcat(busy, "/x");
	make_dir(t, busy);
	assert_int_equal(zf_swapin_tidy(t->path, CG), -ENOTEMPTY);
}

static void test_tidy_without_a_hierarchy(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(zf_swapin_tidy(t->path, "sys/fs/absent"),
			 -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tidy),
		cmocka_unit_test(test_tidy_without_a_hierarchy),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
