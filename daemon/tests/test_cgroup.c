// SPDX-License-Identifier: GPL-2.0-or-later
/* cgroup.h on plain directories, with the kernel's answers put in between. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include <zfolio/cgroup.h>

#include "tree.h"

ssize_t __real_write(int fd, const void *buffer, size_t bytes);
int __real_unlinkat(int fd, const char *name, int flags);

static int write_error;
static int busy_times;
static long slept_ms;

ssize_t __wrap_write(int fd, const void *buffer, size_t bytes)
{
	if (write_error) {
		errno = write_error;
		return -1;
	}
	return __real_write(fd, buffer, bytes);
}

int __wrap_unlinkat(int fd, const char *name, int flags)
{
	if (busy_times) {
		busy_times--;
		errno = EBUSY;
		return -1;
	}
	return __real_unlinkat(fd, name, flags);
}

/* Time passes at once. */
int __wrap_nanosleep(const struct timespec *want, struct timespec *rest)
{
	(void)rest;
	slept_ms += want->tv_sec * 1000 + want->tv_nsec / 1000000;
	return 0;
}

static int reset_faults(void **state)
{
	(void)state;
	write_error = 0;
	busy_times = 0;
	slept_ms = 0;
	return 0;
}

static void test_commands(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;

	tree_write(t, "a/cgroup.procs", "");
	tree_write(t, "a/cgroup.kill", "");
	tree_write(t, "a/memory.reclaim", "");
	assert_int_equal(zf_cgroup_open(t->path, "a", &cgroup), 0);
	assert_int_equal(zf_cgroup_attach(cgroup, 0), 0);
	tree_expect(t, "a/cgroup.procs", "0");
	assert_int_equal(zf_cgroup_attach(cgroup, 4194304), 0);
	tree_expect(t, "a/cgroup.procs", "4194304");
	assert_int_equal(zf_cgroup_kill(cgroup), 0);
	tree_expect(t, "a/cgroup.kill", "1");
	assert_int_equal(zf_cgroup_reclaim(cgroup, 1ULL << 40), 0);
	tree_expect(t, "a/memory.reclaim", "1099511627776");
}

static void test_answers_of_the_kernel(void **state)
{
	static const int errors[] = { EAGAIN, EINTR, EINVAL, ENODEV, EPERM };
	const struct tree *t = *state;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;

	tree_write(t, "a/memory.reclaim", "");
	assert_int_equal(zf_cgroup_open(t->path, "a", &cgroup), 0);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		write_error = errors[i];
		assert_int_equal(zf_cgroup_reclaim(cgroup, 4096), -errors[i]);
	}
	write_error = 0;
	assert_true(zf_cgroup_is_gone(-ENODEV) && zf_cgroup_is_gone(-ENOENT));
	assert_false(zf_cgroup_is_gone(-EAGAIN) || zf_cgroup_is_gone(0));
}

static void test_stat(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;
	struct zf_key keys[] = { { .key = "zswpin" }, { .key = "zswpwb" } };

	tree_write(t, "a/memory.stat", "anon 1\nzswpin 5\n");
	assert_int_equal(zf_cgroup_open(t->path, "a", &cgroup), 0);
	assert_int_equal(zf_cgroup_stat(cgroup, keys, 2), 1);
	assert_true(keys[0].found && keys[0].value == 5 && !keys[1].found);
}

static void test_create_needs_the_memory_controller(void **state)
{
	const struct tree *t = *state;
	struct zf_cgroup *cgroup = NULL;

	/* Not a cgroup at all; then one where no memory.current appears. */
	assert_int_equal(zf_cgroup_create(t->path, "new", &cgroup),
			 -EOPNOTSUPP);
	tree_write(t, "cgroup.controllers", "memory\n");
	assert_int_equal(zf_cgroup_create(t->path, "new", &cgroup),
			 -EOPNOTSUPP);
	assert_null(cgroup);
	assert_false(zf_path_has(t->path, "new"));
	tree_write(t, "there/x", "");
	assert_int_equal(zf_cgroup_create(t->path, "there", &cgroup), -EEXIST);
	assert_true(zf_path_has(t->path, "there"));
	assert_int_equal(zf_cgroup_create(t->path, "", &cgroup), -EINVAL);
	assert_int_equal(zf_cgroup_create(t->path, "a/b", &cgroup), -EINVAL);
}

static void test_one_made_anew_is_another(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *old = NULL;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *new = NULL;
	_cleanup_free_ char *name = tree_name(t, "again");
	uint64_t value;

	assert_int_equal(mkdir(name, 0755), 0);
	assert_int_equal(zf_cgroup_open(t->path, "again", &old), 0);
	assert_int_equal(rmdir(name), 0);
	tree_write(t, "again/memory.current", "4096\n");
	assert_int_equal(zf_cgroup_open(t->path, "again", &new), 0);
	assert_true(zf_cgroup_id(old) != zf_cgroup_id(new));
	assert_int_equal(zf_path_read_u64(zf_cgroup_path(new),
					  "memory.current", &value), 0);
	assert_true(zf_cgroup_is_gone(zf_path_read_u64(zf_cgroup_path(old),
						       "memory.current",
						       &value)));
}

static void test_remove_waits_within_bounds(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *name = tree_name(t, "busy");
	struct zf_cgroup *cgroup = NULL;

	assert_int_equal(mkdir(name, 0755), 0);
	assert_int_equal(zf_cgroup_open(t->path, "busy", &cgroup), 0);
	busy_times = 5;
	assert_int_equal(zf_cgroup_remove(t->path, "busy", cgroup), 0);
	assert_int_equal(slept_ms, 50);
	assert_false(zf_path_has(t->path, "busy"));

	/* Gone already: what was wanted. */
	assert_int_equal(zf_cgroup_remove(t->path, "busy", NULL), 0);

	assert_int_equal(mkdir(name, 0755), 0);
	slept_ms = 0;
	busy_times = 1000000;
	assert_int_equal(zf_cgroup_remove(t->path, "busy", NULL), -EBUSY);
	assert_in_range(slept_ms, ZF_CGROUP_REMOVE_MS,
			ZF_CGROUP_REMOVE_MS + 10);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, reset_faults, reset_faults)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_commands),
		T(test_answers_of_the_kernel),
		T(test_stat),
		T(test_create_needs_the_memory_controller),
		T(test_one_made_anew_is_another),
		T(test_remove_waits_within_bounds),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
