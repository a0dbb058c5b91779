// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <zfolio/counters.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- where each counter comes from ---- */

enum source { SOURCE_VMSTAT, SOURCE_CGROUP, SOURCE_RUSAGE, SOURCE_DISK };

static const struct {
	enum source source;
	const char *key;	/* first word of the line */
	unsigned int field;	/* of the disk's statistics, from 0 */
} sources[ZF_NR_COUNTERS] = {
	[ZF_VM_ZSWPIN]		= { SOURCE_VMSTAT, .key = "zswpin" },
	[ZF_VM_ZSWPOUT]		= { SOURCE_VMSTAT, .key = "zswpout" },
	[ZF_VM_ZSWPWB]		= { SOURCE_VMSTAT, .key = "zswpwb" },
	[ZF_VM_PSWPIN]		= { SOURCE_VMSTAT, .key = "pswpin" },
	[ZF_VM_PSWPOUT]		= { SOURCE_VMSTAT, .key = "pswpout" },
	[ZF_VM_NRSWPIN]		= { SOURCE_VMSTAT, .key = "nrswpin" },
	[ZF_VM_NRSWPOUT]	= { SOURCE_VMSTAT, .key = "nrswpout" },
	[ZF_VM_SWPIN_ZERO]	= { SOURCE_VMSTAT, .key = "swpin_zero" },
	[ZF_VM_SWPOUT_ZERO]	= { SOURCE_VMSTAT, .key = "swpout_zero" },
	[ZF_CG_ZSWPIN]		= { SOURCE_CGROUP, .key = "zswpin" },
	[ZF_CG_ZSWPOUT]		= { SOURCE_CGROUP, .key = "zswpout" },
	[ZF_CG_ZSWPWB]		= { SOURCE_CGROUP, .key = "zswpwb" },
	[ZF_CG_PSWPIN]		= { SOURCE_CGROUP, .key = "pswpin" },
	[ZF_CG_PSWPOUT]		= { SOURCE_CGROUP, .key = "pswpout" },
	[ZF_CG_PGFAULT]		= { SOURCE_CGROUP, .key = "pgfault" },
	[ZF_CG_PGMAJFAULT]	= { SOURCE_CGROUP, .key = "pgmajfault" },
	[ZF_FAULT_MINOR]	= { SOURCE_RUSAGE },
	[ZF_FAULT_MAJOR]	= { SOURCE_RUSAGE },
	/* Fields as Documentation/block/stat.rst numbers them. */
	[ZF_DISK_READS]		= { SOURCE_DISK, .field = 0 },
	[ZF_DISK_READ_MERGES]	= { SOURCE_DISK, .field = 1 },
	[ZF_DISK_READ_SECTORS]	= { SOURCE_DISK, .field = 2 },
	[ZF_DISK_WRITES]	= { SOURCE_DISK, .field = 4 },
	[ZF_DISK_WRITE_MERGES]	= { SOURCE_DISK, .field = 5 },
	[ZF_DISK_WRITE_SECTORS]	= { SOURCE_DISK, .field = 6 },
};

static const char *const mthp_files[ZF_NR_MTHP_COUNTERS] = {
	[ZF_MTHP_ANON_ALLOC]		= "anon_fault_alloc",
	[ZF_MTHP_ZSWPOUT]		= "zswpout",
	[ZF_MTHP_SWPOUT]		= "swpout",
	[ZF_MTHP_ZSWPIN]		= "zswpin",
	[ZF_MTHP_SWPIN]			= "swpin",
	[ZF_MTHP_SWPIN_FALLBACK]	= "swpin_fallback",
	[ZF_MTHP_SWPIN_FALLBACK_CHARGE]	= "swpin_fallback_charge",
};

/* The statistics have 17 fields on Linux 5.5 and later; we want the first 7. */
#define DISK_FIELDS 7

/* ---- reading ---- */

static void set(struct zf_value *v, uint64_t value)
{
	v->value = value;
	v->present = true;
}

static int read_keyed(const struct zf_path *path, const char *name,
		      enum source source, struct zf_counters *c)
{
	struct zf_key keys[ZF_NR_COUNTERS];
	unsigned int counter[ZF_NR_COUNTERS];
	size_t nr = 0;
	int r;

	for (unsigned int i = 0; i < ZF_NR_COUNTERS; i++) {
		if (sources[i].source != source)
			continue;
		keys[nr] = (struct zf_key){ .key = sources[i].key };
		counter[nr++] = i;
	}
	r = zf_path_read_keys(path, name, keys, nr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < nr; i++) {
		if (keys[i].found)
			set(&c->of[counter[i]], keys[i].value);
	}
	return 0;
}

static int read_disk(const struct zf_path *sys, const char *disk,
		     struct zf_counters *c)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ char *text = NULL;
	uint64_t field[DISK_FIELDS];
	char *word, *rest;
	int r;

	if (asprintf(&name, "sys/class/block/%s/stat", disk) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	r = zf_path_read(sys, name, &text, NULL);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	word = strtok_r(text, " \n", &rest);
	for (size_t i = 0; i < DISK_FIELDS; i++) {
		if (!word)
			return -EINVAL;
		r = zf_parse_u64(word, &field[i]);
		if (r < 0)
			return r;
		word = strtok_r(NULL, " \n", &rest);
	}
	for (unsigned int i = 0; i < ZF_NR_COUNTERS; i++) {
		if (sources[i].source == SOURCE_DISK)
			set(&c->of[i], field[sources[i].field]);
	}
	return 0;
}

void zf_mthp_dir(unsigned int order, char dir[ZF_MTHP_DIR_LEN])
{
	snprintf(dir, ZF_MTHP_DIR_LEN,
		 "sys/kernel/mm/transparent_hugepage/hugepages-%lukB",
		 ((unsigned long)sysconf(_SC_PAGESIZE) << order) / 1024);
}

static int read_mthp(const struct zf_path *sys, unsigned int order,
		     struct zf_value mthp[ZF_NR_MTHP_COUNTERS])
{
	_cleanup_(zf_path_freep) struct zf_path *stats = NULL;
	char dir[ZF_MTHP_DIR_LEN + sizeof("/stats")];
	uint64_t value;
	int r;

	zf_mthp_dir(order, dir);
	strcat(dir, "/stats");
	r = zf_path_open_at(sys, dir, &stats);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < ZF_NR_MTHP_COUNTERS; i++) {
		r = zf_path_read_u64(stats, mthp_files[i], &value);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		set(&mthp[i], value);
	}
	return 0;
}

void zf_counters_read_faults(struct zf_counters *counters)
{
	struct rusage usage;

	/* Fails for a bad first argument or address only. */
	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return;
	set(&counters->of[ZF_FAULT_MINOR], usage.ru_minflt);
	set(&counters->of[ZF_FAULT_MAJOR], usage.ru_majflt);
}

int zf_counters_read(const struct zf_path *sys, const struct zf_cgroup *cgroup,
		     const char *disk, struct zf_counters *ret)
{
	struct zf_counters c = { 0 };
	int r;

	r = read_keyed(sys, "proc/vmstat", SOURCE_VMSTAT, &c);
	if (r < 0 && r != -ENOENT)
		return r;
	if (cgroup) {
		r = read_keyed(zf_cgroup_path(cgroup), "memory.stat",
			       SOURCE_CGROUP, &c);
		if (r < 0)
			return r;
	}
	if (disk) {
		r = read_disk(sys, disk, &c);
		if (r < 0)
			return r;
	}
	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++) {
		r = read_mthp(sys, order, c.mthp[order]);
		if (r < 0)
			return r;
	}
	zf_counters_read_faults(&c);
	*ret = c;
	return 0;
}

/* ---- differences ---- */

static struct zf_value value_diff(struct zf_value before, struct zf_value after)
{
	struct zf_value diff = { 0 };

	if (before.present && after.present)
		set(&diff, after.value > before.value ?
			   after.value - before.value : 0);
	return diff;
}

void zf_counters_diff(const struct zf_counters *before,
		      const struct zf_counters *after,
		      struct zf_counters *ret_diff)
{
	for (unsigned int i = 0; i < ZF_NR_COUNTERS; i++)
		ret_diff->of[i] = value_diff(before->of[i], after->of[i]);
	for (unsigned int order = 0; order <= ZF_MTHP_MAX_ORDER; order++)
		for (unsigned int i = 0; i < ZF_NR_MTHP_COUNTERS; i++)
			ret_diff->mthp[order][i] =
				value_diff(before->mthp[order][i],
					   after->mthp[order][i]);
}

struct zf_swapped_in zf_counters_swapped_in(const struct zf_counters *diff)
{
	struct zf_swapped_in in = { 0 };
	uint64_t large_pages = 0;

	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++) {
		const struct zf_value *mthp = diff->mthp[order];
		uint64_t folios = zf_value_or_zero(mthp[ZF_MTHP_ZSWPIN]) +
				  zf_value_or_zero(mthp[ZF_MTHP_SWPIN]);

		in.large_folios += folios;
		large_pages += folios << order;
		/* Counts failed charges too: swpin_fallback_charge is a part. */
		in.fallbacks += zf_value_or_zero(mthp[ZF_MTHP_SWPIN_FALLBACK]);
	}
	in.pages = zf_value_or_zero(diff->of[ZF_VM_ZSWPIN]) +
		   zf_value_or_zero(diff->of[ZF_VM_PSWPIN]);
	if (in.pages < large_pages)
		in.pages = large_pages;
	in.folios = in.large_folios + in.pages - large_pages;
	return in;
}

/* ---- the swap device ---- */

/*
 * proc/swaps: a header, then a line an area:
 * "/dev/nvme0n1    partition    4194300    0    -2".
 */
int zf_swap_disk(const struct zf_path *sys, char **ret_disk)
{
	_cleanup_free_ char *text = NULL;
	char *line, *name, *type, *rest;
	int r;

	r = zf_path_read(sys, "proc/swaps", &text, NULL);
	if (r == -ENOENT)
		return -ENXIO;
	if (r < 0)
		return r;
	line = strchr(text, '\n');
	if (!line || !line[1])
		return -ENXIO;
	name = strtok_r(line + 1, " \t\n", &rest);
	type = strtok_r(NULL, " \t\n", &rest);
	if (!name || !type)
		return -EINVAL;
	if (strcmp(type, "partition") || strncmp(name, "/dev/", 5))
		return -ENOTBLK;
	name = strdup(name + strlen("/dev/"));
	if (!name)
		return -ENOMEM;
	*ret_disk = name;
	return 0;
}
