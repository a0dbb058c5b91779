// SPDX-License-Identifier: GPL-2.0-only
/*
 * ksm: merged pages that come back in a large folio stay apart again.
 *
 * Once swapped out, a page that KSM merged is an ordinary anonymous page of
 * the task that brings it back first. The other tasks that shared it are
 * strangers to that task's anon_vma, and must get copies: the reverse mapping
 * would not find their page table entries, so the page could not be reclaimed
 * from them, even when the first task is long gone. A kernel that gives copies
 * only of small folios fails here as soon as merged pages come back large.
 *
 * Several tasks have the same contents, which KSM merges and memory.reclaim
 * swaps out. The first task reads its pages, in large folios. Then the others
 * get theirs back, each in its own way: at addresses where the folio could be
 * mapped whole, at others, and through swapoff. Their contents must be right,
 * none of their pages may lie on the first task's frames, and with the first
 * task dead all of them must go back to swap.
 *
 * It does so on zram with zswap never set up, where any kernel brings back
 * large folios, and, where zswap does too, with zswap over the guest's disk.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "guest.h"

#define REGION_SIZE	(4 * GUEST_MIB)
#define ZRAM_SIZE	(64 * GUEST_MIB)
#define FOLIO_KIB	64
#define FOLIO_PAGES	((size_t)FOLIO_KIB * 1024 / page_size)
#define NR_PAGES	(REGION_SIZE / page_size)

#define KSM_DIR		"/sys/kernel/mm/ksm/"
#define CGROUP		"/sys/fs/cgroup/ksm"

/*
 * Tasks: the main program looks on, and has each do one step at a time
 */

struct task {
	pid_t pid;
	int socket;
	/* Its region, at its own address. */
	char *region;
};

/* A step is the same function in the task, as that is a fork. */
struct request {
	long (*step)(long arg);
	long arg;
};

enum { FIRST, ALIGNED, SHIFTED, SWAPOFF, NR_TASKS };

static const char *const way_back[NR_TASKS] = {
	[ALIGNED] = "read where the folio fits",
	[SHIFTED] = "read where it does not fit",
	[SWAPOFF] = "brought back by swapoff",
};

static struct task tasks[NR_TASKS];

/* In a task: its region. */
static char *region;

static void serve(int socket)
{
	struct request request;

	while (read(socket, &request, sizeof(request)) == sizeof(request)) {
		long answer = request.step(request.arg);

		if (write(socket, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
}

static void start_task(struct task *task)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		ksft_exit_fail_msg("socketpair: %s\n", strerror(errno));
	task->pid = fork();
	if (task->pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!task->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[0]);
		serve(sockets[1]);
		_exit(0);
	}
	close(sockets[1]);
	task->socket = sockets[0];
	guest_write(CGROUP "/cgroup.procs", "%d", task->pid);
}

static long ask(struct task *task, long (*step)(long arg), long arg)
{
	struct request request = { .step = step, .arg = arg };
	long answer;

	if (write(task->socket, &request, sizeof(request)) != sizeof(request) ||
	    read(task->socket, &answer, sizeof(answer)) != sizeof(answer))
		ksft_exit_fail_msg("task %td does not answer\n", task - tasks);
	return answer;
}

static void end_task(struct task *task)
{
	kill(task->pid, SIGKILL);
	if (waitpid(task->pid, NULL, 0) != task->pid)
		ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
	close(task->socket);
}

static size_t count_pages(const struct task *task, uint64_t bits)
{
	return guest_count_pagemap(task->pid, task->region, REGION_SIZE, bits);
}

/*
 * Steps, in a task
 */

static long step_fill(long seed)
{
	region = guest_map(REGION_SIZE);
	guest_fill(region, REGION_SIZE, seed);
	if (madvise(region, REGION_SIZE, MADV_MERGEABLE))
		ksft_exit_fail_msg("MADV_MERGEABLE: %s\n", strerror(errno));
	return (long)region;
}

/* To an address @nr_pages after a multiple of every folio size. */
static long step_move(long nr_pages)
{
	char *place = guest_map(REGION_SIZE + nr_pages * page_size);
	char *to = place + nr_pages * page_size;

	if (mremap(region, REGION_SIZE, REGION_SIZE,
		   MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		ksft_exit_fail_msg("mremap: %s\n", strerror(errno));
	region = to;
	return (long)region;
}

/* From page @nr on; returns the major faults. */
static long step_touch(long nr)
{
	return guest_touch(region + nr * page_size,
			   REGION_SIZE - nr * page_size);
}

static long step_count_wrong(long seed)
{
	return guest_count_wrong(region, REGION_SIZE, seed);
}

/*
 * What is done to the tasks
 */

/* Merged pages are the first task's own, in the order in which it wrote them. */
static void start_and_merge(uint32_t seed)
{
	long want = (NR_TASKS - 1) * NR_PAGES, sharing = 0;

	guest_thp_only(0);
	/* Forgets what dead tasks had. */
	guest_write(KSM_DIR "run", "2");
	for (int i = FIRST; i < NR_TASKS; i++)
		start_task(&tasks[i]);
	for (int i = FIRST; i < NR_TASKS; i++)
		tasks[i].region = (char *)ask(&tasks[i], step_fill, seed);

	guest_write(KSM_DIR "pages_to_scan", "%zu", 2 * NR_TASKS * NR_PAGES);
	guest_write(KSM_DIR "sleep_millisecs", "1");
	guest_write(KSM_DIR "run", "1");
	for (int tries = 0; sharing < want && tries < 300; tries++) {
		usleep(100000);
		sharing = guest_read_long(KSM_DIR "pages_sharing");
	}
	guest_write(KSM_DIR "run", "0");
	ksft_print_msg("KSM merged %ld of %ld pages\n", sharing, want);
	if (sharing < want * 9 / 10)
		ksft_exit_fail_msg("too few pages are merged\n");
}

/*
 * Tries to get all pages of the tasks from @from on out of memory. Reclaim goes
 * by the cgroup's statistics, which can be two seconds old, and then finds no
 * page where the pages are; reading the statistics renews them.
 */
static void reclaim(int from)
{
	for (int tries = 0; tries < 25; tries++) {
		size_t left = 0;

		/* That there was less to reclaim than this is no error here. */
		guest_try_write(CGROUP "/memory.reclaim", "%zu",
				NR_TASKS * REGION_SIZE);
		for (int i = from; i < NR_TASKS; i++)
			left += count_pages(&tasks[i], PAGEMAP_PRESENT);
		if (!left)
			return;
		guest_read_key(CGROUP "/memory.stat", "active_anon");
		usleep(100000);
	}
}

/*
 * A folio can be mapped whole only where addresses are aligned as slots are;
 * which slot the first page gets depends on what else was swapped out. Returns
 * the number of folios that the first task can get, and in @ret_page where the
 * first of them starts.
 */
static long align_to_slots(size_t *ret_page)
{
	uint64_t words[NR_PAGES];
	size_t shift;
	long nr = 0;

	guest_pagemap(tasks[FIRST].pid, tasks[FIRST].region, NR_PAGES, words);
	shift = PAGEMAP_SLOT(words[0]) % FOLIO_PAGES;
	*ret_page = (FOLIO_PAGES - shift) % FOLIO_PAGES;
	for (size_t i = *ret_page; i + FOLIO_PAGES <= NR_PAGES;
	     i += FOLIO_PAGES) {
		uint64_t slot = PAGEMAP_SLOT(words[i]);
		size_t run = 0;

		while (run < FOLIO_PAGES &&
		       PAGEMAP_SLOT(words[i + run]) == slot + run)
			run++;
		nr += run == FOLIO_PAGES && slot % FOLIO_PAGES == 0;
	}

	for (int i = FIRST; i < NR_TASKS; i++)
		tasks[i].region = (char *)ask(&tasks[i], step_move,
					      shift + (i == SHIFTED));
	return nr;
}

static size_t count_on_frames_of_first(const struct task *task)
{
	uint64_t words[NR_PAGES], first[NR_PAGES];
	size_t count = 0;

	guest_pagemap(tasks[FIRST].pid, tasks[FIRST].region, NR_PAGES, first);
	guest_pagemap(task->pid, task->region, NR_PAGES, words);
	for (size_t i = 0; i < NR_PAGES; i++)
		count += words[i] & first[i] & PAGEMAP_PRESENT &&
			 PAGEMAP_PFN(words[i]) == PAGEMAP_PFN(first[i]);
	return count;
}

#define NR_RESULTS	(2 + 3 * (NR_TASKS - 1))

static void test_device(const char *device, const char *kind, uint32_t seed)
{
	size_t wrong, on_frames, left, page;
	long folios, large;

	guest_swapon(device);
	start_and_merge(seed);
	reclaim(FIRST);
	for (int i = FIRST; i < NR_TASKS; i++) {
		left = count_pages(&tasks[i], PAGEMAP_PRESENT);
		if (left)
			ksft_exit_fail_msg("%zu merged pages were never swapped out\n",
					   left);
	}
	folios = align_to_slots(&page);
	if (folios < (long)(NR_PAGES / FOLIO_PAGES / 2))
		ksft_exit_fail_msg("only %ld folios have neighbouring slots\n",
				   folios);

	guest_thp_only(FOLIO_KIB);
	/*
	 * Starting with a page that has to come alone would start readahead,
	 * which then is always ahead of the next folio.
	 */
	large = guest_large_swapins(FOLIO_KIB);
	ask(&tasks[FIRST], step_touch, page);
	wrong = ask(&tasks[FIRST], step_count_wrong, seed);
	large = guest_large_swapins(FOLIO_KIB) - large;
	ksft_print_msg("%s: %ld large folios of %ld for the first task\n", kind,
		       large, folios);
	/* A folio that could not be allocated comes back in parts. */
	ksft_test_result(large >= folios * 9 / 10,
			 "%s: merged pages come back as large folios\n", kind);
	ksft_test_result(!wrong, "%s: contents\n", kind);

	for (int i = FIRST + 1; i < NR_TASKS; i++) {
		if (i == SWAPOFF)
			guest_swapoff(device);
		wrong = ask(&tasks[i], step_count_wrong, seed);
		on_frames = count_on_frames_of_first(&tasks[i]);
		ksft_print_msg("%s: %zu wrong pages, %zu of %zu on the first task's frames\n",
			       way_back[i], wrong, on_frames, NR_PAGES);
		ksft_test_result(!wrong, "%s, %s: contents\n", kind,
				 way_back[i]);
		ksft_test_result(!on_frames, "%s, %s: frames of its own\n",
				 kind, way_back[i]);
	}

	guest_swapon(device);
	end_task(&tasks[FIRST]);
	reclaim(FIRST + 1);
	for (int i = FIRST + 1; i < NR_TASKS; i++) {
		left = count_pages(&tasks[i], PAGEMAP_PRESENT);
		ksft_print_msg("%s: %zu pages stayed when the first task was gone, %zu are swapped out\n",
			       way_back[i], left,
			       count_pages(&tasks[i], PAGEMAP_SWAPPED));
		ksft_test_result(!left, "%s, %s: reclaimed when the first task is gone\n",
				 kind, way_back[i]);
	}
	for (int i = FIRST + 1; i < NR_TASKS; i++)
		end_task(&tasks[i]);
	guest_swapoff(device);
}

int main(void)
{
	char zram[PATH_MAX], disk[PATH_MAX];
	bool large_from_zswap;

	guest_start();
	if (access(KSM_DIR "run", W_OK))
		ksft_exit_skip("KSM is not configured\n");
	if (guest_zswap_was_set_up())
		ksft_exit_skip("zswap was set up before\n");
	if (!guest_thp_size_exists(FOLIO_KIB))
		ksft_exit_skip("no folios of 64 KiB\n");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		ksft_exit_fail_msg(CGROUP ": %s\n", strerror(errno));
	if (access(CGROUP "/memory.reclaim", W_OK))
		ksft_exit_skip("no memory cgroups\n");
	/* For the tasks, too. */
	guest_run_on(0);
	guest_swapoff_all(disk, sizeof(disk));
	if (!guest_zram_add(ZRAM_SIZE, zram, sizeof(zram)))
		ksft_exit_skip("no zram\n");
	large_from_zswap = guest_thp_stat(FOLIO_KIB, "zswpin") >= 0;

	guest_mkswap(zram, ZRAM_SIZE);
	if (!large_from_zswap || !disk[0]) {
		ksft_set_plan(NR_RESULTS + 1);
		test_device(zram, "zram", 1);
		ksft_test_result_skip("zswap over a disk: %s\n", disk[0] ?
				      "this kernel loads no large folios from zswap" :
				      "there is no disk to swap to");
		ksft_finished();
	}
	ksft_set_plan(2 * NR_RESULTS);
	test_device(zram, "zram", 1);
	guest_zswap_enable("lz4");
	test_device(disk, "zswap", 2);
	ksft_finished();
}
