// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of the kernel with any bytes: the first byte chooses the file of a
 * cgroup or of the system that has them, all others are good. Whatever stands
 * there, a tick is made and the law decides on it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../../zfoliod/control.h"
#include "../../zfoliod/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *name, *text;
} files[] = {
	{ "cg/a/memory.stat", "zswap 1048576\nzswapped 4194304\nzswpin 1\n" },
	{ "cg/a/memory.swap.current", "8388608\n" },
	{ "cg/a/memory.current", "8388608\n" },
	{ "cg/a/memory.zswap.max", "max\n" },
	{ "cg/a/memory.zswap.writeback", "1\n" },
	{ "cg/a/memory.zswap.swapin_max", "max\n" },
	{ "cg/a/memory.pressure", "some avg10=0.00 total=1\n" },
	{ "cg/a/io.pressure", "some avg10=0.00 total=1\n" },
	{ "cg/a/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n" },
	{ "proc/swaps", "Filename\n/dev/sda partition 8 4 -1\n" },
	{ "proc/meminfo", "MemTotal: 4096 kB\nZswap: 1024 kB\n" },
	{ "proc/vmstat", "pswpout 5\n" },
	{ "sys/class/block/sda/stat", "1 2 3 4 5 6 7 8\n" },
	{ "sys/class/block/sda/dev", "8:0\n" },
	{ "sys/module/zswap/parameters/max_pool_percent", "20\n" },
	{ "sys/kernel/mm/transparent_hugepage/enabled", "[always]\n" },
	{ "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
	  "[inherit]\n" },
};

#define NR_FILES (sizeof(files) / sizeof(files[0]))

static void write_file(int root, const char *name, const void *data,
		       size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s", name);
	for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdirat(root, path, 0755);
		*p = '/';
	}
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zf_path *root, *cgroups;
	static struct config *config;
	_cleanup_(sampler_freep) struct sampler *sampler = NULL;
	_cleanup_(control_freep) struct control *control = NULL;
	_cleanup_(cgtree_freep) struct cgtree *tree = NULL;
	_cleanup_free_ char *error = NULL;
	const struct decision *decisions;
	const struct tick *tick;
	size_t nr, chosen;

	if (!root) {
		/* In memory: each run writes files. */
		char dir[] = "/dev/shm/zfolio-fuzz-XXXXXX";

		if (!mkdtemp(dir) || zf_path_open(dir, &root) < 0)
			abort();
		for (size_t i = 0; i < NR_FILES; i++)
			write_file(zf_path_fd(root), files[i].name,
				   files[i].text, strlen(files[i].text));
		if (zf_path_open_at(root, "cg", &cgroups) < 0 ||
		    config_load_file("/dev/null", &config, &error) < 0)
			abort();
	}
	if (!size)
		return 0;
	if (cgtree_new(cgroups, config, &tree) < 0 ||
	    sampler_new(root, &sampler) < 0 || control_new(&control) < 0 ||
	    cgtree_rescan(tree) < 0)
		abort();
	sampler_set_knobs(sampler, KNOB_BIT(NR_KNOBS) - 1);
	chosen = data[0] % NR_FILES;
	for (int i = 0; i < 3; i++) {
		/* Good, then the bytes, then good again. */
		if (i == 1)
			write_file(zf_path_fd(root), files[chosen].name,
				   data + 1, size - 1);
		else
			write_file(zf_path_fd(root), files[chosen].name,
				   files[chosen].text,
				   strlen(files[chosen].text));
		sampler_look_around(sampler);
		if (sampler_tick(sampler, tree, config, i * 2000000, &tick) < 0 ||
		    control_tick(control, config_settings(config), tick,
				 &decisions, &nr) < 0)
			abort();
	}
	return 0;
}
