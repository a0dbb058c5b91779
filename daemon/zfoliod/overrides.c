// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf_keys.h"
#include "overrides.h"

struct overrides {
	struct override_entry at[OVERRIDES_MAX];
	size_t nr;
};

int overrides_new(struct overrides **ret_overrides)
{
	struct overrides *overrides = calloc(1, sizeof(*overrides));

	if (!overrides)
		return -ENOMEM;
	*ret_overrides = overrides;
	return 0;
}

static void override_done(struct override_entry *override)
{
	free(override->path);
	free(override->key);
	free(override->text);
}

void overrides_free(struct overrides *overrides)
{
	if (!overrides)
		return;
	for (size_t i = 0; i < overrides->nr; i++)
		override_done(&overrides->at[i]);
	free(overrides);
}

/* The order is the one in which they were set. */
static void drop(struct overrides *overrides, size_t i)
{
	override_done(&overrides->at[i]);
	overrides->nr--;
	memmove(&overrides->at[i], &overrides->at[i + 1],
		(overrides->nr - i) * sizeof(overrides->at[0]));
}

/* Its index, or that behind the last one. */
static size_t find(const struct overrides *overrides, const char *path,
		   const char *key)
{
	size_t i = 0;

	while (i < overrides->nr && (strcmp(overrides->at[i].path, path) ||
				     strcmp(overrides->at[i].key, key)))
		i++;
	return i;
}

static int parse(const struct policy *policy, const char *key,
		 const char *text, struct override_entry *override,
		 char **ret_error)
{
	struct policy merged = *policy;
	const char *expected, *wrong;
	int r;

	r = conf_key_set(KIND_CGROUP, key, text, &override->values,
			 &override->set, &expected);
	if (r == -ENOENT)
		r = asprintf(ret_error,
			     "%s: expected a key of [cgroup], such as writeback",
			     key);
	else if (r < 0)
		r = asprintf(ret_error, "%s: \"%s\": expected %s", key, text,
			     expected);
	else {
		conf_keys_copy(override->set, &override->values, &merged);
		wrong = policy_check(&merged);
		if (!wrong)
			return 0;
		r = asprintf(ret_error, "%s", wrong);
	}
	return r < 0 ? -ENOMEM : -EINVAL;
}

int overrides_set(struct overrides *overrides, const struct policy *policy,
		  const char *path, const char *key, const char *text,
		  uint64_t until, char **ret_error)
{
	struct override_entry override = { .until = until };
	size_t i = find(overrides, path, key);
	int r;

	if (!*text) {
		if (i == overrides->nr)
			return -ENOENT;
		drop(overrides, i);
		return 0;
	}
	r = parse(policy, key, text, &override, ret_error);
	if (r < 0)
		return r;
	if (i == overrides->nr && overrides->nr == OVERRIDES_MAX)
		return -ENOSPC;
	override.path = strdup(path);
	override.key = strdup(key);
	override.text = strdup(text);
	if (!override.path || !override.key || !override.text) {
		override_done(&override);
		return -ENOMEM;
	}
	if (i < overrides->nr)
		drop(overrides, i);
	overrides->at[overrides->nr++] = override;
	return 0;
}

void overrides_apply(const struct overrides *overrides, const char *path,
		     struct policy *policy)
{
	for (size_t i = 0; i < overrides->nr; i++) {
		const struct override_entry *override = &overrides->at[i];

		if (!strcmp(override->path, path))
			conf_keys_copy(override->set, &override->values,
				       policy);
	}
}

char *overrides_expire(struct overrides *overrides, uint64_t now)
{
	for (size_t i = 0; i < overrides->nr; i++) {
		char *path;

		if (overrides->at[i].until > now)
			continue;
		path = zf_take_ptr(overrides->at[i].path);
		drop(overrides, i);
		return path;
	}
	return NULL;
}

const struct override_entry *overrides_all(const struct overrides *overrides,
				     size_t *ret_nr)
{
	*ret_nr = overrides->nr;
	return overrides->at;
}
