#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo with a stand-in for the virtual machine, which replays captured records.
# shellcheck disable=SC2154 # tap.sh sets tmp
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=bench/tests/tap.sh
. "$here/tap.sh"

build=${BUILD:-$here/../../build}
t=$tmp/tree
export ZFOLIO_CACHE="$tmp/cache" GUESTS="$tmp/guests"

mkdir -p "$t/bench" "$t/selftests/vm" "$t/kernel-patches" "$t/build/bench/host"
cp "$here/../demo" "$here/../swapin.gp" "$t/bench/"
cp "$build/bench/host/report" "$t/build/bench/host/"
cp "$build/bench/swapin" "$t/build/bench/"

# What it answers is in files: records, messages and exit status.
cat >"$t/selftests/vm/run" <<'END'
#!/bin/sh
before=
label=
for word; do
	[ "$before" != --label ] || label=$word
	before=$word
done
echo "$label" >>"$GUESTS/booted"
cat "$GUESTS/$label.jsonl"
[ ! -e "$GUESTS/$label.message" ] || cat "$GUESTS/$label.message" >&2
[ ! -e "$GUESTS/$label.sleep" ] || exec sleep 60
exit "$(cat "$GUESTS/$label.status" 2>/dev/null || echo 0)"
END
cat >"$t/kernel-patches/build" <<'END'
#!/bin/sh
[ ! -e "$GUESTS/build.fails" ] || { echo "build $1: mm/zswap.c: error" >&2; exit 1; }
mkdir -p "$GUESTS/$1"
echo "7.3.4-$1" >"$GUESTS/$1/release"
echo "variant $1" >"$GUESTS/$1/inputs"
echo "$GUESTS/$1"
END
chmod +x "$t/selftests/vm/run" "$t/kernel-patches/build"

# shellcheck disable=SC2317 # all functions are called by name through run
guests() {
	rm -rf "$GUESTS"
	mkdir "$GUESTS"
	head -n 3 "$here/data/base.jsonl" >"$GUESTS/base.jsonl"
	head -n 3 "$here/data/patched.jsonl" >"$GUESTS/patched.jsonl"
	sed 's/"ns_per_page": [0-9.]*/"ns_per_page": 6789.1/' "$GUESTS/base.jsonl" \
		>"$GUESTS/zram.jsonl"
}

all_well() {
	guests
	expect_status 0 "$t/bench/demo" --runs 2 --out "$tmp/r1" || return
	expect_text "$tmp/out" 'medians of 2 runs a kernel' || return
	expect_text "$tmp/out" "Records, table and plots: $tmp/r1" || return
	# The kernels take turns.
	[ "$(tr '\n' ' ' <"$GUESTS/booted")" = 'base patched zram base patched zram ' ] || return
	expect_text "$tmp/out" 'zram: swap to zram instead of zswap' || return
	[ "$(grep -c '^ *zram  *6,789 ' "$tmp/out")" -eq 3 ] || return
	for file in base.jsonl patched.jsonl base.inputs patched.inputs table.txt \
		table.json table.tsv machine; do
		[ -s "$tmp/r1/$file" ] || { echo "no $file"; return 1; }
	done
	[ "$(wc -l <"$tmp/r1/base.jsonl")" -eq 6 ] || return
	! command -v gnuplot >/dev/null || {
		grep -q '</svg>' "$tmp/r1/swapin.svg" && [ -s "$tmp/r1/swapin.png" ]
	}
}

without_peer() {
	guests
	expect_status 0 "$t/bench/demo" --runs 1 --peer none --out "$tmp/r5" || return
	[ "$(tr '\n' ' ' <"$GUESTS/booted")" = 'base patched ' ] &&
		! grep -q zram "$tmp/out" &&
		expect_status 2 "$t/bench/demo" --peer disk &&
		expect_text "$tmp/err" "--peer: 'disk': expected zram or none"
}

as_documented() {
	sed -n 's|^\tbench/demo \([^#]*\).*|\1|p' "$here/../README.md" >"$tmp/options"
	[ "$(wc -l <"$tmp/options")" -ge 4 ] || return
	mkdir -p "$tmp/A" "$tmp/B"
	touch "$tmp/A/bzImage" "$tmp/B/bzImage"
	while read -r options; do
		guests
		# shellcheck disable=SC2086 # split into words on purpose
		(cd "$tmp" && expect_status 0 "$t/bench/demo" $options --runs 1) </dev/null || return
	done <"$tmp/options"
}

shows_progress() {
	guests
	expect_status 0 "$t/bench/demo" --runs 1 || return
	expect_text "$tmp/err" 'base kernel: 7.3.4-base' &&
		expect_text "$tmp/err" 'patched, run 1 of 1: 1M: 6926 instructions a page, 128 major faults' &&
		cat "$ZFOLIO_CACHE"/results/*-swapin/table.txt >/dev/null
}

at_once() {
	guests
	"$t/bench/demo" --runs 1 >"$tmp/o1" 2>&1 &
	first=$!
	expect_status 0 "$t/bench/demo" --runs 1 || return
	wait $first || return
	a=$(sed -n 's/^Records.*: //p' "$tmp/o1")
	b=$(sed -n 's/^Records.*: //p' "$tmp/out")
	[ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ]
}

wrong_bytes() {
	guests
	echo 1 >"$GUESTS/patched.status"
	echo 'swapin: 64K: 12 wrong bytes in 1 pages' >"$GUESTS/patched.message"
	expect_status 1 "$t/bench/demo" --runs 1 --out "$tmp/r2" &&
		expect_text "$tmp/err" '12 wrong bytes in 1 pages' &&
		expect_text "$tmp/err" 'the patched kernel brought back WRONG CONTENTS' &&
		[ -s "$tmp/r2/patched.jsonl" ]
}

guest_fails() {
	guests
	echo 126 >"$GUESTS/base.status"
	echo 'vm/run: error: kernel BUG at mm/zswap.c' >"$GUESTS/base.message"
	expect_status 4 "$t/bench/demo" --runs 1 --out "$tmp/r3" &&
		expect_text "$tmp/err" 'kernel BUG at mm/zswap.c' &&
		expect_text "$tmp/err" 'the base guest failed with status 126'
}

build_fails() {
	guests
	: >"$GUESTS/build.fails"
	expect_status 3 "$t/bench/demo" --runs 1 &&
		expect_text "$tmp/err" 'mm/zswap.c: error' &&
		expect_text "$tmp/err" 'the base kernel could not be built'
}

interrupted() {
	guests
	: >"$GUESTS/base.sleep"
	"$t/bench/demo" --runs 1 --out "$tmp/r4" >"$tmp/out" 2>"$tmp/err" &
	demo=$!
	n=0
	until [ -e "$GUESTS/booted" ] || [ $n -ge 100 ]; do
		sleep 0.1
		n=$((n + 1))
	done
	kill -TERM $demo
	have=0
	wait $demo || have=$?
	[ $have -eq 143 ] || { echo "status $have"; return 1; }
	expect_text "$tmp/err" "what was measured so far is in $tmp/r4"
}

usage() {
	expect_status 0 "$t/bench/demo" --help && expect_text "$tmp/out" 'Exit status' &&
		expect_status 2 "$t/bench/demo" --fast &&
		expect_text "$tmp/err" "'--fast': unknown option" &&
		expect_status 2 "$t/bench/demo" --runs 0 &&
		expect_text "$tmp/err" "--runs: '0': expected a number" &&
		expect_status 2 "$t/bench/demo" --size 1G &&
		expect_text "$tmp/err" "--size: '1G': expected MiB" &&
		expect_status 2 "$t/bench/demo" --base &&
		expect_text "$tmp/err" '--base: value missing' &&
		expect_status 2 "$t/bench/demo" --base "$tmp/absent" &&
		expect_text "$tmp/err" "$tmp/absent: no such kernel"
}

not_twice_into_one_place() {
	guests
	expect_status 2 "$t/bench/demo" --runs 1 --out "$tmp/r1" &&
		expect_text "$tmp/err" 'already has base.jsonl'
}

run all_well 'two runs: table, records and plots'
run without_peer 'without zram beside it'
run as_documented 'the options that the README has'
run shows_progress 'progress while it boots, results under the cache directory'
run at_once 'two at once keep their results apart'
run wrong_bytes 'a wrong byte ends it with 1 and says so'
run guest_fails 'a failed guest ends it with 4 and shows why'
run build_fails 'a failed build ends it with 3 and shows why'
run interrupted 'a signal ends the guest too'
run usage 'usage'
run not_twice_into_one_place 'results are never mixed'
finish
