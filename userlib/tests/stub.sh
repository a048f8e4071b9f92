#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# stub.sh FOLDER: the library and the command against the stub of the
# module's devices (stub.c), which the Makefile has built in FOLDER.

set -euo pipefail

out=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORT_STUB=$work/pmem0
truncate -s 16M "$WORT_STUB"

"$out/tests/wort-stub" format -L stub "$WORT_STUB" >/dev/null
"$out/tests/wort-stub" attach "$WORT_STUB" >/dev/null
"$out/tests/answers"
# ThreadSanitizer wants its memory where it is without randomisation.
if setarch -R true 2>/dev/null; then
	setarch -R "$out/tests/answers-tsan"
else
	"$out/tests/answers-tsan"
fi
"$out/tests/libwort-test-stub" /dev/wort0
"$here/schema.py" "$out/tests/wort-stub" "$out/wort" "$out/tests/wort-made-up"
"$here/status.sh" "$out/tests/wort-stub"
"$here/forms.py" "$out/tests/wort-stub"
"$here/backup.py" "$out/tests/wort-stub" "$out/wort"
"$here/names.py" "$out/tests/wort-stub"
"$here/progress.py" "$out/tests/wort-stub"
"$here/completion.sh" "$out/tests/wort-stub"
"$here/symbols.sh" "$out"
# The tests before have given the pool other labels.
"$out/tests/wort-stub" detach 0 2>/dev/null || true
"$out/tests/wort-stub" format -f -L stub "$WORT_STUB" >/dev/null
"$out/tests/wort-stub" attach "$WORT_STUB" >/dev/null
export PYTHONPATH=$out/tests/python
WORT_HOLD=$out/tests/libwort-hold.so python3 "$here/../python/tests/test_wort.py" -q
python3 "$here/../python/tests/bench.py" -n 100 -r 2 --lmdb "$work" /dev/wort0 >"$work/table"
grep -q '^scan, of a prefix  *[0-9]' "$work/table"
