// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sample.h on a tree of plain files, with the kernel's answers put in between:
 * what a machine reports in its odd moments.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/sample.h"

#include "machine.h"

/* ---- system calls ---- */

int __real_openat(int fd, const char *name, int flags, ...);

/* Opening a file of this name fails. */
static const char *refused_name;
static int refused_error;
static int calls_open;

int __wrap_openat(int fd, const char *name, int flags, ...)
{
	calls_open++;
	if (refused_name && !strcmp(name, refused_name)) {
		errno = refused_error;
		return -1;
	}
	return __real_openat(fd, name, flags);
}

/* ---- fixtures ---- */

static struct config *config;
static struct zf_path *cgroup_root;
static struct cgtree *cgtree;
static struct sampler *sampler;
static const struct tick *tick;

static int setup(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct tree *t = *state;

	refused_name = NULL;
	machine_system(t);
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

/* ---- what a tick costs ---- */

static void test_long_names(void **state)
{
	const struct tree *t = *state;
	char name[256];

	memset(name, 'n', 255);
	name[255] = '\0';
	machine_cgroup(t, name);
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
}

static void test_a_thousand_cgroups(void **state)
{
	const struct tree *t = *state;

	for (int i = 0; i < 1000; i++) {
		char path[64];

		snprintf(path, sizeof(path), "s/c%d", i);
		machine_write(t, path, "memory.stat", "zswap 0\n");
		machine_write(t, path, "memory.swap.current", "0\n");
	}
	machine_write(t, "s", "memory.stat", "zswap 0\n");
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

	machine_cgroup(t, "a");
	machine_cgroup(t, "a/b");
	machine_write(t, "a", "memory.swap.current", "0\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 0);
	machine_write(t, "a", "memory.swap.current", "4096\n");
	look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_true(tick->cgroups[0].fresh);
}

static void test_one_that_begins_to_swap_is_seen(void **state)
{
	const struct tree *t = *state;

	machine_cgroup(t, "a");
	machine_write(t, "a", "memory.swap.current", "0\n");
	rescan();
	for (int i = 0; i < 5; i++) {
		look(i);
		assert_int_equal(tick->nr_cgroups, 0);
	}
	machine_write(t, "a", "memory.swap.current", "4096\n");
	/* Its turn comes in the fourth look at the latest, which its id decides. */
	for (int i = 0; i < 4 && !tick->nr_cgroups; i++)
		look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_true(tick->cgroups[0].fresh);
	look(1);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_false(tick->cgroups[0].fresh);
}

static void test_touched_ones_stay_in_ticks(void **state)
{
	const struct tree *t = *state;
	struct node *const *nodes;
	size_t nr;

	machine_cgroup(t, "a");
	rescan();
	nodes = cgtree_nodes(cgtree, &nr);
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	machine_write(t, "a", "memory.swap.current", "0\n");
	look(1);
	assert_int_equal(tick->nr_cgroups, 0);
	nodes[0]->touched = true;
	for (int i = 0; i < 4; i++) {
		look(1);
		assert_int_equal(tick->nr_cgroups, 1);
	}
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
		machine_cgroup(t, i % 2 ? "a" : "b");
		machine_remove(t, i % 2 ? CG "/b" : CG "/a");
		/* Gone between the walk and the look, each third time. */
		rescan();
		if (i % 3 == 0)
			machine_remove(t, i % 2 ? CG "/a" : CG "/b");
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

	machine_cgroup(t, "a");
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

	machine_write(t, "a", "memory.stat",
		   "zswap 1\nzswapped 2\npswpin 13\npswpout 25\nzswpin 37\n"
		   "zswpout 51\nzswpwb 5\npgmajfault 8\nworkingset_refault_anon 9\n");
	machine_write(t, "a", "memory.pressure",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n");
	machine_write(t, "a", "io.stat",
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
	assert_int_equal(tick->devices[0].written_before, 80 * 512);
	assert_true(tick->devices[0].uptime == 3600 * ZF_USEC_PER_SEC);
	tree_write(t, "sys/class/block/nvme0n1/nvme0n1p2/stat",
		   "    1 0 8 0 10 0 90 0 0 0 0 0 0 0 0 0 0\n");
	look(1);
	assert_int_equal(tick->devices[0].written, 5120);
	assert_int_equal(tick->devices[0].written_before, 0);

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
	assert_int_equal(tick->devices[0].written_before,
			 103 * sysconf(_SC_PAGESIZE));
	tree_write(t, "proc/vmstat", "pswpout 106\n");
	look(1);
	assert_int_equal(tick->devices[0].written,
			 3 * sysconf(_SC_PAGESIZE));
	/* zswap's module not loaded: the limit is not known. */
	machine_remove(t, "sys/module");
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

	machine_cgroup(t, "a");
	rescan();
	look(0);
	machine_write(t, "a", "memory.stat", "pswpin 1\nzswpin 0\n");
	tree_write(t, "proc/vmstat", "pswpout 1\n");
	look(1);
	assert_int_equal(tick->cgroups[0].of[FIELD_PSWPIN], 0);
	assert_int_equal(tick->cgroups[0].of[FIELD_ZSWPIN], 0);
	assert_false(tick->cgroups[0].fresh);
}

static void test_removed_while_it_is_read(void **state)
{
	const struct tree *t = *state;

	machine_cgroup(t, "a");
	machine_cgroup(t, "b");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 2);
	machine_remove(t, CG "/a");
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

	machine_cgroup(t, "a");
	rescan();
	look(0);
	look(1);
	id = tick->cgroups[0].id;
	assert_false(tick->cgroups[0].fresh);
	/* Made before the old one is removed, so that it is another inode. */
	machine_cgroup(t, "new");
	machine_remove(t, CG "/a");
	machine_cgroup(t, "a");
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

	machine_cgroup(t, "a");
	machine_write(t, "a", "io.pressure", "");
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

	machine_cgroup(t, "a");
	machine_write(t, "a", "memory.zswap.max", "9223372036854771712\n");
	machine_write(t, "a", "memory.swap.current", "18446744073709551615\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_true(tick->cgroups[0].of[FIELD_ZSWAP_MAX] ==
		    9223372036854771712ULL);
	/* What is no number leaves the cgroup out. */
	machine_write(t, "a", "memory.zswap.max", "99999999999999999999999\n");
	look(1);
	assert_int_equal(tick->nr_cgroups, 0);
}

static void test_writeback_is_hierarchical(void **state)
{
	const struct tree *t = *state;

	machine_cgroup(t, "a");
	machine_cgroup(t, "a/b");
	machine_write(t, "a", "memory.zswap.writeback", "0\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_int_equal(tick->cgroups[0].of[FIELD_WRITEBACK], 1);
	assert_int_equal(tick->cgroups[0].of[FIELD_WRITEBACK_HERE], 0);
}

static void test_stock_kernel_has_fewer_files(void **state)
{
	const struct tree *t = *state;

	machine_write(t, "a", "memory.stat", "zswap 5\nzswapped 6\n");
	machine_write(t, "a", "memory.swap.current", "4096\n");
	rescan();
	look(0);
	assert_int_equal(tick->nr_cgroups, 1);
	assert_int_equal(tick->cgroups[0].has, 0);
	assert_false(tick->cgroups[0].has_pswpin);
	assert_int_equal(tick->cgroups[0].of[FIELD_WRITEBACK_HERE], 1);
	assert_true(tick->cgroups[0].of[FIELD_ZSWAP_MAX] == UINT64_MAX);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_long_names),
		T(test_a_thousand_cgroups),
		T(test_nothing_in_swap_above_is_nothing_below),
		T(test_one_that_begins_to_swap_is_seen),
		T(test_touched_ones_stay_in_ticks),
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
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
