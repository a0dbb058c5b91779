# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for zfolioctl

# Paths of cgroups, a level at a time.
_zfolioctl_cgroups()
{
	local dir
	compopt -o nospace -o filenames
	while read -r dir; do
		COMPREPLY+=("${dir#/sys/fs/cgroup/}")
	done < <(compgen -d -- "/sys/fs/cgroup/$1")
}

_zfolioctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local commands='status top explain set features measure advise metrics'
	local keys='writeback swapin proactive weight pool_target step_min
		step_max memory_pressure io_pressure refault_limit off_refaults
		off_ticks thrash_limit thrash_ticks calm dwell swapin_min
		swapin_max zswap_max'
	local word command='' arguments=0 i

	COMPREPLY=()
	case $prev in
	--color)
		mapfile -t COMPREPLY < <(compgen -W 'always never auto' -- "$cur")
		return
		;;
	--root)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--for | --interval | --iterations | --size | --samples)
		return
		;;
	esac
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--color | --root | --for | --interval | --iterations | --size | --samples | --output) ((i++)) ;;
		-*) ;;
		*)
			if [ -z "$command" ]; then
				command=$word
			else
				((arguments++))
			fi
			;;
		esac
	done
	case $cur in
	-*)
		mapfile -t COMPREPLY < <(compgen -W '--json --bytes --color
			--root --for --interval --iterations --size --samples --output --help' -- "$cur")
		return
		;;
	esac
	case $command:$arguments in
	:0)
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
		;;
	explain:0 | set:0 | advise:0)
		_zfolioctl_cgroups "$cur"
		;;
	set:1)
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen -S = -W "$keys" -- "$cur")
		;;
	esac
}

complete -F _zfolioctl zfolioctl
