#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Part of run.sh, which sources it: judges what a guest left behind: its
# console and QEMU's status, both in the folder $work.
# shellcheck disable=SC2154

# Exit statuses of the runner itself; 125 is init.sh's: no pmem, no module.
st_usage=94	# or the guest could not be put together
st_killed=93	# QEMU was killed from outside
st_timeout=92
st_complaint=91	# the guest's kernel complained
st_silent=90	# the guest ended before it could say how
st_emulator=89	# a fault of QEMU's

# stop STATUS TEXT
stop()
{
	say "$2"
	exit "$1"
}

# Each with what the kernel says of it.  Only the kernel's own lines count: they
# begin with a time.
kernel_complaints()
{
	grep -a -E '\[ *[0-9]+\.[0-9]{6}\]' "$work/console" |
		grep -A 24 -E -e 'WARNING:|BUG:|Oops|Kernel panic|KASAN|KCSAN|UBSAN' \
			-e 'INFO: (possible|task|rcu|suspicious|trying)' \
			-e 'rcu: INFO|suspicious RCU|kernel BUG at' \
			-e 'int3: 0000' \
			-e 'DEBUG_LOCKS_WARN|lockdep is turned|turning off the' \
			-e 'general protection|soft lockup|refcount_t:' \
			-e 'cannot create duplicate filename|tried to init an initialized object' \
			-e 'unreferenced object|suspected memory leaks'
}

# A kernel that patches its code stores a breakpoint there first.  QEMU before 8.1 may
# translate it while another processor takes it away, and then runs it for good.  The kernel
# reports the trap at the byte behind; if the one before is no "cc", there is no breakpoint.
complaint_is_of_emulator()
{
	local code

	head -n 1 "$work/complaints" | grep -q 'int3: 0000 \[#1\]' || return
	code=$(grep -m 1 'Code: ' "$work/complaints")
	[[ $code == *'<'* && $code != *'cc <'* ]]
}

# Taints of a bad page, an oops, a warning, a lockup: also those which were
# not printed.
bad_taint()
{
	local taint

	taint=$(said TAINTED)
	[ -n "$taint" ] && [ $((taint & (1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))) -ne 0 ]
}

# said WORD: the number that the guest printed last for it, if any.
said()
{
	sed -n "s/^WORT_VM_$1=\([0-9]*\)$/\1/p" "$work/console" | tail -n 1
}

verdict()
{
	local status rc

	status=$(cat "$work/status")
	[ ! -e "$work/hung" ] ||
		stop "$st_timeout" "the guest's kernel did not come up in time"
	if kernel_complaints >"$work/complaints"; then
		head -n 25 "$work/complaints" >&2
		! complaint_is_of_emulator || stop "$st_emulator" \
			"the emulator ran a breakpoint that is not in memory"
		stop "$st_complaint" "the guest's kernel complained: $(
			sed -n '1s/^[^]]*] *//p' "$work/complaints")"
	elif bad_taint; then
		stop "$st_complaint" "the guest's kernel is tainted: $(said TAINTED)"
	fi
	rc=$(said EXIT)
	case $status in
	0)	[ -n "$rc" ] || stop "$st_silent" "the guest ended without a word"
		exit "$rc" ;;
	124)	stop "$st_timeout" "time limit: the guest took over $limit s" ;;
	137)	stop "$st_killed" "QEMU was killed" ;;
	*)	stop "$st_usage" "QEMU failed with status $status" ;;
	esac
}
