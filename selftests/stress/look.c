// SPDX-License-Identifier: GPL-2.0-only
/* Lookups in a mapping; whoever cannot tell asks, as libwort does. */
#include <errno.h>

#include "look.h"

struct face_looks face_looks;

static void count(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* As libwort does it. */
static void ask_for_root(struct wort_reader *reader)
{
	uint64_t destroyed;

	if (__atomic_exchange_n(&reader->asking, true, __ATOMIC_ACQUIRE))
		return;
	destroyed = wort_reader_destroyed(reader);
	wort_reader_trust(reader, destroyed, face_root_off());
	__atomic_store_n(&reader->asking, false, __ATOMIC_RELEASE);
}

int look_or_ask(struct wort_reader *reader, const void *key, __u32 key_len,
		void *value, __u32 *len)
{
	size_t room = *len;
	int err;

	if (!(stress_engine->traits & WORT_TRAIT_MAPPABLE))
		return face_get(key, key_len, value, len);
	count(&face_looks.looks);
	err = wort_reader_get(reader, key, key_len, value, &room,
			      (uint64_t *)&face_looks.retries);
	if (err != -EAGAIN) {
		*len = room;
		return err;
	}
	count(&face_looks.asked);
	if (wort_reader_stale(reader))
		ask_for_root(reader);
	return face_get(key, key_len, value, len);
}
