#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# engines.sh [--self-test]: nothing outside the files of an engine, and its rows in
# the tables, names it: not in the module, in the user's programs or in the tests.
# Prints "path:line: reason" for each line that does, and fails.  The self-test plants
# such lines in a copy of the project and demands that each is found.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lines.sh
. "$(dirname "$0")/lines.sh"

# Where an engine may be named all the same: a path, and why.  What follows "known" is
# to be mended.
exceptions()
{
	cat <<-'END'
	uapi/linux/wort.h	the numbers of engines
	uapi/linux/wort_engines.h	the table of engines
	uapi/linux/wort_format.h	the numbers of engines in catalogue entries
	kmod/Kbuild	the files of engines
	kmod/dev/layout.c	asserts the layout of all structs of media
	userlib/lib/reader_engine.h	the functions that follow engines in a mapping
	userlib/lib/reader_engine.c	the rows of engines that can be followed in a mapping
	userlib/tests/made-up-engine.h	a table with an engine that is made up
	selftests/engines/engines.h	the rows of engines in all tests
	END
}

list_sources()
{
	find kmod uapi userlib selftests \( -name '*.[ch]' -o -name '*.py' \
		-o -name '*.sh' -o -name Makefile -o -name Kbuild \) -print0 \
		2>/dev/null
}

# files_of ENGINE: what is its own, as an extended regular expression.
files_of()
{
	echo "^(kmod/engine|selftests/engines)/$1([_-][a-z0-9_-]*)?\\.[a-z]+:|$(
	)^uapi/linux/wort_format_$1\\.h:|^userlib/lib/reader_$1\\.[ch]:"
}

# names_of ENGINE: how it is named.  The project has the name of one of its engines,
# which is therefore told by what only an engine has.
names_of()
{
	local upper=${1^^} names

	names="\\<(wort_engine|engine_unit|engine_starts|engine_fuzz)_$1\\>"
	names+="|\\<WORT_(TRAITS|ATTRS)_$1\\>|\\<TEST_ATTRS_$1\\>"
	names+="|\\<WORT_(MEDIA_)?ENGINE_$upper\\>"
	names+="|\\<wort_media_$1(_|\\>)|\\<WORT_MEDIA_${upper}_"
	# Whether engines include each other is for layers.sh.
	names+="|include.*engine/$1(_[a-z0-9_]+)?\\.h\""
	[ "$1" = wort ] || names+="|\\<$1(_|\\>)|\\<${upper}_"
	echo "$names"
}

# check ROOT: prints what is wrong there.
check()
{
	local code=$work/code engine path line

	cd "$1"
	list_code >"$code"
	list_engines . | while read -r engine; do
		while IFS=: read -r path line _; do
			! grep -q -x -F "$path" <<<"$(exceptions | cut -f 1)" ||
				continue
			echo "$path:$line: names the engine $engine"
		done < <(grep -E "^[^:]*:[0-9]+:.*($(names_of "$engine"))" "$code" |
			grep -v -E "$(files_of "$engine")")
	done
}

plant_targets()
{
	# A second engine, whose name is its own.
	printf '\tX(twin, "twin", WORT_ENGINE_TWIN, 0)\n' \
		>>uapi/linux/wort_engines.h
}

lint_main engines "$@"
