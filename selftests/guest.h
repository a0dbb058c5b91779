/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest.h: what the swap tests of this directory share.
 *
 * The tests change swap devices, zswap and the THP settings of the whole
 * machine, so they are made for a throw-away guest: guest_start() refuses to
 * run anywhere but on a root file system that lives in memory. A test program
 * needs no clean-up for the same reason, as the guest ends with it; it only
 * undoes what would stand in the way of its own next step.
 *
 * Errors: the helpers that set something up end the program with "Bail out!"
 * and the failing path and value, since no test can mean anything afterwards.
 * The ones that look something up return -1 (a count) or false.
 *
 * Every store and load that a test depends on goes through a volatile access
 * or a library call, so that no optimisation level can drop it.
 */
#ifndef SELFTESTS_GUEST_H
#define SELFTESTS_GUEST_H

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "kselftest.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define GUEST_MIB	(1UL << 20)

#define ZSWAP_PARAM	"/sys/module/zswap/parameters/"
#define ZSWAP_DEBUGFS	"/sys/kernel/debug/zswap"
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage/"
#define ZRAM_CONTROL	"/sys/class/zram-control/"

/* Bits of a /proc/PID/pagemap word, and what the others hold. */
#define PAGEMAP_PRESENT	(1ULL << 63)
#define PAGEMAP_SWAPPED	(1ULL << 62)
#define PAGEMAP_PFN(word)	((word) & ((1ULL << 55) - 1))
#define PAGEMAP_SLOT(word)	(PAGEMAP_PFN(word) >> 5)

static size_t page_size;

/*
 * Kernel files
 */

/* Writes the formatted value; returns 0 or a negative errno. */
static inline __printf(2, 3) int guest_try_write(const char *path,
						  const char *fmt, ...)
{
	char value[256];
	va_list args;
	int fd, len, ret = 0;

	va_start(args, fmt);
	len = vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, len) != len)
		ret = -errno;
	close(fd);
	return ret;
}

/* A number alone in its file, or -1 when there is no such file. */
static inline long guest_read_long(const char *path)
{
	FILE *file = fopen(path, "re");
	long value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* The number behind @key at the start of a line, or -1. */
static inline long guest_read_key(const char *path, const char *key)
{
	size_t key_len = strlen(key);
	FILE *file = fopen(path, "re");
	char line[256];
	long value = -1;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, key_len) || !strchr(" \t:", line[key_len]))
			continue;
		value = strtol(line + key_len + 1, NULL, 10);
		break;
	}
	fclose(file);
	return value;
}

static inline long guest_vmstat(const char *key)
{
	return guest_read_key("/proc/vmstat", key);
}

/*
 * For settings: a test that could not make its setting shows nothing. A macro,
 * so that the compiler checks the format at the place of the call.
 */
#define guest_write(path, fmt, ...) do {				\
	int guest_err = guest_try_write(path, fmt, ##__VA_ARGS__);	\
									\
	if (guest_err)							\
		ksft_exit_fail_msg("%s: cannot write \"" fmt "\": %s\n",\
				   path, ##__VA_ARGS__,			\
				   strerror(-guest_err));		\
} while (0)

/*
 * Start
 */

static inline void guest_start(void)
{
	struct statfs root;

	ksft_print_header();
	page_size = sysconf(_SC_PAGESIZE);
	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (statfs("/", &root))
		ksft_exit_fail_msg("statfs /: %s\n", strerror(errno));
	if (root.f_type != RAMFS_MAGIC && root.f_type != TMPFS_MAGIC)
		ksft_exit_skip("changes swap and disks: runs only in a guest whose root file system is in memory\n");
}

/* Whether @option, the only one there is, was given. */
static inline bool guest_option(int argc, char **argv, const char *option)
{
	if (argc > 2 || (argc == 2 && strcmp(argv[1], option)))
		ksft_exit_fail_msg("'%s': expected %s or nothing\n",
				   argv[argc - 1], option);
	return argc == 2;
}

/*
 * Slots are handed out by CPU: a test that needs them in order stays on one.
 * Threads that it starts stay there too, unless they call this themselves.
 */
static inline void guest_run_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		ksft_exit_fail_msg("cannot run on CPU %u: %s\n", cpu,
				   strerror(errno));
}

/*
 * Swap devices
 */

/*
 * Takes away every swap device, and returns the first one that was a block
 * device in @device (empty when there was none).
 */
static inline void guest_swapoff_all(char *device, size_t len)
{
	char line[512], name[256], type[32];
	FILE *file = fopen("/proc/swaps", "re");

	device[0] = '\0';
	if (!file)
		ksft_exit_fail_msg("/proc/swaps: %s\n", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%255s %31s", name, type) != 2 ||
		    name[0] != '/')
			continue;
		if (swapoff(name))
			ksft_exit_fail_msg("swapoff %s: %s\n", name,
					   strerror(errno));
		if (!device[0] && !strcmp(type, "partition"))
			snprintf(device, len, "%s", name);
	}
	fclose(file);
}

/* The disk to swap to, which is not swapped to any more. */
static inline void guest_take_disk(char *device, size_t len)
{
	guest_swapoff_all(device, len);
	if (!device[0])
		ksft_exit_skip("there is no disk to swap to\n");
}

/*
 * The swap signature, as mkswap writes it, over the start of @path, with @nr_bad
 * slots that are never to be used: 0 and NULL, or as many as fit into a page.
 */
static inline void guest_mkswap_bad(const char *path, size_t size,
				    const uint32_t *bad, size_t nr_bad)
{
	struct {
		char boot[1024];
		uint32_t version;
		uint32_t last_page;
		uint32_t nr_badpages;
		unsigned char uuid[16];
		unsigned char name[16];
		uint32_t padding[117];
	} header = {
		.version = 1,
		.last_page = size / page_size - 1,
		.nr_badpages = nr_bad,
	};
	ssize_t len = nr_bad * sizeof(*bad);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, bad, len, sizeof(header)) != len ||
	    pwrite(fd, "SWAPSPACE2", 10, page_size - 10) != 10 || fsync(fd))
		ksft_exit_fail_msg("%s: cannot write the swap header: %s\n",
				   path, strerror(errno));
	close(fd);
}

static inline void guest_mkswap(const char *path, size_t size)
{
	guest_mkswap_bad(path, size, NULL, 0);
}

static inline void guest_swapon(const char *path)
{
	if (swapon(path, SWAP_FLAG_PREFER | 100))
		ksft_exit_fail_msg("swapon %s: %s\n", path, strerror(errno));
}

static inline void guest_swapoff(const char *path)
{
	if (swapoff(path))
		ksft_exit_fail_msg("swapoff %s: %s\n", path, strerror(errno));
}

/* A new zram device of @size bytes; false when the kernel has no zram. */
static inline bool guest_zram_add(size_t size, char *device, size_t len)
{
	char path[PATH_MAX];
	long id = guest_read_long(ZRAM_CONTROL "hot_add");

	if (id < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/block/zram%ld/disksize", id);
	guest_write(path, "%zu", size);
	snprintf(device, len, "/dev/zram%ld", id);
	return true;
}

/*
 * zswap
 */

/* Whether zswap has been set up since boot, be it enabled or not. */
static inline bool guest_zswap_was_set_up(void)
{
	char value;
	int fd = open(ZSWAP_PARAM "enabled", O_RDONLY | O_CLOEXEC);
	bool enabled = fd >= 0 && read(fd, &value, 1) == 1 && value == 'Y';

	if (fd >= 0)
		close(fd);
	return enabled || !access(ZSWAP_DEBUGFS, F_OK);
}

static inline void guest_zswap_enable(const char *compressor)
{
	if (access(ZSWAP_PARAM "enabled", W_OK))
		ksft_exit_skip("zswap is not configured\n");
	guest_write(ZSWAP_PARAM "compressor", "%s", compressor);
	guest_write(ZSWAP_PARAM "enabled", "1");
}

/* Pages that zswap holds now. Exact, unlike the counters of a cgroup. */
static inline long guest_zswap_stored(void)
{
	long kib = guest_read_key("/proc/meminfo", "Zswapped");

	return kib < 0 ? -1 : kib * 1024 / (long)page_size;
}

/*
 * Large folios
 */

static inline bool guest_thp_size_exists(unsigned int kib)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), THP_DIR "hugepages-%ukB/enabled", kib);
	return !access(path, W_OK);
}

/* Folios of @kib KiB for anonymous memory and no other size; 0 means none. */
static inline void guest_thp_only(unsigned int kib)
{
	char path[PATH_MAX];

	for (unsigned int size = 8; size <= 16384; size *= 2) {
		snprintf(path, sizeof(path), THP_DIR "hugepages-%ukB/enabled",
			 size);
		if (!access(path, W_OK))
			guest_write(path, "%s", size == kib ? "always" : "never");
	}
}

/* A file of hugepages-<kib>kB/stats, or -1 when the kernel has none so named. */
static inline long guest_thp_stat(unsigned int kib, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), THP_DIR "hugepages-%ukB/stats/%s", kib,
		 name);
	return guest_read_long(path);
}

/* Folios of @kib KiB that came back whole, from the device or from zswap. */
static inline long guest_large_swapins(unsigned int kib)
{
	long from_zswap = guest_thp_stat(kib, "zswpin");

	return guest_thp_stat(kib, "swpin") + (from_zswap > 0 ? from_zswap : 0);
}

/*
 * Memory with known contents
 */

/* Aligned for every folio size below the PMD's. */
static inline char *guest_map(size_t size)
{
	size_t align = 2 * GUEST_MIB;
	char *mem, *aligned;

	mem = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap of %zu bytes: %s\n", size,
				   strerror(errno));
	aligned = (char *)(((uintptr_t)mem + align - 1) & ~(align - 1));
	if (aligned > mem)
		munmap(mem, aligned - mem);
	munmap(aligned + size, mem + align - aligned);
	return aligned;
}

/* The number after @x in a random sequence without zeroes. */
static inline uint64_t guest_random(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

/*
 * Page @index of a region or a file: its first half is different for each
 * @seed, page and word, never zero, and its second half is zero, so that it
 * compresses to a little more than half a page.
 */
static inline void guest_page(uint64_t *page, uint32_t seed, uint64_t index)
{
	uint64_t x = ((uint64_t)seed << 40) + index * 0x9e3779b97f4a7c15ULL + 1;

	memset(page, 0, page_size);
	for (size_t i = 0; i < page_size / 2 / sizeof(*page); i++) {
		x = guest_random(x);
		page[i] = x | 1;
	}
}

/* The same, but random all over: no compressor makes it smaller. */
static inline void guest_random_page(uint64_t *page, uint32_t seed,
				     uint64_t index)
{
	uint64_t x = ((uint64_t)seed << 40) + index * 0x9e3779b97f4a7c15ULL + 1;

	for (size_t i = 0; i < page_size / sizeof(*page); i++) {
		x = guest_random(x);
		page[i] = x;
	}
}

static inline void guest_fill(char *mem, size_t size, uint32_t seed)
{
	for (size_t off = 0; off < size; off += page_size)
		guest_page((uint64_t *)(mem + off), seed, off / page_size);
}

/* Whether a byte of page @index, which lies at @mem, differs from guest_page()'s. */
static inline bool guest_page_wrong(const char *mem, uint32_t seed,
				    uint64_t index)
{
	uint64_t want[page_size / sizeof(uint64_t)];

	guest_page(want, seed, index);
	return memcmp(mem, want, page_size);
}

/* The number of pages of which a byte differs from guest_fill()'s. */
static inline size_t guest_count_wrong(const char *mem, size_t size,
				       uint32_t seed)
{
	size_t wrong = 0;

	for (size_t off = 0; off < size; off += page_size)
		wrong += guest_page_wrong(mem + off, seed, off / page_size);
	return wrong;
}

/* The pagemap words of @nr pages of the task @pid, from @mem on. */
static inline void guest_pagemap(pid_t pid, const char *mem, size_t nr,
				 uint64_t *words)
{
	off_t at = (uintptr_t)mem / page_size * sizeof(*words);
	ssize_t len = nr * sizeof(*words);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	if (pread(fd, words, len, at) != len)
		ksft_exit_fail_msg("%s: short read\n", path);
	close(fd);
}

/* The number of pages of @pid's range whose pagemap word has @bits set. */
static inline size_t guest_count_pagemap(pid_t pid, const char *mem,
					 size_t size, uint64_t bits)
{
	size_t left = size / page_size, count = 0;
	uint64_t words[512];

	while (left) {
		size_t nr = left < 512 ? left : 512;

		guest_pagemap(pid, mem, nr, words);
		for (size_t i = 0; i < nr; i++)
			count += !!(words[i] & bits);
		mem += nr * page_size;
		left -= nr;
	}
	return count;
}

/*
 * Pages the range out until none of it is mapped, and returns how many pages
 * still are. A page in another CPU's batch of LRU additions cannot be isolated;
 * dropping clean file pages makes every CPU drain its batches first.
 */
static inline size_t guest_pageout(char *mem, size_t size)
{
	size_t left = size / page_size;

	for (int tries = 0; left && tries < 20; tries++) {
		if (tries)
			guest_write("/proc/sys/vm/drop_caches", "1");
		if (madvise(mem, size, MADV_PAGEOUT))
			ksft_exit_fail_msg("MADV_PAGEOUT: %s\n",
					   strerror(errno));
		left = guest_count_pagemap(getpid(), mem, size, PAGEMAP_PRESENT);
	}
	return left;
}

static inline long guest_major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_majflt;
}

/* One load of every page, in order; returns the major faults that it took. */
static inline long guest_touch(const char *mem, size_t size)
{
	long before = guest_major_faults();

	for (size_t off = 0; off < size; off += page_size)
		(void)*(const volatile char *)(mem + off);
	return guest_major_faults() - before;
}

#endif /* SELFTESTS_GUEST_H */
