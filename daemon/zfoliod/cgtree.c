// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "cgtree.h"

/* ---- data structures ---- */

struct nodes {
	struct node **at;
	size_t nr, room;
};

struct cgtree {
	const struct zf_path *root;
	const struct config *config;
	struct nodes nodes;		/* parents before their children */
	struct node **by_id;		/* the same, sorted */
};

/* One walk; old nodes that are found again are taken over. */
struct walk {
	const struct cgtree *tree;
	struct nodes found;
};

static void node_free(struct node *node)
{
	if (!node)
		return;
	zf_cgroup_free(node->cgroup);
	zf_closep(&node->swap_fd);
	free(node->path);
	free(node);
}

ZF_DEFINE_CLEANUP(struct node, node_free, node_free)

int cgtree_new(const struct zf_path *root, const struct config *config,
	       struct cgtree **ret_tree)
{
	struct cgtree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->root = root;
	tree->config = config;
	*ret_tree = tree;
	return 0;
}

void cgtree_free(struct cgtree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->nodes.nr; i++)
		node_free(tree->nodes.at[i]);
	free(tree->nodes.at);
	free(tree->by_id);
	free(tree);
}

void cgtree_set_config(struct cgtree *tree, const struct config *config)
{
	tree->config = config;
	for (size_t i = 0; i < tree->nodes.nr; i++) {
		struct node *node = tree->nodes.at[i];

		node->policy = config_policy(config, node->path);
	}
}

struct node *const *cgtree_nodes(const struct cgtree *tree, size_t *ret_nr)
{
	*ret_nr = tree->nodes.nr;
	return tree->nodes.at;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = (*(const struct node *const *)a)->id;
	uint64_t y = (*(const struct node *const *)b)->id;

	return (x > y) - (x < y);
}

struct node *cgtree_find(const struct cgtree *tree, uint64_t id)
{
	const struct node key = { .id = id }, *wanted = &key;
	struct node **found;

	if (!tree->nodes.nr)
		return NULL;
	found = bsearch(&wanted, tree->by_id, tree->nodes.nr, sizeof(wanted),
			compare_ids);
	return found ? *found : NULL;
}

/* ---- one cgroup ---- */

/* Errors that concern one cgroup only: it went away, or is not for us. */
static bool concerns_one(int error)
{
	return zf_cgroup_is_gone(error) || error == -EACCES ||
	       error == -EPERM || error == -ENOTDIR;
}

static bool is_delegated(const struct node *node)
{
	char value[2];

	return fgetxattr(zf_path_fd(zf_cgroup_path(node->cgroup)),
			 "user.delegate", value, sizeof(value)) == 1 &&
	       *value == '1';
}

static void find_knobs(struct node *node)
{
	for (unsigned int knob = 0; knob < NR_KNOBS; knob++) {
		if (zf_path_has(zf_cgroup_path(node->cgroup),
				knob_files[knob]))
			node->has |= KNOB_BIT(knob);
	}
}

static int node_open(const struct zf_path *dir, const char *name,
		     struct node *parent, const struct config *config,
		     struct node **ret_node)
{
	_cleanup_(node_freep) struct node *node = calloc(1, sizeof(*node));
	int r;

	if (!node)
		return -ENOMEM;
	node->swap_fd = -EBADF;
	r = zf_cgroup_open(dir, name, &node->cgroup);
	if (r < 0)
		return r;
	if (!zf_path_has(zf_cgroup_path(node->cgroup), "memory.stat"))
		return -ENOENT;
	if (asprintf(&node->path, "%s%s%s", parent ? parent->path : "",
		     parent ? "/" : "", name) < 0) {
		node->path = NULL;
		return -ENOMEM;
	}
	node->id = zf_cgroup_id(node->cgroup);
	find_knobs(node);
	node->policy = config_policy(config, node->path);
	*ret_node = zf_take_ptr(node);
	return 0;
}

/* ---- the walk ---- */

static int nodes_add(struct nodes *nodes, struct node *node)
{
	if (nodes->nr == nodes->room) {
		size_t room = nodes->room ? nodes->room * 2 : 64;
		struct node **larger;

		larger = realloc(nodes->at, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		nodes->at = larger;
		nodes->room = room;
	}
	nodes->at[nodes->nr++] = node;
	return 0;
}

static int walk_entry(struct walk *walk, const struct zf_path *dir,
		      const struct dirent *entry, struct node *parent)
{
	_cleanup_(node_freep) struct node *opened = NULL;
	struct node *node;
	struct stat st;
	int r;

	/* A cgroup can not be renamed: the same id is the same node. */
	node = cgtree_find(walk->tree, entry->d_ino);
	/* By its handle, which spares the walk of a path: there are many. */
	r = node ? fstat(zf_path_fd(zf_cgroup_path(node->cgroup)), &st) :
		   fstatat(zf_path_fd(dir), entry->d_name, &st,
			   AT_SYMLINK_NOFOLLOW);
	if (r < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (!node) {
		r = node_open(dir, entry->d_name, parent, walk->tree->config,
			      &opened);
		if (r < 0)
			return r;
		node = opened;
	} else if (!node->settled) {
		find_knobs(node);
		node->settled = true;
	}
	r = nodes_add(&walk->found, node);
	if (r < 0)
		return r;
	opened = NULL;
	node->parent = parent;
	/* Two links: no directory below, on cgroup2 and most others. */
	node->has_children = st.st_nlink != 2;
	return 0;
}

/* Adds the children of @parent (the root's: NULL). */
static int walk_children(struct walk *walk, struct node *parent)
{
	const struct zf_path *dir = parent ? zf_cgroup_path(parent->cgroup) :
					     walk->tree->root;
	_cleanup_closedir_ DIR *stream = NULL;
	const struct dirent *entry;
	int r;

	r = zf_path_open_dir(dir, &stream);
	if (r < 0)
		return r;
	for (;;) {
		errno = 0;
		entry = readdir(stream);
		if (!entry)
			return -errno;
		if (*entry->d_name == '.' ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		r = walk_entry(walk, dir, entry, parent);
		if (r < 0 && !concerns_one(r))
			return r;
	}
}

static int walk_all(struct walk *walk)
{
	size_t next = 0;
	int r;

	r = walk_children(walk, NULL);
	if (r < 0)
		return r;
	/* Children are added behind; so each node gets its turn. */
	for (; next < walk->found.nr; next++) {
		struct node *node = walk->found.at[next];
		size_t before = walk->found.nr;

		if (node->has_children && !node->policy.subtree &&
		    !is_delegated(node)) {
			r = walk_children(walk, node);
			if (r < 0 && !concerns_one(r))
				return r;
		}
		node->is_unit = walk->found.nr == before;
	}
	return 0;
}

static bool contains(const struct nodes *nodes, const struct node *node)
{
	for (size_t i = 0; i < nodes->nr; i++) {
		if (nodes->at[i] == node)
			return true;
	}
	return false;
}

int cgtree_rescan(struct cgtree *tree)
{
	struct walk walk = { .tree = tree };
	struct node **by_id = NULL;
	int r;

	r = walk_all(&walk);
	if (r >= 0) {
		by_id = malloc((walk.found.nr + 1) * sizeof(*by_id));
		if (!by_id)
			r = -ENOMEM;
	}
	if (r < 0) {
		for (size_t i = 0; i < walk.found.nr; i++) {
			if (!contains(&tree->nodes, walk.found.at[i]))
				node_free(walk.found.at[i]);
		}
		free(walk.found.at);
		return r;
	}
	for (size_t i = 0; i < walk.found.nr; i++)
		by_id[i] = walk.found.at[i];
	qsort(by_id, walk.found.nr, sizeof(*by_id), compare_ids);

	/* Whoever is not found again goes; both are sorted by id. */
	for (size_t old = 0, new = 0; old < tree->nodes.nr; old++) {
		struct node *node = tree->by_id[old];

		while (new < walk.found.nr && by_id[new]->id < node->id)
			new++;
		if (new == walk.found.nr || by_id[new] != node)
			node_free(node);
	}
	free(tree->nodes.at);
	free(tree->by_id);
	tree->nodes = walk.found;
	tree->by_id = by_id;
	return 0;
}
