// SPDX-License-Identifier: GPL-2.0-or-later
/* psi.h: pressure files and triggers. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zfolio/psi.h>

#include "tree.h"

int __real_openat(int fd, const char *name, int flags, ...);
ssize_t __real_write(int fd, const void *buffer, size_t bytes);

static int open_error;
static char written[128];
static ssize_t written_len;

int __wrap_openat(int fd, const char *name, int flags, ...)
{
	if (open_error) {
		errno = open_error;
		return -1;
	}
	return __real_openat(fd, name, flags);
}

ssize_t __wrap_write(int fd, const void *buffer, size_t bytes)
{
	written_len = bytes;
	memcpy(written, buffer, bytes < sizeof(written) ? bytes : 0);
	return __real_write(fd, buffer, bytes);
}

static void test_psi_text(void **state)
{
	uint64_t usec = 5;

	(void)state;
	assert_int_equal(zf_psi_parse("some avg10=1.00 avg60=2.00 avg300=0.33 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", &usec), 0);
	assert_int_equal(usec, 12345);
	assert_int_equal(zf_psi_parse("", &usec), -ENODATA);
	assert_int_equal(zf_psi_parse("full total=1\n", &usec), -EINVAL);
	assert_int_equal(zf_psi_parse("some avg10=1.00\nfull total=1\n", &usec),
			 -EINVAL);
	assert_int_equal(zf_psi_parse("some total=99999999999999999999\n",
				      &usec), -ERANGE);
	assert_int_equal(usec, 12345);
}

static void test_psi_trigger_ends_with_nul(void **state)
{
	const struct tree *t = *state;
	int fd;

	tree_write(t, "proc/pressure/memory", "");
	fd = zf_psi_trigger(t->path, "proc/pressure/memory", 150000, 1000000);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(written_len, strlen("some 150000 1000000") + 1);
	assert_string_equal(written, "some 150000 1000000");
	open_error = EOPNOTSUPP;
	fd = zf_psi_trigger(t->path, "proc/pressure/memory", 1, 1);
	open_error = 0;
	assert_true(zf_psi_is_off(fd));
}

#define T(fn) cmocka_unit_test(fn)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_psi_text),
		T(test_psi_trigger_ends_with_nul),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
