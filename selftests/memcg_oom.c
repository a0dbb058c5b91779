// SPDX-License-Identifier: GPL-2.0-only
/*
 * memcg_oom: a group whose memory zswap has compressed can still swap to disk.
 *
 * The compressed pages count towards the group's memory.max. When nothing writes
 * them back they fill the limit, and a task is killed for want of memory while
 * the swap device is nearly empty: with zswap's shrinker off nobody asks for it,
 * with the shrinker on a scan that found only entries with their second chance
 * left must not count as "nothing to be had here".
 *
 * A child goes twice through memory of three times its group's limit, half of
 * which compresses, and checks every page the second time. It must come to the
 * end without zswap, with it, and with its shrinker on, and also when the limit is
 * that of a parent, or when the memory is a file's in tmpfs. How fast the disk is
 * plays no part: every few pages the child rests until it is idle.
 *
 * Where memory.zswap.writeback is 0, also in a parent, none of the group's pages
 * may reach the disk, be it that the child is killed. It must not wait for ever
 * either.
 *
 * --only-zswap leaves out the case without zswap, for kernels that kill there too.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

#define GROUP		"memcg_oom"
#define CHILD		GROUP "/child"

#define GROUP_LIMIT	(4 * GUEST_MIB)
#define REGION_SIZE	(3 * GROUP_LIMIT)
#define NR_PASSES	2
#define REST_PAGES	32

struct writer {
	bool tmpfs;
	bool rests;
	/* What it has done. */
	long pages;
	long wrong;
};

static char inflight_path[PATH_MAX];

static char *map_tmpfs(size_t size)
{
	int fd = memfd_create("memcg_oom", MFD_CLOEXEC);
	char *mem;

	if (fd < 0 || ftruncate(fd, size))
		return NULL;
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return mem == MAP_FAILED ? NULL : mem;
}

/* The parent ends it: what the child opened would be charged to its group. */
static void rest(struct writer *writer)
{
	__atomic_store_n(&writer->rests, true, __ATOMIC_RELAXED);
	while (__atomic_load_n(&writer->rests, __ATOMIC_RELAXED))
		usleep(50);
}

static int writer_body(void *arg)
{
	struct writer *writer = arg;
	char *mem = writer->tmpfs ? map_tmpfs(REGION_SIZE) :
				    guest_map(REGION_SIZE);

	if (!mem)
		return 2;
	for (int pass = 0; pass < NR_PASSES; pass++) {
		for (size_t off = 0; off < REGION_SIZE; off += page_size) {
			if (pass)
				writer->wrong += guest_page_wrong(mem + off,
						pass, off / page_size);
			guest_page((uint64_t *)(mem + off), pass + 1,
				   off / page_size);
			if (!(++writer->pages % REST_PAGES))
				rest(writer);
		}
	}
	return 0;
}

static bool disk_is_idle(void)
{
	FILE *file = fopen(inflight_path, "re");
	long reads, writes;
	bool idle;

	if (!file)
		ksft_exit_fail_msg("%s: %s\n", inflight_path, strerror(errno));
	idle = fscanf(file, "%ld %ld", &reads, &writes) == 2 && !reads &&
	       !writes;
	fclose(file);
	return idle;
}

/* Returns the child's wait status. */
static int wait_for_writer(pid_t pid, struct writer *writer)
{
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (__atomic_load_n(&writer->rests, __ATOMIC_RELAXED) &&
		    disk_is_idle())
			__atomic_store_n(&writer->rests, false,
					 __ATOMIC_RELAXED);
		usleep(50);
	}
	return status;
}

struct setting {
	const char *what;
	bool zswap;
	bool shrinker;
	bool tmpfs;
	/* Write-back is off in the parent. */
	bool kept_off_disk;
	const char *limited;
};

static const struct setting settings[] = {
	/* The first, since --only-zswap leaves it out. */
	{ "no zswap", .limited = CHILD },
	{ "zswap, shrinker off", .limited = CHILD, .zswap = true },
	{ "zswap, shrinker on", .limited = CHILD, .zswap = true,
	  .shrinker = true },
	{ "zswap, limit of the parent", .limited = GROUP, .zswap = true },
	{ "zswap, tmpfs", .limited = CHILD, .zswap = true, .tmpfs = true },
	{ "write-back off, shrinker off", .limited = CHILD, .zswap = true,
	  .kept_off_disk = true },
	{ "write-back off, shrinker on", .limited = CHILD, .zswap = true,
	  .shrinker = true, .kept_off_disk = true },
};

static void run(const struct setting *set)
{
	struct writer *writer = guest_share(sizeof(*writer));
	long pswpout, zswpwb, kills;
	int status;

	guest_write(ZSWAP_PARAM "enabled", "%d", set->zswap);
	guest_write(ZSWAP_PARAM "shrinker_enabled", "%d", set->shrinker);
	guest_cgroup_create_parent(GROUP);
	guest_cgroup_create(CHILD);
	guest_cgroup_write(set->limited, "memory.max", "%lu", GROUP_LIMIT);
	guest_cgroup_write(GROUP, "memory.zswap.writeback", "%d",
			   !set->kept_off_disk);

	writer->tmpfs = set->tmpfs;
	pswpout = guest_vmstat("pswpout");
	zswpwb = guest_vmstat("zswpwb");
	status = wait_for_writer(guest_cgroup_spawn(CHILD, writer_body, writer),
				 writer);
	pswpout = guest_vmstat("pswpout") - pswpout;
	zswpwb = guest_vmstat("zswpwb") - zswpwb;
	kills = guest_cgroup_key(GROUP, "memory.events", "oom_kill");

	ksft_print_msg("%s: %ld of %lu pages filled, %ld kills; %ld pages written to disk, of them %ld from zswap\n",
		       set->what, writer->pages,
		       NR_PASSES * REGION_SIZE / page_size, kills, pswpout,
		       zswpwb);
	if (set->kept_off_disk) {
		ksft_test_result(!pswpout && !zswpwb && !writer->wrong &&
				 (guest_child_exited_well(status) || kills),
				 "%s: no page of the group reaches the disk\n",
				 set->what);
	} else {
		ksft_test_result(guest_child_exited_well(status) && !kills &&
				 !writer->wrong,
				 "%s: comes to the end, contents\n", set->what);
	}
	guest_cgroup_remove(CHILD);
	guest_cgroup_remove(GROUP);
	munmap(writer, sizeof(*writer));
}

int main(int argc, char **argv)
{
	char disk[PATH_MAX];
	size_t first;

	guest_start();
	first = guest_option(argc, argv, "--only-zswap") ? 1 : 0;
	guest_run_on(0);
	if (access(ZSWAP_PARAM "enabled", W_OK))
		ksft_exit_skip("zswap is not configured\n");
	guest_write(ZSWAP_PARAM "compressor", "lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);
	guest_swapoff_all(disk, sizeof(disk));
	guest_swapon(disk);
	snprintf(inflight_path, sizeof(inflight_path),
		 "/sys/class/block/%s/inflight", strrchr(disk, '/') + 1);

	ksft_set_plan(ARRAY_SIZE(settings) - first);
	for (size_t i = first; i < ARRAY_SIZE(settings); i++)
		run(&settings[i]);
	ksft_finished();
}
