/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * property.h - knobs that systemd owns, set as runtime properties of the unit
 *
 * systemd writes memory.zswap.max (MemoryZSwapMax=, systemd 253) and
 * memory.zswap.writeback (MemoryZSwapWriteback=, 256) of its units itself, and
 * again at each daemon-reload. What it knows is therefore told to it over
 * D-Bus; it then writes the file. All else is for the caller to write: knobs
 * that this systemd does not know, and cgroups that are no unit of it.
 *
 * Calls wait for an answer at most PROPERTY_TIMEOUT_USEC. systemd writes the
 * file after it has answered, so it does not have the new value at once.
 */
#ifndef ZFOLIOD_PROPERTY_H
#define ZFOLIOD_PROPERTY_H

#include <systemd/sd-bus.h>

#include <zfolio/cleanup.h>

#include "tick.h"

/* Far below the watchdog's time; a manager that is busy answers in less. */
#define PROPERTY_TIMEOUT_USEC ZF_USEC_PER_SEC

struct properties;

/**
 * properties_new() - start
 * @bus:	a connection to the manager, or NULL: the system's bus is opened
 *		when it is first needed, and again after it was lost
 * @ret_properties: to be given back with properties_free()
 */
int properties_new(sd_bus *bus, struct properties **ret_properties);

void properties_free(struct properties *properties);
ZF_DEFINE_CLEANUP(struct properties, properties_free, properties_free)

/**
 * properties_set() - set a knob by way of systemd
 * @properties:	connection, or NULL
 * @cgroup:	its path without slashes at the ends
 * @knob:	knob
 * @value:	value; UINT64_MAX for no limit
 *
 * Return: 1 when systemd took it, 0 when it is for the caller to write the
 * file: no property, no unit, no systemd, or it did not take it.
 */
int properties_set(struct properties *properties, const char *cgroup,
		   enum knob knob, uint64_t value);

/*
 * The unit that a path is the cgroup of: slices, and then one unit that is none
 * or is one. Return: its name in *ret_unit, to be given to free(), and its
 * D-Bus interface in *ret_interface; false when the path is no unit's.
 */
bool properties_unit_of(const char *cgroup, char **ret_unit,
			const char **ret_interface);

#endif
