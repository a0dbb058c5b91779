// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zfolio/counters.h>
#include <zfolio/psi.h>

#include "sample.h"
#include "swaps.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * A unit that had nothing in swap is asked again each fourth tick, a quarter of
 * them on each: a thousand idle cgroups are what a tick costs most.
 */
#define IDLE_TURNS 4

/* ---- data structures ---- */

struct sampler {
	const struct zf_path *sys;
	struct tick tick;
	struct device_sample devices[SWAPS_MAX];
	size_t room;			/* of tick.cgroups */
	uint32_t knobs;			/* that this kernel has */
	uint64_t turn;			/* counts ticks */
	struct swaps swaps;		/* as they were last read */
	uint64_t rejected;		/* likewise */
	bool seen;			/* the above are valid */
};

int sampler_new(const struct zf_path *sys, struct sampler **ret_sampler)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	sampler->sys = sys;
	sampler->tick.page_size = sysconf(_SC_PAGESIZE);
	sampler->tick.devices = sampler->devices;
	*ret_sampler = sampler;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	free(sampler->tick.cgroups);
	free(sampler);
}

void sampler_set_knobs(struct sampler *sampler, uint32_t knobs)
{
	sampler->knobs = knobs;
}

/* ---- one cgroup ---- */

static const struct {
	const char *key;
	enum field field;
} stat_keys[] = {
	{ "zswpin", FIELD_ZSWPIN },
	{ "zswpout", FIELD_ZSWPOUT },
	{ "zswpwb", FIELD_ZSWPWB },
	{ "pswpin", FIELD_PSWPIN },
	{ "pswpout", FIELD_PSWPOUT },
	{ "pgmajfault", FIELD_PGMAJFAULT },
	{ "workingset_refault_anon", FIELD_REFAULT_ANON },
	{ "zswap", FIELD_ZSWAP },
	{ "zswapped", FIELD_ZSWAPPED },
};

static int read_stat(const struct zf_path *cgroup, struct cgroup_sample *s)
{
	struct zf_key keys[ARRAY_SIZE(stat_keys)];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = (struct zf_key){ .key = stat_keys[i].key };
	r = zf_path_read_keys(cgroup, "memory.stat", keys, ARRAY_SIZE(keys));
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		s->of[stat_keys[i].field] = keys[i].value;
		if (stat_keys[i].field == FIELD_PSWPIN)
			s->has_pswpin = keys[i].found;
	}
	return 0;
}

/* A number, or @absent where there is no such file. */
static int read_number(const struct zf_path *cgroup, const char *name,
		       uint64_t absent, uint64_t *ret)
{
	int r = zf_path_read_u64(cgroup, name, ret);

	if (r != -ENOENT)
		return r;
	*ret = absent;
	return 0;
}

static int read_stall(const struct zf_path *cgroup, const char *name,
		      uint64_t *ret)
{
	int r = zf_psi_read(cgroup, name, ret);

	if (r < 0 && zf_psi_is_off(r)) {
		*ret = 0;
		return 0;
	}
	return r;
}

/*
 * Lines "8:0 rbytes=1 wbytes=2 rios=3 wios=4 ..."; summed over the devices of
 * the cgroup that are swapped on.
 */
static int read_io(const struct sampler *sampler, const struct zf_path *cgroup,
		   struct cgroup_sample *s)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest = NULL;
	int r;

	s->of[FIELD_WBYTES] = s->of[FIELD_WIOS] = 0;
	r = zf_path_read(cgroup, "io.stat", &text, NULL);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t bytes, ios;

		if (!swaps_has_line(&sampler->swaps, line))
			continue;
		if (sscanf(line, "%*s rbytes=%*u wbytes=%" SCNu64
			   " rios=%*u wios=%" SCNu64, &bytes, &ios) != 2)
			continue;
		s->of[FIELD_WBYTES] = zf_add(s->of[FIELD_WBYTES], bytes);
		s->of[FIELD_WIOS] = zf_add(s->of[FIELD_WIOS], ios);
	}
	return 0;
}

/* All that a cgroup with something in swap is asked for. */
static int read_all(const struct sampler *sampler,
		    const struct zf_path *cgroup, struct cgroup_sample *s)
{
	int r;

	r = read_stat(cgroup, s);
	if (r >= 0)
		r = read_stall(cgroup, "memory.pressure",
			       &s->of[FIELD_MEMORY_STALL]);
	if (r >= 0)
		r = read_stall(cgroup, "io.pressure", &s->of[FIELD_IO_STALL]);
	if (r >= 0)
		r = read_io(sampler, cgroup, s);
	if (r >= 0)
		r = read_number(cgroup, "memory.current", 0,
				&s->of[FIELD_CURRENT]);
	if (r >= 0)
		r = read_number(cgroup, "memory.zswap.max", UINT64_MAX,
				&s->of[FIELD_ZSWAP_MAX]);
	if (r >= 0)
		r = read_number(cgroup, "memory.zswap.swapin_max", UINT64_MAX,
				&s->of[FIELD_SWAPIN_MAX]);
	return r;
}

/* Counters since the last look; the node keeps what was read. */
static void make_deltas(struct node *node, struct cgroup_sample *s)
{
	for (size_t i = 0; i < NR_FIELDS; i++) {
		uint64_t now = s->of[i];

		if (field_infos[i].kind != FIELD_IS_DELTA)
			continue;
		s->of[i] = node->seen ? zf_sub(now, node->last[i]) : 0;
		node->last[i] = now;
	}
	s->fresh = !node->seen;
	node->seen = true;
}

/* Whether there is something to decide even while nothing of it is in swap. */
static bool is_wanted(const struct node *node)
{
	const struct policy *policy = &node->policy;

	return policy->writeback == WRITEBACK_ON ||
	       policy->writeback == WRITEBACK_OFF ||
	       policy->swapin_max != UINT64_MAX ||
	       !amount_is_leave(policy->zswap_max) || node->touched ||
	       node->reclaim != RECLAIM_NONE;
}

/* Bytes in swap, of the cgroup and all below it. */
static int read_swap(struct node *node, uint64_t *ret)
{
	/* What the whole has nothing of, its parts need not be asked for. */
	if (node->parent && !node->parent->has_swap) {
		*ret = 0;
		return 0;
	}
	if (node->swap_fd < 0) {
		node->swap_fd = zf_path_hold(zf_cgroup_path(node->cgroup),
					     "memory.swap.current");
		/* A kernel without swap. */
		if (node->swap_fd == -ENOENT) {
			*ret = 0;
			return 0;
		}
		if (node->swap_fd < 0)
			return node->swap_fd;
	}
	return zf_held_read_u64(node->swap_fd, ret);
}

/* Whether a unit can be passed over on this tick without asking it. */
static bool is_idle(const struct sampler *sampler, const struct node *node)
{
	return node->is_unit && node->swap_fd >= 0 && !node->has_swap &&
	       !is_wanted(node) &&
	       (sampler->turn + node->id) % IDLE_TURNS;
}

/*
 * 1 with a sample, 0 when there is nothing to decide on: an interior node, or
 * a unit with nothing in swap.
 */
static int read_node(struct sampler *sampler, struct node *node,
		     struct cgroup_sample *s)
{
	const struct zf_path *cgroup = zf_cgroup_path(node->cgroup);
	uint64_t swap = 0, writeback;
	int r;

	if (is_idle(sampler, node))
		return 0;
	r = read_swap(node, &swap);
	if (r < 0)
		return r;
	node->has_swap = swap;
	if (node->is_unit) {
		if (!swap && !is_wanted(node)) {
			/* Too old for a difference when it swaps again. */
			node->seen = false;
			return 0;
		}
	}
	r = read_number(cgroup, knob_files[KNOB_WRITEBACK], 1, &writeback);
	if (r < 0)
		return r;
	/* Parents are read first. */
	node->writeback_here = writeback &&
			       (!node->parent || node->parent->writeback_here);
	if (!node->is_unit)
		return 0;

	*s = (struct cgroup_sample){
		.id = node->id, .path = node->path, .policy = &node->policy,
		.has = node->has & sampler->knobs, .locked = node->locked,
		.reclaim = node->reclaim,
	};
	r = read_all(sampler, cgroup, s);
	if (r < 0)
		return r;
	make_deltas(node, s);
	s->of[FIELD_SWAP] = swap;
	s->of[FIELD_WRITEBACK] = writeback;
	s->of[FIELD_WRITEBACK_HERE] = node->writeback_here;
	return 1;
}

/* ---- the system ---- */

/*
 * Stores refused so far, for lack of room or because the page does not become
 * smaller: a cgroup without write-back keeps such pages in memory. The files
 * need debugfs, and none is no error.
 */
static uint64_t read_rejected(const struct zf_path *sys)
{
	static const char *const files[] = {
		"pool_limit_hit", "reject_reclaim_fail",
		"reject_alloc_fail", "reject_kmemcache_fail",
		"reject_compress_fail", "reject_compress_poor",
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char name[64];
		uint64_t value;

		snprintf(name, sizeof(name), "sys/kernel/debug/zswap/%s",
			 files[i]);
		if (zf_path_read_u64(sys, name, &value) >= 0)
			sum = zf_add(sum, value);
	}
	return sum;
}

/* A line "Name:   123 kB" of proc/meminfo, in bytes; 0 when it is absent. */
static uint64_t meminfo_bytes(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	uint64_t kib;

	if (!line || sscanf(line + strlen(name), "%" SCNu64, &kib) != 1)
		return 0;
	return zf_mul_div(kib, 1024, 1);
}

void sampler_look_around(struct sampler *sampler)
{
	const struct zf_path *sys = sampler->sys;
	_cleanup_free_ char *meminfo = NULL, *global = NULL;
	uint64_t percent, pmd_size, sizes = 0;

	sampler->tick.pool_limit = 0;
	if (zf_path_read(sys, "proc/meminfo", &meminfo, NULL) >= 0 &&
	    zf_path_read_u64(sys,
			     "sys/module/zswap/parameters/max_pool_percent",
			     &percent) >= 0)
		sampler->tick.pool_limit =
			zf_mul_div(meminfo_bytes(meminfo, "MemTotal:"),
				   percent, 100);

	if (zf_path_read_active(sys, "sys/kernel/mm/transparent_hugepage/enabled",
				&global) < 0)
		global = NULL;
	/* Folios of a whole PMD do not come back from swap in one piece. */
	if (zf_path_read_u64(sys, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
			     &pmd_size) < 0)
		pmd_size = UINT64_MAX;
	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER &&
	     sampler->tick.page_size << order < pmd_size; order++) {
		char file[ZF_MTHP_DIR_LEN + sizeof("/enabled")];
		_cleanup_free_ char *word = NULL;

		zf_mthp_dir(order, file);
		strcat(file, "/enabled");
		if (zf_path_read_active(sys, file, &word) < 0)
			continue;
		if (!strcmp(word, "always") || !strcmp(word, "madvise") ||
		    (!strcmp(word, "inherit") && global &&
		     strcmp(global, "never")))
			sizes |= 1ULL << order;
	}
	sampler->tick.sizes = sizes;
}

static const struct swap *find_swap(const struct swaps *swaps,
				    const char *name)
{
	for (size_t i = 0; i < swaps->nr; i++) {
		if (!strcmp(swaps->at[i].name, name))
			return &swaps->at[i];
	}
	return NULL;
}

/* Whole seconds of proc/uptime; 0 when it is not known. */
static uint64_t read_uptime(const struct zf_path *sys)
{
	_cleanup_free_ char *text = NULL;
	uint64_t seconds;

	if (zf_path_read(sys, "proc/uptime", &text, NULL) < 0 ||
	    sscanf(text, "%" SCNu64, &seconds) != 1)
		return 0;
	return zf_mul_div(seconds, ZF_USEC_PER_SEC, 1);
}

/* Bytes by the whole system since it started. */
static uint64_t read_swapped_out(const struct sampler *sampler)
{
	uint64_t pages;

	if (zf_path_read_key(sampler->sys, "proc/vmstat", "pswpout",
			     &pages) < 0)
		return 0;
	return zf_mul_div(pages, sampler->tick.page_size, 1);
}

static void read_devices(struct sampler *sampler, const struct config *config)
{
	struct swaps swaps = { .nr = 0 };

	/* A shape that is not understood is no device to write to. */
	if (swaps_read(sampler->sys, &swaps) < 0)
		swaps.nr = 0;
	for (size_t i = 0; i < swaps.nr; i++) {
		struct swap *swap = &swaps.at[i];
		const struct swap *old = find_swap(&sampler->swaps, swap->name);
		struct device_sample *device = &sampler->devices[i];

		*device = (struct device_sample){
			.policy = config_device(config, swap->name),
			.size = swap->size, .used = swap->used,
			.priority = swap->priority,
		};
		strcpy(device->name, swap->name);
		/* A file's share is not known: all of it may be. */
		if (!swap->has_written)
			swap->written = read_swapped_out(sampler);
		if (old) {
			device->written = zf_sub(swap->written, old->written);
		} else {
			device->written_before = swap->written;
			device->uptime = read_uptime(sampler->sys);
		}
	}
	sampler->tick.nr_devices = swaps.nr;
	sampler->swaps = swaps;
}

static void read_system(struct sampler *sampler, const struct config *config)
{
	_cleanup_free_ char *meminfo = NULL;
	uint64_t rejected;
	struct tick *tick = &sampler->tick;

	tick->pool = 0;
	if (zf_path_read(sampler->sys, "proc/meminfo", &meminfo, NULL) >= 0)
		tick->pool = meminfo_bytes(meminfo, "Zswap:");
	rejected = read_rejected(sampler->sys);
	tick->rejected = 0;
	if (sampler->seen)
		tick->rejected = zf_sub(rejected, sampler->rejected);
	sampler->rejected = rejected;
	read_devices(sampler, config);
	sampler->seen = true;
}

/* ---- main API ---- */

int sampler_tick(struct sampler *sampler, const struct cgtree *tree,
		 const struct config *config, uint64_t elapsed,
		 const struct tick **ret_tick)
{
	struct tick *tick = &sampler->tick;
	struct node *const *nodes;
	size_t nr_nodes;

	nodes = cgtree_nodes(tree, &nr_nodes);
	if (nr_nodes > sampler->room) {
		struct cgroup_sample *larger;

		larger = realloc(tick->cgroups, nr_nodes * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		tick->cgroups = larger;
		sampler->room = nr_nodes;
	}
	read_system(sampler, config);
	sampler->turn++;
	tick->elapsed = elapsed;
	tick->nr_cgroups = 0;
	for (size_t i = 0; i < nr_nodes; i++) {
		int r = read_node(sampler, nodes[i],
				  &tick->cgroups[tick->nr_cgroups]);

		if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
			return r;
		if (r > 0)
			tick->nr_cgroups++;
		else if (r < 0)
			nodes[i]->seen = false;
	}
	*ret_tick = tick;
	return 0;
}
