#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# selftests/vm/run with a real kernel: ZFOLIO_TEST_KERNEL, or else the base
# kernel, which is built when it is missing.
# shellcheck disable=SC2016,SC2317 # the guest's shell expands; called by check
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck source=selftests/tests/lib.sh
. "$(dirname "$0")/lib.sh"

kernel=${ZFOLIO_TEST_KERNEL:-$(kernel-patches/build base)} || exit 1

other=${ZFOLIO_TEST_PATCHED:-$(kernel-patches/build patched)} || exit 1
debian=$(selftests/vm/debian) || exit 1

# A cache of our own, so that what is left behind can be seen.
ZFOLIO_CACHE=$tmp/cache
export ZFOLIO_CACHE
mkdir "$ZFOLIO_CACHE" "$tmp/bin"

vm() {
	run selftests/vm/run --kernel "$kernel" "$@"
}

# Processes that have this test's cache in their arguments; what ended but was
# not waited for yet has no arguments any more.
guests() {
	grep -lsF "$ZFOLIO_CACHE/run" /proc/[0-9]*/cmdline
}

no_guests() {
	tries=0
	while guests; do
		tries=$((tries + 1))
		[ "$tries" -le 30 ] || return 1
		sleep 0.1
	done
}

nothing_left() {
	[ -z "$(find "$ZFOLIO_CACHE/run" -mindepth 1 ! -name lock)" ]
}

one_line_error() {
	[ "$status" -eq 125 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && err_has "^vm/run: error: .*$1"
}

# wait_for FILE PATTERN: 30 s for a guest to print it
wait_for() {
	tries=0
	until grep -qs "$2" "$1"; do
		tries=$((tries + 1))
		[ "$tries" -le 300 ] || return 1
		sleep 0.1
	done
}

# --- Wrong usage: told in one line, before anything is started ---------------

run selftests/vm/run --help
check "--help" [ "$status" -eq 0 ]
check "... documents the exit statuses" out_has '^  124 '

vm
check "no command" one_line_error "no command"
vm --
check "no command after --" one_line_error "no command"
vm true
check "no --" one_line_error "'--' missing before the command 'true'"
vm --frobnicate -- true
check "an unknown option" one_line_error "unknown option '--frobnicate'"
vm --timeout -- true
check "an option without its value" one_line_error "--timeout: value missing"
vm --smp two -- true
check "--smp that is no number" one_line_error "--smp: 'two' is not a number"
vm --smp 0 -- true
check "--smp out of range" one_line_error "--smp: 0 is out of range .expected 1 to 64"
vm --mem lots -- true
check "--mem that is no size" one_line_error "--mem: 'lots' is not a size"
vm --mem 1M -- true
check "--mem too small" one_line_error "--mem: 1M is too small"
vm --mem 900T -- true
check "--mem that this machine does not have" one_line_error "this machine has only [0-9]*M"
vm --disk floppy -- true
check "an unknown disk" one_line_error "unknown disk 'floppy'"
vm --disk-size 900T -- true
check "--disk-size that does not fit" one_line_error "only [0-9]*M free"
vm --disk none --iops 10 -- true
check "--iops without a disk" one_line_error "no disk to limit"
vm --iops -5 -- true
check "a negative --iops" one_line_error "--iops: '-5' is not a number"
for list in '12,' ',12' 12,,13 12-14 -1 0x10 '1 2'; do
	vm --bad-sectors "$list" -- true
	check "--bad-sectors '$list'" one_line_error "--bad-sectors: '$list' is not a list"
done
vm --disk-size 1M --bad-sectors 7,2048 -- true
check "--bad-sectors behind the disk's end" one_line_error "--bad-sectors: 2048 is out of range .expected 0 to 2047"
vm --bad-sectors 12345678901 -- true
check "--bad-sectors that no disk has" one_line_error "--bad-sectors: '12345678901' is not a number"
vm --bad-sectors "$(seq -s , 1001)" -- true
check "--bad-sectors: too many" one_line_error "--bad-sectors: 1001 are too many"
vm --disk none --bad-sectors 8 -- true
check "--bad-sectors without a disk" one_line_error "no disk to have them"
vm --disk virtio --disk-trace "$tmp/trace" -- true
check "--disk-trace of another disk" one_line_error "--disk-trace: got --disk virtio .expected nvme"
vm --disk-trace /nowhere/trace -- true
check "--disk-trace that cannot be written" one_line_error "--disk-trace: cannot write /nowhere/trace"
vm --disk none --hibernate -- true
check "--hibernate without a disk" one_line_error "no disk for the image"
vm --resume-kernel base -- true
check "--resume-kernel without --hibernate" one_line_error "--resume-kernel, --resume-append: only with --hibernate"
vm --accel qemu -- true
check "an unknown accelerator" one_line_error "unknown accelerator 'qemu'"
vm --root "$tmp/no-such" -- true
check "--root that is no file" one_line_error "--root $tmp/no-such: no such file .expected initramfs, debian or an ext4 image"
vm --icount --smp 2 -- true
check "--icount with two CPUs" one_line_error "one CPU only"
vm --icount --accel kvm -- true
check "--icount with KVM" one_line_error "KVM cannot count"
vm --timeout 1h -- true
check "--timeout that is no number" one_line_error "--timeout: '1h'"
vm --add "$tmp/no-such" -- true
check "--add of a missing file" one_line_error "no file $tmp/no-such"
vm --add /dev/null -- true
check "--add of a device" one_line_error "neither a file nor a directory"
vm --add "$tmp/err:../../x" -- true
check "--add to a place outside" one_line_error "'\.\.' in the destination"
vm --log "$tmp/no-such/log" -- true
check "--log that cannot be written" one_line_error "cannot write $tmp/no-such/log"
run selftests/vm/run --kernel "$tmp/no-such" -- true
check "a missing kernel" one_line_error "no file $tmp/no-such"
run selftests/vm/run --kernel "$tmp" -- true
check "a directory without a kernel" one_line_error "no file $tmp/bzImage"
run selftests/vm/run --kernel selftests/README.md -- true
check "a kernel that is none" one_line_error "is not an x86 bzImage"
ln -s /usr/bin/* "$tmp/bin/" 2>/dev/null
ln -s /bin/* /usr/sbin/* /sbin/* "$tmp/bin/" 2>/dev/null
rm -f "$tmp/bin"/qemu-*
run env PATH="$tmp/bin" selftests/vm/run --kernel "$kernel" -- true
check "no QEMU: names the package" one_line_error "install the package qemu-system-x86"
if [ "$(id -u)" -eq 0 ]; then
	skip "--add of an unreadable file" "root reads every file"
	skip "a cache that is not writable" "root writes everywhere"
else
	: >"$tmp/secret"
	chmod 0 "$tmp/secret"
	vm --add "$tmp/secret" -- true
	check "--add of an unreadable file" one_line_error "cannot read $tmp/secret"
	run env ZFOLIO_CACHE=/proc/zfolio selftests/vm/run --kernel "$kernel" -- true
	check "a cache that is not writable" one_line_error "cannot write to the cache directory"
fi
check "wrong usage leaves nothing" nothing_left

# --- Status, output, arguments, files -----------------------------------------

began=$(date +%s)
vm -- true
boot_seconds=$(($(date +%s) - began))
check "exit status 0" [ "$status" -eq 0 ]
check "... no output" [ ! -s "$tmp/out" ]
check "... and one line that says what ran" [ "$(wc -l <"$tmp/err")" -eq 1 ]
check "... with accelerator, CPUs, memory and disk" \
	err_has '^vm/run: kernel [0-9][^ ]*, accel (kvm|tcg).*, 2 CPU, 2048M memory, disk nvme 4096M'
check "a good run leaves nothing" nothing_left

vm -- sh -c 'exit 3'
check "exit status 3" [ "$status" -eq 3 ]
vm -- sh -c 'exit 124'
check "exit status 124 of the command itself" [ "$status" -eq 124 ]
check "... is not told as a failure of the run" fails err_has 'error'
vm -- sh -c 'kill -9 $$'
check "a signal's exit status" [ "$status" -eq 137 ]
vm -- ./no-such-program
check "a command that is not there" [ "$status" -eq 127 ]
check "... is told by the guest's shell" out_has 'no-such-program: not found'

head -c 100000 /dev/urandom >"$tmp/random"
vm --add "$tmp/random" -- cat random
check "output comes out byte for byte" cmp "$tmp/random" "$tmp/out"

vm -- printf '<%s>\n' 'two  words' "it's" '$HOME "and" \n' '' '*' 'a
line'
printf '<%s>\n' 'two  words' "it's" '$HOME "and" \n' '' '*' 'a
line' >"$tmp/expected"
check "arguments arrive as they are" cmp "$tmp/expected" "$tmp/out"

mkdir -p "$tmp/tree/sub"
echo text >"$tmp/tree/sub/file with a space"
printf '#!/bin/sh\necho script "$1"\n' >"$tmp/script:1"
chmod +x "$tmp/script:1"
# The guest has no such program: it comes with its shared libraries.
vm --add "$(command -v objdump):bin/objdump" --add "$(command -v busybox):sub/busybox" \
	--add "$tmp/tree:/opt/tree" --add "$tmp/script:1" -- \
	sh -c 'bin/objdump --version | head -n 1; sub/busybox echo static; cat "/opt/tree/sub/file with a space"; ./script:1 ran; pwd'
check "--add of a dynamic program, to a directory" out_has '^GNU objdump'
check "--add of a static program" out_has '^static$'
check "--add of a directory, to an absolute place" out_has '^text$'
check "--add of a name with a colon" out_has '^script ran$'
check "the command starts where the files are" out_has '^/root$'

# --- The machine --------------------------------------------------------------

vm --smp 3 --mem 512M --append 'zfolio.one=1 two' --append zswap.enabled=1 -- sh -c '
	echo cpus $(grep -c ^processor /proc/cpuinfo)
	grep MemTotal /proc/meminfo
	cat /proc/cmdline /proc/swaps
	cat /sys/block/nvme0n1/queue/scheduler 2>/dev/null | sed "s/^/scheduler /"
	echo controllers $(cat /sys/fs/cgroup/cgroup.controllers)
	echo enabled $(cat /sys/fs/cgroup/cgroup.subtree_control)
	ls -1d /sys/kernel/debug/zswap /sys/kernel/debug/bdi
	id -u; hostname; echo stdin $(wc -c)
	command -v mke2fs mkfs.ext4 mkswap swapon
	mke2fs -q -t ext4 /tmp/image 16M && mkdir /mnt && mount -o loop /tmp/image /mnt && echo mounted
	touch /tmp/x /dev/shm/x && echo tmpfs'
check "--smp" out_has '^cpus 3$'
check "--mem" out_has '^MemTotal: *(4|5)[0-9]{5} kB'
check "--append, twice" out_has ' zfolio.one=1 two zswap.enabled=1$'
check "the NVMe disk is the swap" out_has '^/dev/nvme0n1 .*41943'
check "... without scheduler" out_has '^scheduler \[none\]'
check "cgroup v2 with all controllers" [ "$(sed -n 's/^controllers //p' "$tmp/out")" = "$(sed -n 's/^enabled //p' "$tmp/out")" ]
check "... memory among them" out_has '^controllers .*memory'
check "debugfs" out_has '^/sys/kernel/debug/bdi$'
check "root" out_has '^0$'
check "the host's name" out_has '^zfolio$'
check "an empty stdin" out_has '^stdin 0$'
check "mke2fs makes ext4, which can be mounted" out_has '^mounted$'
check "tmpfs on /tmp and /dev/shm" out_has '^tmpfs$'

vm --disk virtio --disk-size 256M --iops 100 -- sh -c '
	cat /proc/swaps; swapoff /dev/vda
	start=$(cut -d . -f 1 /proc/uptime)
	dd if=/dev/vda of=/dev/null bs=4k count=400 iflag=direct 2>/dev/null
	echo took $(($(cut -d . -f 1 /proc/uptime) - start))'
check "the virtio disk is the swap" out_has '^/dev/vda .*26214'
check "--iops limits it: 400 requests at 100 a second" [ "$(sed -n 's/^took //p' "$tmp/out")" -ge 2 ]

# 4096 is the first sector of page 512, 4807 the last of page 600.
vm --bad-sectors 04096,4807 --iops 10000 -- sh -c '
	swapoff /dev/nvme0n1
	tr "\\0" x </dev/zero | dd of=/dev/nvme0n1 bs=4k count=1024 conv=fsync 2>/dev/null && echo written
	echo 3 >/proc/sys/vm/drop_caches
	for page in 0 511 512 513 599 600 601; do
		dd if=/dev/nvme0n1 bs=4k skip=$page count=1 iflag=direct 2>/dev/null | tr -d x | wc -c | sed "s/^/page $page: /"
		dd if=/dev/nvme0n1 of=/dev/null bs=4k skip=$page count=1 iflag=direct 2>/dev/null || echo "bad $page"
	done
	dd if=/dev/nvme0n1 of=/dev/null bs=4k skip=600 count=1 iflag=direct 2>/dev/null || echo again
	dd if=/dev/nvme0n1 of=/dev/null bs=32k skip=75 count=1 iflag=direct 2>/dev/null || echo "bad 600 to 607"
	dd if=/dev/nvme0n1 of=/dev/null bs=512 skip=4806 count=1 iflag=direct 2>/dev/null && echo "good 4806"'
check "--bad-sectors: writes succeed" out_has '^written$'
check "... reads of their pages fail" [ "$(grep -c '^bad [0-9]*$' "$tmp/out")" -eq 2 ]
check "... the right ones" out_has '^bad 512$'
check "... and the last" out_has '^bad 600$'
check "... each time" out_has '^again$'
check "... and larger reads with one in them" out_has '^bad 600 to 607$'
check "... not those of the sector beside it" out_has '^good 4806$'
check "... and it is said" err_has 'disk nvme 4096M .*with bad sectors'

vm --disk-trace "$tmp/trace" -- sh -c '
	swapoff /dev/nvme0n1
	dd if=/dev/zero of=/dev/nvme0n1 bs=64k seek=10 count=2 oflag=direct 2>/dev/null
	dd if=/dev/nvme0n1 of=/dev/null bs=32k skip=5 count=1 iflag=direct 2>/dev/null'
check "--disk-trace: writes, with their offset and size" [ "$(grep -cE '^1 W (655360|720896) 65536$' "$tmp/trace")" -eq 2 ]
check "... and reads" grep -q '^1 R 163840 32768$' "$tmp/trace"

# The clock of what resumes goes on from the image's, so only the log can tell.
cat >"$tmp/hibernate" <<'END'
echo 259:0 >/sys/power/resume
echo shutdown >/sys/power/disk
echo first >/tmp/boot
echo disk >/sys/power/state && cat /tmp/boot
END
vm --hibernate --mem 256M --log "$tmp/log" --disk-trace "$tmp/trace" --add "$tmp/hibernate" -- sh ./hibernate
check "--hibernate: the command goes on" [ "$status" -eq 0 ]
check "... with its files, and its output once" [ "$(cat "$tmp/out")" = first ]
check "... and the machine was off" [ "$(grep -c 'Linux version' "$tmp/log")" -eq 2 ]
check "... and it is said" err_has 'has hibernated and is booted again'
check "... the image is written in the first boot, and read in the second" [ "$(sed -n 's/^\([12] [RW]\) [0-9]* [0-9]\{5,\}$/\1/p' "$tmp/trace" | sort -u | tr '\n' ,)" = '1 W,2 R,' ]

# What resumes is the kernel in the image, whichever has read it.
echo uname -r >>"$tmp/hibernate"
vm --hibernate --resume-kernel "$other" --mem 256M --log "$tmp/log" --add "$tmp/hibernate" -- sh ./hibernate
check "--resume-kernel: the image's kernel goes on" out_has "$(sed -n 's/^.*Linux version \([^ ]*\) .*/\1/p' "$tmp/log" | head -n 1)"
check "... which another one has read" [ "$(grep -o 'Linux version [^ ]*' "$tmp/log" | sort -u | wc -l)" -eq 2 ]
vm --hibernate --resume-append mem=200M --mem 256M --add "$tmp/hibernate" -- sh ./hibernate
check "--resume-append: a machine with other memory does not resume" [ "$status" -eq 123 ]
check "... and it is said why" err_has '^vm/run: error: the guest did not resume: .*memory size'

vm --disk none -- sh -c 'cat /proc/swaps; ls /dev/nvme* /dev/vda*'
check "no disk: no swap" [ "$(grep -c '^/dev/' "$tmp/out")" -eq 0 ]

echo 'not for the guest' | {
	vm --verbose --log "$tmp/log" -- cat </dev/stdin
	read -r line
	[ "$line" = 'not for the guest' ] && echo kept >"$tmp/stdin"
}
check "stdin is left alone" [ -e "$tmp/stdin" ]

vm --verbose --log "$tmp/log" -- true
check "--log keeps the log of a good run" grep -q 'Linux version' "$tmp/log"
check "--verbose shows it" err_has 'Linux version'

for try in 1 2; do
	vm --icount --mem 256M -- sh -c 'cut -d " " -f 1 /proc/uptime; head -c 20000000 /dev/zero | md5sum; cut -d " " -f 1 /proc/uptime; date'
	cp "$tmp/out" "$tmp/icount.$try"
done
# What the same work takes, in hundredths of a second: 0.1 %, and the last digit's
# doubt. The boot before it waits for the host's disk and is not the same each time.
icount_work() { sed 's/\.//' "$1" | awk 'NR == 1 { from = $1 } NR == 3 { print $1 - from }'; }
same_clock() {
	one=$(icount_work "$tmp/icount.1")
	two=$(icount_work "$tmp/icount.2")
	[ "$one" -gt 0 ] && [ $((one - two)) -le $((one / 1000 + 1)) ] &&
		[ $((two - one)) -le $((one / 1000 + 1)) ]
}
check "--icount: the same clock in two runs" same_clock
check "... with one date" grep -q 2000 "$tmp/icount.1"
check "... and says so" err_has 'accel tcg icount, 1 CPU'

# --- Another root file system ---------------------------------------------------

sum=$(sha256sum "$debian")
mkdir -p "$tmp/tree/bin"
cp "$(command -v objdump)" "$tmp/tree/bin/"
vm --root "$debian" --disk virtio --add "$tmp/tree:/opt/tree" -- sh -c '
	systemctl is-system-running
	cat /proc/1/comm /proc/swaps "/opt/tree/sub/file with a space"
	ls -A /opt/tree/bin /usr/lib/x86_64-linux-gnu | grep -e objdump -e libbfd
	findmnt -no FSTYPE,OPTIONS /
	stat -c "owner %u" /usr/bin/env
	echo written >/var/kept; cat /var/kept; pwd; exit 7'
check "--root: the command's status" [ "$status" -eq 7 ]
check "... systemd has started everything" out_has '^running$'
check "... and is the first process" out_has '^systemd$'
check "... the disk is the swap" out_has '^/dev/vda .*41943'
check "... what is added is there" out_has '^text$'
check "... and the command starts where it does elsewhere" out_has '^/root$'
check "... a program comes without shared libraries" [ "$(grep -c -e '^objdump$' -e libbfd "$tmp/out")" -eq 1 ]
check "... the file system is ext4 and can be written" out_has '^ext4 +rw'
check "... and root's" out_has '^owner 0$'
check "... but nothing is kept" [ "$(sha256sum "$debian")" = "$sum" ]
check "... and it is said" err_has "root $debian"
# A kernel is none; it may be named by its directory.
image=$kernel
[ ! -d "$image" ] || image=$image/bzImage
vm --root "$image" -- true
check "--root that is no file system: status" [ "$status" -eq 123 ]
check "... said so" err_has 'error: cannot mount the root file system'
check "... leaves nothing" nothing_left

# --- Faults in the guest ------------------------------------------------------

vm -- sh -c 'echo before; echo c >/proc/sysrq-trigger'
check "a panic: status" [ "$status" -eq 126 ]
check "... its line" err_has 'Kernel panic - not syncing: sysrq'
check "... the output before it" out_has '^before$'
kept=$(sed -n 's/^vm\/run: kernel log: //p' "$tmp/err")
check "... and the log is kept" grep -q 'sysrq: Trigger a crash' "$kept"

vm -- sh -c 'echo "WARNING: a test" >/dev/kmsg; exit 0'
check "a warning makes a good command fail" [ "$status" -eq 126 ]
check "... and is shown" err_has 'WARNING: a test'
check "... with the command's status" err_has 'exit status of the command: 0'

vm -- sh -c 'i=0; while [ $i -lt 800 ]; do i=$((i + 1)); echo "line $i of many"; done >/dev/kmsg; echo "BUG: the last" >/dev/kmsg'
check "no line of the log is lost at the end" err_has 'BUG: the last'

# On a busy machine it takes longer until there is something that can hang.
vm --timeout $((3 * boot_seconds + 5)) -- sh -c 'echo before; while :; do :; done'
check "a hang: status" [ "$status" -eq 124 ]
check "... the command's last output" err_has '^  before$'
check "... the end of the log" err_has 'Adding .* swap on'
check "... and what the tasks do" err_has 'sysrq: Show Blocked State'

vm --max-output 1M -- yes 'a flood of output'
check "a flood of output is ended" [ "$status" -eq 122 ]
check "... said so" err_has 'error: .*more than the limit in its output'
vm --max-log 1M -- sh -c 'while :; do echo "a flood of the log"; done >/dev/kmsg'
check "a flood of the kernel's log is ended" [ "$status" -eq 122 ]

vm -- reboot -f
check "a guest that ends itself: status" [ "$status" -eq 123 ]
check "... said so" err_has 'error: the guest ended without the exit status'
vm --append rdinit=/no-such -- true
check "a kernel that finds no first process" [ "$status" -eq 126 ]
check "faults leave nothing" nothing_left

# --- Faults on this machine -----------------------------------------------------

# A QEMU whose KVM never runs a guest; all else is the real one's.
real=$(command -v qemu-system-x86_64)
cat >"$tmp/bin/qemu-system-x86_64" <<END
#!/bin/sh
case "\$*" in
*'-accel kvm'*)
	echo once more >>$tmp/kvm-tries
	exec sleep 1000
	;;
*) exec $real "\$@" ;;
esac
END
chmod +x "$tmp/bin/qemu-system-x86_64"
if [ -w /dev/kvm ]; then
	rm -rf "$ZFOLIO_CACHE/accel"
	run env PATH="$tmp/bin:$PATH" selftests/vm/run --kernel "$kernel" -- echo booted
	check "KVM that runs no guest: falls back" out_has '^booted$'
	check "... and says so" err_has 'accel tcg .*KVM ran no guest within'
	run env PATH="$tmp/bin:$PATH" selftests/vm/run --kernel "$kernel" -- echo booted
	check "... and tries only once" [ "$(wc -l <"$tmp/kvm-tries")" -eq 1 ]
	check "... which leaves nothing" no_guests
else
	skip "KVM that runs no guest" "no access to /dev/kvm"
fi

cat >"$tmp/bin/qemu-system-x86_64" <<END
#!/bin/sh
echo 'this QEMU is broken' >&2
exit 1
END
run env PATH="$tmp/bin:$PATH" selftests/vm/run --kernel "$kernel" --accel tcg -- true
check "a QEMU that fails: status" [ "$status" -eq 123 ]
check "... and its message" err_has 'this QEMU is broken'

cat >"$tmp/bin/qemu-system-x86_64" <<END
#!/bin/sh
[ -e $tmp/tried ] && exec $real "\$@"
: >$tmp/tried
exec sleep 1000
END
run env PATH="$tmp/bin:$PATH" selftests/vm/run --kernel "$kernel" --accel tcg -- echo booted
check "a boot that gets nowhere is made again" out_has '^booted$'
check "... and told" err_has 'the guest stopped booting and is started again'

# end_by SIGNAL: start a guest, end vm/run by the signal, wait for it
end_by() {
	: >"$tmp/out"
	env --default-signal=INT selftests/vm/run --kernel "$kernel" -- \
		sh -c 'echo started; sleep 1000' >"$tmp/out" 2>"$tmp/err" </dev/null &
	pid=$!
	wait_for "$tmp/out" started
	kill -"$1" $pid
	wait $pid 2>/dev/null && status=0 || status=$?
}

end_by TERM
check "SIGTERM: status" [ "$status" -eq 143 ]
check "... leaves no process" no_guests
check "... and no file" nothing_left
end_by INT
check "SIGINT: status" [ "$status" -eq 130 ]
check "... leaves no process" no_guests
check "... and no file" nothing_left
end_by KILL
check "SIGKILL leaves no process" no_guests
vm -- true
check "... and the next run removes its files" nothing_left

selftests/vm/run --kernel "$kernel" -- sh -c 'while :; do echo line; sleep 0.1; done' 2>"$tmp/err" | head -n 1 >"$tmp/out"
check "a reader that goes away ends the guest" no_guests

run selftests/vm/run --kernel "$kernel" -- sh -c 'echo first; sleep 3; exit 11' &
first=$!
selftests/vm/run --kernel "$kernel" -- sh -c 'echo second; exit 12' >"$tmp/second" 2>/dev/null
second_status=$?
wait $first
check "two runs at once: the first's output" out_has '^first$'
check "... the second's" grep -qx second "$tmp/second"
check "... and status" [ $second_status -eq 12 ]

finish
