#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# fetch with KSRC=: directories and tarballs, fitting and not.
. kernel-patches/tests/lib.sh

toy_tree "$t/toy" 7.3.9
KSRC=$t/toy run "$t/kp/fetch"
exits 0 'a directory is taken'
tree=$(cat "$t/out")
check 'as a copy' diff -r "$t/toy" "$tree"
check 'elsewhere' [ "$tree" != "$t/toy" ]

cp -r "$t/toy" "$t/kept"
mkdir "$t/toy/.git"
echo 'one changed' >"$t/toy/mm/one.c"
: >"$t/toy/mm/one.o"
KSRC=$t/toy run "$t/kp/fetch"
check 'a change is followed' grep -q changed "$tree/mm/one.c"
check 'objects are not' [ ! -e "$tree/mm/one.o" ]
check 'nor is .git' [ ! -e "$tree/.git" ]
check 'the directory itself is left alone' [ -e "$t/toy/mm/one.o" ]

# Back to an older file: make must see it as new.
touch "$t/stamp"
cp -p "$t/kept/mm/one.c" "$t/toy/mm/one.c"
KSRC=$t/toy run "$t/kp/fetch"
check 'a file put back is followed' cmp "$t/kept/mm/one.c" "$tree/mm/one.c"
check 'with a new time' [ ! "$tree/mm/one.c" -ot "$t/stamp" ]

toy_tree "$t/old" 6.12.3
KSRC=$t/old run "$t/kp/fetch"
exits 2 'another version is refused'
says 'Linux 6\.12\.3.*fits 7\.3\.y \(made on 7\.3\.4\)' 'with what it is and what fits'
check 'and nothing is printed' [ ! -s "$t/out" ]

mkdir "$t/empty"
KSRC=$t/empty run "$t/kp/fetch"
exits 2 'a directory that is no kernel tree is refused'
says 'not a Linux source tree' 'in these words'
KSRC=$t/nowhere run "$t/kp/fetch"
exits 2 'a path that is not there is refused'
says 'nowhere: no such directory or file' 'by name'

tar -C "$t" -cJf "$t/kept.tar.xz" kept
KSRC=$t/kept.tar.xz run "$t/kp/fetch"
exits 0 'a tarball is taken'
check 'whole' diff -r "$t/kept" "$(cat "$t/out")"
says 'sha256 [0-9a-f]{64}' 'and its checksum shown'

head -c 600 "$t/kept.tar.xz" >"$t/cut.tar.xz"
KSRC=$t/cut.tar.xz run "$t/kp/fetch"
exits 2 'a cut-off tarball is refused'
says 'cut\.tar\.xz cannot be unpacked' 'by name'
check 'and leaves nothing' sh -c "! ls -d $t/cache/src/.new.* $t/cache/src/tar-*/linux/mm/none"
tar -C "$t" -cf "$t/old.tar" old
KSRC=$t/old.tar run "$t/kp/fetch"
exits 2 'a tarball of another version is refused'
says 'old\.tar is Linux 6\.12\.3' 'by name and version'

if [ "$(id -u)" = 0 ]; then
	skip 'an unreadable tarball is refused' 'root reads everything'
else
	chmod 0 "$t/old.tar"
	KSRC=$t/old.tar run "$t/kp/fetch"
	exits 2 'an unreadable tarball is refused'
fi
finish
