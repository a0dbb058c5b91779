/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleanup.h - release what a block holds when the block is left
 *
 *	_cleanup_free_ char *text = NULL;
 *	_cleanup_close_ int fd = -EBADF;
 *
 * A variable so marked is released on every way out of its block, in reverse
 * order of declaration. zf_take_ptr() and zf_take_fd() hand the value on to
 * the caller instead: they return it and leave the variable empty.
 */
#ifndef ZFOLIO_CLEANUP_H
#define ZFOLIO_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Defines NAMEp(), which calls FN on the variable unless it is NULL. */
#define ZF_DEFINE_CLEANUP(type, name, fn)		\
	static inline void name##p(type **p)		\
	{						\
		if (*p)					\
			fn(*p);				\
	}

static inline void zf_freep(void *p)
{
	free(*(void **)p);
}

static inline void zf_closep(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

ZF_DEFINE_CLEANUP(DIR, zf_closedir, closedir)

#define _cleanup_free_ _cleanup_(zf_freep)
#define _cleanup_close_ _cleanup_(zf_closep)
#define _cleanup_closedir_ _cleanup_(zf_closedirp)

#define zf_take_ptr(p)				\
	({					\
		__auto_type __taken = (p);	\
		(p) = NULL;			\
		__taken;			\
	})

static inline int zf_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -EBADF;
	return taken;
}

#endif
