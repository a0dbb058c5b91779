/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - a tree of plain files that stands in for a machine: zswap, one
 *	       swap partition, three folio sizes, and cgroups that a test makes
 */
#ifndef ZFOLIO_TESTS_MACHINE_H
#define ZFOLIO_TESTS_MACHINE_H

#include "tree.h"

#define CG "sys/fs/cgroup"

static inline void machine_cgroup(const struct tree *t, const char *path)
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

static inline void machine_write(const struct tree *t, const char *path,
				 const char *file, const char *text)
{
	char name[1024];

	snprintf(name, sizeof(name), CG "/%s/%s", path, file);
	tree_write(t, name, text);
}

static inline void machine_remove(const struct tree *t, const char *path)
{
	_cleanup_free_ char *whole = tree_name(t, path);

	nftw(whole, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Everything anew, without any cgroup. */
static inline void machine_system(const struct tree *t)
{
	machine_remove(t, "sys");
	machine_remove(t, "proc");
	tree_write(t, CG "/cgroup.controllers", "cpu io memory\n");
	tree_write(t, "proc/meminfo",
		   "MemTotal:        1048576 kB\nZswap:              2048 kB\n"
		   "Zswapped:           8192 kB\n");
	tree_write(t, "proc/uptime", "3600.42 7000.00\n");
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
}

#endif
