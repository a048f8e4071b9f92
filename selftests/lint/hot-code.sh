#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# hot-code.sh MODULE: fails if the module has a full barrier by mfence, which
# costs as much as an ordering point, or a division; or if an operation clears or
# copies a structure by a string instruction, which a processor does not run ahead
# of: kernels without vectors take those, also to clear what is on the stack.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# The simulator of power cuts, which only tests have; the size of a page that is new; the
# attributes of a new index.
cold='^(wort_powercut_|qr_page_size$|wort_kernel_attr_set$)'

# What each operation on a key of eight bytes goes through.
no_strings='^(wort_index_(insert|lookup|join|leave)|put_waiting|delete_once|'
no_strings+='wort_kernel_(insert|lookup|delete)|wort_request_(run|prepare)|'
no_strings+='wort_request_verify|wrt_(fast_lookup|fast_put|fast_remove|prefetch_keys|lookup|put|remove|commit))$'

# Lines of "function instruction" of what objdump has printed.
slow_instructions()
{
	awk -F '\t' -v no_strings="$no_strings" '
		/^[0-9a-f]+ </ {
			split($0, part, /[<>]/)
			function_name = part[2]
		}
		$2 ~ /^(mfence|i?div[bwlq]?)( |$)/ {
			print function_name, $2
		}
		$2 ~ /^rep (stos|movs)/ && function_name ~ no_strings {
			print function_name, $2
		}' "$1"
}

main()
{
	local function instruction bad=0 code

	[ $# -eq 1 ] || die "usage: hot-code.sh MODULE"
	[ -r "$1" ] || die "no module: $1"
	need objdump static
	code=$(mktemp)
	trap "rm -f '$code'" EXIT
	objdump -d --no-show-raw-insn "$1" >"$code" || die "$1 cannot be disassembled"
	awk -F '[<>]' -v names="$no_strings" '
		/^[0-9a-f]+ </ && $2 ~ names { nr++ }
		END { exit !nr }' "$code" ||
		die "$1 has no function that is looked at here"
	while read -r function instruction; do
		[[ $function =~ $cold ]] && continue
		printf '%s: %s\n' "$function" "$instruction" >&2
		bad=1
	done < <(slow_instructions "$code")
	[ $bad -eq 0 ] || die "slow instructions in hot code"
}

main "$@"
