/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.h - what the daemon has changed, so that it can be put back
 *
 * An entry is a knob of a cgroup with the value that was found and the one that
 * was set. The ledger is kept in a file below /run: an entry is there before
 * the knob is written, so that a crash at any moment leaves nothing that the
 * next start can not put back. The file is replaced as a whole, never changed
 * in place. Its form, one line of JSON:
 *
 *	{"zfolio_state": 1, "changed": [{"id": 42, "path": "a.slice/b",
 *	 "knob": "memory.zswap.writeback", "found": 1, "set": 0}]}
 */
#ifndef ZFOLIOD_LEDGER_H
#define ZFOLIOD_LEDGER_H

#include <zfolio/path.h>

#include "tick.h"

/* Directory and file, below the system's root. */
#define LEDGER_DIR "run/zfolio"
#define LEDGER_FILE "state"

struct entry {
	uint64_t id;
	char *path;
	enum knob knob;
	uint64_t found, set;	/* UINT64_MAX: no limit */
	/* Not in the file: */
	uint64_t reapplied_at;
	unsigned int unsettled;	/* looks that may still see the old value */
};

struct ledger;

/**
 * ledger_open() - read what an earlier run has left
 * @sys:	context of "/" or a captured tree
 * @ret_ledger:	to be given back with ledger_free(); empty without a file
 *
 * The directory is made when it is not there.
 *
 * Return: 0, -EINVAL for a file of another shape, or an error of path.h.
 */
int ledger_open(const struct zf_path *sys, struct ledger **ret_ledger);

/* Only frees; the file stays. */
void ledger_free(struct ledger *ledger);
ZF_DEFINE_CLEANUP(struct ledger, ledger_free, ledger_free)

/* The entries by id and knob; belongs to @ledger until the next change. */
struct entry *ledger_entries(struct ledger *ledger, size_t *ret_nr);

struct entry *ledger_find(struct ledger *ledger, uint64_t id, enum knob knob);

/**
 * ledger_set() - note that a knob is about to be set
 * @ledger:	the ledger
 * @id:		cgroup
 * @path:	its path, to find it again
 * @knob:	knob
 * @found:	its value now; of a knob that is noted already the first one stays
 * @set:	what will be written
 *
 * Return: 0 when it is in the file, or an error of path.h, such as -ENOSPC or
 * -EROFS; then the ledger is as before and the knob must not be written.
 */
int ledger_set(struct ledger *ledger, uint64_t id, const char *path,
	       enum knob knob, uint64_t found, uint64_t set);

/* Forget an entry; a file that can not be written keeps it. */
void ledger_drop(struct ledger *ledger, struct entry *entry);

/* Forget all and remove the file. */
void ledger_clear(struct ledger *ledger);

#endif
