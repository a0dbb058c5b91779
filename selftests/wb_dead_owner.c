// SPDX-License-Identifier: GPL-2.0-only
/*
 * wb_dead_owner: memory whose group is gone stays below that group's parent.
 *
 * A task fills memory in a group, zswap takes it, the task moves to another group
 * of the same parent, and the first group is removed. When an entry is written
 * back now, the page it is decompressed into cannot be charged to its owner. Were
 * it charged to whoever writes, the memory would leave the parent for good: the
 * task maps the page from the swap cache, and no limit of its own counts it.
 *
 * The nearest living ancestor must be charged instead. So, once the task has
 * touched all of its memory again, the parent's usage must show it, and a limit
 * that is then given to the parent must bound how much of it is resident. This is
 * tried with the worker, a kernel thread, as the writer, for an owner below the
 * parent and for one two levels below, both removed; and with a task of a foreign
 * group that has the parent's memory reclaimed and so runs zswap's shrinker. That
 * task's group must not be charged either. An owner that is alive shows that all
 * this can be had.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

#define PARENT		"dead_owner"
#define HOME		PARENT "/home"
#define MIDDLE		PARENT "/middle"
#define FOREIGN		"dead_owner_writer"

#define REGION_SIZE	(8 * GUEST_MIB)
#define PARENT_LIMIT	(2 * GUEST_MIB)

struct task {
	char *mem;
	long wrong;
};

static int task_body(void *arg)
{
	struct task *task = arg;

	task->mem = guest_map(REGION_SIZE);
	guest_fill(task->mem, REGION_SIZE, 1);
	if (guest_pageout(task->mem, REGION_SIZE))
		return 2;
	for (;;) {
		guest_child_pause();
		task->wrong += guest_count_wrong(task->mem, REGION_SIZE, 1);
	}
}

/*
 * A few MiB at a time: what counts is that entries are scanned again and again,
 * not whether a call reports success.
 */
static long reclaim_zswap(long left)
{
	char path[PATH_MAX];
	long stored = guest_zswap_stored();

	guest_cgroup_path(path, sizeof(path), PARENT, "memory.reclaim");
	guest_write(ZSWAP_PARAM "shrinker_enabled", "1");
	for (int tries = 0; tries < 200 && stored > left; tries++) {
		guest_try_write(path, "2M");
		stored = guest_zswap_stored();
	}
	guest_write(ZSWAP_PARAM "shrinker_enabled", "0");
	return stored;
}

static void run(const char *what, const char *owner, bool remove,
		bool by_worker)
{
	long nr_pages = REGION_SIZE / page_size;
	struct task *task = guest_share(sizeof(*task));
	bool nested = !strncmp(owner, MIDDLE, strlen(MIDDLE));
	long stored, left, resident, usage, foreign;
	pid_t pid;

	guest_zswap_enable("lz4");
	guest_cgroup_create_parent(PARENT);
	guest_cgroup_create(HOME);
	if (nested)
		guest_cgroup_create_parent(MIDDLE);
	guest_cgroup_create(owner);
	guest_cgroup_create(FOREIGN);

	stored = guest_zswap_stored();
	pid = guest_cgroup_spawn(owner, task_body, task);
	guest_child_must_pause(guest_child_wait(pid), what);
	guest_cgroup_move(pid, HOME);
	if (remove)
		guest_cgroup_remove(owner);
	if (remove && nested)
		guest_cgroup_remove(MIDDLE);
	stored = guest_zswap_stored() - stored;

	guest_cgroup_move(0, FOREIGN);
	foreign = guest_cgroup_read(FOREIGN, "memory.current");
	left = by_worker ? guest_zswap_drain(16) : reclaim_zswap(16);
	foreign = guest_cgroup_read(FOREIGN, "memory.current") - foreign;
	guest_cgroup_move(0, "");
	ksft_print_msg("%s: %ld of %ld pages were in zswap, %ld are left; the writer's group grew by %ld KiB\n",
		       what, stored, nr_pages, left, foreign / 1024);
	if (stored < nr_pages * 9 / 10 || left > nr_pages / 10)
		ksft_exit_fail_msg("%s: not written back\n", what);

	/* From here on the limit alone is looked at, without zswap's share. */
	guest_write(ZSWAP_PARAM "enabled", "0");
	guest_child_must_pause(guest_child_next(pid), what);
	resident = guest_count_pagemap(pid, task->mem, REGION_SIZE,
				       PAGEMAP_PRESENT);
	usage = guest_cgroup_read(PARENT, "memory.current");
	ksft_print_msg("%s: %ld KiB of the task's memory are resident, its parent's usage is %ld KiB\n",
		       what, resident * (long)page_size / 1024, usage / 1024);
	ksft_test_result(resident > nr_pages / 2 &&
			 usage >= resident * (long)page_size * 9 / 10,
			 "%s: charged below the parent\n", what);
	ksft_test_result(foreign < (long)REGION_SIZE / 4,
			 "%s: not charged to the writer's group\n", what);

	/*
	 * Whether reclaim ages the active list depends on figures of memory.stat,
	 * which are up to 2 s old: before, it finds nothing in a group whose memory
	 * is all active, and kills.
	 */
	sleep(3);
	guest_cgroup_write(PARENT, "memory.max", "%lu", PARENT_LIMIT);
	guest_child_must_pause(guest_child_next(pid), what);
	resident = guest_count_pagemap(pid, task->mem, REGION_SIZE,
				       PAGEMAP_PRESENT);
	ksft_print_msg("%s: limit %lu KiB, %ld KiB resident\n", what,
		       PARENT_LIMIT / 1024,
		       resident * (long)page_size / 1024);
	ksft_test_result(resident * page_size <= PARENT_LIMIT + GUEST_MIB,
			 "%s: the parent's limit holds\n", what);
	ksft_test_result(!task->wrong, "%s: contents\n", what);

	guest_child_kill(pid);
	if (!remove)
		guest_cgroup_remove(owner);
	guest_cgroup_remove(HOME);
	guest_cgroup_remove(PARENT);
	guest_cgroup_remove(FOREIGN);
	munmap(task, sizeof(*task));
}

int main(void)
{
	guest_start();
	guest_run_on(0);
	guest_zswap_enable("lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);

	ksft_set_plan(16);
	run("owner alive", PARENT "/owner", false, true);
	run("worker", PARENT "/owner", true, true);
	run("worker, two levels", MIDDLE "/owner", true, true);
	run("foreign task", PARENT "/owner", true, false);
	ksft_finished();
}
