#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What zfoliod does for an idle service, a hot one and a batch job, against the same
# machine without it: the two services for ten minutes of the guest's time, then the
# batch job. Run by `make test-long`.
# shellcheck disable=SC2154,SC2317 # lib.sh sets tmp; called by check
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh
# shellcheck source=daemon/tests/guest.sh
. daemon/tests/guest.sh

patched=$(kernel patched) || exit 1
seconds=600

guest without --kernel "$patched" -- scenario.sh off $seconds
cp "$tmp/tap" "$tmp/off"
guest with --kernel "$patched" -- scenario.sh on $seconds
cp "$tmp/tap" "$tmp/on"

# figure RUN NAME
figure() {
	sed -n "s/^# figure $2 \([0-9]*\).*/\1/p" "$tmp/$1"
}

# alike NAME: are both runs within 5 % of each other?
alike() {
	off=$(figure off "$1")
	on=$(figure on "$1")
	[ -n "$off" ] && [ -n "$on" ] || return
	[ $(((on - off) * 20)) -le "$off" ] && [ $(((off - on) * 20)) -le "$off" ]
}

# no_longer NAME: is the run with it no more than 5 % above the one without?
no_longer() {
	off=$(figure off "$1")
	on=$(figure on "$1")
	[ -n "$off" ] && [ -n "$on" ] || return
	[ $(((on - off) * 20)) -le "$off" ]
}

check "the hot service does as much" alike hot_touches
check "... and as much comes from disk" alike hot_disk_swapins
check "... its touches take no longer: p50" no_longer hot_p50
check "... p99" no_longer hot_p99
if grep -q '^# figure source_zswap 1' "$tmp/on"; then
	check "80 % of the idle service's compressed pool are on disk" [ "$(figure on idle_on_disk)" -ge 80 ]
	check "... in requests of 100 KiB or more" [ "$(figure on request_kib)" -ge 100 ]
	# 8M/s from the start, and what may be spent at once.
	check "... within the budget" [ "$(figure on written_kib)" -le $((8192 * (20 + seconds + 10))) ]
else
	skip "the idle service's pool goes to disk" "this kernel's memory.reclaim has no source=zswap"
fi

finish
