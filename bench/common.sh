# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# What the benchmarks share that boot kernels in turns; sourced, with me set to the
# script's name.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
top=$(dirname "$here")

# die STATUS TEXT
die() {
	die_status=$1
	shift
	printf '%s: error: %s\n' "$me" "$*" >&2
	exit "$die_status"
}

# check_numbers NUMBER...
check_numbers() {
	for number; do
		case $number in
		'' | *[!0-9]* | 0* | ?????*) die 2 "'$number': expected a number from 1 to 9999" ;;
		esac
	done
}

# find_program NAME: sets program to one that 'make bench' builds.
find_program() {
	program=$top/build/bench/$1
	[ -x "$program" ] || die 2 "$program is not built: 'make bench' builds it"
}

# build_kernel LABEL: prints where it is.
build_kernel() {
	case $1 in
	fixes) SERIES=fixes "$top/kernel-patches/build" patched ;;
	*) "$top/kernel-patches/build" "$1" ;;
	esac | tail -n 1
}

# find_kernels LABEL...: builds those whose variable, of that name, is empty.
find_kernels() {
	for label; do
		eval "kernel=\$$label"
		[ -n "$kernel" ] || kernel=$(build_kernel "$label")
		[ -n "$kernel" ] || die 3 "the $label kernel could not be built; the reason stands above"
		[ -r "$kernel" ] || die 2 "$kernel: no such kernel, or unreadable"
		eval "$label=\$kernel"
	done
}

# make_out LABEL...: the directory for each label's records, out. One of our own, made
# when none is named, is removed in the end.
make_out() {
	if [ -z "$out" ]; then
		out=$(mktemp -d) || die 2 'cannot make a temporary directory'
		trap 'rm -rf "$out"' EXIT
	fi
	mkdir -p "$out" || die 2 "cannot make $out"
	for label; do
		[ ! -e "$out/$label.jsonl" ] ||
			die 2 "$out already has $label.jsonl: give another --out"
	done
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# boot LABEL KERNEL ARG...: one guest by vm/run with these arguments; its records are
# added to LABEL's.
boot() {
	boot_label=$1 boot_kernel=$2
	shift 2
	boot_status=0
	"$top/selftests/vm/run" --kernel "$boot_kernel" "$@" >>"$out/$boot_label.jsonl" || boot_status=$?
	case $boot_status in
	0) ;;
	1) die 1 "the $boot_label kernel brought back WRONG CONTENTS; records: $out/$boot_label.jsonl" ;;
	*) die 4 "the $boot_label guest failed" ;;
	esac
}

# words [FILE]: its records with a space for each character between names and values.
words() {
	sed 's/[{}",:]/ /g' "$@"
}
