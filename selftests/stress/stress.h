/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _STRESS_STRESS_H
#define _STRESS_STRESS_H

#include <stdint.h>
#include <string.h>

#include "face.h"
#include "../lib/owned.h"

static inline uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void add(uint64_t *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

void verify_value(uint32_t id, const struct value *value, uint32_t len);

#endif
