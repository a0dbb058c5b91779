// SPDX-License-Identifier: GPL-2.0-only
/*
 * read_error: a bad sector costs the page that lies on it, and no other.
 *
 * Swap-in reads several pages with one request: the page that is wanted and its
 * neighbours. When a sector of any of them is bad, the whole request fails,
 * though each of the other pages could be read. A kernel that lets the error
 * stand for all of them kills programs over, and poisons files in, pages whose
 * contents are safe on the disk.
 *
 * To be run on a disk with bad sectors in its first AREA_SIZE bytes (--bad-sectors
 * of vm/run), of which the swap area is made. A region of known contents is
 * swapped out whole. Reading the device directly, page by page, shows which of
 * its pages lie on bad sectors: those that are on no readable slot. Then the
 * region is brought back, in each of the ways there are to read swapped pages;
 * exactly these pages must fail, and the others must have their contents.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#include "guest_disk.h"

/*
 * Some slots stay free, as a cgroup's reclaim leaves anonymous memory alone
 * when the swap is full, and the swap cache could not be emptied.
 */
#define AREA_SIZE	(4 * GUEST_MIB)
#define REGION_SIZE	(3 * GUEST_MIB)
#define NR_PAGES	(REGION_SIZE / page_size)

enum access { BY_TOUCH, BY_READ };

static const struct way {
	const char *name;
	bool file;
	enum access access;
	/* Before the pages are accessed; NULL: nothing. */
	void (*prepare)(char *mem, const char *device);
} ways[];

static sigjmp_buf on_sigbus;

static void handle_sigbus(int sig)
{
	(void)sig;
	siglongjmp(on_sigbus, 1);
}

/* Copies the page at @from to @to; false when touching it raises SIGBUS. */
static bool copy_page(void *to, const char *from)
{
	if (sigsetjmp(on_sigbus, 1))
		return false;
	memcpy(to, from, page_size);
	return true;
}

static void prepare_willneed(char *mem, const char *device)
{
	(void)device;
	if (madvise(mem, REGION_SIZE, MADV_WILLNEED))
		ksft_exit_fail_msg("MADV_WILLNEED: %s\n", strerror(errno));
}

static void prepare_swapoff(char *mem, const char *device)
{
	(void)mem;
	guest_swapoff(device);
}

static const struct way ways[] = {
	{ "anonymous memory, faults", false, BY_TOUCH, NULL },
	{ "anonymous memory, MADV_WILLNEED", false, BY_TOUCH, prepare_willneed },
	{ "anonymous memory, swapoff", false, BY_TOUCH, prepare_swapoff },
	{ "a tmpfs file, read()", true, BY_READ, NULL },
	{ "a tmpfs file, faults", true, BY_TOUCH, NULL },
	{ "a tmpfs file, MADV_WILLNEED", true, BY_TOUCH, prepare_willneed },
	{ "a tmpfs file, swapoff", true, BY_TOUCH, prepare_swapoff },
};

/* Each way has two results. */
#define NR_RESULTS	(2 * ARRAY_SIZE(ways))

static void count_slot(const uint64_t *page, void *arg)
{
	(void)page;
	(*(size_t *)arg)++;
}

static void swap_out(const struct way *way, char *mem)
{
	long left = guest_pageout(mem, REGION_SIZE);

	left += guest_empty_swap_cache();
	if (left || guest_swap_used() != (long)NR_PAGES)
		ksft_exit_fail_msg("%s: %ld pages are in memory, %ld slots in use of %zu\n",
				   way->name, left, guest_swap_used(), NR_PAGES);
}

static void test_way(const struct way *way, const char *device, uint32_t seed)
{
	size_t wrongly_failed = 0, failed = 0, wrong = 0, nr_lost;
	uint64_t want[page_size / sizeof(uint64_t)];
	bool swap_is_off = false;
	bool lost[NR_PAGES];
	int fd = -1;
	char *mem;

	guest_swapon(device);
	if (way->file) {
		fd = memfd_create("read_error", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, REGION_SIZE))
			ksft_exit_fail_msg("memfd: %s\n", strerror(errno));
		mem = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
		if (mem == MAP_FAILED)
			ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	} else {
		mem = guest_map(REGION_SIZE);
	}
	guest_enter_reclaim_cgroup();
	guest_fill(mem, REGION_SIZE, seed);
	guest_leave_reclaim_cgroup();
	swap_out(way, mem);

	nr_lost = guest_find_lost(device, AREA_SIZE / page_size, seed, lost,
				  NR_PAGES);
	if (!nr_lost)
		ksft_exit_fail_msg("%s: no page lies on a bad sector\n", way->name);

	if (way->prepare) {
		way->prepare(mem, device);
		swap_is_off = way->prepare == prepare_swapoff;
	}
	for (size_t i = 0; i < NR_PAGES; i++) {
		uint64_t got[page_size / sizeof(uint64_t)];
		bool ok;

		guest_page(want, seed, i);
		if (way->access == BY_READ)
			ok = pread(fd, got, page_size, i * page_size) ==
			     (ssize_t)page_size;
		else
			ok = copy_page(got, mem + i * page_size);
		if (!ok && lost[i])
			failed++;
		else if (!ok)
			wrongly_failed++;
		else if (memcmp(got, want, page_size))
			wrong++;
	}
	ksft_print_msg("%s: %zu pages on bad sectors, of which %zu failed; %zu others failed, %zu pages are wrong\n",
		       way->name, nr_lost, failed, wrongly_failed, wrong);
	ksft_test_result(!wrongly_failed && !wrong,
			 "%s: all pages on good sectors come back\n", way->name);
	ksft_test_result(failed == nr_lost,
			 "%s: all pages on bad sectors fail\n", way->name);

	munmap(mem, REGION_SIZE);
	if (fd >= 0)
		close(fd);
	if (!swap_is_off)
		guest_swapoff(device);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle_sigbus };
	char device[PATH_MAX];
	size_t good = 0, bad;

	guest_disk_start(device, sizeof(device));
	bad = guest_read_slots(device, AREA_SIZE / page_size, count_slot, &good);
	if (!bad)
		ksft_exit_skip("no bad sector in the first %lu MiB of %s\n",
			       AREA_SIZE / GUEST_MIB, device);
	ksft_print_msg("%s: %zu of %zu pages have bad sectors\n", device, bad,
		       good + bad);

	guest_run_on(0);
	guest_thp_only(0);
	sigaction(SIGBUS, &action, NULL);
	guest_mkswap(device, AREA_SIZE);

	ksft_set_plan(NR_RESULTS);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		test_way(&ways[i], device, i + 1);
	ksft_finished();
}
