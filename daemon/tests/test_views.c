// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What zfolioctl measure and advise show of given results, in terminals of two
 * sizes: daemon/tests/data/zfolioctl/NAME has what it must be, to the byte. With
 * UPDATE in the environment these files are made from what is shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../zfolioctl/advise.h"
#include "../zfolioctl/measure.h"

#define GOLDEN "daemon/tests/data/zfolioctl/"

typedef int (*view)(const struct term *term, const json_t *object);

/* What is printed meanwhile; to be given to free(). */
static char *printed(view print, const struct term *term, const json_t *object)
{
	FILE *terminal = stdout;
	char *text = NULL;
	size_t len;
	int r;

	stdout = open_memstream(&text, &len);
	assert_non_null(stdout);
	r = print(term, object);
	fclose(stdout);
	stdout = terminal;
	assert_int_equal(r, 0);
	return text;
}

static char *golden(const char *name, const char *shown)
{
	char file[128], *text = NULL;
	size_t room = 0;
	FILE *stream;

	snprintf(file, sizeof(file), GOLDEN "%s", name);
	if (getenv("UPDATE")) {
		stream = fopen(file, "w");
		assert_non_null(stream);
		fputs(shown, stream);
		fclose(stream);
	}
	stream = fopen(file, "r");
	assert_non_null(stream);
	assert_true(getdelim(&text, &room, '\0', stream) >= 0);
	fclose(stream);
	return text;
}

static void looks_like(view print, const char *name, const char *json)
{
	static const struct term terms[] = {
		{ .width = 80, .height = 24 }, { .width = 200, .height = 50 },
	};
	json_error_t error;
	json_auto_t *object = json_loads(json, 0, &error);

	if (!object)
		fail_msg("%s: %s", name, error.text);
	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *shown = printed(print, &terms[i], object);
		_cleanup_free_ char *want = NULL;
		char file[64];

		snprintf(file, sizeof(file), "%s-%ux%u.txt", name,
			 terms[i].width, terms[i].height);
		want = golden(file, shown);
		assert_string_equal(shown, want);
		for (const char *line = strtok(want, "\n"); line;
		     line = strtok(NULL, "\n"))
			assert_true(strlen(line) <= terms[i].width);
	}
}

/* ---- measure ---- */

#define LATENCY(p50, p90, p99, p999, max)				\
	"\"latency_ns\": {\"p50\": " #p50 ", \"p90\": " #p90 ", \"p99\": " #p99 \
	", \"p99_9\": " #p999 ", \"max\": " #max "}, "

#define PAGE_SIZED							\
	"{\"folio\": 0, \"measured\": true, \"pages\": 16384, "		\
	"\"ns\": 98304000, \"folios_in\": 16384, \"pages_in\": 16384, "	\
	"\"zswap_bytes\": 33554432, \"disk_pages\": 0, "		\
	"\"wrong_bytes\": 0, \"faults_major\": 2048, "			\
	"\"faults_minor\": 14336, "					\
	LATENCY(3104, 9856, 21248, 61440, 1048576)			\
	"\"histogram\": [[1024, 30], [2048, 12000], [4096, 2800], "	\
	"[8192, 1400], [16384, 150], [65536, 3], [1048576, 1]]}"

#define K64								\
	"{\"folio\": 65536, \"measured\": true, \"pages\": 16384, "	\
	"\"ns\": 49152000, \"folios_in\": 1024, \"pages_in\": 16384, "	\
	"\"zswap_bytes\": 33554432, \"disk_pages\": %s, "		\
	"\"wrong_bytes\": %s, \"faults_major\": 1024, "			\
	"\"faults_minor\": 0, "						\
	LATENCY(304, 480, 43008, 61440, 131072)				\
	"\"histogram\": [[256, 15000], [512, 360], [32768, 1000], "	\
	"[65536, 23], [131072, 1]]}"

static void measure(const char *name, const char *disk_pages,
		    const char *wrong_bytes, const char *last)
{
	char k64[1024], json[4096];

	snprintf(k64, sizeof(k64), K64, disk_pages, wrong_bytes);
	snprintf(json, sizeof(json),
		 "{\"kernel\": \"7.3.4\", \"compressor\": \"lz4\", \"size\": 67108864, \"folios\": ["
		 PAGE_SIZED ", %s, %s]}", k64, last);
	looks_like(measure_print, name, json);
}

static void test_measure(void **state)
{
	(void)state;
	measure("measure", "0", "0",
		"{\"folio\": 1048576, \"measured\": true, \"pages\": 16384, "
		"\"ns\": 45875200, \"folios_in\": 64, \"pages_in\": 16384, "
		"\"zswap_bytes\": 33554432, \"disk_pages\": 0, "
		"\"wrong_bytes\": 0, \"faults_major\": null, "
		"\"faults_minor\": 0, "
		LATENCY(300, 470, 500, 660000, 12000000)
		"\"histogram\": [[256, 16000], [512, 320], [524288, 60], "
		"[8388608, 4]]}");
}

static void test_measure_with_a_size_missing(void **state)
{
	(void)state;
	measure("measure-odd", "77", "3",
		"{\"folio\": 1048576, \"measured\": false}");
}

/* ---- advise ---- */

/* The numbers that differ from case to case. */
static void advise(const char *name, const char *used, const char *seen,
		   const char *lz4, const char *zstd)
{
	char json[2048];

	snprintf(json, sizeof(json),
		 "{\"cgroup\": \"system.slice/web.service\", \"compressor\": %s, "
		 "\"page_size\": 4096, %s, \"compressors\": ["
		 "{\"name\": \"lz4\", %s}, {\"name\": \"zstd\", %s}]}",
		 used, seen, lz4, zstd);
	looks_like(advise_print, name, json);
}

#define SEEN								\
	"\"processes\": 12, \"not_readable\": 0, \"gone\": 0, "		\
	"\"anonymous\": 1288490188, \"swapped\": 0, \"sampled\": 4096, "	\
	"\"missed\": 0, \"zero\": 96, \"same_filled\": 40"

static void test_advise_lz4(void **state)
{
	(void)state;
	advise("advise-lz4", "\"lz4\"", SEEN,
	       "\"bytes\": 4096000, \"incompressible\": 80, \"pack_ns\": 2400, \"unpack_ns\": 700",
	       "\"bytes\": 3686400, \"incompressible\": 80, \"pack_ns\": 17500, \"unpack_ns\": 5800");
}

static void test_advise_zstd(void **state)
{
	(void)state;
	advise("advise-zstd", "\"lzo\"",
	       "\"processes\": 12, \"not_readable\": 3, \"gone\": 1, "
	       "\"anonymous\": 1288490188, \"swapped\": 536870912, "
	       "\"sampled\": 4000, \"missed\": 96, \"zero\": 0, \"same_filled\": 0",
	       "\"bytes\": 9000000, \"incompressible\": 1400, \"pack_ns\": 2400, \"unpack_ns\": 700",
	       "\"bytes\": 6000000, \"incompressible\": 1200, \"pack_ns\": 17500, \"unpack_ns\": 5800");
}

static void test_advise_against_it(void **state)
{
	(void)state;
	advise("advise-poor", "null", SEEN,
	       "\"bytes\": 16000000, \"incompressible\": 3900, \"pack_ns\": 900, \"unpack_ns\": 300",
	       "\"bytes\": 15900000, \"incompressible\": 3900, \"pack_ns\": 9500, \"unpack_ns\": 900");
}

static void test_advise_without_pages(void **state)
{
	static const char none[] =
		"\"bytes\": 0, \"incompressible\": 0, \"pack_ns\": 0, \"unpack_ns\": 0";

	(void)state;
	advise("advise-zeros", "\"lz4\"",
	       "\"processes\": 1, \"not_readable\": 0, \"gone\": 0, "
	       "\"anonymous\": 1048576, \"swapped\": 0, \"sampled\": 256, "
	       "\"missed\": 0, \"zero\": 256, \"same_filled\": 0", none, none);
	advise("advise-nothing", "\"lz4\"",
	       "\"processes\": 0, \"not_readable\": 0, \"gone\": 0, "
	       "\"anonymous\": 0, \"swapped\": 0, \"sampled\": 0, "
	       "\"missed\": 0, \"zero\": 0, \"same_filled\": 0", none, none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_measure_with_a_size_missing),
		cmocka_unit_test(test_advise_lz4),
		cmocka_unit_test(test_advise_zstd),
		cmocka_unit_test(test_advise_against_it),
		cmocka_unit_test(test_advise_without_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
