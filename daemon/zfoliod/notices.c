// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include <zfolio/units.h>

#include "control.h"
#include "log.h"
#include "notices.h"

static bool had_device(const struct notices *notices, const char *name)
{
	for (size_t i = 0; i < notices->nr_devices; i++) {
		if (!strcmp(notices->devices[i], name))
			return true;
	}
	return false;
}

static bool has_device(const struct tick *tick, const char *name)
{
	for (size_t i = 0; i < tick->nr_devices; i++) {
		if (!strcmp(tick->devices[i].name, name))
			return true;
	}
	return false;
}

static void tell_devices(const struct notices *notices,
			 const struct tick *tick)
{
	char size[ZF_BYTES_LEN];

	for (size_t i = 0; i < notices->nr_devices; i++) {
		if (!has_device(tick, notices->devices[i]))
			log_line(LOG_INFO, LOG_ID_OTHER,
				 "swap device %s has gone",
				 notices->devices[i]);
	}
	for (size_t i = 0; i < tick->nr_devices; i++) {
		const struct device_sample *device = &tick->devices[i];

		if (!had_device(notices, device->name))
			log_line(LOG_INFO, LOG_ID_OTHER, "swap device %s: %s%s",
				 device->name,
				 zf_format_bytes(device->size, size),
				 device->policy.reserved ? ", reserved" : "");
	}
	if (!tick->nr_devices && (notices->nr_devices || !notices->began))
		log_line(LOG_INFO, LOG_ID_OTHER,
			 "no swap device: nothing can go to disk");
}

void notices_tick(struct notices *notices, const struct settings *settings,
		  const struct tick *tick)
{
	char elapsed[ZF_TIME_LEN];

	tell_devices(notices, tick);
	notices->began = true;
	notices->nr_devices = tick->nr_devices;
	for (size_t i = 0; i < tick->nr_devices; i++)
		strcpy(notices->devices[i], tick->devices[i].name);
	if (control_is_jump(settings, tick))
		log_line(LOG_INFO, LOG_ID_OTHER,
			 "a tick of %s: the machine slept or stood still, nothing is decided on it",
			 zf_format_time(tick->elapsed, elapsed));
}
