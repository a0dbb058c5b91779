// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swapin - measure swap-in from zswap, one JSON object a line
 *
 * bench/README.md describes the fields. Messages go to stderr.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <zfolio/swapin.h>
#include <zfolio/zram.h>

enum {
	EXIT_OK = 0,
	EXIT_WRONG_BYTES = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_MEASURED = 3,
};

/* Sizes from 8 KiB to 128 MiB at most, and "none". */
#define MAX_SIZES 16

struct options {
	uint64_t mib;
	bool zram;
	struct zf_zswap zswap;
	enum zf_pattern_kind pattern;
	const char *size_name[MAX_SIZES];
	uint64_t size[MAX_SIZES];	/* bytes, 0 for none */
	size_t nr_sizes;
	unsigned int repeat;
	uint64_t warm_up_mib;
	bool histogram;
	bool icount;
	const char *accelerator;
	const char *label;
};

/* What is the same in all records. */
struct context {
	const struct options *opt;
	const struct zf_path *sys;
	const char *disk;
	struct utsname uts;
};

static const char usage_text[] =
"Usage: swapin [OPTION]...\n"
"Fill memory, have it reclaimed into zswap, touch it back comparing every byte,\n"
"and print one JSON object a line for each measurement. Needs root, cgroup v2\n"
"and a swap device; changes zswap's and the folio sizes' settings meanwhile and\n"
"puts them back.\n"
"\n"
"  --size MIB             memory to swap (default 128)\n"
"  --swap KIND            zswap (default), or zram: a device of its own, zswap off\n"
"  --compressor NAME      compressor of zswap or zram (default lz4)\n"
"  --max-pool-percent N   zswap's pool limit (default 50)\n"
"  --sizes LIST           folio sizes, as none,64K,1M (the default)\n"
"  --pattern KIND         half (default) or quarter-random\n"
"  --repeat N             rounds over all sizes (default 1)\n"
"  --warm-up MiB          size of a first measurement that is not reported\n"
"                         (default 16; 0: none)\n"
"  --histogram            one more measurement a size and round, with latencies\n"
"  --icount               CLOCK_MONOTONIC counts instructions here: report them\n"
"  --accelerator NAME     what runs this machine, for the record\n"
"  --label NAME           name of this kernel, for the record\n"
"  --help\n"
"\n"
"Exit status: 0 all measured and every byte right, 1 a wrong byte, 2 bad usage,\n"
"3 something could not be measured (and no byte was wrong).\n";

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	interrupted = signal;
}

/* Without SA_RESTART, so that a measurement ends and settings are put back. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

__attribute__((format(printf, 1, 2)))
static void complain(const char *format, ...)
{
	va_list args;

	fputs("swapin: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- options ---- */

static int parse_number(const char *option, const char *text, uint64_t min,
			uint64_t max, uint64_t *ret)
{
	uint64_t value;

	if (zf_parse_u64(text, &value) < 0 || value < min || value > max) {
		complain("--%s: '%s': expected a number from %" PRIu64
			 " to %" PRIu64, option, text, min, max);
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

static int parse_sizes(char *list, struct options *opt)
{
	uint64_t bytes, page_size = sysconf(_SC_PAGESIZE);
	char *rest, *name;

	opt->nr_sizes = 0;
	for (name = strtok_r(list, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		if (!strcmp(name, "none"))
			bytes = 0;
		else if (zf_parse_size(name, &bytes) < 0 ||
			 bytes <= page_size || bytes & (bytes - 1))
			goto bad;
		if (opt->nr_sizes == MAX_SIZES)
			goto bad;
		opt->size_name[opt->nr_sizes] = name;
		opt->size[opt->nr_sizes++] = bytes;
	}
	name = "";
	if (opt->nr_sizes)
		return 0;
bad:
	complain("--sizes: '%s': expected none or powers of two above the page "
		 "size, as none,64K,1M, and %d at most", name, MAX_SIZES);
	return -EINVAL;
}

/* 0 to go on, 1 after --help, negative after a complaint. */
static int parse_options(int argc, char **argv, struct options *opt)
{
	enum { SIZE = 1, SWAP, COMPRESSOR, PERCENT, SIZES, PATTERN, REPEAT,
	       WARM_UP, HISTOGRAM, ICOUNT, ACCELERATOR, LABEL, HELP };
	static const struct option table[] = {
		{ "size", required_argument, NULL, SIZE },
		{ "swap", required_argument, NULL, SWAP },
		{ "compressor", required_argument, NULL, COMPRESSOR },
		{ "max-pool-percent", required_argument, NULL, PERCENT },
		{ "sizes", required_argument, NULL, SIZES },
		{ "pattern", required_argument, NULL, PATTERN },
		{ "repeat", required_argument, NULL, REPEAT },
		{ "warm-up", required_argument, NULL, WARM_UP },
		{ "histogram", no_argument, NULL, HISTOGRAM },
		{ "icount", no_argument, NULL, ICOUNT },
		{ "accelerator", required_argument, NULL, ACCELERATOR },
		{ "label", required_argument, NULL, LABEL },
		{ "help", no_argument, NULL, HELP },
		{ 0 }
	};
	static char default_sizes[] = "none,64K,1M";
	uint64_t number;
	int c, r = parse_sizes(default_sizes, opt);

	while (r >= 0 && (c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (c) {
		case SIZE:
			/* The upper end only keeps the bytes within 64 bits. */
			r = parse_number("size", optarg, 1, 1ULL << 40,
					 &opt->mib);
			break;
		case SWAP:
			opt->zram = !strcmp(optarg, "zram");
			if (opt->zram || !strcmp(optarg, "zswap"))
				break;
			complain("--swap: '%s': expected zswap or zram", optarg);
			r = -EINVAL;
			break;
		case COMPRESSOR:
			opt->zswap.compressor = optarg;
			break;
		case PERCENT:
			r = parse_number("max-pool-percent", optarg, 1, 100,
					 &number);
			if (r >= 0)
				opt->zswap.max_pool_percent = number;
			break;
		case SIZES:
			r = parse_sizes(optarg, opt);
			break;
		case PATTERN:
			r = zf_pattern_from_name(optarg);
			if (r < 0)
				complain("--pattern: '%s': expected half or "
					 "quarter-random", optarg);
			else
				opt->pattern = r;
			break;
		case REPEAT:
			r = parse_number("repeat", optarg, 1, 1000000, &number);
			if (r >= 0)
				opt->repeat = number;
			break;
		case WARM_UP:
			r = parse_number("warm-up", optarg, 0, 1ULL << 40,
					 &opt->warm_up_mib);
			break;
		case HISTOGRAM:
			opt->histogram = true;
			break;
		case ICOUNT:
			opt->icount = true;
			break;
		case ACCELERATOR:
			opt->accelerator = optarg;
			break;
		case LABEL:
			opt->label = optarg;
			break;
		case HELP:
			fputs(usage_text, stdout);
			return 1;
		default:
			return -EINVAL;
		}
	}
	if (r >= 0 && optind < argc) {
		complain("'%s': expected options only", argv[optind]);
		return -EINVAL;
	}
	return r < 0 ? r : 0;
}

/* ---- one JSON object a line ---- */

static void put_string(const char *key, const char *value)
{
	printf("\"%s\": \"", key);
	for (; *value; value++) {
		unsigned char c = *value;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	printf("\", ");
}

static void put_number(const char *key, uint64_t value)
{
	printf("\"%s\": %" PRIu64 ", ", key, value);
}

static void put_bool(const char *key, bool value)
{
	printf("\"%s\": %s, ", key, value ? "true" : "false");
}

static void put_value(const char *key, struct zf_value v)
{
	if (v.present)
		put_number(key, v.value);
	else
		printf("\"%s\": null, ", key);
}

static void put_latency(const struct zf_histogram *h)
{
	if (!h->count) {
		printf("\"latency_ns\": null");
		return;
	}
	printf("\"latency_ns\": {");
	put_number("min", h->min);
	put_number("p50", zf_histogram_percentile(h, 500000));
	put_number("p90", zf_histogram_percentile(h, 900000));
	put_number("p99", zf_histogram_percentile(h, 990000));
	put_number("p99_9", zf_histogram_percentile(h, 999000));
	printf("\"max\": %" PRIu64 "}", h->max);
}

/* Large folios that the filling got, whatever their size. */
static uint64_t filled_folios(const struct zf_counters *fill)
{
	uint64_t sum = 0;

	for (unsigned int order = 1; order <= ZF_MTHP_MAX_ORDER; order++)
		sum += zf_value_or_zero(fill->mthp[order][ZF_MTHP_ANON_ALLOC]);
	return sum;
}

static void put_record(const struct context *ctx, size_t size,
		       unsigned int round, bool clocked,
		       const struct zf_swapin_result *res)
{
	const struct options *opt = ctx->opt;
	struct zf_swapped_in in = zf_counters_swapped_in(&res->in);
	double per_page = (double)res->ns / res->pages;

	printf("{\"schema\": 1, \"benchmark\": \"swapin\", ");
	put_string("label", opt->label);
	put_string("kernel", ctx->uts.release);
	put_string("machine", ctx->uts.machine);
	put_string("accelerator", opt->accelerator);
	put_bool("icount", opt->icount);
	put_number("cpus", sysconf(_SC_NPROCESSORS_ONLN));
	put_string("swap", opt->zram ? "zram" : "zswap");
	put_string("disk", ctx->disk ? ctx->disk : "");
	put_number("page_bytes", sysconf(_SC_PAGESIZE));
	put_number("size_mib", opt->mib);
	put_string("pattern", zf_pattern_name(opt->pattern));
	put_string("compressor", opt->zswap.compressor);
	put_string("folio", opt->size_name[size]);
	put_number("folio_bytes", opt->size[size]);
	put_number("round", round);
	put_bool("clocked_touches", clocked);

	put_number("pages", res->pages);
	put_number("ns", res->ns);
	printf("\"ns_per_page\": %.2f, ", per_page);
	if (opt->icount && !clocked)
		printf("\"instructions_per_page\": %.2f, ", per_page);
	else
		printf("\"instructions_per_page\": null, ");
	put_value("faults_major", res->in.of[ZF_FAULT_MAJOR]);
	put_value("faults_minor", res->in.of[ZF_FAULT_MINOR]);
	put_number("folios_in", in.folios);
	put_number("large_folios_in", in.large_folios);
	put_number("pages_in", in.pages);
	put_number("fallbacks", in.fallbacks);
	put_value("zswpin", res->in.of[ZF_VM_ZSWPIN]);
	put_value("pswpin", res->in.of[ZF_VM_PSWPIN]);
	put_value("disk_reads", res->in.of[ZF_DISK_READS]);

	put_number("large_folios_filled", filled_folios(&res->fill));
	put_value("zswpout", res->out.of[ZF_CG_ZSWPOUT]);
	put_number("zswap_bytes", res->zswap_bytes);
	put_number("disk_pages", res->disk_pages);
	put_value("disk_writes", res->out.of[ZF_DISK_WRITES]);
	put_number("resident_pages", res->resident);
	put_number("reclaim_calls", res->reclaim_calls);
	put_number("wrong_bytes", res->wrong_bytes);
	put_number("wrong_pages", res->wrong_pages);
	put_latency(&res->latency);
	printf("}\n");
	fflush(stdout);
}

/* ---- measuring ---- */

static void complain_failure(const struct context *ctx, size_t size, int r,
			     const struct zf_swapin_failure *failure)
{
	const char *name = ctx->opt->size_name[size];

	if (r == -ENXIO)
		complain("no swap device: nothing is swapped on");
	else if (r == -EOPNOTSUPP)
		complain("no cgroup v2 with the memory controller at "
			 "/" ZF_CGROUP_ROOT ": mount it, and write '+memory' "
			 "to its cgroup.subtree_control");
	else if (failure->signal == SIGBUS)
		complain("%s: SIGBUS while %s: the kernel could not bring a "
			 "page back", name, failure->step);
	else if (failure->signal)
		complain("%s: killed by signal %d (%s) while %s", name,
			 failure->signal, strsignal(failure->signal),
			 failure->step);
	else
		complain("%s: %s: %s", name, failure->step, strerror(-r));
}

static int measure(const struct context *ctx, size_t size, uint64_t mib,
		   bool clocked, struct zf_swapin_result *ret)
{
	static uint32_t seed;
	struct zf_swapin_params params = {
		.bytes = mib << 20,
		.pattern = ctx->opt->pattern,
		.seed = ++seed,
		.clock_touches = clocked,
		.disk = ctx->disk,
		.cgroup_root = ZF_CGROUP_ROOT,
	};
	struct zf_swapin_failure failure;
	int r;

	r = zf_swapin_measure(ctx->sys, &params, ret, &failure);
	if (r < 0) {
		if (!interrupted)
			complain_failure(ctx, size, r, &failure);
		return EXIT_NOT_MEASURED;
	}
	if (ret->wrong_bytes) {
		complain("%s: %" PRIu64 " wrong bytes in %" PRIu64 " pages",
			 ctx->opt->size_name[size], ret->wrong_bytes,
			 ret->wrong_pages);
		return EXIT_WRONG_BYTES;
	}
	return EXIT_OK;
}

static int measure_and_report(const struct context *ctx, size_t size,
			      unsigned int round, bool clocked)
{
	struct zf_swapin_result result;
	int status;

	status = measure(ctx, size, ctx->opt->mib, clocked, &result);
	if (status != EXIT_NOT_MEASURED)
		put_record(ctx, size, round, clocked, &result);
	return status;
}

/*
 * The first measurement after a boot takes more instructions a page than any
 * later one, whatever its size: see bench/README.md.
 */
static int warm_up(const struct context *ctx)
{
	struct zf_swapin_result result;

	if (!ctx->opt->warm_up_mib)
		return EXIT_OK;
	return measure(ctx, 0, ctx->opt->warm_up_mib, false, &result);
}

static int measure_size(const struct context *ctx, size_t size,
			unsigned int round)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	const struct options *opt = ctx->opt;
	int r, status;

	r = zf_knobs_new(ctx->sys, &knobs);
	if (r >= 0)
		r = zf_mthp_choose(knobs, opt->size[size]);
	if (r < 0) {
		complain("%s: setting the folio size: %s", opt->size_name[size],
			 r == -EOPNOTSUPP ? "this kernel has no such size" :
					    strerror(-r));
		return EXIT_NOT_MEASURED;
	}
	status = measure_and_report(ctx, size, round, false);
	if (status == EXIT_OK && opt->histogram && !interrupted)
		status = measure_and_report(ctx, size, round, true);
	return status;
}

/* The worst of two statuses: a wrong byte before anything else. */
static int worse(int a, int b)
{
	if (a == EXIT_WRONG_BYTES || b == EXIT_WRONG_BYTES)
		return EXIT_WRONG_BYTES;
	return a ? a : b;
}

static int measure_all(const struct context *ctx)
{
	const struct options *opt = ctx->opt;
	int status = warm_up(ctx);

	if (status)
		return status;
	for (unsigned int round = 1; round <= opt->repeat; round++) {
		for (size_t i = 0; i < opt->nr_sizes && !interrupted; i++)
			status = worse(status, measure_size(ctx, i, round));
	}
	if (interrupted) {
		complain("interrupted by signal %d; settings are put back",
			 (int)interrupted);
		status = worse(status, EXIT_NOT_MEASURED);
	}
	return status;
}

static void complain_setup(const struct options *opt, int r)
{
	const char *kind = opt->zram ? "zram" : "zswap";

	if (r == -EOPNOTSUPP)
		complain("this kernel has no %s", kind);
	else
		complain("setting %s up with compressor '%s': %s", kind,
			 opt->zswap.compressor,
			 r == -ENOENT || r == -EINVAL ?
				"this kernel does not have it" : strerror(-r));
}

static int measure_zswap(const struct context *ctx)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	int r;

	r = zf_knobs_new(ctx->sys, &knobs);
	if (r >= 0)
		r = zf_zswap_setup(knobs, &ctx->opt->zswap);
	if (r < 0) {
		complain_setup(ctx->opt, r);
		return EXIT_NOT_MEASURED;
	}
	return measure_all(ctx);
}

static int measure_zram(struct context *ctx)
{
	_cleanup_(zf_knobs_restorep) struct zf_knobs *knobs = NULL;
	const struct options *opt = ctx->opt;
	uint64_t mib = opt->mib > opt->warm_up_mib ? opt->mib : opt->warm_up_mib;
	struct zf_zram zram;
	int r, status;
	char disk[16];

	r = zf_knobs_new(ctx->sys, &knobs);
	if (r >= 0)
		r = zf_knob_set(knobs, "sys/module/zswap/parameters/enabled", "N");
	/* Room for what else is reclaimed. */
	if (r >= 0 || r == -ENOENT)
		r = zf_zram_swapon(ctx->sys, opt->zswap.compressor,
				   (mib + mib / 4 + 16) << 20, &zram);
	if (r < 0) {
		complain_setup(opt, r);
		return EXIT_NOT_MEASURED;
	}
	snprintf(disk, sizeof(disk), "zram%u", zram.number);
	ctx->disk = disk;
	status = measure_all(ctx);
	r = zf_zram_swapoff(&zram);
	if (r < 0) {
		complain("removing %s: %s", disk, strerror(-r));
		status = worse(status, EXIT_NOT_MEASURED);
	}
	return status;
}

int main(int argc, char **argv)
{
	_cleanup_(zf_path_freep) struct zf_path *sys = NULL;
	_cleanup_free_ char *disk = NULL;
	struct options opt = {
		.mib = 128,
		.zswap = {
			.compressor = "lz4",
			.max_pool_percent = ZF_ZSWAP_POOL_PERCENT,
		},
		.repeat = 1,
		.warm_up_mib = 16,
		.accelerator = "unknown",
		.label = "",
	};
	struct context ctx = { .opt = &opt };
	int r;

	r = parse_options(argc, argv, &opt);
	if (r)
		return r < 0 ? EXIT_USAGE : EXIT_OK;
	catch_signals();

	r = zf_path_open("/", &sys);
	if (r < 0) {
		complain("opening /: %s", strerror(-r));
		return EXIT_NOT_MEASURED;
	}
	ctx.sys = sys;
	uname(&ctx.uts);
	r = zf_swap_disk(sys, &disk);
	if (r == -ENXIO && !opt.zram) {
		complain("no swap device: nothing is swapped on");
		return EXIT_NOT_MEASURED;
	}
	ctx.disk = disk;
	return opt.zram ? measure_zram(&ctx) : measure_zswap(&ctx);
}
