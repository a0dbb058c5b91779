// SPDX-License-Identifier: GPL-2.0-only
/*
 * swapfile: large folios and a swap file whose blocks are scattered.
 *
 * Neighbouring slots of a swap file need not be neighbours on the device: a
 * large folio read or written as one run at its first slot's sector reads, or
 * writes over, the blocks of other files. The test makes a file system that is
 * full with one file, the neighbour, punches holes of HOLE_PAGES into it and
 * lets the swap file take them, so that each run of its blocks lies between
 * two of the neighbour's. Then it swaps to that file, with a folio size
 * enabled, and checks every page of memory and every byte of the neighbour.
 *
 * It does so on zram (swap-in as on any synchronous device) and on the disk
 * that the guest swaps to, each with zswap never set up and with zswap enabled.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>

#include "guest.h"

#define FS_SIZE		(32 * GUEST_MIB)
#define ZRAM_SIZE	(64 * GUEST_MIB)
#define REGION_SIZE	(6 * GUEST_MIB)
#define OTHER_SIZE	(2 * GUEST_MIB)
#define FOLIO_KIB	64
#define HOLE_PAGES	2
#define FS_BLOCK	4096
#define SLOTS_PER_CLUSTER	512

#define MOUNT_POINT	"/tmp/swapfile.mnt"
#define NEIGHBOUR	MOUNT_POINT "/neighbour"
#define SWAP_FILE	MOUNT_POINT "/swap"
#define NEIGHBOUR_SEED	99

static char *region;

/*
 * Runs a program of the guest and returns its exit status, 127 when there is no
 * such program. Not through a shell: one with built-in applets prefers those.
 */
static int run(char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		/* Its chatter does not belong between the results. */
		if (freopen("/dev/null", "w", stdout))
			execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		ksft_exit_fail_msg("%s did not exit\n", argv[0]);
	return WEXITSTATUS(status);
}

static int open_or_bail(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	return fd;
}

static void mount_fs(const char *device)
{
	if (mount(device, MOUNT_POINT, "ext4", 0, NULL))
		ksft_exit_fail_msg("mount %s: %s\n", device, strerror(errno));
}

static void umount_fs(void)
{
	if (umount(MOUNT_POINT))
		ksft_exit_fail_msg("umount " MOUNT_POINT ": %s\n",
				   strerror(errno));
}

/* Fills the rest of the file system with a file; returns the file's pages. */
static size_t fill_up(const char *path, bool with_pattern)
{
	int fd = open_or_bail(path, O_WRONLY | O_CREAT | O_EXCL);
	uint64_t page[page_size / sizeof(uint64_t)];
	size_t nr_pages = 0;

	memset(page, 0, sizeof(page));
	for (;;) {
		if (with_pattern)
			guest_page(page, NEIGHBOUR_SEED, nr_pages);
		if (write(fd, page, page_size) != (ssize_t)page_size)
			break;
		nr_pages++;
	}
	if (ftruncate(fd, nr_pages * page_size) || fsync(fd))
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	close(fd);
	return nr_pages;
}

static bool is_hole(size_t page)
{
	return page % (2 * HOLE_PAGES) >= HOLE_PAGES;
}

static unsigned int count_extents(const char *path)
{
	struct fiemap map = {
		.fm_length = FIEMAP_MAX_OFFSET,
		.fm_flags = FIEMAP_FLAG_SYNC,
	};
	int fd = open_or_bail(path, O_RDONLY);

	if (ioctl(fd, FS_IOC_FIEMAP, &map))
		ksft_exit_fail_msg("%s: FIEMAP: %s\n", path, strerror(errno));
	close(fd);
	return map.fm_mapped_extents;
}

/* Returns the pages of the neighbour; its holes belong to the swap file. */
static size_t make_fs(const char *device)
{
	char fs_blocks[16];
	char *mke2fs[] = {
		"mke2fs", "-q", "-F", "-b", "4096", "-m", "0",
		"-O", "none,extent,filetype,sparse_super", (char *)device,
		fs_blocks, NULL,
	};
	size_t nr_pages, swap_pages;
	unsigned int extents;
	char spare[GUEST_MIB];
	int fd;

	/*
	 * No journal: punched blocks can be used again at once. One block a
	 * page, so that the holes hold whole slots.
	 */
	snprintf(fs_blocks, sizeof(fs_blocks), "%lu", FS_SIZE / FS_BLOCK);
	if (run(mke2fs))
		ksft_exit_fail_msg("mke2fs %s failed\n", device);
	mount_fs(device);

	/* Punching needs blocks for the neighbour's extent tree. */
	memset(spare, 0, sizeof(spare));
	fd = open_or_bail(MOUNT_POINT "/spare", O_WRONLY | O_CREAT);
	if (write(fd, spare, sizeof(spare)) != sizeof(spare) || fsync(fd))
		ksft_exit_fail_msg("spare file: %s\n", strerror(errno));
	close(fd);
	nr_pages = fill_up(NEIGHBOUR, true);
	unlink(MOUNT_POINT "/spare");

	fd = open_or_bail(NEIGHBOUR, O_WRONLY);
	for (size_t i = 0; i + HOLE_PAGES <= nr_pages; i += HOLE_PAGES)
		if (is_hole(i) &&
		    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      i * page_size, HOLE_PAGES * page_size))
			ksft_exit_fail_msg("%s: punching page %zu: %s\n",
					   NEIGHBOUR, i, strerror(errno));
	if (fsync(fd))
		ksft_exit_fail_msg("%s: %s\n", NEIGHBOUR, strerror(errno));
	close(fd);

	swap_pages = fill_up(SWAP_FILE, false);
	extents = count_extents(SWAP_FILE);
	ksft_print_msg("%s: swap file of %zu pages in %u extents\n", device,
		       swap_pages, extents);
	if (swap_pages * page_size < 2 * REGION_SIZE ||
	    extents < swap_pages / HOLE_PAGES / 2)
		ksft_exit_fail_msg("the swap file is too small or not fragmented\n");
	guest_mkswap(SWAP_FILE, swap_pages * page_size);
	return nr_pages;
}

/* Pages of the neighbour that are not as they were written. */
static size_t count_wrong_neighbours(size_t nr_pages)
{
	uint64_t want[page_size / sizeof(uint64_t)];
	char got[page_size];
	int fd = open_or_bail(NEIGHBOUR, O_RDONLY);
	size_t wrong = 0;

	for (size_t i = 0; i < nr_pages; i++) {
		if (is_hole(i) && i - i % HOLE_PAGES + HOLE_PAGES <= nr_pages)
			memset(want, 0, sizeof(want));
		else
			guest_page(want, NEIGHBOUR_SEED, i);
		if (read(fd, got, page_size) != (ssize_t)page_size ||
		    memcmp(got, want, page_size))
			wrong++;
	}
	close(fd);
	return wrong;
}

/*
 * Slot 0 is the header's, so the first page out gets slot 1. A folio's slots
 * must be aligned as its addresses are: this takes the rest of the first
 * cluster, for the region to start with the second.
 */
static char *pad_first_cluster(void)
{
	size_t size = (SLOTS_PER_CLUSTER - 1) * page_size;
	char *pad = guest_map(SLOTS_PER_CLUSTER * page_size);

	guest_fill(pad, size, 12);
	guest_pageout(pad, size);
	return pad;
}

/* Everything out and back, first by reads, then by writes. */
static size_t swap_out_and_in(void)
{
	size_t wrong;

	guest_fill(region, REGION_SIZE, 1);
	guest_pageout(region, REGION_SIZE);
	guest_touch(region, REGION_SIZE);
	wrong = guest_count_wrong(region, REGION_SIZE, 1);

	guest_fill(region, REGION_SIZE, 2);
	guest_pageout(region, REGION_SIZE);
	/* The first byte becomes another and then itself again. */
	for (size_t off = 0; off < REGION_SIZE; off += page_size) {
		volatile char *byte = region + off;

		*byte ^= 1;
		*byte ^= 1;
	}
	return wrong + guest_count_wrong(region, REGION_SIZE, 2);
}

static bool reader_stop;

static void *read_random_pages(void *arg)
{
	uint64_t x = (uintptr_t)arg;

	guest_run_on(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	while (!__atomic_load_n(&reader_stop, __ATOMIC_RELAXED)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		(void)*(volatile char *)(region + x % (REGION_SIZE / page_size) *
						  page_size);
	}
	return NULL;
}

/*
 * A reader brings pages back while they are on their way out, so that swap
 * cache folios get dirty again over slots that they keep, and the pool's limit
 * goes down and up, so that zswap takes some and refuses others.
 */
static size_t swap_out_against_reader(bool with_zswap)
{
	size_t wrong = 0;

	for (uint32_t seed = 3; seed < 6; seed++) {
		pthread_t reader;

		if (with_zswap)
			guest_write(ZSWAP_PARAM "max_pool_percent", "20");
		guest_fill(region, REGION_SIZE, seed);
		__atomic_store_n(&reader_stop, false, __ATOMIC_RELAXED);
		if (pthread_create(&reader, NULL, read_random_pages,
				   (void *)(uintptr_t)seed))
			ksft_exit_fail_msg("pthread_create failed\n");
		for (int i = 0; i < 3; i++) {
			madvise(region, REGION_SIZE, MADV_PAGEOUT);
			if (with_zswap)
				guest_write(ZSWAP_PARAM "max_pool_percent",
					    "%d", i % 2 * 20);
		}
		__atomic_store_n(&reader_stop, true, __ATOMIC_RELAXED);
		pthread_join(reader, NULL);
		wrong += guest_count_wrong(region, REGION_SIZE, seed);
	}
	return wrong;
}

/* All of zswap goes to the swap file, and the region comes back from there. */
static size_t write_back_and_in(void)
{
	char *other = guest_map(OTHER_SIZE);
	size_t wrong;

	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_fill(region, REGION_SIZE, 10);
	guest_pageout(region, REGION_SIZE);
	ksft_print_msg("%ld pages in zswap before the write-back\n",
		       guest_zswap_stored());
	guest_write(ZSWAP_PARAM "max_pool_percent", "0");
	for (int tries = 0; guest_zswap_stored() > 0 && tries < 50; tries++) {
		guest_fill(other, OTHER_SIZE, 11);
		madvise(other, OTHER_SIZE, MADV_PAGEOUT);
		usleep(100000);
	}
	ksft_print_msg("%ld pages in zswap after it\n", guest_zswap_stored());
	wrong = guest_count_wrong(region, REGION_SIZE, 10);
	wrong += guest_count_wrong(other, OTHER_SIZE, 11);
	munmap(other, OTHER_SIZE);
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	return wrong;
}

static void test_device(const char *device, const char *kind, bool with_zswap)
{
	const char *zswap = with_zswap ? "zswap enabled" : "zswap never set up";
	char *e2fsck[] = { "e2fsck", "-fn", (char *)device, NULL };
	size_t neighbour_pages, wrong;
	long large;
	int status;
	char *pad;

	neighbour_pages = make_fs(device);
	guest_swapon(SWAP_FILE);
	pad = pad_first_cluster();
	region = guest_map(REGION_SIZE);

	large = guest_large_swapins(FOLIO_KIB);
	wrong = swap_out_and_in();
	ksft_print_msg("out and in: %zu wrong pages, %ld swap-ins of %u KiB\n",
		       wrong, guest_large_swapins(FOLIO_KIB) - large, FOLIO_KIB);
	ksft_test_result(!wrong, "%s, %s: pages come back right\n", kind, zswap);

	wrong = swap_out_against_reader(with_zswap);
	ksft_print_msg("out against a reader: %zu wrong pages\n", wrong);
	ksft_test_result(!wrong, "%s, %s: pages read on their way out\n", kind,
			 zswap);

	if (with_zswap) {
		wrong = write_back_and_in();
		ksft_print_msg("written back and in: %zu wrong pages\n", wrong);
		ksft_test_result(!wrong, "%s, %s: written-back pages\n", kind,
				 zswap);
	}

	large = guest_large_swapins(FOLIO_KIB) - large;
	ksft_print_msg("%ld swap-ins of %u KiB\n", large, FOLIO_KIB);
	ksft_test_result(!large, "%s, %s: no large swap-in from scattered blocks\n",
			 kind, zswap);

	munmap(region, REGION_SIZE);
	munmap(pad, SLOTS_PER_CLUSTER * page_size);
	guest_swapoff(SWAP_FILE);
	umount_fs();
	guest_write("/proc/sys/vm/drop_caches", "3");
	mount_fs(device);
	wrong = count_wrong_neighbours(neighbour_pages);
	umount_fs();
	ksft_print_msg("%zu wrong pages of %zu in the neighbour\n", wrong,
		       neighbour_pages);
	status = run(e2fsck);
	if (status == 127) {
		ksft_print_msg("no e2fsck here: the file system is not checked\n");
	} else if (status) {
		ksft_print_msg("e2fsck finds errors, status %d\n", status);
		wrong++;
	}
	ksft_test_result(!wrong, "%s, %s: the other file is as it was\n", kind,
			 zswap);
}

int main(void)
{
	char zram[PATH_MAX], disk[PATH_MAX];
	bool has_zram;

	guest_start();
	if (access(ZSWAP_PARAM "enabled", W_OK))
		ksft_exit_skip("zswap is not configured\n");
	if (guest_zswap_was_set_up())
		ksft_exit_skip("zswap was set up before\n");
	if (!guest_thp_size_exists(FOLIO_KIB))
		ksft_exit_skip("no folios of 64 KiB\n");
	if (mkdir(MOUNT_POINT, 0700) && errno != EEXIST)
		ksft_exit_fail_msg(MOUNT_POINT ": %s\n", strerror(errno));
	guest_run_on(0);
	guest_swapoff_all(disk, sizeof(disk));
	has_zram = guest_zram_add(ZRAM_SIZE, zram, sizeof(zram));
	if (!has_zram && !disk[0])
		ksft_exit_skip("neither zram nor a swap disk\n");
	guest_thp_only(FOLIO_KIB);

	ksft_set_plan((has_zram + !!disk[0]) * 9);
	if (has_zram)
		test_device(zram, "zram", false);
	if (disk[0])
		test_device(disk, "disk", false);
	guest_zswap_enable("lz4");
	if (has_zram)
		test_device(zram, "zram", true);
	if (disk[0])
		test_device(disk, "disk", true);
	ksft_finished();
}
