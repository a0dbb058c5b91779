// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <string.h>

#include <zfolio/path.h>

#include "conf_keys.h"
#include "policy.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the table ---- */

enum type {
	TYPE_BOOL, TYPE_COUNT, TYPE_BYTES, TYPE_BYTES_OR_MAX, TYPE_SHARE,
	TYPE_AMOUNT, TYPE_AMOUNT_OR_LEAVE, TYPE_TIME, TYPE_RATE, TYPE_PACE,
	TYPE_DRIFT, TYPE_WRITEBACK, TYPE_SWAPIN, TYPE_GROUP,
};

static const char *const drift_words[] = {
	[DRIFT_RESPECT] = "respect", [DRIFT_REAPPLY] = "reapply", NULL,
};

static const char *const writeback_words[] = {
	[WRITEBACK_AUTO] = "auto", [WRITEBACK_ON] = "on",
	[WRITEBACK_OFF] = "off", [WRITEBACK_LEAVE] = "leave", NULL,
};

static const char *const swapin_words[] = {
	[SWAPIN_AUTO] = "auto", [SWAPIN_LEAVE] = "leave", NULL,
};

/*
 * @at and @size are of the member; @min and @max bound numbers, in the units
 * of policy.h; @expected is what the user reads beside a wrong value.
 */
struct key {
	enum conf_kind kind;
	const char *name;
	enum type type;
	size_t at, size;
	uint64_t min, max;
	const char *expected;
};

#define MEMBER(type, name) offsetof(struct type, name), \
	sizeof(((struct type *)0)->name)
#define DAEMON(name) KIND_DAEMON, #name
#define DEVICE(name) KIND_DEVICE, #name
#define CGROUP(name) KIND_CGROUP, #name

#define MSEC ZF_USEC_PER_MSEC
#define HOUR ZF_USEC_PER_HOUR

static const struct key keys[] = {
	{ DAEMON(interval), TYPE_TIME, MEMBER(settings, interval),
	  100 * MSEC, HOUR, "a time from 100ms to 1h, such as 2s" },
	{ DAEMON(rescan), TYPE_TIME, MEMBER(settings, rescan),
	  100 * MSEC, HOUR, "a time from 100ms to 1h, such as 10s" },
	{ DAEMON(pool_low), TYPE_SHARE, MEMBER(settings, pool_low),
	  0, ZF_PPM, "a share from 0% to 100%, such as 50%" },
	{ DAEMON(pool_high), TYPE_SHARE, MEMBER(settings, pool_high),
	  0, ZF_PPM, "a share from 0% to 100%, such as 90%" },
	{ DAEMON(burst), TYPE_TIME, MEMBER(settings, burst),
	  1000 * MSEC, HOUR, "a time from 1s to 1h, such as 10s" },
	{ DAEMON(reclaim_timeout), TYPE_TIME,
	  MEMBER(settings, reclaim_timeout),
	  1000 * MSEC, HOUR, "a time from 1s to 1h, such as 30s" },
	{ DAEMON(reapply_interval), TYPE_TIME,
	  MEMBER(settings, reapply_interval),
	  1000 * MSEC, 24 * HOUR, "a time from 1s to 1day, such as 1min" },
	{ DAEMON(drift), TYPE_DRIFT, MEMBER(settings, drift),
	  0, 0, "respect or reapply" },
	{ DAEMON(group), TYPE_GROUP, MEMBER(settings, group),
	  0, UINT64_MAX, "a group of this system by name or number, or none" },

	{ DEVICE(write_rate), TYPE_RATE, MEMBER(device_policy, write_rate),
	  0, 1ULL << 40, "a size for each s, min, h or day, such as 8M/s" },
	{ DEVICE(write_daily), TYPE_RATE, MEMBER(device_policy, write_daily),
	  0, 1ULL << 50, "a size for each s, min, h or day, such as 20G/day" },
	{ DEVICE(reserved), TYPE_BOOL, MEMBER(device_policy, reserved),
	  0, 0, "yes or no" },

	{ CGROUP(writeback), TYPE_WRITEBACK, MEMBER(policy, writeback),
	  0, 0, "auto, on, off or leave" },
	{ CGROUP(swapin), TYPE_SWAPIN, MEMBER(policy, swapin),
	  0, 0, "auto or leave" },
	{ CGROUP(proactive), TYPE_BOOL, MEMBER(policy, proactive),
	  0, 0, "yes or no" },
	{ CGROUP(subtree), TYPE_BOOL, MEMBER(policy, subtree),
	  0, 0, "yes or no" },
	{ CGROUP(weight), TYPE_COUNT, MEMBER(policy, weight),
	  1, 10000, "a number from 1 to 10000, such as 100" },
	{ CGROUP(pool_target), TYPE_AMOUNT, MEMBER(policy, pool_target),
	  0, UINT64_MAX, "a size, a share of the pool's limit, or max, such as 64M" },
	{ CGROUP(step_min), TYPE_BYTES, MEMBER(policy, step_min),
	  4096, 1 << 30, "a size from 4K to 1G, such as 1M" },
	{ CGROUP(step_max), TYPE_BYTES, MEMBER(policy, step_max),
	  4096, 1 << 30, "a size from 4K to 1G, such as 64M" },
	{ CGROUP(memory_pressure), TYPE_SHARE, MEMBER(policy, memory_pressure),
	  0, ZF_PPM, "a share from 0% to 100%, such as 10%" },
	{ CGROUP(io_pressure), TYPE_SHARE, MEMBER(policy, io_pressure),
	  0, ZF_PPM, "a share from 0% to 100%, such as 20%" },
	{ CGROUP(refault_limit), TYPE_PACE, MEMBER(policy, refault_limit),
	  0, 1000 * ZF_PPM, "a share for each s, min, h or day, such as 0.2%/min" },
	{ CGROUP(off_refaults), TYPE_PACE, MEMBER(policy, off_refaults),
	  0, 1000 * ZF_PPM, "a share for each s, min, h or day, such as 2%/min" },
	{ CGROUP(off_ticks), TYPE_COUNT, MEMBER(policy, off_ticks),
	  1, 1000, "a number from 1 to 1000, such as 3" },
	{ CGROUP(thrash_limit), TYPE_PACE, MEMBER(policy, thrash_limit),
	  0, 1000 * ZF_PPM, "a share for each s, min, h or day, such as 5%/min" },
	{ CGROUP(thrash_ticks), TYPE_COUNT, MEMBER(policy, thrash_ticks),
	  1, 1000, "a number from 1 to 1000, such as 3" },
	{ CGROUP(calm), TYPE_TIME, MEMBER(policy, calm),
	  0, 24 * HOUR, "a time up to 1day, such as 5min" },
	{ CGROUP(dwell), TYPE_TIME, MEMBER(policy, dwell),
	  0, 24 * HOUR, "a time up to 1day, such as 10min" },
	{ CGROUP(swapin_min), TYPE_BYTES, MEMBER(policy, swapin_min),
	  4096, 1 << 30, "a size from 4K to 1G, such as 4K" },
	{ CGROUP(swapin_max), TYPE_BYTES_OR_MAX, MEMBER(policy, swapin_max),
	  4096, UINT64_MAX, "a size from 4K, or max, such as 1M" },
	{ CGROUP(zswap_max), TYPE_AMOUNT_OR_LEAVE, MEMBER(policy, zswap_max),
	  0, UINT64_MAX, "a size, a share of the pool's limit, max or leave, such as 1G" },
};

_Static_assert(ARRAY_SIZE(keys) <= 64, "a set of keys is a mask of 64 bits");

/* ---- values ---- */

static int parse_bool(const char *text, bool *ret)
{
	static const char *const words[][2] = {
		{ "no", "yes" }, { "off", "on" }, { "false", "true" },
		{ "0", "1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		for (int value = 0; value < 2; value++) {
			if (!strcmp(text, words[i][value])) {
				*ret = value;
				return 0;
			}
		}
	}
	return -EINVAL;
}

static int parse_word(const char *text, const char *const *words, int *ret)
{
	for (int i = 0; words[i]; i++) {
		if (!strcmp(text, words[i])) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_group(const char *text, uint64_t *ret)
{
	struct group entry, *found = NULL;
	/* Longer lists of members than this are not kept in a file. */
	char buffer[16384];

	if (!strcmp(text, "none")) {
		*ret = GROUP_NONE;
		return 0;
	}
	if (*text >= '0' && *text <= '9') {
		int r = zf_parse_u64(text, ret);

		/* The greatest one stands for no group, in system calls and here. */
		return r >= 0 && *ret >= UINT32_MAX ? -ERANGE : r;
	}
	if (getgrnam_r(text, &entry, buffer, sizeof(buffer), &found) || !found)
		return -EINVAL;
	*ret = entry.gr_gid;
	return 0;
}

/* Parses into the member of @values; a wrong value leaves it as it is. */
static int set_value(const struct key *key, const char *text, void *values)
{
	void *member = (char *)values + key->at;
	const char *const *words;
	struct zf_amount amount;
	struct zf_rate rate;
	uint64_t number = 0;
	int r = -EINVAL;

	switch (key->type) {
	case TYPE_BOOL:
		return parse_bool(text, member);
	case TYPE_DRIFT:
	case TYPE_WRITEBACK:
	case TYPE_SWAPIN:
		words = key->type == TYPE_DRIFT ? drift_words :
			key->type == TYPE_SWAPIN ? swapin_words :
						   writeback_words;
		/* An enum of small non-negative values has an int's shape. */
		return parse_word(text, words, member);
	case TYPE_AMOUNT:
	case TYPE_AMOUNT_OR_LEAVE:
		amount = AMOUNT_LEAVE;
		r = 0;
		if (key->type == TYPE_AMOUNT || strcmp(text, "leave"))
			r = zf_parse_amount(text, &amount);
		if (r >= 0)
			memcpy(member, &amount, sizeof(amount));
		return r;
	case TYPE_RATE:
	case TYPE_PACE:
		r = key->type == TYPE_RATE ? zf_parse_rate(text, &rate) :
					     zf_parse_pace(text, &rate);
		if (r >= 0 && rate.amount > key->max)
			r = -ERANGE;
		if (r >= 0)
			memcpy(member, &rate, sizeof(rate));
		return r;
	case TYPE_GROUP:
		r = parse_group(text, &number);
		break;
	case TYPE_COUNT:
		r = zf_parse_u64(text, &number);
		break;
	case TYPE_BYTES:
		r = zf_parse_bytes(text, &number);
		break;
	case TYPE_BYTES_OR_MAX:
		number = UINT64_MAX;
		r = strcmp(text, "max") ? zf_parse_bytes(text, &number) : 0;
		break;
	case TYPE_SHARE:
		r = zf_parse_share(text, &number);
		break;
	case TYPE_TIME:
		r = zf_parse_time(text, &number);
		break;
	}
	if (r >= 0 && (number < key->min || number > key->max))
		r = -ERANGE;
	if (r >= 0)
		memcpy(member, &number, sizeof(number));
	return r;
}

/* ---- main API ---- */

int conf_key_set(enum conf_kind kind, const char *name, const char *text,
		 void *values, uint64_t *set, const char **ret_expected)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].kind != kind || strcmp(keys[i].name, name))
			continue;
		r = set_value(&keys[i], text, values);
		if (r < 0) {
			*ret_expected = keys[i].expected;
			return r;
		}
		*set |= 1ULL << i;
		return 0;
	}
	return -ENOENT;
}

void conf_keys_copy(uint64_t set, const void *from, void *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (set & (1ULL << i))
			memcpy((char *)to + keys[i].at,
			       (const char *)from + keys[i].at, keys[i].size);
	}
}
