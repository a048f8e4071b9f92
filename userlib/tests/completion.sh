#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# completion.sh WORT-STUB: bash completes all verbs and options that the
# command has, and pools, indexes and files where they belong.  WORT_STUB names
# the image of the stub.

set -euo pipefail

wort=$(realpath "$1") here=$(realpath "$(dirname "$0")")
# shellcheck source-path=SCRIPTDIR source=../completion/wort
. "$(dirname "$0")/../completion/wort"
failures=0

# completed WORD...: what the last word becomes, sorted.
completed()
{
	COMP_WORDS=(wort "$@") COMP_CWORD=$# COMPREPLY=()
	_wort "$wort"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

# expect WORDS WORD...: that they are WORDS, separated by spaces.
expect()
{
	local want=$1 got
	shift

	got=$(completed "$@" | paste -sd ' ')
	[ "$got" != "$want" ] || return 0
	echo "wort $*: completed with \"$got\" instead of \"$want\""
	failures=$((failures + 1))
}

# --usage lists options in another way than --help, which completion reads.
options_of()
{
	"$wort" "$1" --usage | sed 1s/Usage:// | tr -d '\n' |
		grep -oE '\[-[^]]*\]' | tr -d '[]' | sed 's/[ =].*//' |
		awk '/^--/ { print; next }
		     { for (i = 2; i <= length($0); i++)
				print "-" substr($0, i, 1) }' |
		sort -u | paste -sd ' '
}

test_verbs()
{
	local verbs verb

	verbs=$("$wort" help | awk '/^  [a-z]/ { print $1 }')
	expect "$(printf '%s\n' --help --version "$verbs" | sort -u |
		paste -sd ' ')" ''
	expect "del destroy detach" de
	for verb in $verbs; do
		expect "$(options_of "$verb")" "$verb" -
	done
}

test_values()
{
	local format engine

	expect 'json text' list -o ''
	expect 'jsonl lines tsv' dump -F ''
	for format in $(completed dump -F ''); do
		"$wort" dump -F "$format" 0 books >/dev/null
	done
	expect '' scan -l ''
	expect 'media process' put --sync ''
	expect 'media process' put --sync =
	expect process put --sync = p
	expect 'json text' list --output =
	expect "$("$wort" engines -o json | python3 -c 'import json, sys
print(*sorted(engine["name"] for engine in json.load(sys.stdin)))')" create -e ''
	for engine in $(completed create -e ''); do
		"$wort" create -e "$engine" 0 "of-$engine"
		"$wort" destroy 0 "of-$engine"
	done
}

test_arguments()
{
	expect 'shelf wort0' put ''
	expect shelf put sh
	expect 'books boots' put shelf boo
	expect 'shelf wort0' put -c -f value ''
	expect 'books boots' put 0 boo
	expect 'books' get -r 0 book
	expect 'books boots' put --wait = 60 0 boo
	expect 'books boots' put --wait 60 --sync = media 0 boo
	expect 'shelf wort0' put --sync = media ''
	expect file grow ''
	expect '' get 0 books ''
	expect 'file shelf wort0' stat ''
	expect file load 0 books ''
	expect 'shelf wort0' atomic ''
	expect file atomic 0 ''
}

# Nothing in a name is run or expanded, and what acts on a terminal is not shown.
test_hostile()
{
	local name

	"$wort" create 0 '$(>evil)'
	expect 'books boots' put 0 ''
	for name in '$(touch evil)' '`touch evil`' '$HOME' '~root' '-x' '*' \
		'a b' "it's" 'q"e' 'back\slash' 'a;b' '<(touch evil)' \
		$'\e[2J' $'n\nl' $'\xc2\x9b2J' $'\xe2\x80\xaeabc' $'\x9b' ; do
		"$wort" create 0 -- "$name"
	done
	expect '* <(touch evil) a b a;b books boots it'"'"'s' put 0 ''
	expect 'a b' put 0 'a\ '
	expect 'a b' put 0 '"a '
	expect '' put 0 '$('
	expect '' put '$(touch evil)' ''
	expect '' put -F '$(touch evil)' ''
	"$wort" detach 0
	for name in '$(touch evil)' $'\e[2J' a/b 7 -x; do
		"$wort" format -f -L "$name" "$WORT_STUB" >/dev/null
		"$wort" attach "$WORT_STUB" >/dev/null
		expect wort0 put ''
		"$wort" detach 0
	done
	[ ! -e evil ] || { echo "a name was run"; failures=$((failures + 1)); }
}

"$wort" detach 0 2>/dev/null || true
"$wort" format -f -L shelf "$WORT_STUB" >/dev/null
"$wort" attach "$WORT_STUB" >/dev/null
"$wort" create 0 books
"$wort" create 0 boots
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
touch file
test_verbs
test_values
test_arguments
test_hostile
"$here/completion-tty.py" "$wort"
[ $failures -eq 0 ]
