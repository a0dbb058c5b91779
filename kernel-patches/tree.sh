# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Source trees with the series applied, as build, check and deb use them, and the
# series itself. Sourced after common.sh.
#
# $CACHE/trees/NAME/src      the pristine source by hard links, plus the series
#                  /src.id   which pristine source it holds
#                  /touched  files the series has changed in it
#                  /out      the kernel's output directory (O=)
#
# A tree's place never changes, and a file's time changes only with its content,
# so that make rebuilds just what a changed patch changed.
#
# shellcheck disable=SC2034,SC2086,SC2154 # much is set by common.sh, as numbers

# --- The series --------------------------------------------------------------

# The border lines in `series` below which SERIES=fixes takes nothing, and below
# which only SERIES=next takes something.
series_border='# --- fixes end here ---'
series_next='# --- not proven yet ---'

# Sets series_name and series_files: names relative to $base_dir, in order.
load_series()
{
	series_name=${SERIES:-all}
	[ -r "$base_dir/series" ] || die $EX_USAGE "cannot read $base_dir/series"
	case $series_name in
	all) series_lines=$(sed "/^$series_next\$/,\$d" "$base_dir/series") ;;
	next) series_lines=$(cat "$base_dir/series") ;;
	fixes)
		grep -qxF -e "$series_border" "$base_dir/series" ||
			die $EX_USAGE "SERIES=fixes: $base_dir/series has no line '$series_border'"
		series_lines=$(sed "/^$series_border\$/,\$d" "$base_dir/series") ;;
	*) die $EX_USAGE "SERIES=$series_name: expected all, fixes or next" ;;
	esac
	series_files=$(printf '%s\n' "$series_lines" | sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d')
	for series_file in $series_files; do
		[ -r "$base_dir/$series_file" ] ||
			die $EX_USAGE "$base_dir/series names $series_file, which cannot be read"
	done
}

# The files a patch touches, both names of a renamed one.
patch_files()
{
	sed -n 's|^diff --git a/\([^ ]*\) b/\([^ ]*\)$|\1\n\2|p' "$1" | sort -u
}

# apply_patch TREE PATCH: without fuzz; a failure names patch, file and hunk. Takes
# the patch out where apply_reverse is -R.
# The dry run first, so that a patch is applied whole or not at all.
apply_patch()
{
	apply_log=$CACHE/logs/apply.$$.log
	apply_dry=--dry-run
	while :; do
		if ! patch -d "$1" -p1 --fuzz=0 -f --no-backup-if-mismatch -r - \
			$apply_dry ${apply_reverse:-} <"$2" >"$apply_log" 2>&1; then
			explain_patch "$2" <"$apply_log" >&2
			rm -f "$apply_log"
			return 1
		fi
		[ -n "$apply_dry" ] || break
		apply_dry=
	done
	rm -f "$apply_log"
}

explain_patch()
{
	awk -v me="$me" -v patch="$(basename "$1")" '
		function report(what) { print me ": error: " patch ": " file ": " what; reports++ }
		/^(checking|patching) file / { file = $3 }
		/^can.t find file to patch/ { missing = 1 }
		missing && /^\|\+\+\+ / {
			file = substr($2, 3); report("no such file in this tree"); missing = 0
		}
		/^(Reversed|Unreversed)/ { report("seems to be applied already") }
		/^Hunk #[0-9]+ (FAILED|ignored)/ {
			sub(/\.$/, "")
			report("hunk " $2 " does not apply at line " $NF " (no fuzz is allowed)")
		}
		/^(patch: \*\*\*\*|.*malformed patch)/ { report($0) }
		{ last = $0 }
		END { if (!reports) print me ": error: " patch ": " last }'
}

# stage_series SOURCE STAGE: copies of just the files the series touches, with
# the series applied; names of those files in STAGE.touched.
stage_series()
{
	for stage_patch in $series_files; do
		patch_files "$base_dir/$stage_patch"
	done | sort -u >"$2.touched"
	while read -r stage_file; do
		mkdir -p "$2"
		[ -f "$1/$stage_file" ] || continue
		mkdir -p "$2/$(dirname "$stage_file")"
		cp "$1/$stage_file" "$2/$stage_file"
		chmod u+w "$2/$stage_file"
	done <"$2.touched"
	for stage_patch in $series_files; do
		apply_patch "$2" "$base_dir/$stage_patch" || return 1
	done
}

# install_staged STAGE TREE LIST PRISTINE: gives TREE the staged state of each
# file in LIST; one that is not staged gets its state in PRISTINE, or goes.
# Written beside and renamed: TREE's file may be a hard link into the pristine
# source, and a killed run must not leave half a file.
install_staged()
{
	while read -r install_file; do
		install_from=$1/$install_file
		if [ ! -f "$install_from" ] && ! grep -qxF -e "$install_file" "$1.touched"; then
			install_from=$4/$install_file
		fi
		if [ ! -f "$install_from" ]; then
			rm -f "$2/$install_file"
		elif ! cmp -s "$install_from" "$2/$install_file"; then
			mkdir -p "$2/$(dirname "$install_file")"
			cp --preserve=mode "$install_from" "$2/$install_file.zfolio-new"
			mv -f "$2/$install_file.zfolio-new" "$2/$install_file"
		fi
	done <"$3"
}

# --- Trees -------------------------------------------------------------------

# Sets pristine (the source tree), source_id and source_name.
load_source()
{
	pristine=$("$kp_dir/fetch") || exit $?
	source_id=$(cat "${pristine%/linux}/id")
	# KSRC has trees of its own, so that switching back costs nothing.
	source_name=$BASE
	[ -z "${KSRC:-}" ] || source_name=$BASE-$(basename "${pristine%/linux}")
}

# sync_tree NAME PATCHED: makes $CACHE/trees/NAME/src the pristine source, with
# the series where PATCHED is yes. Sets tree; returns 1, with the tree as it was,
# when a patch does not apply. The caller holds NAME's lock.
sync_tree()
{
	tree=$CACHE/trees/$1
	rm -rf "$tree"/.new.* "$tree/stage" "$tree/stage.touched"
	mkdir -p "$tree"
	if [ ! -d "$tree/src" ]; then
		# Inodes for the directories; the files are links.
		need_space 300 "$CACHE" "a source tree"
		scratch=$tree/.new.$$
		cp -al "$pristine" "$scratch" 2>/dev/null || {
			rm -rf "$scratch"
			need_space "$(du -sm "$pristine" | cut -f1)" "$CACHE" "a source tree"
			cp -a "$pristine" "$scratch"
		}
		mv "$scratch" "$tree/src"
		scratch=
		printf '%s\n' "$source_id" >"$tree/src.id"
		: >"$tree/touched"
	fi

	sync_series=$series_files
	[ "$2" = yes ] || series_files=
	sync_status=0
	stage_series "$pristine" "$tree/stage" || sync_status=1
	series_files=$sync_series
	[ $sync_status = 0 ] || return 1

	# The union, written before the first change: a killed sync is redone whole.
	sort -u "$tree/touched" "$tree/stage.touched" >"$tree/touched.new"
	mv "$tree/touched.new" "$tree/touched"

	if [ "$(cat "$tree/src.id" 2>/dev/null)" != "$source_id" ]; then
		rm -f "$tree/src.id"
		probe_dir=$tree/src
		work "bringing the tree to the new source" "$CACHE/logs/sync.log" probe_space \
			rsync -rlp --checksum --delete --exclude-from="$(exclude_touched)" \
			"$pristine/" "$tree/src/" || {
			show_errors "$CACHE/logs/sync.log"
			die $EX_FAILED "cannot update $tree/src"
		}
		printf '%s\n' "$source_id" >"$tree/src.id"
	fi
	install_staged "$tree/stage" "$tree/src" "$tree/touched" "$pristine"
	cp "$tree/stage.touched" "$tree/touched"
	rm -rf "$tree/stage" "$tree/stage.touched"
}

exclude_touched()
{
	sed 's|^|/|' "$tree/touched" >"$tree/exclude"
	printf '%s\n' "$tree/exclude"
}

# --- Configurations ----------------------------------------------------------

# run_make LABEL LOG SOURCE OUT ARGUMENT...: the kernel's make, for what must
# succeed and usually takes seconds.
run_make()
{
	run_label=$1 run_log=$2 run_source=$3 run_out=$4
	shift 4
	work "$run_label" "$run_log" probe_last make -C "$run_source" O="$run_out" "$@" || {
		! disk_full "$run_log" ||
			die $EX_SPACE "the disk that holds $CACHE became full; the log: $run_log"
		show_errors "$run_log"
		die $EX_FAILED "$run_label failed"
	}
}

# configure OUT LOG LINES ARGUMENT...: tinyconfig plus vm.config plus LINES in
# OUT/.config, rewritten only when that differs. ARGUMENTs go to make.
configure()
{
	configure_out=$1 configure_log=$2 configure_lines=$3
	shift 3
	mkdir -p "$configure_out"
	configure_file=$configure_out/.config.zfolio
	rm -f "$configure_file"
	run_make 'configuring: tinyconfig' "$configure_log" "$tree/src" "$configure_out" \
		KCONFIG_CONFIG="$configure_file" "$@" tinyconfig
	{
		cat "$kp_dir/config/vm.config"
		printf '%s\n' "$configure_lines"
	} >>"$configure_file"
	run_make 'configuring: our options' "$configure_log" "$tree/src" "$configure_out" \
		KCONFIG_CONFIG="$configure_file" "$@" olddefconfig
	cmp -s "$configure_file" "$configure_out/.config" ||
		cp "$configure_file" "$configure_out/.config"
	rm -f "$configure_file" "$configure_file.old"
}

# missing_options CONFIG LINES: those of the wanted CONFIG_X=y|VALUE lines that
# the configuration does not have (an unmet dependency, a renamed option), and of
# the unwanted ones those it has.
missing_options()
{
	printf '%s\n' "$2" | grep -E '^(CONFIG_|# CONFIG_)' | while read -r missing_line; do
		case $missing_line in
		*=n | '#'*)
			missing_option=$(printf '%s' "$missing_line" | grep -oE 'CONFIG_[A-Z0-9_]+')
			! grep -q "^$missing_option=" "$1" || printf '%s\n' "$missing_line" ;;
		*) grep -qxF -e "$missing_line" "$1" || printf '%s\n' "$missing_line" ;;
		esac
	done
}
