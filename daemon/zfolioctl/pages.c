// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zfolio/cgroup.h>
#include <zfolio/units.h>

#include "pages.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_FILE_OR_SHARED (1ULL << 61)

/* A look into pagemap: one read of a page. Memory that is sparse takes some. */
#define WINDOW 512
#define WINDOWS_MAX 16

/* Deeper hierarchies have no processes in practice; each level is a descriptor. */
#define DEPTH_MAX 64

/* ---- data structures ---- */

struct area {
	uint32_t pid;
	uint64_t start, end;		/* addresses */
	uint64_t pages;			/* anonymous ones that are resident */
};

struct sampling {
	const struct zf_path *sys;
	size_t page_size;
	uint64_t random;
	struct area *areas;
	size_t nr_areas, room;
	struct pages_seen seen;
	int (*take)(void *data, const void *page);
	void *data;
	void *page;
};

/* xorshift64*: which pages are looked at is all that depends on it. */
static uint64_t random_below(struct sampling *s, uint64_t bound)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (s->random * 2685821657736338717ULL >> 11) % bound;
}

/* ---- what memory there is ---- */

static int add_area(struct sampling *s, const struct area *area)
{
	if (s->nr_areas == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct area *larger;

		larger = realloc(s->areas, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		s->areas = larger;
		s->room = room;
	}
	s->areas[s->nr_areas++] = *area;
	return 0;
}

/*
 * smaps has a header "start-end perms ..." for each area and lines "Name: N kB"
 * below it.
 */
static int parse_smaps(struct sampling *s, uint32_t pid, char *text)
{
	struct area area = { .pid = pid };
	char *rest = NULL;
	uint64_t kib;

	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t start, end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2 &&
		    start < end) {
			area.start = start;
			area.end = end;
		} else if (sscanf(line, "Anonymous: %" SCNu64, &kib) == 1) {
			area.pages = zf_mul_div(kib, 1024, s->page_size);
			s->seen.anonymous = zf_add(s->seen.anonymous,
						   zf_mul_div(kib, 1024, 1));
			if (area.pages && area.end && add_area(s, &area) < 0)
				return -ENOMEM;
		} else if (sscanf(line, "Swap: %" SCNu64, &kib) == 1) {
			s->seen.swapped = zf_add(s->seen.swapped,
						 zf_mul_div(kib, 1024, 1));
		}
	}
	return 0;
}

static int look_at_process(struct sampling *s, uint32_t pid)
{
	_cleanup_free_ char *text = NULL;
	char name[64];
	int r;

	s->seen.processes++;
	snprintf(name, sizeof(name), "proc/%" PRIu32 "/smaps", pid);
	r = zf_path_read(s->sys, name, &text, NULL);
	if (r == -ENOENT || r == -ESRCH) {
		s->seen.gone++;
		return 0;
	}
	if (r == -EACCES || r == -EPERM || r == -EFBIG) {
		s->seen.not_readable++;
		return 0;
	}
	return r < 0 ? r : parse_smaps(s, pid, text);
}

static int look_at_processes(struct sampling *s, const struct zf_path *cgroup)
{
	_cleanup_free_ char *text = NULL;
	char *rest = NULL;
	int r;

	r = zf_path_read(cgroup, "cgroup.procs", &text, NULL);
	/* Of a threaded cgroup the processes are those of its domain. */
	if (r == -EOPNOTSUPP)
		return 0;
	for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &rest);
	     r >= 0 && line; line = strtok_r(NULL, "\n", &rest)) {
		uint64_t pid;

		/* 0: in another PID namespace. */
		if (zf_parse_u64(line, &pid) >= 0 && pid && pid < UINT32_MAX)
			r = look_at_process(s, pid);
	}
	return r;
}

/* The cgroup and all below it. */
static int look_at_cgroup(struct sampling *s, const struct zf_path *cgroup,
			  unsigned int depth)
{
	_cleanup_closedir_ DIR *stream = NULL;
	const struct dirent *entry;
	int r;

	r = look_at_processes(s, cgroup);
	if (r >= 0)
		r = zf_path_open_dir(cgroup, &stream);
	if (r < 0)
		return r;
	while (r >= 0 && depth < DEPTH_MAX && (entry = readdir(stream))) {
		_cleanup_(zf_path_freep) struct zf_path *child = NULL;

		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		r = zf_path_open_at(cgroup, entry->d_name, &child);
		if (r >= 0)
			r = look_at_cgroup(s, child, depth + 1);
		if (zf_cgroup_is_gone(r))
			r = 0;
	}
	return r;
}

/* ---- single pages ---- */

static int open_of(const struct sampling *s, uint32_t pid, const char *file)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%" PRIu32 "/%s", pid, file);
	return zf_path_hold(s->sys, name);
}

/* An anonymous page of the area that is present: its address, or 0. */
static uint64_t find_page(struct sampling *s, int pagemap,
			  const struct area *area)
{
	uint64_t nr = (area->end - area->start) / s->page_size;
	uint64_t entries[WINDOW];

	for (int i = 0; i < WINDOWS_MAX; i++) {
		uint64_t len = zf_min(nr, WINDOW), at, first, good = 0, pick;
		ssize_t n;

		first = area->start / s->page_size +
			random_below(s, nr - len + 1);
		n = pread(pagemap, entries, len * sizeof(*entries),
			  first * sizeof(*entries));
		if (n <= 0)
			return 0;
		len = n / sizeof(*entries);
		for (at = 0; at < len; at++) {
			if ((entries[at] & PAGEMAP_PRESENT) &&
			    !(entries[at] & PAGEMAP_FILE_OR_SHARED))
				entries[good++] = first + at;
		}
		if (!good)
			continue;
		pick = random_below(s, good);
		return entries[pick] * s->page_size;
	}
	return 0;
}

/* @nr pages of one area. */
static int sample_area(struct sampling *s, int pagemap, int mem,
		       const struct area *area, uint64_t nr)
{
	for (; nr; nr--) {
		uint64_t address = find_page(s, pagemap, area);
		int r;

		if (!address || address > INT64_MAX ||
		    pread(mem, s->page, s->page_size, address) !=
			    (ssize_t)s->page_size) {
			s->seen.missed++;
			continue;
		}
		s->seen.sampled++;
		r = s->take(s->data, s->page);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Of all pages in a row each (all / wanted)-th is wanted, so an area has as many
 * as its share; where exactly they lie in it is chance.
 */
static int sample_all(struct sampling *s, uint64_t wanted)
{
	_cleanup_close_ int pagemap = -EBADF, mem = -EBADF;
	uint64_t all = 0, before = 0;
	uint32_t opened = 0;
	int r = 0;

	for (size_t i = 0; i < s->nr_areas; i++)
		all = zf_add(all, s->areas[i].pages);
	wanted = zf_min(wanted, all);
	for (size_t i = 0; r >= 0 && i < s->nr_areas; i++) {
		const struct area *area = &s->areas[i];
		uint64_t behind = zf_add(before, area->pages);
		uint64_t nr = zf_mul_div(behind, wanted, all) -
			      zf_mul_div(before, wanted, all);

		before = behind;
		if (!nr)
			continue;
		if (area->pid != opened) {
			zf_closep(&pagemap);
			zf_closep(&mem);
			pagemap = open_of(s, area->pid, "pagemap");
			mem = open_of(s, area->pid, "mem");
			opened = area->pid;
		}
		if (pagemap < 0 || mem < 0)
			s->seen.missed += nr;
		else
			r = sample_area(s, pagemap, mem, area, nr);
	}
	return r;
}

int pages_sample(const struct zf_path *sys, const struct zf_path *cgroup,
		 uint64_t wanted, uint64_t seed,
		 int (*take)(void *data, const void *page), void *data,
		 struct pages_seen *ret_seen)
{
	struct sampling s = {
		.sys = sys, .page_size = sysconf(_SC_PAGESIZE),
		.random = seed | 1, .take = take, .data = data,
	};
	int r;

	s.page = malloc(s.page_size);
	r = s.page ? look_at_cgroup(&s, cgroup, 0) : -ENOMEM;
	if (r >= 0)
		r = sample_all(&s, wanted);
	free(s.page);
	free(s.areas);
	if (r >= 0)
		*ret_seen = s.seen;
	return r;
}
