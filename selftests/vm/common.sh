# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034
# Shared by the scripts of this directory: sourced, never run.
#
# Everything made lives under the cache root, so that the source tree stays
# clean:
#
#   initramfs/KEY.cpio  the guest's file system, keyed by all that is in it
#   accel/BOOTID        what the trial boot under KVM found, one file a boot
#   run/PID.XXXXXX/     one running guest: disk image, initrd, raw output; locked
#                       as long as any of its processes lives
#   logs/vm-*.log       kernel logs of guests that failed, the newest LOGS_KEPT
LOGS_KEPT=50

ZFOLIO_CACHE=${ZFOLIO_CACHE:-${XDG_CACHE_HOME:-${HOME:?neither ZFOLIO_CACHE nor HOME is set}/.cache}/zfolio}

# Exit statuses of vm/run; its --help documents them.
EX_FLOOD=122
EX_NOSTATUS=123
EX_TIMEOUT=124
EX_USAGE=125
EX_KERNEL=126

say() {
	printf 'vm/run: %s\n' "$*" >&2
}

die() {
	die_status=$1
	shift
	say "error: $*"
	exit "$die_status"
}

# size_to_mib OPTION SIZE: print SIZE, a number with an optional K, M, G or T
# (plain numbers are bytes), in MiB.
size_to_mib() {
	size_num=${2%[KMGTkmgt]}
	case $size_num in
	'' | *[!0-9]* | ?????????????*)
		die $EX_USAGE "$1: '$2' is not a size (expected a number with K, M, G or T, such as 512M)"
		;;
	esac
	# A leading zero would make the shell read an octal number.
	while [ "${size_num#0}" != "$size_num" ] && [ ${#size_num} -gt 1 ]; do
		size_num=${size_num#0}
	done
	case $2 in
	*[Kk]) size_mib=$((size_num / 1024)) ;;
	*[Mm]) size_mib=$size_num ;;
	*[Gg]) size_mib=$((size_num * 1024)) ;;
	*[Tt]) size_mib=$((size_num * 1024 * 1024)) ;;
	*) size_mib=$((size_num / 1024 / 1024)) ;;
	esac
	printf '%s\n' "$size_mib"
}

# check_number OPTION VALUE MIN MAX
check_number() {
	case $2 in
	'' | *[!0-9]* | ??????????*)
		die $EX_USAGE "$1: '$2' is not a number (expected $3 to $4)"
		;;
	esac
	if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		die $EX_USAGE "$1: $2 is out of range (expected $3 to $4)"
	fi
}

# quote WORD: print WORD so that a shell reads it back as one word.
quote() {
	printf "'"
	printf '%s' "$1" | sed "s/'/'\\\\''/g"
	printf "'"
}

# copy_elf FILE ROOT: copy the shared libraries that the program FILE needs to
# the same places under ROOT. Static programs and non-ELF files need none.
copy_libraries() {
	elf_magic=$(od -An -tx1 -N4 "$1" | tr -d ' ')
	[ "$elf_magic" = 7f454c46 ] || return 0
	elf_machine=$(od -An -tu2 -j18 -N2 "$1" | tr -d ' ')
	# EM_X86_64 is 62.
	[ "$elf_machine" = 62 ] ||
		die $EX_USAGE "$1: not an x86-64 program (ELF machine $elf_machine)"
	# ldd fails on a static program.
	elf_libs=$(ldd "$1" 2>/dev/null) || return 0
	case $elf_libs in
	*'not found'*)
		die $EX_USAGE "$1: shared library missing on this machine:$(printf '%s\n' "$elf_libs" |
			sed -n 's/^[[:space:]]*\(.*\) => not found.*/ \1/p' | tr -d '\n')"
		;;
	esac
	# Lines are "NAME => /path (address)" or "/lib64/ld-linux... (address)".
	printf '%s\n' "$elf_libs" |
		sed -n 's/^\(.*=> \)\{0,1\}[[:space:]]*\(\/[^ ]*\) (0x[0-9a-f]*)$/\2/p' |
		while IFS= read -r elf_lib; do
			[ -e "$2$elf_lib" ] && continue
			mkdir -p "$2${elf_lib%/*}"
			cp -L "$elf_lib" "$2$elf_lib"
		done
}

# make_cpio DIR FILE: pack DIR as the kernel unpacks it, owned by root.
make_cpio() {
	(cd "$1" && find . -print0 | LC_ALL=C sort -z |
		cpio --null --create --quiet --format=newc --owner=0:0) >"$2"
}
