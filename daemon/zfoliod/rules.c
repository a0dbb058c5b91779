// SPDX-License-Identifier: GPL-2.0-or-later
#include "rules.h"

/* ---- helpers ---- */

/* A configured pace in the unit that signals have: ppm a minute. */
static uint64_t pace_limit(struct zf_rate pace)
{
	return zf_mul_div(pace.amount, ZF_USEC_PER_MIN, pace.usec);
}

/* @bytes in @elapsed, as ppm a minute of @whole. */
static uint64_t pace_of(uint64_t bytes, uint64_t whole, uint64_t elapsed)
{
	return zf_mul_div(zf_mul_div(bytes, ZF_PPM,
				     zf_max(whole, RULES_STOCK_MIN)),
			  ZF_USEC_PER_MIN, elapsed);
}

struct signals rules_signals(const struct cgroup_sample *sample,
			     const struct tick *tick)
{
	const uint64_t *of = sample->of;
	uint64_t in, out, refaults;

	in = zf_add(of[FIELD_ZSWPIN], of[FIELD_PSWPIN]);
	out = zf_add(of[FIELD_ZSWPOUT],
		     zf_sub(of[FIELD_PSWPOUT], of[FIELD_ZSWPWB]));
	/* Without pswpin: what came back soon and not from zswap. */
	refaults = sample->has_pswpin ? of[FIELD_PSWPIN] :
		   zf_sub(of[FIELD_REFAULT_ANON], of[FIELD_ZSWPIN]);
	return (struct signals){
		.memory_pressure = zf_min(ZF_PPM,
			zf_mul_div(of[FIELD_MEMORY_STALL], ZF_PPM,
				   tick->elapsed)),
		.io_pressure = zf_min(ZF_PPM,
			zf_mul_div(of[FIELD_IO_STALL], ZF_PPM, tick->elapsed)),
		.refault_pace =
			pace_of(zf_mul_div(refaults, tick->page_size, 1),
				zf_sub(of[FIELD_SWAP], of[FIELD_ZSWAPPED]),
				tick->elapsed),
		.flow_pace =
			pace_of(zf_mul_div(zf_min(in, out), tick->page_size,
					   1),
				of[FIELD_CURRENT], tick->elapsed),
	};
}

static bool may_change(const struct call *call, const struct unit *unit,
		       const struct cgroup_sample *sample, enum knob knob)
{
	if (!(sample->has & KNOB_BIT(knob)) ||
	    (sample->locked & KNOB_BIT(knob)))
		return false;
	return !(unit->changed & KNOB_BIT(knob)) ||
	       call->now - unit->changed_at[knob] >=
	       sample->policy->dwell;
}

static void mark_changed(const struct call *call, struct unit *unit,
			 enum knob knob)
{
	unit->changed |= KNOB_BIT(knob);
	unit->changed_at[knob] = call->now;
}

/* ---- folio sizes ---- */

/* The largest enabled size up to @limit; the page size when there is none. */
static uint64_t size_within(const struct tick *tick, uint64_t limit)
{
	uint64_t best = tick->page_size;

	for (unsigned int order = 1; order <= TICK_MAX_ORDER; order++) {
		if (!(tick->sizes & (1ULL << order)))
			continue;
		if (tick->page_size << order > limit)
			break;
		best = tick->page_size << order;
	}
	return best;
}

/* The smallest enabled size above @limit; UINT64_MAX for the largest one. */
static uint64_t size_above(const struct tick *tick, uint64_t limit)
{
	for (unsigned int order = 1; order <= TICK_MAX_ORDER; order++) {
		uint64_t size = tick->page_size << order;

		if (!(tick->sizes & (1ULL << order)) || size <= limit)
			continue;
		return tick->sizes >> order > 1 ? size : UINT64_MAX;
	}
	return UINT64_MAX;
}

/* ---- rules 1 to 5: knobs ---- */

static bool lower_swapin(const struct call *call, struct unit *unit,
			 const struct cgroup_sample *sample,
			 const struct signals *s, struct decision *d)
{
	const struct policy *policy = sample->policy;
	uint64_t now = sample->of[FIELD_SWAPIN_MAX];
	uint64_t effective, lower;

	if (policy->swapin != SWAPIN_AUTO ||
	    unit->thrash_ticks < policy->thrash_ticks ||
	    !may_change(call, unit, sample, KNOB_SWAPIN_MAX))
		return false;
	effective = size_within(call->tick, now);
	lower = zf_max(size_within(call->tick, effective - 1),
		       policy->swapin_min);
	lower = zf_min(lower, policy->swapin_max);
	if (lower >= effective)
		return false;
	if (!unit->lowered) {
		unit->lowered = true;
		unit->swapin_found = now;
	}
	unit->calm_for = 0;
	*d = (struct decision){
		.knob = KNOB_SWAPIN_MAX, .old = now, .value = lower,
		.reason = REASON_THRASH, .signal = s->flow_pace,
		.threshold = pace_limit(policy->thrash_limit),
	};
	return true;
}

/* Pages of a cgroup without write-back have nowhere to go then. */
static bool is_full(const struct call *call)
{
	return call->tick->rejected ||
	       call->pool_level >= call->settings->pool_high;
}

/* Halfway there: the distance keeps rules 2 and 3 from answering each other. */
static bool may_get_full(const struct call *call)
{
	uint64_t low = call->settings->pool_low;
	uint64_t high = call->settings->pool_high;

	return call->tick->rejected ||
	       call->pool_level >= low + (high - low) / 2;
}

static bool switch_off(const struct call *call, struct unit *unit,
		       const struct cgroup_sample *sample,
		       const struct signals *s, struct decision *d)
{
	const struct policy *policy = sample->policy;

	if (policy->writeback != WRITEBACK_AUTO ||
	    !sample->of[FIELD_WRITEBACK] ||
	    unit->hot_ticks < policy->off_ticks || may_get_full(call) ||
	    !may_change(call, unit, sample, KNOB_WRITEBACK))
		return false;
	unit->switched_off = true;
	*d = (struct decision){
		.knob = KNOB_WRITEBACK, .old = 1, .value = 0,
		.reason = REASON_DISK_REFAULTS, .signal = s->refault_pace,
		.threshold = pace_limit(policy->off_refaults),
	};
	return true;
}

static bool switch_on(const struct call *call, struct unit *unit,
		      const struct cgroup_sample *sample, struct decision *d)
{
	const struct policy *policy = sample->policy;
	bool refused = call->tick->rejected;

	if (policy->writeback != WRITEBACK_AUTO || !unit->switched_off ||
	    sample->of[FIELD_WRITEBACK] ||
	    !call->device || !is_full(call) ||
	    !may_change(call, unit, sample, KNOB_WRITEBACK))
		return false;
	unit->switched_off = false;
	unit->hot_ticks = 0;
	*d = (struct decision){
		.knob = KNOB_WRITEBACK, .old = 0, .value = 1,
		.reason = refused ? REASON_STORES_REFUSED :
				    REASON_POOL_NEAR_LIMIT,
		.signal = refused ? call->tick->rejected : call->pool_level,
		.threshold = refused ? 0 : call->settings->pool_high,
	};
	return true;
}

static bool apply_fixed(const struct call *call, struct unit *unit,
			const struct cgroup_sample *sample, enum knob knob,
			uint64_t old, uint64_t want, struct decision *d)
{
	if (old == want || !may_change(call, unit, sample, knob))
		return false;
	*d = (struct decision){
		.knob = knob, .old = old, .value = want,
		.reason = REASON_CONFIGURED, .signal = old, .threshold = want,
	};
	return true;
}

static bool apply_configured(const struct call *call, struct unit *unit,
			     const struct cgroup_sample *sample,
			     struct decision *d)
{
	const struct policy *policy = sample->policy;
	const uint64_t *of = sample->of;
	uint64_t limit;

	if ((policy->writeback == WRITEBACK_OFF ||
	     (policy->writeback == WRITEBACK_ON && call->device)) &&
	    apply_fixed(call, unit, sample, KNOB_WRITEBACK,
			of[FIELD_WRITEBACK],
			policy->writeback == WRITEBACK_ON, d))
		return true;
	if (!amount_is_leave(policy->zswap_max) &&
	    (!policy->zswap_max.is_share || call->tick->pool_limit)) {
		limit = zf_amount_bytes(policy->zswap_max,
					call->tick->pool_limit);
		/* The kernel keeps whole pages, and no limit as max. */
		if (limit != UINT64_MAX)
			limit -= limit % call->tick->page_size;
		if (apply_fixed(call, unit, sample, KNOB_ZSWAP_MAX,
				of[FIELD_ZSWAP_MAX], limit, d))
			return true;
	}
	return policy->swapin == SWAPIN_AUTO &&
	       of[FIELD_SWAPIN_MAX] > policy->swapin_max &&
	       apply_fixed(call, unit, sample, KNOB_SWAPIN_MAX,
			   of[FIELD_SWAPIN_MAX], policy->swapin_max, d);
}

static bool raise_swapin(const struct call *call, struct unit *unit,
			 const struct cgroup_sample *sample,
			 struct decision *d)
{
	const struct policy *policy = sample->policy;
	uint64_t now = sample->of[FIELD_SWAPIN_MAX];
	uint64_t top, higher;

	if (policy->swapin != SWAPIN_AUTO || !unit->lowered ||
	    unit->calm_for < policy->calm ||
	    !may_change(call, unit, sample, KNOB_SWAPIN_MAX))
		return false;
	top = zf_min(unit->swapin_found, policy->swapin_max);
	higher = zf_min(size_above(call->tick, now), top);
	if (higher >= top)
		unit->lowered = false;
	if (higher <= now)
		return false;
	*d = (struct decision){
		.knob = KNOB_SWAPIN_MAX, .old = now, .value = higher,
		.reason = REASON_CALM, .signal = unit->calm_for,
		.threshold = policy->calm,
	};
	unit->calm_for = 0;
	return true;
}

/* ---- rule 6: proactive write-back ---- */

static void adapt_step(struct unit *unit, const struct cgroup_sample *sample,
		       bool blocked)
{
	const struct policy *policy = sample->policy;

	if (blocked || sample->reclaim == RECLAIM_FAILED)
		unit->step /= 2;
	else if (sample->reclaim == RECLAIM_DONE)
		unit->step += policy->step_min;
	unit->step = zf_min(zf_max(unit->step, policy->step_min),
			    policy->step_max);
}

/* Whether there may be no write-back now; why is left in *d, unless NULL. */
static bool is_blocked(const struct unit *unit,
		       const struct cgroup_sample *sample,
		       const struct signals *s, struct decision *d)
{
	const struct policy *policy = sample->policy;
	const struct {
		enum reason reason;
		uint64_t signal, threshold;
	} limits[] = {
		{ REASON_MEMORY_PRESSURE, s->memory_pressure,
		  policy->memory_pressure },
		{ REASON_IO_PRESSURE, s->io_pressure, policy->io_pressure },
		{ REASON_DISK_REFAULTS, unit->refault_pace,
		  pace_limit(policy->refault_limit) },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].signal <= limits[i].threshold)
			continue;
		if (d) {
			d->reason = limits[i].reason;
			d->signal = limits[i].signal;
			d->threshold = limits[i].threshold;
		}
		return true;
	}
	return false;
}

bool rules_cancel(const struct unit *unit, const struct cgroup_sample *sample,
		  const struct signals *s, struct decision *d)
{
	*d = (struct decision){ .knob = KNOB_RECLAIM };
	return sample->reclaim == RECLAIM_RUNNING &&
	       is_blocked(unit, sample, s, d);
}

static uint64_t target_excess(const struct call *call,
			      const struct cgroup_sample *sample)
{
	struct zf_amount target = sample->policy->pool_target;

	if (target.is_share && !call->tick->pool_limit)
		return 0;
	return zf_sub(sample->of[FIELD_ZSWAP],
		      zf_amount_bytes(target, call->tick->pool_limit));
}

bool rules_asks(const struct call *call, const struct unit *unit,
		const struct cgroup_sample *sample, const struct signals *s)
{
	return call->device && sample->policy->proactive &&
	       !is_blocked(unit, sample, s, NULL) &&
	       (sample->has & KNOB_BIT(KNOB_RECLAIM)) &&
	       !(sample->locked & KNOB_BIT(KNOB_RECLAIM)) &&
	       sample->of[FIELD_WRITEBACK_HERE] && sample->of[FIELD_ZSWAP] &&
	       sample->reclaim != RECLAIM_RUNNING &&
	       (call->pool_excess || target_excess(call, sample));
}

static uint64_t whole_pages(const struct call *call, uint64_t bytes)
{
	return bytes - bytes % call->tick->page_size;
}

/* @compressed bytes of the pool are so many on the device, in whole pages. */
static uint64_t cost_of(const struct call *call,
			const struct cgroup_sample *sample, uint64_t compressed)
{
	uint64_t page = call->tick->page_size;
	uint64_t cost = zf_mul_div(compressed, sample->of[FIELD_ZSWAPPED],
				   sample->of[FIELD_ZSWAP]);

	cost = zf_max(cost, compressed);
	return whole_pages(call, zf_add(cost, page - 1));
}

/*
 * The smallest step that is worth a request: smaller ones would be small writes,
 * too. A budget that never holds as much for it gives what it holds.
 */
static uint64_t least_step(const struct call *call,
			   const struct cgroup_sample *sample)
{
	uint64_t least = zf_min(sample->policy->step_min,
				sample->of[FIELD_ZSWAP]);
	uint64_t cost = cost_of(call, sample, least);
	uint64_t capacity = whole_pages(call, call->capacity);

	return cost <= capacity ? least : zf_mul_div(least, capacity, cost);
}

bool rules_writeback(struct call *call, struct unit *unit,
		     const struct cgroup_sample *sample, struct decision *d)
{
	const struct policy *policy = sample->policy;
	uint64_t pool = sample->of[FIELD_ZSWAP];
	uint64_t excess = target_excess(call, sample);
	uint64_t least = least_step(call, sample);
	uint64_t available = whole_pages(call, budget_available(call->budget));
	uint64_t want, cost;
	bool by_target = excess >= least && excess;

	want = zf_max(excess, zf_min(call->pool_excess, pool));
	want = zf_min(want, unit->step);
	cost = cost_of(call, sample, want);
	if (cost > available) {
		want = zf_mul_div(want, available, cost);
		cost = cost_of(call, sample, want);
	}
	if (!want || want < least || cost > available)
		return false;

	budget_take(call->budget, cost);
	call->pool_excess = zf_sub(call->pool_excess, want);
	unit->served = zf_add(unit->served,
			      zf_mul_div(cost, 10000, policy->weight));
	*d = (struct decision){
		.knob = KNOB_RECLAIM, .old = pool, .value = want, .cost = cost,
		.reason = by_target ? REASON_ABOVE_TARGET :
				      REASON_POOL_ABOVE_LOW,
		.signal = by_target ? pool : call->pool_level,
		.threshold = by_target ? pool - excess :
					 call->settings->pool_low,
	};
	return true;
}

/* ---- one cgroup, one tick ---- */

void rules_watch(const struct call *call, struct unit *unit,
		 const struct cgroup_sample *sample, const struct signals *s)
{
	const struct policy *policy = sample->policy;
	uint64_t elapsed = call->tick->elapsed;
	uint64_t off = pace_limit(policy->off_refaults);
	uint64_t thrash = pace_limit(policy->thrash_limit);
	uint64_t window = elapsed + ZF_USEC_PER_MIN;

	/* An average that forgets in about a minute. */
	unit->refault_pace = zf_add(
		zf_mul_div(unit->refault_pace, ZF_USEC_PER_MIN, window),
		zf_mul_div(s->refault_pace, elapsed, window));
	unit->hot_ticks = s->refault_pace > off ? unit->hot_ticks + 1 : 0;

	unit->thrash_ticks = s->flow_pace > thrash &&
			     s->memory_pressure > policy->memory_pressure ?
			     unit->thrash_ticks + 1 : 0;
	unit->calm_for = s->flow_pace <= thrash / 2 &&
			 s->memory_pressure <= policy->memory_pressure / 2 ?
			 zf_add(unit->calm_for, elapsed) : 0;

	adapt_step(unit, sample, is_blocked(unit, sample, s, NULL));
}

void rules_forget_trend(struct unit *unit)
{
	unit->hot_ticks = unit->thrash_ticks = 0;
	unit->calm_for = 0;
}

bool rules_knob(const struct call *call, struct unit *unit,
		const struct cgroup_sample *sample, const struct signals *s,
		struct decision *d)
{
	if (!lower_swapin(call, unit, sample, s, d) &&
	    !switch_off(call, unit, sample, s, d) &&
	    !switch_on(call, unit, sample, d) &&
	    !apply_configured(call, unit, sample, d) &&
	    !raise_swapin(call, unit, sample, d))
		return false;
	mark_changed(call, unit, d->knob);
	return true;
}
