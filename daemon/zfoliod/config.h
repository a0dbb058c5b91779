/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - the configuration: sections, keys, and whose values apply
 *
 *	[daemon]
 *	interval = 2s
 *
 *	[device nvme0n1]
 *	write_daily = 20G/day
 *
 *	[cgroup user.slice/GLOB]		(see glob.h)
 *	proactive = no
 *
 * Lines that begin with "#" or ";" are comments, as is what follows " ;" behind
 * a value. Keys are the members of the structures in policy.h, values are
 * written as units.h says. Of several sections that match a cgroup or a device
 * each key is taken from the most specific one that has it; of equally specific
 * ones the last one read.
 *
 * Nothing here prints. An error is one line for the user, as
 *
 *	/etc/zfolio.conf:12: [cgroup **] step_min: "12Q": expected a size from
 *	4K to 1G, such as 1M
 */
#ifndef ZFOLIOD_CONFIG_H
#define ZFOLIOD_CONFIG_H

#include <zfolio/path.h>

#include "overrides.h"
#include "policy.h"

struct config;

/**
 * config_load() - read all files of the configuration (conf_files.h)
 * @root:	context of "/" or a captured tree
 * @ret_config:	the configuration, to be given back with config_free()
 * @ret_error:	on -EINVAL and on a file that can not be read the line for the
 *		user, to be given to free()
 *
 * Without any file the configuration is the defaults.
 *
 * Return: 0, -EINVAL for something that is wrong in a file, or an error of
 * path.h.
 */
int config_load(const struct zf_path *root, struct config **ret_config,
		char **ret_error);

/**
 * config_load_file() - read one file alone
 * @name:	the file, as the user gave it
 * @ret_config:	as above
 * @ret_error:	as above
 */
int config_load_file(const char *name, struct config **ret_config,
		     char **ret_error);

void config_free(struct config *config);
ZF_DEFINE_CLEANUP(struct config, config_free, config_free)

const struct settings *config_settings(const struct config *config);

/* What applies to a cgroup, by its path without slashes at the ends. */
struct policy config_policy(const struct config *config, const char *cgroup);

/* Lay values that were set at run time over all sections; must outlive it. */
void config_set_overrides(struct config *config,
			  const struct overrides *overrides);

/*
 * What applies to a swap device, by its name in swaps.h. Patterns name a file
 * without its first slash: [device var/swap], or [device GLOB] over its levels.
 */
struct device_policy config_device(const struct config *config,
				   const char *name);

#endif
