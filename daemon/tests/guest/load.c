// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load - a service's memory, for the tests in a guest with systemd
 *
 * Usage: load MIB FILE [TOUCHES MILLISECONDS]
 *
 * Fills MIB MiB with pages that compress to about a half, writes "ready" into
 * FILE and waits. With TOUCHES it looks at so many pages, chosen at random, each
 * MILLISECONDS; a page that does not hold what was written is counted as wrong.
 *
 * SIGUSR1 starts counting anew. SIGTERM ends it: FILE then has one line of
 * NAME=VALUE words, times in nanoseconds.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <zfolio/histogram.h>

#define MIB (1024 * 1024)
#define NSEC_PER_SEC 1000000000ULL

static volatile sig_atomic_t ended, anew;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		anew = 1;
	else
		ended = 1;
}

/* xorshift64*: the same pages in every run. */
static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ULL;
}

static uint64_t now_nsec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* Half of a page is noise, its number first; the other half is zeros. */
static void fill(uint64_t *memory, size_t nr_pages, size_t words)
{
	for (size_t i = 0; i < nr_pages; i++) {
		uint64_t *page = memory + i * words;

		page[0] = i;
		for (size_t word = 1; word < words / 2; word++)
			page[word] = next_random();
	}
}

static void report(const char *file, const char *format, ...)
{
	FILE *out = fopen(file, "we");
	va_list args;

	if (!out)
		err(1, "%s", file);
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	if (fclose(out))
		err(1, "%s", file);
}

/* A number above 0, or the end. */
static unsigned long number(const char *what, const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || !value || value > 1000000)
		errx(2, "%s: \"%s\": expected a number from 1 to 1000000", what, text);
	return value;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	size_t page_size = sysconf(_SC_PAGESIZE);
	size_t words = page_size / sizeof(uint64_t);
	static struct zf_histogram histogram;
	unsigned long touches = 0, wrong = 0;
	struct timespec pause = { .tv_sec = 3600 };
	size_t nr_pages;
	volatile uint64_t *memory;

	if (argc != 3 && argc != 5)
		errx(2, "usage: load MIB FILE [TOUCHES MILLISECONDS]");
	nr_pages = number("MIB", argv[1]) * (MIB / page_size);
	if (argc == 5) {
		unsigned long msec = number("MILLISECONDS", argv[4]);

		touches = number("TOUCHES", argv[3]);
		pause = (struct timespec){ msec / 1000, msec % 1000 * 1000000 };
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	memory = mmap(NULL, nr_pages * page_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		err(1, "%s MiB", argv[1]);
	fill((uint64_t *)memory, nr_pages, words);
	report(argv[2], "ready\n");

	while (!ended) {
		if (anew) {
			anew = 0;
			wrong = 0;
			memset(&histogram, 0, sizeof(histogram));
		}
		for (unsigned long i = 0; i < touches && !ended; i++) {
			size_t page = next_random() % nr_pages;
			uint64_t began = now_nsec();

			if (memory[page * words] != page)
				wrong++;
			zf_histogram_add(&histogram, now_nsec() - began);
		}
		nanosleep(&pause, NULL);
	}
	report(argv[2], "touches=%lu wrong=%lu p50=%lu p99=%lu max=%lu\n",
	       histogram.count, wrong,
	       zf_histogram_percentile(&histogram, 500000),
	       zf_histogram_percentile(&histogram, 990000), histogram.max);
	return 0;
}
