#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# removal.sh [-k FLAVOUR] [-r ROUNDS] [-s SEED] [-n KEYS] [-p FOLDER]: takes the
# memory away from a pool under load, again and again, in a virtual machine.
# FOLDER has wort.ko and the program "removal" (build/guest-FLAVOUR).  KEYS, a
# power of two up to 4096, are those of a worker in an index: on a kernel that is
# slow to look closer, fewer make more rounds.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=6.1 rounds=20 seed=$((RANDOM << 15 | RANDOM)) keys=4096 programs=''
while getopts k:r:s:n:p: opt; do
	case $opt in
	k) flavour=$OPTARG ;;
	r) rounds=$OPTARG ;;
	s) seed=$OPTARG ;;
	n) keys=$OPTARG ;;
	p) programs=$OPTARG ;;
	*) die "usage: removal.sh [-k FLAVOUR] [-r ROUNDS] [-s SEED]" \
		"[-n KEYS] [-p FOLDER]" ;;
	esac
done
programs=${programs:-$wort_top/build/guest-$flavour}

# A minute for each round: one that hangs gives up after ten itself.
"$wort_top/selftests/vm/run.sh" -k "$flavour" -t $((900 + 60 * rounds)) \
	-l libcrc32c -f "$programs:/wort-tests" \
	-c "cd /wort-tests && insmod wort.ko && ./removal $rounds $seed $keys"
echo "# all: $rounds removals under load on $flavour, seed $seed"
