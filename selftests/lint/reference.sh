#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# reference.sh: the page that is made from the comments in the sources has each
# function that the module exports and each struct of an ioctl.  After "make docs".

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

cd "$wort_top"
page=build/docs/reference.html
[ -f "$page" ] || die "$page is not there: make docs"
exports=$(sed -n 's/^EXPORT_SYMBOL_NS_GPL(\(\w*\),.*/id="c.\1"/p' kmod/dev/*.c)
structs=$(sed -n 's|^struct \(wort_\w*_arg\) {|<span class="pre">\1</span></span></dt>|p' uapi/linux/wort.h)
[ -n "$exports" ] || die "no function is exported"
[ -n "$structs" ] || die "no ioctl has a struct"
while read -r what; do
	grep -qF "$what" "$page" || die "$page does not have $what"
done <<<"$exports
$structs"
