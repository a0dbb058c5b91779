#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tool as a process, on a tree of plain files: what it shows with and without
# a daemon, in terminals of two sizes, and what it lets one change.
# shellcheck disable=SC2154 # lib.sh sets tmp and status, machine.sh root and cg
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh
# shellcheck source=daemon/tests/machine.sh
. daemon/tests/machine.sh

zfolioctl=build/zfolioctl
golden=daemon/tests/data/zfolioctl
LC_ALL=C.UTF-8
export LC_ALL
unset COLUMNS LINES NO_COLOR

# ctl ARGUMENT...: as run
ctl() {
	run "$zfolioctl" --root "$root" "$@"
}

# at WIDTH HEIGHT ARGUMENT...: likewise in a terminal of that size
at() {
	COLUMNS=$1 LINES=$2
	export COLUMNS LINES
	shift 2
	ctl "$@"
	unset COLUMNS LINES
}

# looks_like NAME: the output is that of a file, to the byte; with UPDATE=1 in the
# environment the file is made from it.
# shellcheck disable=SC2317 # called by name, through check
looks_like() {
	[ -z "${UPDATE:-}" ] || cp "$tmp/out" "$golden/$1"
	cmp "$tmp/out" "$golden/$1"
}

# json PROGRAM: of Python, on the output as reply
# shellcheck disable=SC2317 # likewise
json() {
	python3 -c "import json, sys
reply = json.load(open(sys.argv[1]))
assert $1, $1" "$tmp/out"
}

# A machine with more cgroups than a small terminal has lines.
many() {
	machine
	cgroup batch.slice
	path=
	for level in user.slice user-1000.slice user@1000.service app.slice \
		app-org.gnome.Terminal.slice vte-spawn-0f3.scope; do
		path=${path:+$path/}$level
		cgroup "$path"
	done
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
		cgroup "batch.slice/batch-job-$i.scope"
		file "sys/fs/cgroup/batch.slice/batch-job-$i.scope/memory.stat" \
			"zswap $((i * 1000000))
zswapped $((i * 2500000))
pswpin 0"
	done
	file sys/fs/cgroup/a.slice/x.service/memory.zswap.writeback 0
	file sys/fs/cgroup/a.slice/y.service/memory.zswap.swapin_max 65536
}

# --- options and exit statuses ---

run "$zfolioctl" --help
check "--help tells the exit statuses" out_has '^Exit status: 0'
check "... and ends with 0" [ "$status" = 0 ]
check "... and fits 80 columns" fails grep -qE '.{81}' "$tmp/out"
for wrong in '' nonsense 'status x' explain 'explain a b' 'set a' 'set a b' \
	'set a =b' '--bogus status' '--for 5s status' '--interval 1s status' \
	'--for 0 set a b=c' '--for never set a b=c' '--interval 1 top' \
	'--iterations 0 top' '--color green status' 'metrics --json' \
	'--size 64M status' '--size 1 measure' '--samples 0 advise a' advise \
	'measure x' '--output x top'; do
	# shellcheck disable=SC2086 # split into words on purpose
	run "$zfolioctl" $wrong
	check "wrong usage: $wrong" [ "$status" = 2 ]
	check "... is one line" [ "$(wc -l <"$tmp/err")" -le 2 ]
done
run "$zfolioctl" --root "$tmp/absent" status
check "a root that is not there is named" err_has "^zfolioctl: $tmp/absent: No such file"
check "... and has failed" [ "$status" = 1 ]

machine
file proc/self/mounts 'cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0'
ctl status
check "without cgroup v2 it ends with a status of its own" [ "$status" = 4 ]
machine
file etc/zfolio.conf '[cgroup'
ctl status
check "a wrong configuration is named" err_has '/etc/zfolio.conf:1:'
check "... and bad input" [ "$status" = 3 ]

# --- without a daemon ---

many
for size in '80 24' '200 50'; do
	name=${size% *}x${size#* }.txt
	for view in status 'top --iterations 1' 'explain a.slice/x.service' \
		features '--bytes status' '--color always status'; do
		word=$(echo "$view" | tr -d -- - | tr ' /' '--')
		# shellcheck disable=SC2086 # split into words on purpose
		at $size $view
		check "$view at $size" looks_like "$word-$name"
		check "... with 0" [ "$status" = 0 ]
	done
done
at 80 24 top --iterations 1
check "top is not higher than its terminal" [ "$(wc -l <"$tmp/out")" -le 24 ]
at 40 10 top --iterations 2 --interval 100ms
check "two views in a very small one" [ "$(wc -l <"$tmp/out")" -le 21 ]
check "... which lose columns" fails grep -qE 'READ/s' "$tmp/out"
file sys/module/zswap/parameters/enabled N
ctl status
check "status says that zswap is off" out_has '^pool .*; zswap is off$'
file sys/module/zswap/parameters/enabled Y
ctl explain a.slice/z.service
check "a cgroup that is not there is named" err_has 'a.slice/z.service: no such cgroup'
check "... and bad input" [ "$status" = 3 ]
ctl explain /a.slice/
check "slashes at the ends do not matter" out_has '^a.slice$'
ctl set a.slice/x.service writeback=on
check "nothing can be set without a daemon" [ "$status" = 5 ]
check "... and it says so" err_has 'zfoliod does not run'
ctl status --json
cp "$tmp/out" "$tmp/reply.status.json"
check "JSON has a version, and no daemon" json 'reply["zfolio"] == 1 and reply["status"]["daemon"] is None'
check "... and all cgroups" json 'len(reply["status"]["cgroups"]) == 27'
ctl features --json
cp "$tmp/out" "$tmp/reply.features.json"
check "features as JSON" json 'reply["features"]["knobs"]["memory.zswap.max"] is True'
cgroup "$(printf 'odd\033[31m \377name')"
ctl --json status
check "names of any bytes are JSON" json 'any(c["path"] == "odd\x1b[31m ?name" for c in reply["status"]["cgroups"])'
ctl status
check "... and do nothing to the terminal" fails grep -q "$(printf '\033')" "$tmp/out"

# --- top on a terminal ---

# terminal KEYS: top in a terminal of 80x24, with keys pressed one after the other;
# fails unless it ends with 0 and leaves the screen as it was
# shellcheck disable=SC2317 # called by name, through check
terminal() {
	python3 - "$1" "$tmp/out" "$zfolioctl" --root "$root" top --interval 300ms <<'END'
import fcntl, os, pty, select, struct, sys, termios, time
keys, out, command = sys.argv[1], sys.argv[2], sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    # The size is there before the program looks.
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execv(command[0], command)
text = b""
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        text += piece
        # A view is whole with the line that names the keys.
        if keys and b"sort (" in piece:
            os.write(fd, keys[0].encode())
            keys = keys[1:]
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
open(out, "wb").write(text)
assert status == 0, status
assert text.startswith(b"\x1b[?1049h") and text.endswith(b"\x1b[?1049l"), text
views = text.split(b"\x1b[H\x1b[2J")[1:]
assert all(view.count(b"\n") <= 23 for view in views)
END
}

many
check "q ends it" terminal q
check "... after a view in colour" grep -q "$(printf '\033\\[1mCGROUP')" "$tmp/out"
check "s sorts by another column" terminal ssq
check "... which it names" grep -q 'sort (DISK)' "$tmp/out"
check "Ctrl-C ends it as well" terminal "$(printf '\003')"
NO_COLOR=1
export NO_COLOR
check "NO_COLOR" terminal q
unset NO_COLOR
check "... is honoured" fails grep -q "$(printf '\033\\[1m')" "$tmp/out"

# --- a daemon with much to tell ---

# server TEXT: answers one request with it
server() {
	rm -f "$root/run/zfolio/control"
	mkdir -p "$root/run/zfolio"
	python3 - "$root/run/zfolio" "$1" <<'END' &
import os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.bind("control")
s.listen()
c = s.accept()[0]
c.recv(8192)
c.sendall(sys.argv[2].encode())
END
	pid=$!
	within_5s [ -S "$root/run/zfolio/control" ]
}

for size in '80 24' '200 50'; do
	for view in 'top --iterations 1' 'explain system.slice/web.service'; do
		word=${view%% *}
		reply=running-status.json
		[ "$word" != explain ] || reply=running-explain.json
		server "$(cat $golden/$reply)"
		# shellcheck disable=SC2086 # split into words on purpose
		at $size $view
		check "$word of one that runs, at $size" looks_like "running-$word-${size% *}x${size#* }.txt"
		wait "$pid"
	done
done

# --- servers that are none ---

server 'no JSON'
ctl status
check "a reply that is none is an error" [ "$status" = 1 ]
check "... with the socket's name" err_has '^zfolioctl: /run/zfolio/control: Protocol error'
wait "$pid"
server '{"zfolio": 1, "status": {}}'
ctl status
check "what is missing in a reply is taken for nothing" [ "$status" = 0 ]
wait "$pid"
server '{"zfolio": 1, "error": {"code": "EBUSY", "message": "try again"}}'
ctl status
check "an error is told" err_has '^zfolioctl: try again'
wait "$pid"

# --- metrics ---

# metrics PARSER PROGRAM FILE: of Python, on the families in FILE by name; with the
# Python that Debian's modules are for
# shellcheck disable=SC2317 # called by name, through check
metrics() {
	/usr/bin/python3 -c "import sys
from prometheus_client.$1 import text_string_to_metric_families
text = open(sys.argv[1]).read()
families = {f.name: f for f in text_string_to_metric_families(text)}
def value(name, **labels):
    return [s.value for f in families.values() for s in f.samples
            if s.name == name and s.labels == labels][0]
assert $2, $2" "$3"
}

# shellcheck disable=SC2317 # likewise
openmetrics() {
	metrics openmetrics.parser "$1" "$tmp/out"
}

# shellcheck disable=SC2317 # likewise
textfile() {
	metrics parser "$1" "$tmp/zfolio.prom"
}

many
cgroup 'odd"name\with'
cgroup "$(printf 'two\nlines')"
ctl metrics
check "metrics are OpenMetrics" openmetrics 'len(families) == 23'
check "... with no daemon" openmetrics 'value("zfolio_daemon_up") == 0'
check "... counters" openmetrics 'families["zfolio_cgroup_zswpin_pages"].type == "counter"'
check "... no limit as +Inf" openmetrics 'value("zfolio_cgroup_zswap_max_bytes", cgroup="a.slice/x.service") == float("inf")'
check "... and values" openmetrics 'value("zfolio_cgroup_zswap_bytes", cgroup="batch.slice/batch-job-7.scope") == 7000000'
check "... with names escaped" openmetrics 'value("zfolio_cgroup_swap_bytes", cgroup="odd\"name\\with") == 83886080'
check "... newlines too" openmetrics 'value("zfolio_cgroup_swap_bytes", cgroup="two\nlines") == 83886080'
echo old >"$tmp/zfolio.prom"
ctl metrics --output "$tmp/zfolio.prom"
check "a file is replaced" textfile 'value("zfolio_device_size_bytes", device="vda") == 4194300 * 1024'
check "... in the form of node_exporter" textfile 'families["zfolio_cgroup_zswpin_pages"].type == "counter" and "# EOF" not in text'
check "... with counters named as their samples" grep -q '^# TYPE zfolio_cgroup_zswpin_pages_total counter' "$tmp/zfolio.prom"
check "... for all to read" [ "$(stat -c %a "$tmp/zfolio.prom")" = 644 ]
check "... with nothing left beside it" [ "$(echo "$tmp"/zfolio.prom*)" = "$tmp/zfolio.prom" ]
ctl metrics --output "$tmp/absent/zfolio.prom"
check "a place that is not there is named" err_has "^zfolioctl: $tmp/absent/zfolio.prom: No such file"
check "... and has failed" [ "$status" = 1 ]

# --- measure ---

# The measurement itself needs a kernel of its own: selftests/tests.list.
if [ "$(id -u)" = 0 ]; then
	machine
	file proc/meminfo 'MemTotal: 1048576 kB
MemAvailable: 900000 kB
Zswap: 150000 kB'
	ctl measure
	check "measure wants room in the pool" [ "$status" = 7 ]
	check "... and says how much there is" err_has "not now: zswap's pool has room for 58.3M, and 64M"
	file proc/meminfo 'MemTotal: 1048576 kB
MemAvailable: 200000 kB'
	ctl measure
	check "... and memory" [ "$status" = 7 ]
	check "... and says so" err_has 'not now: 195M of memory are available, and 64M need 4 times that'
	file proc/swaps 'Filename Type Size Used Priority'
	ctl measure
	check "... and swap" [ "$status" = 4 ]
	file sys/module/zswap/parameters/enabled N
	ctl measure
	check "... and zswap" [ "$status" = 4 ]
	check "... and says what to do" err_has 'parameters/enabled: expected Y: switch zswap on'
	machine
	(sleep 0.5 && file proc/pressure/memory 'some avg10=50.00 avg60=0.00 avg300=0.00 total=500000') &
	file proc/pressure/memory 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0'
	ctl measure
	wait
	check "... and that nobody waits for memory" err_has 'not now: tasks wait 50.00% of the time for memory, limit 10.00%'
	check "... with the same status" [ "$status" = 7 ]
else
	skip "what measure wants" "needs root"
fi

# --- advise ---

# process PID: 64 pages of zeros, 64 of text, 64 of noise and 64 in swap
process() {
	mkdir -p "$root/proc/$1"
	python3 - "$root/proc/$1" <<'END'
import random, struct, sys
random.seed(1)
text = b"".join(b"line %d of a text\n" % i for i in range(20000))
with open(sys.argv[1] + "/mem", "wb") as mem:
    mem.seek(4096 * 16)
    mem.write(bytes(4096 * 64) + text[:4096 * 64] + random.randbytes(4096 * 64))
with open(sys.argv[1] + "/pagemap", "wb") as pagemap:
    pagemap.seek(8 * 16)
    pagemap.write(struct.pack("<Q", 1 << 63) * 192 + struct.pack("<Q", 1 << 62) * 64)
with open(sys.argv[1] + "/smaps", "w") as smaps:
    smaps.write("00010000-00110000 rw-p 00000000 00:00 0\n"
                "Anonymous: 768 kB\nSwap: 256 kB\n")
END
}

machine
file sys/module/zswap/parameters/compressor lz4
for name in a.slice a.slice/x.service a.slice/y.service; do
	: >"$cg/$name/cgroup.procs"
done
echo 10 >"$cg/a.slice/x.service/cgroup.procs"
process 10
ctl advise a.slice
check "advise tells what it looked at" out_has '^a.slice: 192 pages of 768K in memory, from 1 process'
check "... and what it did not" out_has '^256K are in swap already'
check "... with 0" [ "$status" = 0 ]
ctl advise a.slice --json --samples 100
cp "$tmp/out" "$tmp/reply.advise.json"
check "as many pages as asked for" json 'reply["advise"]["sampled"] == 100'
check "a third of them is zeros" json '15 < reply["advise"]["zero"] < 55'
check "... a third becomes smaller with neither" json 'all(15 < c["incompressible"] < 55 for c in reply["advise"]["compressors"])'
check "... and the rest much smaller" json 'all(c["bytes"] < 4096 * (c["incompressible"] + 0.5 * (100 - reply["advise"]["zero"] - c["incompressible"])) for c in reply["advise"]["compressors"])'
ctl advise a.slice/z.service
check "a cgroup that is not there is named" err_has 'a.slice/z.service: no such cgroup'
check "... and bad input" [ "$status" = 3 ]
ctl advise a.slice/y.service
check "a cgroup without processes" out_has '^No page could be read'

# --- with a daemon ---

machine
# shellcheck disable=SC2119 # no option
start
check "there is a socket" within_5s [ -S "$root/run/zfolio/control" ]
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
at 200 50 status
check "status says that it runs" out_has '^zfoliod runs for [0-9]+m?s, a tick each 100ms'
check "... and the last action" out_has 'x.service .*ago: memory.zswap.writeback 1 -> 0: configured'
ctl status --json
check "... as JSON too" json 'reply["status"]["daemon"]["interval"] == 100000'
cp "$tmp/out" "$tmp/reply.running.json"
ctl metrics
check "metrics say that it runs" openmetrics 'value("zfolio_daemon_up") == 1 and value("zfolio_daemon_written_bytes_total") >= 0'
ctl explain a.slice/x.service
check "explain has the reason" out_has 'ago: memory.zswap.writeback 1 -> 0: configured'
ctl explain a.slice/x.service --json
cp "$tmp/out" "$tmp/reply.explain.json"
check "... as JSON too" json 'reply["explain"]["events"][0]["reason"] == "configured"'
ctl features
check "features come from the daemon, which has tried" out_has 'source=zswap +yes'

ctl set a.slice/y.service writeback=off --for 700ms
check "a value can be set" [ "$status" = 0 ]
check "... for a time" out_has '^a.slice/y.service: writeback = off, for 700ms'
check "... and is" within_5s is "$cg/a.slice/y.service/memory.zswap.writeback" 0
ctl explain a.slice/y.service
check "explain tells it" out_has 'set: writeback = off, for another [0-9]+ms'
check "when the time is over the value is back" within_5s is "$cg/a.slice/y.service/memory.zswap.writeback" 1
ctl set a.slice/y.service writeback=off --json
check "without a time it stays" json 'reply["set"]["value"] == "off"'
within_5s is "$cg/a.slice/y.service/memory.zswap.writeback" 0
kill -HUP "$pid"
sleep 0.5
check "... over a reload" is "$cg/a.slice/y.service/memory.zswap.writeback" 0
ctl set a.slice/y.service writeback=
check "... until it is taken back" within_5s is "$cg/a.slice/y.service/memory.zswap.writeback" 1
ctl set a.slice/y.service writeback=
check "what is not set can not be taken back" [ "$status" = 3 ]
ctl set a.slice/x.service writeback=maybe
check "a wrong value is named with what was expected" err_has 'writeback: "maybe": expected auto, on, off or leave'
check "... and bad input" [ "$status" = 3 ]
ctl set a.slice/x.service colour=red
check "so is a wrong key" err_has 'colour: expected a key of \[cgroup\]'
ctl set b.slice writeback=off
check "and a wrong cgroup" err_has 'b.slice: no such cgroup'

run "$zfoliod" --root "$root"
check "a second daemon ends" [ "$status" = 1 ]
check "... and says why" err_has 'another zfoliod answers there'
ctl status --json
check "... and does the first no harm" json 'reply["status"]["daemon"]'

# Another user: the tree is theirs to read.
chmod 755 "$tmp"
group=$(id -gn nobody)
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as_nobody="setpriv --reuid nobody --regid nogroup --clear-groups"
	cp "$zfolioctl" "$tmp/zfolioctl"
	# shellcheck disable=SC2086 # split into words on purpose
	run $as_nobody "$tmp/zfolioctl" --root "$root" status
	check "a stranger gets the kernel's word" out_has 'zfoliod does not answer this user'
	# shellcheck disable=SC2086
	run $as_nobody "$tmp/zfolioctl" --root "$root" set a.slice/x.service writeback=on
	check "... and may set nothing" [ "$status" = 6 ]
	file etc/zfolio.conf "[daemon]
interval = 100ms
group = $group"
	kill -HUP "$pid"
	sleep 0.3
	# shellcheck disable=SC2086
	run $as_nobody "$tmp/zfolioctl" --root "$root" status
	check "a member of the group gets the daemon's" out_has 'zfoliod runs for'
	# shellcheck disable=SC2086
	run $as_nobody "$tmp/zfolioctl" --root "$root" set a.slice/x.service writeback=on
	check "... and may set nothing either" [ "$status" = 6 ]
else
	skip "strangers and members of the group" "needs root"
fi
stop
check "SIGTERM ends the daemon with 0" [ "$status" = 0 ]
check "the socket is gone" [ ! -e "$root/run/zfolio/control" ]

# --- what the README says of replies ---

# known NAME FILE...: each member of the replies in these files is in the README
# shellcheck disable=SC2317 # called by name, through check
known() {
	python3 - "$@" <<'END'
import json, re, sys
words = set(re.findall(r"`([a-z0-9_]+)`", open("daemon/README.md").read()))
def look(value, inside=""):
    if isinstance(value, list):
        for item in value:
            look(item, inside)
    elif isinstance(value, dict):
        for key, item in value.items():
            # Names of knobs are those of their files.
            assert key in words or inside == "knobs", key
            look(item, key)
for name in sys.argv[1:]:
    reply = json.load(open(name))
    assert reply.pop("zfolio") == 1
    look(reply)
END
}

check "all members of replies are described" known "$tmp"/reply.*.json

finish
