/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * law.h - the control law of a test, ticked by hand
 *
 * start() and stop() are cmocka's fixtures of each test; between them there is
 * a law that has seen nothing, and ticks as ticks.h makes them.
 */
#ifndef ZFOLIO_TESTS_LAW_H
#define ZFOLIO_TESTS_LAW_H

#include "../zfoliod/control.h"

#include "ticks.h"

#define SEC ZF_USEC_PER_SEC

static struct control *control;
static struct settings settings;
static struct ticks t;
static const struct decision *d;	/* of the last tick */
static size_t nr;

static inline int start(void **state)
{
	(void)state;
	settings = settings_default;
	ticks_init(&t, 1);
	return control_new(&control);
}

static inline int stop(void **state)
{
	(void)state;
	control_free(control);
	return 0;
}

static inline void tick(void)
{
	assert_int_equal(control_tick(control, &settings, &t.tick, &d, &nr), 0);
}

/* Ticks until something is decided; fails after @max without. */
static inline int ticks_until_decision(int max)
{
	for (int i = 1; i <= max; i++) {
		tick();
		if (nr)
			return i;
	}
	fail_msg("no decision in %d ticks", max);
	return 0;
}

static inline void quiet_for(int ticks)
{
	for (int i = 0; i < ticks; i++) {
		char text[DECISION_TEXT_LEN];

		tick();
		if (nr)
			fail_msg("%s", decision_format(d, text));
	}
}

static inline void thrash(struct cgroup_sample *cgroup)
{
	/* 4 MiB in and 4 MiB out in 2 s: 187 % of 64 MiB a minute. */
	cgroup->of[FIELD_ZSWPIN] = 1024;
	cgroup->of[FIELD_ZSWPOUT] = 1024;
	cgroup->of[FIELD_MEMORY_STALL] = SEC;
}

static inline void calm(struct cgroup_sample *cgroup)
{
	cgroup->of[FIELD_ZSWPIN] = cgroup->of[FIELD_ZSWPOUT] = 0;
	cgroup->of[FIELD_PSWPIN] = cgroup->of[FIELD_MEMORY_STALL] = 0;
}

/* 3 MiB a minute out of 32 MiB on disk: 9 %. */
static inline void refault(struct cgroup_sample *cgroup)
{
	cgroup->of[FIELD_PSWPIN] = 26;
}

static inline void switch_off(void)
{
	refault(&t.cgroups[0]);
	ticks_until_decision(3);
	t.cgroups[0].of[FIELD_WRITEBACK] = 0;
	t.cgroups[0].of[FIELD_WRITEBACK_HERE] = 0;
	calm(&t.cgroups[0]);
}

#endif
