#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# selftests/run in a tree of its own, with guests that are shell scripts here.
# shellcheck disable=SC2317 # called by check
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck source=selftests/tests/lib.sh
. "$(dirname "$0")/lib.sh"

tree=$tmp/tree
mkdir -p "$tree/selftests/vm" "$tree/selftests/tests" "$tree/build/tests" \
	"$tree/build/selftests" "$tree/kernel-patches"
cp selftests/run selftests/tap selftests/record "$tree/selftests/"

# Instead of a guest: run the program here, with the kernel's name. A program
# called panic-on-NAME is one whose guest panics on that kernel.
cat >"$tree/selftests/vm/run" <<'END'
#!/bin/sh
echo "vm/run: kernel, accel and so on" >&2
kernel=$2
for word; do
	[ "$word" = -- ] && break
	options="$options $word"
	shift
done
program=${options##* }
echo "$options" >>build/options
case $program in
*-on-${kernel##*/}) panics=1 ;;
esac
KERNEL=${kernel##*/} "$program" &
child=$!
trap 'kill $child; exit 143' TERM
wait $child
status=$?
if [ -n "$panics" ]; then
	echo "vm/run: --- the kernel reported:" >&2
	echo "  [    1.0] Kernel panic - not syncing: test" >&2
	echo "vm/run: kernel log: /logs/panic.log" >&2
	echo "vm/run: error: the kernel of the guest reported a fault" >&2
	exit 126
fi
exit $status
END
cat >"$tree/kernel-patches/build" <<'END'
#!/bin/sh
[ ! -e broken-kernel ] || exit 1
echo "build/$1"
END
chmod +x "$tree/selftests/vm/run" "$tree/kernel-patches/build"
: >"$tree/build/base"
: >"$tree/build/patched"

# program FILE: a test program whose body is on stdin
program() {
	{
		echo '#!/bin/sh'
		cat
	} >"$tree/$1"
	chmod +x "$tree/$1"
}

program build/selftests/good <<'END'
echo 1..2; echo ok 1 first; echo 'ok 2 second # SKIP no device'
END
program build/selftests/defect <<'END'
echo 1..2; echo ok 1 first
if [ $KERNEL = base ]; then echo not ok 2 wrong pages; exit 1; fi
echo ok 2 wrong pages
END
program build/selftests/panic-on-base <<'END'
echo 1..1; echo ok 1 first
END
program build/selftests/only-patched <<'END'
echo 1..1; echo ok 1 first
END
program build/tests/test_unit <<'END'
echo 1..1; [ "$CMOCKA_MESSAGE_OUTPUT" = TAP ] && echo ok 1 - unit
END
program selftests/tests/tool.t <<'END'
echo 1..1; echo ok 1 - tool
END

# list: the lines of tests.list on stdin
list() {
	cat >"$tree/selftests/tests.list"
}

usual() {
	list <<'END'
# a comment
good		pass		build/selftests/good		--smp 1 --timeout 60 -- arg
defect		fails		build/selftests/defect
panics		faults,hangs	build/selftests/panic-on-base
patched		-		build/selftests/only-patched
END
}

last_is() {
	[ "$(tail -n 1 "$tmp/out")" = "$1" ]
}

usual
run "$tree/selftests/run"
check "all as it must be: status" [ "$status" -eq 0 ]
check "... the last line" last_is "11 passed, 0 failed, 2 skipped"
check "... a skip with its reason" out_has 'skipped: second # SKIP no device'
check "... the table" out_has '^good +ok 1, 1 skipped +ok 1, 1 skipped$'
check "... a defect shown" out_has '^defect +1 of 2 fail, as expected +ok 2$'
check "... a fault of the base kernel" out_has '^panics +faults, as expected +ok 1$'
check "... a test of the patched kernel alone" out_has '^patched +- +ok 1$'
check "... the lines of each test's start" out_has '^\[ *[0-9]+ s\] defect \(base\) \.\.\.$'
check "the machine's options reach vm/run" \
	grep -qF -e '--smp 1 --timeout 60 --add build/selftests/good' "$tree/build/options"

run "$tree/selftests/run" --list
check "--list" [ "$(tr '\n' ' ' <"$tmp/out")" = "host  unit/test_unit host  selftests/tool guest good guest defect guest panics guest patched " ]
run "$tree/selftests/run" defect tool
check "names choose tests" last_is "5 passed, 0 failed, 0 skipped"
run "$tree/selftests/run" host
check "a kind chooses tests" last_is "2 passed, 0 failed, 0 skipped"
run "$tree/selftests/run" --base none guest
check "--base none: one column" out_has '^defect +- +ok 2$'
run "$tree/selftests/run" no-such-test
check "an unknown name is wrong usage" [ "$status" -eq 2 ]
check "... and told" err_has "error: no test 'no-such-test'"
run "$tree/selftests/run" --patched "$tmp/no-such" guest
check "a kernel that is not there is a failure" [ "$status" -eq 1 ]
check "... and told" out_has "kernel $tmp/no-such: not built, or no such file"

: >"$tree/broken-kernel"
run "$tree/selftests/run"
check "a kernel that cannot be built is a failure" last_is "2 passed, 2 failed, 0 skipped"
rm "$tree/broken-kernel"

list <<'END'
defect		pass	build/selftests/defect
panics		pass	build/selftests/panic-on-base
good		fails	build/selftests/good
patched		pass	build/selftests/not-built
END
rm "$tree/build/selftests/only-patched"
run "$tree/selftests/run" guest
check "failures: status" [ "$status" -eq 1 ]
# passed: defect 1 + 2, panics 1 + 1, good 1; failed: defect 1, panics 1, good 1, not built 2
check "... the last line" last_is "6 passed, 5 failed, 2 skipped"
check "... the point" out_has '^  defect \(base\): not ok: wrong pages$'
check "... where its output is" out_has '^  defect \(base\): output: build/test/defect.base.out'
check "... a fault's line" out_has '^  panics \(base\): .*Kernel panic - not syncing: test$'
check "... and its log" out_has '^  panics \(base\): kernel log: /logs/panic.log$'
check "... a defect that does not show" out_has '^  good \(base\): all 1 points are ok, expected: fails'
check "... a program that is not built" out_has '^  patched \(patched\): build/selftests/not-built is not built'

list <<'END'
good	pass	build/selftests/good
END
run "$tree/selftests/run" guest
check "a program that is not listed is a failure" out_has '^  defect: build/selftests/defect is not in'

list <<'END'
good	pass	build/selftests/good
defect	fails	build/selftests/defect
patched	-	build/selftests/only-patched
panics	faults	build/selftests/panic-on-base
END
echo 'good	pass	build/selftests/good' >"$tree/selftests/tests-1.0.list"
run env BASE=linux-1.0 "$tree/selftests/run" guest
check "another base's list" last_is "2 passed, 0 failed, 2 skipped"
run env BASE=linux-1.1 "$tree/selftests/run" defect
check "a base without a list has the default one" last_is "4 passed, 0 failed, 0 skipped"

list <<'END'
good	perhaps	build/selftests/good
END
run "$tree/selftests/run" guest
check "an unknown expectation is wrong usage" [ "$status" -eq 2 ]
check "... and told" err_has "good: 'perhaps' .expected pass, fails"

list <<'END'
good	pass	build/selftests/good
# --- not proven yet ---
defect	fails	build/selftests/defect
patched	-	build/selftests/only-patched
panics	faults	build/selftests/panic-on-base
END
run "$tree/selftests/run" guest
check "below the border: not run, and not forgotten" last_is "2 passed, 0 failed, 2 skipped"
run env SERIES=next "$tree/selftests/run" defect
check "... but with SERIES=next" last_is "4 passed, 0 failed, 0 skipped"

# A test that takes long, and a runner that is ended meanwhile
program build/selftests/good <<'END'
echo 1..1; echo $$ >build/pid; exec sleep 1000
END
list <<'END'
good	pass	build/selftests/good
END
end_by() {
	rm -f "$tree/build/pid"
	env --default-signal=INT "$tree/selftests/run" guest >"$tmp/out" 2>"$tmp/err" </dev/null &
	pid=$!
	tries=0
	until [ -s "$tree/build/pid" ] || [ "$tries" -eq 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -"$1" $pid
	wait $pid 2>/dev/null && status=0 || status=$?
}

# What ended but was not waited for has no program any more.
ended() {
	tries=0
	while [ -e "/proc/$(cat "$tree/build/pid")/exe" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || return 1
		sleep 0.1
	done
}

end_by INT
check "SIGINT: status" [ "$status" -eq 130 ]
check "... ends the guest" ended
end_by TERM
check "SIGTERM: status" [ "$status" -eq 143 ]
check "... ends the guest" ended
end_by KILL
check "SIGKILL ends the guest" ended

rm "$tree"/build/selftests/*
list </dev/null
program build/tests/test_unit <<'END'
echo 'TAP version 13'; echo '1..0 # SKIP nothing here'
END
run "$tree/selftests/run" unit/test_unit
check "nothing passed is no success" [ "$status" -eq 1 ]
check "... and told" last_is "0 passed, 0 failed, 1 skipped"

finish
