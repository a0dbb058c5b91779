# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packages of Debian's archive, of a suite that need not be this machine's: the
# archive's address is the one that this machine's own apt uses, apt checks its
# signature against debian-archive-keyring, and the system's apt is not changed.
# Sourced after common.sh, with apt_dir (where apt's own files go) and apt_log set:
#
#	setup_apt
#	archives
#	for archive in $archives_found; do
#		use_archive "$archive" SUITE || continue
#		private_apt apt-get ...
#
# shellcheck disable=SC2154 # the caller sets what is not here

# The machine's apt configuration is read (proxies, credentials) and then
# overridden where it would touch the machine's state or run its hooks.
private_apt()
{
	private_tool=$1
	shift
	"$private_tool" -q -c "$apt_dir/apt.conf" "$@"
}

# The archives of the machine's apt, named by Debian. apt knows whose an archive is
# once its lists are there; a machine without any (a bare image, where deps had
# nothing to install) gets lists in our own directory.
archives()
{
	archives_found=$(debian_targets)
	if [ -z "$archives_found" ]; then
		mkdir -p "$apt_dir/machine/partial"
		work "asking the machine's archives who they are" "$apt_dir/update.log" \
			probe_network apt-get -q -c "$apt_dir/machine.conf" update ||
			cat "$apt_dir/update.log" >>"$apt_log"
		archives_found=$(debian_targets -c "$apt_dir/machine.conf")
	fi
	[ -n "$archives_found" ] ||
		echo "apt's configuration names no Debian archive" >>"$apt_log"
}

debian_targets()
{
	# shellcheck disable=SC2016 # expanded by apt
	apt-get indextargets "$@" --format '$(CREATED_BY)|$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
		2>/dev/null | sed -n 's/^Packages|Debian|Debian|//p' | sort -u
}

setup_apt()
{
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	: >"$apt_dir/status"
	for keyring in /usr/share/keyrings/debian-archive-keyring.gpg \
		/usr/share/keyrings/debian-archive-keyring.pgp ''; do
		[ ! -r "$keyring" ] || break
	done
	[ -n "$keyring" ] || die "$EX_SOURCE" "the Debian archive's keys are missing" \
		"(make deps installs debian-archive-keyring)"
	# _apt, as whom root's apt downloads, may not enter a home directory; what
	# is downloaded is verified all the same.
	cat >"$apt_dir/machine.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb;
Acquire::IndexTargets::deb::Packages {
	MetaKey "\$(COMPONENT)/binary-\$(ARCHITECTURE)/Packages";
	ShortDescription "Packages";
	Description "\$(RELEASE)/\$(COMPONENT) \$(ARCHITECTURE) Packages";
	Optional "0";
};
Dir::State::Lists "$apt_dir/machine";
Dir::Cache "$apt_dir/cache";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
END
	cat "$apt_dir/machine.conf" - >"$apt_dir/apt.conf" <<END
Dir::Etc::SourceList "$apt_dir/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$apt_dir";
Dir::State::Lists "$apt_dir/lists";
Dir::State::Status "$apt_dir/status";
END
}

# use_archive ARCHIVE SUITE: get the list of what the suite has; returns 1 with
# the reason in $apt_log.
use_archive()
{
	printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$1" "$2" >"$apt_dir/sources.list"
	work "asking Debian's $2 what it has" "$apt_dir/update.log" \
		probe_network apt-get -q -c "$apt_dir/apt.conf" update && return
	cat "$apt_dir/update.log" >>"$apt_log"
	return 1
}

# shellcheck disable=SC2317 # called by name
probe_network()
{
	printf 'waiting for the archive'
}
