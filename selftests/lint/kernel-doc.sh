#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel-doc.sh: the kernel's checker of interface comments over the module
# and the headers shared with programs; silent or red.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

need perl static
tools=$("$wort_top/selftests/scripts/kernel.sh" tools)
cd "$wort_top"
find kmod uapi -name '*.[ch]' ! -name '*.mod.c' -print0 | sort -z |
	xargs -0 -r perl "$tools/scripts/kernel-doc" -none -Werror
