#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# file-crash.sh FOLDER [IMAGES]: power cuts on a pool in a plain file, and deliberate
# bugs in what a fence does, each of which has to be found.  FOLDER is where the Makefile
# has built the library; IMAGES is 5000 unless given.

set -euo pipefail

out=$(realpath "$1")
images=${2:-5000}
here=$(realpath "$(dirname "$0")")
top=$here/../..
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT

"$out/tests/file-crash" "$work" "$images"

# mutant NAME TEXT REPLACEMENT: one line of sync.c, which must be there once.
mutant()
{
	local name=$1 text=$2 new=$3

	[ "$(grep -cF -- "$text" "$top/userlib/local/sync.c")" -eq 1 ] ||
		{ echo "$name: not once in sync.c: $text"; exit 1; }
	TEXT=$text NEW=$new perl -pe 's/\Q$ENV{TEXT}\E/$ENV{NEW}/' \
		"$top/userlib/local/sync.c" >"$work/sync.c"
	make -s -C "$top/userlib" O="$out" MUTANT="$work/sync.c" \
		MUTANT_OUT="$work/mutant" "$work/mutant"
	if "$work/mutant" "$work" 20000 >"$work/said" 2>&1; then
		echo "$name survives"
		exit 1
	fi
	echo "$name: found: $(tail -n 1 "$work/said" | cut -d';' -f1)"
}

mutant no-msync '!holds(file, from) || !msync(from, to - from, MS_SYNC)' 'to'
mutant asynchronous 'MS_SYNC))' 'MS_ASYNC))'
mutant first-page-only 'to - from, MS_SYNC' '4096, MS_SYNC'
mutant last-range-only '!flushed.from || from < flushed.from' 'true'
mutant end-forgotten 'if (to > flushed.to)' 'if (!flushed.to)'
mutant range-kept-short '(uintptr_t)addr + len, page_size()' '(uintptr_t)addr + 1, page_size()'
mutant no-flush 'if (!file || file->way == SYNC_NONE)' 'if (true)'
