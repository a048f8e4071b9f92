#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# monitoring.sh: what can be seen of a pool is described, and what is
# described is there: attributes, variables of uevents, tracepoints.
# Prints the differences, and fails if there are any.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

abi=Documentation/ABI/testing/sysfs-class-wort
page=Documentation/monitoring.rst
source=kmod/dev/sysfs.c
events=kmod/include/trace/events/wort.h
stand_ins=selftests/shim/trace/events/wort.h
differ=0

# same TEXT FILE FILE: two sorted lists.
same()
{
	diff "$2" "$3" >"$work/diff" && return
	echo "$1:"
	grep '^[<>]' "$work/diff"
	differ=1
}

list_attributes()
{
	sed -n -E 's/^(static )?(DEVICE_ATTR_RO|FIGURE|SPACE|PROGRESS)\(([a-z_]+)[,)].*/\3/p' \
		"$source" | grep -v '^name$' | sort
}

list_abi()
{
	sed -n 's#^What:.*/wort<N>/##p' "$abi" | grep -v '^uevent$' | sort
}

# First column of the table on the page whose head begins so.
list_table()
{
	awk -v head="$1" '$1 == head { on = 1; rules = 0; next }
		on && /^===/ && ++rules == 2 { exit }
		on && /^``/ { gsub(/``/, "", $1); print $1 }' "$page" | sort
}

list_events()
{
	sed -n -E -e 's/^TRACE_EVENT\((.*),$/\1/p' \
		-e 's/^DEFINE_EVENT\([a-z_]*, (.*),$/\1/p' "$events" | sort
}

# The portable layers' events have a stand-in.
list_called()
{
	grep -r -h -o -E 'trace_wort_[a-z_]+' kmod/core kmod/engine kmod/pool |
		sort -u
}

main()
{
	# Not "local": the trap outlives this function.
	work=$(temp_dir monitoring)
	trap 'rm -rf "$work"' EXIT
	cd "$wort_top"
	list_attributes >"$work/attributes"
	list_abi >"$work/abi"
	list_table file >"$work/files"
	same "attributes and $abi" "$work/attributes" "$work/abi"
	same "attributes and $page" "$work/attributes" "$work/files"
	grep -o -E 'WORT_[A-Z]+=' "$source" | tr -d = | sort >"$work/sent"
	list_table variable >"$work/variables"
	same "variables and $page" "$work/sent" "$work/variables"
	list_events >"$work/events"
	list_table event >"$work/told"
	same "events and $page" "$work/events" "$work/told"
	list_called >"$work/called"
	grep -o -E 'trace_wort_[a-z_]+' "$stand_ins" | sort >"$work/shim"
	same "events and their stand-ins" "$work/called" "$work/shim"
	[ -s "$work/attributes" ] && [ -s "$work/events" ] || differ=1
	return "$differ"
}

main
