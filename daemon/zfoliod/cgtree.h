/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgtree.h - the cgroups that there are
 *
 * A node is a cgroup with the memory controller, held by a directory handle and
 * known by its id. What is tuned are the units: nodes without such cgroups
 * below them, and nodes that are taken as a whole: delegated ones (their insides
 * belong to somebody else; systemd marks them with the extended attribute
 * user.delegate) and those with subtree = yes. Nothing below a whole one is
 * looked at. The root itself has no knobs and is no node.
 *
 * A cgroup that vanishes while the tree is walked is left out silently.
 */
#ifndef ZFOLIOD_CGTREE_H
#define ZFOLIOD_CGTREE_H

#include <zfolio/cgroup.h>

#include "config.h"
#include "tick.h"

struct node {
	struct zf_cgroup *cgroup;
	uint64_t id;
	char *path;		/* without slashes at the ends */
	struct node *parent;	/* NULL below the root; stands before it in the
				 * order of nodes */
	struct policy policy;
	int swap_fd;		/* its memory.swap.current, held; or below 0 */
	uint32_t has;		/* knob files, as KNOB_BIT() */
	uint32_t locked;	/* knobs that were left to somebody else */
	bool is_unit;
	bool settled;		/* its files were looked for twice: they may have
				 * been about to appear */
	bool has_children;	/* directories, when it was last walked */
	bool has_swap;		/* as it was last seen: something of it or below
				 * it is in swap */
	bool writeback_here;	/* as it was last seen, ancestors included */
	bool seen;		/* last[] is valid */
	bool touched;		/* a knob of it was decided on: it stays in
				 * ticks, since the law forgets who is missing */
	enum reclaim_state reclaim;
	uint64_t last[NR_FIELDS];	/* counters as they were last read */
};

struct cgtree;

/**
 * cgtree_new() - start with an empty tree
 * @root:	context of the hierarchy's root; must outlive the tree
 * @config:	gives the policies; must outlive it, or be replaced
 * @ret_tree:	to be given back with cgtree_free()
 */
int cgtree_new(const struct zf_path *root, const struct config *config,
	       struct cgtree **ret_tree);

void cgtree_free(struct cgtree *tree);
ZF_DEFINE_CLEANUP(struct cgtree, cgtree_free, cgtree_free)

/* Another configuration: policies are looked up again. Rescan after it. */
void cgtree_set_config(struct cgtree *tree, const struct config *config);

/**
 * cgtree_rescan() - find cgroups that have come, drop those that have gone
 * @tree:	the tree; nodes that stay keep their address and state
 *
 * Return: 0, or an error that concerns all cgroups (-ENOMEM, -EMFILE, -ENFILE,
 * or the root can not be read); then the tree is as before.
 */
int cgtree_rescan(struct cgtree *tree);

/* All nodes, parents before their children; belongs to @tree. */
struct node *const *cgtree_nodes(const struct cgtree *tree, size_t *ret_nr);

/* The node of an id, or NULL. */
struct node *cgtree_find(const struct cgtree *tree, uint64_t id);

#endif
