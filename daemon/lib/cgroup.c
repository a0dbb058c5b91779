// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <zfolio/cgroup.h>

struct zf_cgroup {
	struct zf_path *path;
	uint64_t id;
};

int zf_cgroup_open(const struct zf_path *parent, const char *name,
		   struct zf_cgroup **ret_cgroup)
{
	_cleanup_(zf_path_freep) struct zf_path *path = NULL;
	struct zf_cgroup *cgroup;
	struct stat st;
	int r;

	r = zf_path_open_at(parent, name, &path);
	if (r < 0)
		return r;
	if (fstat(zf_path_fd(path), &st) < 0)
		return -errno;
	cgroup = malloc(sizeof(*cgroup));
	if (!cgroup)
		return -ENOMEM;
	cgroup->path = zf_take_ptr(path);
	cgroup->id = st.st_ino;
	*ret_cgroup = cgroup;
	return 0;
}

int zf_cgroup_create(const struct zf_path *parent, const char *name,
		     struct zf_cgroup **ret_cgroup)
{
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;
	int r;

	if (!*name || strchr(name, '/'))
		return -EINVAL;
	/* sysfs and the like answer mkdir() with errors of their own. */
	if (!zf_path_has(parent, "cgroup.controllers"))
		return -EOPNOTSUPP;
	if (mkdirat(zf_path_fd(parent), name, 0755) < 0)
		return -errno;
	r = zf_cgroup_open(parent, name, &cgroup);
	if (r >= 0 && !zf_path_has(cgroup->path, "memory.current"))
		r = -EOPNOTSUPP;
	if (r < 0) {
		unlinkat(zf_path_fd(parent), name, AT_REMOVEDIR);
		return r;
	}
	*ret_cgroup = zf_take_ptr(cgroup);
	return 0;
}

void zf_cgroup_free(struct zf_cgroup *cgroup)
{
	if (!cgroup)
		return;
	zf_path_free(cgroup->path);
	free(cgroup);
}

const struct zf_path *zf_cgroup_path(const struct zf_cgroup *cgroup)
{
	return cgroup->path;
}

uint64_t zf_cgroup_id(const struct zf_cgroup *cgroup)
{
	return cgroup->id;
}

int zf_cgroup_attach(const struct zf_cgroup *cgroup, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", (long)pid);
	return zf_path_write(cgroup->path, "cgroup.procs", text);
}

int zf_cgroup_reclaim(const struct zf_cgroup *cgroup, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	return zf_path_write_interruptible(cgroup->path, "memory.reclaim", text);
}

int zf_cgroup_stat(const struct zf_cgroup *cgroup, struct zf_key *keys,
		   size_t nr_keys)
{
	return zf_path_read_keys(cgroup->path, "memory.stat", keys, nr_keys);
}

int zf_cgroup_kill(const struct zf_cgroup *cgroup)
{
	return zf_path_write(cgroup->path, "cgroup.kill", "1");
}

int zf_cgroup_remove(const struct zf_path *parent, const char *name,
		     struct zf_cgroup *cgroup)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	zf_cgroup_free(cgroup);
	for (int ms = 0; ; ms += 10) {
		if (!unlinkat(zf_path_fd(parent), name, AT_REMOVEDIR) ||
		    errno == ENOENT)
			return 0;
		if (errno != EBUSY || ms >= ZF_CGROUP_REMOVE_MS)
			return -errno;
		nanosleep(&pause, NULL);
	}
}
