// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include <zfolio/psi.h>
#include <zfolio/swapin.h>

#include "../zfoliod/policy.h"

#include "measure.h"
#include "saved.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define ZSWAP "sys/module/zswap/parameters/"

/* The folio sizes that are set side by side; 0: single pages. */
static const uint64_t sizes[] = { 0, 64 << 10, 1 << 20 };

/*
 * The memory of a measurement is there twice while it is filled and compressed,
 * and nobody else should have to make room for it.
 */
#define ROOM_FACTOR 4

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	interrupted = signal;
}

/* Without SA_RESTART, so that a measurement ends and settings are put back. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* ---- whether this is the time and the place ---- */

static int check_zswap(const struct zf_path *sys)
{
	_cleanup_free_ char *enabled = NULL, *disk = NULL;
	int r;

	if (geteuid()) {
		complain("measure: only root may");
		return EXIT_NOT_PERMITTED;
	}
	r = zf_path_read_string(sys, ZSWAP "enabled", &enabled);
	if (r < 0 || strcmp(enabled, "Y")) {
		complain("/" ZSWAP "enabled: expected Y: %s", r < 0 ?
			 "this kernel has no zswap" :
			 "switch zswap on with `echo 1` into it");
		return EXIT_UNSUPPORTED;
	}
	r = zf_swap_disk(sys, &disk);
	if (r == -ENXIO) {
		complain("nothing is swapped on: zswap needs a swap device behind it");
		return EXIT_UNSUPPORTED;
	}
	return EXIT_OK;
}

static int check_pressure(const struct zf_path *sys)
{
	const struct timespec second = { .tv_sec = 1 };
	char now[ZF_SHARE_LEN], limit[ZF_SHARE_LEN];
	uint64_t before, after, ppm;

	/* Without PSI the room below is what there is to go by. */
	if (zf_psi_read(sys, "proc/pressure/memory", &before) < 0)
		return EXIT_OK;
	nanosleep(&second, NULL);
	if (zf_psi_read(sys, "proc/pressure/memory", &after) < 0)
		return EXIT_OK;
	ppm = zf_sub(after, before);
	if (ppm < policy_default.memory_pressure)
		return EXIT_OK;
	complain("not now: tasks wait %s of the time for memory, limit %s",
		 zf_format_share(ppm, now),
		 zf_format_share(policy_default.memory_pressure, limit));
	return EXIT_PRESSURE;
}

static int check_room(const struct zf_path *sys, uint64_t bytes)
{
	_cleanup_free_ char *meminfo = NULL;
	uint64_t percent = 0, available = 0, total = 0, pool = 0, room;
	char have[ZF_BYTES_LEN], want[ZF_BYTES_LEN];
	const char *line;
	const struct {
		const char *name;
		uint64_t *to;
	} lines[] = {
		{ "MemAvailable:", &available }, { "MemTotal:", &total },
		{ "Zswap:", &pool },
	};

	if (zf_path_read(sys, "proc/meminfo", &meminfo, NULL) < 0 ||
	    zf_path_read_u64(sys, ZSWAP "max_pool_percent", &percent) < 0) {
		complain("/proc/meminfo: %s", strerror(errno));
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		line = strstr(meminfo, lines[i].name);
		if (line && sscanf(line + strlen(lines[i].name), "%" SCNu64,
				   lines[i].to) == 1)
			*lines[i].to *= 1024;
	}
	if (available / ROOM_FACTOR < bytes) {
		complain("not now: %s of memory are available, and %s need %d times that; see --size",
			 zf_format_bytes(available, have),
			 zf_format_bytes(bytes, want), ROOM_FACTOR);
		return EXIT_PRESSURE;
	}
	room = zf_sub(zf_mul_div(total, percent, 100), pool);
	if (room < bytes) {
		complain("not now: zswap's pool has room for %s, and %s could need all of it; see --size",
			 zf_format_bytes(room, have),
			 zf_format_bytes(bytes, want));
		return EXIT_PRESSURE;
	}
	return EXIT_OK;
}

/* What measurements have left that were killed. */
static int start_clean(const struct zf_path *sys, struct saved **ret_saved)
{
	int r = saved_open(sys, ret_saved);

	if (r == -EBUSY)
		complain("not now: another measurement runs");
	else if (r < 0)
		complain("/" SAVED_FILE ": %s", strerror(-r));
	if (r < 0)
		return r == -EBUSY ? EXIT_PRESSURE : EXIT_FAILED;
	/* A cgroup that can not be removed is no harm to this one. */
	zf_swapin_tidy(sys, ZF_CGROUP_ROOT);
	return EXIT_OK;
}

/* ---- measuring ---- */

/* Lies in shared memory: how the process that measures reports. */
struct outcome {
	int error;
	struct zf_swapin_failure failure;
	struct zf_swapin_result result;
};

/*
 * The folio sizes are set by the parent, which puts them back whatever becomes of
 * this process; this one does when the parent has gone. So either may be killed.
 */
static void measure_in_child(const struct ctl *ctl, struct saved *saved,
			     struct zf_knobs *knobs, pid_t parent,
			     struct outcome *outcome)
{
	/* Contents that no earlier measurement has had. */
	const struct zf_swapin_params params = {
		.bytes = ctl->size, .seed = getpid(), .clock_touches = true,
		.cgroup_root = ZF_CGROUP_ROOT,
	};

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		interrupted = SIGTERM;
	if (!interrupted)
		outcome->error = zf_swapin_measure(ctl->sys, &params,
						   &outcome->result,
						   &outcome->failure);
	if (getppid() != parent) {
		zf_knobs_restore(knobs);
		saved_forget(saved);
	}
	_exit(0);
}

/* Whether the child ended by itself. */
static bool wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
		kill(child, SIGTERM);
	}
	return WIFEXITED(status);
}

static int complain_outcome(const char *name, const struct outcome *outcome)
{
	const struct zf_swapin_failure *failure = &outcome->failure;

	if (interrupted)
		complain("interrupted; settings are put back");
	else if (outcome->error == -EOPNOTSUPP)
		complain("no cgroup v2 with the memory controller at /" ZF_CGROUP_ROOT);
	else if (failure->signal)
		complain("%s: killed by signal %d (%s) while %s", name,
			 failure->signal, strsignal(failure->signal),
			 failure->step);
	else
		complain("%s: %s: %s", name, failure->step,
			 strerror(-outcome->error));
	return outcome->error == -EOPNOTSUPP ? EXIT_UNSUPPORTED : EXIT_FAILED;
}

static int measure_size(const struct ctl *ctl, struct saved *saved,
			const char *name, uint64_t folio,
			struct outcome *outcome)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	pid_t parent = getpid(), child;
	int r;

	*outcome = (struct outcome){ .error = -EINTR };
	r = zf_knobs_new(ctl->sys, &knobs);
	if (r >= 0)
		r = zf_mthp_choose(knobs, folio);
	if (r < 0 && r != -EOPNOTSUPP) {
		complain("%s: setting the folio size: %s", name, strerror(-r));
		return EXIT_FAILED;
	}
	if (r == -EOPNOTSUPP) {
		outcome->error = r;
		return EXIT_OK;
	}
	child = fork();
	if (child < 0) {
		complain("starting a process: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (!child)
		measure_in_child(ctl, saved, knobs, parent, outcome);
	if (!wait_for(child))
		zf_swapin_tidy(ctl->sys, ZF_CGROUP_ROOT);
	if (interrupted || outcome->error < 0)
		return complain_outcome(name, outcome);
	return EXIT_OK;
}

/* ---- the object ---- */

static json_t *value_or_null(struct zf_value value)
{
	return value.present ? json_integer(value.value) : json_null();
}

/* Buckets of powers of two: [from, count] for each that has something. */
static json_t *histogram_to_json(const struct zf_histogram *h)
{
	uint64_t counts[64] = { 0 };
	json_t *array = json_array();

	for (unsigned int i = 0; i < ZF_HISTOGRAM_BUCKETS; i++) {
		uint64_t lower = zf_histogram_lower(i);

		if (h->bucket[i])
			counts[lower ? 63 - __builtin_clzll(lower) : 0] +=
				h->bucket[i];
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(counts); i++) {
		if (counts[i] &&
		    json_array_append_new(array, json_pack("[I, I]",
				(json_int_t)(i ? 1ULL << i : 0),
				(json_int_t)counts[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *size_to_json(uint64_t folio, const struct outcome *outcome)
{
	const struct zf_swapin_result *res = &outcome->result;
	const struct zf_histogram *h = &res->latency;
	struct zf_swapped_in in = zf_counters_swapped_in(&res->in);

	if (outcome->error == -EOPNOTSUPP)
		return json_pack("{s:I, s:b}", "folio", (json_int_t)folio,
				 "measured", false);
	return json_pack("{s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I, s:I, s:I, s:I}, s:o}",
			 "folio", (json_int_t)folio, "measured", true,
			 "pages", (json_int_t)res->pages,
			 "ns", (json_int_t)res->ns,
			 "folios_in", (json_int_t)in.folios,
			 "pages_in", (json_int_t)in.pages,
			 "zswap_bytes", (json_int_t)res->zswap_bytes,
			 "disk_pages", (json_int_t)res->disk_pages,
			 "wrong_bytes", (json_int_t)res->wrong_bytes,
			 "faults_major",
			 value_or_null(res->in.of[ZF_FAULT_MAJOR]),
			 "faults_minor",
			 value_or_null(res->in.of[ZF_FAULT_MINOR]),
			 "latency_ns",
			 "p50", (json_int_t)zf_histogram_percentile(h, 500000),
			 "p90", (json_int_t)zf_histogram_percentile(h, 900000),
			 "p99", (json_int_t)zf_histogram_percentile(h, 990000),
			 "p99_9", (json_int_t)zf_histogram_percentile(h, 999000),
			 "max", (json_int_t)h->max,
			 "histogram", histogram_to_json(h));
}

static json_t *start_object(const struct ctl *ctl)
{
	_cleanup_free_ char *compressor = NULL;
	struct utsname uts;

	uname(&uts);
	if (zf_path_read_string(ctl->sys, ZSWAP "compressor", &compressor) < 0)
		compressor = strdup("unknown");
	return json_pack("{s:s, s:s*, s:I, s:[]}", "kernel", uts.release,
			 "compressor", compressor,
			 "size", (json_int_t)ctl->size, "folios");
}

static const char *size_name(uint64_t folio, char text[ZF_BYTES_LEN])
{
	return folio ? zf_format_bytes(folio, text) : strcpy(text, "page");
}

static int measure_all(const struct ctl *ctl, struct saved *saved,
		       json_t *object)
{
	struct outcome *outcome;
	int status = EXIT_OK;

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcome == MAP_FAILED) {
		complain("starting: %s", strerror(errno));
		return EXIT_FAILED;
	}
	for (size_t i = 0; status == EXIT_OK && i < ARRAY_SIZE(sizes); i++) {
		char name[ZF_BYTES_LEN];

		status = measure_size(ctl, saved, size_name(sizes[i], name),
				      sizes[i], outcome);
		if (status == EXIT_OK &&
		    json_array_append_new(json_object_get(object, "folios"),
					  size_to_json(sizes[i], outcome)) < 0) {
			complain("out of memory");
			status = EXIT_FAILED;
		}
	}
	munmap(outcome, sizeof(*outcome));
	return status;
}

/* ---- the view ---- */

static const char *format_ns(uint64_t ns, char text[32])
{
	if (ns < 10000)
		snprintf(text, 32, "%" PRIu64 " ns", ns);
	else if (ns < 10000000)
		snprintf(text, 32, "%" PRIu64 " us", ns / 1000);
	else
		snprintf(text, 32, "%" PRIu64 " ms", ns / 1000000);
	return text;
}

static int add_number(struct table *table, const json_t *size, const char *key)
{
	const json_t *value = json_object_get(size, key);
	char text[32];

	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
		 json_integer_value(value));
	return table_add(table, TINT_PLAIN, json_is_integer(value) ? text :
								     "-");
}

static int add_size(struct table *table, const json_t *size)
{
	static const char *const ranks[] = { "p50", "p90", "p99", "p99_9",
					     "max" };
	const json_t *latency = json_object_get(size, "latency_ns");
	uint64_t pages = number_of(size, "pages");
	char text[64];
	int r;

	r = table_add(table, TINT_TITLE,
		      size_name(number_of(size, "folio"), text));
	if (!json_is_true(json_object_get(size, "measured"))) {
		for (size_t i = 0; r >= 0 && i < 9; i++)
			r = table_add(table, TINT_DIM, i ? "-" : "no such size");
		return r;
	}
	if (r >= 0)
		r = table_add(table, TINT_PLAIN,
			      format_ns(pages ? number_of(size, "ns") / pages :
						0, text));
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(ranks); i++)
		r = table_add(table, TINT_PLAIN,
			      format_ns(number_of(latency, ranks[i]), text));
	if (r >= 0)
		r = add_number(table, size, "faults_major");
	if (r >= 0)
		r = add_number(table, size, "faults_minor");
	return r < 0 ? r : add_number(table, size, "folios_in");
}

static uint64_t count_at(const json_t *size, uint64_t from)
{
	const json_t *bucket;
	size_t i;

	json_array_foreach(json_object_get(size, "histogram"), i, bucket) {
		if ((uint64_t)json_integer_value(json_array_get(bucket, 0)) ==
		    from)
			return json_integer_value(json_array_get(bucket, 1));
	}
	return 0;
}

/*
 * Bars show shares on a scale of powers of ten, so that the rare and slow touches
 * can be seen: a full one is all, and each power less takes a sixth of it. One of
 * a million, 4 GiB of pages, is a sixth.
 */
#define BAR_STEPS 6

static unsigned int bar_length(uint64_t count, uint64_t all, unsigned int room)
{
	unsigned int steps = BAR_STEPS;

	if (!count)
		return 0;
	while (steps > 1 && zf_mul_div(count, 2, 1) < all) {
		count = zf_mul_div(count, 10, 1);
		steps--;
	}
	return (room * steps + BAR_STEPS - 1) / BAR_STEPS;
}

static void print_bucket(const struct term *term, const json_t *folios,
			 uint64_t from)
{
	size_t nr = json_array_size(folios);
	unsigned int room = (term->width - 10) / nr - 9;
	const json_t *size;
	char text[32];
	size_t i;

	printf("%8s ", format_ns(from, text));
	json_array_foreach(folios, i, size) {
		uint64_t count = count_at(size, from);
		uint64_t all = number_of(size, "pages");
		unsigned int len = bar_length(count, all, room);

		printf("%7" PRIu64 "%s%s", count, len ? " " : "",
		       term_on(term, TINT_GOOD));
		for (unsigned int j = 0; j < len; j++)
			putchar('#');
		fputs(term_off(term), stdout);
		if (i + 1 < nr)
			printf("%*s", room - len + (len ? 1 : 2), "");
	}
	putchar('\n');
}

static void print_histograms(const struct term *term, const json_t *folios)
{
	unsigned int first = 64, last = 0;
	char text[ZF_BYTES_LEN];
	const json_t *size;
	size_t i, nr = json_array_size(folios);

	/* Too narrow for a number and some of a bar. */
	if (term->width < 10 + nr * 15)
		return;
	for (unsigned int k = 0; k < 64; k++) {
		json_array_foreach(folios, i, size) {
			if (!count_at(size, k ? 1ULL << k : 0))
				continue;
			first = k < first ? k : first;
			last = k;
		}
	}
	printf("\n%s    from  ", term_on(term, TINT_TITLE));
	json_array_foreach(folios, i, size)
		printf("%-*s", i + 1 < nr ? (int)((term->width - 10) / nr) : 0,
		       size_name(number_of(size, "folio"), text));
	printf("%s\n", term_off(term));
	for (unsigned int k = first; k <= last; k++)
		print_bucket(term, folios, k ? 1ULL << k : 0);
}

int measure_print(const struct term *term, const json_t *measure)
{
	static const struct column columns[] = {
		{ "FOLIO", ALIGN_RIGHT, 0 }, { "A PAGE", ALIGN_RIGHT, 0 },
		{ "P50", ALIGN_RIGHT, 0 }, { "P90", ALIGN_RIGHT, 1 },
		{ "P99", ALIGN_RIGHT, 0 }, { "P99.9", ALIGN_RIGHT, 2 },
		{ "MAX", ALIGN_RIGHT, 0 }, { "MAJOR", ALIGN_RIGHT, 0 },
		{ "MINOR", ALIGN_RIGHT, 0 }, { "FOLIOS", ALIGN_RIGHT, 3 },
	};
	const json_t *folios = json_object_get(measure, "folios");
	_cleanup_(table_freep) struct table *table = NULL;
	char text[ZF_BYTES_LEN];
	const json_t *size;
	size_t i;
	int r;

	r = table_new(columns, ARRAY_SIZE(columns), &table);
	json_array_foreach(folios, i, size) {
		if (r >= 0)
			r = add_size(table, size);
	}
	if (r < 0)
		return r;
	printf("Swap-in of %s from zswap (%s), Linux %s\n\n",
	       term_bytes(term, number_of(measure, "size"), text),
	       string_of(measure, "compressor"), string_of(measure, "kernel"));
	table_print(table, term, SIZE_MAX);
	print_histograms(term, folios);
	json_array_foreach(folios, i, size) {
		if (number_of(size, "disk_pages"))
			printf("\n%s: %" PRIu64 " pages went to the disk, so this is not zswap alone\n",
			       size_name(number_of(size, "folio"), text),
			       number_of(size, "disk_pages"));
		if (number_of(size, "wrong_bytes"))
			printf("\n%s%s: %" PRIu64 " bytes came back wrong: do not use this kernel%s\n",
			       term_on(term, TINT_BAD),
			       size_name(number_of(size, "folio"), text),
			       number_of(size, "wrong_bytes"), term_off(term));
	}
	return 0;
}

int command_measure(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(saved_freep) struct saved *saved = NULL;
	json_auto_t *reply = NULL;
	json_t *object;
	int status = no_arguments(argc, argv), r;

	if (status == EXIT_OK)
		status = check_zswap(ctl->sys);
	if (status == EXIT_OK)
		status = start_clean(ctl->sys, &saved);
	if (status == EXIT_OK)
		status = check_pressure(ctl->sys);
	if (status == EXIT_OK)
		status = check_room(ctl->sys, ctl->size);
	if (status != EXIT_OK)
		return status;
	r = saved_note(saved);
	if (r < 0) {
		complain("/" SAVED_FILE ": %s", strerror(-r));
		return EXIT_FAILED;
	}
	catch_signals();
	object = start_object(ctl);
	reply = json_pack("{s:i, s:o}", "zfolio", 1, "measure", object);
	if (!reply) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	status = measure_all(ctl, saved, object);
	saved_forget(saved);
	if (status != EXIT_OK)
		return status;
	if (ctl->json)
		return print_json(reply);
	if (measure_print(&ctl->term, object) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
