/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swapin.h - how long it takes to get memory back from compressed swap
 *
 * One measurement: a child process in a cgroup of its own maps memory, fills
 * it with pattern.h's pages, has it all reclaimed through memory.reclaim, and
 * touches it back in order, comparing every byte. What is timed is the
 * touching with its compare and nothing else. Faults, counters and disk
 * requests are taken around each of the three phases.
 *
 *	zf_zswap_setup(knobs, &zswap);		which compressor
 *	zf_mthp_choose(knobs, 65536);		which folio size
 *	zf_swapin_measure(sys, &params, &result, &failure);
 *
 * The first two change settings of the whole system through knob.h, which puts
 * them back. Nothing here prints.
 */
#ifndef ZFOLIO_SWAPIN_H
#define ZFOLIO_SWAPIN_H

#include <zfolio/counters.h>
#include <zfolio/histogram.h>
#include <zfolio/knob.h>
#include <zfolio/pattern.h>

/**
 * struct zf_zswap - how zswap is to work while measuring
 * @compressor:		name as the crypto API has it, "lz4"
 * @max_pool_percent:	share of memory that the pool may take, 1 to 100
 */
struct zf_zswap {
	const char *compressor;
	unsigned int max_pool_percent;
};

/*
 * Enough that no measurement runs into the limit (zswap's own default is 20).
 * When the limit does cut in, the result's disk_pages shows it.
 */
#define ZF_ZSWAP_POOL_PERCENT 50

/**
 * zf_zswap_setup() - enable zswap with a compressor
 * @knobs:	remembers what was there
 * @zswap:	what is wanted
 *
 * Also switches the dynamic shrinker off where there is one, since it would
 * write pages to the disk between reclaim and touch.
 *
 * Return: 0, -EOPNOTSUPP when this kernel has no zswap, -EINVAL or -ENOENT
 * when it does not know the compressor, or an error of path.h.
 */
int zf_zswap_setup(struct zf_knobs *knobs, const struct zf_zswap *zswap);

/**
 * zf_mthp_choose() - allow one size of large anonymous folio and no other
 * @knobs:	remembers what was there
 * @bytes:	the size, a power of two; 0 for single pages only
 *
 * The size is allowed for areas with MADV_HUGEPAGE only, so other processes
 * lose their large folios but gain none.
 *
 * Return: 0, -EINVAL for a size that is no power of two or not above a page,
 * -EOPNOTSUPP when this kernel has no such size, or an error of path.h.
 */
int zf_mthp_choose(struct zf_knobs *knobs, uint64_t bytes);

/**
 * struct zf_swapin_params - what to measure
 * @bytes:	memory to swap, a multiple of the page size
 * @pattern:	contents
 * @seed:	of the contents; a different one for each measurement finds
 *		pages that come back with the contents of an earlier one
 * @clock_touches: read the clock at every page, for the histogram. This costs
 *		time and instructions, so the total of such a run is no headline
 * @disk:	whose requests to count, or NULL
 * @cgroup_root: where cgroup v2 is mounted, below the system's root
 */
struct zf_swapin_params {
	uint64_t bytes;
	enum zf_pattern_kind pattern;
	uint32_t seed;
	bool clock_touches;
	const char *disk;
	const char *cgroup_root;
};

#define ZF_CGROUP_ROOT "sys/fs/cgroup"

/**
 * struct zf_swapin_result - what was measured
 * @pages:		pages that were touched
 * @resident:		of these, how many reclaim could not get out of memory
 * @reclaim_calls:	writes to memory.reclaim that it took
 * @zswap_bytes:	compressed size of what was stored (memory.zswap.current)
 * @disk_pages:		pages that went to the swap device instead
 * @ns:			CLOCK_MONOTONIC over the touching, nanoseconds
 * @wrong_bytes:	bytes that came back different
 * @wrong_pages:	pages with at least one of them
 * @fill:		counters over the filling
 * @out:		counters over the reclaim
 * @in:			counters over the touching
 * @latency:		nanoseconds a page when touches were clocked, else empty
 */
struct zf_swapin_result {
	uint64_t pages;
	uint64_t resident;
	uint64_t reclaim_calls;
	uint64_t zswap_bytes;
	uint64_t disk_pages;
	uint64_t ns;
	uint64_t wrong_bytes;
	uint64_t wrong_pages;
	struct zf_counters fill;
	struct zf_counters out;
	struct zf_counters in;
	struct zf_histogram latency;
};

/**
 * struct zf_swapin_failure - where a measurement ended
 * @step:	what was being done, for a message: "reclaiming"
 * @signal:	signal that ended the child, or 0. SIGBUS: the kernel could not
 *		bring a page back. SIGKILL: the OOM killer, or someone else
 */
struct zf_swapin_failure {
	const char *step;
	int signal;
};

/**
 * zf_swapin_measure() - measure once
 * @sys:	context of the live system's root
 * @params:	what
 * @ret_result:	what came out, wrong bytes and incomplete reclaim included:
 *		these are results and not errors
 * @ret_failure: filled in after an error; may be NULL
 *
 * The cgroup is removed and the child is gone when this returns, also when a
 * signal that the caller handles (without SA_RESTART) interrupts it.
 *
 * Return: 0, -EINVAL for bad parameters, -ENXIO when nothing is swapped on,
 * -EOPNOTSUPP without a usable cgroup v2, -EINTR after a signal, -EIO when the
 * child was killed, or an error of a system call.
 */
int zf_swapin_measure(const struct zf_path *sys,
		      const struct zf_swapin_params *params,
		      struct zf_swapin_result *ret_result,
		      struct zf_swapin_failure *ret_failure);

/**
 * zf_swapin_tidy() - remove what measurements have left that were killed
 * @sys:	context of the live system's root
 * @cgroup_root: as in the parameters
 *
 * Kills what is still in their cgroups. Those of a process that lives are left
 * alone.
 *
 * Return: 0, -EOPNOTSUPP without cgroup v2, or the first error; then the others
 * were tried all the same.
 */
int zf_swapin_tidy(const struct zf_path *sys, const char *cgroup_root);

#endif
