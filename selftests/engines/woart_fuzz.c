// SPDX-License-Identifier: GPL-2.0-only
/*
 * WOART in the image fuzzer.
 */
#include "radix_fuzz.h"

const struct engine_fuzz engine_fuzz_woart = {
	.list = art_list,
	.target = radix_target,
	.changes = radix_changes,
	.nr_changes = RADIX_NR_CHANGES,
};
