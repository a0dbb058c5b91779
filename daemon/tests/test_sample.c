// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cgtree.h, sample.h and psi.h on a tree of plain files, with the kernel's
 * answers put in between: what a machine reports in its odd moments.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zfolio/psi.h>

#include "../zfoliod/sample.h"

#include "tree.h"

#define CG "sys/fs/cgroup"

/* ---- system calls ---- */

int __real_openat(int fd, const char *name, int flags, ...);
ssize_t __real_write(int fd, const void *buffer, size_t bytes);

/* Opening a file of this name fails. */
static const char *refused_name;
static int refused_error;
static int calls_open;
static char written[128];
static ssize_t written_len;

int __wrap_openat(int fd, const char *name, int flags, ...)
{
	calls_open++;
	if (refused_name && !strcmp(name, refused_name)) {
		errno = refused_error;
		return -1;
	}
	return __real_openat(fd, name, flags);
}

ssize_t __wrap_write(int fd, const void *buffer, size_t bytes)
{
	written_len = bytes;
	memcpy(written, buffer, bytes < sizeof(written) ? bytes : 0);
	return __real_write(fd, buffer, bytes);
}

/* A plain directory may not take the attribute: the name says it here. */
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	char link[32], dir[512];
	ssize_t len;

	(void)size;
	assert_string_equal(name, "user.delegate");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, dir, sizeof(dir) - 1);
	assert_true(len > 0);
	dir[len] = '\0';
	if (!strstr(strrchr(dir, '/'), "delegated")) {
		errno = ENODATA;
		return -1;
	}
	*(char *)value = '1';
	return 1;
}

/* ---- fixtures ---- */

static struct config *config;
static struct zf_path *cgroup_root;
static struct cgtree *cgtree;
static struct sampler *sampler;
static const struct tick *tick;

static void make_cgroup(const struct tree *t, const char *path)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{ "memory.stat",
		  "anon 4096\nzswap 1048576\nzswapped 4194304\n"
		  "pgmajfault 7\nworkingset_refault_anon 6\npswpin 10\n"
		  "pswpout 20\nzswpin 30\nzswpout 40\nzswpwb 5\n" },
		{ "memory.current", "8388608\n" },
		{ "memory.swap.current", "16777216\n" },
		{ "memory.zswap.max", "max\n" },
		{ "memory.zswap.writeback", "1\n" },
		{ "memory.pressure",
		  "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
		  "full avg10=0.00 avg60=0.00 avg300=0.00 total=900\n" },
		{ "io.pressure",
		  "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000\n" },
		{ "io.stat",
		  "7:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n"
		  "259:0 rbytes=4096 wbytes=1048576 rios=1 wios=8 dbytes=0 dios=0\n" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char name[1024];

		snprintf(name, sizeof(name), CG "/%s/%s", path, files[i].file);
		tree_write(t, name, files[i].text);
	}
}

static void write_file(const struct tree *t, const char *path,
		       const char *file, const char *text)
{
	char name[1024];

	snprintf(name, sizeof(name), CG "/%s/%s", path, file);
	tree_write(t, name, text);
}

static void remove_dir(const struct tree *t, const char *path)
{
	_cleanup_free_ char *whole = tree_name(t, path);

	nftw(whole, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int setup(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct tree *t = *state;

	remove_dir(t, "sys");
	remove_dir(t, "proc");
	refused_name = NULL;
	tree_write(t, CG "/cgroup.controllers", "cpu io memory\n");
	tree_write(t, "proc/meminfo",
		   "MemTotal:        1048576 kB\nZswap:              2048 kB\n"
		   "Zswapped:           8192 kB\n");
	tree_write(t, "proc/vmstat", "pswpin 1\npswpout 100\n");
	tree_write(t, "proc/swaps",
		   "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
		   "/dev/nvme0n1p2                          partition\t4194300\t\t1024\t\t-2\n");
	tree_write(t, "sys/class/block/nvme0n1/dev", "259:0\n");
	tree_write(t, "sys/class/block/nvme0n1/nvme0n1p2/partition", "2\n");
	tree_write(t, "sys/class/block/nvme0n1/nvme0n1p2/stat",
		   "    1 0 8 0 10 0 80 0 0 0 0 0 0 0 0 0 0\n");
	{
		_cleanup_free_ char *link =
			tree_name(t, "sys/class/block/nvme0n1p2");

		assert_int_equal(symlink("nvme0n1/nvme0n1p2", link), 0);
	}
	tree_write(t, "sys/module/zswap/parameters/max_pool_percent", "20\n");
	tree_write(t, "sys/kernel/mm/transparent_hugepage/enabled",
		   "always [madvise] never\n");
	tree_write(t, "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
		   "always [inherit] madvise never\n");
	tree_write(t, "sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled",
		   "[always] inherit madvise never\n");
	tree_write(t, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
		   "2097152\n");
	tree_write(t, "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
		   "[always] inherit madvise never\n");
	tree_write(t, "sys/kernel/mm/transparent_hugepage/hugepages-32kB/enabled",
		   "always inherit madvise [never]\n");
	assert_int_equal(config_load(t->path, &config, &error), 0);
	assert_int_equal(zf_path_open_at(t->path, CG, &cgroup_root), 0);
	assert_int_equal(cgtree_new(cgroup_root, config, &cgtree), 0);
	assert_int_equal(sampler_new(t->path, &sampler), 0);
	sampler_set_knobs(sampler, KNOB_BIT(NR_KNOBS) - 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sampler_free(sampler);
	cgtree_free(cgtree);
	zf_path_free(cgroup_root);
	config_free(config);
	return 0;
}

static void rescan(void)
{
	assert_int_equal(cgtree_rescan(cgtree), 0);
}

static void look(uint64_t elapsed)
{
	assert_int_equal(sampler_tick(sampler, cgtree, config, elapsed, &tick),
			 0);
}

static struct node *node_of(const char *path)
{
	struct node *const *nodes;
	size_t nr;

	nodes = cgtree_nodes(cgtree, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(nodes[i]->path, path))
			return nodes[i];
	}
	return NULL;
}

/* ---- the tree ---- */

static void test_units_are_the_ends_of_the_tree(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a.slice");
	make_cgroup(t, "a.slice/one.service");
	make_cgroup(t, "a.slice/two\\x2dx:y z.service");
	/* The memory controller does not go further down here. */
	tree_write(t, CG "/a.slice/one.service/inner/cgroup.procs", "");
	make_cgroup(t, "a.slice/delegated.service");
	make_cgroup(t, "a.slice/delegated.service/inner");
	rescan();
	assert_false(node_of("a.slice")->is_unit);
	assert_true(node_of("a.slice/one.service")->is_unit);
	assert_true(node_of("a.slice/two\\x2dx:y z.service")->is_unit);
	assert_true(node_of("a.slice/delegated.service")->is_unit);
	assert_null(node_of("a.slice/delegated.service/inner"));
	assert_null(node_of("a.slice/one.service/inner"));
	assert_int_equal(node_of("a.slice")->has,
			 KNOB_BIT(KNOB_WRITEBACK) | KNOB_BIT(KNOB_ZSWAP_MAX));
	look(0);
	assert_int_equal(tick->nr_cgroups, 3);
}

static void test_subtree_is_one_unit(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *other = NULL;
	_cleanup_free_ char *name = tree_name(t, "other.conf");
	_cleanup_free_ char *error = NULL;

	make_cgroup(t, "pod");
	make_cgroup(t, "pod/container");
	rescan();
	assert_false(node_of("pod")->is_unit);
	tree_write(t, "other.conf", "[cgroup pod]\nsubtree = yes\n");
	assert_int_equal(config_load_file(name, &other, &error), 0);
	cgtree_set_config(cgtree, other);
	rescan();
	assert_true(node_of("pod")->is_unit);
	assert_null(node_of("pod/container"));
	cgtree_set_config(cgtree, config);
}

static void test_nodes_come_stay_and_go(void **state)
{
	const struct tree *t = *state;
	struct node *a, *b;
	uint64_t id;

	make_cgroup(t, "a");
	make_cgroup(t, "b");
	rescan();
	a = node_of("a");
	b = node_of("b");
	id = b->id;
	assert_ptr_equal(cgtree_find(cgtree, id), b);
	remove_dir(t, CG "/b");
	make_cgroup(t, "c");
	rescan();
	assert_ptr_equal(node_of("a"), a);
	assert_null(node_of("b"));
	assert_non_null(node_of("c"));
	assert_null(cgtree_find(cgtree, 1));
}

static void test_out_of_descriptors_keeps_the_tree(void **state)
{
	const struct tree *t = *state;
	struct node *a;

	make_cgroup(t, "a");
	rescan();
	a = node_of("a");
	make_cgroup(t, "b");
	make_cgroup(t, "c");
	refused_name = "c";
	refused_error = EMFILE;
	assert_int_equal(cgtree_rescan(cgtree), -EMFILE);
	assert_ptr_equal(node_of("a"), a);
	assert_null(node_of("b"));
	/* One that we may not enter is left out. */
	refused_error = EACCES;
	rescan();
	assert_non_null(node_of("b"));
	assert_null(node_of("c"));
}

static void test_long_names(void **state)
{
	const struct tree *t = *state;
	char name[256];

	memset(name, 'n', 255);
	name[255] = '\0';
	make_cgroup(t, name);
	rescan();
	assert_true(node_of(name)->is_unit);
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
}

static void test_a_thousand_cgroups(void **state)
{
	const struct tree *t = *state;

	for (int i = 0; i < 1000; i++) {
		char path[64];

		snprintf(path, sizeof(path), "s/c%d", i);
		write_file(t, path, "memory.stat", "zswap 0\n");
		write_file(t, path, "memory.swap.current", "0\n");
	}
	write_file(t, "s", "memory.stat", "zswap 0\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 0);
	/* Nothing in swap: no file but the system's and the slice's. */
	calls_open = 0;
	look(2000000);
	assert_in_range(calls_open, 1, 20);
	/* And a walk opens directories, but no known cgroup again. */
	calls_open = 0;
	rescan();
	assert_in_range(calls_open, 0, 1010);
}

static void test_nothing_in_swap_above_is_nothing_below(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	make_cgroup(t, "a/b");
	write_file(t, "a", "memory.swap.current", "0\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 0);
	write_file(t, "a", "memory.swap.current", "4096\n");
	look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_true(tick->cgroups[0].fresh);
}

static void test_one_that_begins_to_swap_is_seen(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	write_file(t, "a", "memory.swap.current", "0\n");
	rescan();
	for (int i = 0; i < 5; i++) {
		look(i);
		assert_int_equal(tick->nr_cgroups, 0);
	}
	write_file(t, "a", "memory.swap.current", "4096\n");
	look(1);
	if (!tick->nr_cgroups)
		look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_true(tick->cgroups[0].fresh);
	look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_false(tick->cgroups[0].fresh);
}

static size_t nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static void test_no_descriptor_is_leaked(void **state)
{
	const struct tree *t = *state;
	size_t before = 0;

	for (int i = 0; i < 300; i++) {
		make_cgroup(t, i % 2 ? "a" : "b");
		remove_dir(t, i % 2 ? CG "/b" : CG "/a");
		/* Gone between the walk and the look, each third time. */
		rescan();
		if (i % 3 == 0)
			remove_dir(t, i % 2 ? CG "/a" : CG "/b");
		look(1);
		if (i == 10)
			before = nr_descriptors();
	}
	rescan();
	assert_in_range(nr_descriptors(), before - 4, before + 4);
}

/* ---- a tick ---- */

static void test_first_look_is_fresh_then_deltas(void **state)
{
	const struct tree *t = *state;
	const struct cgroup_sample *s;

	make_cgroup(t, "a");
	rescan();
	sampler_look_around(sampler);
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	s = &tick->cgroups[0];
	assert_true(s->fresh && s->has_pswpin);
	assert_int_equal(s->of[FIELD_ZSWPIN], 0);
	assert_int_equal(s->of[FIELD_ZSWAP], 1048576);
	assert_int_equal(s->of[FIELD_ZSWAPPED], 4194304);
	assert_int_equal(s->of[FIELD_SWAP], 16777216);
	assert_int_equal(s->of[FIELD_CURRENT], 8388608);
	assert_true(s->of[FIELD_ZSWAP_MAX] == UINT64_MAX);
	assert_true(s->of[FIELD_SWAPIN_MAX] == UINT64_MAX);
	assert_int_equal(s->of[FIELD_WRITEBACK], 1);
	assert_string_equal(s->path, "a");

	write_file(t, "a", "memory.stat",
		   "zswap 1\nzswapped 2\npswpin 13\npswpout 25\nzswpin 37\n"
		   "zswpout 51\nzswpwb 5\npgmajfault 8\nworkingset_refault_anon 9\n");
	write_file(t, "a", "memory.pressure",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n");
	write_file(t, "a", "io.stat",
		   "259:0 rbytes=4096 wbytes=2097152 rios=1 wios=10 dbytes=0 dios=0\n");
	look(2000000);
	s = &tick->cgroups[0];
	assert_false(s->fresh);
	assert_int_equal(s->of[FIELD_PSWPIN], 3);
	assert_int_equal(s->of[FIELD_PSWPOUT], 5);
	assert_int_equal(s->of[FIELD_ZSWPIN], 7);
	assert_int_equal(s->of[FIELD_ZSWPOUT], 11);
	assert_int_equal(s->of[FIELD_ZSWPWB], 0);
	assert_int_equal(s->of[FIELD_PGMAJFAULT], 1);
	assert_int_equal(s->of[FIELD_REFAULT_ANON], 3);
	assert_int_equal(s->of[FIELD_MEMORY_STALL], 500000);
	assert_int_equal(s->of[FIELD_IO_STALL], 0);
	assert_int_equal(s->of[FIELD_WBYTES], 1048576);
	assert_int_equal(s->of[FIELD_WIOS], 2);
	assert_int_equal(tick->elapsed, 2000000);
}

static void test_system_and_devices(void **state)
{
	const struct tree *t = *state;

	sampler_look_around(sampler);
	look(0);
	assert_int_equal(tick->pool, 2 << 20);
	assert_in_range(tick->pool_limit, (1 << 30) / 5 - 1, (1 << 30) / 5);
	assert_int_equal(tick->sizes, 1 << 4 | 1 << 8);
	assert_int_equal(tick->nr_devices, 1);
	assert_string_equal(tick->devices[0].name, "nvme0n1p2");
	assert_int_equal(tick->devices[0].size, 4194300ULL << 10);
	assert_int_equal(tick->devices[0].used, 1 << 20);
	assert_int_equal(tick->devices[0].priority, -2);
	assert_int_equal(tick->devices[0].written, 0);
	tree_write(t, "sys/class/block/nvme0n1/nvme0n1p2/stat",
		   "    1 0 8 0 10 0 90 0 0 0 0 0 0 0 0 0 0\n");
	look(1);
	assert_int_equal(tick->devices[0].written, 5120);

	/* swapoff; then a file, of which only the system's count is known. */
	tree_write(t, "proc/swaps", "Filename Type Size Used Priority\n");
	look(1);
	assert_int_equal(tick->nr_devices, 0);
	tree_write(t, "proc/swaps",
		   "Filename Type Size Used Priority\n/swap\\040file file 8 4 5\n");
	tree_write(t, "proc/vmstat", "pswpout 103\n");
	look(1);
	assert_int_equal(tick->nr_devices, 1);
	assert_string_equal(tick->devices[0].name, "/swap\\040file");
	assert_int_equal(tick->devices[0].written,
			 3 * sysconf(_SC_PAGESIZE));
	/* zswap's module not loaded: the limit is not known. */
	remove_dir(t, "sys/module");
	sampler_look_around(sampler);
	look(1);
	assert_int_equal(tick->pool_limit, 0);
}

static void test_refused_stores_from_debugfs(void **state)
{
	const struct tree *t = *state;

	tree_write(t, "sys/kernel/debug/zswap/pool_limit_hit", "5\n");
	look(1);
	assert_int_equal(tick->rejected, 0);
	tree_write(t, "sys/kernel/debug/zswap/pool_limit_hit", "7\n");
	tree_write(t, "sys/kernel/debug/zswap/reject_alloc_fail", "1\n");
	look(1);
	assert_int_equal(tick->rejected, 3);
}

static void test_counters_that_go_backwards(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	rescan();
	look(0);
	write_file(t, "a", "memory.stat", "pswpin 1\nzswpin 0\n");
	tree_write(t, "proc/vmstat", "pswpout 1\n");
	look(1);
	assert_int_equal(tick->cgroups[0].of[FIELD_PSWPIN], 0);
	assert_int_equal(tick->cgroups[0].of[FIELD_ZSWPIN], 0);
	assert_false(tick->cgroups[0].fresh);
}

static void test_removed_while_it_is_read(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	make_cgroup(t, "b");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 2);
	remove_dir(t, CG "/a");
	look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_string_equal(tick->cgroups[0].path, "b");
	refused_name = "memory.current";
	refused_error = ENODEV;
	look(1);
	assert_int_equal(tick->nr_cgroups, 0);
	/* Out of descriptors is the daemon's own trouble. */
	refused_error = EMFILE;
	assert_int_equal(sampler_tick(sampler, cgtree, config, 1, &tick),
			 -EMFILE);
}

static void test_recreated_path_is_fresh(void **state)
{
	const struct tree *t = *state;
	uint64_t id;

	make_cgroup(t, "a");
	rescan();
	look(0);
	look(1);
	id = tick->cgroups[0].id;
	assert_false(tick->cgroups[0].fresh);
	/* Made before the old one is removed, so that it is another inode. */
	make_cgroup(t, "new");
	remove_dir(t, CG "/a");
	make_cgroup(t, "a");
	rescan();
	look(1);
	for (size_t i = 0; i < tick->nr_cgroups; i++) {
		assert_true(tick->cgroups[i].fresh ||
			    tick->cgroups[i].id == id);
	}
}

static void test_psi_is_off(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	write_file(t, "a", "io.pressure", "");
	rescan();
	refused_name = "memory.pressure";
	refused_error = EOPNOTSUPP;
	look(0);
	look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_int_equal(tick->cgroups[0].of[FIELD_MEMORY_STALL], 0);
	assert_int_equal(tick->cgroups[0].of[FIELD_IO_STALL], 0);
}

static void test_values_near_the_ends(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	write_file(t, "a", "memory.zswap.max", "9223372036854771712\n");
	write_file(t, "a", "memory.swap.current", "18446744073709551615\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_true(tick->cgroups[0].of[FIELD_ZSWAP_MAX] ==
		    9223372036854771712ULL);
	/* What is no number leaves the cgroup out. */
	write_file(t, "a", "memory.zswap.max", "99999999999999999999999\n");
	look(1);
	assert_int_equal(tick->nr_cgroups, 0);
}

static void test_writeback_is_hierarchical(void **state)
{
	const struct tree *t = *state;

	make_cgroup(t, "a");
	make_cgroup(t, "a/b");
	write_file(t, "a", "memory.zswap.writeback", "0\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_int_equal(tick->cgroups[0].of[FIELD_WRITEBACK], 1);
	assert_int_equal(tick->cgroups[0].of[FIELD_WRITEBACK_HERE], 0);
}

static void test_stock_kernel_has_fewer_files(void **state)
{
	const struct tree *t = *state;

	write_file(t, "a", "memory.stat", "zswap 5\nzswapped 6\n");
	write_file(t, "a", "memory.swap.current", "4096\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_int_equal(tick->cgroups[0].has, 0);
	assert_false(tick->cgroups[0].has_pswpin);
	assert_int_equal(tick->cgroups[0].of[FIELD_WRITEBACK_HERE], 1);
	assert_true(tick->cgroups[0].of[FIELD_ZSWAP_MAX] == UINT64_MAX);
}

/* ---- PSI ---- */

static void test_psi_text(void **state)
{
	uint64_t usec = 5;

	(void)state;
	assert_int_equal(zf_psi_parse("some avg10=1.00 avg60=2.00 avg300=0.33 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", &usec), 0);
	assert_int_equal(usec, 12345);
	assert_int_equal(zf_psi_parse("", &usec), -ENODATA);
	assert_int_equal(zf_psi_parse("full total=1\n", &usec), -EINVAL);
	assert_int_equal(zf_psi_parse("some avg10=1.00\nfull total=1\n", &usec),
			 -EINVAL);
	assert_int_equal(zf_psi_parse("some total=99999999999999999999\n",
				      &usec), -ERANGE);
	assert_int_equal(usec, 12345);
}

static void test_psi_trigger_ends_with_nul(void **state)
{
	const struct tree *t = *state;
	int fd;

	tree_write(t, "proc/pressure/memory", "");
	fd = zf_psi_trigger(t->path, "proc/pressure/memory", 150000, 1000000);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(written_len, strlen("some 150000 1000000") + 1);
	assert_string_equal(written, "some 150000 1000000");
	refused_name = "proc/pressure/memory";
	refused_error = EOPNOTSUPP;
	fd = zf_psi_trigger(t->path, "proc/pressure/memory", 1, 1);
	assert_true(zf_psi_is_off(fd));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_units_are_the_ends_of_the_tree),
		T(test_subtree_is_one_unit),
		T(test_nodes_come_stay_and_go),
		T(test_out_of_descriptors_keeps_the_tree),
		T(test_long_names),
		T(test_a_thousand_cgroups),
		T(test_nothing_in_swap_above_is_nothing_below),
		T(test_one_that_begins_to_swap_is_seen),
		T(test_no_descriptor_is_leaked),
		T(test_first_look_is_fresh_then_deltas),
		T(test_system_and_devices),
		T(test_refused_stores_from_debugfs),
		T(test_counters_that_go_backwards),
		T(test_removed_while_it_is_read),
		T(test_recreated_path_is_fresh),
		T(test_psi_is_off),
		T(test_values_near_the_ends),
		T(test_writeback_is_hierarchical),
		T(test_stock_kernel_has_fewer_files),
		T(test_psi_text),
		T(test_psi_trigger_ends_with_nul),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
