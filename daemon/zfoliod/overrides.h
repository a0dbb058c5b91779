/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overrides.h - values of single cgroups that were set at run time, until they
 *		 expire or the daemon ends
 *
 * An override is a key of [cgroup GLOB] for one cgroup by its path. It outlives
 * the cgroup and a reload of the configuration.
 */
#ifndef ZFOLIOD_OVERRIDES_H
#define ZFOLIOD_OVERRIDES_H

#include <stddef.h>

#include <zfolio/cleanup.h>

#include "policy.h"

/* More than that is a configuration, and belongs into a file. */
#define OVERRIDES_MAX 256

struct override_entry {
	char *path;
	char *key, *text;
	uint64_t until;		/* microseconds; UINT64_MAX: no end */
	uint64_t set;		/* the key, as in conf_keys.h */
	struct policy values;	/* that one key is valid */
};

struct overrides;

/* Return: 0 or -ENOMEM. */
int overrides_new(struct overrides **ret_overrides);

void overrides_free(struct overrides *overrides);
ZF_DEFINE_CLEANUP(struct overrides, overrides_free, overrides_free)

/**
 * overrides_set() - set a key of a cgroup, or set it anew
 * @overrides:	overrides
 * @policy:	what applies to the cgroup now
 * @path:	the cgroup
 * @key:	a key of [cgroup GLOB]
 * @text:	its value; "" takes an override away
 * @until:	when it expires, microseconds of any steady clock; or UINT64_MAX
 * @ret_error:	on -EINVAL a line for the user, to be given to free()
 *
 * Return: 0; -EINVAL for a key or value that is wrong or does not fit @policy;
 * -ENOENT when there is none to take away; -ENOSPC beyond OVERRIDES_MAX; or
 * -ENOMEM. After an error nothing has changed.
 */
int overrides_set(struct overrides *overrides, const struct policy *policy,
		  const char *path, const char *key, const char *text,
		  uint64_t until, char **ret_error);

/* Lay those of a cgroup over its policy. */
void overrides_apply(const struct overrides *overrides, const char *path,
		     struct policy *policy);

/*
 * Drop one whose time is over by @now: its path, to be given to free(), or NULL
 * when there is none.
 */
char *overrides_expire(struct overrides *overrides, uint64_t now);

/* All of them; belongs to @overrides until the next change. */
const struct override_entry *overrides_all(const struct overrides *overrides,
				     size_t *ret_nr);

#endif
