#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# dkms-source.sh replace|remove VERSION: what goes before the source of the module in /usr/src
# is replaced, or goes itself with all that was made of it.  If a package has installed the
# source, it stays.  DKMS removes what it has built only while the source is there.

what=$1 version=$2
source=/usr/src/wort-$version

if dpkg-query -S "$source" >/dev/null 2>&1; then
	echo "$source belongs to a package, and stays: apt remove wort-dkms" >&2
	[ "$what" = remove ]
	exit
fi
[ "$what" = remove ] || exit 0
if [ -e "/var/lib/dkms/wort/$version" ] && command -v dkms >/dev/null; then
	dkms remove "wort/$version" --all || exit
fi
rm -rf "$source"
# Of "make modules_install", for any kernel.
for file in /lib/modules/*/updates/kmod/wort.ko*; do
	[ -e "$file" ] || continue
	release=${file#/lib/modules/}
	rm -f "$file" && depmod "${release%%/*}" || exit
done
# Instances that were enabled.
rm -f /etc/systemd/system/wort.target.wants/wort-attach@*
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
