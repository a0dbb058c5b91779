// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pages.h: which pages are taken, on plain files in place of proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfolioctl/pages.h"

#include "machine.h"

#define PAGE 4096

/* ---- fixtures ---- */

static uint64_t taken[256];	/* by the first byte of the page */
static int take_result;

static int take(void *data, const void *page)
{
	const unsigned char *bytes = page;

	assert_ptr_equal(data, taken);
	/* All of it, and of one page. */
	for (size_t i = 0; i < PAGE; i++)
		assert_int_equal(bytes[i], bytes[0]);
	taken[bytes[0]]++;
	return take_result;
}

static int start(void **state)
{
	const struct tree *t = *state;

	memset(taken, 0, sizeof(taken));
	take_result = 0;
	machine_remove(t, "sys");
	machine_remove(t, "proc");
	machine_cgroup(t, "a");
	return 0;
}

/* Page number @page of a process has @fill, and @entry in its pagemap. */
static void put_page(const struct tree *t, unsigned int pid, unsigned int page,
		     unsigned char fill, uint64_t entry)
{
	char name[64], bytes[PAGE];
	int fd;

	memset(bytes, fill, sizeof(bytes));
	snprintf(name, sizeof(name), "proc/%u/mem", pid);
	fd = openat(zf_path_fd(t->path), name, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(pwrite(fd, bytes, PAGE, (off_t)page * PAGE), PAGE);
	close(fd);
	snprintf(name, sizeof(name), "proc/%u/pagemap", pid);
	fd = openat(zf_path_fd(t->path), name, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(pwrite(fd, &entry, 8, (off_t)page * 8), 8);
	close(fd);
}

#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_FILE (1ULL << 61)

static struct pages_seen sample(const struct tree *t, uint64_t wanted)
{
	_cleanup_(zf_path_freep) struct zf_path *cgroup = NULL;
	struct pages_seen seen;

	assert_int_equal(zf_path_open_at(t->path, CG "/a", &cgroup), 0);
	assert_int_equal(pages_sample(t->path, cgroup, wanted, 7, take, taken,
				      &seen), 0);
	return seen;
}

/* ---- tests ---- */

static void test_only_present_anonymous_pages(void **state)
{
	const struct tree *t = *state;
	struct pages_seen seen;

	machine_write(t, "a", "cgroup.procs", "10\n");
	tree_write(t, "proc/10/smaps",
		   "00010000-00014000 rw-p 00000000 00:00 0 \n"
		   "Size:                 16 kB\nAnonymous:             8 kB\n"
		   "Swap:                  4 kB\nVmFlags: rd wr\n"
		   "00020000-00024000 r--p 00000000 00:00 0 /lib/x\n"
		   "Size:                 16 kB\nAnonymous:             0 kB\n");
	put_page(t, 10, 16, 1, PRESENT);
	put_page(t, 10, 17, 2, SWAPPED);
	put_page(t, 10, 18, 3, PRESENT | OF_FILE);
	put_page(t, 10, 19, 4, PRESENT);
	put_page(t, 10, 32, 5, PRESENT);
	seen = sample(t, 1000);
	assert_int_equal(seen.processes, 1);
	assert_int_equal(seen.anonymous, 8192);
	assert_int_equal(seen.swapped, 4096);
	/* No more than there are. */
	assert_int_equal(seen.sampled, 2);
	assert_int_equal(seen.missed, 0);
	assert_int_equal(taken[1] + taken[4], 2);
}

static void test_shares(void **state)
{
	const struct tree *t = *state;
	struct pages_seen seen;

	/* Three quarters belong to one, below the cgroup. */
	machine_write(t, "a", "cgroup.procs", "10\n");
	machine_write(t, "a/b/c", "cgroup.procs", "11\n");
	machine_write(t, "a/b", "cgroup.procs", "");
	tree_write(t, "proc/10/smaps",
		   "0-100000 rw-p 00000000 00:00 0 \nAnonymous: 1024 kB\n");
	tree_write(t, "proc/11/smaps",
		   "0-300000 rw-p 00000000 00:00 0 \nAnonymous: 3072 kB\n");
	for (unsigned int i = 0; i < 768; i++) {
		if (i < 256)
			put_page(t, 10, i, 1, i ? PRESENT : 0);
		put_page(t, 11, i, 2, i ? PRESENT : 0);
	}
	seen = sample(t, 400);
	assert_int_equal(seen.sampled, 400);
	assert_int_equal(taken[1], 100);
	assert_int_equal(taken[2], 300);
}

static void test_what_can_not_be_read(void **state)
{
	const struct tree *t = *state;
	struct pages_seen seen;

	machine_write(t, "a", "cgroup.procs", "10\n11\n12\n0\n");
	tree_write(t, "proc/10/smaps",
		   "0-10000 rw-p 00000000 00:00 0 \nAnonymous: 64 kB\n");
	/* Its memory has gone meanwhile, and so has all of another one. */
	tree_write(t, "proc/11/smaps",
		   "0-10000 rw-p 00000000 00:00 0 \nAnonymous: 64 kB\n");
	for (unsigned int i = 0; i < 16; i++)
		put_page(t, 11, i, 1, 0);
	seen = sample(t, 100);
	assert_int_equal(seen.processes, 3);
	assert_int_equal(seen.gone, 1);
	assert_int_equal(seen.sampled, 0);
	assert_int_equal(seen.missed, 32);
}

static void test_nobody(void **state)
{
	const struct tree *t = *state;
	struct pages_seen seen;

	machine_write(t, "a", "cgroup.procs", "");
	seen = sample(t, 100);
	assert_int_equal(seen.processes, 0);
	assert_int_equal(seen.sampled, 0);
}

static void test_errors(void **state)
{
	_cleanup_(zf_path_freep) struct zf_path *cgroup = NULL;
	const struct tree *t = *state;
	struct pages_seen seen;

	machine_write(t, "a", "cgroup.procs", "10\n");
	tree_write(t, "proc/10/smaps",
		   "1000-2000 rw-p 00000000 00:00 0 \nAnonymous: 4 kB\n");
	put_page(t, 10, 1, 1, PRESENT);
	assert_int_equal(zf_path_open_at(t->path, CG "/a", &cgroup), 0);
	take_result = -EIO;
	assert_int_equal(pages_sample(t->path, cgroup, 9, 7, take, taken,
				      &seen), -EIO);
	machine_remove(t, CG "/a/cgroup.procs");
	assert_int_equal(pages_sample(t->path, cgroup, 9, 7, take, taken,
				      &seen), -ENOENT);
}

#define T(fn) cmocka_unit_test_setup(fn, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_only_present_anonymous_pages), T(test_shares),
		T(test_what_can_not_be_read), T(test_nobody), T(test_errors),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
