#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pairs.sh EXPLORER [PATTERN]: runs it with each line of pairs.txt, or those that match;
# fails if one of them does.

set -euo pipefail
nr=0
while read -r line; do
	[[ $line == --* && $line =~ ${2:-} ]] || continue
	echo "$line"
	eval "options=($line)"
	"$1" "${options[@]}"
	nr=$((nr + 1))
done <"$(dirname "$0")/pairs.txt"
echo "$nr pairs"
[ "$nr" -gt 0 ]
