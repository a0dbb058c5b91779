#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Which lines of a kernel's log selftests/vm/logcheck takes for faults.
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck source=selftests/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# fault LINE and harmless LINE: the line amid a usual log
judge() {
	printf '[    0.000000] Linux version 7.3.4\n%s\n[    9.000000] reboot: Restarting system\n' \
		"$1" >"$tmp/log"
	run selftests/vm/logcheck "$tmp/log"
}

fault() {
	judge "$1"
	check "fault: $1" [ "$status" -eq 1 ]
	check "... and it is shown" grep -qxF -e "$1" "$tmp/out"
}

harmless() {
	judge "$1"
	check "harmless: $1" [ "$status" -eq 0 ]
}

fault '[    5.123456] Kernel panic - not syncing: sysrq triggered crash'
fault '[    5.123456] BUG: unable to handle page fault for address: ffffc90000000000'
fault '[    5.123456] BUG: Bad page state in process swapfile  pfn:12345'
fault '[    5.123456] kernel BUG at mm/zswap.c:123!'
fault '[    5.123456] Oops: general protection fault, probably for non-canonical address 0xdead000000000108'
fault '[    5.123456] WARNING: mm/zswap.c:1600 at zswap_load+0x1c/0x90, CPU#1: test/80'
fault '[    5.123456] WARNING: possible circular locking dependency detected'
fault '[    5.123456][   T80] WARNING: CPU: 0 PID: 80 at mm/memory.c:4000 do_swap_page+0x1/0x2'
fault '[    5.123456] BUG: KASAN: slab-use-after-free in zswap_load+0x1/0x2'
fault '[    5.123456] UBSAN: shift-out-of-bounds in mm/swapfile.c:100:10'
fault '[   99.123456] INFO: task test:80 blocked for more than 120 seconds.'
fault '[   99.123456] rcu: INFO: rcu_sched self-detected stall on CPU'
fault '[   99.123456] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:'
fault '[   99.123456] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [swapoff:80]'
fault '[    5.123456] irq 10: nobody cared (try booting with the "irqpoll" option)'
fault '[    5.123456] list_add corruption. prev->next should be next (ffff888), but was 0'
fault '[    5.123456] refcount_t: underflow; use-after-free.'
fault '[    5.123456] get_swap_device: Bad swap file entry 3ffffffffffff'
fault '[    5.123456] swap_info_get: Unused swap offset entry 00000123'
fault '[    5.123456] INFO: trying to register non-static key.'
fault '[    5.123456] Memory cgroup out of memory: Killed process 1; BUG: scheduling while atomic'

harmless '[    5.123456] Memory cgroup out of memory: Killed process 80 (test) total-vm:1kB'
harmless '[    5.123456] traps: test[80] general protection fault ip:401000 sp:7ffe error:0'
harmless '[    5.123456] test[80]: segfault at 0 ip 0000000000401000 sp 00007ffe error 4'
harmless '[    5.123456] INFO: NMI handler (nmi_cpu_backtrace_handler) took too long to run: 4.549 msecs'
harmless '[    5.123456] Adding 4194300k swap on /dev/nvme0n1.  Priority:-1 extents:1 across:4194300k SS'
harmless '[    0.123456] ACPI: [Firmware Bug]: BIOS _OSI(Linux) query ignored'
harmless '[    0.123456] Spectre V2 : Mitigation: Retpolines'
harmless '[    5.123456] nvme nvme0: Ignoring bogus Namespace Identifiers'

run selftests/vm/logcheck "$tmp/no-such-log"
check "a log that cannot be read is not a good one" [ "$status" -eq 2 ]

finish
