/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units.h - sizes, shares, times and rates as people write them
 *
 *	size	"64K", "1.5G", "4096"		bytes; K M G T, powers of 1024
 *	share	"20%", "0.2%"			parts per million
 *	amount	a size, a share of something, or "max"
 *	time	"500ms", "2s", "10min", "1h"	microseconds; also "1day", "0"
 *	rate	"8M/s", "20G/day", "30/min"	a size for each s, min, h or day
 *	pace	"0.2%/min", "5%/h"		a share for each s, min, h or day
 *
 * Blanks may stand between a number, its unit and the slash. Unit letters of
 * sizes may be small or capital; all else is spelt as above. Fractions are cut
 * to whole bytes, parts per million or microseconds.
 *
 * Each function returns 0, -EINVAL for another shape or -ERANGE for a value
 * beyond its type, and leaves its ret_ output untouched on failure.
 */
#ifndef ZFOLIO_UNITS_H
#define ZFOLIO_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZF_USEC_PER_MSEC UINT64_C(1000)
#define ZF_USEC_PER_SEC (1000 * ZF_USEC_PER_MSEC)
#define ZF_USEC_PER_MIN (60 * ZF_USEC_PER_SEC)
#define ZF_USEC_PER_HOUR (60 * ZF_USEC_PER_MIN)
#define ZF_USEC_PER_DAY (24 * ZF_USEC_PER_HOUR)

/* A whole, in parts per million. */
#define ZF_PPM UINT64_C(1000000)

/* @value is bytes, UINT64_MAX for "max"; or parts per million of a whole. */
struct zf_amount {
	uint64_t value;
	bool is_share;
};

/* @amount bytes, or parts per million, in each @usec microseconds. */
struct zf_rate {
	uint64_t amount;
	uint64_t usec;
};

int zf_parse_bytes(const char *text, uint64_t *ret_bytes);
int zf_parse_share(const char *text, uint64_t *ret_ppm);
int zf_parse_amount(const char *text, struct zf_amount *ret_amount);
int zf_parse_time(const char *text, uint64_t *ret_usec);
int zf_parse_rate(const char *text, struct zf_rate *ret_rate);
int zf_parse_pace(const char *text, struct zf_rate *ret_pace);

/* The amount in bytes, where a share is of @whole bytes. */
uint64_t zf_amount_bytes(struct zf_amount amount, uint64_t whole);

/* @a * @b / @c without overflow between; UINT64_MAX beyond 64 bits or c = 0. */
uint64_t zf_mul_div(uint64_t a, uint64_t b, uint64_t c);

/* Sums and differences that stop at the ends of the type. */
static inline uint64_t zf_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t zf_sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static inline uint64_t zf_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t zf_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * For messages: "1.5M", "4096", "max"; three digits, rounded down. The text is
 * for people and need not parse back to the same number.
 */
#define ZF_BYTES_LEN 24
const char *zf_format_bytes(uint64_t bytes, char text[ZF_BYTES_LEN]);

/* "12.34%", rounded down. */
#define ZF_SHARE_LEN 32
const char *zf_format_share(uint64_t ppm, char text[ZF_SHARE_LEN]);

/* "250ms", "5s", "3min 20s", "2h 5min", "4d 3h", rounded down; "0s" below 1 ms. */
#define ZF_TIME_LEN 48
const char *zf_format_time(uint64_t usec, char text[ZF_TIME_LEN]);

#endif
