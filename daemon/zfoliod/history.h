/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - the last decisions and drifts, for those who ask later
 *
 * Steps of write-back are many, so they have a ring of their own and push out
 * no change of a knob. Events are told apart by the path of the cgroup, not by
 * its id: what was done to a service before it was restarted is worth knowing.
 */
#ifndef ZFOLIOD_HISTORY_H
#define ZFOLIOD_HISTORY_H

#include "actuator.h"
#include "decision.h"

/* Events that are kept of each kind: some 100 KiB with usual paths. */
#define HISTORY_LEN 512

enum event_kind {
	EVENT_DECISION,		/* carried out, or failed with @error */
	EVENT_DRIFT_LEFT,	/* somebody else made it @old: left to them */
	EVENT_DRIFT_REAPPLIED,	/* somebody else made it @old: set again */
};

struct event {
	enum event_kind kind;
	uint64_t at;		/* microseconds, as given */
	struct decision decision;	/* of a drift the knob, old and value */
	int error;
};

struct history;

/* Return: 0 or -ENOMEM. */
int history_new(struct history **ret_history);

void history_free(struct history *history);
ZF_DEFINE_CLEANUP(struct history, history_free, history_free)

/*
 * Note an event; @now is microseconds of any steady clock. Without memory it is
 * not noted: nothing but a report depends on it.
 */
void history_decision(struct history *history, const struct decision *decision,
		      int error, uint64_t now);
void history_drift(struct history *history, const struct drift *drift,
		   const char *path, uint64_t now);

/**
 * history_last() - the last events of a cgroup
 * @history:	history
 * @path:	the cgroup
 * @ret_events:	the newest first; belong to @history until the next one is noted
 * @max:	room
 *
 * Return: how many.
 */
size_t history_last(const struct history *history, const char *path,
		    const struct event **ret_events, size_t max);

/* A line for people, as decision_format_action(), with the error. */
#define EVENT_TEXT_LEN (DECISION_ACTION_LEN + 80)
const char *event_format(const struct event *event, char text[EVENT_TEXT_LEN]);

#endif
