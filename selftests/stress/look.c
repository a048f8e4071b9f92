// SPDX-License-Identifier: GPL-2.0-only
/* Lookups in a mapping; whoever cannot tell asks, as libwort does. */
#include <errno.h>

#include "look.h"

struct face_looks face_looks;

static void count(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

int look_or_ask(struct wort_reader *reader, const void *key, __u32 key_len,
		void *value, __u32 *len)
{
	uint64_t destroyed;
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
	destroyed = wort_reader_destroyed(reader);
	err = face_get(key, key_len, value, len);
	if (!err || err == -ENOENT)
		wort_reader_trust(reader, destroyed);
	return err;
}
