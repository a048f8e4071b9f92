#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh: the ways into the module, and the kernel's own indexes, in a virtual
# machine whose clock counts instructions.  FLAVOUR names another kernel, KEYS
# another number of keys.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=${FLAVOUR:-6.12}
build=$wort_top/build/bench
guest=$build/guest-$flavour

prepare()
{
	selftests/scripts/deps.sh build static vm
	rm -rf "$guest"
	mkdir -p "$guest"
	selftests/lint/kbuild.sh -n -t -o "$guest" "$flavour" gcc
	make -s -C selftests/bench O="$build" "$build/paths"
	make -s -C userlib O="$build/userlib" static
	cp "$build/paths" "$guest"
	cp "$build/userlib/wort-static" "$guest/wort"
	cat >"$guest/run" <<-END
		set -e
		cd /bench
		insmod ./wort.ko
		./wort format /dev/pmem0
		./wort attach /dev/pmem0
		./paths /dev/wort0 ${KEYS:-20000}
		insmod ./wort_bench.ko keys=${KEYS:-20000}
		dmesg | sed -n 's/.*wort_bench: //p'
	END
}

cd "$wort_top"
prepare >&2
say "instructions an operation, not nanoseconds; a byte that is copied or"
say "cleared by a string instruction counts as one"
WORT_VM_ACCEL=icount selftests/vm/run.sh -k "$flavour" -n 1 -t 900 \
	-l libcrc32c -f "$guest:/bench" -c 'sh /bench/run'
