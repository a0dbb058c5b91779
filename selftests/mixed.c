// SPDX-License-Identifier: GPL-2.0-only
/*
 * mixed: a range that is only partly in zswap comes back in the largest parts
 * that are.
 *
 * Large folios from zswap have to come from zswap as a whole. When another page
 * of the range is on the disk, is marked as zero-filled or is in the swap cache
 * already, a fault must not fall to a single page straight away: each block of a
 * smaller enabled size that lies in zswap as a whole comes back in one piece.
 *
 * For each range size from 16 KiB to 2 MiB the program builds many mixtures (see
 * guest_mixture.h) on neighbouring, aligned slots. Pages get to the disk while
 * zswap is switched off, and into the swap cache by MADV_WILLNEED. Then it
 * touches the pages, upwards, downwards or at random, by loads or by stores.
 * After each fault exactly the pages of the expected folio must be mapped. At the
 * end contents and all counters must be right: folios and fallbacks of each size,
 * pages from zswap and from the disk, zero-filled pages, major faults, and the
 * group's own zswpin.
 *
 * Readahead is off (vm.page-cluster is 0), or it would bring in neighbours. The
 * last part repeats some of this with a forked child that has read some pages, or
 * reads all of them first, and with readahead, where every page must come in once.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"
#include "guest_disk.h"
#include "guest_mixture.h"

#define SEED		0x9d2c5680u
#define NR_RANDOM	4

static uint64_t random_state = SEED;
/* What the group's own counter must have become. */
static long total_from_zswap;

/*
 * Building
 */

/* Mixtures of one range size, on slots and addresses one after the other. */
struct batch {
	unsigned int nr_pages;	/* of each range */
	unsigned int nr;
	struct mixture mixture[MIXTURE_LIST_MAX];
	char *region;
	size_t size;
	uint32_t seed;
};

static struct batch batch;
static char *filler;
/* Shares the batch with this program, and has its CACHED pages mapped; or 0. */
static pid_t sharer;

static char *batch_page(unsigned int range, unsigned int page)
{
	return batch.region + ((size_t)range * batch.nr_pages + page) * page_size;
}

static void fill_page(char *page, enum mixture_kind kind, uint64_t nr)
{
	/* Also a page of zeroes has to be written to be there. */
	if (kind == ZERO_FILLED)
		memset(page, 0, page_size);
	else
		guest_page((uint64_t *)page, batch.seed, nr);
}

static void page_out(char *page)
{
	if (madvise(page, page_size, MADV_PAGEOUT))
		ksft_exit_fail_msg("MADV_PAGEOUT: %s\n", strerror(errno));
}

/*
 * Slots are handed out one after the other: pages out other memory until the
 * next one is a multiple of the range's pages.
 */
static void align_slots(void)
{
	uint64_t word;

	filler = guest_map(MIXTURE_PAGES * page_size);
	for (size_t i = 0; i < MIXTURE_PAGES; i++) {
		char *page = filler + i * page_size;

		guest_page((uint64_t *)page, 7, i);
		page_out(page);
		guest_pagemap(getpid(), page, 1, &word);
		if (word & PAGEMAP_SWAPPED &&
		    (PAGEMAP_SLOT(word) + 1) % batch.nr_pages == 0)
			break;
	}
}

static void swap_out_range(unsigned int range)
{
	const unsigned char *kind = batch.mixture[range].kind;

	for (unsigned int i = 0; i < batch.nr_pages; i++) {
		if (!i || (kind[i] == ON_DISK) != (kind[i - 1] == ON_DISK))
			guest_write(ZSWAP_PARAM "enabled", "%d",
				    kind[i] != ON_DISK);
		fill_page(batch_page(range, i), kind[i],
			  range * batch.nr_pages + i);
		page_out(batch_page(range, i));
	}
}

static bool slots_aligned(unsigned int range)
{
	uint64_t words[MIXTURE_PAGES];
	uint64_t first;

	guest_pagemap(getpid(), batch_page(range, 0), batch.nr_pages, words);
	first = PAGEMAP_SLOT(words[0]);
	for (unsigned int i = 0; i < batch.nr_pages; i++)
		if (!(words[i] & PAGEMAP_SWAPPED) ||
		    PAGEMAP_SLOT(words[i]) != first + i)
			return false;
	return first % batch.nr_pages == 0;
}

static void drop_batch(void)
{
	munmap(batch.region, batch.size);
	munmap(filler, MIXTURE_PAGES * page_size);
}

static bool try_build(void)
{
	bool aligned = true;

	batch.size = (size_t)batch.nr * batch.nr_pages * page_size;
	batch.region = guest_map(batch.size);
	align_slots();
	for (unsigned int i = 0; i < batch.nr; i++)
		swap_out_range(i);
	guest_write(ZSWAP_PARAM "enabled", "1");
	for (unsigned int i = 0; aligned && i < batch.nr; i++)
		aligned = slots_aligned(i);
	return aligned;
}

/* Of pages that are swapped out, mincore() finds those in the swap cache. */
static size_t count_cached(void)
{
	static unsigned char in_core[MIXTURE_LIST_MAX * MIXTURE_PAGES];
	size_t count = 0;

	if (mincore(batch.region, batch.size, in_core))
		ksft_exit_fail_msg("mincore: %s\n", strerror(errno));
	for (size_t i = 0; i < batch.size / page_size; i++)
		count += in_core[i] & 1;
	return count;
}

/* A page that was written to the disk stays there until somebody reclaims. */
static void empty_swap_cache(void)
{
	size_t left;

	for (int tries = 0; (left = count_cached()); tries++) {
		if (tries == 500)
			ksft_exit_fail_msg("%zu pages stay in the swap cache\n",
					   left);
		/* That there was less to reclaim than this is no error here. */
		guest_try_write(GUEST_RECLAIM_CGROUP "/memory.reclaim",
				"%zu swappiness=max", left * page_size);
		usleep(2000);
	}
}

static void bring_into_cache(unsigned int range)
{
	for (unsigned int i = 0; i < batch.nr_pages; i++)
		if (batch.mixture[range].kind[i] == CACHED &&
		    madvise(batch_page(range, i), page_size, MADV_WILLNEED))
			ksft_exit_fail_msg("MADV_WILLNEED: %s\n",
					   strerror(errno));
}

/* What one process has read stays in the swap cache as long as others want it. */
static void start_sharer(void)
{
	sharer = fork();
	if (sharer < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!sharer) {
		for (unsigned int i = 0; i < batch.nr * batch.nr_pages; i++)
			if (batch.mixture[i / batch.nr_pages].kind[i % batch.nr_pages] == CACHED)
				(void)*(volatile char *)batch_page(0, i);
		guest_child_pause();
		_exit(0);
	}
	guest_child_must_pause(guest_child_wait(sharer), "sharing");
}

/* All pages of the batch's mixtures to where they should be. */
static void build(bool shared)
{
	long cached = 0, compressed = 0, stored;

	guest_thp_only(0);
	batch.seed++;
	for (unsigned int i = 0; i < batch.nr; i++) {
		cached += mixture_count(&batch.mixture[i], CACHED);
		compressed += mixture_count(&batch.mixture[i], IN_ZSWAP);
	}
	for (int tries = 0; ; tries++) {
		if (try_build())
			break;
		drop_batch();
		if (tries == 10)
			ksft_exit_fail_msg("no neighbouring slots\n");
	}
	munmap(filler, MIXTURE_PAGES * page_size);
	empty_swap_cache();
	if (shared)
		start_sharer();
	for (unsigned int i = 0; !shared && i < batch.nr; i++)
		bring_into_cache(i);
	/* These were loaded. */
	total_from_zswap += cached;

	stored = guest_zswap_stored();
	if (stored != compressed)
		ksft_exit_fail_msg("zswap holds %ld pages instead of %ld\n",
				   stored, compressed);
	if ((long)count_cached() != cached)
		ksft_exit_fail_msg("%zu pages are in the swap cache instead of %ld\n",
				   count_cached(), cached);
}

/*
 * Touching
 */

/* Takes a fault when the page is not mapped, and changes nothing. */
static void touch(char *page, bool write)
{
	if (write)
		__atomic_fetch_add((uint64_t *)page, 0, __ATOMIC_RELAXED);
	else
		(void)*(volatile char *)page;
}

static bool mapped_right(const struct mixture_state *state, const char *range,
			 unsigned int touched)
{
	unsigned int nr = state->mixture->nr_pages;
	uint64_t words[MIXTURE_PAGES];

	guest_pagemap(getpid(), range, nr, words);
	for (unsigned int i = 0; i < nr; i++) {
		bool present = words[i] & PAGEMAP_PRESENT;

		if (present == state->mapped[i])
			continue;
		ksft_print_msg("after page %u was touched, page %u is %smapped\n",
			       touched, i, present ? "" : "not ");
		return false;
	}
	return true;
}

/* Adds to @want what the kernel should have counted. */
static bool touch_range(unsigned int range, unsigned int sizes,
			enum mixture_walk walk, bool write,
			struct mixture_counts *want)
{
	struct mixture_state state = {
		.mixture = &batch.mixture[range],
		.sizes = sizes,
		.want = *want,
	};
	unsigned int pages[MIXTURE_PAGES];
	bool right = true;

	mixture_make_walk(walk, batch.nr_pages, &random_state, pages);
	for (unsigned int i = 0; i < batch.nr_pages; i++) {
		bool mapped = state.mapped[pages[i]];

		mixture_fault(&state, pages[i]);
		touch(batch_page(range, pages[i]), write);
		/* Only a fault changes anything; one message is enough. */
		if (right && !mapped)
			right = mapped_right(&state, batch_page(range, 0),
					     pages[i]);
	}
	*want = state.want;
	return right;
}

static unsigned int count_wrong(unsigned int range)
{
	uint64_t want[page_size / sizeof(uint64_t)];
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < batch.nr_pages; i++) {
		fill_page((char *)want, batch.mixture[range].kind[i],
			  range * batch.nr_pages + i);
		wrong += !!memcmp(want, batch_page(range, i), page_size);
	}
	return wrong;
}

static bool test_batch(unsigned int sizes, enum mixture_walk walk, bool shared)
{
	struct mixture_counts before, want = { 0 };
	bool right = true;
	char picture[256];

	build(shared);
	mixture_enable(sizes);
	mixture_read_counts(&before);
	for (unsigned int i = 0; i < batch.nr; i++) {
		if (touch_range(i, sizes, walk, i % 2, &want))
			continue;
		mixture_picture(&batch.mixture[i], picture, sizeof(picture));
		ksft_print_msg("that was %s, sizes %#x, %s %s\n", picture, sizes,
			       i % 2 ? "written" : "read",
			       mixture_walk_name[walk]);
		right = false;
	}
	right &= mixture_counts_right(&want, &before);
	total_from_zswap += want.from_zswap;
	for (unsigned int i = 0; i < batch.nr; i++) {
		unsigned int wrong = count_wrong(i);

		if (!wrong)
			continue;
		mixture_picture(&batch.mixture[i], picture, sizeof(picture));
		ksft_print_msg("%u pages are wrong of %s\n", wrong, picture);
		right = false;
	}
	if (shared)
		guest_child_kill(sharer);
	munmap(batch.region, batch.size);
	return right;
}

/*
 * Tests
 */

static unsigned int range_kib(unsigned int nr_pages)
{
	return nr_pages * page_size / 1024;
}

/* Small ranges in all three orders, the others in one each, by turns. */
static bool test_walks(unsigned int sizes, bool shared)
{
	static unsigned int turn;
	bool right = true;

	turn++;
	for (int walk = UPWARDS; walk < NR_WALKS; walk++)
		if (batch.nr_pages <= 16 || turn % NR_WALKS == (unsigned int)walk)
			right &= test_batch(sizes, walk, shared);
	return right;
}

static void test_odd_kind(unsigned int nr_pages, enum mixture_kind odd)
{
	batch.nr_pages = nr_pages;
	batch.nr = mixture_list(batch.mixture, nr_pages, odd);
	/* Those of one kind are all the same: one to read, and one to write. */
	if (odd == IN_ZSWAP)
		batch.nr = 2;
	ksft_test_result(test_walks(mixture_all_sizes(nr_pages), false),
			 "%u KiB: all or some of it %s\n", range_kib(nr_pages),
			 mixture_kind_name[odd]);
}

static void test_random(unsigned int nr_pages)
{
	batch.nr_pages = nr_pages;
	for (batch.nr = 0; batch.nr < NR_RANDOM; batch.nr++)
		batch.mixture[batch.nr] = mixture_random(nr_pages, &random_state);
	ksft_test_result(test_walks(mixture_all_sizes(nr_pages), false),
			 "%u KiB: random mixtures\n", range_kib(nr_pages));
}

/* Where no smaller size is enabled there is nothing between all and one page. */
static void test_one_size(unsigned int size)
{
	batch.nr_pages = mixture_size_pages(size);
	for (int odd = IN_ZSWAP; odd < NR_MIXTURE_KINDS; odd++) {
		batch.mixture[odd] = mixture_uniform(batch.nr_pages, IN_ZSWAP);
		mixture_put(&batch.mixture[odd], batch.nr_pages / 2, 1, odd);
	}
	batch.nr = NR_MIXTURE_KINDS;
	ksft_test_result(test_walks(1U << size, false), "%u KiB: no other size enabled\n",
			 mixture_size_kib(size));
}

/* A forked child has read the odd pages. */
static void test_shared(unsigned int nr_pages)
{
	batch.nr_pages = nr_pages;
	batch.nr = mixture_list(batch.mixture, nr_pages, CACHED);
	ksft_test_result(test_walks(mixture_all_sizes(nr_pages), true),
			 "%u KiB: another process has read some of it\n",
			 range_kib(nr_pages));
}

/*
 * A forked child brings everything back, in large folios, and this program finds
 * all of it in the swap cache.
 */
static void test_fork(unsigned int nr_pages)
{
	struct mixture_counts before, want = { 0 };
	unsigned int size, wrong = 0;
	bool right;
	pid_t pid;

	for (size = 0; mixture_size_pages(size) != nr_pages; size++)
		;
	batch.nr_pages = nr_pages;
	for (batch.nr = 0; batch.nr < 4; batch.nr++)
		batch.mixture[batch.nr] = mixture_uniform(nr_pages, IN_ZSWAP);
	build(false);
	mixture_enable(mixture_all_sizes(nr_pages));
	mixture_read_counts(&before);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		for (unsigned int i = 0; i < batch.nr; i++)
			wrong += count_wrong(i);
		_exit(wrong ? 1 : 0);
	}
	right = guest_child_exited_well(guest_child_wait(pid));
	if (!right)
		ksft_print_msg("the child's contents are wrong\n");
	for (unsigned int i = 0; i < batch.nr; i++)
		wrong += count_wrong(i);
	want.large[size] = batch.nr;
	want.from_zswap = batch.nr * nr_pages;
	total_from_zswap += want.from_zswap;
	right &= mixture_counts_right(&want, &before) && !wrong;
	/* Nobody else has it now: stores must find no old copy anywhere. */
	for (unsigned int i = 0; i < batch.nr * nr_pages; i++)
		memset(batch_page(0, i), 0, page_size);
	if (guest_zswap_stored()) {
		ksft_print_msg("zswap still holds %ld pages\n",
			       guest_zswap_stored());
		right = false;
	}
	munmap(batch.region, batch.size);
	ksft_test_result(right, "%u KiB: a child brings it back\n",
			 range_kib(nr_pages));
}

/*
 * Readahead brings in single pages from around a page on the disk, also such as
 * lie in zswap. What matters: every page comes in once, and is right.
 */
static void test_readahead(unsigned int nr_pages)
{
	struct mixture_counts before, now;
	long zswap = 0, disk = 0, zero = 0, large = 0, possible = 0;
	unsigned int wrong = 0, sizes = mixture_all_sizes(nr_pages);

	batch.nr_pages = nr_pages;
	batch.nr = mixture_list(batch.mixture, nr_pages, ON_DISK);
	batch.mixture[0] = mixture_random(nr_pages, &random_state);
	build(false);
	for (unsigned int i = 0; i < batch.nr; i++) {
		struct mixture_state alone = {
			.mixture = &batch.mixture[i],
			.sizes = sizes,
		};

		zswap += mixture_count(&batch.mixture[i], IN_ZSWAP);
		disk += mixture_count(&batch.mixture[i], ON_DISK);
		zero += mixture_count(&batch.mixture[i], ZERO_FILLED);
		/* As it would be without readahead. */
		for (unsigned int j = 0; j < nr_pages; j++)
			mixture_fault(&alone, j);
		for (unsigned int size = 0; size < MIXTURE_SIZES; size++)
			possible += alone.want.large[size] *
				    mixture_size_pages(size);
	}
	mixture_enable(sizes);
	guest_write("/proc/sys/vm/page-cluster", "3");
	mixture_read_counts(&before);
	for (unsigned int i = 0; i < batch.nr; i++)
		wrong += count_wrong(i);
	mixture_read_counts(&now);
	guest_write("/proc/sys/vm/page-cluster", "0");
	now.from_zswap -= before.from_zswap;
	now.from_disk -= before.from_disk;
	now.zero_filled -= before.zero_filled;
	for (unsigned int size = 0; size < MIXTURE_SIZES; size++)
		large += (now.large[size] - before.large[size]) *
			 mixture_size_pages(size);
	total_from_zswap += zswap;
	ksft_print_msg("%ld pages from zswap, %ld of these in large folios (%ld without readahead), %ld from the disk, %ld zero-filled; %u are wrong\n",
		       now.from_zswap, large, possible, now.from_disk,
		       now.zero_filled, wrong);
	ksft_test_result(now.from_zswap == zswap && now.from_disk == disk &&
			 now.zero_filled == zero && !wrong,
			 "%u KiB: with readahead, each page once\n",
			 range_kib(nr_pages));
	/* A small folio that is read ahead can be in the way of a large one. */
	ksft_test_result(large >= possible * 9 / 10,
			 "%u KiB: readahead leaves large folios to zswap\n",
			 range_kib(nr_pages));
	munmap(batch.region, batch.size);
}

static void test_group_counter(void)
{
	long counted;

	/* Until the group's statistics are exact. */
	sleep(3);
	counted = guest_read_key(GUEST_RECLAIM_CGROUP "/memory.stat", "zswpin");
	ksft_print_msg("the group counts %ld pages from zswap, %ld are expected\n",
		       counted, total_from_zswap);
	ksft_test_result(counted == total_from_zswap, "the group's zswpin\n");
}

int main(void)
{
	unsigned int nr_pages;

	guest_start();
	guest_zswap_enable("lz4");
	if (!guest_thp_size_exists(MIXTURE_MIN_KIB))
		ksft_exit_skip("no folios of %d KiB\n", MIXTURE_MIN_KIB);
	if (guest_thp_stat(MIXTURE_MIN_KIB, "zswpin") < 0)
		ksft_exit_skip("this kernel loads no large folios from zswap\n");
	guest_make_reclaim_cgroup();
	guest_run_on(0);
	/* What it has so far is neither to be reclaimed nor charged there. */
	if (mlockall(MCL_CURRENT))
		ksft_exit_fail_msg("mlockall: %s\n", strerror(errno));
	guest_enter_reclaim_cgroup();
	guest_write("/proc/sys/vm/page-cluster", "0");
	guest_try_write(THP_DIR "khugepaged/scan_sleep_millisecs", "3600000");
	ksft_print_msg("seed %#x\n", SEED);

	ksft_set_plan(8 * (NR_MIXTURE_KINDS + 1) + MIXTURE_SIZES + 3 * 4 + 1);
	for (nr_pages = 4; nr_pages <= MIXTURE_PAGES; nr_pages *= 2) {
		for (int odd = IN_ZSWAP; odd < NR_MIXTURE_KINDS; odd++)
			test_odd_kind(nr_pages, odd);
		test_random(nr_pages);
	}
	for (unsigned int size = 0; size < MIXTURE_SIZES; size++)
		test_one_size(size);
	for (nr_pages = 16; nr_pages <= 256; nr_pages *= 4) {
		test_shared(nr_pages);
		test_fork(nr_pages);
		test_readahead(nr_pages);
	}
	test_group_counter();
	ksft_finished();
}
