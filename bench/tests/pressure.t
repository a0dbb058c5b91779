#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pressure with a stand-in for the virtual machine, which answers made-up records.
# shellcheck disable=SC2154,SC2317 # tap.sh sets tmp and calls the functions
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=bench/tests/tap.sh
. "$here/tap.sh"

t=$tmp/tree
export GUESTS="$tmp/guests"
mkdir -p "$t/bench" "$t/selftests/vm" "$t/kernel-patches" "$t/build/bench" "$GUESTS"
cp "$here/../pressure" "$here/../common.sh" "$here/../table.awk" "$t/bench/"
: >"$t/build/bench/pressure"
chmod +x "$t/build/bench/pressure"

# On base 1000 pages come in from zswap and 2000 go out to it, on patched half of
# that, limited or not; ten more in each time. Every load takes nine or ten thousand million
# instructions on base, five on patched. base does not know of large folios from zswap.
cat >"$t/selftests/vm/run" <<'END'
#!/bin/sh
echo "$@" >>"$GUESTS/arguments"
while [ "$1" != ./pressure ]; do shift; done
echo "$2" >>"$GUESTS/booted"
[ ! -e "$GUESTS/$2.wrong" ] || exit 1
[ ! -e "$GUESTS/$2.fails" ] || exit 124
n=$(grep -cx "$2" "$GUESTS/booted")
case $2 in
base) in=1000 ns=$((9000000000 + 1000000000 * (n % 2))) ;;
patched | limited) in=500 ns=5000000000 ;;
esac
killed=false
[ ! -e "$GUESTS/$2.killed" ] || killed=true
for load in random build; do
	for percent in 50 60 70; do
		printf '{"schema": 1, "benchmark": "pressure", "label": "%s", "kernel": "x", "sizes": "%s", "load": "%s", "percent": %s, "need_mib": %s, ' \
			"$2" "$4" $load $percent "$3"
		printf '"zswpin": %s, "zswpout": %s, "zswpwb": 0, "pswpin": 0, "pswpout": 0, "faults": 70, "faults_major": 7, ' \
			$((in + 10 * (n - 1))) $((2 * in))
		printf '"large_folios_in": 3, "fallbacks": 9, "fallbacks_charge": 8, "ns": %s, "wrong": false, "killed": %s}\n' \
			$ns $killed
	done
done
END
cat >"$t/kernel-patches/build" <<'END'
#!/bin/sh
[ ! -e "$GUESTS/build.fails" ] || exit 1
echo "$1" >>"$GUESTS/built"
echo "$GUESTS"
END
chmod +x "$t/selftests/vm/run" "$t/kernel-patches/build"

table() {
	expect_status 0 "$t/bench/pressure" --runs 3 --need 32 --out "$tmp/r" || return
	[ "$(tr '\n' ' ' <"$GUESTS/booted")" = \
		'base patched limited base patched limited base patched limited ' ] || return
	[ "$(tr '\n' ' ' <"$GUESTS/built")" = 'base patched ' ] || return
	grep -q -- '--icount .*-- ./pressure base 32 all$' "$GUESTS/arguments" || return
	grep -q -- '-- ./pressure limited 32 all 4096$' "$GUESTS/arguments" || return
	# Medians are those of the second run.
	[ "$(grep -cE '^pages in and out +3010 \(  0\.7\) +1510 \(  1\.3\) +0\.502 +1510 \(  1\.3\) +0\.502$' "$tmp/out")" -eq 6 ] || return
	[ "$(grep -cE '^  in from zswap +1010 \(  2\.0\) +510\.0 \(  3\.9\) +0\.505 ' "$tmp/out")" -eq 6 ] || return
	[ "$(grep -cE '^pages out +2000 \(  0\.0\) +1000 \(  0\.0\) +0\.500 ' "$tmp/out")" -eq 6 ] || return
	[ "$(grep -cE '^1000 instructions +10000000 \( 10\.0\) +5000000 \(  0\.0\) +0\.500 ' "$tmp/out")" -eq 6 ] || return
	# There is no ratio to nothing.
	[ "$(grep -cE '^  in from disk +0\.0 \(  0\.0\) +0\.0 \(  0\.0\) +- ' "$tmp/out")" -eq 6 ] || return
	expect_text "$tmp/out" 'random 50 %' || return
	expect_text "$tmp/out" 'build 70 %' || return
	! grep -q 'runs killed' "$tmp/out" || return
	[ "$(wc -l <"$tmp/r/patched.jsonl")" -eq 18 ]
}

# Records of two sets of runs must not be mixed.
keeps_records() {
	expect_status 2 "$t/bench/pressure" --runs 1 --out "$tmp/r" || return
	expect_text "$tmp/err" 'already has base.jsonl' || return
	[ "$(wc -l <"$tmp/r/base.jsonl")" -eq 18 ]
}

killed() {
	: >"$GUESTS/base.killed"
	expect_status 0 "$t/bench/pressure" --runs 2 || return
	rm "$GUESTS/base.killed"
	[ "$(grep -cE '^runs killed +2\.0 \(  0\.0\) +0\.0 ' "$tmp/out")" -eq 6 ] || return
	# What it did up to then is no figure.
	[ "$(grep -cE '^faults +- +70\.0 \(  0\.0\) +- ' "$tmp/out")" -eq 6 ]
}

guest_fails() {
	: >"$GUESTS/patched.fails"
	expect_status 4 "$t/bench/pressure" --runs 1 || return
	rm "$GUESTS/patched.fails"
	expect_text "$tmp/err" 'the patched guest failed' || return
	: >"$GUESTS/patched.wrong"
	expect_status 1 "$t/bench/pressure" --runs 1 || return
	rm "$GUESTS/patched.wrong"
	expect_text "$tmp/err" 'WRONG CONTENTS'
}

build_fails() {
	: >"$GUESTS/build.fails"
	expect_status 3 "$t/bench/pressure" --runs 1 || return
	rm "$GUESTS/build.fails"
	expect_text "$tmp/err" 'could not be built'
}

wrong_use() {
	expect_status 2 "$t/bench/pressure" --runs 0 || return
	expect_status 2 "$t/bench/pressure" --need x || return
	expect_status 2 "$t/bench/pressure" --need 3 || return
	expect_status 2 "$t/bench/pressure" --sizes some || return
	expect_status 2 "$t/bench/pressure" --out || return
	expect_status 2 "$t/bench/pressure" --nonsense || return
	expect_status 2 "$t/bench/pressure" --base "$tmp/missing" || return
	expect_text "$tmp/err" 'no such kernel' || return
	expect_status 0 "$t/bench/pressure" --help
}

run table 'kernels take turns; medians, spreads and ratios'
run keeps_records 'records that are there are kept'
run killed 'a load that was killed is told'
run guest_fails 'a failed guest and wrong contents are named'
run build_fails 'a failed build is told'
run wrong_use 'wrong use'
finish
