/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_files.h - which files make up the configuration, in which order
 *
 * Below the root, later files override earlier ones:
 *
 *	usr/lib/zfolio/zfolio.conf		the package's
 *	etc/zfolio.conf				the administrator's
 *	usr/lib/zfolio/zfolio.conf.d/NAME.conf	drop-ins of packages
 *	etc/zfolio.conf.d/NAME.conf		drop-ins of the administrator
 *
 * Drop-ins of both directories are sorted together by NAME in byte order; of
 * two with one NAME only the administrator's is read. A link to /dev/null is
 * an empty file, so it masks the package's: etc/zfolio.conf masks
 * usr/lib/zfolio/zfolio.conf, and a drop-in masks the other one of its NAME.
 */
#ifndef ZFOLIOD_CONF_FILES_H
#define ZFOLIOD_CONF_FILES_H

#include <zfolio/path.h>

struct conf_files {
	char **names;		/* relative to the root */
	size_t nr;
};

/**
 * conf_files_find() - list the files that are there
 * @root:	context of "/" or a captured tree
 * @ret_files:	their names, to be given back with conf_files_done()
 *
 * Return: 0 (also when there is none), or an error of path.h.
 */
int conf_files_find(const struct zf_path *root, struct conf_files *ret_files);

void conf_files_done(struct conf_files *files);

#endif
