/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _STRESS_LOOK_H
#define _STRESS_LOOK_H

#include "../../userlib/lib/reader.h"
#include "face.h"

int look_or_ask(struct wort_reader *reader, const void *key, __u32 key_len,
		void *value, __u32 *len);

#endif
