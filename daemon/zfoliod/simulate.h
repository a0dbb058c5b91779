/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simulate.h - try a configuration on a trace: ticks in, decisions out
 *
 * The knobs of a cgroup are what the trace says until a decision changes one;
 * from then on they are what was decided. A write-back that was decided counts
 * as done on the next tick where the trace has no other outcome. All else is as
 * recorded: pool, refaults and pressure do not react to the decisions, so a
 * replay says when a policy would have acted, not what would have come of it.
 */
#ifndef ZFOLIOD_SIMULATE_H
#define ZFOLIOD_SIMULATE_H

#include <stdio.h>

#include "config.h"
#include "decision.h"
#include "trace.h"

struct simulation;

/* @config must outlive it; to be given back with simulation_free(). */
int simulation_new(const struct config *config,
		   struct simulation **ret_simulation);

void simulation_free(struct simulation *simulation);
ZF_DEFINE_CLEANUP(struct simulation, simulation_free, simulation_free)

/**
 * simulation_step() - one tick
 * @simulation:	state
 * @tick:	the tick; policies and knobs in it are filled in
 * @ret_decisions: as control_tick()
 * @ret_nr:	likewise
 *
 * Return: 0 or -ENOMEM.
 */
int simulation_step(struct simulation *simulation, struct tick *tick,
		    const struct decision **ret_decisions, size_t *ret_nr);

/**
 * simulate() - replay a whole trace
 * @config:	what to try
 * @in:		the trace
 * @out:	takes a line for each decision, "+12.0s " and what
 *		decision_format() says, and a summary at the end
 * @ret_error:	as trace_read_tick()
 *
 * Return: 0 or an error of trace_read_tick(); -EIO when @out took no more.
 */
int simulate(const struct config *config, FILE *in, FILE *out,
	     char **ret_error);

#endif
