// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <zfolio/path.h>

struct zf_path {
	int fd;
	char *prefix;
};

/* ---- the context ---- */

static bool name_is_relative(const char *name)
{
	return name && *name && *name != '/';
}

static int path_open(int parent_fd, const char *name, char *prefix,
		     struct zf_path **ret_path)
{
	_cleanup_free_ char *owned_prefix = prefix;
	_cleanup_close_ int fd = -EBADF;
	struct zf_path *path;

	if (!prefix)
		return -ENOMEM;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	path = malloc(sizeof(*path));
	if (!path)
		return -ENOMEM;
	path->fd = zf_take_fd(&fd);
	path->prefix = zf_take_ptr(owned_prefix);
	*ret_path = path;
	return 0;
}

int zf_path_open(const char *dir, struct zf_path **ret_path)
{
	if (!dir || !*dir)
		return -EINVAL;
	return path_open(AT_FDCWD, dir, strdup(dir), ret_path);
}

int zf_path_open_at(const struct zf_path *parent, const char *name,
		    struct zf_path **ret_path)
{
	size_t len = strlen(parent->prefix);
	char *prefix;

	if (!name_is_relative(name))
		return -EINVAL;
	while (len && parent->prefix[len - 1] == '/')
		len--;
	if (asprintf(&prefix, "%.*s/%s", (int)len, parent->prefix, name) < 0)
		return -ENOMEM;
	return path_open(parent->fd, name, prefix, ret_path);
}

void zf_path_free(struct zf_path *path)
{
	if (!path)
		return;
	zf_closep(&path->fd);
	free(path->prefix);
	free(path);
}

int zf_path_fd(const struct zf_path *path)
{
	return path->fd;
}

const char *zf_path_prefix(const struct zf_path *path)
{
	return path->prefix;
}

int zf_path_open_dir(const struct zf_path *path, DIR **ret_stream)
{
	_cleanup_close_ int fd = -EBADF;
	DIR *stream;

	fd = openat(path->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	stream = fdopendir(fd);
	if (!stream)
		return -errno;
	zf_take_fd(&fd);
	*ret_stream = stream;
	return 0;
}

bool zf_path_has(const struct zf_path *path, const char *name)
{
	return name_is_relative(name) && !faccessat(path->fd, name, F_OK, 0);
}

/* ---- whole files ---- */

static int file_open(const struct zf_path *path, const char *name, int flags)
{
	int fd;

	if (!name_is_relative(name))
		return -EINVAL;
	do {
		fd = openat(path->fd, name, flags | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int zf_path_read(const struct zf_path *path, const char *name,
		 char **ret_text, size_t *ret_len)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	size_t len = 0, room = 0;

	fd = file_open(path, name, O_RDONLY);
	if (fd < 0)
		return fd;

	for (;;) {
		ssize_t n;

		/* One byte is always kept for the terminating NUL. */
		if (len + 1 >= room) {
			char *larger;

			if (len > ZF_PATH_MAX_BYTES)
				return -EFBIG;
			room = room ? room * 2 : 4096;
			larger = realloc(text, room);
			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		n = read(fd, text + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += n;
	}
	if (len > ZF_PATH_MAX_BYTES)
		return -EFBIG;

	text[len] = '\0';
	*ret_text = zf_take_ptr(text);
	if (ret_len)
		*ret_len = len;
	return 0;
}

static int file_write(const struct zf_path *path, const char *name,
		      const char *value, bool retry)
{
	_cleanup_close_ int fd = -EBADF;
	size_t len = strlen(value);
	ssize_t n;

	/* Kernel files ignore O_TRUNC; a captured file loses its old value. */
	fd = file_open(path, name, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return fd;
	do {
		n = write(fd, value, len);
	} while (n < 0 && errno == EINTR && retry);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int zf_path_write(const struct zf_path *path, const char *name,
		  const char *value)
{
	return file_write(path, name, value, true);
}

int zf_path_write_interruptible(const struct zf_path *path, const char *name,
				const char *value)
{
	return file_write(path, name, value, false);
}

/* ---- values ---- */

/*
 * strtoull() would take signs, blanks and octal numbers; kernel files have
 * none of them, so each is a sign of having read something else.
 */
static int parse_digits(const char *text, const char **ret_end,
			uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *text - '0', &value))
			return -ERANGE;
	}
	*ret_end = text;
	*ret_value = value;
	return 0;
}

int zf_parse_u64(const char *text, uint64_t *ret_value)
{
	const char *end;
	uint64_t value;
	int r;

	if (!strcmp(text, "max")) {
		*ret_value = UINT64_MAX;
		return 0;
	}
	r = parse_digits(text, &end, &value);
	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int zf_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMG";
	const char *end, *unit;
	uint64_t value;
	int r;

	r = parse_digits(text, &end, &value);
	if (r < 0)
		return r;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return -EINVAL;
		if (__builtin_mul_overflow(value,
					   1ULL << (10 * (unit - units + 1)),
					   &value))
			return -ERANGE;
	}
	*ret_bytes = value;
	return 0;
}

int zf_path_read_string(const struct zf_path *path, const char *name,
			char **ret_text)
{
	size_t len;
	char *text;
	int r;

	r = zf_path_read(path, name, &text, &len);
	if (r < 0)
		return r;
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	*ret_text = text;
	return 0;
}

int zf_path_read_u64(const struct zf_path *path, const char *name,
		     uint64_t *ret_value)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = zf_path_read_string(path, name, &text);
	if (r < 0)
		return r;
	return zf_parse_u64(text, ret_value);
}

int zf_path_hold(const struct zf_path *path, const char *name)
{
	return file_open(path, name, O_RDONLY);
}

int zf_held_read_u64(int fd, uint64_t *ret_value)
{
	/* Longer than any number of 64 bits with its newline. */
	char text[32];
	ssize_t n;

	do {
		n = pread(fd, text, sizeof(text), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == sizeof(text))
		return -ERANGE;
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	return zf_parse_u64(text, ret_value);
}

int zf_path_read_active(const struct zf_path *path, const char *name,
			char **ret_word)
{
	_cleanup_free_ char *text = NULL;
	char *word, *end;
	int r;

	r = zf_path_read(path, name, &text, NULL);
	if (r < 0)
		return r;
	word = strchr(text, '[');
	end = word ? strchr(word, ']') : NULL;
	if (!end || end == word + 1)
		return -EINVAL;
	word = strndup(word + 1, end - word - 1);
	if (!word)
		return -ENOMEM;
	*ret_word = word;
	return 0;
}

/* ---- "key value" lines ---- */

/* The value of @key in @text: 1 when found, 0 when not, or -EINVAL, -ERANGE. */
static int keyed_find(const char *text, const char *key, uint64_t *ret_value)
{
	size_t len = strlen(key);
	const char *line, *end;
	int r;

	for (line = text; *line; line = end + 1) {
		end = strchrnul(line, '\n');
		if (!strncmp(line, key, len) && line[len] == ' ') {
			const char *stop;

			r = parse_digits(line + len + 1, &stop, ret_value);
			if (r < 0)
				return r;
			return stop == end ? 1 : -EINVAL;
		}
		if (!*end)
			break;
	}
	return 0;
}

int zf_keyed_parse(const char *text, struct zf_key *keys, size_t nr_keys)
{
	uint64_t value;
	int r, found = 0;

	/* First a dry run, so that a bad line leaves @keys as it was. */
	for (size_t i = 0; i < nr_keys; i++) {
		r = keyed_find(text, keys[i].key, &value);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < nr_keys; i++) {
		r = keyed_find(text, keys[i].key, &value);
		keys[i].found = r > 0;
		if (!r)
			continue;
		keys[i].value = value;
		found++;
	}
	return found;
}

int zf_path_read_keys(const struct zf_path *path, const char *name,
		      struct zf_key *keys, size_t nr_keys)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = zf_path_read(path, name, &text, NULL);
	if (r < 0)
		return r;
	return zf_keyed_parse(text, keys, nr_keys);
}

int zf_path_read_key(const struct zf_path *path, const char *name,
		     const char *key, uint64_t *ret_value)
{
	struct zf_key wanted = { .key = key };
	int r;

	r = zf_path_read_keys(path, name, &wanted, 1);
	if (r < 0)
		return r;
	if (!wanted.found)
		return -ENODATA;
	*ret_value = wanted.value;
	return 0;
}
