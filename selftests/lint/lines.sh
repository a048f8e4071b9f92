# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For lints that look at lines of the sources, and are tested by lines that are planted
# in a copy of the project.  Such a lint defines
#
#	list_sources	the files that it looks at, from the root of the project, with a
#			zero behind each
#	check ROOT	prints "path:line: reason" for what is wrong in a project
#	plant_targets	what the planted lines refer to, in the root of the copy
#
# and calls lint_main NAME "$@".  NAME-planted.txt has the planted lines: whether the lint
# must find it (1) or not (0), a path, and the text.

# "path:line:text" of all sources, without comments in C.
list_code()
{
	# shellcheck disable=SC2016 # perl's variables
	list_sources | sort -z | xargs -0 -r perl -0777 -ne '
		s{(/\*.*?\*/)|//[^\n]*|("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])+\x27)}
		 {defined $1 ? "\n" x ($1 =~ tr/\n//) : $2 // ""}gse
			if $ARGV =~ /\.[ch]$/;
		my $n = 0;
		print "$ARGV:", ++$n, ":$_\n" for split /\n/'
}

plants()
{
	grep -v '^#' "$wort_top/selftests/lint/$lint-planted.txt"
}

self_test()
{
	local root=$work/copy wrong path text bad=0 found

	mkdir "$root"
	cd "$wort_top"
	list_sources | tar -c --null -T - | tar -x -C "$root"
	cd "$root"
	plant_targets
	while read -r wrong path text; do
		mkdir -p "${path%/*}"
		printf '/* planted\n */\n%s\n' "$text" >"$path"
	done < <(plants)

	(check "$root") >"$work/found"
	while read -r wrong path text; do
		found=0
		! grep -q "^$path:3: " "$work/found" || found=1
		[ "$found" = "$wrong" ] && continue
		say "planted in $path: $text: found $found, not $wrong"
		bad=1
	done < <(plants)
	return "$bad"
}

# lint_main NAME [--self-test]
lint_main()
{
	need perl static
	# Not "local": the trap outlives this function.
	lint=$1
	work=$(temp_dir "$lint")
	trap 'rm -rf "$work"' EXIT
	if [ "${2:-}" = --self-test ]; then
		self_test
		return
	fi
	(check "$wort_top") >"$work/found"
	cat "$work/found"
	[ ! -s "$work/found" ]
}
