// SPDX-License-Identifier: GPL-2.0-only
/*
 * zswap_max: memory.zswap.max and the pool's limit hold, and are shared fairly.
 *
 * A limit that is looked at once a folio lets all pages of a large one in, and
 * one that makes room for a few pages once a folio never catches up. A child pages
 * out more large folios than its group's limit lets in; after each one the group
 * must be below the limit. Likewise the pool: filled up to 64 pages below its
 * limit by single pages, it must not take all of a large folio. What does not fit
 * goes to the disk, and all contents must be right afterwards.
 *
 * When it is a parent's limit that is hit, room must be made in all groups below
 * it. A child that fills the limit and then sleeps would otherwise keep it for
 * good, and another one, that does swap, find each of its pages written to the
 * disk as soon as it was stored: in the end the busy one must hold its share. Not
 * so where memory.zswap.writeback is 0: that group keeps what it has.
 *
 * --only-shared leaves out large folios and the pool, for kernels whose zswap
 * takes no large folio, and no page that does not compress.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

/* Points of the shared limits, and of the rest. */
#define NR_SHARED	7
#define NR_OTHERS	6

#define GROUP		"zswap_max"
#define LARGE		GROUP "/large"
#define IDLE		GROUP "/idle"
#define BUSY_PARENT	GROUP "/busy"
#define BUSY		BUSY_PARENT "/leaf"

static long pages_kib(long pages)
{
	return pages * (page_size / 1024);
}

/*
 * A child that pages out its memory in steps
 */

struct task {
	/* The group whose usage it looks at. */
	const char *limited;
	size_t size;
	size_t step;
	uint32_t seed;
	/* What it has found. */
	long peak;
	size_t wrong;
};

static int task_body(void *arg)
{
	struct task *task = arg;
	char *mem = guest_map(task->size);

	for (size_t off = 0; off < task->size; off += task->step) {
		size_t last = off + task->step;
		long usage;

		for (size_t at = off; at < last; at += page_size)
			guest_page((uint64_t *)(mem + at), task->seed,
				   at / page_size);
		guest_pageout(mem + off, task->step);
		usage = guest_cgroup_read(task->limited,
					  "memory.zswap.current");
		if (usage > task->peak)
			task->peak = usage;
	}
	guest_child_pause();

	task->wrong = guest_count_wrong(mem, task->size, task->seed);
	return 0;
}

/*
 * Large folios
 */

#define LARGE_LIMIT	GUEST_MIB

static void test_large_folios(unsigned int kib, size_t size)
{
	struct task *task = guest_share(sizeof(*task));
	long folios = guest_thp_stat(kib, "swpout") +
		      guest_thp_stat(kib, "zswpout");
	int status;
	pid_t pid;

	*task = (struct task){
		.limited = LARGE,
		.size = size,
		.step = kib * 1024,
		.seed = kib,
	};
	guest_thp_only(kib);
	guest_cgroup_create(LARGE);
	guest_cgroup_write(LARGE, "memory.zswap.max", "%lu", LARGE_LIMIT);
	pid = guest_cgroup_spawn(LARGE, task_body, task);
	guest_child_must_pause(guest_child_wait(pid), "large folios");
	guest_thp_only(0);
	folios = guest_thp_stat(kib, "swpout") +
		 guest_thp_stat(kib, "zswpout") - folios;

	ksft_print_msg("folios of %u KiB: %ld of %zu went out whole; limit %lu KiB, %ld stored at most, %ld at the end\n",
		       kib, folios, size / 1024 / kib,
		       LARGE_LIMIT / 1024, task->peak / 1024,
		       guest_cgroup_read(LARGE, "memory.zswap.current") / 1024);
	ksft_test_result(task->peak <= (long)LARGE_LIMIT * 9 / 8,
			 "folios of %u KiB: memory.zswap.max holds\n", kib);
	status = guest_child_next(pid);
	ksft_test_result(guest_child_exited_well(status) && !task->wrong,
			 "folios of %u KiB: contents\n", kib);
	guest_cgroup_remove(LARGE);
	munmap(task, sizeof(*task));
}

/*
 * The pool
 */

#define POOL_ROOM	64	/* pages */

static long pool_pages(void)
{
	return guest_read_long(ZSWAP_DEBUGFS "/pool_total_size") /
	       (long)page_size;
}

static void test_pool_limit(void)
{
	long limit = guest_read_key("/proc/meminfo", "MemTotal") * 1024 /
		     (long)page_size / 100;
	size_t step = POOL_ROOM / 2 * page_size, folio_size = 2 * GUEST_MIB;
	size_t size = limit * page_size / step * step, off;
	char *mem = guest_map(size), *folio = guest_map(folio_size);
	size_t wrong = 0;
	long before, after;

	guest_thp_only(0);
	guest_write(ZSWAP_PARAM "max_pool_percent", "1");
	for (off = 0; off < size && pool_pages() < limit - POOL_ROOM;
	     off += step) {
		for (size_t at = off; at < off + step; at += page_size)
			guest_random_page((uint64_t *)(mem + at), 1,
					  at / page_size);
		guest_pageout(mem + off, step);
	}
	before = pool_pages();
	if (before < limit - POOL_ROOM || before >= limit)
		ksft_exit_fail_msg("the pool has %ld pages, its limit is %ld\n",
				   before, limit);

	guest_thp_only(2048);
	for (off = 0; off < folio_size; off += page_size)
		guest_random_page((uint64_t *)(folio + off), 2,
				  off / page_size);
	guest_thp_only(0);
	guest_pageout(folio, folio_size);
	after = pool_pages();
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");

	for (off = 0; off < folio_size; off += page_size) {
		uint64_t want[page_size / sizeof(uint64_t)];

		guest_random_page(want, 2, off / page_size);
		wrong += !!memcmp(folio + off, want, page_size);
	}
	ksft_print_msg("pool: limit %ld KiB, %ld stored, %ld after a folio of 2048 KiB\n",
		       pages_kib(limit), pages_kib(before), pages_kib(after));
	ksft_test_result(after <= limit + POOL_ROOM / 4, "pool: limit holds\n");
	ksft_test_result(!wrong, "pool: contents\n");
	munmap(mem, size);
	munmap(folio, folio_size);
}

/*
 * A limit that several groups share
 */

#define SHARED_LIMIT	(2 * GUEST_MIB)
/* Half of it compresses: the first is more than the limit, the second less. */
#define IDLE_SIZE	(5 * GUEST_MIB)
#define KEPT_SIZE	(3 * GUEST_MIB)
#define BUSY_SIZE	(8 * GUEST_MIB)

static void test_shared_limit(const char *what, bool idle_writeback)
{
	struct task *idle = guest_share(sizeof(*idle));
	struct task *busy = guest_share(sizeof(*busy));
	long idle_before, idle_after, busy_after, idle_written;
	int idle_status, busy_status;
	pid_t idle_pid, busy_pid;

	*idle = (struct task){
		.limited = GROUP,
		.size = idle_writeback ? IDLE_SIZE : KEPT_SIZE,
		.step = GUEST_MIB,
		.seed = 1,
	};
	*busy = (struct task){
		.limited = GROUP,
		.size = BUSY_SIZE,
		.step = GUEST_MIB,
		.seed = 2,
	};
	guest_cgroup_create(IDLE);
	guest_cgroup_create_parent(BUSY_PARENT);
	guest_cgroup_create(BUSY);
	guest_cgroup_write(GROUP, "memory.zswap.max", "%lu", SHARED_LIMIT);
	guest_cgroup_write(IDLE, "memory.zswap.writeback", "%d",
			   idle_writeback);

	idle_pid = guest_cgroup_spawn(IDLE, task_body, idle);
	guest_child_must_pause(guest_child_wait(idle_pid), what);
	idle_before = guest_cgroup_read(IDLE, "memory.zswap.current");
	busy_pid = guest_cgroup_spawn(BUSY, task_body, busy);
	guest_child_must_pause(guest_child_wait(busy_pid), what);
	idle_after = guest_cgroup_read(IDLE, "memory.zswap.current");
	busy_after = guest_cgroup_read(BUSY, "memory.zswap.current");
	idle_written = guest_cgroup_key(IDLE, "memory.stat", "zswpwb");

	ksft_print_msg("%s: limit %lu KiB; the idle group held %ld KiB, now %ld; the busy one %ld; at most %ld together\n",
		       what, SHARED_LIMIT / 1024, idle_before / 1024,
		       idle_after / 1024, busy_after / 1024, busy->peak / 1024);
	ksft_print_msg("%s: busy: %ld pages stored, %ld written back; idle: %ld written back\n",
		       what, guest_cgroup_key(BUSY, "memory.stat", "zswpout"),
		       guest_cgroup_key(BUSY, "memory.stat", "zswpwb"),
		       idle_written);
	ksft_test_result(busy->peak <= (long)SHARED_LIMIT * 9 / 8,
			 "%s: the limit holds\n", what);
	if (idle_writeback) {
		ksft_test_result(busy_after >= (long)SHARED_LIMIT / 4,
				 "%s: the busy group has its share\n", what);
		ksft_test_result(idle_after <= idle_before * 3 / 4,
				 "%s: the idle group makes room\n", what);
	} else {
		ksft_test_result(!idle_written &&
				 idle_after >= idle_before * 9 / 10,
				 "%s: the idle group keeps its pages\n", what);
	}
	idle_status = guest_child_next(idle_pid);
	busy_status = guest_child_next(busy_pid);
	ksft_test_result(guest_child_exited_well(idle_status) &&
			 guest_child_exited_well(busy_status) &&
			 !idle->wrong && !busy->wrong, "%s: contents\n", what);

	guest_cgroup_remove(BUSY);
	guest_cgroup_remove(BUSY_PARENT);
	guest_cgroup_remove(IDLE);
	munmap(idle, sizeof(*idle));
	munmap(busy, sizeof(*busy));
}

int main(int argc, char **argv)
{
	bool only_shared;

	guest_start();
	only_shared = guest_option(argc, argv, "--only-shared");
	guest_run_on(0);
	if (!only_shared && !guest_thp_size_exists(2048))
		ksft_exit_skip("no folios of 2 MiB\n");
	guest_zswap_enable("lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);
	guest_cgroup_create_parent(GROUP);

	ksft_set_plan(only_shared ? NR_SHARED : NR_OTHERS + NR_SHARED);
	if (!only_shared) {
		test_large_folios(2048, 48 * GUEST_MIB);
		test_large_folios(512, 16 * GUEST_MIB);
		test_pool_limit();
	}
	test_shared_limit("shared limit", true);
	test_shared_limit("shared limit, write-back off", false);
	ksft_finished();
}
