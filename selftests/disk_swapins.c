// SPDX-License-Identifier: GPL-2.0-only
/*
 * disk_swapins: what was read from the disk long ago holds no write-back up.
 *
 * zswap's shrinker counts the pages that come back from the disk, and spares as
 * many entries: had these pages been spared, they would not have been read. Only
 * the shrinker takes from the count. So as long as it is off the count only grows,
 * and a shrinker that is then turned on spares everything until it has made up for
 * all of that. Also, a large folio is as many pages as it has, not one.
 *
 * A child reads from the disk, with the shrinker off, SWAPINS pages. Then it has
 * NR_ENTRIES pages in zswap, and the shrinker is turned on. The group's reclaim,
 * which has nothing else to take, asks the shrinker some hundred times; it must
 * write back entries. The same without the reads before shows that it would.
 *
 * Of the large folios only the shrinker's own count tells, which its debugfs file
 * shows in kernels that have one (CONFIG_SHRINKER_DEBUG). Folios of 64 KiB come
 * back from zram, before zswap was set up and with the shrinker on; then zswap
 * gets entries, of which it must spare one for each page that was read.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "guest_cgroup.h"

#define GROUP		"disk_swapins"

/*
 * One request of reclaim asks the shrinker at most about 17 times 13 times, and
 * each takes NR_ENTRIES off the count.
 */
#define NR_ENTRIES	64UL
#define REGION_SIZE	(16 * GUEST_MIB)
#define ROUNDS		8
#define SWAPINS		(ROUNDS * REGION_SIZE / page_size)

#define FOLIO_KIB	64
#define FOLIO_PAGES	(FOLIO_KIB * 1024 / page_size)
#define NR_FOLIOS	20UL
#define NR_SPARED	(NR_FOLIOS * FOLIO_PAGES)
#define ZRAM_SIZE	(32 * GUEST_MIB)

#define SHRINKER_DEBUGFS	"/sys/kernel/debug/shrinker"

struct child {
	unsigned int rounds;
	unsigned int folio_kib;
	size_t size;
	unsigned long nr_entries;
	/* What came of it. */
	long disk_reads;
	long large;
	size_t wrong;
};

/*
 * Only the group's: pages of a group that is gone can still be there. The figure is
 * not exact; how many pages were read from the disk tells whether it worked.
 */
static void empty_swap_cache(void)
{
	char path[PATH_MAX];

	guest_cgroup_path(path, sizeof(path), GROUP, "memory.reclaim");
	for (int tries = 0; tries < 50; tries++) {
		guest_try_write(path, "64M swappiness=max");
		if (guest_cgroup_key(GROUP, "memory.stat", "swapcached") <
		    64 * (long)page_size)
			return;
		usleep(10000);
	}
}

/* A page that is still being written when it is wanted back is kept for a while. */
static bool page_out(char *mem, size_t size)
{
	size_t left = 1;

	for (int tries = 0; left && tries < 50; tries++) {
		if (tries)
			usleep(100000);
		left = guest_pageout(mem, size);
	}
	if (left)
		ksft_print_msg("%zu of %zu pages stay in memory\n", left,
			       size / page_size);
	return !left;
}

static int child_body(void *arg)
{
	struct child *child = arg;
	char *region, *entries;

	guest_run_on(0);
	region = guest_map(child->size);
	entries = guest_map(child->nr_entries * page_size);
	child->disk_reads = guest_vmstat("pswpin");
	child->large = guest_thp_stat(FOLIO_KIB, "swpin");
	guest_thp_only(child->folio_kib);
	for (unsigned int i = 0; i < child->rounds; i++) {
		guest_fill(region, child->size, i + 1);
		if (!page_out(region, child->size))
			return 1;
		empty_swap_cache();
		child->wrong += guest_count_wrong(region, child->size, i + 1);
	}
	guest_thp_only(0);
	child->disk_reads = guest_vmstat("pswpin") - child->disk_reads;
	child->large = guest_thp_stat(FOLIO_KIB, "swpin") - child->large;
	munmap(region, child->size);
	guest_child_pause();

	guest_fill(entries, child->nr_entries * page_size, 99);
	if (!page_out(entries, child->nr_entries * page_size))
		return 2;
	guest_child_pause();

	child->wrong += guest_count_wrong(entries, child->nr_entries * page_size, 99);
	guest_child_pause();
	return 0;
}

static void set_shrinker(bool on)
{
	guest_write(ZSWAP_PARAM "shrinker_enabled", "%d", on);
}

/* Two results: written back, contents. */
static void test_writeback(const char *what, unsigned int rounds)
{
	struct child *child = guest_share(sizeof(*child));
	char path[PATH_MAX];
	long before, written;
	pid_t pid;

	*child = (struct child){
		.rounds = rounds,
		.size = REGION_SIZE,
		.nr_entries = NR_ENTRIES,
	};
	set_shrinker(false);
	guest_write(ZSWAP_PARAM "enabled", "0");
	guest_cgroup_create(GROUP);
	pid = guest_cgroup_spawn(GROUP, child_body, child);
	guest_child_must_pause(guest_child_wait(pid), what);
	if (child->disk_reads < (long)(rounds * REGION_SIZE / page_size * 9 / 10))
		ksft_exit_fail_msg("%s: only %ld pages were read\n", what,
				   child->disk_reads);

	guest_write(ZSWAP_PARAM "enabled", "1");
	guest_child_must_pause(guest_child_next(pid), what);
	/* The counts that the shrinker goes by. */
	sleep(3);
	guest_cgroup_key(GROUP, "memory.stat", "zswapped");
	before = guest_cgroup_key(GROUP, "memory.stat", "zswpwb");
	set_shrinker(true);
	guest_cgroup_path(path, sizeof(path), GROUP, "memory.reclaim");
	/* More than there is: all priorities are tried, several times. */
	guest_try_write(path, "64M");
	set_shrinker(false);
	written = guest_cgroup_key(GROUP, "memory.stat", "zswpwb") - before;

	guest_child_must_pause(guest_child_next(pid), what);
	ksft_print_msg("%s: %ld pages read before, %ld of %lu entries written back, %zu pages are wrong\n",
		       what, child->disk_reads, written, NR_ENTRIES, child->wrong);
	ksft_test_result(written > 0, "%s: the shrinker writes entries back\n",
			 what);
	ksft_test_result(!child->wrong, "%s: contents\n", what);
	guest_child_kill(pid);
	guest_cgroup_remove(GROUP);
}

/*
 * What the shrinker finds for @group in its "count": lines of a cgroup's inode
 * number and one figure a node. -1 when there is none.
 */
static long shrinker_count(const char *group)
{
	char path[PATH_MAX], line[256];
	struct dirent *entry;
	struct stat status;
	FILE *file = NULL;
	long count = -1;
	DIR *dir;

	guest_cgroup_path(path, sizeof(path), group, "");
	if (stat(path, &status))
		return -1;
	dir = opendir(SHRINKER_DEBUGFS);
	if (!dir)
		return -1;
	while (!file && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "mm-zswap-", 9))
			continue;
		snprintf(path, sizeof(path), SHRINKER_DEBUGFS "/%s/count",
			 entry->d_name);
		file = fopen(path, "re");
	}
	closedir(dir);
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		unsigned long inode;
		long value;

		if (sscanf(line, "%lu %ld", &inode, &value) == 2 &&
		    inode == status.st_ino)
			count = value;
	}
	fclose(file);
	/* A group of which it has nothing to say has no line. */
	return count < 0 ? 0 : count;
}

/* One result. Only before zswap was set up do large folios come from a device. */
static void test_large(const char *zram)
{
	struct child *child = guest_share(sizeof(*child));
	const char *what = "large folios";
	long first, second;
	pid_t pid;

	*child = (struct child){
		.rounds = 1,
		.folio_kib = FOLIO_KIB,
		.size = NR_FOLIOS * FOLIO_KIB * 1024,
		/* Far more than are to be spared. */
		.nr_entries = 4 * NR_SPARED,
	};
	set_shrinker(true);
	guest_swapon(zram);
	guest_cgroup_create(GROUP);
	pid = guest_cgroup_spawn(GROUP, child_body, child);
	guest_child_must_pause(guest_child_wait(pid), what);
	if (child->large < (long)NR_FOLIOS * 9 / 10)
		ksft_exit_fail_msg("only %ld large folios came back\n", child->large);

	guest_zswap_enable("lz4");
	guest_child_must_pause(guest_child_next(pid), what);
	sleep(3);
	first = shrinker_count(GROUP);
	second = shrinker_count(GROUP);
	ksft_print_msg("%ld large folios read: the shrinker finds %ld, then %ld\n",
		       child->large, first, second);
	if (first < 0)
		ksft_test_result_skip("large folios count by their pages: this kernel was built without CONFIG_SHRINKER_DEBUG\n");
	else
		/* Both are scaled by how well the entries are compressed, alike. */
		ksft_test_result(second > 0 && first < second * 4 / 5 &&
				 first > second * 7 / 10,
				 "large folios count by their pages\n");
	guest_child_kill(pid);
	guest_cgroup_remove(GROUP);
	guest_swapoff(zram);
	set_shrinker(false);
}

int main(void)
{
	char disk[PATH_MAX], zram[PATH_MAX];

	guest_start();
	if (access(ZSWAP_PARAM "shrinker_enabled", W_OK))
		ksft_exit_skip("no zswap, or without shrinker\n");
	if (guest_zswap_was_set_up())
		ksft_exit_skip("zswap was set up before\n");
	if (!guest_thp_size_exists(FOLIO_KIB))
		ksft_exit_skip("no folios of %d KiB\n", FOLIO_KIB);
	guest_take_disk(disk, sizeof(disk));
	if (!guest_zram_add(ZRAM_SIZE, zram, sizeof(zram)))
		ksft_exit_skip("no zram\n");
	guest_mkswap(zram, ZRAM_SIZE);

	ksft_set_plan(5);
	test_large(zram);
	guest_swapon(disk);
	test_writeback("nothing was read before", 0);
	test_writeback("much was read with the shrinker off", ROUNDS);
	ksft_finished();
}
