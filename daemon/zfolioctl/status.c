// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>

#include "ctl.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- columns ---- */

/* What the cells of a row are made of. */
struct row {
	const struct ctl *ctl;
	const json_t *cgroup, *now, *since, *signals, *limits;
	uint64_t elapsed, page_size;
};

struct cell_text {
	char text[256];
	enum tint tint;
};

static void put_bytes(const struct row *row, uint64_t bytes,
		      struct cell_text *cell)
{
	char text[ZF_BYTES_LEN];

	snprintf(cell->text, sizeof(cell->text), "%s",
		 term_bytes(&row->ctl->term, bytes, text));
	if (!bytes)
		cell->tint = TINT_DIM;
}

/* Pages since the last tick, as bytes a second. */
static void put_rate(const struct row *row, const char *key,
		     struct cell_text *cell)
{
	uint64_t bytes = zf_mul_div(number_of(row->since, key), row->page_size,
				    1);

	if (!row->elapsed)
		strcpy(cell->text, "-");
	else
		put_bytes(row, zf_mul_div(bytes, ZF_USEC_PER_SEC, row->elapsed),
			  cell);
}

static void put_share(uint64_t ppm, uint64_t limit, struct cell_text *cell)
{
	zf_format_share(ppm, cell->text);
	cell->tint = ppm >= limit && ppm ? TINT_BAD :
		     ppm >= limit / 2 && ppm ? TINT_WARN :
		     !ppm ? TINT_DIM : TINT_PLAIN;
}

static uint64_t pace_limit(const struct row *row, const char *key)
{
	const json_t *pace = json_object_get(row->limits, key);

	/* Signals are for each minute. */
	return zf_mul_div(number_of(pace, "ppm"), ZF_USEC_PER_MIN,
			  number_of(pace, "usec"));
}

static void cell_path(const struct row *row, struct cell_text *cell)
{
	const char *path = string_of(row->cgroup, "path");
	size_t len = strlen(path);

	/* The end of a path tells more than its start. */
	if (len >= sizeof(cell->text))
		path += len - sizeof(cell->text) + 1;
	strcpy(cell->text, path);
}

static void cell_zswap(const struct row *row, struct cell_text *cell)
{
	put_bytes(row, number_of(row->now, "zswap"), cell);
}

static void cell_ratio(const struct row *row, struct cell_text *cell)
{
	uint64_t percent = zf_mul_div(number_of(row->now, "zswapped"), 100,
				      number_of(row->now, "zswap"));

	if (!number_of(row->now, "zswap"))
		strcpy(cell->text, "-");
	else
		snprintf(cell->text, sizeof(cell->text), "%d.%02d",
			 (int)(percent / 100 % 100000), (int)(percent % 100));
}

static void cell_disk(const struct row *row, struct cell_text *cell)
{
	put_bytes(row, zf_sub(number_of(row->now, "swap"),
			      number_of(row->now, "zswapped")), cell);
}

static void cell_in(const struct row *row, struct cell_text *cell)
{
	put_rate(row, "zswpin", cell);
}

static void cell_out(const struct row *row, struct cell_text *cell)
{
	put_rate(row, "zswpout", cell);
}

static void cell_read(const struct row *row, struct cell_text *cell)
{
	put_rate(row, "pswpin", cell);
}

static void cell_write(const struct row *row, struct cell_text *cell)
{
	put_rate(row, "pswpout", cell);
}

static void cell_memory(const struct row *row, struct cell_text *cell)
{
	put_bytes(row, number_of(row->now, "current"), cell);
}

static void cell_wait(const struct row *row, struct cell_text *cell)
{
	put_share(number_of(row->signals, "memory_pressure"),
		  number_of(row->limits, "memory_pressure"), cell);
}

static void cell_io_wait(const struct row *row, struct cell_text *cell)
{
	put_share(number_of(row->signals, "io_pressure"),
		  number_of(row->limits, "io_pressure"), cell);
}

static void cell_refaults(const struct row *row, struct cell_text *cell)
{
	put_share(number_of(row->signals, "refaults"),
		  pace_limit(row, "refault_limit"), cell);
}

static void cell_thrash(const struct row *row, struct cell_text *cell)
{
	put_share(number_of(row->signals, "thrash"),
		  pace_limit(row, "thrash_limit"), cell);
}

static void cell_writeback(const struct row *row, struct cell_text *cell)
{
	bool on = number_of(row->now, "writeback");
	bool on_here = number_of(row->now, "writeback_here");

	strcpy(cell->text, !on ? "off" : !on_here ? "above" : "on");
	cell->tint = on_here ? TINT_PLAIN : TINT_WARN;
}

static void cell_swapin(const struct row *row, struct cell_text *cell)
{
	put_bytes(row, number_of(row->now, "swapin_max"), cell);
}

static void cell_last(const struct row *row, struct cell_text *cell)
{
	const json_t *last = json_object_get(row->cgroup, "last");
	char age[ZF_TIME_LEN];

	if (!json_is_object(last))
		strcpy(cell->text, "-");
	else
		snprintf(cell->text, sizeof(cell->text), "%s ago: %s",
			 zf_format_time(number_of(last, "age"), age),
			 string_of(last, "text"));
}

static const struct column columns[] = {
	{ "CGROUP", ALIGN_PATH, 0 },
	{ "ZSWAP", ALIGN_RIGHT, 0 },
	{ "RATIO", ALIGN_RIGHT, 3 },
	{ "DISK", ALIGN_RIGHT, 0 },
	{ "IN/s", ALIGN_RIGHT, 1 },
	{ "OUT/s", ALIGN_RIGHT, 5 },
	{ "READ/s", ALIGN_RIGHT, 2 },
	{ "WRITE/s", ALIGN_RIGHT, 6 },
	{ "MEMORY", ALIGN_RIGHT, 7 },
	{ "WAIT", ALIGN_RIGHT, 1 },
	{ "IOWAIT", ALIGN_RIGHT, 8 },
	{ "REFAULTS", ALIGN_RIGHT, 9 },
	{ "THRASH", ALIGN_RIGHT, 10 },
	{ "WB", ALIGN_RIGHT, 1 },
	{ "SIZE", ALIGN_RIGHT, 11 },
	{ "LAST", ALIGN_TEXT, 12 },
};

static void (*const cells[ARRAY_SIZE(columns)])(const struct row *row,
						struct cell_text *cell) = {
	cell_path, cell_zswap, cell_ratio, cell_disk, cell_in, cell_out,
	cell_read, cell_write, cell_memory, cell_wait, cell_io_wait,
	cell_refaults, cell_thrash, cell_writeback, cell_swapin, cell_last,
};

/* ---- order ---- */

enum order { BY_ZSWAP, BY_DISK, BY_IN, BY_READ, BY_PATH, NR_ORDERS };

static const char *const order_words[NR_ORDERS] = {
	[BY_ZSWAP] = "ZSWAP", [BY_DISK] = "DISK", [BY_IN] = "IN/s",
	[BY_READ] = "READ/s", [BY_PATH] = "CGROUP",
};

static uint64_t weight_of(const json_t *cgroup, enum order order)
{
	const json_t *now = json_object_get(cgroup, "now");
	const json_t *since = json_object_get(cgroup, "since");

	switch (order) {
	case BY_ZSWAP:
		return number_of(now, "zswap");
	case BY_DISK:
		return zf_sub(number_of(now, "swap"),
			      number_of(now, "zswapped"));
	case BY_IN:
		return number_of(since, "zswpin");
	case BY_READ:
		return number_of(since, "pswpin");
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b, void *data)
{
	const json_t *x = *(const json_t *const *)a;
	const json_t *y = *(const json_t *const *)b;
	enum order order = *(const enum order *)data;
	uint64_t wx = weight_of(x, order), wy = weight_of(y, order);

	if (wx != wy)
		return wx < wy ? 1 : -1;
	return strcmp(string_of(x, "path"), string_of(y, "path"));
}

/* ---- lines above the table ---- */

/* Most distributions boot so, and then nothing happens but what was before. */
static bool is_off(const struct ctl *ctl)
{
	_cleanup_free_ char *enabled = NULL;

	return zf_path_read_string(ctl->sys,
				   "sys/module/zswap/parameters/enabled",
				   &enabled) >= 0 && !strcmp(enabled, "N");
}

static void print_pool(const struct ctl *ctl, const json_t *pool)
{
	char used[ZF_BYTES_LEN], limit[ZF_BYTES_LEN];
	char level[ZF_SHARE_LEN], low[ZF_SHARE_LEN], high[ZF_SHARE_LEN];
	uint64_t ppm = zf_mul_div(number_of(pool, "used"), ZF_PPM,
				  number_of(pool, "limit"));
	enum tint tint = ppm > number_of(pool, "high") ? TINT_BAD :
			 ppm > number_of(pool, "low") ? TINT_WARN : TINT_GOOD;

	if (!number_of(pool, "limit")) {
		puts("pool: this kernel has no zswap, or its limit can not be read");
		return;
	}
	printf("pool %s of %s, %s%s%s (low %s, high %s)",
	       term_bytes(&ctl->term, number_of(pool, "used"), used),
	       term_bytes(&ctl->term, number_of(pool, "limit"), limit),
	       term_on(&ctl->term, tint), zf_format_share(ppm, level),
	       term_off(&ctl->term),
	       zf_format_share(number_of(pool, "low"), low),
	       zf_format_share(number_of(pool, "high"), high));
	if (number_of(pool, "rejected"))
		printf("; %" JSON_INTEGER_FORMAT " stores refused",
		       json_integer_value(json_object_get(pool, "rejected")));
	if (is_off(ctl))
		printf("; %szswap is off%s", term_on(&ctl->term, TINT_BAD),
		       term_off(&ctl->term));
	putchar('\n');
}

/* Returns how many lines it took. */
static unsigned int print_devices(const struct ctl *ctl, const json_t *devices)
{
	const json_t *device;
	size_t i;

	json_array_foreach(devices, i, device) {
		char used[ZF_BYTES_LEN], size[ZF_BYTES_LEN];

		printf("%s: %s of %s used%s\n", string_of(device, "name"),
		       term_bytes(&ctl->term, number_of(device, "used"), used),
		       term_bytes(&ctl->term, number_of(device, "size"), size),
		       json_is_true(json_object_get(device, "reserved")) ?
			       ", reserved" : "");
	}
	if (!json_array_size(devices))
		puts("no swap device: zswap has nothing to stand in front of");
	return json_array_size(devices) ? json_array_size(devices) : 1;
}

/* Likewise. */
static unsigned int print_head(const struct ctl *ctl, const char *excuse,
			       const json_t *status)
{
	const json_t *daemon = json_object_get(status, "daemon");
	char running[ZF_TIME_LEN], interval[ZF_TIME_LEN], text[ZF_BYTES_LEN];

	if (json_is_object(daemon))
		printf("zfoliod runs for %s, a tick each %s; %s sent to disk\n",
		       zf_format_time(number_of(daemon, "running"), running),
		       zf_format_time(number_of(daemon, "interval"), interval),
		       term_bytes(&ctl->term, number_of(daemon, "written"),
				  text));
	else
		printf("%s%s%s: this is what the kernel says\n",
		       term_on(&ctl->term, TINT_WARN), excuse,
		       term_off(&ctl->term));
	print_pool(ctl, json_object_get(status, "pool"));
	return 2 + print_devices(ctl, json_object_get(status, "devices"));
}

/* ---- the view ---- */

static int fill_table(const struct ctl *ctl, const json_t *status,
		      enum order order, struct table *table)
{
	const json_t *cgroups = json_object_get(status, "cgroups");
	size_t nr = json_array_size(cgroups);
	_cleanup_free_ const json_t **sorted = calloc(nr + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = json_array_get(cgroups, i);
	qsort_r(sorted, nr, sizeof(*sorted), compare, &order);
	for (size_t i = 0; i < nr; i++) {
		const struct row row = {
			.ctl = ctl, .cgroup = sorted[i],
			.now = json_object_get(sorted[i], "now"),
			.since = json_object_get(sorted[i], "since"),
			.signals = json_object_get(sorted[i], "signals"),
			.limits = json_object_get(sorted[i], "limits"),
			.elapsed = number_of(status, "elapsed"),
			.page_size = number_of(status, "page_size"),
		};

		for (size_t j = 0; j < ARRAY_SIZE(columns); j++) {
			struct cell_text cell = { .tint = TINT_PLAIN };

			cells[j](&row, &cell);
			if (table_add(table, cell.tint, cell.text) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* @max_lines: of all that is printed; 0 for no limit. */
static int print_view(const struct ctl *ctl, const char *excuse,
		      const json_t *reply, enum order order, size_t max_lines)
{
	_cleanup_(table_freep) struct table *table = NULL;
	const json_t *status = json_object_get(reply, "status");
	size_t used, rows = SIZE_MAX;
	int r;

	r = table_new(columns, ARRAY_SIZE(columns), &table);
	if (r >= 0)
		r = fill_table(ctl, status, order, table);
	if (r < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	used = print_head(ctl, excuse, status) + 2;
	if (max_lines)
		rows = zf_sub(max_lines, used);
	putchar('\n');
	if (json_array_size(json_object_get(status, "cgroups")))
		table_print(table, &ctl->term, rows);
	else
		puts("No cgroup has anything in swap.");
	if (fflush(stdout) == EOF || ferror(stdout)) {
		complain("writing: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int ask_status(struct source *source, json_t **ret_reply)
{
	return source_ask(source, json_pack("{s:i, s:s}", "zfolio", 1, "get",
					    "status"), ret_reply);
}

int command_status(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(source_freep) struct source *source = NULL;
	json_auto_t *reply = NULL;
	int status = no_arguments(argc, argv);

	if (status == EXIT_OK && source_new(ctl, &source) < 0)
		status = EXIT_FAILED;
	if (status == EXIT_OK)
		status = ask_status(source, &reply);
	if (status != EXIT_OK)
		return status;
	return ctl->json ? print_json(reply) :
			   print_view(ctl, source_excuse(source), reply,
				      BY_ZSWAP, 0);
}

/* ---- top ---- */

struct screen {
	struct ctl *ctl;
	struct termios before;
	bool keys;		/* the terminal gives single keys; @before is
				 * valid */
	int signals;		/* readable at SIGINT, SIGTERM, SIGHUP */
	enum order order;
};

static int screen_open(struct screen *screen)
{
	struct termios raw;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	screen->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (screen->signals < 0)
		return -errno;
	if (!screen->ctl->term.is_terminal || screen->ctl->json)
		return 0;
	/* The other screen: what was there comes back at the end. */
	fputs("\033[?1049h", stdout);
	if (tcgetattr(STDIN_FILENO, &screen->before) < 0)
		return 0;
	raw = screen->before;
	raw.c_lflag &= ~(ICANON | ECHO);
	screen->keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	return 0;
}

static void screen_close(struct screen *screen)
{
	if (screen->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
	if (screen->ctl->term.is_terminal && !screen->ctl->json)
		fputs("\033[?1049l", stdout);
	fflush(stdout);
	zf_closep(&screen->signals);
}

/* Waits for the next view; false when there is to be none. */
static bool screen_wait(struct screen *screen)
{
	struct pollfd fds[] = {
		{ .fd = screen->signals, .events = POLLIN },
		{ .fd = screen->keys ? STDIN_FILENO : -1, .events = POLLIN },
	};
	char key;

	if (poll(fds, ARRAY_SIZE(fds), screen->ctl->interval /
				       ZF_USEC_PER_MSEC) <= 0)
		return true;
	if (fds[0].revents || read(STDIN_FILENO, &key, 1) != 1 || key == 'q')
		return false;
	if (key == 's')
		screen->order = (screen->order + 1) % NR_ORDERS;
	return true;
}

static int screen_show(struct screen *screen, const char *excuse,
		       const json_t *reply)
{
	const struct ctl *ctl = screen->ctl;
	size_t lines = ctl->term.height;
	int status;

	if (ctl->json)
		return print_json(reply);
	if (!ctl->term.is_terminal)
		return print_view(ctl, excuse, reply, screen->order, lines);
	fputs("\033[H\033[2J", stdout);
	/* The last line is the one for the keys, which ends without a newline. */
	status = print_view(ctl, excuse, reply, screen->order, lines - 1);
	printf("%sq: quit  s: sort (%s)%s", term_on(&ctl->term, TINT_DIM),
	       order_words[screen->order], term_off(&ctl->term));
	fflush(stdout);
	return status;
}

static int top_loop(struct screen *screen, struct source *source)
{
	struct ctl *ctl = screen->ctl;
	bool colour = ctl->term.colour;

	for (uint64_t i = 1; ; i++) {
		json_auto_t *reply = NULL;
		int status = ask_status(source, &reply);

		if (status != EXIT_OK)
			return status;
		/* Windows change their size. */
		term_init(&ctl->term);
		ctl->term.colour = colour;
		status = screen_show(screen, source_excuse(source), reply);
		if (status != EXIT_OK || i == ctl->iterations ||
		    !screen_wait(screen))
			return status;
		if (!ctl->term.is_terminal && !ctl->json)
			putchar('\n');
	}
}

int command_top(const struct ctl *ctl, int argc, char **argv)
{
	_cleanup_(source_freep) struct source *source = NULL;
	struct ctl own = *ctl;
	struct screen screen = { .ctl = &own, .signals = -EBADF };
	int status = no_arguments(argc, argv);

	if (status != EXIT_OK)
		return status;
	if (source_new(&own, &source) < 0 || screen_open(&screen) < 0) {
		complain("starting: %s", strerror(errno));
		return EXIT_FAILED;
	}
	status = top_loop(&screen, source);
	screen_close(&screen);
	return status;
}
