// SPDX-License-Identifier: GPL-2.0-only
/*
 * swapoff_alloc: an allocation of swap space ends when swapoff begins.
 *
 * When the device is nearly full, a single page takes its slot from clusters that
 * hold larger folios, one after the other until one gives a slot. Once swapoff has
 * begun none does, and a cluster that was tried goes to the end of the very list
 * that is walked: the walk lasts, with preemption off, until swapoff has been at
 * each of the clusters.
 *
 * A filler takes all slots: the first cluster with single pages (it has the swap
 * header, so larger folios avoid it), the others with folios of 16 KiB. Then it
 * gives back one slot of each of the others. Hammers, one on each CPU but the
 * first, swap out and drop pages. First comes a folio of 16 KiB: there is no room
 * for it anywhere, and to find that out puts all clusters with a free slot on the
 * list that single pages walk. The pages are zero-filled, so that nothing is
 * written and most of the time goes into looking for slots.
 *
 * Then the device is taken away, on the first CPU. Whether a hammer is in the
 * allocator when swapoff begins is left to chance, so there are many tries. Most
 * are short: a hammer that ends a call of madvise() after swapoff has begun is not
 * in such a walk, and can't get into one. If that is so for all of them, a signal
 * ends swapoff. It goes through the processes from the one that swapped first last
 * to the filler, and heeds signals between two of them; a brake, just before the
 * filler, has so many page tables that the signal is in time and the clusters stay
 * as they are.
 *
 * Without a signal, swapoff empties the device. Until half of the slots are empty
 * each hammer has to end a call: of some hundreds, when there is no such walk, and
 * of none in one. The last try is one of these in any case.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>

#include "guest_cgroup.h"

#define DEVICE_SIZE	(32 * GUEST_MIB)
/* The kernel's SWAPFILE_CLUSTER, with huge pages of 2 MiB. */
#define CLUSTER_SLOTS	512UL
#define NR_CLUSTERS	(DEVICE_SIZE / page_size / CLUSTER_SLOTS)
#define FOLIO_KIB	16
#define FIRST_SIZE	((CLUSTER_SLOTS - 1) * page_size)
#define FILL_SIZE	((NR_CLUSTERS - 1) * CLUSTER_SLOTS * page_size)

#define MAX_HAMMERS	2
/* All hammers together take fewer slots than are free. */
#define NR_SINGLES	3

#define NR_TRIES	40
/* Calls of each hammer before a try, so that it meets them in full swing. */
#define CALLS_BEFORE	20
#define STUCK_SECONDS	60

/* Each of these steps has a page table of its own on the two lowest levels. */
#define BRAKE_STEP	(1UL << 30)
#define BRAKE_STEPS	1024UL

static struct {
	bool stop;
	/* Calls of madvise() that have ended. */
	long calls[MAX_HAMMERS];
} *shared;

static char device[PATH_MAX];

/*
 * The filler
 */

static int filler(void *arg)
{
	char *first = guest_map(FIRST_SIZE), *fill = guest_map(FILL_SIZE);
	uint64_t words[CLUSTER_SLOTS];
	unsigned long freed = 0;

	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	madvise(first, FIRST_SIZE, MADV_NOHUGEPAGE);
	memset(first, 1, FIRST_SIZE);
	if (guest_pageout(first, FIRST_SIZE))
		return 1;
	memset(fill, 2, FILL_SIZE);
	if (guest_pageout(fill, FILL_SIZE))
		return 2;

	/* The last slot of each cluster: it is the last to be looked at. */
	for (size_t off = 0; off < FILL_SIZE; off += CLUSTER_SLOTS * page_size) {
		guest_pagemap(getpid(), fill + off, CLUSTER_SLOTS, words);
		for (size_t i = 0; i < CLUSTER_SLOTS; i++) {
			if (PAGEMAP_SLOT(words[i]) % CLUSTER_SLOTS !=
			    CLUSTER_SLOTS - 1)
				continue;
			madvise(fill + off + i * page_size, page_size,
				MADV_DONTNEED);
			freed++;
		}
	}
	if (freed != NR_CLUSTERS - 1)
		return 3;
	for (;;)
		guest_child_pause();
}

/*
 * The hammers
 */

static void hammer_once(long *calls, char *mem, size_t size)
{
	/* A store gives each page memory of its own, and leaves it zero. */
	for (size_t off = 0; off < size; off += page_size)
		*(volatile char *)(mem + off) = 0;
	madvise(mem, size, MADV_PAGEOUT);
	__atomic_fetch_add(calls, 1, __ATOMIC_RELEASE);
}

static int hammer(void *arg)
{
	unsigned long nr = (unsigned long)arg;
	size_t singles_size = NR_SINGLES * page_size;
	char *folio = guest_map(FOLIO_KIB * 1024);
	char *singles = guest_map(singles_size);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	guest_run_on(nr + 1);
	madvise(singles, singles_size, MADV_NOHUGEPAGE);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		hammer_once(&shared->calls[nr], folio, FOLIO_KIB * 1024);
		hammer_once(&shared->calls[nr], singles, singles_size);
		madvise(folio, FOLIO_KIB * 1024, MADV_DONTNEED);
		madvise(singles, singles_size, MADV_DONTNEED);
	}
	return 0;
}

static long calls_of(unsigned long nr)
{
	return __atomic_load_n(&shared->calls[nr], __ATOMIC_ACQUIRE);
}

/*
 * The brake
 */

static int brake(void *arg)
{
	char *mem = mmap(NULL, BRAKE_STEP * BRAKE_STEPS, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mem == MAP_FAILED)
		return 1;
	madvise(mem, BRAKE_STEP * BRAKE_STEPS, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < BRAKE_STEPS; i++)
		(void)*(const volatile char *)(mem + i * BRAKE_STEP);
	/* swapoff looks only where a page has been swapped out. */
	*(volatile char *)mem = 0;
	if (guest_pageout(mem, page_size))
		return 2;
	for (;;)
		guest_child_pause();
}

/*
 * swapoff
 */

static void ignore(int sig)
{
	(void)sig;
}

/* One try at a time; exits when the device is gone. */
static int taker(void *arg)
{
	struct sigaction action = { .sa_handler = ignore };

	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &action, NULL);
	for (;;) {
		guest_child_pause();
		if (!swapoff(device))
			return 0;
		if (errno != EINTR)
			return 1;
	}
}

/* Slots in use on the only device, also while it is taken away; 0 without one. */
static long slots_in_use(void)
{
	FILE *file = fopen("/proc/swaps", "re");
	char line[512];
	long used = 0;

	if (!file)
		ksft_exit_fail_msg("/proc/swaps: %s\n", strerror(errno));
	while (fgets(line, sizeof(line), file))
		sscanf(line, "/%*s %*s %*s %ld", &used);
	fclose(file);
	return used * 1024 / (long)page_size;
}

static struct {
	unsigned long nr_hammers;
	pid_t hammers[MAX_HAMMERS];
	long calls_before[MAX_HAMMERS];
	pid_t filler, brake, taker;
} guest;

static void note_calls(void)
{
	for (unsigned long i = 0; i < guest.nr_hammers; i++)
		guest.calls_before[i] = calls_of(i);
}

/* The fewest calls that a hammer has ended since note_calls(). */
static long fewest_calls(void)
{
	long fewest = LONG_MAX;

	for (unsigned long i = 0; i < guest.nr_hammers; i++) {
		long calls = calls_of(i) - guest.calls_before[i];

		if (calls < fewest)
			fewest = calls;
	}
	return fewest;
}

/*
 * Waits until each hammer has ended @calls since note_calls(); false when before
 * that fewer than @slots are in use, or swapoff makes no progress.
 */
static bool hammers_end_calls(long calls, long slots)
{
	long used = -1;

	for (int waited = 0; waited < STUCK_SECONDS * 2000; waited++) {
		long now = slots_in_use();

		if (fewest_calls() >= calls)
			return true;
		if (now < slots)
			return false;
		if (now != used)
			waited = 0;
		used = now;
		usleep(500);
	}
	ksft_print_msg("no progress for %d s, %ld slots are in use\n",
		       STUCK_SECONDS, used);
	return false;
}

static void set_up(void)
{
	guest_mkswap(device, DEVICE_SIZE);
	guest_swapon(device);
	guest.filler = guest_cgroup_spawn("", filler, NULL);
	guest_child_must_pause(guest_child_wait(guest.filler), "filling");
	guest.brake = guest_cgroup_spawn("", brake, NULL);
	guest_child_must_pause(guest_child_wait(guest.brake), "the brake");
	shared->stop = false;
	for (unsigned long i = 0; i < guest.nr_hammers; i++)
		guest.hammers[i] = guest_cgroup_spawn("", hammer, (void *)i);
	guest.taker = guest_cgroup_spawn("", taker, NULL);
	guest_child_must_pause(guest_child_wait(guest.taker), "swapoff");
}

/* After a swapoff to the end. */
static void tear_down(void)
{
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELEASE);
	for (unsigned long i = 0; i < guest.nr_hammers; i++)
		guest_child_wait(guest.hammers[i]);
	guest_child_kill(guest.brake);
	guest_child_kill(guest.filler);
}

/* False when a hammer ends no call. */
static bool begin_swapoff(bool to_the_end)
{
	long slots = DEVICE_SIZE / page_size;
	long total;

	note_calls();
	if (!hammers_end_calls(CALLS_BEFORE, 0))
		return false;

	total = guest_read_key("/proc/meminfo", "SwapTotal");
	kill(guest.taker, SIGCONT);
	/* Once it has begun only the slots in use count, and never all are. */
	while (guest_read_key("/proc/meminfo", "SwapTotal") == total)
		usleep(200);
	note_calls();
	/* It was so fast, or this process so slow, that there is nothing to see. */
	if (slots_in_use() < slots / 4 * 3)
		return true;
	if (!to_the_end && hammers_end_calls(1, slots / 2)) {
		kill(guest.taker, SIGUSR1);
		return true;
	}
	if (to_the_end)
		hammers_end_calls(LONG_MAX, slots / 2);
	ksft_print_msg("with half of the slots to go, the slowest hammer has ended %ld calls\n",
		       fewest_calls());
	return fewest_calls() > 0;
}

int main(void)
{
	struct sched_param priority = { .sched_priority = 1 };
	int tries = 0, whole = 0;
	char disk[PATH_MAX];
	bool go_on = true;

	guest_start();
	guest.nr_hammers = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	if (guest.nr_hammers > MAX_HAMMERS)
		guest.nr_hammers = MAX_HAMMERS;
	if (!guest.nr_hammers)
		ksft_exit_skip("needs two CPUs: others swap out during swapoff\n");
	if (!guest_thp_size_exists(FOLIO_KIB))
		ksft_exit_skip("no folios of %d KiB\n", FOLIO_KIB);
	guest_swapoff_all(disk, sizeof(disk));
	if (!guest_zram_add(DEVICE_SIZE, device, sizeof(device)))
		ksft_exit_skip("no zram\n");
	guest_run_on(0);
	/* Looks on as soon as it wants to, though swapoff has the same CPU. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority))
		ksft_exit_fail_msg("SCHED_FIFO: %s\n", strerror(errno));
	guest_thp_only(FOLIO_KIB);
	shared = guest_share(sizeof(*shared));

	ksft_set_plan(1);
	set_up();
	while (go_on && tries < NR_TRIES) {
		int status;

		tries++;
		go_on = begin_swapoff(tries == NR_TRIES);
		if (!go_on)
			break;
		status = guest_child_wait(guest.taker);
		if (WIFSTOPPED(status))
			continue;
		if (!guest_child_exited_well(status))
			ksft_exit_fail_msg("swapoff failed\n");
		whole++;
		tear_down();
		if (tries < NR_TRIES)
			set_up();
	}
	ksft_print_msg("%d tries, in %d of them swapoff went on to its end\n",
		       tries, whole);
	ksft_test_result(go_on, "allocations end when swapoff begins\n");
	ksft_finished();
}
