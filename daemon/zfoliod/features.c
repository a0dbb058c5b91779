// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include <zfolio/psi.h>

#include "features.h"

#define ZSWAP "sys/module/zswap/parameters/"

/* ---- the hierarchy ---- */

/* Whether @word is among the words of a file; false when it is not there. */
static bool has_word(const struct zf_path *path, const char *file,
		     const char *word)
{
	_cleanup_free_ char *text = NULL;
	char *rest = NULL, *next;

	if (zf_path_read_string(path, file, &text) < 0)
		return false;
	for (next = strtok_r(text, " \n", &rest); next;
	     next = strtok_r(NULL, " \n", &rest)) {
		if (!strcmp(next, word))
			return true;
	}
	return false;
}

/*
 * Where cgroup2 is mounted, of several places the one with the memory
 * controller, else the first. NULL in *ret_dir when it is nowhere.
 */
static int find_mount(const struct zf_path *sys, char **ret_dir)
{
	_cleanup_free_ char *text = NULL, *first = NULL;
	char buffer[8192];
	struct mntent entry;
	size_t len;
	FILE *file;
	int r;

	*ret_dir = NULL;
	r = zf_path_read(sys, "proc/self/mounts", &text, &len);
	if (r < 0 || !len)
		return r == -ENOENT ? 0 : r;
	file = fmemopen(text, len, "r");
	if (!file)
		return -errno;
	while (getmntent_r(file, &entry, buffer, sizeof(buffer))) {
		_cleanup_(zf_path_freep) struct zf_path *dir = NULL;
		const char *name = entry.mnt_dir + strspn(entry.mnt_dir, "/");

		if (strcmp(entry.mnt_type, "cgroup2") ||
		    zf_path_open_at(sys, *name ? name : ".", &dir) < 0)
			continue;
		if (!first || has_word(dir, "cgroup.controllers", "memory")) {
			free(first);
			first = strdup(*name ? name : ".");
		}
		if (!first || has_word(dir, "cgroup.controllers", "memory"))
			break;
	}
	fclose(file);
	*ret_dir = zf_take_ptr(first);
	return 0;
}

int features_find_cgroups(const struct zf_path *sys,
			  struct zf_path **ret_cgroups, char **ret_error)
{
	_cleanup_(zf_path_freep) struct zf_path *cgroups = NULL;
	_cleanup_free_ char *dir = NULL;
	int r;

	r = find_mount(sys, &dir);
	if (r < 0)
		return r;
	if (!dir) {
		r = asprintf(ret_error,
			     "no cgroup v2 hierarchy is mounted: boot with systemd.unified_cgroup_hierarchy=1, or mount cgroup2 on /sys/fs/cgroup");
		return r < 0 ? -ENOMEM : -EOPNOTSUPP;
	}
	r = zf_path_open_at(sys, dir, &cgroups);
	if (r < 0)
		return r;
	if (!has_word(cgroups, "cgroup.controllers", "memory")) {
		r = asprintf(ret_error,
			     "/%s has no memory controller: cgroup v1 holds it, or it is switched off; boot with systemd.unified_cgroup_hierarchy=1 and without cgroup_disable=memory",
			     dir);
		return r < 0 ? -ENOMEM : -EOPNOTSUPP;
	}
	if (!has_word(cgroups, "cgroup.subtree_control", "memory")) {
		r = asprintf(ret_error,
			     "/%s does not pass the memory controller on: set MemoryAccounting=yes in systemd, or write +memory into /%s/cgroup.subtree_control",
			     dir, dir);
		return r < 0 ? -ENOMEM : -EOPNOTSUPP;
	}
	*ret_cgroups = zf_take_ptr(cgroups);
	return 0;
}

/* ---- knobs ---- */

/*
 * No bytes are asked for, so nothing is written back; a kernel that does not
 * know the word refuses it before it does anything.
 */
static int try_source(const struct cgtree *tree)
{
	struct node *const *nodes;
	size_t nr;
	int r;

	nodes = cgtree_nodes(tree, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!(nodes[i]->has & KNOB_BIT(KNOB_RECLAIM)))
			continue;
		r = zf_path_write(zf_cgroup_path(nodes[i]->cgroup),
				  knob_files[KNOB_RECLAIM], "0 source=zswap");
		/* One that has gone tells nothing about the kernel. */
		if (!zf_cgroup_is_gone(r))
			return r < 0 ? r : 1;
	}
	return 0;
}

struct features features_probe(const struct zf_path *sys,
			       const struct cgtree *tree, bool may_write)
{
	_cleanup_free_ char *enabled = NULL;
	struct features features = { 0 };
	struct node *const *nodes;
	uint64_t stall;
	size_t nr;
	int r;

	features.zswap_built_in = zf_path_has(sys, ZSWAP "max_pool_percent");
	features.zswap_enabled =
		zf_path_read_string(sys, ZSWAP "enabled", &enabled) >= 0 &&
		!strcmp(enabled, "Y");
	features.psi = zf_psi_read(sys, "proc/pressure/memory", &stall) >= 0;
	nodes = cgtree_nodes(tree, &nr);
	for (size_t i = 0; i < nr; i++)
		features.knobs |= nodes[i]->has;
	r = may_write ? try_source(tree) : -ECANCELED;
	if (r <= 0) {
		features.reclaim_error = r;
		features.knobs &= ~KNOB_BIT(KNOB_RECLAIM);
	}
	return features;
}

const char *features_reclaim_word(const struct features *features)
{
	if (features->knobs & KNOB_BIT(KNOB_RECLAIM))
		return "yes";
	return features->reclaim_error == -EINVAL ? "not in this kernel" :
	       features->reclaim_error == -ECANCELED ? "not tried" :
	       features->reclaim_error ? strerror(-features->reclaim_error) :
					 "no cgroup to try it on";
}

const char *features_format(const struct features *features,
			    char text[FEATURES_TEXT_LEN])
{
	snprintf(text, FEATURES_TEXT_LEN,
		 "zswap %s; PSI %s; %s %s; %s %s; %s %s; %s source=zswap %s",
		 !features->zswap_built_in ? "not in this kernel" :
		 features->zswap_enabled ? "enabled" : "disabled",
		 features->psi ? "on" : "off",
		 knob_files[KNOB_WRITEBACK],
		 features->knobs & KNOB_BIT(KNOB_WRITEBACK) ? "yes" : "no",
		 knob_files[KNOB_ZSWAP_MAX],
		 features->knobs & KNOB_BIT(KNOB_ZSWAP_MAX) ? "yes" : "no",
		 knob_files[KNOB_SWAPIN_MAX],
		 features->knobs & KNOB_BIT(KNOB_SWAPIN_MAX) ? "yes" : "no",
		 knob_files[KNOB_RECLAIM], features_reclaim_word(features));
	return text;
}
