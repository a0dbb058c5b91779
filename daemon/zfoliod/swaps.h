/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swaps.h - the swap devices there are, and what was written to them
 *
 * A device is named as in /proc/swaps without /dev/; a swap file by its whole
 * name. What was written to a device is its own count of sectors; a file has
 * none.
 */
#ifndef ZFOLIOD_SWAPS_H
#define ZFOLIOD_SWAPS_H

#include <zfolio/path.h>

#include "tick.h"

/* The kernel's own bound (MAX_SWAPFILES) is at most 32. */
#define SWAPS_MAX 32

struct swap {
	char name[DEVICE_NAME_LEN];
	char number[16];	/* of its whole disk, "8:0"; empty for a file */
	uint64_t size, used;	/* bytes */
	int64_t priority;
	bool has_written;
	uint64_t written;	/* bytes since the system started */
};

struct swaps {
	struct swap at[SWAPS_MAX];
	size_t nr;
};

/**
 * swaps_read() - list them
 * @sys:	context of "/" or a captured tree
 * @ret_swaps:	the list; empty without swap
 *
 * A name that does not fit is left out.
 *
 * Return: 0, -EINVAL for a file of another shape, or an error of path.h.
 */
int swaps_read(const struct zf_path *sys, struct swaps *ret_swaps);

/* Whether a line of io.stat, "8:0 rbytes=...", is about one of them. */
bool swaps_has_line(const struct swaps *swaps, const char *line);

#endif
