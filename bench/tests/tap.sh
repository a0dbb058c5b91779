# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# TAP for the tests here. Each test is a function that returns 0 when all was
# right; what it prints is shown when it failed.

number=0
failed=0

# run FUNCTION DESCRIPTION
run() {
	number=$((number + 1))
	if "$1" >"$tmp/output" 2>&1; then
		printf 'ok %d - %s\n' "$number" "$2"
	else
		failed=$((failed + 1))
		printf 'not ok %d - %s\n' "$number" "$2"
		sed 's/^/# /' "$tmp/output"
	fi
}

finish() {
	printf '1..%d\n' "$number"
	[ "$failed" -eq 0 ]
}

# expect_status WANT COMMAND...: stdout goes to $tmp/out, stderr to $tmp/err.
expect_status() {
	want=$1
	shift
	have=0
	"$@" >"$tmp/out" 2>"$tmp/err" || have=$?
	[ "$have" -eq "$want" ] && return
	echo "status $have instead of $want: $*"
	cat "$tmp/out" "$tmp/err"
	return 1
}

# expect_text FILE TEXT: TEXT stands in FILE, literally.
expect_text() {
	grep -qF -- "$2" "$1" && return
	echo "'$2' is missing in:"
	cat "$1"
	return 1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
