#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# fetch of the Debian package: offline, damaged, refused, newer. Stand-ins for
# apt-get and apt-cache offer a toy package where a signed archive is needed.
. kernel-patches/tests/lib.sh

base=$t/kp/linux-7.3/BASE
made_on=$(sed -n 's/^package_version=//p' "$base")
record=$t/cache/deb/linux-source-7.3.record

# toy_deb VERSION: $t/offer/NAME.deb, and the index entry in $t/offer/show.
toy_deb()
{
	rm -rf "$t/offer" "$t/root" "$t/linux-source-7.3"
	mkdir -p "$t/offer" "$t/root/DEBIAN" "$t/root/usr/src"
	toy_tree "$t/linux-source-7.3" 7.3.4
	tar -C "$t" -cJf "$t/root/usr/src/linux-source-7.3.tar.xz" linux-source-7.3
	printf 'Package: linux-source-7.3\nVersion: %s\nArchitecture: all\nMaintainer: none <none@localhost>\nDescription: toy\n' \
		"$1" >"$t/root/DEBIAN/control"
	deb=linux-source-7.3_$1_all.deb
	dpkg-deb --root-owner-group -b "$t/root" "$t/offer/$deb" >/dev/null
	sum=$(sha256sum "$t/offer/$deb" | cut -d' ' -f1)
	printf 'Version: %s\nFilename: pool/%s\nSize: %s\nSHA256: %s\n' "$1" "$deb" \
		"$(stat -c %s "$t/offer/$deb")" "$sum" >"$t/offer/show"
}

if ! command -v dpkg-deb >/dev/null || ! command -v apt-get >/dev/null; then
	echo '1..0 # SKIP needs apt-get and dpkg-deb'
	exit 0
fi

# No network: an archive at a closed port of this machine.
mkdir "$t/apt.d"
echo 'deb http://127.0.0.1:9/debian stable main' >"$t/apt.d/sources.list"
cat >"$t/apt.conf" <<END
Dir::Etc::SourceList "$t/apt.d/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$t/apt.d/lists";
Acquire::Retries "0";
END
export APT_CONFIG="$t/apt.conf"
run "$t/kp/fetch"
exits 3 'no network and nothing cached fails'
says 'no copy of it is cached: check the network' 'and says what to do'
check 'and prints no path' [ ! -s "$t/out" ]
: >"$t/apt.d/sources.list"
run "$t/kp/fetch"
exits 3 'an apt without archives fails'
says 'names no Debian archive' 'and says so'
echo 'deb http://127.0.0.1:9/debian stable main' >"$t/apt.d/sources.list"

# A package as an archive offers it.
toy_deb "$made_on"
mkdir "$t/bin"
cat >"$t/bin/apt-get" <<END
#!/bin/sh
case " \$* " in
*' indextargets '*) echo 'Packages|Debian|Debian|file:/toy/' ;;
*' update '*) ;;
*' download '*) cp $t/offer/*.deb . ;;
esac
END
cat >"$t/bin/apt-cache" <<END
#!/bin/sh
cat $t/offer/show
END
chmod +x "$t/bin/apt-get" "$t/bin/apt-cache"
plain_path=$PATH
PATH=$t/bin:$plain_path

run "$t/kp/fetch"
exits 3 'the version of BASE with another checksum is refused'
says "has sha256 $sum, but .*/BASE says .*: refused" 'with both checksums'
check 'and not unpacked' [ ! -e "$t/cache/src" -o -z "$(ls "$t/cache/src" 2>/dev/null)" ]

sed -i "s/^sha256=.*/sha256=$sum/" "$base"
run "$t/kp/fetch"
exits 0 'with the right one it is taken'
says "linux-source-7.3 .*sha256 $sum" 'and version and checksum are shown'
tree=$(cat "$t/out")
check 'and unpacked' [ -f "$tree/mm/one.c" ]
check 'and recorded' grep -qx "sha256=$sum" "$record"

# From here the archive is out of reach again.
PATH=$plain_path
run "$t/kp/fetch"
exits 0 'asked again within a day it needs no network'
run "$t/kp/fetch" --update
exits 0 'offline, the copy is used'
says 'cannot be reached.*using the verified copy' 'and that is said'
rm -rf "$t/cache/src"
sed -i 's/^asked=.*/asked=0/' "$record"
run "$t/kp/fetch"
exits 0 'it is unpacked again from the cached package'
check 'to the same place' [ "$(cat "$t/out")" = "$tree" ]

rm -rf "$t/cache/src"
echo damage >>"$t/cache/deb/linux-source-7.3_${made_on}_all.deb"
run "$t/kp/fetch"
exits 3 'a damaged cached package is not used'
says 'recorded was .*: removed' 'but removed, and that is said'
PATH=$t/bin:$plain_path
run "$t/kp/fetch"
exits 0 'the next run with network downloads it anew'

# What arrives is not what the signed index promised.
rm -rf "$t/cache/src" "$t/cache/deb"
echo damage >>"$t/offer/$deb"
run "$t/kp/fetch"
exits 3 'a download with a wrong checksum is refused'
says 'the signed index says' 'with both checksums'
check 'and not kept' sh -c "! ls $t/cache/deb/*.deb"

toy_deb "7.3.99-1"
run "$t/kp/fetch"
exits 0 'a newer release of the line is accepted'
says '7\.3\.99-1 is not the version the series was made on' 'and that is said'
finish
