#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh GROUP...: see to it that the Debian packages of the groups named
# are installed.  Does nothing, quickly, when they are.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# group, package, and how the same is found on a machine without dpkg:
# a command (several: any of them will do), a header, a pkg-config module,
# a file, a module of Python, or that the compiler makes 32-bit programs.
package_table()
{
	cat <<-'END'
	lib	gcc			cmd gcc cc
	lib	make			cmd make
	lib	libc6-dev		hdr stdio.h
	lib	linux-libc-dev		hdr linux/types.h
	lib	pkg-config		cmd pkg-config
	lib	libblkid-dev		pkg blkid
	lib	libjson-c-dev		pkg json-c
	lib	libxxhash-dev		pkg libxxhash
	lib	uuid-dev		pkg uuid
	build	liburcu-dev		pkg liburcu
	build	kmod			cmd depmod
	build	xz-utils		cmd xz
	build	libelf-dev		lib libelf.so.1
	build	python3			cmd python3
	build	e2fsprogs		cmd mke2fs
	build	pahole			cmd pahole
	build	procps			cmd pgrep
	build	liburing-dev		hdr liburing.h
	python	python3-dev		cmd python3-config
	python	python3-setuptools	py setuptools
	static	gcc			cmd gcc cc
	static	make			cmd make
	static	sparse			cmd sparse
	static	clang-19		cmd clang-19 clang
	static	lld-19			cmd ld.lld-19 ld.lld
	static	llvm-19			cmd llvm-nm-19 llvm-nm
	static	bc			cmd bc
	static	libelf-dev		hdr libelf.h
	static	python3			cmd python3
	static	perl			cmd perl
	static	pahole			cmd pahole
	static	kmod			cmd depmod
	static	xz-utils		cmd xz
	kernel	flex			cmd flex
	kernel	bison			cmd bison
	kernel	bc			cmd bc
	kernel	libelf-dev		hdr libelf.h
	kernel	cpio			cmd cpio
	kernel	xz-utils		cmd xz
	vm	qemu-system-x86		cmd qemu-system-x86_64
	vm	busybox-static		cmd busybox
	vm	cpio			cmd cpio
	vm	kmod			cmd depmod
	vm	ndctl			cmd ndctl
	vm	zstd			cmd zstd
	vm	gcc-multilib		m32
	vm	xz-utils		cmd xz
	bench	valgrind		hdr valgrind/callgrind.h
	bench	liblmdb-dev		hdr lmdb.h
	bench	librocksdb-dev		hdr rocksdb/c.h
	bench	libsqlite3-dev		hdr sqlite3.h
	boot	udev			cmd udevadm
	boot	systemd			cmd systemd-analyze
	lmdb	python3-lmdb		py lmdb
	plots	python3-matplotlib	file /usr/lib/python3/dist-packages/matplotlib/__init__.py
	docs	python3-sphinx		cmd sphinx-build
	packaging	build-essential	cmd gcc cc
	packaging	debhelper	cmd dh
	packaging	dh-dkms		cmd dh_dkms
	packaging	dkms		cmd dkms
	packaging	dpkg-dev	cmd dpkg-buildpackage
	packaging	e2fsprogs	cmd mke2fs
	packaging	git		cmd git
	packaging	libblkid-dev	pkg blkid
	packaging	libjson-c-dev	pkg json-c
	packaging	libxxhash-dev	pkg libxxhash
	packaging	liburing-dev	hdr liburing.h
	packaging	lintian		cmd lintian
	packaging	mmdebstrap	cmd mmdebstrap
	packaging	pkg-config	cmd pkg-config
	packaging	python3		cmd python3
	packaging	dh-python	cmd dh_python3
	packaging	python3-dev	cmd python3-config
	packaging	python3-setuptools	py setuptools
	packaging	python3-sphinx	cmd sphinx-build
	packaging	uuid-dev	pkg uuid
	data	wamerican-insane	file /usr/share/dict/american-english-insane
	END
}

# Tests need what the library needs, and more.
rows_of_group()
{
	package_table | awk -v group="$1" '$1 == group || (group == "build" && $1 == "lib")'
}

groups()
{
	package_table | awk '{ print $1 }' | uniq | paste -s -d '|'
}

installed()
{
	local status

	status=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) &&
		[ "$status" = installed ]
}

any_command()
{
	local name

	for name; do
		command -v "$name" >/dev/null && return 0
	done
	return 1
}

# probe KIND NAME...: what stands in the table's last columns.
probe()
{
	local kind=$1

	shift
	case $kind in
	cmd)	any_command "$@" ;;
	hdr)	echo "#include <$1>" | "${CC:-cc}" -E - >/dev/null 2>&1 ;;
	pkg)	pkg-config --exists "$1" 2>/dev/null ;;
	lib)	ldconfig -p | grep -F "$1" >/dev/null ;;
	file)	[ -e "$1" ] ;;
	py)	python3 -c "import $1" 2>/dev/null ;;
	m32)	echo 'int main(void) { return 0; }' |
			"${CC:-cc}" -m32 -static -x c -o /dev/null - 2>/dev/null ;;
	esac
}

missing_packages()
{
	local group package

	for group; do
		while read -r _ package _; do
			installed "$package" || echo "$package"
		done < <(rows_of_group "$group")
	done | sort -u
}

missing_elsewhere()
{
	local group package how

	for group; do
		while read -r _ package how; do
			# shellcheck disable=SC2086 # kind and names
			probe $how || echo "$package (${how#* })"
		done < <(rows_of_group "$group")
	done | sort -u
}

# On another distribution its user chooses the packages.
check_elsewhere()
{
	local missing

	mapfile -t missing < <(missing_elsewhere "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	say "this is no Debian machine, and these are missing" \
		"(Debian's package name, then what was looked for):"
	printf "%s\n" "${missing[@]/#/    }" >&2
	die "install your distribution's packages for them, then run this again"
}

apt()
{
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

known_to_apt()
{
	local policy

	policy=$(LC_ALL=C apt-cache policy "$@")
	! grep -q 'Candidate: (none)' <<<"$policy" &&
		[ "$(grep -c 'Candidate:' <<<"$policy")" -eq $# ]
}

apt_install()
{
	apt install --no-install-recommends "$@"
}

install_packages()
{
	local updated=

	if ! known_to_apt "$@"; then
		apt update
		updated=1
	fi
	apt_install "$@" && return
	# The lists may be older than what the mirror still holds.
	[ -z "$updated" ] && apt update && apt_install "$@"
}

install_missing()
{
	local begin log
	begin=$(now_ms)

	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		die "neither root nor sudo: as root, run: apt-get install $*"
	fi
	say "installing Debian packages: $*"
	log=$(mktemp)
	if ! install_packages "$@" >"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		die "apt-get failed; mend that or, as root, run: apt-get install $*"
	fi
	rm -f "$log"
	say "installed in $(seconds_since "$begin") s"
}

main()
{
	local group missing

	[ $# -gt 0 ] ||
		die "usage: deps.sh $(groups)..."
	for group; do
		[ -n "$(rows_of_group "$group")" ] ||
			die "no such group: $group ($(groups))"
	done

	if ! is_debian; then
		check_elsewhere "$@"
		return
	fi
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] || install_missing "${missing[@]}"
}

main "$@"
