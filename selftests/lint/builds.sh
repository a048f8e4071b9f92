#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# builds.sh: "make modules" and DKMS take clang for a kernel that clang built; a
# build beside another, or in a folder with a space in its path, says what is
# wrong; "make clean" leaves nothing.  The kernel is a Makefile that tells what it
# was asked.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# kernel NAME COMPILER: headers of a kernel that was built with it.
kernel()
{
	mkdir -p "$work/$1/include/config"
	echo "CONFIG_CC_IS_$2=y" >"$work/$1/include/config/auto.conf"
	cat >"$work/$1/Makefile" <<-'END'
	modules: ; @echo "LLVM=$(LLVM)."
	END
}

# expect TEXT COMMAND...: is it in what the command says?
expect()
{
	local text=$1 said
	shift

	said=$("$@" 2>&1) || true
	[[ $said == *"$text"* ]] || die "\"$*\" says not \"$text\" but: $said"
}

# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # dkms.conf wants and sets them
dkms_make()
(
	kernel_source_dir=$work/$1 dkms_tree=/tree kernelver=6.12 arch=x86_64
	# shellcheck source=../../dkms.conf
	. ./dkms.conf
	echo "${MAKE[0]}."
)

check_clang()
{
	kernel by-clang CLANG
	kernel by-gcc GCC
	expect LLVM=1. make -s modules KDIR="$work/by-clang"
	expect LLVM=. make -s modules KDIR="$work/by-gcc"
	expect '/build LLVM=1.' dkms_make by-clang
	expect '/build .' dkms_make by-gcc
}

check_beside()
{
	expect 'built in this folder' flock kmod \
		make -s modules KDIR="$work/by-gcc"
}

check_space()
{
	mkdir "$work/with space"
	cp Makefile "$work/with space"
	expect 'a space in its path' make -C "$work/with space" lib DEPS=true
	expect 'a space in its path' make -C "$work/with space" modules
	# The shell would split the path, and "rm -rf" would remove another folder.
	mkdir "$work/decoy"
	expect 'a space in its path' make DESTDIR="$work/decoy dir" install-dkms
	[ -d "$work/decoy" ] || die "a folder with another name is gone"
}

# What the kernels' builds leave, in a checkout of its own.
check_clean()
{
	mkdir -p "$work/clean/kmod/dev" "$work/clean/kmod/tests"
	cp Makefile "$work/clean"
	touch "$work"/clean/{Module.symvers,modules.order,.modules.order.cmd} \
		"$work"/clean/{.module-common.o,..module-common.o.cmd} \
		"$work"/clean/kmod/{wort.{o,ko,mod,mod.c,mod.o},modules.order} \
		"$work"/clean/kmod/dev/{api.o,.api.o.cmd,.api.o.d}
	make -s -C "$work/clean" clean
	find "$work/clean" -type f ! -path "$work/clean/Makefile" >"$work/left"
	[ ! -s "$work/left" ] || die "make clean leaves $(paste -s "$work/left")"
}

cd "$wort_top"
work=$(temp_dir builds)
trap 'rm -rf "$work"' EXIT
check_clang
check_beside
check_space
check_clean
