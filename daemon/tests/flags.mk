# SPDX-License-Identifier: GPL-2.0-or-later
# Linker flags of single tests: the system calls that they make fail.
LDFLAGS_test_path := -Wl,--wrap=read,--wrap=write,--wrap=openat
LDFLAGS_test_cgroup := -Wl,--wrap=write,--wrap=unlinkat,--wrap=nanosleep
LDFLAGS_test_cgtree := -Wl,--wrap=openat,--wrap=fgetxattr
LDFLAGS_test_psi := -Wl,--wrap=openat,--wrap=write
LDFLAGS_test_sample := -Wl,--wrap=openat
LDFLAGS_test_actuator := -Wl,--wrap=write
LDFLAGS_test_server := -Wl,--wrap=getsockopt,--wrap=recv,--wrap=send
