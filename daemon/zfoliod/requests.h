/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * requests.h - what can be asked of the daemon, and who may
 *
 * A request is one of
 *
 *	{"zfolio": 1, "get": "status"}
 *	{"zfolio": 1, "get": "features"}
 *	{"zfolio": 1, "get": "explain", "cgroup": "system.slice/a.service"}
 *	{"zfolio": 1, "set": {"cgroup": "a", "key": "writeback",
 *			      "value": "off", "for": 60000000}}
 *
 * where "for" (microseconds; without it no end) may be left out and a value of
 * "" takes an override away. A reply has "zfolio" and what was asked for under
 * its name, or "error" with "code" (EACCES, EINVAL, ENOENT, ...) and "message".
 * A key that is not known is an error, and no member is ever taken away or
 * given another meaning without another version.
 */
#ifndef ZFOLIOD_REQUESTS_H
#define ZFOLIOD_REQUESTS_H

#include "report.h"

/**
 * struct requests - what requests act on
 * @subject:	what reports are made of
 * @set:	sets a key of a cgroup; as overrides_set() with the time that it
 *		holds, UINT64_MAX for no end. NULL: nothing can be set
 * @data:	for @set
 */
struct requests {
	struct subject subject;
	int (*set)(void *data, struct node *node, const char *key,
		   const char *value, uint64_t usec, char **ret_error);
	void *data;
};

/**
 * requests_answer() - answer
 * @requests:	what it acts on
 * @request:	any object
 * @may_change:	whether the asker may set something
 * @ret_reply:	the reply, also to a request that is refused
 *
 * Return: 0 or -ENOMEM.
 */
int requests_answer(const struct requests *requests, const json_t *request,
		    bool may_change, json_t **ret_reply);

#endif
