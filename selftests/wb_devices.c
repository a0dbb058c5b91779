// SPDX-License-Identifier: GPL-2.0-only
/*
 * wb_devices: write-back under memory pressure, on every kind of swap device.
 *
 * Write-back collects pages for one request, and needs memory for the next of them
 * meanwhile. A page that waits to be submitted must not be waited for by whoever
 * makes room, or nothing goes on. How pages get to the device is different for each
 * kind: a disk with a queue; zram and a RAM disk, which are done at once; a swap file
 * on ext4; and a loop device, whose own memory has to be had on the way.
 *
 * On each of them two children, in a group with less than half of the memory that
 * they need, fill it and go on at random, with a compressed pool that is full all the
 * time, while the parent asks for more to be written back, squeezes the group and has
 * the kernel's own reclaim at work. They have to come to their end, and every page
 * has to have what was last written to it.
 */
#define _GNU_SOURCE
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "guest_cgroup.h"

#define GROUP		"wb_devices"
#define DIRECTORY	"/tmp/wb_devices"
#define SWAP_FILE	DIRECTORY "/swap"
#define DEVICE_SIZE	(96 * GUEST_MIB)
#define REGION_SIZE	(8 * GUEST_MIB)
#define NR_CHILDREN	2
#define MEMORY_MAX	(8 * GUEST_MIB)
#define ZSWAP_MAX	(GUEST_MIB)
#define NR_TOUCHES	(2 * REGION_SIZE / page_size)
/* The parent looks after them as long as they need, and this at most. */
#define MAX_SECONDS	120

struct child {
	uint32_t seed;
	size_t wrong;
};

static int child_body(void *arg)
{
	size_t nr_pages = REGION_SIZE / page_size;
	struct child *child = arg;
	char *region = guest_map(REGION_SIZE);
	uint32_t *seeds = calloc(nr_pages, sizeof(*seeds));
	uint64_t x = child->seed;

	for (size_t page = 0; page < nr_pages; page++) {
		seeds[page] = child->seed;
		guest_page((uint64_t *)(region + page * page_size), seeds[page],
			   page);
	}
	for (size_t i = 0; i < NR_TOUCHES; i++) {
		size_t page;
		char *at;

		x = guest_random(x);
		page = x % nr_pages;
		at = region + page * page_size;
		child->wrong += guest_page_wrong(at, seeds[page], page);
		if (x >> 62)
			continue;
		guest_page((uint64_t *)at, ++seeds[page], page);
	}
	for (size_t page = 0; page < nr_pages; page++)
		child->wrong += guest_page_wrong(region + page * page_size,
						 seeds[page], page);
	return 0;
}

/* Of what is done here much fails, as it is meant to be too much. */
static void press(unsigned int turn)
{
	char path[PATH_MAX];

	guest_cgroup_path(path, sizeof(path), GROUP, "memory.reclaim");
	if (turn % 2)
		guest_try_write(path, "1M source=zswap");
	else
		guest_try_write(path, "2M swappiness=max");
	guest_cgroup_path(path, sizeof(path), GROUP, "memory.max");
	guest_try_write(path, "%lu", turn % 4 ? MEMORY_MAX : MEMORY_MAX * 3 / 4);
	guest_write(ZSWAP_PARAM "shrinker_enabled", "%u", turn / 2 % 2);
}

static void test_device(const char *name, const char *device)
{
	struct child *children[NR_CHILDREN];
	unsigned int running = NR_CHILDREN, turn = 0, failed = 0;
	long written = guest_vmstat("zswpwb");
	pid_t pids[NR_CHILDREN];
	size_t wrong = 0;

	guest_swapon(device);
	guest_cgroup_create(GROUP);
	guest_cgroup_write(GROUP, "memory.max", "%lu", MEMORY_MAX);
	guest_cgroup_write(GROUP, "memory.zswap.max", "%lu", ZSWAP_MAX);
	for (uint32_t i = 0; i < NR_CHILDREN; i++) {
		children[i] = guest_share(sizeof(**children));
		children[i]->seed = 1000 * (i + 1);
		pids[i] = guest_cgroup_spawn(GROUP, child_body, children[i]);
	}
	while (running && turn < MAX_SECONDS * 100) {
		int status;

		if (waitpid(-1, &status, WNOHANG) > 0) {
			running--;
			failed += !guest_child_exited_well(status);
			continue;
		}
		press(turn++);
		usleep(10000);
	}
	for (int i = 0; i < NR_CHILDREN; i++) {
		if (running)
			guest_child_kill(pids[i]);
		wrong += children[i]->wrong;
		munmap(children[i], sizeof(**children));
	}
	written = guest_vmstat("zswpwb") - written;
	ksft_print_msg("%s: %ld pages written back, %u turns, %u did not end, %u failed, %zu pages wrong\n",
		       name, written, turn, running, failed, wrong);
	ksft_test_result(!running && !failed, "%s: comes to its end\n", name);
	ksft_test_result(!wrong, "%s: contents\n", name);
	ksft_test_result(written > (long)(REGION_SIZE / page_size),
			 "%s: pages are written back\n", name);
	guest_write(ZSWAP_PARAM "shrinker_enabled", "0");
	guest_cgroup_remove(GROUP);
	guest_swapoff(device);
}

static void make_file_system(const char *device)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "mke2fs -q -F -t ext4 %s 512m", device);
	if (system(command))
		ksft_exit_fail_msg("%s failed\n", command);
	if (mkdir(DIRECTORY, 0700) ||
	    mount(device, DIRECTORY, "ext4", 0, NULL))
		ksft_exit_fail_msg("%s: %s\n", DIRECTORY, strerror(errno));
}

/* Written, as a swap file can't have holes. */
static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	char zeroes[65536] = "";

	if (fd < 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	for (size_t at = 0; at < DEVICE_SIZE; at += sizeof(zeroes))
		if (write(fd, zeroes, sizeof(zeroes)) != sizeof(zeroes))
			ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	fsync(fd);
	close(fd);
}

/* A loop device over @path. */
static void make_loop(const char *path, char *device, size_t len)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int file = open(path, O_RDWR | O_CLOEXEC), loop, nr;

	if (control < 0 || file < 0)
		ksft_exit_fail_msg("/dev/loop-control, %s: %s\n", path,
				   strerror(errno));
	nr = ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(device, len, "/dev/loop%d", nr);
	loop = open(device, O_RDWR | O_CLOEXEC);
	if (nr < 0 || loop < 0 || ioctl(loop, LOOP_SET_FD, file))
		ksft_exit_fail_msg("%s: %s\n", device, strerror(errno));
	close(loop);
	close(file);
	close(control);
}

int main(void)
{
	char disk[PATH_MAX], zram[PATH_MAX], loop[PATH_MAX];

	guest_start();
	guest_zswap_enable("lz4");
	guest_thp_only(0);
	guest_take_disk(disk, sizeof(disk));
	if (!guest_zram_add(DEVICE_SIZE, zram, sizeof(zram)))
		ksft_exit_fail_msg("no zram\n");

	ksft_set_plan(5 * 3);
	guest_mkswap(disk, DEVICE_SIZE);
	test_device("disk", disk);
	guest_mkswap(zram, DEVICE_SIZE);
	test_device("zram", zram);
	/* As large as the kernel has made it, and the swap on it no larger. */
	guest_mkswap("/dev/ram0", DEVICE_SIZE);
	test_device("RAM disk", "/dev/ram0");

	make_file_system(disk);
	make_file(SWAP_FILE);
	guest_mkswap(SWAP_FILE, DEVICE_SIZE);
	test_device("swap file", SWAP_FILE);
	make_loop(SWAP_FILE, loop, sizeof(loop));
	test_device("loop device", loop);
	ksft_finished();
}
