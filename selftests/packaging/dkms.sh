#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dkms.sh FLAVOUR...: DKMS builds the module from what "make install-dkms"
# installs, for Debian's kernels (see kernel.sh), and refuses others.  Nothing
# outside a temporary folder changes.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# dkms asks for a kernel's own folder, which for one not installed is nowhere.
run_dkms()
{
	dkms "$@" -m wort -v "$version" --dkmstree "$work/tree" \
		--sourcetree "$work/usr/src" --installtree "$work/lib/modules"
}

build_for()
{
	local headers release

	headers=$("$wort_top/selftests/scripts/kernel.sh" headers "$1")
	# Debian's headers tell the version of the source elsewhere.
	release=$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		"$headers/include/generated/utsrelease.h")
	run_dkms build -k "$release" --kernelsourcedir "$headers" -a x86_64 \
		>"$work/log" 2>&1 ||
		{ cat "$work/log" "$work/tree/wort/$version/build/make.log"; exit 1; }
	ko=$(find "$work/tree/wort/$version/$release" -name 'wort.ko*')
	[ -n "$ko" ] || die "DKMS left no module for $release"
	[ "$(modinfo -F vermagic "$ko" | cut -d ' ' -f 1)" = "$release" ] ||
		die "$ko is not for $release"
	echo "wort $version for $release: $(stat -c %s "$ko") bytes"
}

# The pattern of dkms.conf and what compat.h and the documents say.
check_kernels()
{
	local BUILD_EXCLUSIVE_KERNEL release

	# shellcheck source=/dev/null
	. <(grep ^BUILD_EXCLUSIVE_KERNEL= "$wort_top/dkms.conf")
	for release in 6.1.0-56-amd64 6.4 6.4.1 6.9.0 6.12.117+deb13-amd64 \
		6.18.44 7.0.1-1 10.2; do
		[[ $release =~ $BUILD_EXCLUSIVE_KERNEL ]] ||
			die "dkms.conf refuses $release"
	done
	for release in 5.10.0-30-amd64 5.19 6.0.3 6.5.0 6.6.15-amd64 6.8; do
		[[ ! $release =~ $BUILD_EXCLUSIVE_KERNEL ]] ||
			die "dkms.conf takes $release"
	done
}

main()
{
	local flavour version

	[ $# -gt 0 ] || die "usage: dkms.sh FLAVOUR..."
	need dkms packaging
	work=$(temp_dir dkms)
	trap 'rm -rf "$work"' EXIT
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$wort_top/dkms.conf")
	check_kernels
	mkdir -p "$work/tree" "$work/lib/modules"
	make -s -C "$wort_top" DESTDIR="$work" install-dkms >/dev/null
	run_dkms add >/dev/null
	for flavour; do
		build_for "$flavour"
	done
}

main "$@"
