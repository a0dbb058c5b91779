// SPDX-License-Identifier: GPL-2.0-only
/*
 * shmem_poison: a page of a tmpfs file that swap could not give back leaves the
 * file's counters once.
 *
 * Such a page is marked in the file, so that reading it fails from then on. It
 * counts neither as allocated nor as swapped any more. When the mark goes away,
 * with a hole or the file's end, there is nothing left to subtract: a kernel
 * that takes the page off the count of swapped pages again leaves that below
 * zero, and the blocks of the file and of the file system with it. Where the
 * count reaches zero too early, swapoff believes that the file has nothing in
 * swap, and looks for its pages for ever.
 *
 * To be run on a disk with bad sectors in its first AREA_SIZE bytes (--bad-sectors
 * of vm/run). A tmpfs file is swapped out and read back, without readahead. Then
 * its marks are punched out, pages written anew, and so on; after each step the
 * counters are compared with what the file has.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mount.h>

#include "guest_disk.h"

#define AREA_SIZE	(4 * GUEST_MIB)
#define FILE_SIZE	(3 * GUEST_MIB)
#define NR_PAGES	(FILE_SIZE / page_size)
#define SEED		1

/* Far more than a swapoff of AREA_SIZE takes on a busy machine. */
#define SWAPOFF_SECONDS	20

#define DIRECTORY	"/tmp/shmem_poison"

static char device[PATH_MAX];
static int fd;
static char *mem;

/*
 * "Swap:" of the mapping, in pages: as it covers all of the file, this is the
 * file's own count of its swapped pages.
 */
static long mapping_swap(void)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	bool ours = false;
	char line[512];
	long kib = -1;

	if (!file)
		ksft_exit_fail_msg("/proc/self/smaps: %s\n", strerror(errno));
	while (kib < 0 && fgets(line, sizeof(line), file)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			ours = start == (unsigned long)mem;
		else if (ours)
			sscanf(line, "Swap: %ld kB", &kib);
	}
	fclose(file);
	if (kib < 0)
		ksft_exit_fail_msg("smaps has no Swap: of the mapping\n");
	return kib * 1024 / (long)page_size;
}

static long file_pages(void)
{
	struct stat status;

	if (fstat(fd, &status))
		ksft_exit_fail_msg("fstat: %s\n", strerror(errno));
	return (long)status.st_blocks * 512 / (long)page_size;
}

static long fs_pages(void)
{
	struct statfs status;

	if (statfs(DIRECTORY, &status))
		ksft_exit_fail_msg("statfs: %s\n", strerror(errno));
	return (long)(status.f_blocks - status.f_bfree);
}

/* One point: the three counts, after @step. */
static void check_counts(const char *step, long swapped, long allocated)
{
	long swap = mapping_swap(), file = file_pages(), fs = fs_pages();

	ksft_print_msg("%s: %ld pages swapped of %ld, %ld in the file and %ld in the file system of %ld\n",
		       step, swap, swapped, file, fs, allocated);
	ksft_test_result(swap == swapped && file == allocated &&
			 fs == allocated, "%s: the counts are right\n", step);
}

/* Pages from @from on, each written if it is not there, to the disk. */
static void swap_out(size_t from, size_t nr)
{
	char *start = mem + from * page_size;
	long before = guest_swap_used(), left;

	guest_enter_reclaim_cgroup();
	guest_fill(start, nr * page_size, SEED);
	guest_leave_reclaim_cgroup();
	left = guest_pageout(start, nr * page_size);
	left += guest_empty_swap_cache();
	if (left || guest_swap_used() != before + (long)nr)
		ksft_exit_fail_msg("%ld pages are in memory, %ld slots in use of %ld\n",
				   left, guest_swap_used(), before + (long)nr);
}

/* Reads pages from @from on; sets and returns the number of marked[] ones. */
static size_t read_pages(size_t from, size_t nr, bool *marked)
{
	char page[page_size];
	size_t count = 0;

	for (size_t i = from; i < from + nr; i++) {
		marked[i] = pread(fd, page, page_size, i * page_size) < 0;
		if (marked[i] && errno != EIO)
			ksft_exit_fail_msg("read of page %zu: %s\n", i,
					   strerror(errno));
		count += marked[i];
	}
	return count;
}

static void punch(size_t from, size_t nr)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      from * page_size, nr * page_size))
		ksft_exit_fail_msg("hole: %s\n", strerror(errno));
}

static void ignore(int sig)
{
	(void)sig;
}

/* Returns whether it ended; a signal ends one that does not. */
static bool swapoff_ends(void)
{
	struct sigaction action = { .sa_handler = ignore };
	int ret;

	sigaction(SIGALRM, &action, NULL);
	alarm(SWAPOFF_SECONDS);
	ret = swapoff(device);
	alarm(0);
	if (ret && errno != EINTR)
		ksft_exit_fail_msg("swapoff: %s\n", strerror(errno));
	return !ret;
}

int main(void)
{
	size_t nr_marked;
	bool *marked;
	bool ended;

	guest_disk_start(device, sizeof(device));
	marked = calloc(NR_PAGES, sizeof(*marked));
	if (!marked)
		ksft_exit_fail_msg("out of memory\n");
	guest_run_on(0);
	guest_write("/proc/sys/vm/page-cluster", "0");
	guest_mkswap(device, AREA_SIZE);
	guest_swapon(device);

	/* A file system of its own, so that it counts nobody else's pages. */
	if (mkdir(DIRECTORY, 0700) || mount("none", DIRECTORY, "tmpfs", 0, "size=64M"))
		ksft_exit_fail_msg("tmpfs on " DIRECTORY ": %s\n", strerror(errno));
	fd = open(DIRECTORY "/file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, FILE_SIZE))
		ksft_exit_fail_msg(DIRECTORY "/file: %s\n", strerror(errno));
	mem = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));

	swap_out(0, NR_PAGES);
	nr_marked = read_pages(0, NR_PAGES, marked);
	if (!nr_marked)
		ksft_exit_skip("no bad sector under the file's pages on %s\n", device);
	ksft_print_msg("%zu of %zu pages could not be read\n", nr_marked, NR_PAGES);

	/* Whether a mark itself counts as anything is not for a test to say. */
	ksft_print_msg("with the marks: %ld pages swapped, %ld in the file and %ld in the file system\n",
		       mapping_swap(), file_pages(), fs_pages());

	ksft_set_plan(5);
	for (size_t i = 0; i < NR_PAGES; i++)
		if (marked[i])
			punch(i, 1);
	check_counts("holes in their place", 0, NR_PAGES - nr_marked);

	/*
	 * As many swapped pages as there were marks, so that a count that lost
	 * the marks twice is zero. The file has no others, which reclaim could
	 * take along.
	 */
	punch(0, NR_PAGES);
	swap_out(0, nr_marked);
	check_counts("some pages in swap again", nr_marked, nr_marked);
	ended = swapoff_ends();
	if (!ended)
		ksft_print_msg("swapoff was still at it after %d s, %ld pages were left\n",
			       SWAPOFF_SECONDS, guest_swap_used());
	ksft_test_result(ended, "swapoff finds them\n");

	if (ended)
		guest_swapon(device);
	/* Not through the mapping: what cannot be read again is a hole first. */
	punch(0, NR_PAGES);
	swap_out(0, NR_PAGES);
	nr_marked = read_pages(0, NR_PAGES / 2, marked);
	ksft_print_msg("%zu pages of the first half could not be read\n", nr_marked);
	if (ftruncate(fd, 0))
		ksft_exit_fail_msg("ftruncate: %s\n", strerror(errno));
	check_counts("emptied with marks and swapped pages in it", 0, 0);

	close(fd);
	munmap(mem, FILE_SIZE);
	unlink(DIRECTORY "/file");
	ksft_print_msg("%ld pages in the empty file system, %ld in swap\n",
		       fs_pages(), guest_swap_used());
	ksft_test_result(!fs_pages() && !guest_swap_used(),
			 "nothing is left without the file\n");
	ksft_finished();
}
