#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# hibernate.sh [-k FLAVOUR] [-p FOLDER]: hibernates a virtual machine while its pool
# frees a large index, and lets it come back twice: to a pool that nobody has touched,
# and to one to which another system has stored.  FOLDER has wort.ko and wort-static
# (build/guest-FLAVOUR).

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=6.12 programs=''
while getopts k:p: opt; do
	case $opt in
	k) flavour=$OPTARG ;;
	p) programs=$OPTARG ;;
	*) die "usage: hibernate.sh [-k FLAVOUR] [-p FOLDER]" ;;
	esac
done
programs=${programs:-$wort_top/build/guest-$flavour}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
truncate -s 256M "$work/pmem"
truncate -s 2G "$work/swap"

# boot COMMANDS: one boot of the machine, which has a disk for its own memory.
boot()
{
	"$wort_top/selftests/vm/run.sh" -k "$flavour" -t 600 -g 768 \
		-i "$work/pmem" -l libcrc32c -l virtio_pci -l virtio_blk \
		-q "-drive file=$work/swap,if=virtio,format=raw" \
		-A "$work/said" -f "$programs/wort.ko:/wort-tests/wort.ko" \
		-f "$programs/wort-static:/wort-tests/wort-static" \
		-f "$wort_top/selftests/load/hibernate-guest.sh:/wort-tests/hibernate-guest.sh" \
		-c "cd /wort-tests && . ./hibernate-guest.sh && $1"
}

# said WORD: what a boot has said last.
said()
{
	sed -n "s/^$1 *//p" "$work/said" | tail -n 1
}

# A machine that hibernates powers off without a word.  The index that was being freed
# still has all its extents afterwards.
hibernate()
{
	local status=0

	: >"$work/said"
	boot before || status=$?
	[ "$status" -eq 90 ] && grep -q '^begin' "$work/said" ||
		die "the machine did not hibernate ($status)"
	boot "$1"
	[ "$(said found)" -le "$(said free)" ] ||
		die "space was given back behind the snapshot:" \
			"$(said free) extents were free, then $(said found)"
	boot resume
}

hibernate other
[ "$(said unchanged:)" = ok ] || die "a pool that nobody touched is lost"
hibernate touched
[ "$(said changed:)" = ok ] || die "nobody noticed that somebody else had stored"
echo "# all: hibernated twice on $flavour"
