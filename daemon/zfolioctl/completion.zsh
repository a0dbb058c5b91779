#compdef zfolioctl
# SPDX-License-Identifier: GPL-2.0-or-later
# zsh completion for zfolioctl

_zfolioctl_cgroup() {
	_files -/ -W /sys/fs/cgroup
}

# KEY=VALUE; the words of keys that take words.
_zfolioctl_setting() {
	local -a keys=(writeback swapin proactive weight pool_target step_min
		step_max memory_pressure io_pressure refault_limit off_refaults
		off_ticks thrash_limit thrash_ticks calm dwell swapin_min
		swapin_max zswap_max)

	if ! compset -P '*='; then
		compadd -S = -q -a keys
		return
	fi
	case $IPREFIX in
	*writeback=) compadd auto on off leave ;;
	*swapin=) compadd auto leave ;;
	*proactive=) compadd yes no ;;
	*) _message value ;;
	esac
}

_zfolioctl() {
	local -a commands=(
		'status:the pool, swap devices, and cgroups with memory in swap'
		'top:the same, again and again'
		'explain:signals, limits and actions of a cgroup'
		'set:set a key for one cgroup'
		'features:what this kernel has'
		'measure:how long swap-in takes here and now'
		'advise:how well the pages of a cgroup compress'
		'metrics:all numbers as OpenMetrics text'
	)
	local context state state_descr line
	local -A opt_args

	_arguments -C \
		'--json[print the reply as JSON]' \
		'--bytes[sizes in bytes, not rounded]' \
		'--color=[when to use colour]:when:(always never auto)' \
		'--root=[take this directory for /]:directory:_files -/' \
		'--for=[with set: take it back after this time]:time, as 30min:' \
		'--interval=[with top: from one view to the next]:time, as 2s:' \
		'--iterations=[with top: end after so many views]:number:' \
		'--size=[with measure: how much memory]:size, as 64M:' \
		'--samples=[with advise: how many pages]:number:' \
		'--output=[with metrics: replace this file as a whole]:file:_files' \
		'(-h --help)'{-h,--help}'[print a summary]' \
		'1:command:->command' \
		'2:cgroup:->cgroup' \
		'3:setting:->setting'
	case $state:${words[(r)(explain|advise|set)]} in
	command:*) _describe command commands ;;
	cgroup:?*) _zfolioctl_cgroup ;;
	setting:set) _zfolioctl_setting ;;
	esac
}

_zfolioctl "$@"
