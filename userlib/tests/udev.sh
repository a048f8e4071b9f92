#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# udev.sh: the links that udev makes for a pool's UUID and label.  udevadm runs
# the rules for /dev/null, with a /dev and a /run that only this test sees.

set -euo pipefail

rules=$(realpath "$(dirname "$0")/../boot/60-wort.rules")
uuid=11111111-2222-4333-8444-555555555555

# links LABEL: what udev makes of it; with a /dev of its own.
links()
{
	mount -t tmpfs none /run
	mount -t tmpfs none /mnt
	cp -a /dev/null /mnt
	mount --move /mnt /dev
	mkdir -p /run/udev/rules.d
	{
		printf 'KERNEL=="null", ENV{WORT_UUID}="%s"\n' "$uuid"
		printf 'KERNEL=="null", ENV{WORT_LABEL}="%s"\n' "$1"
		sed 's/SUBSYSTEM!="wort"/KERNEL!="null"/' "$rules"
	} >/run/udev/rules.d/60-wort.rules
	# Version 257 says which links it would make, and makes none.
	udevadm test /sys/class/mem/null 2>/dev/null |
		sed -n 's/^ *DEVLINKS=//p' | tr ' ' '\n' | sort | paste -sd ' '
}

# expect LABEL LINK...: these besides the UUID's.
expect()
{
	local label=$1 got
	shift

	got=$(unshare -m "$0" --links "$label")
	[ "$got" = "$(printf '%s\n' "$@" "/dev/wort/by-uuid/$uuid" | paste -sd ' ')" ] ||
		{ echo "label \"$label\": $got"; exit 1; }
}

case ${1:-} in
--links)
	links "$2"
	exit ;;
esac
if ! command -v udevadm >/dev/null || ! unshare -m true 2>/dev/null; then
	echo "not root, or no udevadm: nothing was looked at"
	exit
fi
expect data /dev/wort/by-label/data
expect 'my data' /dev/wort/by-label/my_data
expect 'a;b' /dev/wort/by-label/a_b
expect 'a/b'
expect '../../etc/passwd'
expect ''
echo "6 labels"
