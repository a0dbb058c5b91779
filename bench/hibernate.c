// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hibernate - a machine that hibernates with a filled zswap, and resumes
 *
 * Fills memory of which two thirds are paged out into zswap, hibernates, and checks
 * every page when it goes on. One JSON object: what was where before and after, and
 * what the disk had been asked for when the image was made. The requests of the image
 * itself are seen from outside only (vm/run --disk-trace), as the memory that could
 * have counted them is what was replaced. bench/README.md describes the fields.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <zfolio/swapin.h>

#include "common.h"

static const struct zf_path *sys;
static char *disk;

static void set(const char *file, const char *value)
{
	int r = zf_path_write(sys, file, value);

	if (r < 0)
		die(file, -r);
}

/* Requests and KiB so far. */
struct requests {
	uint64_t reads, read_kib, writes, write_kib;
};

static struct requests requests_now(void)
{
	struct zf_counters now;
	int r = zf_counters_read(sys, NULL, disk, &now);

	if (r < 0)
		die("counters", -r);
	return (struct requests){
		.reads = now.of[ZF_DISK_READS].value,
		.read_kib = now.of[ZF_DISK_READ_SECTORS].value / 2,
		.writes = now.of[ZF_DISK_WRITES].value,
		.write_kib = now.of[ZF_DISK_WRITE_SECTORS].value / 2,
	};
}

static uint64_t stored_pages(void)
{
	uint64_t pages;
	int r = zf_path_read_u64(sys, "sys/kernel/debug/zswap/stored_pages",
				 &pages);

	if (r < 0)
		die("zswap's stored_pages", -r);
	return pages;
}

int main(int argc, char **argv)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	_cleanup_(zf_path_freep) struct zf_path *top = NULL;
	uint64_t mib, bytes, before, after, wrong = 0;
	struct zf_zswap zswap = { .compressor = "lz4", .max_pool_percent = 50 };
	struct requests at_image, at_end;
	size_t page_size = sysconf(_SC_PAGESIZE);
	struct zf_pattern *pattern;
	struct utsname uts;
	struct stat status;
	char path[256];
	char *mem;
	int r;

	if (argc != 3 || zf_parse_u64(argv[2], &mib) < 0 || !mib ||
	    mib > 1 << 20) {
		fputs("Usage: hibernate LABEL MIB\n"
		      "\n"
		      "Fills MIB of memory, two thirds of it in zswap, and hibernates.\n",
		      stderr);
		return 2;
	}
	r = zf_path_open("/", &top);
	if (r < 0)
		die("/", -r);
	sys = top;
	r = zf_swap_disk(sys, &disk);
	if (r < 0)
		die("no disk to swap to", -r);
	set_up_single_pages(sys, &zswap, &knobs);

	r = zf_pattern_new(ZF_PATTERN_QUARTER_RANDOM, page_size, 1, &pattern);
	if (r < 0)
		die("a pattern", -r);
	bytes = mib << 20;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap", errno);
	for (uint64_t page = 0; page < bytes / page_size; page++)
		zf_pattern_fill(pattern, mem + page * page_size, page);
	for (int i = 0; i < 3; i++)
		if (madvise(mem, (bytes / page_size * 2 / 3) * page_size,
			    MADV_PAGEOUT) < 0)
			die("MADV_PAGEOUT", errno);

	/* As much of memory as may be, so that nothing is swapped out for it. */
	set("sys/power/image_size", "1099511627776");
	snprintf(path, sizeof(path), "/dev/%s", disk);
	if (stat(path, &status) < 0)
		die(path, errno);
	snprintf(path, sizeof(path), "%u:%u", major(status.st_rdev),
		 minor(status.st_rdev));
	set("sys/power/resume", path);
	set("sys/power/disk", "shutdown");
	before = stored_pages();
	r = zf_path_write(sys, "sys/power/state", "disk");
	if (r < 0)
		die("cannot hibernate", -r);
	/* What was counted when the image was made, and little else. */
	at_image = requests_now();
	after = stored_pages();

	for (uint64_t page = 0; page < bytes / page_size; page++)
		wrong += !!zf_pattern_wrong_bytes(pattern,
						  mem + page * page_size, page);
	at_end = requests_now();
	uname(&uts);
	printf("{\"schema\": 1, \"benchmark\": \"hibernate\", \"label\": \"%s\", \"kernel\": \"%s\", \"mib\": %" PRIu64 ", \"stored_before\": %" PRIu64 ", \"stored_after\": %" PRIu64 ", \"wrong_pages\": %" PRIu64 ", ",
	       argv[1], uts.release, mib, before, after, wrong);
	printf("\"first_writes\": %" PRIu64 ", \"first_write_kib\": %" PRIu64 ", \"later_reads\": %" PRIu64 ", \"later_read_kib\": %" PRIu64 "}\n",
	       at_image.writes, at_image.write_kib,
	       at_end.reads - at_image.reads,
	       at_end.read_kib - at_image.read_kib);
	free(pattern);
	free(disk);
	return wrong || before != after;
}
