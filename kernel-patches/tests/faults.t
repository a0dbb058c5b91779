#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two runs at once, a run killed while it unpacks, a full disk.
. kernel-patches/tests/lib.sh

toy_tree "$t/toy" 7.3.4
tar -C "$t" -cf "$t/toy.tar" toy
name=tar-$(sha256sum "$t/toy.tar" | cut -c1-12)
export KSRC="$t/toy.tar"

# wait_for COMMAND...: is it true within ten seconds?
wait_for()
{
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.5
	done
	return 1
}

# A tar that leaves half the tree for four seconds.
mkdir "$t/bin"
real_tar=$(command -v tar)
cat >"$t/bin/tar" <<END
#!/bin/sh
$real_tar "\$@" --exclude=two.c
echo \$\$ >$t/half
sleep \${TOY_SLEEP:-4}
exec $real_tar "\$@"
END
chmod +x "$t/bin/tar"

PATH=$t/bin:$PATH "$t/kp/fetch" >"$t/first" 2>&1 &
first=$!
check 'the first run is unpacking' wait_for [ -e "$t/half" ]
run "$t/kp/fetch"
exits 0 'a second run at the same time succeeds'
says "waiting for fetch \(process $first, since " 'and says for whom it waits'
check 'and finds the whole tree' [ -f "$(cat "$t/out")/mm/two.c" ]
wait $first
check 'the first succeeds too' [ $? = 0 ]

# Killed outright: its tar lives on for a while and must not be raced.
rm -rf "$t/cache/src" "$t/half"
PATH=$t/bin:$PATH "$t/kp/fetch" >"$t/first" 2>&1 &
first=$!
wait_for [ -e "$t/half" ]
kill -KILL $first
wait $first 2>/dev/null
check 'a killed run leaves no tree under its final name' [ ! -e "$t/cache/src/$name" ]
run "$t/kp/fetch"
exits 0 'the next run recovers'
check 'with the whole tree' diff -r "$t/toy" "$(cat "$t/out")"
check 'and clears what was left' sh -c "! ls -d $t/cache/src/.new.*"

# Interrupted: it stops its tar and cleans up itself.
rm -rf "$t/cache/src" "$t/half"
TOY_SLEEP=60 PATH=$t/bin:$PATH "$t/kp/fetch" >"$t/first" 2>&1 &
first=$!
wait_for [ -s "$t/half" ]
kill -TERM $first
wait $first
check 'a terminated run has a status that says so' [ $? = 143 ]
check 'and has stopped what it ran' wait_for sh -c "! kill -0 $(cat "$t/half")"
check 'and leaves nothing' sh -c "! ls -A $t/cache/src | grep ."

# A full disk.
mkdir "$t/small"
if [ "$(id -u)" != 0 ] || ! mount -t tmpfs -o size=4m none "$t/small" 2>/dev/null; then
	skip 'a full disk' 'needs root and mount'
	finish
	exit
fi
t_mount=$t/small
export ZFOLIO_CACHE="$t/small/cache"
head -c 3000000 /dev/urandom >"$t/toy/mm/big"
tar -C "$t" -cf "$t/toy.tar" toy
run "$t/kp/fetch"
exits 4 'a disk that is too small is found out ahead'
says 'needs [0-9]+ MiB in .*, which has [0-9]+ MiB free' 'with need and free space'

# Packed so well that the estimate is far too low: full in the middle.
head -c 8000000 /dev/zero >"$t/toy/mm/big"
tar -C "$t" -cJf "$t/toy.tar" toy
run "$t/kp/fetch"
exits 4 'a disk that fills up while unpacking is reported'
says 'became full while unpacking' 'as that'
check 'and the partial copy is gone' sh -c "! ls -A $t/small/cache/src | grep ."
KSRC=$t/toy run "$t/kp/fetch"
check 'a directory that does not fit fails too' [ $status = 4 ]
finish
