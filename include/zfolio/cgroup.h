/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.h - one cgroup v2 directory
 *
 * A cgroup is held by a handle on its directory: when it is removed and made
 * again under the same name, the old handle answers -ENODEV and never speaks
 * of the new one. The id tells the two apart as well.
 *
 * Errors are those of path.h; -ENOENT and -ENODEV both mean that the cgroup is
 * gone, which is an everyday event and no fault (zf_cgroup_is_gone()).
 */
#ifndef ZFOLIO_CGROUP_H
#define ZFOLIO_CGROUP_H

#include <sys/types.h>

#include <zfolio/path.h>

struct zf_cgroup;

/**
 * zf_cgroup_open() - hold an existing cgroup
 * @parent:	context of the hierarchy's root or of a cgroup
 * @name:	its name below @parent
 * @ret_cgroup:	the cgroup, to be given back with zf_cgroup_free()
 */
int zf_cgroup_open(const struct zf_path *parent, const char *name,
		   struct zf_cgroup **ret_cgroup);

/**
 * zf_cgroup_create() - make a cgroup and hold it
 * @parent:	as for zf_cgroup_open()
 * @name:	its name: one path component
 * @ret_cgroup:	the cgroup, to be given back with zf_cgroup_free()
 *
 * Return: 0, -EEXIST when there is one already, -EOPNOTSUPP when @parent does
 * not pass the memory controller on ("memory" is missing in its
 * cgroup.subtree_control, or this is no cgroup v2), or a common error. After
 * an error nothing is left behind.
 */
int zf_cgroup_create(const struct zf_path *parent, const char *name,
		     struct zf_cgroup **ret_cgroup);

/* Let go of the handle; the cgroup itself stays. */
void zf_cgroup_free(struct zf_cgroup *cgroup);
ZF_DEFINE_CLEANUP(struct zf_cgroup, zf_cgroup_free, zf_cgroup_free)

/* Its files, as memory.stat; belongs to @cgroup. */
const struct zf_path *zf_cgroup_path(const struct zf_cgroup *cgroup);

/* Inode number of the directory: its identity while the system runs. */
uint64_t zf_cgroup_id(const struct zf_cgroup *cgroup);

/* Whether the error of another function says that the cgroup was removed. */
static inline bool zf_cgroup_is_gone(int error)
{
	return error == -ENOENT || error == -ENODEV;
}

/* Move a process in; 0 stands for the calling one. -ESRCH when it has ended. */
int zf_cgroup_attach(const struct zf_cgroup *cgroup, pid_t pid);

/**
 * zf_cgroup_reclaim() - take memory from the cgroup now
 * @cgroup:	the cgroup
 * @bytes:	how much
 *
 * May work for seconds; a signal ends it.
 *
 * Return: 0 when @bytes were reclaimed, -EAGAIN when it was less (partial
 * success, as usual), -EINTR after a signal, -ENOENT before Linux 5.19.
 */
int zf_cgroup_reclaim(const struct zf_cgroup *cgroup, uint64_t bytes);

/* Lines of its memory.stat; as zf_path_read_keys(). */
int zf_cgroup_stat(const struct zf_cgroup *cgroup, struct zf_key *keys,
		   size_t nr_keys);

/* SIGKILL to every process in it and below; -ENOENT before Linux 5.14. */
int zf_cgroup_kill(const struct zf_cgroup *cgroup);

/**
 * zf_cgroup_remove() - remove the directory and free the handle
 * @parent:	as given to zf_cgroup_create()
 * @name:	likewise
 * @cgroup:	the cgroup, freed in any case; may be NULL
 *
 * A process that was just killed keeps its cgroup busy for a moment: waits up
 * to ZF_CGROUP_REMOVE_MS.
 *
 * Return: 0 (also when it was gone already), or -EBUSY while processes or
 * children are left.
 */
int zf_cgroup_remove(const struct zf_path *parent, const char *name,
		     struct zf_cgroup *cgroup);

/* Exit of a process with some GiB takes below a second; ten times that. */
#define ZF_CGROUP_REMOVE_MS 10000

#endif
