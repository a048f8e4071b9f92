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
#   kernel.sh flavours		print the flavours to test: those that were tried,
#				or custom
#   kernel.sh tried		print the versions of Debian's kernels that the
#				module was tried with
#   kernel.sh newer		print whether Debian has a newer one
#   kernel.sh tools		print the folder of checkpatch.pl, kernel-doc,
#				the kselftest headers, and listing.txt.gz, a
#				listing of the whole source with sizes, modes
#				and times
#
# What is asked for and absent is fetched first.  The flavours are Debian's
# kernels by their versions; debug and kcsan, built by us (debug.config,
# kcsan.config); and custom, which the environment names: KERNEL (boot image),
# KDIR (build folder) and KMODDIR (lib/modules/VERSION, unless that can be told
# from KDIR).  WORT_DEBIAN_MIRROR names a mirror (http://deb.debian.org).

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=kernel-build.sh
. "$(dirname "$0")/kernel-build.sh"

cache=$(wort_cache)

# Debian's kernels that the module was tried with, the newest last, and the
# release of Debian that has each.
debian_kernels()
{
	cat <<-'END'
	6.1	bookworm
	6.12	bookworm
	7.3	trixie
	END
}

tried()
{
	debian_kernels | cut -f 1 | paste -s -d ' '
}

release_of()
{
	debian_kernels | awk -v flavour="$1" '$1 == flavour { print $2 }'
}

# Where a release has kernels that came later than itself.  Trixie's C library
# is for programs that were built there.
archives()
{
	local mirror=${WORT_DEBIAN_MIRROR:-http://deb.debian.org}

	case $1 in
	bookworm) echo "$mirror/debian-security bookworm-security" ;;
	trixie)	  echo "$mirror/debian trixie-backports"
		  echo "$mirror/debian trixie" ;;
	esac
}

# use_release RELEASE: package lists of our own, so that kernels of any release
# are there for any other, and the machine's own lists do not change.  apt fails
# where another apt uses the same lists, so its callers take $apt_lock.
use_release()
{
	local folder=$cache/apt-$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg

	[ -e "$keys" ] ||
		die "the keys of Debian's archive are missing: install" \
			"debian-archive-keyring"
	mkdir -p "$folder"/{lists,cache/archives}/partial
	apt_lock=$folder/lock
	archives "$1" | sed "s#.*#deb [arch=amd64 signed-by=$keys] & main#" \
		>"$folder/sources.list"
	apt_options=(-o APT::Architecture=amd64 -o APT::Sandbox::User=root
		-o Acquire::Languages=none -o Acquire::http::Timeout=30
		-o Dir::State="$folder" -o Dir::State::status=/dev/null
		-o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache"
		-o Dir::Etc::SourceList="$folder/sources.list"
		-o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null
		-o Dir::Etc::PreferencesParts=/dev/null)
}

query()
{
	LC_ALL=C apt-cache "${apt_options[@]}" "$@" 2>/dev/null
}

update_lists()
{
	flock "$apt_lock" apt-get -qq "${apt_options[@]}" \
		-o APT::Update::Error-Mode=any update >&2
}

# "VERSION SERIES" of each kernel that there is: 7.3.4+deb13-amd64 7.3.
versions()
{
	query pkgnames linux-image- | sed -n -E \
		's/^linux-image-(([0-9]+[.][0-9]+)[.][0-9]+([-+][0-9a-z]+)?-amd64)$/\1 \2/p' |
		sort -V
}

# The image, its modules and its headers may be several packages each.
kernel_packages()
{
	local version

	version=$(versions | awk -v series="$1" '
		$2 == series { newest = $1 }
		END { print newest; exit !newest }') || return
	query depends --recurse -i "linux-image-$version" \
		"linux-headers-$version" |
		grep -x -E "linux-[a-z]+-${1/./[.]}([-+.].*)?" | sort -u
	# Its programs may want a newer C library than this machine has.
	[ "$(release_of "$1")" != trixie ] || echo libc6
}

source_package()
{
	query pkgnames linux-source-6.1 | grep -x linux-source-6.1
}

# with_lists COMMAND...: once more with fresh package lists if it fails.
with_lists()
{
	"$@" && return
	say "package lists are missing or old: downloading them"
	update_lists && "$@"
}

# apt-get download leaves its files in the current folder.
download()
{
	local folder=$1 begin
	shift

	begin=$(now_ms)
	say "downloading $*"
	(cd "$folder" && flock "$apt_lock" \
		apt-get -qq "${apt_options[@]}" download "$@") >&2 || return
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
		die "Debian's archive does not answer, or has no such kernel any" \
			"more: name another flavour, or set KERNEL and KDIR"
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
	[ ! -e "$root/lib/modules/$version/vmlinuz" ] ||
		install -D -m 644 "$root/lib/modules/$version/vmlinuz" \
			"$root/boot/vmlinuz-$version"
}

pahole_version()
{
	pahole --numeric_version 2>/dev/null || echo 0
}

# The headers were configured for another release's compiler and pahole: leave
# out what this machine's do not know.
fit_to_machine()
{
	local headers=$1 wanted

	sed -i 's/gcc-[0-9]*/gcc/' "$headers/.kernelvariables"
	"${CC:-gcc}" -fmin-function-alignment=16 -E - </dev/null >/dev/null 2>&1 ||
		sed -i '/^CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=/d' \
			"$headers/include/config/auto.conf"
	wanted=$(sed -n 's/^CONFIG_PAHOLE_VERSION=//p' "$headers/.config")
	# No type information is made for a module where the kernel's is not.
	[ "$(pahole_version)" -ge "${wanted:-0}" ] || rm -f "$headers/vmlinux"
}

# wrap_programs ROOT FINAL: what was linked against a newer C library than this
# machine's runs with the one in the packages.
wrap_programs()
{
	local root=$1 libraries=$2/usr/lib/x86_64-linux-gnu program

	find "$root"/usr/lib/linux-kbuild-* -type f -perm /111 |
		while read -r program; do
			grep -q "GLIBC.* not found" <<<"$(ldd "$program" 2>&1)" ||
				continue
			mv "$program" "$program.elf"
			cat >"$program" <<-END
			#!/bin/sh
			exec "$libraries/ld-linux-x86-64.so.2" \
				--library-path "$libraries" \
				"$2${program#"$root"}.elf" "\$@"
			END
			chmod 755 "$program"
		done
}

unpack_kernel()
{
	local work=$1 final=$2 deb

	mkdir "$work/root"
	for deb in "$work"/deb/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	relocate "$work/root" "$final"
	fit_to_machine "$work"/root/usr/src/linux-headers-*-amd64
	wrap_programs "$work/root" "$final"
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
	debug | kcsan)
		built_name "$1" ;;
	*)
		[ -n "$(release_of "$1")" ] ||
			die "no such flavour: $1 ($(tried) debug kcsan custom)"
		echo "kernel-$1" ;;
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
	debug | kcsan)
		"$wort_top/selftests/scripts/deps.sh" build kernel >&2
		# The name has the version, which fresh lists may tell.
		use_release bookworm
		with_lists source_package >/dev/null
		folder=$(folder_of "$1")
		fetch_into "$folder" "unpack_$1" source_package ;;
	*)
		need depmod vm
		use_release "$(release_of "$1")"
		fetch_into "kernel-$1" unpack_kernel kernel_packages "$1" ;;
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

# One line, for whoever decides what is tried next.
newer()
{
	local last release newest

	read -r last release < <(debian_kernels | tail -n 1)
	if ! is_debian || ! use_release "$release" || ! update_lists 2>/dev/null; then
		echo "Debian's archive does not answer: is there a kernel newer than $last?"
		return
	fi
	newest=$(versions | awk 'END { print $2 }')
	if [ "$newest" = "$last" ]; then
		echo "Debian's newest kernel, $newest, was tried"
	else
		echo "Debian has a newer kernel, $newest, than was tried, $last"
	fi
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
		[ -n "${KERNEL:-}${KDIR:-}" ] && echo custom || tried ;;
	tried/1)
		tried ;;
	newer/1)
		newer ;;
	tools/1)
		use_release bookworm
		fetch_into kernel-tools unpack_tools source_package
		print_path "$cache/kernel-tools" ;;
	*)
		die "usage: kernel.sh fetch|cached|image|headers|modules" \
			"FLAVOUR | flavours | tried | newer | tools" ;;
	esac
}

main "$@"
