/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * features.h - what this kernel and this machine can do
 *
 * Two questions, both asked once at the start: is there a cgroup v2 hierarchy
 * with the memory controller (without one the daemon can do nothing), and which
 * of the knobs does this kernel have (it works with those).
 */
#ifndef ZFOLIOD_FEATURES_H
#define ZFOLIOD_FEATURES_H

#include "cgtree.h"

/**
 * features_find_cgroups() - find the hierarchy
 * @sys:	context of "/" or a captured tree
 * @ret_cgroups: context of the hierarchy's root
 * @ret_error:	on failure one line that says what to do, to be given to free()
 *
 * Return: 0; -EOPNOTSUPP where there is none, or the memory controller is not
 * in it or not passed on to its children; or an error of path.h.
 */
int features_find_cgroups(const struct zf_path *sys,
			  struct zf_path **ret_cgroups, char **ret_error);

struct features {
	bool zswap_built_in;	/* its parameters are there */
	bool zswap_enabled;
	bool psi;
	uint32_t knobs;		/* KNOB_BIT(): some cgroup has it; for
				 * KNOB_RECLAIM with source=zswap */
	int reclaim_error;	/* why KNOB_RECLAIM is not there; 0: no cgroup
				 * to try it on, -EINVAL: the kernel does not
				 * know source=zswap, -ECANCELED: not tried */
};

/**
 * features_probe() - ask the kernel
 * @sys:	context of "/" or a captured tree
 * @tree:	the cgroups
 * @may_write:	whether "0 source=zswap" may be written into a memory.reclaim,
 *		which asks for nothing: the only way to find out
 *
 * Return: what there is; a file that can not be read is not there.
 */
struct features features_probe(const struct zf_path *sys,
			       const struct cgtree *tree, bool may_write);

/* "yes", or why memory.reclaim with source=zswap is not there. */
const char *features_reclaim_word(const struct features *features);

/* A line for people, as "zswap enabled; memory.zswap.writeback yes; ...". */
#define FEATURES_TEXT_LEN 320
const char *features_format(const struct features *features,
			    char text[FEATURES_TEXT_LEN]);

#endif
