#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# dkms-source.sh replace VERSION: may the source of the module in /usr/src be written over?
# dkms-source.sh remove VERSION [ROOT]: remove it, and all that was built from it, below ROOT.
#
# What a package has installed stays.  DKMS removes what it has built only while the source is
# there.

version=$2 root=${3%/}
source=$root/usr/src/wort-$version

# Packages have no files below another root.
of_package()
{
	[ -z "$root" ] && dpkg-query -S "$1" >/dev/null 2>&1
}

# What "make modules_install" has installed, for any kernel; until 6.11 in another folder.
remove_modules()
{
	for file in "$root"/lib/modules/*/updates/kmod/wort.ko* \
		"$root"/lib/modules/*/extra/kmod/wort.ko*; do
		[ -e "$file" ] || continue
		release=${file#"$root/lib/modules/"}
		rm -f "$file" || return
		[ -n "$root" ] || depmod "${release%%/*}" || return
	done
}

remove_units()
{
	! of_package wort-attach@.service || return 0
	rm -f "$root"/etc/systemd/system/wort.target.wants/wort-attach@*
	[ -n "$root" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
}

if of_package "$source"; then
	echo "$source belongs to a package, and stays: apt remove wort-dkms" >&2
	[ "$1" = remove ]
	exit
fi
[ "$1" = remove ] || exit 0
if [ -z "$root" ] && [ "$(id -u)" -ne 0 ]; then
	echo "the module, its source and its units stay: that takes root" >&2
	exit 0
fi
if [ -z "$root" ] && [ -e "/var/lib/dkms/wort/$version" ] && command -v dkms >/dev/null; then
	dkms remove "wort/$version" --all || exit
fi
rm -rf "$source"
remove_modules && remove_units
