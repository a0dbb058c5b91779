// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * writeback - the requests with which zswap's pages get to the disk
 *
 * Memory that does not fit into the pool is filled and paged out, a few MiB at a
 * time: the first fill. Then, in rounds, random pages of it are written to, as
 * many as there are, a few MiB at a time, and everything is paged out again. One
 * JSON object for each round, the first fill being round 0.
 *
 * Pages hold a quarter of random bytes, and each is checked at the end. The pool
 * may have so many percent of memory as --pool says; what exceeds it goes to the
 * disk: written back from zswap, or past it (direct). bench/README.md describes
 * the fields.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <zfolio/histogram.h>
#include <zfolio/swapin.h>

#include "common.h"

#define CGROUP_NAME "zfolio-writeback"

static const struct zf_path *sys;
static struct zf_cgroup *cgroup;
static char *disk;
static size_t page_size;

/* What to do, from the command line. */
struct plan {
	const char *label;
	uint64_t size;		/* bytes of memory */
	uint64_t step;		/* bytes that are written to between two page-outs */
	uint64_t chunk;		/* bytes that one system call pages out */
	unsigned int rounds;
	unsigned int pool;	/* percent of all memory */
	unsigned int seed;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void page_out(char *mem, uint64_t bytes, const struct plan *plan,
		     struct zf_histogram *latency)
{
	uint64_t ns;

	for (uint64_t off = 0; off < bytes; off += plan->chunk) {
		ns = now_ns();
		if (madvise(mem + off, plan->chunk, MADV_PAGEOUT) < 0)
			die("MADV_PAGEOUT", errno);
		zf_histogram_add(latency, now_ns() - ns);
	}
}

/*
 * A page that went to the disk stays in memory as long as nobody reclaims it.
 * What is left of it after a page-out goes, as it does where memory is short.
 */
static void drop_written(const struct plan *plan)
{
	int r = zf_cgroup_reclaim(cgroup, plan->step);

	if (r < 0 && r != -EAGAIN)
		die("memory.reclaim", -r);
}

/* Until the worker has done what there was to do, and the writes have ended. */
static void settle(struct zf_counters *counters)
{
	const struct timespec wait = { .tv_sec = 1 };
	uint64_t writes = UINT64_MAX, now;
	int r;

	do {
		nanosleep(&wait, NULL);
		r = zf_counters_read(sys, cgroup, disk, counters);
		if (r < 0)
			die("counters", -r);
		now = counters->of[ZF_DISK_WRITES].value;
		if (now == writes)
			break;
		writes = now;
	} while (true);
}

static void put(const char *name, struct zf_value v)
{
	if (v.present)
		printf("\"%s\": %" PRIu64 ", ", name, v.value);
	else
		printf("\"%s\": null, ", name);
}

static void report(const struct plan *plan, unsigned int round,
		   const struct zf_counters *diff,
		   const struct zf_histogram *latency, uint64_t wrong)
{
	struct utsname uts;

	uname(&uts);
	printf("{\"schema\": 1, \"benchmark\": \"writeback\", \"label\": \"%s\", \"kernel\": \"%s\", ",
	       plan->label, uts.release);
	printf("\"round\": %u, \"mib\": %" PRIu64 ", \"step_kib\": %" PRIu64 ", \"chunk_kib\": %" PRIu64 ", \"pool_percent\": %u, \"seed\": %u, ",
	       round, plan->size >> 20, plan->step >> 10, plan->chunk >> 10,
	       plan->pool, plan->seed);
	put("zswpout", diff->of[ZF_VM_ZSWPOUT]);
	put("zswpwb", diff->of[ZF_VM_ZSWPWB]);
	put("pswpout", diff->of[ZF_VM_PSWPOUT]);
	put("pswpin", diff->of[ZF_VM_PSWPIN]);
	put("bios_out", diff->of[ZF_VM_NRSWPOUT]);
	put("bios_in", diff->of[ZF_VM_NRSWPIN]);
	put("writes", diff->of[ZF_DISK_WRITES]);
	put("write_merges", diff->of[ZF_DISK_WRITE_MERGES]);
	put("write_sectors", diff->of[ZF_DISK_WRITE_SECTORS]);
	put("reads", diff->of[ZF_DISK_READS]);
	put("read_sectors", diff->of[ZF_DISK_READ_SECTORS]);
	printf("\"pageout_p50_ns\": %" PRIu64 ", \"pageout_p99_ns\": %" PRIu64 ", \"wrong_pages\": %" PRIu64 "}\n",
	       zf_histogram_percentile(latency, 500000),
	       zf_histogram_percentile(latency, 990000), wrong);
	fflush(stdout);
}

static uint64_t count_wrong(const struct zf_pattern *pattern, const char *mem,
			    uint64_t nr_pages)
{
	uint64_t wrong = 0;

	for (uint64_t page = 0; page < nr_pages; page++)
		wrong += !!zf_pattern_wrong_bytes(pattern,
						  mem + page * page_size, page);
	return wrong;
}

/* Returns the number of wrong pages. */
static uint64_t run(const struct plan *plan)
{
	uint64_t nr_pages = plan->size / page_size, wrong = 0, page;
	uint64_t x = 0x9e3779b97f4a7c15ULL + plan->seed;
	struct zf_counters before, after, diff;
	static struct zf_histogram latency;
	struct zf_pattern *pattern;
	char *mem;
	int r;

	r = zf_pattern_new(ZF_PATTERN_QUARTER_RANDOM, page_size, plan->seed,
			   &pattern);
	if (r < 0)
		die("a pattern", -r);
	mem = mmap(NULL, plan->size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap", errno);

	settle(&before);
	for (unsigned int round = 0; round <= plan->rounds; round++) {
		memset(&latency, 0, sizeof(latency));
		for (uint64_t done = 0; done < plan->size; done += plan->step) {
			for (uint64_t i = 0; i < plan->step / page_size; i++) {
				page = round ? next_random(&x) % nr_pages :
					       done / page_size + i;
				/* The same bytes: a store all the same. */
				zf_pattern_fill(pattern, mem + page * page_size,
						page);
			}
			if (round)
				page_out(mem, plan->size, plan, &latency);
			else
				page_out(mem + done, plan->step, plan, &latency);
			drop_written(plan);
		}
		settle(&after);
		zf_counters_diff(&before, &after, &diff);
		if (round == plan->rounds)
			wrong = count_wrong(pattern, mem, nr_pages);
		report(plan, round, &diff, &latency, wrong);
		before = after;
	}
	munmap(mem, plan->size);
	free(pattern);
	return wrong;
}

static void usage(FILE *to)
{
	fputs("Usage: writeback [OPTION]... LABEL\n"
	      "\n"
	      "  --size SIZE     memory to fill (128M)\n"
	      "  --step SIZE     written to between two page-outs (4M)\n"
	      "  --chunk SIZE    paged out by one system call (as --step)\n"
	      "  --rounds N      rounds of random writing after the first fill (3)\n"
	      "  --pool PERCENT  of memory that zswap may have (1)\n"
	      "  --seed N        for contents and order (1)\n"
	      "\n"
	      "Exit status: 0 done, 1 wrong contents, 2 bad usage, 3 it could not be measured.\n",
	      to);
}

static uint64_t number(const char *option, const char *text, uint64_t least,
		       uint64_t most, bool is_size)
{
	uint64_t value;
	int r = is_size ? zf_parse_size(text, &value) :
			  zf_parse_u64(text, &value);

	if (r < 0 || value < least || value > most) {
		fprintf(stderr, "writeback: --%s: '%s': expected %s from %" PRIu64 " to %" PRIu64 "\n",
			option, text, is_size ? "a size" : "a number", least,
			most);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv, struct plan *plan)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "step", required_argument, NULL, 't' },
		{ "chunk", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "pool", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const uint64_t tib = 1ULL << 40;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 's': plan->size = number("size", optarg, page_size, tib, true); break;
		case 't': plan->step = number("step", optarg, page_size, tib, true); break;
		case 'c': plan->chunk = number("chunk", optarg, page_size, tib, true); break;
		case 'r': plan->rounds = number("rounds", optarg, 0, 1000, false); break;
		case 'p': plan->pool = number("pool", optarg, 0, 100, false); break;
		case 'd': plan->seed = number("seed", optarg, 0, UINT32_MAX, false); break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind + 1 != argc) {
		usage(stderr);
		exit(2);
	}
	plan->label = argv[optind];
	if (!plan->chunk)
		plan->chunk = plan->step;
	if (plan->size % plan->step || plan->step % plan->chunk ||
	    plan->chunk % page_size) {
		fputs("writeback: --size must be a multiple of --step, that of --chunk, and that of a page\n",
		      stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct plan plan = { .size = 128 << 20, .step = 4 << 20, .rounds = 3,
			     .pool = 1, .seed = 1 };
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	_cleanup_(zf_path_freep) struct zf_path *top = NULL, *groups = NULL;
	struct zf_zswap zswap = { .compressor = "lz4" };
	uint64_t wrong;
	int r;

	page_size = sysconf(_SC_PAGESIZE);
	parse(argc, argv, &plan);
	zswap.max_pool_percent = plan.pool;

	r = zf_path_open("/", &top);
	if (r < 0)
		die("/", -r);
	sys = top;
	r = zf_swap_disk(sys, &disk);
	if (r < 0)
		die("no disk to swap to", -r);
	r = zf_path_open_at(sys, ZF_CGROUP_ROOT, &groups);
	if (r >= 0)
		r = zf_cgroup_create(groups, CGROUP_NAME, &cgroup);
	if (r >= 0)
		r = zf_cgroup_attach(cgroup, 0);
	if (r < 0)
		die("a cgroup", -r);
	set_up_single_pages(sys, &zswap, &knobs);

	wrong = run(&plan);

	/* The cgroup goes when this process has left it. */
	r = zf_path_write(groups, "cgroup.procs", "0");
	if (r >= 0)
		r = zf_cgroup_remove(groups, CGROUP_NAME, cgroup);
	if (r < 0)
		die("removing the cgroup", -r);
	free(disk);
	return wrong ? 1 : 0;
}
