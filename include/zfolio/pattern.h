/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pattern.h - page contents that compress, and are told apart
 *
 * Every page has a head that holds data and a tail of zeros; the head's first
 * 8 bytes are a stamp made of the page's index and a seed. A page that comes
 * back with another page's contents, or with its own from an earlier fill, is
 * therefore found as surely as a damaged one.
 *
 *	ZF_PATTERN_HALF		 half of the page counts 0, 1, 2, ... 255, 0, ...:
 *				 what the kernel's cgroup selftest of zswap
 *				 uses. lz4 makes about 300 bytes of it.
 *	ZF_PATTERN_QUARTER_RANDOM	a quarter of random bytes: about 1.1 KiB
 *				 with any compressor, as real anonymous memory.
 *
 * Writing and checking cost the same for every page, and checking costs little
 * against a fault, since it is part of what a benchmark measures. It uses
 * 16-byte vectors, which every x86-64 and arm64 has, and no library function,
 * whose choice of instructions would depend on the machine.
 */
#ifndef ZFOLIO_PATTERN_H
#define ZFOLIO_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum zf_pattern_kind {
	ZF_PATTERN_HALF,
	ZF_PATTERN_QUARTER_RANDOM,
	ZF_NR_PATTERNS
};

/* Their names, as options and results give them. */
const char *zf_pattern_name(enum zf_pattern_kind kind);

/* The kind of a name, or -EINVAL. */
int zf_pattern_from_name(const char *name);

struct zf_pattern;

/**
 * zf_pattern_new() - prepare to write and check pages
 * @kind:	what they hold
 * @page_size:	bytes a page: a power of two from 1024
 * @seed:	tells one fill from another; its 32 bits are part of each page
 * @ret_pattern: to be given to free()
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int zf_pattern_new(enum zf_pattern_kind kind, size_t page_size, uint32_t seed,
		   struct zf_pattern **ret_pattern);

/* Write page @index; @page is aligned to 64 bytes. */
void zf_pattern_fill(const struct zf_pattern *pattern, void *page,
		     uint64_t index);

/* How many bytes of @page differ from what zf_pattern_fill() wrote. */
size_t zf_pattern_wrong_bytes(const struct zf_pattern *pattern,
			      const void *page, uint64_t index);

#endif
