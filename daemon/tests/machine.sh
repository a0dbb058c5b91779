# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# shellcheck disable=SC2154 # lib.sh sets tmp
# shellcheck disable=SC2034 # those who source it read cg and status
#
# A machine of plain files below $root, and the daemon as a process on it. Sourced
# after lib.sh by the *.t files of this directory, never run.

zfoliod=build/zfoliod
root=$tmp/root
cg=$root/sys/fs/cgroup

# file NAME TEXT: below the tree
file() {
	mkdir -p "$(dirname "$root/$1")"
	printf '%s\n' "$2" >"$root/$1"
}

cgroup() {
	dir=sys/fs/cgroup/$1
	file "$dir/memory.stat" "zswap 10485760
zswapped 41943040
pswpin 0"
	file "$dir/memory.current" 10485760
	file "$dir/memory.swap.current" 83886080
	file "$dir/memory.zswap.writeback" 1
	file "$dir/memory.zswap.max" max
	file "$dir/memory.zswap.swapin_max" max
	file "$dir/memory.reclaim" ''
	file "$dir/memory.pressure" 'some avg10=0.00 avg60=0.00 avg300=0.00 total=1'
}

# A machine with one swap device, a pool that is 70 % full, and two services.
machine() {
	rm -rf "$root"
	mkdir -p "$root/run"
	file proc/self/mounts 'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0'
	file proc/meminfo 'MemTotal: 1048576 kB
Zswap: 150000 kB'
	file proc/swaps 'Filename Type Size Used Priority
/dev/vda partition 4194300 1024 -2'
	file sys/module/zswap/parameters/max_pool_percent 20
	file sys/module/zswap/parameters/enabled Y
	file sys/fs/cgroup/cgroup.controllers 'cpu memory'
	file sys/fs/cgroup/cgroup.subtree_control 'cpu memory'
	cgroup a.slice
	cgroup a.slice/x.service
	cgroup a.slice/y.service
	file etc/zfolio.conf '[daemon]
interval = 100ms
rescan = 200ms
[cgroup a.slice/x.service]
writeback = off'
}

# start OPTION...: in the background, as pid
start() {
	"$zfoliod" --root "$root" "$@" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
}

# without_capabilities: from here on the daemon is root without any, if it is root
without_capabilities() {
	[ "$(id -u)" = 0 ] || return 0
	printf '#!/bin/sh\nexec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs %s "$@"\n' \
		"$zfoliod" >"$tmp/confined"
	chmod +x "$tmp/confined"
	zfoliod=$tmp/confined
}

# within_5s COMMAND...
within_5s() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 \
		21 22 23 24 25; do
		"$@" && return
		sleep 0.2
	done
	return 1
}

stop() {
	kill -TERM "$pid"
	wait "$pid" && status=0 || status=$?
}

# shellcheck disable=SC2317 # called by name, through check and within_5s
is() {
	[ "$(cat "$1")" = "$2" ]
}

