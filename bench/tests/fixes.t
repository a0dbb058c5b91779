#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fixes with a stand-in for the virtual machine, which answers made-up records.
# shellcheck disable=SC2154,SC2317 # tap.sh sets tmp and calls the functions
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=bench/tests/tap.sh
. "$here/tap.sh"

t=$tmp/tree
export GUESTS="$tmp/guests"
mkdir -p "$t/bench" "$t/selftests/vm" "$t/kernel-patches" "$t/build/bench" "$GUESTS"
cp "$here/../fixes" "$here/../common.sh" "$here/../table.awk" "$t/bench/"
: >"$t/build/bench/order0"
chmod +x "$t/build/bench/order0"

# base costs 1000 a page on each path, fixes 1010, patched 500; a run more each
# time.
cat >"$t/selftests/vm/run" <<'END'
#!/bin/sh
while [ "$1" != ./order0 ]; do shift; done
echo "$2" >>"$GUESTS/booted"
[ ! -e "$GUESTS/$2.fails" ] || exit 124
n=$(grep -cx "$2" "$GUESTS/booted")
case $2 in base) v=1000 ;; fixes) v=1010 ;; patched) v=500 ;; esac
v=$((v + n - 1)).0
printf '{"benchmark": "order0", "label": "%s", ' "$2"
for path in store load writeback store_limited; do
	printf '"%s": {"pages": 16384, "ns_per_page": %s}, ' $path $v
done
echo '"size_mib": 64}'
END
cat >"$t/kernel-patches/build" <<'END'
#!/bin/sh
[ ! -e "$GUESTS/build.fails" ] || exit 1
echo "$1 ${SERIES:-all}" >>"$GUESTS/built"
echo "$GUESTS"
END
chmod +x "$t/selftests/vm/run" "$t/kernel-patches/build"

table() {
	expect_status 0 "$t/bench/fixes" --runs 3 --out "$tmp/r" || return
	[ "$(tr '\n' ' ' <"$GUESTS/booted")" = \
		'base fixes patched base fixes patched base fixes patched ' ] || return
	[ "$(tr '\n' ' ' <"$GUESTS/built")" = 'base all patched fixes patched all ' ] || return
	for path in store load writeback store_limited; do
		grep -qE "^$path +1001 \(  0\.2\) +1011 \(  0\.2\) +1\.010 +501\.0 \(  0\.4\) +0\.500$" \
			"$tmp/out" || return
	done
	[ "$(wc -l <"$tmp/r/fixes.jsonl")" -eq 3 ]
}

guest_fails() {
	: >"$GUESTS/fixes.fails"
	expect_status 4 "$t/bench/fixes" --runs 1 || return
	rm "$GUESTS/fixes.fails"
	expect_text "$tmp/err" 'the fixes guest failed'
}

build_fails() {
	: >"$GUESTS/build.fails"
	expect_status 3 "$t/bench/fixes" --runs 1 || return
	rm "$GUESTS/build.fails"
	expect_text "$tmp/err" 'could not be built'
}

wrong_use() {
	expect_status 2 "$t/bench/fixes" --runs 0 || return
	expect_status 2 "$t/bench/fixes" --size x || return
	expect_status 2 "$t/bench/fixes" --runs || return
	expect_status 2 "$t/bench/fixes" --nonsense || return
	expect_status 2 "$t/bench/fixes" --base "$tmp/missing" || return
	expect_text "$tmp/err" 'no such kernel' || return
	expect_status 0 "$t/bench/fixes" --help
}

run table 'kernels take turns; medians, spreads and ratios'
run guest_fails 'a failed guest is named'
run build_fails 'a failed build is told'
run wrong_use 'wrong use'
finish
