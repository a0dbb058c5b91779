#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The documents: every command that stands in one is in documents.list, which says
# how it is run here, or by which other test; and what they show of a program's
# output is the file that a test compares the output with. UPDATE=1 in the
# environment takes it over from there.
# shellcheck disable=SC2154 # lib.sh sets tmp and status, machine.sh root
# shellcheck disable=SC2317 # functions are called by name, through check
# shellcheck source=selftests/tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=daemon/tests/machine.sh
. daemon/tests/machine.sh

list=selftests/tests/documents.list
unset COLUMNS LINES

# --- what they show ---

# with_files FILE: it, with the block below each "as" line made from the file there
with_files() {
	awk '
	showing && /^(    .*)?$/ { next }
	showing { print ""; showing = 0 }
	{ print }
	/^<!-- as .* -->$/ {
		print ""
		while ((got = (getline line <$3)) > 0)
			print (line == "" ? "" : "    " line)
		if (got < 0)
			print "    no such file: " $3
		showing = 1
	}' "$1"
}

documents=$(find . -name '*.md' ! -path './build/*' | sort)
for document in $documents; do
	with_files "$document" >"$tmp/document"
	[ -z "${UPDATE:-}" ] || cmp -s "$tmp/document" "$document" || cat "$tmp/document" >"$document"
	run diff "$document" "$tmp/document"
	check "$document shows what the files have" [ "$status" = 0 ]
done
# shellcheck disable=SC2086 # a list of words
check "all in all some" [ "$(cat $documents | grep -c '^<!-- as ')" -ge 4 ]

# --- their commands ---

# Lines of blocks, and of the examples of man pages, that begin like a command: a
# whole one a line, without comments and sudo.
{
	# shellcheck disable=SC2086 # a list of words
	sed -n 's/^\(    \|\t\)//p' $documents
	sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./!p}' daemon/man/*
} | sed -e ':join' -e '/\(\\\|&&\||\)$/{N;s/ *\\\?\n[ \t]*/ /;bjoin' -e '}' \
	-e 's/[ \t][ \t]*#.*//' -e 's/\(^\|&& \|| \)sudo /\1/g' |
	grep -E '^([A-Z_]+=[^ ]* )?(apt|bench/|build/|cat|daemon/|dpkg|echo|git|journalctl|kernel-patches/|kubectl|make|podman|reboot|selftests/|systemctl|systemd-|zfolioctl [a-z]|zfoliod -)' |
	sort -u >"$tmp/commands"

# The list: how, a tab, the command.
grep -v '^#' "$list" >"$tmp/list"
cut -f 2 "$tmp/list" | sort >"$tmp/listed"
comm -23 "$tmp/commands" "$tmp/listed" >"$tmp/out"
check "every command of the documents is in the list" [ ! -s "$tmp/out" ]
comm -13 "$tmp/commands" "$tmp/listed" >"$tmp/out"
check "every command of the list is in a document, once in the list" [ ! -s "$tmp/out" ]

# of KIND: the commands that are run so
of() {
	sed -n "s/^$1	//p" "$tmp/list"
}

# By other tests: the file is there, and has the words.
while IFS='	' read -r how command; do
	case $how in
	by\ *)
		how=${how#by }
		check "by ${how%% *}: $command" grep -qF -e "${how#* }" "${how%% *}"
		;;
	never\ *) skip "$command" "${how#never }" ;;
	here | machine | guest | tree) ;;
	*) check "$list: $how: expected here, machine, guest, tree, by or never" false ;;
	esac
done <"$tmp/list"

# With redirections of its own, so that the loop's input is not read.
of here >"$tmp/here"
while IFS= read -r command; do
	run env -u MAKEFLAGS -u MAKELEVEL sh -c "$command"
	check "here: $command" [ "$status" = 0 ]
done <"$tmp/here"

# --- on a machine with zfoliod ---

mkdir "$tmp/bin"
for program in zfolioctl zfoliod; do
	printf '#!/bin/sh\nexec build/%s --root %s "$@"\n' $program "$root" >"$tmp/bin/$program"
	chmod +x "$tmp/bin/$program"
done
machine
cgroup system.slice
cgroup system.slice/web.service
: >"$cg/system.slice/web.service/cgroup.procs"
file sys/module/zswap/parameters/compressor lz4
# shellcheck disable=SC2119 # no option
start
within_5s [ -S "$root/run/zfolio/control" ]
of machine >"$tmp/machine"
while IFS= read -r command; do
	run env PATH="$tmp/bin:$PATH" sh -c "$command"
	check "with zfoliod: $command" [ "$status" = 0 ]
done <"$tmp/machine"
stop

# --- on a kernel's tree, and in a guest with the series ---

# The documents are about this one.
base=${BASE:-linux-7.3}
case $base,${SERIES:-all} in
linux-7.3,all | linux-7.3,next) ;;
*)
	skip "what takes a kernel" "the documents are about all of linux-7.3, not about $base,${SERIES:-all}"
	finish
	;;
esac

# As much of the kernel as the series touches, as a git tree too.
kernel_tree() {
	rm -rf "$tmp/user"
	mkdir -p "$tmp/user/linux-7.3"
	source=$(kernel-patches/fetch) || return
	sed -n 's|^--- a/||p' kernel-patches/linux-7.3/*.patch | sort -u | (
		cd "$source" && xargs ls -d Makefile Kbuild include/linux 2>/dev/null |
			xargs cp -r --parents -t "$tmp/user/linux-7.3"
	)
	(
		cd "$tmp/user/linux-7.3" && git init -q . && git add -A &&
			git -c user.name=t -c user.email=t@localhost commit -qm base
	)
}

of tree >"$tmp/tree"
command -v git >/dev/null || {
	skip "on a kernel's tree" "needs git"
	: >"$tmp/tree"
}
while IFS= read -r command; do
	run kernel_tree
	run env HOME="$tmp/user" GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@localhost \
		sh -c "$(printf '%s' "$command" | sed "s|/path/to/zfolio|$PWD|g")"
	check "on a kernel's tree: $command" [ "$status" = 0 ]
done <"$tmp/tree"

# One guest for all of them; each tells its status.
of guest >"$tmp/guest"
{
	# shellcheck disable=SC2016 # the guest's shell expands it
	echo 'export PATH=/prog:$PATH'
	while IFS= read -r command; do
		printf '%s\necho "status $?: %s"\n' "$command" "$command"
	done <"$tmp/guest"
} >"$tmp/guest.sh"
kernel=${ZFOLIO_TEST_PATCHED:-$(kernel-patches/build patched 2>"$tmp/err")} &&
	run selftests/vm/run --kernel "$kernel" --timeout 900 --add "$tmp/guest.sh:guest.sh" \
		--add build/bench/swapin:build/bench/swapin --add build/zfolioctl:/prog/zfolioctl \
		-- sh guest.sh
while IFS= read -r command; do
	check "in a guest: $command" grep -qxF -e "status 0: $command" "$tmp/out"
done <"$tmp/guest"

finish
