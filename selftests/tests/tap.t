#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# How selftests/tap judges what test programs print.
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck source=selftests/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# judge STATUS: the TAP on stdin
judge() {
	cat >"$tmp/tap"
	run selftests/tap "$tmp/tap" "$1"
}

judge 0 <<'END'
TAP version 13
1..2
# a comment
ok 1 first
ok 2 - second
# Totals: pass:2 fail:0 xfail:0 xpass:0 skip:0 error:0
END
check "all points ok" [ "$(cat "$tmp/out")" = "counts 2 0 0" ]

judge 0 <<'END'
ok 1 - first
ok 2 - second
1..2
END
check "the plan may come last" [ "$(cat "$tmp/out")" = "counts 2 0 0" ]

judge 1 <<'END'
1..3
ok 1 first
not ok 2 the second
ok 3 third # SKIP no such device
END
check "a failed point is counted and named" out_has '^failed the second$'
check "a skipped point is named with its reason" out_has '^skipped third # SKIP no such device$'
check "... and each is counted once" out_has '^counts 1 1 1$'
check "a failed point explains the exit status" fails out_has '^broken'

judge 4 <<'END'
TAP version 13
1..0 # SKIP zswap is disabled
END
check "all can be skipped by the plan" [ "$(tail -n 1 "$tmp/out")" = "counts 0 0 1" ]
check "... with its reason" out_has '^skipped everything: SKIP zswap is disabled'
check "... and kselftest's status for it" fails out_has '^broken'

judge 0 <<'END'
1..3
ok 1 first
ok 2 second
END
check "a program that stops early is broken" out_has '^broken 3 points planned, 2 reported'

judge 0 <<'END'
ok 1 first
END
check "no plan is broken" out_has '^broken no plan'

judge 0 </dev/null
check "no output is broken" out_has '^broken no plan'

judge 0 <<'END'
1..2
ok 1 first
ok 3 third
END
check "a wrong number is broken" out_has '^broken point 2 has the number 3'

judge 0 <<'END'
1..1
ok 1 first
1..1
END
check "a second plan is broken" out_has '^broken a second plan'

judge 1 <<'END'
1..1
ok 1 first
END
check "a status that no point explains is broken" out_has '^broken exit status 1'

judge 4 <<'END'
1..1
ok 1 first
END
check "status 4 is for programs that skipped everything" out_has '^broken exit status 4'

judge 1 <<'END'
1..2
ok 1 first
Bail out! cannot write /sys/block/zram0/disksize
END
check "bailing out is broken, with its reason" out_has '^broken Bail out! cannot write'

printf '1..1\r\nok 1 first\r\n' | judge 0
check "line ends of a terminal are read" [ "$(cat "$tmp/out")" = "counts 1 0 0" ]

judge 0 <<'END'
1..1
    1..2
    ok 1 inner
    not ok 2 inner
ok 1 outer
okay, this is no point
END
check "subtests and text are no points" [ "$(cat "$tmp/out")" = "counts 1 0 0" ]

finish
