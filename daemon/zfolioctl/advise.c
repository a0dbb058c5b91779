// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lz4.h>
#include <zstd.h>

#include "../zfoliod/features.h"
#include "../zfoliod/json.h"

#include "advise.h"
#include "pages.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- compressors ---- */

/* The kernel's zstd is asked for this level (ZSTD_DEF_LEVEL), its lz4 for none. */
#define ZSTD_LEVEL 3

struct workspace {
	size_t page_size;
	ZSTD_CCtx *zstd;
	ZSTD_DCtx *unzstd;
	char *packed;
	size_t room;
	char *unpacked;
};

/* Each returns a length, or 0 when it could not. */
static size_t lz4_pack(struct workspace *w, const void *page)
{
	int len = LZ4_compress_default(page, w->packed, w->page_size, w->room);

	return len > 0 ? len : 0;
}

static size_t lz4_unpack(struct workspace *w, size_t len)
{
	int n = LZ4_decompress_safe(w->packed, w->unpacked, len, w->page_size);

	return n > 0 ? n : 0;
}

static size_t zstd_pack(struct workspace *w, const void *page)
{
	size_t len = ZSTD_compressCCtx(w->zstd, w->packed, w->room, page,
				       w->page_size, ZSTD_LEVEL);

	return ZSTD_isError(len) ? 0 : len;
}

static size_t zstd_unpack(struct workspace *w, size_t len)
{
	size_t n = ZSTD_decompressDCtx(w->unzstd, w->unpacked, w->page_size,
				       w->packed, len);

	return ZSTD_isError(n) ? 0 : n;
}

static const struct compressor {
	const char *name;
	size_t (*pack)(struct workspace *w, const void *page);
	size_t (*unpack)(struct workspace *w, size_t len);
} compressors[] = {
	{ "lz4", lz4_pack, lz4_unpack },
	{ "zstd", zstd_pack, zstd_unpack },
};

static void workspace_done(struct workspace *w)
{
	ZSTD_freeCCtx(w->zstd);
	ZSTD_freeDCtx(w->unzstd);
	free(w->packed);
	free(w->unpacked);
}

static int workspace_init(struct workspace *w)
{
	w->page_size = sysconf(_SC_PAGESIZE);
	w->room = LZ4_COMPRESSBOUND(w->page_size);
	if (ZSTD_compressBound(w->page_size) > w->room)
		w->room = ZSTD_compressBound(w->page_size);
	w->zstd = ZSTD_createCCtx();
	w->unzstd = ZSTD_createDCtx();
	w->packed = malloc(w->room);
	w->unpacked = malloc(w->page_size);
	return w->zstd && w->unzstd && w->packed && w->unpacked ? 0 : -ENOMEM;
}

/* ---- the sample ---- */

struct tally {
	struct workspace w;
	uint64_t zero, same_filled, packed;	/* pages */
	struct {
		uint64_t bytes;		/* of pages that it makes smaller */
		uint64_t incompressible;
		uint64_t pack_ns, unpack_ns;
	} of[ARRAY_SIZE(compressors)];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	/* Of this thread: what others do meanwhile is not the compressor's cost. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* All words of the page are its first one. */
static bool is_same_filled(const void *page, size_t size)
{
	return !memcmp(page, (const char *)page + sizeof(long),
		       size - sizeof(long));
}

static int take_page(void *data, const void *page)
{
	struct tally *t = data;
	long first;

	memcpy(&first, page, sizeof(first));
	if (is_same_filled(page, t->w.page_size)) {
		/* A page of zeros takes nothing since Linux 6.12. */
		if (!first) {
			t->zero++;
			return 0;
		}
		t->same_filled++;
	}
	t->packed++;
	for (size_t i = 0; i < ARRAY_SIZE(compressors); i++) {
		uint64_t start = now_ns(), middle, end;
		size_t len = compressors[i].pack(&t->w, page);

		middle = now_ns();
		if (!len || compressors[i].unpack(&t->w, len) !=
			    t->w.page_size)
			return -EIO;
		end = now_ns();
		t->of[i].pack_ns += middle - start;
		t->of[i].unpack_ns += end - middle;
		/* zswap keeps such a page as it is, or refuses it. */
		if (len >= t->w.page_size)
			t->of[i].incompressible++;
		else
			t->of[i].bytes += len;
	}
	return 0;
}

/* ---- the object ---- */

static json_t *compressor_to_json(const struct tally *t, size_t i)
{
	uint64_t whole = t->of[i].incompressible * t->w.page_size;

	return json_pack("{s:s, s:o, s:o, s:o, s:o}",
			 "name", compressors[i].name,
			 "bytes", json_number(t->of[i].bytes + whole),
			 "incompressible",
			 json_number(t->of[i].incompressible),
			 "pack_ns", json_number(t->packed ?
				t->of[i].pack_ns / t->packed : 0),
			 "unpack_ns", json_number(t->packed ?
				t->of[i].unpack_ns / t->packed : 0));
}

static json_t *make_object(const struct ctl *ctl, const char *path,
			   const struct tally *t, const struct pages_seen *seen)
{
	_cleanup_free_ char *used = NULL;
	json_t *array = json_array(), *object;

	if (zf_path_read_string(ctl->sys,
				"sys/module/zswap/parameters/compressor",
				&used) < 0)
		used = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(compressors); i++)
		json_array_append_new(array, compressor_to_json(t, i));
	object = json_pack("{s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"cgroup", json_path(path), "compressor", used,
		"page_size", json_number(t->w.page_size),
		"processes", json_number(seen->processes),
		"not_readable", json_number(seen->not_readable),
		"gone", json_number(seen->gone),
		"anonymous", json_number(seen->anonymous),
		"swapped", json_number(seen->swapped),
		"sampled", json_number(seen->sampled),
		"missed", json_number(seen->missed),
		"zero", json_number(t->zero),
		"same_filled", json_number(t->same_filled),
		"compressors", array);
	return json_pack("{s:i, s:o}", "zfolio", 1, "advise", object);
}

/* ---- the view ---- */

/* In hundredths; 0 without pages. */
static uint64_t ratio_of(const json_t *advise, const json_t *compressor)
{
	uint64_t pages = zf_sub(number_of(advise, "sampled"),
				number_of(advise, "zero"));
	uint64_t bytes = number_of(compressor, "bytes");

	return bytes ? zf_mul_div(pages * number_of(advise, "page_size"), 100,
				  bytes) : 0;
}

/* "1 page", "2 pages" */
static const char *count_of(uint64_t nr, const char *one, const char *many,
			    char text[64])
{
	snprintf(text, 64, "%" PRIu64 " %s", nr, nr == 1 ? one : many);
	return text;
}

static int add_compressor(struct table *table, const json_t *advise,
			  const json_t *compressor)
{
	uint64_t pages = zf_sub(number_of(advise, "sampled"),
				number_of(advise, "zero"));
	uint64_t ratio = ratio_of(advise, compressor);
	char text[64], share[ZF_SHARE_LEN];
	int r;

	snprintf(text, sizeof(text), "%s%s", string_of(compressor, "name"),
		 strcmp(string_of(compressor, "name"),
			string_of(advise, "compressor")) ? "" : " (in use)");
	r = table_add(table, TINT_PLAIN, text);
	snprintf(text, sizeof(text), "%" PRIu64 ".%02" PRIu64, ratio / 100,
		 ratio % 100);
	if (!pages)
		strcpy(text, "-");
	if (r >= 0)
		r = table_add(table, TINT_PLAIN, text);
	zf_format_share(pages ? zf_mul_div(number_of(compressor,
						     "incompressible"),
					   ZF_PPM, pages) : 0, share);
	if (r >= 0)
		r = table_add(table, TINT_PLAIN, share);
	snprintf(text, sizeof(text), "%" PRIu64 " ns",
		 number_of(compressor, "pack_ns"));
	if (r >= 0)
		r = table_add(table, TINT_PLAIN, text);
	snprintf(text, sizeof(text), "%" PRIu64 " ns",
		 number_of(compressor, "unpack_ns"));
	return r < 0 ? r : table_add(table, TINT_PLAIN, text);
}

/* Below it zswap saves less memory than it costs time. */
#define POOR_RATIO 130
/* zstd takes several times as long: so much more has to fit. */
#define MUCH_BETTER 125
/* From so many pages on that do not compress they are worth a word. */
#define MANY_INCOMPRESSIBLE (ZF_PPM / 4)

static void print_advice(const struct term *term, const json_t *advise)
{
	const json_t *array = json_object_get(advise, "compressors");
	const json_t *lz4 = json_array_get(array, 0);
	const json_t *zstd = json_array_get(array, 1);
	uint64_t fast = ratio_of(advise, lz4), small = ratio_of(advise, zstd);
	uint64_t pages = zf_sub(number_of(advise, "sampled"),
				number_of(advise, "zero"));
	const char *used = string_of(advise, "compressor");
	uint64_t more = zf_sub(zf_mul_div(small, 100, fast), 100);
	char text[512], share[ZF_SHARE_LEN];
	uint64_t lost;

	if (!pages) {
		term_wrap(term, 0, "Nothing but zeros was seen: they take no room in swap.");
		return;
	}
	if (small < POOR_RATIO) {
		snprintf(text, sizeof(text),
			 "These pages hardly become smaller: zswap is no help here. Under [cgroup %s] in zfolio.conf, zswap_max = 0 sends them straight to the disk.",
			 string_of(advise, "cgroup"));
		term_wrap(term, 0, text);
		return;
	}
	if (zf_mul_div(fast, MUCH_BETTER, 100) <= small)
		snprintf(text, sizeof(text),
			 "zstd fits %" PRIu64 "%% more into the same memory than lz4: use it where memory is short and processors are idle%s.",
			 more, strcmp(used, "zstd") ?
			 " (echo zstd > /sys/module/zswap/parameters/compressor)" :
			 ", as here");
	else
		snprintf(text, sizeof(text),
			 "lz4 does: zstd fits only %" PRIu64 "%% more into the same memory and takes longer%s.",
			 more, strcmp(used, "lz4") ?
			 " (echo lz4 > /sys/module/zswap/parameters/compressor)" :
			 "");
	term_wrap(term, 0, text);
	lost = zf_mul_div(number_of(zstd, "incompressible"), ZF_PPM, pages);
	if (lost >= MANY_INCOMPRESSIBLE) {
		snprintf(text, sizeof(text),
			 "%s of the pages do not become smaller with either and take whole pages in zswap: pool_target under [cgroup %s] in zfolio.conf keeps their number down.",
			 zf_format_share(lost, share),
			 string_of(advise, "cgroup"));
		term_wrap(term, 0, text);
	}
}

static void print_limits(const struct term *term, const json_t *advise)
{
	char text[256], bytes[ZF_BYTES_LEN], processes[64], pages[64];

	if (number_of(advise, "not_readable")) {
		snprintf(text, sizeof(text),
			 "%s could not be looked into: only root may, and not from inside a container.",
			 count_of(number_of(advise, "not_readable"),
				  "process", "processes", processes));
		term_wrap(term, 0, text);
	}
	if (number_of(advise, "gone") || number_of(advise, "missed")) {
		snprintf(text, sizeof(text),
			 "%s and %s were gone when they were looked for.",
			 count_of(number_of(advise, "gone"), "process",
				  "processes", processes),
			 count_of(number_of(advise, "missed"), "page", "pages",
				  pages));
		term_wrap(term, 0, text);
	}
	if (number_of(advise, "swapped")) {
		snprintf(text, sizeof(text),
			 "%s are in swap already and were not looked at: reading would bring them back.",
			 term_bytes(term, number_of(advise, "swapped"), bytes));
		term_wrap(term, 0, text);
	}
}

int advise_print(const struct term *term, const json_t *advise)
{
	static const struct column columns[] = {
		{ "COMPRESSOR", ALIGN_TEXT, 0 }, { "RATIO", ALIGN_RIGHT, 0 },
		{ "INCOMPRESSIBLE", ALIGN_RIGHT, 0 },
		{ "PACK A PAGE", ALIGN_RIGHT, 0 },
		{ "UNPACK A PAGE", ALIGN_RIGHT, 0 },
	};
	_cleanup_(table_freep) struct table *table = NULL;
	uint64_t sampled = number_of(advise, "sampled");
	char bytes[ZF_BYTES_LEN], zero[ZF_SHARE_LEN], same[ZF_SHARE_LEN];
	char text[512], pages[64], processes[64];
	const json_t *compressor;
	size_t i;
	int r;

	r = table_new(columns, ARRAY_SIZE(columns), &table);
	json_array_foreach(json_object_get(advise, "compressors"), i,
			   compressor) {
		if (r >= 0)
			r = add_compressor(table, advise, compressor);
	}
	if (r < 0)
		return r;
	snprintf(text, sizeof(text),
		 "%.200s: %s of %s in memory, from %s",
		 string_of(advise, "cgroup"),
		 count_of(sampled, "page", "pages", pages),
		 term_bytes(term, number_of(advise, "anonymous"), bytes),
		 count_of(number_of(advise, "processes"), "process",
			  "processes", processes));
	term_wrap(term, 0, text);
	if (sampled) {
		printf("%s zeros, %s filled with another word\n\n",
		       zf_format_share(zf_mul_div(number_of(advise, "zero"),
						  ZF_PPM, sampled), zero),
		       zf_format_share(zf_mul_div(number_of(advise,
							    "same_filled"),
						  ZF_PPM, sampled), same));
		table_print(table, term, SIZE_MAX);
		putchar('\n');
		print_advice(term, advise);
	} else {
		term_wrap(term, 0, "No page could be read: there is nothing to say.");
	}
	print_limits(term, advise);
	return 0;
}

/* ---- the command ---- */

static int open_cgroup(const struct ctl *ctl, const char *path,
		       struct zf_path **ret_cgroup)
{
	_cleanup_(zf_path_freep) struct zf_path *cgroups = NULL;
	_cleanup_free_ char *error = NULL;
	int r;

	r = features_find_cgroups(ctl->sys, &cgroups, &error);
	if (r < 0) {
		complain("%s", error ? error : strerror(-r));
		return r == -EOPNOTSUPP ? EXIT_UNSUPPORTED : EXIT_FAILED;
	}
	r = zf_path_open_at(cgroups, *path ? path : ".", ret_cgroup);
	if (r < 0) {
		complain("%s: %s", path, zf_cgroup_is_gone(r) ?
					 "no such cgroup" : strerror(-r));
		return zf_cgroup_is_gone(r) || r == -ENOTDIR ? EXIT_BAD_INPUT :
							       EXIT_FAILED;
	}
	return EXIT_OK;
}

int command_advise(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(zf_path_freep) struct zf_path *cgroup = NULL;
	_cleanup_(workspace_done) struct workspace w = { 0 };
	_cleanup_free_ char *path = NULL;
	json_auto_t *reply = NULL;
	struct pages_seen seen;
	struct tally tally = { .zero = 0 };
	int status, r;

	if (argc != 1) {
		complain("advise: expected one CGROUP: see --help");
		return EXIT_USAGE;
	}
	path = clean_path(argv[0]);
	if (!path || workspace_init(&w) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	status = open_cgroup(ctl, path, &cgroup);
	if (status != EXIT_OK)
		return status;
	/* Whoever has work to do goes first; at worst this one is not polite. */
	errno = 0;
	if (nice(19) < 0 && errno)
		complain("not running at a low priority: %s", strerror(errno));
	tally.w = w;
	r = pages_sample(ctl->sys, cgroup, ctl->samples, time(NULL), take_page,
			 &tally, &seen);
	if (r < 0) {
		complain("%s: %s", path, zf_cgroup_is_gone(r) ?
					 "the cgroup is gone" : strerror(-r));
		return zf_cgroup_is_gone(r) ? EXIT_BAD_INPUT : EXIT_FAILED;
	}
	if (seen.processes && seen.not_readable == seen.processes) {
		complain("%s: none of its %" PRIu64 " processes may be looked into: only root may",
			 path, seen.processes);
		return EXIT_NOT_PERMITTED;
	}
	reply = make_object(ctl, path, &tally, &seen);
	if (!reply) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	if (ctl->json)
		return print_json(reply);
	if (advise_print(&ctl->term, json_object_get(reply, "advise")) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
