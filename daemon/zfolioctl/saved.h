/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * saved.h - the folio sizes as they were before a measurement changed them
 *
 * A measurement puts them back itself, whichever of its processes is killed. When
 * all of them are, the values stand in a file below /run, from which the next one
 * puts them back. The file is locked while a measurement runs, so that there is
 * one at a time.
 */
#ifndef ZFOLIOCTL_SAVED_H
#define ZFOLIOCTL_SAVED_H

#include <zfolio/path.h>

/* Below the system's root. */
#define SAVED_FILE "run/zfolio/measure"

struct saved;

/**
 * saved_open() - lock the file, and put back what stands in it
 * @sys:	context of "/" or a captured tree; must outlive it
 * @ret_saved:	to be given back with saved_free()
 *
 * Return: 0, -EBUSY while another measurement runs, or an error of a system call.
 */
int saved_open(const struct zf_path *sys, struct saved **ret_saved);

/* Unlocks. What stands in the file stays there. */
void saved_free(struct saved *saved);
ZF_DEFINE_CLEANUP(struct saved, saved_free, saved_free)

/* Note the values as they are now; an error of a system call. */
int saved_note(struct saved *saved);

/* They have been put back. */
void saved_forget(struct saved *saved);

#endif
