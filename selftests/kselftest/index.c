// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands on an index.
 */
#include <time.h>

#include "wort_test.h"

FIXTURE(index)
{
	struct pool pool;
	int fd;
};

FIXTURE_SETUP(index)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	self->fd = open_index(self->pool.fd, "index", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(index)
{
	close(self->fd);
	pool_down(&self->pool);
}

/* errno-table: operation ENOENT */
TEST_F(index, insert_lookup_delete)
{
	EXPECT_EQ(-ENOENT, lookup(self->fd, "key", ""));
	EXPECT_EQ(-ENOENT, delete(self->fd, "key"));
	EXPECT_EQ(0, insert(self->fd, "key", "value"));
	EXPECT_EQ(0, lookup(self->fd, "key", "value"));
	EXPECT_EQ(0, insert(self->fd, "key", "another value"));
	EXPECT_EQ(0, lookup(self->fd, "key", "another value"));
	EXPECT_EQ(0, delete(self->fd, "key"));
	EXPECT_EQ(-ENOENT, lookup(self->fd, "key", ""));
}

/* errno-table: operation EEXIST ENOENT */
TEST_F(index, create_and_replace)
{
	EXPECT_EQ(-ENOENT, insert_raw(self->fd, "k", 1, "1", 1,
				      WORT_INSERT_F_REPLACE));
	EXPECT_EQ(0, insert_raw(self->fd, "k", 1, "1", 1,
				WORT_INSERT_F_CREATE));
	EXPECT_EQ(-EEXIST, insert_raw(self->fd, "k", 1, "2", 1,
				      WORT_INSERT_F_CREATE));
	EXPECT_EQ(0, lookup(self->fd, "k", "1"));
	EXPECT_EQ(0, insert_raw(self->fd, "k", 1, "3", 1,
				WORT_INSERT_F_REPLACE));
	EXPECT_EQ(0, lookup(self->fd, "k", "3"));
	EXPECT_EQ(-EINVAL, insert_raw(self->fd, "k", 1, "4", 1,
				      WORT_INSERT_F_ALL));
	EXPECT_EQ(0, lookup(self->fd, "k", "3"));
}

/* errno-table: operation EMSGSIZE */
TEST_F(index, key_lengths)
{
	char key[WORT_KEY_MAX + 1], value;

	memset(key, 'k', sizeof(key));
	EXPECT_EQ(-EINVAL, insert_raw(self->fd, key, 0, "v", 1, 0));
	EXPECT_EQ(-EINVAL, lookup_raw(self->fd, key, 0, &value, 1, NULL));
	EXPECT_EQ(-EINVAL, delete_raw(self->fd, key, 0));
	EXPECT_EQ(-EMSGSIZE, insert_raw(self->fd, key, sizeof(key), "v", 1, 0));
	EXPECT_EQ(-EMSGSIZE, lookup_raw(self->fd, key, sizeof(key), &value, 1,
					NULL));
	EXPECT_EQ(-EMSGSIZE, delete_raw(self->fd, key, ~0U));
	EXPECT_EQ(0, insert_raw(self->fd, key, WORT_KEY_MAX, "v", 1, 0));
	EXPECT_EQ(1, lookup_raw(self->fd, key, WORT_KEY_MAX, &value, 1, NULL));
	EXPECT_EQ('v', value);
	EXPECT_EQ(0, delete_raw(self->fd, key, WORT_KEY_MAX));
}

/* Around the sizes at which a value moves to another place. */
TEST_F(index, value_lengths)
{
	static const __u32 lengths[] = { 0, 1, 7, 8, 9, 63, 64, 65, 4096,
					 WORT_VALUE_MAX };
	static char value[WORT_VALUE_MAX + 1], back[WORT_VALUE_MAX + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(value, 'a' + i, sizeof(value));
		memset(back, 0, sizeof(back));
		EXPECT_EQ(0, insert_raw(self->fd, "key", 3, value, lengths[i],
					0));
		EXPECT_EQ(lengths[i], lookup_raw(self->fd, "key", 3, back,
						 sizeof(back), NULL));
		EXPECT_EQ(0, memcmp(value, back, lengths[i]));
		EXPECT_EQ(0, back[lengths[i]]);
	}
	EXPECT_EQ(-EMSGSIZE, insert_raw(self->fd, "key", 3, value,
					WORT_VALUE_MAX + 1, 0));
	EXPECT_EQ(0, insert_raw(self->fd, "key", 3, NULL, 0, 0));
	EXPECT_EQ(0, lookup_raw(self->fd, "key", 3, NULL, 0, NULL));
}

/* errno-table: operation ERANGE */
TEST_F(index, lookup_does_not_fit)
{
	char buf[8] = "unused";
	__u32 len = 0;

	ASSERT_EQ(0, insert(self->fd, "key", "a longer value"));
	EXPECT_EQ(-ERANGE, lookup_raw(self->fd, "key", 3, buf, 6, &len));
	EXPECT_EQ(14, len);
	EXPECT_EQ(0, strcmp(buf, "unused"));
	EXPECT_EQ(-ERANGE, lookup_raw(self->fd, "key", 3, NULL, 0, &len));
	EXPECT_EQ(14, len);
	len = 1;
	EXPECT_EQ(-ENOENT, lookup_raw(self->fd, "none", 4, buf, 6, &len));
	EXPECT_EQ(WORT_NO_VALUE, len);
}

/* A key may be a prefix of another; any byte may occur. */
TEST_F(index, bytes_of_keys)
{
	static const struct {
		const char *key;
		int len;
	} keys[] = {
		{ "\0", 1 }, { "\0\0", 2 }, { "\0\1", 2 }, { "a", 1 },
		{ "a\0", 2 }, { "ab", 2 }, { "abc", 3 }, { "\xff", 1 },
		{ "\xff\xff\xff", 3 },
	};
	size_t i;
	char back;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(0, insert_raw(self->fd, keys[i].key, keys[i].len,
					"0123456789" + i, 1,
					WORT_INSERT_F_CREATE));
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		EXPECT_EQ(1, lookup_raw(self->fd, keys[i].key, keys[i].len,
					&back, 1, NULL));
		EXPECT_EQ('0' + (int)i, back);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(0, delete_raw(self->fd, keys[i].key, keys[i].len));
}

static int scan(int fd, struct wort_scan_arg *arg, void *buf, __u32 len)
{
	arg->size = sizeof(*arg);
	arg->buf_ptr = PTR(buf);
	arg->buf_len = len;
	return call(fd, WORT_IOC_SCAN, arg);
}

static void insert_numbered(struct __test_metadata *_metadata, int fd, int nr)
{
	char key[16], value[16];
	int i;

	for (i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "key%03d", i);
		snprintf(value, sizeof(value), "%d", i);
		ASSERT_EQ(0, insert(fd, key, value));
	}
}

/* Whether the record has this number; the record after it. */
static struct wort_record *match(struct __test_metadata *_metadata,
				 struct wort_record *rec, int nr, bool values)
{
	char *data = (char *)(rec + 1), text[16];

	snprintf(text, sizeof(text), "key%03d", nr);
	EXPECT_EQ(6, rec->key_len);
	EXPECT_EQ(0, memcmp(data, text, 6));
	snprintf(text, sizeof(text), "%d", nr);
	EXPECT_EQ(strlen(text), rec->value_len);
	if (values)
		EXPECT_EQ(0, memcmp(data + 6, text, rec->value_len));
	EXPECT_EQ(0, rec->rec_len % 8);
	return (void *)rec + rec->rec_len;
}

TEST_F(index, scan)
{
	char buf[4096] __attribute__((aligned(8)));
	struct wort_record *rec = (void *)buf;
	struct wort_scan_arg arg = { };
	int i;

	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
	insert_numbered(_metadata, self->fd, 50);
	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	ASSERT_EQ(50, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
	for (i = 0; i < 50; i++)
		rec = match(_metadata, rec, i, true);
	EXPECT_EQ(arg.out_len, (char *)rec - buf);
}

TEST_F(index, scan_bounds)
{
	char buf[4096] __attribute__((aligned(8)));
	struct wort_record *rec = (void *)buf;
	struct wort_scan_arg arg = {
		.start_ptr = PTR("key010"), .start_len = 6,
		.bound_ptr = PTR("key013"), .bound_len = 6,
	};

	insert_numbered(_metadata, self->fd, 50);
	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	ASSERT_EQ(3, arg.out_count);
	match(_metadata, rec, 10, true);
	arg.flags = WORT_SCAN_F_AFTER;
	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	ASSERT_EQ(2, arg.out_count);
	match(_metadata, rec, 11, true);
	arg.flags = WORT_SCAN_F_REVERSE;
	arg.bound_ptr = PTR("key007");
	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	ASSERT_EQ(3, arg.out_count);
	rec = match(_metadata, rec, 10, true);
	rec = match(_metadata, rec, 9, true);
	match(_metadata, rec, 8, true);
	arg.flags = WORT_SCAN_F_PREFIX | WORT_SCAN_F_KEYS;
	arg.start_len = 0;
	arg.bound_ptr = PTR("key02");
	arg.bound_len = 5;
	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	ASSERT_EQ(10, arg.out_count);
	match(_metadata, (void *)buf, 20, false);
}

TEST_F(index, scan_in_pieces)
{
	char buf[64] __attribute__((aligned(8))), last[6];
	struct wort_record *rec = (void *)buf;
	struct wort_scan_arg arg = { .max_count = 1 };
	int i;

	insert_numbered(_metadata, self->fd, 20);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
		ASSERT_EQ(1, arg.out_count);
		match(_metadata, rec, i, true);
		memcpy(last, rec + 1, 6);
		arg.start_ptr = PTR(last);
		arg.start_len = 6;
		arg.flags = WORT_SCAN_F_AFTER;
	}
	ASSERT_EQ(0, scan(self->fd, &arg, buf, sizeof(buf)));
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
}

/* errno-table: operation ERANGE */
TEST_F(index, scan_does_not_fit)
{
	char buf[32] __attribute__((aligned(8)));
	struct wort_scan_arg arg = { };

	insert_numbered(_metadata, self->fd, 3);
	EXPECT_EQ(-ERANGE, scan(self->fd, &arg, buf, 16));
	EXPECT_EQ(24, arg.out_need);
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(0, scan(self->fd, &arg, buf, 24));
	EXPECT_EQ(1, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	EXPECT_EQ(0, scan(self->fd, &arg, buf, 47));
	EXPECT_EQ(1, arg.out_count);
}

/* Records of 4 KiB: a scan with the largest buffer takes several pieces. */
#define NR_LARGE	300
#define LARGE_RECORD	(16 + 8 + 4072)

static char bulk[WORT_BUF_MAX] __attribute__((aligned(8)));
static char bulk_answers[WORT_BUF_MAX] __attribute__((aligned(8)));

static void insert_large(struct __test_metadata *_metadata, int fd)
{
	static char value[4072];
	char key[16];
	int i;

	for (i = 0; i < NR_LARGE; i++) {
		snprintf(key, sizeof(key), "large%03d", i);
		memset(value, i, sizeof(value));
		ASSERT_EQ(0, insert_raw(fd, key, 8, value, sizeof(value), 0));
	}
}

/* How many records from the first on have the numbers that are expected. */
static int count_large(const struct wort_scan_arg *arg, int first, int step)
{
	char key[16];
	int n, at = 0;

	for (n = 0; at < (int)arg->out_len; n++, at += LARGE_RECORD) {
		const struct wort_record *rec = (void *)(bulk + at);
		const char *data = (const char *)(rec + 1);

		snprintf(key, sizeof(key), "large%03d", first + n * step);
		if (rec->rec_len != LARGE_RECORD || memcmp(data, key, 8) ||
		    data[8] != (char)(first + n * step) ||
		    data[LARGE_RECORD - 17] != data[8])
			break;
	}
	return n;
}

TEST_F(index, scan_larger_than_a_piece)
{
	struct wort_scan_arg arg = { };

	insert_large(_metadata, self->fd);
	ASSERT_EQ(0, scan(self->fd, &arg, bulk, sizeof(bulk)));
	EXPECT_EQ(NR_LARGE, arg.out_count);
	EXPECT_EQ(NR_LARGE * LARGE_RECORD, arg.out_len);
	EXPECT_EQ(0, arg.out_more);
	EXPECT_EQ(NR_LARGE, count_large(&arg, 0, 1));
	arg.flags = WORT_SCAN_F_REVERSE;
	arg.max_count = 200;
	ASSERT_EQ(0, scan(self->fd, &arg, bulk, sizeof(bulk)));
	EXPECT_EQ(200, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	EXPECT_EQ(200, count_large(&arg, NR_LARGE - 1, -1));
	/* as many as fit, also where the last piece has no room for one */
	arg.flags = 0;
	arg.max_count = 0;
	ASSERT_EQ(0, scan(self->fd, &arg, bulk, 100 * LARGE_RECORD + 4000));
	EXPECT_EQ(100, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	EXPECT_EQ(0, arg.out_need);
	ASSERT_EQ(0, scan(self->fd, &arg, bulk, 64 * LARGE_RECORD));
	EXPECT_EQ(64, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	arg.bound_ptr = PTR("large128");
	arg.bound_len = 8;
	ASSERT_EQ(0, scan(self->fd, &arg, bulk, sizeof(bulk)));
	EXPECT_EQ(128, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
}

TEST_F(index, scan_limits)
{
	struct wort_scan_arg arg = { .start_len = WORT_KEY_MAX + 1 };

	EXPECT_EQ(-EMSGSIZE, scan(self->fd, &arg, NULL, 0));
	arg.start_len = 0;
	arg.bound_len = WORT_KEY_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, scan(self->fd, &arg, NULL, 0));
	arg.bound_len = 0;
	EXPECT_EQ(-EMSGSIZE, scan(self->fd, &arg, NULL, WORT_BUF_MAX + 1));
}

TEST_F(index, scan_count)
{
	char last[WORT_KEY_MAX];
	struct wort_scan_arg arg = { .flags = WORT_SCAN_F_COUNT };

	insert_numbered(_metadata, self->fd, 50);
	ASSERT_EQ(0, scan(self->fd, &arg, last, sizeof(last)));
	EXPECT_EQ(50, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
	arg.max_count = 7;
	ASSERT_EQ(0, scan(self->fd, &arg, last, sizeof(last)));
	EXPECT_EQ(7, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	EXPECT_EQ(6, arg.out_last_len);
	EXPECT_EQ(0, memcmp(last, "key006", 6));
	EXPECT_EQ(-ERANGE, scan(self->fd, &arg, last, 5));
	EXPECT_EQ(6, arg.out_need);
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
	EXPECT_EQ(0, scan(self->fd, &arg, last, arg.out_need));
	EXPECT_EQ(7, arg.out_count);
}

/* Operations packed one behind the other. */
struct packed {
	__u32 len;
	__u32 nr;
	char bytes[4096] __attribute__((aligned(8)));
};

static void pack_op(struct packed *ops, struct wort_batch_op *op,
		    const char *key, const char *expect, const char *value)
{
	char *at = ops->bytes + ops->len + sizeof(*op);

	op->key_len = strlen(key);
	op->rec_len = (sizeof(*op) + op->key_len + op->expect_len +
		       op->value_len + 7) / 8 * 8;
	memcpy(ops->bytes + ops->len, op, sizeof(*op));
	at = mempcpy(at, key, op->key_len);
	at = mempcpy(at, expect, op->expect_len);
	memcpy(at, value, op->value_len);
	ops->len += op->rec_len;
	ops->nr++;
}

/* Of a lookup the length is that of the longest value wanted. */
static void pack(struct packed *ops, __u16 op, const char *key,
		 const char *value, __u32 value_len)
{
	struct wort_batch_op head = {
		.op = op,
		.value_len = value ? value_len : 0,
		.max_len = value ? 0 : value_len,
	};

	pack_op(ops, &head, key, "", value ? value : "");
}

static int batch(int fd, struct wort_batch_arg *arg, const struct packed *ops,
		 void *results, __u32 len)
{
	arg->size = sizeof(*arg);
	arg->ops_ptr = PTR(ops->bytes);
	arg->ops_len = ops->len;
	arg->nr_ops = ops->nr;
	arg->results_ptr = PTR(results);
	arg->results_len = len;
	return call(fd, WORT_IOC_BATCH, arg);
}

TEST_F(index, batch)
{
	char results[512] __attribute__((aligned(8)));
	struct wort_batch_result *result = (void *)results;
	struct wort_batch_arg arg = { };
	struct packed ops = { };

	pack(&ops, WORT_BATCH_INSERT, "a", "first", 5);
	pack(&ops, WORT_BATCH_LOOKUP, "a", NULL, 16);
	pack(&ops, WORT_BATCH_DELETE, "b", NULL, 0);
	pack(&ops, WORT_BATCH_INSERT, "c", "second", 6);
	ASSERT_EQ(0, batch(self->fd, &arg, &ops, results, sizeof(results)));
	EXPECT_EQ(4, arg.out_done);
	EXPECT_EQ(1, arg.out_failed);
	EXPECT_EQ(16 + 24 + 16 + 16, arg.out_results_len);
	EXPECT_EQ(0, result->error);
	result = (void *)result + result->rec_len;
	EXPECT_EQ(0, result->error);
	EXPECT_EQ(5, result->value_len);
	EXPECT_EQ(0, memcmp(result + 1, "first", 5));
	result = (void *)result + result->rec_len;
	EXPECT_EQ(-ENOENT, result->error);
	EXPECT_EQ(0, lookup(self->fd, "c", "second"));
}

TEST_F(index, batch_stops)
{
	char results[512] __attribute__((aligned(8)));
	struct wort_batch_arg arg = { .flags = WORT_BATCH_F_STOP };
	struct packed ops = { };

	pack(&ops, WORT_BATCH_INSERT, "a", "1", 1);
	pack(&ops, WORT_BATCH_DELETE, "b", NULL, 0);
	pack(&ops, WORT_BATCH_INSERT, "c", "1", 1);
	ASSERT_EQ(0, batch(self->fd, &arg, &ops, results, sizeof(results)));
	EXPECT_EQ(2, arg.out_done);
	EXPECT_EQ(1, arg.out_failed);
	EXPECT_EQ(-ENOENT, lookup(self->fd, "c", "1"));
}

TEST_F(index, batch_answers_do_not_fit)
{
	char results[40] __attribute__((aligned(8)));
	struct wort_batch_arg arg = { };
	struct packed ops = { };

	pack(&ops, WORT_BATCH_INSERT, "a", "1", 1);
	pack(&ops, WORT_BATCH_INSERT, "b", "1", 1);
	pack(&ops, WORT_BATCH_INSERT, "c", "1", 1);
	EXPECT_EQ(-ERANGE, batch(self->fd, &arg, &ops, results,
				 sizeof(results)));
	EXPECT_EQ(2, arg.out_done);
	EXPECT_EQ(32, arg.out_results_len);
	EXPECT_EQ(0, lookup(self->fd, "b", "1"));
	EXPECT_EQ(-ENOENT, lookup(self->fd, "c", "1"));
}

TEST_F(index, batch_malformed)
{
	char results[512] __attribute__((aligned(8)));
	struct wort_batch_arg arg = { };
	struct packed ops = { };

	pack(&ops, WORT_BATCH_INSERT, "a", "1", 1);
	ops.nr = 2;
	EXPECT_EQ(-EINVAL, batch(self->fd, &arg, &ops, results,
				 sizeof(results)));
	EXPECT_EQ(1, arg.out_done);
	ops.nr = WORT_BATCH_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, batch(self->fd, &arg, &ops, results,
				   sizeof(results)));
	ops.nr = 1;
	EXPECT_EQ(-EMSGSIZE, batch(self->fd, &arg, &ops, results,
				   WORT_BUF_MAX + 1));
	ops.len = WORT_BUF_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, batch(self->fd, &arg, &ops, results,
				   sizeof(results)));
}

/* One behind the other in the large buffer; the length of all. */
static __u32 pack_large(__u32 at, __u16 op, int nr, __u32 pad)
{
	struct wort_batch_op head = {
		.op = op,
		.key_len = 8,
		.value_len = op == WORT_BATCH_INSERT ? 60000 : 0,
		.max_len = op == WORT_BATCH_LOOKUP ? 60000 : 0,
	};
	char key[16];

	head.rec_len = (sizeof(head) + 8 + head.value_len + 7) / 8 * 8 + pad;
	memcpy(bulk + at, &head, sizeof(head));
	snprintf(key, sizeof(key), "large%03d", nr);
	memcpy(bulk + at + sizeof(head), key, 8);
	memset(bulk + at + sizeof(head) + 8, nr, head.value_len);
	return at + head.rec_len;
}

static int batch_large(int fd, struct wort_batch_arg *arg, __u32 len, int nr,
		       __u32 flags)
{
	*arg = (struct wort_batch_arg){
		.size = sizeof(*arg),
		.flags = flags,
		.ops_ptr = PTR(bulk),
		.ops_len = len,
		.results_ptr = PTR(bulk_answers),
		.results_len = sizeof(bulk_answers),
		.nr_ops = nr,
	};
	return call(fd, WORT_IOC_BATCH, arg);
}

/* How many answers have the value of the record with their number. */
static int count_answers(const struct wort_batch_arg *arg)
{
	const struct wort_batch_result *result;
	__u32 at = 0;
	int n;

	for (n = 0; at < arg->out_results_len; n++, at += result->rec_len) {
		result = (void *)(bulk_answers + at);
		if (result->error || result->value_len != 60000 ||
		    ((char *)(result + 1))[59999] != (char)n)
			break;
	}
	return n;
}

TEST_F(index, batch_larger_than_a_piece)
{
	struct wort_batch_arg arg;
	__u32 len = 0;
	int i;

	/* the padding of one takes several pieces */
	for (i = 0; i < 40; i++)
		len = pack_large(len, WORT_BATCH_INSERT, i,
				 i == 7 ? 1 << 20 : 0);
	ASSERT_EQ(0, batch_large(self->fd, &arg, len, 40, 0));
	EXPECT_EQ(40, arg.out_done);
	EXPECT_EQ(0, arg.out_failed);
	EXPECT_EQ(40 * 16, arg.out_results_len);
	for (len = 0, i = 0; i < 40; i++)
		len = pack_large(len, WORT_BATCH_LOOKUP, i, 0);
	ASSERT_EQ(0, batch_large(self->fd, &arg, len, 40, 0));
	EXPECT_EQ(40, arg.out_done);
	EXPECT_EQ(40 * 60016, arg.out_results_len);
	EXPECT_EQ(40, count_answers(&arg));
}

TEST_F(index, batch_ends_in_a_later_piece)
{
	struct wort_batch_arg arg;
	__u32 len = 0, last = 0;
	int i;

	for (i = 0; i < 20; i++) {
		last = len;
		len = pack_large(len, i == 10 ? WORT_BATCH_DELETE :
				 WORT_BATCH_INSERT, i, 0);
	}
	ASSERT_EQ(0, batch_large(self->fd, &arg, len, 20, WORT_BATCH_F_STOP));
	EXPECT_EQ(11, arg.out_done);
	EXPECT_EQ(1, arg.out_failed);
	/* the last one is longer than what is left */
	EXPECT_EQ(-EINVAL, batch_large(self->fd, &arg, len - 8, 20, 0));
	EXPECT_EQ(19, arg.out_done);
	((struct wort_batch_op *)(bulk + last))->rec_len = WORT_BUF_MAX;
	EXPECT_EQ(-EINVAL, batch_large(self->fd, &arg, len, 20, 0));
	EXPECT_EQ(19, arg.out_done);
}

/* Of a batch whose last operation cannot be read, none is begun. */
TEST_F(index, batch_not_readable_at_its_end)
{
	struct wort_batch_arg arg;
	__u32 len = 0;
	char *ops;
	int i;

	for (i = 0; i < 10; i++)
		len = pack_large(len, WORT_BATCH_INSERT, i, 0);
	ops = mmap(NULL, WORT_BUF_MAX, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(ops, bulk, len);
	mprotect(ops + (len & ~4095U), 4096, PROT_NONE);
	arg = (struct wort_batch_arg){
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.ops_len = len,
		.results_ptr = PTR(bulk_answers),
		.results_len = sizeof(bulk_answers),
		.nr_ops = 10,
	};
	EXPECT_EQ(-EFAULT, call(self->fd, WORT_IOC_BATCH, &arg));
	EXPECT_EQ(0, arg.out_done);
	EXPECT_EQ(-ENOENT, lookup_raw(self->fd, "large000", 8, NULL, 0, NULL));
	munmap(ops, WORT_BUF_MAX);
}

/* That it does not wait is seen by the unit tests; here it is let through. */
TEST_F(index, relaxed)
{
	int fd = open_index(self->pool.fd, "index", WORT_INDEX_OPEN_F_RELAXED);
	char results[64] __attribute__((aligned(8)));
	struct wort_batch_arg arg = { };
	struct packed ops = { };

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, insert(fd, "a", "1"));
	EXPECT_EQ(0, lookup(fd, "a", "1"));
	EXPECT_EQ(-ENOENT, lookup(fd, "b", ""));
	pack(&ops, WORT_BATCH_LOOKUP, "a", NULL, 1);
	EXPECT_EQ(0, batch(fd, &arg, &ops, results, sizeof(results)));
	EXPECT_EQ(0, arg.out_failed);
	close(fd);
}

TEST_F(index, batch_read_only)
{
	int fd = open_index(self->pool.fd, "index", WORT_INDEX_OPEN_F_RDONLY);
	char results[512] __attribute__((aligned(8)));
	struct wort_batch_result *result = (void *)results;
	struct wort_batch_arg arg = { };
	struct packed ops = { };

	ASSERT_EQ(0, insert(self->fd, "a", "1"));
	pack(&ops, WORT_BATCH_LOOKUP, "a", NULL, 1);
	pack(&ops, WORT_BATCH_INSERT, "a", "2", 1);
	pack(&ops, 99, "a", NULL, 0);
	ASSERT_EQ(0, batch(fd, &arg, &ops, results, sizeof(results)));
	EXPECT_EQ(3, arg.out_done);
	EXPECT_EQ(0, result[0].error);
	result = (void *)result + result->rec_len;
	EXPECT_EQ(-EBADF, result[0].error);
	EXPECT_EQ(-EOPNOTSUPP, result[1].error);
	EXPECT_EQ(0, lookup(fd, "a", "1"));
}

TEST_F(index, batch_destroyed)
{
	char results[512] __attribute__((aligned(8)));
	struct wort_batch_result *result = (void *)results;
	struct wort_batch_arg arg = { };
	struct packed ops = { };

	ASSERT_EQ(0, destroy(self->pool.fd, "index"));
	pack(&ops, WORT_BATCH_INSERT, "a", "1", 1);
	ASSERT_EQ(0, batch(self->fd, &arg, &ops, results, sizeof(results)));
	EXPECT_EQ(-ESTALE, result->error);
}

/* A change and what it answers about the value that was there. */
struct change {
	unsigned long cmd;
	__u32 flags;
	const char *expect;	/* of CAS; of DELETE with EXPECT */
	const char *value;	/* of INSERT and CAS */
	int size;		/* of the buffer for the old value; -1: none */
	int err;
	const char *old;	/* that is told; NULL: none, or none asked for */
};

static int old_told(const struct change *change, __u32 len, const char *buf)
{
	if (!change->old)
		return len == WORT_NO_VALUE ? 0 : (int)len;
	if (len != strlen(change->old))
		return (int)len;
	return change->err == -ERANGE ? 0 : memcmp(buf, change->old, len);
}

/* The answer, with the length that was told. */
static int call_change(int fd, const struct change *change, char *buf,
		       __u32 *len)
{
	const char *value = change->value ? change->value : "";
	const char *expect = change->expect ? change->expect : "";
	__u32 flags = change->flags | (change->size < 0 ? 0 : WORT_F_FETCH);
	__u32 size = change->size < 0 ? 0 : change->size;
	struct wort_insert_arg insert = {
		sizeof(insert), flags, PTR("k"), PTR(value), PTR(buf), 1,
		strlen(value), size, 7 };
	struct wort_cas_arg cas = {
		sizeof(cas), flags, PTR("k"), PTR(expect), PTR(value), PTR(buf),
		1, strlen(expect), strlen(value), size, 0, 7 };
	struct wort_delete_arg delete = {
		sizeof(delete), flags, PTR("k"), PTR(expect), PTR(buf), 1,
		strlen(expect), size, 7 };
	void *arg = change->cmd == WORT_IOC_INSERT ? (void *)&insert :
		    change->cmd == WORT_IOC_CAS ? (void *)&cas : &delete;
	int err = call(fd, change->cmd, arg);

	*len = arg == &insert ? insert.out_old_len :
	       arg == &cas ? cas.out_old_len : delete.out_old_len;
	return err;
}

static void do_change(struct __test_metadata *_metadata, int fd,
		      const struct change *change)
{
	char buf[64];
	__u32 len;
	int err = call_change(fd, change, buf, &len);

	if (err != change->err || old_told(change, len, buf))
		TH_LOG("ioctl %#lx, flags %#x, expect \"%s\", value \"%s\"",
		       change->cmd, change->flags,
		       change->expect ? change->expect : "",
		       change->value ? change->value : "");
	EXPECT_EQ(change->err, err);
	EXPECT_EQ(0, old_told(change, len, buf));
}

#define INSERT	WORT_IOC_INSERT
#define CAS	WORT_IOC_CAS
#define DELETE	WORT_IOC_DELETE
#define EXPECT_VALUE	WORT_DELETE_F_EXPECT

/*
 * One after the other on one key, which is not there at first.
 *
 * errno-table: operation ENOENT EEXIST ECANCELED ERANGE
 */
static const struct change changes[] = {
	{ CAS, 0, "", "a", -1, -ENOENT, NULL },
	{ CAS, 0, "", "a", 64, -ENOENT, NULL },
	{ DELETE, EXPECT_VALUE, "", NULL, 64, -ENOENT, NULL },
	{ INSERT, WORT_INSERT_F_REPLACE, NULL, "a", 64, -ENOENT, NULL },
	{ INSERT, 0, NULL, "", 64, 0, NULL },
	{ INSERT, 0, NULL, "one", 0, 0, "" },
	{ INSERT, 0, NULL, "two", 3, 0, "one" },
	{ INSERT, 0, NULL, "three", 2, -ERANGE, "two" },
	{ INSERT, WORT_INSERT_F_CREATE, NULL, "x", 64, -EEXIST, "two" },
	{ INSERT, WORT_INSERT_F_CREATE, NULL, "x", 1, -ERANGE, "two" },
	{ INSERT, WORT_INSERT_F_REPLACE, NULL, "two", 64, 0, "two" },
	{ CAS, 0, "one", "x", -1, -ECANCELED, NULL },
	{ CAS, 0, "one", "x", 64, -ECANCELED, "two" },
	{ CAS, 0, "tw", "x", 64, -ECANCELED, "two" },
	{ CAS, 0, "two", "x", 2, -ERANGE, "two" },
	{ CAS, 0, "two", "a value beyond a word", 64, 0, "two" },
	{ CAS, 0, "a value beyond a worm", "x", -1, -ECANCELED, NULL },
	{ CAS, 0, "a value beyond a word", "", -1, 0, NULL },
	{ CAS, 0, "", "three", 64, 0, "" },
	{ DELETE, EXPECT_VALUE, "two", NULL, -1, -ECANCELED, NULL },
	{ DELETE, EXPECT_VALUE, "two", NULL, 64, -ECANCELED, "three" },
	{ DELETE, EXPECT_VALUE, "three", NULL, 4, -ERANGE, "three" },
	{ DELETE, 0, NULL, NULL, 4, -ERANGE, "three" },
	{ DELETE, EXPECT_VALUE, "three", NULL, 5, 0, "three" },
	{ DELETE, 0, NULL, NULL, 64, -ENOENT, NULL },
	{ INSERT, WORT_INSERT_F_CREATE, NULL, "last", 64, 0, NULL },
	{ DELETE, 0, NULL, NULL, 64, 0, "last" },
	/* lengths without their flag */
	{ DELETE, 0, "three", NULL, -1, -EINVAL, NULL },
};

TEST_F(index, conditional_changes)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++)
		do_change(_metadata, self->fd, &changes[i]);
}

TEST_F(index, change_lengths)
{
	static char value[WORT_VALUE_MAX + 1], back[WORT_VALUE_MAX + 1];
	struct wort_cas_arg cas = {
		sizeof(cas), 0, PTR("k"), PTR(value), PTR(value), PTR(back),
		1, WORT_VALUE_MAX, WORT_VALUE_MAX, 0, 0, 0
	};
	struct wort_insert_arg insert = {
		sizeof(insert), 0, PTR("k"), PTR(value), PTR(back), 1, 1, 1, 0
	};

	memset(value, 'v', sizeof(value));
	ASSERT_EQ(0, insert_raw(self->fd, "k", 1, value, WORT_VALUE_MAX, 0));
	EXPECT_EQ(0, call(self->fd, CAS, &cas));
	cas.flags = WORT_F_FETCH;
	cas.old_len = ~0U;
	EXPECT_EQ(0, call(self->fd, CAS, &cas));
	EXPECT_EQ(WORT_VALUE_MAX, cas.out_old_len);
	EXPECT_EQ(0, memcmp(value, back, WORT_VALUE_MAX));
	EXPECT_EQ(0, back[WORT_VALUE_MAX]);
	cas.expect_len++;
	EXPECT_EQ(-EMSGSIZE, call(self->fd, CAS, &cas));
	cas.expect_len = 0;
	cas.value_len++;
	EXPECT_EQ(-EMSGSIZE, call(self->fd, CAS, &cas));
	cas.key_len = 0;
	EXPECT_EQ(-EINVAL, call(self->fd, CAS, &cas));
	EXPECT_EQ(WORT_NO_VALUE, cas.out_old_len);
	/* a buffer, and no flag that asks for anything */
	EXPECT_EQ(-EINVAL, call(self->fd, INSERT, &insert));
}

TEST_F(index, batch_conditional)
{
	struct wort_batch_op cas = {
		.op = WORT_BATCH_CAS, .flags = WORT_F_FETCH,
		.expect_len = 3, .value_len = 3, .max_len = 3,
	};
	struct wort_batch_op del = {
		.op = WORT_BATCH_DELETE,
		.flags = WORT_DELETE_F_EXPECT | WORT_F_FETCH,
		.expect_len = 3, .max_len = 3,
	};
	static const int errors[] = { 0, 0, -ECANCELED, -ECANCELED, 0, -ENOENT };
	static const char * const values[] = {
		NULL, "one", "two", "two", "two", NULL,
	};
	char results[512] __attribute__((aligned(8)));
	struct wort_batch_result *result = (void *)results;
	struct wort_batch_arg arg = { };
	struct packed ops = { };
	size_t i;

	pack(&ops, WORT_BATCH_INSERT, "a", "one", 3);
	pack_op(&ops, &cas, "a", "one", "two");
	pack_op(&ops, &cas, "a", "one", "two");
	pack_op(&ops, &del, "a", "one", "");
	pack_op(&ops, &del, "a", "two", "");
	pack_op(&ops, &cas, "a", "two", "one");
	ASSERT_EQ(0, batch(self->fd, &arg, &ops, results, sizeof(results)));
	ASSERT_EQ(6, arg.out_done);
	EXPECT_EQ(3, arg.out_failed);
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(errors[i], result->error);
		EXPECT_EQ(values[i] ? 3 : WORT_NO_VALUE, result->value_len);
		if (values[i])
			EXPECT_EQ(0, memcmp(result + 1, values[i], 3));
		result = (void *)result + result->rec_len;
	}
	EXPECT_EQ(arg.out_results_len, (char *)result - results);
}

TEST_F(index, info)
{
	struct wort_index_info_arg arg = { .size = sizeof(arg) };

	memset(arg.out_name, 0xff, sizeof(arg.out_name));
	ASSERT_EQ(0, call(self->fd, WORT_IOC_INDEX_INFO, &arg));
	EXPECT_EQ(test_engine()->id, arg.out_engine);
	EXPECT_EQ(0, arg.out_state);
	EXPECT_EQ(5, arg.out_name_len);
	EXPECT_EQ(0, strcmp((char *)arg.out_name, "index"));
	EXPECT_EQ(0, arg.out_name[WORT_NAME_MAX]);
	EXPECT_NE(0, arg.out_id);
	EXPECT_NE(0, arg.out_create_time);
}

TEST_F(index, stats)
{
	struct wort_op_stats stats[WORT_OP_NR];
	struct wort_stats_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(stats),
		.buf_len = sizeof(stats),
		.stride = sizeof(stats[0]),
	};

	ASSERT_EQ(0, insert(self->fd, "a", "1"));
	ASSERT_EQ(0, insert(self->fd, "a", "2"));
	ASSERT_EQ(0, lookup(self->fd, "a", "2"));
	ASSERT_EQ(0, delete(self->fd, "a"));
	ASSERT_EQ(0, call(self->fd, WORT_IOC_STATS, &arg));
	EXPECT_EQ(WORT_OP_NR, arg.out_count);
	EXPECT_EQ(1, stats[WORT_OP_INSERT].ops);
	EXPECT_EQ(1, stats[WORT_OP_UPDATE].ops);
	EXPECT_EQ(1, stats[WORT_OP_LOOKUP].ops);
	EXPECT_EQ(1, stats[WORT_OP_DELETE].ops);
	EXPECT_LT(0, stats[WORT_OP_INSERT].fences);
	EXPECT_EQ(0, stats[WORT_OP_LOOKUP].fences);
	EXPECT_EQ(0, stats[WORT_OP_LOOKUP].stores);
}

#define NR_TOP	4096

static void top_key(unsigned char key[4], __u32 n)
{
	key[0] = n >> 24;
	key[1] = n >> 16;
	key[2] = n >> 8;
	key[3] = n;
}

/* Nodes that lookups of all keys come by; 0 if one fails. */
static __u64 nodes_of_lookups(int index)
{
	struct wort_op_stats before[WORT_OP_NR], after[WORT_OP_NR];
	struct wort_stats_arg arg = {
		.size = sizeof(arg), .buf_ptr = PTR(before),
		.buf_len = sizeof(before), .stride = sizeof(before[0]),
	};
	unsigned char key[4];
	__u64 value;
	__u32 i;

	if (call(index, WORT_IOC_STATS, &arg))
		return 0;
	for (i = 0; i < NR_TOP; i++) {
		top_key(key, i);
		if (lookup_raw(index, key, sizeof(key), &value, sizeof(value),
			       NULL) != sizeof(value) || value != i)
			return 0;
	}
	arg.buf_ptr = PTR(after);
	if (call(index, WORT_IOC_STATS, &arg))
		return 0;
	return after[WORT_OP_LOOKUP].nodes - before[WORT_OP_LOOKUP].nodes;
}

/* From the root they are three; the background makes a table that spares two. */
TEST_F(index, lookups_begin_below_the_top)
{
	__u64 nodes = 0, value;
	unsigned char key[4];
	__u32 i;

	if (test_engine() != &engine_rows[0])
		SKIP(return, "of the default engine");
	if (engines_mandatory())
		SKIP(return, "engines do without what is optional");
	for (i = 0; i < NR_TOP; i++) {
		value = i;
		top_key(key, i);
		ASSERT_EQ(0, insert_raw(self->fd, key, sizeof(key), &value,
					sizeof(value), 0));
	}
	close(self->fd);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach(&self->pool));
	self->fd = open_index(self->pool.fd, "index", 0);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < 100 && nodes != NR_TOP; i++) {
		nodes = nodes_of_lookups(self->fd);
		ASSERT_NE(0, nodes);
		EXPECT_GE(3 * NR_TOP, nodes);
	}
	EXPECT_EQ(NR_TOP, nodes);
}

#define NR_SHADOWED	4000

static __u64 dram_of(int index)
{
	struct wort_index_info_arg arg = { .size = sizeof(arg) };

	return call(index, WORT_IOC_INDEX_INFO, &arg) ? 0 : arg.out_dram_bytes;
}

/* Whether all records are found; what the engine keeps of them in DRAM is made again. */
static bool all_found(int index)
{
	__u64 value;
	__u32 i;

	for (i = 0; i < NR_SHADOWED; i++)
		if (lookup_raw(index, &i, sizeof(i), &value, sizeof(value), NULL) !=
		    sizeof(value) || value != i)
			return false;
	return true;
}

static bool fill(int index)
{
	__u64 value;
	__u32 i;
	int err = 0;

	for (i = 0; i < NR_SHADOWED && !err; i++) {
		value = i;
		err = insert_raw(index, &i, sizeof(i), &value, sizeof(value), 0);
	}
	return !err;
}

/* Whether there is less of it once the caches of the kernel were dropped. */
static bool gives_back(int index)
{
	const struct timespec while_it_may = { .tv_nsec = 10000000 };
	__u64 before = dram_of(index);
	int tries;

	for (tries = 0; tries < 100 && dram_of(index) >= before; tries++) {
		if (write_file("/proc/sys/vm/drop_caches", "2"))
			return false;
		nanosleep(&while_it_may, NULL);
	}
	return dram_of(index) < before;
}

/* Not every engine keeps much in DRAM, but one does. */
TEST_F(index, dram_is_given_back)
{
	const struct engine_row *engine;
	int index, nr = 0;

	if (test_engine() != &engine_rows[0])
		SKIP(return, "of all engines, once");
	if (engines_mandatory())
		SKIP(return, "engines do without what is optional");
	for (engine = engine_rows; engine->name; engine++) {
		index = open_index_with(self->pool.fd, engine->name,
					WORT_INDEX_OPEN_F_CREATE, engine->id, 0);
		if (index == -EOPNOTSUPP)
			continue;
		ASSERT_LE(0, index);
		ASSERT_EQ(true, fill(index));
		ASSERT_EQ(true, all_found(index));
		nr += gives_back(index);
		EXPECT_EQ(true, all_found(index));
		close(index);
	}
	EXPECT_LE(1, nr);
}

TEST_F(index, stats_as_many_as_fit)
{
	struct wort_op_stats stats[2] = { };
	struct wort_stats_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(stats),
		.buf_len = sizeof(stats[0]) + 8,
		.stride = sizeof(stats[0]),
	};

	stats[1].ops = 77;
	ASSERT_EQ(0, call(self->fd, WORT_IOC_STATS, &arg));
	EXPECT_EQ(WORT_OP_NR, arg.out_count);
	EXPECT_EQ(77, stats[1].ops);
}

/* Elements as the first version had them, and as a later one may have them. */
TEST_F(index, stats_strides)
{
	const __u32 strides[] = { 72, 80, 96 }, bad[] = { 8, 64, 73, 76, 4104, ~7U };
	__u64 words[WORT_OP_NR * 12 + 1];
	struct wort_stats_arg arg = {
		.size = sizeof(arg), .buf_ptr = PTR(words),
	};
	__u32 i, k, per;

	ASSERT_EQ(0, insert(self->fd, "a", "1"));
	for (i = 0; i < 4; i++) {
		arg.stride = i < 3 ? strides[i] : 0;
		per = (arg.stride ?: 72) / 8;
		arg.buf_len = WORT_OP_NR * per * 8;
		memset(words, 0xaa, sizeof(words));
		ASSERT_EQ(0, call(self->fd, WORT_IOC_STATS, &arg));
		EXPECT_EQ(1, words[WORT_OP_INSERT * per]);
		for (k = WORT_OP_INSERT * per + 9; k < (WORT_OP_INSERT + 1) * per; k++)
			EXPECT_EQ(0, words[k]);
		EXPECT_EQ(0xaaaaaaaaaaaaaaaaULL, words[WORT_OP_NR * per]);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		arg.stride = bad[i];
		EXPECT_EQ(-EINVAL, call(self->fd, WORT_IOC_STATS, &arg));
	}
	arg.size = offsetof(struct wort_stats_arg, stride);
	arg.buf_len = WORT_OP_NR * 72;
	ASSERT_EQ(0, call(self->fd, WORT_IOC_STATS, &arg));
	EXPECT_EQ(1, words[WORT_OP_INSERT * 9]);
}

TEST_HARNESS_MAIN
