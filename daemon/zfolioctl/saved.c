// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <jansson.h>

#include <zfolio/counters.h>

#include "saved.h"

struct saved {
	const struct zf_path *sys;
	int fd;
};

void saved_free(struct saved *saved)
{
	if (!saved)
		return;
	zf_closep(&saved->fd);
	free(saved);
}

/* The file of a folio size, below the system's root. */
#define SIZE_FILE_LEN (ZF_MTHP_DIR_LEN + sizeof("/enabled"))

static const char *size_file(unsigned int order, char name[SIZE_FILE_LEN])
{
	zf_mthp_dir(order, name);
	return strcat(name, "/enabled");
}

static void put_back(const struct saved *saved)
{
	json_auto_t *json = NULL;
	json_error_t error;

	lseek(saved->fd, 0, SEEK_SET);
	/* Empty, or cut off before anything was changed: nothing to do. */
	json = json_loadfd(saved->fd, 0, &error);
	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++) {
		char name[SIZE_FILE_LEN];
		const char *value;

		value = json_string_value(json_object_get(json,
						size_file(order, name)));
		if (value)
			zf_path_write(saved->sys, name, value);
	}
}

int saved_open(const struct zf_path *sys, struct saved **ret_saved)
{
	_cleanup_(saved_freep) struct saved *saved = calloc(1, sizeof(*saved));

	if (!saved)
		return -ENOMEM;
	saved->sys = sys;
	if (mkdirat(zf_path_fd(sys), "run/zfolio", 0755) < 0 &&
	    errno != EEXIST) {
		saved->fd = -EBADF;
		return -errno;
	}
	saved->fd = openat(zf_path_fd(sys), SAVED_FILE,
			   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (saved->fd < 0)
		return -errno;
	if (flock(saved->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	put_back(saved);
	saved_forget(saved);
	*ret_saved = zf_take_ptr(saved);
	return 0;
}

int saved_note(struct saved *saved)
{
	json_auto_t *json = json_object();

	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++) {
		_cleanup_free_ char *value = NULL;
		char name[SIZE_FILE_LEN];
		int r;

		r = zf_path_read_active(saved->sys, size_file(order, name),
					&value);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		if (json_object_set_new(json, name, json_string(value)) < 0)
			return -ENOMEM;
	}
	lseek(saved->fd, 0, SEEK_SET);
	errno = 0;
	if (json_dumpfd(json, saved->fd, JSON_COMPACT) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

void saved_forget(struct saved *saved)
{
	/* At worst the same values are written once more. */
	if (ftruncate(saved->fd, 0) < 0)
		return;
	lseek(saved->fd, 0, SEEK_SET);
}
