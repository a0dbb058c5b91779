// SPDX-License-Identifier: GPL-2.0-or-later
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

static void usage(FILE *out)
{
	fputs(
"Usage: zfolioctl [OPTION]... COMMAND [ARGUMENT]...\n"
"\n"
"Asks zfoliod what it sees, what it did and why. Where it does not run, the\n"
"commands that only read take the kernel's word.\n"
"\n"
"Commands:\n"
"  status                the pool, swap devices, and cgroups with memory in swap\n"
"  top                   the same, again and again; q quits, s sorts by another\n"
"                        column\n"
"  explain CGROUP        signals and limits of a cgroup, what was done to it and\n"
"                        why nothing is done now\n"
"  set CGROUP KEY=VALUE  set a key of [cgroup] (zfolio.conf) for one cgroup,\n"
"                        until zfoliod ends; KEY= takes that back\n"
"  features              what this kernel has of what zfoliod uses\n"
"  measure               how long swap-in from zswap takes here and now, with\n"
"                        folios of one page, 64K and 1M; takes some seconds and\n"
"                        root, and changes the folio sizes meanwhile\n"
"  advise CGROUP         how well a sample of its pages compresses with lz4 and\n"
"                        zstd, what that costs, and what to do; takes root\n"
"  metrics               all numbers of status as OpenMetrics text\n"
"\n"
"Options:\n"
"  --json                print the reply as JSON\n"
"  --bytes               sizes in bytes, not rounded\n"
"  --color WHEN          always, never or auto (on a terminal without NO_COLOR)\n"
"  --root DIR            take DIR for /: a host's root in a container, or a\n"
"                        captured tree\n"
"  --for TIME            with set: take it back after TIME, as 30min\n"
"  --interval TIME       with top: from one view to the next (default 2s)\n"
"  --iterations N        with top: end after N views\n"
"  --size SIZE           with measure: how much memory (default 64M)\n"
"  --samples N           with advise: how many pages (default 4096)\n"
"  --output FILE         with metrics: replace FILE as a whole, for the textfile\n"
"                        collector of node_exporter\n"
"  -h, --help            this text\n"
"\n"
"Exit status: 0 done; 1 failed; 2 wrong usage; 3 no such cgroup, key or\n"
"value, or a wrong configuration; 4 this machine lacks what it takes, as cgroup\n"
"v2 or swap; 5 zfoliod does not run, for set; 6 only root may do that; 7 memory\n"
"is short, so this is no time to measure.\n",
	      out);
}

/* ---- commands ---- */

/* Which of the options below go with a command. */
enum {
	TAKES_FOR = 1 << 0,
	TAKES_INTERVAL = 1 << 1,
	TAKES_SIZE = 1 << 2,
	TAKES_SAMPLES = 1 << 3,
	TAKES_OUTPUT = 1 << 4,
};

static const struct command {
	const char *name;
	int (*run)(const struct ctl *ctl, int argc, char **argv);
	unsigned int takes;
} commands[] = {
	{ "status", command_status, 0 },
	{ "top", command_top, TAKES_INTERVAL },
	{ "explain", command_explain, 0 },
	{ "set", command_set, TAKES_FOR },
	{ "features", command_features, 0 },
	{ "measure", command_measure, TAKES_SIZE },
	{ "advise", command_advise, TAKES_SAMPLES },
	{ "metrics", command_metrics, TAKES_OUTPUT },
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

/* ---- options ---- */

static bool parse_colour(const char *text, struct ctl *ctl)
{
	if (!strcmp(text, "always"))
		ctl->term.colour = true;
	else if (!strcmp(text, "never"))
		ctl->term.colour = false;
	else if (strcmp(text, "auto"))
		return false;
	return true;
}

/* EXIT_OK, or an exit status; *ret_help after --help. */
static int parse_options(int argc, char **argv, struct ctl *ctl,
			 unsigned int *ret_given, bool *ret_help)
{
	enum { JSON = 256, BYTES, COLOUR, ROOT, FOR, INTERVAL, ITERATIONS,
	       SIZE, SAMPLES, OUTPUT };
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "bytes", no_argument, NULL, BYTES },
		{ "color", required_argument, NULL, COLOUR },
		{ "root", required_argument, NULL, ROOT },
		{ "for", required_argument, NULL, FOR },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "iterations", required_argument, NULL, ITERATIONS },
		{ "size", required_argument, NULL, SIZE },
		{ "samples", required_argument, NULL, SAMPLES },
		{ "output", required_argument, NULL, OUTPUT },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	const char *expected = NULL;
	int c, i = 0;

	while (!expected &&
	       (c = getopt_long(argc, argv, "h", long_options, &i)) != -1) {
		switch (c) {
		case JSON:
			ctl->json = true;
			break;
		case BYTES:
			ctl->term.exact = true;
			break;
		case COLOUR:
			if (!parse_colour(optarg, ctl))
				expected = "always, never or auto";
			break;
		case ROOT:
			ctl->root = optarg;
			break;
		case FOR:
			*ret_given |= TAKES_FOR;
			if (zf_parse_time(optarg, &ctl->hold) < 0 ||
			    !ctl->hold || ctl->hold > 365 * ZF_USEC_PER_DAY)
				expected = "a time up to 365day, such as 30min";
			break;
		case INTERVAL:
			*ret_given |= TAKES_INTERVAL;
			if (zf_parse_time(optarg, &ctl->interval) < 0 ||
			    ctl->interval < 100 * ZF_USEC_PER_MSEC ||
			    ctl->interval > ZF_USEC_PER_HOUR)
				expected = "a time from 100ms to 1h, such as 2s";
			break;
		case ITERATIONS:
			*ret_given |= TAKES_INTERVAL;
			if (zf_parse_u64(optarg, &ctl->iterations) < 0 ||
			    !ctl->iterations)
				expected = "a number from 1";
			break;
		case SIZE:
			*ret_given |= TAKES_SIZE;
			/* A megabyte is 256 touches: enough for a percentile. */
			if (zf_parse_bytes(optarg, &ctl->size) < 0 ||
			    ctl->size < 1 << 20 || ctl->size > 1ULL << 40 ||
			    ctl->size % (1 << 20))
				expected = "whole megabytes, such as 64M";
			break;
		case SAMPLES:
			*ret_given |= TAKES_SAMPLES;
			if (zf_parse_u64(optarg, &ctl->samples) < 0 ||
			    !ctl->samples || ctl->samples > 1000000)
				expected = "a number from 1 to 1000000";
			break;
		case OUTPUT:
			*ret_given |= TAKES_OUTPUT;
			ctl->output = optarg;
			break;
		case 'h':
			*ret_help = true;
			return EXIT_OK;
		default:
			complain("see --help");
			return EXIT_USAGE;
		}
	}
	if (!expected)
		return EXIT_OK;
	complain("--%s: \"%s\": expected %s", long_options[i].name, optarg,
		 expected);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	_cleanup_(zf_path_freep) struct zf_path *sys = NULL;
	struct ctl ctl = {
		.root = "/", .interval = 2 * ZF_USEC_PER_SEC,
		.hold = UINT64_MAX, .size = 64 << 20,
		/* Shares are right within 2 % then. */
		.samples = 4096,
	};
	const struct command *command;
	unsigned int given = 0;
	bool help = false;
	int r;

	term_init(&ctl.term);
	r = parse_options(argc, argv, &ctl, &given, &help);
	if (help)
		usage(stdout);
	if (help || r != EXIT_OK)
		return r;
	command = optind < argc ? find_command(argv[optind]) : NULL;
	if (!command) {
		complain("%s%sexpected a command, such as status: see --help",
			 optind < argc ? argv[optind] : "",
			 optind < argc ? ": " : "");
		return EXIT_USAGE;
	}
	if (given & ~command->takes) {
		complain("%s: an option that does not go with it: see --help",
			 command->name);
		return EXIT_USAGE;
	}
	r = zf_path_open(ctl.root, &sys);
	if (r < 0) {
		complain("%s: %s", ctl.root, strerror(-r));
		return EXIT_FAILED;
	}
	ctl.sys = sys;
	return command->run(&ctl, argc - optind - 1, argv + optind + 1);
}
