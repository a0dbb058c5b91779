#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: scenario.sh on|off SECONDS
#
# An idle service, a hot one and a batch job, each in its slice, with one disk behind
# zswap, with and without zfoliod; run in a guest by scenario.long.t, which compares the
# lines "# figure NAME VALUE".
# shellcheck disable=SC2154 # common.sh sets what is not here
# shellcheck source=daemon/tests/guest/common.sh
. ./common.sh

mode=$1
seconds=$2

figure() {
	echo "# figure $1 $2"
}

# counter SERVICE KEY: of memory.stat
counter() {
	awk -v key="$2" '$1 == key { print $2 }' "$cg/$1.slice/$1.service/memory.stat"
}

# word FILE NAME: of a line of NAME=VALUE words
word() {
	tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"
}

# service NAME PROPERTY MIB [TOUCHES MILLISECONDS]
service() {
	service_name=$1
	service_property=$2
	shift 2
	cat >"/etc/systemd/system/$service_name.service" <<-END
		[Service]
		Slice=$service_name.slice
		ExecStart=/root/load $1 /run/$service_name ${2:-} ${3:-}
		$service_property
	END
	systemctl daemon-reload
	systemctl start "$service_name"
	within 300 is "/run/$service_name" ready
}

# written: requests and sectors that the disk was written
written() {
	awk '{ print $5, $7 }' "/sys/block/${swap#/dev/}/stat"
}

batch=$cg/batch.slice/batch.service
back=$cg/back.slice/back.service

systemctl stop web
cat >/etc/zfolio.conf.d/10-test.conf <<'END'
[cgroup idle.slice/**]
pool_target = 0
[cgroup batch.slice/**]
dwell = 30s
calm = 20s
END
for size in 64 1024; do
	echo always >/sys/kernel/mm/transparent_hugepage/hugepages-${size}kB/enabled
done

service idle '' 128
echo 128M >$cg/idle.slice/idle.service/memory.reclaim
service hot MemoryMax=56M 64 100 200
knobs >"$tmp/before"
[ "$mode" = off ] || systemctl start zfoliod
idle_pool=$(counter idle zswap)
hot_disk=$(counter hot pswpin)
before=$(written)

# --- the hot service beside the idle one -------------------------------------------------

sleep 20
systemctl kill -s USR1 hot
sleep "$seconds"
after=$(written)
requests=$((${after% *} - ${before% *}))
sectors=$((${after#* } - ${before#* }))
figure idle_on_disk "$((100 - $(counter idle zswap) * 100 / idle_pool)) % of its compressed pool"
figure requests $requests
figure written_kib $((sectors / 2))
figure request_kib $((sectors / 2 / (requests ? requests : 1)))
figure hot_disk_swapins "$(($(counter hot pswpin) - hot_disk))"
figure hot_stall "$(sed -n 's/^some.*total=//p' $cg/hot.slice/hot.service/memory.pressure)"
systemctl stop hot
within 300 grep -q touches /run/hot
figure hot_touches "$(word /run/hot touches)"
figure hot_p50 "$(word /run/hot p50)"
figure hot_p99 "$(word /run/hot p99)"
check "the hot service reads what it wrote" [ "$(word /run/hot wrong)" = 0 ]
if [ "$mode" = off ]; then
	finish
fi
zfolioctl features | grep -q 'source=zswap.*yes' && figure source_zswap 1

# --- a batch job that thrashes ----------------------------------------------------------

mark
service batch MemoryMax=32M 64 30 10
check "a cgroup that thrashes: its swap-ins become smaller" within 60 fails is $batch/memory.zswap.swapin_max max
systemctl kill -s STOP batch
check "... and after calm as they were" within 120 is $batch/memory.zswap.swapin_max max
systemctl kill -s CONT batch
systemctl stop batch

# --- pages that were written and keep coming back -----------------------------------------

echo N >/sys/module/zswap/parameters/enabled
service back '' 64 400 200
echo 48M >$back/memory.reclaim
echo Y >/sys/module/zswap/parameters/enabled
check "pages on disk keep coming back: no more are sent there" within 30 is $back/memory.zswap.writeback 0
log | grep -e 'swapin_max' -e 'writeback' | sed 's/^/# /'
systemctl stop back

systemctl stop zfoliod
check "every knob is back" all_is_back

finish
