// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf_files.h"

#define VENDOR_FILE	"usr/lib/zfolio/zfolio.conf"
#define ADMIN_FILE	"etc/zfolio.conf"
#define VENDOR_DIR	"usr/lib/zfolio/zfolio.conf.d"
#define ADMIN_DIR	"etc/zfolio.conf.d"

/* Reads the link itself: what it leads to may lie outside a captured tree. */
static bool is_masked(const struct zf_path *root, const char *name)
{
	static const char null[] = "/dev/null";
	char target[sizeof(null)];
	ssize_t len;

	len = readlinkat(zf_path_fd(root), name, target, sizeof(target));
	return len == sizeof(null) - 1 && !memcmp(target, null, len);
}

static const char *base_name(const char *name)
{
	return strrchr(name, '/') + 1;
}

static int add(struct conf_files *files, const char *dir, const char *name)
{
	char **larger, *whole;

	if (asprintf(&whole, "%s%s%s", dir, *dir ? "/" : "", name) < 0)
		return -ENOMEM;
	larger = realloc(files->names, (files->nr + 1) * sizeof(*larger));
	if (!larger) {
		free(whole);
		return -ENOMEM;
	}
	files->names = larger;
	files->names[files->nr++] = whole;
	return 0;
}

static bool has_drop_in(const struct conf_files *files, size_t first,
			const char *name)
{
	for (size_t i = first; i < files->nr; i++) {
		if (!strcmp(base_name(files->names[i]), name))
			return true;
	}
	return false;
}

static int add_drop_ins(const struct zf_path *root, const char *dir,
			size_t first, struct conf_files *files)
{
	_cleanup_(zf_path_freep) struct zf_path *path = NULL;
	_cleanup_closedir_ DIR *stream = NULL;
	const struct dirent *entry;
	int r, fd;

	r = zf_path_open_at(root, dir, &path);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	fd = dup(zf_path_fd(path));
	if (fd < 0)
		return -errno;
	stream = fdopendir(fd);
	if (!stream) {
		r = -errno;
		close(fd);
		return r;
	}
	while ((entry = readdir(stream))) {
		const char *end = strrchr(entry->d_name, '.');

		if (*entry->d_name == '.' || !end || strcmp(end, ".conf") ||
		    has_drop_in(files, first, entry->d_name))
			continue;
		r = add(files, dir, entry->d_name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_base_name(const void *a, const void *b)
{
	return strcmp(base_name(*(char *const *)a),
		      base_name(*(char *const *)b));
}

static void drop_masked(const struct zf_path *root, struct conf_files *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->nr; i++) {
		if (is_masked(root, files->names[i]))
			free(files->names[i]);
		else
			files->names[kept++] = files->names[i];
	}
	files->nr = kept;
}

int conf_files_find(const struct zf_path *root, struct conf_files *ret_files)
{
	struct conf_files files = { 0 };
	size_t first;
	int r = 0;

	if (zf_path_has(root, VENDOR_FILE) && !is_masked(root, ADMIN_FILE))
		r = add(&files, "", VENDOR_FILE);
	if (r >= 0 && zf_path_has(root, ADMIN_FILE))
		r = add(&files, "", ADMIN_FILE);
	first = files.nr;
	if (r >= 0)
		r = add_drop_ins(root, ADMIN_DIR, first, &files);
	if (r >= 0)
		r = add_drop_ins(root, VENDOR_DIR, first, &files);
	if (r < 0) {
		conf_files_done(&files);
		return r;
	}
	if (files.nr > first)
		qsort(files.names + first, files.nr - first,
		      sizeof(*files.names), by_base_name);
	drop_masked(root, &files);
	*ret_files = files;
	return 0;
}

void conf_files_done(struct conf_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		free(files->names[i]);
	free(files->names);
	*files = (struct conf_files){ 0 };
}
