/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - what the daemon tells, to the journal with fields or to stderr
 *
 * When stderr is the journal each message has fields to search by:
 *
 *	MESSAGE_ID=	one of the LOG_ID_ below
 *	CGROUP=		path of the cgroup
 *	ACTION=		the knob's file, as memory.zswap.writeback
 *	VALUE=		what was written
 *	REASON=		a word of decision.h, as disk-refaults
 *
 * so `journalctl CGROUP=system.slice/a.service` is the history of one cgroup.
 * Elsewhere a message is a line on stderr. Messages about decisions and drift
 * are limited to LOG_BURST in LOG_BURST_USEC; how many were dropped is said
 * with the next one.
 */
#ifndef ZFOLIOD_LOG_H
#define ZFOLIOD_LOG_H

#include <stdbool.h>
#include <syslog.h>

#include "actuator.h"
#include "decision.h"

#define LOG_ID_DECISION	"4b8ecf696db54de79c7440a0df9dddf6"
#define LOG_ID_DRIFT	"7449021923dd46a3bba0f5e0ee949f5f"
#define LOG_ID_FEATURES	"b54f406499d4475590684e4da30eaa1f"
#define LOG_ID_RESTORED	"8ed9728f6a8345969913379b32822bee"
#define LOG_ID_CONFIG	"3a198717ca504a008fcbe9736e7ff342"
#define LOG_ID_OTHER	"2ee3a4ae4f7442f3a32a6b58afa3825a"

/* One a second on average is what a person can follow. */
#define LOG_BURST 60
#define LOG_BURST_USEC (60 * ZF_USEC_PER_SEC)

/* @verbose: also messages of LOG_DEBUG, as each step of write-back. */
void log_start(bool verbose);

/* A line without a cgroup; @id is one of the above. */
__attribute__((format(printf, 3, 4)))
void log_line(int priority, const char *id, const char *format, ...);

/*
 * A decision that was carried out, or would have been, or failed with @error.
 * @now: microseconds of any steady clock, for the limit.
 */
void log_decision(const struct decision *decision, bool dry_run, int error,
		  uint64_t now);

void log_drift(const struct drift *drift, const char *cgroup, uint64_t now);

#endif
