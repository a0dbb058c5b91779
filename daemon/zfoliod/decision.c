// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "decision.h"

const char *const reason_words[NR_REASONS] = {
	[REASON_THRASH]		= "thrash",
	[REASON_DISK_REFAULTS]	= "disk-refaults",
	[REASON_STORES_REFUSED]	= "stores-refused",
	[REASON_POOL_NEAR_LIMIT] = "pool-near-limit",
	[REASON_CONFIGURED]	= "configured",
	[REASON_CALM]		= "calm",
	[REASON_POOL_ABOVE_LOW]	= "pool-above-low",
	[REASON_ABOVE_TARGET]	= "above-target",
	[REASON_MEMORY_PRESSURE] = "memory-pressure",
	[REASON_IO_PRESSURE]	= "io-pressure",
};

#define PERCENT "%" PRIu64 ".%02" PRIu64 "%%"
#define PERCENT_ARGS(ppm) (ppm) / 10000, (ppm) % 10000 / 100

const char *decision_value(enum knob knob, uint64_t value,
			   char text[DECISION_VALUE_LEN])
{
	if (knob == KNOB_RECLAIM)
		snprintf(text, DECISION_VALUE_LEN, "%" PRIu64 " source=zswap",
			 value);
	else if (value == UINT64_MAX)
		snprintf(text, DECISION_VALUE_LEN, "max");
	else
		snprintf(text, DECISION_VALUE_LEN, "%" PRIu64, value);
	return text;
}

const char *decision_format_reason(const struct decision *d,
				   char text[REASON_TEXT_LEN])
{
	char signal[ZF_BYTES_LEN], threshold[ZF_BYTES_LEN];

	switch (d->reason) {
	case REASON_THRASH:
		snprintf(text, REASON_TEXT_LEN,
			 PERCENT " of its memory swapped in and out each minute, above "
			 PERCENT,
			 PERCENT_ARGS(d->signal), PERCENT_ARGS(d->threshold));
		break;
	case REASON_DISK_REFAULTS:
		snprintf(text, REASON_TEXT_LEN,
			 PERCENT " of its stock on disk read back each minute, above "
			 PERCENT,
			 PERCENT_ARGS(d->signal), PERCENT_ARGS(d->threshold));
		break;
	case REASON_STORES_REFUSED:
		snprintf(text, REASON_TEXT_LEN,
			 "zswap refused %" PRIu64 " stores", d->signal);
		break;
	case REASON_POOL_NEAR_LIMIT:
	case REASON_POOL_ABOVE_LOW:
		snprintf(text, REASON_TEXT_LEN,
			 "pool at " PERCENT " of its limit, above " PERCENT,
			 PERCENT_ARGS(d->signal), PERCENT_ARGS(d->threshold));
		break;
	case REASON_CALM:
		snprintf(text, REASON_TEXT_LEN,
			 "calm for %" PRIu64 " s, at least %" PRIu64 " s",
			 d->signal / ZF_USEC_PER_SEC,
			 d->threshold / ZF_USEC_PER_SEC);
		break;
	case REASON_ABOVE_TARGET:
		snprintf(text, REASON_TEXT_LEN,
			 "%s compressed, above its target %s",
			 zf_format_bytes(d->signal, signal),
			 zf_format_bytes(d->threshold, threshold));
		break;
	case REASON_MEMORY_PRESSURE:
	case REASON_IO_PRESSURE:
		snprintf(text, REASON_TEXT_LEN,
			 "waited " PERCENT " of the time for %s, above " PERCENT,
			 PERCENT_ARGS(d->signal),
			 d->reason == REASON_IO_PRESSURE ? "disks" : "memory",
			 PERCENT_ARGS(d->threshold));
		break;
	case REASON_CONFIGURED:
	case NR_REASONS:
		snprintf(text, REASON_TEXT_LEN, "configured");
		break;
	}
	return text;
}

const char *decision_format_action(const struct decision *d,
				   char text[DECISION_ACTION_LEN])
{
	char old[DECISION_VALUE_LEN], value[DECISION_VALUE_LEN];
	char reason[REASON_TEXT_LEN];

	decision_value(d->knob, d->value, value);
	decision_format_reason(d, reason);
	if (d->knob == KNOB_RECLAIM && !d->value)
		snprintf(text, DECISION_ACTION_LEN, "write-back cancelled: %s",
			 reason);
	else if (d->knob == KNOB_RECLAIM)
		snprintf(text, DECISION_ACTION_LEN, "%s %s: %s",
			 knob_files[d->knob], value, reason);
	else
		snprintf(text, DECISION_ACTION_LEN, "%s %s -> %s: %s",
			 knob_files[d->knob],
			 decision_value(d->knob, d->old, old), value, reason);
	return text;
}

const char *decision_format(const struct decision *d,
			    char text[DECISION_TEXT_LEN])
{
	char action[DECISION_ACTION_LEN];
	/* The reason matters more than the end of a very long path. */
	const int path_max = 256;

	snprintf(text, DECISION_TEXT_LEN, "%.*s: %s", path_max, d->path,
		 decision_format_action(d, action));
	return text;
}
