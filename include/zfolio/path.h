/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.h - read and write kernel files below a directory handle
 *
 * A path context is a directory handle and the name it was opened by. Every
 * file is named relative to it, so the same code runs on a live "/" and on a
 * captured tree that holds "proc/vmstat" or "sys/fs/cgroup/a/memory.stat":
 *
 *	_cleanup_(zf_path_freep) struct zf_path *sys = NULL;
 *	uint64_t percent;
 *	int r;
 *
 *	r = zf_path_open("/", &sys);
 *	if (r < 0)
 *		return r;
 *	r = zf_path_read_u64(sys, "sys/module/zswap/parameters/max_pool_percent",
 *			     &percent);
 *
 * Every function returns 0 (or what it says) or a negative errno, leaves its
 * ret_ outputs untouched on failure, and logs nothing. Errors that any of them
 * may return:
 *
 *	-EINVAL		a name that is empty or absolute, or a value that is
 *			not of the stated shape
 *	-ENOENT		no such file: an older kernel, or the cgroup is gone
 *	-ENODEV		the cgroup went away between open and read or write
 *	-ENOMEM, and whatever open(2), read(2) and write(2) return
 *
 * A context may be used by several threads at once; nothing in it changes
 * after it was opened.
 */
#ifndef ZFOLIO_PATH_H
#define ZFOLIO_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zfolio/cleanup.h>

/*
 * The longest file that is read. memory.stat of a large machine has some tens
 * of KiB and /proc/PID/smaps some MiB; anything beyond is not one of ours.
 */
#define ZF_PATH_MAX_BYTES ((size_t)16 << 20)

struct zf_path;

/**
 * zf_path_open() - open a directory as a path context
 * @dir:	its name, absolute or relative to the working directory
 * @ret_path:	the context, to be given back with zf_path_free()
 *
 * Return: 0, -ENOTDIR, or a common error.
 */
int zf_path_open(const char *dir, struct zf_path **ret_path);

/**
 * zf_path_open_at() - open a directory below another context
 * @parent:	where to start; need not outlive the new context
 * @name:	the directory, relative to @parent
 * @ret_path:	the context, to be given back with zf_path_free()
 *
 * Return: 0, -ENOTDIR, or a common error.
 */
int zf_path_open_at(const struct zf_path *parent, const char *name,
		    struct zf_path **ret_path);

void zf_path_free(struct zf_path *path);
ZF_DEFINE_CLEANUP(struct zf_path, zf_path_free, zf_path_free)

/* The directory handle, for the *at() system calls; belongs to @path. */
int zf_path_fd(const struct zf_path *path);

/* The name it was opened by, for messages; belongs to @path. */
const char *zf_path_prefix(const struct zf_path *path);

/* The directory itself as a stream, to be given to closedir(). */
int zf_path_open_dir(const struct zf_path *path, DIR **ret_stream);

/* Whether @name is there; any error to look it up counts as no. */
bool zf_path_has(const struct zf_path *path, const char *name);

/**
 * zf_path_read() - read a whole file
 * @path:	context
 * @name:	file
 * @ret_text:	its bytes and a terminating NUL, to be given to free()
 * @ret_len:	number of bytes without that NUL; may be NULL
 *
 * Reads to the end whatever the file's stated size is (kernel files state
 * none, or 4096), and goes on after EINTR.
 *
 * Return: 0, -EFBIG beyond ZF_PATH_MAX_BYTES, or a common error.
 */
int zf_path_read(const struct zf_path *path, const char *name,
		 char **ret_text, size_t *ret_len);

/* The same without the newlines and blanks at its end. */
int zf_path_read_string(const struct zf_path *path, const char *name,
			char **ret_text);

/**
 * zf_path_read_u64() - read a file that holds one unsigned decimal number
 * @path:	context
 * @name:	file
 * @ret_value:	the number; UINT64_MAX for "max", cgroup v2's word for no limit
 *
 * Return: 0, -EINVAL for anything else than one number or "max", -ERANGE for a
 * number beyond 64 bits, or a common error.
 */
int zf_path_read_u64(const struct zf_path *path, const char *name,
		     uint64_t *ret_value);

/**
 * zf_path_hold() - open a file that is read again and again
 * @path:	context
 * @name:	file
 *
 * Return: a descriptor for zf_held_read_u64() and close(2), or a common error.
 */
int zf_path_hold(const struct zf_path *path, const char *name);

/*
 * zf_path_read_u64() of a file that is held: one system call. -ENODEV when the
 * cgroup is gone, whatever stands under its name now.
 */
int zf_held_read_u64(int fd, uint64_t *ret_value);

/**
 * zf_path_read_active() - read the chosen word of a file of words
 * @path:	context
 * @name:	file, as "always inherit [madvise] never"
 * @ret_word:	the word in brackets, to be given to free()
 *
 * Return: 0, -EINVAL when no word is in brackets, or a common error.
 */
int zf_path_read_active(const struct zf_path *path, const char *name,
			char **ret_word);

/**
 * struct zf_key - one line wanted of a file of "key value" lines
 * @key:	whole first word of the line
 * @value:	its number, filled in by zf_keyed_parse(), untouched when absent
 * @found:	whether the line was there, filled in likewise
 */
struct zf_key {
	const char *key;
	uint64_t value;
	bool found;
};

/**
 * zf_keyed_parse() - pick lines of a text as memory.stat and vmstat have it
 * @text:	lines of "key value"; a line of another shape is passed over,
 *		as new kernels add lines
 * @keys:	what is wanted; of a key that stands twice the first line counts
 * @nr_keys:	number of them
 *
 * Return: how many were found, or -EINVAL or -ERANGE when the value of a
 * wanted key is no number of 64 bits; then @keys is as before.
 */
int zf_keyed_parse(const char *text, struct zf_key *keys, size_t nr_keys);

/* zf_keyed_parse() of a file, read once. */
int zf_path_read_keys(const struct zf_path *path, const char *name,
		      struct zf_key *keys, size_t nr_keys);

/* One key of a file; -ENODATA when the file is there and the key is not. */
int zf_path_read_key(const struct zf_path *path, const char *name,
		     const char *key, uint64_t *ret_value);

/**
 * zf_path_write() - write a value into an existing file
 * @path:	context
 * @name:	file; never created
 * @value:	what to write, in one write(2)
 *
 * A kernel file takes each write(2) as one command. A short write is therefore
 * an error, since writing the rest would be a second, different command.
 * Goes on after EINTR.
 *
 * Return: 0, -EIO after a short write, or a common error.
 */
int zf_path_write(const struct zf_path *path, const char *name,
		  const char *value);

/*
 * The same, but a signal ends it with -EINTR: for commands that work for long
 * before they return, as memory.reclaim does.
 */
int zf_path_write_interruptible(const struct zf_path *path, const char *name,
				const char *value);

/* Parse one unsigned decimal number or "max"; 0, -EINVAL or -ERANGE. */
int zf_parse_u64(const char *text, uint64_t *ret_value);

/**
 * zf_parse_size() - parse a size as people write it
 * @text:	digits and an optional K, M or G (powers of 1024)
 * @ret_bytes:	the size
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int zf_parse_size(const char *text, uint64_t *ret_bytes);

#endif
