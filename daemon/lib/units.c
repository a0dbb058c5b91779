// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zfolio/units.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "K", 1ULL << 10 }, { "M", 1ULL << 20 }, { "G", 1ULL << 30 },
	{ "T", 1ULL << 40 },
	{ "k", 1ULL << 10 }, { "m", 1ULL << 20 }, { "g", 1ULL << 30 },
	{ "t", 1ULL << 40 },
	{ NULL, 0 },
};

static const struct unit share_units[] = {
	{ "%", ZF_PPM / 100 },
	{ NULL, 0 },
};

static const struct unit time_units[] = {
	{ "ms", ZF_USEC_PER_MSEC }, { "s", ZF_USEC_PER_SEC },
	{ "min", ZF_USEC_PER_MIN }, { "h", ZF_USEC_PER_HOUR },
	{ "day", ZF_USEC_PER_DAY },
	{ NULL, 0 },
};

static const struct unit period_units[] = {
	{ "s", ZF_USEC_PER_SEC }, { "min", ZF_USEC_PER_MIN },
	{ "h", ZF_USEC_PER_HOUR }, { "day", ZF_USEC_PER_DAY },
	{ NULL, 0 },
};

/* ---- arithmetic ---- */

uint64_t zf_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 result;

	if (!c)
		return UINT64_MAX;
	result = (unsigned __int128)a * b / c;
	return result > UINT64_MAX ? UINT64_MAX : (uint64_t)result;
}

/* ---- parsing ---- */

static const char *skip_blanks(const char *text)
{
	while (isblank((unsigned char)*text))
		text++;
	return text;
}

static size_t trimmed_len(const char *text, size_t len)
{
	while (len && isblank((unsigned char)text[len - 1]))
		len--;
	return len;
}

static const struct unit *find_unit(const struct unit *units, const char *text,
				    size_t len)
{
	for (; units->name; units++) {
		if (strlen(units->name) == len &&
		    !strncmp(units->name, text, len))
			return units;
	}
	return NULL;
}

/*
 * "12.5 M" within @len bytes of @text. Decimals are kept as a numerator over a
 * power of ten, so that no value depends on floating point: as many as the
 * divisor below holds, which is far finer than any unit.
 */
static int parse_quantity(const char *text, size_t len,
			  const struct unit *units, uint64_t *ret_value)
{
	const char *p = text, *end = text + trimmed_len(text, len);
	uint64_t whole = 0, part = 0, divisor = 1, value;
	const struct unit *unit;

	if (p == end || !isdigit((unsigned char)*p))
		return -EINVAL;
	for (; p < end && isdigit((unsigned char)*p); p++) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *p - '0', &whole))
			return -ERANGE;
	}
	if (p < end && *p == '.') {
		if (++p == end || !isdigit((unsigned char)*p))
			return -EINVAL;
		for (; p < end && isdigit((unsigned char)*p); p++) {
			if (divisor >= 1000000000)
				continue;
			part = part * 10 + (*p - '0');
			divisor *= 10;
		}
	}
	while (p < end && isblank((unsigned char)*p))
		p++;
	unit = find_unit(units, p, end - p);
	if (!unit)
		return -EINVAL;
	/* A fraction of a byte is no size, while "1.5K" is. */
	if (part && unit->factor == 1)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit->factor, &value) ||
	    __builtin_add_overflow(value,
				   zf_mul_div(part, unit->factor, divisor),
				   &value))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static int parse_whole(const char *text, const struct unit *units,
		       uint64_t *ret_value)
{
	text = skip_blanks(text);
	return parse_quantity(text, strlen(text), units, ret_value);
}

int zf_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	return parse_whole(text, size_units, ret_bytes);
}

int zf_parse_share(const char *text, uint64_t *ret_ppm)
{
	return parse_whole(text, share_units, ret_ppm);
}

int zf_parse_amount(const char *text, struct zf_amount *ret_amount)
{
	struct zf_amount amount = { .value = UINT64_MAX };
	int r = 0;

	text = skip_blanks(text);
	if (strcmp(text, "max")) {
		amount.is_share = strchr(text, '%');
		r = amount.is_share ? zf_parse_share(text, &amount.value) :
				      zf_parse_bytes(text, &amount.value);
	}
	if (r < 0)
		return r;
	*ret_amount = amount;
	return 0;
}

int zf_parse_time(const char *text, uint64_t *ret_usec)
{
	text = skip_blanks(text);
	/* The one number that means the same in every unit. */
	if (!strcmp(text, "0")) {
		*ret_usec = 0;
		return 0;
	}
	return parse_whole(text, time_units, ret_usec);
}

static int parse_per(const char *text, const struct unit *units,
		     struct zf_rate *ret_rate)
{
	const char *slash, *period;
	const struct unit *unit;
	struct zf_rate rate;
	int r;

	text = skip_blanks(text);
	slash = strchr(text, '/');
	if (!slash)
		return -EINVAL;
	r = parse_quantity(text, slash - text, units, &rate.amount);
	if (r < 0)
		return r;
	period = skip_blanks(slash + 1);
	unit = find_unit(period_units, period,
			 trimmed_len(period, strlen(period)));
	if (!unit)
		return -EINVAL;
	rate.usec = unit->factor;
	*ret_rate = rate;
	return 0;
}

int zf_parse_rate(const char *text, struct zf_rate *ret_rate)
{
	return parse_per(text, size_units, ret_rate);
}

int zf_parse_pace(const char *text, struct zf_rate *ret_pace)
{
	return parse_per(text, share_units, ret_pace);
}

/* ---- amounts and output ---- */

uint64_t zf_amount_bytes(struct zf_amount amount, uint64_t whole)
{
	return amount.is_share ? zf_mul_div(whole, amount.value, ZF_PPM) :
				 amount.value;
}

const char *zf_format_bytes(uint64_t bytes, char text[ZF_BYTES_LEN])
{
	static const char letters[] = "KMGTPE";
	uint64_t unit = 1024;
	size_t i = 0;

	if (bytes == UINT64_MAX)
		return strcpy(text, "max");
	if (bytes < unit) {
		snprintf(text, ZF_BYTES_LEN, "%" PRIu64, bytes);
		return text;
	}
	while (letters[i + 1] && bytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	if (bytes / unit >= 100 || !(bytes % unit))
		snprintf(text, ZF_BYTES_LEN, "%" PRIu64 "%c", bytes / unit,
			 letters[i]);
	else
		snprintf(text, ZF_BYTES_LEN, "%" PRIu64 ".%" PRIu64 "%c",
			 bytes / unit, zf_mul_div(bytes % unit, 10, unit),
			 letters[i]);
	return text;
}

const char *zf_format_share(uint64_t ppm, char text[ZF_SHARE_LEN])
{
	snprintf(text, ZF_SHARE_LEN, "%" PRIu64 ".%02" PRIu64 "%%",
		 ppm / 10000, ppm % 10000 / 100);
	return text;
}

const char *zf_format_time(uint64_t usec, char text[ZF_TIME_LEN])
{
	static const struct {
		uint64_t whole, part;
		const char *whole_name, *part_name;
	} units[] = {
		{ ZF_USEC_PER_DAY, ZF_USEC_PER_HOUR, "d", "h" },
		{ ZF_USEC_PER_HOUR, ZF_USEC_PER_MIN, "h", "min" },
		{ ZF_USEC_PER_MIN, ZF_USEC_PER_SEC, "min", "s" },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		uint64_t part = usec % units[i].whole / units[i].part;

		if (usec < units[i].whole)
			continue;
		if (part)
			snprintf(text, ZF_TIME_LEN, "%" PRIu64 "%s %" PRIu64 "%s",
				 usec / units[i].whole, units[i].whole_name,
				 part, units[i].part_name);
		else
			snprintf(text, ZF_TIME_LEN, "%" PRIu64 "%s",
				 usec / units[i].whole, units[i].whole_name);
		return text;
	}
	if (usec >= ZF_USEC_PER_SEC || usec < ZF_USEC_PER_MSEC)
		snprintf(text, ZF_TIME_LEN, "%" PRIu64 "s",
			 usec / ZF_USEC_PER_SEC);
	else
		snprintf(text, ZF_TIME_LEN, "%" PRIu64 "ms",
			 usec / ZF_USEC_PER_MSEC);
	return text;
}
