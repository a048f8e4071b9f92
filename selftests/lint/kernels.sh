#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernels.sh: the places that say which kernels there is a module for name those
# that it was tried with (see kernel.sh), and no more; DKMS takes no others.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

claims='README.md Documentation/man/wort.4.rst Documentation/device.rst
	Documentation/overview.rst debian/control userlib/ctl/doctor_host.c'

# "6.1 6.12 7.3" as a sentence has them: 6.1, 6.12 and 7.3.
in_words()
{
	sed -E 's/ /, /g; s/(.*),/\1 and/' <<<"$*"
}

check_claims()
{
	local file words

	words="Linux $(in_words "$@")"
	for file in $claims; do
		grep -qF "$words" <<<"$(tr -s '[:space:]' ' ' <"$file")" ||
			die "$file does not say \"$words\""
	done
}

# Each version of some years, the tried ones and no others.
check_dkms()
{
	local BUILD_EXCLUSIVE_KERNEL series end taken

	# shellcheck source=/dev/null
	. <(grep ^BUILD_EXCLUSIVE_KERNEL= dkms.conf)
	for series in {5,6,7,8}.{0..40} 61.2 6.121; do
		for end in '' .0 .4-1 .0-56-amd64 .117+deb13-amd64; do
			taken=
			[[ ! $series$end =~ $BUILD_EXCLUSIVE_KERNEL ]] || taken=1
			[[ " $* " != *" $series "* ]] || taken+=1
			[ "$taken" != 1 ] ||
				die "dkms.conf and kernel.sh do not agree on $series$end"
		done
	done
}

cd "$wort_top"
read -ra tried < <(selftests/scripts/kernel.sh tried)
check_claims "${tried[@]}"
check_dkms "${tried[@]}"
echo "Linux $(in_words "${tried[@]}")"
