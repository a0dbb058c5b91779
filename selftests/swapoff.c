// SPDX-License-Identifier: GPL-2.0-only
/*
 * swapoff: finds what is left on a device, wherever it is.
 *
 * To find what nobody but the swap cache has any more, swapoff goes through the
 * device's clusters and passes over the empty ones. This is right by a count that
 * others change meanwhile, so here is what could be missed: a single slot in the
 * first cluster, in one between empty ones, and at the very end, in a cluster that
 * is cut short; the same with whole clusters of bad slots; slots that become free
 * while they are looked for, and folios that reclaim puts back. The pages are in
 * zswap, zero-filled or on the disk. Each must have its contents afterwards, and a
 * swapoff that a signal ends must leave all in place.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "guest.h"

/* The kernel's SWAPFILE_CLUSTER, with huge pages of 2 MiB. */
#define CLUSTER_SLOTS	512U
/* Five clusters, and a piece of one. */
#define NR_SLOTS	(5 * CLUSTER_SLOTS + 100)
#define NR_TRIES	10
#define BIG_SIZE	(64 * GUEST_MIB)
/* Together less than that. */
#define NR_PROCESSES	6
#define PROCESS_SIZE	(8 * GUEST_MIB)

enum kind { IN_ZSWAP, ZERO_FILLED, ON_DISK, NR_KINDS };

static const char *const kind_name[NR_KINDS] = {
	[IN_ZSWAP] = "in zswap",
	[ZERO_FILLED] = "zero-filled",
	[ON_DISK] = "on the disk",
};

static char device[PATH_MAX];

/* A device of @nr_slots, with these bad ones, and as much memory as fills it. */
struct filled {
	char *mem;
	size_t nr_pages;
	enum kind kind;
};

static void page_fill(const struct filled *filled, size_t page)
{
	char *at = filled->mem + page * page_size;

	if (filled->kind == ZERO_FILLED)
		memset(at, 0, page_size);
	else
		guest_page((uint64_t *)at, 1, page);
}

static bool page_wrong(const struct filled *filled, size_t page)
{
	const char *at = filled->mem + page * page_size;

	if (filled->kind != ZERO_FILLED)
		return guest_page_wrong(at, 1, page);
	for (size_t i = 0; i < page_size; i++)
		if (at[i])
			return true;
	return false;
}

static struct filled fill(enum kind kind, uint32_t nr_slots, const uint32_t *bad,
			  size_t nr_bad)
{
	struct filled filled = {
		/* Slot 0 is the header's. */
		.nr_pages = nr_slots - 1 - nr_bad,
		.kind = kind,
	};
	size_t left;

	guest_write(ZSWAP_PARAM "enabled", "%d", kind != ON_DISK);
	guest_mkswap_bad(device, nr_slots * page_size, bad, nr_bad);
	guest_swapon(device);
	filled.mem = guest_map(filled.nr_pages * page_size);
	for (size_t page = 0; page < filled.nr_pages; page++)
		page_fill(&filled, page);
	left = guest_pageout(filled.mem, filled.nr_pages * page_size);
	if (left)
		ksft_exit_fail_msg("%s: %zu pages were not swapped out\n",
				   kind_name[kind], left);
	return filled;
}

static void drop(const struct filled *filled, size_t page, size_t nr_pages)
{
	if (nr_pages && madvise(filled->mem + page * page_size,
				nr_pages * page_size, MADV_DONTNEED))
		ksft_exit_fail_msg("MADV_DONTNEED: %s\n", strerror(errno));
}

static void unmap(struct filled *filled)
{
	munmap(filled->mem, filled->nr_pages * page_size);
}

static uint32_t slot_of(const struct filled *filled, size_t page)
{
	uint64_t word;

	guest_pagemap(getpid(), filled->mem + page * page_size, 1, &word);
	return word & PAGEMAP_SWAPPED ? PAGEMAP_SLOT(word) : 0;
}

/* The page that is in the first slot from @slot on that any is in. */
static size_t page_near(const struct filled *filled, uint32_t slot)
{
	uint32_t best = UINT32_MAX, found;
	size_t page = 0;

	for (size_t i = 0; i < filled->nr_pages; i++) {
		found = slot_of(filled, i);
		if (found >= slot && found < best) {
			best = found;
			page = i;
		}
	}
	if (best == UINT32_MAX)
		ksft_exit_fail_msg("no page is in slot %u or behind it\n", slot);
	return page;
}

/* With one slot left in use. */
static void test_single(enum kind kind, const char *where, uint32_t slot,
			const uint32_t *bad, size_t nr_bad)
{
	struct filled filled = fill(kind, NR_SLOTS, bad, nr_bad);
	size_t page = page_near(&filled, slot);
	bool off;

	slot = slot_of(&filled, page);
	drop(&filled, 0, page);
	drop(&filled, page + 1, filled.nr_pages - page - 1);
	off = !swapoff(device);
	ksft_test_result(off && !page_wrong(&filled, page),
			 "%s, the last one in use is %s: slot %u\n",
			 kind_name[kind], where, slot);
	if (!off)
		ksft_exit_fail_msg("swapoff: %s\n", strerror(errno));
	unmap(&filled);
}

/* All of the second cluster, and the last slots of the device. */
static void test_bad_slots(enum kind kind)
{
	uint32_t bad[CLUSTER_SLOTS + 10], used = 0, slot;
	struct filled filled;
	size_t nr_wrong = 0;

	for (uint32_t i = 0; i < CLUSTER_SLOTS; i++)
		bad[i] = CLUSTER_SLOTS + i;
	for (uint32_t i = 0; i < 10; i++)
		bad[CLUSTER_SLOTS + i] = NR_SLOTS - 10 + i;

	filled = fill(kind, NR_SLOTS, bad, ARRAY_SIZE(bad));
	for (size_t page = 0; page < filled.nr_pages; page++) {
		slot = slot_of(&filled, page);
		used += slot / CLUSTER_SLOTS == 1 || slot >= NR_SLOTS - 10;
	}
	if (swapoff(device))
		ksft_exit_fail_msg("swapoff: %s\n", strerror(errno));
	for (size_t page = 0; page < filled.nr_pages; page++)
		nr_wrong += page_wrong(&filled, page);
	ksft_print_msg("%s: %u bad slots used, %zu pages wrong\n",
		       kind_name[kind], used, nr_wrong);
	ksft_test_result(!used && !nr_wrong, "%s, with bad slots\n",
			 kind_name[kind]);
	unmap(&filled);

	test_single(kind, "behind bad ones", 2 * CLUSTER_SLOTS, bad,
		    ARRAY_SIZE(bad));
}

/*
 * Others at work
 */

struct worker {
	const struct filled *filled;
	bool *dropped;
	uint64_t seed;
	bool stop;
};

static void *drop_pages(void *arg)
{
	struct worker *worker = arg;
	uint64_t x = worker->seed;

	while (!__atomic_load_n(&worker->stop, __ATOMIC_ACQUIRE)) {
		size_t page;

		x = guest_random(x);
		page = x % worker->filled->nr_pages;
		worker->dropped[page] = true;
		drop(worker->filled, page, 1);
		/* Some should be left for swapoff. */
		usleep(20);
	}
	return NULL;
}

/* What reclaim leaves in the swap cache is for swapoff to find. */
static void *churn_pages(void *arg)
{
	struct worker *worker = arg;
	const struct filled *filled = worker->filled;
	uint64_t x = worker->seed;

	while (!__atomic_load_n(&worker->stop, __ATOMIC_ACQUIRE)) {
		size_t page;

		x = guest_random(x);
		page = x % filled->nr_pages;
		(void)*(volatile char *)(filled->mem + page * page_size);
		if (x >> 60)
			continue;
		madvise(filled->mem, filled->nr_pages * page_size, MADV_PAGEOUT);
	}
	return NULL;
}

static void test_beside(enum kind kind, const char *name, void *(*body)(void *))
{
	bool *dropped = calloc(NR_SLOTS, sizeof(*dropped));
	size_t nr_wrong = 0, nr_dropped = 0;
	int failed = 0;

	for (uint64_t try = 1; try <= NR_TRIES; try++) {
		struct filled filled = fill(kind, NR_SLOTS, NULL, 0);
		struct worker worker = { &filled, dropped, try, false };
		pthread_t thread;

		memset(dropped, 0, NR_SLOTS * sizeof(*dropped));
		if (pthread_create(&thread, NULL, body, &worker))
			ksft_exit_fail_msg("pthread_create\n");
		failed |= swapoff(device);
		__atomic_store_n(&worker.stop, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
		if (failed)
			ksft_exit_fail_msg("swapoff beside %s: %s\n", name,
					   strerror(errno));
		for (size_t page = 0; page < filled.nr_pages; page++) {
			if (dropped[page])
				nr_dropped++;
			else
				nr_wrong += page_wrong(&filled, page);
		}
		unmap(&filled);
	}
	ksft_print_msg("%s beside %s: %zu pages dropped, %zu wrong\n",
		       kind_name[kind], name, nr_dropped, nr_wrong);
	ksft_test_result(!nr_wrong, "%s, beside %s\n", kind_name[kind], name);
	free(dropped);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Signals are heeded between two processes, so there are some. */
static void test_signal(void)
{
	/* Comes again and again, as the first may come too early. */
	const struct itimerval soon = {
		.it_value.tv_usec = 3000, .it_interval.tv_usec = 3000,
	};
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval never = {};
	pid_t pids[NR_PROCESSES];
	bool wrong = false;
	int ret, err, status;

	guest_write(ZSWAP_PARAM "enabled", "1");
	guest_mkswap(device, BIG_SIZE);
	guest_swapon(device);
	for (int i = 0; i < NR_PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			ksft_exit_fail_msg("fork: %s\n", strerror(errno));
		if (!pids[i]) {
			char *mem = guest_map(PROCESS_SIZE);

			guest_fill(mem, PROCESS_SIZE, i + 1);
			if (guest_pageout(mem, PROCESS_SIZE))
				_exit(1);
			raise(SIGSTOP);
			_exit(guest_count_wrong(mem, PROCESS_SIZE, i + 1) ? 2 : 0);
		}
		if (waitpid(pids[i], &status, WUNTRACED) != pids[i] ||
		    !WIFSTOPPED(status))
			ksft_exit_fail_msg("process %d did not swap out\n", i);
	}

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	ret = swapoff(device);
	err = errno;
	setitimer(ITIMER_REAL, &never, NULL);
	ksft_print_msg("with a signal: %d (%s), %ld pages are left in zswap\n",
		       ret, ret ? strerror(err) : "done", guest_zswap_stored());
	ksft_test_result(ret && err == EINTR && guest_zswap_stored() > 0,
			 "a signal ends it\n");
	if (ret && swapoff(device))
		ksft_exit_fail_msg("swapoff again: %s\n", strerror(errno));

	for (int i = 0; i < NR_PROCESSES; i++) {
		kill(pids[i], SIGCONT);
		if (waitpid(pids[i], &status, 0) != pids[i] ||
		    !WIFEXITED(status) || WEXITSTATUS(status))
			wrong = true;
	}
	ksft_test_result(!wrong, "and it can be done again\n");
}

int main(void)
{
	char zram[PATH_MAX];

	guest_start();
	guest_take_disk(device, sizeof(device));
	guest_zswap_enable("lz4");
	guest_thp_only(0);
	/* Slots are handed out by CPU: on one, all of them are. */
	guest_run_on(0);

	ksft_set_plan(NR_KINDS * 5 + 4 + 2);
	for (enum kind kind = 0; kind < NR_KINDS; kind++) {
		test_single(kind, "in the first cluster", 1, NULL, 0);
		test_single(kind, "between empty clusters",
			    2 * CLUSTER_SLOTS + 7, NULL, 0);
		test_single(kind, "the very last", NR_SLOTS - 1, NULL, 0);
		test_bad_slots(kind);
	}
	test_beside(IN_ZSWAP, "frees", drop_pages);
	test_beside(ON_DISK, "frees", drop_pages);
	test_signal();

	/* So that what swapoff brings in can go out again meanwhile. */
	if (!guest_zram_add(BIG_SIZE, zram, sizeof(zram)))
		ksft_exit_fail_msg("no zram\n");
	guest_mkswap(zram, BIG_SIZE);
	if (swapon(zram, 0))
		ksft_exit_fail_msg("swapon %s: %s\n", zram, strerror(errno));
	test_beside(IN_ZSWAP, "reclaim", churn_pages);
	test_beside(ON_DISK, "reclaim", churn_pages);
	ksft_finished();
}
