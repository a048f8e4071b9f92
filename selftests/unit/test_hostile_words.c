// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged and hostile images of any engine: words that lead elsewhere, where the probe
 * of the engine finds them, and words changed at random.
 */
#include "hostile.h"

/*
 * The word at @off leads to @to, where nothing is that it may lead to: a check and the
 * walk find that, and all operations end.
 */
static void lead_to(const char *what, u64 off, u64 to)
{
	image_set(off, subject.unit->probe->refer(image_get(off), to));
	hostile_case(what, WALKS);
}

/* Of a word on the way to a record of "a". */
static void lead_astray(u64 off)
{
	u64 to = subject.unit->probe->target(image_get(off));

	lead_to("outside", off, 1ULL << 40);
	lead_to("last word", off, IMAGE_SIZE - 16);
	lead_to("superblock", off, WORT_MEDIA_SB_OFF + 2048);
	lead_to("first page", off, 512);
	lead_to("extent table", off, WORT_MEDIA_TABLE_OFF);
	lead_to("catalogue", off, image_catalogue());
	lead_to("entry", off, image_entry(1));
	lead_to("free extent", off, IMAGE_SIZE - 4096);
	lead_to("between slots", off, to + 16);
	lead_to("object of another index", off, image_leaf(1, "other"));
	/* The record may be lost without a sign of it, but all operations end. */
	image_set(off, 0);
	image_keep();
	hostile_try_all();
	image_restore(image.clean);
}

/* Each word on the way, and a cycle from each of them to each one before it. */
static void lead_path_astray(const char *key)
{
	u32 i, k, depth = image_depth(0, key);
	u64 off, to;

	for (i = 0; i < depth; i++)
		lead_astray(image_node_slot(0, key, i));
	for (i = 0; i < depth; i++)
		for (k = i + 1; k < depth; k++) {
			off = image_node_slot(0, key, i);
			to = image_node(0, key, k);
			lead_to("cycle", off, to);
		}
}

/* Words of the image that lead to records of "a", near to each other and far apart. */
void check_hostile_words(void)
{
	static const char *const keys[] = { "apple", "banana", "k25", "zz" };
	u32 i;

	image_make();
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		lead_path_astray(keys[i]);
	image_set(image_root(1), image_get(image_root(0)));
	hostile_case("root of two indexes", WALKS);
	image_set(image_root(2), image_get(image_root(1)));
	hostile_case("root of two indexes", WALKS);
	image_free();
}

#define FLIPS	1000	/* the fuzzer makes a million */

/* A word of what is in use, most of the time. */
static u64 pick_word(u64 *rnd)
{
	u64 off;
	u32 i;

	for (i = 0; i < 200; i++) {
		off = test_random(rnd) % (IMAGE_SIZE / 8) * 8;
		if (image_get(off))
			break;
	}
	return off;
}

/* Change a bit, a byte or a word; or put another word there. */
static void flip(u64 *rnd)
{
	static const u64 words[] = { 0, 1, 2, ~0ULL, 1ULL << 52, 0x8008 };
	u64 off = pick_word(rnd), r = test_random(rnd) >> 16;

	switch (r % 5) {
	case 0:
		image.mem[off + (r >> 8) % 8] ^= 1 << (r >> 16) % 8;
		break;
	case 1:
		image.mem[off + (r >> 8) % 8] = r >> 16;
		break;
	case 2:
		image_set(off, words[(r >> 8) % ARRAY_SIZE(words)]);
		break;
	case 3:
		image_set(off, image_get(pick_word(rnd)));
		break;
	default:
		image_set(off, image_get(off) + (r >> 8) % 64 * 8);
	}
}

/* Images with some words changed at random; checksums right half the time. */
void check_hostile_flips(void)
{
	u64 rnd = unit_seed + 77, entries[3];
	u32 i, n;

	image_make();
	for (n = 0; n < 3; n++)
		entries[n] = image_entry(n);
	for (i = 0; i < FLIPS; i++) {
		image_restore(image.clean);
		for (n = (test_random(&rnd) >> 20) % 4 + 1; n; n--)
			flip(&rnd);
		if (i % 2)
			image_seal_sb();
		for (n = 0; i % 2 && n < 3; n++)
			image_seal_entry(entries[n]);
		if (wort_pool_attach(&image.pm.region, &image.pm.pool))
			continue;
		pmpool_detach(&image.pm);
		if (i % 8 == 0) {
			image_keep();
			hostile_try_all();
			continue;
		}
		hostile_attach();
		for (n = 0; n < 6; n++)
			hostile_try((test_random(&rnd) >> 20) % NR_OPS);
		hostile_detach();
	}
	CHECK_EQ(i, FLIPS);
	image_free();
}
