/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - take a sample of the anonymous pages of a cgroup's processes
 *
 * Pages are chosen evenly over all anonymous memory that is resident: smaps says
 * where it lies, pagemap which pages are present, and mem has their contents. No
 * process is stopped. A page that is in swap is not looked at, since reading it
 * would bring it back.
 */
#ifndef ZFOLIOCTL_PAGES_H
#define ZFOLIOCTL_PAGES_H

#include <zfolio/path.h>

/* What there was, and what of it could not be read. */
struct pages_seen {
	uint64_t processes;
	uint64_t not_readable;	/* of these: not ours to look into */
	uint64_t gone;		/* of these: ended meanwhile */
	uint64_t anonymous;	/* resident, bytes */
	uint64_t swapped;	/* bytes */
	uint64_t sampled;	/* pages that were taken */
	uint64_t missed;	/* pages that were gone when they were wanted */
};

/**
 * pages_sample() - take a sample
 * @sys:	context of "/" or a captured tree
 * @cgroup:	context of the cgroup; those below it count as well
 * @wanted:	how many pages, at most
 * @seed:	which; the same seed on the same memory takes the same ones
 * @take:	called for each with its contents; a negative result ends it
 * @data:	for @take
 * @ret_seen:	what there was
 *
 * Return: 0, -ENOENT or -ENODEV when the cgroup is gone, the error of @take, or
 * an error of path.h.
 */
int pages_sample(const struct zf_path *sys, const struct zf_path *cgroup,
		 uint64_t wanted, uint64_t seed,
		 int (*take)(void *data, const void *page), void *data,
		 struct pages_seen *ret_seen);

#endif
