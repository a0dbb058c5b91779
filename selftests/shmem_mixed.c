// SPDX-License-Identifier: GPL-2.0-only
/*
 * shmem_mixed: shared memory of which zswap has only a part comes back right.
 *
 * A large folio of a shared memory file goes to zswap whole and leaves one entry
 * for all of its slots in the file. Then the shrinker of zswap, through its debugfs
 * file, writes the first pages of it to the device: one, a quarter, half, all but
 * two. The pages are touched, upwards or downwards, or swapoff brings them back.
 *
 * Each page must come in once, from where it is, with the right contents, and zswap
 * must be empty afterwards. Where the kernel counts them, the folio that zswap has
 * whole must come back large, and of one that it has in part at least half of what
 * could.
 *
 * It does so for a memfd with folios of 64 KiB and for tmpfs with 2 MiB, on zram
 * and on the guest's disk. Readahead is off (vm.page-cluster is 0).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/mount.h>

#include "guest_cgroup.h"

#define GROUP			"shmem_mixed"
#define DIRECTORY		"/tmp/shmem_mixed"
#define SHRINKER_DEBUGFS	"/sys/kernel/debug/shrinker"
#define ZRAM_SIZE		(64 * GUEST_MIB)
#define MAX_PAGES		512

enum kind { MEMFD, TMPFS, NR_KINDS };

static const char *const kind_name[] = {
	[MEMFD] = "memfd",
	[TMPFS] = "tmpfs",
};

static const unsigned int folio_kib[] = { [MEMFD] = 64, [TMPFS] = 2048 };

enum way { UPWARDS, DOWNWARDS, SWAPOFF };

static char shrinker[PATH_MAX];
static int fd;
static char *mem;
static unsigned int nr_pages;
static uint32_t seed;

/*
 * The folio, and where its pages are
 */

static void open_file(enum kind kind)
{
	char path[PATH_MAX];
	size_t size;

	nr_pages = folio_kib[kind] * 1024 / page_size;
	size = nr_pages * page_size;
	if (kind == MEMFD) {
		/* A new folio takes the largest, one from swap what is left. */
		for (unsigned int kib = 16; kib <= folio_kib[kind]; kib *= 2) {
			snprintf(path, sizeof(path),
				 THP_DIR "hugepages-%ukB/shmem_enabled", kib);
			guest_write(path, "always");
		}
		fd = memfd_create("shmem_mixed", MFD_CLOEXEC);
	} else {
		fd = open(DIRECTORY "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	if (fd < 0 || ftruncate(fd, size))
		ksft_exit_fail_msg("%s: %s\n", kind_name[kind], strerror(errno));
	mem = mmap(guest_map(size), size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, fd, 0);
	if (mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
}

static void close_file(void)
{
	munmap(mem, nr_pages * page_size);
	close(fd);
	unlink(DIRECTORY "/file");
}

static unsigned int count_in_core(void)
{
	unsigned char in_core[MAX_PAGES];
	unsigned int count = 0;

	if (mincore(mem, nr_pages * page_size, in_core))
		ksft_exit_fail_msg("mincore: %s\n", strerror(errno));
	for (unsigned int i = 0; i < nr_pages; i++)
		count += in_core[i] & 1;
	return count;
}

static void find_shrinker(void)
{
	DIR *dir = opendir(SHRINKER_DEBUGFS);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "mm-zswap-", 9))
			snprintf(shrinker, sizeof(shrinker),
				 SHRINKER_DEBUGFS "/%s/scan", entry->d_name);
	if (dir)
		closedir(dir);
	if (!shrinker[0])
		ksft_exit_skip("this kernel was built without CONFIG_SHRINKER_DEBUG\n");
}

/* Has the shrinker look at that many of the group's entries, oldest first. */
static void scan(unsigned int nr)
{
	char path[PATH_MAX];
	struct stat status;

	guest_cgroup_path(path, sizeof(path), GROUP, "");
	if (stat(path, &status))
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	/* It does nothing while it is off, and should not when others reclaim. */
	guest_write(ZSWAP_PARAM "shrinker_enabled", "1");
	guest_write(shrinker, "%lu 0 %u", (unsigned long)status.st_ino, nr);
	guest_write(ZSWAP_PARAM "shrinker_enabled", "0");
}

/* mincore() asks for the first slot of a large entry only, whatever the page. */
static void empty_swap_cache(void)
{
	char path[PATH_MAX];
	long left;

	guest_cgroup_path(path, sizeof(path), GROUP, "memory.reclaim");
	for (int tries = 0; ; tries++) {
		/* Each CPU's part of the counter, too. */
		guest_write("/proc/sys/vm/stat_refresh", "1");
		left = guest_read_key("/proc/meminfo", "SwapCached");
		if (!left)
			return;
		if (tries == 500)
			ksft_exit_fail_msg("%ld KiB stay in the swap cache\n", left);
		guest_try_write(path, "%ldK swappiness=max", left);
		usleep(2000);
	}
}

/*
 * Leaves the folio in zswap but for the first @nr_disk pages; false when it did not
 * go to zswap whole.
 */
static bool swap_out(enum kind kind, unsigned int nr_disk)
{
	long folios = guest_thp_stat(folio_kib[kind], "zswpout");

	seed++;
	guest_fill(mem, nr_pages * page_size, seed);
	for (int tries = 0; count_in_core(); tries++) {
		if (tries == 20)
			ksft_exit_fail_msg("the folio is not paged out\n");
		if (tries)
			guest_write("/proc/sys/vm/drop_caches", "1");
		if (madvise(mem, nr_pages * page_size, MADV_PAGEOUT))
			ksft_exit_fail_msg("MADV_PAGEOUT: %s\n", strerror(errno));
	}
	if (guest_thp_stat(folio_kib[kind], "zswpout") == folios)
		return false;

	/* The first time each entry gets its second chance. */
	scan(nr_pages);
	/*
	 * One by one: with more, as many of their neighbours go along. The last two
	 * of a block go together in any case.
	 */
	while (guest_zswap_stored() > (long)(nr_pages - nr_disk))
		scan(1);
	empty_swap_cache();
	if (guest_zswap_stored() != nr_pages - nr_disk)
		ksft_exit_fail_msg("zswap has %ld pages instead of %u\n",
				   guest_zswap_stored(), nr_pages - nr_disk);
	return true;
}

/*
 * Bringing it back
 */

static long large_pages(void)
{
	long pages = 0, folios;

	for (unsigned int kib = 8; kib <= 2048; kib *= 2) {
		folios = guest_thp_stat(kib, "zswpin");
		if (folios > 0)
			pages += folios * (long)(kib * 1024 / page_size);
	}
	return pages;
}

/* Returns how many pages came in large folios, or -1 when something is wrong. */
static long bring_back(enum kind kind, const char *device, unsigned int nr_disk,
		       enum way way)
{
	long zswap, disk, large, in_zswap = nr_pages - nr_disk;
	size_t wrong;

	zswap = guest_vmstat("zswpin");
	disk = guest_vmstat("pswpin");
	large = large_pages();
	if (way == SWAPOFF)
		guest_swapoff(device);
	for (unsigned int i = 0; i < nr_pages; i++)
		(void)*(volatile char *)(mem + page_size *
			(way == DOWNWARDS ? nr_pages - 1 - i : i));
	zswap = guest_vmstat("zswpin") - zswap;
	disk = guest_vmstat("pswpin") - disk;
	large = large_pages() - large;
	wrong = guest_count_wrong(mem, nr_pages * page_size, seed);
	if (way == SWAPOFF)
		guest_swapon(device);
	ksft_print_msg("%s, %s, %u of %u pages on the device, %s: %ld pages from zswap, %ld of these in large folios, %ld from the device, %zu wrong\n",
		       kind_name[kind], device, nr_disk, nr_pages,
		       way == SWAPOFF ? "swapoff" :
		       way == UPWARDS ? "upwards" : "downwards",
		       zswap, large, disk, wrong);
	if (guest_zswap_stored())
		ksft_print_msg("zswap still has %ld pages\n",
			       guest_zswap_stored());
	if (wrong || zswap != in_zswap || disk != nr_disk || guest_zswap_stored())
		return -1;
	return large;
}

/* Two results. */
static void test_device(enum kind kind, const char *device)
{
	const unsigned int all = folio_kib[kind] * 1024 / page_size;
	const unsigned int nr_disk[] = { 1, all / 4, all / 2, all - 2 };
	const char *name = kind_name[kind];
	long large, possible, whole;
	bool right = true, enough = true;

	open_file(kind);
	if (!swap_out(kind, 0))
		ksft_exit_fail_msg("the folio did not go to zswap whole\n");
	whole = bring_back(kind, device, 0, UPWARDS);
	right = whole >= 0;
	close_file();
	for (size_t i = 0; i < ARRAY_SIZE(nr_disk); i++) {
		for (int way = UPWARDS; way <= SWAPOFF; way++) {
			open_file(kind);
			if (!swap_out(kind, nr_disk[i]))
				ksft_exit_fail_msg("the folio did not go to zswap whole\n");
			large = bring_back(kind, device, nr_disk[i], way);
			close_file();
			right &= large >= 0;
			if (way == SWAPOFF)
				continue;
			/* In blocks of at least 16 KiB. */
			possible = (all - nr_disk[i]) / 4 * 4;
			enough &= large >= possible / 2;
		}
	}
	ksft_test_result(right, "%s, %s: every page once, contents\n", name,
			 device);
	if (guest_thp_stat(folio_kib[kind], "zswpin") < 0)
		ksft_test_result_skip("%s, %s: large folios: this kernel does not count them\n",
				      name, device);
	else
		ksft_test_result(whole > 0 && enough, "%s, %s: large folios\n",
				 name, device);
}

int main(void)
{
	char disk[PATH_MAX], zram[PATH_MAX];
	const char *devices[2];

	guest_start();
	guest_zswap_enable("lz4");
	find_shrinker();
	for (int kind = 0; kind < NR_KINDS; kind++)
		if (!guest_thp_size_exists(folio_kib[kind]))
			ksft_exit_skip("no folios of %u KiB\n", folio_kib[kind]);
	if (mkdir(DIRECTORY, 0700) ||
	    mount("none", DIRECTORY, "tmpfs", 0, "huge=always"))
		ksft_exit_skip("no tmpfs with huge pages: %s\n", strerror(errno));
	guest_take_disk(disk, sizeof(disk));
	if (!guest_zram_add(ZRAM_SIZE, zram, sizeof(zram)))
		ksft_exit_skip("no zram\n");
	guest_mkswap(zram, ZRAM_SIZE);
	guest_write("/proc/sys/vm/page-cluster", "0");
	/* What it has so far is neither to be reclaimed nor charged there. */
	if (mlockall(MCL_CURRENT))
		ksft_exit_fail_msg("mlockall: %s\n", strerror(errno));
	guest_cgroup_create(GROUP);
	guest_cgroup_move(0, GROUP);
	guest_run_on(0);

	ksft_set_plan(2 * 2 * NR_KINDS);
	devices[0] = zram;
	devices[1] = disk;
	for (int i = 0; i < 2; i++) {
		guest_swapon(devices[i]);
		for (int kind = 0; kind < NR_KINDS; kind++)
			test_device(kind, devices[i]);
		guest_swapoff(devices[i]);
	}
	ksft_finished();
}
