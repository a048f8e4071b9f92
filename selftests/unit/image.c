// SPDX-License-Identifier: GPL-2.0-only
#include <linux/crc32c.h>

#include "image.h"

struct image image;

/* Of index "a"; those with "=" have a value of as many bytes behind it. */
static const char *const records[] = {
	"apple", "apples", "banana=5000", "apply=300", "band", "bandana",
	"long-prefix-in-common-1", "long-prefix-in-common-2",
	"long-prefix-in-common-3", "mm-x1", "mm-x2", "mn0", "zz=900",
};

const char *image_keys[IMAGE_KEYS];
u32 image_nr_keys;

static void add(struct wort_index *index, const char *record)
{
	static const u8 value[5000] = "value";
	const char *end = record + strcspn(record, "=");
	u32 len = *end ? atoi(end + 1) : 8;

	CHECK_EQ(pm_put(index, record, end - record, value, len), 0);
	image_keys[image_nr_keys++] = strndup(record, end - record);
}

static void fill(void)
{
	struct wort_index *index = pmpool_index(&image.pm, "a");
	char key[8];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(records); i++)
		add(index, records[i]);
	for (i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%02u", i);
		add(index, key);
	}
	wort_index_put(index);
	index = pmpool_index(&image.pm, "b");
	CHECK_EQ(pm_put(index, "other", 5, "12345678", 8), 0);
	CHECK_EQ(pm_put(index, "others", 6, "12345678", 8), 0);
	wort_index_put(index);
	index = pmpool_index(&image.pm, "c");
	CHECK_EQ(pm_put(index, "single", 6, "12345678", 8), 0);
	wort_index_put(index);
}

void image_make(void)
{
	pmpool_map(&image.pm, IMAGE_SIZE, false);
	pmpool_format(&image.pm, IMAGE_EXTENT);
	pmpool_attach(&image.pm);
	fill();
	pmpool_settle();
	pmpool_detach(&image.pm);
	image.mem = (u8 *)image.pm.region.base;
	image.clean = malloc(IMAGE_SIZE);
	image.patched = malloc(IMAGE_SIZE);
	memcpy(image.clean, image.mem, IMAGE_SIZE);
	memcpy(image.patched, image.mem, IMAGE_SIZE);
}

void image_free(void)
{
	while (image_nr_keys)
		free((char *)image_keys[--image_nr_keys]);
	free(image.clean);
	free(image.patched);
	pmpool_unmap(&image.pm);
}

void image_keep(void)
{
	memcpy(image.patched, image.mem, IMAGE_SIZE);
}

void image_restore(const u8 *from)
{
	memcpy(image.mem, from, IMAGE_SIZE);
}

void image_undo(void)
{
	u32 off;

	/* Attach raises the generation, which stays. */
	for (off = 0; off < IMAGE_SIZE; off++)
		if (image.patched[off] != image.clean[off] &&
		    off / 8 != WORT_MEDIA_WORDS_OFF / 8)
			image.mem[off] = image.clean[off];
}

u64 image_get(u64 off)
{
	__le64 word;

	memcpy(&word, image.mem + off, sizeof(word));
	return le64_to_cpu(word);
}

void image_set(u64 off, u64 val)
{
	__le64 word = cpu_to_le64(val);

	memcpy(image.mem + off, &word, sizeof(word));
}

struct wort_media_sb *image_sb(u32 copy)
{
	return (void *)(image.mem + WORT_MEDIA_SB_OFF +
			copy * WORT_MEDIA_SB_SPACE);
}

void image_seal_sb(void)
{
	struct wort_media_sb *sb;
	u32 copy;

	for (copy = 0; copy < WORT_MEDIA_SB_COPIES; copy++) {
		sb = image_sb(copy);
		sb->csum = 0;
		sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
	}
}

u64 image_catalogue(void)
{
	return le64_to_cpu(image_sb(0)->catalogue_off);
}

u64 image_entry(u32 nr)
{
	return image_get(image_catalogue() + 8 + 8 * nr);
}

void entry_seal(struct wort_media_entry *entry)
{
	struct wort_media_entry tmp = *entry;

	tmp.csum = 0;
	tmp.state = 0;
	memset(tmp.root, 0, sizeof(tmp.root));
	entry->csum = cpu_to_le32(crc32c(~0U, &tmp, sizeof(tmp)));
}

void image_seal_entry(u64 off)
{
	entry_seal((void *)(image.mem + off));
}

u64 image_table(u64 off)
{
	u64 data = le64_to_cpu(image_sb(0)->data_off);

	return WORT_MEDIA_TABLE_OFF + (off - data) / IMAGE_EXTENT * 8;
}

u64 image_root(u32 nr)
{
	return image_entry(nr) + offsetof(struct wort_media_entry, root);
}

/* The words that lead to a record, the last one first. */
static u32 path_of(u32 nr, const char *key, u64 *words)
{
	const struct wort_key k = { (const u8 *)key, strlen(key) };
	u32 n = subject.unit->probe->path(image.mem, image_root(nr), &k, words);

	if (!n)
		die("the probe finds no way to %s", key);
	return n;
}

u64 image_node_slot(u32 nr, const char *key, u32 up)
{
	u64 words[PROBE_WORDS];
	u32 n = path_of(nr, key, words);

	if (up >= n)
		die("%s has no %u nodes above", key, up);
	return words[up];
}

u64 image_node(u32 nr, const char *key, u32 up)
{
	return subject.unit->probe->target(image_get(image_node_slot(nr, key,
								     up)));
}

u64 image_slot(u32 nr, const char *key)
{
	return image_node_slot(nr, key, 0);
}

u64 image_leaf(u32 nr, const char *key)
{
	return image_node(nr, key, 0);
}

u64 image_value(u32 nr, const char *key)
{
	return subject.unit->probe->value(image.mem, image_leaf(nr, key));
}

u32 image_depth(u32 nr, const char *key)
{
	u64 words[PROBE_WORDS];

	return path_of(nr, key, words);
}
