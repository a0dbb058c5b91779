#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon as a process, on a tree of plain files: options, exit statuses,
# signals, what systemd is told, and that every knob is as before afterwards.
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh

# shellcheck source=daemon/tests/machine.sh
. daemon/tests/machine.sh

data=daemon/tests/data

# --- options and exit statuses ---

run "$zfoliod" --help
check "--help tells the exit statuses" out_has '^Exit status: 0'
check "... and ends with 0" [ "$status" = 0 ]
run "$zfoliod" --bogus
check "an unknown option is wrong usage" [ "$status" = 2 ]
run "$zfoliod" nonsense
check "so is an argument" [ "$status" = 2 ]
run "$zfoliod" --dry-run --check-config
check "and options that exclude each other" [ "$status" = 2 ]

machine
run "$zfoliod" --root "$root" --check-config
check "a good configuration" [ "$status" = 0 ]
file etc/zfolio.conf.d/10.conf '[cgroup **]
weight = many'
run "$zfoliod" --root "$root" --check-config
check "a bad one has a status of its own" [ "$status" = 3 ]
check "... and is named by file, line, section and key" err_has \
	'^zfoliod: /etc/zfolio.conf.d/10.conf:2: \[cgroup \*\*\] weight: "many": expected a number from 1 to 10000'
run "$zfoliod" --root "$root"
check "the daemon does not start with it" [ "$status" = 3 ]

run "$zfoliod" --root "$tmp/absent" --check-config
check "a root that is not there is named" err_has "^zfoliod: $tmp/absent: No such file"

machine
file proc/self/mounts 'cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0'
run "$zfoliod" --root "$root"
check "without cgroup v2 it ends with a status of its own" [ "$status" = 4 ]
check "... and says what to do" err_has 'systemd.unified_cgroup_hierarchy=1'

# --- a run ---

machine
start --verbose --record "$tmp/trace"
check "a configured value is set" within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
check "write-back is asked for" within_5s grep -q 'source=zswap' "$cg/a.slice/y.service/memory.reclaim"
check "what was changed is noted" grep -q '"found":1,"set":0' "$root/run/zfolio/state"
stop
check "SIGTERM ends it with 0" [ "$status" = 0 ]
check "the value is back" is "$cg/a.slice/x.service/memory.zswap.writeback" 1
check "nothing is noted any more" [ ! -e "$root/run/zfolio/state" ]
check "the reason is told" err_has 'y.service: memory.reclaim [0-9]+ source=zswap: pool at 71.52% of its limit, above 50.00%'

run "$zfoliod" --root "$root" --simulate "$tmp/trace"
check "what was recorded can be replayed" out_has 'x.service: memory.zswap.writeback 1 -> 0: configured'
check "... with a summary" out_has '^[0-9]+ ticks, [0-9]+ decisions'

# --- crash, restart ---

machine
start
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
kill -KILL "$pid"
wait "$pid" 2>/dev/null
check "SIGKILL leaves the value and the note" grep -q x.service "$root/run/zfolio/state"
file etc/zfolio.conf ''
start
check "the next start puts it back" within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 1
stop
check "... and ends well even when it is stopped at once" [ "$status" = 0 ]
check "... and says so" err_has 'put back 1 values that an earlier run left behind'

# --- drift ---

machine
start
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
echo 1 >"$cg/a.slice/x.service/memory.zswap.writeback"
check "somebody else's change is seen" within_5s err_has 'somebody else made it 1: left to them from now on'
sleep 0.5
stop
check "... and respected" is "$cg/a.slice/x.service/memory.zswap.writeback" 1
check "... and told once" [ "$(grep -c 'somebody else' "$tmp/err")" = 1 ]

# --- reload ---

machine
start
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
file etc/zfolio.conf '[cgroup'
kill -HUP "$pid"
check "a wrong configuration is not taken" within_5s err_has 'not reloaded, the old one stays'
file etc/zfolio.conf '[daemon]
interval = 100ms
[cgroup a.slice/y.service]
writeback = off'
kill -HUP "$pid"
check "a right one is" within_5s is "$cg/a.slice/y.service/memory.zswap.writeback" 0
check "what only the old one asked for is put back" is "$cg/a.slice/x.service/memory.zswap.writeback" 1
stop
check "all values are back" is "$cg/a.slice/y.service/memory.zswap.writeback" 1

# --- a dry run ---

machine
find "$root" -type f -exec cksum {} + | sort >"$tmp/before"
start --dry-run
check "a dry run tells what would be done" within_5s err_has 'would: a.slice/x.service: memory.zswap.writeback 1 -> 0'
check "... write-back too" within_5s err_has 'would: a.slice/y.service: memory.reclaim'
stop
find "$root" -type f -exec cksum {} + | sort >"$tmp/after"
check "... and writes nothing at all" cmp "$tmp/before" "$tmp/after"

# --- cgroups come and go ---

machine
start
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
# Moved away, since a file system may give the number of a removed directory to
# the next one, as cgroup2 does not.
mv "$cg/a.slice/x.service" "$tmp/gone"
cgroup a.slice/x.service
check "a recreated cgroup is tuned again" within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
rm -r "$cg/a.slice/x.service"
sleep 0.5
stop
check "vanished ones are passed over in silence" fails err_has 'x.service.*(No such|failed)'
check "... and the daemon ends well" [ "$status" = 0 ]

# --- what systemd is told ---

machine
cat >"$tmp/listen.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(20)
print("listening", flush=True)
while True:
    text = s.recv(4096).decode()
    print(text, flush=True)
    if "STOPPING=1" in text:
        break
END
: >"$tmp/told"
python3 "$tmp/listen.py" "$tmp/notify" >"$tmp/told" 2>&1 &
listener=$!
within_5s grep -q listening "$tmp/told"
NOTIFY_SOCKET=$tmp/notify WATCHDOG_USEC=1000000 "$zfoliod" --root "$root" 2>"$tmp/err" &
pid=$!
check "READY within a second" within_5s grep -q '^READY=1' "$tmp/told"
check "a status line" within_5s grep -q '^STATUS=2 cgroups watched; pool 146M of 204M' "$tmp/told"
check "the watchdog is fed" within_5s grep -q '^WATCHDOG=1' "$tmp/told"
kill -HUP "$pid"
check "RELOADING with the time" within_5s grep -q '^MONOTONIC_USEC=[0-9]' "$tmp/told"
stop
wait "$listener"
check "STOPPING" grep -q '^STOPPING=1' "$tmp/told"

# --- a long time ---

# ticks NUMBER: a trace in which cgroups come and go and every rule has its turn
ticks() {
	awk -v nr="$1" 'BEGIN {
		has = "[\"memory.zswap.writeback\",\"memory.zswap.swapin_max\",\"memory.reclaim\"]"
		print "{\"zfolio_trace\":1}"
		for (i = 0; i < nr; i++) {
			printf "{\"elapsed\":2000000,\"page_size\":4096,\"pool\":%d,\"pool_limit\":1000000000,\"sizes\":272,", i % 7 * 150000000
			printf "\"devices\":[{\"name\":\"vda\",\"size\":4294967296,\"used\":1048576}],\"cgroups\":["
			for (c = 0; c < 4; c++)
				printf "%s{\"id\":%d,\"path\":\"a.slice/%d.service\",\"has\":%s,\"writeback\":1,\"writeback_here\":1,\"swapin_max\":\"max\",\"pswpin\":%d,\"zswpin\":%d,\"zswpout\":%d,\"memory_stall\":%d,\"current\":104857600,\"swap\":104857600,\"zswapped\":52428800,\"zswap\":20971520}",
					c ? "," : "", c + 1 + int(i / 50), c + 1 + int(i / 50), has, (i + c) % 97 * 10,
					(i + c) % 89 * 100, (i + c) % 89 * 100, (i + c) % 89 * 10000
			print "]}"
		}
	}'
}

# peak NUMBER: KiB of memory that it takes to replay so many, seen before its end
peak() {
	rm -f "$tmp/replayed"
	{
		ticks "$1"
		: >"$tmp/replayed"
		sleep 2
	} | "$zfoliod" --config /dev/null --simulate - >"$tmp/decisions" &
	peak_pid=$!
	until [ -e "$tmp/replayed" ]; do sleep 0.1; done
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$peak_pid/status"
	wait "$peak_pid"
}
short=$(peak 1000)
long=$(peak 100000)
check "a hundred thousand ticks are decided on" grep -qE '^100000 ticks, [0-9]{4,} decisions' "$tmp/decisions"
check "... and take as much memory as a thousand" [ "${long:-999999}" -le $((${short:-0} + 256)) ]
echo "# $short and $long KiB"

# --- the example ---

run "$zfoliod" --config "$data/example.conf" --simulate "$data/example.jsonl"
check "the example trace gives the decisions that its text file has" cmp "$tmp/out" "$data/example.txt"
run "$zfoliod" --config "$data/example.conf" --simulate "$tmp/absent"
check "a trace that is not there is bad input" [ "$status" = 3 ]
printf '{"zfolio_trace":1}\n{"elapsed":1,"page_size":4096,"devices":[],"cgroups":[{"id":1,"path":"a","pswpinn":3}]}\n' >"$tmp/bad"
run "$zfoliod" --simulate "$tmp/bad" --root "$root"
check "a misspelt key is named with its line" err_has "$tmp/bad: line 2: pswpinn: no key of a cgroup"
check "... and is bad input" [ "$status" = 3 ]

finish
