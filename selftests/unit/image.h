/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small pool whose media can be patched word by word.
 */
#ifndef _WORT_TEST_IMAGE_H
#define _WORT_TEST_IMAGE_H

#include "../engines/unit.h"

#define IMAGE_SIZE	MIB
#define IMAGE_EXTENT	4096

/**
 * struct image - A pool and what it held before it was patched
 * @pm: the pool
 * @mem: its memory
 * @clean: the same as image_make() left it
 * @patched: the same as the patches left it
 */
struct image {
	struct pmpool pm;
	u8 *mem;
	u8 *clean;
	u8 *patched;
};

extern struct image image;

void image_make(void);	/* indexes "a", "b" and "c" with records */
void image_free(void);
void image_keep(void);		/* remember what was patched */
void image_restore(const u8 *from);
void image_undo(void);		/* clean again, where it was patched */

u64 image_get(u64 off);
void image_set(u64 off, u64 val);
u64 image_entry(u32 nr);	/* offset of an entry, as slots have it */
u64 image_root(u32 nr);		/* first word of a root record */
u64 image_catalogue(void);
u64 image_table(u64 off);	/* the word of the extent that holds it */
u64 image_slot(u32 nr, const char *key);	/* refers to the key's leaf */
u64 image_node_slot(u32 nr, const char *key, u32 up);	/* refers to a node */
u64 image_leaf(u32 nr, const char *key);
u64 image_value(u32 nr, const char *key);	/* an object of its own */
u32 image_depth(u32 nr, const char *key);	/* words that lead to a record */
u64 image_node(u32 nr, const char *key, u32 up);	/* above that leaf */
void entry_seal(struct wort_media_entry *entry);
void image_seal_entry(u64 off);	/* make the checksum right */
void image_seal_sb(void);	/* that of both copies */
struct wort_media_sb *image_sb(u32 copy);

#define IMAGE_KEYS	64
extern const char *image_keys[IMAGE_KEYS];
extern u32 image_nr_keys;	/* of index "a" */

#endif /* _WORT_TEST_IMAGE_H */
