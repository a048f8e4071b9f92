/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lookups in the mapping of a pool, without a system call.
 */
#ifndef _WORT_READER_H
#define _WORT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/wort.h>

struct wort_reader;

/*
 * Follow a key to where its record may be, at *@off, which is untrusted; 0: there is none.
 * -EAGAIN: a word on the way may not be durable, or makes no sense.
 */
typedef int wort_reader_find_fn(const struct wort_reader *reader,
				const uint32_t *in_flight, const unsigned char *key,
				uint32_t key_len, uint64_t *off);

/**
 * struct wort_reader - An index in a mapping
 * @control: at WORT_MAP_CONTROL_OFF
 * @pool: at WORT_MAP_POOL_OFF
 * @size: bytes of the pool
 * @root_off: offset of the index's root record; changed with wort_reader_trust()
 * @find: of its engine, set by wort_reader_follow()
 * @relaxed: an answer may rest on what is not durable yet
 * @destroyed: wort_map_control.destroyed before the kernel last told @root_off;
 *	changed with wort_reader_trust()
 * @asking: a thread asks the kernel for @root_off
 */
struct wort_reader {
	const struct wort_map_control *control;
	const unsigned char *pool;
	uint64_t size;
	uint64_t root_off;
	wort_reader_find_fn *find;
	bool relaxed;
	uint64_t destroyed;
	bool asking;
};

/*
 * Have the reader follow the structure of this engine, WORT_ENGINE_*.  False if it does
 * not know it: then it asks the kernel.
 */
bool wort_reader_follow(struct wort_reader *reader, uint32_t engine);
/* As wort_get(); -EAGAIN: ask the kernel.  @retries is raised by those made. */
int wort_reader_get(struct wort_reader *reader, const void *key, size_t key_len,
		    void *value, size_t *value_len, uint64_t *retries);

/* Before the kernel is asked, for wort_reader_trust(). */
uint64_t wort_reader_destroyed(const struct wort_reader *reader);
/* The kernel was asked since, and said that the index is there, with this root. */
void wort_reader_trust(struct wort_reader *reader, uint64_t destroyed,
		       uint64_t root_off);
/* Was an index destroyed, or did a root move, since the kernel was asked? */
bool wort_reader_stale(const struct wort_reader *reader);

#endif
