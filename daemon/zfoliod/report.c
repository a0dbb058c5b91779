// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "report.h"
#include "rules.h"

/* ---- parts ---- */

/* Appends @value to @array, which may be NULL; takes it in any case. */
static int append(json_t *array, json_t *value)
{
	return json_array_append_new(array, value) < 0 ? -ENOMEM : 0;
}

/* Rates have their period with them: "ppm" of a whole in each "usec". */
static json_t *pace(struct zf_rate rate)
{
	return json_pack("{s:o, s:o}", "ppm", json_number(rate.amount),
			 "usec", json_number(rate.usec));
}

static json_t *devices(const struct subject *subject)
{
	json_t *array = json_array();

	for (size_t i = 0; subject->tick && i < subject->tick->nr_devices; i++) {
		const struct device_sample *d = &subject->tick->devices[i];

		if (append(array, json_pack("{s:o, s:o, s:o, s:I, s:o, s:b}",
				"name", json_path(d->name),
				"size", json_number(d->size),
				"used", json_number(d->used),
				"priority", (json_int_t)d->priority,
				"written", json_number(d->written),
				"reserved", d->policy.reserved)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *pool(const struct subject *subject)
{
	const struct tick *tick = subject->tick;

	return json_pack("{s:o, s:o, s:o, s:o, s:o}",
			 "used", json_number(tick ? tick->pool : 0),
			 "limit", json_number(tick ? tick->pool_limit : 0),
			 "low", json_number(subject->settings->pool_low),
			 "high", json_number(subject->settings->pool_high),
			 "rejected", json_number(tick ? tick->rejected : 0));
}

/* Fields of one kind; @values in the order of enum field. */
static json_t *fields(enum field_kind kind, const uint64_t *values)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < NR_FIELDS; i++) {
		if (field_infos[i].kind == kind &&
		    json_put_number(object, field_infos[i].name,
				    values[i]) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *signals_of(const struct subject *subject,
			  const struct cgroup_sample *sample)
{
	struct signals s = { 0 };

	if (subject->tick->elapsed && !sample->fresh)
		s = rules_signals(sample, subject->tick);
	return json_pack("{s:o, s:o, s:o, s:o}",
			 "memory_pressure", json_number(s.memory_pressure),
			 "io_pressure", json_number(s.io_pressure),
			 "refaults", json_number(s.refault_pace),
			 "thrash", json_number(s.flow_pace));
}

static json_t *limits_of(const struct policy *policy)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}",
			 "memory_pressure",
			 json_number(policy->memory_pressure),
			 "io_pressure", json_number(policy->io_pressure),
			 "refault_limit", pace(policy->refault_limit),
			 "off_refaults", pace(policy->off_refaults),
			 "thrash_limit", pace(policy->thrash_limit));
}

static json_t *event_to_json(const struct subject *subject,
			     const struct event *event)
{
	static const char *const kinds[] = {
		[EVENT_DECISION] = "decision",
		[EVENT_DRIFT_LEFT] = "drift-left",
		[EVENT_DRIFT_REAPPLIED] = "drift-reapplied",
	};
	const struct decision *d = &event->decision;
	char text[EVENT_TEXT_LEN];

	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:s, s:o, s:o, s:i, s:s}",
			 "kind", kinds[event->kind],
			 "age", json_number(zf_sub(subject->now, event->at)),
			 "knob", knob_files[d->knob],
			 "old", json_number(d->old),
			 "value", json_number(d->value),
			 "reason", event->kind == EVENT_DECISION ?
				   reason_words[d->reason] : "drift",
			 "signal", json_number(d->signal),
			 "threshold", json_number(d->threshold),
			 "errno", -event->error,
			 "text", event_format(event, text));
}

static json_t *last_event(const struct subject *subject, const char *path)
{
	const struct event *event;

	if (!subject->history ||
	    !history_last(subject->history, path, &event, 1))
		return json_null();
	return event_to_json(subject, event);
}

/* Counters since the cgroup was made: the node keeps them. */
static json_t *cgroup(const struct subject *subject,
		      const struct cgroup_sample *sample)
{
	static const char *const states[] = {
		[RECLAIM_NONE] = "none", [RECLAIM_RUNNING] = "running",
		[RECLAIM_DONE] = "done", [RECLAIM_PARTIAL] = "partial",
		[RECLAIM_FAILED] = "failed",
	};
	const struct node *node = cgtree_find(subject->tree, sample->id);

	return json_pack("{s:o, s:o, s:b, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "path", json_path(sample->path),
			 "id", json_number(sample->id),
			 "fresh", sample->fresh,
			 "has", json_knobs(sample->has),
			 "locked", json_knobs(sample->locked),
			 "write_back", states[sample->reclaim],
			 "since", fields(FIELD_IS_DELTA, sample->of),
			 "total", fields(FIELD_IS_DELTA,
					 node ? node->last : sample->of),
			 "now", fields(FIELD_IS_LEVEL, sample->of),
			 "signals", signals_of(subject, sample),
			 "limits", limits_of(sample->policy),
			 "last", last_event(subject, sample->path));
}

/* ---- notes: why nothing is done ---- */

/* Return: 0 or -ENOMEM. */
__attribute__((format(printf, 2, 3)))
static int note(json_t *notes, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return append(notes, json_string(text));
}

/* Rule 6 of control.h, in the order in which it asks. */
static int note_write_back(json_t *notes, const struct subject *subject,
			   const struct cgroup_sample *sample)
{
	const struct policy *policy = sample->policy;
	const struct tick *tick = subject->tick;
	struct signals s = rules_signals(sample, tick);
	uint64_t level = tick->pool_limit ?
		zf_mul_div(tick->pool, ZF_PPM, tick->pool_limit) : 0;
	uint64_t target = zf_amount_bytes(policy->pool_target,
					  tick->pool_limit);
	char have[ZF_BYTES_LEN], want[ZF_BYTES_LEN];
	char now[ZF_SHARE_LEN], limit[ZF_SHARE_LEN];

	if (!(sample->has & KNOB_BIT(KNOB_RECLAIM)))
		return note(notes, "no write-back before it has to be: memory.reclaim does not take source=zswap here");
	if (!policy->proactive)
		return note(notes, "no write-back before it has to be: proactive = no");
	if (!sample->of[FIELD_WRITEBACK_HERE])
		return note(notes, "no write-back: memory.zswap.writeback is 0 here or above");
	if (level <= subject->settings->pool_low &&
	    sample->of[FIELD_ZSWAP] <= target)
		return note(notes,
			    "no write-back: the pool is at %s of its limit, not above pool_low %s, and the cgroup has %s in it, not above pool_target %s",
			    zf_format_share(level, now),
			    zf_format_share(subject->settings->pool_low, limit),
			    zf_format_bytes(sample->of[FIELD_ZSWAP], have),
			    zf_format_bytes(target, want));
	if (s.memory_pressure >= policy->memory_pressure)
		return note(notes,
			    "no write-back: waits %s of the time for memory, limit %s",
			    zf_format_share(s.memory_pressure, now),
			    zf_format_share(policy->memory_pressure, limit));
	if (s.io_pressure >= policy->io_pressure)
		return note(notes,
			    "no write-back: waits %s of the time for disks, limit %s",
			    zf_format_share(s.io_pressure, now),
			    zf_format_share(policy->io_pressure, limit));
	return 0;
}

static int make_notes(json_t *notes, const struct subject *subject,
		      const struct node *node,
		      const struct cgroup_sample *sample)
{
	int r = 0;

	if (!subject->is_daemon)
		r = note(notes, "zfoliod does not run: nothing is decided");
	if (r >= 0 && !node->is_unit)
		return note(notes, "the cgroups below it are tuned, each on its own");
	for (unsigned int i = 0; r >= 0 && i < NR_KNOBS; i++) {
		if (node->locked & KNOB_BIT(i))
			r = note(notes, "%s: left to whoever changed it, or not ours to write",
				 knob_files[i]);
	}
	if (r < 0)
		return r;
	if (!subject->tick || !subject->tick->elapsed)
		return note(notes, "no full tick yet");
	if (!sample)
		return note(notes, "nothing of it is in swap");
	if (sample->fresh)
		return note(notes, "just seen for the first time: decided on from the next tick on");
	return note_write_back(notes, subject, sample);
}

/* ---- main API ---- */

struct node *report_find(const struct subject *subject, const char *path)
{
	struct node *const *nodes;
	size_t nr;

	nodes = cgtree_nodes(subject->tree, &nr);
	for (size_t i = 0; i < nr; i++) {
		json_auto_t *shown = json_path(nodes[i]->path);

		if (shown && !strcmp(json_string_value(shown), path))
			return nodes[i];
	}
	return NULL;
}

int report_status(const struct subject *subject, json_t **ret_object)
{
	const struct tick *tick = subject->tick;
	json_t *object, *cgroups = json_array(), *daemon = json_null();

	if (subject->is_daemon)
		daemon = json_pack("{s:o, s:o, s:o}",
				   "running", json_number(zf_sub(subject->now,
							subject->started)),
				   "interval",
				   json_number(subject->settings->interval),
				   "written", json_number(subject->written));
	object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
			   "daemon", daemon,
			   "elapsed", json_number(tick ? tick->elapsed : 0),
			   "page_size", json_number(tick ? tick->page_size : 0),
			   "pool", pool(subject),
			   "devices", devices(subject),
			   "cgroups", cgroups);
	if (!object)
		return -ENOMEM;
	for (size_t i = 0; tick && i < tick->nr_cgroups; i++) {
		if (append(cgroups, cgroup(subject, &tick->cgroups[i])) < 0) {
			json_decref(object);
			return -ENOMEM;
		}
	}
	*ret_object = object;
	return 0;
}

int report_features(const struct subject *subject, json_t **ret_object)
{
	const struct features *f = subject->features;
	json_t *object, *knobs = json_object();

	object = json_pack("{s:b, s:b, s:b, s:o, s:s}",
			   "zswap_built_in", f->zswap_built_in,
			   "zswap_enabled", f->zswap_enabled,
			   "psi", f->psi, "knobs", knobs, "source_zswap",
			   features_reclaim_word(f));
	if (!object)
		return -ENOMEM;
	for (unsigned int i = 0; i < KNOB_RECLAIM; i++) {
		if (json_put(knobs, knob_files[i],
			     json_boolean(f->knobs & KNOB_BIT(i))) < 0) {
			json_decref(object);
			return -ENOMEM;
		}
	}
	*ret_object = object;
	return 0;
}

static json_t *overrides_of(const struct subject *subject,
			    const struct node *node)
{
	const struct override_entry *all = NULL;
	json_t *array = json_array();
	size_t nr = 0;

	if (subject->overrides)
		all = overrides_all(subject->overrides, &nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t left = UINT64_MAX;

		if (strcmp(all[i].path, node->path))
			continue;
		if (all[i].until != UINT64_MAX)
			left = zf_sub(all[i].until, subject->now);
		if (append(array, json_pack("{s:s, s:s, s:o}",
				"key", all[i].key, "value", all[i].text,
				"left", json_number(left))) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

int report_explain(const struct subject *subject, const struct node *node,
		   json_t **ret_object)
{
	const struct event *last[REPORT_EVENTS];
	const struct cgroup_sample *sample = NULL;
	json_t *object, *events = json_array(), *notes = json_array();
	size_t nr = 0;
	int r;

	for (size_t i = 0; subject->tick && i < subject->tick->nr_cgroups; i++) {
		if (subject->tick->cgroups[i].id == node->id)
			sample = &subject->tick->cgroups[i];
	}
	object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
			   "path", json_path(node->path),
			   "elapsed", json_number(subject->tick ?
						  subject->tick->elapsed : 0),
			   "cgroup", sample ? cgroup(subject, sample) :
					      json_null(),
			   "overrides", overrides_of(subject, node),
			   "events", events, "notes", notes);
	if (!object)
		return -ENOMEM;
	if (subject->history)
		nr = history_last(subject->history, node->path, last,
				  REPORT_EVENTS);
	r = make_notes(notes, subject, node, sample);
	for (size_t i = 0; r >= 0 && i < nr; i++)
		r = append(events, event_to_json(subject, last[i]));
	if (r < 0) {
		json_decref(object);
		return r;
	}
	*ret_object = object;
	return 0;
}
