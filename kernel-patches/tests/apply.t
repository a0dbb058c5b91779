#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# apply: order, no fuzz, all or nothing, and what a failure says.
. kernel-patches/tests/lib.sh

toy_tree "$t/toy" 7.3.4
run "$t/kp/apply" "$t/toy"
exits 0 'an empty series applies'
says 'series is empty' 'and says that it is empty'

toy_patch 0001-fix.patch mm/one.c 's/one 3/ONE 3/'
echo '# --- fixes end here ---' >>"$t/kp/linux-7.3/series"
toy_patch 0002-feature.patch mm/one.c 's/ONE 3/ONE three/'

cp -r "$t/toy" "$t/w"
run "$t/kp/apply" "$t/w"
exits 0 'the series applies'
check 'in order' grep -q 'ONE three' "$t/w/mm/one.c"
run "$t/kp/apply" "$t/w"
exits 1 'a second time it does not'
says 'has the series already' 'and says why'
run "$t/kp/apply" --reverse "$t/w"
exits 0 'and can be taken out'
check 'which leaves the tree as it was' diff -r "$t/toy" "$t/w"
run "$t/kp/apply" --reverse "$t/w"
exits 1 'once'
says 'does not have the series' 'and says why'

toy_tree "$t/old" 6.12.1
run "$t/kp/apply" "$t/old"
exits 2 'a tree of another version is refused'
says 'is Linux 6.12.1, but the series .* fits 7.3.y' 'with the versions that fit'

rm -rf "$t/w"; cp -r "$t/toy" "$t/w"
SERIES=fixes run "$t/kp/apply" "$t/w"
exits 0 'SERIES=fixes applies'
check 'the fixes and no more' grep -qx 'ONE 3' "$t/w/mm/one.c"
SERIES=some run "$t/kp/apply" "$t/w"
exits 2 'another SERIES is refused'
says 'SERIES=some: expected all, fixes or next' 'with what is expected'

# What waits for its tests stands below another border.
cp "$t/kp/linux-7.3/series" "$t/series"
echo '# --- not proven yet ---' >>"$t/kp/linux-7.3/series"
toy_patch 0003-next.patch mm/two.c 's/two 2/TWO 2/'
rm -rf "$t/w"; cp -r "$t/toy" "$t/w"
run "$t/kp/apply" "$t/w"
exits 0 'the series applies'
check 'without what waits' grep -qx 'two 2' "$t/w/mm/two.c"
rm -rf "$t/w"; cp -r "$t/toy" "$t/w"
SERIES=next run "$t/kp/apply" "$t/w"
exits 0 'SERIES=next applies'
check 'with it' grep -qx 'TWO 2' "$t/w/mm/two.c"
cp "$t/series" "$t/kp/linux-7.3/series"
rm "$t/kp/linux-7.3/0003-next.patch"

# Other context one line off the change: patch would take it with fuzz.
rm -rf "$t/w"; cp -r "$t/toy" "$t/w"
sed -i 's/one 5/one other/' "$t/w/mm/one.c"
run "$t/kp/apply" "$t/w"
exits 1 'other context is refused'
says '0001-fix.patch: mm/one.c: hunk #1 ' 'and patch, file and hunk are named'

# Two patches, the second of which fails: the first must not be left behind.
rm -rf "$t/w"; cp -r "$t/toy" "$t/w"
toy_patch 0003-two.patch mm/two.c 's/two 7/TWO 7/'
sed -i 's/two 7/two other/' "$t/w/mm/two.c"
cp -r "$t/w" "$t/before"
run "$t/kp/apply" "$t/w"
exits 1 'a later patch that does not apply fails'
says '0003-two.patch: mm/two.c: hunk #1 ' 'is named'
check 'and the tree is as it was' diff -r "$t/before" "$t/w"

rm -rf "$t/w"; cp -r "$t/toy" "$t/w"
rm "$t/w/mm/two.c"
run "$t/kp/apply" "$t/w"
exits 1 'a missing file fails'
says '0003-two.patch: mm/two.c: no such file' 'and is named'

run "$t/kp/apply" "$t/nowhere"
exits 2 'a directory that is no kernel tree is refused'
echo 9999-none.patch >>"$t/kp/linux-7.3/series"
run "$t/kp/apply" "$t/w"
exits 2 'a series that names a missing patch is refused'
says '9999-none.patch' 'by name'
BASE=linux-0.1 run "$t/kp/apply" "$t/w"
exits 2 'an unknown BASE is refused'
says 'there are:.* 7.3.y \(BASE=linux-7.3\)' 'with the bases there are'
echo '# no patch yet' >"$t/kp/linux-7.3/series"
rm -rf "$t/before"; cp -r "$t/w" "$t/before"
for way in '' --reverse; do
	# shellcheck disable=SC2086 # none or one word
	run "$t/kp/apply" $way "$t/w"
	exits 0 "an empty series is applied${way:+ with $way}"
	says 'the series is empty' 'and said to be empty'
done
check 'which changes nothing' diff -r "$t/before" "$t/w"
finish
