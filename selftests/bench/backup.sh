#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# backup.sh: what "wort backup" costs four writers, in a virtual machine.  FLAVOUR
# names another kernel, KEYS another number of records, RUNS another of backups.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=${FLAVOUR:-6.12}
build=$wort_top/build/bench
guest=$build/backup-$flavour

cd "$wort_top"
selftests/scripts/deps.sh build static vm >&2
rm -rf "$guest"
mkdir -p "$guest"
selftests/lint/kbuild.sh -n -t -o "$guest" "$flavour" gcc >&2
make -s -C selftests/bench O="$build" "$build/writers"
make -s -C userlib O="$build/userlib" static
cp "$build/writers" "$guest"
cp "$build/userlib/wort-static" "$guest/wort"
selftests/vm/run.sh -k "$flavour" -m 512 -t 900 -l libcrc32c -f "$guest:/bench" \
	-c "cd /bench && insmod ./wort.ko && ./wort format /dev/pmem0 &&
	    ./wort attach /dev/pmem0 &&
	    ./writers ./wort /dev/wort0 ${KEYS:-300000} ${RUNS:-5}"
