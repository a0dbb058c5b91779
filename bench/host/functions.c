// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * functions - add up counts of instructions by the function they are in
 *
 * See usage_text. bench/profile calls it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
"Usage: functions SYMBOLS DIVISOR COUNTS\n"
"Print \"COUNT NAME\" for each function, the largest count first, and the total as\n"
"a function of that name. SYMBOLS has lines \"ADDRESS TYPE NAME\" as /proc/kallsyms\n"
"has, COUNTS lines \"ADDRESS TIMES\" as the plugin insns writes them, both in\n"
"hexadecimal; what is below all symbols is the program's. Counts are divided by\n"
"DIVISOR, the number of pages for instance.\n"
"\n"
"Exit status: 0, or 2 with a message.\n";

struct symbol {
	uint64_t addr;
	uint64_t count;
	char *name;
};

struct symbols {
	struct symbol *of;
	size_t nr;
	size_t room;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "functions: %s: %s\n", what, why);
	exit(2);
}

static FILE *open_or_die(const char *name)
{
	FILE *file = fopen(name, "r");

	if (!file)
		die(name, strerror(errno));
	return file;
}

static void add_symbol(struct symbols *symbols, uint64_t addr, const char *name)
{
	if (symbols->nr == symbols->room) {
		symbols->room = symbols->room ? 2 * symbols->room : 4096;
		symbols->of = realloc(symbols->of,
				      symbols->room * sizeof(*symbols->of));
		if (!symbols->of)
			die("symbols", strerror(ENOMEM));
	}
	symbols->of[symbols->nr] = (struct symbol){
		.addr = addr, .name = strdup(name),
	};
	if (!symbols->of[symbols->nr++].name)
		die("symbols", strerror(ENOMEM));
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int by_count(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void read_symbols(const char *name, struct symbols *symbols)
{
	FILE *file = open_or_die(name);
	char line[1024], symbol[512], type;
	uint64_t addr;

	add_symbol(symbols, 0, "(the program)");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %c %511s", &addr, &type,
			   symbol) != 3)
			die(name, "expected lines \"ADDRESS TYPE NAME\"");
		if (addr && strchr("tTwW", type))
			add_symbol(symbols, addr, symbol);
	}
	fclose(file);
	if (symbols->nr == 1)
		die(name, "no function in it");
	qsort(symbols->of, symbols->nr, sizeof(*symbols->of), by_addr);
}

/* The last one at or before @addr; of several at one place any. */
static struct symbol *find(const struct symbols *symbols, uint64_t addr)
{
	size_t low = 0, high = symbols->nr;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (symbols->of[middle].addr <= addr)
			low = middle;
		else
			high = middle;
	}
	return &symbols->of[low];
}

static uint64_t read_counts(const char *name, const struct symbols *symbols)
{
	FILE *file = open_or_die(name);
	uint64_t addr, times, total = 0;
	char line[128];

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %" SCNx64, &addr, &times) != 2)
			die(name, "expected lines \"ADDRESS TIMES\"");
		find(symbols, addr)->count += times;
		total += times;
	}
	fclose(file);
	if (!total)
		die(name, "nothing was counted");
	return total;
}

int main(int argc, char **argv)
{
	struct symbols symbols = { 0 };
	double divisor;
	char *end;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (argc != 4) {
		fputs(usage_text, stderr);
		return 2;
	}
	divisor = strtod(argv[2], &end);
	if (*end || !(divisor > 0))
		die(argv[2], "expected a number above 0");
	read_symbols(argv[1], &symbols);
	printf("%.1f total\n", read_counts(argv[3], &symbols) / divisor);
	qsort(symbols.of, symbols.nr, sizeof(*symbols.of), by_count);
	for (size_t i = 0; i < symbols.nr && symbols.of[i].count; i++)
		printf("%.1f %s\n", symbols.of[i].count / divisor,
		       symbols.of[i].name);
	for (size_t i = 0; i < symbols.nr; i++)
		free(symbols.of[i].name);
	free(symbols.of);
	return 0;
}
