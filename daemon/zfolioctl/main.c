// SPDX-License-Identifier: GPL-2.0-or-later
#include <getopt.h>
#include <stdarg.h>
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
"  -h, --help            this text\n"
"\n"
"Exit status: 0 done; 1 failed; 2 wrong usage; 3 no such cgroup, key or\n"
"value, or a wrong configuration; 4 this machine lacks what it takes, as cgroup\n"
"v2; 5 zfoliod does not run, for set; 6 only root may do that.\n",
	      out);
}

void complain(const char *format, ...)
{
	va_list args;

	fputs("zfolioctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- commands ---- */

/* Which of the options below go with a command. */
enum {
	TAKES_FOR = 1 << 0,
	TAKES_INTERVAL = 1 << 1,
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
	enum { JSON = 256, BYTES, COLOUR, ROOT, FOR, INTERVAL, ITERATIONS };
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "bytes", no_argument, NULL, BYTES },
		{ "color", required_argument, NULL, COLOUR },
		{ "root", required_argument, NULL, ROOT },
		{ "for", required_argument, NULL, FOR },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "iterations", required_argument, NULL, ITERATIONS },
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
		.hold = UINT64_MAX,
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
