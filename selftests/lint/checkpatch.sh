#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# checkpatch.sh: the kernel's style checker over all C files; silent or red.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# Where the checker is mistaken: a path's beginning, the message, the reason.
exceptions()
{
	cat <<-'END'
	kmod/compat/	LINUX_VERSION_CODE	the place where kernels are told apart
	kmod/core/op.h	MACRO_ARG_PRECEDENCE	the argument is the name of a field
	kmod/include/	MACRO_ARG_REUSE	the variable of a loop
	kmod/include/trace/	OPEN_ENDED_LINE	how the kernel writes events
	kmod/include/trace/	PARENTHESIS_ALIGNMENT	the same
	uapi/		BIT_MACRO		programs have no BIT()
	userlib/	BIT_MACRO		programs have no BIT()
	userlib/	PREFER_KERNEL_TYPES	C's own types are a library's
	userlib/	PREFER_DEFINED_ATTRIBUTE_MACRO	nor __noreturn
	userlib/python/src/	CAMELCASE	how Python's interface has names
	userlib/python/src/	SPACING		a type of Python is taken for a factor
	userlib/python/src/	STATIC_CONST_CHAR_ARRAY	Python's interface takes it so
	userlib/python/src/	SINGLE_STATEMENT_DO_WHILE_MACRO	a block of Python's begins and ends
	userlib/python/tests/	COMPLEX_MACRO	defines a function
	userlib/python/tests/	MACRO_ARG_REUSE	the argument is a name
	userlib/python/tests/	LEADING_SPACE	parameters are aligned
	userlib/python/tests/	MACRO_WITH_FLOW_CONTROL	a function that returns
	userlib/tests/	COMPLEX_MACRO		lists that are expanded by a macro
	userlib/tests/	MACRO_ARG_REUSE		the argument is such a macro
	selftests/	BIT_MACRO		programs have no BIT()
	selftests/	PREFER_KERNEL_TYPES	C's own types are a program's
	selftests/	PREFER_DEFINED_ATTRIBUTE_MACRO	nor __noreturn
	selftests/	VOLATILE		tests and clocks look behind the compiler
	selftests/	MULTIPLE_ASSIGNMENTS	terse where a test is a table
	selftests/	MACRO_ARG_REUSE		arguments are constants and fields
	selftests/	MACRO_ARG_PRECEDENCE	the argument is the name of a field
	selftests/	COMPLEX_MACRO		lists that are expanded by a macro
	uapi/linux/wort_engines.h	COMPLEX_MACRO	the table of engines is such a list
	uapi/linux/wort_engines.h	MACRO_ARG_REUSE	the argument is such a macro
	kmod/engine/	COMPLEX_MACRO		what expands the table
	kmod/engine/	TRAILING_SEMICOLON	declarations of each row
	kmod/engine/	UNNECESSARY_PARENTHESES	two comparisons in a row need them
	selftests/	NEW_TYPEDEFS		a model's word is a number
	selftests/	EMBEDDED_FUNCTION_NAME	the text names a command
	selftests/engines/fuzz.h	LINE_SPACING	taken for a declaration
	selftests/	LONG_LINE_STRING	a line of a report
	selftests/	REPEATED_WORD		a type and a variable
	selftests/engines/	TRAILING_SEMICOLON	declarations, one for each engine
	selftests/shim/	MEMORY_BARRIER		defines what the kernel defines
	selftests/shim/	CAMELCASE		defines what the kernel defines
	userlib/local/kernel/	MACRO_ARG_REUSE	defines what the kernel defines
	userlib/local/kernel/	NEW_TYPEDEFS	the same
	userlib/tests/file-crash.c	AVOID_EXTERNS	what the linker puts in the place of functions
	userlib/tests/file-sync.c	AVOID_EXTERNS	the same
	userlib/tests/format-race.c	AVOID_EXTERNS	the same
	userlib/tests/image-crash.c	AVOID_EXTERNS	the same
	userlib/ctl/backup_file.c	CAMELCASE	calls libxxhash
	END
}

# A line of the checker's is "path:line: CLASS:TYPE: text".
drop_exceptions()
{
	awk 'FNR == NR { reason[NR] = $2; path[NR] = $1; n = NR; next }
	{
		split($0, part, ":")
		for (i = 1; i <= n; i++)
			if (index($0, path[i]) == 1 && part[4] == reason[i])
				next
		print
	}' <(exceptions) -
}

# The checker takes "__pmem *p" for a product unless it knows the word.
copy_checker()
{
	cp "$1"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} \
		"$work"
	mkdir "$work/include"
	sed -i 's/__private$/__private|__pmem/' "$work/checkpatch.pl"
	grep -q '__private|__pmem$' "$work/checkpatch.pl" ||
		die "this checkpatch.pl lists its annotations elsewhere"
}

# It takes the project for a kernel's tree unless told of another root, and
# leaves notes in the folder where it runs.
run_checker()
{
	find -L kmod uapi userlib selftests -name '*.[ch]' \
		! -name '*.mod.c' -print0 2>/dev/null | sort -z |
		GIT_DIR=/nonexistent xargs -0 -r -n 24 -P "$(nproc)" \
		perl "$work/checkpatch.pl" --strict --no-tree \
		--root="$work" --terse --no-summary --show-types --file \
		>"$work/said" 2>&1
}

main()
{
	local tools

	need perl static
	# Not "local": the trap outlives this function.
	work=$(temp_dir checkpatch)
	trap 'rm -rf "$work"' EXIT
	tools=$("$wort_top/selftests/scripts/kernel.sh" tools)
	copy_checker "$tools"
	mkdir "$work/tree"
	ln -s "$wort_top"/{kmod,uapi,userlib,selftests} "$work/tree"
	cd "$work/tree"
	# Its status counts the exceptions, too; 1 of perl's is 123 of xargs'.
	run_checker || [ $? -eq 123 ] || die "$(cat "$work/said")"
	drop_exceptions <"$work/said" >"$work/left"
	sort "$work/left"
	[ ! -s "$work/left" ]
}

main "$@"
