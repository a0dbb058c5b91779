// SPDX-License-Identifier: GPL-2.0-only
/*
 * shmem_truncate: truncating a file in the middle of a folio that is swapped out
 * ends, keeps what is before the new end and drops what is behind it.
 *
 * At a page boundary a kernel can look for the swapped-out folio behind the new
 * end, find nothing, and start over for ever, because the swap entry that begins
 * before the end is still there. A memfd of one folio is paged out and truncated in
 * a child: at such boundaries and in the middle of a page, in zswap and on the
 * disk; holes are punched likewise. Then the file grows again: all bytes that were
 * dropped must read as zero, all others as they were, and in the end nothing of it
 * may count as swapped out.
 */
#define _GNU_SOURCE
#include <linux/falloc.h>
#include <sys/wait.h>

#include "guest.h"

#define FILE_SIZE	(2 * GUEST_MIB)
#define SEED		11
/* A truncation takes milliseconds. */
#define SECONDS		30

struct cut {
	size_t from;
	size_t to;	/* a hole; FILE_SIZE: truncated */
};

static const struct cut cuts[] = {
	{ FILE_SIZE / 2, FILE_SIZE },
	{ FILE_SIZE / 2 + 4096, FILE_SIZE },
	{ FILE_SIZE / 2 + 100, FILE_SIZE },
	{ 4096, FILE_SIZE },
	{ FILE_SIZE - 4096, FILE_SIZE },
	{ 300 * 4096, FILE_SIZE },
	{ 0, FILE_SIZE },
	{ 64 * 4096, 128 * 4096 },
	{ 5000, FILE_SIZE - 5000 },
};

static int map_file(char **mem)
{
	int fd = memfd_create("shmem_truncate", MFD_CLOEXEC);
	char *area = mmap(NULL, 2 * FILE_SIZE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || area == MAP_FAILED || ftruncate(fd, FILE_SIZE))
		ksft_exit_fail_msg("memfd: %s\n", strerror(errno));
	/* Aligned for a folio that is mapped by one entry of the page table. */
	area += FILE_SIZE - (uintptr_t)area % FILE_SIZE;
	*mem = mmap(area, FILE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, 0);
	if (*mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	return fd;
}

/* In a child, since it may never end; its end by a signal is no end, then. */
static bool cut_ends(int fd, const struct cut *cut)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		if (cut->to == FILE_SIZE)
			_exit(!!ftruncate(fd, cut->from));
		_exit(!!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  cut->from, cut->to - cut->from));
	}
	for (int i = 0; i < SECONDS * 100; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && !WEXITSTATUS(status);
		usleep(10000);
	}
	return false;
}

static size_t count_wrong_bytes(const char *mem, const struct cut *cut)
{
	size_t wrong = 0;
	char *want = malloc(page_size);

	for (size_t at = 0; at < FILE_SIZE; at += page_size) {
		guest_page((uint64_t *)want, SEED, at / page_size);
		for (size_t i = 0; i < page_size; i++) {
			if (at + i >= cut->from && at + i < cut->to)
				want[i] = 0;
			wrong += mem[at + i] != want[i];
		}
	}
	free(want);
	return wrong;
}

/* A page that is being written keeps its slot, whoever frees it. */
static void wait_for_writes(void)
{
	for (int i = 0; i < SECONDS * 100; i++) {
		/* Each CPU's part of the counter, too. */
		guest_write("/proc/sys/vm/stat_refresh", "1");
		if (guest_vmstat("nr_writeback") <= 0)
			return;
		usleep(10000);
	}
	ksft_exit_fail_msg("the folio is still being written\n");
}

static bool test_cut(const struct cut *cut, const char *where)
{
	long free_before, swpout;
	size_t resident, wrong;
	bool ends;
	char *mem;
	int fd;

	free_before = guest_read_key("/proc/meminfo", "SwapFree");
	fd = map_file(&mem);
	guest_fill(mem, FILE_SIZE, SEED);
	swpout = guest_thp_stat(FILE_SIZE / 1024, "swpout") +
		 guest_thp_stat(FILE_SIZE / 1024, "zswpout");
	resident = guest_pageout(mem, FILE_SIZE);
	swpout = guest_thp_stat(FILE_SIZE / 1024, "swpout") +
		 guest_thp_stat(FILE_SIZE / 1024, "zswpout") - swpout;
	if (resident || swpout != 1)
		ksft_exit_fail_msg("%zu pages are still there, %ld folios went out whole\n",
				   resident, swpout);
	wait_for_writes();
	ends = cut_ends(fd, cut);
	if (!ends) {
		ksft_test_result_fail("%s: bytes %zu to %zu: ends\n", where,
				      cut->from, cut->to);
		return false;
	}
	if (ftruncate(fd, FILE_SIZE))
		ksft_exit_fail_msg("ftruncate: %s\n", strerror(errno));
	wrong = count_wrong_bytes(mem, cut);
	munmap(mem, FILE_SIZE);
	close(fd);
	if (wrong)
		ksft_print_msg("%zu bytes are wrong\n", wrong);
	ksft_test_result(!wrong &&
			 guest_read_key("/proc/meminfo", "SwapFree") >= free_before,
			 "%s: bytes %zu to %zu: ends, contents, swap freed\n",
			 where, cut->from, cut->to);
	return true;
}

int main(void)
{
	bool go_on = true;

	guest_start();
	if (!guest_thp_size_exists(FILE_SIZE / 1024))
		ksft_exit_skip("no folios of 2 MiB\n");
	guest_run_on(0);
	guest_write(THP_DIR "shmem_enabled", "always");
	guest_write(ZSWAP_PARAM "compressor", "lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");

	ksft_set_plan(2 * ARRAY_SIZE(cuts));
	for (int zswap = 1; zswap >= 0; zswap--) {
		const char *where = zswap ? "zswap" : "disk";

		guest_write(ZSWAP_PARAM "enabled", "%d", zswap);
		for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
			/* What hangs keeps its file, and a CPU. */
			if (go_on)
				go_on = test_cut(&cuts[i], where);
			else
				ksft_test_result_fail("%s: bytes %zu to %zu: not tried after a hang\n",
						      where, cuts[i].from, cuts[i].to);
		}
	}
	ksft_finished();
}
