// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools of media versions 2 and 3, to be read only.
 *
 * The layout of these versions is written down here and not included, because
 * <linux/wort_format.h> follows the current version:
 *
 *	4096, 8192	copies of the superblock.  The valid copy with the higher
 *			sequence number is in force.  Version 3 has one word more, and
 *			a third copy at the end, which is not used here.
 *	data_off	objects, to the end of the last extent: catalogue blocks and
 *			entries, nodes, leaves, values
 *
 *	link		63      52 51                            3 2   0
 *			| place   | offset / 8                    | tag |
 *	meta of a leaf	63      31 30  29 28          12 11 10         0
 *			| 0       | kind | value length | 0 | key length |
 *
 * A node has no header: the link to it has the place in the key, in digits of four
 * bits, by which it branches.  Behind its last byte a key has zeroes up to digit 2048,
 * and then its length as four digits.
 *
 * The image is untrusted.  Each object is copied by one read, and verified in the copy.
 * Places grow on each path, so a path is short.  The size of each object read is taken
 * from the size of the pool.  An object has one owner, so this is enough for a sound
 * pool, and reading ends in any other one.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "old_image.h"
#include "text.h"

#define MAGIC		0x4c4f4f5054524f57ULL	/* "WORTPOOL" */
#define SB_OFF		4096
#define SB_SPACE	4096
#define SB_COPIES	2
#define TABLE_OFF	12288
#define SHIFT_MIN	12
#define SHIFT_MAX	20
#define INCOMPAT	1ULL			/* known features: experimental */
#define DAMAGED		1ULL			/* state word */

#define BLOCK_SLOTS	63
#define NAME_MAX_LEN	111
#define ENGINE_WORT	1

#define LINK_TAG	7ULL
#define LINK_NODE	1
#define LINK_LEAF	2
#define LINK_OFF	0x000ffffffffffff8ULL
#define LINK_PLACE	52
#define NODE_SLOTS	16

#define META_KEY	0x7ffULL
#define META_VALUE	12
#define META_VALUE_MASK	0x1ffffULL
#define META_KIND	29
#define META_ALL	0x7ffff7ffULL
#define KIND_WORD	0
#define KIND_INLINE	1
#define KIND_OBJECT	2
#define KEY_MAX		1024
#define WORD_MAX	8
#define VALUE_MAX	65536

#define KEY_DIGITS	(2 * KEY_MAX)
#define PLACES		(KEY_DIGITS + 4)

#define TOLD_MAX	20	/* damaged places, one line each */

struct sb {
	uint64_t magic;
	uint32_t version;
	uint32_t csum;
	uint64_t seq;
	uint64_t compat;
	uint64_t ro_compat;
	uint64_t incompat;
	uint64_t pool_size;
	uint64_t table_off;
	uint64_t data_off;
	uint64_t nr_extents;
	uint64_t catalogue_off;
	uint64_t state;
	uint64_t format_time;
	uint32_t extent_shift;
	uint32_t pad;
	uint8_t uuid[16];
	uint8_t label[64];
	uint64_t self_off;	/* from version 3 on */
};

struct block {
	uint64_t next;
	uint64_t slot[BLOCK_SLOTS];
};

struct entry {
	uint64_t id;
	uint32_t engine;
	uint32_t csum;
	uint64_t attr;
	uint64_t create_time;
	uint64_t state;
	uint64_t pad[3];
	uint64_t root[8];
	uint8_t name_len;
	uint8_t name[NAME_MAX_LEN];
	uint8_t reserved[16];
};

struct leaf {
	uint64_t val;
	uint64_t meta;
};

static_assert(sizeof(struct sb) == 200, "superblock of version 3");
static_assert(offsetof(struct sb, self_off) == 192, "superblock of version 2");
static_assert(sizeof(struct block) == 512, "catalogue block");
static_assert(sizeof(struct entry) == 256, "catalogue entry");

struct old_index {
	uint64_t id;
	uint64_t off;		/* of its entry */
	uint64_t root;
	uint32_t engine;
	bool damaged;
	uint8_t name_len;
	uint8_t name[NAME_MAX_LEN];
};

/**
 * struct old_image - A pool
 * @fd: the file
 * @name: of the file, as messages show it
 * @offset: where the pool begins
 * @begin: first byte of the first extent
 * @end: end of the last extent
 * @left: bytes of objects that may still be read
 * @spent: an object was larger than @left
 * @err: why something was left out since it was 0
 * @told: damaged places that were told
 * @lost: @err of the catalogue
 * @nr: number of @index
 * @index: sorted by id
 */
struct old_image {
	int fd;
	char *name;
	uint64_t offset;
	uint64_t begin;
	uint64_t end;
	uint64_t left;
	bool spent;
	int err;
	unsigned int told;
	int lost;
	size_t nr;
	struct old_index *index;
};

/* A node on the path; @tried: how many of its slots have been entered */
struct level {
	uint64_t slot[NODE_SLOTS];
	uint64_t off;
	unsigned int place;
	unsigned int digit;
	unsigned int tried;
};

struct scan {
	struct old_image *old;
	const struct wort_scan_opts *opts;
	old_record_fn fn;
	void *data;
	uint64_t count;
	size_t last_len;
	unsigned int depth;
	uint8_t last[KEY_MAX];
	uint8_t key[KEY_MAX];
	struct level level[PLACES];
	uint8_t value[VALUE_MAX];
};

/* The caller goes on without what is damaged. */
static int left_out(struct old_image *old, uint64_t off, int err, const char *what)
{
	if (old->told < TOLD_MAX)
		fprintf(stderr, "%s: %s at offset %#llx: %s\n", old->name,
			err == -EIO ? "cannot read" : "damage",
			(unsigned long long)off, what);
	else if (old->told == TOLD_MAX)
		fprintf(stderr, "%s: there is more damage, which is not told\n",
			old->name);
	old->told++;
	if (!old->err)
		old->err = err;
	return err;
}

static int damage(struct old_image *old, uint64_t off, const char *what)
{
	return left_out(old, off, -EUCLEAN, what);
}

static int read_at(struct old_image *old, uint64_t off, void *buf, size_t len)
{
	ssize_t got = pread(old->fd, buf, len, old->offset + off);

	if (got == (ssize_t)len)
		return 0;
	return left_out(old, off, -EIO, got < 0 ? strerror(errno) : "the file ends");
}

/* An object, or a part of one. */
static int read_object(struct old_image *old, uint64_t off, void *buf, size_t len)
{
	if (off % 8 || off < old->begin || off > old->end || len > old->end - off)
		return damage(old, off, "no place of an object");
	if (len > old->left) {
		old->spent = true;
		return damage(old, off, "more objects than the pool has room for");
	}
	old->left -= len;
	return read_at(old, off, buf, len);
}

/* As the kernel's crc32c(~0, ...). */
static uint32_t crc32c(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t crc = ~0U;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static bool geometry_valid(const struct sb *sb)
{
	uint64_t data = le64toh(sb->data_off), size = le64toh(sb->pool_size);
	uint32_t shift = le32toh(sb->extent_shift);

	return shift >= SHIFT_MIN && shift <= SHIFT_MAX && data >= TABLE_OFF &&
	       data <= size && le64toh(sb->nr_extents) <= (size - data) >> shift;
}

/* One copy: 0 if it can be in force. */
static int read_sb(struct old_image *old, uint64_t off, struct sb *sb)
{
	uint32_t version, csum;
	int err = read_at(old, off, sb, sizeof(*sb));

	if (err)
		return err;
	if (le64toh(sb->magic) != MAGIC)
		return -ENODATA;
	version = le32toh(sb->version);
	if (version < OLD_VERSION_MIN || version > OLD_VERSION_MAX)
		return -EPROTONOSUPPORT;
	csum = le32toh(sb->csum);
	sb->csum = 0;
	if (csum != crc32c(sb, version == 2 ? offsetof(struct sb, self_off) :
					      sizeof(*sb)))
		return damage(old, off, "superblock checksum");
	if (le64toh(sb->incompat) & ~INCOMPAT)
		return -EPROTONOSUPPORT;
	if (!geometry_valid(sb))
		return damage(old, off, "superblock geometry");
	return 0;
}

static int load_sb(struct old_image *old, uint64_t size, struct sb *sb)
{
	int err, first = -ENODATA;
	struct sb copy;
	unsigned int i;

	memset(sb, 0, sizeof(*sb));
	for (i = 0; i < SB_COPIES; i++) {
		err = read_sb(old, SB_OFF + i * SB_SPACE, &copy);
		if (!err && (!sb->magic || le64toh(copy.seq) > le64toh(sb->seq)))
			*sb = copy;
		first = first == -ENODATA ? err : first;
	}
	if (!sb->magic)
		return first;
	/* The other copy was damaged, and is not needed. */
	old->err = 0;
	return le64toh(sb->pool_size) > size ? -EOVERFLOW : 0;
}

static int read_entry(struct old_image *old, uint64_t off, struct entry *entry)
{
	struct entry sum;
	int err = read_object(old, off, entry, sizeof(*entry));

	if (err)
		return err;
	sum = *entry;
	sum.csum = 0;
	sum.state = 0;
	memset(sum.root, 0, sizeof(sum.root));
	if (le32toh(entry->csum) != crc32c(&sum, sizeof(sum)))
		return damage(old, off, "catalogue entry checksum");
	if (!entry->name_len || entry->name_len > NAME_MAX_LEN ||
	    memchr(entry->name, 0, entry->name_len))
		return damage(old, off, "name of an index");
	return 0;
}

/* Returns -ENOMEM; an entry that cannot be read is left out. */
static int add_index(struct old_image *old, uint64_t off)
{
	struct old_index *grown, *index;
	struct entry entry;

	if (read_entry(old, off, &entry))
		return 0;
	grown = realloc(old->index, (old->nr + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	old->index = grown;
	index = &grown[old->nr++];
	*index = (struct old_index) {
		.id = le64toh(entry.id),
		.off = off,
		.root = le64toh(entry.root[0]),
		.engine = le32toh(entry.engine),
		.damaged = le64toh(entry.state) & DAMAGED,
		.name_len = entry.name_len,
	};
	memcpy(index->name, entry.name, sizeof(index->name));
	return 0;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct old_index *)a)->id;
	uint64_t y = ((const struct old_index *)b)->id;

	return x < y ? -1 : x > y;
}

static int load_catalogue(struct old_image *old, uint64_t off)
{
	struct block block;
	unsigned int i;
	int err = 0;

	old->left = old->end - old->begin;
	while (off && !err && !read_object(old, off, &block, sizeof(block))) {
		for (i = 0; i < BLOCK_SLOTS && !err; i++)
			if (block.slot[i])
				err = add_index(old, le64toh(block.slot[i]));
		off = le64toh(block.next);
	}
	if (old->nr)
		qsort(old->index, old->nr, sizeof(*old->index), by_id);
	old->lost = old->err;
	return err;
}

static int load(struct old_image *old, const char *path)
{
	struct stat st;
	uint64_t size;
	struct sb sb;
	int err;

	if (stat(path, &st))
		return -errno;
	/* A device in use by others would change during the scan. */
	old->fd = open(path, O_RDONLY | O_CLOEXEC |
		       (S_ISBLK(st.st_mode) ? O_EXCL : 0));
	if (old->fd < 0)
		return -errno;
	size = st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(old->fd, BLKGETSIZE64, &size))
		return -errno;
	if (size < old->offset)
		return -ENODATA;
	err = load_sb(old, size - old->offset, &sb);
	if (err)
		return err;
	old->begin = le64toh(sb.data_off);
	old->end = old->begin + (le64toh(sb.nr_extents) << le32toh(sb.extent_shift));
	return load_catalogue(old, le64toh(sb.catalogue_off));
}

int old_image_open(const char *path, uint64_t offset, struct old_image **out)
{
	struct old_image *old = calloc(1, sizeof(*old));
	int err = -ENOMEM;

	if (!old)
		return err;
	old->fd = -1;
	old->offset = offset;
	old->name = text_shown(path);
	if (old->name)
		err = load(old, path);
	if (err)
		old_image_close(old);
	else
		*out = old;
	return err;
}

void old_image_close(struct old_image *old)
{
	if (!old)
		return;
	if (old->fd >= 0)
		close(old->fd);
	free(old->index);
	free(old->name);
	free(old);
}

static uint32_t state_of(const struct old_index *index)
{
	return (index->damaged ? WORT_STATE_DAMAGED : 0) |
	       (index->engine == ENGINE_WORT ? 0 : WORT_STATE_UNKNOWN);
}

int old_image_list(const struct old_image *old, uint64_t after,
		   struct wort_index_record *records, unsigned int max,
		   bool *more)
{
	const struct old_index *index = old->index;
	unsigned int n = 0;

	for (; index < old->index + old->nr && n < max; index++) {
		if (index->id <= after)
			continue;
		records[n] = (struct wort_index_record) {
			.id = index->id,
			.engine = index->engine,
			.state = state_of(index),
			.name_len = index->name_len,
		};
		memcpy(records[n++].name, index->name, index->name_len);
	}
	*more = index < old->index + old->nr;
	return n;
}

int old_image_index(struct old_image *old, const char *name,
		    const struct old_index **out)
{
	size_t i, len = strlen(name);

	for (i = 0; i < old->nr; i++) {
		if (old->index[i].name_len != len ||
		    memcmp(old->index[i].name, name, len))
			continue;
		*out = &old->index[i];
		return old->index[i].engine == ENGINE_WORT ? 0 : -EOPNOTSUPP;
	}
	return old->lost ? old->lost : -ENOENT;
}

static unsigned int digit_at(const uint8_t *key, size_t len, unsigned int place)
{
	if (place >= KEY_DIGITS)
		return len >> 4 * (PLACES - 1 - place) & 15;
	if (place / 2 >= len)
		return 0;
	return place % 2 ? key[place / 2] & 15 : key[place / 2] >> 4;
}

static bool on_path(const struct scan *scan, size_t len)
{
	unsigned int i;

	for (i = 0; i < scan->depth; i++)
		if (digit_at(scan->key, len, scan->level[i].place) !=
		    scan->level[i].digit)
			return false;
	return true;
}

static int compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int cmp = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return cmp ? cmp : (a_len > b_len) - (a_len < b_len);
}

/* Is the key among those that the caller wants? */
static bool selected(const struct scan *scan, size_t len)
{
	const struct wort_scan_opts *opts = scan->opts;
	int sign = opts->flags & WORT_SCAN_F_REVERSE ? -1 : 1, cmp;

	if (opts->start_len) {
		cmp = sign * compare(scan->key, len, opts->start, opts->start_len);
		if (cmp < 0 || (!cmp && opts->flags & WORT_SCAN_F_AFTER))
			return false;
	}
	if (!opts->bound_len)
		return true;
	if (opts->flags & WORT_SCAN_F_PREFIX)
		return len >= opts->bound_len &&
		       !memcmp(scan->key, opts->bound, opts->bound_len);
	return sign * compare(scan->key, len, opts->bound, opts->bound_len) < 0;
}

static bool meta_valid(uint64_t meta, size_t key_len, size_t value_len)
{
	unsigned int kind = meta >> META_KIND;

	return !(meta & ~META_ALL) && key_len && key_len <= KEY_MAX &&
	       value_len <= VALUE_MAX && kind <= KIND_OBJECT &&
	       (kind == KIND_WORD) == (value_len <= WORD_MAX);
}

static int read_value(struct scan *scan, uint64_t off, const struct leaf *leaf,
		      size_t key_len, size_t len)
{
	switch (le64toh(leaf->meta) >> META_KIND) {
	case KIND_WORD:
		memcpy(scan->value, &leaf->val, len);
		return 0;
	case KIND_INLINE:
		off += (sizeof(*leaf) + key_len + 7) & ~7ULL;
		return read_object(scan->old, off, scan->value, len);
	default:
		return read_object(scan->old, le64toh(leaf->val), scan->value, len);
	}
}

/* A key out of order is told; the record may be good, and one before it bad. */
static void check_order(struct scan *scan, uint64_t off, size_t len)
{
	int cmp = compare(scan->last, scan->last_len, scan->key, len);

	if (scan->last_len &&
	    (scan->opts->flags & WORT_SCAN_F_REVERSE ? cmp <= 0 : cmp >= 0))
		damage(scan->old, off, "key out of order");
	memcpy(scan->last, scan->key, len);
	scan->last_len = len;
}

/* Non-zero only if the caller's function says so. */
static int visit_leaf(struct scan *scan, uint64_t off)
{
	struct wort_scan_item item = { .key = scan->key };
	struct leaf leaf;
	uint64_t meta;

	if (read_object(scan->old, off, &leaf, sizeof(leaf)))
		return 0;
	meta = le64toh(leaf.meta);
	item.key_len = meta & META_KEY;
	item.value_len = meta >> META_VALUE & META_VALUE_MASK;
	if (!meta_valid(meta, item.key_len, item.value_len)) {
		damage(scan->old, off, "record");
		return 0;
	}
	if (read_object(scan->old, off + sizeof(leaf), scan->key, item.key_len))
		return 0;
	if (!on_path(scan, item.key_len)) {
		damage(scan->old, off, "record of another place");
		return 0;
	}
	check_order(scan, off, item.key_len);
	if (!selected(scan, item.key_len))
		return 0;
	if (!(scan->opts->flags & WORT_SCAN_F_KEYS)) {
		if (read_value(scan, off, &leaf, item.key_len, item.value_len))
			return 0;
		item.value = scan->value;
	}
	scan->count++;
	return scan->fn(&item, scan->data);
}

static void enter_node(struct scan *scan, uint64_t off, unsigned int place)
{
	struct level *level = &scan->level[scan->depth];
	unsigned int i, used = 0;

	if (place >= PLACES || (scan->depth && place <= level[-1].place)) {
		damage(scan->old, off, "place of a node");
		return;
	}
	if (read_object(scan->old, off, level->slot, sizeof(level->slot)))
		return;
	for (i = 0; i < NODE_SLOTS; i++)
		used += !!level->slot[i];
	if (used < 2)
		damage(scan->old, off, "node with less than two children");
	level->off = off;
	level->place = place;
	level->tried = 0;
	scan->depth++;
}

/* @at: where the link is */
static int follow(struct scan *scan, uint64_t at, uint64_t link)
{
	unsigned int place = link >> LINK_PLACE;
	uint64_t off = link & LINK_OFF;

	if ((link & LINK_TAG) == LINK_LEAF && !place)
		return visit_leaf(scan, off);
	if ((link & LINK_TAG) == LINK_NODE)
		enter_node(scan, off, place);
	else
		damage(scan->old, at, "link");
	return 0;
}

/* The next slot of the last node on the path. */
static int step(struct scan *scan)
{
	struct level *level = &scan->level[scan->depth - 1];
	uint64_t link;

	if (level->tried == NODE_SLOTS) {
		scan->depth--;
		return 0;
	}
	level->digit = scan->opts->flags & WORT_SCAN_F_REVERSE ?
		       NODE_SLOTS - 1 - level->tried : level->tried;
	level->tried++;
	link = le64toh(level->slot[level->digit]);
	return link ? follow(scan, level->off + 8 * level->digit, link) : 0;
}

int old_image_scan(struct old_image *old, const struct old_index *index,
		   const struct wort_scan_opts *opts, old_record_fn fn,
		   void *data)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	uint64_t max = opts->max_count ? opts->max_count : UINT64_MAX;
	int err = 0;

	if (!scan)
		return -ENOMEM;
	scan->old = old;
	scan->opts = opts;
	scan->fn = fn;
	scan->data = data;
	old->err = 0;
	old->spent = false;
	old->left = old->end - old->begin;
	if (index->root)
		err = follow(scan, index->off + offsetof(struct entry, root),
			     index->root);
	while (!err && scan->depth && scan->count < max && !old->spent)
		err = step(scan);
	free(scan);
	return err ? err : old->err;
}
