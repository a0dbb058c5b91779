# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What fetch, apply, build, check and deb share: where things live, messages,
# locks, disk space, and long commands that report what they are doing.
# Sourced with kp_dir (this directory) and me (the caller's name) set.
#
# shellcheck disable=SC2034,SC2154 # the caller sets and uses what is not here

# Exit codes, the same in every script here.
EX_FAILED=1	# the work itself failed: a patch, a compile, a check
EX_USAGE=2	# wrong use or unusable input
EX_SOURCE=3	# the kernel source cannot be had
EX_SPACE=4	# not enough disk space

EXIT_STATUS_HELP='Exit status: 0 done, 1 the work failed (the log is named), 2 wrong use or
unusable input, 3 the kernel source cannot be had, 4 not enough disk space.'

BASE=${BASE:-linux-7.3}
if [ -n "${ZFOLIO_CACHE:-}" ]; then
	CACHE=$ZFOLIO_CACHE
else
	CACHE=${XDG_CACHE_HOME:-${HOME:?set HOME, XDG_CACHE_HOME or ZFOLIO_CACHE}/.cache}/zfolio
fi
JOBS=${ZFOLIO_JOBS:-$(nproc)}

# Seconds between two lines of a long step: a person at a terminal wants to see
# life, a log wants to stay readable. Tests shorten it.
if [ -t 2 ]; then
	tick=${ZFOLIO_TICK:-5}
else
	tick=${ZFOLIO_TICK:-15}
fi

# A caller's make, or a shell set up for other kernel work, must not steer ours.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ARCH CROSS_COMPILE LOCALVERSION \
	KBUILD_OUTPUT KBUILD_EXTMOD KCONFIG_CONFIG KCFLAGS KCPPFLAGS INSTALL_MOD_PATH O W C
export LC_ALL=C

# The same source and configuration give the same bytes, whoever builds.
export KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC' KBUILD_BUILD_VERSION=1 \
	KBUILD_BUILD_USER=zfolio KBUILD_BUILD_HOST=zfolio

began=$(date +%s)
work_pid=
ticker_pid=
scratch=
tmp=

# --- Messages ----------------------------------------------------------------

say()
{
	printf '[%4ds] %s: %s\n' "$(($(date +%s) - began))" "$me" "$*" >&2
}

# die STATUS MESSAGE...
die()
{
	die_status=$1
	shift
	printf '%s: error: %s\n' "$me" "$*" >&2
	exit "$die_status"
}

# --- Leaving -----------------------------------------------------------------

# scratch, when set, is a half-made thing nobody else may see; tmp is a directory
# for the script's own notes.
cleanup()
{
	[ -z "$ticker_pid" ] || kill -KILL "$ticker_pid" 2>/dev/null || :
	if [ -n "$work_pid" ]; then
		kill -s TERM -- "-$work_pid" 2>/dev/null || :
		wait "$work_pid" 2>/dev/null || :
	fi
	[ -z "$scratch" ] || rm -rf "$scratch"
	[ -z "$tmp" ] || rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# --- The base ----------------------------------------------------------------

# field FILE NAME: the value of a NAME=VALUE line.
field()
{
	sed -n "s/^$2=//p" "$1"
}

list_bases()
{
	for list_file in "$kp_dir"/*/BASE; do
		printf ' %s (BASE=%s)' "$(field "$list_file" fits).y" \
			"$(basename "$(dirname "$list_file")")"
	done
}

# Sets base_* from kernel-patches/$BASE/BASE.
load_base()
{
	base_dir=$kp_dir/$BASE
	[ -r "$base_dir/BASE" ] ||
		die $EX_USAGE "BASE=$BASE: there is no kernel-patches/$BASE/BASE; there are:$(list_bases)"
	base_version=$(field "$base_dir/BASE" version)
	base_fits=$(field "$base_dir/BASE" fits)
	base_package=$(field "$base_dir/BASE" package)
	base_suite=$(field "$base_dir/BASE" suite)
	base_package_version=$(field "$base_dir/BASE" package_version)
	base_sha256=$(field "$base_dir/BASE" sha256)
	for load_value in "$base_version" "$base_fits" "$base_package" "$base_suite" \
		"$base_package_version" "$base_sha256"; do
		[ -n "$load_value" ] ||
			die $EX_USAGE "$base_dir/BASE: expected version, fits, package, suite," \
				"package_version and sha256, each as NAME=VALUE"
	done
}

# The release that a kernel tree's Makefile states.
tree_version()
{
	awk '
		$1 == "VERSION" { v = $3 }
		$1 == "PATCHLEVEL" { p = $3 }
		$1 == "SUBLEVEL" { s = $3 }
		$1 == "EXTRAVERSION" { e = $3 }
		/^NAME/ { exit }
		END {
			if (v == "" || p == "")
				exit 1
			print v "." p (s == "" || s == "0" ? "" : "." s) e
		}' "$1/Makefile" 2>/dev/null
}

# check_version TREE ORIGIN: sets version, or dies saying what would fit.
check_version()
{
	if [ ! -f "$1/Kbuild" ] || [ ! -d "$1/mm" ] || ! version=$(tree_version "$1"); then
		die $EX_USAGE "$2 is not a Linux source tree: expected Makefile, Kbuild and mm/"
	fi
	case $version in
	"$base_fits" | "$base_fits".* | "$base_fits"-*) ;;
	*)
		die $EX_USAGE "$2 is Linux $version, but the series in kernel-patches/$BASE fits" \
			"$base_fits.y (made on $base_version). Bases there are:$(list_bases)" ;;
	esac
}

# --- The cache ---------------------------------------------------------------

make_cache()
{
	mkdir -p "$CACHE/locks" "$CACHE/logs" 2>/dev/null ||
		die $EX_USAGE "cannot create the cache directory $CACHE (set ZFOLIO_CACHE to another)"
	if [ ! -w "$CACHE" ] || [ ! -w "$CACHE/locks" ]; then
		die $EX_USAGE "the cache directory $CACHE is not writable (set ZFOLIO_CACHE to another)"
	fi
}

# lock FD NAME: holds NAME until this script and all it started have ended, so
# that what a killed run left running is waited for too.
lock()
{
	lock_file=$CACHE/locks/$2
	eval "exec $1>>\"\$lock_file\""
	if ! flock -n "$1"; then
		say "waiting for $(cat "$lock_file.owner" 2>/dev/null || echo 'another run')," \
			"which holds $lock_file"
		until flock -w "$tick" "$1"; do
			say "still waiting for $(cat "$lock_file.owner" 2>/dev/null || echo 'another run')"
		done
	fi
	printf '%s (process %s, since %s)\n' "$me" $$ "$(date +%T)" >"$lock_file.owner" ||
		die $EX_SPACE "cannot write $lock_file.owner"
}

unlock()
{
	eval "exec $1>&-"
}

# need_space MIB DIRECTORY WHAT
need_space()
{
	space_free=$(df -Pm "$2" | awk 'NR == 2 { print $4 }')
	[ "$space_free" -ge "$1" ] ||
		die $EX_SPACE "$3 needs $1 MiB in $2, which has $space_free MiB free"
}

# disk_full LOG: did the command that wrote LOG fail for want of space? LOG may be
# on the very disk, and short for that reason.
disk_full()
{
	grep -q 'No space left' "$1" 2>/dev/null ||
		[ "$(df -Pm "$CACHE" | awk 'NR == 2 { print $4 }')" -le 1 ]
}

# --- Long commands -----------------------------------------------------------

# work LABEL LOG PROBE COMMAND...
# Runs COMMAND with its output in LOG, and says every tick seconds how far it is:
# PROBE is a function that prints that. COMMAND gets a process group of its own,
# which ends with us. Returns COMMAND's status.
work()
{
	work_label=$1 work_log=$2 work_probe=$3
	shift 3
	say "$work_label"
	setsid "$@" >"$work_log" 2>&1 </dev/null &
	work_pid=$!
	(
		# It must hold no lock, nor go on when we were killed outright; and
		# its sleep, which outlives it, must not hold our caller's pipe.
		exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		while sleep "$tick" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
			say "$work_label: $($work_probe)"
		done
	) >/dev/null &
	ticker_pid=$!
	work_status=0
	wait "$work_pid" || work_status=$?
	work_pid=
	# Not TERM: a subshell that has just been forked may still have our trap,
	# and lose the signal.
	kill -KILL "$ticker_pid" 2>/dev/null || :
	wait "$ticker_pid" 2>/dev/null || :
	ticker_pid=
	return $work_status
}

# Probes.
# shellcheck disable=SC2317 # called by name
probe_objects()
{
	printf '%s objects so far, now %s' \
		"$(grep -cE '^ +(CC|AS|LDS|HOSTCC|CC \[M\]) ' "$work_log" || :)" \
		"$(sed -n 's/^ *[A-Z]\{2,\} *\(\[M\]\)\{0,1\} *//p' "$work_log" | tail -n 1)"
}

# shellcheck disable=SC2317 # called by name
probe_last()
{
	tail -n 1 "$work_log"
}

# shellcheck disable=SC2317 # called by name
probe_space()
{
	printf '%s MiB so far' "$(du -sm "${probe_dir:-$scratch}" 2>/dev/null | cut -f1)"
}

# show_errors LOG: what a person needs of a failed build: its first errors.
show_errors()
{
	show_found=$(grep -nE '(error|Error|undefined reference|No space left|not found|[Cc]annot)' "$1" |
		head -n 8 || :)
	{
		if [ -n "$show_found" ]; then
			printf '%s\n' "$show_found"
		else
			tail -n 8 "$1"
		fi
		printf '%s: the whole log: %s\n' "$me" "$1"
	} >&2
}
