#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# offline.sh WORT MKIMAGE [ROUNDS]: the wort command on images, without the
# module: whole ones, and ones with random bytes in them, which must be told
# from whole ones or read as well as can be, but never crash.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=expect.sh
. "$(dirname "$0")/expect.sh"

wort=$(realpath "$1") mkimage=$(realpath "$2") rounds=${3:-200}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

check_whole()
{
	local image=$1

	sha256sum "$image" >before
	expect 0 '^clean$' "$wort" check "$image"
	expect 0 '"records": 3000' "$wort" check -o json "$image"
	expect 0 'label *image' "$wort" stat "$image"
	expect 0 'engine *wort' "$wort" stat "$image" n
	expect 0 '^bytes *[1-9]' "$wort" stat "$image" n
	# Bytes and records of each index, for people and for programs.
	for verb in check stat 'list -l'; do
		# shellcheck disable=SC2086 # a verb and an option
		expect 0 ' [1-9][0-9]* *3000  n$' "$wort" $verb "$image"
	done
	expect 0 ' n$' "$wort" list "$image"
	expect 0 '^77$' "$wort" get "$image" n 77
	expect 1 'no such key' "$wort" get "$image" n 3001
	expect 1 'no such index' "$wort" get "$image" m 1
	expect 0 '^3000$' "$wort" count "$image" n
	expect 0 '^111$' "$wort" count -p 12 "$image" n
	expect 0 '^999	999$' "$wort" scan -r -l 1 "$image" n
	# A file that begins with the pool is a pool; one of a namespace is not.
	[ "$image" = flat.img ] || expect 3 'only be read' "$wort" put "$image" n a b
	# shellcheck disable=SC2094 # the image is only read
	"$wort" dump "$image" n >dump
	seq 3000 | sed 's/.*/&\t&/' | LC_ALL=C sort | cmp - dump
	sha256sum -c --quiet before
	expect 0 '^clean$' "$wort" check --clear "$image"
}

# Bytes of the pool's first part: superblocks, extent table, catalogue, nodes.
damage()
{
	local i at

	cp flat.img bad.img
	for i in 1 2 3 4; do
		at=$((4096 + (RANDOM << 15 | RANDOM) % 600000))
		printf '%b' "\\x$(printf %02x $((RANDOM % 256)))" |
			dd of=bad.img bs=1 seek=$at conv=notrunc status=none
	done
}

check_damaged()
{
	local i verb status

	RANDOM=1
	for ((i = 0; i < rounds; i++)); do
		damage
		for verb in "check bad.img" "stat bad.img" "dump bad.img n"; do
			status=0
			# shellcheck disable=SC2086 # a verb and its arguments
			timeout 20 "$wort" $verb >said 2>&1 || status=$?
			[ "$status" -le 4 ] && [ "$status" -ne 2 ] && continue
			echo "round $i: wort $verb: status $status"
			tail -n 20 said
			exit 1
		done
	done
}

# Private memory for what is stored, and not for the whole image.
check_memory()
{
	"$mkimage" big.img 1024 0 3000
	sha256sum big.img >before
	for verb in check stat 'dump -q'; do
		# shellcheck disable=SC2016,SC2086 # for the inner shell; a verb
		expect 0 . bash -c 'ulimit -d 200000; "$@"' - \
			"$wort" $verb big.img $([ "$verb" = 'dump -q' ] && echo n)
	done
	sha256sum -c --quiet before
	rm big.img
}

# What is printed does not go into the image when descriptors are closed.
check_descriptors()
{
	local fds

	cp word.img want.img
	"$wort" check --clear want.img >/dev/null 2>&1 || true
	for fds in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
		cp word.img closed.img
		bash -c "'$wort' check closed.img $fds" >/dev/null || true
		cmp word.img closed.img
		bash -c "'$wort' check --clear closed.img $fds" >/dev/null || true
		cmp want.img closed.img
	done
}

check_names()
{
	expect 3 'too long' "$wort" count flat.img "$(printf '%0112d' 0)"
	expect 3 . "$wort" count flat.img ''
	cp flat.img $'\e[2J\xc2\x9b'
	"$wort" check --offset 8k $'\e[2J\xc2\x9b' >said 2>&1 || true
	lacks $'\e\|\xc2\x9b' said
	cp word.img $'\e[2J\xc2\x9b'
	"$wort" check $'\e[2J\xc2\x9b' >said 2>&1 || true
	grep -q '\\x1b' said
	lacks $'\e\|\xc2\x9b' said
}

"$mkimage" flat.img 8 0 3000
"$mkimage" nvdimm.img 16 4 3000
check_whole flat.img
check_whole nvdimm.img
head -c 1000000 /dev/zero >zero.img
expect 1 'there is no pool' "$wort" check zero.img
expect 0 '^clean' "$wort" check --offset 4M nvdimm.img
expect 1 'there is no pool' "$wort" check --offset 8k flat.img
expect 2 'no pool can be at this offset' "$wort" check --offset 1 flat.img
head -c 300000 flat.img >cut.img
expect 3 'cut.img: the pool has 8388608 bytes, what it lies on 300000' \
	"$wort" check cut.img
zero_copies()
{
	cp flat.img lost.img
	dd if=/dev/zero of=lost.img bs=4096 seek="$1" count="$2" conv=notrunc \
		status=none
}
zero_copies 2 1
expect 4 '1 copies of the superblock were lost' "$wort" check lost.img
expect 0 'written anew' "$wort" check -c lost.img
expect 0 '^clean$' "$wort" check lost.img
zero_copies 1 2
expect 3 'the beginning of a pool is lost' "$wort" check -c lost.img
expect 3 'the beginning of a pool is lost' "$wort" count -o json lost.img n
expect 3 'wort check --clear --from-copy lost.img' "$wort" put lost.img n a b
expect 3 'nothing was changed' "$wort" check -c --from-copy lost.img </dev/null
cmp -s -i 4096 -n 4096 lost.img zero.img
expect 0 '^clean$' "$wort" check -c --from-copy --yes lost.img
expect 0 '^3000$' "$wort" count lost.img n
expect 1 'no such' "$wort" check absent.img
long=$(head -c 3000 /dev/zero | tr '\0' k)
for option in -s -a -b -p -rp; do
	expect 2 'too long: 3000 bytes' "$wort" scan flat.img n $option "$long"
done
expect 2 'too long: 3000 bytes' "$wort" get flat.img n "$long"
expect 3 'too long' "$wort" scan flat.img "$long"
# a newer wort has made the index
"$mkimage" newer.img 8 0 3000 77
expect 0 ' 77 *unknown *n$' "$wort" list newer.img
expect 0 'an index has an unknown engine' "$wort" stat newer.img
expect 0 '^ *- *-  n$' "$wort" stat newer.img
expect 0 '^ *- *-  n$' "$wort" check newer.img
expect 3 'takes the wort that made it' "$wort" get newer.img n 1
expect 3 'takes the wort that made it' "$wort" dump newer.img n
expect 0 '^1 indexes of engines that are not known here' "$wort" check newer.img
expect 0 '"unknown": 1' "$wort" check -o json newer.img
expect 0 'nothing was cleared' "$wort" check -c newer.img
expect 0 ' 77 *unknown *n$' "$wort" list newer.img
# an atomic batch that a power cut has interrupted
"$mkimage" batch.img 8 0 3000 1 batch
sha256sum batch.img >before
said='^1 atomic batches that a power cut had interrupted are carried out, in memory only$'
expect 0 "$said" "$wort" check batch.img
expect 0 '^clean$' "$wort" check batch.img
expect 0 '"atomic_redone": 1,' "$wort" check -o json batch.img
expect 0 '^redone batches *1$' "$wort" stat batch.img
expect 0 '^waiting batches *0$' "$wort" stat batch.img
expect 0 '^two$' "$wort" get batch.img n 2
expect 0 '^0$' "$wort" get batch.img n new
expect 1 'no such key' "$wort" get batch.img n 1
expect 0 '^3000$' "$wort" count batch.img n
expect 0 '^10	10$' "$wort" scan -l 1 batch.img n
"$wort" dump batch.img n >dump
seq 2 3000 | sed 's/.*/&\t&/; s/\t2$/\ttwo/' | { cat; printf 'new\t0\n'; } |
	LC_ALL=C sort | cmp - dump
sha256sum -c --quiet before
expect 0 'are carried out$' "$wort" check -c batch.img
expect 0 '"atomic_redone": 0,' "$wort" check -o json batch.img
"$wort" dump batch.img n | cmp - dump
"$mkimage" batch.img 8 0 3000 77 batch
expect 3 'atomic batch unknown here' "$wort" check batch.img
cp flat.img word.img
head -c 8 /dev/zero | tr '\0' '\377' |
	dd of=word.img bs=8 seek=2048 conv=notrunc status=none
expect 4 'word.img: damage at offset 0x4000' "$wort" check word.img
cp flat.img head.img
printf '\x10' | dd of=head.img bs=1 seek=12353 conv=notrunc status=none
expect 4 'damage at offset 0x1000: length of a redo list' "$wort" check head.img
expect 4 '^damaged batches *1$' "$wort" stat head.img
expect 4 '"atomic_damaged": 1,' "$wort" stat -o json head.img
expect 0 'head 1 is cleared: its atomic batch is lost' "$wort" check -c head.img
expect 0 '^clean$' "$wort" check head.img
cp flat.img older.img
for at in 4104 8200; do
	printf '\3' | dd of=older.img bs=1 seek=$at conv=notrunc status=none
done
expect 3 'media version 3, this wort has 4$' "$wort" check older.img
expect 3 'wort dump older.img .*wort format -f, .*wort load' "$wort" check older.img
check_memory
check_descriptors
check_names
check_damaged
