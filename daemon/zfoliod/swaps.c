// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "swaps.h"

/* Sectors of block statistics have 512 bytes whatever the device has. */
#define SECTOR 512

/* io.stat knows whole disks only: a partition's directory lies in its disk's. */
static void read_number(const struct zf_path *sys, struct swap *swap)
{
	_cleanup_free_ char *number = NULL;
	char file[DEVICE_NAME_LEN + 64];

	snprintf(file, sizeof(file), "sys/class/block/%s/partition",
		 swap->name);
	snprintf(file, sizeof(file), "sys/class/block/%s/%sdev", swap->name,
		 zf_path_has(sys, file) ? "../" : "");
	if (zf_path_read_string(sys, file, &number) >= 0 &&
	    strlen(number) < sizeof(swap->number))
		strcpy(swap->number, number);
}

/* The seventh number of its statistics is sectors written. */
static void read_written(const struct zf_path *sys, struct swap *swap)
{
	_cleanup_free_ char *text = NULL;
	char file[DEVICE_NAME_LEN + 64];
	uint64_t sectors;

	snprintf(file, sizeof(file), "sys/class/block/%s/stat", swap->name);
	if (zf_path_read(sys, file, &text, NULL) < 0 ||
	    sscanf(text, "%*u %*u %*u %*u %*u %*u %" SCNu64, &sectors) != 1)
		return;
	swap->has_written = true;
	swap->written = zf_mul_div(sectors, SECTOR, 1);
}

/* "/dev/nvme0n1    partition    4194300    0    -2"; sizes in KiB. */
static int parse_line(const struct zf_path *sys, char *line,
		      struct swap *ret_swap)
{
	struct swap swap = { 0 };
	char *name, *type, *rest = NULL;
	bool is_file;

	name = strtok_r(line, " \t", &rest);
	type = strtok_r(NULL, " \t", &rest);
	if (!name || !type ||
	    sscanf(rest, "%" SCNu64 " %" SCNu64 " %" SCNd64, &swap.size,
		   &swap.used, &swap.priority) != 3)
		return -EINVAL;
	is_file = strcmp(type, "partition") || strncmp(name, "/dev/", 5);
	if (!is_file)
		name += strlen("/dev/");
	if (strlen(name) >= sizeof(swap.name))
		return -ENAMETOOLONG;
	strcpy(swap.name, name);
	swap.size = zf_mul_div(swap.size, 1024, 1);
	swap.used = zf_mul_div(swap.used, 1024, 1);
	if (!is_file) {
		read_number(sys, &swap);
		read_written(sys, &swap);
	}
	*ret_swap = swap;
	return 0;
}

int swaps_read(const struct zf_path *sys, struct swaps *ret_swaps)
{
	_cleanup_free_ char *text = NULL;
	struct swaps swaps = { .nr = 0 };
	char *line, *rest = NULL;
	int r;

	r = zf_path_read(sys, "proc/swaps", &text, NULL);
	if (r < 0 && r != -ENOENT)
		return r;
	/* The first line is a heading; without swap in the kernel no file. */
	line = r < 0 ? NULL : strtok_r(text, "\n", &rest);
	while (line && (line = strtok_r(NULL, "\n", &rest))) {
		if (swaps.nr == SWAPS_MAX)
			break;
		r = parse_line(sys, line, &swaps.at[swaps.nr]);
		if (r == -ENAMETOOLONG)
			continue;
		if (r < 0)
			return r;
		swaps.nr++;
	}
	*ret_swaps = swaps;
	return 0;
}

bool swaps_has_line(const struct swaps *swaps, const char *line)
{
	for (size_t i = 0; i < swaps->nr; i++) {
		size_t len = strlen(swaps->at[i].number);

		if (len && !strncmp(line, swaps->at[i].number, len) &&
		    line[len] == ' ')
			return true;
	}
	return false;
}
