#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test-detectors.sh debug|kcsan: shows that the kernel finds the bugs that it
# was built to find, and that run.sh is red then.  One boot for each: lockdep
# looks no further after any of them.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

failed=0

# find_bug NAME TEXT [COMMAND]: the log has the text, if need be after a command.
find_bug()
{
	local status=0

	# shellcheck disable=SC2016 # the guest expands it
	"$wort_top/selftests/vm/run.sh" -k "$flavour" -t 400 \
		-f "$work/wort_splat.ko" -f "$tests/run_debug.sh" \
		-f "$tests/run_all.sh" -c "
		insmod wort_splat.ko bug=$1
		rmmod wort_splat
		${3:-}" >"$work/log" 2>&1 || status=$?
	if [ "$status" -ne 0 ] && grep -q "$2" "$work/log"; then
		echo "ok - $flavour finds: $1"
		return
	fi
	echo "not ok - $flavour finds: $1"
	sed 's/^/# /' "$work/log"
	failed=1
}

main()
{
	local flavour=$1 tests=$wort_top/selftests/kselftest

	work=$(temp_dir test-detectors)
	trap 'rm -rf "$work"' EXIT
	"$wort_top/selftests/lint/kbuild.sh" -n -d selftests/vm/splat \
		-o "$work" "$flavour" gcc
	case $flavour in
	debug)
		find_bug use-after-free 'KASAN: .*use-after-free'
		find_bug shift 'UBSAN: shift-out-of-bounds'
		find_bug lock-order 'possible circular locking'
		find_bug sleep 'scheduling while atomic\|sleeping function'
		find_bug leak 'unreferenced object' 'sh run_debug.sh -l' ;;
	kcsan)
		find_bug race 'KCSAN: data-race' ;;
	esac
	return "$failed"
}

main "${1:?which kernel: debug or kcsan}"
