// SPDX-License-Identifier: GPL-2.0-only
/*
 * swapin_max: memory.zswap.swapin_max limits the folios that come back from zswap.
 *
 * The file takes sizes as memory.max does and rounds them down to one that a folio
 * can have, a page at least. A child in a group of its own then pages out a range,
 * has it brought back by a touch of each page, and the statistics of each folio
 * size must show the largest one that its limit, its parent's, and what is enabled
 * allow, and no other. Anonymous memory and a memfd; contents; and the limit of a
 * group that has swapped out does not hold for others.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

#define GROUP		"swapin_max"
#define CHILD		GROUP "/child"
#define REGION_SIZE	(4 * GUEST_MIB)
#define SEED		7

static const unsigned int sizes_kib[] = { 16, 64, 256, 1024 };
#define NR_SIZES	ARRAY_SIZE(sizes_kib)

/* @file is enabled, for anonymous memory, or shmem_enabled. */
static void enable_all_sizes(const char *file)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < NR_SIZES; i++) {
		snprintf(path, sizeof(path), THP_DIR "hugepages-%ukB/%s",
			 sizes_kib[i], file);
		guest_write(path, "always");
	}
}

/*
 * The file
 */

static const struct {
	const char *text;
	/* What is read then, or NULL when it is refused. */
	const char *value;
} values[] = {
	{ "max", "max" },
	{ "4096", "4096" },
	{ "4K", "4096" },
	{ "8191", "4096" },
	{ "8192", "8192" },
	{ "16K", "16384" },
	{ "65535", "32768" },
	{ "64K", "65536" },
	{ "1M", "1048576" },
	{ "1G", "2097152" },		/* more than a swap cluster */
	{ "4095", "4096" },
	{ "0", NULL },
	{ "-1", NULL },
	{ "64Q", NULL },
	{ " ", NULL },
};

static void test_file(void)
{
	char path[PATH_MAX], have[32] = "";
	int wrong = 0, r;

	guest_cgroup_path(path, sizeof(path), CHILD, "memory.zswap.swapin_max");
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		FILE *file;

		guest_write(path, "64K");
		r = guest_try_write(path, "%s", values[i].text);
		file = fopen(path, "r");
		if (!file || !fgets(have, sizeof(have), file))
			ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
		fclose(file);
		have[strcspn(have, "\n")] = '\0';
		if (!strcmp(have, values[i].value ?: "65536") &&
		    !!r == !values[i].value)
			continue;
		ksft_print_msg("'%s' gives %d and '%s'\n", values[i].text, r,
			       have);
		wrong++;
	}
	guest_write(path, "max");
	ksft_test_result(!wrong, "sizes are rounded down, others are refused\n");
}

/*
 * Swap-in
 */

struct load {
	bool is_file;
	/* What it has found. */
	size_t not_stored;
	size_t wrong;
};

static char *map_region(const struct load *load)
{
	char *mem = guest_map(REGION_SIZE);
	int fd;

	if (!load->is_file)
		return mem;
	fd = memfd_create("swapin_max", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, REGION_SIZE))
		return NULL;
	mem = mmap(mem, REGION_SIZE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	return mem == MAP_FAILED ? NULL : mem;
}

static int load_body(void *arg)
{
	struct load *load = arg;
	char *mem = map_region(load);
	long stored = guest_zswap_stored();

	if (!mem)
		return 1;
	guest_fill(mem, REGION_SIZE, SEED);
	guest_pageout(mem, REGION_SIZE);
	load->not_stored = REGION_SIZE / page_size -
			   (guest_zswap_stored() - stored);
	guest_child_pause();
	guest_touch(mem, REGION_SIZE);
	guest_child_pause();
	load->wrong = guest_count_wrong(mem, REGION_SIZE, SEED);
	return 0;
}

static const struct setting {
	const char *parent;	/* limits */
	const char *child;
	const char *group;	/* where the memory is */
	unsigned int kib;	/* the size that is to come back; 0: single pages */
} settings[] = {
	{ "max", "max", CHILD, 1024 },
	{ "max", "1M", CHILD, 1024 },
	{ "max", "256K", CHILD, 256 },
	{ "max", "128K", CHILD, 64 },	/* 128K is not enabled */
	{ "64K", "max", CHILD, 64 },
	{ "64K", "1M", CHILD, 64 },
	{ "1M", "16K", CHILD, 16 },
	{ "max", "4096", CHILD, 0 },
	{ "4096", "max", CHILD, 0 },
	{ "max", "4096", GROUP "/other", 1024 },
};

static void test_setting(const struct setting *set, bool is_file)
{
	struct load *load = guest_share(sizeof(*load));
	long before[NR_SIZES], folios;
	size_t nr_right = 0;
	int status;
	pid_t pid;

	load->is_file = is_file;
	guest_cgroup_write(GROUP, "memory.zswap.swapin_max", "%s", set->parent);
	guest_cgroup_write(CHILD, "memory.zswap.swapin_max", "%s", set->child);

	pid = guest_cgroup_spawn(set->group, load_body, load);
	guest_child_must_pause(guest_child_wait(pid), "paging out");
	if (load->not_stored)
		ksft_exit_fail_msg("%zu pages are not in zswap\n",
				   load->not_stored);
	for (size_t i = 0; i < NR_SIZES; i++)
		before[i] = guest_thp_stat(sizes_kib[i], "zswpin");
	guest_child_must_pause(guest_child_next(pid), "touching");
	for (size_t i = 0; i < NR_SIZES; i++) {
		folios = guest_thp_stat(sizes_kib[i], "zswpin") - before[i];
		if (folios == (sizes_kib[i] == set->kib ?
			       (long)(REGION_SIZE / 1024 / set->kib) : 0))
			nr_right++;
		else
			ksft_print_msg("%ld folios of %u KiB came back\n",
				       folios, sizes_kib[i]);
	}
	status = guest_child_next(pid);
	ksft_test_result(nr_right == NR_SIZES && !load->wrong &&
			 guest_child_exited_well(status),
			 "%s: parent %s, child %s, memory of %s: folios of %u KiB, contents\n",
			 is_file ? "memfd" : "anonymous", set->parent,
			 set->child, set->group, set->kib ?: 4);
	munmap(load, sizeof(*load));
}

int main(void)
{
	char path[PATH_MAX];

	guest_start();
	guest_run_on(0);
	guest_cgroup_create_parent(GROUP);
	guest_cgroup_create(CHILD);
	guest_cgroup_create(GROUP "/other");
	guest_cgroup_path(path, sizeof(path), CHILD, "memory.zswap.swapin_max");
	if (access(path, W_OK))
		ksft_exit_skip("the kernel has no memory.zswap.swapin_max\n");
	guest_zswap_enable("lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);
	enable_all_sizes("enabled");

	ksft_set_plan(1 + ARRAY_SIZE(settings) + (ARRAY_SIZE(settings) - 1));
	test_file();
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		test_setting(&settings[i], false);
	enable_all_sizes("shmem_enabled");
	/*
	 * A file's entry that is split leaves parts in sizes of its own, which
	 * come back as they are, enabled or not.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (strcmp(settings[i].child, "128K"))
			test_setting(&settings[i], true);
	ksft_finished();
}
