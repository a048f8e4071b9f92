#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run_debug.sh [PROGRAM...]: run_all.sh, then what a kernel with debugging
# tells only when it is asked: that lockdep is still watching, and whether
# memory leaked.  Unloads the module.  Written for busybox.
#
# run_debug.sh -l: only asks.

kmemleak=/sys/kernel/debug/kmemleak
status=0

complain()
{
	echo "# $1"
	status=1
}

run_tests()
{
	sh "$(dirname "$0")/run_all.sh" "$@" || complain "tests failed"
	rmmod wort || complain "the module is still in use"
}

# It turns itself off with its first report, or when its tables are full.
look_at_lockdep()
{
	[ -e /proc/lockdep_stats ] || return
	grep -q 'debug_locks: *1$' /proc/lockdep_stats ||
		complain "lockdep has turned itself off"
}

# What is younger than five seconds is not suspected yet, nor is what has
# changed since the last scan.
look_for_leaks()
{
	[ -e $kmemleak ] || return
	sleep 6
	# It turns itself off when it finds no memory, and takes no scan then.
	for _ in 1 2; do
		echo scan >$kmemleak || complain "kmemleak has turned itself off"
	done
	cat $kmemleak
	! grep -q . $kmemleak || complain "memory leaked"
}

[ "${1:-}" = -l ] || run_tests "$@"
look_for_leaks
look_at_lockdep
exit $status
