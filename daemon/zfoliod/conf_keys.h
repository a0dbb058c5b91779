/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_keys.h - the keys of the configuration: one table of name, type, bounds
 *		 and what a user is told beside a wrong value
 *
 * The values of a section lie in the structure of policy.h for its kind, and
 * which of them it has set is a mask of bits, so that sections can be laid on
 * top of each other.
 */
#ifndef ZFOLIOD_CONF_KEYS_H
#define ZFOLIOD_CONF_KEYS_H

#include <stdint.h>

enum conf_kind {
	KIND_DAEMON,		/* struct settings */
	KIND_DEVICE,		/* struct device_policy */
	KIND_CGROUP,		/* struct policy */
	KIND_NONE,
};

/**
 * conf_key_set() - parse a value into its member
 * @kind:	kind of the section
 * @name:	key
 * @text:	value
 * @values:	the structure of @kind
 * @set:	the key's bit is added here
 * @ret_expected: after a wrong value what it should have been, for the user
 *
 * Return: 0, -ENOENT when this kind has no such key, -EINVAL or -ERANGE for a
 * wrong value; then @values and @set are as before.
 */
int conf_key_set(enum conf_kind kind, const char *name, const char *text,
		 void *values, uint64_t *set, const char **ret_expected);

/* Copies the members in @set from one structure to another of its kind. */
void conf_keys_copy(uint64_t set, const void *from, void *to);

#endif
