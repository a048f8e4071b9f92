#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# tree.sh: "make tree" leaves a complete source in a kernel tree, the same when it
# is run twice, and nothing after --remove; it leaves alone what is no kernel tree.
# The tree here has only the files that it edits.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

make_kernel()
{
	mkdir -p "$1"/{drivers,include/{linux,uapi/linux,trace/events}} \
		"$1"/tools/testing/selftests "$1"/Documentation/{driver-api,ABI/testing}
	printf 'VERSION = 6\nPATCHLEVEL = 12\n' >"$1/Makefile"
	printf 'menu "Device Drivers"\n\nsource "drivers/dpll/Kconfig"\n\nendmenu\n' \
		>"$1/drivers/Kconfig"
	# shellcheck disable=SC2016 # make expands it
	echo 'obj-$(CONFIG_DPLL)		+= dpll/' >"$1/drivers/Makefile"
	printf 'TARGETS += x86\nTARGETS += zram\n# the end\n' \
		>"$1/tools/testing/selftests/Makefile"
	printf '.. toctree::\n\n   nvdimm/index\n   nvmem\n' \
		>"$1/Documentation/driver-api/index.rst"
	echo '/* of others */' >"$1/include/uapi/linux/worth.h"
}

run_tree()
{
	selftests/scripts/tree.sh "$@" >"$work/said" 2>&1 && return
	cat "$work/said"
	return 1
}

check_refusal()
{
	cp -R "$work/kernel" "$work/other"
	rm "$work/other/tools/testing/selftests/Makefile"
	cp -R "$work/other" "$work/before"
	! run_tree "$work/other" >/dev/null || die "it takes half a kernel tree"
	grep -q 'not the source tree of a kernel: tools/' "$work/said" ||
		die "it does not say what is missing"
	diff -r "$work/other" "$work/before" || die "a refusal changes something"
}

check_edits()
{
	local line

	for line in 'source "drivers/wort/Kconfig"' 'TARGETS += wort' '   wort/index'; do
		[ "$(grep -rxFe "$line" "$work/kernel" | wc -l)" -eq 1 ] ||
			die "\"$line\" is not there once"
	done
}

# Sources are those of the project, unchanged; what is for use outside is not there.
check_unchanged()
{
	local part

	for part in core engine pool dev compat samples tests; do
		diff -r -x '*.o' -x '.*' -x '*.ko' -x '*.mod*' -x Makefile -x README \
			"kmod/$part" "$work/kernel/drivers/wort/$part" ||
			die "$part is not the same in the tree"
	done
}

check_objects()
{
	local object

	while read -r object; do
		[ -f "$work/kernel/drivers/wort/${object%.o}.c" ] ||
			die "Kbuild names $object, which has no source in the tree"
	done < <(grep -oE '[a-z]+/[a-z_]+\.o' "$work/kernel/drivers/wort/Kbuild")
}

# Quoted headers lie beside the file, and those of wort among the kernel's.
check_includes()
{
	local file header

	cd "$work/kernel"
	while IFS=: read -r file header; do
		case $header in
		*fuzz_table.h* | *kselftest_harness.h*) continue ;;
		*\"*)	header=$(dirname "$file")/$(cut -d '"' -f 2 <<<"$header") ;;
		*)	header=$(cut -d '<' -f 2 <<<"${header%>*}")
			[ -e "include/$header" ] || header=uapi/$header
			header=include/$header ;;
		esac
		[ -e "$header" ] || die "$file includes $header, which is not in the tree"
	done < <(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]+("|<(linux|trace/events)/wort)' \
		drivers/wort tools/testing/selftests/wort include)
	cd "$wort_top"
}

# Pages of the tables of contents, and the files that pages quote or show.
check_docs()
{
	local docs=$work/kernel/Documentation/driver-api/wort page file

	while read -r page; do
		[ -f "$docs/$page.rst" ] || die "a table of contents has $page, which is not there"
	done < <(sed -n '/^\.\. toctree::/,/^[^ ]/s/^   \([a-z].*\)/\1/p' "$docs"/*.rst)
	while IFS=: read -r page file; do
		file=$(dirname "$page")/${file##*:: }
		[ -f "$file" ] || die "$page quotes $file, which is not there"
	done < <(grep -rE '^ *\.\. ((literal)?include|image)::' "$docs")
	while read -r _ _ file; do
		[ -f "$work/kernel/$file" ] || die "the reference shows $file, which is not there"
	done < <(grep -h '^\.\. kernel-doc::' "$docs"/*.rst)
}

cd "$wort_top"
work=$(temp_dir tree)
trap 'rm -rf "$work"' EXIT
make_kernel "$work/kernel"
cp -R "$work/kernel" "$work/pristine"
check_refusal
run_tree "$work/kernel"
cp -R "$work/kernel" "$work/once"
run_tree "$work/kernel"
diff -r "$work/once" "$work/kernel" || die "a second run changes something"
check_edits
check_unchanged
check_objects
check_includes
check_docs
run_tree --remove "$work/kernel"
diff -r "$work/pristine" "$work/kernel" || die "--remove leaves something"
