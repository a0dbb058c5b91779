/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * knob.h - set kernel files and put back what was there
 *
 *	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
 *
 *	r = zf_knobs_new(sys, &knobs);
 *	r = zf_knob_set(knobs, "sys/module/zswap/parameters/enabled", "Y");
 *
 * Each file's first value is remembered and written back, last changed first,
 * by zf_knobs_restore(). A file that already holds the value is neither
 * written nor restored: for some knobs the write itself has an effect (any
 * write to zswap's "enabled" sets zswap up).
 */
#ifndef ZFOLIO_KNOB_H
#define ZFOLIO_KNOB_H

#include <zfolio/path.h>

struct zf_knobs;

/**
 * zf_knobs_new() - start an empty set of changed files
 * @sys:	context that file names are relative to; must outlive the set
 * @ret_knobs:	the set, to be given back with zf_knobs_restore()
 *
 * Return: 0 or -ENOMEM.
 */
int zf_knobs_new(const struct zf_path *sys, struct zf_knobs **ret_knobs);

/* The context that it was made with. */
const struct zf_path *zf_knobs_sys(const struct zf_knobs *knobs);

/**
 * zf_knob_set() - write a value and remember the one before
 * @knobs:	the set
 * @name:	file; of one that shows its choices as "always [never]" the word
 *		in brackets is its value
 * @value:	what to write
 *
 * Return: 0, or an error of path.h; after an error the file is unchanged as
 * far as the kernel refused the write.
 */
int zf_knob_set(struct zf_knobs *knobs, const char *name, const char *value);

/**
 * zf_knobs_restore() - write the remembered values back and free the set
 * @knobs:	the set, or NULL
 *
 * Goes on after an error, so that one vanished file does not keep the others
 * changed.
 *
 * Return: 0, or the first error.
 */
int zf_knobs_restore(struct zf_knobs *knobs);
ZF_DEFINE_CLEANUP(struct zf_knobs, zf_knobs_restore, zf_knobs_restore)

#endif
