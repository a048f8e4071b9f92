#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# attributes.sh WORT-MADE-UP: attributes on the command line, with an engine that is
# made up (made-up-engine.h).

set -euo pipefail

wort=$(realpath "$1")

expect()
{
	local status=0 want=$1 text=$2 said
	shift 2

	said=$("$wort" "$@" 2>&1) || status=$?
	if [ "$status" -ne "$want" ] || ! grep -q -- "$text" <<<"$said"; then
		printf '%s: status %s instead of %s, or no "%s" in:\n%s\n' \
			"$*" "$status" "$want" "$text" "$said"
		exit 1
	fi
}

expect 0 '^made-up *99  ordered readers-lock delete-needs-space$' engines
expect 0 '^ *key=any fixed8, default any$' engines
expect 0 '^ *node=256..4096 in steps of 16, default 512$' engines
expect 0 '^ *split=left middle right, default middle$' engines

make="create absent i -e made-up"
# shellcheck disable=SC2086 # words
{
	expect 2 'unknown engine: none' create absent i -e none
	expect 2 'nodes=512: the engine has no such attribute' $make -o nodes=512
	expect 2 'node=512: the engine has no such attribute' create absent i -o node=512
	expect 2 'node=128: not from 256 to 4096 in steps of 16' $make -o node=128
	expect 2 'node=260: not from' $make --attr node=260
	expect 2 'key=8: not one of: any fixed8' $make -o key=8
	expect 2 'node=x: not NAME=VALUE, or not a number' $make -o node=x
	expect 2 'not NAME=VALUE: node' $make --attr node
	expect 2 'unknown output format: node' $make -o node
	expect 2 'more than 16 attributes' $make $(printf -- '-o node=512 %.0s' {1..17})
	# The engine is the one that is named, before them or behind.
	expect 1 'absent: no such' create -o node=256 --attr split=left absent i -e made-up
	expect 1 '"text":"absent: no such' $make -o json -o node=256
}
