# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# TAP for the tests of the scripts here, with a copy of the scripts and a toy
# kernel tree to run them on. Sourced by each *.t, which runs from the top of the
# repository.

set -u
kp=$(pwd)/kernel-patches
[ -x "$kp/fetch" ] || {
	echo "Bail out! run from the top of the repository"
	exit 1
}
t=$(mktemp -d "${TMPDIR:-/tmp}/zfolio-test.XXXXXX")
t_mount=
t_cleanup()
{
	[ -z "$t_mount" ] || umount "$t_mount"
	rm -rf "$t"
}
trap t_cleanup EXIT
trap 'exit 130' INT TERM

# Nothing of the caller's setting reaches a test.
unset KSRC SERIES KCONFIG BASE ZFOLIO_JOBS MAKEFLAGS MAKELEVEL
export ZFOLIO_CACHE="$t/cache" ZFOLIO_TICK=1
# A copy, so that a test may write its own series.
mkdir "$t/kp"
cp -r "$kp"/* "$t/kp/"
rm -f "$t"/kp/linux-7.3/*.patch
: >"$t/kp/linux-7.3/series"

count=0
failed=0

# ok STATUS NAME
ok()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		sed 's/^/# stdout: /' "$t/out" 2>/dev/null
		sed 's/^/# stderr: /' "$t/err" 2>/dev/null
	fi
}

# check NAME COMMAND...: ok when COMMAND succeeds.
check()
{
	check_name=$1
	shift
	if "$@" >/dev/null 2>&1; then
		ok 0 "$check_name"
	else
		ok 1 "$check_name"
	fi
}

skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# run COMMAND...: sets status; output in $t/out and $t/err.
run()
{
	status=0
	"$@" >"$t/out" 2>"$t/err" || status=$?
}

# exits STATUS NAME, says REGEX NAME: about the last run.
exits()
{
	check "$2 (exit status $1)" [ "$status" = "$1" ]
}

says()
{
	check "$2" grep -qE -e "$1" "$t/err"
}

finish()
{
	echo "1..$count"
	[ $failed = 0 ]
}

# toy_tree DIR VERSION.PATCHLEVEL.SUBLEVEL: as much of a kernel tree as the
# scripts look at. `make` copies where the kernel's would compile, saying so as
# the kernel's does.
toy_tree()
{
	mkdir -p "$1/mm" "$1/include/linux"
	cat >"$1/Makefile" <<END
# SPDX-License-Identifier: GPL-2.0
VERSION = $(echo "$2" | cut -d. -f1)
PATCHLEVEL = $(echo "$2" | cut -d. -f2)
SUBLEVEL = $(echo "$2" | cut -d. -f3)
EXTRAVERSION =
NAME = Toy
END
	cat >>"$1/Makefile" <<'END'
S := $(CURDIR)
KCONFIG_CONFIG ?= $(O)/.config
tinyconfig:
	echo CONFIG_TOY=y >$(KCONFIG_CONFIG)
olddefconfig:
	@:
headers_install:
	mkdir -p $(INSTALL_HDR_PATH)/include
bzImage: $(O)/mm/one.o $(O)/mm/two.o
	mkdir -p $(O)/arch/x86/boot $(O)/include/config
	cat $^ >$(O)/arch/x86/boot/bzImage
	echo 7.3.0$(LOCALVERSION) >$(O)/include/config/kernel.release
$(O)/mm/%.o: $(S)/mm/%.c
	@mkdir -p $(O)/mm
	@echo '  CC      mm/$*.o'
	@! grep -n 'syntax error' $< /dev/null | sed 's/$$/: error: as asked/' | grep .
	@cp $< $@
END
	echo 'obj-y += mm/' >"$1/Kbuild"
	for toy_name in one two; do
		for toy_line in 1 2 3 4 5 6 7 8 9 10 11 12; do
			echo "$toy_name $toy_line"
		done >"$1/mm/$toy_name.c"
	done
	: >"$1/include/linux/toy.h"
}

# toy_patch NAME FILE SED: a patch in the series that changes the toy tree at
# $t/toy, with what the patches before it did, as SED says.
toy_patch()
{
	[ -d "$t/toy.patched" ] || cp -r "$t/toy" "$t/toy.patched"
	rm -rf "$t/a" "$t/b"
	cp -r "$t/toy.patched" "$t/a"
	cp -r "$t/toy.patched" "$t/b"
	sed "$3" "$t/a/$2" >"$t/b/$2"
	{
		echo "Subject: $1"
		echo
		echo "diff --git a/$2 b/$2"
		(cd "$t" && diff -u "a/$2" "b/$2")
	} >"$t/kp/linux-7.3/$1"
	echo "$1" >>"$t/kp/linux-7.3/series"
	rm -rf "$t/toy.patched"
	mv "$t/b" "$t/toy.patched"
}
