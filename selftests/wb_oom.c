// SPDX-License-Identifier: GPL-2.0-only
/*
 * wb_oom: writing zswap's pages back must not cost their owner more than them.
 *
 * Write-back decompresses an entry into a page, which it charges to the group
 * that owns the entry. The worker that makes room when the pool is full is no
 * task of that group; still its charge, if it is an ordinary one, reclaims the
 * group's memory, and kills one of its tasks when there is nothing to reclaim.
 *
 * A child fills memory that zswap then holds, and more memory that stays, up to
 * its group's limit to the page; it sleeps. Now all of zswap is written back. In
 * two cases the memory that stays is locked, and the limit is that of the child's
 * group or that of its parent: nobody may be killed. In the third the memory
 * could be reclaimed: none of it may be. Each time the child's compressed pages
 * must have been written back, or the case would show nothing, and all of its
 * memory must be what it was.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

#define GROUP		"wb_oom"
#define VICTIM		GROUP "/victim"

#define STORED_SIZE	(2 * GUEST_MIB)
#define STAYS_SIZE	(6 * GUEST_MIB)
/* Less than what a CPU charges in advance: its half. */
#define LAST_PAGES	32

enum {
	SEED_STORED = 1,
	SEED_STAYS,
};

struct victim {
	bool lock;
	const char *limited;
	/* What the child found. */
	char *stays;
	size_t stays_size;
	size_t resident;
	size_t wrong;
};

/* Of a file that is kept open: opening and closing it changes the usage. */
static long usage_of(int fd)
{
	char text[32] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		ksft_exit_fail_msg("memory.current: %s\n", strerror(errno));
	return strtol(text, NULL, 10);
}

/*
 * Fills the memory that stays, the last of it while the group has little room
 * left. A CPU charges pages in advance as long as it can: when the usage grows by
 * single pages there are none of these left, and nothing that is charged to the
 * group from now on comes for free.
 */
static int fill_to_the_limit(struct victim *victim)
{
	size_t some = STAYS_SIZE - GUEST_MIB;
	char path[PATH_MAX];
	int single_pages = 0;
	long usage;
	int fd;

	guest_cgroup_path(path, sizeof(path), victim->limited,
			  "memory.current");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	guest_fill(victim->stays, some, SEED_STAYS);
	guest_cgroup_write(victim->limited, "memory.max", "%ld",
			   usage_of(fd) + LAST_PAGES * (long)page_size);
	usage = usage_of(fd);
	for (size_t off = some; off < STAYS_SIZE; off += page_size) {
		long before = usage;

		guest_page((uint64_t *)(victim->stays + off), SEED_STAYS,
			   off / page_size);
		usage = usage_of(fd);
		if (usage == before + (long)page_size)
			single_pages++;
		if (single_pages == 2) {
			victim->stays_size = off + page_size;
			return 0;
		}
	}
	return -1;
}

static int victim_body(void *arg)
{
	struct victim *victim = arg;
	char *stored;

	stored = guest_map(STORED_SIZE);
	guest_fill(stored, STORED_SIZE, SEED_STORED);
	if (guest_pageout(stored, STORED_SIZE))
		return 2;

	victim->stays = guest_map(STAYS_SIZE);
	if (victim->lock && mlock2(victim->stays, STAYS_SIZE, MLOCK_ONFAULT))
		return 3;
	if (fill_to_the_limit(victim))
		return 4;
	guest_child_pause();

	/* The limit is gone now. */
	victim->wrong = guest_count_wrong(stored, STORED_SIZE, SEED_STORED) +
			guest_count_wrong(victim->stays, victim->stays_size,
					  SEED_STAYS);
	return 0;
}

/* Three results: nobody was killed, written back, contents. */
static void write_back(const char *what, bool lock, const char *limited)
{
	struct victim *victim = guest_share(sizeof(*victim));
	long zswpwb, kills, left;
	size_t resident_before;
	int status;
	pid_t pid;

	*victim = (struct victim){ .lock = lock, .limited = limited };
	guest_cgroup_create_parent(GROUP);
	guest_cgroup_create(VICTIM);

	pid = guest_cgroup_spawn(VICTIM, victim_body, victim);
	guest_child_must_pause(guest_child_wait(pid), what);
	guest_cgroup_write(limited, "memory.max", "%ld",
			   guest_cgroup_read(limited, "memory.current"));
	resident_before = guest_count_pagemap(pid, victim->stays,
					      victim->stays_size,
					      PAGEMAP_PRESENT);
	ksft_print_msg("%s: usage %ld KiB, of it %ld compressed\n", what,
		       guest_cgroup_read(limited, "memory.current") / 1024,
		       guest_cgroup_read(limited, "memory.zswap.current") / 1024);

	left = guest_zswap_drain(16);

	/* A killed child has no page map any more. */
	kills = guest_cgroup_key(limited, "memory.events", "oom_kill");
	if (!kills)
		victim->resident = guest_count_pagemap(pid, victim->stays,
						       victim->stays_size,
						       PAGEMAP_PRESENT);
	zswpwb = guest_cgroup_key(VICTIM, "memory.stat", "zswpwb");
	ksft_print_msg("%s: %ld kills, %ld pages written back, %ld left in zswap, %zu of %zu other pages still there, usage %ld KiB\n",
		       what, kills, zswpwb, left, victim->resident,
		       resident_before,
		       guest_cgroup_read(limited, "memory.current") / 1024);

	guest_cgroup_write(limited, "memory.max", "max");
	status = guest_child_next(pid);

	ksft_test_result(!kills && victim->resident == resident_before,
			 "%s: no kill, no other page reclaimed\n", what);
	ksft_test_result(zswpwb >= (long)(STORED_SIZE / page_size) / 2,
			 "%s: its compressed pages were written back\n", what);
	ksft_test_result(guest_child_exited_well(status) && !victim->wrong,
			 "%s: contents\n", what);
	guest_cgroup_remove(VICTIM);
	guest_cgroup_remove(GROUP);
	munmap(victim, sizeof(*victim));
}

int main(void)
{
	guest_start();
	guest_run_on(0);
	guest_zswap_enable("lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);

	ksft_set_plan(9);
	write_back("locked memory", true, VICTIM);
	write_back("locked memory, limit of the parent", true, GROUP);
	write_back("memory that could be reclaimed", false, VICTIM);
	ksft_finished();
}
