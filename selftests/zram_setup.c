// SPDX-License-Identifier: GPL-2.0-only
/*
 * zram_setup: setting zswap up must not cost zram its large swap-in.
 *
 * Any write to zswap's "enabled", even of 0, sets zswap up for good. A kernel
 * that asks only "was zswap ever set up?" then brings every page back alone,
 * from whatever swap device. The test counts major faults and large folios of
 * a swap-in from zram before such a write, after a write of 0, and after zswap
 * was enabled and disabled again with nothing stored.
 */
#define _GNU_SOURCE
#include "guest.h"

#define REGION_SIZE	(128 * GUEST_MIB)
#define ZRAM_SIZE	(256 * GUEST_MIB)

static unsigned int folio_kib;
static long nr_folios;

/*
 * Three results: contents, folios, faults. What had not left the swap cache yet
 * does not come from the device, and is not counted.
 */
static void swap_in_from_zram(const char *when, uint32_t seed)
{
	char *mem = guest_map(REGION_SIZE);
	long nr_pages = REGION_SIZE / page_size;
	long folios, faults, pages, resident;
	size_t wrong;

	guest_fill(mem, REGION_SIZE, seed);
	resident = guest_pageout(mem, REGION_SIZE);
	pages = guest_vmstat("pswpin");
	folios = guest_thp_stat(folio_kib, "swpin");
	faults = guest_touch(mem, REGION_SIZE);
	folios = guest_thp_stat(folio_kib, "swpin") - folios;
	pages = guest_vmstat("pswpin") - pages;
	wrong = guest_count_wrong(mem, REGION_SIZE, seed);
	munmap(mem, REGION_SIZE);

	ksft_print_msg("%s: %ld major faults, %ld large folios, %ld of %ld pages from zram\n",
		       when, faults, folios, pages, nr_pages);
	ksft_print_msg("%zu pages wrong, %ld were never paged out\n", wrong,
		       resident);
	ksft_test_result(!wrong, "%s: contents\n", when);
	/* A folio that could not be allocated comes back in parts. */
	ksft_test_result(pages >= nr_pages / 2 &&
			 folios * (nr_pages / nr_folios) >= pages * 9 / 10,
			 "%s: folios come back whole\n", when);
	ksft_test_result(faults <= nr_folios * 2,
			 "%s: one major fault a folio\n", when);
}

int main(void)
{
	char device[PATH_MAX], disk[PATH_MAX];

	guest_start();
	if (access(ZSWAP_PARAM "enabled", W_OK))
		ksft_exit_skip("zswap is not configured\n");
	if (guest_zswap_was_set_up())
		ksft_exit_skip("zswap was set up before: nothing to compare with\n");
	folio_kib = guest_thp_size_exists(1024) ? 1024 : 64;
	if (!guest_thp_size_exists(folio_kib))
		ksft_exit_skip("no folios of 1 MiB or 64 KiB\n");
	nr_folios = REGION_SIZE / 1024 / folio_kib;
	guest_swapoff_all(disk, sizeof(disk));
	if (!guest_zram_add(ZRAM_SIZE, device, sizeof(device)))
		ksft_exit_skip("no zram\n");
	guest_mkswap(device, ZRAM_SIZE);
	guest_swapon(device);
	guest_thp_only(folio_kib);

	ksft_set_plan(9);
	swap_in_from_zram("zswap never set up", 1);
	guest_write(ZSWAP_PARAM "enabled", "0");
	swap_in_from_zram("0 written to enabled", 2);
	guest_write(ZSWAP_PARAM "enabled", "1");
	guest_write(ZSWAP_PARAM "enabled", "0");
	swap_in_from_zram("enabled and disabled", 3);
	ksft_finished();
}
