// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "config.h"
#include "log.h"
#include "manager.h"
#include "simulate.h"

/* What the shell and systemd see; documented in usage(). */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_BAD_INPUT = 3,
	EXIT_UNSUPPORTED = 4,
};

static void usage(FILE *out)
{
	fputs(
"Usage: zfoliod [OPTION]...\n"
"       zfoliod [--config FILE] --simulate TRACE\n"
"       zfoliod [--config FILE] --check-config\n"
"\n"
"Tunes zswap for each cgroup: whether its pages may go to disk, when and how\n"
"much of them, and how large its swap-ins may be. Runs until SIGTERM and then\n"
"puts back what it changed; SIGHUP reads the configuration again.\n"
"\n"
"  --dry-run         decide and tell, but write nothing\n"
"  --record FILE     write what each tick sees to FILE, for --simulate\n"
"  --simulate TRACE  print what would have been decided on a recorded TRACE\n"
"                    (- is standard input), touching nothing of this machine\n"
"  --check-config    read the configuration and say what is wrong with it\n"
"  --config FILE     read FILE alone instead of /usr/lib/zfolio/zfolio.conf,\n"
"                    /etc/zfolio.conf and /etc/zfolio.conf.d/*.conf\n"
"  --root DIR        take DIR for /: a host's root in a container, or a\n"
"                    captured tree\n"
"  --verbose         tell each step of write-back as well\n"
"  -h, --help        this text\n"
"\n"
"Exit status: 0 ended by SIGTERM or SIGINT, or nothing wrong; 1 failed while\n"
"running; 2 wrong usage; 3 the configuration or the trace is wrong; 4 this\n"
"machine has no cgroup v2 with the memory controller.\n",
	      out);
}

/* ---- what there is to do ---- */

static int load(const char *root, const char *file, struct config **ret_config)
{
	_cleanup_(zf_path_freep) struct zf_path *sys = NULL;
	_cleanup_free_ char *error = NULL;
	int r;

	if (file) {
		r = config_load_file(file, ret_config, &error);
	} else {
		r = zf_path_open(root, &sys);
		if (r >= 0)
			r = config_load(sys, ret_config, &error);
	}
	if (r < 0)
		fprintf(stderr, "zfoliod: %s%s%s\n", error ? "" : root,
			error ? "" : ": ", error ? error : strerror(-r));
	return r;
}

static int check_config(const char *root, const char *file)
{
	_cleanup_(config_freep) struct config *config = NULL;

	return load(root, file, &config) < 0 ? EXIT_BAD_INPUT : EXIT_OK;
}

static int run_simulation(const char *root, const char *file,
			  const char *trace)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *error = NULL;
	bool is_stdin = !strcmp(trace, "-");
	FILE *in;
	int r;

	if (load(root, file, &config) < 0)
		return EXIT_BAD_INPUT;
	in = is_stdin ? stdin : fopen(trace, "re");
	if (!in) {
		fprintf(stderr, "zfoliod: %s: %s\n", trace, strerror(errno));
		return EXIT_BAD_INPUT;
	}
	r = simulate(config, in, stdout, &error);
	if (!is_stdin)
		fclose(in);
	if (r == -EINVAL) {
		fprintf(stderr, "zfoliod: %s: %s\n",
			is_stdin ? "standard input" : trace, error);
		return EXIT_BAD_INPUT;
	}
	if (r < 0) {
		fprintf(stderr, "zfoliod: replaying %s: %s\n", trace,
			strerror(-r));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* Each cgroup takes a descriptor; the usual limit would end at a thousand. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	/* At worst the tree does not fit, and that is said then. */
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(const struct manager_options *options)
{
	int r;

	raise_descriptor_limit();
	r = manager_run(options);
	return r >= 0 ? EXIT_OK :
	       r == -EINVAL ? EXIT_BAD_INPUT :
	       r == -EOPNOTSUPP ? EXIT_UNSUPPORTED : EXIT_FAILED;
}

/* ---- options ---- */

int main(int argc, char **argv)
{
	enum { DRY_RUN = 256, RECORD, SIMULATE, CHECK, CONFIG, ROOT, VERBOSE };
	static const struct option long_options[] = {
		{ "dry-run", no_argument, NULL, DRY_RUN },
		{ "record", required_argument, NULL, RECORD },
		{ "simulate", required_argument, NULL, SIMULATE },
		{ "check-config", no_argument, NULL, CHECK },
		{ "config", required_argument, NULL, CONFIG },
		{ "root", required_argument, NULL, ROOT },
		{ "verbose", no_argument, NULL, VERBOSE },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct manager_options options = { .root = "/" };
	const char *trace = NULL;
	bool check = false, verbose = false;
	int c;

	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (c) {
		case DRY_RUN:
			options.dry_run = true;
			break;
		case RECORD:
			options.record = optarg;
			break;
		case SIMULATE:
			trace = optarg;
			break;
		case CHECK:
			check = true;
			break;
		case CONFIG:
			options.config = optarg;
			break;
		case ROOT:
			options.root = optarg;
			break;
		case VERBOSE:
			verbose = true;
			break;
		case 'h':
			usage(stdout);
			return EXIT_OK;
		default:
			fputs("zfoliod: see --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "zfoliod: unexpected argument \"%s\": see --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	if ((trace || check) && (options.dry_run || options.record)) {
		fputs("zfoliod: --dry-run and --record are for a running daemon: not with --simulate or --check-config\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (trace && check) {
		fputs("zfoliod: --simulate and --check-config exclude each other\n",
		      stderr);
		return EXIT_USAGE;
	}
	log_start(verbose);
	if (check)
		return check_config(options.root, options.config);
	if (trace)
		return run_simulation(options.root, options.config, trace);
	return run(&options);
}
