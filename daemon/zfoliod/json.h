/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h - how numbers, paths and knobs are written in traces, state
 *	    files and replies
 *
 * JSON's integers have 63 bits in jansson; nothing real lies between them and
 * "no limit", which is written as "max".
 */
#ifndef ZFOLIOD_JSON_H
#define ZFOLIOD_JSON_H

#include <stdint.h>

#include <jansson.h>

/* As json_object_set_new(): takes @value in any case. Return: 0 or -ENOMEM. */
int json_put(json_t *object, const char *key, json_t *value);

/* A number or "max"; NULL without memory. */
json_t *json_number(uint64_t value);

int json_put_number(json_t *object, const char *key, uint64_t value);

/* The number or "max" of @json: 0, or -EINVAL for anything else. */
int json_read_number(const json_t *json, uint64_t *ret);

/*
 * A path as people are shown it: bytes that are no UTF-8 are "?". NULL without
 * memory.
 */
json_t *json_path(const char *path);

/* An array of the names of knobs, given as KNOB_BIT(); NULL without memory. */
json_t *json_knobs(uint32_t knobs);

#endif
