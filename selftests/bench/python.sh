#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# python.sh: what the package for Python costs with the module, beside py-lmdb, in
# a virtual machine.  FLAVOUR names another kernel, KEYS another number of records,
# ROUNDS another of rounds.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=${FLAVOUR:-6.12}
build=$wort_top/build/bench
guest=$build/python-$flavour
python=/usr/bin/python3

# Without the parts that no program here imports, which are most of its size.
copy_python()
{
	local library
	library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

	mkdir -p "$guest/library"
	tar -C "$library" --exclude='config-*' --exclude=__pycache__ --exclude=test \
		--exclude=dist-packages --exclude=tkinter --exclude=pydoc_data -c . |
		tar -C "$guest/library" -x
	cp -R "$("$python" -c 'import lmdb; print(lmdb.__path__[0])')" "$guest/lmdb"
	echo "$library"
}

cd "$wort_top"
selftests/scripts/deps.sh build static vm python lmdb >&2
rm -rf "$guest"
mkdir -p "$guest"
selftests/lint/kbuild.sh -n -t -o "$guest" "$flavour" gcc >&2
make -s -C userlib O="$build/userlib" static
(cd userlib/python && "$python" -W ignore setup.py -q build \
	--build-base "$build/python-build" --build-lib "$guest")
cp "$build/userlib/wort-static" "$guest/wort-command"
cp userlib/python/tests/bench.py "$guest"
library=$(copy_python)
rm -rf "$build/python-library"
mv "$guest/library" "$build/python-library"
selftests/vm/run.sh -k "$flavour" -m 512 -g 3072 -t 900 -l libcrc32c \
	-f "$guest:/bench" -f "$build/python-library:$library" \
	-f "$python:/usr/bin/python3" -c "cd /bench && insmod ./wort.ko &&
	    ./wort-command format /dev/pmem0 && ./wort-command attach /dev/pmem0 &&
	    mkdir -p /dev/shm && mount -t tmpfs none /dev/shm &&
	    python3 -B bench.py -n ${KEYS:-1000000} -r ${ROUNDS:-3} /dev/wort0"
