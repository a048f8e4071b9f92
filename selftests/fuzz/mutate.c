// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is changed in an image.
 *
 * Changes know what a word is: most images that differ in any bit are refused by the
 * first line that looks at it.
 */
#include <string.h>

#include "fuzz.h"

static u64 word_of(struct fuzz *f, enum word_kind kind)
{
	const struct base *base = f->base;

	return base->nr[kind] ? base->word[kind][draw(f, base->nr[kind])] :
				base->sb_off[0] + 8;
}

static u64 any_word(struct fuzz *f)
{
	return word_of(f, draw(f, WORD_NR));
}

static u64 get(struct fuzz *f, u64 off)
{
	return base_get(f->base, off);
}

static void set(struct fuzz *f, u64 off, u64 val)
{
	say(f, "  %#llx: %#llx, was %#llx", (unsigned long long)off,
	    (unsigned long long)val, (unsigned long long)get(f, off));
	base_set(f->base, off, val);
	f->changed[f->changes++ % ARRAY_NR(f->changed)] = off;
}

/* An offset: of an object, near the end of something, or of nothing. */
static u64 some_off(struct fuzz *f)
{
	const struct wort_media_sb *sb = base_sb(f->base);
	u64 data = le64_to_cpu(sb->data_off);
	u64 size = le64_to_cpu(sb->pool_size);
	u32 shift = le32_to_cpu(sb->extent_shift) & 31;

	switch (draw(f, 8)) {
	case 0:
		return f->base->size - 8 * draw(f, 64);
	case 1:
		return size - 8 * draw(f, 64);
	case 2:
		return data + ((u64)draw(f, 64) << shift);
	case 3:
		return 8 * draw(f, f->base->size / 8);
	case 4:
		return any_word(f);
	case 5:
		return f->base->sb_off[draw(f, WORT_MEDIA_SB_COPIES)];
	case 6:
		return f->base->nr_entries ?
		       f->base->entry[draw(f, f->base->nr_entries)] : 0;
	default:
		return get(f, word_of(f, WORD_LINK)) & WORT_MEDIA_LINK_OFF_MASK;
	}
}

static u64 some_number(struct fuzz *f)
{
	switch (draw(f, 6)) {
	case 0:
		return draw(f, 3);
	case 1:
		return ~0ULL - draw(f, 3);
	case 2:
		return 1ULL << draw(f, 64);
	case 3:
		return (1ULL << draw(f, 64)) - 1;
	case 4:
		return test_random(&f->rnd);
	default:
		return some_off(f);
	}
}

static u64 nearby(struct fuzz *f, u64 val)
{
	static const s64 steps[] = { 1, 2, 8, 16, 64, 128, 256, 4096, 65536 };
	u64 step = steps[draw(f, ARRAY_NR(steps))];

	return one_in(f, 2) ? val + step : val - step;
}

static u64 other_number(struct fuzz *f, u64 val)
{
	switch (draw(f, 4)) {
	case 0:
		return nearby(f, val);
	case 1:
		return val ^ 1ULL << draw(f, 64);
	default:
		return some_number(f);
	}
}

static u64 with_field(u64 word, u64 mask, u32 shift, u64 val)
{
	return (word & ~(mask << shift)) | (val & mask) << shift;
}

static void change_tag(struct fuzz *f)
{
	u64 off = word_of(f, WORD_LINK);

	set(f, off, with_field(get(f, off), WORT_MEDIA_LINK_KIND_MASK, 0,
			       draw(f, WORT_MEDIA_LINK_KIND_MASK + 1)));
}

static void change_label(struct fuzz *f)
{
	u64 off = word_of(f, WORD_LINK);

	set(f, off, get(f, off) ^ 1ULL << (44 + draw(f, 8)));
}

static void change_place(struct fuzz *f)
{
	u64 off = word_of(f, WORD_LINK), link = get(f, off);
	u64 place = link >> WORT_MEDIA_LINK_PLACE_SHIFT;

	place = one_in(f, 2) ? draw(f, 4096) : place + draw(f, 5) - 2;
	set(f, off, with_field(link, 0xfff, WORT_MEDIA_LINK_PLACE_SHIFT, place));
}

static void change_target(struct fuzz *f)
{
	u64 off = word_of(f, WORD_LINK), link = get(f, off), to;

	to = one_in(f, 2) ? some_off(f) :
			    nearby(f, link & WORT_MEDIA_LINK_OFF_MASK);
	set(f, off, with_field(link, WORT_MEDIA_LINK_OFF_MASK, 0, to));
}

/* Also between indexes. */
static void swap_links(struct fuzz *f)
{
	u64 a = word_of(f, WORD_LINK), b = word_of(f, WORD_LINK);
	u64 link = get(f, a);

	set(f, a, get(f, b));
	set(f, b, link);
}

/* A subtree in two places, in two indexes, or below itself. */
static void copy_link(struct fuzz *f)
{
	u64 from = word_of(f, WORD_LINK);
	u64 to = word_of(f, one_in(f, 2) ? WORD_LINK : WORD_NONE);

	set(f, to, get(f, from));
}

static void make_link(struct fuzz *f)
{
	u64 off = some_off(f) & WORT_MEDIA_LINK_OFF_MASK;
	u64 place = (u64)draw(f, 40) << WORT_MEDIA_LINK_PLACE_SHIFT;

	set(f, word_of(f, one_in(f, 2) ? WORD_LINK : WORD_NONE),
	    one_in(f, 2) ? off | WORT_MEDIA_LINK_RECORD :
			   off | WORT_MEDIA_WORT_KIND_NODE | place);
}

static void clear_link(struct fuzz *f)
{
	set(f, word_of(f, WORD_LINK), 0);
}

static const u32 lens[] = { 0, 1, 7, 8, 9, 63, 64, 255, 1023, 1024, 1025, 2047, 4096,
			    65535, 65536, 131071 };

/* A leaf that ends where the memory does, or beyond. */
static void move_leaf(struct fuzz *f)
{
	u64 slot = word_of(f, WORD_LINK), link = get(f, slot);
	u64 from = link & WORT_MEDIA_LINK_OFF_MASK;
	u64 to = f->base->size - 8 * (2 + draw(f, 24)), meta;

	if ((link & WORT_MEDIA_LINK_KIND_MASK) != WORT_MEDIA_LINK_RECORD ||
	    from > f->base->size - 256)
		return;
	memmove(f->base->mem + to, f->base->mem + from, f->base->size - to);
	set(f, slot, to | WORT_MEDIA_LINK_RECORD);
	meta = get(f, to + offsetof(struct wort_media_leaf, meta));
	if (one_in(f, 2))
		set(f, to + offsetof(struct wort_media_leaf, meta),
		    with_field(meta, WORT_MEDIA_LEAF_KEY_MASK, 0,
			       lens[draw(f, ARRAY_NR(lens))]));
}

static void change_meta(struct fuzz *f)
{
	u64 off = word_of(f, WORD_META), meta = get(f, off);
	u32 len = lens[draw(f, ARRAY_NR(lens))];

	switch (draw(f, 6)) {
	case 0:
		meta = with_field(meta, WORT_MEDIA_LEAF_KEY_MASK, 0, len);
		break;
	case 1:
		meta = with_field(meta, WORT_MEDIA_LEAF_KEY_MASK, 0,
				  nearby(f, meta));
		break;
	case 2:
		meta = with_field(meta, WORT_MEDIA_LEAF_VALUE_MASK,
				  WORT_MEDIA_LEAF_VALUE_SHIFT, len);
		break;
	case 3:
		meta = with_field(meta, WORT_MEDIA_LEAF_VALUE_MASK,
				  WORT_MEDIA_LEAF_VALUE_SHIFT,
				  nearby(f, meta >> WORT_MEDIA_LEAF_VALUE_SHIFT));
		break;
	case 4:
		meta = with_field(meta, WORT_MEDIA_LEAF_KIND_MASK,
				  WORT_MEDIA_LEAF_KIND_SHIFT, draw(f, 4));
		break;
	default:
		meta = get(f, word_of(f, WORD_META));
	}
	set(f, off, meta);
}

/* A value that lies where something else does, too. */
static void overlap_value(struct fuzz *f)
{
	static const u32 sizes[] = { 16, 24, 64, 128, 200, 256, 512, 1500, 4096,
				     8192 };
	u64 off = word_of(f, WORD_META), len = sizes[draw(f, ARRAY_NR(sizes))];
	u64 meta = get(f, off) & WORT_MEDIA_LEAF_KEY_MASK;

	set(f, off, meta | len << WORT_MEDIA_LEAF_VALUE_SHIFT |
	    (u64)WORT_MEDIA_VALUE_OBJECT << WORT_MEDIA_LEAF_KIND_SHIFT);
	set(f, off - offsetof(struct wort_media_leaf, meta), some_off(f));
}

static void change_value(struct fuzz *f)
{
	u64 off = word_of(f, WORD_VALUE);

	set(f, off, one_in(f, 3) ? get(f, word_of(f, WORD_VALUE)) :
				   other_number(f, get(f, off)));
}

static void change_key(struct fuzz *f)
{
	u64 off = word_of(f, WORD_KEY);

	set(f, off, one_in(f, 3) ? get(f, word_of(f, WORD_KEY)) :
				   get(f, off) ^ 1ULL << draw(f, 64));
}

static void change_table(struct fuzz *f)
{
	u64 off = word_of(f, WORD_TABLE), word = get(f, off);

	switch (draw(f, 6)) {
	case 0:
		word = 0;
		break;
	case 1:
		word = draw(f, WORT_NR_CLASSES + 2);
		break;
	case 2:
		word = WORT_MEDIA_EXTENT_RUN | (u64)draw(f, 64) <<
					       WORT_MEDIA_EXTENT_LEN_SHIFT;
		break;
	case 3:
		word = get(f, word_of(f, WORD_TABLE));
		break;
	case 4:
		word = word ? nearby(f, word) : word;
		break;
	default:
		word = other_number(f, word);
	}
	set(f, off, word);
}

static void change_block(struct fuzz *f)
{
	u64 a = word_of(f, WORD_BLOCK), b = word_of(f, WORD_BLOCK);
	u64 word = get(f, a);

	switch (draw(f, 5)) {
	case 0:
		set(f, a, get(f, b));
		set(f, b, word);
		break;
	case 1:
		set(f, a, get(f, b));
		break;
	case 2:
		set(f, a, 0);
		break;
	case 3:
		set(f, a, some_off(f));
		break;
	default:
		set(f, a, other_number(f, word));
	}
}

/* What has a checksum mostly gets a right one. */
static void reseal_entry(struct fuzz *f, u64 off)
{
	if (!one_in(f, 8))
		seal_entry(f->base, off);
}

static void change_entry(struct fuzz *f)
{
	u64 entry, from, at;

	if (!f->base->nr_entries)
		return;
	entry = f->base->entry[draw(f, f->base->nr_entries)];
	from = f->base->entry[draw(f, f->base->nr_entries)];
	at = 8 * draw(f, sizeof(struct wort_media_entry) / 8);
	switch (draw(f, 4)) {
	case 0:		/* id, name or root of another one */
		set(f, entry + at, get(f, from + at));
		break;
	case 1:
		memcpy(f->base->mem + entry, f->base->mem + from,
		       sizeof(struct wort_media_entry));
		break;
	case 2:
		f->base->mem[entry + draw(f, sizeof(struct wort_media_entry))] ^=
			1 << draw(f, 8);
		break;
	default:
		set(f, entry + at, other_number(f, get(f, entry + at)));
	}
	reseal_entry(f, entry);
}

static void change_sb(struct fuzz *f)
{
	u32 field = 8 * draw(f, sizeof(struct wort_media_sb) / 8), i;
	u32 only = draw(f, 2 * WORT_MEDIA_SB_COPIES);
	u64 off = f->base->sb_off[0] + field, val = get(f, off);

	switch (draw(f, 4)) {
	case 0:		/* one half of it */
		val ^= (u64)draw(f, 256) << 8 * draw(f, 8);
		break;
	case 1:
		val = nearby(f, val);
		break;
	default:
		val = other_number(f, val);
	}
	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++) {
		if (only < WORT_MEDIA_SB_COPIES && i != only)
			continue;
		set(f, f->base->sb_off[i] + field, val);
		if (!one_in(f, 16))
			seal_sb(f->base, f->base->sb_off[i]);
	}
}

static void flip_bit(struct fuzz *f)
{
	u64 off = any_word(f);

	set(f, off, get(f, off) ^ 1ULL << draw(f, 64));
}

static void change_any(struct fuzz *f)
{
	u64 off = one_in(f, 4) ? some_off(f) & ~7ULL : any_word(f);

	if (off < PAGE || off >= WORT_MEDIA_POOL_MIN)
		return;
	set(f, off, one_in(f, 2) ? get(f, any_word(f)) :
				   other_number(f, get(f, off)));
}

static void (*const changes[])(struct fuzz *f) = {
	change_tag, change_place, change_label, change_target, swap_links, copy_link,
	make_link, clear_link, move_leaf, change_meta, overlap_value, change_value,
	change_key, change_table, change_block, change_entry, change_sb,
	flip_bit, change_any,
};

void mutate(struct fuzz *f)
{
	u32 nr = one_in(f, 3) ? 2 + draw(f, 3) : 1;

	while (nr--)
		changes[draw(f, ARRAY_NR(changes))](f);
}
