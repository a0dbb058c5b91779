// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- families ---- */

enum kind {
	GAUGE,
	GAUGE_OF_BOOL,
	COUNTER,
	COUNTER_OF_USEC,	/* shown in seconds */
};

/*
 * Of OpenMetrics a family of counters is named without _total, and the text ends
 * with a mark. node_exporter reads the older form that Prometheus had before,
 * where the name is that of the samples.
 */
enum form {
	OPENMETRICS,
	TEXTFILE,
};

/* @group is the member of a cgroup's object that has @key; NULL: itself. */
struct family {
	const char *name;	/* without the _total of counters */
	enum kind kind;
	const char *group, *key;
	const char *help;
};

static const struct family pool_families[] = {
	{ "zfolio_pool_bytes", GAUGE, NULL, "used",
	  "Compressed pages in zswap" },
	{ "zfolio_pool_limit_bytes", GAUGE, NULL, "limit",
	  "What zswap may hold" },
};

static const struct family device_families[] = {
	{ "zfolio_device_size_bytes", GAUGE, NULL, "size",
	  "Size of a swap device" },
	{ "zfolio_device_used_bytes", GAUGE, NULL, "used",
	  "Slots of a swap device that are taken, also by what is in zswap" },
	{ "zfolio_device_reserved", GAUGE_OF_BOOL, NULL, "reserved",
	  "Whether it is kept for hibernation" },
};

static const struct family cgroup_families[] = {
	{ "zfolio_cgroup_memory_bytes", GAUGE, "now", "current",
	  "memory.current" },
	{ "zfolio_cgroup_swap_bytes", GAUGE, "now", "swap",
	  "memory.swap.current, what is in zswap included" },
	{ "zfolio_cgroup_zswapped_bytes", GAUGE, "now", "zswapped",
	  "Of these in zswap, uncompressed" },
	{ "zfolio_cgroup_zswap_bytes", GAUGE, "now", "zswap",
	  "The same, compressed" },
	{ "zfolio_cgroup_zswap_max_bytes", GAUGE, "now", "zswap_max",
	  "memory.zswap.max" },
	{ "zfolio_cgroup_swapin_max_bytes", GAUGE, "now", "swapin_max",
	  "memory.zswap.swapin_max" },
	{ "zfolio_cgroup_writeback", GAUGE, "now", "writeback_here",
	  "Whether its pages may go to disk: its own switch and all above it" },
	{ "zfolio_cgroup_zswpin_pages", COUNTER, "total", "zswpin",
	  "Pages read back from zswap" },
	{ "zfolio_cgroup_zswpout_pages", COUNTER, "total", "zswpout",
	  "Pages stored in zswap" },
	{ "zfolio_cgroup_zswpwb_pages", COUNTER, "total", "zswpwb",
	  "Pages written from zswap to the swap device" },
	{ "zfolio_cgroup_pswpin_pages", COUNTER, "total", "pswpin",
	  "Pages read from the swap device" },
	{ "zfolio_cgroup_pswpout_pages", COUNTER, "total", "pswpout",
	  "Pages written to the swap device" },
	{ "zfolio_cgroup_pgmajfault", COUNTER, "total", "pgmajfault",
	  "Major faults" },
	{ "zfolio_cgroup_refault_anon_pages", COUNTER, "total",
	  "workingset_refault_anon", "Pages that came back soon" },
	{ "zfolio_cgroup_memory_stall_seconds", COUNTER_OF_USEC, "total",
	  "memory_stall", "Time with some task waiting for memory" },
	{ "zfolio_cgroup_io_stall_seconds", COUNTER_OF_USEC, "total",
	  "io_stall", "Time with some task waiting for disks" },
};

/* ---- text ---- */

static const char *suffix_of(const struct family *family)
{
	return family->kind == COUNTER || family->kind == COUNTER_OF_USEC ?
		"_total" : "";
}

static void put_head(FILE *out, enum form form, const struct family *family)
{
	const char *suffix = suffix_of(family);
	const char *type = *suffix ? "counter" : "gauge";

	if (form == OPENMETRICS)
		suffix = "";
	fprintf(out, "# TYPE %s%s %s\n# HELP %s%s %s.\n", family->name, suffix,
		type, family->name, suffix, family->help);
}

static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "{%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			putc(*value, out);
	}
	fputs("\"}", out);
}

static void put_sample(FILE *out, const struct family *family,
		       const json_t *object, const char *label,
		       const char *value)
{
	const json_t *group = family->group ?
		json_object_get(object, family->group) : object;
	uint64_t number = number_of(group, family->key);

	fprintf(out, "%s%s", family->name, suffix_of(family));
	if (label)
		put_label(out, label, value);
	if (family->kind == GAUGE_OF_BOOL)
		fprintf(out, " %d\n",
			json_is_true(json_object_get(group, family->key)));
	else if (family->kind == COUNTER_OF_USEC)
		fprintf(out, " %" PRIu64 ".%06" PRIu64 "\n",
			number / ZF_USEC_PER_SEC, number % ZF_USEC_PER_SEC);
	else if (number == UINT64_MAX)
		fputs(" +Inf\n", out);
	else
		fprintf(out, " %" PRIu64 "\n", number);
}

/* A family's samples stand together. */
static void put_all(FILE *out, enum form form,
		    const struct family *families, size_t nr,
		    const json_t *array, const char *label, const char *key)
{
	const json_t *object;
	size_t j;

	for (size_t i = 0; i < nr; i++) {
		put_head(out, form, &families[i]);
		json_array_foreach(array, j, object)
			put_sample(out, &families[i], object, label,
				   string_of(object, key));
	}
}

static void put_daemon(FILE *out, enum form form, const json_t *daemon)
{
	static const struct family up = {
		"zfolio_daemon_up", GAUGE, NULL, NULL,
		"Whether zfoliod runs and answers"
	};
	static const struct family written = {
		"zfolio_daemon_written_bytes", COUNTER, NULL, "written",
		"What zfoliod has asked to be written to swap devices"
	};

	put_head(out, form, &up);
	fprintf(out, "%s %d\n", up.name, json_is_object(daemon));
	if (!json_is_object(daemon))
		return;
	put_head(out, form, &written);
	put_sample(out, &written, daemon, NULL, NULL);
}

/* Return: 0 or the error of a write. */
static int put_metrics(FILE *out, enum form form, const json_t *status)
{
	static const struct family page_size = {
		"zfolio_page_size_bytes", GAUGE, NULL, "page_size",
		"Bytes of the pages that are counted; 0 before the first tick"
	};
	const json_t *pool = json_object_get(status, "pool");

	put_daemon(out, form, json_object_get(status, "daemon"));
	put_head(out, form, &page_size);
	put_sample(out, &page_size, status, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(pool_families); i++) {
		put_head(out, form, &pool_families[i]);
		put_sample(out, &pool_families[i], pool, NULL, NULL);
	}
	put_all(out, form, device_families, ARRAY_SIZE(device_families),
		json_object_get(status, "devices"), "device", "name");
	put_all(out, form, cgroup_families, ARRAY_SIZE(cgroup_families),
		json_object_get(status, "cgroups"), "cgroup", "path");
	if (form == OPENMETRICS)
		fputs("# EOF\n", out);
	return fflush(out) == EOF || ferror(out) ? -errno : 0;
}

/*
 * A collector finds the old text or the new one, never a part: the new one is
 * written beside it, under a name that no collector takes, and renamed.
 */
static int replace_file(const char *name, const json_t *status)
{
	_cleanup_free_ char *temporary = NULL;
	FILE *out;
	int fd, r;

	if (asprintf(&temporary, "%s.XXXXXX", name) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w");
	if (!out) {
		r = -errno;
		close(fd);
	} else {
		r = put_metrics(out, TEXTFILE, status);
		/* Others read it; names of cgroups are no secret to the host. */
		if (r >= 0 && fchmod(fd, 0644) < 0)
			r = -errno;
		if (fclose(out) == EOF && r >= 0)
			r = -errno;
	}
	if (r >= 0 && rename(temporary, name) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

int command_metrics(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(source_freep) struct source *source = NULL;
	json_auto_t *reply = NULL;
	const json_t *object;
	int status = no_arguments(argc, argv), r;

	if (status != EXIT_OK)
		return status;
	if (ctl->json) {
		complain("metrics: expected no --json: see status --json");
		return EXIT_USAGE;
	}
	if (source_new(ctl, &source) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	status = source_ask(source, json_pack("{s:i, s:s}", "zfolio", 1, "get",
					      "status"), &reply);
	if (status != EXIT_OK)
		return status;
	object = json_object_get(reply, "status");
	r = ctl->output ? replace_file(ctl->output, object) :
			  put_metrics(stdout, OPENMETRICS, object);
	if (r < 0) {
		complain("%s: %s", ctl->output ? ctl->output : "writing",
			 strerror(-r));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
