/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest_disk.h: what the tests share that look at the swap device itself.
 *
 * A swapped page's contents are on the device, or, when the sector cannot be
 * read, nowhere: reading the slots one by one tells which is which, without
 * asking the kernel's swap code that is under test. So a test needs to know
 * nothing of where vm/run was told to put the bad sectors.
 */
#ifndef SELFTESTS_GUEST_DISK_H
#define SELFTESTS_GUEST_DISK_H

#include "guest.h"

#define GUEST_RECLAIM_CGROUP	"/sys/fs/cgroup/reclaim"

/*
 * A page that was written to the device stays in the swap cache until somebody
 * reclaims, which can be asked of a cgroup. The test enters one to write the
 * pages that it wants on the device, and leaves it again, so that none of its
 * own pages gets there with them.
 */
static inline void guest_make_reclaim_cgroup(void)
{
	if (mkdir(GUEST_RECLAIM_CGROUP, 0755) && errno != EEXIST)
		ksft_exit_skip("cannot make a cgroup: %s\n", strerror(errno));
	if (access(GUEST_RECLAIM_CGROUP "/memory.reclaim", W_OK))
		ksft_exit_skip("no memory cgroups\n");
}

/* Instead of guest_start(); @device is the disk, which is not swapped to yet. */
static inline void guest_disk_start(char *device, size_t len)
{
	guest_start();
	guest_make_reclaim_cgroup();
	if (guest_zswap_was_set_up())
		ksft_exit_skip("zswap was set up before, the disk is to be read\n");
	guest_take_disk(device, len);
}

static inline void guest_enter_reclaim_cgroup(void)
{
	guest_write(GUEST_RECLAIM_CGROUP "/cgroup.procs", "%d", getpid());
}

static inline void guest_leave_reclaim_cgroup(void)
{
	guest_write("/sys/fs/cgroup/cgroup.procs", "%d", getpid());
}

/*
 * Reclaims until no page is in the swap cache, and returns how many still are.
 * Reclaim goes by the cgroup's statistics, which can be two seconds old, and
 * finds nothing by them; reading the statistics renews them.
 */
static inline long guest_empty_swap_cache(void)
{
	long left = guest_read_key("/proc/meminfo", "SwapCached");

	for (int tries = 0; left && tries < 50; tries++) {
		/* That there was less to reclaim than this is no error here. */
		guest_try_write(GUEST_RECLAIM_CGROUP "/memory.reclaim",
				"64M swappiness=max");
		guest_read_key(GUEST_RECLAIM_CGROUP "/memory.stat", "anon");
		usleep(20000);
		left = guest_read_key("/proc/meminfo", "SwapCached");
	}
	return left * 1024 / (long)page_size;
}

/* Slots in use on all devices. */
static inline long guest_swap_used(void)
{
	return (guest_read_key("/proc/meminfo", "SwapTotal") -
		guest_read_key("/proc/meminfo", "SwapFree")) *
	       1024 / (long)page_size;
}

/*
 * Reads the first @nr_slots pages of @device past all caches, and calls
 * @found for each that could be read. Returns the number of the others.
 */
static inline size_t guest_read_slots(const char *device, size_t nr_slots,
				      void (*found)(const uint64_t *page,
						    void *arg),
				      void *arg)
{
	size_t bad = 0;
	void *page;
	int fd;

	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (page == MAP_FAILED || fd < 0)
		ksft_exit_fail_msg("%s: %s\n", device, strerror(errno));
	for (size_t i = 0; i < nr_slots; i++) {
		ssize_t len = pread(fd, page, page_size, i * page_size);

		if (len == (ssize_t)page_size)
			found(page, arg);
		else if (len < 0 && (errno == EIO || errno == ENODATA))
			bad++;
		else
			ksft_exit_fail_msg("%s: page %zu: %s\n", device, i,
					   len < 0 ? strerror(errno) : "short read");
	}
	close(fd);
	munmap(page, page_size);
	return bad;
}

/*
 * Which of the @nr_pages pages that guest_fill() wrote with @seed are not on
 * any readable slot: lost[i] is set for these. Returns their number.
 */
struct guest_lost {
	bool *lost;
	size_t nr_pages;
	uint64_t *first_words;
};

static inline void guest_mark_found(const uint64_t *page, void *arg)
{
	struct guest_lost *pages = arg;

	for (size_t i = 0; i < pages->nr_pages; i++)
		if (page[0] == pages->first_words[i])
			pages->lost[i] = false;
}

static inline size_t guest_find_lost(const char *device, size_t nr_slots,
				     uint32_t seed, bool *lost, size_t nr_pages)
{
	uint64_t want[page_size / sizeof(uint64_t)];
	struct guest_lost pages = {
		.lost = lost,
		.nr_pages = nr_pages,
		.first_words = malloc(nr_pages * sizeof(uint64_t)),
	};
	size_t count = 0;

	if (!pages.first_words)
		ksft_exit_fail_msg("out of memory\n");
	for (size_t i = 0; i < nr_pages; i++) {
		guest_page(want, seed, i);
		pages.first_words[i] = want[0];
		lost[i] = true;
	}
	guest_read_slots(device, nr_slots, guest_mark_found, &pages);
	for (size_t i = 0; i < nr_pages; i++)
		count += lost[i];
	free(pages.first_words);
	return count;
}

#endif /* SELFTESTS_GUEST_DISK_H */
