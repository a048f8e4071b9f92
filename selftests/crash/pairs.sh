#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pairs.sh EXPLORER: runs it with each line of pairs.txt; fails if one of them does.

set -euo pipefail
nr=0
while read -r line; do
	[[ $line == --* ]] || continue
	echo "$line"
	eval "options=($line)"
	"$1" "${options[@]}"
	nr=$((nr + 1))
done <"$(dirname "$0")/pairs.txt"
echo "$nr pairs"
[ "$nr" -gt 0 ]
