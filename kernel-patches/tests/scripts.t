#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The scripts themselves: shellcheck, --help, deps.
. kernel-patches/tests/lib.sh

if command -v shellcheck >/dev/null; then
	for script in kernel-patches/*.sh kernel-patches/tests/*; do
		run shellcheck -x "$script"
		exits 0 "$script passes shellcheck"
	done
fi
for script in fetch apply build check deb deps; do
	if command -v shellcheck >/dev/null; then
		run shellcheck -x "kernel-patches/$script"
		exits 0 "$script passes shellcheck"
	else
		skip "$script passes shellcheck" 'shellcheck is missing'
	fi
	run "$t/kp/$script" --help
	exits 0 "$script --help"
	check "$script --help says how to use it" grep -q '^Usage: ' "$t/out"
	check "$script --help lists its exit status" grep -q '^Exit status: ' "$t/out"
done
run "$t/kp/deps" --list
check 'deps lists what it would install' grep -qx qemu-system-x86 "$t/out"
run "$t/kp/deps" everything
exits 2 'deps refuses an unknown group'

# An unprivileged user without sudo gets the command to run.
mkdir "$t/bin"
printf '#!/bin/sh\necho 1000\n' >"$t/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$t/bin/sudo"
printf '#!/bin/sh\nexit 1\n' >"$t/bin/dpkg-query"
chmod +x "$t"/bin/*
PATH=$t/bin:$PATH run "$t/kp/deps"
exits 1 'deps without the right to install fails'
says '^  apt-get update && apt-get install .*busybox-static' 'and prints the command'

KCONFIG=$t/none run "$t/kp/deb"
check 'deb refuses a configuration that is not there' [ $status = 2 ]
finish
