#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each message in troubleshooting.md is what the programs say, to the letter, when
# that happens of which it stands there.
# shellcheck disable=SC2154 # lib.sh sets tmp and status, machine.sh root and cg
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh
# shellcheck source=daemon/tests/machine.sh
. daemon/tests/machine.sh

# The mounts are made in a namespace of this process, and are gone with it.
if [ -z "${ZFOLIO_NAMESPACE:-}" ] && unshare -m true 2>/dev/null; then
	rm -rf "$tmp"
	ZFOLIO_NAMESPACE=1 exec unshare -m "$0"
fi

page=daemon/troubleshooting.md
COLUMNS=200
export COLUMNS
: >"$tmp/said"

# ctl ARGUMENT...: what it says is kept
ctl() {
	build/zfolioctl --root "$root" "$@" >>"$tmp/said" 2>&1
}

# ends STATUS [OPTION]...: the daemon, at once
ends() {
	expected=$1
	shift
	run "$zfoliod" --root "$root" "$@"
	cat "$tmp/err" >>"$tmp/said"
	check "exit status $expected" [ "$status" = "$expected" ]
}

# says PATTERN: the daemon that runs does that soon
says() {
	check "says: $1" within_5s err_has "$1"
}

# ended: so it does, and what it said is kept
ended() {
	stop
	cat "$tmp/err" >>"$tmp/said"
}

# --- ends at once ---

machine
file proc/self/mounts 'cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0'
ends 4
file proc/self/mounts 'cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0'
file sys/fs/cgroup/unified/cgroup.controllers hugetlb
ends 4
machine
file sys/fs/cgroup/cgroup.subtree_control cpu
ends 4
file etc/zfolio.conf.d/10.conf '[cgroup **]
weight = many'
ends 3
ends 3 --check-config
machine
mkdir "$root/run/zfolio"
echo damaged >"$root/run/zfolio/state"
ends 1
machine
# shellcheck disable=SC2119 # no option
start
within_5s [ -S "$root/run/zfolio/control" ]
cp "$tmp/err" "$tmp/first"
ends 1
stop

# --- nothing happens ---

machine
file sys/module/zswap/parameters/enabled N
file proc/swaps 'Filename Type Size Used Priority'
file etc/zfolio.conf '[daemon]
interval = 100ms
[cgroup a.slice/x.service]
writeback = off
[cgroup a.slice/y.service]
proactive = no'
cgroup b.slice
file sys/fs/cgroup/b.slice/memory.swap.current 0
ctl status
ctl explain a.slice/y.service
ctl explain a.slice/z.service
ctl set a.slice/x.service writeback=on
# shellcheck disable=SC2119
start
says 'zswap disabled; PSI off'
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
# Two ticks: one to see them, one to decide.
sleep 0.5
ctl status
for name in a.slice/x.service a.slice/y.service b.slice; do
	ctl explain $name
done
ended

# --- not written ---

if [ "$(id -u)" = 0 ] && [ -n "${ZFOLIO_NAMESPACE:-}" ]; then
	machine
	mount --bind "$cg" "$cg"
	mount -o remount,bind,ro "$cg"
	# shellcheck disable=SC2119
	start
	says 'configured: Read-only file system'
	ended
	umount "$cg"

	machine
	mkdir "$root/run/zfolio"
	mount -t tmpfs -o size=8k none "$root/run/zfolio"
	head -c 8192 /dev/zero >"$root/run/zfolio/other"
	# shellcheck disable=SC2119
	start
	says 'No space left'
	ended
	umount "$root/run/zfolio"

	machine
	chown nobody "$cg/a.slice/x.service/memory.zswap.writeback"
	without_capabilities
	# shellcheck disable=SC2119
	start
	says 'Permission denied'
	sleep 0.3
	ctl explain a.slice/x.service
	ended
	zfoliod=build/zfoliod
else
	skip "what can not be written" "needs root, to mount"
fi

machine
printf '#!/bin/sh\nulimit -n 40\nexec build/zfoliod "$@"\n' >"$tmp/few"
chmod +x "$tmp/few"
zfoliod=$tmp/few
# shellcheck disable=SC2119
start
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
i=0
while [ $((i += 1)) -le 60 ]; do
	cgroup b$i.slice
done
says 'not all cgroups are seen'
ended
zfoliod=build/zfoliod
check "what was changed is put back even so" is "$cg/a.slice/x.service/memory.zswap.writeback" 1

# --- changes back, stays, does nothing ---

for drift in respect reapply; do
	machine
	sed -i "s/^rescan.*/drift = $drift/" "$root/etc/zfolio.conf"
	# shellcheck disable=SC2119
	start
	within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
	echo 1 >"$cg/a.slice/x.service/memory.zswap.writeback"
	says 'somebody else made it 1'
	cat "$tmp/err" >>"$tmp/said"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
done
# shellcheck disable=SC2119
start
says 'an earlier run left behind'
file etc/zfolio.conf.d/10.conf '[cgroup'
kill -HUP "$pid"
says 'not reloaded'
ended

# --- zfolioctl ---

chmod 755 "$tmp"
cp build/zfolioctl "$tmp/zfolioctl"
machine
# shellcheck disable=SC2119
start
within_5s [ -S "$root/run/zfolio/control" ]
if [ "$(id -u)" = 0 ]; then
	setpriv --reuid nobody --regid nogroup --clear-groups \
		"$tmp/zfolioctl" --root "$root" status >>"$tmp/said" 2>&1
	ctl metrics --output /var/lib/elsewhere/zfolio.prom
	stop
	file proc/meminfo 'MemTotal: 1048576 kB
MemAvailable: 200000 kB'
	ctl measure
	file proc/swaps 'Filename Type Size Used Priority'
	ctl measure
	machine
	file proc/pressure/memory 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0'
	(sleep 0.5 && file proc/pressure/memory 'some avg10=50.00 avg60=0.00 avg300=0.00 total=500000') &
	ctl measure
	wait
else
	skip "who is not answered, and what measure wants" "needs root"
	stop
fi

# --- the page ---

sed 's/^ *//' "$tmp/said" | sort -u >"$tmp/lines"
sed -n 's/^    //p' "$page" | grep -v '^zfolioctl [a-z]' >"$tmp/messages"
check "there are messages" [ "$(wc -l <"$tmp/messages")" -gt 25 ]
if [ "$(id -u)" = 0 ] && [ -n "${ZFOLIO_NAMESPACE:-}" ]; then
	while IFS= read -r message; do
		check "$message" grep -qxF -e "$message" "$tmp/lines"
	done <"$tmp/messages"
else
	skip "the page's messages" "needs root, for some"
fi

finish
