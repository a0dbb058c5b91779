#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What writeback, swapoff and hibernate make of records, with a stand-in for the
# virtual machine, which answers made-up ones; and table.awk, which they share.
# shellcheck disable=SC2154,SC2317 # tap.sh sets tmp and calls the functions
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=bench/tests/tap.sh
. "$here/tap.sh"

t=$tmp/tree
build=${BUILD:-$here/../../build}
export GUESTS="$tmp/guests"
mkdir -p "$t/bench" "$t/selftests/vm" "$t/kernel-patches" "$t/build/bench/plugin" \
	"$t/build/bench/host" "$GUESTS"
cp "$here/../writeback" "$here/../swapoff" "$here/../hibernate" "$here/../common.sh" \
	"$here/../table.awk" "$t/bench/"
cp "$build/bench/host/functions" "$t/build/bench/host/"
: >"$t/build/bench/plugin/insns.so"
for program in writeback swapoff hibernate; do
	: >"$t/build/bench/$program"
	chmod +x "$t/build/bench/$program"
done

# Base costs ten times as much.
cat >"$t/selftests/vm/run" <<'END'
#!/bin/sh
trace=/dev/null log=/dev/null counts=/dev/null
while [ "$1" != -- ]; do
	case $1 in
	--disk-trace) trace=$2 ;;
	--log) log=$2 ;;
	--plugin) counts=${2##*out=} counts=${counts%,*} ;;
	--kernel) kernel=$2 ;;
	esac
	shift
done
shift
[ ! -e "$GUESTS/status" ] || exit "$(cat "$GUESTS/status")"
v=1
[ "$kernel" != "$GUESTS/base" ] || v=10
for last; do :; done
case $1 in
./swapoff)
	[ "$4" = 1 ] && ns=5000000 || ns=$(($3 * v * 1000))
	echo "{\"benchmark\": \"swapoff\", \"label\": \"$2\", \"mib\": $3, \"keep\": $4, \"used_kib\": 4, \"ns\": $ns}"
	;;
./writeback)
	case $* in
	*--chunk*) echo "{\"label\": \"$last\", \"round\": 0, \"chunk_kib\": 4, \"pageout_p50_ns\": ${v}000, \"pageout_p99_ns\": 90000}" ;;
	*) echo "{\"label\": \"$last\", \"round\": 0, \"chunk_kib\": 4096, \"pswpout\": 100, \"zswpwb\": 100, \"bios_out\": ${v}, \"writes\": ${v}0, \"write_sectors\": 8000, \"pswpin\": 0, \"reads\": 0}" ;;
	esac
	;;
./hibernate)
	if [ "$2" = counted ]; then
		# A bio carries 8 pages, or less than one on base.
		printf 'ffffffff81000000 %x\nffffffff81000010 300\n' $((256 / 8 * v)) >"$counts"
		i=0
		while [ $i -lt 256 ]; do
			echo '1 W 8192 4096'
			i=$((i + 1))
		done >"$trace"
		echo 'PM: Compressing and saving image data (16 pages)...' >"$log"
		exit 123
	fi
	echo "{\"label\": \"$2\", \"first_writes\": 2, \"first_write_kib\": 8, \"later_reads\": 1, \"later_read_kib\": 64}"
	# 2 writes of 4 KiB before; then the image, and one more read.
	{
		echo '1 R 0 4096'
		echo '1 W 0 4096'
		echo '1 W 0 4096'
		i=0
		while [ $i -lt $v ]; do
			echo '1 W 8192 65536'
			echo '2 R 8192 131072'
			i=$((i + 1))
		done
		echo '2 R 0 65536'
	} >"$trace"
	;;
cat)
	printf '%s\n' 'ffffffff81000000 T submit_bio' 'ffffffff81000010 T other' \
		'ffffffff81000020 T swsusp_write'
	;;
esac
END
cat >"$t/kernel-patches/build" <<'END'
#!/bin/sh
[ ! -e "$GUESTS/build.fails" ] || exit 1
mkdir -p "$GUESTS/$1"
echo "$GUESTS/$1"
END
chmod +x "$t/selftests/vm/run" "$t/kernel-patches/build"

# row TEXT...: a line of the table, whatever the blanks.
row() {
	tr -s ' ' <"$tmp/out" | grep -qxF -e "$*" && return
	echo "no line '$*' in:"
	cat "$tmp/out"
	return 1
}

table() {
	printf 'one\tb\tx\t%s\n' 3 1 2 >"$tmp/in"
	printf 'one\tb\ty\t%s\n' 4 2 >>"$tmp/in"
	printf 'one\ta\tx\t5000\ntwo\ta\tx\t0\ntwo\ta\ty\t7\n' >>"$tmp/in"
	expect_status 0 awk -v labels='x y z' -v figures='a=first,b=second' -f "$t/bench/table.awk" "$tmp/in" || return
	row 'one x y ratio z ratio' || return
	row 'first 5000 ( 0.0) - - - -' || return
	row 'second 2.0 (100.0) 3.0 ( 66.7) 1.500 - -' || return
	row 'first 0.0 ( 0.0) 7.0 ( 0.0) - - -'
}

swapoff() {
	expect_status 0 "$t/bench/swapoff" --runs 2 --sizes 1,3 --full 64 --out "$tmp/swapoff" || return
	row '1 GiB, nearly empty base patched ratio' || return
	row 'million instructions 10.2 ( 0.0) 1.0 ( 0.0) 0.100' || return
	row '0.0625 GiB, full base patched ratio' || return
	# 2,048 MiB more are 1,024 clusters and 20.48 million instructions.
	row 'an empty cluster 20000.0 2000.0 0.100' || return
	row '1024 GiB, computed 10485.8 1048.6 0.100' || return
	[ "$(wc -l <"$tmp/swapoff/base.jsonl")" -eq 6 ]
}

writeback() {
	expect_status 0 "$t/bench/writeback" --runs 3 --size 8 --out "$tmp/writeback" || return
	row 'first fill base patched ratio' || return
	row 'pages a bio 10.0 ( 0.0) 100.0 ( 0.0) 10.000' || return
	row 'KiB a request 40.0 ( 0.0) 400.0 ( 0.0) 10.000' || return
	row 'page-out p50 [us] 10.0 ( 0.0) 1.0 ( 0.0) 0.100' || return
	row 'page-out p99 [us] 90.0 ( 0.0) 90.0 ( 0.0) 1.000'
}

hibernate() {
	expect_status 0 "$t/bench/hibernate" --runs 1 --size 8 --out "$tmp/hibernate" || return
	row 'image write base patched ratio' || return
	row 'requests 10.0 ( 0.0) 1.0 ( 0.0) 0.100' || return
	row 'KiB a request 64.0 ( 0.0) 64.0 ( 0.0) 1.000' || return
	row 'KiB a request 128.0 ( 0.0) 128.0 ( 0.0) 1.000' || return
	row 'saving it 68.0 ( 0.0) 50.0 ( 0.0) 0.735' || return
	row ' of these for bios 20.0 ( 0.0) 2.0 ( 0.0) 0.100' || return
	row 'pages written a bio 0.8 ( 0.0) 8.0 ( 0.0) 10.000' || return
	expect_text "$tmp/hibernate/base.jsonl" '"later_read_kib": 64, "writes": 10, "write_kib": 640, "reads": 10, "read_kib": 1280}'
}

guest_fails() {
	for what in writeback swapoff hibernate; do
		echo 124 >"$GUESTS/status"
		expect_status 4 "$t/bench/$what" --runs 1 || return
		expect_text "$tmp/err" 'the base guest failed' || return
		echo 1 >"$GUESTS/status"
		expect_status 1 "$t/bench/$what" --runs 1 || return
		expect_text "$tmp/err" 'WRONG CONTENTS' || return
		rm "$GUESTS/status"
	done
}

build_fails() {
	: >"$GUESTS/build.fails"
	for what in writeback swapoff hibernate; do
		expect_status 3 "$t/bench/$what" --runs 1 || return
		expect_text "$tmp/err" 'could not be built' || return
	done
	rm "$GUESTS/build.fails"
}

wrong_use() {
	for what in writeback swapoff hibernate; do
		expect_status 2 "$t/bench/$what" --runs 0 || return
		expect_status 2 "$t/bench/$what" --runs || return
		expect_status 2 "$t/bench/$what" --nonsense || return
		expect_status 2 "$t/bench/$what" --base "$tmp/missing" || return
		expect_text "$tmp/err" 'no such kernel' || return
		expect_status 2 "$t/bench/$what" --out "$tmp/$what" || return
		expect_text "$tmp/err" 'give another --out' || return
		expect_status 0 "$t/bench/$what" --help || return
	done
}

run table 'medians, spreads and ratios, also of what is missing or zero'
run writeback 'writeback'
run swapoff 'swapoff, with larger sizes computed'
run hibernate 'hibernate takes the requests of the image apart from others'
run guest_fails 'a failed guest is named, and wrong contents'
run build_fails 'a failed build is told'
run wrong_use 'wrong use'
finish
