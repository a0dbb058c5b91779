// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * path.h and knob.h on a tree of plain files, and with system calls that fail
 * as they do when a cgroup goes away or a signal comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zfolio/knob.h>
#include <zfolio/path.h>

#include "tree.h"

/* ---- system calls that fail on demand ---- */

ssize_t __real_read(int fd, void *buffer, size_t bytes);
ssize_t __real_write(int fd, const void *buffer, size_t bytes);
int __real_openat(int fd, const char *name, int flags, ...);

/* The next TIMES calls fail with ERROR; transfers stay within AT_MOST. */
static int read_error, read_times;
static int write_error, write_times;
static int open_error, open_times;
static size_t read_at_most, write_at_most;

ssize_t __wrap_read(int fd, void *buffer, size_t bytes)
{
	if (read_times) {
		read_times--;
		errno = read_error;
		return -1;
	}
	if (read_at_most && bytes > read_at_most)
		bytes = read_at_most;
	return __real_read(fd, buffer, bytes);
}

ssize_t __wrap_write(int fd, const void *buffer, size_t bytes)
{
	if (write_times) {
		write_times--;
		errno = write_error;
		return -1;
	}
	if (write_at_most && bytes > write_at_most)
		bytes = write_at_most;
	return __real_write(fd, buffer, bytes);
}

/* None of the code under test creates files: there is never a mode. */
int __wrap_openat(int fd, const char *name, int flags, ...)
{
	if (open_times) {
		open_times--;
		errno = open_error;
		return -1;
	}
	return __real_openat(fd, name, flags);
}

static int reset_faults(void **state)
{
	(void)state;
	read_times = write_times = open_times = 0;
	read_at_most = write_at_most = 0;
	return 0;
}

/* ---- reading ---- */

static void test_read_long_file(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *want = malloc(100001);
	_cleanup_free_ char *have = NULL;
	size_t len;

	/* 4096 bytes a read is what sysfs gives, and where naive readers stop. */
	for (size_t i = 0; i < 100000; i++)
		want[i] = 'a' + i % 26;
	want[100000] = '\0';
	tree_write(t, "long", want);
	read_at_most = 4096;
	assert_int_equal(zf_path_read(t->path, "long", &have, &len), 0);
	assert_int_equal(len, 100000);
	assert_string_equal(have, want);
}

static void test_read_near_buffer_size(void **state)
{
	const struct tree *t = *state;

	for (size_t len = 4090; len < 4100; len++) {
		_cleanup_free_ char *want = calloc(1, len + 1);
		_cleanup_free_ char *have = NULL;
		size_t got;

		memset(want, 'x', len);
		tree_write(t, "exact", want);
		assert_int_equal(zf_path_read(t->path, "exact", &have, &got),
				 0);
		assert_int_equal(got, len);
		assert_string_equal(have, want);
	}
}

static void test_read_goes_on_after_eintr(void **state)
{
	const struct tree *t = *state;
	uint64_t value = 0;

	tree_write(t, "number", "42\n");
	read_error = EINTR;
	read_times = 3;
	open_error = EINTR;
	open_times = 2;
	assert_int_equal(zf_path_read_u64(t->path, "number", &value), 0);
	assert_int_equal(value, 42);
}

static void test_removed_while_read(void **state)
{
	const struct tree *t = *state;
	char *text = (char *)0x1;
	uint64_t value = 7;

	tree_write(t, "number", "42\n");
	read_error = ENODEV;
	read_times = 1;
	assert_int_equal(zf_path_read(t->path, "number", &text, NULL),
			 -ENODEV);
	assert_ptr_equal(text, (char *)0x1);
	assert_int_equal(zf_path_read_u64(t->path, "absent", &value), -ENOENT);
	assert_int_equal(value, 7);
}

static void test_too_long_is_refused(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *name = tree_name(t, "huge");
	char *text = NULL;

	tree_write(t, "huge", "");
	/* Sparse: takes no space. */
	assert_int_equal(truncate(name, ZF_PATH_MAX_BYTES + 1), 0);
	assert_int_equal(zf_path_read(t->path, "huge", &text, NULL), -EFBIG);
	assert_null(text);
}

static void test_names(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_path_freep) struct zf_path *sub = NULL;
	struct zf_path *none = NULL;
	char *text = NULL;

	assert_int_equal(zf_path_read(t->path, "", &text, NULL), -EINVAL);
	assert_int_equal(zf_path_read(t->path, "/etc/passwd", &text, NULL),
			 -EINVAL);
	assert_false(zf_path_has(t->path, "/etc/passwd"));
	tree_write(t, "dir with space/a\\x2db:c", "1");
	assert_int_equal(zf_path_open_at(t->path, "dir with space", &sub), 0);
	assert_true(zf_path_has(sub, "a\\x2db:c"));
	assert_int_equal(zf_path_open_at(sub, "a\\x2db:c", &none), -ENOTDIR);
	assert_null(none);
	assert_non_null(strstr(zf_path_prefix(sub), "/dir with space"));
}

/* ---- values ---- */

static void test_u64(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} cases[] = {
		{ "0\n", 0, 0 },
		{ "4096", 0, 4096 },
		{ "18446744073709551615\n", 0, UINT64_MAX },
		{ "9223372036854771712\n", 0, 9223372036854771712ULL },
		{ "max\n", 0, UINT64_MAX },
		{ "18446744073709551616\n", -ERANGE, 0 },
		{ "99999999999999999999999\n", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "\n", -EINVAL, 0 },
		{ "-1\n", -EINVAL, 0 },
		{ "+1\n", -EINVAL, 0 },
		{ "0x10\n", -EINVAL, 0 },
		{ "1 2\n", -EINVAL, 0 },
		{ "1\n2\n", -EINVAL, 0 },
		{ " 1\n", -EINVAL, 0 },
		{ "maximum\n", -EINVAL, 0 },
	};
	const struct tree *t = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t value = 12345;

		tree_write(t, "value", cases[i].text);
		assert_int_equal(zf_path_read_u64(t->path, "value", &value),
				 cases[i].r);
		assert_true(value == (cases[i].r ? 12345 : cases[i].value));
	}
}

static void test_held_file(void **state)
{
	const struct tree *t = *state;
	_cleanup_close_ int fd = -EBADF;
	uint64_t value = 5;

	tree_write(t, "held", "max\n");
	fd = zf_path_hold(t->path, "held");
	assert_true(fd >= 0);
	assert_int_equal(zf_held_read_u64(fd, &value), 0);
	assert_true(value == UINT64_MAX);
	/* The same file with another number, then with none. */
	tree_write(t, "held", "12\n");
	assert_int_equal(zf_held_read_u64(fd, &value), 0);
	assert_int_equal(value, 12);
	tree_write(t, "held", "twelve\n");
	assert_int_equal(zf_held_read_u64(fd, &value), -EINVAL);
	tree_write(t, "held", "0000000000000000000000000000000000000001\n");
	assert_int_equal(zf_held_read_u64(fd, &value), -ERANGE);
	assert_int_equal(value, 12);
	assert_int_equal(zf_path_hold(t->path, "absent"), -ENOENT);
}

static void test_size(void **state)
{
	uint64_t bytes = 5;

	(void)state;
	assert_int_equal(zf_parse_size("64K", &bytes), 0);
	assert_int_equal(bytes, 65536);
	assert_int_equal(zf_parse_size("2m", &bytes), 0);
	assert_int_equal(bytes, 2 << 20);
	assert_int_equal(zf_parse_size("17179869183G", &bytes), 0);
	assert_int_equal(zf_parse_size("17179869184G", &bytes), -ERANGE);
	assert_int_equal(zf_parse_size("1KB", &bytes), -EINVAL);
	assert_int_equal(zf_parse_size("K", &bytes), -EINVAL);
	assert_int_equal(zf_parse_size("1T", &bytes), -EINVAL);
}

static void test_keyed(void **state)
{
	const struct tree *t = *state;
	struct zf_key keys[] = {
		{ .key = "zswpin" },
		{ .key = "zswp", .value = 3 },
		{ .key = "last" },
	};
	uint64_t value = 9;

	/* A longer key, a key as a value, a nested line, no last newline. */
	tree_write(t, "stat",
		   "zswpin_other 1\nnote zswpin 2\n8:0 rbytes=1 wbytes=2\n"
		   "zswpin 77\nzswpin 78\nlast 5");
	assert_int_equal(zf_path_read_keys(t->path, "stat", keys, 3), 2);
	assert_true(keys[0].found && keys[0].value == 77);
	assert_true(!keys[1].found && keys[1].value == 3);
	assert_true(keys[2].found && keys[2].value == 5);

	assert_int_equal(zf_path_read_key(t->path, "stat", "none", &value),
			 -ENODATA);
	assert_int_equal(value, 9);
	tree_write(t, "bad", "good 1\nzswpin seven\n");
	keys[0] = (struct zf_key){ .key = "good" };
	keys[1] = (struct zf_key){ .key = "zswpin" };
	assert_int_equal(zf_path_read_keys(t->path, "bad", keys, 2), -EINVAL);
	assert_false(keys[0].found);
	tree_write(t, "empty", "");
	assert_int_equal(zf_path_read_keys(t->path, "empty", keys, 2), 0);
}

static void test_active(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *word = NULL;

	tree_write(t, "enabled", "always inherit [madvise] never\n");
	assert_int_equal(zf_path_read_active(t->path, "enabled", &word), 0);
	assert_string_equal(word, "madvise");
	tree_write(t, "plain", "Y\n");
	assert_int_equal(zf_path_read_active(t->path, "plain", &word),
			 -EINVAL);
	tree_write(t, "broken", "a [b\n");
	assert_int_equal(zf_path_read_active(t->path, "broken", &word),
			 -EINVAL);
	assert_string_equal(word, "madvise");
}

/* ---- writing ---- */

static void test_write_replaces(void **state)
{
	const struct tree *t = *state;

	tree_write(t, "knob", "a long old value\n");
	assert_int_equal(zf_path_write(t->path, "knob", "new"), 0);
	tree_expect(t, "knob", "new");
	assert_int_equal(zf_path_write(t->path, "absent", "1"), -ENOENT);
	assert_false(zf_path_has(t->path, "absent"));
}

static void test_short_write_is_an_error(void **state)
{
	const struct tree *t = *state;

	tree_write(t, "knob", "");
	write_at_most = 3;
	assert_int_equal(zf_path_write(t->path, "knob", "1048576"), -EIO);
	/* And the rest was not written as a second command. */
	tree_expect(t, "knob", "104");
}

static void test_write_and_signals(void **state)
{
	const struct tree *t = *state;

	tree_write(t, "knob", "");
	write_error = EINTR;
	write_times = 2;
	assert_int_equal(zf_path_write(t->path, "knob", "5"), 0);
	write_times = 1;
	assert_int_equal(zf_path_write_interruptible(t->path, "knob", "6"),
			 -EINTR);
	write_error = ENODEV;
	write_times = 1;
	assert_int_equal(zf_path_write(t->path, "knob", "7"), -ENODEV);
}

/* ---- knobs ---- */

static void test_knobs_restore_in_reverse(void **state)
{
	const struct tree *t = *state;
	struct zf_knobs *knobs = NULL;

	tree_write(t, "a", "1\n");
	tree_write(t, "thp", "always inherit [madvise] never\n");
	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	assert_int_equal(zf_knob_set(knobs, "a", "2"), 0);
	assert_int_equal(zf_knob_set(knobs, "a", "3"), 0);
	assert_int_equal(zf_knob_set(knobs, "thp", "never"), 0);
	assert_int_equal(zf_knob_set(knobs, "absent", "1"), -ENOENT);
	tree_expect(t, "a", "3");
	tree_expect(t, "thp", "never");
	assert_int_equal(zf_knobs_restore(knobs), 0);
	tree_expect(t, "a", "1");
	tree_expect(t, "thp", "madvise");
}

static void test_knob_that_has_the_value_is_not_written(void **state)
{
	const struct tree *t = *state;
	struct zf_knobs *knobs = NULL;

	tree_write(t, "enabled", "N\n");
	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	write_error = EPERM;
	write_times = 1;
	assert_int_equal(zf_knob_set(knobs, "enabled", "N"), 0);
	assert_int_equal(write_times, 1);
	write_times = 0;
	assert_int_equal(zf_knobs_restore(knobs), 0);
	tree_expect(t, "enabled", "N\n");
}

static void test_knob_that_refuses_is_not_restored(void **state)
{
	const struct tree *t = *state;
	struct zf_knobs *knobs = NULL;

	tree_write(t, "enabled", "N\n");
	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	write_error = EINVAL;
	write_times = 1;
	assert_int_equal(zf_knob_set(knobs, "enabled", "Y"), -EINVAL);
	tree_write(t, "enabled", "left alone");
	assert_int_equal(zf_knobs_restore(knobs), 0);
	tree_expect(t, "enabled", "left alone");
}

static void test_knobs_restore_goes_on(void **state)
{
	const struct tree *t = *state;
	struct zf_knobs *knobs = NULL;

	tree_write(t, "a", "1");
	tree_write(t, "b", "1");
	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	assert_int_equal(zf_knob_set(knobs, "a", "2"), 0);
	assert_int_equal(zf_knob_set(knobs, "b", "2"), 0);
	assert_int_equal(unlinkat(zf_path_fd(t->path), "b", 0), 0);
	assert_int_equal(zf_knobs_restore(knobs), -ENOENT);
	tree_expect(t, "a", "1");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, reset_faults, reset_faults)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_read_long_file),
		T(test_read_near_buffer_size),
		T(test_read_goes_on_after_eintr),
		T(test_removed_while_read),
		T(test_too_long_is_refused),
		T(test_names),
		T(test_u64),
		T(test_held_file),
		T(test_size),
		T(test_keyed),
		T(test_active),
		T(test_write_replaces),
		T(test_short_write_is_an_error),
		T(test_write_and_signals),
		T(test_knobs_restore_in_reverse),
		T(test_knob_that_has_the_value_is_not_written),
		T(test_knob_that_refuses_is_not_restored),
		T(test_knobs_restore_goes_on),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
