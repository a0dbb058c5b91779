// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include <zfolio/swapin.h>

#define ZSWAP "sys/module/zswap/parameters/"

int zf_zswap_setup(struct zf_knobs *knobs, const struct zf_zswap *zswap)
{
	char percent[16];
	int r;

	snprintf(percent, sizeof(percent), "%u", zswap->max_pool_percent);
	/*
	 * The compressor first: enabling with another one would make a pool
	 * that nobody asked for.
	 */
	r = zf_knob_set(knobs, ZSWAP "compressor", zswap->compressor);
	if (r == -ENOENT && !zf_path_has(zf_knobs_sys(knobs), ZSWAP "enabled"))
		return -EOPNOTSUPP;
	if (r < 0)
		return r;
	r = zf_knob_set(knobs, ZSWAP "max_pool_percent", percent);
	if (r < 0)
		return r;
	r = zf_knob_set(knobs, ZSWAP "shrinker_enabled", "N");
	if (r < 0 && r != -ENOENT)
		return r;
	return zf_knob_set(knobs, ZSWAP "enabled", "Y");
}

int zf_mthp_choose(struct zf_knobs *knobs, uint64_t bytes)
{
	const struct zf_path *sys = zf_knobs_sys(knobs);
	uint64_t page_size = sysconf(_SC_PAGESIZE);
	bool found = !bytes;
	char name[ZF_MTHP_DIR_LEN + sizeof("/enabled")];
	char dir[ZF_MTHP_DIR_LEN];
	int r;

	if (bytes && (bytes & (bytes - 1) || bytes <= page_size))
		return -EINVAL;

	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++) {
		bool wanted = bytes == page_size << order;

		zf_mthp_dir(order, dir);
		snprintf(name, sizeof(name), "%s/enabled", dir);
		if (!zf_path_has(sys, name))
			continue;
		r = zf_knob_set(knobs, name, wanted ? "madvise" : "never");
		if (r < 0)
			return r;
		found |= wanted;
	}
	return found ? 0 : -EOPNOTSUPP;
}
