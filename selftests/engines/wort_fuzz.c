// SPDX-License-Identifier: GPL-2.0-only
/*
 * WORT in the image fuzzer.
 */
#include <string.h>

#include <linux/wort_format_wort.h>

#include "radix_fuzz.h"

static void list_tree(struct base *base, u64 slot);

static void list_node(struct base *base, u64 off)
{
	u32 i;

	for (i = 0; i < WORT_MEDIA_WORT_SLOTS; i++)
		list_tree(base, off + i * sizeof(__le64));
}

/* A slot and all that it refers to. */
static void list_tree(struct base *base, u64 slot)
{
	u64 link = base_get(base, slot), off = link & WORT_MEDIA_LINK_OFF_MASK;

	base_add(base, link ? WORD_LINK : WORD_NONE, slot);
	if ((link & WORT_MEDIA_LINK_KIND_MASK) == WORT_MEDIA_WORT_KIND_NODE)
		list_node(base, off);
	else if (link)
		radix_list_leaf(base, off);
}

const struct engine_fuzz engine_fuzz_wort = {
	.list = list_tree,
	.target = radix_target,
	.changes = radix_changes,
	.nr_changes = RADIX_NR_CHANGES,
};
