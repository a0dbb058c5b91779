/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest_mixture.h: ranges of swap slots whose pages are in different places, and
 * what a fault on one of them should bring in.
 *
 * A mixture says for each page of a range where its content is. mixture_list()
 * makes those that the tests go through: another kind than zswap on one page or on a
 * quarter, at the start, in the middle, at the end; on a half; everywhere; or on
 * three quarters. mixture_random() makes runs of random kind and length.
 *
 * A page's fault should bring in the largest of the enabled sizes whose aligned
 * block has not been touched yet and lies in zswap as a whole. mixture_fault()
 * works this out page by page and sums up what the kernel should have counted, in
 * the same struct that mixture_read_counts() fills from the kernel's counters.
 */
#ifndef SELFTESTS_GUEST_MIXTURE_H
#define SELFTESTS_GUEST_MIXTURE_H

#include "guest.h"

/* The largest range, and the folio sizes that are asked about. */
#define MIXTURE_PAGES	512
#define MIXTURE_MIN_KIB	16
#define MIXTURE_SIZES	7	/* 16K to 1M, each twice the one before */

enum mixture_kind { IN_ZSWAP, ZERO_FILLED, ON_DISK, CACHED, NR_MIXTURE_KINDS };

static const char *const mixture_kind_name[] = {
	[IN_ZSWAP] = "zswap",
	[ZERO_FILLED] = "zero-filled",
	[ON_DISK] = "disk",
	[CACHED] = "swap cache",
};

static const char mixture_letter[] = "z0dc";

struct mixture {
	unsigned int nr_pages;
	unsigned char kind[MIXTURE_PAGES];
};

static inline unsigned int mixture_size_pages(unsigned int size)
{
	return (MIXTURE_MIN_KIB * 1024 / page_size) << size;
}

static inline unsigned int mixture_size_kib(unsigned int size)
{
	return MIXTURE_MIN_KIB << size;
}

/* As "z16 d1 z15": runs of pages of one kind. */
static inline void mixture_picture(const struct mixture *m, char *text,
				   size_t len)
{
	unsigned int run;
	size_t at = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < m->nr_pages && at < len; i += run) {
		for (run = 1; i + run < m->nr_pages &&
		     m->kind[i + run] == m->kind[i]; run++)
			;
		at += snprintf(text + at, len - at, "%s%c%u", i ? " " : "",
			       mixture_letter[m->kind[i]], run);
	}
}

static inline unsigned int mixture_count(const struct mixture *m,
					 enum mixture_kind kind)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < m->nr_pages; i++)
		count += m->kind[i] == kind;
	return count;
}

/*
 * Making mixtures
 */

static inline void mixture_put(struct mixture *m, unsigned int first,
			       unsigned int nr, enum mixture_kind kind)
{
	memset(m->kind + first, kind, nr);
}

static inline struct mixture mixture_uniform(unsigned int nr_pages,
					     enum mixture_kind kind)
{
	struct mixture m = { .nr_pages = nr_pages };

	mixture_put(&m, 0, nr_pages, kind);
	return m;
}

/* @odd among pages that are in zswap; returns the number of mixtures in @list. */
#define MIXTURE_LIST_MAX	10

static inline unsigned int mixture_list(struct mixture *list,
					unsigned int nr_pages,
					enum mixture_kind odd)
{
	unsigned int extents[] = { 1, nr_pages / 4 }, nr = 0;

	/* Only with so many pages at a time is it quick to read all from a disk. */
	if (nr_pages <= 64) {
		list[nr++] = mixture_uniform(nr_pages, odd);
		list[nr] = mixture_uniform(nr_pages, odd);
		mixture_put(&list[nr++], nr_pages / 4, nr_pages / 4, IN_ZSWAP);
	}
	for (int i = 0; i < (nr_pages > 4 ? 2 : 1); i++) {
		unsigned int extent = extents[i];
		/* The middle one lies across the border of the halves. */
		unsigned int first[] = {
			0, nr_pages / 2 - (extent + 1) / 2, nr_pages - extent,
		};

		for (int place = 0; place < 3; place++) {
			list[nr] = mixture_uniform(nr_pages, IN_ZSWAP);
			mixture_put(&list[nr++], first[place], extent, odd);
		}
	}
	list[nr] = mixture_uniform(nr_pages, IN_ZSWAP);
	mixture_put(&list[nr++], nr_pages / 2, nr_pages / 2, odd);
	list[nr] = mixture_uniform(nr_pages, IN_ZSWAP);
	mixture_put(&list[nr++], 0, nr_pages / 2, odd);
	return nr;
}

/* Runs whose lengths favour no size, half of the pages or so in zswap. */
static inline struct mixture mixture_random(unsigned int nr_pages, uint64_t *x)
{
	struct mixture m = { .nr_pages = nr_pages };
	unsigned int at = 0;

	while (at < nr_pages) {
		unsigned int run, limit;

		*x = guest_random(*x);
		limit = 1 + nr_pages / (1 + *x % 8);
		*x = guest_random(*x);
		run = 1 + *x % limit;
		if (run > nr_pages - at)
			run = nr_pages - at;
		*x = guest_random(*x);
		mixture_put(&m, at, run, *x % 6 < 3 ? IN_ZSWAP : *x % 6 - 2);
		at += run;
	}
	return m;
}

/*
 * What should come of a fault, and what the kernel counts
 */

struct mixture_counts {
	long from_zswap;	/* pages, one by one and in large folios */
	long from_disk;		/* pages */
	long zero_filled;	/* pages */
	long major_faults;
	long large[MIXTURE_SIZES];	/* folios that came from zswap whole */
	long large_disk[MIXTURE_SIZES];	/* ... or from the device */
	long fallback[MIXTURE_SIZES];	/* attempts that ended with less */
	long charge[MIXTURE_SIZES];	/* ... for want of room in the group */
};

/* The mixture's pages as a test has touched them so far. */
struct mixture_state {
	const struct mixture *mixture;
	unsigned int sizes;	/* a bit for each size that is enabled */
	bool mapped[MIXTURE_PAGES];
	struct mixture_counts want;
};

static inline bool mixture_block_untouched(const struct mixture_state *state,
					   unsigned int first, unsigned int nr)
{
	if (first + nr > state->mixture->nr_pages)
		return false;
	for (unsigned int i = first; i < first + nr; i++)
		if (state->mapped[i])
			return false;
	return true;
}

static inline bool mixture_block_stored(const struct mixture_state *state,
					unsigned int first, unsigned int nr)
{
	for (unsigned int i = first; i < first + nr; i++)
		if (state->mixture->kind[i] != IN_ZSWAP)
			return false;
	return true;
}

/*
 * A fault on @page: marks what should be mapped after it. An attempt counts as
 * given up for each size that the page table allows and the slots do not.
 */
static inline void mixture_fault(struct mixture_state *state, unsigned int page)
{
	struct mixture_counts *want = &state->want;

	if (state->mapped[page])
		return;
	if (state->mixture->kind[page] != CACHED)
		want->major_faults++;
	if (state->mixture->kind[page] == ON_DISK)
		want->from_disk++;
	if (state->mixture->kind[page] == ZERO_FILLED)
		want->zero_filled++;
	if (state->mixture->kind[page] != IN_ZSWAP) {
		state->mapped[page] = true;
		return;
	}
	for (int size = MIXTURE_SIZES - 1; size >= 0; size--) {
		unsigned int nr = mixture_size_pages(size);
		unsigned int first = page - page % nr;

		if (!(state->sizes & 1U << size) ||
		    !mixture_block_untouched(state, first, nr))
			continue;
		if (!mixture_block_stored(state, first, nr)) {
			want->fallback[size]++;
			continue;
		}
		memset(state->mapped + first, true, nr);
		want->large[size]++;
		want->from_zswap += nr;
		return;
	}
	state->mapped[page] = true;
	want->from_zswap++;
}

/* A statistic that the kernel does not have reads as 0. */
static inline long mixture_stat(unsigned int size, const char *name)
{
	long value = guest_thp_stat(mixture_size_kib(size), name);

	return value < 0 ? 0 : value;
}

static inline void mixture_read_counts(struct mixture_counts *ret)
{
	*ret = (struct mixture_counts){
		.from_zswap = guest_vmstat("zswpin"),
		.from_disk = guest_vmstat("pswpin"),
		.zero_filled = guest_vmstat("swpin_zero"),
		.major_faults = guest_major_faults(),
	};
	for (unsigned int size = 0; size < MIXTURE_SIZES; size++) {
		ret->large[size] = mixture_stat(size, "zswpin");
		ret->large_disk[size] = mixture_stat(size, "swpin");
		ret->fallback[size] = mixture_stat(size, "swpin_fallback");
		ret->charge[size] = mixture_stat(size, "swpin_fallback_charge");
	}
}

/* Says what differs; @before is what the counters were at the start. */
static inline bool mixture_counts_right(const struct mixture_counts *want,
					const struct mixture_counts *before)
{
	static const char *const name[] = {
		"pages from zswap", "pages from the disk", "zero-filled pages",
		"major faults",
	};
	static const char *const size_name[] = {
		"folios from zswap", "folios from the device", "fallbacks",
		"fallbacks for the charge",
	};
	const long *w = (const long *)want, *b = (const long *)before;
	struct mixture_counts now;
	const long *n = (const long *)&now;
	bool right = true;

	mixture_read_counts(&now);
	for (size_t i = 0; i < sizeof(now) / sizeof(long); i++) {
		if (n[i] - b[i] == w[i])
			continue;
		right = false;
		if (i < ARRAY_SIZE(name))
			ksft_print_msg("%ld %s instead of %ld\n", n[i] - b[i],
				       name[i], w[i]);
		else
			ksft_print_msg("%ld %s of %u KiB instead of %ld\n",
				       n[i] - b[i],
				       size_name[(i - ARRAY_SIZE(name)) / MIXTURE_SIZES],
				       mixture_size_kib((i - ARRAY_SIZE(name)) %
							MIXTURE_SIZES), w[i]);
	}
	return right;
}

/* The sizes of the set @sizes for anonymous memory, and no others. */
static inline void mixture_enable(unsigned int sizes)
{
	char path[PATH_MAX];

	guest_thp_only(0);
	for (unsigned int size = 0; size < MIXTURE_SIZES; size++) {
		if (!(sizes & 1U << size))
			continue;
		snprintf(path, sizeof(path), THP_DIR "hugepages-%ukB/enabled",
			 mixture_size_kib(size));
		guest_write(path, "always");
	}
}

/* Every size up to @nr_pages. */
static inline unsigned int mixture_all_sizes(unsigned int nr_pages)
{
	unsigned int sizes = 0;

	for (unsigned int size = 0; size < MIXTURE_SIZES; size++)
		if (mixture_size_pages(size) <= nr_pages)
			sizes |= 1U << size;
	return sizes;
}

/*
 * The order in which a test touches the pages of a range
 */

enum mixture_walk { UPWARDS, DOWNWARDS, AT_RANDOM, NR_WALKS };

static const char *const mixture_walk_name[] = {
	[UPWARDS] = "upwards",
	[DOWNWARDS] = "downwards",
	[AT_RANDOM] = "at random",
};

static inline void mixture_make_walk(enum mixture_walk walk, unsigned int nr,
				     uint64_t *x, unsigned int *pages)
{
	for (unsigned int i = 0; i < nr; i++)
		pages[i] = walk == DOWNWARDS ? nr - 1 - i : i;
	for (unsigned int i = nr; walk == AT_RANDOM && i > 1; i--) {
		unsigned int j, page = pages[i - 1];

		*x = guest_random(*x);
		j = *x % i;
		pages[i - 1] = pages[j];
		pages[j] = page;
	}
}

#endif /* SELFTESTS_GUEST_MIXTURE_H */
