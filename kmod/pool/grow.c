// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Growing: a pool takes in what its device has gained, before it is attached.
 *
 * Extents are added behind the last one.  If the extent table has no room for
 * their words, a longer table is written into the first of them, as a run that
 * the superblock owns.  The former one is given up; if it was such a run, the
 * walk finds that nobody owns it.
 *
 * The copy of the superblock at the end of the pool lies behind the last
 * extent.  A longer table goes behind that copy, which so stays as it is until
 * the end.
 *
 * The table is whole and durable before any superblock refers to it; then comes
 * the copy at the new end, then the first two, each behind a fence; at last the
 * copy at the old end is made none.  Both of the first two are written, for the
 * former geometry must not come into force again: objects may lie beyond it by
 * then.  A crash leaves the pool as it was, perhaps with a copy of the grown
 * one at the end of the device, which the next attach makes none; or grown,
 * perhaps with what was the copy at its end in an extent that is free.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "redo.h"

#define WORDS	64	/* copied at a time */

/* A pool about to grow. */
struct grow {
	struct wort_op op;
	struct wort_media_sb sb;
	u32 copy;
	u32 shift;
	u64 data;
	u64 table;		/* of the pool as it is */
	u64 new_table;
	u64 old_end;
	u64 new_end;
	u32 nr;
	u32 new_nr;
	u32 run;		/* first extent of a table that moves */
};

static u64 table_room(const struct grow *g)
{
	if (g->table < g->data)
		return g->data - g->table;
	return (u64)wort_table_run(g->nr, g->shift) << g->shift;
}

/* False: nothing is gained, or only what a longer table would take. */
static bool plan(struct grow *g)
{
	u64 size = min_t(u64, g->op.region->size, WORT_MEDIA_POOL_MAX);
	u64 end = round_down(size, (u64)WORT_MEDIA_SB_SPACE);

	g->shift = le32_to_cpu(g->sb.extent_shift);
	g->data = le64_to_cpu(g->sb.data_off);
	g->table = le64_to_cpu(g->sb.table_off);
	g->nr = le64_to_cpu(g->sb.nr_extents);
	g->old_end = le64_to_cpu(g->sb.pool_size);
	g->new_end = end;
	g->new_nr = min_t(u64,
			  (end - WORT_MEDIA_SB_SPACE - g->data) >> g->shift,
			  U32_MAX / 2);
	if (end <= g->old_end || g->new_nr <= g->nr)
		return false;
	g->new_table = g->table;
	if ((u64)g->new_nr * sizeof(__le64) <= table_room(g))
		return true;
	g->run = ((g->old_end - g->data - 1) >> g->shift) + 1;
	g->new_table = g->data + ((u64)g->run << g->shift);
	return (u64)g->run + wort_table_run(g->new_nr, g->shift) <= g->new_nr;
}

/* The word of an extent in the new table; @word is that of the old one. */
static u64 new_word(const struct grow *g, u32 nr, u64 word)
{
	if (g->new_table != g->table && nr == g->run)
		return WORT_MEDIA_EXTENT_RUN |
		       (u64)wort_table_run(g->new_nr, g->shift) <<
		       WORT_MEDIA_EXTENT_LEN_SHIFT;
	return nr < g->nr ? word : 0;
}

static int write_words(struct grow *g, u32 first, u32 n)
{
	u64 at = g->new_table + (u64)first * sizeof(__le64);
	u32 old = first < g->nr ? min(n, g->nr - first) : 0, i;
	__le64 words[WORDS] = { };
	int err;

	err = wort_pm_read(&g->op, words,
			   wort_region_at(g->op.region,
					  g->table +
						  (u64)first * sizeof(__le64)),
			   old * sizeof(__le64));
	if (err)
		return err;
	for (i = 0; i < n; i++)
		words[i] = cpu_to_le64(new_word(g, first + i,
						le64_to_cpu(words[i])));
	wort_pm_write(&g->op, wort_region_at(g->op.region, at), words,
		      n * sizeof(__le64));
	wort_pm_flush(&g->op, wort_region_at(g->op.region, at),
		      n * sizeof(__le64));
	return 0;
}

/* Words of a table that stays where it is are in use: they are left alone. */
static int write_table(struct grow *g)
{
	u32 nr = g->new_table == g->table ? g->nr : 0, n;
	int err;

	err = wort_region_verify(g->op.region, g->table,
				 (u64)g->nr * sizeof(__le64));
	if (!err)
		err = wort_region_verify(g->op.region, g->new_table,
					 (u64)g->new_nr * sizeof(__le64));
	for (; nr < g->new_nr && !err; nr += n) {
		n = min_t(u32, g->new_nr - nr, WORDS);
		err = write_words(g, nr, n);
		cond_resched();
	}
	wort_pm_fence(&g->op);
	return err;
}

static void finish(struct grow *g)
{
	u64 generation;

	wort_sb_destroy(&g->op, g->old_end - WORT_MEDIA_SB_SPACE);
	if (!wort_sb_generation(&g->op, &generation))
		wort_sb_set_generation(&g->op, generation + 1);
}

/**
 * wort_pool_grow() - Take in what the device has gained
 * @region: The memory; nobody else uses it.
 *
 * Does nothing if the device is not larger than the pool.  The pool is not
 * attached; wort_pool_attach() has the details of its state.
 *
 * An atomic batch that has to be carried out stays where it is.
 *
 * Context: May sleep.
 * Return: 0; what wort_sb_load() returns; -EROFS if the pool is read-only; -EIO
 * if the page of heads, the extent table or a copy of the superblock lies on
 * bad memory; -ENOMEM if it could not be attached afterwards.
 */
int wort_pool_grow(struct wort_region *region)
{
	struct grow g;
	int err;

	wort_op_begin(&g.op, region, NULL);
	err = wort_sb_load(&g.op, &g.sb, &g.copy);
	wort_sb_refused(region, &g.sb, err);
	if (err || !plan(&g))
		return err;
	err = wort_heads_verify(&g.op);
	if (err)
		return err;
	if (g.sb.state || le64_to_cpu(g.sb.ro_compat) & ~WORT_RO_COMPAT_ALL)
		return -EROFS;
	err = wort_alloc_servable(g.new_nr);
	if (!err)
		err = write_table(&g);
	g.sb.table_off = cpu_to_le64(g.new_table);
	g.sb.nr_extents = cpu_to_le64(g.new_nr);
	g.sb.pool_size = cpu_to_le64(g.new_end);
	if (!err)
		err = wort_sb_replace(&g.op, &g.sb, g.copy);
	if (!err)
		finish(&g);
	wort_op_end(&g.op);
	return err;
}
