#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What zfoliod costs with a thousand cgroups and the ticks that it has by default; run
# in a guest by systemd.t. The clock there counts instructions, one for each nanosecond.
# shellcheck disable=SC2154 # common.sh sets what is not here
# shellcheck source=daemon/tests/guest/common.sh
. ./common.sh

# parts SECONDS: millionths of the time in which zfoliod ran
parts() {
	usage=$(awk '$1 == "usage_usec" { print $2 }' $cg/system.slice/zfoliod.service/cpu.stat)
	sleep "$1"
	awk -v before="$usage" -v seconds="$1" \
		'$1 == "usage_usec" { printf "%d\n", ($2 - before) / seconds }' \
		$cg/system.slice/zfoliod.service/cpu.stat
}

# below LIMIT VALUE TEXT
below() {
	echo "# $3: $2"
	check "$3: below $1" [ "$2" -lt "$1" ]
}

rss() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$(property zfoliod MainPID)/status"
}

rm /etc/zfolio.conf.d/10-test.conf
mkdir $cg/many.slice
echo +memory >$cg/many.slice/cgroup.subtree_control
seq -f "$cg/many.slice/a%g" 1000 | xargs mkdir
systemctl start zfoliod
check "a thousand cgroups: it runs" running
sleep 30
check "... and holds a handle of each" [ "$(descriptors)" -ge 1000 ]
below 1000 "$(parts 100)" "nothing in swap, millionths of a core"
sh -c "echo \$\$ >$cg/many.slice/a500/cgroup.procs && exec ./load 16 /run/load" &
within 300 is /run/load ready
echo 8M >$cg/many.slice/a500/memory.reclaim
check "one of them is in swap" within 60 sh -c 'zfolioctl status | grep -q many.slice/a500'
below 1000 "$(parts 100)" "one in swap, millionths of a core"
below 8192 "$(rss)" "memory, KiB"
held=$(descriptors)
before=$(rss)
sleep 1000
check "after 500 ticks more: no more descriptors" [ "$(descriptors)" = "$held" ]
check "... and not more memory" [ "$(rss)" -le $((before + 16)) ]
check "no complaint" fails complaints
kill $!

finish
