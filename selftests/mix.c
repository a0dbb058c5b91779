// SPDX-License-Identifier: GPL-2.0-only
/*
 * mix: whatever is set, moved or taken away meanwhile, memory keeps its contents.
 *
 * Workers, each in a group of its own, write, zero, drop, page out and check
 * ranges of their memory: private memory, in single pages and in large folios;
 * private memory whose children check their copies; memory that KSM merges; and
 * a shared memory file with holes punched into it. All the while the parent
 * changes, at random, zswap's limit, compressor, shrinker and whether it is on at
 * all, the groups' limits, the folio sizes; it moves workers to new groups and
 * removes the old ones, reclaims from them, compacts memory, and takes a second
 * swap device away and brings it back.
 *
 * Every page is compared with what was last written to it. At the end all swap is
 * taken away, which brings everything back, and all of it is compared once more.
 * Nobody may have been killed for want of memory meanwhile, as the swap devices
 * are never full, and when the workers are gone, zswap must hold nothing.
 *
 *	mix [--seconds N] [--seed N]	(20, by the clock)
 *
 * The same seed gives the same choices; what they meet depends on timing.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <time.h>

#include "guest_cgroup.h"

#define GROUP		"mix"
#define REGION_SIZE	(20 * GUEST_MIB)
#define MAX_RANGE	64	/* pages */
/* What a group may be limited to: never less than a worker's own needs. */
#define LEAST_LIMIT	(12 * GUEST_MIB)
#define ZRAM_SIZE	(64 * GUEST_MIB)

static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

static size_t random_below(uint64_t *state, size_t limit)
{
	return random_next(state) % limit;
}

/*
 * Workers
 */

enum kind { SMALL, LARGE, FORKING, MERGEABLE, SHMEM, NR_KINDS };

static const char *const kind_name[NR_KINDS] = {
	[SMALL]		= "single pages",
	[LARGE]		= "large folios",
	[FORKING]	= "fork",
	[MERGEABLE]	= "KSM",
	[SHMEM]		= "shared memory file",
};

enum content { ZERO, HALF, RANDOM };

/* What a page holds, and what the parent is told of. */
struct worker {
	enum kind kind;
	pid_t pid;
	char group[32];
	uint64_t random;
	bool stop;
	/* Found by the worker: */
	unsigned long checked;
	unsigned long wrong;
	unsigned long first_wrong;
	char trouble[64];
};

struct page_state {
	uint32_t seed;
	uint32_t index;
	enum content content;
};

static struct worker *workers;
static struct page_state *pages;
static char *region;
static int region_fd = -1;

static void make_content(uint64_t *page, const struct page_state *state)
{
	switch (state->content) {
	case ZERO:
		memset(page, 0, page_size);
		break;
	case HALF:
		guest_page(page, state->seed, state->index);
		break;
	case RANDOM:
		guest_random_page(page, state->seed, state->index);
		break;
	}
}

static void check_range(struct worker *w, size_t first, size_t nr)
{
	uint64_t want[page_size / sizeof(uint64_t)];

	for (size_t i = first; i < first + nr; i++) {
		make_content(want, &pages[i]);
		w->checked++;
		if (!memcmp(region + i * page_size, want, page_size))
			continue;
		if (!w->wrong++)
			w->first_wrong = i;
	}
}

static void write_range(struct worker *w, size_t first, size_t nr)
{
	enum content content = random_below(&w->random, 4) ? HALF : RANDOM;
	uint32_t seed = random_next(&w->random);
	/* Few contents, so that there is something to merge. */
	bool same = w->kind == MERGEABLE && random_below(&w->random, 2);

	for (size_t i = first; i < first + nr; i++) {
		pages[i] = (struct page_state){
			.seed = same ? seed % 4 : seed,
			.index = same ? 0 : i,
			.content = content,
		};
		make_content((uint64_t *)(region + i * page_size), &pages[i]);
	}
}

static void zero_range(struct worker *w, size_t first, size_t nr, bool drop)
{
	size_t offset = first * page_size, len = nr * page_size;
	int err = 0;

	if (!drop)
		memset(region + offset, 0, len);
	else if (w->kind == SHMEM)
		err = fallocate(region_fd, FALLOC_FL_PUNCH_HOLE |
				FALLOC_FL_KEEP_SIZE, offset, len);
	else
		err = madvise(region + offset, len, MADV_DONTNEED);
	if (err) {
		snprintf(w->trouble, sizeof(w->trouble), "drop: errno %d", errno);
		return;
	}
	for (size_t i = first; i < first + nr; i++)
		pages[i].content = ZERO;
}

/* A child's copy must stay as it was while the parent goes on. */
static void fork_and_check(struct worker *w, size_t first, size_t nr)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		w->wrong = 0;
		check_range(w, first, nr);
		madvise(region + first * page_size, nr * page_size,
			MADV_PAGEOUT);
		check_range(w, first, nr);
		_exit(0);
	}
	if (pid < 0) {
		snprintf(w->trouble, sizeof(w->trouble), "fork: errno %d", errno);
		return;
	}
	write_range(w, first, nr);
	if (waitpid(pid, &status, 0) != pid || !guest_child_exited_well(status))
		snprintf(w->trouble, sizeof(w->trouble), "child: status %#x",
			 status);
}

static void step(struct worker *w)
{
	size_t nr = 1 + random_below(&w->random, MAX_RANGE);
	size_t first = random_below(&w->random, REGION_SIZE / page_size - nr);

	switch (random_below(&w->random, w->kind == FORKING ? 8 : 7)) {
	case 0:
	case 1:
		write_range(w, first, nr);
		break;
	case 2:
		zero_range(w, first, nr, random_below(&w->random, 2));
		break;
	case 3:
	case 4:
		madvise(region + first * page_size, nr * page_size,
			MADV_PAGEOUT);
		break;
	case 5:
	case 6:
		check_range(w, first, nr);
		break;
	case 7:
		fork_and_check(w, first, nr);
		break;
	}
}

static int worker_body(void *arg)
{
	size_t nr_pages = REGION_SIZE / page_size;
	struct worker *w = arg;

	pages = calloc(nr_pages, sizeof(*pages));
	if (w->kind == SHMEM) {
		region_fd = memfd_create("mix", MFD_CLOEXEC);
		if (region_fd < 0 || ftruncate(region_fd, REGION_SIZE))
			return 2;
		region = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
			      MAP_SHARED, region_fd, 0);
		if (region == MAP_FAILED)
			return 2;
	} else {
		region = guest_map(REGION_SIZE);
	}
	if (!pages)
		return 2;
	if (w->kind == SMALL)
		madvise(region, REGION_SIZE, MADV_NOHUGEPAGE);
	if (w->kind == MERGEABLE)
		madvise(region, REGION_SIZE, MADV_MERGEABLE);

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED))
		step(w);
	check_range(w, 0, nr_pages);
	guest_child_pause();
	/* Everything is back from swap now. */
	check_range(w, 0, nr_pages);
	return 0;
}

/*
 * What the parent does to them
 */

static char zram[64];
static bool zram_on;
static long oom_kills;
static unsigned int groups_made;

static void count_kills(const char *group)
{
	long kills = guest_cgroup_key(group, "memory.events", "oom_kill");

	oom_kills += kills > 0 ? kills : 0;
}

static void move_worker(struct worker *w)
{
	char old[32];

	snprintf(old, sizeof(old), "%s", w->group);
	snprintf(w->group, sizeof(w->group), GROUP "/%u", groups_made++);
	guest_cgroup_create(w->group);
	guest_cgroup_move(w->pid, w->group);
	count_kills(old);
	/* Its children, if it has any just now, end soon. */
	guest_cgroup_remove(old);
}

static void toggle_zram(void)
{
	if (!zram[0])
		return;
	if (zram_on)
		guest_swapoff(zram);
	else
		guest_swapon(zram);
	zram_on = !zram_on;
}

static void set_limit(uint64_t *random, const char *group, const char *file,
		      unsigned long least)
{
	if (random_below(random, 3))
		guest_cgroup_write(group, file, "max");
	else
		guest_cgroup_write(group, file, "%lu",
				   least + random_below(random, 8 * GUEST_MIB));
}

static void disturb(uint64_t *random)
{
	static const char *const compressors[] = { "lz4", "zstd", "lzo-rle" };
	static const unsigned int percents[] = { 0, 1, 1, 20 };
	static const unsigned int sizes[] = { 0, 16, 64, 256, 1024, 2048 };
	struct worker *w = &workers[random_below(random, NR_KINDS)];
	char path[PATH_MAX];

	switch (random_below(random, 14)) {
	case 0:
	case 1:
		guest_write(ZSWAP_PARAM "max_pool_percent", "%u",
			    percents[random_below(random, 4)]);
		break;
	case 2:
		guest_write(ZSWAP_PARAM "shrinker_enabled", "%zu",
			    random_below(random, 2));
		break;
	case 3:
		guest_write(ZSWAP_PARAM "compressor", "%s",
			    compressors[random_below(random, 3)]);
		break;
	case 4:
		guest_write(ZSWAP_PARAM "enabled", "%d",
			    !!random_below(random, 4));
		break;
	case 5:
		set_limit(random, w->group, "memory.zswap.max", 0);
		break;
	case 6:
		set_limit(random, GROUP, "memory.zswap.max", GUEST_MIB);
		break;
	case 7:
		set_limit(random, w->group, "memory.max", LEAST_LIMIT);
		break;
	case 8:
	case 9:
		move_worker(w);
		break;
	case 10:
		guest_cgroup_path(path, sizeof(path), GROUP, "memory.reclaim");
		guest_try_write(path, "%zuM", 1 + random_below(random, 16));
		break;
	case 11:
		guest_thp_only(sizes[random_below(random, 6)]);
		break;
	case 12:
		guest_try_write("/proc/sys/vm/compact_memory", "1");
		guest_try_write("/proc/sys/vm/drop_caches", "1");
		break;
	case 13:
		toggle_zram();
		break;
	}
}

/*
 * Start and end
 */

static void start_workers(uint64_t *random)
{
	workers = guest_share(sizeof(*workers) * NR_KINDS);
	for (int kind = 0; kind < NR_KINDS; kind++) {
		struct worker *w = &workers[kind];

		w->kind = kind;
		w->random = random_next(random) | 1;
		snprintf(w->group, sizeof(w->group), GROUP "/%u", groups_made++);
		guest_cgroup_create(w->group);
		w->pid = guest_cgroup_spawn(w->group, worker_body, w);
	}
}

static bool worker_alive(const struct worker *w)
{
	int status;

	return waitpid(w->pid, &status, WNOHANG) == 0;
}

static bool contents_right(const char *when)
{
	bool right = true;

	for (int kind = 0; kind < NR_KINDS; kind++) {
		struct worker *w = &workers[kind];

		ksft_print_msg("%s, %s: %lu pages compared, %lu wrong\n", when,
			       kind_name[kind], w->checked, w->wrong);
		if (w->wrong)
			ksft_print_msg("the first one is page %lu\n",
				       w->first_wrong);
		if (w->trouble[0])
			ksft_print_msg("%s\n", w->trouble);
		right &= !w->wrong && !w->trouble[0];
	}
	return right;
}

static void unlimited(void)
{
	for (int kind = 0; kind < NR_KINDS; kind++) {
		guest_cgroup_write(workers[kind].group, "memory.max", "max");
		guest_cgroup_write(workers[kind].group, "memory.zswap.max", "max");
	}
	guest_cgroup_write(GROUP, "memory.zswap.max", "max");
}

static void run(unsigned int seconds, uint64_t seed)
{
	time_t end = time(NULL) + seconds;
	unsigned long steps = 0;
	uint64_t random = seed;
	bool alive = true;
	char disk[64];
	long left;

	start_workers(&random);
	while (alive && time(NULL) < end) {
		disturb(&random);
		steps++;
		usleep(20000 + random_below(&random, 100000));
		for (int kind = 0; kind < NR_KINDS; kind++)
			alive &= worker_alive(&workers[kind]);
	}
	ksft_print_msg("seed %lu: %lu changes in %u s, %u groups\n", seed, steps,
		       seconds, groups_made);
	if (!alive)
		ksft_print_msg("a worker has ended\n");

	unlimited();
	for (int kind = 0; kind < NR_KINDS; kind++)
		__atomic_store_n(&workers[kind].stop, true, __ATOMIC_RELAXED);
	for (int kind = 0; alive && kind < NR_KINDS; kind++)
		guest_child_must_pause(guest_child_wait(workers[kind].pid),
				       kind_name[kind]);
	ksft_test_result(alive && contents_right("at the end"),
			 "contents while everything changes\n");

	guest_swapoff_all(disk, sizeof(disk));
	for (int kind = 0; alive && kind < NR_KINDS; kind++) {
		int status = guest_child_next(workers[kind].pid);

		alive &= guest_child_exited_well(status);
	}
	ksft_test_result(alive && contents_right("without swap"),
			 "contents without swap\n");

	for (int kind = 0; kind < NR_KINDS; kind++) {
		if (!alive)
			guest_child_kill(workers[kind].pid);
		count_kills(workers[kind].group);
		guest_cgroup_remove(workers[kind].group);
	}
	ksft_test_result(!oom_kills, "nobody is killed: %ld\n", oom_kills);
	left = guest_zswap_stored();
	ksft_test_result(!left, "zswap holds nothing: %ld pages\n", left);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 }
	};
	unsigned int seconds = 20;
	uint64_t seed = time(NULL);
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 't')
			seconds = strtoul(optarg, NULL, 10);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return KSFT_FAIL;
	}

	guest_start();
	guest_zswap_enable("lz4");
	guest_cgroup_create_parent(GROUP);
	guest_try_write("/sys/kernel/mm/ksm/run", "1");
	guest_try_write("/sys/kernel/mm/ksm/sleep_millisecs", "10");
	if (guest_zram_add(ZRAM_SIZE, zram, sizeof(zram))) {
		guest_mkswap(zram, ZRAM_SIZE);
		toggle_zram();
	} else {
		ksft_print_msg("no zram: one swap device only\n");
	}

	ksft_set_plan(4);
	run(seconds, seed ? seed : 1);
	ksft_finished();
}
