// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <zfolio/swapin.h>

/*
 * The area starts at a multiple of this, so that it can hold folios of every
 * size up to a PMD with 4 KiB pages.
 */
#define AREA_ALIGN (2UL << 20)

/*
 * memory.reclaim gives up with -EAGAIN when pages were just referenced or are
 * isolated; asking again gets them. Calls without any progress end it.
 */
#define RECLAIM_MAX_CALLS 64
#define RECLAIM_MAX_IDLE 4

/* What follows is the number of the process that measures. */
#define CGROUP_PREFIX "zfolio-swapin-"

/* ---- shared by parent and child ---- */

/* Lies in shared memory: how the child reports. */
struct report {
	int error;
	const char *step;	/* a string constant, the same in both */
	struct zf_swapin_result result;
};

struct job {
	const struct zf_path *sys;
	const struct zf_cgroup *cgroup;
	const struct zf_swapin_params *params;
	struct zf_pattern *pattern;
	size_t page_size;
	size_t pages;
	unsigned char *area;
	unsigned char *in_core;		/* mincore()'s vector */
	struct report *report;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* NULL with errno set when there is no room. */
static void *map_anonymous(size_t bytes, int flags)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- the child ---- */

static int look(const struct job *job, struct zf_counters *ret)
{
	return zf_counters_read(job->sys, job->cgroup, job->params->disk, ret);
}

/*
 * Locks what the child already has, so that reclaim takes only the area and
 * the touching has no faults but its own. The look beforehand brings in the
 * stack and heap that later looks need. Without the right to lock, the result
 * has a few faults more.
 */
static int child_settle(struct job *job)
{
	struct zf_counters warm_up;
	int r;

	job->report->step = "preparing";
	job->in_core = map_anonymous(job->pages, MAP_PRIVATE | MAP_POPULATE);
	if (!job->in_core)
		return -errno;
	r = look(job, &warm_up);
	if (r < 0)
		return r;
	(void)mlockall(MCL_CURRENT);

	job->report->step = "moving into the cgroup";
	return zf_cgroup_attach(job->cgroup, 0);
}

static int child_map(struct job *job)
{
	size_t bytes = job->params->bytes, head;
	unsigned char *area;

	job->report->step = "mapping memory";
	area = map_anonymous(bytes + AREA_ALIGN, MAP_PRIVATE | MAP_NORESERVE);
	if (!area)
		return -errno;
	/*
	 * The slack goes, so that the kernel's readahead starts and ends where
	 * the area does.
	 */
	head = -(uintptr_t)area & (AREA_ALIGN - 1);
	job->area = area + head;
	if ((head && munmap(area, head) < 0) ||
	    munmap(job->area + bytes, AREA_ALIGN - head) < 0)
		return -errno;

	/* -EINVAL: a kernel without huge pages, where none can be asked for. */
	if (madvise(job->area, bytes, MADV_HUGEPAGE) < 0 &&
	    errno != EINVAL)
		return -errno;
	return 0;
}

static int child_fill(struct job *job)
{
	struct zf_counters before, after;
	int r;

	job->report->step = "filling";
	r = look(job, &before);
	if (r < 0)
		return r;
	for (size_t i = 0; i < job->pages; i++)
		zf_pattern_fill(job->pattern, job->area + i * job->page_size,
				i);
	r = look(job, &after);
	if (r < 0)
		return r;
	zf_counters_diff(&before, &after, &job->report->result.fill);
	return 0;
}

static int count_resident(struct job *job, uint64_t *ret)
{
	uint64_t resident = 0;

	if (mincore(job->area, job->params->bytes, job->in_core) < 0)
		return -errno;
	for (size_t i = 0; i < job->pages; i++)
		resident += job->in_core[i] & 1;
	*ret = resident;
	return 0;
}

static int reclaim_all(struct job *job)
{
	struct zf_swapin_result *result = &job->report->result;
	uint64_t before;
	int r, idle = 0;

	r = count_resident(job, &result->resident);
	if (r < 0)
		return r;
	while (result->resident && idle < RECLAIM_MAX_IDLE &&
	       result->reclaim_calls < RECLAIM_MAX_CALLS) {
		before = result->resident;
		r = zf_cgroup_reclaim(job->cgroup, before * job->page_size);
		if (r < 0 && r != -EAGAIN)
			return r;
		result->reclaim_calls++;
		r = count_resident(job, &result->resident);
		if (r < 0)
			return r;
		idle = result->resident < before ? 0 : idle + 1;
	}
	return 0;
}

static int child_reclaim(struct job *job)
{
	struct zf_swapin_result *result = &job->report->result;
	struct zf_counters before, after;
	int r;

	job->report->step = "reclaiming";
	r = look(job, &before);
	if (r < 0)
		return r;
	r = reclaim_all(job);
	if (r < 0)
		return r;
	r = look(job, &after);
	if (r < 0)
		return r;
	zf_counters_diff(&before, &after, &result->out);
	result->disk_pages = zf_value_or_zero(result->out.of[ZF_CG_PSWPOUT]);

	/* Not there without zswap: 0 bytes, then, which is right. */
	r = zf_path_read_u64(zf_cgroup_path(job->cgroup),
			     "memory.zswap.current", &result->zswap_bytes);
	return r == -ENOENT ? 0 : r;
}

static inline void touch_page(const struct job *job, size_t i,
			      struct zf_swapin_result *result)
{
	size_t wrong = zf_pattern_wrong_bytes(job->pattern,
					      job->area + i * job->page_size,
					      i);

	result->wrong_bytes += wrong;
	result->wrong_pages += wrong != 0;
}

/* Does nothing. bench/plugin/insns.c counts from one mark to the next. */
static inline void zf_mark(void)
{
#ifdef __x86_64__
	asm volatile("xchgw %%bx, %%bx" ::: "memory");
#endif
}

static uint64_t touch_all(const struct job *job)
{
	struct zf_swapin_result *result = &job->report->result;
	uint64_t start = now_ns();

	zf_mark();
	for (size_t i = 0; i < job->pages; i++)
		touch_page(job, i, result);
	zf_mark();
	return now_ns() - start;
}

static uint64_t touch_all_clocked(const struct job *job)
{
	struct zf_swapin_result *result = &job->report->result;
	uint64_t start = now_ns(), last = start, now;

	for (size_t i = 0; i < job->pages; i++) {
		touch_page(job, i, result);
		now = now_ns();
		zf_histogram_add(&result->latency, now - last);
		last = now;
	}
	return last - start;
}

static int child_touch(struct job *job)
{
	struct zf_swapin_result *result = &job->report->result;
	struct zf_counters before, after, faults;
	int r;

	job->report->step = "touching";
	result->pages = job->pages;
	r = look(job, &before);
	if (r < 0)
		return r;
	zf_counters_read_faults(&before);
	if (job->params->clock_touches)
		result->ns = touch_all_clocked(job);
	else
		result->ns = touch_all(job);
	zf_counters_read_faults(&faults);
	r = look(job, &after);
	if (r < 0)
		return r;
	after.of[ZF_FAULT_MINOR] = faults.of[ZF_FAULT_MINOR];
	after.of[ZF_FAULT_MAJOR] = faults.of[ZF_FAULT_MAJOR];
	zf_counters_diff(&before, &after, &result->in);
	return 0;
}

static int child_run(struct job *job)
{
	static int (*const steps[])(struct job *job) = {
		child_settle, child_map, child_fill, child_reclaim,
		child_touch,
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(steps) / sizeof(*steps); i++)
		r = steps[i](job);
	return r;
}

/* ---- the parent ---- */

/* The child's exit status, or -EINTR after a signal; it is reaped anyhow. */
static int child_wait(pid_t child, int *ret_status)
{
	int status, r = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
		kill(child, SIGKILL);
		r = -EINTR;
	}
	*ret_status = status;
	return r;
}

static int run_in_child(struct job *job, int *ret_signal)
{
	pid_t parent = getpid(), child;
	int status, r;

	child = fork();
	if (child < 0)
		return -errno;
	if (!child) {
		/* Ends with its parent, also when that ended just now. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		    getppid() != parent)
			_exit(1);
		job->report->error = child_run(job);
		_exit(0);
	}
	r = child_wait(child, &status);
	if (r < 0)
		return r;
	if (WIFSIGNALED(status)) {
		*ret_signal = WTERMSIG(status);
		return -EIO;
	}
	return job->report->error;
}

static int run_in_cgroup(struct job *job, const struct zf_path *root,
			 int *ret_signal)
{
	struct zf_cgroup *cgroup;
	char name[64];
	int r, removed;

	snprintf(name, sizeof(name), CGROUP_PREFIX "%ld", (long)getpid());
	job->report->step = "making a cgroup";
	r = zf_cgroup_create(root, name, &cgroup);
	if (r < 0)
		return r;
	job->cgroup = cgroup;
	r = run_in_child(job, ret_signal);
	removed = zf_cgroup_remove(root, name, cgroup);
	if (r >= 0 && removed < 0) {
		job->report->step = "removing the cgroup";
		return removed;
	}
	return r;
}

static int measure(struct job *job, int *ret_signal)
{
	_cleanup_(zf_path_freep) struct zf_path *root = NULL;
	_cleanup_free_ char *disk = NULL;
	const struct zf_swapin_params *params = job->params;
	int r;

	job->report->step = "looking for swap";
	r = zf_swap_disk(job->sys, &disk);
	if (r < 0 && r != -ENOTBLK)
		return r;

	job->report->step = "preparing contents";
	r = zf_pattern_new(params->pattern, job->page_size, params->seed,
			   &job->pattern);
	if (r < 0)
		return r;

	job->report->step = "opening the cgroup file system";
	r = zf_path_open_at(job->sys, params->cgroup_root, &root);
	if (r < 0)
		return r == -ENOENT ? -EOPNOTSUPP : r;
	return run_in_cgroup(job, root, ret_signal);
}

int zf_swapin_measure(const struct zf_path *sys,
		      const struct zf_swapin_params *params,
		      struct zf_swapin_result *ret_result,
		      struct zf_swapin_failure *ret_failure)
{
	struct job job = {
		.sys = sys,
		.params = params,
		.page_size = sysconf(_SC_PAGESIZE),
	};
	struct zf_swapin_failure failure = { 0 };
	int r;

	if (!params->bytes || params->bytes % job.page_size ||
	    params->bytes > SIZE_MAX - AREA_ALIGN) {
		failure.step = "checking the size";
		r = -EINVAL;
		goto out;
	}
	job.pages = params->bytes / job.page_size;
	job.report = map_anonymous(sizeof(*job.report), MAP_SHARED);
	if (!job.report) {
		failure.step = "preparing";
		r = -errno;
		goto out;
	}
	r = measure(&job, &failure.signal);
	failure.step = job.report->step;
	if (r >= 0)
		*ret_result = job.report->result;
	munmap(job.report, sizeof(*job.report));
	free(job.pattern);
out:
	if (r < 0 && ret_failure)
		*ret_failure = failure;
	return r;
}

/* ---- what was left behind ---- */

static bool is_left_behind(const char *name)
{
	uint64_t pid;

	return !strncmp(name, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) &&
	       zf_parse_u64(name + strlen(CGROUP_PREFIX), &pid) >= 0 &&
	       pid <= INT32_MAX && kill(pid, 0) < 0 && errno == ESRCH;
}

static int remove_left_behind(const struct zf_path *root, const char *name)
{
	struct zf_cgroup *cgroup;
	int r;

	r = zf_cgroup_open(root, name, &cgroup);
	if (r < 0)
		return zf_cgroup_is_gone(r) ? 0 : r;
	/* Without the file, whoever is in there goes by itself or not at all. */
	zf_cgroup_kill(cgroup);
	return zf_cgroup_remove(root, name, cgroup);
}

int zf_swapin_tidy(const struct zf_path *sys, const char *cgroup_root)
{
	_cleanup_(zf_path_freep) struct zf_path *root = NULL;
	_cleanup_closedir_ DIR *stream = NULL;
	const struct dirent *entry;
	int r, first = 0;

	r = zf_path_open_at(sys, cgroup_root, &root);
	if (r < 0)
		return r == -ENOENT ? -EOPNOTSUPP : r;
	r = zf_path_open_dir(root, &stream);
	if (r < 0)
		return r;
	while ((entry = readdir(stream))) {
		if (!is_left_behind(entry->d_name))
			continue;
		r = remove_left_behind(root, entry->d_name);
		if (r < 0 && !first)
			first = r;
	}
	return first;
}
