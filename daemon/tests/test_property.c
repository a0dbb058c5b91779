// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * property.h and the actuator against a manager that is played by a thread: it
 * answers the calls that systemd answers, over a socket pair.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "../zfoliod/actuator.h"
#include "../zfoliod/property.h"

#include "tree.h"

#define CG "sys/fs/cgroup"
#define UNITS "/org/freedesktop/systemd1/unit"

/* ---- the manager ---- */

/* What it was told last; it writes the file only when asked to (settle()). */
struct manager {
	sd_bus *bus;
	pthread_t thread;
	int stop_fd[2];
	bool knows_writeback, refuses;
	int calls;
	char unit[64], property[64];
	uint64_t value;
	int runtime;
};

static struct manager manager;

static int on_set(sd_bus_message *message, void *data, sd_bus_error *error)
{
	struct manager *m = data;
	const char *unit, *property;
	int flag, r;

	m->calls++;
	if (m->refuses)
		return sd_bus_error_set(error, "org.example.No", "no");
	r = sd_bus_message_read(message, "sb", &unit, &m->runtime);
	if (r >= 0)
		r = sd_bus_message_enter_container(message, 'a', "(sv)");
	if (r >= 0)
		r = sd_bus_message_enter_container(message, 'r', "sv");
	if (r >= 0)
		r = sd_bus_message_read(message, "s", &property);
	if (r < 0)
		return r;
	if (sd_bus_message_read(message, "v", "t", &m->value) < 0) {
		r = sd_bus_message_read(message, "v", "b", &flag);
		if (r < 0)
			return r;
		m->value = flag;
	}
	snprintf(m->unit, sizeof(m->unit), "%s", unit);
	snprintf(m->property, sizeof(m->property), "%s", property);
	return sd_bus_reply_method_return(message, NULL);
}

static int get_group(sd_bus *bus, const char *path, const char *interface,
		     const char *property, sd_bus_message *reply, void *data,
		     sd_bus_error *error)
{
	char group[128] = "/a.slice/";
	_cleanup_free_ char *unit = NULL;

	(void)bus;
	(void)interface;
	(void)property;
	(void)data;
	(void)error;
	if (sd_bus_path_decode(path, UNITS, &unit) <= 0)
		return -ENOENT;
	/* Another unit of the same name is elsewhere. */
	if (!strcmp(unit, "elsewhere.service"))
		strcpy(group, "/b.slice/");
	strcat(group, unit);
	return sd_bus_message_append(reply, "s", group);
}

static int get_zero(sd_bus *bus, const char *path, const char *interface,
		    const char *property, sd_bus_message *reply, void *data,
		    sd_bus_error *error)
{
	(void)bus;
	(void)path;
	(void)interface;
	(void)data;
	(void)error;
	return !strcmp(property, "MemoryZSwapMax") ?
		sd_bus_message_append(reply, "t", UINT64_C(0)) :
		sd_bus_message_append(reply, "b", 0);
}

static const sd_bus_vtable manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("SetUnitProperties", "sba(sv)", "", on_set,
		      SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable unit_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("ControlGroup", "s", get_group, 0, 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable old_slice_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("MemoryZSwapMax", "t", get_zero, 0, 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable slice_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("MemoryZSwapMax", "t", get_zero, 0, 0),
	SD_BUS_PROPERTY("MemoryZSwapWriteback", "b", get_zero, 0, 0),
	SD_BUS_VTABLE_END,
};

static void *serve(void *data)
{
	struct manager *m = data;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = sd_bus_get_fd(m->bus), .events = POLLIN },
			{ .fd = m->stop_fd[0], .events = POLLIN },
		};

		while (sd_bus_process(m->bus, NULL) > 0)
			;
		fds[0].events = sd_bus_get_events(m->bus);
		if (poll(fds, 2, -1) < 0 || fds[1].revents)
			return NULL;
	}
}

static struct properties *properties;

static int start(void **state)
{
	int fds[2];
	sd_id128_t id;
	sd_bus *client;

	(void)state;
	memset(&manager, 0, sizeof(manager));
	manager.knows_writeback = true;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds), 0);
	assert_int_equal(sd_id128_randomize(&id), 0);
	assert_true(sd_bus_new(&manager.bus) >= 0);
	assert_true(sd_bus_set_fd(manager.bus, fds[0], fds[0]) >= 0);
	assert_true(sd_bus_set_server(manager.bus, true, id) >= 0);
	assert_true(sd_bus_set_anonymous(manager.bus, true) >= 0);
	assert_true(sd_bus_start(manager.bus) >= 0);
	assert_true(sd_bus_new(&client) >= 0);
	assert_true(sd_bus_set_fd(client, fds[1], fds[1]) >= 0);
	assert_true(sd_bus_set_anonymous(client, true) >= 0);
	assert_true(sd_bus_start(client) >= 0);
	assert_true(sd_bus_set_method_call_timeout(client, 5000000) >= 0);
	assert_int_equal(properties_new(client, &properties), 0);
	sd_bus_unref(client);
	return 0;
}

static void serve_now(void)
{
	sd_bus *bus = manager.bus;

	assert_true(sd_bus_add_object_vtable(bus, NULL,
			"/org/freedesktop/systemd1",
			"org.freedesktop.systemd1.Manager", manager_vtable,
			&manager) >= 0);
	assert_true(sd_bus_add_fallback_vtable(bus, NULL, UNITS,
			"org.freedesktop.systemd1.Service", unit_vtable, NULL,
			NULL) >= 0);
	assert_true(sd_bus_add_object_vtable(bus, NULL,
			UNITS "/_2d_2eslice", "org.freedesktop.systemd1.Slice",
			manager.knows_writeback ? slice_vtable :
						  old_slice_vtable,
			NULL) >= 0);
	assert_int_equal(pipe(manager.stop_fd), 0);
	assert_int_equal(pthread_create(&manager.thread, NULL, serve,
					&manager), 0);
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(write(manager.stop_fd[1], "x", 1), 1);
	pthread_join(manager.thread, NULL);
	properties_free(properties);
	sd_bus_close_unref(manager.bus);
	close(manager.stop_fd[0]);
	close(manager.stop_fd[1]);
	return 0;
}

/* ---- tests ---- */

static void test_units(void **state)
{
	static const struct {
		const char *cgroup, *unit;
	} cases[] = {
		{ "a.slice", "a.slice" },
		{ "a.slice/a-b.slice/x.service", "x.service" },
		{ "init.scope", "init.scope" },
		{ "a.slice/_cpu.service", "cpu.service" },
		{ "a.slice/dev-disk-by\\x2duuid.swap", "dev-disk-by\\x2duuid.swap" },
		{ "a.slice/x.service/inner", NULL },
		/* A container's own systemd. */
		{ "machine.slice/m.scope/payload/system.slice/x.service", NULL },
		{ "machine.slice/m.scope/system.slice", NULL },
		{ "mine", NULL },
		{ "mine/x.service", NULL },
		{ ".service", NULL },
		{ "", NULL },
	};

	(void)state;
	serve_now();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_free_ char *unit = NULL;
		const char *interface;

		if (properties_unit_of(cases[i].cgroup, &unit, &interface) !=
		    !!cases[i].unit)
			fail_msg("'%s'", cases[i].cgroup);
		if (unit)
			assert_string_equal(unit, cases[i].unit);
	}
}

static void test_runtime_properties(void **state)
{
	(void)state;
	serve_now();
	assert_int_equal(properties_set(properties, "a.slice/x.service",
					KNOB_WRITEBACK, 0), 1);
	assert_string_equal(manager.unit, "x.service");
	assert_string_equal(manager.property, "MemoryZSwapWriteback");
	assert_true(manager.runtime && manager.value == 0);
	assert_int_equal(properties_set(properties, "a.slice/x.service",
					KNOB_ZSWAP_MAX, UINT64_MAX), 1);
	assert_string_equal(manager.property, "MemoryZSwapMax");
	assert_true(manager.value == UINT64_MAX);
	assert_int_equal(manager.calls, 2);
}

static void test_what_is_left_to_the_file(void **state)
{
	(void)state;
	manager.knows_writeback = false;
	serve_now();
	/* An older systemd, a knob of ours, another unit's name, no unit. */
	assert_int_equal(properties_set(properties, "a.slice/x.service",
					KNOB_WRITEBACK, 0), 0);
	assert_int_equal(properties_set(properties, "a.slice/x.service",
					KNOB_SWAPIN_MAX, 4096), 0);
	assert_int_equal(properties_set(properties, "a.slice/elsewhere.service",
					KNOB_ZSWAP_MAX, 0), 0);
	assert_int_equal(properties_set(properties, "mine", KNOB_ZSWAP_MAX, 0),
			 0);
	assert_int_equal(properties_set(NULL, "a.slice", KNOB_ZSWAP_MAX, 0), 0);
	assert_int_equal(manager.calls, 0);
	manager.refuses = true;
	assert_int_equal(properties_set(properties, "a.slice/x.service",
					KNOB_ZSWAP_MAX, 0), 0);
	assert_int_equal(manager.calls, 1);
}

/* The file follows later, and is no drift until then. */
static void test_actuator_waits_for_systemd(void **state)
{
	const struct tree *t = *state;
	_cleanup_(actuator_freep) struct actuator *actuator = NULL;
	_cleanup_(cgtree_freep) struct cgtree *cgtree = NULL;
	_cleanup_(zf_path_freep) struct zf_path *cgroups = NULL;
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *error = NULL;
	struct cgroup_sample sample = { 0 };
	struct node *const *nodes;
	struct drift drift;
	size_t nr, restored;

	serve_now();
	tree_write(t, "run/x", "");
	tree_write(t, CG "/a.slice/memory.stat", "");
	tree_write(t, CG "/a.slice/x.service/memory.stat", "");
	tree_write(t, CG "/a.slice/x.service/memory.zswap.writeback", "1\n");
	assert_int_equal(config_load(t->path, &config, &error), 0);
	assert_int_equal(zf_path_open_at(t->path, CG, &cgroups), 0);
	assert_int_equal(cgtree_new(cgroups, config, &cgtree), 0);
	assert_int_equal(cgtree_rescan(cgtree), 0);
	nodes = cgtree_nodes(cgtree, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(actuator_new(t->path, cgroups, properties, &actuator,
				      &restored), 0);
	assert_int_equal(actuator_set(actuator, nodes[1], KNOB_WRITEBACK, 0),
			 0);
	assert_string_equal(manager.unit, "x.service");
	tree_expect(t, CG "/a.slice/x.service/memory.zswap.writeback", "1\n");
	sample.of[FIELD_WRITEBACK] = 1;
	sample.of[FIELD_ZSWAP_MAX] = sample.of[FIELD_SWAPIN_MAX] = UINT64_MAX;
	assert_int_equal(actuator_check(actuator, &settings_default, nodes[1],
					&sample, 1, &drift), 0);
	sample.of[FIELD_WRITEBACK] = 0;
	tree_write(t, CG "/a.slice/x.service/memory.zswap.writeback", "0\n");
	assert_int_equal(actuator_check(actuator, &settings_default, nodes[1],
					&sample, 2, &drift), 0);
	/* From then on another value is somebody's. */
	sample.of[FIELD_WRITEBACK] = 1;
	assert_int_equal(actuator_check(actuator, &settings_default, nodes[1],
					&sample, 3, &drift), 1);
	/* systemd is not to bring ours back at its next reload. */
	assert_int_equal(manager.value, 1);

	nodes[1]->locked = 0;
	tree_write(t, CG "/a.slice/x.service/memory.zswap.writeback", "1\n");
	assert_int_equal(actuator_set(actuator, nodes[1], KNOB_WRITEBACK, 0),
			 0);
	assert_int_equal(manager.value, 0);
	/* It may not have written the file when all is put back. */
	assert_int_equal(actuator_restore(actuator), 0);
	assert_int_equal(manager.value, 1);

	assert_int_equal(actuator_set(actuator, nodes[1], KNOB_WRITEBACK, 0),
			 0);
	tree_write(t, CG "/a.slice/x.service/memory.zswap.writeback", "0\n");
	/* Restored on the way it was set. */
	assert_int_equal(actuator_restore(actuator), 1);
	assert_int_equal(manager.value, 1);
	tree_expect(t, CG "/a.slice/x.service/memory.zswap.writeback", "0\n");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_units),
		T(test_runtime_properties),
		T(test_what_is_left_to_the_file),
		T(test_actuator_waits_for_systemd),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
