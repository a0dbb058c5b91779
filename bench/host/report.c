// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * report - one table from the records of bench/swapin on two kernels
 *
 * Reads two files of JSON lines, groups them by folio size, and prints medians
 * of base and patched beside each other. bench/README.md says what each figure
 * means.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <zfolio/cleanup.h>

enum {
	EXIT_OK = 0,
	EXIT_WRONG_BYTES = 1,
	EXIT_BAD_INPUT = 2,
};

#define SCHEMA 1
#define MAX_FOLIOS 16
#define MAX_RUNS 1000

static const char usage_text[] =
"Usage: report [OPTION]... BASE.jsonl PATCHED.jsonl [ZRAM.jsonl]\n"
"Print the before/after table of two files that bench/swapin wrote, and beside\n"
"them what swap to zram takes (--swap zram).\n"
"\n"
"  --json FILE   also write the table's figures as JSON\n"
"  --plot FILE   also write them as columns for bench/swapin.gp\n"
"  --help\n"
"\n"
"Exit status: 0 done, 1 done and a record has wrong bytes, 2 bad usage or\n"
"unusable input.\n";

/* ---- what is kept of the records ---- */

/* The figures of the table; one row of the table is one folio size. */
enum figure { COST, MAJOR, MINOR, FOLIOS, PAGES, NR_FIGURES };

static const char *const figure_name[NR_FIGURES] = {
	[COST] = "ns_per_page",
	[MAJOR] = "faults_major",
	[MINOR] = "faults_minor",
	[FOLIOS] = "folios_in",
	[PAGES] = "pages_in",
};

/* What is added up over all records of a kernel, for the notes. */
enum total { WRONG_BYTES, DISK_PAGES, RESIDENT_PAGES, FALLBACKS, NR_TOTALS };

static const char *const total_name[NR_TOTALS] = {
	[WRONG_BYTES] = "wrong_bytes",
	[DISK_PAGES] = "disk_pages",
	[RESIDENT_PAGES] = "resident_pages",
	[FALLBACKS] = "fallbacks",
};

struct series {
	double value[NR_FIGURES][MAX_RUNS];
	size_t nr;
};

struct folio {
	char *name;
	struct series series;
};

struct side {
	const char *file;
	struct folio folio[MAX_FOLIOS];
	size_t nr_folios;
	json_t *first;		/* what all records have in common */
	double total[NR_TOTALS];
};

/* Fields in which the two files and all their records must agree. */
static const char *const same_fields[] = {
	"machine", "accelerator", "icount", "cpus", "page_bytes", "size_mib",
	"pattern", "compressor",
};

__attribute__((format(printf, 1, 2)))
static int bad_input(const char *format, ...)
{
	va_list args;

	fputs("report: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -EINVAL;
}

/* ---- reading ---- */

static struct folio *find_folio(struct side *side, const char *name)
{
	for (size_t i = 0; i < side->nr_folios; i++) {
		if (!strcmp(side->folio[i].name, name))
			return &side->folio[i];
	}
	return NULL;
}

static struct folio *find_or_add_folio(struct side *side, const char *name)
{
	struct folio *folio = find_folio(side, name);

	if (folio || side->nr_folios == MAX_FOLIOS)
		return folio;
	folio = &side->folio[side->nr_folios];
	folio->name = strdup(name);
	if (folio->name)
		side->nr_folios++;
	return folio->name ? folio : NULL;
}

/* Whether all of these are numbers; complains about the first that is not. */
static int check_numbers(const struct side *side, size_t line, json_t *record,
			 const char *const *fields, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!json_is_number(json_object_get(record, fields[i])))
			return bad_input("%s:%zu: field '%s': expected a number",
					 side->file, line, fields[i]);
	}
	return 0;
}

static double number_in(json_t *record, const char *field)
{
	return json_number_value(json_object_get(record, field));
}

static int check_same(const struct side *side, size_t line, json_t *record,
		      const struct side *other)
{
	for (size_t i = 0; i < sizeof(same_fields) / sizeof(*same_fields); i++) {
		_cleanup_free_ char *have = NULL, *want = NULL;
		json_t *a = json_object_get(record, same_fields[i]);
		json_t *b = json_object_get(other->first, same_fields[i]);

		if (!a)
			return bad_input("%s:%zu: field '%s' is missing",
					 side->file, line, same_fields[i]);
		if (json_equal(a, b))
			continue;
		have = json_dumps(a, JSON_ENCODE_ANY);
		want = json_dumps(b, JSON_ENCODE_ANY);
		return bad_input("%s:%zu: field '%s' is %s, but %s in %s: "
				 "these can not be compared", side->file, line,
				 same_fields[i], have ? have : "?",
				 want ? want : "?", other->file);
	}
	return 0;
}

static int add_record(struct side *side, size_t line, json_t *record,
		      const struct side *other)
{
	const char *name = json_string_value(json_object_get(record, "folio"));
	struct series *series;
	struct folio *folio;
	int r;

	if (json_integer_value(json_object_get(record, "schema")) != SCHEMA)
		return bad_input("%s:%zu: field 'schema': expected %d",
				 side->file, line, SCHEMA);
	if (!name)
		return bad_input("%s:%zu: field 'folio': expected a string",
				 side->file, line);
	if (!side->first)
		side->first = json_incref(record);
	r = check_same(side, line, record, other->first ? other : side);
	if (r < 0)
		return r;
	r = check_numbers(side, line, record, total_name, NR_TOTALS);
	if (r < 0)
		return r;
	r = check_numbers(side, line, record, figure_name, NR_FIGURES);
	if (r < 0)
		return r;
	for (int i = 0; i < NR_TOTALS; i++)
		side->total[i] += number_in(record, total_name[i]);

	/* Reading the clock at every page costs: no figure for this table. */
	if (json_is_true(json_object_get(record, "clocked_touches")))
		return 0;
	folio = find_or_add_folio(side, name);
	if (!folio || folio->series.nr == MAX_RUNS)
		return bad_input("%s:%zu: more than %d folio sizes or %d runs",
				 side->file, line, MAX_FOLIOS, MAX_RUNS);
	series = &folio->series;
	for (int i = 0; i < NR_FIGURES; i++)
		series->value[i][series->nr] = number_in(record,
							 figure_name[i]);
	series->nr++;
	return 0;
}

static void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int read_side(struct side *side, const struct side *other)
{
	_cleanup_(fclosep) FILE *file = fopen(side->file, "re");
	_cleanup_free_ char *text = NULL;
	size_t room = 0, line = 0;

	if (!file)
		return bad_input("%s: %s", side->file, strerror(errno));
	while (getline(&text, &room, file) >= 0) {
		json_auto_t *record = NULL;
		json_error_t error;
		int r;

		line++;
		if (text[strspn(text, " \t\r\n")] == '\0')
			continue;
		record = json_loads(text, JSON_REJECT_DUPLICATES, &error);
		if (!json_is_object(record))
			return bad_input("%s:%zu: expected one JSON object a "
					 "line (%s)", side->file, line,
					 record ? "another value" : error.text);
		r = add_record(side, line, record, other);
		if (r < 0)
			return r;
	}
	if (!side->nr_folios)
		return bad_input("%s: no record of a measurement", side->file);
	return 0;
}

static void side_free(struct side *side)
{
	for (size_t i = 0; i < side->nr_folios; i++)
		free(side->folio[i].name);
	json_decref(side->first);
	free(side);
}

static void side_freep(struct side **side)
{
	if (*side)
		side_free(*side);
}

/* Both must have measured the same sizes. */
static int check_folios(const struct side *a, struct side *b)
{
	for (size_t i = 0; i < a->nr_folios; i++) {
		if (!find_folio(b, a->folio[i].name))
			return bad_input("%s: no record of folio size %s, "
					 "which %s has", b->file,
					 a->folio[i].name, a->file);
	}
	return 0;
}

/* ---- statistics ---- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct series *series, enum figure figure)
{
	double sorted[MAX_RUNS];
	size_t nr = series->nr;

	memcpy(sorted, series->value[figure], nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_doubles);
	return nr % 2 ? sorted[nr / 2] :
			(sorted[nr / 2 - 1] + sorted[nr / 2]) / 2;
}

/* Greatest minus least, in per cent of the median; of one run there is none. */
static double spread(const struct series *series, enum figure figure)
{
	double min = series->value[figure][0], max = min;

	for (size_t i = 1; i < series->nr; i++) {
		double v = series->value[figure][i];

		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	return max > min ? 100 * (max - min) / median(series, figure) : 0;
}

static double change(double base, double patched)
{
	return base ? 100 * (patched - base) / base : 0;
}

/* ---- the table ---- */

/* With the thousands set off; valid until the fourth call from now. */
static const char *number(double value)
{
	static char text[4][32];
	static unsigned int next;
	char digits[24], *out = text[next++ % 4], *p = out;
	int len = snprintf(digits, sizeof(digits), "%.0f", value);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

static const char *text_of(const struct side *side, const char *field)
{
	const char *text = json_string_value(json_object_get(side->first,
							     field));

	return text ? text : "?";
}

static double number_of(const struct side *side, const char *field)
{
	return number_in(side->first, field);
}

static bool is_icount(const struct side *side)
{
	return json_is_true(json_object_get(side->first, "icount"));
}

static void print_row(const char *folio, const char *kernel,
		      const struct series *s, const char *change_text)
{
	char spread_text[16] = "-";

	if (s->nr > 1)
		snprintf(spread_text, sizeof(spread_text), "%.1f%%",
			 spread(s, COST));
	printf("%-5s  %-7s %10s %9s %8s", folio, kernel,
	       number(median(s, COST)), change_text, spread_text);
	for (int i = MAJOR; i < NR_FIGURES; i++)
		printf(" %8s", number(median(s, i)));
	printf("\n");
}

static const char *change_text(char text[static 16], const struct series *base,
			       const struct series *other)
{
	snprintf(text, 16, "%+.1f%%",
		 change(median(base, COST), median(other, COST)));
	return text;
}

static void print_table(const struct side *base, struct side *patched,
			struct side *zram)
{
	printf("%-5s  %-7s %10s %9s %8s %8s %8s %8s %8s\n", "", "",
	       is_icount(base) ? "instr." : "ns", "", "", "major", "minor",
	       "folios", "pages");
	printf("%-5s  %-7s %10s %9s %8s %8s %8s %8s %8s\n", "folio", "kernel",
	       "a page", "change", "spread", "faults", "faults", "in", "in");
	for (size_t i = 0; i < base->nr_folios; i++) {
		const struct folio *b = &base->folio[i];
		const struct folio *p = find_folio(patched, b->name);
		const struct folio *peer = zram ? find_folio(zram, b->name) : NULL;
		char text[16];

		print_row(b->name, "base", &b->series, "");
		print_row("", "patched", &p->series,
			  change_text(text, &b->series, &p->series));
		if (peer)
			print_row("", "zram", &peer->series,
				  change_text(text, &b->series, &peer->series));
	}
}

static void print_title(const struct side *base, const struct side *patched,
			const struct side *zram)
{
	double mib = number_of(base, "size_mib");

	printf("Swap-in of %.0f MiB from zswap (%s, pattern %s), every byte "
	       "compared\n", mib, text_of(base, "compressor"),
	       text_of(base, "pattern"));
	printf("base: Linux %s   patched: Linux %s\n",
	       text_of(base, "kernel"), text_of(patched, "kernel"));
	if (zram)
		printf("zram: swap to zram instead of zswap, Linux %s\n",
		       text_of(zram, "kernel"));
	printf("%s, %s, %.0f CPU, swap on %s; medians of %zu run%s a "
	       "kernel\n\n", text_of(base, "machine"),
	       text_of(base, "accelerator"), number_of(base, "cpus"),
	       text_of(base, "disk"), base->folio[0].series.nr,
	       base->folio[0].series.nr == 1 ? "" : "s");
}

/*
 * The one measurement that was published for this change, as it was given: two
 * figures for each kernel, without saying which folio sizes they stand for.
 */
static const struct {
	unsigned int mib;
	double base_ms[2], patched_ms[2];
} published = { 1024, { 1165, 1163 }, { 1203, 738 } };

static void print_published(void)
{
	printf("\nPublished beside it (a draft, %u MiB, wall time on another "
	       "machine; two modes,\nin the order given there):\n"
	       "       base    %6.0f ms %18.0f ms\n"
	       "       patched %6.0f ms %+8.1f%% %8.0f ms %+8.1f%%\n",
	       published.mib, published.base_ms[0], published.base_ms[1],
	       published.patched_ms[0],
	       change(published.base_ms[0], published.patched_ms[0]),
	       published.patched_ms[1],
	       change(published.base_ms[1], published.patched_ms[1]));
}

static void print_notes(const struct side *base, const struct side *patched,
			const struct side *zram)
{
	const struct side *sides[] = { base, patched, zram };
	static const char *const name[] = { "base", "patched", "zram" };
	double wrong = 0;

	if (!is_icount(base) && !strncmp(text_of(base, "accelerator"), "tcg", 3))
		printf("\nTimes under emulation: only their ratio means "
		       "anything.\n");
	for (int i = 0; i < (zram ? 3 : 2); i++) {
		const struct side *s = sides[i];

		wrong += s->total[WRONG_BYTES];
		if (s == zram && s->total[RESIDENT_PAGES])
			printf("\nzram: %s pages stayed in memory.\n",
			       number(s->total[RESIDENT_PAGES]));
		if (s != zram &&
		    (s->total[DISK_PAGES] || s->total[RESIDENT_PAGES]))
			printf("\n%s: not all of it came from zswap: %s pages "
			       "went to the disk, %s stayed in memory.\n",
			       name[i], number(s->total[DISK_PAGES]),
			       number(s->total[RESIDENT_PAGES]));
		if (s->total[FALLBACKS])
			printf("\n%s: %s large folios were tried and not "
			       "had.\n", name[i], number(s->total[FALLBACKS]));
		if (s->total[WRONG_BYTES])
			printf("\n%s: WRONG CONTENTS: %s bytes came back "
			       "different.\n", name[i],
			       number(s->total[WRONG_BYTES]));
	}
	if (!wrong)
		printf("\nWrong bytes: none, on either kernel.\n");
}

/* ---- the same for programs ---- */

static json_t *json_row(const struct series *s)
{
	json_t *row = json_object();

	for (int i = 0; i < NR_FIGURES; i++)
		json_object_set_new(row, figure_name[i],
				    json_real(median(s, i)));
	json_object_set_new(row, "runs", json_integer(s->nr));
	json_object_set_new(row, "spread_percent", s->nr > 1 ?
			    json_real(spread(s, COST)) : json_null());
	return row;
}

static int write_json(const char *file, const struct side *base,
		      struct side *patched, struct side *zram)
{
	json_auto_t *top = json_object();
	json_t *rows = json_array();

	for (size_t i = 0; i < sizeof(same_fields) / sizeof(*same_fields); i++)
		json_object_set(top, same_fields[i],
				json_object_get(base->first, same_fields[i]));
	json_object_set(top, "kernel_base",
			json_object_get(base->first, "kernel"));
	json_object_set(top, "kernel_patched",
			json_object_get(patched->first, "kernel"));
	json_object_set_new(top, "wrong_bytes",
			    json_real(base->total[WRONG_BYTES] + patched->total[WRONG_BYTES]));
	json_object_set_new(top, "folios", rows);
	for (size_t i = 0; i < base->nr_folios; i++) {
		const struct folio *b = &base->folio[i];
		const struct folio *p = find_folio(patched, b->name);
		json_t *row = json_object();

		json_object_set_new(row, "folio", json_string(b->name));
		json_object_set_new(row, "base", json_row(&b->series));
		json_object_set_new(row, "patched", json_row(&p->series));
		if (zram && find_folio(zram, b->name))
			json_object_set_new(row, "zram",
					    json_row(&find_folio(zram, b->name)->series));
		json_object_set_new(row, "change_percent",
				    json_real(change(median(&b->series, COST),
						     median(&p->series, COST))));
		json_array_append_new(rows, row);
	}
	if (json_dump_file(top, file, JSON_INDENT(2)) < 0)
		return bad_input("%s: cannot write: %s", file, strerror(errno));
	return 0;
}

static int write_plot(const char *file, const struct side *base,
		      struct side *patched)
{
	_cleanup_(fclosep) FILE *out = fopen(file, "we");

	if (!out)
		return bad_input("%s: cannot write: %s", file, strerror(errno));
	fprintf(out, "# folio, %s a page: base, patched\n",
		is_icount(base) ? "instructions" : "ns");
	for (size_t i = 0; i < base->nr_folios; i++) {
		const struct folio *b = &base->folio[i];
		const struct folio *p = find_folio(patched, b->name);

		fprintf(out, "%s\t%.2f\t%.2f\n", b->name,
			median(&b->series, COST), median(&p->series, COST));
	}
	if (fflush(out) || ferror(out))
		return bad_input("%s: cannot write: %s", file, strerror(errno));
	return 0;
}

/* ---- main ---- */

static int report(const char *const *files, int nr_files, const char *json,
		  const char *plot)
{
	_cleanup_(side_freep) struct side *zram = NULL;
	_cleanup_(side_freep) struct side *base = calloc(1, sizeof(*base));
	_cleanup_(side_freep) struct side *patched =
		calloc(1, sizeof(*patched));

	if (!base || !patched) {
		bad_input("out of memory");
		return EXIT_BAD_INPUT;
	}
	base->file = files[0];
	patched->file = files[1];
	if (nr_files > 2) {
		zram = calloc(1, sizeof(*zram));
		if (!zram) {
			bad_input("out of memory");
			return EXIT_BAD_INPUT;
		}
		zram->file = files[2];
	}
	if (read_side(base, base) < 0 || read_side(patched, base) < 0 ||
	    check_folios(base, patched) < 0 || check_folios(patched, base) < 0 ||
	    (zram && (read_side(zram, base) < 0 || check_folios(base, zram) < 0)))
		return EXIT_BAD_INPUT;

	print_title(base, patched, zram);
	print_table(base, patched, zram);
	print_published();
	print_notes(base, patched, zram);
	if ((json && write_json(json, base, patched, zram) < 0) ||
	    (plot && write_plot(plot, base, patched) < 0))
		return EXIT_BAD_INPUT;
	if (base->total[WRONG_BYTES] || patched->total[WRONG_BYTES] ||
	    (zram && zram->total[WRONG_BYTES]))
		return EXIT_WRONG_BYTES;
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	enum { JSON = 1, PLOT, HELP };
	static const struct option table[] = {
		{ "json", required_argument, NULL, JSON },
		{ "plot", required_argument, NULL, PLOT },
		{ "help", no_argument, NULL, HELP },
		{ 0 }
	};
	const char *json = NULL, *plot = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (c) {
		case JSON:
			json = optarg;
			break;
		case PLOT:
			plot = optarg;
			break;
		case HELP:
			fputs(usage_text, stdout);
			return EXIT_OK;
		default:
			return EXIT_BAD_INPUT;
		}
	}
	if (argc - optind != 2 && argc - optind != 3) {
		bad_input("expected two files of records, base and patched, or "
			  "three, with zram; %d given", argc - optind);
		return EXIT_BAD_INPUT;
	}
	return report((const char *const *)argv + optind, argc - optind, json,
		      plot);
}
