#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the shells offer for zfolioctl: every command, option and key that there is,
# and none that is not.
# shellcheck disable=SC2154 # lib.sh sets tmp
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh

# in_bash WORD...: what may follow for the last one, which may be empty; sorted,
# without what is put behind it
# shellcheck disable=SC2317 # called by name
in_bash() {
	run bash -c '. daemon/zfolioctl/completion.bash
compopt() { :; }
COMP_WORDS=(zfolioctl "$@") COMP_CWORD=$#
_zfolioctl
printf "%s\n" "${COMPREPLY[@]%=}"' bash "$@"
	sort -o "$tmp/out" "$tmp/out"
}

# in_zsh WORD...: likewise. A zsh on a terminal is given the words and a tab, and
# then shows its line in < and >, below a list where there is a choice.
mkdir "$tmp/zsh"
cp daemon/zfolioctl/completion.zsh "$tmp/zsh/_zfolioctl"
cat >"$tmp/zsh.py" <<'END'
import fcntl, os, pty, re, select, struct, sys, termios
setup = f"""PS1='ready'' '; LISTMAX=1000; zstyle ':completion:*' verbose no
fpath=({sys.argv[1]} $fpath); autoload -Uz compinit; compinit -u -D
show() {{ print; print -r -- "<$BUFFER"">"; exit }}; zle -N show; bindkey '^X' show
print set'' up
"""
given = " ".join(["zfolioctl"] + sys.argv[2:])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))
    os.environ["TERM"] = "dumb"
    os.execlp("zsh", "zsh", "-f", "-i")
text = ""
def until(pattern):
    global text
    while not re.search(pattern, text, re.S):
        assert select.select([fd], [], [], 60)[0], text
        text += os.read(fd, 65536).decode()
os.write(fd, setup.encode())
until("set up\r\n.*ready ")
text = ""
os.write(fd, given.encode() + b"\t\x18")
until("<[^\r]*>\r\n")
shown, line = re.search("(.*)<([^\r]*)>\r\n", text, re.S).groups()
words = line.split()[-1:] if line.strip() != given.strip() else \
    re.sub("\x1b\\[[0-9?;]*[a-zA-Z]|(ready )?zfolioctl[^\r]*", "", shown).split()
print("\n".join(sorted(word.rstrip("=") for word in words)))
END
in_zsh() {
	run python3 "$tmp/zsh.py" "$tmp/zsh" "$@"
}

# are WORD...: just these are offered
# shellcheck disable=SC2317 # called by name, through check
are() {
	printf '%s\n' "$@" | sort >"$tmp/wanted"
	cmp "$tmp/wanted" "$tmp/out"
}

build/zfolioctl --help >"$tmp/help"
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\).*/\1/p' "$tmp/help")
options=$(grep -oE '^  (-h, )?--[a-z]+' "$tmp/help" | grep -oE -e '--[a-z]+')
# subtree is for the walk over the tree, which reads the files alone.
keys=$(sed -n 's/^\t{ CGROUP(\([a-z_]*\)).*/\1/p' daemon/zfoliod/conf_keys.c | grep -vx subtree)

shells=in_bash
if command -v zsh >/dev/null; then
	shells="$shells in_zsh"
else
	skip "completion in zsh" "needs zsh: kernel-patches/deps test"
fi
# shellcheck disable=SC2086 # lists of words
for offered in $shells; do
	$offered ''
	check "$offered: commands" are $commands
	$offered --
	check "... options" are $options
	$offered set a ''
	check "... keys" are $keys
	$offered --color ''
	check "... words of an option" are always auto never
	$offered --json st
	check "... after an option" are status
	$offered --for 5s set a wr
	check "... and its value" are writeback
	$offered status ''
	check "... nothing where nothing is expected" are ''
done
in_zsh set a writeback=
[ "$shells" = in_bash ] || check "in_zsh: words of a key" are auto leave off on

finish
