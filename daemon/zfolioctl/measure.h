/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure.h - how the result of a measurement is shown
 */
#ifndef ZFOLIOCTL_MEASURE_H
#define ZFOLIOCTL_MEASURE_H

#include "ctl.h"

/* Of the object that `measure --json` prints as "measure"; 0 or -ENOMEM. */
int measure_print(const struct term *term, const json_t *measure);

#endif
