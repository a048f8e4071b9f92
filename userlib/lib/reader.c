// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lookups in the mapping of a pool, without a system call.
 *
 * We are in no section that the kernel waits for.  So what we look at may be
 * used again meanwhile, and hold anything: each word is loaded once and bounded
 * before it is used, and nothing is believed before the generation was looked
 * at once more.  <linux/wort.h> has the protocol.
 */
#include <string.h>

#include "reader_engine.h"

#define TRIES		3

/* A leaf, as far as its words were bounded. */
struct leaf {
	uint64_t off;
	uint64_t val;
	uint32_t key_len;
	uint32_t value_len;
	uint32_t kind;
};

static bool in_pool(const struct wort_reader *r, uint64_t off, uint64_t len)
{
	return off % 8 == 0 && off < r->size && len <= r->size - off;
}

/* Of no word: for who asks for what need not be durable. */
static const uint32_t none_in_flight[WORT_MAP_NR_NODES];

static const uint32_t *marks(const struct wort_reader *r)
{
	return r->relaxed ? none_in_flight : r->control->in_flight;
}

static uint64_t inline_value_off(const struct leaf *leaf)
{
	return leaf->off + sizeof(struct wort_media_leaf) +
	       (leaf->key_len + 7) / 8 * 8;
}

static bool leaf_is_valid(const struct wort_reader *r, const struct leaf *leaf)
{
	if (!leaf->key_len || leaf->key_len > WORT_KEY_MAX ||
	    !in_pool(r, leaf->off, sizeof(struct wort_media_leaf) +
				   leaf->key_len))
		return false;
	if (leaf->kind == WORT_MEDIA_VALUE_WORD)
		return leaf->value_len <= sizeof(leaf->val);
	if (leaf->value_len > WORT_VALUE_MAX)
		return false;
	if (leaf->kind == WORT_MEDIA_VALUE_INLINE)
		return in_pool(r, inline_value_off(leaf), leaf->value_len);
	return leaf->kind == WORT_MEDIA_VALUE_OBJECT &&
	       in_pool(r, leaf->val, leaf->value_len);
}

static int leaf_open(const struct wort_reader *r, uint64_t off, struct leaf *leaf)
{
	uint64_t meta;
	int err;

	leaf->off = off;
	if (!in_pool(r, off, sizeof(struct wort_media_leaf)))
		return -EAGAIN;
	err = wort_reader_load(r->pool, marks(r), off, off, &leaf->val);
	if (err)
		return err;
	err = wort_reader_load(r->pool, marks(r), off, off + sizeof(leaf->val), &meta);
	if (err)
		return err;
	leaf->key_len = meta & WORT_MEDIA_LEAF_KEY_MASK;
	leaf->value_len = meta >> WORT_MEDIA_LEAF_VALUE_SHIFT &
			  WORT_MEDIA_LEAF_VALUE_MASK;
	leaf->kind = meta >> WORT_MEDIA_LEAF_KIND_SHIFT &
		     WORT_MEDIA_LEAF_KIND_MASK;
	return leaf_is_valid(r, leaf) ? 0 : -EAGAIN;
}

static int leaf_value(const struct wort_reader *r, const struct leaf *leaf,
		      void *value, size_t size, size_t *len)
{
	uint64_t word = htole64(leaf->val);
	const void *from = &word;

	*len = leaf->value_len;
	if (*len > size)
		return -ERANGE;
	if (leaf->kind == WORT_MEDIA_VALUE_INLINE)
		from = r->pool + inline_value_off(leaf);
	else if (leaf->kind == WORT_MEDIA_VALUE_OBJECT)
		from = r->pool + leaf->val;
	memcpy(value, from, *len);
	return 0;
}

/* Keys are mostly as long as a word. */
static bool same_key(const unsigned char *a, const unsigned char *b,
		     size_t len)
{
	return len == sizeof(uint64_t) ? !memcmp(a, b, sizeof(uint64_t)) :
					 !memcmp(a, b, len);
}

/* Whatever leaf it is. */
static int __attribute__((noinline))
look_any(const struct wort_reader *r, uint64_t off, const void *key,
	 uint32_t key_len, void *value, size_t size, size_t *len)
{
	struct leaf leaf;
	int err = leaf_open(r, off, &leaf);

	if (err)
		return err;
	if (leaf.key_len != key_len ||
	    !same_key(r->pool + leaf.off + sizeof(struct wort_media_leaf), key,
		      key_len))
		return -ENOENT;
	return leaf_value(r, &leaf, value, size, len);
}

/*
 * What is found may be nonsense until the generation was looked at again.  Most
 * values are one word: then the meta word can be but one, and to compare it is to
 * verify all of it.
 */
static inline int look(const struct wort_reader *r, const void *key,
		       uint32_t key_len, void *value, size_t size, size_t *len)
{
	const uint64_t plain = key_len | (uint64_t)sizeof(uint64_t) <<
			       WORT_MEDIA_LEAF_VALUE_SHIFT;
	const uint32_t *in_flight = marks(r);
	const struct wort_media_leaf *leaf;
	uint64_t off, val;
	int err = r->find(r, in_flight, key, key_len, &off);

	if (err || !off)
		return err ? err : -ENOENT;
	if (off > r->size - sizeof(struct wort_media_leaf) - WORT_KEY_MAX)
		return look_any(r, off, key, key_len, value, size, len);
	if (wort_reader_load(r->pool, in_flight, off, off, &val))
		return -EAGAIN;
	leaf = (const void *)(r->pool + off);
	if (le64toh(__atomic_load_n(&leaf->meta, __ATOMIC_RELAXED)) != plain ||
	    size < sizeof(val))
		return look_any(r, off, key, key_len, value, size, len);
	if (!same_key(leaf->key, key, key_len))
		return -ENOENT;
	val = htole64(val);
	memcpy(value, &val, sizeof(val));
	*len = sizeof(val);
	return 0;
}

static uint64_t generation(const struct wort_reader *r)
{
	return __atomic_load_n(&r->control->generation, __ATOMIC_ACQUIRE);
}

static uint32_t state(const struct wort_reader *r)
{
	return __atomic_load_n(&r->control->state, __ATOMIC_ACQUIRE);
}

uint64_t wort_reader_destroyed(const struct wort_reader *r)
{
	return __atomic_load_n(&r->control->destroyed, __ATOMIC_ACQUIRE);
}

/* A reader that finds this count also finds this root. */
void wort_reader_trust(struct wort_reader *r, uint64_t destroyed,
		       uint64_t root_off)
{
	__atomic_store_n(&r->root_off, root_off, __ATOMIC_RELAXED);
	__atomic_store_n(&r->destroyed, destroyed, __ATOMIC_RELEASE);
}

bool wort_reader_stale(const struct wort_reader *r)
{
	return wort_reader_destroyed(r) !=
	       __atomic_load_n(&r->destroyed, __ATOMIC_ACQUIRE);
}

static bool may_follow(const struct wort_reader *r)
{
	return r->find && state(r) == WORT_MAP_FOLLOW && !wort_reader_stale(r);
}

int wort_reader_get(struct wort_reader *r, const void *key, size_t key_len,
		    void *value, size_t *value_len, uint64_t *retries)
{
	uint64_t before;
	size_t len = 0;
	int try, err;

	for (try = 0; try < TRIES; try++) {
		before = generation(r);
		if (!may_follow(r))
			break;
		err = look(r, key, key_len, value, *value_len, &len);
		/* What was copied was loaded before the generation is. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (err != -EAGAIN && generation(r) == before &&
		    state(r) == WORT_MAP_FOLLOW) {
			if (!err || err == -ERANGE)
				*value_len = len;
			return err;
		}
		__atomic_add_fetch(retries, 1, __ATOMIC_RELAXED);
	}
	return -EAGAIN;
}
