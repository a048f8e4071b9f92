#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Debian's kernels and a few scripts of the kernel's source, downloaded and
# unpacked into the cache, never installed; and kernels built from that source
# to look for what Debian's do not tell.
#
#   kernel.sh fetch FLAVOUR	download and unpack, or build, what is not there
#   kernel.sh cached FLAVOUR	is it there?
#   kernel.sh image FLAVOUR	print the path of the boot image
#   kernel.sh headers FLAVOUR	print the folder to build modules against
#   kernel.sh modules FLAVOUR	print the folder of the kernel's own modules
#   kernel.sh flavours		print the flavours to test: 6.1 6.12, or custom
#   kernel.sh tools		print the folder of checkpatch.pl, kernel-doc,
#				the kselftest headers, and listing.txt.gz, a
#				listing of the whole source with sizes, modes
#				and times
#
# What is asked for and absent is fetched first.  The flavours are 6.1 and
# 6.12, Debian's; debug and kcsan, built by us (debug.config, kcsan.config);
# and custom, which the environment names: KERNEL (boot image), KDIR (build
# folder) and KMODDIR (lib/modules/VERSION, unless that can be told from KDIR).

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=kernel-build.sh
. "$(dirname "$0")/kernel-build.sh"

cache=$(wort_cache)

# The first package of those that $1 depends on which matches the pattern $2.
dependency()
{
	LC_ALL=C apt-cache depends "$1" 2>/dev/null |
		awk -v pattern="$2" '
			/Depends:/ && $2 ~ pattern && !found++ { print $2 }
			END { exit !found }'
}

# versioned KIND FLAVOUR: the package of the newest kernel of a flavour.
# Which meta-package leads there depends on Debian's release.
versioned()
{
	local kind=$1 flavour=$2 meta

	for meta in "linux-$kind-$flavour-amd64" "linux-$kind-amd64"; do
		dependency "$meta" "^linux-$kind-${flavour/./[.]}[.]" && return
	done
	return 1
}

kernel_packages()
{
	local flavour=$1 image headers

	image=$(versioned image "$flavour") || return
	headers=$(versioned headers "$flavour") || return
	echo "$image"
	echo "$headers"
	dependency "$headers" '^linux-headers-.*-common$'
	dependency "$headers" '^linux-kbuild-'
}

source_package()
{
	LC_ALL=C apt-cache policy linux-source-6.1 linux-source-6.12 |
		awk -F : '
			/^linux-source/ { name = $1 }
			/Candidate: [0-9]/ && !found++ { print name }
			END { exit !found }'
}

# with_lists COMMAND...: once more with fresh package lists if it fails.
with_lists()
{
	"$@" && return
	say "package lists are missing or old: apt-get update"
	as_root apt-get -qq update >&2 && "$@"
}

# apt-get download leaves its files in the current folder.
download()
{
	local folder=$1 begin
	shift

	begin=$(now_ms)
	say "downloading $*"
	# As root apt would complain that its own user cannot write here.
	(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download "$@") \
		>&2 || return
	say "downloaded $(du -shD "$folder" | cut -f 1)" \
		"in $(seconds_since "$begin") s"
}

# fetch_packages FOLDER COMMAND...: the packages that the command prints.
fetch_packages()
{
	local folder=$1 packages
	shift

	is_debian ||
		die "only Debian's kernels can be fetched: set KERNEL and KDIR"
	mkdir -p "$folder"
	packages=$(with_lists "$@") ||
		die "this Debian release has no such kernel: name another" \
			"flavour, or set KERNEL and KDIR"
	# shellcheck disable=SC2086 # one word per package
	with_lists download "$folder" $packages ||
		die "the download failed: try again when the mirror answers"
}

# The packages lie as if installed at /; make them refer to each other here.
# depmod's output is written by the installation that does not take place.
relocate()
{
	local root=$1 final=$2 makefile version

	for makefile in "$root"/usr/src/linux-headers-*-amd64/Makefile; do
		sed -i "s#/usr/src/#$final/usr/src/#g" "$makefile"
	done
	[ -d "$root/lib/modules" ] || ln -s usr/lib "$root/lib"
	version=$(basename "$root"/lib/modules/*)
	rm -f "$root/lib/modules/$version"/{build,source}
	depmod -b "$root" "$version"
}

unpack_kernel()
{
	local work=$1 final=$2 deb

	mkdir "$work/root"
	for deb in "$work"/deb/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	relocate "$work/root" "$final"
}

tools_members()
{
	local selftests=tools/testing/selftests

	printf '*/%s\n' scripts/{checkpatch.pl,spelling.txt,kernel-doc} \
		scripts/{const_structs.checkpatch,subarch.include} \
		scripts/coccicheck scripts/coccinelle tools/testing/kunit \
		"$selftests"/{lib.mk,kselftest.h,kselftest_harness.h} \
		"$selftests"/{kselftest,Makefile,run_kselftest.sh} \
		"$selftests"/kselftest_install.sh
}

# The tarball is read once: unpacking it takes longer than all the rest.
unpack_tools()
{
	local work=$1 lister

	mkdir "$work/root"
	mkfifo "$work/copy"
	TZ=UTC LC_ALL=C tar -tv --full-time --numeric-owner -f "$work/copy" |
		gzip -9n >"$work/root/listing.txt.gz" &
	lister=$!
	dpkg-deb --fsys-tarfile "$work"/deb/*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		xz -dc -T 0 | tee "$work/copy" |
		tar -x -C "$work/root" --strip-components=1 --wildcards \
			--no-wildcards-match-slash -T <(tools_members)
	wait "$lister"
}

# fetch_into NAME UNPACK COMMAND...: a folder of the cache, complete or
# not there at all, also when two of us want it.
fetch_into()
{
	local final=$cache/$1 unpack=$2 begin
	shift 2

	mkdir -p "$cache"
	exec 9>"$final.lock"
	flock 9
	[ ! -d "$final" ] || return 0
	# Of somebody who was killed: the lock is ours.
	rm -rf "$final".??????

	# Not "local": the trap outlives this function.
	work=$(mktemp -d "$final.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	fetch_packages "$work/deb" "$@"
	begin=$(now_ms)
	"$unpack" "$work" "$final"
	chmod 755 "$work/root"
	mv -T "$work/root" "$final"
	rm -rf "$work"
	say "made in $(seconds_since "$begin") s: $final"
}

# folder_of FLAVOUR: where in the cache it is, or will be.
folder_of()
{
	case $1 in
	6.1 | 6.12)	echo "kernel-$1" ;;
	debug | kcsan)	built_name "$1" ;;
	*)		die "no such flavour: $1 (6.1, 6.12, debug, kcsan," \
				"custom)" ;;
	esac
}

cached()
{
	local folder

	[ "$1" = custom ] && return
	folder=$(folder_of "$1")
	[ -d "$cache/$folder" ]
}

fetch()
{
	local folder

	[ "$1" = custom ] && return
	! cached "$1" || return 0
	case $1 in
	6.1 | 6.12)
		need depmod vm
		fetch_into "kernel-$1" unpack_kernel kernel_packages "$1" ;;
	debug | kcsan)
		"$wort_top/selftests/scripts/deps.sh" build kernel >&2
		# The name has the version, which fresh lists may tell.
		with_lists build_source_package >/dev/null
		folder=$(folder_of "$1")
		fetch_into "$folder" "unpack_$1" build_source_package ;;
	esac
}

# One path, which must exist.
print_path()
{
	if [ $# -ne 1 ] || [ ! -e "$1" ]; then
		die "not found: $*"
	fi
	printf '%s\n' "$1"
}

# A kernel may have no modules: the answer is empty then.
custom_modules()
{
	local folder=${KMODDIR:-} version

	if [ -z "$folder" ] && [ -n "${KDIR:-}" ]; then
		version=$(cat "$KDIR/include/config/kernel.release")
		folder=/lib/modules/$version
	fi
	[ ! -d "$folder" ] || echo "$folder"
}

custom()
{
	case $1 in
	image)	 print_path "${KERNEL:?names the kernel image to boot}" ;;
	headers) print_path "${KDIR:?names the kernel build folder}" ;;
	modules) custom_modules ;;
	esac
}

# All that a kernel of ours can do is built in: it has no modules.
built()
{
	case $1 in
	image)	 print_path "$2/vmlinuz" ;;
	headers) print_path "$2/headers" ;;
	esac
}

debians()
{
	case $1 in
	image)	 print_path "$2"/boot/vmlinuz-* ;;
	headers) print_path "$2"/usr/src/linux-headers-*-amd64 ;;
	modules) print_path "$2"/lib/modules/* ;;
	esac
}

where()
{
	local folder

	if [ "$2" = custom ]; then
		custom "$1"
		return
	fi
	fetch "$2"
	folder=$cache/$(folder_of "$2")
	case $2 in
	debug | kcsan)	built "$1" "$folder" ;;
	*)		debians "$1" "$folder" ;;
	esac
}

main()
{
	case ${1:-}/$# in
	fetch/2)
		fetch "$2" ;;
	cached/2)
		cached "$2" ;;
	image/2 | headers/2 | modules/2)
		where "$@" ;;
	flavours/1)
		[ -n "${KERNEL:-}${KDIR:-}" ] && echo custom || echo 6.1 6.12 ;;
	tools/1)
		fetch_into kernel-tools unpack_tools source_package
		print_path "$cache/kernel-tools" ;;
	*)
		die "usage: kernel.sh fetch|cached|image|headers|modules" \
			"FLAVOUR | flavours | tools" ;;
	esac
}

main "$@"
