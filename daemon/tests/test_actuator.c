// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * actuator.h, ledger.h, worker.h and features.h: what is written, by whom, and
 * what is there again afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../zfoliod/actuator.h"
#include "../zfoliod/features.h"
#include "../zfoliod/worker.h"

#include "tree.h"

#define CG "sys/fs/cgroup"
#define STATE LEDGER_DIR "/" LEDGER_FILE

/* ---- system calls ---- */

ssize_t __real_write(int fd, const void *buffer, size_t bytes);

/*
 * Writing this text fails (error), blocks until a signal comes (error EINTR),
 * or writes another text instead, as a kernel that rounds.
 */
static const char *special_text, *instead;
static int special_error;

ssize_t __wrap_write(int fd, const void *buffer, size_t bytes)
{
	if (!special_text || bytes != strlen(special_text) ||
	    memcmp(buffer, special_text, bytes))
		return __real_write(fd, buffer, bytes);
	if (instead) {
		assert_true(__real_write(fd, instead, strlen(instead)) > 0);
		return bytes;
	}
	if (special_error == EINTR)
		return pause();
	errno = special_error;
	return -1;
}

/* ---- fixtures ---- */

static struct config *config;
static struct zf_path *cgroups;
static struct cgtree *cgtree;
static struct actuator *actuator;
static struct settings settings;
static size_t restored;

static void remove_dir(const struct tree *t, const char *path)
{
	_cleanup_free_ char *whole = tree_name(t, path);

	nftw(whole, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_cgroup(const struct tree *t, const char *path)
{
	char name[256];

	snprintf(name, sizeof(name), CG "/%s/memory.stat", path);
	tree_write(t, name, "zswap 1\n");
	snprintf(name, sizeof(name), CG "/%s/memory.zswap.writeback", path);
	tree_write(t, name, "1\n");
	snprintf(name, sizeof(name), CG "/%s/memory.zswap.max", path);
	tree_write(t, name, "max\n");
	snprintf(name, sizeof(name), CG "/%s/memory.zswap.swapin_max", path);
	tree_write(t, name, "max\n");
	snprintf(name, sizeof(name), CG "/%s/memory.reclaim", path);
	tree_write(t, name, "");
}

static void start_actuator(const struct tree *t)
{
	assert_int_equal(actuator_new(t->path, cgroups, NULL, &actuator,
				      &restored),
			 0);
}

static int setup(void **state)
{
	_cleanup_free_ char *error = NULL;
	struct tree *t = *state;

	special_text = instead = NULL;
	settings = settings_default;
	remove_dir(t, "sys");
	remove_dir(t, "run");
	remove_dir(t, "proc");
	tree_write(t, "run/x", "");
	tree_write(t, CG "/cgroup.controllers", "cpu memory\n");
	tree_write(t, CG "/cgroup.subtree_control", "cpu memory\n");
	make_cgroup(t, "a");
	assert_int_equal(config_load(t->path, &config, &error), 0);
	assert_int_equal(zf_path_open_at(t->path, CG, &cgroups), 0);
	assert_int_equal(cgtree_new(cgroups, config, &cgtree), 0);
	assert_int_equal(cgtree_rescan(cgtree), 0);
	start_actuator(t);
	assert_int_equal(restored, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	actuator_free(actuator);
	cgtree_free(cgtree);
	zf_path_free(cgroups);
	config_free(config);
	return 0;
}

static struct node *node(void)
{
	size_t nr;
	struct node *const *nodes = cgtree_nodes(cgtree, &nr);

	assert_int_equal(nr, 1);
	return nodes[0];
}

static int set(enum knob knob, uint64_t value)
{
	return actuator_set(actuator, node(), knob, value);
}

static int check(uint64_t writeback, uint64_t now, struct drift *drift)
{
	struct cgroup_sample sample = { .id = node()->id };

	sample.of[FIELD_WRITEBACK] = writeback;
	sample.of[FIELD_ZSWAP_MAX] = UINT64_MAX;
	sample.of[FIELD_SWAPIN_MAX] = UINT64_MAX;
	return actuator_check(actuator, &settings, node(), &sample, now,
			      drift);
}

/* ---- set and restore ---- */

static void test_set_and_restore(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	assert_int_equal(set(KNOB_SWAPIN_MAX, 65536), 0);
	assert_int_equal(set(KNOB_SWAPIN_MAX, 4096), 0);
	assert_int_equal(set(KNOB_ZSWAP_MAX, UINT64_MAX), 0);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0");
	tree_expect(t, CG "/a/memory.zswap.swapin_max", "4096");
	tree_expect(t, CG "/a/memory.zswap.max", "max\n");
	assert_int_equal(actuator_restore(actuator), 2);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1");
	tree_expect(t, CG "/a/memory.zswap.swapin_max", "max");
	assert_false(zf_path_has(t->path, STATE));
}

static void test_restore_one_cgroup(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	assert_int_equal(set(KNOB_SWAPIN_MAX, 4096), 0);
	actuator_restore_cgroup(actuator, node()->id + 1);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0");
	actuator_restore_cgroup(actuator, node()->id);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1");
	tree_expect(t, CG "/a/memory.zswap.swapin_max", "max");
	tree_expect(t, STATE, "{\"zfolio_state\":1,\"changed\":[]}");
}

static void test_restore_after_a_crash(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	assert_int_equal(set(KNOB_SWAPIN_MAX, 65536), 0);
	/* No farewell. */
	actuator_free(actuator);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0");
	start_actuator(t);
	assert_int_equal(restored, 2);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1");
	tree_expect(t, CG "/a/memory.zswap.swapin_max", "max");
}

static void test_crash_between_note_and_write(void **state)
{
	const struct tree *t = *state;
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"zfolio_state\":1,\"changed\":[{\"id\":%llu,\"path\":\"a\",\"knob\":\"memory.zswap.writeback\",\"found\":1,\"set\":0}]}",
		 (unsigned long long)node()->id);
	actuator_free(actuator);
	tree_write(t, STATE, text);
	start_actuator(t);
	assert_int_equal(restored, 0);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1\n");
}

static void test_restore_leaves_what_others_changed(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_ZSWAP_MAX, 4096), 0);
	tree_write(t, CG "/a/memory.zswap.max", "8192\n");
	assert_int_equal(actuator_restore(actuator), 0);
	tree_expect(t, CG "/a/memory.zswap.max", "8192\n");
}

static void test_restore_knows_a_recreated_cgroup(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	make_cgroup(t, "b");
	remove_dir(t, CG "/a");
	make_cgroup(t, "a");
	tree_write(t, CG "/a/memory.zswap.writeback", "0\n");
	assert_int_equal(actuator_restore(actuator), 0);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0\n");
}

static void test_gone_cgroups_are_forgotten(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	actuator_tidy(actuator, cgtree);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0");
	assert_true(zf_path_has(t->path, STATE));
	remove_dir(t, CG "/a");
	assert_int_equal(set(KNOB_ZSWAP_MAX, 0), -ENOENT);
	assert_int_equal(cgtree_rescan(cgtree), 0);
	actuator_tidy(actuator, cgtree);
	tree_expect(t, STATE, "{\"zfolio_state\":1,\"changed\":[]}");
}

static void test_no_unit_any_more_gets_its_value_back(void **state)
{
	const struct tree *t = *state;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	make_cgroup(t, "a/inner");
	assert_int_equal(cgtree_rescan(cgtree), 0);
	actuator_tidy(actuator, cgtree);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1");
	assert_int_equal(actuator_restore(actuator), 0);
}

static void test_rounded_values_are_no_drift(void **state)
{
	const struct tree *t = *state;
	struct drift drift;
	struct cgroup_sample sample = { .id = node()->id };

	special_text = "70000";
	instead = "65536";
	assert_int_equal(set(KNOB_SWAPIN_MAX, 70000), 0);
	sample.of[FIELD_WRITEBACK] = 1;
	sample.of[FIELD_ZSWAP_MAX] = UINT64_MAX;
	sample.of[FIELD_SWAPIN_MAX] = 65536;
	assert_int_equal(actuator_check(actuator, &settings, node(), &sample,
					1, &drift), 0);
	assert_int_equal(actuator_restore(actuator), 1);
	tree_expect(t, CG "/a/memory.zswap.swapin_max", "max");
}

static void test_full_run_changes_nothing(void **state)
{
	const struct tree *t = *state;
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"zfolio_state\":1,\"changed\":[{\"id\":%llu,\"path\":\"a\",\"knob\":\"memory.zswap.writeback\",\"found\":1,\"set\":0}]}",
		 (unsigned long long)node()->id);
	special_text = text;
	special_error = ENOSPC;
	assert_int_equal(set(KNOB_WRITEBACK, 0), -ENOSPC);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1\n");
	assert_false(zf_path_has(t->path, STATE));
	assert_false(zf_path_has(t->path, STATE ".new"));
	special_text = NULL;
	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
}

static void test_read_only_files_are_locked(void **state)
{
	const struct tree *t = *state;

	special_text = "0";
	special_error = EROFS;
	assert_int_equal(set(KNOB_WRITEBACK, 0), -EROFS);
	assert_int_equal(node()->locked, KNOB_BIT(KNOB_WRITEBACK));
	special_text = NULL;
	assert_int_equal(actuator_restore(actuator), 0);
	tree_expect(t, CG "/a/memory.zswap.writeback", "");
}

static void test_state_of_another_shape(void **state)
{
	static const char *const texts[] = {
		"", "{}", "[", "{\"zfolio_state\":2,\"changed\":[]}",
		"{\"zfolio_state\":1,\"changed\":[{\"id\":1}]}",
		"{\"zfolio_state\":1,\"changed\":[{\"id\":-1,\"path\":\"a\",\"knob\":\"memory.zswap.max\",\"found\":1,\"set\":0}]}",
		"{\"zfolio_state\":1,\"changed\":[{\"id\":1,\"path\":\"a\",\"knob\":\"cpu.max\",\"found\":1,\"set\":0}]}",
	};
	const struct tree *t = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct actuator *none = NULL;

		tree_write(t, STATE, texts[i]);
		assert_int_equal(actuator_new(t->path, cgroups, NULL,
					      &none, &restored), -EINVAL);
	}
}

static void test_names_that_are_no_text(void **state)
{
	const struct tree *t = *state;

	remove_dir(t, CG "/a");
	make_cgroup(t, "b\xff \\x2d");
	assert_int_equal(cgtree_rescan(cgtree), 0);
	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	actuator_free(actuator);
	start_actuator(t);
	assert_int_equal(restored, 1);
	tree_expect(t, CG "/b\xff \\x2d/memory.zswap.writeback", "1");
}

/* ---- drift ---- */

static void test_drift_is_respected_by_default(void **state)
{
	const struct tree *t = *state;
	struct drift drift;

	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	assert_int_equal(check(0, 1, &drift), 0);
	tree_write(t, CG "/a/memory.zswap.writeback", "1\n");
	assert_int_equal(check(1, 2, &drift), 1);
	assert_true(drift.knob == KNOB_WRITEBACK && drift.set == 0 &&
		    drift.now == 1 && !drift.reapplied);
	assert_int_equal(node()->locked, KNOB_BIT(KNOB_WRITEBACK));
	/* Once, and for good. */
	assert_int_equal(check(1, 3, &drift), 0);
	assert_int_equal(actuator_restore(actuator), 0);
}

static void test_drift_is_reapplied_at_most_each_interval(void **state)
{
	const struct tree *t = *state;
	struct drift drift;

	settings.drift = DRIFT_REAPPLY;
	assert_int_equal(set(KNOB_WRITEBACK, 0), 0);
	tree_write(t, CG "/a/memory.zswap.writeback", "1\n");
	assert_int_equal(check(1, 1000, &drift), 1);
	assert_true(drift.reapplied);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0");
	tree_write(t, CG "/a/memory.zswap.writeback", "1\n");
	assert_int_equal(check(1, 1000 + ZF_USEC_PER_SEC, &drift), 0);
	tree_expect(t, CG "/a/memory.zswap.writeback", "1\n");
	assert_int_equal(check(1, 1000 + ZF_USEC_PER_MIN, &drift), 1);
	tree_expect(t, CG "/a/memory.zswap.writeback", "0");
	assert_int_equal(node()->locked, 0);
}

/* ---- the worker ---- */

static bool wait_for(struct worker *worker, struct worker_result *result)
{
	struct pollfd fd = { .fd = worker_fd(worker), .events = POLLIN };

	/* It may be readable for a result that was taken already. */
	while (poll(&fd, 1, 10000) == 1) {
		if (worker_next(worker, result))
			return true;
	}
	return false;
}

static void test_worker_writes_and_reports(void **state)
{
	const struct tree *t = *state;
	_cleanup_(worker_freep) struct worker *worker = NULL;
	struct worker_result result = { 0 };

	assert_int_equal(worker_new(&worker), 0);
	assert_false(worker_next(worker, &result));
	assert_int_equal(worker_submit(worker, zf_cgroup_path(node()->cgroup),
				       7, "4096 source=zswap"), 0);
	assert_true(wait_for(worker, &result));
	assert_int_equal(result.id, 7);
	assert_int_equal(result.error, 0);
	tree_expect(t, CG "/a/memory.reclaim", "4096 source=zswap");
	special_text = "8192 source=zswap";
	special_error = EAGAIN;
	assert_int_equal(worker_submit(worker, zf_cgroup_path(node()->cgroup),
				       8, special_text), 0);
	assert_true(wait_for(worker, &result));
	assert_int_equal(result.error, -EAGAIN);
	assert_false(worker_next(worker, &result));
}

static void test_worker_is_cancelled(void **state)
{
	_cleanup_(worker_freep) struct worker *worker = NULL;
	const struct zf_path *cgroup = zf_cgroup_path(node()->cgroup);
	struct worker_result result = { 0 };

	(void)state;
	special_text = "4096 source=zswap";
	special_error = EINTR;
	assert_int_equal(worker_new(&worker), 0);
	assert_int_equal(worker_submit(worker, cgroup, 1, special_text), 0);
	assert_int_equal(worker_submit(worker, cgroup, 2, "1"), 0);
	/* Not yet at work for an hour. */
	usleep(20000);
	worker_cancel(worker, ZF_USEC_PER_HOUR);
	assert_false(worker_next(worker, &result));
	for (int i = 0; i < 1000 && !worker_next(worker, &result); i++) {
		worker_cancel(worker, 10000);
		usleep(10000);
	}
	assert_int_equal(result.error, -ECANCELED);
	assert_true(wait_for(worker, &result));
	assert_int_equal(result.error, -ECANCELED);
}

static void test_worker_cancels_one_of_many(void **state)
{
	_cleanup_(worker_freep) struct worker *worker = NULL;
	const struct zf_path *cgroup = zf_cgroup_path(node()->cgroup);
	struct worker_result result = { 0 };

	(void)state;
	special_text = "4096 source=zswap";
	special_error = EINTR;
	assert_int_equal(worker_new(&worker), 0);
	assert_int_equal(worker_submit(worker, cgroup, 1, special_text), 0);
	for (int id = 2; id < 5; id++)
		assert_int_equal(worker_submit(worker, cgroup, id, "1"), 0);
	usleep(20000);
	worker_cancel_id(worker, 3);
	assert_true(wait_for(worker, &result));
	assert_true(result.id == 3 && result.error == -ECANCELED);
	/* The first one holds the others up until it is cancelled. */
	assert_false(worker_next(worker, &result));
	for (int i = 0; i < 1000 && !worker_next(worker, &result); i++) {
		worker_cancel_id(worker, 1);
		usleep(10000);
	}
	assert_true(result.id == 1 && result.error == -ECANCELED);
	assert_true(wait_for(worker, &result));
	assert_true(result.id == 2 && !result.error);
	assert_true(wait_for(worker, &result));
	assert_true(result.id == 4 && !result.error);
}

static void test_worker_ends_while_a_write_blocks(void **state)
{
	struct worker *worker = NULL;
	const struct zf_path *cgroup = zf_cgroup_path(node()->cgroup);

	(void)state;
	special_text = "4096 source=zswap";
	special_error = EINTR;
	assert_int_equal(worker_new(&worker), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(worker_submit(worker, cgroup, i,
					       special_text), 0);
	worker_free(worker);
}

/* ---- features ---- */

static void test_hierarchy(void **state)
{
	const struct tree *t = *state;
	_cleanup_(zf_path_freep) struct zf_path *found = NULL;
	_cleanup_free_ char *none = NULL, *hybrid = NULL, *passed = NULL;

	/* No file, then v1 only. */
	assert_int_equal(features_find_cgroups(t->path, &found, &none),
			 -EOPNOTSUPP);
	assert_non_null(strstr(none, "no cgroup v2 hierarchy is mounted"));
	tree_write(t, "proc/self/mounts",
		   "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
		   "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
		   "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n");
	tree_write(t, CG "/unified/cgroup.controllers", "\n");
	assert_int_equal(features_find_cgroups(t->path, &found, &hybrid),
			 -EOPNOTSUPP);
	assert_non_null(strstr(hybrid, "/sys/fs/cgroup/unified has no memory controller"));
	tree_write(t, "proc/self/mounts",
		   "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
		   "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n");
	assert_int_equal(features_find_cgroups(t->path, &found, &passed), 0);
	assert_non_null(strstr(zf_path_prefix(found), CG));
	assert_null(strstr(zf_path_prefix(found), "unified"));
	tree_write(t, CG "/cgroup.subtree_control", "cpu\n");
	assert_int_equal(features_find_cgroups(t->path, &found, &passed),
			 -EOPNOTSUPP);
	assert_non_null(strstr(passed, "+memory"));
}

static void test_source_is_probed_without_asking_for_bytes(void **state)
{
	const struct tree *t = *state;
	struct features features;
	char text[FEATURES_TEXT_LEN];

	features = features_probe(t->path, cgtree, true);
	assert_int_equal(features.knobs, KNOB_BIT(NR_KNOBS) - 1);
	tree_expect(t, CG "/a/memory.reclaim", "0 source=zswap");
	special_text = "0 source=zswap";
	special_error = EINVAL;
	features = features_probe(t->path, cgtree, true);
	assert_false(features.knobs & KNOB_BIT(KNOB_RECLAIM));
	assert_int_equal(features.reclaim_error, -EINVAL);
	assert_string_equal(features_format(&features, text),
			    "zswap not in this kernel; PSI off; memory.zswap.writeback yes; memory.zswap.max yes; memory.zswap.swapin_max yes; memory.reclaim source=zswap not in this kernel");
	tree_write(t, CG "/a/memory.reclaim", "untouched");
	features = features_probe(t->path, cgtree, false);
	tree_expect(t, CG "/a/memory.reclaim", "untouched");
	assert_false(features.knobs & KNOB_BIT(KNOB_RECLAIM));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_set_and_restore), T(test_restore_one_cgroup),
		T(test_restore_after_a_crash),
		T(test_crash_between_note_and_write),
		T(test_restore_leaves_what_others_changed),
		T(test_restore_knows_a_recreated_cgroup),
		T(test_gone_cgroups_are_forgotten),
		T(test_no_unit_any_more_gets_its_value_back),
		T(test_rounded_values_are_no_drift),
		T(test_full_run_changes_nothing),
		T(test_read_only_files_are_locked),
		T(test_state_of_another_shape),
		T(test_names_that_are_no_text),
		T(test_drift_is_respected_by_default),
		T(test_drift_is_reapplied_at_most_each_interval),
		T(test_worker_writes_and_reports),
		T(test_worker_is_cancelled),
		T(test_worker_cancels_one_of_many),
		T(test_worker_ends_while_a_write_blocks),
		T(test_hierarchy),
		T(test_source_is_probed_without_asking_for_bytes),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
