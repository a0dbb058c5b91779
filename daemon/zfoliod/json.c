// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include <zfolio/cleanup.h>

#include "json.h"
#include "tick.h"

int json_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

json_t *json_number(uint64_t value)
{
	return value > INT64_MAX ? json_string("max") : json_integer(value);
}

int json_put_number(json_t *object, const char *key, uint64_t value)
{
	return json_put(object, key, json_number(value));
}

int json_read_number(const json_t *json, uint64_t *ret)
{
	if (json_is_string(json) && !strcmp(json_string_value(json), "max"))
		*ret = UINT64_MAX;
	else if (json_is_integer(json) && json_integer_value(json) >= 0)
		*ret = json_integer_value(json);
	else
		return -EINVAL;
	return 0;
}

json_t *json_path(const char *path)
{
	_cleanup_free_ char *copy = NULL;
	json_t *string = json_string(path);

	if (string)
		return string;
	copy = strdup(path);
	if (!copy)
		return NULL;
	for (char *p = copy; *p; p++) {
		if (*p & 0x80)
			*p = '?';
	}
	return json_string(copy);
}

json_t *json_knobs(uint32_t knobs)
{
	json_t *array = json_array();

	for (unsigned int i = 0; array && i < NR_KNOBS; i++) {
		if ((knobs & KNOB_BIT(i)) &&
		    json_array_append_new(array,
					  json_string(knob_files[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
