// SPDX-License-Identifier: GPL-2.0-only
/*
 * shmem_refused: tmpfs pages that zswap refuses lose nothing.
 *
 * With memory.zswap.writeback=0, a folio of a tmpfs file that cannot be compressed
 * has nowhere to go. It has left the file for the swap cache already when that
 * turns out, and has to go back to its place. Meanwhile others can change the
 * file: what cannot go back as a whole must not be dropped, as its contents are
 * nowhere else.
 *
 * A thread pages a file out, over and over, of which some 64 KiB blocks can be
 * compressed, some cannot, and some only in part. Another punches holes into it,
 * of whole blocks, of parts, and over the blocks' borders, checks them, writes
 * them anew, and reads other pages. A third brings single pages back. All of the
 * file must always be what was written last.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mount.h>
#include <time.h>

#include "guest_cgroup.h"

#define GROUP		"shmem_refused"
#define DIRECTORY	"/tmp/shmem_refused"
#define FILE_SIZE	(4 * GUEST_MIB)
#define NR_PAGES	(FILE_SIZE / page_size)
#define FOLIO_KIB	64
#define FOLIO_PAGES	(FOLIO_KIB * 1024 / page_size)
#define SECONDS		15

static int fd;
static char *mem;
static bool stop;
/* What page i was written with; 0 is a hole. */
static uint32_t *seeds;

static uint64_t random_number(void)
{
	static uint64_t x = 0x853c49e6748fea9b;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void *page_out(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		madvise(mem, FILE_SIZE, MADV_PAGEOUT);
	return NULL;
}

static void *bring_back(void *arg)
{
	char byte;

	(void)arg;
	for (size_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i += 7) {
		if (pread(fd, &byte, 1, i % NR_PAGES * page_size) != 1)
			ksft_print_msg("pread: %s\n", strerror(errno));
	}
	return NULL;
}

/* One block in four can be compressed, and of one in four every other page. */
static bool compressible(size_t page)
{
	size_t block = page / FOLIO_PAGES % 4;

	return block == 0 || (block == 1 && page % 2);
}

static void make_page(uint64_t *page, size_t nr)
{
	if (!seeds[nr])
		memset(page, 0, page_size);
	else if (compressible(nr))
		guest_page(page, seeds[nr], nr);
	else
		guest_random_page(page, seeds[nr], nr);
}

static size_t count_wrong(size_t first, size_t nr)
{
	uint64_t want[page_size / sizeof(uint64_t)];
	uint64_t got[page_size / sizeof(uint64_t)];
	size_t wrong = 0;

	for (size_t i = first; i < first + nr; i++) {
		make_page(want, i);
		if (pread(fd, got, page_size, i * page_size) !=
		    (ssize_t)page_size || memcmp(got, want, page_size))
			wrong++;
	}
	return wrong;
}

/* In large folios, where the range has whole blocks. */
static void write_pages(size_t first, size_t nr, uint32_t seed)
{
	static char buffer[FILE_SIZE];

	for (size_t i = 0; i < nr; i++) {
		seeds[first + i] = seed;
		make_page((uint64_t *)(buffer + i * page_size), first + i);
	}
	if (pwrite(fd, buffer, nr * page_size, first * page_size) !=
	    (ssize_t)(nr * page_size))
		ksft_exit_fail_msg("pwrite: %s\n", strerror(errno));
}

static size_t punch_and_write(uint32_t seed)
{
	size_t first, nr, wrong;

	/* Whole blocks each other time. */
	first = random_number() % NR_PAGES;
	nr = 1 + random_number() % (3 * FOLIO_PAGES);
	if (seed % 2) {
		first -= first % FOLIO_PAGES;
		nr = FOLIO_PAGES;
	}
	if (nr > NR_PAGES - first)
		nr = NR_PAGES - first;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      first * page_size, nr * page_size))
		ksft_exit_fail_msg("hole: %s\n", strerror(errno));
	for (size_t i = first; i < first + nr; i++)
		seeds[i] = 0;
	wrong = count_wrong(first, nr);
	write_pages(first, nr, seed);
	return wrong + count_wrong(random_number() % NR_PAGES, 1);
}

int main(void)
{
	size_t wrong_at_once = 0, wrong_at_last;
	pthread_t pager, reader;
	char device[PATH_MAX];
	time_t end;
	uint32_t seed;
	long stored;

	guest_start();
	guest_zswap_enable("lz4");
	if (!guest_thp_size_exists(FOLIO_KIB))
		ksft_exit_skip("no folios of %d KiB\n", FOLIO_KIB);
	/* A write of 64 KiB makes a folio of this size there. */
	if (mkdir(DIRECTORY, 0700) ||
	    mount("none", DIRECTORY, "tmpfs", 0, "huge=always"))
		ksft_exit_skip("no tmpfs with huge pages: %s\n", strerror(errno));
	guest_cgroup_create(GROUP);
	guest_cgroup_write(GROUP, "memory.zswap.writeback", "0");
	guest_cgroup_move(0, GROUP);

	fd = open(DIRECTORY "/file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, FILE_SIZE))
		ksft_exit_fail_msg("file: %s\n", strerror(errno));
	mem = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seeds = calloc(NR_PAGES, sizeof(*seeds));
	if (mem == MAP_FAILED || !seeds)
		ksft_exit_fail_msg("out of memory\n");
	for (size_t i = 0; i < NR_PAGES; i += FOLIO_PAGES)
		write_pages(i, FOLIO_PAGES, 1);

	ksft_set_plan(3);
	if (pthread_create(&pager, NULL, page_out, NULL) ||
	    pthread_create(&reader, NULL, bring_back, NULL))
		ksft_exit_fail_msg("pthread_create failed\n");
	end = time(NULL) + SECONDS;
	for (seed = 2; time(NULL) < end; seed++) {
		/* Only what is mapped is paged out. */
		guest_touch(mem, FILE_SIZE);
		wrong_at_once += punch_and_write(seed);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(pager, NULL);
	pthread_join(reader, NULL);
	stored = guest_read_key("/proc/vmstat", "zswpout");
	wrong_at_last = count_wrong(0, NR_PAGES);

	ksft_print_msg("%u holes, %ld folios of 64 KiB were made, %ld pages went to zswap, %ld such folios did, %ld pages were refused\n",
		       seed - 2, guest_thp_stat(FOLIO_KIB, "shmem_alloc"), stored,
		       guest_thp_stat(FOLIO_KIB, "zswpout"),
		       guest_read_long(ZSWAP_DEBUGFS "/reject_compress_fail") +
		       guest_read_long(ZSWAP_DEBUGFS "/reject_compress_poor"));
	ksft_print_msg("%zu pages were wrong meanwhile, %zu are at last\n",
		       wrong_at_once, wrong_at_last);
	ksft_test_result(!wrong_at_once, "holes and pages read while others page out\n");
	ksft_test_result(!wrong_at_last, "contents of the file\n");
	guest_cgroup_move(0, "");
	guest_swapoff_all(device, sizeof(device));
	wrong_at_last = count_wrong(0, NR_PAGES);
	ksft_test_result(!wrong_at_last, "contents after swapoff\n");
	ksft_finished();
}
