/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * zram.h - a compressed block device in memory, as the swap device
 *
 * The peer of zswap: pages are compressed into memory, too, but the memory is a
 * device of a fixed size and there is nothing behind it.
 */
#ifndef ZFOLIO_ZRAM_H
#define ZFOLIO_ZRAM_H

#include <zfolio/path.h>

/**
 * struct zf_zram - a zram device of ours that is swapped to
 * @sys:	context of the live system's root; must outlive this
 * @number:	of the device, /dev/zramN
 */
struct zf_zram {
	const struct zf_path *sys;
	unsigned int number;
};

/**
 * zf_zram_swapon() - make a zram device and swap to it before all others
 * @sys:	context of the live system's root
 * @compressor:	name as zram has it, "lz4"
 * @bytes:	its size, a multiple of the page size
 * @ret_zram:	the device, to be given back with zf_zram_swapoff()
 *
 * zswap, if it is enabled, takes the pages first: the caller switches it off.
 *
 * Return: 0, -EOPNOTSUPP when this kernel has no zram, -EINVAL or -ENOENT when
 * zram does not know the compressor, or an error of path.h or of swapon(2).
 */
int zf_zram_swapon(const struct zf_path *sys, const char *compressor,
		   uint64_t bytes, struct zf_zram *ret_zram);

/**
 * zf_zram_swapoff() - bring back what it holds and remove it
 * @zram:	the device
 *
 * Return: 0, or the first error; what can be undone is undone nevertheless.
 */
int zf_zram_swapoff(struct zf_zram *zram);

#endif
