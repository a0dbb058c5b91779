// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_stale: a page that was swapped out zero-filled must come back zero.
 *
 * Swap-out of a zero-filled page only sets a mark on its slot. zswap may still
 * hold an older copy of the slot: a page that was faulted back while its
 * swap-out had not yet left the swap cache keeps slot and compressed copy, and
 * can be written to without a further fault. Unless the copy is dropped when
 * the zero mark is set, the write-back of zswap brings it back into the swap
 * cache, where the next fault finds it.
 *
 * Each round makes such copies (two threads read a mapping while it is paged
 * out), sets all of the mapping to zero and pages it out again. Now zswap must
 * hold nothing of it. Then the pool's limit goes to zero and other memory is
 * paged out, which starts the write-back, while two threads read the mapping:
 * every read must give zero.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "guest.h"

#define REGION_SIZE	(16 * GUEST_MIB)
#define OTHER_SIZE	(2 * GUEST_MIB)
#define NR_READERS	2
/* An unfixed kernel shows both symptoms in the first round or the second. */
#define MAX_ROUNDS	4

static char *region;
static char *other;

struct reader {
	pthread_t thread;
	uint64_t random;
	long nonzero;
};

static bool readers_stop;

static void *read_random_pages(void *arg)
{
	size_t nr_pages = REGION_SIZE / page_size;
	struct reader *reader = arg;
	uint64_t x = reader->random;
	long nonzero = 0;

	while (!__atomic_load_n(&readers_stop, __ATOMIC_RELAXED)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		nonzero += !!*(volatile char *)(region +
						x % nr_pages * page_size);
	}
	reader->random = x;
	reader->nonzero = nonzero;
	return NULL;
}

static void start_readers(struct reader *readers)
{
	__atomic_store_n(&readers_stop, false, __ATOMIC_RELAXED);
	for (int i = 0; i < NR_READERS; i++) {
		int ret = pthread_create(&readers[i].thread, NULL,
					 read_random_pages, &readers[i]);

		if (ret)
			ksft_exit_fail_msg("pthread_create: %s\n", strerror(ret));
	}
}

/* Returns how many of the reads gave something else than zero. */
static long stop_readers(struct reader *readers)
{
	long nonzero = 0;

	__atomic_store_n(&readers_stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < NR_READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		nonzero += readers[i].nonzero;
	}
	return nonzero;
}

/*
 * Leaves the region zero-filled and paged out; returns how many compressed
 * pages are left of it.
 */
static long make_copies(struct reader *readers)
{
	long stored_before = guest_zswap_stored();
	long stored, resident;

	guest_fill(region, REGION_SIZE, 1);
	start_readers(readers);
	for (int i = 0; i < 3; i++)
		madvise(region, REGION_SIZE, MADV_PAGEOUT);
	stop_readers(readers);

	memset(region, 0, REGION_SIZE);
	resident = guest_pageout(region, REGION_SIZE);
	if (resident)
		ksft_print_msg("%ld pages stayed resident\n", resident);

	/* A page that is still mapped may rightly have its older copy yet. */
	stored = guest_zswap_stored() - stored_before - resident;
	return stored > 0 ? stored : 0;
}

/* Returns the reads that gave old bytes while zswap wrote its pages back. */
static long read_during_writeback(struct reader *readers)
{
	long nonzero;

	guest_fill(other, OTHER_SIZE, 2);
	start_readers(readers);
	guest_write(ZSWAP_PARAM "max_pool_percent", "0");
	madvise(other, OTHER_SIZE, MADV_PAGEOUT);
	usleep(300000);
	nonzero = stop_readers(readers);
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	return nonzero;
}

int main(void)
{
	struct reader readers[NR_READERS] = {
		{ .random = 0x1234567 }, { .random = 0x89abcdef },
	};
	long stale_copies = 0, stale_reads = 0;
	int round = 0;

	guest_start();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_exit_skip("needs two CPUs: the readers race with the swap-out\n");
	guest_zswap_enable("lz4");
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	guest_thp_only(0);
	if (guest_zswap_stored() < 0)
		ksft_exit_skip("/proc/meminfo has no Zswapped\n");

	ksft_set_plan(2);
	do {
		long copies, reads;

		region = guest_map(REGION_SIZE);
		other = guest_map(OTHER_SIZE);
		copies = make_copies(readers);
		reads = read_during_writeback(readers);
		munmap(region, REGION_SIZE);
		munmap(other, OTHER_SIZE);

		ksft_print_msg("round %d: %ld copies left in zswap, %ld stale reads\n",
			       ++round, copies, reads);
		stale_copies += copies;
		stale_reads += reads;
	} while (round < MAX_ROUNDS && !(stale_copies && stale_reads));

	ksft_print_msg("%d rounds: %ld copies left in zswap, %ld stale reads\n",
		       round, stale_copies, stale_reads);
	ksft_test_result(!stale_copies,
			 "no compressed copy is left behind a zero-filled page\n");
	ksft_test_result(!stale_reads,
			 "zero-filled pages read as zero during write-back\n");
	ksft_finished();
}
