// SPDX-License-Identifier: GPL-2.0-or-later
#include <zfolio/histogram.h>

/*
 * Index and value: with w = 2^BITS, indices below 2w are the values themselves.
 * Above, index i is shift * w + m with m in [w, 2w), and holds the values
 * m << shift up to ((m + 1) << shift) - 1.
 */
uint64_t zf_histogram_lower(unsigned int index)
{
	unsigned int width = 1U << ZF_HISTOGRAM_BITS;
	unsigned int shift;

	if (index < 2 * width)
		return index;
	shift = index / width - 1;
	return (uint64_t)(index - shift * width) << shift;
}

uint64_t zf_histogram_upper(unsigned int index)
{
	if (index + 1 >= ZF_HISTOGRAM_BUCKETS)
		return UINT64_MAX;
	return zf_histogram_lower(index + 1) - 1;
}

void zf_histogram_merge(struct zf_histogram *h, const struct zf_histogram *from)
{
	if (!from->count)
		return;
	if (!h->count || from->min < h->min)
		h->min = from->min;
	if (from->max > h->max)
		h->max = from->max;
	h->count += from->count;
	h->sum += from->sum;
	for (unsigned int i = 0; i < ZF_HISTOGRAM_BUCKETS; i++)
		h->bucket[i] += from->bucket[i];
}

/* ceil(count * rank / 10^6) without overflow of the product. */
static uint64_t rank_to_position(uint64_t count, unsigned int rank)
{
	uint64_t whole = count / ZF_RANK_ALL * rank;
	uint64_t rest = count % ZF_RANK_ALL * rank;

	return whole + (rest + ZF_RANK_ALL - 1) / ZF_RANK_ALL;
}

uint64_t zf_histogram_percentile(const struct zf_histogram *h,
				 unsigned int rank)
{
	uint64_t position, seen = 0, lower, middle;
	unsigned int i;

	if (!h->count)
		return 0;
	if (!rank)
		return h->min;
	if (rank >= ZF_RANK_ALL)
		return h->max;

	position = rank_to_position(h->count, rank);
	for (i = 0; i < ZF_HISTOGRAM_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= position)
			break;
	}
	lower = zf_histogram_lower(i);
	middle = lower + (zf_histogram_upper(i) - lower) / 2;
	if (middle < h->min)
		return h->min;
	return middle > h->max ? h->max : middle;
}
