/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * glob.h - patterns over the path of a cgroup
 *
 * A path is written without a slash at either end, as "user.slice/app.scope";
 * the root is "". A pattern is compared level by level:
 *
 *	?  *  [a-z]	as in a shell, within one level
 *	**		as a whole level: any number of levels, also none
 *
 * So "**" alone is everything, and "user.slice", a slash and "**" are user.slice
 * and all below it. A backslash stands for itself, since systemd's names hold
 * them ("a\x2db"): a name can be pasted as it is. A "*", "?" or "[" in a name
 * is put in brackets.
 */
#ifndef ZFOLIO_GLOB_H
#define ZFOLIO_GLOB_H

#include <stdbool.h>

/**
 * zf_glob_check() - whether a pattern is well formed
 * @pattern:	the pattern
 *
 * Return: 0, or -EINVAL for a slash at an end or twice in a row, or a "**"
 * that is only a part of its level.
 */
int zf_glob_check(const char *pattern);

/* Whether the path matches the pattern, which zf_glob_check() found good. */
bool zf_glob_match(const char *pattern, const char *path);

/**
 * zf_glob_compare() - which of two patterns is the more specific one
 * @a:	a pattern
 * @b:	another one
 *
 * A pattern without wildcards beats one with; then the one with more literal
 * characters wins; then the one with fewer "**".
 *
 * Return: below, equal to or above 0, as @a is less, equally or more specific.
 */
int zf_glob_compare(const char *a, const char *b);

#endif
