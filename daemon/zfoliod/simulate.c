// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "control.h"
#include "simulate.h"

/* ---- data structures ---- */

/* Knobs of one cgroup that decisions have changed. */
struct override {
	uint64_t id;
	uint32_t set;			/* KNOB_BIT() */
	uint64_t value[NR_KNOBS];
	bool asked;			/* a write-back, on the tick before */
};

struct simulation {
	const struct config *config;
	struct control *control;
	struct override *overrides;	/* by id, those of the last tick */
	size_t nr_overrides;
	struct policy *policies;	/* of the cgroups of the tick */
};

static const enum field knob_fields[NR_KNOBS] = {
	[KNOB_WRITEBACK] = FIELD_WRITEBACK,
	[KNOB_ZSWAP_MAX] = FIELD_ZSWAP_MAX,
	[KNOB_SWAPIN_MAX] = FIELD_SWAPIN_MAX,
};

int simulation_new(const struct config *config,
		   struct simulation **ret_simulation)
{
	_cleanup_(simulation_freep) struct simulation *simulation = NULL;
	int r;

	simulation = calloc(1, sizeof(*simulation));
	if (!simulation)
		return -ENOMEM;
	simulation->config = config;
	r = control_new(&simulation->control);
	if (r < 0)
		return r;
	*ret_simulation = zf_take_ptr(simulation);
	return 0;
}

void simulation_free(struct simulation *simulation)
{
	if (!simulation)
		return;
	control_free(simulation->control);
	free(simulation->overrides);
	free(simulation->policies);
	free(simulation);
}

/* ---- overrides ---- */

static int compare_overrides(const void *a, const void *b)
{
	const struct override *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static struct override *find_override(struct override *overrides, size_t nr,
				      uint64_t id)
{
	struct override key = { .id = id };

	return nr ? bsearch(&key, overrides, nr, sizeof(key),
			    compare_overrides) : NULL;
}

/* One for each cgroup of the tick; those of vanished ones are dropped. */
static int renew_overrides(struct simulation *simulation,
			   const struct tick *tick)
{
	struct override *next = calloc(tick->nr_cgroups + 1, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i < tick->nr_cgroups; i++) {
		const struct override *old;

		old = find_override(simulation->overrides,
				    simulation->nr_overrides,
				    tick->cgroups[i].id);
		next[i] = old ? *old :
			  (struct override){ .id = tick->cgroups[i].id };
	}
	qsort(next, tick->nr_cgroups, sizeof(*next), compare_overrides);
	free(simulation->overrides);
	simulation->overrides = next;
	simulation->nr_overrides = tick->nr_cgroups;
	return 0;
}

static void apply_override(struct override *override,
			   struct cgroup_sample *cgroup)
{
	for (unsigned int knob = 0; knob < NR_KNOBS; knob++) {
		if (override->set & KNOB_BIT(knob))
			cgroup->of[knob_fields[knob]] = override->value[knob];
	}
	if (override->set & KNOB_BIT(KNOB_WRITEBACK))
		cgroup->of[FIELD_WRITEBACK_HERE] =
			override->value[KNOB_WRITEBACK];
	if (override->asked && cgroup->reclaim == RECLAIM_NONE)
		cgroup->reclaim = RECLAIM_DONE;
	override->asked = false;
}

/* ---- main API ---- */

int simulation_step(struct simulation *simulation, struct tick *tick,
		    const struct decision **ret_decisions, size_t *ret_nr)
{
	const struct decision *decisions;
	struct policy *policies;
	size_t nr;
	int r;

	r = renew_overrides(simulation, tick);
	if (r < 0)
		return r;
	policies = calloc(tick->nr_cgroups + 1, sizeof(*policies));
	if (!policies)
		return -ENOMEM;
	free(simulation->policies);
	simulation->policies = policies;

	for (size_t i = 0; i < tick->nr_devices; i++)
		tick->devices[i].policy = config_device(simulation->config,
							tick->devices[i].name);
	for (size_t i = 0; i < tick->nr_cgroups; i++) {
		struct cgroup_sample *cgroup = &tick->cgroups[i];

		policies[i] = config_policy(simulation->config, cgroup->path);
		cgroup->policy = &policies[i];
		apply_override(find_override(simulation->overrides,
					     simulation->nr_overrides,
					     cgroup->id), cgroup);
	}
	r = control_tick(simulation->control,
			 config_settings(simulation->config), tick, &decisions,
			 &nr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < nr; i++) {
		const struct decision *d = &decisions[i];
		struct override *override;

		override = find_override(simulation->overrides,
					 simulation->nr_overrides, d->id);
		if (d->knob == KNOB_RECLAIM) {
			override->asked = d->value;
			continue;
		}
		override->set |= KNOB_BIT(d->knob);
		override->value[d->knob] = d->value;
	}
	*ret_decisions = decisions;
	*ret_nr = nr;
	return 0;
}

int simulate(const struct config *config, FILE *in, FILE *out,
	     char **ret_error)
{
	_cleanup_(simulation_freep) struct simulation *simulation = NULL;
	_cleanup_(trace_reader_freep) struct trace_reader *reader = NULL;
	uint64_t now = 0, nr_ticks = 0, nr_decisions = 0, written = 0;
	const struct decision *decisions;
	char text[DECISION_TEXT_LEN], bytes[ZF_BYTES_LEN];
	struct tick *tick;
	size_t nr;
	int r;

	r = simulation_new(config, &simulation);
	if (r < 0)
		return r;
	r = trace_reader_new(in, &reader);
	if (r < 0)
		return r;
	while ((r = trace_read_tick(reader, &tick, ret_error)) > 0) {
		r = simulation_step(simulation, tick, &decisions, &nr);
		if (r < 0)
			return r;
		now = zf_add(now, tick->elapsed);
		nr_ticks++;
		for (size_t i = 0; i < nr; i++) {
			fprintf(out, "+%" PRIu64 ".%" PRIu64 "s %s\n",
				now / ZF_USEC_PER_SEC,
				now % ZF_USEC_PER_SEC / (ZF_USEC_PER_SEC / 10),
				decision_format(&decisions[i], text));
			written = zf_add(written, decisions[i].cost);
		}
		nr_decisions += nr;
	}
	if (r < 0)
		return r;
	fprintf(out, "%" PRIu64 " ticks, %" PRIu64 " decisions, %s to disk\n",
		nr_ticks, nr_decisions, zf_format_bytes(written, bytes));
	return fflush(out) == EOF || ferror(out) ? -EIO : 0;
}
