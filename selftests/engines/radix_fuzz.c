// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links and records of radix engines in the image fuzzer.
 */
#include <string.h>

#include "radix_fuzz.h"

void radix_list_leaf(struct base *base, u64 off)
{
	u64 meta = base_get(base, off + offsetof(struct wort_media_leaf, meta));

	base_add(base, WORD_VALUE, off);
	base_add(base, WORD_META, off + offsetof(struct wort_media_leaf, meta));
	base_add_range(base, WORD_KEY, off + sizeof(struct wort_media_leaf),
		       meta & WORT_MEDIA_LEAF_KEY_MASK);
}

u64 radix_target(u64 link)
{
	return link & WORT_MEDIA_LINK_OFF_MASK;
}

static u64 fuzz_field(u64 word, u64 mask, u32 shift, u64 val)
{
	return (word & ~(mask << shift)) | (val & mask) << shift;
}

static void change_tag(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_LINK);

	fuzz_set(f, off, fuzz_field(fuzz_get(f, off), WORT_MEDIA_LINK_KIND_MASK, 0,
				    draw(f, WORT_MEDIA_LINK_KIND_MASK + 1)));
}

static void change_label(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_LINK);

	fuzz_set(f, off, fuzz_get(f, off) ^ 1ULL << (44 + draw(f, 8)));
}

static void change_place(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_LINK), link = fuzz_get(f, off);
	u64 place = link >> WORT_MEDIA_LINK_PLACE_SHIFT;

	place = one_in(f, 2) ? draw(f, 4096) : place + draw(f, 5) - 2;
	fuzz_set(f, off, fuzz_field(link, 0xfff, WORT_MEDIA_LINK_PLACE_SHIFT, place));
}

static void change_target(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_LINK), link = fuzz_get(f, off), to;

	to = one_in(f, 2) ? fuzz_off(f) :
			    fuzz_nearby(f, link & WORT_MEDIA_LINK_OFF_MASK);
	fuzz_set(f, off, fuzz_field(link, WORT_MEDIA_LINK_OFF_MASK, 0, to));
}

static void make_link(struct fuzz *f)
{
	u64 off = fuzz_off(f) & WORT_MEDIA_LINK_OFF_MASK;
	u64 place = (u64)draw(f, 40) << WORT_MEDIA_LINK_PLACE_SHIFT;

	fuzz_set(f, fuzz_word(f, one_in(f, 2) ? WORD_LINK : WORD_NONE),
		 one_in(f, 2) ? off | WORT_MEDIA_LINK_RECORD :
			   off | place | (WORT_MEDIA_LINK_RECORD + 1 + draw(f, 6)));
}

static const u32 lens[] = { 0, 1, 7, 8, 9, 63, 64, 255, 1023, 1024, 1025, 2047, 4096,
			    65535, 65536, 131071 };

/* A leaf that ends where the memory does, or beyond. */
static void move_leaf(struct fuzz *f)
{
	u64 slot = fuzz_word(f, WORD_LINK), link = fuzz_get(f, slot);
	u64 from = link & WORT_MEDIA_LINK_OFF_MASK;
	u64 to = f->base->size - 8 * (2 + draw(f, 24)), meta;

	if ((link & WORT_MEDIA_LINK_KIND_MASK) != WORT_MEDIA_LINK_RECORD ||
	    from > f->base->size - 256)
		return;
	memmove(f->base->mem + to, f->base->mem + from, f->base->size - to);
	fuzz_set(f, slot, to | WORT_MEDIA_LINK_RECORD);
	meta = fuzz_get(f, to + offsetof(struct wort_media_leaf, meta));
	if (one_in(f, 2))
		fuzz_set(f, to + offsetof(struct wort_media_leaf, meta),
			 fuzz_field(meta, WORT_MEDIA_LEAF_KEY_MASK, 0,
				    lens[draw(f, ARRAY_NR(lens))]));
}

static void change_meta(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_META), meta = fuzz_get(f, off);
	u32 len = lens[draw(f, ARRAY_NR(lens))];

	switch (draw(f, 6)) {
	case 0:
		meta = fuzz_field(meta, WORT_MEDIA_LEAF_KEY_MASK, 0, len);
		break;
	case 1:
		meta = fuzz_field(meta, WORT_MEDIA_LEAF_KEY_MASK, 0,
				  fuzz_nearby(f, meta));
		break;
	case 2:
		meta = fuzz_field(meta, WORT_MEDIA_LEAF_VALUE_MASK,
				  WORT_MEDIA_LEAF_VALUE_SHIFT, len);
		break;
	case 3:
		meta = fuzz_field(meta, WORT_MEDIA_LEAF_VALUE_MASK,
				  WORT_MEDIA_LEAF_VALUE_SHIFT,
				  fuzz_nearby(f, meta >> WORT_MEDIA_LEAF_VALUE_SHIFT));
		break;
	case 4:
		meta = fuzz_field(meta, WORT_MEDIA_LEAF_KIND_MASK,
				  WORT_MEDIA_LEAF_KIND_SHIFT, draw(f, 4));
		break;
	default:
		meta = fuzz_get(f, fuzz_word(f, WORD_META));
	}
	fuzz_set(f, off, meta);
}

/* A value that lies where something else does, too. */
static void overlap_value(struct fuzz *f)
{
	static const u32 sizes[] = { 16, 24, 64, 128, 200, 256, 512, 1500, 4096,
				     8192 };
	u64 off = fuzz_word(f, WORD_META), len = sizes[draw(f, ARRAY_NR(sizes))];
	u64 meta = fuzz_get(f, off) & WORT_MEDIA_LEAF_KEY_MASK;

	fuzz_set(f, off, meta | len << WORT_MEDIA_LEAF_VALUE_SHIFT |
	    (u64)WORT_MEDIA_VALUE_OBJECT << WORT_MEDIA_LEAF_KIND_SHIFT);
	fuzz_set(f, off - offsetof(struct wort_media_leaf, meta), fuzz_off(f));
}

void (*const radix_changes[RADIX_NR_CHANGES])(struct fuzz *f) = {
	change_tag, change_place, change_label, change_target, make_link,
	move_leaf, change_meta, overlap_value,
};
