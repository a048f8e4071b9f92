#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Part of kernel.sh, which sources it: builds a kernel for the guests from
# Debian's source.  What stays is what booting it and building modules for it
# take: image, System.map, .config and merged headers.
# shellcheck disable=SC2154

config_of()
{
	grep -h '^CONFIG_' "$wort_top"/selftests/scripts/{guest,"$1"}.config
}

# Another source or another configuration is another kernel.
built_name()
{
	local version hash

	use_release bookworm
	version=$(query policy linux-source-6.1 |
		awk '/Candidate: [0-9]/ { print $2 }')
	hash=$(config_of "$1" | sha256sum)
	printf 'kernel-%s-%s-%s\n' "$1" "${version:-unknown}" "${hash:0:12}"
}

# A symbol that does not exist, or whose dependencies are off, is not taken.
verify_config()
{
	local line missed=''

	while read -r line; do
		grep -q -x -F -e "$line" "$1" || missed+=" ${line%%=*}"
	done < <(config_of "$2" | grep -v '=n$')
	[ -z "$missed" ] || die "this source does not take:$missed"
}

configure()
{
	config_of "$2" >"$1/wanted.config"
	make -s -C "$1" ARCH=x86_64 KCONFIG_ALLCONFIG=wanted.config \
		allnoconfig >&2
	verify_config "$1/.config" "$2"
}

# The kernel for kcsan is built without instrumentation: kcsan.config.
compile()
{
	local flags=()

	[ "$2" != kcsan ] || flags+=(KCSAN_SANITIZE=n)
	! command -v ccache >/dev/null || flags+=(CC="ccache gcc")
	make -s -C "$1" ARCH=x86_64 -j "$(nproc)" "${flags[@]}" bzImage modules
}

# What building a module takes of a source tree in which a kernel was built.
header_files()
{
	local arch=arch/x86

	find . "$arch" -maxdepth 1 -name 'Makefile*'
	find "$arch" -name Kbuild.platforms -o -name Platform
	find include scripts \( -type f -o -type l \) \
		! -name '*.o' ! -name '.*.cmd'
	find "$arch" -type d -name include -exec find {} -type f \;
	find tools/objtool -name objtool -type f
	printf '%s\n' .config Module.symvers
}

keep_kernel()
{
	local tree=$1 root=$2

	mkdir -p "$root/headers"
	cp "$tree/arch/x86/boot/bzImage" "$root/vmlinuz"
	cp "$tree/System.map" "$root"
	(cd "$tree" && header_files | cpio -pdm --quiet "$root/headers")
}

unpack_source()
{
	mkdir "$2"
	dpkg-deb --fsys-tarfile "$1"/*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		xz -dc -T 0 | tar -x -C "$2" --strip-components=1
}

# Fails with the end of the compiler's log.
build_kernel()
{
	local flavour=$1 work=$2 tree=$2/tree

	unpack_source "$work/deb" "$tree"
	configure "$tree" "$flavour"
	say "building the kernel: five minutes on two idle processors"
	if ! compile "$tree" "$flavour" >"$work/log" 2>&1; then
		tail -n 40 "$work/log" >&2
		die "the kernel does not build"
	fi
	keep_kernel "$tree" "$work/root"
}

unpack_debug()
{
	build_kernel debug "$1"
}

unpack_kcsan()
{
	build_kernel kcsan "$1"
}
