// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * requests.h, report.h, history.h and overrides.h: what is told, what can be
 * set, and by whom.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/requests.h"
#include "../zfoliod/sample.h"

#include "machine.h"

#define SEC ZF_USEC_PER_SEC

/* ---- fixtures ---- */

static struct zf_path *cgroups;
static struct config *config;
static struct cgtree *cgtree;
static struct sampler *sampler;
static struct history *history;
static struct overrides *overrides;
static struct features features;
static struct requests requests;
static json_t *reply;
static int set_result;
static uint64_t set_usec;

static int set(void *data, struct node *node, const char *key,
	       const char *value, uint64_t usec, char **ret_error)
{
	(void)data;
	set_usec = usec;
	if (set_result < 0)
		return set_result;
	return overrides_set(overrides, &node->policy, node->path, key, value,
			     zf_add(requests.subject.now, usec), ret_error);
}

static void take_tick(void)
{
	const struct tick *tick;

	assert_int_equal(cgtree_rescan(cgtree), 0);
	assert_int_equal(sampler_tick(sampler, cgtree, config, 2 * SEC, &tick),
			 0);
	requests.subject.tick = tick;
}

static int start(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *error = NULL;

	machine_system(t);
	machine_cgroup(t, "a");
	machine_cgroup(t, "b");
	assert_int_equal(zf_path_open_at(t->path, CG, &cgroups), 0);
	assert_int_equal(config_load_file("/dev/null", &config, &error), 0);
	assert_int_equal(overrides_new(&overrides), 0);
	config_set_overrides(config, overrides);
	assert_int_equal(cgtree_new(cgroups, config, &cgtree), 0);
	assert_int_equal(sampler_new(t->path, &sampler), 0);
	assert_int_equal(history_new(&history), 0);
	sampler_look_around(sampler);
	sampler_set_knobs(sampler, KNOB_BIT(NR_KNOBS) - 1);
	set_result = 0;
	requests = (struct requests){
		.subject = {
			.is_daemon = true, .now = 100 * SEC,
			.started = 40 * SEC, .written = 12345,
			.settings = config_settings(config),
			.features = &features, .tree = cgtree,
			.history = history, .overrides = overrides,
		},
		.set = set,
	};
	take_tick();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	json_decref(reply);
	reply = NULL;
	history_free(history);
	sampler_free(sampler);
	cgtree_free(cgtree);
	config_free(config);
	overrides_free(overrides);
	zf_path_free(cgroups);
	return 0;
}

static void ask(const char *text, bool may_change)
{
	json_error_t error;
	json_auto_t *request = json_loads(text, 0, &error);

	assert_non_null(request);
	json_decref(reply);
	reply = NULL;
	assert_int_equal(requests_answer(&requests, request, may_change,
					 &reply), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "zfolio")),
			 1);
}

/* A member by its names: "status.pool.used"; digits index an array. */
static const json_t *at(const char *path)
{
	char copy[128], *rest = NULL;
	const json_t *json = reply;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strtok_r(copy, ".", &rest); name;
	     name = strtok_r(NULL, ".", &rest))
		json = *name >= '0' && *name <= '9' ?
			json_array_get(json, atoi(name)) :
			json_object_get(json, name);
	if (!json)
		fail_msg("%s: not in the reply", path);
	return json;
}

static void has_number(const char *path, json_int_t want)
{
	assert_true(json_is_integer(at(path)));
	assert_int_equal(json_integer_value(at(path)), want);
}

static void has_string(const char *path, const char *want)
{
	assert_true(json_is_string(at(path)));
	assert_string_equal(json_string_value(at(path)), want);
}

static void has_error(const char *code, const char *part)
{
	has_string("error.code", code);
	if (!strstr(json_string_value(at("error.message")), part))
		fail_msg("\"%s\": expected \"%s\" in it",
			 json_string_value(at("error.message")), part);
}

static void decide(const char *path, enum knob knob, int error, uint64_t now)
{
	const struct decision d = {
		.path = path, .knob = knob, .old = 1, .value = 0,
		.reason = REASON_POOL_NEAR_LIMIT,
		.signal = 910000, .threshold = 900000,
	};

	history_decision(history, &d, error, now);
}

/* ---- status and features ---- */

static void test_status(void **state)
{
	const struct tree *t = *state;

	ask("{\"zfolio\": 1, \"get\": \"status\"}", false);
	assert_int_equal(json_array_size(at("status.cgroups")), 2);
	assert_true(json_is_null(at("status.cgroups.0.last")));
	machine_remove(t, CG "/b");
	machine_write(t, "a", "memory.stat",
		      "zswap 1048576\nzswapped 4194304\npgmajfault 8\n"
		      "workingset_refault_anon 6\npswpin 522\npswpout 20\n"
		      "zswpin 130\nzswpout 40\nzswpwb 5\n");
	take_tick();
	decide("a", KNOB_WRITEBACK, 0, 95 * SEC);
	ask("{\"zfolio\": 1, \"get\": \"status\"}", false);
	has_number("status.daemon.running", 60 * SEC);
	has_number("status.daemon.written", 12345);
	has_number("status.elapsed", 2 * SEC);
	has_number("status.pool.used", 2 << 20);
	has_number("status.pool.limit", 1073741824 / 5);
	has_number("status.pool.low", 500000);
	has_string("status.devices.0.name", "nvme0n1p2");
	assert_int_equal(json_array_size(at("status.cgroups")), 1);
	has_string("status.cgroups.0.path", "a");
	has_number("status.cgroups.0.since.zswpin", 100);
	has_number("status.cgroups.0.total.zswpin", 130);
	has_number("status.cgroups.0.now.zswap", 1 << 20);
	has_string("status.cgroups.0.now.zswap_max", "max");
	/* 512 pages of 16 MiB floor in 2 s: 2 MiB of 16, thirty times a minute. */
	has_number("status.cgroups.0.signals.refaults", 3750000);
	has_number("status.cgroups.0.limits.memory_pressure", 100000);
	has_number("status.cgroups.0.limits.refault_limit.usec", 60 * SEC);
	has_string("status.cgroups.0.last.reason", "pool-near-limit");
	has_number("status.cgroups.0.last.age", 5 * SEC);
}

static void test_status_before_the_first_tick(void **state)
{
	(void)state;
	requests.subject.tick = NULL;
	requests.subject.is_daemon = false;
	ask("{\"zfolio\": 1, \"get\": \"status\"}", false);
	assert_true(json_is_null(at("status.daemon")));
	assert_int_equal(json_array_size(at("status.cgroups")), 0);
	ask("{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"a\"}", false);
	has_string("explain.notes.0", "zfoliod does not run: nothing is decided");
	has_string("explain.notes.1", "no full tick yet");
}

static void test_features(void **state)
{
	(void)state;
	features = (struct features){
		.zswap_built_in = true, .psi = true,
		.knobs = KNOB_BIT(KNOB_WRITEBACK), .reclaim_error = -EINVAL,
	};
	ask("{\"zfolio\": 1, \"get\": \"features\"}", false);
	assert_true(json_is_true(at("features.zswap_built_in")));
	assert_true(json_is_false(at("features.zswap_enabled")));
	has_string("features.source_zswap", "not in this kernel");
	assert_int_equal(json_object_size(at("features.knobs")), 3);
}

/* ---- explain ---- */

static void explain_has_note(const char *cgroup, const char *part)
{
	char text[256];
	const json_t *note;
	size_t i;

	snprintf(text, sizeof(text),
		 "{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"%s\"}",
		 cgroup);
	ask(text, false);
	json_array_foreach(at("explain.notes"), i, note) {
		if (strstr(json_string_value(note), part))
			return;
	}
	fail_msg("no note with \"%s\": %s", part,
		 json_dumps(at("explain"), JSON_INDENT(1)));
}

static void test_notes(void **state)
{
	const struct tree *t = *state;
	struct node *node;

	explain_has_note("a", "first time");
	take_tick();
	explain_has_note("a", "does not take source=zswap");
	machine_write(t, "a", "memory.reclaim", "");
	machine_remove(t, CG "/b");
	take_tick();
	take_tick();
	node = report_find(&requests.subject, "a");
	node->has = KNOB_BIT(NR_KNOBS) - 1;
	take_tick();
	explain_has_note("a", "not above pool_low 50.00%");
	tree_write(t, "proc/meminfo", "MemTotal: 1048576 kB\nZswap: 204800 kB\n");
	machine_write(t, "a", "memory.pressure", "some avg10=0.00 total=1001000\n");
	take_tick();
	explain_has_note("a", "waits 50.00% of the time for memory, limit 10.00%");
	machine_write(t, "a", "io.pressure", "some avg10=0.00 total=1002000\n");
	take_tick();
	explain_has_note("a", "waits 50.00% of the time for disks");
	node->policy.proactive = false;
	explain_has_note("a", "proactive = no");
	node->policy.proactive = true;
	machine_write(t, "a", "memory.zswap.writeback", "0\n");
	take_tick();
	explain_has_note("a", "memory.zswap.writeback is 0 here or above");
	node->locked = KNOB_BIT(KNOB_ZSWAP_MAX);
	explain_has_note("a", "memory.zswap.max: left to whoever changed it");
	machine_write(t, "a", "memory.swap.current", "0\n");
	take_tick();
	explain_has_note("a", "nothing of it is in swap");
	machine_cgroup(t, "a/inner");
	take_tick();
	explain_has_note("a", "each on its own");
}

static void test_events(void **state)
{
	const struct drift drift = {
		.knob = KNOB_WRITEBACK, .set = 0, .now = 1, .reapplied = true,
	};

	(void)state;
	decide("a", KNOB_WRITEBACK, 0, 10 * SEC);
	decide("b", KNOB_WRITEBACK, 0, 11 * SEC);
	decide("a", KNOB_RECLAIM, 0, 12 * SEC);
	decide("a", KNOB_ZSWAP_MAX, -EACCES, 13 * SEC);
	history_drift(history, &drift, "a", 14 * SEC);
	ask("{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"a\"}", false);
	assert_int_equal(json_array_size(at("explain.events")), 4);
	has_string("explain.events.0.kind", "drift-reapplied");
	has_string("explain.events.0.text",
		      "memory.zswap.writeback: somebody else made it 1: set to 0 again");
	has_number("explain.events.1.errno", EACCES);
	has_string("explain.events.1.text",
		      "memory.zswap.max 1 -> 0: pool at 91.00% of its limit, above 90.00%: Permission denied");
	has_string("explain.events.2.knob", "memory.reclaim");
	has_number("explain.events.3.age", 90 * SEC);
}

/* Many steps push out no change of a knob, and the oldest go first. */
static void test_history_is_bounded(void **state)
{
	const struct event *events[HISTORY_LEN + 2];

	(void)state;
	decide("a", KNOB_WRITEBACK, 0, 1);
	for (unsigned int i = 0; i < 3 * HISTORY_LEN; i++)
		decide(i % 2 ? "a" : "b", KNOB_RECLAIM, 0, 2 + i);
	assert_int_equal(history_last(history, "a", events, HISTORY_LEN + 2),
			 HISTORY_LEN / 2 + 1);
	assert_int_equal(events[0]->at, 1 + 3 * HISTORY_LEN);
	assert_int_equal(events[HISTORY_LEN / 2]->decision.knob,
			 KNOB_WRITEBACK);
	assert_int_equal(history_last(history, "a", events, 3), 3);
	assert_int_equal(history_last(history, "c", events, 3), 0);
}

static void test_odd_paths(void **state)
{
	const struct tree *t = *state;

	machine_cgroup(t, "x\xff y");
	take_tick();
	ask("{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"x? y\"}", false);
	has_string("explain.path", "x? y");
}

/* ---- set ---- */

#define SET(more) "{\"zfolio\": 1, \"set\": {\"cgroup\": \"a\"" more "}}"

static void test_set(void **state)
{
	(void)state;
	ask(SET(", \"key\": \"writeback\", \"value\": \"off\", \"for\": 60000000"), true);
	has_string("set.key", "writeback");
	assert_int_equal(set_usec, 60 * SEC);
	assert_int_equal(config_policy(config, "a").writeback, WRITEBACK_OFF);
	assert_int_equal(config_policy(config, "b").writeback, WRITEBACK_AUTO);
	ask("{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"a\"}", false);
	has_string("explain.overrides.0.key", "writeback");
	has_string("explain.overrides.0.value", "off");
	has_number("explain.overrides.0.left", 60 * SEC);

	/* Anew, without an end; and another key. */
	ask(SET(", \"key\": \"writeback\", \"value\": \"leave\""), true);
	ask(SET(", \"key\": \"weight\", \"value\": \"7\""), true);
	assert_int_equal(set_usec, UINT64_MAX);
	assert_int_equal(config_policy(config, "a").writeback, WRITEBACK_LEAVE);
	assert_int_equal(config_policy(config, "a").weight, 7);
	ask("{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"a\"}", false);
	assert_int_equal(json_array_size(at("explain.overrides")), 2);
	has_string("explain.overrides.0.left", "max");

	ask(SET(", \"key\": \"writeback\", \"value\": \"\""), true);
	assert_int_equal(config_policy(config, "a").writeback, WRITEBACK_AUTO);
	ask(SET(", \"key\": \"writeback\", \"value\": \"\""), true);
	has_error("ENOENT", "writeback: not set for this cgroup");
}

static void test_set_expires(void **state)
{
	char *path;

	(void)state;
	ask(SET(", \"key\": \"weight\", \"value\": \"7\", \"for\": 10"), true);
	ask(SET(", \"key\": \"calm\", \"value\": \"1s\""), true);
	assert_null(overrides_expire(overrides, 100 * SEC + 9));
	path = overrides_expire(overrides, 100 * SEC + 10);
	assert_string_equal(path, "a");
	free(path);
	assert_null(overrides_expire(overrides, UINT64_MAX - 1));
	assert_int_equal(config_policy(config, "a").weight, 100);
	assert_int_equal(config_policy(config, "a").calm, SEC);
}

static void test_set_refused(void **state)
{
	(void)state;
	ask(SET(", \"key\": \"weight\", \"value\": \"7\""), false);
	has_error("EACCES", "only root");
	ask(SET(", \"key\": \"weigth\", \"value\": \"7\""), true);
	has_error("EINVAL", "weigth: expected a key of [cgroup]");
	ask(SET(", \"key\": \"interval\", \"value\": \"7s\""), true);
	has_error("EINVAL", "interval: expected a key of [cgroup]");
	ask(SET(", \"key\": \"weight\", \"value\": \"heavy\""), true);
	has_error("EINVAL", "weight: \"heavy\": expected a number from 1 to 10000");
	ask(SET(", \"key\": \"step_min\", \"value\": \"1G\""), true);
	has_error("EINVAL", "step_min: expected at most step_max");
	ask(SET(", \"key\": \"weight\""), true);
	has_error("EINVAL", "expected strings");
	ask(SET(", \"key\": \"weight\", \"value\": 7"), true);
	has_error("EINVAL", "expected strings");
	ask(SET(", \"key\": \"weight\", \"value\": \"7\", \"for\": 0"), true);
	has_error("EINVAL", "for: expected microseconds");
	ask(SET(", \"key\": \"weight\", \"value\": \"7\", \"until\": 5"), true);
	has_error("EINVAL", "expected strings");
	ask("{\"zfolio\": 1, \"set\": {\"cgroup\": \"c\", \"key\": \"weight\", \"value\": \"7\"}}", true);
	has_error("ENOENT", "c: no such cgroup");
	ask("{\"zfolio\": 1, \"set\": {\"key\": \"weight\", \"value\": \"7\"}}", true);
	has_error("EINVAL", "cgroup: expected the path");
	ask("{\"zfolio\": 1, \"set\": []}", true);
	has_error("EINVAL", "set: expected an object");
	ask("{\"zfolio\": 1, \"set\": {}, \"get\": \"status\"}", true);
	has_error("EINVAL", "set: expected an object");
	set_result = -EROFS;
	ask(SET(", \"key\": \"weight\", \"value\": \"7\""), true);
	has_error("EROFS", "Read-only");
	requests.set = NULL;
	ask(SET(", \"key\": \"weight\", \"value\": \"7\""), true);
	has_error("EOPNOTSUPP", "zfoliod does not run");
	assert_int_equal(config_policy(config, "a").weight, 100);
}

static void test_set_is_bounded(void **state)
{
	_cleanup_free_ char *error = NULL;
	char path[32];

	(void)state;
	for (int i = 0; i < OVERRIDES_MAX; i++) {
		snprintf(path, sizeof(path), "c%d", i);
		assert_int_equal(overrides_set(overrides, &policy_default,
					       path, "weight", "7", UINT64_MAX,
					       &error), 0);
	}
	ask(SET(", \"key\": \"weight\", \"value\": \"7\""), true);
	has_error("ENOSPC", "256 values are set already");
	/* One that is there can still be changed. */
	assert_int_equal(overrides_set(overrides, &policy_default, "c7",
				       "weight", "8", UINT64_MAX, &error), 0);
	assert_int_equal(config_policy(config, "c7").weight, 8);
}

static void test_wrong_requests(void **state)
{
	(void)state;
	ask("{}", true);
	has_error("EPROTO", "expected version 1");
	ask("{\"zfolio\": 2, \"get\": \"status\"}", true);
	has_error("EPROTO", "expected version 1");
	ask("{\"zfolio\": 1}", true);
	has_error("EINVAL", "get: expected status");
	ask("{\"zfolio\": 1, \"get\": [\"status\"]}", true);
	has_error("EINVAL", "get: expected status");
	ask("{\"zfolio\": 1, \"get\": \"status\", \"when\": 1}", true);
	has_error("EINVAL", "when: expected get and cgroup only");
	ask("{\"zfolio\": 1, \"get\": \"explain\"}", true);
	has_error("EINVAL", "cgroup: expected the path");
	ask("{\"zfolio\": 1, \"get\": \"explain\", \"cgroup\": \"../a\"}", true);
	has_error("ENOENT", "../a: no such cgroup");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_status), T(test_status_before_the_first_tick),
		T(test_features), T(test_notes), T(test_events),
		T(test_history_is_bounded), T(test_odd_paths), T(test_set),
		T(test_set_expires), T(test_set_refused),
		T(test_set_is_bounded), T(test_wrong_requests),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
