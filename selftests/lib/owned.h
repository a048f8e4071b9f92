/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of which each has one owner: the thread that changes it, and so knows its value.
 * For the stress, and for the random schedules of the explorer.
 */
#ifndef _WORT_TEST_OWNED_H
#define _WORT_TEST_OWNED_H

#include <stdint.h>
#include <string.h>

#define NR_OWNERS	3
#define MAX_KEY		32

/* A number below @n; the state is not 0. */
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

/*
 * Two kinds of three have eight bytes, for which engines have paths of their own.  In keys
 * of the first kind each of the low ten bits of the id is a digit, so most nodes have two
 * entries: an insert splits, a delete merges.
 */
static inline uint32_t make_key(uint32_t id, uint8_t *key)
{
	uint32_t len = 0, bit;

	switch (id / NR_OWNERS % 3) {
	case 0:
		key[len++] = 'a';
		for (bit = 0; bit < 10; bit += 2)
			key[len++] = (id >> bit & 1) | (id >> bit & 2) << 3;
		break;
	case 1:
		memcpy(key, "a common prefix", 15);
		len = 15;
		break;
	default:
		key[len++] = 'b';
		key[len++] = id / 3 % 5;
		memset(key + len, 0x55, 4);
		len += 4;
	}
	key[len++] = id >> 8;
	key[len++] = id;
	return len;
}

#endif
