// SPDX-License-Identifier: GPL-2.0-or-later
/* A configuration of any bytes is taken or refused with a line for the user. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "../../zfoliod/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *error = NULL;
	char name[32];
	int r, fd = memfd_create("config", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	r = config_load_file(name, &config, &error);
	if (r < 0 && !error)
		abort();
	if (r >= 0) {
		config_policy(config, "user.slice/a/b.scope");
		config_device(config, "nvme0n1");
	}
	close(fd);
	return 0;
}
