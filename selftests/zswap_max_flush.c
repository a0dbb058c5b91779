// SPDX-License-Identifier: GPL-2.0-only
/*
 * zswap_max_flush: a finite memory.zswap.max must not make every store pay for
 * what other groups do.
 *
 * The usage that is compared with the limit was once a statistic, which is exact
 * only after the changes of all CPUs in all groups below the limited one have
 * been gathered: a flush for each page that is stored, and dearer the more groups
 * have been busy since the last. A counter of its own needs none of that.
 *
 * The test counts instructions, on a machine whose clock does so (vm/run
 * --icount): it pages out one page at a time in a group which, like each of its
 * ancestors, has no limit, then one that is far away, and compares the two. Each is
 * done while nobody else does anything and with many busy groups below the topmost
 * limit. These need no tasks: each is charged with one page of a shared file, and
 * unmapping and mapping the file changes a statistic of every one of them.
 */
#define _GNU_SOURCE
#include <time.h>

#include "guest_cgroup.h"

#define GROUP		"zswap_max_flush"
#define OUTER		GROUP "/outer"
#define INNER		OUTER "/inner"
#define STORE		INNER "/store"
#define NR_SIBLINGS	200
#define NR_PAGES	64
/* In percent of the cost without a limit. A counter costs nothing to see here. */
#define MAX_COST	120

/* Each limit on the way up is looked at for each store. */
static const char *const limited_groups[] = { GROUP, OUTER, INNER, STORE };

static char *siblings;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * Whether a loop of 800,000 instructions takes as many nanoseconds, most of the
 * times that it is tried: the others are those that an interrupt falls into.
 */
static bool clock_counts_instructions(void)
{
	int exact = 0;

#ifdef __x86_64__
	for (int i = 0; i < 20; i++) {
		unsigned long left = 400000;
		uint64_t start = now(), took;

		asm volatile("1: dec %0\n\tjnz 1b" : "+r" (left) : : "cc");
		took = now() - start;
		exact += took > 792000 && took < 808000;
	}
#endif
	ksft_print_msg("the clock was right %d times of 20\n", exact);
	return exact >= 10;
}

static void make_siblings(void)
{
	int fd = memfd_create("siblings", MFD_CLOEXEC);
	char group[PATH_MAX];

	if (fd < 0 || ftruncate(fd, NR_SIBLINGS * page_size))
		ksft_exit_fail_msg("memfd: %s\n", strerror(errno));
	siblings = mmap(NULL, NR_SIBLINGS * page_size, PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	if (siblings == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	close(fd);
	for (int i = 0; i < NR_SIBLINGS; i++) {
		snprintf(group, sizeof(group), GROUP "/sibling%d", i);
		guest_cgroup_create(group);
		guest_cgroup_move(0, group);
		*(volatile char *)(siblings + i * page_size) = 1;
	}
}

/* Takes every sibling's page out of the page table, and puts it back in. */
static void stir_siblings(void)
{
	if (madvise(siblings, NR_SIBLINGS * page_size, MADV_DONTNEED))
		ksft_exit_fail_msg("MADV_DONTNEED: %s\n", strerror(errno));
	guest_touch(siblings, NR_SIBLINGS * page_size);
}

/* Instructions for a page that goes to zswap. */
static long store_cost(bool limited, bool busy)
{
	size_t size = NR_PAGES * page_size;
	char *mem = guest_map(size);
	long stored, out;
	uint64_t cost = 0;

	for (size_t i = 0; i < ARRAY_SIZE(limited_groups); i++)
		guest_cgroup_write(limited_groups[i], "memory.zswap.max", "%s",
				   limited ? "1G" : "max");
	guest_fill(mem, size, 1);
	/* What is in a CPU's batch of LRU additions cannot be paged out. */
	guest_write("/proc/sys/vm/drop_caches", "1");

	stored = guest_zswap_stored();
	for (size_t off = 0; off < size; off += page_size) {
		uint64_t start;

		if (busy)
			stir_siblings();
		start = now();
		madvise(mem + off, page_size, MADV_PAGEOUT);
		cost += now() - start;
	}
	stored = guest_zswap_stored() - stored;
	out = NR_PAGES - guest_count_pagemap(getpid(), mem, size,
					     PAGEMAP_PRESENT);
	munmap(mem, size);
	if (out != NR_PAGES || stored != NR_PAGES)
		ksft_exit_fail_msg("%ld of %d pages were paged out, zswap has %ld\n",
				   out, NR_PAGES, stored);
	return cost / NR_PAGES;
}

static void compare(const char *what, bool busy)
{
	long unlimited = store_cost(false, busy);
	long limited = store_cost(true, busy);

	ksft_print_msg("%s: %ld instructions a page without a limit, %ld with one (%ld %%)\n",
		       what, unlimited, limited, limited * 100 / unlimited);
	ksft_test_result(limited * 100 <= unlimited * MAX_COST,
			 "%s: a limit costs a store nothing\n", what);
}

int main(void)
{
	guest_start();
	guest_run_on(0);
	if (!clock_counts_instructions())
		ksft_exit_skip("the clock does not count instructions: run with --icount\n");
	guest_zswap_enable("lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);
	guest_cgroup_create_parent(GROUP);
	make_siblings();
	guest_cgroup_create_parent(OUTER);
	guest_cgroup_create_parent(INNER);
	guest_cgroup_create(STORE);
	guest_cgroup_move(0, STORE);

	ksft_set_plan(2);
	/* The first stores of all set up what later ones find. */
	store_cost(true, true);
	compare("quiet siblings", false);
	compare("busy siblings", true);
	ksft_finished();
}
