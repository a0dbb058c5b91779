// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Properties of the control law over thousands of random traces: what has to
 * hold whatever the kernel reports. A failing trace is named by its seed, and
 * ZFOLIO_SEED=N runs that one alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../zfoliod/control.h"
#include "../zfoliod/simulate.h"

#include "ticks.h"
#include "tree.h"

#define NR_TRACES 2000
#define NR_TICKS 100
#define NR_CGROUPS 6

/* ---- random input ---- */

static uint64_t random_state;
static unsigned int seed;

static uint64_t rnd(uint64_t below)
{
	/* xorshift64*: the same numbers everywhere. */
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * UINT64_C(2685821657736338717) >> 11) % below;
}

/* Small numbers, zero and the ends of the type, as a broken file might have. */
static uint64_t rnd_number(uint64_t usual)
{
	switch (rnd(12)) {
	case 0: return 0;
	case 1: return UINT64_MAX >> rnd(64);
	default: return rnd(usual);
	}
}

static void random_policy(struct policy *policy)
{
	*policy = policy_default;
	policy->writeback = rnd(4);
	policy->swapin = rnd(4) ? SWAPIN_AUTO : SWAPIN_LEAVE;
	policy->proactive = rnd(4);
	policy->weight = 1 + rnd(1000);
	policy->pool_target = (struct zf_amount){ .value = rnd(16 * MIB) };
	if (rnd(3) == 0)
		policy->pool_target = (struct zf_amount){
			.value = rnd(ZF_PPM), .is_share = true };
	policy->step_min = 4096 << rnd(9);
	policy->step_max = policy->step_min << rnd(7);
	policy->off_ticks = 1 + rnd(4);
	policy->thrash_ticks = 1 + rnd(4);
	policy->dwell = rnd(ZF_USEC_PER_MIN);
	policy->calm = rnd(ZF_USEC_PER_MIN);
	policy->swapin_min = 4096 << rnd(6);
	policy->swapin_max = rnd(2) ? UINT64_MAX :
				      policy->swapin_min << rnd(5);
	if (rnd(4) == 0)
		policy->zswap_max = (struct zf_amount){ .value = rnd(64 * MIB) };
}

static void random_start(struct ticks *t)
{
	ticks_init(t, 1 + rnd(NR_CGROUPS));
	t->device.policy.write_rate.amount = rnd(32 * MIB);
	t->device.policy.write_daily.amount = rnd(1024 * MIB);
	for (size_t i = 0; i < NR_CGROUPS; i++)
		random_policy(&t->policies[i]);
}

static void random_cgroup(struct cgroup_sample *cgroup)
{
	for (size_t i = 0; i < NR_FIELDS; i++) {
		if (field_infos[i].kind == FIELD_IS_DELTA)
			cgroup->of[i] = rnd(3) ? rnd_number(3000) : 0;
	}
	cgroup->of[FIELD_MEMORY_STALL] = rnd(4) ? 0 : rnd_number(2000000);
	cgroup->of[FIELD_IO_STALL] = rnd(8) ? 0 : rnd_number(2000000);
	cgroup->of[FIELD_CURRENT] = rnd_number(256 * MIB);
	cgroup->of[FIELD_SWAP] = rnd_number(256 * MIB);
	cgroup->of[FIELD_ZSWAPPED] = rnd_number(128 * MIB);
	cgroup->of[FIELD_ZSWAP] = rnd_number(64 * MIB);
	cgroup->of[FIELD_WRITEBACK_HERE] = rnd(8) != 0;
	cgroup->reclaim = rnd(5);
	cgroup->fresh = rnd(50) == 0;
	cgroup->has_pswpin = rnd(8) != 0;
	if (rnd(30) == 0)
		cgroup->has = rnd(KNOB_BIT(NR_KNOBS));
	if (rnd(30) == 0)
		cgroup->locked = rnd(KNOB_BIT(NR_KNOBS));
	/* Another one of the same path. */
	if (rnd(40) == 0)
		cgroup->id = 100 + rnd(100);
}

/* Phases of rest, so that rules which want calm come to act. */
static void random_tick(struct ticks *t, bool rest)
{
	t->tick.elapsed = rnd(20) ? settings_default.interval - 5000 + rnd(10000) :
				    rnd_number(20000000);
	t->tick.pool = rnd_number(120 * MIB);
	t->tick.pool_limit = rnd(20) ? 100 * MIB : 0;
	t->tick.rejected = rnd(4) ? 0 : rnd_number(100);
	t->tick.sizes = rnd(20) ? 1 << 4 | 1 << 8 : rnd(1 << 20) & ~1;
	t->device.used = rnd(20) ? rnd(4096 * MIB) : t->device.size;
	t->device.policy.reserved = rnd(20) == 0;
	t->device.written = rnd(4) ? 0 : rnd_number(16 * MIB);
	t->tick.nr_devices = rnd(20) != 0;
	for (size_t i = 0; i < NR_CGROUPS && !rest; i++)
		random_cgroup(&t->cgroups[i]);
	for (size_t i = 0; i < NR_CGROUPS && rest; i++) {
		struct cgroup_sample *cgroup = &t->cgroups[i];

		for (size_t j = 0; j < NR_FIELDS; j++) {
			if (field_infos[j].kind == FIELD_IS_DELTA)
				cgroup->of[j] = 0;
		}
	}
	if (rnd(10) == 0)
		t->tick.nr_cgroups = rnd(NR_CGROUPS + 1);
}

/* ---- what must hold ---- */

#define check(condition) \
	do { \
		if (!(condition)) \
			fail_msg("seed %u: " #condition, seed); \
	} while (0)

static const struct cgroup_sample *find(const struct ticks *t, uint64_t id)
{
	for (size_t i = 0; i < t->tick.nr_cgroups; i++) {
		if (t->cgroups[i].id == id)
			return &t->cgroups[i];
	}
	return NULL;
}

static size_t nr_distinct(const struct ticks *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->tick.nr_cgroups; i++)
		nr += find(t, t->cgroups[i].id) == &t->cgroups[i];
	return nr;
}

static void check_bounds(const struct ticks *t, const struct decision *d)
{
	const struct cgroup_sample *cgroup = find(t, d->id);
	const struct policy *policy;

	check(cgroup);
	policy = cgroup->policy;
	check(!cgroup->fresh);
	check((d->knob == KNOB_RECLAIM && !d->value) ||
	      ((cgroup->has & KNOB_BIT(d->knob)) &&
	       !(cgroup->locked & KNOB_BIT(d->knob))));
	switch (d->knob) {
	case KNOB_WRITEBACK:
		check(policy->writeback != WRITEBACK_LEAVE);
		check(d->value <= 1 && d->old == !d->value);
		check(!d->value || (t->tick.nr_devices &&
				    !t->device.policy.reserved &&
				    t->device.used < t->device.size));
		break;
	case KNOB_SWAPIN_MAX:
		check(policy->swapin == SWAPIN_AUTO);
		check(d->value >= policy->swapin_min ||
		      d->reason == REASON_CALM);
		check(d->value <= policy->swapin_max);
		check(d->value != d->old);
		break;
	case KNOB_ZSWAP_MAX:
		check(d->value == policy->zswap_max.value / 4096 * 4096);
		break;
	case KNOB_RECLAIM:
		if (!d->value) {
			check(cgroup->reclaim == RECLAIM_RUNNING && !d->cost);
			break;
		}
		check(policy->proactive && cgroup->of[FIELD_WRITEBACK_HERE]);
		check(cgroup->reclaim != RECLAIM_RUNNING);
		check(d->value <= policy->step_max);
		check(d->value <= cgroup->of[FIELD_ZSWAP]);
		check(d->cost >= d->value && d->cost % 4096 == 0);
		check(t->tick.nr_devices && !t->device.policy.reserved);
		break;
	case NR_KNOBS:
		fail();
	}
}

/* When each knob of each id changed last; ids are below this. */
#define MAX_ID 256

struct changes {
	uint64_t at[MAX_ID][NR_KNOBS];
	bool valid[MAX_ID][NR_KNOBS];
};

static void check_dwell(struct changes *changes, uint64_t now,
			const struct ticks *t, const struct decision *d)
{
	uint64_t *at = &changes->at[d->id][d->knob];
	bool *valid = &changes->valid[d->id][d->knob];

	if (d->knob == KNOB_RECLAIM)
		return;
	check(!*valid || now - *at >= find(t, d->id)->policy->dwell);
	*at = now;
	*valid = true;
}

/* A cgroup that was away is another one to the law. */
static void forget_absent(struct changes *changes, const struct ticks *t)
{
	bool present[MAX_ID] = { false };

	for (size_t i = 0; i < t->tick.nr_cgroups; i++)
		present[t->cgroups[i].id] = true;
	for (size_t id = 0; id < MAX_ID; id++) {
		if (!present[id])
			memset(changes->valid[id], 0,
			       sizeof(changes->valid[id]));
	}
}

/* All windows of ticks, by the sums of what was taken up to each. */
static void check_budget(const struct device_policy *policy,
			 const uint64_t *taken, const uint64_t *at, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t sum = 0, bound;

		for (size_t j = i; j < nr; j++) {
			uint64_t span = at[j] - at[i];

			sum += taken[j];
			if (!taken[j])
				continue;
			bound = zf_mul_div(policy->write_rate.amount,
					   zf_add(span, settings_default.burst),
					   policy->write_rate.usec);
			check(sum <= zf_add(bound, 1));
			check(span > ZF_USEC_PER_DAY ||
			      sum <= policy->write_daily.amount);
		}
	}
}

static void run_trace(struct ticks *t)
{
	_cleanup_(control_freep) struct control *control = NULL;
	static struct changes changes;
	uint64_t taken[NR_TICKS] = { 0 }, at[NR_TICKS], now = 0;
	const struct decision *d;
	bool rest = false;
	size_t nr;

	memset(&changes, 0, sizeof(changes));
	assert_int_equal(control_new(&control), 0);
	random_start(t);
	for (size_t i = 0; i < NR_TICKS; i++) {
		if (rnd(20) == 0)
			rest = !rest;
		random_tick(t, rest);
		/* Budget is only comparable while there is one device. */
		t->tick.nr_devices = 1;
		now = zf_add(now, t->tick.elapsed);
		at[i] = now;
		forget_absent(&changes, t);
		assert_int_equal(control_tick(control, &settings_default,
					      &t->tick, &d, &nr), 0);
		check(control_nr_cgroups(control) == nr_distinct(t));
		for (size_t j = 0; j < nr; j++) {
			check(!j || d[j - 1].id < d[j].id);
			check_bounds(t, &d[j]);
			check_dwell(&changes, now, t, &d[j]);
			taken[i] += d[j].cost;
			/* The kernel obeys, mostly. */
			if (d[j].knob == KNOB_WRITEBACK && rnd(8))
				((struct cgroup_sample *)find(t, d[j].id))
					->of[FIELD_WRITEBACK] = d[j].value;
			if (d[j].knob == KNOB_SWAPIN_MAX && rnd(8))
				((struct cgroup_sample *)find(t, d[j].id))
					->of[FIELD_SWAPIN_MAX] = d[j].value;
		}
		if (now == UINT64_MAX)
			return;
	}
	check_budget(&t->device.policy, taken, at, NR_TICKS);
}

static void for_each_seed(int nr, void (*run)(struct ticks *t))
{
	static struct ticks t;
	const char *one = getenv("ZFOLIO_SEED");

	for (int i = 1; i <= nr; i++) {
		seed = one ? atoi(one) : i;
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		run(&t);
		if (one)
			break;
	}
}

static void test_bounds_dwell_and_budget(void **state)
{
	(void)state;
	for_each_seed(NR_TRACES, run_trace);
}

/* ---- constant input ---- */

static void run_constant(struct ticks *t)
{
	_cleanup_(control_freep) struct control *control = NULL;
	const struct decision *d;
	size_t nr;

	assert_int_equal(control_new(&control), 0);
	random_start(t);
	random_tick(t, false);
	t->tick.elapsed = settings_default.interval;
	/* Ten dwells to settle, then as many with nothing to change. */
	for (int i = 0; i < 600; i++) {
		assert_int_equal(control_tick(control, &settings_default,
					      &t->tick, &d, &nr), 0);
		for (size_t j = 0; j < nr; j++) {
			struct cgroup_sample *cgroup;

			cgroup = (struct cgroup_sample *)find(t, d[j].id);
			if (d[j].knob == KNOB_RECLAIM)
				continue;
			check(i < 300);
			cgroup->of[d[j].knob == KNOB_WRITEBACK ?
				   FIELD_WRITEBACK :
				   d[j].knob == KNOB_ZSWAP_MAX ?
				   FIELD_ZSWAP_MAX : FIELD_SWAPIN_MAX] =
				d[j].value;
		}
	}
}

static void test_constant_input_converges(void **state)
{
	(void)state;
	for_each_seed(NR_TRACES / 20, run_constant);
}

/* ---- replay ---- */

static void run_replay(struct ticks *t)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *trace = NULL, *error = NULL;
	_cleanup_free_ char *first = NULL, *second = NULL, *third = NULL;
	char name[] = "/tmp/zfolio-test-XXXXXX";
	size_t trace_len, len;
	FILE *file, *in, *out;
	int fd = mkstemp(name);
	bool rest = false;

	assert_true(fd >= 0);
	dprintf(fd, "[cgroup **]\ndwell = 20s\npool_target = 1M\n"
		"[device *]\nwrite_daily = 2G/day\n");
	assert_int_equal(config_load_file(name, &config, &error), 0);
	unlink(name);
	close(fd);

	file = open_memstream(&trace, &trace_len);
	assert_int_equal(trace_write_header(file), 0);
	random_start(t);
	for (size_t i = 0; i < NR_TICKS; i++) {
		if (rnd(20) == 0)
			rest = !rest;
		random_tick(t, rest);
		assert_int_equal(trace_write_tick(file, &t->tick), 0);
	}
	fclose(file);

	for (int i = 0; i < 2; i++) {
		in = fmemopen(trace, trace_len, "r");
		out = open_memstream(i ? &second : &first, &len);
		if (simulate(config, in, out, &error) < 0)
			fail_msg("seed %u: %s", seed, error);
		fclose(in);
		fclose(out);
	}
	check(!strcmp(first, second));

	/* What is read is what was written. */
	{
		_cleanup_(trace_reader_freep) struct trace_reader *reader = NULL;
		struct tick *tick;

		in = fmemopen(trace, trace_len, "r");
		file = open_memstream(&third, &len);
		assert_int_equal(trace_write_header(file), 0);
		assert_int_equal(trace_reader_new(in, &reader), 0);
		while (trace_read_tick(reader, &tick, &error) > 0)
			assert_int_equal(trace_write_tick(file, tick), 0);
		fclose(file);
		fclose(in);
		check(!strcmp(trace, third));
	}
}

static void test_replay_is_deterministic(void **state)
{
	(void)state;
	for_each_seed(NR_TRACES / 100, run_replay);
}

#define T(fn) cmocka_unit_test(fn)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_bounds_dwell_and_budget),
		T(test_constant_input_converges),
		T(test_replay_is_deterministic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
