# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # for those who source it; lib.sh sets tmp
#
# The Debian package and one of a later release: sourced after lib.sh by the *.t files
# of this directory, never run.

version=$(sed -n '1s/.*(\(.*\)).*/\1/p' daemon/debian/changelog)
arch=$(dpkg --print-architecture 2>/dev/null)
name=zfolio_${version}_$arch.deb

can_package() {
	for program in dh lintian dpkg-buildpackage; do
		command -v $program >/dev/null || return
	done
}

# later PACKAGE VERSION FILE: as a later release may be, with other defaults
later() {
	dpkg-deb -R "$1" "$tmp/later" &&
		sed -i "s/^Version: .*/Version: $2/" "$tmp/later/DEBIAN/control" &&
		echo "# of $2" >>"$tmp/later/etc/zfolio.conf" &&
		dpkg-deb --root-owner-group -b "$tmp/later" "$3" >/dev/null &&
		rm -r "$tmp/later"
}
