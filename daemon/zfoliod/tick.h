/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tick.h - what the control law is given each tick
 *
 * A tick is made by sample.h from the running kernel, or read from a trace
 * (trace.h). It holds plain numbers and no handles, so a tick from either
 * source gives the same decisions.
 */
#ifndef ZFOLIOD_TICK_H
#define ZFOLIOD_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"

/* ---- one cgroup ---- */

enum field {
	/* Since the tick before: pages; 0 when the counter went backwards. */
	FIELD_ZSWPIN,		/* read back from zswap */
	FIELD_ZSWPOUT,		/* stored in zswap */
	FIELD_ZSWPWB,		/* written from zswap to the swap device */
	FIELD_PSWPIN,		/* read from the swap device */
	FIELD_PSWPOUT,		/* written to it, zswpwb included */
	FIELD_PGMAJFAULT,	/* faults that waited for a device or zswap */
	FIELD_REFAULT_ANON,	/* workingset_refault_anon: came back soon */

	/* Since the tick before: microseconds with some task waiting. */
	FIELD_MEMORY_STALL,
	FIELD_IO_STALL,

	/* Since the tick before: io.stat of the swap devices. */
	FIELD_WBYTES,
	FIELD_WIOS,

	/* Now: bytes. */
	FIELD_CURRENT,		/* memory.current */
	FIELD_SWAP,		/* memory.swap.current, zswap's included */
	FIELD_ZSWAPPED,		/* of these in zswap, uncompressed */
	FIELD_ZSWAP,		/* the same, compressed */
	FIELD_ZSWAP_MAX,	/* memory.zswap.max; UINT64_MAX: none */
	FIELD_SWAPIN_MAX,	/* memory.zswap.swapin_max; likewise */

	/* Now: 0 or 1. */
	FIELD_WRITEBACK,	/* memory.zswap.writeback of the cgroup itself */
	FIELD_WRITEBACK_HERE,	/* and of all its ancestors */

	NR_FIELDS
};

enum field_kind {
	FIELD_IS_DELTA,		/* what happened since the tick before */
	FIELD_IS_LEVEL,		/* what is now */
};

/* The name in traces, and the kind. */
struct field_info {
	const char *name;
	enum field_kind kind;
};

extern const struct field_info field_infos[NR_FIELDS];

enum knob {
	KNOB_WRITEBACK,		/* memory.zswap.writeback */
	KNOB_ZSWAP_MAX,		/* memory.zswap.max */
	KNOB_SWAPIN_MAX,	/* memory.zswap.swapin_max */
	KNOB_RECLAIM,		/* memory.reclaim "N source=zswap" */
	NR_KNOBS
};

/* The name of a knob's file, as memory.zswap.max. */
extern const char *const knob_files[NR_KNOBS];

#define KNOB_BIT(knob) (1U << (knob))

/* What became of the write-back that was asked for last. */
enum reclaim_state {
	RECLAIM_NONE,		/* nothing was asked for since the tick before */
	RECLAIM_RUNNING,	/* still at work: ask for no other */
	RECLAIM_DONE,		/* all of it was written */
	RECLAIM_PARTIAL,	/* less than was asked for: -EAGAIN, cancelled */
	RECLAIM_FAILED,		/* any other error */
};

struct cgroup_sample {
	uint64_t id;		/* identity: inode number of its directory */
	const char *path;	/* without slashes at the ends */
	const struct policy *policy;
	uint32_t has;		/* the knobs it has, as KNOB_BIT() */
	uint32_t locked;	/* knobs that were left to somebody else */
	bool fresh;		/* first look: what happened before is unknown */
	bool has_pswpin;	/* memory.stat has it (Linux 6.13 and later) */
	enum reclaim_state reclaim;
	uint64_t of[NR_FIELDS];
};

/* ---- the system ---- */

#define DEVICE_NAME_LEN 64

struct device_sample {
	char name[DEVICE_NAME_LEN];	/* without /dev/ */
	struct device_policy policy;
	uint64_t size, used;		/* bytes */
	int64_t priority;
	uint64_t written;		/* bytes since the tick before */
	uint64_t written_before;	/* bytes in all before it was first seen */
	uint64_t uptime;		/* microseconds of the system until then */
};

/* The largest folio of any architecture is far below 2^20 pages. */
#define TICK_MAX_ORDER 20

struct tick {
	uint64_t elapsed;	/* microseconds of real time, suspend included */
	uint64_t page_size;	/* a power of two, at most 1 MiB */
	uint64_t pool;		/* compressed bytes in zswap */
	uint64_t pool_limit;	/* what zswap may hold; 0: not known */
	uint64_t rejected;	/* stores refused since the tick before */
	uint64_t sizes;		/* folio sizes that may come back from swap: bit
				 * k for 2^k pages, bit 0 never set */
	struct device_sample *devices;
	size_t nr_devices;
	struct cgroup_sample *cgroups;
	size_t nr_cgroups;
};

#endif
