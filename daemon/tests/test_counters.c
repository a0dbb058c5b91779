// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counters.h and zswap's and the folio sizes' settings, on a tree with the
 * files of a Linux 7.3.4 guest (values captured, lines shortened).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <zfolio/counters.h>
#include <zfolio/swapin.h>

#include "tree.h"

#define THP "sys/kernel/mm/transparent_hugepage/"
#define ZSWAP "sys/module/zswap/parameters/"

static const char vmstat[] =
"nr_free_pages 462418\n"
"nr_swapcached 0\n"
"pgpgin 1420\n"
"pswpin 5\n"
"pswpout 7\n"
"pgfault 131243\n"
"swpin_zero 1\n"
"swpout_zero 2\n"
"zswpin 32768\n"
"zswpout 32770\n"
"zswpwb 3\n"
"nrswpin 4\n"
"nrswpout 6\n";

static const char memory_stat[] =
"anon 134217728\n"
"zswap 9568130\n"
"zswapped 134217728\n"
"pswpin 0\n"
"pswpout 11\n"
"pgfault 65536\n"
"pgmajfault 4098\n"
"zswpin 32768\n"
"zswpout 32769\n"
"zswpwb 1\n";

static const char disk_stat[] =
"     103       18     2504       44       16        9      264       20"
"        0       64       76        0        0        0        0       11"
"       12\n";

static void write_mthp(const struct tree *t, const char *size,
		       const char *counter, const char *value)
{
	_cleanup_free_ char *name = NULL;

	assert_true(asprintf(&name, THP "hugepages-%s/stats/%s", size,
			     counter) > 0);
	tree_write(t, name, value);
}

static void fill_tree(const struct tree *t)
{
	tree_write(t, "proc/vmstat", vmstat);
	tree_write(t, "sys/fs/cgroup/a/memory.stat", memory_stat);
	tree_write(t, "sys/fs/cgroup/a/memory.current", "1\n");
	tree_write(t, "sys/class/block/nvme0n1/stat", disk_stat);
	write_mthp(t, "64kB", "anon_fault_alloc", "2048\n");
	write_mthp(t, "64kB", "zswpout", "2048\n");
	write_mthp(t, "64kB", "swpin", "0\n");
	write_mthp(t, "64kB", "swpin_fallback", "3\n");
	write_mthp(t, "64kB", "swpin_fallback_charge", "2\n");
	write_mthp(t, "1024kB", "swpin", "1\n");
	tree_write(t, THP "hugepages-64kB/enabled",
		   "always inherit [madvise] never\n");
	tree_write(t, THP "hugepages-1024kB/enabled",
		   "always inherit madvise [never]\n");
}

static void expect(struct zf_value v, uint64_t value)
{
	assert_true(v.present);
	assert_int_equal(v.value, value);
}

static void test_all_sources(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_path_freep) struct zf_path *root = NULL;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;
	struct zf_counters c;

	fill_tree(t);
	assert_int_equal(zf_path_open_at(t->path, "sys/fs/cgroup", &root), 0);
	assert_int_equal(zf_cgroup_open(root, "a", &cgroup), 0);
	assert_int_equal(zf_counters_read(t->path, cgroup, "nvme0n1", &c), 0);

	expect(c.of[ZF_VM_ZSWPIN], 32768);
	expect(c.of[ZF_VM_ZSWPOUT], 32770);
	expect(c.of[ZF_VM_ZSWPWB], 3);
	expect(c.of[ZF_VM_PSWPIN], 5);
	expect(c.of[ZF_VM_PSWPOUT], 7);
	expect(c.of[ZF_VM_NRSWPIN], 4);
	expect(c.of[ZF_VM_NRSWPOUT], 6);
	expect(c.of[ZF_VM_SWPIN_ZERO], 1);
	expect(c.of[ZF_VM_SWPOUT_ZERO], 2);
	expect(c.of[ZF_CG_ZSWPIN], 32768);
	expect(c.of[ZF_CG_ZSWPOUT], 32769);
	expect(c.of[ZF_CG_ZSWPWB], 1);
	expect(c.of[ZF_CG_PSWPIN], 0);
	expect(c.of[ZF_CG_PSWPOUT], 11);
	expect(c.of[ZF_CG_PGFAULT], 65536);
	expect(c.of[ZF_CG_PGMAJFAULT], 4098);
	expect(c.of[ZF_DISK_READS], 103);
	expect(c.of[ZF_DISK_READ_MERGES], 18);
	expect(c.of[ZF_DISK_READ_SECTORS], 2504);
	expect(c.of[ZF_DISK_WRITES], 16);
	expect(c.of[ZF_DISK_WRITE_MERGES], 9);
	expect(c.of[ZF_DISK_WRITE_SECTORS], 264);
	assert_true(c.of[ZF_FAULT_MINOR].present);
	assert_true(c.of[ZF_FAULT_MAJOR].present);
	expect(c.mthp[4][ZF_MTHP_ANON_ALLOC], 2048);
	expect(c.mthp[4][ZF_MTHP_SWPIN_FALLBACK], 3);
	expect(c.mthp[8][ZF_MTHP_SWPIN], 1);
	/* Not on this kernel, and no such size: absent, not 0. */
	assert_false(c.mthp[4][ZF_MTHP_ZSWPIN].present);
	assert_false(c.mthp[9][ZF_MTHP_SWPIN].present);
}

static void test_sources_that_are_not_there(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_path_freep) struct zf_path *empty = NULL;
	_cleanup_(zf_path_freep) struct zf_path *root = NULL;
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;
	struct zf_counters c;

	tree_write(t, "empty/x", "");
	assert_int_equal(zf_path_open_at(t->path, "empty", &empty), 0);
	assert_int_equal(zf_counters_read(empty, NULL, "sda", &c), 0);
	assert_false(c.of[ZF_VM_ZSWPIN].present);
	assert_false(c.of[ZF_CG_ZSWPIN].present);
	assert_false(c.of[ZF_DISK_READS].present);
	assert_false(c.mthp[4][ZF_MTHP_SWPIN].present);

	/* A kernel before 6.1 has a vmstat without zswap's lines. */
	tree_write(t, "empty/proc/vmstat", "pswpin 5\npswpout 7\n");
	assert_int_equal(zf_counters_read(empty, NULL, NULL, &c), 0);
	expect(c.of[ZF_VM_PSWPIN], 5);
	assert_false(c.of[ZF_VM_ZSWPIN].present);

	/* A cgroup whose files are gone. */
	fill_tree(t);
	assert_int_equal(zf_path_open_at(t->path, "sys/fs/cgroup", &root), 0);
	assert_int_equal(zf_cgroup_open(root, "a", &cgroup), 0);
	assert_int_equal(unlinkat(zf_path_fd(root), "a/memory.stat", 0), 0);
	c.of[ZF_VM_PSWPIN].value = 99;
	assert_true(zf_cgroup_is_gone(zf_counters_read(t->path, cgroup, NULL,
						       &c)));
	assert_int_equal(c.of[ZF_VM_PSWPIN].value, 99);
}

static void test_unreadable_sources(void **state)
{
	const struct tree *t = *state;
	struct zf_counters c;

	fill_tree(t);
	tree_write(t, "sys/class/block/nvme0n1/stat", "1 2 3\n");
	assert_int_equal(zf_counters_read(t->path, NULL, "nvme0n1", &c),
			 -EINVAL);
	fill_tree(t);
	tree_write(t, "proc/vmstat", "zswpin -1\n");
	assert_int_equal(zf_counters_read(t->path, NULL, NULL, &c), -EINVAL);
	fill_tree(t);
	write_mthp(t, "64kB", "swpin", "many\n");
	assert_int_equal(zf_counters_read(t->path, NULL, NULL, &c), -EINVAL);
	fill_tree(t);
}

static void set(struct zf_value *v, uint64_t value)
{
	*v = (struct zf_value){ .value = value, .present = true };
}

static void test_differences(void **state)
{
	struct zf_counters a = { 0 }, b = { 0 };

	(void)state;
	set(&a.of[ZF_VM_ZSWPIN], 10);
	set(&b.of[ZF_VM_ZSWPIN], 25);
	set(&a.of[ZF_VM_ZSWPOUT], 10);		/* absent afterwards */
	set(&b.of[ZF_VM_PSWPIN], 10);		/* absent before */
	set(&a.of[ZF_DISK_READS], 10);		/* went backwards */
	set(&b.of[ZF_DISK_READS], 3);
	set(&a.of[ZF_FAULT_MINOR], UINT64_MAX - 1);
	set(&b.of[ZF_FAULT_MINOR], UINT64_MAX);
	set(&a.mthp[4][ZF_MTHP_SWPIN], 1);
	set(&b.mthp[4][ZF_MTHP_SWPIN], 4);
	zf_counters_diff(&a, &b, &b);
	expect(b.of[ZF_VM_ZSWPIN], 15);
	assert_false(b.of[ZF_VM_ZSWPOUT].present);
	assert_false(b.of[ZF_VM_PSWPIN].present);
	expect(b.of[ZF_DISK_READS], 0);
	expect(b.of[ZF_FAULT_MINOR], 1);
	expect(b.mthp[4][ZF_MTHP_SWPIN], 3);
}

static void test_folios_swapped_in(void **state)
{
	struct zf_counters diff = { 0 };
	struct zf_swapped_in in;

	(void)state;
	/* Base: single pages only, and some of them from the disk. */
	set(&diff.of[ZF_VM_ZSWPIN], 100);
	set(&diff.of[ZF_VM_PSWPIN], 28);
	in = zf_counters_swapped_in(&diff);
	assert_int_equal(in.folios, 128);
	assert_int_equal(in.pages, 128);
	assert_int_equal(in.large_folios, 0);
	assert_int_equal(in.fallbacks, 0);

	/* Patched: 6 of 64K, 1 of 1M from zswap, the rest single pages. */
	set(&diff.of[ZF_VM_ZSWPIN], 6 * 16 + 256 + 10);
	set(&diff.of[ZF_VM_PSWPIN], 0);
	set(&diff.mthp[4][ZF_MTHP_ZSWPIN], 6);
	set(&diff.mthp[8][ZF_MTHP_ZSWPIN], 1);
	set(&diff.mthp[8][ZF_MTHP_SWPIN_FALLBACK], 5);
	set(&diff.mthp[8][ZF_MTHP_SWPIN_FALLBACK_CHARGE], 2);
	in = zf_counters_swapped_in(&diff);
	assert_int_equal(in.folios, 17);
	assert_int_equal(in.pages, 362);
	assert_int_equal(in.large_folios, 7);
	assert_int_equal(in.fallbacks, 5);
}

static void test_swap_disk(void **state)
{
	static const struct {
		const char *swaps;
		int r;
		const char *disk;
	} cases[] = {
		{ "Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n"
		  "/dev/nvme0n1                            partition\t"
		  "4194300\t\t0\t\t-2\n", 0, "nvme0n1" },
		{ "Filename\tType\tSize\tUsed\tPriority\n"
		  "/swapfile file 1048572 0 -2\n", -ENOTBLK, NULL },
		{ "Filename\tType\tSize\tUsed\tPriority\n", -ENXIO, NULL },
		{ "", -ENXIO, NULL },
		{ "Filename\n/dev/sda2\n", -EINVAL, NULL },
	};
	const struct tree *t = *state;
	char *disk = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tree_write(t, "proc/swaps", cases[i].swaps);
		assert_int_equal(zf_swap_disk(t->path, &disk), cases[i].r);
		if (cases[i].r)
			continue;
		assert_string_equal(disk, cases[i].disk);
		free(disk);
		disk = NULL;
	}
	assert_null(disk);
}

/* ---- settings ---- */

static void test_zswap_settings(void **state)
{
	const struct tree *t = *state;
	const struct zf_zswap zswap = {
		.compressor = "lz4", .max_pool_percent = 50,
	};
	struct zf_knobs *knobs = NULL;

	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	assert_int_equal(zf_zswap_setup(knobs, &zswap), -EOPNOTSUPP);

	/* Before 6.8 there is no shrinker. */
	tree_write(t, ZSWAP "enabled", "N\n");
	tree_write(t, ZSWAP "compressor", "lzo\n");
	tree_write(t, ZSWAP "max_pool_percent", "20\n");
	assert_int_equal(zf_zswap_setup(knobs, &zswap), 0);
	tree_expect(t, ZSWAP "enabled", "Y");
	tree_expect(t, ZSWAP "compressor", "lz4");
	tree_expect(t, ZSWAP "max_pool_percent", "50");
	assert_int_equal(zf_knobs_restore(knobs), 0);

	tree_write(t, ZSWAP "shrinker_enabled", "Y\n");
	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	assert_int_equal(zf_zswap_setup(knobs, &zswap), 0);
	tree_expect(t, ZSWAP "shrinker_enabled", "N");
	assert_int_equal(zf_knobs_restore(knobs), 0);
	tree_expect(t, ZSWAP "enabled", "N");
	tree_expect(t, ZSWAP "compressor", "lzo");
	tree_expect(t, ZSWAP "max_pool_percent", "20");
	tree_expect(t, ZSWAP "shrinker_enabled", "Y");
}

static void test_folio_sizes(void **state)
{
	const struct tree *t = *state;
	struct zf_knobs *knobs = NULL;

	fill_tree(t);
	assert_int_equal(zf_knobs_new(t->path, &knobs), 0);
	assert_int_equal(zf_mthp_choose(knobs, 1 << 20), 0);
	tree_expect(t, THP "hugepages-64kB/enabled", "never");
	tree_expect(t, THP "hugepages-1024kB/enabled", "madvise");
	assert_int_equal(zf_mthp_choose(knobs, 65536), 0);
	tree_expect(t, THP "hugepages-64kB/enabled", "madvise");
	tree_expect(t, THP "hugepages-1024kB/enabled", "never");
	assert_int_equal(zf_mthp_choose(knobs, 0), 0);
	tree_expect(t, THP "hugepages-64kB/enabled", "never");
	tree_expect(t, THP "hugepages-1024kB/enabled", "never");
	assert_int_equal(zf_mthp_choose(knobs, 4096), -EINVAL);
	assert_int_equal(zf_mthp_choose(knobs, 65537), -EINVAL);
	assert_int_equal(zf_mthp_choose(knobs, 2 << 20), -EOPNOTSUPP);
	assert_int_equal(zf_knobs_restore(knobs), 0);
	tree_expect(t, THP "hugepages-64kB/enabled", "madvise");
	tree_expect(t, THP "hugepages-1024kB/enabled", "never");
}

/* ---- a measurement that cannot begin ---- */

static void test_measure_refuses(void **state)
{
	const struct tree *t = *state;
	struct zf_swapin_params params = {
		.bytes = 4097, .cgroup_root = ZF_CGROUP_ROOT,
	};
	struct zf_swapin_failure failure = { 0 };
	static struct zf_swapin_result result = { .pages = 77 };

	assert_int_equal(zf_swapin_measure(t->path, &params, &result, NULL),
			 -EINVAL);
	params.bytes = 1 << 20;
	tree_write(t, "proc/swaps", "Filename\tType\n");
	assert_int_equal(zf_swapin_measure(t->path, &params, &result,
					   &failure), -ENXIO);
	assert_string_equal(failure.step, "looking for swap");
	tree_write(t, "proc/swaps", "Filename\tType\n/dev/sda2 partition 1\n");
	params.cgroup_root = "no/such/place";
	assert_int_equal(zf_swapin_measure(t->path, &params, &result,
					   &failure), -EOPNOTSUPP);
	/* A new directory stays without files here: it is taken away again. */
	params.cgroup_root = ZF_CGROUP_ROOT;
	fill_tree(t);
	tree_write(t, ZF_CGROUP_ROOT "/cgroup.controllers", "memory\n");
	assert_int_equal(zf_swapin_measure(t->path, &params, &result,
					   &failure), -EOPNOTSUPP);
	assert_string_equal(failure.step, "making a cgroup");
	assert_int_equal(result.pages, 77);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zswap_settings),
		cmocka_unit_test(test_all_sources),
		cmocka_unit_test(test_sources_that_are_not_there),
		cmocka_unit_test(test_unreadable_sources),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_folios_swapped_in),
		cmocka_unit_test(test_swap_disk),
		cmocka_unit_test(test_folio_sizes),
		cmocka_unit_test(test_measure_refuses),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
