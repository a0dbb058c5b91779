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

#endif
