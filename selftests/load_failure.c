// SPDX-License-Identifier: GPL-2.0-only
/*
 * load_failure: a page that zswap can't decompress takes nothing with it.
 *
 * Memory that went bad under a compressed page loses that page. When the page is
 * one of many that a large folio would bring in, the folio can't be had; the touch
 * of a good page must then bring in that page, and only a touch of the bad one may
 * fail: with SIGBUS for anonymous memory and for a mapped file, with EIO for a file
 * that is read.
 *
 * fail_zswap spoils one page of a folio as it is stored. For each folio size the
 * pages are touched upwards, downwards and at random, the good ones must be right,
 * also after they were written back to the disk or brought in by swapoff, and
 * nothing may be left in zswap when the memory is gone.
 *
 * To be run on a kernel with CONFIG_FAIL_ZSWAP: the debug one has it.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#include "guest_cgroup.h"
#include "guest_disk.h"

#define FAULT		"/sys/kernel/debug/fail_zswap/"
#define SIZE		(2 * GUEST_MIB)
#define NR_PAGES	(SIZE / page_size)
#define SEED		0x6b43a9b5u

enum way { UPWARDS, DOWNWARDS, RANDOM, AFTER_WRITEBACK, AFTER_SWAPOFF, NR_WAYS };
enum kind { ANONYMOUS, MAPPED_FILE, READ_FILE, NR_KINDS };

static const char *const way_name[] = {
	[UPWARDS] = "upwards",
	[DOWNWARDS] = "downwards",
	[RANDOM] = "at random",
	[AFTER_WRITEBACK] = "after write-back",
	[AFTER_SWAPOFF] = "after swapoff",
};

static const char *const kind_name[] = {
	[ANONYMOUS] = "anonymous",
	[MAPPED_FILE] = "mapped file",
	[READ_FILE] = "file",
};

static char device[PATH_MAX];
static sigjmp_buf bad_page;
static int fd;
static char *mem;

static void on_sigbus(int signal)
{
	(void)signal;
	siglongjmp(bad_page, 1);
}

/* One page of those that are stored next: the @nth, or a later one. */
static void spoil_one(unsigned int nth)
{
	guest_write(FAULT "verbose", "0");
	guest_write(FAULT "probability", "100");
	guest_write(FAULT "interval", "%u", nth);
	guest_write(FAULT "times", "1");
}

static void spoil_none(void)
{
	guest_write(FAULT "times", "0");
}

static void open_memory(enum kind kind)
{
	mem = guest_map(SIZE);
	fd = -1;
	if (kind == ANONYMOUS)
		return;
	fd = memfd_create("load_failure", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, SIZE))
		ksft_exit_fail_msg("memfd: %s\n", strerror(errno));
	if (mmap(mem, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) != mem)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
}

static void close_memory(void)
{
	munmap(mem, SIZE);
	if (fd >= 0)
		close(fd);
}

/* Returns whether the page could be read; @ret_right whether it is right. */
static bool read_page(enum kind kind, size_t page, bool *ret_right)
{
	static char copy[65536];

	if (kind == READ_FILE) {
		ssize_t len = pread(fd, copy, page_size, page * page_size);

		if (len < 0 && errno != EIO)
			ksft_exit_fail_msg("pread: %s\n", strerror(errno));
		if (len != (ssize_t)page_size)
			return false;
	} else {
		if (sigsetjmp(bad_page, 1))
			return false;
		memcpy(copy, mem + page * page_size, page_size);
	}
	*ret_right = !guest_page_wrong(copy, SEED, page);
	return true;
}

/* Writes all pages back to the disk but those that can't be. */
static void write_back(void)
{
	long left = guest_zswap_drain(1);

	if (left != 1)
		ksft_exit_fail_msg("%ld pages are left in zswap after write-back\n",
				   left);
}

static void test(enum kind kind, unsigned int kib, enum way way)
{
	unsigned int unreadable = 0, again = 0, wrong = 0;
	size_t bad = 0, left;
	long stored;
	bool right;

	open_memory(kind);
	guest_fill(mem, SIZE, SEED);
	spoil_one(97);
	left = guest_pageout(mem, SIZE);
	spoil_none();
	stored = guest_zswap_stored();
	if (left || stored < (long)NR_PAGES)
		ksft_exit_fail_msg("%zu pages are in memory, %ld in zswap of %lu\n",
				   left, stored, (unsigned long)NR_PAGES);
	if (way == AFTER_WRITEBACK)
		write_back();
	else if (way == AFTER_SWAPOFF)
		guest_swapoff(device);

	for (size_t i = 0; i < NR_PAGES; i++) {
		size_t page = way == DOWNWARDS ? NR_PAGES - 1 - i :
			      /* Odd, and so each page once. */
			      way == RANDOM ? i * 211 % NR_PAGES : i;

		right = true;
		if (!read_page(kind, page, &right)) {
			bad = page;
			unreadable++;
		}
		wrong += !right;
	}
	/* It stays as it is, and so do its neighbours. */
	for (size_t page = 0; page < NR_PAGES; page++) {
		right = true;
		again += !read_page(kind, page, &right);
		wrong += !right;
	}
	ksft_print_msg("%s, %u KiB, %s: page %zu could not be read; %u and %u pages could not, %u were wrong\n",
		       kind_name[kind], kib, way_name[way], bad, unreadable,
		       again, wrong);
	close_memory();
	if (way == AFTER_SWAPOFF)
		guest_swapon(device);
	stored = guest_zswap_stored();
	if (stored || guest_swap_used())
		ksft_print_msg("%ld pages are left in zswap, %ld slots in use\n",
			       stored, guest_swap_used());
	ksft_test_result(unreadable == 1 && again == 1 && !wrong && !stored &&
			 !guest_swap_used(), "%s, %u KiB, %s\n",
			 kind_name[kind], kib, way_name[way]);
}

/* 0 is a single page. */
static void enable_folios(unsigned int kib)
{
	char path[PATH_MAX];

	guest_thp_only(kib);
	for (unsigned int size = 8; size <= 2048; size *= 2) {
		snprintf(path, sizeof(path),
			 THP_DIR "hugepages-%ukB/shmem_enabled", size);
		if (!access(path, W_OK))
			guest_write(path, "%s",
				    size == kib ? "always" : "never");
	}
}

int main(void)
{
	static const unsigned int sizes[] = { 0, 16, 64, 256, 1024 };
	struct sigaction action = { .sa_handler = on_sigbus };

	guest_start();
	if (access(FAULT "times", W_OK))
		ksft_exit_skip("this kernel has no fail_zswap\n");
	guest_take_disk(device, sizeof(device));
	guest_zswap_enable("lz4");
	guest_run_on(0);
	guest_write("/proc/sys/vm/page-cluster", "0");
	guest_swapon(device);
	if (sigaction(SIGBUS, &action, NULL))
		ksft_exit_fail_msg("sigaction: %s\n", strerror(errno));

	ksft_set_plan(ARRAY_SIZE(sizes) * NR_KINDS * NR_WAYS);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		enable_folios(sizes[i]);
		for (enum kind kind = 0; kind < NR_KINDS; kind++)
			for (enum way way = 0; way < NR_WAYS; way++)
				test(kind, sizes[i], way);
	}
	ksft_finished();
}
