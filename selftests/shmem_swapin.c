// SPDX-License-Identifier: GPL-2.0-only
/*
 * shmem_swapin: large folios of shared memory come back from zswap with the right
 * contents, whatever is done to the file meanwhile.
 *
 * The files are a memfd, System V shared memory, and files on tmpfs with
 * huge=always, within_size and advise; the swap device is zram, from which any
 * kernel may bring back large folios, or the guest's disk, zswap in front of it.
 *
 * First each file is paged out and read again: contents, and whether as many
 * large folios of each size come back from zswap as went there, where the kernel
 * counts them.
 *
 * Then one thread changes a file: it punches holes, truncates and extends, writes,
 * and compares pages with what was last written there. A second pages parts of the
 * file out all the time, a third reads it, and a fourth takes the device away and
 * brings it back, while there is another one to go to. A page holds its own number,
 * so that the reader sees at once when it is another page's. When all swap is gone
 * at last, all of the file is compared, no page may count as swapped any more, the
 * file's blocks must be its pages, and zswap must be empty.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <time.h>

#include "guest.h"

#define DIRECTORY	"/tmp/shmem_swapin"
#define FILE_SIZE	(8 * GUEST_MIB)
#define NR_PAGES	(FILE_SIZE / page_size)
#define ZRAM_SIZE	(64 * GUEST_MIB)
#define BLOCK_KIB	64
#define BLOCK_PAGES	(BLOCK_KIB * 1024 / page_size)
/* A race goes on for as many changes, on a busy machine or an idle one. */
#define RACE_CHANGES	100
#define RACE_SECONDS	30	/* at most */
#define PAGE_OUT_PAGES	256	/* at a time */
#define SEED		0x2545f491

/* The device under test comes before the other one. */
#define FIRST_PRIORITY	200

/*
 * Files
 */

enum kind { MEMFD, SYSV, TMPFS_ALWAYS, TMPFS_WITHIN_SIZE, TMPFS_ADVISE, NR_KINDS };

static const char *const kind_name[] = {
	[MEMFD] = "memfd",
	[SYSV] = "System V",
	[TMPFS_ALWAYS] = "tmpfs huge=always",
	[TMPFS_WITHIN_SIZE] = "tmpfs huge=within_size",
	[TMPFS_ADVISE] = "tmpfs huge=advise",
};

static const char *const mount_option[] = {
	[TMPFS_ALWAYS] = "huge=always",
	[TMPFS_WITHIN_SIZE] = "huge=within_size",
	[TMPFS_ADVISE] = "huge=advise",
};

struct file {
	enum kind kind;
	int fd;		/* -1 for System V */
	int id;		/* of System V */
	char *mem;
	/* What each page was written with; 0 is a hole. */
	uint32_t *seeds;
};

/*
 * A memfd goes by the settings of each size, for faults: 64 KiB and no other. All
 * others try a PMD first: System V where the setting of all sizes, "always", is
 * on, and tmpfs by its mount option.
 */
static void enable_folios(enum kind kind)
{
	char path[PATH_MAX];

	guest_write(THP_DIR "shmem_enabled", "%s",
		    kind == SYSV ? "always" : "never");
	for (unsigned int kib = 8; kib <= 2048; kib *= 2) {
		snprintf(path, sizeof(path),
			 THP_DIR "hugepages-%ukB/shmem_enabled", kib);
		if (!access(path, W_OK))
			guest_write(path, "%s", kib == BLOCK_KIB ? "always" :
				    "never");
	}
}

static bool file_open(struct file *file, enum kind kind)
{
	char *place = guest_map(FILE_SIZE);

	*file = (struct file){ .kind = kind, .fd = -1, .id = -1 };
	file->seeds = calloc(NR_PAGES, sizeof(*file->seeds));
	if (!file->seeds)
		ksft_exit_fail_msg("out of memory\n");
	enable_folios(kind);
	if (kind == SYSV) {
		file->id = shmget(IPC_PRIVATE, FILE_SIZE, IPC_CREAT | 0600);
		if (file->id < 0 && errno == ENOSYS)
			return false;
		if (file->id < 0)
			ksft_exit_fail_msg("shmget: %s\n", strerror(errno));
		file->mem = shmat(file->id, place, SHM_REMAP);
		if (file->mem == (void *)-1)
			ksft_exit_fail_msg("shmat: %s\n", strerror(errno));
		/* It goes with the last process that has it attached. */
		shmctl(file->id, IPC_RMID, NULL);
		return true;
	}
	if (kind == MEMFD) {
		file->fd = memfd_create("shmem_swapin", MFD_CLOEXEC);
	} else {
		if (mount("none", DIRECTORY, "tmpfs", 0, mount_option[kind])) {
			/* It knows no huge= without large folios in tmpfs. */
			if (errno == EINVAL)
				return false;
			ksft_exit_fail_msg("mount: %s\n", strerror(errno));
		}
		file->fd = open(DIRECTORY "/file",
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (file->fd < 0 || ftruncate(file->fd, FILE_SIZE))
		ksft_exit_fail_msg("%s: %s\n", kind_name[kind], strerror(errno));
	file->mem = mmap(place, FILE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, file->fd, 0);
	if (file->mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	if (kind == TMPFS_ADVISE && madvise(file->mem, FILE_SIZE, MADV_HUGEPAGE))
		ksft_exit_fail_msg("MADV_HUGEPAGE: %s\n", strerror(errno));
	return true;
}

static void file_close(struct file *file)
{
	if (file->kind == SYSV)
		shmdt(file->mem);
	else
		munmap(file->mem, FILE_SIZE);
	if (file->fd >= 0)
		close(file->fd);
	if (file->kind >= TMPFS_ALWAYS) {
		unlink(DIRECTORY "/file");
		/* khugepaged, for one, may hold the file for a moment. */
		for (int tries = 0; umount(DIRECTORY); tries++) {
			if (errno != EBUSY || tries == 500)
				ksft_exit_fail_msg("umount: %s\n",
						   strerror(errno));
			usleep(10000);
		}
	}
	free(file->seeds);
}

static bool large_by_store(enum kind kind)
{
	return kind != TMPFS_ALWAYS && kind != TMPFS_WITHIN_SIZE;
}

/* A page says which one it is in its first word. */
static void make_page(uint64_t *page, uint32_t seed, size_t nr)
{
	if (!seed) {
		memset(page, 0, page_size);
		return;
	}
	guest_page(page, seed, nr);
	page[0] = (uint64_t)seed << 32 | (nr + 1);
}

/* Through the file, in blocks, or through the mapping. */
static void write_pages(struct file *file, size_t first, size_t nr,
			uint32_t seed, bool by_store)
{
	static char buffer[64 << 10];

	for (size_t i = first; i < first + nr; i++)
		file->seeds[i] = seed;
	for (size_t run; nr; first += run, nr -= run) {
		/* Up to the next multiple of a block. */
		run = BLOCK_PAGES - first % BLOCK_PAGES;
		if (run > nr)
			run = nr;
		for (size_t i = 0; i < run; i++)
			make_page((uint64_t *)(buffer + i * page_size), seed,
				  first + i);
		if (by_store || file->fd < 0)
			memcpy(file->mem + first * page_size, buffer,
			       run * page_size);
		else if (pwrite(file->fd, buffer, run * page_size,
				first * page_size) != (ssize_t)(run * page_size))
			ksft_exit_fail_msg("pwrite: %s\n", strerror(errno));
	}
}

static size_t count_wrong(const struct file *file, size_t first, size_t nr)
{
	uint64_t want[page_size / sizeof(uint64_t)];
	size_t wrong = 0;

	for (size_t i = first; i < first + nr; i++) {
		make_page(want, file->seeds[i], i);
		wrong += !!memcmp(file->mem + i * page_size, want, page_size);
	}
	return wrong;
}

/* Pages that are in the page cache or the swap cache. */
static size_t count_in_core(const struct file *file)
{
	static unsigned char in_core[FILE_SIZE / 4096];
	size_t count = 0;

	if (mincore(file->mem, FILE_SIZE, in_core))
		ksft_exit_fail_msg("mincore: %s\n", strerror(errno));
	for (size_t i = 0; i < NR_PAGES; i++)
		count += in_core[i] & 1;
	return count;
}

/* Only what is mapped is paged out; a large folio stays when a page of it is used. */
static size_t file_page_out(struct file *file)
{
	unsigned char in_core;
	size_t left = 0;

	for (int tries = 0; tries < 20; tries++) {
		if (tries)
			guest_write("/proc/sys/vm/drop_caches", "1");
		for (size_t i = 0; i < NR_PAGES; i++) {
			char *page = file->mem + i * page_size;

			if (!mincore(page, page_size, &in_core) && in_core & 1)
				(void)*(volatile char *)page;
		}
		if (madvise(file->mem, FILE_SIZE, MADV_PAGEOUT))
			ksft_exit_fail_msg("MADV_PAGEOUT: %s\n", strerror(errno));
		left = count_in_core(file);
		if (!left)
			break;
	}
	return left;
}

/*
 * Out and in again
 */

/* Pages in folios of 16 KiB to 2 MiB that a counter of each size has counted. */
static long pages_in_folios(const char *stat, long *ret_per_size)
{
	long pages = 0;
	int i = 0;

	for (unsigned int kib = 16; kib <= 2048; kib *= 2, i++) {
		ret_per_size[i] = guest_thp_stat(kib, stat);
		if (ret_per_size[i] > 0)
			pages += ret_per_size[i] * (long)(kib * 1024 / page_size);
	}
	return pages;
}

/* Two results: contents, and large folios. */
static void test_whole(enum kind kind, const char *device)
{
	long out[8], in[8], out_pages, in_pages, faults;
	struct file file;
	size_t left, wrong;

	if (!file_open(&file, kind)) {
		ksft_test_result_skip("%s, %s: contents: not in this kernel\n",
				      kind_name[kind], device);
		ksft_test_result_skip("%s, %s: large folios: not in this kernel\n",
				      kind_name[kind], device);
		return;
	}
	out_pages = pages_in_folios("zswpout", out);
	in_pages = pages_in_folios("zswpin", in);
	write_pages(&file, 0, NR_PAGES, kind + 1, large_by_store(kind));
	left = file_page_out(&file);
	out_pages = pages_in_folios("zswpout", out) - out_pages;
	faults = guest_touch(file.mem, FILE_SIZE);
	in_pages = pages_in_folios("zswpin", in) - in_pages;
	wrong = count_wrong(&file, 0, NR_PAGES);
	ksft_print_msg("%s, %s: %ld of %lu pages went to zswap in large folios, %ld came back so, with %ld major faults; %zu stayed, %zu are wrong\n",
		       kind_name[kind], device, out_pages, NR_PAGES, in_pages,
		       faults, left, wrong);
	ksft_test_result(!wrong, "%s, %s: contents\n", kind_name[kind], device);
	if (in[0] < 0)
		ksft_test_result_skip("%s, %s: large folios: this kernel does not count them\n",
				      kind_name[kind], device);
	else
		/* One that could not be allocated comes back in parts. */
		ksft_test_result(out_pages && in_pages >= out_pages * 9 / 10,
				 "%s, %s: large folios\n", kind_name[kind],
				 device);
	file_close(&file);
}

/*
 * The race
 */

static struct file race_file;
static bool stop;
static __thread sigjmp_buf beyond_end;
/* What the threads counted; read when they have ended. */
static unsigned long page_outs, reads, foreign, ends, swapoffs;

static void on_sigbus(int signal)
{
	(void)signal;
	siglongjmp(beyond_end, 1);
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *page_out_thread(void *arg)
{
	uint64_t x = SEED;

	(void)arg;
	while (!stopped()) {
		size_t first;

		x = guest_random(x);
		first = x % (NR_PAGES - PAGE_OUT_PAGES);
		madvise(race_file.mem + first * page_size,
			PAGE_OUT_PAGES * page_size, MADV_PAGEOUT);
		page_outs++;
		/* Others need the CPUs too. */
		usleep(1000);
	}
	return NULL;
}

/* The first word of a page, by a load or a call of read; 0 beyond the end. */
static uint64_t read_word(size_t nr, bool by_load)
{
	uint64_t word;

	if (by_load || race_file.fd < 0)
		return *(volatile uint64_t *)(race_file.mem + nr * page_size);
	if (pread(race_file.fd, &word, sizeof(word), nr * page_size) !=
	    sizeof(word))
		return 0;
	return word;
}

static bool is_foreign(uint64_t word, size_t nr)
{
	return word && (word & 0xffffffff) != nr + 1;
}

/* By turns at random and page after page. */
static void *read_thread(void *arg)
{
	/* They must have kept their values when a signal has ended a step. */
	volatile uint64_t x = SEED;
	volatile size_t nr = 0;

	(void)arg;
	while (!stopped()) {
		uint64_t word, again;

		if (reads % 256 == 0)
			usleep(1000);
		x = guest_random(x);
		nr = x % 8 ? (nr + 1) % NR_PAGES : x / 8 % NR_PAGES;
		if (sigsetjmp(beyond_end, 1)) {
			/* The file ends before this page just now. */
			ends++;
			continue;
		}
		word = read_word(nr, x % 3);
		reads++;
		/*
		 * A word that is being written can be seen with some of its
		 * bytes: emulated string instructions copy them one by one.
		 * What another page has left here stays.
		 */
		while (is_foreign(word, nr)) {
			usleep(1000);
			again = read_word(nr, x % 3);
			if (again == word) {
				ksft_print_msg("page %zu has %#lx\n", nr,
					       (unsigned long)word);
				foreign++;
				break;
			}
			word = again;
		}
	}
	return NULL;
}

static void swap_first(const char *device)
{
	if (swapon(device, SWAP_FLAG_PREFER | FIRST_PRIORITY))
		ksft_exit_fail_msg("swapon %s: %s\n", device, strerror(errno));
}

static void *swapoff_thread(void *arg)
{
	const char *device = arg;

	while (!stopped()) {
		guest_swapoff(device);
		swapoffs++;
		swap_first(device);
		usleep(100000);
	}
	return NULL;
}

static void punch(struct file *file, size_t first, size_t nr)
{
	int err;

	if (file->fd >= 0)
		err = fallocate(file->fd,
				FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				first * page_size, nr * page_size);
	else
		err = madvise(file->mem + first * page_size, nr * page_size,
			      MADV_REMOVE);
	if (err)
		ksft_exit_fail_msg("hole: %s\n", strerror(errno));
	for (size_t i = first; i < first + nr; i++)
		file->seeds[i] = 0;
}

/* Cuts the file off at a place that need not be a page's border, and extends it. */
static void cut_off(struct file *file, size_t first, size_t rest)
{
	off_t end = first * page_size + rest;

	if (ftruncate(file->fd, end) || ftruncate(file->fd, FILE_SIZE))
		ksft_exit_fail_msg("ftruncate: %s\n", strerror(errno));
	for (size_t i = first; i < NR_PAGES; i++)
		file->seeds[i] = 0;
}

/* One change; returns the number of wrong pages that were seen. */
static size_t change(struct file *file, uint64_t *random, uint32_t seed)
{
	size_t first, nr, wrong;

	*random = guest_random(*random);
	first = *random % NR_PAGES;
	*random = guest_random(*random);
	nr = 1 + *random % (3 * BLOCK_PAGES);
	if (seed % 3 == 0) {
		/* A whole block. */
		first -= first % BLOCK_PAGES;
		nr = BLOCK_PAGES;
	}
	if (nr > NR_PAGES - first)
		nr = NR_PAGES - first;

	wrong = count_wrong(file, first, nr);
	if (seed % 32 == 1 && file->fd >= 0) {
		/* A page that is cut is written anew below, before it is read. */
		nr = NR_PAGES - first;
		cut_off(file, first, *random % 2 ? 100 : 0);
		wrong += count_wrong(file, first + 1, nr - 1);
	} else if (seed % 4) {
		punch(file, first, nr);
		wrong += count_wrong(file, first, nr);
	}
	write_pages(file, first, nr, seed, *random % 2);
	return wrong;
}

static long swapped_pages(void)
{
	return guest_read_key("/proc/self/smaps_rollup", "Swap") * 1024 /
	       (long)page_size;
}

/* Three results. */
static void test_race(enum kind kind, const char *device, const char *other)
{
	void *(*const body[])(void *) = {
		page_out_thread, read_thread, swapoff_thread,
	};
	pthread_t threads[ARRAY_SIZE(body)];
	size_t wrong = 0, last_wrong, in_core;
	long in[8], in_pages, swapped, stored;
	struct file *file = &race_file;
	uint64_t random = SEED;
	struct stat status;
	char first[PATH_MAX];
	time_t end;
	uint32_t seed;
	bool right;

	if (!file_open(file, kind)) {
		for (int i = 0; i < 3; i++)
			ksft_test_result_skip("%s, %s: not in this kernel\n",
					      kind_name[kind], device);
		return;
	}
	guest_swapon(other);
	page_outs = reads = foreign = ends = swapoffs = 0;
	in_pages = pages_in_folios("zswpin", in);
	write_pages(file, 0, NR_PAGES, 1, large_by_store(kind));
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (size_t i = 0; i < ARRAY_SIZE(body); i++)
		if (pthread_create(&threads[i], NULL, body[i], (void *)device))
			ksft_exit_fail_msg("pthread_create failed\n");
	end = time(NULL) + RACE_SECONDS;
	for (seed = 2; seed < 2 + RACE_CHANGES && time(NULL) < end; seed++)
		wrong += change(file, &random, seed);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < ARRAY_SIZE(body); i++)
		pthread_join(threads[i], NULL);
	in_pages = pages_in_folios("zswpin", in) - in_pages;

	ksft_print_msg("%s, %s: %u changes, %lu page-outs, %lu reads (%lu beyond the end), %lu swapoffs; %ld pages came back in large folios\n",
		       kind_name[kind], device, seed - 2, page_outs, reads, ends,
		       swapoffs, in_pages);
	ksft_print_msg("%zu pages were wrong, %lu were another's\n", wrong,
		       foreign);
	ksft_test_result(!wrong && !foreign, "%s, %s: contents meanwhile\n",
			 kind_name[kind], device);

	guest_swapoff_all(first, sizeof(first));
	swapped = swapped_pages();
	last_wrong = count_wrong(file, 0, NR_PAGES);
	ksft_print_msg("%zu pages are wrong at last, %ld count as swapped\n",
		       last_wrong, swapped);
	ksft_test_result(!last_wrong, "%s, %s: contents without swap\n",
			 kind_name[kind], device);
	right = !swapped;
	if (file->fd >= 0) {
		in_core = count_in_core(file);
		if (fstat(file->fd, &status))
			ksft_exit_fail_msg("fstat: %s\n", strerror(errno));
		if ((size_t)status.st_blocks != in_core * page_size / 512) {
			ksft_print_msg("%lu blocks for %zu pages\n",
				       (unsigned long)status.st_blocks, in_core);
			right = false;
		}
	}
	file_close(file);
	stored = guest_zswap_stored();
	if (stored)
		ksft_print_msg("zswap holds %ld pages\n", stored);
	ksft_test_result(right && !stored, "%s, %s: nothing is left in swap\n",
			 kind_name[kind], device);
	swap_first(device);
}

int main(void)
{
	static const enum kind racing[] = { MEMFD, SYSV, TMPFS_ALWAYS };
	struct sigaction action = { .sa_handler = on_sigbus };
	char disk[PATH_MAX], zram[PATH_MAX];
	const char *devices[2];

	guest_start();
	guest_zswap_enable("lz4");
	if (!guest_thp_size_exists(BLOCK_KIB))
		ksft_exit_skip("no folios of %d KiB\n", BLOCK_KIB);
	guest_take_disk(disk, sizeof(disk));
	if (!guest_zram_add(ZRAM_SIZE, zram, sizeof(zram)))
		ksft_exit_skip("no zram\n");
	guest_mkswap(zram, ZRAM_SIZE);
	if (mkdir(DIRECTORY, 0700))
		ksft_exit_fail_msg(DIRECTORY ": %s\n", strerror(errno));
	if (sigaction(SIGBUS, &action, NULL))
		ksft_exit_fail_msg("sigaction: %s\n", strerror(errno));
	ksft_print_msg("seed %#x\n", SEED);

	ksft_set_plan(2 * (2 * NR_KINDS + 3 * ARRAY_SIZE(racing)));
	devices[0] = zram;
	devices[1] = disk;
	for (int i = 0; i < 2; i++) {
		swap_first(devices[i]);
		for (int kind = 0; kind < NR_KINDS; kind++)
			test_whole(kind, devices[i]);
		for (size_t j = 0; j < ARRAY_SIZE(racing); j++)
			test_race(racing[j], devices[i], devices[!i]);
		guest_swapoff(devices[i]);
	}
	ksft_finished();
}
