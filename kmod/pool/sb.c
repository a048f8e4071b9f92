// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The superblock: two copies at the beginning, which attach reads, one at the
 * end of the pool, and two words beside the first.
 *
 * An update writes all copies with a higher sequence number, each with a
 * checksum and under a fence of its own: first the copy that is not in force,
 * then the other one, then that at the end.  After a crash one of the first two
 * is whole, as it was before or after.  Growth and the restore of lost copies
 * have orders of their own: wort_sb_replace().
 *
 * Copies are of use only if somebody looks at them.  Attach and check compare
 * all of them with the one in force, say which is lost, and write it anew if
 * they may store.  A copy that is one update behind, or torn, may be what a
 * crash has left.
 *
 * The copy at the end comes into force only when a person says so: somebody
 * else may have been given the device since.
 *
 * The generation is raised by whoever is about to store, so that one who had to
 * leave the memory alone for a while can see that others did not.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/**
 * wort_sb_off() - Where a copy of the superblock lies
 * @sb: The superblock, which only WORT_SB_END takes.
 * @copy: Which copy.
 *
 * Context: Any context.
 * Return: Its offset.
 */
u64 wort_sb_off(const struct wort_media_sb *sb, u32 copy)
{
	if (copy == WORT_SB_END)
		return le64_to_cpu(sb->pool_size) - WORT_MEDIA_SB_SPACE;
	return WORT_MEDIA_SB_OFF + copy * WORT_MEDIA_SB_SPACE;
}

static struct wort_media_sb __pmem *sb_at(const struct wort_region *region,
					  u64 off)
{
	return wort_region_at(region, off);
}

static struct wort_media_words __pmem *words_at(const struct wort_region *region)
{
	return wort_region_at(region, WORT_MEDIA_WORDS_OFF);
}

static const char *name_of(const struct wort_region *region)
{
	return region->name ?: "pool";
}

static u64 seq_of(const struct wort_media_sb *sb)
{
	return le64_to_cpu(sb->seq);
}

static u32 sb_csum(const struct wort_media_sb *sb)
{
	struct wort_media_sb tmp = *sb;

	tmp.csum = 0;
	return crc32c(~0U, &tmp, sizeof(tmp));
}

/* The first block of the catalogue is where an object of its size can be. */
static bool catalogue_valid(const struct wort_media_sb *sb)
{
	const u64 size = sizeof(struct wort_media_catalogue);
	u64 data = le64_to_cpu(sb->data_off);
	u64 off = le64_to_cpu(sb->catalogue_off);
	u64 bytes = le64_to_cpu(sb->nr_extents) << le32_to_cpu(sb->extent_shift);

	/* Its class has slots of just this size, which divides extents. */
	return off >= data && (off - data) % size == 0 && off - data < bytes;
}

/* Numbers fit each other: a checksum makes none trustworthy. */
static bool geometry_valid(const struct wort_media_sb *sb)
{
	u64 table = le64_to_cpu(sb->table_off);
	u64 data = le64_to_cpu(sb->data_off);
	u64 nr = le64_to_cpu(sb->nr_extents);
	u64 size = le64_to_cpu(sb->pool_size);
	u32 shift = le32_to_cpu(sb->extent_shift);

	if (shift < WORT_MEDIA_EXTENT_SHIFT_MIN ||
	    shift > WORT_MEDIA_EXTENT_SHIFT_MAX)
		return false;
	if (size < WORT_MEDIA_POOL_MIN || size > WORT_MEDIA_POOL_MAX ||
	    size % WORT_MEDIA_SB_SPACE)
		return false;
	size = wort_sb_off(sb, WORT_SB_END);
	if (table < WORT_MEDIA_TABLE_OFF || table % 8 || data > size ||
	    data % (1ULL << shift) || data < WORT_MEDIA_TABLE_OFF)
		return false;
	if (!nr || nr > (size - data) >> shift || nr > U32_MAX / 2 ||
	    !catalogue_valid(sb))
		return false;
	if (table < data)
		return nr * 8 <= data - table;
	return table % (1ULL << shift) == 0 && table < data + (nr << shift) &&
	       nr * 8 <= data + (nr << shift) - table;
}

static int verify(const struct wort_region *region,
		  const struct wort_media_sb *sb, u64 off, const char **why)
{
	*why = "superblock changes";
	if (le64_to_cpu(sb->magic) != WORT_MEDIA_MAGIC)
		return -EUCLEAN;
	if (le32_to_cpu(sb->version) != WORT_MEDIA_VERSION)
		return -EPROTONOSUPPORT;
	*why = "superblock checksum";
	if (le32_to_cpu(sb->csum) != sb_csum(sb))
		return -EUCLEAN;
	if (le64_to_cpu(sb->incompat) & ~WORT_INCOMPAT_ALL)
		return -EPROTONOSUPPORT;
	*why = "superblock geometry";
	if (seq_of(sb) >= S64_MAX || le64_to_cpu(sb->self_off) != off ||
	    !geometry_valid(sb))
		return -EUCLEAN;
	return le64_to_cpu(sb->pool_size) > region->size ? -EOVERFLOW : 0;
}

/* What is not read is zeroes. */
static int read_copy(struct wort_op *op, u64 off, struct wort_media_sb *sb,
		     const char **why)
{
	int err = wort_region_verify(op->region, off, sizeof(*sb));

	*why = "superblock outside of the device";
	memset(sb, 0, sizeof(*sb));
	/* Without the magic the rest is not looked at: it may be anything. */
	if (!err)
		err = wort_pm_read(op, &sb->magic,
				   &sb_at(op->region, off)->magic,
				   sizeof(sb->magic));
	if (!err && le64_to_cpu(sb->magic) != WORT_MEDIA_MAGIC)
		return -ENODATA;
	if (!err)
		err = wort_pm_read(op, sb, sb_at(op->region, off), sizeof(*sb));
	return err ? err : verify(op->region, sb, off, why);
}

/* Is it as somebody wrote it, whether we can serve it or not? */
static bool is_whole(const struct wort_media_sb *sb, int err)
{
	return !err || err == -EOVERFLOW ||
	       (err == -EPROTONOSUPPORT &&
		le32_to_cpu(sb->version) == WORT_MEDIA_VERSION);
}

static void report(struct wort_op *op, u32 copy, int err, const char *why)
{
	if (err == -EUCLEAN)
		wort_corrupt(op, wort_sb_off(NULL, copy), "%s", why);
}

/**
 * wort_sb_read() - Read the superblock at an offset
 * @op: The operation.
 * @off: The offset.
 * @sb: Filled in.
 *
 * Context: Any context.
 * Return: As wort_sb_load(); says nothing of what is wrong.
 */
int wort_sb_read(struct wort_op *op, u64 off, struct wort_media_sb *sb)
{
	const char *why;

	return read_copy(op, off, sb, &why);
}

/**
 * wort_sb_load() - Read the superblock in force
 * @op: The operation.
 * @sb: Filled in: a copy, all of its numbers verified.
 * @copy: Which of the copies on media it is.
 *
 * What is in force is not served if it cannot be, though an older copy could.
 *
 * Context: Any context.
 * Return: 0; -ENODATA if there is no pool; -EPROTONOSUPPORT if its version or
 * a feature is unknown; -EOVERFLOW if it is larger than the memory; -EUCLEAN if
 * no copy is valid; -EIO.
 */
int wort_sb_load(struct wort_op *op, struct wort_media_sb *sb, u32 *copy)
{
	struct wort_media_sb other;
	const char *why, *why2;
	int err = read_copy(op, wort_sb_off(NULL, 0), sb, &why);
	int err2 = read_copy(op, wort_sb_off(NULL, 1), &other, &why2);
	bool whole = is_whole(sb, err), whole2 = is_whole(&other, err2);

	*copy = 0;
	if (whole2 ? !whole || seq_of(&other) > seq_of(sb) :
		     !whole && err == -ENODATA) {
		*sb = other;
		*copy = 1;
	}
	if (whole || whole2)
		return *copy ? err2 : err;
	report(op, 0, err, why);
	report(op, 1, err2, why2);
	return err == -ENODATA ? err2 : err;
}

/**
 * wort_sb_refused() - Say why a pool is not served, if that is not damage
 * @region: The memory.
 * @sb: What wort_sb_load() filled in.
 * @err: What it returned.
 *
 * Context: Any context.
 */
void wort_sb_refused(const struct wort_region *region,
		     const struct wort_media_sb *sb, int err)
{
	u32 version = le32_to_cpu(sb->version);

	if (err == -EOVERFLOW)
		pr_err_ratelimited("%s: the pool has %llu bytes, what it lies on %llu: nothing was changed, give a device back what it had\n",
				   name_of(region),
				   (unsigned long long)le64_to_cpu(sb->pool_size),
				   (unsigned long long)region->size);
	else if (err != -EPROTONOSUPPORT)
		return;
	else if (version > WORT_MEDIA_VERSION)
		pr_err_ratelimited("%s: the pool has version %u, this is a module for version %u: take a newer one\n",
				   name_of(region), version, WORT_MEDIA_VERSION);
	else if (version < WORT_MEDIA_VERSION)
		pr_err_ratelimited("%s: the pool has version %u, this is a module for version %u: take its records along with wort dump IMAGE, then wort format and wort load\n",
				   name_of(region), version, WORT_MEDIA_VERSION);
	else
		pr_err_ratelimited("%s: the pool has features %#llx, of which this module knows %#llx: take a newer one\n",
				   name_of(region),
				   (unsigned long long)le64_to_cpu(sb->incompat),
				   WORT_INCOMPAT_ALL);
}

/**
 * wort_sb_write() - Write a copy of the superblock
 * @op: The operation.
 * @sb: The superblock; without its magic the checksum is still that of one
 *	with.
 * @copy: Which copy.
 *
 * Not fenced.
 *
 * Context: Any context.
 */
void wort_sb_write(struct wort_op *op, const struct wort_media_sb *sb, u32 copy)
{
	u64 off = wort_sb_off(sb, copy);
	struct wort_media_sb out = *sb;

	out.self_off = cpu_to_le64(off);
	out.magic = cpu_to_le64(WORT_MEDIA_MAGIC);
	out.csum = cpu_to_le32(sb_csum(&out));
	out.magic = sb->magic;
	wort_pm_write(op, sb_at(op->region, off), &out, sizeof(out));
	wort_pm_flush(op, sb_at(op->region, off), sizeof(out));
}

/* On a page known to be bad, or found so? */
static int copy_bad(struct wort_op *op, const struct wort_media_sb *sb,
		    u32 copy)
{
	struct wort_media_sb found;

	return wort_sb_read(op, wort_sb_off(sb, copy), &found) == -EIO ? -EIO : 0;
}

/**
 * wort_sb_store() - Put a changed superblock in force
 * @op: The operation.
 * @pool: The pool, whose @sb was changed.
 *
 * A copy on a page known to be bad stays as it is.  If all are, the change
 * holds until detach only.
 *
 * Context: Holds wort_pool.lock.
 */
void wort_sb_store(struct wort_op *op, struct wort_pool *pool)
{
	u32 order[WORT_SB_NR] = { pool->sb_copy ^ 1, pool->sb_copy, WORT_SB_END }, i;

	lockdep_assert_held(&pool->lock);
	pool->sb.seq = cpu_to_le64(seq_of(&pool->sb) + 1);
	for (i = 0; i < WORT_SB_NR; i++) {
		if (copy_bad(op, &pool->sb, order[i])) {
			pr_err_ratelimited("%s: superblock at %#llx cannot be updated: its page is bad\n",
					   name_of(op->region), (unsigned long long)
					   wort_sb_off(&pool->sb, order[i]));
			continue;
		}
		wort_sb_write(op, &pool->sb, order[i]);
		wort_pm_fence(op);
	}
}

/**
 * wort_pool_probe() - Is there a pool?
 * @region: The memory.
 * @sb: Filled in if there is one.
 *
 * Context: Any context.
 * Return: As wort_sb_load().
 */
int wort_pool_probe(struct wort_region *region, struct wort_media_sb *sb)
{
	struct wort_op op;
	u32 copy;

	wort_op_begin(&op, region, NULL);
	return wort_sb_load(&op, sb, &copy);
}

/**
 * wort_sb_replace() - Write all copies of a superblock that was not in force
 * @op: The operation.
 * @sb: The superblock; its pool_size says where the end is.
 * @copy: The copy on media that was read.  WORT_SB_END: the first two are lost.
 *
 * That copy is written last, because it may be the only valid one.  Growth
 * needs a copy at the new end before one of the first two refers to that end.
 *
 * Context: May sleep.  Nobody uses the pool.
 * Return: 0; -EIO, upon which nothing was changed, if a copy lies on a page
 * known to be bad.
 */
int wort_sb_replace(struct wort_op *op, struct wort_media_sb *sb, u32 copy)
{
	static const u8 orders[WORT_SB_NR][WORT_SB_NR] = {
		[0] = { WORT_SB_END, 1, 0 },
		[1] = { WORT_SB_END, 0, 1 },
		[WORT_SB_END] = { 0, 1, WORT_SB_END },
	};
	int err = 0;
	u32 i;

	for (i = 0; i < WORT_SB_NR && !err; i++)
		err = copy_bad(op, sb, i);
	if (err)
		return err;
	sb->seq = cpu_to_le64(seq_of(sb) + 1);
	for (i = 0; i < WORT_SB_NR; i++) {
		wort_sb_write(op, sb, orders[copy][i]);
		wort_pm_fence(op);
	}
	return 0;
}

/**
 * wort_sb_destroy() - Make a superblock none
 * @op: The operation.
 * @off: Where it lies.
 *
 * Context: Any context.
 */
void wort_sb_destroy(struct wort_op *op, u64 off)
{
	if (!wort_region_verify(op->region, off, sizeof(struct wort_media_sb)))
		wort_pm_publish(op, &sb_at(op->region, off)->magic, 0);
}

/* Words beside the first copy. */

static int words_bad(struct wort_op *op)
{
	return wort_region_verify(op->region, WORT_MEDIA_WORDS_OFF,
				  sizeof(struct wort_media_words));
}

static int read_words(struct wort_op *op, struct wort_media_words *words)
{
	int err = words_bad(op);

	if (!err)
		err = wort_pm_read(op, words, words_at(op->region),
				   sizeof(*words));
	if (err)
		memset(words, 0, sizeof(*words));
	return err;
}

/**
 * wort_sb_set_generation() - Tell whoever looks later that somebody has stored
 * @op: The operation.
 * @generation: The new one.
 *
 * On a page known to be bad it stays as it was.
 *
 * Context: Any context.  What was there could be read.
 */
void wort_sb_set_generation(struct wort_op *op, u64 generation)
{
	if (!words_bad(op))
		wort_pm_publish(op, &words_at(op->region)->generation,
				generation);
}

/**
 * wort_sb_generation() - Who has stored last?
 * @op: The operation.
 * @generation: Filled in; 0 if it cannot be read.
 *
 * Context: Any context.
 * Return: 0 or -EIO.
 */
int wort_sb_generation(struct wort_op *op, u64 *generation)
{
	struct wort_media_words words;
	int err = read_words(op, &words);

	*generation = le64_to_cpu(words.generation);
	return err;
}

/**
 * wort_sb_set_next_id() - Ids below one are given
 * @op: The operation, about to publish what has the last of them: its fence is
 *	that of the word, too.
 * @pool: The pool.
 * @next_id: The one.
 *
 * On a page known to be bad it is not noted: an id may be used again then.
 *
 * Context: Any context.
 */
void wort_sb_set_next_id(struct wort_op *op, const struct wort_pool *pool,
			 u64 next_id)
{
	__le64 __pmem *word = &words_at(op->region)->next_id;

	if (!pool->generation || words_bad(op))
		return;
	wort_pm_store(op, word, next_id);
	wort_pm_flush(op, word, sizeof(*word));
}

/* What is redundant. */

enum verdict {
	SAME,
	BEHIND,		/* an update was cut short */
	LOST,
	FOREIGN,	/* somebody else has written it */
};

static bool is_same(const struct wort_media_sb *a,
		    const struct wort_media_sb *b)
{
	struct wort_media_sb x = *a, y = *b;

	x.csum = 0;
	y.csum = 0;
	x.self_off = 0;
	y.self_off = 0;
	return !memcmp(&x, &y, sizeof(x));
}

/**
 * wort_sb_unchanged() - Does the media have what this pool stored last?
 * @pool: The pool; no operation on it is under way.
 *
 * Attach for writing and format raise the generation before they store anything but copies
 * of the superblock, and growth puts another superblock in force.  So where both are the
 * same, so are the contents.
 *
 * Context: May sleep.
 * Return: False if somebody else has stored, or if that cannot be known.
 */
bool wort_sb_unchanged(struct wort_pool *pool)
{
	struct wort_media_sb sb;
	struct wort_op op;
	u64 generation;
	bool unchanged;
	u32 copy;

	wort_op_begin(&op, pool->region, NULL);
	unchanged = !wort_sb_load(&op, &sb, &copy) && is_same(&sb, &pool->sb) &&
		    !wort_sb_generation(&op, &generation) &&
		    generation == pool->generation;
	wort_op_end(&op);
	return unchanged;
}

static enum verdict judge(struct wort_op *op, const struct wort_media_sb *sb,
			  u32 copy)
{
	struct wort_media_sb found;
	int err = wort_sb_read(op, wort_sb_off(sb, copy), &found);

	if (!is_whole(&found, err))
		return LOST;
	if (is_same(&found, sb))
		return SAME;
	if (seq_of(&found) > seq_of(sb) ||
	    memcmp(found.uuid, sb->uuid, sizeof(sb->uuid)))
		return FOREIGN;
	return seq_of(&found) + 1 == seq_of(sb) ? BEHIND : LOST;
}

/*
 * Returns false if that is damage.  Whatever is found by attach is ours: the
 * copy in force is the one with the highest number.  On a page known to be bad
 * there is nothing to mend.
 */
static bool mend_copy(struct wort_op *op, struct wort_pool *pool, u32 copy,
		      bool renew, bool attached)
{
	enum verdict verdict = judge(op, &pool->sb, copy);
	bool bad = copy_bad(op, &pool->sb, copy);
	u64 off = wort_sb_off(&pool->sb, copy);

	if (verdict == SAME)
		return true;
	renew = renew && !bad && !(verdict == FOREIGN && attached);
	if (renew) {
		wort_sb_write(op, &pool->sb, copy);
		wort_pm_fence(op);
	}
	if (verdict == BEHIND)
		return true;
	/* What attach cannot mend a check will meet again. */
	pool->nr_lost += attached || renew;
	pr_warn_ratelimited("%s: the copy of the superblock at %#llx is %s%s\n",
			    name_of(op->region), (unsigned long long)off,
			    verdict == FOREIGN ? "of somebody else" : "lost",
			    renew ? ": written anew" : bad ? ": its page is bad" : "");
	return renew || bad;
}

/* The same of the words, of which none may be behind. */
static bool mend_words(struct wort_op *op, struct wort_pool *pool, bool renew)
{
	struct wort_media_words words;
	u64 generation, next_id;
	bool bad = read_words(op, &words), foreign;

	generation = le64_to_cpu(words.generation);
	next_id = le64_to_cpu(words.next_id);
	if (!bad && generation == pool->generation && next_id == pool->next_id)
		return true;
	foreign = generation > pool->generation || next_id > pool->next_id;
	renew = renew && !bad && !foreign;
	if (renew) {
		wort_sb_set_next_id(op, pool, pool->next_id);
		wort_sb_set_generation(op, pool->generation);
	}
	pool->nr_lost++;
	pr_warn_ratelimited("%s: the words at %#x are %s%s\n",
			    name_of(op->region), WORT_MEDIA_WORDS_OFF,
			    foreign ? "of somebody else" : "lost",
			    renew ? ": written anew" : bad ? ": their page is bad" : "");
	return renew || bad;
}

/*
 * At the end of the device, where a growth that was cut short may have left
 * one.
 */
static void drop_stray(struct wort_op *op, const struct wort_media_sb *sb)
{
	u64 off = round_down(op->region->size, (u64)WORT_MEDIA_SB_SPACE) -
		  WORT_MEDIA_SB_SPACE;
	struct wort_media_sb found;

	if (off >= le64_to_cpu(sb->pool_size) &&
	    !wort_sb_read(op, off, &found) &&
	    !memcmp(found.uuid, sb->uuid, sizeof(sb->uuid)))
		wort_sb_destroy(op, off);
}

/**
 * wort_sb_attach() - Look at what is redundant, and begin to store
 * @op: The operation.
 * @pool: The pool, whose catalogue was read.
 *
 * Lost copies are told, and written anew unless the pool is read-only.
 *
 * Context: May sleep.  Nobody else knows the pool.
 */
void wort_sb_attach(struct wort_op *op, struct wort_pool *pool)
{
	struct wort_media_words words;
	bool bad = read_words(op, &words);
	u32 copy;

	for (copy = 0; copy < WORT_SB_NR; copy++)
		mend_copy(op, pool, copy, !pool->readonly, false);
	pool->generation = le64_to_cpu(words.generation);
	if (le64_to_cpu(words.next_id) < S64_MAX)
		pool->next_id = max(pool->next_id, le64_to_cpu(words.next_id));
	if (pool->readonly)
		return;
	drop_stray(op, &pool->sb);
	if (bad)
		return;
	pool->generation++;
	if (le64_to_cpu(words.next_id) != pool->next_id)
		wort_sb_set_next_id(op, pool, pool->next_id);
	wort_sb_set_generation(op, pool->generation);
}

/**
 * wort_sb_check() - Compare what is redundant with what is known
 * @pool: The pool.
 * @arg: Told of what is lost: as damage, unless it was written anew.
 * @renew: Write it anew.
 *
 * What somebody else has written stays.
 *
 * Context: May sleep.  Holds wort_pool.lock; nobody else stores.
 */
void wort_sb_check(struct wort_pool *pool, struct wort_check_arg *arg,
		   bool renew)
{
	u32 nr_lost = pool->nr_lost, copy;
	struct wort_op op;

	lockdep_assert_held(&pool->lock);
	wort_op_begin(&op, pool->region, NULL);
	for (copy = 0; copy < WORT_SB_NR; copy++)
		if (!mend_copy(&op, pool, copy, renew, true) &&
		    !arg->out_nr_damaged++)
			arg->out_damaged_off = wort_sb_off(&pool->sb, copy);
	if (!mend_words(&op, pool, renew) && !arg->out_nr_damaged++)
		arg->out_damaged_off = WORT_MEDIA_WORDS_OFF;
	if (renew && !arg->out_nr_damaged && pool->generation)
		wort_sb_set_generation(&op, ++pool->generation);
	wort_op_end(&op);
	arg->out_nr_lost = pool->nr_lost;
	/* What stays lost the next check will find again. */
	if (!renew)
		pool->nr_lost = nr_lost;
}
