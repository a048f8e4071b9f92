#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# udev.sh: the links that udev makes for a pool's UUID and label, and for the
# device that it lies on.  udevadm runs the rules for /dev/null, with a /dev and a
# /run that only this test sees.

set -euo pipefail

rules=$(realpath "$(dirname "$0")/../boot/60-wort.rules.in")
uuid=11111111-2222-4333-8444-555555555555

# What the rules see of a pool, and what "wort probe" tells of a device.
of_pool()
{
	printf 'KERNEL=="null", ENV{WORT_UUID}="%s"\n' "$uuid"
	printf 'KERNEL=="null", ENV{WORT_LABEL}="%s"\n' "$1"
	sed 's/SUBSYSTEM!="wort"/KERNEL!="null"/' "$rules"
}

of_device()
{
	printf '#!/bin/sh\nprintf "%%s\\n" WORT_POOL_UUID=%s "WORT_POOL_LABEL=%s"\n' \
		"$uuid" "$1" >/run/wort
	chmod 755 /run/wort
	sed -e 's|@BINDIR@|/run|' -e 's/SUBSYSTEM=="block"/SUBSYSTEM=="mem"/' \
		-e 's/KERNEL=="pmem\*"/KERNEL=="null"/' "$rules"
}

# links pool|device LABEL: what udev makes of it; with a /dev of its own.
links()
{
	mount -t tmpfs none /run
	mount -t tmpfs none /mnt
	cp -a /dev/null /mnt
	mount --move /mnt /dev
	mkdir -p /run/udev/rules.d
	"of_$1" "$2" >/run/udev/rules.d/60-wort.rules
	# Version 257 says which links it would make, and makes none.
	udevadm test /sys/class/mem/null 2>/dev/null |
		sed -n 's/^ *DEVLINKS=//p' | tr ' ' '\n' | sort | paste -sd ' '
}

# expect KIND LABEL LINK...: these besides the UUID's.
expect()
{
	local kind=$1 label=$2 got
	shift 2

	got=$(unshare -m "$0" --links "$kind" "$label")
	[ "$got" = "$(printf '%s\n' "$@" | sort | paste -sd ' ')" ] ||
		{ echo "$kind with the label \"$label\": $got"; exit 1; }
}

# pool LABEL LINK...
pool()
{
	expect pool "$@" "/dev/wort/by-uuid/$uuid"
}

case ${1:-} in
--links)
	links "$2" "$3"
	exit ;;
esac
if ! command -v udevadm >/dev/null || ! unshare -m true 2>/dev/null; then
	echo "not root, or no udevadm: nothing was looked at"
	exit
fi
pool data /dev/wort/by-label/data
pool 'my data' /dev/wort/by-label/my_data
pool 'a;b' /dev/wort/by-label/a_b
pool 'a/b'
pool '../../etc/passwd'
pool ''
expect device data /dev/disk/by-wort-{label/data,uuid/$uuid}
expect device 'my\x20data' /dev/disk/by-wort-{label/my'\x20'data,uuid/$uuid}
expect device '' "/dev/disk/by-wort-uuid/$uuid"
echo "9 labels"
