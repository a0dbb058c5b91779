#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# profile with a stand-in for the virtual machine and its plugin, and functions,
# which adds up what they count.
# shellcheck disable=SC2154,SC2317 # tap.sh sets tmp and calls the functions
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
top=$(CDPATH='' cd -- "$here/../.." && pwd)
# shellcheck source=bench/tests/tap.sh
. "$here/tap.sh"

t=$tmp/tree
export GUEST="$tmp/guest"
mkdir -p "$t/bench" "$t/selftests/vm" "$t/build/bench/host" "$t/build/bench/plugin" "$GUEST"
cp "$here/../profile" "$t/bench/"
: >"$t/build/bench/swapin"
: >"$t/build/bench/plugin/insns.so"
ln -s "$top/build/bench/host/functions" "$t/build/bench/host/functions"

# 256 pages, of which each costs 10 instructions of the program and 5 of vfs_read.
cat >"$t/selftests/vm/run" <<'END'
#!/bin/sh
echo "$*" >"$GUEST/options"
[ ! -e "$GUEST/fails" ] || exit 124
while [ "$1" != --plugin ]; do shift; done
counts=${2#*,out=}
printf '%s\n' '400000 a00' 'ffffffff81000010 400' 'ffffffff8100001f 100' >"$counts"
[ ! -e "$GUEST/silent" ] || rm "$counts"
printf '%s\n' '{"benchmark": "swapin"}' SYMBOLS \
	'ffffffff81000000 T _text' 'ffffffff81000010 t vfs_read' \
	'ffffffff81000020 T vfs_write' 'ffffffff82000000 D jiffies'
END
chmod +x "$t/selftests/vm/run"

table() {
	expect_status 0 "$t/bench/profile" --size 1 --folio 64K --top 1 || return
	expect_text "$tmp/out" 'patched kernel, folios 64K, 1 MiB, lz4' || return
	expect_text "$tmp/out" '      15.0  total' || return
	expect_text "$tmp/out" '      10.0  (the program)' || return
	expect_text "$tmp/out" '       5.0  1 others' || return
	expect_text "$GUEST/options" '--kernel patched --icount'
}

guest_fails() {
	: >"$GUEST/fails"
	expect_status 4 "$t/bench/profile" || return
	rm "$GUEST/fails"
	expect_text "$tmp/err" 'the guest failed' || return
	: >"$GUEST/silent"
	expect_status 4 "$t/bench/profile" || return
	rm "$GUEST/silent"
	expect_text "$tmp/err" 'QEMU wrote no counts'
}

functions_input() {
	f=$top/build/bench/host/functions
	printf '10 T a\n20 t b\n20 d c\n' >"$tmp/symbols"
	printf '8 1\n10 2\n1f 2\n25 f\n' >"$tmp/counts"
	expect_status 0 "$f" "$tmp/symbols" 2 "$tmp/counts" || return
	printf '10.0 total\n7.5 b\n2.0 a\n0.5 (the program)\n' | cmp - "$tmp/out" || return
	expect_status 2 "$f" "$tmp/symbols" 0 "$tmp/counts" || return
	expect_text "$tmp/err" 'expected a number above 0' || return
	echo nonsense >"$tmp/nonsense"
	expect_status 2 "$f" "$tmp/nonsense" 1 "$tmp/counts" || return
	expect_text "$tmp/err" 'ADDRESS TYPE NAME' || return
	expect_status 2 "$f" "$tmp/symbols" 1 "$tmp/nonsense" || return
	expect_text "$tmp/err" 'ADDRESS TIMES' || return
	: >"$tmp/empty"
	expect_status 2 "$f" "$tmp/empty" 1 "$tmp/counts" || return
	expect_status 2 "$f" "$tmp/symbols" 1 "$tmp/empty" || return
	expect_status 2 "$f" "$tmp/missing" 1 "$tmp/counts" || return
	expect_status 2 "$f" || return
	expect_status 0 "$f" --help
}

wrong_use() {
	expect_status 2 "$t/bench/profile" --size 0 || return
	expect_status 2 "$t/bench/profile" --top x || return
	expect_status 2 "$t/bench/profile" --folio || return
	expect_status 2 "$t/bench/profile" --nonsense || return
	rm "$t/build/bench/swapin"
	expect_status 2 "$t/bench/profile" || return
	expect_text "$tmp/err" "'make bench' builds it" || return
	expect_status 0 "$t/bench/profile" --help
}

run table 'instructions a page by function, the rest in one line'
run guest_fails 'a failed guest, and a QEMU without the plugin'
run functions_input 'functions: sums, order and wrong input'
run wrong_use 'wrong use'
finish
