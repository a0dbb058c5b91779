#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# zfoliod as it is installed, in guests with systemd.
# shellcheck disable=SC2154 # lib.sh sets tmp and status; package.sh name and version
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh
# shellcheck source=daemon/tests/guest.sh
. daemon/tests/guest.sh
# shellcheck source=daemon/tests/package.sh
. daemon/tests/package.sh

patched=$(kernel patched) || exit 1
base=$(kernel base) || exit 1

# Bad sectors on pages 9, 100, 101, 333, 511, 512, 600 and 700 of the swap.
guest patched --kernel "$patched" \
	--bad-sectors 75,800,815,2665,4092,4096,4807,5607 -- systemd.sh
guest psi=0 --kernel "$base" --append psi=0 -- psi_off.sh
guest cgroup_disable=memory --kernel "$base" --append cgroup_disable=memory -- no_memory.sh
guest cost --kernel "$patched" -- cost.sh

if can_package; then
	run make -s deb B="$tmp/deb"
	check "make deb" [ "$status" = 0 ]
	guest_tree=$tmp/packages
	mkdir -p "$guest_tree/root"
	cp "$tmp/deb/deb/$name" "$guest_tree/root/zfolio.deb"
	later "$guest_tree/root/zfolio.deb" "$version+1" "$guest_tree/root/zfolio-later.deb"
	guest package --kernel "$patched" -- package.sh
else
	skip "the package" "needs debhelper and lintian: kernel-patches/deps package"
fi

finish
