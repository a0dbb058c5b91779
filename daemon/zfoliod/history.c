// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

struct ring {
	struct event at[HISTORY_LEN];
	uint64_t noted;			/* in all; the newest is noted - 1 */
};

struct history {
	struct ring knobs, steps;
};

int history_new(struct history **ret_history)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return -ENOMEM;
	*ret_history = history;
	return 0;
}

static void ring_done(struct ring *ring)
{
	/* The path of a struct decision is somebody else's; here it is ours. */
	for (size_t i = 0; i < HISTORY_LEN; i++)
		free((char *)ring->at[i].decision.path);
}

void history_free(struct history *history)
{
	if (!history)
		return;
	ring_done(&history->knobs);
	ring_done(&history->steps);
	free(history);
}

static void note(struct history *history, struct event event, const char *path)
{
	struct ring *ring = event.decision.knob == KNOB_RECLAIM ?
				    &history->steps : &history->knobs;
	struct event *place = &ring->at[ring->noted % HISTORY_LEN];

	event.decision.path = strdup(path);
	if (!event.decision.path)
		return;
	free((char *)place->decision.path);
	*place = event;
	ring->noted++;
}

void history_decision(struct history *history, const struct decision *decision,
		      int error, uint64_t now)
{
	note(history, (struct event){
		.kind = EVENT_DECISION, .at = now, .decision = *decision,
		.error = error,
	}, decision->path);
}

void history_drift(struct history *history, const struct drift *drift,
		   const char *path, uint64_t now)
{
	note(history, (struct event){
		.kind = drift->reapplied ? EVENT_DRIFT_REAPPLIED :
					   EVENT_DRIFT_LEFT,
		.at = now,
		.decision = {
			.knob = drift->knob, .old = drift->now,
			.value = drift->reapplied ? drift->set : drift->now,
		},
	}, path);
}

/* The newest of @path before the @before-th; @before is moved to it. */
static const struct event *find(const struct ring *ring, const char *path,
				uint64_t *before)
{
	uint64_t oldest = zf_sub(ring->noted, HISTORY_LEN);

	while (*before > oldest) {
		const struct event *event =
			&ring->at[--*before % HISTORY_LEN];

		if (!strcmp(event->decision.path, path))
			return event;
	}
	return NULL;
}

size_t history_last(const struct history *history, const char *path,
		    const struct event **ret_events, size_t max)
{
	uint64_t knobs_at = history->knobs.noted;
	uint64_t steps_at = history->steps.noted;
	const struct event *knob = find(&history->knobs, path, &knobs_at);
	const struct event *step = find(&history->steps, path, &steps_at);
	size_t nr = 0;

	while (nr < max && (knob || step)) {
		if (knob && (!step || knob->at >= step->at)) {
			ret_events[nr++] = knob;
			knob = find(&history->knobs, path, &knobs_at);
		} else {
			ret_events[nr++] = step;
			step = find(&history->steps, path, &steps_at);
		}
	}
	return nr;
}

const char *event_format(const struct event *event, char text[EVENT_TEXT_LEN])
{
	const struct decision *d = &event->decision;
	char old[DECISION_VALUE_LEN], value[DECISION_VALUE_LEN];
	char action[DECISION_ACTION_LEN];

	if (event->kind == EVENT_DECISION) {
		snprintf(text, EVENT_TEXT_LEN, "%s%s%s",
			 decision_format_action(d, action),
			 event->error < 0 ? ": " : "",
			 event->error < 0 ? strerror(-event->error) : "");
		return text;
	}
	decision_value(d->knob, d->old, old);
	decision_value(d->knob, d->value, value);
	if (event->kind == EVENT_DRIFT_REAPPLIED)
		snprintf(text, EVENT_TEXT_LEN,
			 "%s: somebody else made it %s: set to %s again",
			 knob_files[d->knob], old, value);
	else
		snprintf(text, EVENT_TEXT_LEN,
			 "%s: somebody else made it %s: left to them from now on",
			 knob_files[d->knob], old);
	return text;
}
