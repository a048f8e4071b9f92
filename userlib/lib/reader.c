// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lookups in the mapping of a pool, without a system call.
 *
 * We are in no section that the kernel waits for.  So what we look at may be
 * used again meanwhile, and hold anything: each word is loaded once and bounded
 * before it is used, and nothing is believed before the generation was looked
 * at once more.  <linux/wort.h> has the protocol.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <linux/wort_format_wort.h>

#include "reader.h"

#define TRIES		3

#define KEY_DIGITS	(2 * WORT_KEY_MAX + 4)
#define WORD_DIGITS	16	/* in eight bytes */

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

/*
 * Load a word of a node.  The mark of the node is set before the word is stored, so it
 * is loaded after the word.  Return: -EAGAIN if the word may not be durable.
 */
static inline int load(const unsigned char *pool, const uint32_t *in_flight,
		       uint64_t node, uint64_t off, uint64_t *word)
{
	uint32_t nr = WORT_MAP_NODE(node);

	*word = le64toh(__atomic_load_n((const uint64_t *)(pool + off),
					__ATOMIC_ACQUIRE));
	return __atomic_load_n(&in_flight[nr], __ATOMIC_RELAXED) ?
	       -EAGAIN : 0;
}

/* The sixteen digits of a key of which one is at a place. */
static inline uint64_t key_word(const unsigned char *key, uint32_t len,
				uint32_t place)
{
	uint32_t at = place / WORD_DIGITS * sizeof(uint64_t);
	uint64_t word = 0;

	if (place >= 2 * WORT_KEY_MAX)
		return (uint64_t)len << 48;
	if (at + sizeof(word) <= len)
		memcpy(&word, key + at, sizeof(word));
	else if (at < len)
		memcpy(&word, key + at, len - at);
	return be64toh(word);
}

/*
 * Follow a key to a leaf, or to an empty slot.  What Documentation/format.rst says
 * of digits and places.  @left, the digits beyond the place of the last node,
 * strictly falls as the place grows; @digits has those before @end.
 */
static inline int descend(const struct wort_reader *r,
			  const uint32_t *in_flight, const unsigned char *key,
			  uint32_t len, uint64_t *link)
{
	uint64_t last = r->size - sizeof(struct wort_media_wort_node);
	uint64_t node = r->root_off / sizeof(struct wort_media_wort_node) *
			sizeof(struct wort_media_wort_node);
	uint64_t digits = key_word(key, len, 0), off = r->root_off, word;
	uint32_t left = KEY_DIGITS, end = WORD_DIGITS, place;
	const unsigned char *pool = r->pool;

	while (!load(pool, in_flight, node, off, &word)) {
		*link = word;
		if ((word & WORT_MEDIA_LINK_KIND_MASK) != WORT_MEDIA_WORT_KIND_NODE)
			return 0;
		place = word >> WORT_MEDIA_LINK_PLACE_SHIFT;
		node = word & (WORT_MEDIA_LINK_OFF_MASK |
			       WORT_MEDIA_LINK_LABEL_MASK);
		if (node > last || KEY_DIGITS - 1 - place >= left)
			return -EAGAIN;
		if (place >= end) {
			digits = key_word(key, len, place);
			end = place / WORD_DIGITS * WORD_DIGITS + WORD_DIGITS;
		}
		off = node + (digits << 4 * place % 64 >> 60 << 3);
		left = KEY_DIGITS - 1 - place;
	}
	return -EAGAIN;
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

static int leaf_open(const struct wort_reader *r, uint64_t link,
		     struct leaf *leaf)
{
	uint64_t meta;
	int err;

	leaf->off = link & ~WORT_MEDIA_LINK_KIND_MASK;
	if ((link & WORT_MEDIA_LINK_KIND_MASK) != WORT_MEDIA_LINK_RECORD ||
	    !in_pool(r, leaf->off, sizeof(struct wort_media_leaf)))
		return -EAGAIN;
	err = load(r->pool, marks(r), leaf->off, leaf->off, &leaf->val);
	if (err)
		return err;
	err = load(r->pool, marks(r), leaf->off, leaf->off + sizeof(leaf->val),
		   &meta);
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
look_any(const struct wort_reader *r, uint64_t link, const void *key,
	 uint32_t key_len, void *value, size_t size, size_t *len)
{
	struct leaf leaf;
	int err = leaf_open(r, link, &leaf);

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
	uint64_t link, off, val;
	int err = descend(r, in_flight, key, key_len, &link);

	if (err || !link)
		return err ? err : -ENOENT;
	off = link & ~WORT_MEDIA_LINK_KIND_MASK;
	if ((link & WORT_MEDIA_LINK_KIND_MASK) != WORT_MEDIA_LINK_RECORD ||
	    off > r->size - sizeof(struct wort_media_leaf) - WORT_KEY_MAX)
		return look_any(r, link, key, key_len, value, size, len);
	if (load(r->pool, in_flight, off, off, &val))
		return -EAGAIN;
	leaf = (const void *)(r->pool + off);
	if (le64toh(__atomic_load_n(&leaf->meta, __ATOMIC_RELAXED)) != plain ||
	    size < sizeof(val))
		return look_any(r, link, key, key_len, value, size, len);
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
	return __atomic_load_n(&r->control->state, __ATOMIC_RELAXED);
}

bool wort_reader_knows(uint32_t engine)
{
	return engine == WORT_ENGINE_WORT;
}

uint64_t wort_reader_destroyed(const struct wort_reader *r)
{
	return __atomic_load_n(&r->control->destroyed, __ATOMIC_ACQUIRE);
}

void wort_reader_trust(struct wort_reader *r, uint64_t destroyed)
{
	__atomic_store_n(&r->destroyed, destroyed, __ATOMIC_RELAXED);
}

static bool may_follow(const struct wort_reader *r)
{
	return state(r) == WORT_MAP_FOLLOW &&
	       wort_reader_destroyed(r) ==
	       __atomic_load_n(&r->destroyed, __ATOMIC_RELAXED);
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
