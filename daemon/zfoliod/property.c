// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "property.h"

#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define UNIT_PREFIX MANAGER_PATH "/unit"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char *const names[NR_KNOBS] = {
	[KNOB_WRITEBACK] = "MemoryZSwapWriteback",
	[KNOB_ZSWAP_MAX] = "MemoryZSwapMax",
};

struct properties {
	sd_bus *bus;
	bool is_given;		/* by the caller; is not opened again */
	uint32_t probed, known;	/* KNOB_BIT() */
};

int properties_new(sd_bus *bus, struct properties **ret_properties)
{
	struct properties *properties = calloc(1, sizeof(*properties));

	if (!properties)
		return -ENOMEM;
	properties->bus = sd_bus_ref(bus);
	properties->is_given = bus;
	*ret_properties = properties;
	return 0;
}

void properties_free(struct properties *properties)
{
	if (!properties)
		return;
	sd_bus_flush_close_unref(properties->bus);
	free(properties);
}

/* ---- units ---- */

static const struct {
	const char *suffix, *interface;
} kinds[] = {
	{ ".service", MANAGER ".Service" },
	{ ".scope", MANAGER ".Scope" },
	{ ".slice", MANAGER ".Slice" },
	{ ".socket", MANAGER ".Socket" },
	{ ".mount", MANAGER ".Mount" },
	{ ".swap", MANAGER ".Swap" },
};

static bool ends_with(const char *text, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && !memcmp(text + len - n, suffix, n);
}

bool properties_unit_of(const char *cgroup, char **ret_unit,
			const char **ret_interface)
{
	const char *name = cgroup, *slash;
	const char *interface = NULL;
	char *unit;

	/* Below anything but a slice are the insides of a unit. */
	while ((slash = strchr(name, '/'))) {
		if (!ends_with(name, slash - name, ".slice"))
			return false;
		name = slash + 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (ends_with(name, strlen(name), kinds[i].suffix))
			interface = kinds[i].interface;
	}
	if (!interface)
		return false;
	/* systemd puts "_" before names that would look like the kernel's. */
	unit = strdup(name + (*name == '_'));
	if (!unit)
		return false;
	*ret_unit = unit;
	*ret_interface = interface;
	return true;
}

/* ---- the bus ---- */

static void lose_bus(struct properties *properties)
{
	properties->bus = sd_bus_close_unref(properties->bus);
	/* It may be another systemd that answers next. */
	properties->probed = properties->known = 0;
}

static int get_bus(struct properties *properties)
{
	int r;

	if (properties->bus && sd_bus_is_open(properties->bus) > 0)
		return 0;
	if (properties->is_given)
		return properties->bus ? 0 : -ENOTCONN;
	lose_bus(properties);
	r = sd_bus_open_system(&properties->bus);
	if (r < 0)
		return r;
	return sd_bus_set_method_call_timeout(properties->bus,
					      PROPERTY_TIMEOUT_USEC);
}

/* Whether the manager knows the property: the root slice has all of them. */
static bool is_known(struct properties *properties, enum knob knob)
{
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *type = knob == KNOB_WRITEBACK ? "b" : "t";
	int r;

	if (!(properties->probed & KNOB_BIT(knob))) {
		r = sd_bus_get_property(properties->bus, MANAGER,
					UNIT_PREFIX "/_2d_2eslice",
					MANAGER ".Slice", names[knob], &error,
					&reply, type);
		if (r >= 0)
			properties->known |= KNOB_BIT(knob);
		/* No answer is none to remember. */
		if (r >= 0 || sd_bus_error_has_name(&error,
					SD_BUS_ERROR_UNKNOWN_PROPERTY))
			properties->probed |= KNOB_BIT(knob);
	}
	return properties->known & KNOB_BIT(knob);
}

/* A unit of that name may be another one than the cgroup's. */
static bool has_cgroup(struct properties *properties, const char *unit,
		       const char *interface, const char *cgroup)
{
	_cleanup_free_ char *path = NULL, *group = NULL;

	if (sd_bus_path_encode(UNIT_PREFIX, unit, &path) < 0 ||
	    sd_bus_get_property_string(properties->bus, MANAGER, path,
				       interface, "ControlGroup", NULL,
				       &group) < 0)
		return false;
	return *group == '/' && !strcmp(group + 1, cgroup);
}

int properties_set(struct properties *properties, const char *cgroup,
		   enum knob knob, uint64_t value)
{
	_cleanup_free_ char *unit = NULL;
	const char *interface;
	int r;

	if (!properties || !names[knob] ||
	    !properties_unit_of(cgroup, &unit, &interface) ||
	    get_bus(properties) < 0 || !is_known(properties, knob) ||
	    !has_cgroup(properties, unit, interface, cgroup))
		return 0;
	if (knob == KNOB_WRITEBACK)
		r = sd_bus_call_method(properties->bus, MANAGER, MANAGER_PATH,
				       MANAGER ".Manager", "SetUnitProperties",
				       NULL, NULL, "sba(sv)", unit, true, 1,
				       names[knob], "b", value != 0);
	else
		r = sd_bus_call_method(properties->bus, MANAGER, MANAGER_PATH,
				       MANAGER ".Manager", "SetUnitProperties",
				       NULL, NULL, "sba(sv)", unit, true, 1,
				       names[knob], "t", value);
	return r >= 0;
}
