#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# symbols.sh FOLDER: libwort exports exactly the functions of wort.h, each with
# a version; libwort(3) has them all; the shared library is called what
# programs are linked with.

set -euo pipefail

out=$(realpath "$1")
top=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Functions that are declared: preprocessed, a name before "(" ends in ");".
cc -E -P -I"$top/userlib/include" -I"$top/uapi" -include wort.h -x c /dev/null |
	tr -d '\n' | tr ';' '\n' |
	sed -n 's/.*[ *]\(wort_[a-z0-9_]*\)(.*/\1/p' | sort -u >header
nm -D --defined-only "$out/libwort.so" | awk '$2 == "T" { print $3 }' |
	tee versions | sed 's/@.*//' | sort -u >exported
sed -n 's/^\t\t\(wort_[a-z0-9_]*\);$/\1/p' "$top/userlib/lib/libwort.map" |
	sort -u >map
grep -o '\*\*wort_[a-z0-9_]*\*\*' "$top/Documentation/man/libwort.3.rst" |
	tr -d '*' | sort -u >page

[ -s header ]
diff header exported
diff header map
diff header page
if grep -v "@@LIBWORT_" versions; then exit 1; fi

soname=$(objdump -p "$out/libwort.so" | awk '$1 == "SONAME" { print $2 }')
[[ $soname =~ ^libwort\.so\.[0-9]+$ ]]
[ "$(readlink -f "$out/$soname")" = "$(readlink -f "$out/libwort.so")" ]
echo "$(wc -l <header) functions, $soname"
