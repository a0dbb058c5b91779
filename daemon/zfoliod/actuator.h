/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actuator.h - set knobs, notice who else does, and put them back
 *
 * Every knob that is set is in the ledger (ledger.h) first. Errors of one
 * cgroup: -ENOENT and -ENODEV say that it is gone; -EACCES, -EPERM and -EROFS
 * that its files are not ours to write (a read-only mount, a user namespace):
 * the knob is then locked on that node and not tried again.
 */
#ifndef ZFOLIOD_ACTUATOR_H
#define ZFOLIOD_ACTUATOR_H

#include "cgtree.h"
#include "ledger.h"
#include "property.h"

struct actuator;

/**
 * actuator_new() - start, and put back what an earlier run has left
 * @sys:	context of "/" or a captured tree; must outlive the actuator
 * @cgroups:	context of the cgroup hierarchy; likewise
 * @properties:	for the knobs that systemd owns (property.h), or NULL to write
 *		all files directly; likewise
 * @ret_actuator: to be given back with actuator_free()
 * @ret_restored: number of knobs put back
 *
 * Return: 0, -EINVAL for a state file of another shape, or an error of path.h.
 */
int actuator_new(const struct zf_path *sys, const struct zf_path *cgroups,
		 struct properties *properties,
		 struct actuator **ret_actuator, size_t *ret_restored);

void actuator_free(struct actuator *actuator);
ZF_DEFINE_CLEANUP(struct actuator, actuator_free, actuator_free)

/**
 * actuator_set() - set a knob of a cgroup
 * @actuator:	actuator
 * @node:	the cgroup
 * @knob:	not KNOB_RECLAIM
 * @value:	what to write; the kernel may round it
 *
 * Return: 0 (also when it has the value already), or an error of path.h; after
 * one from writing the ledger, such as -ENOSPC, the knob is untouched.
 */
int actuator_set(struct actuator *actuator, struct node *node, enum knob knob,
		 uint64_t value);

/* A knob that is not as it was set. */
struct drift {
	enum knob knob;
	uint64_t set;		/* by the daemon */
	uint64_t now;		/* by somebody else */
	bool reapplied;		/* set again; else left to them from now on */
};

/**
 * actuator_check() - look for drift on one cgroup
 * @actuator:	actuator
 * @settings:	drift and reapply_interval
 * @node:	the cgroup; under DRIFT_RESPECT the knob is locked on it
 * @sample:	its values now
 * @now:	microseconds of any steady clock
 * @ret_drift:	the first one found
 *
 * Return: 1 with a drift, 0 without (or when it is too early to reapply), or an
 * error of writing it.
 */
int actuator_check(struct actuator *actuator, const struct settings *settings,
		   struct node *node, const struct cgroup_sample *sample,
		   uint64_t now, struct drift *ret_drift);

/**
 * actuator_tidy() - look after what was set on cgroups that are no units now
 * @actuator:	actuator
 * @tree:	the cgroups, just rescanned
 *
 * Those that are gone are forgotten. Those that are there and no unit any more
 * (cgroups were made in them, or a parent is taken as a whole) get back what was
 * found: nobody would look after them.
 */
void actuator_tidy(struct actuator *actuator, const struct cgtree *tree);

/* Put back what was set on one cgroup, and forget it. */
void actuator_restore_cgroup(struct actuator *actuator, uint64_t id);

/**
 * actuator_restore() - put all knobs back that are still as they were set
 * @actuator:	actuator; its ledger is empty afterwards
 *
 * A cgroup that is gone, or that somebody else changed, is left as it is.
 *
 * Return: number of knobs put back.
 */
size_t actuator_restore(struct actuator *actuator);

#endif
