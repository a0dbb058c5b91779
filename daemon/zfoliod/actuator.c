// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "actuator.h"
#include "decision.h"

/* So many ticks systemd has to write what it was told. */
#define SETTLE_TICKS 3

struct actuator {
	const struct zf_path *cgroups;
	struct properties *properties;
	struct ledger *ledger;
};

void actuator_free(struct actuator *actuator)
{
	if (!actuator)
		return;
	ledger_free(actuator->ledger);
	free(actuator);
}

int actuator_new(const struct zf_path *sys, const struct zf_path *cgroups,
		 struct properties *properties,
		 struct actuator **ret_actuator, size_t *ret_restored)
{
	_cleanup_(actuator_freep) struct actuator *actuator = NULL;
	int r;

	actuator = calloc(1, sizeof(*actuator));
	if (!actuator)
		return -ENOMEM;
	actuator->cgroups = cgroups;
	actuator->properties = properties;
	r = ledger_open(sys, &actuator->ledger);
	if (r < 0)
		return r;
	*ret_restored = actuator_restore(actuator);
	*ret_actuator = zf_take_ptr(actuator);
	return 0;
}

/* Return: 1 when systemd will write it soon, 0 when it is written. */
static int write_knob(const struct actuator *actuator, const char *path,
		      const struct zf_path *cgroup, enum knob knob,
		      uint64_t value)
{
	char text[DECISION_VALUE_LEN];

	if (properties_set(actuator->properties, path, knob, value))
		return 1;
	return zf_path_write(cgroup, knob_files[knob],
			     decision_value(knob, value, text));
}

static bool is_not_ours(int error)
{
	return error == -EACCES || error == -EPERM || error == -EROFS;
}

/* Undo the note of a write that failed. */
static void forget_failed(struct actuator *actuator, const struct node *node,
			  enum knob knob, bool was_noted, uint64_t found)
{
	if (was_noted)
		ledger_set(actuator->ledger, node->id, node->path, knob, found,
			   found);
	else
		ledger_drop(actuator->ledger,
			    ledger_find(actuator->ledger, node->id, knob));
}

int actuator_set(struct actuator *actuator, struct node *node, enum knob knob,
		 uint64_t value)
{
	const struct zf_path *cgroup = zf_cgroup_path(node->cgroup);
	struct entry *entry;
	uint64_t found, now;
	bool was_noted;
	int r;

	r = zf_path_read_u64(cgroup, knob_files[knob], &found);
	if (r < 0)
		return r;
	if (found == value)
		return 0;
	was_noted = ledger_find(actuator->ledger, node->id, knob);
	r = ledger_set(actuator->ledger, node->id, node->path, knob, found,
		       value);
	if (r < 0)
		return r;
	r = write_knob(actuator, node->path, cgroup, knob, value);
	if (r < 0) {
		forget_failed(actuator, node, knob, was_noted, found);
		if (is_not_ours(r))
			node->locked |= KNOB_BIT(knob);
		return r;
	}
	/* What was rounded must not be taken for somebody else's doing. */
	if (!r && zf_path_read_u64(cgroup, knob_files[knob], &now) >= 0 &&
	    now != value)
		r = ledger_set(actuator->ledger, node->id, node->path, knob,
			       found, now);
	entry = ledger_find(actuator->ledger, node->id, knob);
	entry->unsettled = r > 0 ? SETTLE_TICKS : 0;
	if (entry->set == entry->found)
		ledger_drop(actuator->ledger, entry);
	return r < 0 ? r : 0;
}

static uint64_t value_now(const struct cgroup_sample *sample, enum knob knob)
{
	switch (knob) {
	case KNOB_WRITEBACK:
		return sample->of[FIELD_WRITEBACK];
	case KNOB_ZSWAP_MAX:
		return sample->of[FIELD_ZSWAP_MAX];
	default:
		return sample->of[FIELD_SWAPIN_MAX];
	}
}

/*
 * Somebody else's value stays. systemd has to know it: it would bring ours back at
 * its next reload, or has not yet written it at all.
 */
static void leave(const struct actuator *actuator, const struct entry *entry,
		  uint64_t now)
{
	properties_set(actuator->properties, entry->path, entry->knob, now);
}

int actuator_check(struct actuator *actuator, const struct settings *settings,
		   struct node *node, const struct cgroup_sample *sample,
		   uint64_t now, struct drift *ret_drift)
{
	int r;

	for (unsigned int knob = 0; knob < KNOB_RECLAIM; knob++) {
		struct entry *entry = ledger_find(actuator->ledger, node->id,
						  knob);
		struct drift drift;

		if (!entry)
			continue;
		if (value_now(sample, knob) == entry->set) {
			entry->unsettled = 0;
			continue;
		}
		if (entry->unsettled) {
			entry->unsettled--;
			continue;
		}
		drift = (struct drift){
			.knob = knob, .set = entry->set,
			.now = value_now(sample, knob),
			.reapplied = settings->drift == DRIFT_REAPPLY,
		};
		if (!drift.reapplied) {
			node->locked |= KNOB_BIT(knob);
			leave(actuator, entry, drift.now);
			ledger_drop(actuator->ledger, entry);
			*ret_drift = drift;
			return 1;
		}
		if (entry->reapplied_at &&
		    now - entry->reapplied_at < settings->reapply_interval)
			continue;
		entry->reapplied_at = now;
		r = write_knob(actuator, node->path,
			       zf_cgroup_path(node->cgroup), knob, entry->set);
		if (r < 0)
			return r;
		*ret_drift = drift;
		return 1;
	}
	return 0;
}

/* Return: whether it was put back. */
static bool restore_one(const struct actuator *actuator,
			const struct entry *entry)
{
	_cleanup_(zf_cgroup_freep) struct zf_cgroup *cgroup = NULL;
	uint64_t now;

	/* Another one of that path was never changed. */
	if (zf_cgroup_open(actuator->cgroups, entry->path, &cgroup) < 0 ||
	    zf_cgroup_id(cgroup) != entry->id ||
	    zf_path_read_u64(zf_cgroup_path(cgroup), knob_files[entry->knob],
			     &now) < 0)
		return false;
	if (now != entry->set) {
		leave(actuator, entry, now);
		return false;
	}
	return write_knob(actuator, entry->path, zf_cgroup_path(cgroup),
			  entry->knob, entry->found) >= 0;
}

void actuator_tidy(struct actuator *actuator, const struct cgtree *tree)
{
	struct entry *entries;
	size_t nr;

	entries = ledger_entries(actuator->ledger, &nr);
	for (size_t i = nr; i-- > 0; ) {
		const struct node *node = cgtree_find(tree, entries[i].id);

		if (node && node->is_unit)
			continue;
		restore_one(actuator, &entries[i]);
		ledger_drop(actuator->ledger, &entries[i]);
	}
}

void actuator_restore_cgroup(struct actuator *actuator, uint64_t id)
{
	for (unsigned int knob = 0; knob < NR_KNOBS; knob++) {
		struct entry *entry = ledger_find(actuator->ledger, id, knob);

		if (!entry)
			continue;
		restore_one(actuator, entry);
		ledger_drop(actuator->ledger, entry);
	}
}

size_t actuator_restore(struct actuator *actuator)
{
	struct entry *entries;
	size_t nr, restored = 0;

	entries = ledger_entries(actuator->ledger, &nr);
	for (size_t i = nr; i-- > 0; )
		restored += restore_one(actuator, &entries[i]);
	ledger_clear(actuator->ledger);
	return restored;
}
