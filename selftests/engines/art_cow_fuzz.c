// SPDX-License-Identifier: GPL-2.0-only
/*
 * ART+CoW in the image fuzzer.
 */
#include "radix_fuzz.h"

const struct engine_fuzz engine_fuzz_art_cow = {
	.list = art_list,
	.target = radix_target,
	.changes = radix_changes,
	.nr_changes = RADIX_NR_CHANGES,
};
