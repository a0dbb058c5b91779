#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The Debian package: built, the same each time, as lintian wants it, and what an
# installation, upgrades, a removal and a purge leave. These happen on an overlay
# of this machine's root, which has the libraries, and whose upper layer then holds
# all that was changed.
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh

# shellcheck source=daemon/tests/package.sh
. daemon/tests/package.sh

can_package || {
	echo '1..0 # SKIP needs debhelper and lintian: kernel-patches/deps package'
	exit 0
}

# The mounts are made in a namespace of this process, and are gone with it.
if [ -z "${ZFOLIO_NAMESPACE:-}" ] && unshare -m true 2>/dev/null; then
	rm -rf "$tmp"
	ZFOLIO_NAMESPACE=1 exec unshare -m "$0"
fi

# --- build ---

run make -s deb B="$tmp/one"
check "make deb" [ "$status" = 0 ]
check "... without a word from lintian" fails out_has "^[EW]: "
check "... and names the package" out_has "/$name\$"
deb=$tmp/one/deb/$name
umask_before=$(umask)
umask 077
TZ=Asia/Tokyo LC_ALL=C run make -s deb B="$tmp/another-place"
umask "$umask_before"
check "built elsewhere it is the same, to the byte" cmp "$deb" "$tmp/another-place/deb/$name"
check "... and so is its source" cmp "${deb%_"$arch".deb}.tar.xz" "$tmp/another-place/deb/zfolio_$version.tar.xz"

dpkg-deb -c "$deb" | sed -n 's|^[^d].* \./||p' | sed 's|^usr/lib/systemd|lib/systemd|' | sort >"$tmp/has"
sort >"$tmp/wanted" <<'LIST'
etc/zfolio.conf
lib/systemd/system/zfolio-metrics.service
lib/systemd/system/zfolio-metrics.timer
lib/systemd/system/zfoliod.service
usr/bin/zfolioctl
usr/lib/zfolio/zfolio.conf
usr/sbin/zfoliod
usr/share/bash-completion/completions/zfolioctl
usr/share/doc/zfolio/README.md.gz
usr/share/doc/zfolio/changelog.gz
usr/share/doc/zfolio/copyright
usr/share/doc/zfolio/examples/Containerfile
usr/share/doc/zfolio/examples/daemonset.yaml
usr/share/doc/zfolio/examples/zfolio.json
usr/share/doc/zfolio/examples/zfolio.rules.yaml
usr/share/doc/zfolio/troubleshooting.md.gz
usr/share/man/man1/zfolioctl.1.gz
usr/share/man/man5/zfolio.conf.5.gz
usr/share/man/man8/zfoliod.8.gz
usr/share/zsh/vendor-completions/_zfolioctl
LIST
run diff "$tmp/wanted" "$tmp/has"
check "it has these files and no other" [ "$status" = 0 ]
dpkg-deb -I "$deb" >"$tmp/out"
for library in libinih1 libjansson4 liblz4-1 libsystemd0 libzstd1; do
	check "... and depends on $library" out_has "^ Depends:.* $library"
done
dpkg-deb --fsys-tarfile "$deb" | tar -xO --wildcards '*/zfoliod.service' >"$tmp/out"
check "the unit starts what is installed" out_has '^ExecStart=/usr/sbin/zfoliod$'

# --- install, upgrade, remove, purge ---

layers=/mnt
if ! { [ -n "${ZFOLIO_NAMESPACE:-}" ] && mount -t tmpfs none $layers &&
	mkdir $layers/upper $layers/work $layers/root &&
	mount -t overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" none $layers/root &&
	mount -t proc none $layers/root/proc &&
	mknod -m 666 $layers/root/dev/null c 1 3 && [ -x $layers/root/usr/bin/dpkg ]; } 2>"$tmp/err"; then
	skip "installing" "needs root, and overlay mounts of a root that has /usr"
	finish
fi

# inside COMMAND...: on the overlay, as root of a machine without services
# shellcheck disable=SC2317 # called by name, through check
inside() {
	run chroot $layers/root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
	return "$status"
}

cp "$deb" $layers/root/zfolio.deb
for later in 1 2; do
	later "$deb" "$version+$later" "$layers/root/zfolio_$version+$later.deb"
done
conf=$layers/root/etc/zfolio.conf
# What this machine has of it does not count.
inside dpkg -P zfolio

# changed: the files that have come or gone since this machine was as it is, but for
# the packages and dpkg's own notes
changed() {
	(cd $layers/upper && find . ! -type d ! -path './zfolio*.deb' ! -path ./dev/null \
		! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/cache/*' | sort)
}

check "it installs" inside dpkg -i /zfolio.deb
check "its configuration is right" inside zfoliod --check-config
check "the tool runs" inside zfolioctl --help
check "the unit is enabled" [ -L $layers/root/etc/systemd/system/multi-user.target.wants/zfoliod.service ]
check "the timer for node_exporter is not" fails [ -L $layers/root/etc/systemd/system/timers.target.wants/zfolio-metrics.timer ]
# What the README has before it, to switch zswap on.
grep '^    .*tmpfiles' README.md | sed 's/sudo //' >$layers/root/tmp/zswap.sh
if [ -x $layers/root/usr/bin/systemd-tmpfiles ] || [ -x $layers/root/bin/systemd-tmpfiles ]; then
	mkdir -p $layers/root/sys/module/zswap/parameters
	echo N >$layers/root/sys/module/zswap/parameters/enabled
	check "the README's way to switch zswap on" inside sh -e /tmp/zswap.sh
	check "... does" [ "$(cat $layers/root/sys/module/zswap/parameters/enabled)" = 1 ]
	rm -r $layers/root/sys/module $layers/root/etc/tmpfiles.d/zswap.conf
else
	skip "the README's way to switch zswap on" "no systemd-tmpfiles"
fi
rm $layers/root/tmp/zswap.sh
check "an upgrade" inside dpkg -i "/zfolio_$version+1.deb"
check "... takes over a configuration that nobody has changed" grep -q "^# of $version+1" $conf
printf '[daemon]\ninterval = 5s\n' >$conf
printf '[cgroup **]\nweight = 7\n' >$layers/root/etc/zfolio.conf.d/local.conf
check "another upgrade" inside dpkg --force-confdef --force-confold -i "/zfolio_$version+2.deb"
check "... leaves one that is changed as it is" grep -q 'interval = 5s' $conf
check "... and the unit enabled" [ -L $layers/root/etc/systemd/system/multi-user.target.wants/zfoliod.service ]
check "... and it is read" inside zfoliod --check-config

mkdir -p $layers/root/run/zfolio $layers/root/run/other
echo note >$layers/root/run/zfolio/state
check "it can be removed" inside dpkg -r zfolio
check "... the programs with it" fails [ -e $layers/root/usr/sbin/zfoliod ]
check "... but the configuration stays" grep -q 'interval = 5s' $conf
check "... and what is noted" [ -e $layers/root/run/zfolio/state ]
check "it can be purged" inside dpkg -P zfolio
check "... with what was noted" fails [ -e $layers/root/run/zfolio ]
check "... and nothing beside it" [ -d $layers/root/run/other ]
changed >"$tmp/out"
check "... and leaves but the administrator's own file" [ "$(cat "$tmp/out")" = ./etc/zfolio.conf.d/local.conf ]

finish
