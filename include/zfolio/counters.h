/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.h - one look at what the kernel counts about swap, and the
 *		difference of two looks
 *
 * Which counter comes from which file stands in one table in counters.c. A
 * counter that this kernel does not have is marked absent and is never taken
 * for 0: a caller that prints it prints that it is not there.
 *
 * Counters are global for the system (vmstat, per-size statistics, disk), of
 * one cgroup (memory.stat) or of the calling process (faults); other work on
 * the machine shows in the first kind.
 */
#ifndef ZFOLIO_COUNTERS_H
#define ZFOLIO_COUNTERS_H

#include <zfolio/cgroup.h>
#include <zfolio/path.h>

enum zf_counter {
	/* proc/vmstat, whole system: pages unless stated otherwise */
	ZF_VM_ZSWPIN,		/* read back from zswap */
	ZF_VM_ZSWPOUT,		/* stored in zswap */
	ZF_VM_ZSWPWB,		/* written from zswap to the swap device */
	ZF_VM_PSWPIN,		/* read from the swap device */
	ZF_VM_PSWPOUT,		/* written to it, zswpwb included */
	ZF_VM_NRSWPIN,		/* bios, not pages (Linux 7.x) */
	ZF_VM_NRSWPOUT,		/* bios, not pages (Linux 7.x) */
	ZF_VM_SWPIN_ZERO,	/* zero-filled pages: no data anywhere */
	ZF_VM_SWPOUT_ZERO,

	/* memory.stat of the cgroup: pages */
	ZF_CG_ZSWPIN,
	ZF_CG_ZSWPOUT,
	ZF_CG_ZSWPWB,
	ZF_CG_PSWPIN,
	ZF_CG_PSWPOUT,
	ZF_CG_PGFAULT,
	ZF_CG_PGMAJFAULT,

	/* getrusage() of the calling process: faults */
	ZF_FAULT_MINOR,
	ZF_FAULT_MAJOR,

	/* sys/class/block/DISK/stat: requests, merges, sectors of 512 bytes */
	ZF_DISK_READS,
	ZF_DISK_READ_MERGES,
	ZF_DISK_READ_SECTORS,
	ZF_DISK_WRITES,
	ZF_DISK_WRITE_MERGES,
	ZF_DISK_WRITE_SECTORS,

	ZF_NR_COUNTERS
};

/* What is counted for each folio size, in folios of that size. */
enum zf_mthp_counter {
	ZF_MTHP_ANON_ALLOC,		/* anon_fault_alloc */
	ZF_MTHP_ZSWPOUT,		/* zswpout */
	ZF_MTHP_SWPOUT,			/* swpout */
	ZF_MTHP_ZSWPIN,			/* zswpin (with the zfolio series) */
	ZF_MTHP_SWPIN,			/* swpin */
	ZF_MTHP_SWPIN_FALLBACK,		/* swpin_fallback */
	ZF_MTHP_SWPIN_FALLBACK_CHARGE,	/* swpin_fallback_charge */
	ZF_NR_MTHP_COUNTERS
};

/*
 * Folio sizes are named by their order in pages: order 1 is two pages. The
 * largest is a PMD's: order 9 with 4 KiB pages, 13 with 64 KiB.
 */
#define ZF_MTHP_MAX_ORDER 13

struct zf_value {
	uint64_t value;
	bool present;
};

struct zf_counters {
	struct zf_value of[ZF_NR_COUNTERS];
	struct zf_value mthp[ZF_MTHP_MAX_ORDER + 1][ZF_NR_MTHP_COUNTERS];
};

/**
 * zf_counters_read() - take one look
 * @sys:	context of the system's root ("/", or a captured tree)
 * @cgroup:	whose memory.stat to read, or NULL
 * @disk:	whose block statistics to read ("nvme0n1"), or NULL
 * @ret:	the counters; those without a source are absent
 *
 * Return: 0, or an error of path.h for a file that is there and can not be
 * read or parsed. A file that is not there only makes its counters absent,
 * except memory.stat: then the cgroup is gone, and -ENOENT or -ENODEV says so.
 */
int zf_counters_read(const struct zf_path *sys, const struct zf_cgroup *cgroup,
		     const char *disk, struct zf_counters *ret);

/*
 * Only the calling process's faults, one system call: for use right beside a
 * measured interval.
 */
void zf_counters_read_faults(struct zf_counters *counters);

/**
 * zf_counters_diff() - what happened between two looks
 * @before:	first look
 * @after:	second look
 * @ret_diff:	after - before; absent where either is. A counter that went
 *		backwards (a cgroup made anew, a disk replaced) counts as 0.
 *		May be the same object as one of the others.
 */
void zf_counters_diff(const struct zf_counters *before,
		      const struct zf_counters *after,
		      struct zf_counters *ret_diff);

/* The value, or 0 when it is absent: for sums. */
static inline uint64_t zf_value_or_zero(struct zf_value v)
{
	return v.present ? v.value : 0;
}

/**
 * struct zf_swapped_in - what came back from swap, by folio
 * @folios:		folios of every size
 * @pages:		pages in them
 * @large_folios:	those of more than one page
 * @fallbacks:		large folios that were tried and not had
 */
struct zf_swapped_in {
	uint64_t folios;
	uint64_t pages;
	uint64_t large_folios;
	uint64_t fallbacks;
};

/*
 * Works it out of a difference: large folios come from the per-size statistics
 * (zswpin and swpin), pages from vmstat (zswpin and pswpin), and what the
 * large ones do not account for came in single pages.
 */
struct zf_swapped_in zf_counters_swapped_in(const struct zf_counters *diff);

/**
 * zf_swap_disk() - find the disk that the first swap area is on
 * @sys:	context of the system's root
 * @ret_disk:	its name below sys/class/block, to be given to free()
 *
 * Return: 0, -ENXIO when nothing is swapped on, -ENOTBLK when the first area
 * is a file, or an error of path.h.
 */
int zf_swap_disk(const struct zf_path *sys, char **ret_disk);

/* Directory of one folio size, below the system's root; DIR_LEN fits it. */
#define ZF_MTHP_DIR_LEN 80
void zf_mthp_dir(unsigned int order, char dir[ZF_MTHP_DIR_LEN]);

#endif
