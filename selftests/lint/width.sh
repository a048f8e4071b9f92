#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# width.sh: of the lines of each folder of kmod, at most one in a hundred has more than
# 80 columns: messages, which are not broken, and what reads worse when it is.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# "path:line" of the wide lines of a folder, if there are too many.
wide_lines()
{
	local file

	find "$1" -name '*.[ch]' | sort | while read -r file; do
		expand "$file" | awk -v file="$file" '
			{ print (length > 80 ? file ":" NR : "") }'
	done | awk '/./ { wide[++nr] = $0 }
		END { if (nr * 100 > NR) for (i = 1; i <= nr; i++) print wide[i] }'
}

check()
{
	local folder

	for folder in "$1"/*/; do
		wide_lines "${folder%/}"
	done
}

# A folder of a hundred lines, so many of them with more than 80 columns.
plant()
{
	mkdir -p "$work/$1/folder"
	{
		seq "$2" | sed "s/.*/$(printf '%81s' x)/"
		seq $((100 - $2)) | sed "s/.*/$(printf '\t%72s' x)/"
	} >"$work/$1/folder/file.c"
}

if [ "${1:-}" = --self-test ]; then
	work=$(temp_dir width)
	trap 'rm -rf "$work"' EXIT
	plant narrow 1
	plant wide 2
	[ -z "$(check "$work/narrow")" ] || die "one line in a hundred is too many"
	[ "$(check "$work/wide" | wc -l)" -eq 2 ] || die "two wide lines are not found"
	exit
fi
found=$(check "$wort_top/kmod")
[ -z "$found" ] ||
	die "more than one line in a hundred has more than 80 columns:
$found
clang-format with --lines breaks them as the kernel does"
