// SPDX-License-Identifier: GPL-2.0-only
/*
 * ART+CoW in the crash explorer.
 */
#include "art_starts.h"

const struct engine_starts engine_starts_art_cow = ART_STARTS(ART_COPY_STARTS);
