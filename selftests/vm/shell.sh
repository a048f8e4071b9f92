#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# shell.sh [-k FLAVOUR] [-i IMAGE] [-f FILE]... [-c COMMANDS]: a shell in a
# virtual machine with persistent memory at /dev/pmem0; the module, the wort
# command and two programs of the documentation are in /root.
#
#   -k FLAVOUR	kernel: 6.1 (default), another of Debian's, debug, kcsan or custom
#   -i IMAGE	keep the persistent memory in this file, made if it is not there
#   -f FILE	take it along, to /root
#   -c COMMANDS	instead of a shell

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=6.1 image='' commands='' files=()
while getopts k:i:f:c: opt; do
	case $opt in
	k) flavour=$OPTARG ;;
	i) image=$(realpath "$OPTARG") ;;
	f) files+=(-f "$(realpath "$OPTARG")") ;;
	c) commands=$OPTARG ;;
	*) die "usage: shell.sh [-k FLAVOUR] [-i IMAGE] [-f FILE]..." \
		"[-c COMMANDS]" ;;
	esac
done
build=$wort_top/build
module=$build/shell/$flavour
cd "$wort_top"

# Unless it was built for these headers, and no source has changed since.
build_module()
{
	local headers

	headers=$(selftests/scripts/kernel.sh headers "$flavour")
	[ "$(cat "$module/headers" 2>/dev/null)" != "$headers" ] ||
		[ -n "$(find Kbuild kmod uapi -newer "$module/headers" -print -quit)" ] ||
		return 0
	rm -rf "$module"
	mkdir -p "$module"
	echo "$headers" >"$module/building"
	selftests/lint/kbuild.sh -n -o "$module" "$flavour" gcc
	mv "$module/building" "$module/headers"
}

selftests/scripts/deps.sh build static vm
selftests/scripts/kernel.sh image "$flavour" >/dev/null
build_module
make -s -C userlib O="$build/userlib" all tests
guest=(selftests/vm/run.sh -k "$flavour" -l libcrc32c
	-f "$module/wort.ko" -f "$build/userlib/wort"
	-f "$build/userlib/tests/example-libwort"
	-f "$build/userlib/tests/example-uapi" "${files[@]}")
[ -z "$image" ] || guest+=(-i "$image")
if [ -n "$commands" ]; then
	exec "${guest[@]}" -t 300 -c "$commands"
fi
say "in the guest: insmod wort.ko; ./wort doctor /dev/pmem0"
say "to leave it: poweroff -f, or Ctrl-a x"
exec "${guest[@]}" -t 86400 -s
