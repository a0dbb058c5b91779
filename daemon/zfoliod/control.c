// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "rules.h"

/* ---- data structures ---- */

struct device {
	char name[DEVICE_NAME_LEN];
	struct budget budget;
};

struct control {
	uint64_t now;			/* sum of all ticks, microseconds */
	uint64_t served_clock;		/* units[].served of the last one served */
	struct unit *units;		/* by id */
	size_t nr_units;
	struct device *devices;		/* in the order of the last tick */
	size_t nr_devices;
	struct decision *decisions;
};

int control_new(struct control **ret_control)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control)
		return -ENOMEM;
	*ret_control = control;
	return 0;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	free(control->units);
	free(control->devices);
	free(control->decisions);
	free(control);
}

void control_forget_cgroups(struct control *control)
{
	control->nr_units = 0;
}

void control_forget_cgroup(struct control *control, uint64_t id)
{
	size_t i = 0;

	while (i < control->nr_units && control->units[i].id != id)
		i++;
	if (i == control->nr_units)
		return;
	control->nr_units--;
	memmove(&control->units[i], &control->units[i + 1],
		(control->nr_units - i) * sizeof(*control->units));
}

size_t control_nr_cgroups(const struct control *control)
{
	return control->nr_units;
}

/* ---- state between ticks ---- */

static int compare_samples(const void *a, const void *b)
{
	uint64_t x = (*(const struct cgroup_sample *const *)a)->id;
	uint64_t y = (*(const struct cgroup_sample *const *)b)->id;

	return (x > y) - (x < y);
}

/* The cgroups of the tick by id, each once. */
static const struct cgroup_sample **sort_samples(const struct tick *tick,
						 size_t *ret_nr)
{
	const struct cgroup_sample **sorted;
	size_t nr = 0;

	sorted = calloc(tick->nr_cgroups + 1, sizeof(*sorted));
	if (!sorted)
		return NULL;
	for (size_t i = 0; i < tick->nr_cgroups; i++)
		sorted[i] = &tick->cgroups[i];
	qsort(sorted, tick->nr_cgroups, sizeof(*sorted), compare_samples);
	for (size_t i = 0; i < tick->nr_cgroups; i++) {
		if (!nr || sorted[nr - 1]->id != sorted[i]->id)
			sorted[nr++] = sorted[i];
	}
	*ret_nr = nr;
	return sorted;
}

/* The units of @sorted: old ones as they were, new ones empty. */
static struct unit *merge_units(const struct control *control,
				const struct cgroup_sample **sorted, size_t nr)
{
	struct unit *units = calloc(nr + 1, sizeof(*units));
	size_t old = 0;

	if (!units)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		while (old < control->nr_units &&
		       control->units[old].id < sorted[i]->id)
			old++;
		if (old < control->nr_units &&
		    control->units[old].id == sorted[i]->id) {
			units[i] = control->units[old];
		} else {
			units[i].id = sorted[i]->id;
			units[i].step = sorted[i]->policy->step_min;
			units[i].served = control->served_clock;
		}
	}
	return units;
}

static struct device *merge_devices(const struct control *control,
				    const struct settings *settings,
				    const struct tick *tick)
{
	struct device *devices = calloc(tick->nr_devices + 1,
					sizeof(*devices));

	if (!devices)
		return NULL;
	for (size_t i = 0; i < tick->nr_devices; i++) {
		const struct device_sample *sample = &tick->devices[i];
		size_t old = 0;

		memcpy(devices[i].name, sample->name, sizeof(sample->name));
		while (old < control->nr_devices &&
		       strcmp(control->devices[old].name, sample->name))
			old++;
		if (old == control->nr_devices) {
			budget_start(&devices[i].budget, &sample->policy,
				     settings->burst, sample->written_before,
				     sample->uptime);
			continue;
		}
		devices[i].budget = control->devices[old].budget;
		budget_refill(&devices[i].budget, &sample->policy,
			      settings->burst, tick->elapsed);
		budget_see_written(&devices[i].budget, sample->written);
	}
	return devices;
}

/*
 * The kernel fills the device of the highest priority first. A reserved one
 * there keeps everything back: what is written now would go to it.
 */
static void choose_device(struct control *control, struct call *call)
{
	const struct tick *tick = call->tick;
	const struct device_sample *best = NULL;

	for (size_t i = 0; i < tick->nr_devices; i++) {
		const struct device_sample *device = &tick->devices[i];

		if (device->used < device->size &&
		    (!best || device->priority > best->priority))
			best = device;
	}
	if (!best || best->policy.reserved)
		return;
	call->device = best;
	call->budget = &control->devices[best - tick->devices].budget;
	call->capacity = budget_capacity(&best->policy, call->settings->burst);
}

/* ---- main API ---- */

/* Who had the least for its weight is first; ids keep equals in order. */
static int compare_served(const void *a, const void *b)
{
	const struct unit *x = *(struct unit *const *)a;
	const struct unit *y = *(struct unit *const *)b;

	if (x->served != y->served)
		return x->served < y->served ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int compare_decisions(const void *a, const void *b)
{
	const struct decision *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void name_decision(struct decision *d,
			  const struct cgroup_sample *sample)
{
	d->id = sample->id;
	d->path = sample->path;
}

/* Rules 1 to 5 for each; returns how many ask for rule 6, as @asking. */
static size_t decide_knobs(struct control *control, const struct call *call,
			   const struct cgroup_sample **sorted,
			   struct unit **asking, size_t *nr_decisions)
{
	size_t nr_asking = 0;

	for (size_t i = 0; i < control->nr_units; i++) {
		const struct cgroup_sample *sample = sorted[i];
		struct unit *unit = &control->units[i];
		struct decision *d = &control->decisions[*nr_decisions];
		struct signals s;

		if (sample->fresh)
			continue;
		s = rules_signals(sample, call->tick);
		rules_watch(call, unit, sample, &s);
		if (rules_knob(call, unit, sample, &s, d) ||
		    rules_cancel(unit, sample, &s, d)) {
			name_decision(d, sample);
			++*nr_decisions;
			continue;
		}
		if (!rules_asks(call, unit, sample, &s))
			continue;
		/* Having asked for nothing earns no claim on the others. */
		if (unit->served < control->served_clock)
			unit->served = control->served_clock;
		asking[nr_asking++] = unit;
	}
	return nr_asking;
}

int control_tick(struct control *control, const struct settings *settings,
		 const struct tick *tick,
		 const struct decision **ret_decisions, size_t *ret_nr)
{
	_cleanup_free_ const struct cgroup_sample **sorted = NULL;
	_cleanup_free_ struct unit **asking = NULL;
	struct call call = {
		.now = control->now + tick->elapsed,
		.settings = settings, .tick = tick,
	};
	struct decision *decisions;
	struct device *devices = NULL;
	struct unit *units = NULL;
	size_t nr, nr_asking, nr_decisions = 0;

	sorted = sort_samples(tick, &nr);
	if (!sorted)
		return -ENOMEM;
	asking = calloc(nr + 1, sizeof(*asking));
	decisions = calloc(nr + 1, sizeof(*decisions));
	units = merge_units(control, sorted, nr);
	devices = merge_devices(control, settings, tick);
	if (!asking || !decisions || !units || !devices) {
		free(decisions);
		free(units);
		free(devices);
		return -ENOMEM;
	}
	free(control->decisions);
	free(control->units);
	free(control->devices);
	control->decisions = decisions;
	control->units = units;
	control->nr_units = nr;
	control->devices = devices;
	control->nr_devices = tick->nr_devices;
	control->now = call.now;
	*ret_decisions = decisions;
	*ret_nr = 0;

	if (!tick->elapsed || control_is_jump(settings, tick)) {
		for (size_t i = 0; i < nr; i++)
			rules_forget_trend(&units[i]);
		return 0;
	}
	choose_device(control, &call);
	if (tick->pool_limit) {
		call.pool_level = zf_mul_div(tick->pool, ZF_PPM,
					     tick->pool_limit);
		call.pool_excess = zf_sub(tick->pool,
			zf_mul_div(tick->pool_limit, settings->pool_low,
				   ZF_PPM));
	}
	nr_asking = decide_knobs(control, &call, sorted, asking,
				 &nr_decisions);
	qsort(asking, nr_asking, sizeof(*asking), compare_served);
	for (size_t i = 0; i < nr_asking; i++) {
		const struct cgroup_sample *sample = sorted[asking[i] - units];
		struct decision *d = &decisions[nr_decisions];
		uint64_t served = asking[i]->served;

		if (!rules_writeback(&call, asking[i], sample, d))
			continue;
		control->served_clock = served;
		name_decision(d, sample);
		nr_decisions++;
	}
	qsort(decisions, nr_decisions, sizeof(*decisions), compare_decisions);
	*ret_nr = nr_decisions;
	return 0;
}
