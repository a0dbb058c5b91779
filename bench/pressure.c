// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pressure - what two loads cost in a cgroup that is too small for them
 *
 * Each load runs in a new cgroup whose memory.max is a share of what the load
 * needs: 50, 60 and 70 %. One JSON object for each of the six.
 *
 *	random	One process fills all of its memory and then touches pages at
 *		random, as many times as it has pages, one in four by a store.
 *	build	As a compiler run: a process with a working set, of 3/8 of the
 *		need, starts short-lived ones, two at a time. Each takes 5/16
 *		of the need and as much again that it never touches, fills it in
 *		order, reads a quarter of the working set at random places and
 *		its own memory again, and exits.
 *
 * Every folio size that this kernel has is allowed for anonymous memory, or one,
 * or none; each page that is read is compared with what was written to it. The
 * filling before the first touch or the first short-lived process is not counted.
 *
 * What is counted is the CPU time of the cgroup's processes and of the kernel's
 * threads. Under instruction counting (vm/run --icount) this is instructions.
 * bench/README.md describes the fields.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <zfolio/swapin.h>

#include "common.h"

/* With a working set of 3/8 and two jobs of 5/16 the need is what it says. */
#define WORKING_SET(need)	((need) / 16 * 6)
#define JOB(need)		((need) / 16 * 5)
#define NR_JOBS			12
#define JOBS_AT_ONCE		2

#define CGROUP_NAME		"zfolio-pressure"

static const struct zf_path *sys;
static const struct zf_path *root;
static size_t page_size;

struct load {
	const char *name;
	/* In the cgroup; stops itself once when it is ready to be measured. */
	int (*run)(size_t need);
};

/* ---- contents ---- */

static struct zf_pattern *new_pattern(uint32_t seed)
{
	struct zf_pattern *pattern;

	/* Compresses to some 1.1 KiB a page, so that half of the need is enough. */
	if (zf_pattern_new(ZF_PATTERN_QUARTER_RANDOM, page_size, seed,
			   &pattern) < 0)
		_exit(3);
	return pattern;
}

static unsigned char *map(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		_exit(3);
	return mem;
}

static void fill(const struct zf_pattern *pattern, unsigned char *mem,
		 size_t bytes)
{
	for (size_t i = 0; i < bytes / page_size; i++)
		zf_pattern_fill(pattern, mem + i * page_size, i);
}

static bool page_wrong(const struct zf_pattern *pattern,
		       const unsigned char *mem, size_t page)
{
	return zf_pattern_wrong_bytes(pattern, mem + page * page_size, page);
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* ---- the loads: 1 for wrong contents ---- */

static int run_random(size_t need)
{
	struct zf_pattern *pattern = new_pattern(1);
	size_t nr_pages = need / page_size, page;
	unsigned char *mem = map(need);
	uint64_t x = 0x9e3779b97f4a7c15;
	int wrong = 0;

	fill(pattern, mem, need);
	raise(SIGSTOP);
	for (size_t i = 0; i < nr_pages; i++) {
		page = next_random(&x) % nr_pages;
		/* The same bytes again: a store all the same. */
		if (!(x >> 32 & 3))
			zf_pattern_fill(pattern, mem + page * page_size, page);
		else
			wrong |= page_wrong(pattern, mem, page);
	}
	return wrong;
}

static int run_job(unsigned int nr, size_t need, const struct zf_pattern *shared,
		   const unsigned char *working_set)
{
	size_t set_pages = WORKING_SET(need) / page_size;
	struct zf_pattern *pattern = new_pattern(100 + nr);
	uint64_t x = 0x9e3779b97f4a7c15 + nr;
	size_t bytes = JOB(need);
	unsigned char *mem = map(2 * bytes);
	int wrong = 0;

	fill(pattern, mem, bytes);
	for (size_t i = 0; i < set_pages / 4; i++)
		wrong |= page_wrong(shared, working_set,
				    next_random(&x) % set_pages);
	for (size_t i = 0; i < bytes / page_size; i++)
		wrong |= page_wrong(pattern, mem, i);
	return wrong;
}

static int run_build(size_t need)
{
	struct zf_pattern *shared = new_pattern(2);
	unsigned char *working_set = map(WORKING_SET(need));
	unsigned int started = 0, running = 0;
	int status, wrong = 0;
	pid_t pid;

	fill(shared, working_set, WORKING_SET(need));
	raise(SIGSTOP);
	while (started < NR_JOBS || running) {
		if (started < NR_JOBS && running < JOBS_AT_ONCE) {
			pid = fork();
			if (pid < 0)
				return 3;
			if (!pid)
				_exit(run_job(started, need, shared, working_set));
			started++;
			running++;
			continue;
		}
		if (wait(&status) < 0)
			return 3;
		running--;
		/* One that was killed did not do its part. */
		if (!WIFEXITED(status))
			return 4;
		if (WEXITSTATUS(status))
			wrong = WEXITSTATUS(status);
	}
	return wrong;
}

static const struct load loads[] = {
	{ "random", run_random },
	{ "build", run_build },
};

/* ---- clocks ---- */

/*
 * Of all processes that are there, kernel threads included, but for this one and
 * for the load's, which the cgroup counts. Of those only the first can be there.
 */
static uint64_t others_ns(pid_t load)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct timespec now;
	uint64_t sum = 0;
	clockid_t clock;
	pid_t pid;

	if (!proc)
		die("/proc", errno);
	while ((entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 0 && pid != getpid() && pid != load &&
		    !clock_getcpuclockid(pid, &clock) &&
		    !clock_gettime(clock, &now))
			sum += now.tv_sec * 1000000000ULL + now.tv_nsec;
	}
	closedir(proc);
	return sum;
}

static uint64_t cgroup_ns(const struct zf_cgroup *cgroup)
{
	uint64_t usec;
	int r = zf_path_read_key(zf_cgroup_path(cgroup), "cpu.stat",
				 "usage_usec", &usec);

	if (r < 0)
		die("cpu.stat", -r);
	return usec * 1000;
}

/* Until memory.stat is exact. */
static void settle(void)
{
	const struct timespec wait = { .tv_sec = 3 };

	nanosleep(&wait, NULL);
}

/* ---- measuring ---- */

/* "all", "none" or one size as "64K"; false when there is none so named. */
static bool allow_sizes(struct zf_knobs *knobs, const char *sizes)
{
	char dir[ZF_MTHP_DIR_LEN], name[ZF_MTHP_DIR_LEN + 16], size[16];
	bool found = !strcmp(sizes, "all") || !strcmp(sizes, "none");
	int r;

	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++) {
		size_t kib = (page_size << order) >> 10;
		bool allow;

		zf_mthp_dir(order, dir);
		snprintf(name, sizeof(name), "%s/enabled", dir);
		if (!zf_path_has(sys, name))
			continue;
		if (kib < 1024)
			snprintf(size, sizeof(size), "%zuK", kib);
		else
			snprintf(size, sizeof(size), "%zuM", kib / 1024);
		allow = !strcmp(sizes, "all") || !strcmp(sizes, size);
		found |= allow;
		r = zf_knob_set(knobs, name, allow ? "always" : "never");
		if (r < 0)
			die(name, -r);
	}
	return found;
}

static void put(const char *name, struct zf_value v)
{
	if (v.present)
		printf("\"%s\": %" PRIu64 ", ", name, v.value);
	else
		printf("\"%s\": null, ", name);
}

static uint64_t fallbacks(const struct zf_counters *diff,
			  enum zf_mthp_counter counter)
{
	uint64_t sum = 0;

	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++)
		sum += zf_value_or_zero(diff->mthp[order][counter]);
	return sum;
}

static void report(const char *label, const char *sizes, const char *load,
		   unsigned int percent, size_t need, uint64_t ns,
		   const struct zf_counters *diff, int status)
{
	struct zf_swapped_in in = zf_counters_swapped_in(diff);
	struct utsname uts;

	uname(&uts);
	printf("{\"schema\": 1, \"benchmark\": \"pressure\", \"label\": \"%s\", \"kernel\": \"%s\", ",
	       label, uts.release);
	printf("\"sizes\": \"%s\", \"load\": \"%s\", \"percent\": %u, \"need_mib\": %zu, ",
	       sizes, load, percent, need >> 20);
	put("zswpin", diff->of[ZF_VM_ZSWPIN]);
	put("zswpout", diff->of[ZF_VM_ZSWPOUT]);
	put("zswpwb", diff->of[ZF_VM_ZSWPWB]);
	put("pswpin", diff->of[ZF_VM_PSWPIN]);
	put("pswpout", diff->of[ZF_VM_PSWPOUT]);
	put("faults", diff->of[ZF_CG_PGFAULT]);
	put("faults_major", diff->of[ZF_CG_PGMAJFAULT]);
	printf("\"large_folios_in\": %" PRIu64 ", \"fallbacks\": %" PRIu64 ", ",
	       in.large_folios, in.fallbacks);
	printf("\"fallbacks_charge\": %" PRIu64 ", ",
	       fallbacks(diff, ZF_MTHP_SWPIN_FALLBACK_CHARGE));
	printf("\"ns\": %" PRIu64 ", \"wrong\": %s, \"killed\": %s}\n", ns,
	       status == 1 ? "true" : "false", status == 4 ? "true" : "false");
	fflush(stdout);
}

/* Returns what became of the load: as its exit status, or 4 when it was killed. */
static int measure(const struct load *load, unsigned int percent, size_t need,
		   const char *swapin_max, struct zf_counters *ret_diff,
		   uint64_t *ret_ns)
{
	struct zf_counters before, after;
	struct zf_cgroup *cgroup;
	uint64_t ns = 0;
	char limit[32];
	int r, status;
	pid_t pid;

	r = zf_cgroup_create(root, CGROUP_NAME, &cgroup);
	if (r < 0)
		die("making a cgroup", -r);
	snprintf(limit, sizeof(limit), "%zu", need / 100 * percent);
	r = zf_path_write(zf_cgroup_path(cgroup), "memory.max", limit);
	if (r < 0)
		die("memory.max", -r);
	if (swapin_max)
		r = zf_path_write(zf_cgroup_path(cgroup),
				  "memory.zswap.swapin_max", swapin_max);
	if (r < 0)
		die("memory.zswap.swapin_max", -r);

	pid = fork();
	if (pid < 0)
		die("fork", errno);
	if (!pid) {
		if (zf_cgroup_attach(cgroup, 0) < 0)
			_exit(3);
		_exit(load->run(need));
	}
	if (waitpid(pid, &status, WUNTRACED) != pid)
		die("waitpid", errno);
	settle();
	r = zf_counters_read(sys, cgroup, NULL, &before);
	if (r < 0)
		die("counters", -r);
	/* Else it was killed while it filled its memory. */
	if (WIFSTOPPED(status)) {
		ns = cgroup_ns(cgroup) + others_ns(pid);
		kill(pid, SIGCONT);
		if (waitpid(pid, &status, 0) != pid)
			die("waitpid", errno);
		ns = cgroup_ns(cgroup) + others_ns(0) - ns;
	}
	settle();
	r = zf_counters_read(sys, cgroup, NULL, &after);
	if (r < 0)
		die("counters", -r);
	zf_counters_diff(&before, &after, ret_diff);
	*ret_ns = ns;
	r = zf_cgroup_remove(root, CGROUP_NAME, cgroup);
	if (r < 0)
		die("removing the cgroup", -r);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		die("the load failed", EIO);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

int main(int argc, char **argv)
{
	static const unsigned int percents[] = { 50, 60, 70 };
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	const struct zf_zswap zswap = { "lz4", ZF_ZSWAP_POOL_PERCENT };
	_cleanup_(zf_path_freep) struct zf_path *top = NULL, *groups = NULL;
	struct zf_counters diff;
	int r, status, worst = 0;
	uint64_t mib, ns;

	if (argc < 4 || argc > 5 || zf_parse_u64(argv[2], &mib) < 0 || mib < 4 ||
	    mib > 65536) {
		fputs("Usage: pressure LABEL MIB all|none|SIZE [SWAPIN_MAX]\n", stderr);
		return 2;
	}
	page_size = sysconf(_SC_PAGESIZE);
	r = zf_path_open("/", &top);
	if (r < 0)
		die("/", -r);
	sys = top;
	r = zf_path_open_at(sys, ZF_CGROUP_ROOT, &groups);
	if (r < 0)
		die(ZF_CGROUP_ROOT, -r);
	root = groups;
	r = zf_knobs_new(sys, &knobs);
	if (r >= 0)
		r = zf_zswap_setup(knobs, &zswap);
	if (r < 0)
		die("setting zswap up", -r);
	if (!allow_sizes(knobs, argv[3])) {
		fprintf(stderr, "pressure: %s: no such folio size\n", argv[3]);
		return 2;
	}

	/* The first one after a boot costs more than it should. */
	measure(&loads[0], 70, 4 << 20, argv[4], &diff, &ns);
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		for (size_t j = 0; j < sizeof(percents) / sizeof(percents[0]); j++) {
			status = measure(&loads[i], percents[j], mib << 20, argv[4],
					 &diff, &ns);
			report(argv[1], argv[3], loads[i].name, percents[j],
			       mib << 20, ns, &diff, status);
			if (status > worst)
				worst = status;
		}
	}
	return worst == 1 ? 1 : 0;
}
