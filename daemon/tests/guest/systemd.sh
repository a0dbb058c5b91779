#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# zfoliod under systemd, run in a guest by systemd.t: start, what happens to it, and
# that every knob is as before afterwards.
# shellcheck disable=SC2154 # common.sh sets what is not here
# shellcheck source=daemon/tests/guest/common.sh
. ./common.sh

# --- start -------------------------------------------------------------------------

systemctl start zfoliod && status=0 || status=$?
check "systemctl start" [ "$status" = 0 ]
ready=$(($(property zfoliod ActiveEnterTimestampMonotonic) - $(property zfoliod InactiveExitTimestampMonotonic)))
echo "# READY after $ready us"
check "READY within a second" [ "$ready" -lt 1000000 ]
check "it says what it found" said '^zswap enabled; PSI on; memory.zswap.writeback yes; memory.zswap.max yes;'
check "what is configured is set" within 30 tuned
check "... as runtime properties of the unit" [ "$(property web MemoryZSwapWriteback)" = no ]
check "... both" [ "$(property web MemoryZSwapMax)" = 67108864 ]
check "... and told with the cgroup as a field" \
	grep -q . <<-END
		$(journalctl -q CGROUP=test.slice/web.service ACTION=memory.zswap.writeback REASON=configured)
	END
check "the status line" within 30 sh -c 'systemctl show -P StatusText zfoliod | grep -q "cgroups watched; pool"'
check "zfolioctl reaches it" running
check "it waits for memory pressure" grep -q . <<-END
	$(find "/proc/$(property zfoliod MainPID)/fd" -lname /proc/pressure/memory)
END
check "no warning" fails complaints
check "systemd-analyze security: 2.5 at most" systemd-analyze security --no-pager --threshold=25 zfoliod

# --- systemd reloads, the configuration changes --------------------------------------

mark
systemctl daemon-reload
sleep 2
check "daemon-reload: the values stay" tuned
systemctl daemon-reexec
sleep 2
check "daemon-reexec: the values stay" tuned
check "... and are nobody else's" fails said 'somebody else'
echo 1 >$web/memory.zswap.writeback
check "somebody else's change is told" within 30 said 'web.service: memory.zswap.writeback was set to 0, somebody else made it 1: left to them from now on'
systemctl daemon-reload
check "... and outlives a daemon-reload" is $web/memory.zswap.writeback 1
echo '[cgroup' >/etc/zfolio.conf.d/20-test.conf
systemctl reload zfoliod
check "a wrong configuration is told" within 30 said 'configuration not reloaded, the old one stays'
check "... by file and line" said '^/etc/zfolio.conf.d/20-test.conf:1: '
check "... and zfoliod runs on" running
rm /etc/zfolio.conf.d/20-test.conf
systemctl reload zfoliod
check "a right one is taken" within 30 said 'configuration reloaded'
sleep 2
check "... and what was left to somebody else still is" is $web/memory.zswap.writeback 1

# --- SIGKILL ----------------------------------------------------------------------------

mark
systemctl kill -s KILL zfoliod
check "SIGKILL: systemd starts it again" within 60 said 'put back 1 values that an earlier run left behind'
check "... which sets all again" within 60 tuned
check "... once" [ "$(property zfoliod NRestarts)" = 1 ]

# --- it hangs ---------------------------------------------------------------------------

mark
systemctl kill -s STOP --kill-whom=main zfoliod
check "a hang: systemd's watchdog ends it, and the next one starts" within 300 said 'put back 2 values that an earlier run left behind'
check "... and sets all again" within 60 tuned
check "... which was the watchdog's doing" [ "$(property zfoliod NRestarts)" = 2 ]

# --- cgroups come and go ------------------------------------------------------------------

mark
held=$(descriptors)
storm=$cg/test.slice/storm
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	mkdir $storm $storm.1 $storm.2 $storm.3 $storm.4 $storm.5 $storm.6 $storm.7
	# Now and then it has the time to see them.
	[ $((round % 5)) -gt 0 ] || sleep 0.7
	rmdir $storm $storm.1 $storm.2 $storm.3 $storm.4 $storm.5 $storm.6 $storm.7
done
sleep 2
check "cgroups at a high rate: not a word about those that are gone" fails complaints
check "... none is held" [ "$(descriptors)" = "$held" ]
check "... it saw some of them" said 'storm'
check "... and runs" running

# --- swap goes and comes -------------------------------------------------------------------

mark
swapoff "$swap"
sleep 1
run zfolioctl status
check "swapoff: no device is left" fails out_has "^${swap#/dev/}:"
check "... and it is told" said "^swap device ${swap#/dev/} has gone"
swapon "$swap"
sleep 1
run zfolioctl status
check "swapon: it is seen" out_has "^${swap#/dev/}:"
check "... and told" said "^swap device ${swap#/dev/}: [0-9.]+G"
check "... without a warning" fails complaints

# --- the clock ------------------------------------------------------------------------------

mark
date -s '+3 days' >/dev/null
sleep 1
date -s '-5 days' >/dev/null
sleep 1
check "the date is set: nothing happens" fails complaints
pid=$(property zfoliod MainPID)
kill -STOP "$pid"
sleep 5
kill -CONT "$pid"
check "a standstill: no decision on that tick" within 30 said '^a tick of 5s: the machine slept or stood still, nothing is decided on it'
check "... and it runs on" running

# --- errors of the disk -----------------------------------------------------------------------

mark
cat >/etc/systemd/system/victim.service <<'END'
[Service]
Slice=test.slice
ExecStart=/root/load 8 /run/victim 1000 100
END
echo N >/sys/module/zswap/parameters/enabled
systemctl start victim
within 300 is /run/victim ready
echo 8M >$cg/test.slice/victim.service/memory.reclaim
check "EIO: a service reads a page from a bad sector" within 300 sh -c 'systemctl is-failed -q victim'
check "... which ends it" [ "$(property victim Result)" = signal ]
sleep 2
check "... zfoliod runs" running
check "... without a complaint" fails complaints
echo Y >/sys/module/zswap/parameters/enabled

# --- stop ----------------------------------------------------------------------------------

mark
systemctl stop zfoliod && status=0 || status=$?
check "systemctl stop" [ "$status" = 0 ]
check "... a clean end" [ "$(property zfoliod Result)" = success ]
check "... it says how much it put back" said '^put back 2 values'
check "... and every knob has the value that it had before" all_is_back
check "... systemd's properties too" [ "$(property web MemoryZSwapWriteback)" = yes ]
check "nothing is noted any more" [ ! -e /run/zfolio/state ]

# --- a full /run -----------------------------------------------------------------------------

# Room for two pages, and that taken: the note of changes has none.
mount -t tmpfs -o size=8k tmpfs /run/zfolio 2>/dev/null
head -c 8192 /dev/zero >/run/zfolio/file
mark
systemctl start zfoliod
check "full /run: told with what follows from it" within 30 said 'web.service: memory.zswap.writeback 1 -> 0: configured: No space left on device: /run is full, and nothing is changed that could not be put back'
check "... nothing is changed" all_is_back
rm /run/zfolio/file
check "with room again it is done" within 300 tuned
systemctl stop zfoliod
check "... and undone at the end" all_is_back
umount /run/zfolio

# --- cgroups that can only be read -----------------------------------------------------------

mkdir -p /etc/systemd/system/zfoliod.service.d
cat >/etc/systemd/system/zfoliod.service.d/ro.conf <<'END'
[Service]
ReadWritePaths=
ReadOnlyPaths=/sys/fs/cgroup
END
systemctl daemon-reload
# What systemd does not know as a unit has to be written as a file.
mkdir $cg/test.slice/plain
mark
systemctl start zfoliod
check "cgroups read-only: names the setting to change" within 30 said 'test.slice/plain: memory.zswap.writeback 1 -> 0: configured: Read-only file system: the unit needs ReadWritePaths=/sys/fs/cgroup'
sleep 2
check "... once for each knob" [ "$(log | grep -c 'plain: memory.zswap.writeback')" = 1 ]
check "... what systemd sets for it is set all the same" within 30 tuned
systemctl stop zfoliod
rmdir $cg/test.slice/plain
check "... and put back" all_is_back

# --- other hierarchies ----------------------------------------------------------------------

# elsewhere COMMANDS: in a mount namespace where they are the cgroups
elsewhere() {
	run unshare --mount sh -c "umount -R $cg && $1 && exec timeout 20 zfoliod --dry-run"
}
elsewhere "mount -t tmpfs tmpfs $cg && mkdir $cg/systemd &&
	mount -t cgroup -o none,name=zfolio zfolio $cg/systemd"
check "a host with cgroup v1 alone: its own status" [ "$status" = 4 ]
check "... and what to do" err_has '^zfoliod: no cgroup v2 hierarchy is mounted: boot with systemd.unified_cgroup_hierarchy=1'
elsewhere "mount -t tmpfs tmpfs $cg && mkdir $cg/systemd $cg/unified &&
	mount -t cgroup -o none,name=zfolio zfolio $cg/systemd &&
	mount -t cgroup2 cgroup2 $cg/unified"
check "a host with both: cgroup v2 is found where it is" [ "$status" = 124 ]
check "... and used" err_has '^zfoliod: would: test.slice/web.service: memory.zswap.writeback 1 -> 0'

finish
