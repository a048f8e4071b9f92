#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# examples.sh FOLDER DEVICE: the examples of the documentation, libwort and what is
# below the engine for fio against the module, which is loaded, on a device whose
# contents are lost.  For a guest: written for busybox.

folder=$1 device=$2
failures=0

# example NAME: prints what stands on standard input, and nothing else.
example()
{
	want=$(cat)
	said=$("$folder/example-$1" "/dev/wort0" 2>&1) && [ "$said" = "$want" ] &&
		return
	echo "example $1 says:"
	echo "$said"
	failures=$((failures + 1))
}

"$folder/wort-static" format -f "$device" >/dev/null &&
	"$folder/wort-static" attach "$device" >/dev/null || exit

example uapi <<END
apple is red
apple	red
pear	yellow
plum	blue
END

example libwort <<END
100 durable, 0 failed
$(seq 40 49 | sed 's/^/key /')
END

example uring <<END
100 durable
key 42 is 42
END

for mapping in "" -m; do
	# shellcheck disable=SC2086 # an option or none
	"$folder/libwort" $mapping /dev/wort0 || failures=$((failures + 1))
done
"$folder/fio-store" /dev/wort0 || failures=$((failures + 1))

"$folder/wort-static" detach 0 || failures=$((failures + 1))
echo "examples: $failures failed"
[ "$failures" -eq 0 ]
