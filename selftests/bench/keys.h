/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keys of a workload, made before anything is timed.
 */
#ifndef _WORT_BENCH_KEYS_H
#define _WORT_BENCH_KEYS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct keys - Distinct keys in the order of their use, each with a value
 * @nr: keys to load
 * @more: keys behind them, to insert into what is loaded
 * @fixed: bytes of each key; 0: they differ
 * @bytes: of one key after the other
 * @ends: where each key ends in @bytes, if they differ
 * @values: none of them 0
 */
struct keys {
	uint64_t nr;
	uint64_t more;
	uint32_t fixed;
	uint8_t *bytes;
	uint64_t *ends;
	uint64_t *values;
};

struct key {
	const uint8_t *bytes;
	size_t len;
};

static inline struct key key_at(const struct keys *keys, uint64_t i)
{
	uint64_t begin;

	if (keys->fixed)
		return (struct key){ keys->bytes + i * keys->fixed,
				     keys->fixed };
	begin = i ? keys->ends[i - 1] : 0;
	return (struct key){ keys->bytes + begin, keys->ends[i] - begin };
}

/* A name and what it means, up to one without a name. */
struct workload {
	const char *name;
	const char *what;
};

extern const struct workload workloads[];

/* @workload: a name of those, or a file with a key in each line. */
void keys_make(struct keys *keys, const char *workload, uint64_t nr,
	       uint64_t seed);
/* The keys to load, in another order. */
void keys_shuffled(struct keys *to, const struct keys *from, uint64_t seed);
void keys_free(struct keys *keys);

#endif
