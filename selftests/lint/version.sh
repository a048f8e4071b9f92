#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# version.sh: the places that must name the version name the same.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

cd "$wort_top"
version=$(sed -n 's/^VERSION := //p' Makefile)
while read -r file line; do
	grep -qxF -- "$line" "$file" || die "$file has no line \"$line\""
done <<-END
	userlib/Makefile VERSION	?= $version
	userlib/lib/libwort.map LIBWORT_$version {
	userlib/python/pyproject.toml version = "$version"
	dkms.conf PACKAGE_VERSION="$version"
	Documentation/conf.py version = release = "$version"
END
head -n 1 debian/changelog | grep -qF "wort ($version)" ||
	die "debian/changelog begins with another version than $version"
