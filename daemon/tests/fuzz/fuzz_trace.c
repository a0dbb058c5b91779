// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace of any bytes is replayed or refused with a line for the user. */
#include <errno.h>
#include <stdint.h>

#include "../../zfoliod/simulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config *config;
	_cleanup_free_ char *error = NULL;
	FILE *in, *out;
	int r;

	if (!config &&
	    config_load_file("/dev/null", &config, &error) < 0)
		abort();
	if (!size)
		return 0;
	in = fmemopen((void *)data, size, "r");
	out = fopen("/dev/null", "w");
	if (!in || !out)
		abort();
	r = simulate(config, in, out, &error);
	if (r == -EINVAL && !error)
		abort();
	fclose(in);
	fclose(out);
	return 0;
}
