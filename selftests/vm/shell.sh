#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# shell.sh [FLAVOUR]: a shell in a virtual machine with persistent memory at
# /dev/pmem0, the module and the wort command in /root.  Nothing is kept.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=${1:-6.1}
build=$wort_top/build
cd "$wort_top"
selftests/scripts/deps.sh build static vm
selftests/scripts/kernel.sh image "$flavour" >/dev/null
mkdir -p "$build/shell"
selftests/lint/kbuild.sh -n -o "$build/shell" "$flavour" gcc
make -s -C userlib O="$build/userlib"
say "in the guest: insmod wort.ko; ./wort format /dev/pmem0; ./wort attach /dev/pmem0"
exec selftests/vm/run.sh -k "$flavour" -l libcrc32c -t 86400 \
	-f "$build/shell/wort.ko" -f "$build/userlib/wort" -s
