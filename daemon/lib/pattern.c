// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zfolio/pattern.h>

typedef uint64_t vector __attribute__((vector_size(16), may_alias));

/*
 * Checking does BLOCK bytes a turn; heads and pages are whole numbers of
 * blocks.
 */
#define BLOCK_VECTORS 16
#define BLOCK (BLOCK_VECTORS * sizeof(vector))

/*
 * Random heads start at every 64th byte of a pool, so neighbouring pages differ
 * throughout; 64 KiB holds 1,024 of them before they recur under other stamps.
 */
#define RANDOM_POOL (64 * 1024)
#define RANDOM_STEP 64

struct zf_pattern {
	size_t page_size;
	size_t head;
	size_t pool;	/* power of two; heads start at index * RANDOM_STEP in it */
	uint64_t seed;
	unsigned char data[] __attribute__((aligned(64)));
};

static const char *const names[ZF_NR_PATTERNS] = {
	[ZF_PATTERN_HALF]		= "half",
	[ZF_PATTERN_QUARTER_RANDOM]	= "quarter-random",
};

const char *zf_pattern_name(enum zf_pattern_kind kind)
{
	return names[kind];
}

int zf_pattern_from_name(const char *name)
{
	for (int kind = 0; kind < ZF_NR_PATTERNS; kind++) {
		if (!strcmp(name, names[kind]))
			return kind;
	}
	return -EINVAL;
}

/* xorshift64: the same bytes in every run, without a library's generator. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int zf_pattern_new(enum zf_pattern_kind kind, size_t page_size, uint32_t seed,
		   struct zf_pattern **ret_pattern)
{
	bool random = kind == ZF_PATTERN_QUARTER_RANDOM;
	size_t head = page_size / (random ? 4 : 2);
	size_t pool = random ? RANDOM_POOL : RANDOM_STEP;
	struct zf_pattern *pattern;
	size_t bytes = pool + head;

	if (page_size < 4 * BLOCK || page_size & (page_size - 1))
		return -EINVAL;
	pattern = aligned_alloc(64, (sizeof(*pattern) + bytes + 63) & ~63UL);
	if (!pattern)
		return -ENOMEM;
	pattern->page_size = page_size;
	pattern->head = head;
	pattern->pool = pool;
	pattern->seed = seed;
	if (random) {
		uint64_t state = 0x9e3779b97f4a7c15ULL ^ seed;

		for (size_t i = 0; i < bytes; i += sizeof(state)) {
			next_random(&state);
			memcpy(pattern->data + i, &state, sizeof(state));
		}
	} else {
		for (size_t i = 0; i < bytes; i++)
			pattern->data[i] = i;
	}
	*ret_pattern = pattern;
	return 0;
}

/* The head of page @index before its stamp. */
static const unsigned char *head_of(const struct zf_pattern *pattern,
				    uint64_t index)
{
	return pattern->data + (index * RANDOM_STEP & (pattern->pool - 1));
}

/* Odd multiplier: distinct for distinct indices, and no run of zero bytes. */
static uint64_t stamp_of(const struct zf_pattern *pattern, uint64_t index)
{
	return (index + (pattern->seed << 32)) * 0x9e3779b97f4a7c15ULL;
}

void zf_pattern_fill(const struct zf_pattern *pattern, void *page,
		     uint64_t index)
{
	uint64_t stamp = stamp_of(pattern, index);

	memcpy(page, head_of(pattern, index), pattern->head);
	memset((char *)page + pattern->head, 0,
	       pattern->page_size - pattern->head);
	memcpy(page, &stamp, sizeof(stamp));
}

/*
 * Both are written out, since compilers do not reliably unroll the loop, and
 * its counting would cost as much as its work.
 */
static inline vector block_differs(const vector *a, const vector *b,
				   vector first)
{
#define D(i) (a[i] ^ b[i])
	return (D(0) & first) | D(1) | D(2) | D(3) | D(4) | D(5) | D(6) | D(7) |
	       D(8) | D(9) | D(10) | D(11) | D(12) | D(13) | D(14) | D(15);
#undef D
}

static inline vector block_has_bits(const vector *a)
{
	return a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7] |
	       a[8] | a[9] | a[10] | a[11] | a[12] | a[13] | a[14] | a[15];
}

static bool page_matches(const struct zf_pattern *pattern, const void *page,
			 uint64_t index)
{
	const vector *have = page;
	const vector *want = (const vector *)head_of(pattern, index);
	const vector *head_end = have + pattern->head / sizeof(vector);
	const vector *page_end = have + pattern->page_size / sizeof(vector);
	/* The stamp stands where the head has other bytes: checked by itself. */
	const vector but_stamp = { 0, ~0ULL }, all = { ~0ULL, ~0ULL };
	bool stamped = have[0][0] == stamp_of(pattern, index);
	vector wrong = block_differs(have, want, but_stamp);

	have += BLOCK_VECTORS;
	want += BLOCK_VECTORS;
	for (; have < head_end; have += BLOCK_VECTORS, want += BLOCK_VECTORS)
		wrong |= block_differs(have, want, all);
	for (; have < page_end; have += BLOCK_VECTORS)
		wrong |= block_has_bits(have);
	return stamped && !(wrong[0] | wrong[1]);
}

size_t zf_pattern_wrong_bytes(const struct zf_pattern *pattern,
			      const void *page, uint64_t index)
{
	const unsigned char *have = page, *head = head_of(pattern, index);
	unsigned char stamp[sizeof(uint64_t)];
	uint64_t number = stamp_of(pattern, index);
	size_t wrong = 0;

	if (__builtin_expect(page_matches(pattern, page, index), 1))
		return 0;
	memcpy(stamp, &number, sizeof(stamp));
	for (size_t i = 0; i < pattern->page_size; i++) {
		unsigned char want = i < sizeof(stamp) ? stamp[i] :
				     i < pattern->head ? head[i] : 0;

		wrong += have[i] != want;
	}
	return wrong;
}
