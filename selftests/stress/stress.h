/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _STRESS_STRESS_H
#define _STRESS_STRESS_H

#include <stdint.h>
#include <string.h>

#include "face.h"

#define NR_OWNERS	3
#define MAX_KEY		32

static inline uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void add(uint64_t *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static inline uint32_t pick(uint64_t *random, uint32_t n)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (*random * 0x2545f4914f6cdd1dULL >> 33) % n;
}

/* A value: the number of its key, and a version. */
struct value {
	uint32_t id;
	uint32_t version;
	uint8_t more[40];
};

static inline uint32_t value_len(uint32_t version)
{
	return version % 8 == 3 ? sizeof(struct value) : 8;
}

static inline void make_value(uint32_t id, uint32_t version, struct value *value)
{
	value->id = id;
	value->version = version;
	memset(value->more, version, sizeof(value->more));
}

void verify_value(uint32_t id, const struct value *value, uint32_t len);

#endif
