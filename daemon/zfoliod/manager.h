/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manager.h - the running daemon: the event loop that joins the other modules
 *
 * A timer makes ticks: results of write-backs are collected, the tree is
 * rescanned when it is time, everything is sampled, drift is looked for, the
 * tick is recorded, the law decides, decisions are carried out.
 *
 * SIGHUP reads the configuration again: a wrong one is not taken and the old
 * one stays; with a right one what the old one has led to is put back first.
 * SIGTERM and SIGINT put back what was changed and end. A burst of memory
 * pressure in the whole system (PSI) cancels write-backs between ticks. systemd
 * is told READY, RELOADING, STOPPING and a STATUS line, and its watchdog is fed.
 */
#ifndef ZFOLIOD_MANAGER_H
#define ZFOLIOD_MANAGER_H

#include <stdbool.h>

struct manager_options {
	const char *root;	/* "/" or a captured tree */
	const char *config;	/* a file instead of the usual ones, or NULL */
	const char *record;	/* write a trace of ticks there, or NULL */
	bool dry_run;		/* decide and tell, write nothing */
};

/**
 * manager_run() - run until a signal ends it
 * @options:	options
 *
 * Errors are logged where they happen.
 *
 * Return: 0 after SIGTERM or SIGINT; -EINVAL when the configuration is wrong;
 * -EOPNOTSUPP when this machine lacks what the daemon needs; or another error.
 */
int manager_run(const struct manager_options *options);

#endif
