#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the test scripts share: messages, the cache folder, timing.
# Sourced, never run.  Messages go to stderr, so that a script can print an
# answer, such as a path, on stdout.

# Else set -e ends where a command's output is taken.
shopt -s inherit_errexit

# shellcheck disable=SC2034 # the sourcing scripts use it
wort_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# depmod, for one, is where an ordinary user's PATH does not look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# die TEXT: the text says what is wrong and, where it can, what mends it.
die()
{
	say "$*"
	exit 1
}

# need COMMAND GROUP: a command that a group of packages brings.
need()
{
	command -v "$1" >/dev/null ||
		die "$1 is missing: selftests/scripts/deps.sh $2 installs it"
}

wort_cache()
{
	printf '%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}/wort"
}

is_debian()
{
	command -v dpkg-query >/dev/null && command -v apt-get >/dev/null
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

now_ms()
{
	date +%s%3N
}

# seconds_since MS: seconds with one digit since now_ms said MS.
seconds_since()
{
	local tenths=$((($(now_ms) - $1) / 100))

	printf '%d.%d\n' $((tenths / 10)) $((tenths % 10))
}

# temp_dir NAME: a new folder under TMPDIR; the caller removes it.
temp_dir()
{
	mktemp -d "${TMPDIR:-/tmp}/wort-$1.XXXXXX"
}

# list_engines TOP: the names of the engines, from the table of them.
list_engines()
{
	sed -n -E 's/^\tX\((\w+), "\w+", WORT_ENGINE_.*/\1/p' "$1/uapi/linux/wort_engines.h"
}
