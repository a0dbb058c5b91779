// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * order0 - what a single page costs on each path of zswap, one JSON object
 *
 * In a cgroup of its own: fill memory, page it out into zswap (store), touch it
 * (load), page it out again and have the shrinker write it all back (writeback),
 * which includes getting the written pages out of memory again. Then the same
 * store once more with a memory.zswap.max that is never reached (store_limited).
 *
 * The clock is CPU time: of this process for the stores and loads, of all
 * processes, kernel threads included, for writeback, as a kernel may leave a
 * part of the work to them. Under instruction counting (vm/run --icount) this
 * is instructions. bench/README.md describes the fields.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <zfolio/swapin.h>

#include "common.h"

#define SHRINKERS "sys/kernel/debug/shrinker"

static const struct zf_path *sys;
static struct zf_cgroup *cgroup;
static char shrinker[64];
static size_t page_size;

struct cost {
	uint64_t pages;
	uint64_t ns;
};

/* ---- clocks ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t own_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Of everything that runs; what ends meanwhile is missing. */
static uint64_t all_ns(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint64_t sum = 0;
	clockid_t clock;
	pid_t pid;

	if (!proc)
		die("/proc", errno);
	while ((entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 0 && !clock_getcpuclockid(pid, &clock))
			sum += clock_ns(clock);
	}
	closedir(proc);
	return sum;
}

/* ---- counters ---- */

static uint64_t cgroup_value(const char *name)
{
	uint64_t value;
	int r = zf_path_read_u64(zf_cgroup_path(cgroup), name, &value);

	if (r < 0)
		die(name, -r);
	return value;
}

static uint64_t cgroup_stat(const char *key)
{
	uint64_t value;
	int r = zf_path_read_key(zf_cgroup_path(cgroup), "memory.stat", key,
				 &value);

	if (r < 0)
		die(key, -r);
	return value;
}

static size_t resident(const char *mem, size_t bytes)
{
	size_t pages = bytes / page_size, count = 0;
	unsigned char *in_core = malloc(pages);

	if (!in_core || mincore((void *)mem, bytes, in_core) < 0)
		die("mincore", errno);
	for (size_t i = 0; i < pages; i++)
		count += in_core[i] & 1;
	free(in_core);
	return count;
}

/* ---- the paths ---- */

static struct cost store(char *mem, size_t bytes)
{
	uint64_t before = cgroup_stat("zswpout"), ns = own_ns();

	/* Pages still in the batch of the last additions to the LRU stay. */
	for (int i = 0; i < 3; i++) {
		if (madvise(mem, bytes, MADV_PAGEOUT) < 0)
			die("MADV_PAGEOUT", errno);
	}
	ns = own_ns() - ns;
	if (resident(mem, bytes) > 64)
		die("MADV_PAGEOUT left pages in memory", EBUSY);
	return (struct cost){ cgroup_stat("zswpout") - before, ns };
}

static struct cost load(const char *mem, size_t bytes)
{
	uint64_t before = cgroup_stat("zswpin"), ns = own_ns();

	for (size_t off = 0; off < bytes; off += page_size)
		(void)*(const volatile char *)(mem + off);
	ns = own_ns() - ns;
	return (struct cost){ cgroup_stat("zswpin") - before, ns };
}

static void shrink(uint64_t entries)
{
	char path[128], text[96];
	int r;

	snprintf(path, sizeof(path), SHRINKERS "/%s/scan", shrinker);
	snprintf(text, sizeof(text), "%" PRIu64 " 0 %" PRIu64,
		 zf_cgroup_id(cgroup), entries);
	r = zf_path_write(sys, path, text);
	if (r < 0)
		die(path, -r);
}

/*
 * Twice, as the first scan only takes the entries' second chance. Then what was
 * written leaves memory, by itself or by reclaim.
 */
static struct cost writeback(void)
{
	uint64_t before = cgroup_stat("zswpwb"), pages = cgroup_stat("zswapped");
	uint64_t floor = cgroup_value("memory.current") -
			 cgroup_value("memory.zswap.current"), ns, current;
	const struct timespec wait = { .tv_nsec = 20000000 };

	ns = all_ns();
	shrink(pages);
	shrink(pages);
	for (int i = 0; i < 100; i++) {
		nanosleep(&wait, NULL);
		current = cgroup_value("memory.current");
		if (current < floor + 64 * page_size)
			break;
		/* Not before the writes have ended. */
		if (i > 10)
			(void)zf_cgroup_reclaim(cgroup, current - floor);
	}
	ns = all_ns() - ns;
	if (current >= floor + 64 * page_size)
		fprintf(stderr, "order0: %" PRIu64 " bytes above the floor\n",
			current - floor);
	return (struct cost){ cgroup_stat("zswpwb") - before, ns };
}

static void find_shrinker(void)
{
	DIR *dir = opendir("/" SHRINKERS);
	struct dirent *entry;

	if (!dir)
		die("/" SHRINKERS " (CONFIG_SHRINKER_DEBUG)", errno);
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "mm-zswap-", 9))
			snprintf(shrinker, sizeof(shrinker), "%.63s",
				 entry->d_name);
	}
	closedir(dir);
	if (!shrinker[0])
		die("/" SHRINKERS "/mm-zswap-*", ENOENT);
}

static void put(const char *name, struct cost cost)
{
	printf("\"%s\": {\"pages\": %" PRIu64 ", \"ns_per_page\": %.1f}, ", name,
	       cost.pages, cost.pages ? (double)cost.ns / cost.pages : 0);
}

static void measure(size_t bytes, const char *label, bool report)
{
	struct cost stored, loaded, written, limited;
	static uint32_t seed;
	struct zf_pattern *pattern;
	struct utsname uts;
	char *mem;
	int r;

	r = zf_pattern_new(ZF_PATTERN_HALF, page_size, ++seed, &pattern);
	if (r < 0)
		die("pattern", -r);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap", errno);
	for (size_t i = 0; i < bytes / page_size; i++)
		zf_pattern_fill(pattern, (unsigned char *)mem + i * page_size, i);

	stored = store(mem, bytes);
	loaded = load(mem, bytes);
	store(mem, bytes);
	written = writeback();
	load(mem, bytes);
	for (size_t off = 0; off < bytes; off += page_size)
		mem[off]++;
	r = zf_path_write(zf_cgroup_path(cgroup), "memory.zswap.max", "1G");
	if (r < 0)
		die("memory.zswap.max", -r);
	limited = store(mem, bytes);
	zf_path_write(zf_cgroup_path(cgroup), "memory.zswap.max", "max");
	munmap(mem, bytes);
	free(pattern);
	if (!report)
		return;

	uname(&uts);
	printf("{\"schema\": 1, \"benchmark\": \"order0\", \"label\": \"%s\", \"kernel\": \"%s\", ",
	       label, uts.release);
	put("store", stored);
	put("load", loaded);
	put("writeback", written);
	put("store_limited", limited);
	printf("\"size_mib\": %zu}\n", bytes >> 20);
}

int main(int argc, char **argv)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	const struct zf_zswap zswap = { "lz4", ZF_ZSWAP_POOL_PERCENT };
	_cleanup_(zf_path_freep) struct zf_path *top = NULL, *root = NULL;
	uint64_t mib = 64;
	int r;

	if (argc < 2 || argc > 3 || (argc == 3 &&
	    (zf_parse_u64(argv[2], &mib) < 0 || !mib || mib > 65536))) {
		fputs("Usage: order0 LABEL [MIB]\n", stderr);
		return 2;
	}
	page_size = sysconf(_SC_PAGESIZE);
	r = zf_path_open("/", &top);
	if (r < 0)
		die("/", -r);
	sys = top;
	set_up_single_pages(sys, &zswap, &knobs);
	/* The shrinker's debugfs file does nothing while it is off. */
	r = zf_knob_set(knobs, "sys/module/zswap/parameters/shrinker_enabled",
			"Y");
	if (r < 0)
		die("setting zswap up", -r);
	find_shrinker();
	r = zf_path_open_at(sys, ZF_CGROUP_ROOT, &root);
	if (r >= 0)
		r = zf_cgroup_create(root, "zfolio-order0", &cgroup);
	if (r >= 0)
		r = zf_cgroup_attach(cgroup, 0);
	if (r < 0)
		die("making a cgroup", -r);

	measure(16 << 20, argv[1], false);
	measure(mib << 20, argv[1], true);

	zf_path_write(root, "cgroup.procs", "0");
	zf_cgroup_remove(root, "zfolio-order0", cgroup);
	return 0;
}
