#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run_all.sh [PROGRAM...]: runs the tests where it lies, prints KTAP and a
# final count, and fails if a test did, if a program ends before it has told how
# many there are, or if all tests of a program that was named are skipped.  Loads
# wort.ko if that lies there, too.
# What is on $WORT_DEVICE (/dev/pmem0) is lost.  Without names all but fuzz and
# fuzz32, which take long, and those of indexes, atomic batches and mappings with
# each engine; PROGRAM@ENGINE is with that one.  $WORT_PARAMETERS are for the module.
# With $WORT_SKIPS, an extended regular expression, a test may be skipped only for a reason
# that it matches.
# Written for busybox.

cd "$(dirname "$0")" || exit 1
log=$(mktemp) || exit 1
named=$#
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
	engines=$(./engines) && mappable=$(./engines mappable) || exit
	for engine in $(echo "$engines" | tail -n +2); do
		set -- "$@" "index@$engine" "atomic@$engine"
	done
	for engine in $(echo "$mappable" | tail -n +2); do
		set -- "$@" "map@$engine"
	done
fi
for program; do
	# A program that dies may leave a line without an end.
	printf '\n# run: %s\n' "$program"
	run "$program" 2>&1 || printf '\n# status: %s\n' $?
done | tee "$log"

# Programs that say nothing of their tests.  Status 4 is that of one that skips all.
untold()
{
	awk -v named="$named" '
		function judge() {
			if (!program)
				return
			if (!planned || planned != tested + skipped + failed ||
			    (status && status != 4 && !failed))
				print "# " program ": status " status ", " tested + skipped + failed " of " planned + 0 " tests"
			else if (named && !tested && !failed)
				print "# " program ": all tests were skipped"
		}
		/^# run: / {
			judge()
			program = $3
			planned = tested = skipped = failed = status = 0
		}
		/^1\.\./ { planned = substr($1, 4) }
		/^not ok / { failed++ }
		/^ok / && !/# SKIP/ { tested++ }
		/^ok .*# SKIP/ { skipped++ }
		/^# status: / { status = $3 }
		END { judge() }' "$log"
}

# Tests that are skipped for another reason than those that are known.
unexpected()
{
	[ -n "${WORT_SKIPS+set}" ] || return 0
	awk -v known="^# SKIP ($WORT_SKIPS)" '
		/^# SKIP / { reason = $0 }
		/^ok .*# SKIP/ {
			if (reason !~ known)
				print "# skipped, and should not be: " $3 ": " reason
			reason = ""
		}' "$log"
}

# The first tests that failed, each with the first lines since the one before it.
failures()
{
	awk '
		/^# run: / { program = $3 }
		/^not ok / && ++nr <= 8 { print "# " program ": " $0 said }
		/^(not )?ok |^# run: |^1\.\./ { said = ""; lines = 0; next }
		++lines <= 5 { said = said "\n" $0 }' "$log"
}

untold=$(untold)
unexpected=$(unexpected)
passed=$(grep -c '^ok ' "$log")
skipped=$(grep -c '^ok .*# SKIP' "$log")
failed=$(grep -c '^not ok ' "$log")
planned=$(sed -n 's/^1\.\.//p' "$log" | awk '{ n += $1 } END { print n + 0 }')
echo "# all: $planned tests, $((passed - skipped)) passed," \
	"$skipped skipped, $failed failed"
failures
[ -z "$untold" ] || echo "$untold"
[ -z "$unexpected" ] || echo "$unexpected"
[ "$planned" -gt 0 ] && [ "$failed" -eq 0 ] && [ "$planned" -eq "$passed" ] &&
	[ -z "$untold$unexpected" ]
