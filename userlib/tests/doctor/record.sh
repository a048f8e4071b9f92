#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# record.sh DEVICE: print what sysfs and procfs say of a device, for
# doctor.py to play back: "PATH -> TARGET" for a link, "PATH = LINE" for a
# file, "PATH/" for an empty folder.  Runs under busybox, too.

[ -e "$1" ] || { echo "usage: record.sh DEVICE" >&2; exit 2; }
name=${1##*/}

file()
{
	[ -r "$1" ] || return 0
	printf '%s = %s\n' "$1" "$(head -n 1 "$1" 2>/dev/null)"
}

link()
{
	[ ! -L "$1" ] || printf '%s -> %s\n' "$1" "$(readlink "$1")"
}

# disk FOLDER: of a whole disk or of a partition
disk()
{
	for attr in dev size start partition queue/dax dax/write_cache \
		badblocks dm/name; do
		file "$1/$attr"
	done
	for holder in "$1"/holders/*; do
		[ -L "$holder" ] || echo "$1/holders/"
		link "$holder"
	done
}

block()
{
	real=$(realpath "/sys/class/block/$name")
	link "/sys/class/block/$name"
	link "/sys/dev/block/$(cat "$real/dev")"
	disk "$real"
	[ ! -e "$real/partition" ] || real=$(dirname "$real")
	disk "$real"
	link "/sys/class/block/${real##*/}"
	link "/sys/block/${real##*/}"
	for part in "$real"/*/partition; do
		[ -e "$part" ] || continue
		part=${part%/partition}
		link "/sys/class/block/${part##*/}"
		disk "$part"
	done
	link "$real/device"
	for attr in namespace mode size holder; do
		file "$(realpath "$real/device")/$attr"
	done
}

character()
{
	# busybox knows no %Hr
	dev=$(printf '%d:%d' "0x$(stat -Lc %t "$1")" "0x$(stat -Lc %T "$1")")
	link "/sys/dev/char/$dev"
	real=$(realpath "/sys/dev/char/$dev")
	file "$real/dev"
	file "${real%/*}/namespace"
	file "${real%/*}/mode"
	link "/sys/bus/dax/devices/$name"
}

if [ -b "$1" ]; then block; else character "$1"; fi | awk '!seen[$0]++'
grep " /dev/$name" /proc/self/mountinfo |
	sed 's|^|/proc/self/mountinfo = |'
file /sys/kernel/security/lockdown
