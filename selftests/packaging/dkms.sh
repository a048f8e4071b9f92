#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dkms.sh FLAVOUR...: DKMS builds the module from what "make install-dkms"
# installs, for Debian's kernels (see kernel.sh), and the sample is built against
# what DKMS keeps.  For the last kernel the source then changes and DKMS builds it again, by
# the commands with which README updates.  Nothing outside a temporary folder changes.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# dkms asks for a kernel's own folder, which for one not installed is nowhere.
run_dkms()
{
	dkms "$@" -m wort -v "$version" --dkmstree "$work/tree" \
		--sourcetree "$work/usr/src" --installtree "$work/lib/modules"
}

# The sample in a folder of its own, as README has it.
build_sample()
{
	local sample=$work/sample-$2

	cp -R "$work/usr/src/wort-$version/kmod/samples" "$sample"
	make -C "$sample" KDIR="$1" WORT="$work/tree/wort/$version/$2/x86_64" \
		>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	! grep -i 'warning: modpost' "$work/log" || exit 1
	[ "$(modinfo -F depends "$sample/dirindex.ko")" = wort ] ||
		die "the sample for $2 does not depend on wort"
}

# A module whose source has changed since it was built.
build_again()
{
	local marker=wort_dkms_test

	printf 'MODULE_INFO(%s, "1");\n' $marker >>"$work/usr/src/wort-$version/kmod/dev/main.c"
	run_dkms build --force -k "$release" --kernelsourcedir "$headers" -a x86_64 \
		>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	ko=$(find "$work/tree/wort/$version/$release" -name 'wort.ko*')
	[ "$(modinfo -F $marker "$ko")" = 1 ] || die "DKMS has built the former source again"
}

build_for()
{
	local ko

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
	build_sample "$headers" "$release"
	echo "wort $version for $release: $(stat -c %s "$ko") bytes"
}

main()
{
	local flavour version headers release

	[ $# -gt 0 ] || die "usage: dkms.sh FLAVOUR..."
	need dkms packaging
	work=$(temp_dir dkms)
	trap 'rm -rf "$work"' EXIT
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$wort_top/dkms.conf")
	mkdir -p "$work/tree" "$work/lib/modules"
	make -s -C "$wort_top" DESTDIR="$work" install-dkms >/dev/null
	run_dkms add >/dev/null
	for flavour; do
		build_for "$flavour"
	done
	build_again
}

main "$@"
