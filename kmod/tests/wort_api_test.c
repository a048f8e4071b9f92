// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contract of the interface for other kernel code, in the contexts that it
 * allows.  Loading fails if anything is not as it should be; the log says what.
 * Makes two indexes in the pool, and destroys them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <linux/wort_engines.h>
#include <linux/wort_kernel.h>

#define NAME		"api-test"
#define OTHER		"api-test-2"
#define NR_RECORDS	2000
#define BUF_SIZE	4096

static char *pool = "0";
module_param(pool, charp, 0444);
MODULE_PARM_DESC(pool, "number, block device or UUID of the attached pool");

static int nr_wrong;
static u8 long_bytes[WORT_VALUE_MAX + 1];
static u8 buf[BUF_SIZE] __aligned(8);

#define EXPECT(expected, seen) do {					\
	long long _want = (expected), _got = (seen);			\
									\
	if (_want != _got) {						\
		nr_wrong++;						\
		pr_err("line %d: %s is %lld, not %lld\n", __LINE__,	\
		       #seen, _got, _want);				\
	}								\
} while (0)

static struct wort_kernel_bytes text(const char *bytes)
{
	return (struct wort_kernel_bytes){ bytes, strlen(bytes) };
}

static int insert(struct wort_kernel_index *index, const char *key,
		  const char *value, const char *expect, u32 flags)
{
	struct wort_kernel_bytes k = text(key), v = text(value), e;

	if (expect)
		e = text(expect);
	return wort_kernel_insert(index, &k, &v, expect ? &e : NULL, flags);
}

static int lookup(struct wort_kernel_index *index, const char *key, u32 size)
{
	struct wort_kernel_bytes k = text(key);

	return wort_kernel_lookup(index, &k, buf, size);
}

static int delete(struct wort_kernel_index *index, const char *key,
		  const char *expect)
{
	struct wort_kernel_bytes k = text(key), e;

	if (expect)
		e = text(expect);
	return wort_kernel_delete(index, &k, expect ? &e : NULL);
}

/* The errno; what was opened is closed. */
static int reopen(struct wort_kernel_pool *p, const char *name, u32 flags,
		  u32 engine)
{
	struct wort_kernel_index *index;

	index = wort_kernel_index_open(p, name, flags, engine, 0);
	if (IS_ERR(index))
		return PTR_ERR(index);
	wort_kernel_index_close(index);
	return 0;
}

struct attr {
	const char *name;
	u64 min;
	u64 max;
	u64 def;
	u32 unit;
};

#define ATTR(name_, shift, bits, unit_, min_, max_, def_, values)	\
	{ .name = name_, .min = min_, .max = max_, .def = def_, .unit = unit_ },
#define ENGINE(symbol, name, id_, traits)				\
	{ .id = id_, .attrs = { WORT_ATTRS_##symbol(ATTR) } },

/* The engines; the first is the default.  An attribute without a name is the end. */
static const struct engine {
	u32 id;
	struct attr attrs[WORT_ATTRS_MAX + 1];
} engines[] = {
	WORT_ENGINES(ENGINE)
};

static void test_open(struct wort_kernel_pool *p)
{
	const u32 create = WORT_INDEX_OPEN_F_CREATE;
	const u32 excl = WORT_INDEX_OPEN_F_EXCL;

	EXPECT(-ENOENT, PTR_ERR_OR_ZERO(wort_kernel_pool_open("nosuch")));
	EXPECT(-ENOENT, reopen(p, NAME, 0, 0));
	EXPECT(-EINVAL, reopen(p, NAME, excl, 0));
	EXPECT(-EOPNOTSUPP, reopen(p, NAME, WORT_INDEX_OPEN_F_RDONLY, 0));
	EXPECT(-EINVAL, reopen(p, "", create, 0));
	EXPECT(-EOPNOTSUPP, reopen(p, NAME, create, 99));
	EXPECT(0, reopen(p, NAME, create | excl, 0));
	EXPECT(-EEXIST, reopen(p, NAME, create | excl, 0));
	EXPECT(0, reopen(p, NAME, create, engines[0].id));
	EXPECT(0, reopen(p, NAME, WORT_INDEX_OPEN_F_RELAXED, 0));
	EXPECT(-EINVAL, reopen(p, NAME, 0, 99));
}

/* An index that is made with an attribute has that one, and is opened without it. */
static void test_made_with(struct wort_kernel_pool *p, u32 engine, u64 attr)
{
	const u32 create = WORT_INDEX_OPEN_F_CREATE;
	struct wort_kernel_index *index;
	struct wort_index_info_arg info;

	index = wort_kernel_index_open(p, OTHER, create, engine, attr);
	EXPECT(0, PTR_ERR_OR_ZERO(index));
	if (IS_ERR(index))
		return;
	EXPECT(0, wort_kernel_index_info(index, &info));
	EXPECT(attr, info.out_attr);
	EXPECT(0, reopen(p, OTHER, 0, engine));
	wort_kernel_index_close(index);
	index = wort_kernel_index_open(p, OTHER, 0, engine, attr << 1);
	EXPECT(-EINVAL, PTR_ERR_OR_ZERO(index));
	EXPECT(0, wort_kernel_index_destroy(p, OTHER));
}

static void test_attr(struct wort_kernel_pool *p, u32 engine,
		      const struct attr *attr)
{
	const char *name = attr->name;
	u64 word = 0;

	EXPECT(-ERANGE, wort_kernel_attr_set(engine, name, attr->min - 1, &word));
	EXPECT(-ERANGE, wort_kernel_attr_set(engine, name, attr->max + attr->unit,
					     &word));
	if (attr->unit > 1)
		EXPECT(-ERANGE, wort_kernel_attr_set(engine, name,
						     attr->min + 1, &word));
	EXPECT(0, word);
	EXPECT(0, wort_kernel_attr_set(engine, name, attr->max, &word));
	EXPECT(0, wort_kernel_attr_set(engine, name, attr->def, &word));
	EXPECT(0, word);
	EXPECT(0, wort_kernel_attr_set(engine, name, attr->min, &word));
	EXPECT(1, word != 0);
	test_made_with(p, engine, word);
}

static void test_attrs(struct wort_kernel_pool *p)
{
	const struct attr *attr;
	u64 word = 0;
	size_t i;

	EXPECT(-EOPNOTSUPP, wort_kernel_attr_set(99, "nosuch", 1, &word));
	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		EXPECT(-ENOENT, wort_kernel_attr_set(engines[i].id, "nosuch", 1,
						     &word));
		for (attr = engines[i].attrs; attr->name; attr++)
			test_attr(p, engines[i].id, attr);
	}
}

/* What a value takes is used; nothing else is under way. */
static void test_space(struct wort_kernel_pool *p,
		       struct wort_kernel_index *index)
{
	struct wort_kernel_bytes key = text("large");
	struct wort_kernel_bytes value = { long_bytes, WORT_VALUE_MAX };
	struct wort_kernel_space before, after;

	EXPECT(0, wort_kernel_pool_space(p, &before));
	while (before.freeing) {	/* or unknown as yet */
		msleep(20);
		EXPECT(0, wort_kernel_pool_space(p, &before));
	}
	EXPECT(0, wort_kernel_insert(index, &key, &value, NULL, 0));
	EXPECT(0, wort_kernel_pool_space(p, &after));
	EXPECT(1, after.used >= before.used + WORT_VALUE_MAX);
	EXPECT(1, after.used + after.free <= after.size);
	EXPECT(1, after.freeing <= after.used);
	EXPECT(before.size, after.size);
	EXPECT(0, delete(index, "large", NULL));
}

/* One opening excludes all others; the next one finds the index free. */
static void test_own(struct wort_kernel_pool *p)
{
	const u32 own = WORT_KERNEL_OPEN_F_OWN;
	struct wort_kernel_index *owner, *guest;

	owner = wort_kernel_index_open(p, NAME, own, 0, 0);
	EXPECT(0, PTR_ERR_OR_ZERO(owner));
	if (IS_ERR(owner))
		return;
	EXPECT(-EBUSY, reopen(p, NAME, 0, 0));
	EXPECT(-EBUSY, reopen(p, NAME, own, 0));
	EXPECT(-EBUSY, wort_kernel_index_destroy(p, NAME));
	EXPECT(-EBUSY, wort_kernel_index_rename(p, NAME, OTHER));
	wort_kernel_index_close(owner);
	guest = wort_kernel_index_open(p, NAME, 0, 0, 0);
	EXPECT(0, PTR_ERR_OR_ZERO(guest));
	if (IS_ERR(guest))
		return;
	EXPECT(-EBUSY, reopen(p, NAME, own, 0));
	EXPECT(0, reopen(p, NAME, 0, 0));
	wort_kernel_index_close(guest);
	EXPECT(0, reopen(p, NAME, own, 0));
	EXPECT(0, reopen(p, NAME, 0, 0));
}

static void test_insert(struct wort_kernel_index *index)
{
	const u32 create = WORT_INSERT_F_CREATE;
	const u32 replace = WORT_INSERT_F_REPLACE;
	struct wort_kernel_bytes none = { }, one = { "x", 1 };
	struct wort_kernel_bytes key = { long_bytes, WORT_KEY_MAX + 1 };
	struct wort_kernel_bytes value = { long_bytes, WORT_VALUE_MAX + 1 };

	EXPECT(-ENOENT, insert(index, "key", "first", NULL, replace));
	EXPECT(-ENOENT, insert(index, "key", "first", "", 0));
	EXPECT(0, insert(index, "key", "first", NULL, create));
	EXPECT(-EEXIST, insert(index, "key", "second", NULL, create));
	EXPECT(0, insert(index, "key", "second", NULL, replace));
	EXPECT(-ECANCELED, insert(index, "key", "third", "first", 0));
	EXPECT(0, insert(index, "key", "third", "second", replace));
	EXPECT(-EINVAL, insert(index, "key", "", NULL, create | replace));
	EXPECT(-EINVAL, insert(index, "key", "", "third", create));
	EXPECT(-EOPNOTSUPP, insert(index, "key", "", NULL, 4));
	EXPECT(-EINVAL, wort_kernel_insert(index, &none, &one, NULL, 0));
	EXPECT(-EMSGSIZE, wort_kernel_insert(index, &key, &one, NULL, 0));
	EXPECT(-EMSGSIZE, wort_kernel_insert(index, &one, &value, NULL, 0));
	EXPECT(5, lookup(index, "key", BUF_SIZE));
	EXPECT(0, memcmp(buf, "third", 5));
}

static void test_lookup_delete(struct wort_kernel_index *index)
{
	struct wort_kernel_bytes none = { };

	EXPECT(5, lookup(index, "key", 5));
	EXPECT(5, lookup(index, "key", 0));
	EXPECT(-ERANGE, lookup(index, "key", 4));
	EXPECT(-ENOENT, lookup(index, "nosuch", 5));
	EXPECT(-EINVAL, wort_kernel_lookup(index, &none, buf, 5));
	EXPECT(0, insert(index, "empty", "", NULL, 0));
	EXPECT(0, lookup(index, "empty", 5));
	EXPECT(-ECANCELED, delete(index, "key", "first"));
	EXPECT(5, lookup(index, "key", 5));
	EXPECT(0, delete(index, "key", "third"));
	EXPECT(-ENOENT, delete(index, "key", NULL));
	EXPECT(0, delete(index, "empty", ""));
}

static struct wort_kernel_old old_in_buf(u32 size)
{
	return (struct wort_kernel_old){ .data = buf, .size = size };
}

static void test_fetch(struct wort_kernel_index *index)
{
	const u32 create = WORT_INSERT_F_CREATE;
	struct wort_kernel_bytes key = text("key"), first = text("first");
	struct wort_kernel_bytes second = text("second");
	struct wort_kernel_old old = old_in_buf(BUF_SIZE);

	EXPECT(0, wort_kernel_insert_fetch(index, &key, &first, NULL, 0, &old));
	EXPECT(WORT_NO_VALUE, old.len);
	EXPECT(-EEXIST, wort_kernel_insert_fetch(index, &key, &second, NULL,
						 create, &old));
	EXPECT(5, old.len);
	EXPECT(0, memcmp(buf, "first", 5));
	old.size = 4;
	EXPECT(-ERANGE, wort_kernel_insert_fetch(index, &key, &second, NULL, 0,
						 &old));
	EXPECT(5, old.len);
	old.size = 5;
	EXPECT(-ECANCELED, wort_kernel_insert_fetch(index, &key, &second,
						    &second, 0, &old));
	EXPECT(0, wort_kernel_insert_fetch(index, &key, &second, &first, 0,
					   &old));
	EXPECT(5, old.len);
	EXPECT(-ERANGE, wort_kernel_delete_fetch(index, &key, NULL, &old));
	EXPECT(6, old.len);
	old.size = BUF_SIZE;
	EXPECT(-ECANCELED, wort_kernel_delete_fetch(index, &key, &first, &old));
	EXPECT(0, wort_kernel_delete_fetch(index, &key, NULL, &old));
	EXPECT(6, old.len);
	EXPECT(0, memcmp(buf, "second", 6));
	EXPECT(-ENOENT, wort_kernel_delete_fetch(index, &key, NULL, &old));
	EXPECT(WORT_NO_VALUE, old.len);
}

static struct wort_kernel_op batch_op(u16 op, u16 flags, const char *key,
				      const char *value)
{
	return (struct wort_kernel_op){
		.op = op, .flags = flags, .key = text(key),
		.value = text(value),
	};
}

/* Each operation by itself: what it answers, and that those after it see it. */
static void test_batch_answers(struct wort_kernel_index *index)
{
	const u16 insert = WORT_BATCH_INSERT, delete = WORT_BATCH_DELETE;
	struct wort_kernel_op ops[] = {
		batch_op(insert, WORT_INSERT_F_CREATE, "b1", "one"),
		batch_op(insert, WORT_INSERT_F_CREATE, "b1", "two"),
		batch_op(WORT_BATCH_LOOKUP, 0, "b1", ""),
		batch_op(WORT_BATCH_CAS, WORT_F_FETCH, "b1", "three"),
		batch_op(delete, WORT_DELETE_F_EXPECT, "b1", ""),
		batch_op(delete, 0, "b2", ""),
		batch_op(99, 0, "b1", ""),
		batch_op(insert, 0, "", "value"),
		batch_op(delete, WORT_F_FETCH, "b1", ""),
	};
	static const int errs[] = {
		0, -EEXIST, 0, 0, -ECANCELED, -ENOENT, -EOPNOTSUPP, -EINVAL, 0,
	};
	int i;

	ops[2].old = old_in_buf(8);
	ops[3].expect = text("one");
	ops[3].old = (struct wort_kernel_old){ .data = buf + 8, .size = 8 };
	ops[4].expect = text("one");
	ops[8].old = (struct wort_kernel_old){ .data = buf + 16, .size = 8 };
	EXPECT(ARRAY_SIZE(ops), wort_kernel_batch(index, ops, ARRAY_SIZE(ops),
						  0));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		EXPECT(errs[i], ops[i].err);
	EXPECT(3, ops[2].old.len);
	EXPECT(3, ops[3].old.len);
	EXPECT(5, ops[8].old.len);
	EXPECT(0, memcmp(buf, "one", 3));
	EXPECT(0, memcmp(buf + 8, "one", 3));
	EXPECT(0, memcmp(buf + 16, "three", 5));
	EXPECT(WORT_NO_VALUE, ops[5].old.len);
}

#define NR_BATCHED	1000

static void test_batch(struct wort_kernel_index *index)
{
	struct wort_kernel_op *ops = kcalloc(NR_BATCHED, sizeof(*ops),
					     GFP_NOIO);
	char (*keys)[16] = kcalloc(NR_BATCHED, sizeof(*keys), GFP_NOIO);
	int i, failed = 0;

	test_batch_answers(index);
	EXPECT(1, ops && keys);
	for (i = 0; ops && keys && i < NR_BATCHED; i++) {
		snprintf(keys[i], sizeof(keys[i]), "b%05d", i);
		ops[i] = batch_op(WORT_BATCH_INSERT, WORT_INSERT_F_CREATE,
				  keys[i], "v");
	}
	if (!ops || !keys)
		goto out;
	EXPECT(NR_BATCHED, wort_kernel_batch(index, ops, NR_BATCHED, 0));
	for (i = 0; i < NR_BATCHED; i++)
		failed += ops[i].err || lookup(index, keys[i], 1) != 1;
	EXPECT(0, failed);
	/* the first fails, and those after it are not carried out */
	EXPECT(1, wort_kernel_batch(index, ops, NR_BATCHED,
				    WORT_BATCH_F_STOP));
	EXPECT(-EEXIST, ops[0].err);
	EXPECT(0, ops[1].err);
	for (i = 0; i < NR_BATCHED; i++)
		ops[i] = batch_op(WORT_BATCH_DELETE, 0, keys[i], "");
	EXPECT(NR_BATCHED, wort_kernel_batch(index, ops, NR_BATCHED, 0));
	for (i = 0; i < NR_BATCHED; i++)
		failed += !!ops[i].err;
	EXPECT(0, failed);
	EXPECT(0, wort_kernel_batch(index, ops, 0, 0));
	EXPECT(-EMSGSIZE, wort_kernel_batch(index, ops, WORT_BATCH_MAX + 1, 0));
	EXPECT(-EOPNOTSUPP, wort_kernel_batch(index, ops, 1, 2));
out:
	kfree(keys);
	kfree(ops);
}

static struct wort_kernel_atomic_op atomic_op(struct wort_kernel_index *index,
					      u16 op, u16 flags,
					      const char *key,
					      const char *value)
{
	return (struct wort_kernel_atomic_op){
		.index = index, .op = batch_op(op, flags, key, value),
	};
}

/* A rename, and what a reader of the same batch sees before and after it. */
static void test_atomic_rename(struct wort_kernel_index *index,
			       struct wort_kernel_index *other)
{
	struct wort_kernel_atomic_op ops[] = {
		atomic_op(index, WORT_BATCH_LOOKUP, 0, "old", ""),
		atomic_op(index, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, "old",
			  ""),
		atomic_op(other, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "new",
			  ""),
		atomic_op(other, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "new",
			  "v"),
		atomic_op(index, WORT_BATCH_LOOKUP, 0, "old", ""),
		atomic_op(other, WORT_BATCH_LOOKUP, 0, "new", ""),
	};
	u32 refused;

	ops[0].op.old = old_in_buf(8);
	ops[1].op.expect = text("v");
	ops[5].op.old = (struct wort_kernel_old){ .data = buf + 8, .size = 8 };
	EXPECT(-ENOENT, wort_kernel_atomic(ops, ARRAY_SIZE(ops), &refused));
	EXPECT(1, refused);
	EXPECT(0, insert(index, "old", "other", NULL, 0));
	EXPECT(-ECANCELED, wort_kernel_atomic(ops, ARRAY_SIZE(ops), &refused));
	EXPECT(1, refused);
	EXPECT(0, insert(index, "old", "v", NULL, 0));
	EXPECT(0, wort_kernel_atomic(ops, ARRAY_SIZE(ops), &refused));
	EXPECT(WORT_NO_VALUE, refused);
	EXPECT(0, ops[0].op.err);
	EXPECT(1, ops[0].op.old.len);
	EXPECT(-ENOENT, ops[4].op.err);
	EXPECT(0, ops[5].op.err);
	EXPECT('v', buf[8]);
	EXPECT(-ENOENT, lookup(index, "old", 1));
	EXPECT(1, lookup(other, "new", 1));
	EXPECT(0, insert(index, "old", "v", NULL, 0));
	EXPECT(-EEXIST, wort_kernel_atomic(ops, ARRAY_SIZE(ops), &refused));
	EXPECT(2, refused);
	EXPECT(1, lookup(index, "old", 1));
	EXPECT(0, delete(index, "old", NULL));
	EXPECT(0, delete(other, "new", NULL));
}

static void test_atomic_invalid(struct wort_kernel_index *index)
{
	struct wort_kernel_atomic_op ops[] = {
		atomic_op(index, WORT_BATCH_INSERT, 0, "a1", "v"),
		atomic_op(index, 99, 0, "a2", ""),
	};
	u32 refused;

	EXPECT(-EOPNOTSUPP, wort_kernel_atomic(ops, 2, &refused));
	EXPECT(1, refused);
	ops[1] = atomic_op(index, WORT_BATCH_INSERT, 0, "", "v");
	EXPECT(-EINVAL, wort_kernel_atomic(ops, 2, &refused));
	EXPECT(1, refused);
	ops[1] = atomic_op(index, WORT_BATCH_INSERT, WORT_F_FETCH, "a1",
			   "long");
	EXPECT(-ERANGE, wort_kernel_atomic(ops, 2, &refused));
	EXPECT(1, refused);
	EXPECT(-ENOENT, lookup(index, "a1", 1));
	EXPECT(-EMSGSIZE, wort_kernel_atomic(ops, WORT_ATOMIC_MAX + 1, NULL));
	EXPECT(0, wort_kernel_atomic(ops, 0, &refused));
	EXPECT(WORT_NO_VALUE, refused);
	EXPECT(0, wort_kernel_atomic(ops, 1, NULL));
	EXPECT(0, delete(index, "a1", NULL));
}

/*
 * As many operations as a batch takes, and values that fill its list and more.
 */
static void test_atomic_limits(struct wort_kernel_index *index)
{
	struct wort_kernel_bytes value = { long_bytes, WORT_VALUE_MAX };
	struct wort_kernel_atomic_op *ops;
	char (*keys)[16];
	int i;

	ops = kcalloc(WORT_ATOMIC_MAX, sizeof(*ops), GFP_NOIO);
	keys = kcalloc(WORT_ATOMIC_MAX, sizeof(*keys), GFP_NOIO);
	EXPECT(1, ops && keys);
	if (!ops || !keys)
		goto out;
	for (i = 0; i < WORT_ATOMIC_MAX; i++) {
		snprintf(keys[i], sizeof(keys[i]), "a%05d", i);
		ops[i] = atomic_op(index, WORT_BATCH_INSERT, 0, keys[i], "v");
	}
	EXPECT(0, wort_kernel_atomic(ops, WORT_ATOMIC_MAX, NULL));
	for (i = 0; i < WORT_ATOMIC_MAX; i++)
		ops[i] = atomic_op(index, WORT_BATCH_DELETE, 0, keys[i], "");
	EXPECT(0, wort_kernel_atomic(ops, WORT_ATOMIC_MAX, NULL));
	for (i = 0; i < 4; i++) {
		ops[i] = atomic_op(index, WORT_BATCH_INSERT, 0, keys[i], "");
		ops[i].op.value = value;
	}
	EXPECT(-EMSGSIZE, wort_kernel_atomic(ops, 4, NULL));
out:
	kfree(keys);
	kfree(ops);
}

static void test_atomic(struct wort_kernel_index *index,
			struct wort_kernel_index *other)
{
	test_atomic_rename(index, index);
	test_atomic_rename(index, other);
	test_atomic_invalid(index);
	test_atomic_limits(index);
}

static void number_key(char *key, int i)
{
	snprintf(key, 16, "n%05d", i);
}

/* Each of the numbers once, in order, however many fit into a buffer. */
static void scan_numbers(struct wort_kernel_index *index, u32 flags,
			 u32 buf_len)
{
	struct wort_kernel_scan scan = {
		.flags = flags | WORT_SCAN_F_PREFIX,
		.bound = { "n", 1 },
		.buf = buf,
		.buf_len = buf_len,
	};
	bool reverse = flags & WORT_SCAN_F_REVERSE;
	const struct wort_record *rec;
	int n = 0, wrong = 0, err;
	char key[16];

	do {
		err = wort_kernel_scan(index, &scan);
		wort_kernel_for_each_record(rec, &scan) {
			number_key(key, reverse ? NR_RECORDS - 1 - n : n);
			wrong += rec->key_len != 6 ||
				 memcmp(wort_kernel_record_key(rec), key, 6) ||
				 *(u8 *)wort_kernel_record_value(rec) != 'v';
			n++;
		}
	} while (!err && scan.more && n <= NR_RECORDS);
	EXPECT(0, err);
	EXPECT(0, wrong);
	EXPECT(NR_RECORDS, n);
}

static void test_scan(struct wort_kernel_index *index)
{
	struct wort_kernel_scan scan = { .buf = buf, .buf_len = 16 };

	scan_numbers(index, 0, 32);
	scan_numbers(index, 0, BUF_SIZE);
	scan_numbers(index, WORT_SCAN_F_REVERSE, 100);
	EXPECT(-ERANGE, wort_kernel_scan(index, &scan));
	EXPECT(24, scan.need);
	EXPECT(0, scan.more);
	scan.buf_len = BUF_SIZE;
	scan.flags = WORT_SCAN_F_COUNT;
	scan.max_count = NR_RECORDS - 1;
	EXPECT(0, wort_kernel_scan(index, &scan));
	EXPECT(NR_RECORDS - 1, scan.count);
	EXPECT(1, scan.more);
	EXPECT(0, wort_kernel_scan(index, &scan));
	EXPECT(1, scan.count);
	EXPECT(0, scan.more);
	scan.buf_len = WORT_BUF_MAX + 1;
	EXPECT(-EMSGSIZE, wort_kernel_scan(index, &scan));
	scan.flags = WORT_SCAN_F_ALL + 1;
	EXPECT(-EOPNOTSUPP, wort_kernel_scan(index, &scan));
}

static void insert_numbers(struct wort_kernel_index *index)
{
	int i, failed = 0;
	char key[16];

	for (i = 0; i < NR_RECORDS; i++) {
		number_key(key, i);
		failed += !!insert(index, key, "v", NULL, WORT_INSERT_F_CREATE);
	}
	EXPECT(0, failed);
}

static void delete_numbers(struct wort_kernel_index *index)
{
	int i, failed = 0;
	char key[16];

	for (i = 0; i < NR_RECORDS; i++) {
		number_key(key, i);
		failed += !!delete(index, key, NULL);
	}
	EXPECT(0, failed);
}

static int delete_range(struct wort_kernel_index *index, const char *start,
			const char *bound, u32 flags, u64 max, u64 *deleted)
{
	struct wort_kernel_bytes from = text(start), to = text(bound);

	return wort_kernel_delete_range(index, *start ? &from : NULL,
					*bound ? &to : NULL, flags, max,
					deleted);
}

/* Numbers are "n" and five digits. */
static void test_delete_range(struct wort_kernel_index *index)
{
	u64 n;

	insert_numbers(index);
	EXPECT(0, insert(index, "before", "v", NULL, 0));
	EXPECT(0, insert(index, "o", "v", NULL, 0));
	EXPECT(0, delete_range(index, "n", "n00000", 0, 0, &n));
	EXPECT(0, n);
	EXPECT(0, delete_range(index, "n00100", "n00150", 0, 0, &n));
	EXPECT(50, n);
	EXPECT(1, lookup(index, "n00099", BUF_SIZE));
	EXPECT(-ENOENT, lookup(index, "n00100", BUF_SIZE));
	EXPECT(-ENOENT, lookup(index, "n00149", BUF_SIZE));
	EXPECT(1, lookup(index, "n00150", BUF_SIZE));
	EXPECT(0, delete_range(index, "", "n", WORT_SCAN_F_PREFIX, 70, &n));
	EXPECT(70, n);
	EXPECT(0, delete_range(index, "", "n", WORT_SCAN_F_PREFIX, 0, &n));
	EXPECT(NR_RECORDS - 120, n);
	EXPECT(1, lookup(index, "before", BUF_SIZE));
	EXPECT(-EOPNOTSUPP,
	       delete_range(index, "", "", WORT_SCAN_F_REVERSE, 0, &n));
	EXPECT(0, delete_range(index, "o", "", 0, 0, &n));
	EXPECT(1, n);
	EXPECT(0, delete(index, "before", NULL));
}

static void test_figures(struct wort_kernel_index *index)
{
	struct wort_op_stats before[WORT_OP_NR], after[WORT_OP_NR];
	struct wort_index_info_arg info;

	EXPECT(0, wort_kernel_stats(index, before));
	EXPECT(0, insert(index, "counted", "v", NULL, 0));
	EXPECT(0, wort_kernel_stats(index, after));
	EXPECT(before[WORT_OP_INSERT].ops + 1, after[WORT_OP_INSERT].ops);
	EXPECT(0, delete(index, "counted", NULL));
	EXPECT(0, wort_kernel_index_info(index, &info));
	EXPECT(sizeof(NAME) - 1, info.out_name_len);
	EXPECT(0, memcmp(info.out_name, NAME, sizeof(NAME)));
}

static void test_records(struct wort_kernel_index *index,
			 struct wort_kernel_index *other)
{
	bool noio = current->flags & PF_MEMALLOC_NOIO;

	test_insert(index);
	test_lookup_delete(index);
	test_fetch(index);
	test_batch(index);
	test_atomic(index, other);
	insert_numbers(index);
	test_scan(index);
	delete_numbers(index);
	test_delete_range(index);
	test_figures(index);
	EXPECT(noio, !!(current->flags & PF_MEMALLOC_NOIO));
}

/* In a scope of the caller's own, which the calls leave as it is. */
static void test_in_noio_scope(struct wort_kernel_index *index,
			       struct wort_kernel_index *other)
{
	unsigned int noio = memalloc_noio_save();

	test_records(index, other);
	memalloc_noio_restore(noio);
}

/*
 * As whoever makes room in memory would call, and without a scope.  With
 * lockdep an allocation that could wait for itself is reported.
 */
static void test_in_reclaim(struct wort_kernel_index *index,
			    struct wort_kernel_index *other)
{
	fs_reclaim_acquire(GFP_KERNEL);
	test_records(index, other);
	fs_reclaim_release(GFP_KERNEL);
}

struct test_work {
	struct work_struct work;
	struct wort_kernel_index *index;
	struct wort_kernel_index *other;
};

static void run_work(struct work_struct *work)
{
	struct test_work *test = container_of(work, struct test_work, work);

	test_records(test->index, test->other);
}

static void test_in_kernel_thread(struct wort_kernel_index *index,
				  struct wort_kernel_index *other)
{
	struct test_work test = { .index = index, .other = other };

	INIT_WORK_ONSTACK(&test.work, run_work);
	schedule_work(&test.work);
	flush_work(&test.work);
	destroy_work_on_stack(&test.work);
}

/* The name by which the list has an index; none: an empty one. */
static const char *name_of(struct wort_kernel_pool *p, u64 id)
{
	static struct wort_index_record record;
	bool more;
	int nr = wort_kernel_index_list(p, id - 1, &record, 1, &more);

	return nr == 1 && record.id == id ? (const char *)record.name : "";
}

/* With an index open. */
static void test_rename(struct wort_kernel_pool *p,
			struct wort_kernel_index *index)
{
	struct wort_index_info_arg info;

	EXPECT(0, wort_kernel_index_info(index, &info));
	EXPECT(0, strcmp(name_of(p, info.out_id), NAME));
	EXPECT(0, insert(index, "renamed", "v", NULL, 0));
	EXPECT(-EINVAL, wort_kernel_index_rename(p, NAME, ""));
	EXPECT(-ENOENT, wort_kernel_index_rename(p, OTHER, NAME));
	EXPECT(-EEXIST, wort_kernel_index_rename(p, NAME, NAME));
	EXPECT(0, wort_kernel_index_rename(p, NAME, OTHER));
	EXPECT(0, strcmp(name_of(p, info.out_id), OTHER));
	EXPECT(1, lookup(index, "renamed", BUF_SIZE));
	EXPECT(0, delete(index, "renamed", NULL));
	EXPECT(0, wort_kernel_index_rename(p, OTHER, NAME));
}

/* These may be called in any context. */
static void test_atomic_context(struct wort_kernel_index *index)
{
	struct wort_op_stats stats[WORT_OP_NR];
	static DEFINE_SPINLOCK(lock);
	int err, state;

	spin_lock_irq(&lock);
	state = wort_kernel_state(index);
	err = wort_kernel_stats(index, stats);
	spin_unlock_irq(&lock);
	EXPECT(0, state & ~WORT_STATE_WALKING);
	EXPECT(0, err);
}

static void test_destroy(struct wort_kernel_pool *p,
			 struct wort_kernel_index *index)
{
	struct wort_kernel_op op = batch_op(WORT_BATCH_DELETE, 0, "key", "");
	struct wort_kernel_atomic_op atomic =
		atomic_op(index, WORT_BATCH_INSERT, 0, "key", "");
	struct wort_index_info_arg info;

	test_atomic_context(index);
	EXPECT(0, wort_kernel_wait_lost(index, 0));
	EXPECT(0, wort_kernel_wait_lost(index, 1));
	EXPECT(-EINVAL, wort_kernel_index_destroy(p, ""));
	EXPECT(0, wort_kernel_index_destroy(p, NAME));
	EXPECT(-ENOENT, wort_kernel_index_destroy(p, NAME));
	EXPECT(-ESTALE, wort_kernel_state(index));
	EXPECT(-ESTALE, wort_kernel_index_info(index, &info));
	EXPECT(-ESTALE, insert(index, "key", "value", NULL, 0));
	EXPECT(-ESTALE, lookup(index, "key", 5));
	EXPECT(-ESTALE, delete(index, "key", NULL));
	EXPECT(1, wort_kernel_batch(index, &op, 1, 0));
	EXPECT(-ESTALE, op.err);
	EXPECT(-ESTALE, wort_kernel_atomic(&atomic, 1, NULL));
}

/* All that takes a second index. */
static int test_with(struct wort_kernel_pool *p,
		     struct wort_kernel_index *index)
{
	struct wort_kernel_index *other;

	other = wort_kernel_index_open(p, OTHER, WORT_INDEX_OPEN_F_CREATE,
				       WORT_ENGINE_DEFAULT, 0);
	if (IS_ERR(other))
		return PTR_ERR(other);
	test_records(index, other);
	test_in_noio_scope(index, other);
	test_in_reclaim(index, other);
	test_in_kernel_thread(index, other);
	wort_kernel_index_close(other);
	return wort_kernel_index_destroy(p, OTHER);
}

static int test_all(struct wort_kernel_pool *p)
{
	struct wort_kernel_index *index;
	int err;

	test_open(p);
	test_own(p);
	index = wort_kernel_index_open(p, NAME, WORT_INDEX_OPEN_F_CREATE,
				       WORT_ENGINE_DEFAULT, 0);
	if (IS_ERR(index))
		return PTR_ERR(index);
	test_space(p, index);
	test_attrs(p);
	err = test_with(p, index);
	test_rename(p, index);
	test_destroy(p, index);
	wort_kernel_index_close(index);
	return nr_wrong ? -EPROTO : err;
}

static int __init wort_api_test_init(void)
{
	struct wort_kernel_pool *p = wort_kernel_pool_open(pool);
	int err;

	if (IS_ERR(p))
		return PTR_ERR(p);
	err = test_all(p);
	wort_kernel_pool_close(p);
	return err;
}

static void __exit wort_api_test_exit(void)
{
}

module_init(wort_api_test_init);
module_exit(wort_api_test_exit);

MODULE_DESCRIPTION("Test of wort's interface for other kernel code");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
WORT_KERNEL_IMPORT_NS();
