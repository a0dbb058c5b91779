// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swapoff - what it costs to take a swap device away
 *
 * Fills the device with zero-filled pages, which need a slot each and no memory
 * behind it, drops all but one in so many, reads these back, and takes the device
 * away. A page that was only read keeps its slot, and no process refers to it: such
 * slots are what swapoff looks for from one end of the device to the other. One
 * JSON object. Under instruction counting (vm/run --icount) the time is
 * instructions. bench/README.md describes the fields.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <zfolio/swapin.h>

#include "common.h"

/* So much is in memory at a time while the device is filled. */
#define STEP (64UL << 20)

static uint64_t own_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The first swap device: its name, and how much of it is in use, in KiB. */
static uint64_t in_use(char *name, size_t len)
{
	char line[512], file[256], type[32];
	uint64_t size, used = 0;
	FILE *swaps = fopen("/proc/swaps", "re");

	if (!swaps)
		die("/proc/swaps", errno);
	*name = '\0';
	while (fgets(line, sizeof(line), swaps)) {
		if (sscanf(line, "%255s %31s %" SCNu64 " %" SCNu64, file, type,
			   &size, &used) != 4 || file[0] != '/')
			continue;
		snprintf(name, len, "%s", file);
		break;
	}
	fclose(swaps);
	return used;
}

static void fill(char *mem, uint64_t bytes, size_t page_size)
{
	for (uint64_t off = 0; off < bytes; off += STEP) {
		uint64_t len = bytes - off < STEP ? bytes - off : STEP;

		/* A store gives a page memory of its own, and leaves it zero. */
		for (uint64_t i = 0; i < len; i += page_size)
			*(volatile char *)(mem + off + i) = 0;
		for (int i = 0; i < 3; i++)
			if (madvise(mem + off, len, MADV_PAGEOUT) < 0)
				die("MADV_PAGEOUT", errno);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	_cleanup_(zf_path_freep) struct zf_path *sys = NULL;
	size_t page_size = sysconf(_SC_PAGESIZE);
	uint64_t mib, keep, bytes, filled, used, ns;
	struct utsname uts;
	char device[256];
	char *mem;
	int r;

	if (argc != 4 || zf_parse_u64(argv[2], &mib) < 0 || mib > 1 << 20 ||
	    zf_parse_u64(argv[3], &keep) < 0) {
		fputs("Usage: swapoff LABEL MIB KEEP\n"
		      "\n"
		      "Fills MIB of the first swap device, keeps one page in KEEP (0: none), and takes\n"
		      "the device away.\n", stderr);
		return 2;
	}
	r = zf_path_open("/", &sys);
	if (r >= 0)
		r = zf_knobs_new(sys, &knobs);
	/* Large folios fill a device sooner; kept are single pages of these. */
	if (r >= 0)
		r = zf_mthp_choose(knobs, keep == 1 ? 0 : 1 << 20);
	if (r < 0)
		die("folio sizes", -r);

	bytes = mib << 20;
	mem = mmap(NULL, bytes + (2 << 20), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap", errno);
	mem = (char *)(((uintptr_t)mem + (2 << 20) - 1) & ~((2UL << 20) - 1));
	if (keep != 1 && madvise(mem, bytes, MADV_HUGEPAGE) < 0)
		die("MADV_HUGEPAGE", errno);
	fill(mem, bytes, page_size);
	filled = in_use(device, sizeof(device));
	if (!device[0])
		die("/proc/swaps: no swap device", ENXIO);
	for (uint64_t page = 0; keep != 1 && page < bytes / page_size;) {
		uint64_t nr = keep ? keep - 1 : bytes / page_size;

		/* One stays, at the end of each so many. */
		if (nr > bytes / page_size - page)
			nr = bytes / page_size - page;
		if (madvise(mem + page * page_size, nr * page_size,
			    MADV_DONTNEED) < 0)
			die("MADV_DONTNEED", errno);
		page += nr + 1;
	}
	for (uint64_t page = keep - 1; keep > 1 && page < bytes / page_size;
	     page += keep)
		(void)*(volatile char *)(mem + page * page_size);
	used = in_use(device, sizeof(device));

	ns = own_ns();
	if (swapoff(device) < 0)
		die(device, errno);
	ns = own_ns() - ns;

	for (uint64_t off = 0; keep == 1 && off < bytes; off += page_size)
		if (mem[off])
			return 1;
	uname(&uts);
	printf("{\"schema\": 1, \"benchmark\": \"swapoff\", \"label\": \"%s\", \"kernel\": \"%s\", "
	       "\"mib\": %" PRIu64 ", \"keep\": %" PRIu64 ", \"filled_kib\": %" PRIu64 ", \"used_kib\": %" PRIu64 ", \"ns\": %" PRIu64 "}\n",
	       argv[1], uts.release, mib, keep, filled, used, ns);
	return 0;
}
