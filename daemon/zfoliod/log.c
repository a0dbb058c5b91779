// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* All messages come from here: their place in the source says nothing. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "log.h"

/* One process has one log. */
static bool to_journal;
static int max_priority = LOG_INFO;
static uint64_t burst_began, burst_used, burst_dropped;

/* systemd names the socket that it made stderr in $JOURNAL_STREAM. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat st;

	return stream &&
	       sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device &&
	       st.st_ino == inode;
}

void log_start(bool verbose)
{
	to_journal = stderr_is_journal();
	max_priority = verbose ? LOG_DEBUG : LOG_INFO;
}

void log_line(int priority, const char *id, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int n;

	if (priority > max_priority)
		return;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return;
	}
	if (to_journal)
		sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", priority,
				"MESSAGE_ID=%s", id, NULL);
	else
		fprintf(stderr, "zfoliod: %s\n", text);
}

/* Whether there is room for one more; says how many there was none for. */
static bool within_limit(uint64_t now)
{
	if (now - burst_began >= LOG_BURST_USEC) {
		uint64_t dropped = burst_dropped;

		burst_began = now;
		burst_used = burst_dropped = 0;
		if (dropped)
			log_line(LOG_NOTICE, LOG_ID_OTHER,
				 "%" PRIu64 " messages about cgroups were dropped: more than %d in %d s",
				 dropped, LOG_BURST,
				 (int)(LOG_BURST_USEC / ZF_USEC_PER_SEC));
	}
	if (burst_used == LOG_BURST) {
		burst_dropped++;
		return false;
	}
	burst_used++;
	return true;
}

/* What an administrator can do about an error of writing a knob. */
static const char *hint(int error)
{
	if (error == -EROFS)
		return ": the unit needs ReadWritePaths=/sys/fs/cgroup";
	if (error == -EACCES || error == -EPERM)
		return ": this cgroup belongs to another user namespace, or CAP_DAC_OVERRIDE is missing";
	if (error == -ENOSPC)
		return ": /run is full, and nothing is changed that could not be put back";
	return "";
}

void log_decision(const struct decision *d, bool dry_run, int error,
		  uint64_t now)
{
	/* Steps of write-back are many; their sum is in the status line. */
	int priority = error < 0 ? LOG_WARNING :
		       d->knob == KNOB_RECLAIM && !dry_run ? LOG_DEBUG :
							     LOG_INFO;
	char text[DECISION_TEXT_LEN], value[DECISION_VALUE_LEN];

	if (priority > max_priority || !within_limit(now))
		return;
	decision_format(d, text);
	decision_value(d->knob, d->value, value);
	if (!to_journal) {
		fprintf(stderr, "zfoliod: %s%s%s%s%s\n",
			dry_run ? "would: " : "", text, error < 0 ? ": " : "",
			error < 0 ? strerror(-error) : "", hint(error));
		return;
	}
	sd_journal_send("MESSAGE=%s%s%s%s%s", dry_run ? "would: " : "", text,
			error < 0 ? ": " : "",
			error < 0 ? strerror(-error) : "", hint(error),
			"PRIORITY=%i", priority,
			"MESSAGE_ID=%s", LOG_ID_DECISION,
			"CGROUP=%s", d->path,
			"ACTION=%s", knob_files[d->knob],
			"VALUE=%s", value,
			"REASON=%s", reason_words[d->reason], NULL);
}

void log_drift(const struct drift *drift, const char *cgroup, uint64_t now)
{
	char set[DECISION_VALUE_LEN], found[DECISION_VALUE_LEN];
	const char *what = drift->reapplied ? "set again" :
					      "left to them from now on";

	if (!within_limit(now))
		return;
	decision_value(drift->knob, drift->set, set);
	decision_value(drift->knob, drift->now, found);
	if (!to_journal) {
		fprintf(stderr,
			"zfoliod: %s: %s was set to %s, somebody else made it %s: %s\n",
			cgroup, knob_files[drift->knob], set, found, what);
		return;
	}
	sd_journal_send("MESSAGE=%s: %s was set to %s, somebody else made it %s: %s",
			cgroup, knob_files[drift->knob], set, found, what,
			"PRIORITY=%i", LOG_NOTICE,
			"MESSAGE_ID=%s", LOG_ID_DRIFT,
			"CGROUP=%s", cgroup,
			"ACTION=%s", knob_files[drift->knob],
			"VALUE=%s", drift->reapplied ? set : found,
			"REASON=%s", "drift", NULL);
}
