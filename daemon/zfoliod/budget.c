// SPDX-License-Identifier: GPL-2.0-or-later
#include "budget.h"

/* Of write_daily this part may be spent at once, see the header. */
#define DAILY_BURST 8

/* What was granted and not seen written after about this time never was. */
#define GRANT_FADES ZF_USEC_PER_MIN

static uint64_t rate_capacity(const struct device_policy *policy,
			      uint64_t burst)
{
	return zf_mul_div(policy->write_rate.amount, burst,
			  policy->write_rate.usec);
}

static uint64_t daily_capacity(const struct device_policy *policy)
{
	return policy->write_daily.amount / DAILY_BURST;
}

static void bucket_refill(struct bucket *bucket, uint64_t capacity,
			  uint64_t amount, uint64_t usec, uint64_t elapsed)
{
	unsigned __int128 gained;

	gained = (unsigned __int128)amount * elapsed + bucket->carry;
	bucket->carry = gained % usec;
	gained = gained / usec + bucket->tokens;
	if (gained >= capacity) {
		/* What flows over is lost, fractions too. */
		gained = capacity;
		bucket->carry = 0;
	}
	bucket->tokens = gained;
}

void budget_start(struct budget *budget, const struct device_policy *policy,
		  uint64_t burst, uint64_t written, uint64_t uptime)
{
	uint64_t capacity = daily_capacity(policy);
	uint64_t refill = zf_mul_div(policy->write_daily.amount - capacity,
				     uptime, policy->write_daily.usec);

	*budget = (struct budget){
		.rate.tokens = rate_capacity(policy, burst),
		.daily.tokens = zf_sub(capacity, zf_sub(written, refill)),
	};
}

void budget_refill(struct budget *budget, const struct device_policy *policy,
		   uint64_t burst, uint64_t elapsed)
{
	uint64_t capacity = daily_capacity(policy);

	budget->granted -= zf_mul_div(budget->granted,
				      zf_min(elapsed, GRANT_FADES),
				      GRANT_FADES);
	bucket_refill(&budget->rate, rate_capacity(policy, burst),
		      policy->write_rate.amount, policy->write_rate.usec,
		      elapsed);
	bucket_refill(&budget->daily, capacity,
		      policy->write_daily.amount - capacity,
		      policy->write_daily.usec, elapsed);
}

void budget_see_written(struct budget *budget, uint64_t bytes)
{
	uint64_t ours = zf_min(bytes, budget->granted);
	uint64_t others = bytes - ours;

	budget->granted -= ours;
	budget->rate.tokens -= zf_min(others, budget->rate.tokens);
	budget->daily.tokens -= zf_min(others, budget->daily.tokens);
}

uint64_t budget_capacity(const struct device_policy *policy, uint64_t burst)
{
	return zf_min(rate_capacity(policy, burst), daily_capacity(policy));
}

uint64_t budget_available(const struct budget *budget)
{
	return zf_min(budget->rate.tokens, budget->daily.tokens);
}

void budget_take(struct budget *budget, uint64_t bytes)
{
	budget->rate.tokens -= bytes;
	budget->daily.tokens -= bytes;
	budget->granted += bytes;
}
