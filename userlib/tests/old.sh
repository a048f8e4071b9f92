#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# old.sh WORT OLD-IMAGES [ROUNDS]: pools of older media versions (old/README): the
# command dumps them, whole and damaged, and refuses to do anything else with them.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=expect.sh
. "$(dirname "$0")/expect.sh"

wort=$(realpath "$1") reader=$(realpath "$2") rounds=${3:-1000}
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
gzip -dc "$here/old/dump.txt.gz" >want

own=$(sed -n 's/^#define WORT_MEDIA_VERSION[[:space:]]*//p' \
	"$here/../../uapi/linux/wort_format.h")

dump_all()
{
	"$wort" dump "$1" shapes
	"$wort" dump "$1" numbers
	"$wort" dump "$1" $'a tab\tand one record'
}

# By the command, and by the reader of old versions also if that is not needed yet.
check_whole()
{
	local image=$1

	sha256sum "$image" >before
	dump_all "$image" 2>said | cmp - want
	test ! -s said
	"$reader" dump "$image" | cmp - want
	"$wort" list "$image" | cmp - "$here/old/list.txt"
	expect 1 'no such index' "$wort" dump "$image" absent
	test "$("$wort" dump "$image" empty7 | wc -c)" -eq 0
	sha256sum -c --quiet before
}

# Keys of letters and digits: their order is that of lines.
check_ranges()
{
	local image=$1

	"$wort" dump "$image" shapes >shapes
	"$wort" dump -r "$image" shapes | tac | cmp - shapes
	"$wort" dump -l 7 "$image" shapes | cmp - <(head -n 7 shapes)
	"$wort" dump -rl 7 "$image" shapes | tac | cmp - <(tail -n 7 shapes)
	"$wort" dump -p 'value ' "$image" shapes | cmp - <(grep '^value ' shapes)
	"$wort" dump -F lines -p 'value ' "$image" shapes |
		cmp - <(grep '^value ' shapes | cut -f 1)
	"$wort" dump -s 'value 40' "$image" shapes |
		cmp - <(sed -n '/^value 40	/,$p' shapes)
	"$wort" dump -a 'value 40' "$image" shapes |
		cmp - <(sed '1,/^value 40	/d' shapes)
	"$wort" dump -b 'value 40' "$image" shapes |
		cmp - <(sed '/^value 40	/,$d' shapes)
	"$wort" dump -r -s 'value 40' "$image" shapes | tac |
		cmp - <(sed '/^value 40	/q' shapes)
	"$wort" dump -r -b 'value 40' "$image" shapes | tac |
		cmp - <(sed '1,/^value 40	/d' shapes)
	"$wort" dump -o json -l 1 -p 'value 8' "$image" shapes | cmp - <(
		echo '{"key":"value 8","value":"DDDDDDDD"}')
}

# What only the current version can be asked for.
check_refused()
{
	local image=$1 version=$2 verb

	for verb in check stat; do
		expect 3 "the pool has media version $version, this wort has $own" \
			"$wort" $verb "$image"
		expect 3 "try: wort dump $image INDEX >FILE " \
			"$wort" $verb "$image"
	done
	expect 3 "media version $version" "$wort" get "$image" shapes a
	expect 3 "media version $version" "$wort" scan "$image" shapes
	expect 3 '"mend":"wort dump ' "$wort" check -o json "$image"
}

overwrite()
{
	printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

place_of()
{
	LC_ALL=C grep -obUa -- "$2" "$1" | head -n 1 | cut -d : -f 1
}

# A damaged place is told, and costs no more than what it holds.
check_damaged()
{
	local image=$1 at

	cp "$image" bad.img
	at=$(($(place_of bad.img 'value 40') - 16))
	overwrite bad.img $((at + 12)) '\xff'
	expect 4 "bad.img: damage at offset $(printf '%#x' $at): record" \
		"$wort" dump bad.img shapes
	{ "$wort" dump bad.img shapes 2>/dev/null || true; } |
		cmp - <("$wort" dump "$image" shapes | grep -v '^value 40	')
	expect 4 'wort dump: records are missing' \
		"$wort" dump bad.img shapes
	cp "$image" bad.img
	at=$(($(place_of bad.img $'\x06shapes') - 128))
	overwrite bad.img $((at + 129)) S
	expect 4 "damage at offset $(printf '%#x' $at): catalogue entry checksum" \
		"$wort" dump bad.img shapes
	expect 0 . "$wort" dump bad.img numbers
	# the first copy of the superblock, its version, and both copies
	overwrite bad.img 4112 '\xff'
	expect 0 . "$wort" dump bad.img numbers
	overwrite bad.img 4104 '\x63'
	expect 0 . "$wort" dump bad.img numbers
	overwrite bad.img 4104 "\\x0$version"
	overwrite bad.img 8208 '\xff'
	expect 4 'superblock checksum' "$wort" dump bad.img numbers
	head -c 262000 "$image" >bad.img
	expect 1 'there is no pool' "$wort" dump bad.img numbers
	(cat "$image"; cat "$image") >bad.img
	dump_all bad.img | cmp - want
}

for image in "$here"/old/v*.img.gz; do
	name=$(basename "$image" .gz) version=${name#v}
	version=${version%.img}
	gzip -dc "$image" >"$name"
	check_whole "$name"
	check_ranges "$name"
	"$reader" damage "$name" "$rounds"
	[ "$version" -ne "$own" ] || continue
	check_refused "$name" "$version"
	check_damaged "$name"
done
# an unknown version
cp v2.img other.img
overwrite other.img 4104 '\x63'
overwrite other.img 8200 '\x63'
expect 3 "media version 99, this wort has $own: it takes a newer wort" \
	"$wort" dump other.img shapes
overwrite other.img 4104 '\x01'
overwrite other.img 8200 '\x01'
expect 3 'media version 1, .*with the wort that made it' "$wort" dump other.img shapes
