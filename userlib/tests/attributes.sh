#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# attributes.sh WORT-MADE-UP: attributes on the command line, with an engine that is
# made up (made-up-engine.h).

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=expect.sh
. "$(dirname "$0")/expect.sh"

wort=$(realpath "$1")

expect_wort()
{
	local want=$1 text=$2
	shift 2

	expect "$want" "$text" "$wort" "$@"
}

expect_wort 0 '^made-up *99  ordered readers-lock delete-needs-space$' engines
expect_wort 0 '^ *key=any fixed8, default any$' engines
expect_wort 0 '^ *node=256..4096 in steps of 16, default 512$' engines
expect_wort 0 '^ *split=left middle right, default middle$' engines

make="create absent i -e made-up"
# shellcheck disable=SC2086 # words
{
	expect_wort 2 'unknown engine: none' create absent i -e none
	expect_wort 2 'nodes=512: the engine has no such attribute' $make -o nodes=512
	expect_wort 2 'node=512: the engine has no such attribute' create absent i -o node=512
	expect_wort 2 'node=128: not from 256 to 4096 in steps of 16' $make -o node=128
	expect_wort 2 'node=260: not from' $make --attr node=260
	expect_wort 2 'key=8: not one of: any fixed8' $make -o key=8
	expect_wort 2 'node=x: not NAME=VALUE, or not a number' $make -o node=x
	expect_wort 2 'not NAME=VALUE: node' $make --attr node
	expect_wort 2 'unknown output format: node' $make -o node
	expect_wort 2 'more than 16 attributes' $make $(printf -- '-o node=512 %.0s' {1..17})
	# The engine is the one that is named, before them or behind.
	expect_wort 1 'absent: no such' create -o node=256 --attr split=left absent i -e made-up
	expect_wort 1 '"text":"absent: no such' $make -o json -o node=256
}
