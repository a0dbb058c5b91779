/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * common.h: what the benchmarks' programs share
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <zfolio/swapin.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

/* It could not be measured. @error is positive, as errno. */
static inline _Noreturn void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(error));
	exit(3);
}

/* Sets zswap up, with single pages. Settings are put back when @ret_knobs goes. */
static inline void set_up_single_pages(const struct zf_path *sys,
				       const struct zf_zswap *zswap,
				       struct zf_knobs **ret_knobs)
{
	int r = zf_knobs_new(sys, ret_knobs);

	if (r >= 0)
		r = zf_zswap_setup(*ret_knobs, zswap);
	if (r >= 0)
		r = zf_mthp_choose(*ret_knobs, 0);
	if (r < 0)
		die("setting zswap up", -r);
}

#endif
