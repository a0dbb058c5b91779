/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * histogram.h - log-linear histogram of 64-bit values in fixed memory
 *
 * Values below 2^(BITS+1) have a bucket each. Above, every power of two is cut
 * into 2^BITS buckets of equal width, so a bucket is never wider than its lower
 * end divided by 2^BITS, and the middle of the bucket, which is what a
 * percentile reports, is off by at most 1/2^(BITS+1): with 5 bits 1.6 %.
 * All of uint64_t is covered; nothing is allocated and nothing saturates.
 *
 * The unit is the caller's (nanoseconds for latencies). A histogram of zeros
 * is an empty one.
 */
#ifndef ZFOLIO_HISTOGRAM_H
#define ZFOLIO_HISTOGRAM_H

#include <stdint.h>

/* 5 bits: 15 KiB a histogram, and an error below the spread of any latency. */
#define ZF_HISTOGRAM_BITS 5
#define ZF_HISTOGRAM_BUCKETS ((64 - ZF_HISTOGRAM_BITS + 1) << ZF_HISTOGRAM_BITS)

/* Ranks are given in parts of a million: 99.9 % is 999000. */
#define ZF_RANK_ALL 1000000

struct zf_histogram {
	uint64_t count;
	uint64_t min;	/* exact; of no meaning while count is 0 */
	uint64_t max;	/* exact */
	uint64_t sum;	/* wraps beyond 2^64: 584 years of nanoseconds */
	uint64_t bucket[ZF_HISTOGRAM_BUCKETS];
};

/* The bucket a value falls into, from 0 to ZF_HISTOGRAM_BUCKETS - 1. */
static inline unsigned int zf_histogram_index(uint64_t value)
{
	unsigned int shift;

	if (value < 1ULL << (ZF_HISTOGRAM_BITS + 1))
		return value;
	shift = 63 - __builtin_clzll(value) - ZF_HISTOGRAM_BITS;
	return (shift << ZF_HISTOGRAM_BITS) + (value >> shift);
}

static inline void zf_histogram_add(struct zf_histogram *h, uint64_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->sum += value;
	h->bucket[zf_histogram_index(value)]++;
}

/* Least and greatest value of a bucket. */
uint64_t zf_histogram_lower(unsigned int index);
uint64_t zf_histogram_upper(unsigned int index);

/* Adds all of @from to @h. */
void zf_histogram_merge(struct zf_histogram *h, const struct zf_histogram *from);

/**
 * zf_histogram_percentile() - the value that a share of all values stays within
 * @h:		the histogram
 * @rank:	the share in parts of a million; above ZF_RANK_ALL counts as all
 *
 * Return: the middle of the bucket that holds the ceil(count * rank / 10^6)-th
 * smallest value (at least the first), kept within min and max, so that rank 0
 * and ZF_RANK_ALL are exact; 0 for an empty histogram.
 */
uint64_t zf_histogram_percentile(const struct zf_histogram *h,
				 unsigned int rank);

#endif
