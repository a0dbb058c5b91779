#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The Debian package under systemd, run in a guest by systemd.t: install, upgrade,
# remove, purge, as an administrator would, and with it all commands of the README.
# shellcheck disable=SC2154 # common.sh sets what is not here
# shellcheck source=daemon/tests/guest/common.sh
. ./common.sh

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
prom=/var/lib/prometheus/node-exporter

# package OPTION...: dpkg, whose lists are empty here, so that nothing that it depends
# on is known to be there
# shellcheck disable=SC2317 # called by name, through check
package() {
	run dpkg --force-depends,confold "$@"
	return "$status"
}

check "it installs" package -i zfolio.deb
check "... and runs" running
check "... also after the next boot" systemctl is-enabled zfoliod
check "... with the configuration that there is" within 10 tuned
run zfolioctl explain test.slice/web.service
check "one can ask why" out_has 'ago: memory.zswap.writeback 1 -> 0: configured$'
check "the timer for node_exporter waits to be wanted" fails systemctl is-active zfolio-metrics.timer
mkdir -p $prom
check "... and then" systemctl enable --now zfolio-metrics.timer
check "... writes" within 30 grep -qsx 'zfolio_daemon_up 1' $prom/zfolio.prom

before=$(property zfoliod MainPID)
echo '# mine' >>/etc/zfolio.conf
check "an upgrade" package -i zfolio-later.deb
check "... starts the new one" fails [ "$(property zfoliod MainPID)" = "$before" ]
check "... which tunes" within 10 tuned
check "... leaves the configuration" grep -qx '# mine' /etc/zfolio.conf
check "... and the timer" systemctl is-active zfolio-metrics.timer

mark
check "it can be removed" package -r zfolio
check "... and has put everything back" all_is_back
check "... as it said" said '^put back 2 values'
check "no unit of it is left" fails grep -q zfolio <<-END
	$(systemctl list-units --all --plain --no-legend --state=active,activating,failed)
END
check "the configuration is" grep -qx '# mine' /etc/zfolio.conf
check "it can be purged" package -P zfolio
find / -xdev \( -name '*zfolio*' -o -name '*zfoliod*' \) ! -path '/root/*' ! -path '/proc/*' \
	! -path '/var/lib/dpkg/*' ! -path '/var/log/*' >"$tmp/out"
find /run -name '*zfoli*' ! -path '/run/log/*' ! -path '/run/user/*' >>"$tmp/out"
printf '%s\n' /etc/zfolio.conf.d $prom/zfolio.prom | sort >"$tmp/wanted"
sort -o "$tmp/out" "$tmp/out"
check "... and leaves but what is the administrator's" cmp "$tmp/wanted" "$tmp/out"

finish
