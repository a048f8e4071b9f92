# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only

# lacks PATTERN FILE: ends the test if the file has that.  A "!" before grep alone would not.
lacks()
{
	if grep -- "$1" "$2"; then
		echo "$2 has \"$1\""
		exit 1
	fi
}

# expect STATUS TEXT COMMAND...: ends the test unless the command exits so and says that.
expect()
{
	local status=0 want=$1 text=$2 said
	shift 2

	said=$("$@" 2>&1) || status=$?
	if [ "$status" -ne "$want" ] || ! grep -q -- "$text" <<<"$said"; then
		printf '%s: status %s instead of %s, or no "%s" in:\n%s\n' \
			"$*" "$status" "$want" "$text" "$said"
		exit 1
	fi
}
