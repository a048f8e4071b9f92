// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is changed in an image.
 *
 * Changes know what a word is: most images that differ in any bit are refused by the
 * first line that looks at it.
 */
#include <string.h>

#include "../engines/fuzz.h"

u64 fuzz_word(struct fuzz *f, enum word_kind kind)
{
	const struct base *base = f->base;

	return base->nr[kind] ? base->word[kind][draw(f, base->nr[kind])] :
				base->sb_off[0] + 8;
}

static u64 any_word(struct fuzz *f)
{
	return fuzz_word(f, draw(f, WORD_NR));
}

u64 fuzz_get(struct fuzz *f, u64 off)
{
	return base_get(f->base, off);
}

void fuzz_set(struct fuzz *f, u64 off, u64 val)
{
	say(f, "  %#llx: %#llx, was %#llx", (unsigned long long)off,
	    (unsigned long long)val, (unsigned long long)fuzz_get(f, off));
	base_set(f->base, off, val);
	f->changed[f->changes++ % ARRAY_NR(f->changed)] = off;
}

/* An offset: of an object, near the end of something, or of nothing. */
u64 fuzz_off(struct fuzz *f)
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
		return f->base->rows->target(fuzz_get(f, fuzz_word(f, WORD_LINK)));
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
		return fuzz_off(f);
	}
}

u64 fuzz_nearby(struct fuzz *f, u64 val)
{
	static const s64 steps[] = { 1, 2, 8, 16, 64, 128, 256, 4096, 65536 };
	u64 step = steps[draw(f, ARRAY_NR(steps))];

	return one_in(f, 2) ? val + step : val - step;
}

static u64 other_number(struct fuzz *f, u64 val)
{
	switch (draw(f, 4)) {
	case 0:
		return fuzz_nearby(f, val);
	case 1:
		return val ^ 1ULL << draw(f, 64);
	default:
		return some_number(f);
	}
}

/* Also between indexes. */
static void swap_links(struct fuzz *f)
{
	u64 a = fuzz_word(f, WORD_LINK), b = fuzz_word(f, WORD_LINK);
	u64 link = fuzz_get(f, a);

	fuzz_set(f, a, fuzz_get(f, b));
	fuzz_set(f, b, link);
}

/* A subtree in two places, in two indexes, or below itself. */
static void copy_link(struct fuzz *f)
{
	u64 from = fuzz_word(f, WORD_LINK);
	u64 to = fuzz_word(f, one_in(f, 2) ? WORD_LINK : WORD_NONE);

	fuzz_set(f, to, fuzz_get(f, from));
}

static void clear_link(struct fuzz *f)
{
	fuzz_set(f, fuzz_word(f, WORD_LINK), 0);
}

static void change_value(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_VALUE);

	fuzz_set(f, off, one_in(f, 3) ? fuzz_get(f, fuzz_word(f, WORD_VALUE)) :
				   other_number(f, fuzz_get(f, off)));
}

static void change_key(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_KEY);

	fuzz_set(f, off, one_in(f, 3) ? fuzz_get(f, fuzz_word(f, WORD_KEY)) :
				   fuzz_get(f, off) ^ 1ULL << draw(f, 64));
}

static void change_table(struct fuzz *f)
{
	u64 off = fuzz_word(f, WORD_TABLE), word = fuzz_get(f, off);

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
		word = fuzz_get(f, fuzz_word(f, WORD_TABLE));
		break;
	case 4:
		word = word ? fuzz_nearby(f, word) : word;
		break;
	default:
		word = other_number(f, word);
	}
	fuzz_set(f, off, word);
}

static void change_block(struct fuzz *f)
{
	u64 a = fuzz_word(f, WORD_BLOCK), b = fuzz_word(f, WORD_BLOCK);
	u64 word = fuzz_get(f, a);

	switch (draw(f, 5)) {
	case 0:
		fuzz_set(f, a, fuzz_get(f, b));
		fuzz_set(f, b, word);
		break;
	case 1:
		fuzz_set(f, a, fuzz_get(f, b));
		break;
	case 2:
		fuzz_set(f, a, 0);
		break;
	case 3:
		fuzz_set(f, a, fuzz_off(f));
		break;
	default:
		fuzz_set(f, a, other_number(f, word));
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
		fuzz_set(f, entry + at, fuzz_get(f, from + at));
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
		fuzz_set(f, entry + at, other_number(f, fuzz_get(f, entry + at)));
	}
	reseal_entry(f, entry);
}

static void change_sb(struct fuzz *f)
{
	u32 field = 8 * draw(f, sizeof(struct wort_media_sb) / 8), i;
	u32 only = draw(f, 2 * WORT_MEDIA_SB_COPIES);
	u64 off = f->base->sb_off[0] + field, val = fuzz_get(f, off);

	switch (draw(f, 4)) {
	case 0:		/* one half of it */
		val ^= (u64)draw(f, 256) << 8 * draw(f, 8);
		break;
	case 1:
		val = fuzz_nearby(f, val);
		break;
	default:
		val = other_number(f, val);
	}
	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++) {
		if (only < WORT_MEDIA_SB_COPIES && i != only)
			continue;
		fuzz_set(f, f->base->sb_off[i] + field, val);
		if (!one_in(f, 16))
			seal_sb(f->base, f->base->sb_off[i]);
	}
}

/* Of another list, of two batches, of an object that is no list, of nothing. */
static void change_head(struct fuzz *f)
{
	u64 head = fuzz_word(f, WORD_HEAD), off = fuzz_get(f, head);

	switch (draw(f, 6)) {
	case 0:
		off = fuzz_get(f, fuzz_word(f, WORD_HEAD));
		break;
	case 1:
		off = fuzz_off(f);
		break;
	case 2:
		off = fuzz_get(f, fuzz_word(f, WORD_LINK));
		off = f->base->rows->target(off);
		break;
	case 3:
		off = fuzz_nearby(f, off);
		break;
	default:
		off = f->base->nr_lists ?
		      f->base->list[draw(f, f->base->nr_lists)] : fuzz_off(f);
	}
	fuzz_set(f, head, off);
}

/* Where the entries of a list are; how many, at most @max. */
static u32 list_entries(struct fuzz *f, u64 list, u32 *at, u32 max)
{
	struct wort_media_redo_entry entry;
	u32 len = min_t(u64, fuzz_get(f, list) & 0xffff, f->base->size - list), nr;
	u32 off = sizeof(struct wort_media_redo), used;

	for (nr = 0; nr < max && off + sizeof(entry) <= len; nr++) {
		memcpy(&entry, f->base->mem + list + off, sizeof(entry));
		used = min(le32_to_cpu(entry.key_len), 1U << 16);
		if (le32_to_cpu(entry.value_len) != WORT_MEDIA_REDO_REMOVE)
			used += min(le32_to_cpu(entry.value_len), 1U << 16);
		at[nr] = off;
		off += round_up(sizeof(entry) + used, 8);
	}
	return nr;
}

static void set_u32(struct fuzz *f, u64 off, u32 val)
{
	u64 word = fuzz_get(f, off & ~7ULL), shift = off & 4 ? 32 : 0;

	word &= ~(0xffffffffULL << shift);
	fuzz_set(f, off & ~7ULL, word | (u64)val << shift);
}

/* Id, length of the key or of the value; a byte of the key; the entry of another key. */
static void change_list_entry(struct fuzz *f, u64 list)
{
	u32 at[16], nr = list_entries(f, list, at, ARRAY_NR(at));
	u64 entry, from;

	if (!nr)
		return;
	entry = list + at[draw(f, nr)];
	from = list + at[draw(f, nr)];
	switch (draw(f, 6)) {
	case 0:
		fuzz_set(f, entry, one_in(f, 2) ? fuzz_get(f, from) :
			 fuzz_nearby(f, fuzz_get(f, entry)));
		break;
	case 1:
		set_u32(f, entry + 8, other_number(f, fuzz_get(f, entry + 8)));
		break;
	case 2:
		set_u32(f, entry + 12, one_in(f, 2) ? WORT_MEDIA_REDO_REMOVE :
			other_number(f, fuzz_get(f, entry + 8) >> 32));
		break;
	case 3:
		fuzz_set(f, entry + 16, fuzz_get(f, entry + 16) ^ 1ULL << draw(f, 64));
		break;
	case 4:
		fuzz_set(f, entry + 16, fuzz_get(f, from + 16));
		break;
	default:
		from = fuzz_word(f, WORD_LIST);
		fuzz_set(f, entry + 16, fuzz_get(f, from));
	}
}

static void change_list(struct fuzz *f)
{
	u64 list;

	if (!f->base->nr_lists)
		return;
	list = f->base->list[draw(f, f->base->nr_lists)];
	switch (draw(f, 5)) {
	case 0:
		set_u32(f, list, other_number(f, fuzz_get(f, list)));
		break;
	case 1:
		set_u32(f, list + 4, one_in(f, 2) ? draw(f, 70) :
			other_number(f, fuzz_get(f, list) >> 32));
		break;
	default:
		change_list_entry(f, list);
	}
	if (!one_in(f, 8))
		seal_list(f->base, list);
}

static void flip_bit(struct fuzz *f)
{
	u64 off = any_word(f);

	fuzz_set(f, off, fuzz_get(f, off) ^ 1ULL << draw(f, 64));
}

static void change_any(struct fuzz *f)
{
	u64 off = one_in(f, 4) ? fuzz_off(f) & ~7ULL : any_word(f);

	if (off < PAGE || off >= WORT_MEDIA_POOL_MIN)
		return;
	fuzz_set(f, off, one_in(f, 2) ? fuzz_get(f, any_word(f)) :
				   other_number(f, fuzz_get(f, off)));
}

/* Whatever the engine is. */
static void (*const changes[])(struct fuzz *f) = {
	swap_links, copy_link, clear_link, change_value, change_key,
	change_table, change_block, change_entry, change_sb, change_head, change_list,
	flip_bit, change_any,
};

static void change_one(struct fuzz *f)
{
	const struct engine_fuzz *rows = f->base->rows;
	u32 nr = draw(f, rows->nr_changes + ARRAY_NR(changes));

	if (f->base->nr_lists && one_in(f, 2)) {
		(one_in(f, 3) ? change_head : change_list)(f);
		return;
	}
	if (nr < rows->nr_changes)
		rows->changes[nr](f);
	else
		changes[nr - rows->nr_changes](f);
}

void mutate(struct fuzz *f)
{
	u32 nr = one_in(f, 3) ? 2 + draw(f, 3) : 1;

	while (nr--)
		change_one(f);
}
