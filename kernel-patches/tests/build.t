#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build on a toy kernel: what is rebuilt when, what is kept, what a failure says.
. kernel-patches/tests/lib.sh

if [ "$(uname -m)" != x86_64 ] || ! command -v gcc >/dev/null; then
	echo '1..0 # SKIP needs an x86-64 machine with gcc'
	exit 0
fi

toy_tree "$t/toy" 7.3.4
export KSRC="$t/toy"
toy_patch 0001-one.patch mm/one.c 's/one 3/ONE 3/'
toy_patch 0002-two.patch mm/two.c 's/two 7/TWO 7/'

run "$t/kp/build" base
exits 0 'base builds'
base=$(cat "$t/out")
for file in bzImage config release variant inputs; do
	check "its image has $file" [ -s "$base/$file" ]
done
check 'standard output is one line' [ "$(wc -l <"$t/out")" = 1 ]
check 'base is without the series' grep -qx 'one 3' "$base/bzImage"
run "$t/kp/build" patched
patched=$(cat "$t/out")
check 'patched has it' grep -qx 'ONE 3' "$patched/bzImage"
check 'whole' grep -qx 'TWO 7' "$patched/bzImage"

log=$(ls "$t"/cache/logs/build-*-patched.log)
: >"$log"
run "$t/kp/build" patched
check 'the same inputs give the same image' [ "$(cat "$t/out")" = "$patched" ]
check 'at once' [ ! -s "$log" ]

# A change in one patch.
sed -i 's/ONE 3/ONE III/' "$t/kp/linux-7.3/0001-one.patch"
run "$t/kp/build" patched
exits 0 'a changed patch builds'
check 'into another image' [ "$(cat "$t/out")" != "$patched" ]
check 'with the change' grep -qx 'ONE III' "$(cat "$t/out")/bzImage"
check 'its file is compiled again' grep -q 'CC      mm/one.o' "$log"
check 'another file is not' sh -c "! grep -q 'CC      mm/two.o' $log"
check 'the first image is untouched' grep -qx 'ONE 3' "$patched/bzImage"

# A patch taken out: its file goes back.
sed -i /0002/d "$t/kp/linux-7.3/series"
run "$t/kp/build" patched
check 'a patch taken out is undone' grep -qx 'two 7' "$(cat "$t/out")/bzImage"
run "$t/kp/build" --source patched
check '--source prints the patched tree' grep -qx 'ONE III' "$(cat "$t/out")/mm/one.c"
source=$(cat "$t/out")
check 'the pristine source is untouched' \
	grep -qx 'one 3' "$t"/cache/src/dir-*/linux/mm/one.c
check 'nor is KSRC' grep -qx 'one 3' "$t/toy/mm/one.c"
run "$t/kp/build" --headers
check '--headers prints a directory' [ -d "$(cat "$t/out")" ]

# Failures.
sed -i 's/ONE III/syntax error/' "$t/kp/linux-7.3/0001-one.patch"
run "$t/kp/build" patched
exits 1 'a compile error fails'
says 'mm/one.c.*error: as asked' 'with the error'
says "the whole log: $log" 'and the log'
check 'and no path' [ ! -s "$t/out" ]
sed -i 's/one 2$/one x/' "$t/kp/linux-7.3/0001-one.patch"
run "$t/kp/build" patched
exits 1 'a patch that does not apply fails'
says '0001-one.patch: mm/one.c: hunk #1' 'by patch, file and hunk'
check 'and leaves the tree as it was' grep -qx 'syntax error' "$source/mm/one.c"
run "$t/kp/build" other
exits 2 'an unknown variant is refused'

# Eight images are kept.
for n in 1 2 3 4 5 6 7 8 9; do
	echo "one $n" >"$t/toy/mm/one.c"
	run "$t/kp/build" base
done
check 'eight images are kept' [ "$(find "$t/cache/images" -mindepth 1 -maxdepth 1 | wc -l)" = 8 ]
check 'and the newest is one of them' [ -f "$(cat "$t/out")/bzImage" ]

# An unwritable cache.
echo >"$t/file"
ZFOLIO_CACHE=$t/file run "$t/kp/build" base
exits 2 'a cache that cannot be made is refused'
says "cannot create the cache directory $t/file" 'by name'
finish
