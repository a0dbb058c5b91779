/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample.h - read the kernel's files into a tick
 *
 * Counters are turned into what happened since they were last read, per cgroup
 * id and clamped at zero; a cgroup that is read for the first time is marked
 * fresh. A file that is not there (an older kernel, PSI off) leaves its fields
 * at 0, or at "no limit" for limits. A cgroup that vanishes while it is read is
 * left out of the tick, and one whose file can not be parsed as well: no
 * decision is better than one on half of the numbers.
 *
 * A cgroup with nothing in swap costs one system call each fourth tick, since the
 * file that says so is held open, and none when its parent has nothing in swap
 * either. So one that begins to swap is seen three ticks later at most.
 */
#ifndef ZFOLIOD_SAMPLE_H
#define ZFOLIOD_SAMPLE_H

#include "cgtree.h"

struct sampler;

/**
 * sampler_new() - start
 * @sys:	context of "/" or a captured tree; must outlive the sampler
 * @ret_sampler: to be given back with sampler_free()
 */
int sampler_new(const struct zf_path *sys, struct sampler **ret_sampler);

void sampler_free(struct sampler *sampler);
ZF_DEFINE_CLEANUP(struct sampler, sampler_free, sampler_free)

/*
 * The knobs that this kernel has, as KNOB_BIT(): no other is reported of any
 * cgroup. That a memory.reclaim knows source=zswap can not be seen from outside.
 */
void sampler_set_knobs(struct sampler *sampler, uint32_t knobs);

/**
 * sampler_look_around() - read what changes rarely: zswap's limit and the
 *			   enabled folio sizes
 * @sampler:	sampler
 *
 * To be called before the first tick and at each rescan. Never fails: what can
 * not be read is not known.
 */
void sampler_look_around(struct sampler *sampler);

/**
 * sampler_tick() - one look at everything
 * @sampler:	sampler
 * @tree:	the cgroups
 * @config:	gives the policies of devices
 * @elapsed:	microseconds since the last call
 * @ret_tick:	belongs to @sampler until the next call or rescan
 *
 * Return: 0, -ENOMEM, -EMFILE or -ENFILE.
 */
int sampler_tick(struct sampler *sampler, const struct cgtree *tree,
		 const struct config *config, uint64_t elapsed,
		 const struct tick **ret_tick);

#endif
