// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "json.h"
#include "trace.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define TRACE_VERSION 1

static const char *const reclaim_words[] = {
	[RECLAIM_NONE] = "none", [RECLAIM_RUNNING] = "running",
	[RECLAIM_DONE] = "done", [RECLAIM_PARTIAL] = "partial",
	[RECLAIM_FAILED] = "failed",
};

/* ---- numbers of a tick and of a device, by name ---- */

struct number {
	const char *name;
	size_t at;
};

static const struct number tick_numbers[] = {
	{ "elapsed", offsetof(struct tick, elapsed) },
	{ "page_size", offsetof(struct tick, page_size) },
	{ "pool", offsetof(struct tick, pool) },
	{ "pool_limit", offsetof(struct tick, pool_limit) },
	{ "rejected", offsetof(struct tick, rejected) },
	{ "sizes", offsetof(struct tick, sizes) },
};

static const struct number device_numbers[] = {
	{ "size", offsetof(struct device_sample, size) },
	{ "used", offsetof(struct device_sample, used) },
	{ "written", offsetof(struct device_sample, written) },
	{ "written_before", offsetof(struct device_sample, written_before) },
	{ "uptime", offsetof(struct device_sample, uptime) },
};

static uint64_t *number_at(void *object, const struct number *number)
{
	return (uint64_t *)((char *)object + number->at);
}

/* ---- writing ---- */

/* Return: 0 or -ENOMEM; as all of the put functions. A zero is left out. */
static int put_number(json_t *object, const char *key, uint64_t value)
{
	if (!value)
		return 0;
	return json_put_number(object, key, value);
}

/* Likewise none. */
static int put_knobs(json_t *object, const char *key, uint32_t knobs)
{
	return knobs ? json_put(object, key, json_knobs(knobs)) : 0;
}

static int put_numbers(json_t *json, const void *object,
		       const struct number *numbers, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		int r = put_number(json, numbers[i].name,
				   *number_at((void *)object, &numbers[i]));

		if (r < 0)
			return r;
	}
	return 0;
}

static int write_line(FILE *file, const json_t *json)
{
	if (json_dumpf(json, file, JSON_COMPACT) < 0 ||
	    putc('\n', file) == EOF || fflush(file) == EOF)
		return -EIO;
	return 0;
}

int trace_write_header(FILE *file)
{
	json_auto_t *json = json_object();

	if (json_put(json, "zfolio_trace", json_integer(TRACE_VERSION)) < 0)
		return -ENOMEM;
	return write_line(file, json);
}

static int put_device(json_t *array, const struct device_sample *device)
{
	json_t *json = json_object();

	/* The array owns it from here on. */
	if (json_array_append_new(array, json) < 0 ||
	    json_put(json, "name", json_string(device->name)) < 0 ||
	    json_put(json, "priority", json_integer(device->priority)) < 0)
		return -ENOMEM;
	return put_numbers(json, device, device_numbers,
			   ARRAY_SIZE(device_numbers));
}

static int put_cgroup(json_t *array, const struct cgroup_sample *cgroup)
{
	json_t *json = json_object();
	int r;

	if (json_array_append_new(array, json) < 0)
		return -ENOMEM;
	r = put_number(json, "id", cgroup->id);
	if (r >= 0)
		r = json_put(json, "path", json_path(cgroup->path));
	if (r >= 0)
		r = put_knobs(json, "has", cgroup->has);
	if (r >= 0)
		r = put_knobs(json, "locked", cgroup->locked);
	if (r >= 0 && cgroup->fresh)
		r = json_put(json, "fresh", json_true());
	if (r >= 0 && !cgroup->has_pswpin)
		r = json_put(json, "has_pswpin", json_false());
	if (r >= 0 && cgroup->reclaim)
		r = json_put(json, "reclaim",
			json_string(reclaim_words[cgroup->reclaim]));
	for (size_t i = 0; r >= 0 && i < NR_FIELDS; i++)
		r = put_number(json, field_infos[i].name, cgroup->of[i]);
	return r;
}

int trace_write_tick(FILE *file, const struct tick *tick)
{
	json_auto_t *json = json_object();
	json_t *devices = json_array(), *cgroups = json_array();
	int r;

	/* Both are given away even when this fails. */
	r = json_put(json, "devices", devices);
	if (json_put(json, "cgroups", cgroups) < 0)
		r = -ENOMEM;
	if (r >= 0)
		r = put_numbers(json, tick, tick_numbers,
				ARRAY_SIZE(tick_numbers));
	for (size_t i = 0; r >= 0 && i < tick->nr_devices; i++)
		r = put_device(devices, &tick->devices[i]);
	for (size_t i = 0; r >= 0 && i < tick->nr_cgroups; i++)
		r = put_cgroup(cgroups, &tick->cgroups[i]);
	return r < 0 ? r : write_line(file, json);
}

/* ---- reading ---- */

struct trace_reader {
	FILE *file;
	char *line;
	size_t room;
	unsigned long nr_line;
	json_t *json;		/* holds the strings of the tick */
	struct tick tick;
	char *error;
};

int trace_reader_new(FILE *file, struct trace_reader **ret_reader)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->file = file;
	*ret_reader = reader;
	return 0;
}

static void drop_tick(struct trace_reader *reader)
{
	free(reader->tick.devices);
	free(reader->tick.cgroups);
	reader->tick = (struct tick){ 0 };
	json_decref(reader->json);
	reader->json = NULL;
}

void trace_reader_free(struct trace_reader *reader)
{
	if (!reader)
		return;
	drop_tick(reader);
	free(reader->line);
	free(reader->error);
	free(reader);
}

/* The first error stays; returns -EINVAL, or -ENOMEM. */
__attribute__((format(printf, 2, 3)))
static int wrong(struct trace_reader *reader, const char *format, ...)
{
	_cleanup_free_ char *what = NULL;
	va_list args;
	int n;

	if (reader->error)
		return -EINVAL;
	va_start(args, format);
	n = vasprintf(&what, format, args);
	va_end(args);
	if (n < 0) {
		what = NULL;
		return -ENOMEM;
	}
	if (asprintf(&reader->error, "line %lu: %s", reader->nr_line, what) < 0) {
		reader->error = NULL;
		return -ENOMEM;
	}
	return -EINVAL;
}

static int get_number(struct trace_reader *reader, const char *key,
		      const json_t *value, uint64_t *ret)
{
	if (json_read_number(value, ret) < 0)
		return wrong(reader,
			     "%s: expected a whole number from 0, or \"max\"",
			     key);
	return 0;
}

/* 1 when @key is one of @numbers, 0 when not, or an error. */
static int get_one_of(struct trace_reader *reader, const char *key,
		      const json_t *value, const struct number *numbers,
		      size_t nr, void *object)
{
	for (size_t i = 0; i < nr; i++) {
		int r;

		if (strcmp(key, numbers[i].name))
			continue;
		r = get_number(reader, key, value,
			       number_at(object, &numbers[i]));
		return r < 0 ? r : 1;
	}
	return 0;
}

static int get_knobs(struct trace_reader *reader, const char *key,
		     const json_t *value, uint32_t *ret)
{
	const json_t *word;
	size_t i;

	if (!json_is_array(value))
		return wrong(reader, "%s: expected an array of file names",
			     key);
	*ret = 0;
	json_array_foreach(value, i, word) {
		unsigned int knob = 0;

		while (knob < NR_KNOBS &&
		       (!json_is_string(word) ||
			strcmp(json_string_value(word), knob_files[knob])))
			knob++;
		if (knob == NR_KNOBS)
			return wrong(reader,
				     "%s: expected names such as \"%s\"", key,
				     knob_files[KNOB_WRITEBACK]);
		*ret |= KNOB_BIT(knob);
	}
	return 0;
}

static int get_reclaim(struct trace_reader *reader, const json_t *value,
		       enum reclaim_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(reclaim_words); i++) {
		if (json_is_string(value) &&
		    !strcmp(json_string_value(value), reclaim_words[i])) {
			*ret = i;
			return 0;
		}
	}
	return wrong(reader, "reclaim: expected none, running, done, partial or failed");
}

static int get_flag(struct trace_reader *reader, const char *key,
		    const json_t *value, bool *ret)
{
	if (!json_is_boolean(value))
		return wrong(reader, "%s: expected true or false", key);
	*ret = json_is_true(value);
	return 0;
}

static int get_field(struct trace_reader *reader, const char *key,
		     const json_t *value, struct cgroup_sample *cgroup)
{
	for (size_t i = 0; i < NR_FIELDS; i++) {
		if (!strcmp(key, field_infos[i].name))
			return get_number(reader, key, value, &cgroup->of[i]);
	}
	return wrong(reader, "%s: no key of a cgroup", key);
}

static int get_cgroup(struct trace_reader *reader, json_t *json,
		      struct cgroup_sample *cgroup)
{
	const char *key;
	json_t *value;
	int r = 0;

	if (!json_is_object(json))
		return wrong(reader, "cgroups: expected objects");
	*cgroup = (struct cgroup_sample){ .has_pswpin = true };
	json_object_foreach(json, key, value) {
		if (!strcmp(key, "id"))
			r = get_number(reader, key, value, &cgroup->id);
		else if (!strcmp(key, "path"))
			cgroup->path = json_string_value(value);
		else if (!strcmp(key, "has"))
			r = get_knobs(reader, key, value, &cgroup->has);
		else if (!strcmp(key, "locked"))
			r = get_knobs(reader, key, value, &cgroup->locked);
		else if (!strcmp(key, "fresh"))
			r = get_flag(reader, key, value, &cgroup->fresh);
		else if (!strcmp(key, "has_pswpin"))
			r = get_flag(reader, key, value, &cgroup->has_pswpin);
		else if (!strcmp(key, "reclaim"))
			r = get_reclaim(reader, value, &cgroup->reclaim);
		else
			r = get_field(reader, key, value, cgroup);
		if (r < 0)
			return r;
	}
	if (!cgroup->path || !cgroup->id)
		return wrong(reader, "cgroups: expected a path and an id above 0 in each");
	return 0;
}

static int get_device(struct trace_reader *reader, json_t *json,
		      struct device_sample *device)
{
	const char *key, *name = NULL;
	json_t *value;

	*device = (struct device_sample){ .priority = 0 };
	if (!json_is_object(json))
		return wrong(reader, "devices: expected objects");
	json_object_foreach(json, key, value) {
		int r = get_one_of(reader, key, value, device_numbers,
				   ARRAY_SIZE(device_numbers), device);

		if (r < 0)
			return r;
		if (r)
			continue;
		if (!strcmp(key, "name"))
			name = json_string_value(value);
		else if (strcmp(key, "priority"))
			return wrong(reader, "%s: no key of a device", key);
		else if (!json_is_integer(value))
			return wrong(reader, "priority: expected a whole number");
		else
			device->priority = json_integer_value(value);
	}
	if (!name || !*name || strlen(name) >= sizeof(device->name))
		return wrong(reader, "devices: expected a name of 1 to %zu bytes in each",
			     sizeof(device->name) - 1);
	strcpy(device->name, name);
	return 0;
}

static int get_arrays(struct trace_reader *reader, json_t *devices,
		      json_t *cgroups)
{
	struct tick *tick = &reader->tick;
	size_t nr_devices = json_array_size(devices);
	size_t nr_cgroups = json_array_size(cgroups);
	int r = 0;

	tick->devices = calloc(nr_devices + 1, sizeof(*tick->devices));
	tick->cgroups = calloc(nr_cgroups + 1, sizeof(*tick->cgroups));
	if (!tick->devices || !tick->cgroups)
		return -ENOMEM;
	for (; r >= 0 && tick->nr_devices < nr_devices; tick->nr_devices++)
		r = get_device(reader,
			       json_array_get(devices, tick->nr_devices),
			       &tick->devices[tick->nr_devices]);
	for (; r >= 0 && tick->nr_cgroups < nr_cgroups; tick->nr_cgroups++)
		r = get_cgroup(reader,
			       json_array_get(cgroups, tick->nr_cgroups),
			       &tick->cgroups[tick->nr_cgroups]);
	return r;
}

static int get_tick(struct trace_reader *reader)
{
	struct tick *tick = &reader->tick;
	json_t *value, *devices = NULL, *cgroups = NULL;
	const char *key;

	json_object_foreach(reader->json, key, value) {
		int r = get_one_of(reader, key, value, tick_numbers,
				   ARRAY_SIZE(tick_numbers), tick);

		if (r < 0)
			return r;
		if (r)
			continue;
		if (!strcmp(key, "devices"))
			devices = value;
		else if (!strcmp(key, "cgroups"))
			cgroups = value;
		else
			return wrong(reader, "%s: no key of a tick", key);
	}
	if (!json_is_array(devices) || !json_is_array(cgroups))
		return wrong(reader, "expected the arrays devices and cgroups");
	if (tick->page_size < 512 || tick->page_size > 1 << 20 ||
	    (tick->page_size & (tick->page_size - 1)))
		return wrong(reader, "page_size: expected a power of two from 512 to 1048576");
	if ((tick->sizes & 1) || tick->sizes >> (TICK_MAX_ORDER + 1))
		return wrong(reader, "sizes: expected bits 1 to %d only",
			     TICK_MAX_ORDER);
	return get_arrays(reader, devices, cgroups);
}

/* The next line as reader->json: 1, 0 at the end, or an error. */
static int next_line(struct trace_reader *reader)
{
	json_error_t error;
	ssize_t len;

	drop_tick(reader);
	errno = 0;
	len = getline(&reader->line, &reader->room, reader->file);
	if (len < 0)
		return ferror(reader->file) ? -EIO : errno ? -errno : 0;
	reader->nr_line++;
	reader->json = json_loadb(reader->line, len, JSON_REJECT_DUPLICATES,
				  &error);
	if (!reader->json)
		return wrong(reader, "expected JSON: %s", error.text);
	if (!json_is_object(reader->json))
		return wrong(reader, "expected an object");
	return 1;
}

int trace_read_tick(struct trace_reader *reader, struct tick **ret_tick,
		    char **ret_error)
{
	int r;

	if (!reader->nr_line) {
		r = next_line(reader);
		if (r == 0) {
			reader->nr_line = 1;
			r = wrong(reader, "expected a trace, found an empty file");
		}
		if (r > 0 &&
		    json_integer_value(json_object_get(reader->json,
						       "zfolio_trace")) !=
		    TRACE_VERSION)
			r = wrong(reader, "expected {\"zfolio_trace\": %d}",
				  TRACE_VERSION);
		if (r < 0)
			goto out;
	}
	r = next_line(reader);
	if (r <= 0)
		goto out;
	r = get_tick(reader);
	if (r < 0)
		goto out;
	*ret_tick = &reader->tick;
	r = 1;
out:
	if (r == -EINVAL)
		*ret_error = zf_take_ptr(reader->error);
	return r;
}
