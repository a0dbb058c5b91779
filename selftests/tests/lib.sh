# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the *.t files of this directory share: sourced, never run. They are run
# from the top of the repository, and print TAP.
set -u

points=0
failures=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
: >"$tmp/out"
: >"$tmp/err"

# check TEXT COMMAND...: a point that is ok when COMMAND succeeds. Otherwise what
# the last call of run printed is shown.
check() {
	check_text=$1
	shift
	points=$((points + 1))
	if "$@" >/dev/null 2>&1; then
		echo "ok $points - $check_text"
		return
	fi
	failures=$((failures + 1))
	echo "not ok $points - $check_text"
	echo "# $* (status ${status:-?})"
	tail -n 12 "$tmp/out" | cut -c 1-300 | sed 's/^/# out: /'
	tail -n 25 "$tmp/err" | cut -c 1-300 | sed 's/^/# err: /'
}

skip() {
	points=$((points + 1))
	echo "ok $points - $1 # SKIP $2"
}

# run COMMAND...: sets status, and leaves its output in $tmp/out and $tmp/err.
run() {
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null && status=0 || status=$?
}

# Has the output, or have the messages, of the last run a line that matches?
out_has() {
	grep -qE -e "$1" "$tmp/out"
}

err_has() {
	grep -qE -e "$1" "$tmp/err"
}

fails() {
	! "$@"
}

finish() {
	echo "1..$points"
	[ $failures -eq 0 ]
	exit
}
