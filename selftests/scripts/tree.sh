#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# tree.sh [--remove] DIR: puts wort into the source tree of a kernel, from which
# that kernel's build then makes the module, the tests and the documentation.
# What an earlier run put there is replaced.  --remove takes it out again.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

usage='usage: tree.sh [--remove] DIR, where DIR is the source tree of a kernel'

module=drivers/wort
tests=tools/testing/selftests/wort
docs=Documentation/driver-api/wort

# The kernel's files that are edited: the file, the line, and an expression for
# the lines behind the last of which it is put.
edits()
{
	cat <<-'END'
	drivers/Kconfig|source "drivers/wort/Kconfig"|^source "drivers/
	drivers/Makefile|obj-$(CONFIG_WORT)		+= wort/|^obj-
	tools/testing/selftests/Makefile|TARGETS += wort|^TARGETS \+= 
	Documentation/driver-api/index.rst|   wort/index|^   nvdimm/index$
	END
}

# copies: each folder of the tree, then the files of the project for it.
copies()
{
	local part

	for part in core engine pool dev compat samples tests; do
		echo "$module/$part" kmod/$part/*.[ch] \
			"$([ ! -e kmod/$part/Kbuild ] || echo kmod/$part/Kbuild)"
	done
	echo $module kmod/Kbuild kmod/Kconfig
	echo include/uapi/linux uapi/linux/*.h
	echo include/linux kmod/include/linux/*.h
	echo include/trace/events kmod/include/trace/events/*.h
	echo $tests selftests/kselftest/{Makefile,config,settings,*.[ch],run_*.sh,fuzz_table.py} \
		selftests/world/*.[ch] userlib/lib/reader*.[ch] \
		userlib/include/wort_uring.h
	echo Documentation/ABI/testing Documentation/ABI/testing/*
	echo $docs Documentation/*.{rst,svg}
	echo $docs/figures Documentation/figures/*
	echo $docs/man Documentation/man/*.rst
	echo $docs/examples Documentation/examples/*
}

# Nothing is changed if one of the files to edit is not there.
check_tree()
{
	local file line after

	[ -d "$tree" ] || die "$tree is no folder"
	grep -qs '^PATCHLEVEL = ' "$tree/Makefile" ||
		die "$tree is not the source tree of a kernel: its Makefile has no PATCHLEVEL"
	while IFS='|' read -r file line after; do
		grep -Eqs -e "$after" "$tree/$file" ||
			die "$tree is not the source tree of a kernel: $file has no line \"$after\""
	done < <(edits)
}

remove_edits()
{
	local file line

	while IFS='|' read -r file line _; do
		grep -qxF -e "$line" "$tree/$file" || continue
		grep -vxF -e "$line" "$tree/$file" >"$tree/$file.wort"
		cat "$tree/$file.wort" >"$tree/$file"
		rm "$tree/$file.wort"
	done < <(edits)
}

remove()
{
	remove_edits
	rm -rf "${tree:?}"/{$module,$tests,$docs}
	rm -f "$tree"/include/uapi/linux/wort{,_*}.h \
		"$tree"/include/linux/wort_*.h \
		"$tree"/include/trace/events/wort.h \
		"$tree"/Documentation/ABI/testing/sysfs-class-wort
}

# insert FILE LINE EXPRESSION: behind the last line that matches.
insert()
{
	local at

	at=$(grep -nE -e "$3" "$1" | tail -n 1 | cut -d : -f 1)
	sed -i "$at a\\
$(sed 's/^ /\\ /' <<<"$2")" "$1"
}

# The pages quote sources by their places, and name files by those of the project.  The
# reference leaves libwort out, which is last.
adapt_docs()
{
	sed -i -e "s#^\(\.\. literalinclude:: \)\.\./kmod/#\1../../../$module/#" \
		-e 's#^\(\.\. kernel-doc:: \)\(kmod/\)\?\(include/\)\?linux/#\1include/linux/#' \
		-e 's#^\(\.\. kernel-doc:: \)uapi/#\1include/uapi/#' \
		-e "s#^\(\.\. kernel-doc:: \)kmod/#\1$module/#" "$tree/$docs"/*.rst
	sed -i '/^Structs of libwort$/,$d' "$tree/$docs/reference.rst"
	cat >>"$tree/$docs/index.rst" <<-END

	These pages name files as they lie in the project.  In this tree ``kmod`` is
	\`\`$module\`\`, its headers and those in \`\`uapi\`\` are in \`\`include\`\`,
	\`\`selftests/kselftest\`\` is \`\`$tests\`\`.  Other tests, the library and the
	command are in the project only.
	END
}

put()
{
	local to from file line after

	while read -r to from; do
		mkdir -p "$tree/$to"
		# shellcheck disable=SC2086 # several, without spaces
		cp -p -t "$tree/$to" $from
	done < <(copies)
	adapt_docs
	while IFS='|' read -r file line after; do
		insert "$tree/$file" "$line" "$after"
	done < <(edits)
}

tell()
{
	copies | while read -r to from; do
		say "$to: $(wc -w <<<"$from") files"
	done
	edits | while IFS='|' read -r file line _; do
		say "$file: $line"
	done
	say "next, in $tree: make menuconfig (Device Drivers: WORT), make," \
		"make kselftest TARGETS=wort, make htmldocs"
	say "\"$0 --remove $tree\" takes all of it out again"
}

main()
{
	local action=put

	[ "${1:-}" != --remove ] || { action=remove; shift; }
	[ $# -eq 1 ] && [ -n "$1" ] || die "$usage"
	tree=$(realpath "$1")
	cd "$wort_top"
	check_tree
	remove
	[ $action = put ] || { say "$tree has no wort now"; return; }
	put
	tell
}

main "$@"
