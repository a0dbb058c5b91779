/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h - ticks as lines of JSON, to record and to replay them
 *
 * The first line says what the file is, each further line is one tick:
 *
 *	{"zfolio_trace": 1}
 *	{"elapsed": 2000000, "page_size": 4096, "pool": 1048576,
 *	 "pool_limit": 104857600, "rejected": 0, "sizes": 16,
 *	 "devices": [{"name": "vda", "size": 1073741824, "used": 4096,
 *		      "priority": -2, "written": 0}],
 *	 "cgroups": [{"id": 42, "path": "system.slice/a.service",
 *		      "has": ["memory.zswap.writeback"], "current": 8388608,
 *		      "writeback": 1, "writeback_here": 1, "pswpin": 12}]}
 *
 * (here broken into lines for reading). A cgroup may also have "locked" (as
 * "has"), "fresh" (true), "has_pswpin" (false where memory.stat has none) and
 * "reclaim" (running, done, partial or failed); its other keys are those of
 * tick.c. Numbers are whole and not negative, in the units of tick.h; one that is
 * 0 is left out, "max" stands for no limit. Bytes of a path that are no UTF-8 are
 * written as "?". Policies are not recorded: a trace is replayed with the
 * configuration at hand.
 *
 * An unknown key is an error, so that a misspelt one is not taken for 0.
 */
#ifndef ZFOLIOD_TRACE_H
#define ZFOLIOD_TRACE_H

#include <stdio.h>

#include <zfolio/cleanup.h>

#include "tick.h"

/* Return: 0, -ENOMEM, or -EIO when the file did not take it. */
int trace_write_header(FILE *file);
int trace_write_tick(FILE *file, const struct tick *tick);

struct trace_reader;

/**
 * trace_reader_new() - read a trace
 * @file:	open for reading; must outlive the reader
 * @ret_reader:	to be given back with trace_reader_free()
 */
int trace_reader_new(FILE *file, struct trace_reader **ret_reader);

void trace_reader_free(struct trace_reader *reader);
ZF_DEFINE_CLEANUP(struct trace_reader, trace_reader_free, trace_reader_free)

/**
 * trace_read_tick() - the next tick
 * @reader:	reader
 * @ret_tick:	belongs to @reader until the next call; all policies are unset
 * @ret_error:	on -EINVAL one line for the user, without the file's name, as
 *		"line 3: cgroups[0]: ...", to be given to free()
 *
 * Return: 1 with a tick, 0 at the end, -EINVAL, -ENOMEM or -EIO.
 */
int trace_read_tick(struct trace_reader *reader, struct tick **ret_tick,
		    char **ret_error);

#endif
