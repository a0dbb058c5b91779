// SPDX-License-Identifier: GPL-2.0-only
/*
 * hibernate: what zswap holds survives the machine being off.
 *
 * The memory's image holds zswap's pool and tree along with everything else, and is
 * written to free slots of the device that zswap stands before. So after resume each
 * page must have its contents, be it in memory, in zswap (in small folios and large
 * ones), zero-filled or on the disk, and the statistics must be what they were when
 * the image was made. What is swapped out after that must come back as well: the
 * slots of the image are free again.
 *
 * The second time the kernel makes the image as small as it can, which swaps out
 * most of the memory first.
 *
 * What cannot work must fail with an error and leave everything as it was: no swap
 * where the image is to go, a swap area that is too small, or a swap file there.
 *
 * It needs a machine that is started again with the same disk: vm/run --hibernate.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "guest.h"

#define MOUNT_POINT	"/tmp/hibernate"
#define SWAP_FILE	MOUNT_POINT "/swap"
#define REGION_SIZE	(16 * GUEST_MIB)
#define REGION_PAGES	(REGION_SIZE / page_size)
#define BLOCK_KIB	64
#define ZRAM_SIZE	(32 * GUEST_MIB)
/* Of all images; the kernel takes half of the memory at most. */
#define ANY_SIZE	(1024 * GUEST_MIB)
/* Holds a hundredth of the image. */
#define SMALL_SIZE	(1 * GUEST_MIB)

enum region { RESIDENT, SMALL_FOLIOS, LARGE_FOLIOS, ZERO_FILLED, ON_DISK, NR_REGIONS };

static const char *const region_name[NR_REGIONS] = {
	[RESIDENT] = "in memory",
	[SMALL_FOLIOS] = "in zswap",
	[LARGE_FOLIOS] = "in zswap as large folios",
	[ZERO_FILLED] = "zero-filled",
	[ON_DISK] = "on the disk",
};

static char *region_mem[NR_REGIONS];
static char disk[PATH_MAX];

static void page_out(enum region region)
{
	size_t left = guest_pageout(region_mem[region], REGION_SIZE);

	if (left)
		ksft_exit_fail_msg("%s: %zu pages were not swapped out\n",
				   region_name[region], left);
}

static void fill(enum region region)
{
	guest_thp_only(region == LARGE_FOLIOS ? BLOCK_KIB : 0);
	region_mem[region] = guest_map(REGION_SIZE);
	if (region == ZERO_FILLED)
		memset(region_mem[region], 0, REGION_SIZE);
	else
		guest_fill(region_mem[region], REGION_SIZE, region + 1);
	guest_write(ZSWAP_PARAM "enabled", "%d", region != ON_DISK);
	if (region != RESIDENT)
		page_out(region);
}

/* Brings all of it back into memory. */
static size_t count_wrong(enum region region)
{
	size_t wrong = 0;

	if (region != ZERO_FILLED)
		return guest_count_wrong(region_mem[region], REGION_SIZE,
					 region + 1);
	for (size_t page = 0; page < REGION_PAGES; page++) {
		const uint64_t *word = (uint64_t *)(region_mem[region] +
						    page * page_size);

		for (size_t i = 0; i < page_size / sizeof(*word); i++)
			if (word[i]) {
				wrong++;
				break;
			}
	}
	return wrong;
}

/* A result each. */
static void test_contents(const char *when)
{
	for (int region = 0; region < NR_REGIONS; region++) {
		size_t wrong = count_wrong(region);

		if (wrong)
			ksft_print_msg("%zu of %zu pages are wrong\n", wrong,
				       REGION_PAGES);
		ksft_test_result(!wrong, "%s: contents %s\n", when,
				 region_name[region]);
	}
}

/* Statistics that an image keeps */
struct counts {
	long swap_used;		/* KiB */
	long stored;		/* pages */
	long stored_by_cgroups;	/* bytes */
	long pool;		/* bytes */
};

static struct counts count(void)
{
	return (struct counts){
		.swap_used = guest_read_key("/proc/meminfo", "SwapTotal") -
			     guest_read_key("/proc/meminfo", "SwapFree"),
		.stored = guest_zswap_stored(),
		.stored_by_cgroups = guest_read_key("/proc/meminfo", "Zswapped"),
		.pool = guest_read_long(ZSWAP_DEBUGFS "/pool_total_size"),
	};
}

static void print_counts(const char *when, const struct counts *counts)
{
	ksft_print_msg("%s: %ld KiB in swap, %ld pages in zswap (%ld KiB by meminfo), whose pool has %ld KiB\n",
		       when, counts->swap_used, counts->stored,
		       counts->stored_by_cgroups, counts->pool / 1024);
}

/* Where the image goes, as the kernel's "resume" parameter says it. */
static void set_resume_device(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	/* Looks for an image there, too, and finds none. */
	guest_write("/sys/power/resume", "%u:%u", major(status.st_rdev),
		    minor(status.st_rdev));
}

/*
 * Off, on again and back here: 0; or a negative errno, when the machine was not off.
 * Image of @size bytes at most, if that can be had.
 */
static int hibernate(unsigned long size)
{
	guest_write("/sys/power/image_size", "%lu", size);
	guest_write("/sys/power/disk", "shutdown");
	return guest_try_write("/sys/power/state", "disk");
}

/* One result, and the contents'. */
static void test_refused(const char *what, int want)
{
	struct counts before, after;
	size_t wrong = 0;
	int err;

	before = count();
	err = hibernate(ANY_SIZE);
	after = count();
	for (int region = 0; region < NR_REGIONS; region++)
		if (region_mem[region])
			wrong += count_wrong(region);
	ksft_print_msg("%s: %s; %zu pages are wrong\n", what, strerror(-err),
		       wrong);
	if (memcmp(&before, &after, sizeof(before))) {
		print_counts("before", &before);
		print_counts("after", &after);
	}
	ksft_test_result(err == want && !wrong, "%s is refused\n", what);
	ksft_test_result(!memcmp(&before, &after, sizeof(before)),
			 "%s: nothing has changed\n", what);
}

static void make_swap_file(void)
{
	char command[PATH_MAX + 64];
	int fd;

	snprintf(command, sizeof(command), "mke2fs -q -F -t ext4 %s 512m", disk);
	if (system(command))
		ksft_exit_fail_msg("%s failed\n", command);
	if (mkdir(MOUNT_POINT, 0700) ||
	    mount(disk, MOUNT_POINT, "ext4", 0, NULL))
		ksft_exit_fail_msg("mount %s: %s\n", disk, strerror(errno));
	fd = open(SWAP_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, 256 * GUEST_MIB))
		ksft_exit_fail_msg(SWAP_FILE ": %s\n", strerror(errno));
	close(fd);
	guest_mkswap(SWAP_FILE, 256 * GUEST_MIB);
	guest_swapon(SWAP_FILE);
}

static void test_wrong_use(void)
{
	char zram[PATH_MAX];

	region_mem[RESIDENT] = guest_map(REGION_SIZE);
	guest_fill(region_mem[RESIDENT], REGION_SIZE, RESIDENT + 1);
	set_resume_device(disk);
	guest_swapoff(disk);
	test_refused("no swap", -ENODEV);

	if (!guest_zram_add(ZRAM_SIZE, zram, sizeof(zram)))
		ksft_exit_fail_msg("no zram\n");
	guest_mkswap(zram, ZRAM_SIZE);
	guest_swapon(zram);
	test_refused("swap on another device", -ENODEV);
	guest_swapoff(zram);

	guest_mkswap(disk, SMALL_SIZE);
	guest_swapon(disk);
	test_refused("a small swap area", -ENOSPC);
	guest_swapoff(disk);

	make_swap_file();
	test_refused("a swap file", -ENODEV);
	guest_swapoff(SWAP_FILE);
	if (umount(MOUNT_POINT))
		ksft_exit_fail_msg("umount: %s\n", strerror(errno));
	munmap(region_mem[RESIDENT], REGION_SIZE);
	region_mem[RESIDENT] = NULL;
}

/* Two results, and one for each region. */
static void test_hibernate(const char *when, unsigned long size)
{
	struct counts before, after;
	int err;

	before = count();
	err = hibernate(size);
	if (err)
		ksft_exit_fail_msg("cannot hibernate: %s\n", strerror(-err));
	after = count();
	print_counts("before", &before);
	print_counts("after", &after);
	/* To make the image smaller, more was swapped out. */
	if (size)
		ksft_test_result(!memcmp(&before, &after, sizeof(before)),
				 "%s: statistics\n", when);
	else
		ksft_test_result(after.swap_used > before.swap_used,
				 "%s: more is swapped out\n", when);
	test_contents(when);

	/* The slots of the image are taken, among others. */
	for (int region = 0; region < NR_REGIONS; region++)
		if (region != RESIDENT)
			page_out(region);
	after = count();
	print_counts("swapped out again", &after);
	ksft_test_result(after.swap_used * 1024 >= (long)(4 * REGION_SIZE) &&
			 after.stored > 0, "%s: swapped out again\n", when);
}

int main(void)
{
	struct counts left;
	struct stat status;

	guest_start();
	if (stat("/sys/power/disk", &status))
		ksft_exit_skip("this kernel cannot hibernate\n");
	guest_zswap_enable("lz4");
	if (!guest_thp_size_exists(BLOCK_KIB))
		ksft_exit_skip("no folios of %d KiB\n", BLOCK_KIB);
	guest_take_disk(disk, sizeof(disk));
	if (stat(disk, &status))
		ksft_exit_fail_msg("%s: %s\n", disk, strerror(errno));
	guest_swapon(disk);
	ksft_set_plan(4 * 2 + 2 * (2 + NR_REGIONS) + NR_REGIONS + 1);

	test_wrong_use();

	guest_mkswap(disk, 1024 * GUEST_MIB);
	guest_swapon(disk);
	for (int region = 0; region < NR_REGIONS; region++)
		fill(region);
	guest_write(ZSWAP_PARAM "enabled", "1");
	test_hibernate("resumed", ANY_SIZE);
	test_hibernate("resumed from a small image", 0);
	test_contents("at last");

	/* A page of another process may be there. */
	for (int region = 0; region < NR_REGIONS; region++)
		munmap(region_mem[region], REGION_SIZE);
	guest_swapoff(disk);
	left = count();
	print_counts("at last", &left);
	ksft_test_result(!left.stored && !left.swap_used,
			 "nothing is left in swap\n");
	ksft_finished();
}
