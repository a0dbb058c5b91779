/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notices.h - what is told about the machine, beside decisions
 *
 * Swap devices that come and go, and ticks on which nothing is decided since the
 * machine slept: what else would leave an administrator wondering why the daemon
 * does nothing. Each is told when it happens, not again on each tick.
 */
#ifndef ZFOLIOD_NOTICES_H
#define ZFOLIOD_NOTICES_H

#include "swaps.h"

struct notices {
	char devices[SWAPS_MAX][DEVICE_NAME_LEN];	/* on the last tick */
	size_t nr_devices;
	bool began;
};

/**
 * notices_tick() - tell what is new
 * @notices:	zeros before the first tick
 * @settings:	[daemon]
 * @tick:	the tick
 */
void notices_tick(struct notices *notices, const struct settings *settings,
		  const struct tick *tick);

#endif
