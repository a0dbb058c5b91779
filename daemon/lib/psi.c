// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zfolio/psi.h>

int zf_psi_parse(const char *text, uint64_t *ret_usec)
{
	static const char key[] = " total=";
	_cleanup_free_ char *number = NULL;
	const char *end, *total;

	if (!*text)
		return -ENODATA;
	if (strncmp(text, "some ", 5))
		return -EINVAL;
	end = strchrnul(text, '\n');
	total = memmem(text, end - text, key, sizeof(key) - 1);
	if (!total)
		return -EINVAL;
	total += sizeof(key) - 1;
	number = strndup(total, end - total);
	if (!number)
		return -ENOMEM;
	return zf_parse_u64(number, ret_usec);
}

int zf_psi_read(const struct zf_path *path, const char *name,
		uint64_t *ret_usec)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = zf_path_read(path, name, &text, NULL);
	if (r < 0)
		return r;
	return zf_psi_parse(text, ret_usec);
}

bool zf_psi_is_off(int error)
{
	return error == -EOPNOTSUPP || error == -ENOENT || error == -ENODATA;
}

int zf_psi_trigger(const struct zf_path *path, const char *name,
		   uint64_t stall_usec, uint64_t window_usec)
{
	_cleanup_close_ int fd = -EBADF;
	char text[64];
	ssize_t n, len;

	if (!*name || *name == '/')
		return -EINVAL;
	fd = openat(zf_path_fd(path), name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* With its NUL: kernels before 5.19 take the last byte for one. */
	len = snprintf(text, sizeof(text), "some %" PRIu64 " %" PRIu64,
		       stall_usec, window_usec) + 1;
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	if (n != len)
		return -EIO;
	return zf_take_fd(&fd);
}
