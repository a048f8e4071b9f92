#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kbuild.sh [-n] [-t] [-d DIR] [-o DIR] FLAVOUR gcc|clang: builds kernel modules
# with all warnings, with gcc also through sparse, and fails if anything is
# said.  A copy is built: the checkout stays as it is.
#
#   -n		only build: neither more warnings than usual nor sparse
#   -t		with what only tests want; without -n always
#   -d DIR	build this folder of the project instead of its Kbuild
#   -o DIR	put the modules there

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

usage='usage: kbuild.sh [-n] [-t] [-d DIR] [-o DIR] FLAVOUR gcc|clang'

# The project's own modules need the headers that programs share with them.
copy_sources()
{
	if [ -n "$folder" ]; then
		cp -RL "$wort_top/$folder" "$work/src"
		return
	fi
	mkdir "$work/src"
	cp -RL "$wort_top"/{Kbuild,kmod,uapi} "$work/src"
	find "$work/src" \( -name '*.o' -o -name '*.ko' -o -name '.*.cmd' \) \
		-delete
}

# Debian 12 has an older one beside it, which is too old for Linux 7.3.
clang_suffix()
{
	! command -v clang-19 >/dev/null || echo -19
}

# Debian's kernels are configured for gcc, and their headers even set CC.
# What the configuration says of the compiler is overridden where the flags
# are chosen (make) and where the headers ask (a file found before theirs).
clang_flags()
{
	local suffix=$1 major minor patch

	IFS=. read -r major minor patch < <("clang$suffix" -dumpversion)
	mkdir -p "$work/clang/generated"
	{
		echo '#include_next <generated/autoconf.h>'
		printf '#undef %s\n' CONFIG_CC_HAS_NAMED_AS \
			CONFIG_USE_X86_SEG_SUPPORT
	} >"$work/clang/generated/autoconf.h"
	flags+=("LLVM=${suffix:-1}" CC="clang$suffix -I$work/clang"
		CONFIG_CC_IS_GCC='' CONFIG_GCC_VERSION=0 CONFIG_CC_IS_CLANG=y
		CONFIG_CLANG_VERSION=$((major * 10000 + minor * 100 + patch))
		CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
		CONFIG_RETHUNK='' CONFIG_MITIGATION_RETHUNK=''
		CONFIG_SLS='' CONFIG_MITIGATION_SLS='' CONFIG_UBSAN_BOUNDS_STRICT=''
		CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=''
		CONFIG_INIT_STACK_ALL_ZERO='' CONFIG_FTRACE_MCOUNT_USE_CC='')
}

set_flags()
{
	local suffix

	flags=(CONFIG_WORT_SAMPLES=m CONFIG_WORT_TESTS=m)
	[ -n "$plain" ] || flags+=(W=1)
	[ -n "$plain" ] && [ -z "$testing" ] || flags+=(CONFIG_WORT_POWERCUT=y CONFIG_WORT_TEST_ENGINES=y)
	case $1 in
	gcc)	need gcc build
		[ -n "$plain" ] && return
		need sparse static
		flags+=(C=2 CHECK=sparse CF=-D__CHECK_ENDIAN__) ;;
	clang)	suffix=$(clang_suffix)
		need "clang$suffix" static
		need "ld.lld$suffix" static
		clang_flags "$suffix" ;;
	*)	die "$usage" ;;
	esac
}

build()
{
	make -C "$1" M="$work/src" -j "$(nproc)" "${flags[@]}" modules \
		>"$work/log" 2>&1 && return
	cat "$work/log" >&2
	die "the build failed"
}

# That another compiler, or another pahole, built the kernel is known.
check_silence()
{
	grep -i -E '(warning|error):' "$work/log" |
		grep -v -E 'warning: (the compiler|pahole version) differs from the one used' \
		>"$work/said" || return 0
	sed "s#$work/src/##" "$work/said" >&2
	die "$(wc -l <"$work/said") warnings"
}

main()
{
	local folder='' out='' plain='' testing='' flavour kdir opt flags

	while getopts ntd:o: opt; do
		case $opt in
		n) plain=1 ;;
		t) testing=1 ;;
		d) folder=$OPTARG ;;
		o) out=$OPTARG ;;
		*) die "$usage" ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# -eq 2 ] || die "$usage"
	flavour=$1

	# Not "local": the trap outlives this function.
	work=$(temp_dir kbuild)
	trap 'rm -rf "$work"' EXIT
	set_flags "$2"
	kdir=$("$wort_top/selftests/scripts/kernel.sh" headers "$flavour")
	copy_sources
	build "$kdir"
	check_silence
	[ -z "$out" ] && return
	mkdir -p "$out"
	find "$work/src" -name '*.ko' -exec cp -t "$out" {} +
}

main "$@"
