/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl.h - what the commands of zfolioctl share: options, exit statuses, and
 *	   where answers come from
 */
#ifndef ZFOLIOCTL_CTL_H
#define ZFOLIOCTL_CTL_H

#include <jansson.h>

#include <zfolio/path.h>

#include "term.h"

/* Documented in usage() and zfolioctl(1). */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_BAD_INPUT = 3,	/* no such cgroup, key or value */
	EXIT_UNSUPPORTED = 4,	/* this machine lacks what it takes */
	EXIT_NO_DAEMON = 5,
	EXIT_NOT_PERMITTED = 6,
	EXIT_PRESSURE = 7,	/* not now: memory is short */
};

struct ctl {
	const char *root;	/* "/", or a captured tree */
	struct zf_path *sys;	/* its context */
	struct term term;
	bool json;

	/* Of single commands. */
	uint64_t interval;	/* microseconds */
	uint64_t iterations;	/* 0: without end */
	uint64_t hold;		/* of set: microseconds, UINT64_MAX: no end */
	uint64_t size;		/* of measure: bytes */
	uint64_t samples;	/* of advise: pages */
	const char *output;	/* of metrics: a file, or NULL */
};

/* A line on stderr. */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/* EXIT_OK, or EXIT_USAGE after a complaint: commands that take no argument. */
int no_arguments(int argc, char **argv);

/*
 * The path of a cgroup without the slashes that a shell's completion or a habit
 * adds; to be given to free().
 */
char *clean_path(const char *text);

/* ---- answers ---- */

struct source;

/* Return: 0 or -ENOMEM. */
int source_new(const struct ctl *ctl, struct source **ret_source);

void source_free(struct source *source);
ZF_DEFINE_CLEANUP(struct source, source_free, source_free)

/**
 * source_ask() - have a request answered
 * @source:	source
 * @request:	as requests.h has it; its reference is taken
 * @ret_reply:	the reply without an error in it
 *
 * Asks zfoliod. Where it does not run, or does not answer this user, what can
 * be read is read here: the first time that takes a second, since rates need
 * two looks.
 *
 * Return: EXIT_OK, or an exit status; then it was complained.
 */
int source_ask(struct source *source, json_t *request, json_t **ret_reply);

/* Why the last reply is not the daemon's, for people; NULL when it is. */
const char *source_excuse(const struct source *source);

/* ---- replies ---- */

/* The reply as JSON on stdout; EXIT_OK or EXIT_FAILED. */
int print_json(const json_t *reply);

/* A number of an object; 0 when it is absent, UINT64_MAX for "max". */
uint64_t number_of(const json_t *object, const char *key);

/* A string of an object; "" when it is absent. */
const char *string_of(const json_t *object, const char *key);

/* ---- commands: each returns an exit status ---- */

int command_status(const struct ctl *ctl, int argc, char **argv);
int command_top(const struct ctl *ctl, int argc, char **argv);
int command_explain(const struct ctl *ctl, int argc, char **argv);
int command_set(const struct ctl *ctl, int argc, char **argv);
int command_measure(const struct ctl *ctl, int argc, char **argv);
int command_advise(const struct ctl *ctl, int argc, char **argv);
int command_metrics(const struct ctl *ctl, int argc, char **argv);
int command_features(const struct ctl *ctl, int argc, char **argv);

#endif
