#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# soak.sh [-e ENGINE] [-j JOBS] HOURS: runs the suites that draw their cases from a
# number, again and again with other numbers, for so many hours: random threads and a
# part of the schedules in the explorer, the image fuzzer, the stress with and without
# the thread sanitiser.  Each processor runs rounds of its own; -j names another number.
#
# It ends at the first failure, and prints the command that failed.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=$wort_top/build
engine=() short=() jobs=$(nproc)

usage()
{
	die "usage: soak.sh [-e ENGINE] [-j JOBS] HOURS"
}

while getopts e:j: opt; do
	case $opt in
	e) engine=(--engine "$OPTARG") short=(-e "$OPTARG") ;;
	j) jobs=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || usage
seconds=$(awk -v h="$1" 'BEGIN { print h ~ /^[0-9.]+$/ ? int(h * 3600) : 0 }')
[ "$seconds" -gt 0 ] || die "HOURS is a number greater than 0, such as 24 or 0.5, not \"$1\""
engines=$(list_engines "$wort_top" | paste -s -d ' ')
[[ ${#short[@]} -eq 0 || " $engines " == *" ${short[1]} "* ]] ||
	die "no engine \"${short[1]}\"; there are: $engines"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "JOBS is a number greater than 0, not \"$jobs\""

# Some kernels spread addresses wider than the thread sanitiser understands.
fixed=()
setarch -R true 2>/dev/null && fixed=(setarch -R)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$wort_top/selftests/scripts/deps.sh" build
for suite in crash fuzz stress; do
	make -s -C "$wort_top/selftests/$suite" O="$build/$suite"
done
begin=$(date +%s)

# try JOB COMMAND...: fails, and says how, if the command does.
try()
{
	local job=$1
	shift

	"$@" >"$work/$job.log" 2>&1 && return
	tail -n 20 "$work/$job.log"
	printf '%q ' "$@" | sed 's/^/failed: /; s/ $/\n/'
	touch "$work/failed"
	return 1
}

# soak_round JOB NUMBER
soak_round()
{
	local explore=("$build/crash/explore" --workers 1 "${engine[@]}")
	local stress=("$build/stress/stress" "${short[@]}" -s "$2")
	local tsan=(env TSAN_OPTIONS="suppressions=$wort_top/selftests/stress/tsan.supp"
		    "${fixed[@]}" "$build/stress/stress-tsan" "${short[@]}" -s "$2")

	try "$1" "${explore[@]}" --random 20000 --number "$(($2 % 100000 * 20000))" &&
		try "$1" "${explore[@]}" --random 5000 --number "$(($2 % 100000 * 20000))" --mandatory &&
		try "$1" "${explore[@]}" --len 0 --preemptions 1 --part "$(($2 % 200 + 1))/200" &&
		try "$1" "$build/fuzz/fuzz" "${short[@]}" -s "$2" -j 1 -t 30 &&
		try "$1" "${stress[@]}" && try "$1" "${stress[@]}" -k 48 -w &&
		try "$1" "${tsan[@]}" -k 600 -r 4 && try "$1" "${tsan[@]}" -k 48 -r 2 -w
}

# soak JOB: rounds with numbers of its own, from the clock on.
soak()
{
	local number=$((begin * jobs + $1))

	while [ ! -e "$work/failed" ] && [ $(($(date +%s) - begin)) -lt "$seconds" ]; do
		soak_round "$1" "$number" || return 1
		number=$((number + jobs))
		echo >>"$work/rounds"
		say "$(wc -l <"$work/rounds") rounds in $((($(date +%s) - begin) / 60)) min"
	done
}

: >"$work/rounds"
for ((job = 0; job < jobs; job++)); do
	soak "$job" &
done
status=0
for pid in $(jobs -p); do
	wait "$pid" || status=1
done
printf '%s: %d rounds, %d min of %d jobs, %s\n' "${short[1]:-all engines}" \
	"$(wc -l <"$work/rounds")" "$((($(date +%s) - begin) / 60))" "$jobs" \
	"$([ "$status" -eq 0 ] && echo "0 failures" || echo "ended by a failure")"
exit "$status"
