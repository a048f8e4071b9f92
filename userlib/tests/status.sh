#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# status.sh WORT-STUB: each verb ends with the status that wort(1) promises.
# WORT_STUB names the image of the stub.

set -euo pipefail

wort=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 met='' input=''
cd "$work"

# expect STATUS ARGUMENT...: and silence on stderr only with success, or help.
expect()
{
	local status=0 want=$1
	shift

	printf '%b' "$input" | "$wort" "$@" >out 2>err || status=$?
	met+=" $want"
	if [ "$status" -ne "$want" ]; then
		echo "wort $*: status $status instead of $want"
		cat err
		failures=$((failures + 1))
	elif [ "$want" -gt 1 ] && [ ! -s err ] && [ ! -s out ]; then
		echo "wort $*: status $want without a word"
		failures=$((failures + 1))
	fi
}

usage()
{
	local verb

	expect 2
	expect 2 absent-verb
	expect 2 -o json list
	expect 0 --help
	expect 0 --version
	for verb in $("$wort" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		expect 0 "$verb" --help
		expect 2 "$verb" --absent-option
		expect 2 "$verb" -o xml a b c d
		case $verb in
		list | engines)	;;
		*)		expect 2 "$verb" ;;
		esac
	done
}

# batch STATUS LINES: of wort atomic
batch()
{
	input=$2
	expect "$1" atomic 0
	input=''
}

batches()
{
	batch 0 ''
	batch 0 '# nothing\n\n'
	batch 0 'put\ta\tk\tv\nget\ta\tk\nget\ta\tl\n'
	batch 1 'put\ta\tx\tv\nreplace\ta\tl\tv\n'
	batch 1 'put\ta\tx\tv\ninsert\ta\tk\tv\n'
	batch 1 'cas\ta\tk\tw\tv\n'
	batch 1 'del\ta\tk\tw\n'
	batch 1 'del\ta\tl\n'
	batch 1 'expect\ta\tk\tw\n'
	batch 1 'present\ta\tl\n'
	batch 1 'absent\ta\tk\n'
	batch 1 'put\ta\tx\tv\nget\tno index\tk\n'
	batch 3 'put\ta\tx\tv\nset\ta\tx\tv\n'
	batch 3 'put\ta\tx\n'
	batch 3 'put\ta\tx\tv\tw\n'
	batch 3 "put\ta\t$(printf '%01025d' 0)\tv\n"
	expect 1 get 0 a x
	batch 0 'cas\ta\tk\tv\tw\npresent\ta\tk\nexpect\ta\tk\tw\ndel\ta\tk\tw\nabsent\ta\tk\n'
	expect 1 get 0 a k
	expect 3 atomic 0 absent
	expect 3 atomic 0 .
	expect 1 atomic 7
}

# A pool and an index that are there, ones that are not, refusals.
statuses()
{
	expect 0 detach 0
	expect 0 format -f -L one "$WORT_STUB"
	cp "$WORT_STUB" copy
	expect 0 probe copy
	expect 1 probe "$0"
	expect 1 probe "$work/absent"
	expect 0 attach "$WORT_STUB"
	expect 3 attach "$WORT_STUB"
	expect 3 attach -gm "$WORT_STUB"
	expect 2 attach -gr "$WORT_STUB"
	expect 3 format -f "$WORT_STUB"
	expect 2 format -e 5000 "$WORT_STUB"
	expect 2 format -U none "$WORT_STUB"
	expect 1 format "$work/absent"
	expect 1 attach LABEL=absent
	expect 0 create 0 a
	expect 3 create 0 a
	expect 2 create 0 ""
	expect 2 create 0 attrs -o node=512
	expect 2 create 0 attrs --attr node
	expect 2 list -o node=512
	expect 0 put 0 a k v
	expect 2 put --sync process 0 a k v
	expect 3 put -c 0 a k v
	expect 1 put -r 0 a l v
	expect 2 put -f x 0 a k v
	expect 3 put -f absent 0 a k
	expect 2 put 0 a "$(printf '%01025d' 0)" v
	expect 0 get 0 a k
	expect 1 get 0 a l
	expect 1 get 0 absent k
	expect 1 get 7 a k
	expect 2 get -x 0 a k
	expect 1 del 0 a l k
	expect 0 scan 0 a
	expect 1 scan 0 absent
	expect 2 scan -s a -a b 0 a
	expect 0 count 0 a
	expect 3 load 0 a absent
	expect 3 dump 0 a absent/file
	expect 0 backup 0 whole
	expect 3 backup 0 absent/file
	expect 1 backup 7 whole
	expect 3 restore whole 0
	expect 3 restore absent 0
	expect 3 restore "$0" 0
	expect 1 restore whole 7
	batches
	expect 0 put 0 a k v
	expect 3 dump 0 a /dev/full
	expect 3 load 0 a .
	expect 1 detach 4294967296
	expect 1 stat 0 absent
	expect 1 list absent
	expect 1 doctor "$work/absent"
	expect 3 grow 0
	expect 1 grow "$work/absent"
	expect 1 grow "$0"
	expect 1 rename 0 absent b
	expect 3 rename 0 a a
	expect 0 rename 0 a b
	expect 0 rename 0 b a
	expect 1 destroy 0 absent
	expect 0 destroy 0 a
	expect 1 detach 7
}

# Damage: of an image, for its pool is not attached any more.
damage()
{
	expect 0 create 0 d
	expect 0 put 0 d 'a key of one' v
	expect 0 put 0 d 'a key of two' v
	expect 0 detach 0
	sed 's/a key of one/a kex of one/' "$WORT_STUB" >damaged
	expect 4 check damaged
	expect 4 dump damaged d
	expect 4 scan damaged d
	expect 1 check "$0"
}

# The page and the header have the same numbers.
documented()
{
	sed -n '/^EXIT STATUS/,/^EXAMPLES/s/^\([0-9]\)$/\1/p' \
		"$here/../../Documentation/man/wort.1.rst" >page
	sed -n 's/^\tST_[A-Z]* = \([0-9]\),.*/\1/p' "$here/../ctl/ctl.h" >header
	tr ' ' '\n' <<<"$met" | sed /^$/d | sort -u >used
	cmp page header && cmp page used
}

usage
statuses
damage
documented
[ $failures -eq 0 ]
echo "$(wc -w <<<"$met") commands end as wort(1) says"
