#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# zfoliod where there is no memory controller, as on a host where cgroup v1 has it:
# booted with cgroup_disable=memory; run in a guest by systemd.t.
# shellcheck disable=SC2154 # common.sh sets what is not here
# shellcheck source=daemon/tests/guest/common.sh
. ./common.sh

systemctl start zfoliod && status=0 || status=$?
check "systemctl start: no failure" [ "$status" = 0 ]
check "... and nothing runs" [ "$(systemctl is-active zfoliod)" = inactive ]
run systemctl status zfoliod
check "... since there is no memory controller" out_has 'ConditionControlGroupController=memory'
run zfoliod
check "without systemd's condition: its own status" [ "$status" = 4 ]
check "... and what to do" err_has '^zfoliod: /sys/fs/cgroup has no memory controller: cgroup v1 holds it, or it is switched off; boot with'

finish
