# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2317 # for those who source it; called by name
# shellcheck disable=SC2154 # lib.sh sets tmp
#
# What the scripts share that are run in a guest with systemd: sourced, never run.
# There is a clock that counts instructions, and sleep costs nothing; but it runs far
# ahead while all wait for the swap device, so what waits for that gets minutes.
# shellcheck source=selftests/tests/lib.sh
. ./lib.sh

cg=/sys/fs/cgroup
web=$cg/test.slice/web.service
swap=$(awk 'NR == 2 { print $1 }' /proc/swaps)

# within SECONDS COMMAND...: does it come true in that time?
within() {
	within_end=$(($(cut -d . -f 1 /proc/uptime) + $1))
	shift
	until "$@"; do
		[ "$(cut -d . -f 1 /proc/uptime)" -lt "$within_end" ] || return 1
		sleep 0.3
	done
}

is() {
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

# said PATTERN: has zfoliod logged a line that matches, since the last mark?
mark() {
	journalctl --sync
	cursor=$(journalctl -n 0 --show-cursor -q | sed -n 's/^-- cursor: //p')
}

log() {
	journalctl -q -u zfoliod -o cat --no-pager --after-cursor "$cursor" _COMM=zfoliod
}

said() {
	log >"$tmp/out"
	grep -qE -e "$1" "$tmp/out"
}

# Warnings and errors since the mark.
complaints() {
	journalctl -q -u zfoliod -o cat --no-pager --after-cursor "$cursor" -p warning >"$tmp/out"
	grep -q . "$tmp/out"
}

property() {
	systemctl show -P "$2" "$1"
}

# Of every cgroup that is there all the time.
knobs() {
	find $cg -path "$cg/*/zfoliod.service" -prune -o \
		\( -name memory.zswap.writeback -o -name memory.zswap.max -o \
		-name memory.zswap.swapin_max \) -exec grep -H . {} + | sort
}

# Has every knob that is still there the value that it had before? Leaves those that
# have not.
all_is_back() {
	knobs >"$tmp/now"
	awk -F : 'NR == FNR { before[$1] = $2; next }
		$1 in before && before[$1] != $2 { print $0 ", was " before[$1] }' \
		"$tmp/before" "$tmp/now" >"$tmp/out"
	[ -s "$tmp/now" ] && fails grep -q . "$tmp/out"
}

descriptors() {
	find "/proc/$(property zfoliod MainPID)/fd" -type l | wc -l
}

tuned() {
	is "$web/memory.zswap.writeback" 0 && is "$web/memory.zswap.max" 67108864
}

running() {
	[ "$(systemctl is-active zfoliod)" = active ] && zfolioctl status >/dev/null
}

# --- a service to be tuned, and a configuration that does so -----------------------

mkdir -p /etc/zfolio.conf.d
cat >/etc/zfolio.conf.d/10-test.conf <<'END'
[daemon]
interval = 200ms
rescan = 500ms
[cgroup test.slice/**]
writeback = off
zswap_max = 64M
dwell = 1s
END
cat >/etc/systemd/system/web.service <<'END'
[Service]
Slice=test.slice
ExecStart=/root/load 16 /run/web
END
echo Y >/sys/module/zswap/parameters/enabled
systemctl daemon-reload
systemctl start web
within 300 is /run/web ready
knobs >"$tmp/before"
mark
