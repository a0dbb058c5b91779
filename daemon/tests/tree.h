/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h - a temporary tree of plain files that stands in for "/" in a test
 *
 * tree_setup() and tree_teardown() are cmocka's group fixtures; each test finds
 * the tree in *state. The others assert that they worked.
 */
#ifndef ZFOLIO_TESTS_TREE_H
#define ZFOLIO_TESTS_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <zfolio/path.h>

struct tree {
	char dir[32];
	struct zf_path *path;
};

static inline int tree_setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	strcpy(t->dir, "/tmp/zfolio-test-XXXXXX");
	if (!mkdtemp(t->dir) || zf_path_open(t->dir, &t->path) < 0) {
		free(t);
		return -1;
	}
	*state = t;
	return 0;
}

static inline int tree_remove_one(const char *name, const struct stat *st,
				  int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(name);
}

static inline int tree_teardown(void **state)
{
	struct tree *t = *state;

	zf_path_free(t->path);
	nftw(t->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(t);
	return 0;
}

/* The whole name of a file; to be given to free(). */
static inline char *tree_name(const struct tree *t, const char *name)
{
	char *whole = NULL;

	assert_true(asprintf(&whole, "%s/%s", t->dir, name) >= 0);
	return whole;
}

/* Makes the file and the directories on its way. */
static inline void tree_write(const struct tree *t, const char *name,
			      const char *text)
{
	_cleanup_free_ char *whole = tree_name(t, name);
	char *p = whole + strlen(t->dir) + 1;
	FILE *file;

	while ((p = strchr(p, '/'))) {
		*p = '\0';
		mkdir(whole, 0755);
		*p++ = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static inline void tree_expect(const struct tree *t, const char *name,
			       const char *want)
{
	_cleanup_free_ char *whole = tree_name(t, name);
	char have[256];
	FILE *file = fopen(whole, "r");
	size_t len;

	assert_non_null(file);
	len = fread(have, 1, sizeof(have) - 1, file);
	have[len] = '\0';
	fclose(file);
	assert_string_equal(have, want);
}

#endif
