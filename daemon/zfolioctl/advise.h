/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * advise.h - how the result of looking at a cgroup's pages is shown
 */
#ifndef ZFOLIOCTL_ADVISE_H
#define ZFOLIOCTL_ADVISE_H

#include "ctl.h"

/* Of the object that `advise --json` prints as "advise"; 0 or -ENOMEM. */
int advise_print(const struct term *term, const json_t *advise);

#endif
