// SPDX-License-Identifier: GPL-2.0-or-later
/* cgtree.h: which cgroups there are, and which of them are units. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/cgtree.h"

#include "machine.h"

/* ---- system calls ---- */

int __real_openat(int fd, const char *name, int flags, ...);

/* Opening a file of this name fails. */
static const char *refused_name;
static int refused_error;

int __wrap_openat(int fd, const char *name, int flags, ...)
{
	if (refused_name && !strcmp(name, refused_name)) {
		errno = refused_error;
		return -1;
	}
	return __real_openat(fd, name, flags);
}

/* A plain directory may not take the attribute: the name says it here. */
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	char link[32], dir[512];
	ssize_t len;

	(void)size;
	assert_string_equal(name, "user.delegate");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, dir, sizeof(dir) - 1);
	assert_true(len > 0);
	dir[len] = '\0';
	if (!strstr(strrchr(dir, '/'), "delegated")) {
		errno = ENODATA;
		return -1;
	}
	*(char *)value = '1';
	return 1;
}

/* ---- fixtures ---- */

static struct config *config;
static struct zf_path *cgroup_root;
static struct cgtree *cgtree;

static int setup(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct tree *t = *state;

	refused_name = NULL;
	machine_system(t);
	assert_int_equal(config_load(t->path, &config, &error), 0);
	assert_int_equal(zf_path_open_at(t->path, CG, &cgroup_root), 0);
	assert_int_equal(cgtree_new(cgroup_root, config, &cgtree), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cgtree_free(cgtree);
	zf_path_free(cgroup_root);
	config_free(config);
	return 0;
}

static void rescan(void)
{
	assert_int_equal(cgtree_rescan(cgtree), 0);
}

static struct node *node_of(const char *path)
{
	struct node *const *nodes;
	size_t nr;

	nodes = cgtree_nodes(cgtree, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(nodes[i]->path, path))
			return nodes[i];
	}
	return NULL;
}

/* ---- tests ---- */

static void test_units_are_the_ends_of_the_tree(void **state)
{
	const struct tree *t = *state;

	machine_cgroup(t, "a.slice");
	machine_cgroup(t, "a.slice/one.service");
	machine_cgroup(t, "a.slice/two\\x2dx:y z.service");
	/* The memory controller does not go further down here. */
	tree_write(t, CG "/a.slice/one.service/inner/cgroup.procs", "");
	machine_cgroup(t, "a.slice/delegated.service");
	machine_cgroup(t, "a.slice/delegated.service/inner");
	rescan();
	assert_false(node_of("a.slice")->is_unit);
	assert_true(node_of("a.slice/one.service")->is_unit);
	assert_true(node_of("a.slice/two\\x2dx:y z.service")->is_unit);
	assert_true(node_of("a.slice/delegated.service")->is_unit);
	assert_null(node_of("a.slice/delegated.service/inner"));
	assert_null(node_of("a.slice/one.service/inner"));
	assert_int_equal(node_of("a.slice")->has,
			 KNOB_BIT(KNOB_WRITEBACK) | KNOB_BIT(KNOB_ZSWAP_MAX));
}

static void test_files_that_appear_late(void **state)
{
	const struct tree *t = *state;

	machine_write(t, "a", "memory.stat", "zswap 0\n");
	rescan();
	assert_int_equal(node_of("a")->has, 0);
	machine_write(t, "a", "memory.zswap.max", "max\n");
	rescan();
	assert_int_equal(node_of("a")->has, KNOB_BIT(KNOB_ZSWAP_MAX));
}

static void test_no_cgroup_at_all(void **state)
{
	const struct tree *t = *state;

	rescan();
	machine_cgroup(t, "a");
	rescan();
	assert_non_null(node_of("a"));
	machine_remove(t, CG "/a");
	rescan();
	assert_null(node_of("a"));
	rescan();
}

static void test_subtree_is_one_unit(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *other = NULL;
	_cleanup_free_ char *name = tree_name(t, "other.conf");
	_cleanup_free_ char *error = NULL;

	machine_cgroup(t, "pod");
	machine_cgroup(t, "pod/container");
	rescan();
	assert_false(node_of("pod")->is_unit);
	tree_write(t, "other.conf", "[cgroup pod]\nsubtree = yes\n");
	assert_int_equal(config_load_file(name, &other, &error), 0);
	cgtree_set_config(cgtree, other);
	rescan();
	assert_true(node_of("pod")->is_unit);
	assert_null(node_of("pod/container"));
	cgtree_set_config(cgtree, config);
}

static void test_nodes_come_stay_and_go(void **state)
{
	const struct tree *t = *state;
	struct node *a, *b;
	uint64_t id;

	machine_cgroup(t, "a");
	machine_cgroup(t, "b");
	rescan();
	a = node_of("a");
	b = node_of("b");
	id = b->id;
	assert_ptr_equal(cgtree_find(cgtree, id), b);
	machine_remove(t, CG "/b");
	machine_cgroup(t, "c");
	rescan();
	assert_ptr_equal(node_of("a"), a);
	assert_null(node_of("b"));
	assert_non_null(node_of("c"));
	assert_null(cgtree_find(cgtree, 1));
}

static void test_out_of_descriptors_keeps_the_tree(void **state)
{
	const struct tree *t = *state;
	struct node *a;

	machine_cgroup(t, "a");
	rescan();
	a = node_of("a");
	machine_cgroup(t, "b");
	machine_cgroup(t, "c");
	refused_name = "c";
	refused_error = EMFILE;
	assert_int_equal(cgtree_rescan(cgtree), -EMFILE);
	assert_ptr_equal(node_of("a"), a);
	assert_null(node_of("b"));
	/* One that we may not enter is left out. */
	refused_error = EACCES;
	rescan();
	assert_non_null(node_of("b"));
	assert_null(node_of("c"));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_units_are_the_ends_of_the_tree),
		T(test_files_that_appear_late),
		T(test_no_cgroup_at_all),
		T(test_subtree_is_one_unit),
		T(test_nodes_come_stay_and_go),
		T(test_out_of_descriptors_keeps_the_tree),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
