// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zfolio/glob.h>

/* ---- levels ---- */

struct level {
	const char *name;
	size_t len;
};

/* The level at *p, moving *p behind it and its slash; false at the end. */
static bool next_level(const char **p, struct level *ret)
{
	const char *end;

	if (!**p)
		return false;
	end = strchrnul(*p, '/');
	*ret = (struct level){ .name = *p, .len = end - *p };
	*p = *end ? end + 1 : end;
	return true;
}

static bool level_is_any_depth(struct level level)
{
	return level.len == 2 && !strncmp(level.name, "**", 2);
}

/*
 * fnmatch() wants whole strings. A name has at most NAME_MAX bytes, and a
 * pattern that can match one at most four times that ("[x]" for each byte).
 */
static bool level_match(struct level pattern, struct level name)
{
	char p[4 * NAME_MAX + 1], n[NAME_MAX + 1];

	if (pattern.len >= sizeof(p) || name.len >= sizeof(n))
		return false;
	memcpy(p, pattern.name, pattern.len);
	p[pattern.len] = '\0';
	memcpy(n, name.name, name.len);
	n[name.len] = '\0';
	return !fnmatch(p, n, FNM_NOESCAPE);
}

/* ---- matching ---- */

/*
 * Only the last "**" ever has to give way: what stood before it has matched
 * as early as possible, which leaves the most for the rest. That bounds the
 * work by levels of the pattern times levels of the path.
 */
bool zf_glob_match(const char *pattern, const char *path)
{
	const char *retry_pattern = NULL, *retry_path = NULL;

	for (;;) {
		const char *after = pattern, *rest = path;
		struct level want, have;
		bool has_want = next_level(&after, &want);
		bool has_have = next_level(&rest, &have);

		if (has_want && level_is_any_depth(want)) {
			retry_pattern = pattern = after;
			retry_path = path;
			continue;
		}
		if (!has_want && !has_have)
			return true;
		if (has_want && has_have && level_match(want, have)) {
			pattern = after;
			path = rest;
			continue;
		}
		if (!retry_pattern || !next_level(&retry_path, &have))
			return false;
		pattern = retry_pattern;
		path = retry_path;
	}
}

int zf_glob_check(const char *pattern)
{
	const char *p = pattern;
	struct level level;
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '/')
		return -EINVAL;
	while (next_level(&p, &level)) {
		if (!level.len)
			return -EINVAL;
		if (!level_is_any_depth(level) &&
		    memmem(level.name, level.len, "**", 2))
			return -EINVAL;
	}
	return 0;
}

/* ---- rank ---- */

struct rank {
	int exact;
	int literals;
	int any_depths;
};

static struct rank rank_of(const char *pattern)
{
	struct rank rank = { .exact = 1 };
	const char *p = pattern;
	struct level level;

	while (next_level(&p, &level)) {
		if (level_is_any_depth(level)) {
			rank.any_depths++;
			rank.exact = 0;
			continue;
		}
		for (size_t i = 0; i < level.len; i++) {
			const char *close = NULL;

			if (level.name[i] == '[')
				close = memchr(level.name + i, ']',
					       level.len - i);
			if (close)
				i = close - level.name;
			if (close || level.name[i] == '*' ||
			    level.name[i] == '?')
				rank.exact = 0;
			else
				rank.literals++;
		}
	}
	return rank;
}

int zf_glob_compare(const char *a, const char *b)
{
	struct rank x = rank_of(a), y = rank_of(b);

	if (x.exact != y.exact)
		return x.exact - y.exact;
	if (x.literals != y.literals)
		return x.literals - y.literals;
	return y.any_depths - x.any_depths;
}
