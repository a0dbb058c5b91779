#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# zfoliod on a stock kernel that was booted with psi=0; run in a guest by systemd.t.
# shellcheck disable=SC2154 # common.sh sets what is not here
# shellcheck source=daemon/tests/guest/common.sh
. ./common.sh

systemctl start zfoliod
check "it starts without pressure stall information" running
check "... and says what is there" said '^zswap enabled; PSI off; memory.zswap.writeback yes; memory.zswap.max yes; memory.zswap.swapin_max no; memory.reclaim source=zswap not in this kernel'
check "what does not need it is done" within 30 tuned
sleep 5
check "no complaint" fails complaints
run zfolioctl explain test.slice/web.service
check "zfolioctl explains" [ "$status" = 0 ]
systemctl stop zfoliod
check "every knob is back" all_is_back

finish
