// SPDX-License-Identifier: GPL-2.0-only
/*
 * wb_refault: write-back of zswap frees memory, and is no refault.
 *
 * To write an entry to the disk, write-back brings it into the swap cache as a
 * swap-in does. But nobody asked for the page: counting a refault, and activating
 * the page as one that came back soon, tells reclaim and whoever reads the
 * counters that the group is short of memory. And once the disk has it there is
 * no use for it: as long as it stays in the swap cache, a page in memory took the
 * place of a compressed one, and write-back has made the group larger.
 *
 * A child fills memory, which goes to zswap whole. Then it is written back, by the
 * worker of the pool's limit or because of the group's own limit. The group's
 * counters of refaults and activations must not move, and its usage must fall. At
 * last the child reads its memory again. These are refaults, and must be counted:
 * what write-back must not do is to forget when the pages were reclaimed.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

#define GROUP		"wb_refault"
#define REGION_SIZE	(16 * GUEST_MIB)
#define NR_PAGES	((long)(REGION_SIZE / page_size))
#define OTHER_SIZE	(4 * GUEST_MIB)

/*
 * As inexact as memory.stat is until its periodic update: a hundred pages or two.
 * What is looked for comes in thousands.
 */
#define SLACK_PAGES	200
/* Until the counters are exact, and until written pages are gone. */
#define SETTLE_SECONDS	5

enum writer { BY_POOL_LIMIT, BY_GROUP_LIMIT };

static const char *const writer_name[] = {
	[BY_POOL_LIMIT] = "the pool's limit",
	[BY_GROUP_LIMIT] = "the group's limit",
};

struct child {
	enum writer writer;
	size_t wrong;
	long major_faults;
};

struct counters {
	long usage;
	long compressed;
	long stored;
	long written_back;
	long refaults;
	long activations;
};

static void read_counters(struct counters *ret)
{
	*ret = (struct counters){
		.usage = guest_cgroup_read(GROUP, "memory.current"),
		.compressed = guest_cgroup_key(GROUP, "memory.stat", "zswap"),
		.stored = guest_cgroup_key(GROUP, "memory.stat", "zswapped") /
			  (long)page_size,
		.written_back = guest_cgroup_key(GROUP, "memory.stat", "zswpwb"),
		.refaults = guest_cgroup_key(GROUP, "memory.stat",
					     "workingset_refault_anon"),
		.activations = guest_cgroup_key(GROUP, "memory.stat",
						"workingset_activate_anon"),
	};
}

/*
 * At its limit a group writes some entries back for each page that it swaps out,
 * the first time around only after their second chance.
 */
static void write_back_by_group_limit(void)
{
	char *other = guest_map(OTHER_SIZE);

	guest_cgroup_write(GROUP, "memory.zswap.max", "%zu", page_size);
	guest_fill(other, OTHER_SIZE, 2);
	for (size_t off = 0; off < OTHER_SIZE; off += page_size) {
		if (guest_zswap_stored() < NR_PAGES / 20)
			break;
		if (madvise(other + off, page_size, MADV_PAGEOUT))
			ksft_exit_fail_msg("MADV_PAGEOUT: %s\n", strerror(errno));
	}
	guest_cgroup_write(GROUP, "memory.zswap.max", "max");
	munmap(other, OTHER_SIZE);
}

static int child_body(void *arg)
{
	struct child *child = arg;
	char *region = guest_map(REGION_SIZE);

	guest_fill(region, REGION_SIZE, 1);
	if (guest_pageout(region, REGION_SIZE))
		return 1;
	guest_child_pause();

	if (child->writer == BY_GROUP_LIMIT) {
		write_back_by_group_limit();
		guest_child_pause();
	}

	child->major_faults = guest_touch(region, REGION_SIZE);
	child->wrong = guest_count_wrong(region, REGION_SIZE, 1);
	guest_child_pause();
	return 0;
}

#define NR_RESULTS	5

static void test_writer(enum writer writer)
{
	struct child *child = guest_share(sizeof(*child));
	const char *name = writer_name[writer];
	long refaults, activations, written, fallen;
	struct counters before, after;
	pid_t pid;

	child->writer = writer;
	guest_cgroup_create(GROUP);
	pid = guest_cgroup_spawn(GROUP, child_body, child);
	guest_child_must_pause(guest_child_wait(pid), name);
	sleep(SETTLE_SECONDS);
	read_counters(&before);

	if (writer == BY_POOL_LIMIT)
		guest_zswap_drain(0);
	else
		guest_child_must_pause(guest_child_next(pid), name);
	sleep(SETTLE_SECONDS);
	read_counters(&after);

	written = after.written_back - before.written_back;
	refaults = after.refaults - before.refaults;
	activations = after.activations - before.activations;
	fallen = before.usage - after.usage;
	ksft_print_msg("%s: %ld of %ld pages written back, %ld refaults, %ld activations, usage %ld KiB (of it %ld compressed), then %ld\n",
		       name, written, NR_PAGES, refaults, activations,
		       before.usage / 1024, before.compressed / 1024,
		       after.usage / 1024);
	if (written < NR_PAGES * 9 / 10)
		ksft_exit_fail_msg("%s: too few pages were written back\n", name);
	ksft_test_result(refaults <= SLACK_PAGES, "%s: counts no refaults\n",
			 name);
	ksft_test_result(activations <= SLACK_PAGES,
			 "%s: activates no pages\n", name);
	/* The group's own few pages, and what it swapped out meanwhile, stay. */
	ksft_test_result(fallen > before.compressed / 2,
			 "%s: the group's usage falls\n", name);

	/* So that the disk is read, whatever came of the point before. */
	for (int tries = 0; tries < 50; tries++) {
		char path[PATH_MAX];

		if (!guest_read_key("/proc/meminfo", "SwapCached"))
			break;
		guest_cgroup_path(path, sizeof(path), GROUP, "memory.reclaim");
		guest_try_write(path, "64M swappiness=max");
		usleep(50000);
	}
	read_counters(&before);
	guest_child_must_pause(guest_child_next(pid), name);
	sleep(SETTLE_SECONDS);
	read_counters(&after);
	refaults = after.refaults - before.refaults;
	ksft_print_msg("%s: read again with %ld major faults, %ld refaults, %zu pages are wrong\n",
		       name, child->major_faults, refaults, child->wrong);
	ksft_test_result(refaults > NR_PAGES * 9 / 10 - SLACK_PAGES,
			 "%s: reading the pages from the disk counts refaults\n",
			 name);
	ksft_test_result(!child->wrong, "%s: contents\n", name);

	guest_child_kill(pid);
	guest_cgroup_remove(GROUP);
}

int main(void)
{
	guest_start();
	guest_zswap_enable("lz4");
	guest_thp_only(0);
	if (guest_zswap_stored() < 0)
		ksft_exit_skip("/proc/meminfo has no Zswapped\n");

	ksft_set_plan(2 * NR_RESULTS);
	test_writer(BY_POOL_LIMIT);
	test_writer(BY_GROUP_LIMIT);
	ksft_finished();
}
