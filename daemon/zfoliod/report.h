/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - what is told to those who ask: objects of JSON made from a tick
 *
 * The same functions serve the daemon and zfolioctl, which without a daemon
 * samples itself. daemon/README.md describes the objects. All sizes are bytes,
 * times microseconds, shares parts per million; "max" is no limit.
 */
#ifndef ZFOLIOD_REPORT_H
#define ZFOLIOD_REPORT_H

#include <jansson.h>

#include "features.h"
#include "history.h"
#include "overrides.h"

/* Events that explain tells. */
#define REPORT_EVENTS 20

/* What the reports are about. */
struct subject {
	bool is_daemon;			/* not zfolioctl on its own */
	uint64_t now;			/* CLOCK_MONOTONIC, microseconds */
	uint64_t started;		/* likewise, of a daemon */
	uint64_t written;		/* asked for by it, bytes on devices */
	const struct tick *tick;	/* the last one; NULL: none yet */
	const struct settings *settings;
	const struct features *features;
	const struct cgtree *tree;
	const struct history *history;	/* NULL: none */
	const struct overrides *overrides;	/* NULL: none */
};

/* Each returns 0 or -ENOMEM, and an object to be given to json_decref(). */
int report_status(const struct subject *subject, json_t **ret_object);
int report_features(const struct subject *subject, json_t **ret_object);

/* Of one cgroup, which is among the nodes of the tree. */
int report_explain(const struct subject *subject, const struct node *node,
		   json_t **ret_object);

/* The node of a path as replies show it (json_path()), or NULL. */
struct node *report_find(const struct subject *subject, const char *path);

#endif
