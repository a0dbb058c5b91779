// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "ctl.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- explain ---- */

static void print_sizes(const struct ctl *ctl, const json_t *now)
{
	uint64_t swap = number_of(now, "swap");
	uint64_t zswapped = number_of(now, "zswapped");
	char memory[ZF_BYTES_LEN], in[ZF_BYTES_LEN], as[ZF_BYTES_LEN];
	char disk[ZF_BYTES_LEN];

	printf("  memory %s; in zswap %s, compressed %s; on disk %s\n",
	       term_bytes(&ctl->term, number_of(now, "current"), memory),
	       term_bytes(&ctl->term, zswapped, in),
	       term_bytes(&ctl->term, number_of(now, "zswap"), as),
	       term_bytes(&ctl->term, zf_sub(swap, zswapped), disk));
}

static void print_knobs(const struct ctl *ctl, const json_t *cgroup)
{
	static const struct {
		const char *file, *field;
	} knobs[] = {
		{ "memory.zswap.writeback", "writeback" },
		{ "memory.zswap.max", "zswap_max" },
		{ "memory.zswap.swapin_max", "swapin_max" },
	};
	const json_t *now = json_object_get(cgroup, "now");
	const json_t *name;
	size_t j;

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
		char value[ZF_BYTES_LEN];

		json_array_foreach(json_object_get(cgroup, "has"), j, name) {
			if (!strcmp(json_string_value(name), knobs[i].file))
				printf("  %s = %s\n", knobs[i].file,
				       term_bytes(&ctl->term,
						  number_of(now, knobs[i].field),
						  value));
		}
	}
	if (!number_of(now, "writeback_here") && number_of(now, "writeback"))
		puts("  (a cgroup above has memory.zswap.writeback = 0)");
}

static int add_signal(struct table *table, const char *name, uint64_t now,
		      const char *limit, bool is_above, const char *then)
{
	char text[ZF_SHARE_LEN];
	int r;

	r = table_add(table, TINT_PLAIN, name);
	if (r >= 0)
		r = table_add(table, is_above ? TINT_BAD : TINT_PLAIN,
			      zf_format_share(now, text));
	if (r >= 0)
		r = table_add(table, TINT_PLAIN, limit);
	return r < 0 ? r : table_add(table, TINT_PLAIN, then);
}

static int print_signals(const struct ctl *ctl, const json_t *cgroup)
{
	static const struct column columns[] = {
		{ "  SIGNAL", ALIGN_TEXT, 0 }, { "NOW", ALIGN_RIGHT, 0 },
		{ "LIMIT", ALIGN_RIGHT, 0 }, { "THEN", ALIGN_TEXT, 0 },
	};
	/* Paces are for each minute, as the signals are. */
	static const struct {
		const char *name, *signal, *limit, *then;
		bool is_pace;
	} rows[] = {
		{ "  time that it waits for memory", "memory_pressure",
		  "memory_pressure", "no write-back", false },
		{ "  time that it waits for disks", "io_pressure",
		  "io_pressure", "no write-back", false },
		{ "  of its stock on disk read back a minute", "refaults",
		  "refault_limit", "no write-back", true },
		{ "", "refaults", "off_refaults", "write-back off", true },
		{ "  of its memory swapped in and out a minute", "thrash",
		  "thrash_limit", "smaller swap-ins", true },
	};
	const json_t *signals = json_object_get(cgroup, "signals");
	const json_t *limits = json_object_get(cgroup, "limits");
	_cleanup_(table_freep) struct table *table = NULL;
	int r = table_new(columns, ARRAY_SIZE(columns), &table);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(rows); i++) {
		uint64_t now = number_of(signals, rows[i].signal);
		uint64_t limit = number_of(limits, rows[i].limit);
		char text[ZF_SHARE_LEN];

		if (rows[i].is_pace) {
			const json_t *pace = json_object_get(limits,
							     rows[i].limit);

			limit = zf_mul_div(number_of(pace, "ppm"),
					   ZF_USEC_PER_MIN,
					   number_of(pace, "usec"));
		}
		r = add_signal(table, rows[i].name, now,
			       zf_format_share(limit, text), now > limit,
			       rows[i].then);
	}
	if (r >= 0)
		table_print(table, &ctl->term, SIZE_MAX);
	return r;
}

static int print_explanation(const struct ctl *ctl, const json_t *explain)
{
	const json_t *cgroup = json_object_get(explain, "cgroup");
	const json_t *item;
	char time[ZF_TIME_LEN];
	size_t i;

	printf("%s%s%s\n", term_on(&ctl->term, TINT_TITLE),
	       string_of(explain, "path"), term_off(&ctl->term));
	if (json_is_object(cgroup)) {
		print_sizes(ctl, json_object_get(cgroup, "now"));
		print_knobs(ctl, cgroup);
		if (number_of(explain, "elapsed") &&
		    print_signals(ctl, cgroup) < 0) {
			complain("out of memory");
			return EXIT_FAILED;
		}
	}
	json_array_foreach(json_object_get(explain, "overrides"), i, item) {
		uint64_t left = number_of(item, "left");

		printf("  set: %s = %s, %s%s\n", string_of(item, "key"),
		       string_of(item, "value"),
		       left == UINT64_MAX ? "until zfoliod ends" :
					    "for another ",
		       left == UINT64_MAX ? "" : zf_format_time(left, time));
	}
	json_array_foreach(json_object_get(explain, "notes"), i, item)
		term_wrap(&ctl->term, 2, json_string_value(item));
	if (json_array_size(json_object_get(explain, "events")))
		printf("%sLast actions%s\n", term_on(&ctl->term, TINT_TITLE),
		       term_off(&ctl->term));
	json_array_foreach(json_object_get(explain, "events"), i, item) {
		char line[512];

		snprintf(line, sizeof(line), "%s ago: %s",
			 zf_format_time(number_of(item, "age"), time),
			 string_of(item, "text"));
		term_wrap(&ctl->term, 2, line);
	}
	return EXIT_OK;
}

int command_explain(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(source_freep) struct source *source = NULL;
	_cleanup_free_ char *path = NULL;
	json_auto_t *reply = NULL;
	int status;

	if (argc != 1) {
		complain("explain: expected one CGROUP: see --help");
		return EXIT_USAGE;
	}
	path = clean_path(argv[0]);
	if (!path || source_new(ctl, &source) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	status = source_ask(source, json_pack("{s:i, s:s, s:o}", "zfolio", 1,
					      "get", "explain", "cgroup",
					      json_stringn_nocheck(path,
							strlen(path))),
			    &reply);
	if (status != EXIT_OK)
		return status;
	if (ctl->json)
		return print_json(reply);
	return print_explanation(ctl, json_object_get(reply, "explain"));
}

/* ---- set ---- */

int command_set(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(source_freep) struct source *source = NULL;
	_cleanup_free_ char *path = NULL, *key = NULL;
	json_auto_t *reply = NULL;
	char time[ZF_TIME_LEN];
	const char *value;
	json_t *set;
	int status;

	value = argc == 2 ? strchr(argv[1], '=') : NULL;
	if (!value || value == argv[1]) {
		complain("set: expected CGROUP KEY=VALUE: see --help");
		return EXIT_USAGE;
	}
	path = clean_path(argv[0]);
	key = strndup(argv[1], value - argv[1]);
	value++;
	if (!path || !key || source_new(ctl, &source) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	set = json_pack("{s:s, s:s, s:s}", "cgroup", path, "key", key, "value",
			value);
	if (!set) {
		complain("set: expected UTF-8");
		return EXIT_USAGE;
	}
	if (ctl->hold != UINT64_MAX)
		json_object_set_new(set, "for", json_integer(ctl->hold));
	status = source_ask(source, json_pack("{s:i, s:o}", "zfolio", 1, "set",
					      set), &reply);
	if (status != EXIT_OK)
		return status;
	if (ctl->json)
		return print_json(reply);
	if (!*value)
		printf("%s: %s is as configured again\n", path, key);
	else
		printf("%s: %s = %s, %s%s\n", path, key, value,
		       ctl->hold == UINT64_MAX ? "until zfoliod ends" : "for ",
		       ctl->hold == UINT64_MAX ? "" :
		       zf_format_time(ctl->hold, time));
	return EXIT_OK;
}

/* ---- features ---- */

static void print_feature(const struct ctl *ctl, const char *name,
			  const char *value, bool is_good)
{
	printf("%-36s%s%s%s\n", name,
	       term_on(&ctl->term, is_good ? TINT_GOOD : TINT_WARN), value,
	       term_off(&ctl->term));
}

static void print_features(const struct ctl *ctl, const json_t *features)
{
	bool there = json_is_true(json_object_get(features, "zswap_built_in"));
	bool on = json_is_true(json_object_get(features, "zswap_enabled"));
	bool psi = json_is_true(json_object_get(features, "psi"));
	const char *source = string_of(features, "source_zswap");
	const char *name;
	json_t *knob;

	print_feature(ctl, "zswap", !there ? "not in this kernel" :
		      on ? "enabled" : "disabled", on);
	print_feature(ctl, "pressure stall information (PSI)",
		      psi ? "on" : "off", psi);
	json_object_foreach(json_object_get(features, "knobs"), name, knob)
		print_feature(ctl, name, json_is_true(knob) ? "yes" : "no",
			      json_is_true(knob));
	print_feature(ctl, "memory.reclaim with source=zswap", source,
		      !strcmp(source, "yes"));
}

int command_features(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(source_freep) struct source *source = NULL;
	json_auto_t *reply = NULL;
	int status;

	status = no_arguments(argc, argv);
	if (status != EXIT_OK)
		return status;
	if (source_new(ctl, &source) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	status = source_ask(source, json_pack("{s:i, s:s}", "zfolio", 1, "get",
					      "features"), &reply);
	if (status != EXIT_OK)
		return status;
	if (ctl->json)
		return print_json(reply);
	print_features(ctl, json_object_get(reply, "features"));
	return EXIT_OK;
}
