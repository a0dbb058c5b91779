// SPDX-License-Identifier: GPL-2.0-only
/*
 * zswap_reject: a page that does not compress is counted as that.
 *
 * zswap keeps such a page as it is, so that write-back meets it in its turn. Where
 * write-back is off it refuses the page. debugfs has a counter for pages that the
 * compressor could not make small enough, reject_compress_poor, and one for
 * failures of the compressor, reject_compress_fail; an administrator who sees the
 * second grow looks for a fault that is not there.
 *
 * For each compressor a child pages out random bytes in a group whose parent has
 * write-back off. All of its pages must count as compressed poorly, none as a
 * failure, and none may be stored or reach the disk.
 */
#define _GNU_SOURCE
#include "guest_cgroup.h"

#define GROUP		"zswap_reject"
#define CHILD		GROUP "/child"
#define REGION_SIZE	(4 * GUEST_MIB)

static int child_body(void *arg)
{
	char *mem = guest_map(REGION_SIZE);

	(void)arg;
	for (size_t off = 0; off < REGION_SIZE; off += page_size)
		guest_random_page((uint64_t *)(mem + off), 1, off / page_size);
	guest_child_pause();
	/* Once: a page that is refused stays, and would be refused again. */
	return madvise(mem, REGION_SIZE, MADV_PAGEOUT) ? 2 : 0;
}

static long rejected(const char *why)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ZSWAP_DEBUGFS "/reject_compress_%s", why);
	return guest_read_long(path);
}

static void run(const char *compressor)
{
	long nr_pages = REGION_SIZE / page_size;
	long poor, fail, stored, written;
	int status;
	pid_t pid;

	if (guest_try_write(ZSWAP_PARAM "compressor", "%s", compressor)) {
		ksft_test_result_skip("%s: this kernel was built without the compressor\n",
				      compressor);
		ksft_test_result_skip("%s: this kernel was built without the compressor\n",
				      compressor);
		return;
	}
	guest_cgroup_create(CHILD);
	pid = guest_cgroup_spawn(CHILD, child_body, NULL);
	guest_child_must_pause(guest_child_wait(pid), compressor);
	/* What is in a CPU's batch of LRU additions cannot be paged out. */
	guest_write("/proc/sys/vm/drop_caches", "1");

	poor = rejected("poor");
	fail = rejected("fail");
	stored = guest_vmstat("zswpout");
	written = guest_vmstat("pswpout");
	status = guest_child_next(pid);
	if (!guest_child_exited_well(status))
		ksft_exit_fail_msg("%s: the child failed\n", compressor);
	poor = rejected("poor") - poor;
	fail = rejected("fail") - fail;
	stored = guest_vmstat("zswpout") - stored;
	written = guest_vmstat("pswpout") - written;

	ksft_print_msg("%s: %ld pages: %ld poor, %ld failed, %ld stored, %ld written\n",
		       compressor, nr_pages, poor, fail, stored, written);
	ksft_test_result(poor >= nr_pages * 9 / 10 && !fail,
			 "%s: counted as compressed poorly\n", compressor);
	ksft_test_result(!stored && !written, "%s: refused\n", compressor);
	guest_cgroup_remove(CHILD);
}

int main(void)
{
	guest_start();
	guest_run_on(0);
	guest_zswap_enable("lz4");
	if (rejected("poor") < 0)
		ksft_exit_skip("no debugfs\n");
	guest_thp_only(0);
	guest_cgroup_create_parent(GROUP);
	guest_cgroup_write(GROUP, "memory.zswap.writeback", "0");

	ksft_set_plan(6);
	run("lz4");
	run("lzo");
	run("zstd");
	ksft_finished();
}
