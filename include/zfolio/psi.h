/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * psi.h - pressure stall information: how long tasks had to wait
 *
 * A pressure file (memory.pressure, io.pressure, /proc/pressure/memory) has a
 * line "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234". Where PSI is off
 * (psi=0, not built in) the file is absent, empty, or answers -EOPNOTSUPP.
 */
#ifndef ZFOLIO_PSI_H
#define ZFOLIO_PSI_H

#include <zfolio/path.h>

/**
 * zf_psi_parse() - the time some task waited
 * @text:	a pressure file
 * @ret_usec:	the total of its line "some", in microseconds
 *
 * Return: 0, -ENODATA for an empty text, -EINVAL or -ERANGE.
 */
int zf_psi_parse(const char *text, uint64_t *ret_usec);

/* zf_psi_parse() of a file; also -EOPNOTSUPP and -ENOENT where PSI is off. */
int zf_psi_read(const struct zf_path *path, const char *name,
		uint64_t *ret_usec);

/* Whether the error of zf_psi_read() or zf_psi_trigger() says that PSI is off. */
bool zf_psi_is_off(int error);

/**
 * zf_psi_trigger() - be woken when tasks wait for long
 * @path:	context
 * @name:	pressure file
 * @stall_usec:	some task waited so long ...
 * @window_usec: ... within this time, 500 ms to 10 s
 *
 * The trigger lives as long as the descriptor. It becomes ready with POLLPRI,
 * at most once a window; POLLERR says that the cgroup was removed, and from
 * then on it is ready for ever: close it.
 *
 * Return: the descriptor, -EOPNOTSUPP or -ENOENT where PSI is off, -EINVAL for
 * bad times, or an error of path.h.
 */
int zf_psi_trigger(const struct zf_path *path, const char *name,
		   uint64_t stall_usec, uint64_t window_usec);

#endif
