#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run_all.sh [PROGRAM...]: runs the tests where it lies, prints KTAP and a
# final count, and fails if a test did.  Loads wort.ko if that lies there, too.
# What is on $WORT_DEVICE (/dev/pmem0) is lost.  Without names all but fuzz and
# fuzz32, which take long, and those of indexes, atomic batches and mappings with
# each engine; PROGRAM@ENGINE is with that one.  $WORT_PARAMETERS are for the module.
# Written for busybox.

cd "$(dirname "$0")" || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

if [ ! -e /dev/wort-control ]; then
	# shellcheck disable=SC2086 # several
	insmod ./wort.ko $WORT_PARAMETERS 2>/dev/null ||
		modprobe wort $WORT_PARAMETERS || exit 4
fi

run()
{
	case $1 in
	*@*)	WORT_ENGINE=${1#*@} "./${1%@*}" ;;
	*)	"./$1" ;;
	esac
}

# This file is there if the kernel runs 32-bit programs.
if [ $# -eq 0 ]; then
	set -- abi control pool freeze index atomic
	for program in abi32 index32 atomic32; do
		if [ ! -e $program ] || [ ! -e /proc/sys/abi/vsyscall32 ]; then
			echo "# $program: not built, or not for this kernel"
			continue
		fi
		set -- "$@" $program
	done
	set -- "$@" uring api sysfs trace map memory revoke
	for engine in $(./engines | tail -n +2); do
		set -- "$@" "index@$engine" "atomic@$engine"
	done
	for engine in $(./engines mappable | tail -n +2); do
		set -- "$@" "map@$engine"
	done
fi
for program; do
	echo "# $program"
	run "$program" 2>&1 || echo "# $program: status $?"
done | tee "$log"

passed=$(grep -c '^ok ' "$log")
skipped=$(grep -c '^ok .*# SKIP' "$log")
failed=$(grep -c '^not ok ' "$log")
planned=$(sed -n 's/^1\.\.//p' "$log" | awk '{ n += $1 } END { print n + 0 }')
echo "# all: $planned tests, $((passed - skipped)) passed," \
	"$skipped skipped, $failed failed"
[ "$planned" -gt 0 ] && [ "$failed" -eq 0 ] && [ "$planned" -eq "$passed" ]
