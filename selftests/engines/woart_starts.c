// SPDX-License-Identifier: GPL-2.0-only
/*
 * WOART in the crash explorer.
 */
#include "art_starts.h"

const struct engine_starts engine_starts_woart = ART_STARTS(ARRAY_SIZE(art_starts));
