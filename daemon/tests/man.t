#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The man pages: well formed, and with every option, command, exit status and key
# that there is, and its default. And that `make install` puts everything there,
# and `make uninstall` takes it away.
# shellcheck disable=SC2154 # lib.sh sets tmp and status
# shellcheck disable=SC2013 # what is looped over has no blanks
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh

man=daemon/man

# told NAME PAGE: PAGE has .Fl, .Cm or .Va NAME as the tag of an item
# shellcheck disable=SC2317 # called by name, through check
told() {
	grep -qE -e "^\\.It ([A-Z][a-z] [a-z] , )?(Fl|Cm|Va) $1( |\$)" "$2"
}

for page in "$man"/*; do
	run mandoc -Tlint -W warning "$page"
	check "${page##*/} is well formed" [ "$status" = 0 ]
done

# options PROGRAM PAGE
options() {
	run "$1" --help
	for option in $(grep -oE '^  (-h, )?--[a-z-]+' "$tmp/out" | sed 's/.*--//'); do
		check "${1##*/} --$option" told "-$option" "$2"
	done
}

options build/zfoliod "$man/zfoliod.8"
options build/zfolioctl "$man/zfolioctl.1"
for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\).*/\1/p' "$tmp/out"); do
	check "zfolioctl $command" told "$command" "$man/zfolioctl.1"
done
for status in 0 1 2 3 4 5 6 7; do
	check "zfolioctl's status $status" grep -qx ".It $status" "$man/zfolioctl.1"
done

# Keys with their defaults, as systemd/zfolio.conf has them and a test of the
# configuration holds them against the code.
sed -n 's/^\([a-z_]\{1,\}\) = \(.*\)/\1 \2/p' daemon/systemd/zfolio.conf >"$tmp/keys"
while read -r key value; do
	check "$key" told "$key" "$man/zfolio.conf.5"
	sed -n "/^\\.It Va $key\$/,/^\\.It/p" "$man/zfolio.conf.5" >"$tmp/out"
	check "... with its default $value" out_has "^\\.Cm $value \\.\$"
done <"$tmp/keys"
for key in $(sed -n 's/^\t{ \(DAEMON\|DEVICE\|CGROUP\)(\([a-z_]*\)).*/\2/p' daemon/zfoliod/conf_keys.c); do
	check "$key is not left out" grep -q "^$key " "$tmp/keys"
done

# --- install ---

run make -s install DESTDIR="$tmp/dest" PREFIX=/usr
check "make install" [ "$status" = 0 ]
for file in sbin/zfoliod bin/zfolioctl share/man/man8/zfoliod.8 \
	share/man/man1/zfolioctl.1 share/man/man5/zfolio.conf.5 \
	share/bash-completion/completions/zfolioctl \
	share/zsh/site-functions/_zfolioctl share/doc/zfolio/zfolio.conf \
	share/doc/zfolio/examples/zfolio.json lib/systemd/system/zfoliod.service \
	lib/systemd/system/zfolio-metrics.service \
	lib/systemd/system/zfolio-metrics.timer; do
	check "... has $file" [ -s "$tmp/dest/usr/$file" ]
done
check "... with no place left to fill in" fails grep -r @[A-Z]*DIR@ "$tmp/dest"
check "... and the programs' places in the units" [ "$(cat "$tmp"/dest/usr/lib/systemd/system/*.service | grep -c '^ExecStart=/usr/s\?bin/zfolio')" = 2 ]
run make -s uninstall DESTDIR="$tmp/dest" PREFIX=/usr
check "make uninstall leaves no file" [ -z "$(find "$tmp/dest" -type f)" ]

finish
