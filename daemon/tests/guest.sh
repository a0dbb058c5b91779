# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# shellcheck disable=SC2154 # lib.sh sets tmp and status
#
# Guests with systemd and the daemon installed, for the *.t files of this directory:
# sourced after lib.sh, never run.

# kernel WHICH: base or patched; selftests/run tells where they are.
kernel() {
	case $1 in
	base) [ -n "${ZFOLIO_TEST_BASE:-}" ] && echo "$ZFOLIO_TEST_BASE" && return ;;
	patched) [ -n "${ZFOLIO_TEST_PATCHED:-}" ] && echo "$ZFOLIO_TEST_PATCHED" && return ;;
	esac
	kernel-patches/build "$1"
}

make -s install DESTDIR="$tmp/install" PREFIX=/usr >"$tmp/out" 2>&1 || {
	cat "$tmp/out" >&2
	exit 1
}

# guest NAME OPTION... -- SCRIPT [ARGUMENT]...: runs daemon/tests/guest/SCRIPT in a guest,
# on a clock that counts instructions, and takes over the points of the TAP that it
# prints. All of its output stays in $tmp/tap. It has zfoliod installed, or else the
# files of $guest_tree.
guest() {
	guest_name=$1
	shift
	guest_options=
	while [ "$1" != -- ]; do
		guest_options="$guest_options $1"
		shift
	done
	guest_script=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	run selftests/vm/run --root debian --icount --timeout 1800 $guest_options \
		--add "${guest_tree:-$tmp/install}:/." --add selftests/tests/lib.sh --add daemon/tests/guest/common.sh \
		--add build/guest/load \
		--add "daemon/tests/guest/$guest_script" -- sh "./$guest_script" "$@"
	tr -d '\r' <"$tmp/out" >"$tmp/tap"
	while IFS= read -r guest_line; do
		case $guest_line in
		'ok '* | 'not ok '*)
			points=$((points + 1))
			guest_ok=${guest_line%%ok *}
			guest_text=${guest_line#*ok * - }
			echo "${guest_ok}ok $points - $guest_name: $guest_text"
			[ -z "$guest_ok" ] || failures=$((failures + 1))
			;;
		'#'*) printf '%s\n' "$guest_line" ;;
		esac
	done <"$tmp/tap"
	check "$guest_name: all of it ran" grep -q "^1\.\.$(grep -cE '^(not )?ok ' "$tmp/tap")\$" "$tmp/tap"
	check "$guest_name: nothing else went wrong" [ "$status" -eq "$(grep -q '^not ok' "$tmp/tap" && echo 1 || echo 0)" ]
}
