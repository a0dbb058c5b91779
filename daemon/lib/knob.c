// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include <zfolio/knob.h>

struct knob {
	struct knob *older;
	char *name;
	char *before;
};

struct zf_knobs {
	const struct zf_path *sys;
	struct knob *newest;
};

static void knob_free(struct knob *knob)
{
	free(knob->name);
	free(knob->before);
	free(knob);
}

ZF_DEFINE_CLEANUP(struct knob, knob_free, knob_free)

int zf_knobs_new(const struct zf_path *sys, struct zf_knobs **ret_knobs)
{
	struct zf_knobs *knobs = calloc(1, sizeof(*knobs));

	if (!knobs)
		return -ENOMEM;
	knobs->sys = sys;
	*ret_knobs = knobs;
	return 0;
}

const struct zf_path *zf_knobs_sys(const struct zf_knobs *knobs)
{
	return knobs->sys;
}

static int knob_read(const struct zf_path *sys, const char *name,
		     char **ret_value)
{
	int r = zf_path_read_active(sys, name, ret_value);

	return r == -EINVAL ? zf_path_read_string(sys, name, ret_value) : r;
}

int zf_knob_set(struct zf_knobs *knobs, const char *name, const char *value)
{
	_cleanup_(knob_freep) struct knob *knob = NULL;
	int r;

	knob = calloc(1, sizeof(*knob));
	if (!knob)
		return -ENOMEM;
	r = knob_read(knobs->sys, name, &knob->before);
	if (r < 0)
		return r;
	if (!strcmp(knob->before, value))
		return 0;
	knob->name = strdup(name);
	if (!knob->name)
		return -ENOMEM;
	r = zf_path_write(knobs->sys, name, value);
	if (r < 0)
		return r;

	knob->older = knobs->newest;
	knobs->newest = zf_take_ptr(knob);
	return 0;
}

int zf_knobs_restore(struct zf_knobs *knobs)
{
	int r, first = 0;

	if (!knobs)
		return 0;
	while (knobs->newest) {
		struct knob *knob = knobs->newest;

		r = zf_path_write(knobs->sys, knob->name, knob->before);
		if (r < 0 && !first)
			first = r;
		knobs->newest = knob->older;
		knob_free(knob);
	}
	free(knobs);
	return first;
}
