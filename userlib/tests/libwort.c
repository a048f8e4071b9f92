// SPDX-License-Identifier: GPL-2.0-only
/*
 * libwort against the module: libwort [-m] POOL, an attached pool that may be
 * written to; -m: with lookups in a mapping.  Silent but for what fails; 0 if
 * nothing does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wort.h>

#define NR	5000

static int failures;

#define CHECK(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		failures++;						\
	}								\
} while (0)

static void key_of(unsigned int i, char *key)
{
	sprintf(key, "k%06u", i);
}

static struct wort_index *open_fresh(struct wort_pool *pool, const char *name)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts),
		.flags = WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL,
	};
	struct wort_index *index = NULL;
	int err = wort_pool_destroy(pool, name);

	CHECK(!err || err == -ENOENT);
	err = wort_index_open(pool, name, &opts, &index);
	if (err) {
		fprintf(stderr, "cannot make an index: %s\n", strerror(-err));
		exit(1);
	}
	CHECK(wort_index_open(pool, name, &opts, &index) == -EEXIST);
	return index;
}

static void check_single(struct wort_index *index)
{
	char buf[16];
	size_t len = sizeof(buf);

	CHECK(wort_put(index, "a", 1, "one", 3, 0) == 0);
	CHECK(wort_put(index, "a", 1, "two", 3, WORT_INSERT_F_CREATE) ==
	      -EEXIST);
	CHECK(wort_put(index, "b", 1, "two", 3, WORT_INSERT_F_REPLACE) ==
	      -ENOENT);
	CHECK(wort_get(index, "a", 1, buf, &len) == 0 && len == 3);
	CHECK(!memcmp(buf, "one", 3));
	len = 2;
	CHECK(wort_get(index, "a", 1, buf, &len) == -ERANGE && len == 3);
	CHECK(wort_put(index, "", 0, "x", 1, 0) == -EINVAL);
	CHECK(wort_put(index, buf, WORT_KEY_MAX + 1, "x", 1, 0) == -EMSGSIZE);
	CHECK(wort_put(index, buf, (1ULL << 32) + 1, "x", 1, 0) == -EMSGSIZE);
	CHECK(wort_put(index, "a", 1, "x", 1, 1U << 31) == -EOPNOTSUPP);
	CHECK(wort_del(index, "a", 1) == 0);
	CHECK(wort_del(index, "a", 1) == -ENOENT);
}

static void check_fetch(struct wort_index *index)
{
	char buf[4];
	struct wort_old old = { .buf = buf, .size = sizeof(buf) };

	CHECK(wort_put_fetch(index, "f", 1, "one", 3, 0, &old) == 0);
	CHECK(!old.found);
	CHECK(wort_put_fetch(index, "f", 1, "two", 3, 0, &old) == 0);
	CHECK(old.found && old.len == 3 && !memcmp(buf, "one", 3));
	CHECK(wort_put_fetch(index, "f", 1, "x", 1, WORT_INSERT_F_CREATE,
			     &old) == -EEXIST);
	CHECK(old.found && old.len == 3 && !memcmp(buf, "two", 3));
	CHECK(wort_cas(index, "f", 1, "one", 3, "x", 1, NULL) == -ECANCELED);
	CHECK(wort_cas(index, "f", 1, "one", 3, "x", 1, &old) == -ECANCELED);
	CHECK(old.found && old.len == 3 && !memcmp(buf, "two", 3));
	CHECK(wort_cas(index, "f", 1, buf, old.len, "three", 5, &old) == 0);
	CHECK(wort_cas(index, "f", 1, "three", 5, "", 0, &old) == -ERANGE);
	CHECK(old.found && old.len == 5);
	CHECK(wort_cas(index, "f", 1, "three", 5, "", 0, NULL) == 0);
	CHECK(wort_cas(index, "g", 1, "", 0, "", 0, &old) == -ENOENT);
	CHECK(!old.found);
	CHECK(wort_del_if(index, "f", 1, "x", 1, &old) == -ECANCELED);
	CHECK(old.found && old.len == 0);
	CHECK(wort_del_if(index, "f", 1, "", (1ULL << 32), &old) == -EMSGSIZE);
	CHECK(!old.found);
	CHECK(wort_del_if(index, "f", 1, "", 0, &old) == 0);
	CHECK(old.found && old.len == 0);
	CHECK(wort_del_if(index, "f", 1, NULL, 0, &old) == -ENOENT);
}

static void fill(struct wort_index *index, struct wort_batch *batch)
{
	unsigned int i;
	char key[16];
	int err;

	for (i = 0; i < NR; i++) {
		key_of(i, key);
		err = wort_batch_put(batch, key, 7, &i, sizeof(i), 0);
		if (err == -ENOBUFS) {
			CHECK(wort_batch_submit(batch, index, 0) == 0);
			CHECK(wort_batch_done(batch) ==
			      wort_batch_count(batch));
			wort_batch_reset(batch);
			err = wort_batch_put(batch, key, 7, &i, sizeof(i), 0);
		}
		CHECK(!err);
	}
	CHECK(wort_batch_submit(batch, index, 0) == 0);
	CHECK(wort_batch_failed(batch) == 0);
	wort_batch_reset(batch);
}

static void check_answers(struct wort_index *index, struct wort_batch *batch)
{
	struct wort_batch_item item;
	unsigned int val;

	CHECK(wort_batch_get(batch, "k000007", 7, 100) == 0);
	CHECK(wort_batch_get(batch, "k000007", 7, 2) == 0);
	CHECK(wort_batch_del(batch, "nobody", 6) == 0);
	CHECK(wort_batch_put(batch, "k000007", 7, "", 0, 0) == 0);
	CHECK(wort_batch_get(batch, "k000007", 7, 100) == 0);
	CHECK(wort_batch_submit(batch, index, 0) == 0);
	CHECK(wort_batch_done(batch) == 5 && wort_batch_failed(batch) == 2);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	memcpy(&val, item.value, sizeof(val));
	CHECK(item.value_len == 4 && val == 7);
	CHECK(wort_batch_next(batch, &item) == 1 && item.error == -ERANGE);
	CHECK(item.value_len == 4);
	CHECK(wort_batch_next(batch, &item) == 1 && item.error == -ENOENT);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	CHECK(item.value_len == 0);
	CHECK(wort_batch_next(batch, &item) == 0);
	wort_batch_reset(batch);
	CHECK(wort_batch_del(batch, "nobody", 6) == 0);
	CHECK(wort_batch_put(batch, "never", 5, "", 0, 0) == 0);
	CHECK(wort_batch_submit(batch, index, WORT_BATCH_F_STOP) == 0);
	CHECK(wort_batch_done(batch) == 1 && wort_batch_failed(batch) == 1);
	wort_batch_reset(batch);
}

static void check_requests(struct wort_index *index, struct wort_batch *batch)
{
	struct wort_batch_request req = {
		.sz = sizeof(req), .op = WORT_BATCH_CAS, .flags = WORT_F_FETCH,
		.key = "r", .key_len = 1, .expect = "one", .expect_len = 3,
		.value = "two", .value_len = 3, .max_len = 3,
	};
	struct wort_batch_item item;

	CHECK(wort_batch_put(batch, "r", 1, "one", 3, 0) == 0);
	CHECK(wort_batch_add(batch, &req) == 0);
	CHECK(wort_batch_add(batch, &req) == 0);
	req.op = WORT_BATCH_DELETE;
	req.flags = WORT_DELETE_F_EXPECT | WORT_F_FETCH;
	req.expect = "two";
	req.value_len = 0;
	CHECK(wort_batch_add(batch, &req) == 0);
	CHECK(wort_batch_add(batch, &req) == 0);
	req.flags = 1U << 16;
	CHECK(wort_batch_add(batch, &req) == -EOPNOTSUPP);
	CHECK(wort_batch_submit(batch, index, 0) == 0);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	CHECK(!item.value);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	CHECK(item.value_len == 3 && !memcmp(item.value, "one", 3));
	CHECK(wort_batch_next(batch, &item) == 1 && item.error == -ECANCELED);
	CHECK(item.value_len == 3 && !memcmp(item.value, "two", 3));
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	CHECK(item.value_len == 3 && !memcmp(item.value, "two", 3));
	CHECK(wort_batch_next(batch, &item) == 1 && item.error == -ENOENT);
	CHECK(!item.value && !item.value_len);
	wort_batch_reset(batch);
}

/* No length becomes a short one by losing its upper half. */
static void check_lengths(struct wort_index *index, struct wort_batch *batch)
{
	const size_t huge = (1ULL << 32) + 1;
	const struct wort_batch_request requests[] = {
		{ .sz = sizeof(*requests), .op = WORT_BATCH_DELETE, .key = "a", .key_len = huge },
		{ .sz = sizeof(*requests), .op = WORT_BATCH_CAS, .key = "a", .key_len = 1,
		  .expect = "v", .expect_len = huge },
		{ .sz = sizeof(*requests), .op = WORT_BATCH_INSERT, .key = "a", .key_len = 1,
		  .value = "v", .value_len = huge },
	};
	struct wort_scan_opts opts = { .sz = sizeof(opts), .start = "a", .start_len = huge };
	char value[4];
	size_t len = huge;
	uint64_t count;
	unsigned int i;

	CHECK(wort_put(index, "a", 1, "v", 1, 0) == 0);
	CHECK(wort_get(index, "a", huge, value, &len) == -EMSGSIZE);
	CHECK(wort_get(index, "a", 1, value, &len) == 0 && len == 1);
	CHECK(wort_put(index, "a", 1, "w", huge, 0) == -EMSGSIZE);
	CHECK(wort_put(index, "a", huge, "w", 1, 0) == -EMSGSIZE);
	CHECK(wort_cas(index, "a", huge, "v", 1, "w", 1, NULL) == -EMSGSIZE);
	CHECK(wort_cas(index, "a", 1, "v", huge, "w", 1, NULL) == -EMSGSIZE);
	CHECK(wort_cas(index, "a", 1, "v", 1, "w", huge, NULL) == -EMSGSIZE);
	CHECK(wort_del(index, "a", huge) == -EMSGSIZE);
	CHECK(wort_del_if(index, "a", 1, "v", huge, NULL) == -EMSGSIZE);
	CHECK(wort_count(index, &opts, &count) == -EMSGSIZE);
	opts = (struct wort_scan_opts){ .sz = sizeof(opts), .bound = "a", .bound_len = huge };
	CHECK(wort_count(index, &opts, &count) == -EMSGSIZE);
	for (i = 0; i < 3; i++)
		CHECK(wort_batch_add(batch, &requests[i]) == -EMSGSIZE);
	CHECK(wort_batch_count(batch) == 0);
	len = sizeof(value);
	CHECK(wort_get(index, "a", 1, value, &len) == 0 && len == 1 && value[0] == 'v');
	CHECK(wort_del(index, "a", 1) == 0);
}

/* Operations and answers each have room for so many bytes. */
static void check_room(struct wort_index *index)
{
	struct wort_batch_opts opts = { .sz = sizeof(opts), .max_bytes = 256 };
	static char value[256];
	struct wort_batch_item item;
	struct wort_batch *batch;

	CHECK(wort_batch_new(&opts, &batch) == 0);
	CHECK(wort_batch_put(batch, "a", 1, value, 256, 0) == -EMSGSIZE);
	CHECK(wort_batch_get(batch, "a", 1, 256) == -EMSGSIZE);
	CHECK(wort_batch_put(batch, "a", 1, value, 150, 0) == 0);
	CHECK(wort_batch_put(batch, "b", 1, value, 150, 0) == -ENOBUFS);
	CHECK(wort_batch_get(batch, "a", 1, 150) == 0);
	CHECK(wort_batch_get(batch, "a", 1, 150) == -ENOBUFS);
	CHECK(wort_batch_count(batch) == 2);
	CHECK(wort_batch_submit(batch, index, 0) == 0);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error);
	CHECK(wort_batch_next(batch, &item) == 1 && !item.error && item.value_len == 150);
	wort_batch_free(batch);
	CHECK(wort_del(index, "a", 1) == 0);
}

static void check_batch(struct wort_index *index)
{
	struct wort_batch_opts opts = { .sz = sizeof(opts), .max_ops = 100 };
	struct wort_batch *batch;

	CHECK(wort_batch_new(&opts, &batch) == 0);
	fill(index, batch);
	check_answers(index, batch);
	check_requests(index, batch);
	check_lengths(index, batch);
	check_room(index);
	wort_batch_free(batch);
}

static void expect_value(struct wort_index *index, const char *key,
			 const char *value)
{
	char buf[16];
	size_t len = sizeof(buf);
	int err = wort_get(index, key, strlen(key), buf, &len);

	CHECK(err == (value ? 0 : -ENOENT));
	CHECK(!value || (len == strlen(value) && !memcmp(buf, value, len)));
}

/* A rename from one index to another, refused by one operation after the other. */
static void check_rename(struct wort_index *a, struct wort_index *b,
			 struct wort_atomic *atomic)
{
	unsigned int refused;

	CHECK(wort_atomic_expect_absent(atomic, b, "new", 3) == 0);
	CHECK(wort_atomic_expect(atomic, a, "old", 3, "one", 3) == 0);
	CHECK(wort_atomic_del(atomic, a, "old", 3) == 0);
	CHECK(wort_atomic_put(atomic, b, "new", 3, "one", 3,
			      WORT_INSERT_F_CREATE) == 0);
	CHECK(wort_atomic_cas(atomic, a, "count", 5, "1", 1, "2", 1) == 0);
	CHECK(wort_atomic_expect_present(atomic, b, "new", 3) == 0);
	CHECK(wort_atomic_count(atomic) == 6);
	CHECK(wort_atomic_commit(atomic, &refused) == -ENOENT && refused == 1);
	CHECK(wort_put(a, "old", 3, "other", 5, 0) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -ECANCELED);
	CHECK(refused == 1);
	CHECK(wort_put(a, "old", 3, "one", 3, 0) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -ENOENT && refused == 4);
	expect_value(a, "old", "one");
	expect_value(b, "new", NULL);
	CHECK(wort_put(a, "count", 5, "1", 1, 0) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == 0);
	CHECK(refused == WORT_NO_VALUE);
	expect_value(a, "old", NULL);
	expect_value(b, "new", "one");
	expect_value(a, "count", "2");
	CHECK(wort_atomic_commit(atomic, &refused) == -EEXIST && refused == 0);
	CHECK(wort_atomic_commit(atomic, NULL) == -EEXIST);
	wort_atomic_reset(atomic);
	CHECK(wort_atomic_count(atomic) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == 0);
}

static void expect_answer(struct wort_atomic *atomic, int error,
			  const char *value, size_t len)
{
	struct wort_batch_item item;

	CHECK(wort_atomic_next(atomic, &item) == 1);
	CHECK(item.error == error && item.value_len == len);
	CHECK(!value == !item.value);
	CHECK(!value || !memcmp(item.value, value, len));
}

static void check_atomic_answers(struct wort_index *a, struct wort_index *b,
				 struct wort_atomic *atomic)
{
	struct wort_batch_request req = {
		.sz = sizeof(req), .op = WORT_BATCH_INSERT,
		.flags = WORT_F_FETCH, .key = "new", .key_len = 3,
		.value = "three", .value_len = 5, .max_len = 100,
	};
	struct wort_batch_item item;
	unsigned int refused;

	CHECK(wort_atomic_get(atomic, a, "count", 5, 100) == 0);
	CHECK(wort_atomic_get(atomic, a, "old", 3, 100) == 0);
	CHECK(wort_atomic_get(atomic, b, "new", 3, 2) == 0);
	CHECK(wort_atomic_add(atomic, b, &req) == 0);
	CHECK(wort_atomic_get(atomic, b, "new", 3, 5) == 0);
	CHECK(wort_atomic_next(atomic, &item) == 0);
	CHECK(wort_atomic_commit(atomic, NULL) == 0);
	expect_answer(atomic, 0, "2", 1);
	expect_answer(atomic, -ENOENT, NULL, 0);
	expect_answer(atomic, -ERANGE, NULL, 3);
	expect_answer(atomic, 0, "one", 3);
	expect_answer(atomic, 0, "three", 5);
	CHECK(wort_atomic_next(atomic, &item) == 0);
	req.max_len = 4;
	CHECK(wort_atomic_add(atomic, b, &req) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -ERANGE && refused == 5);
	CHECK(wort_atomic_next(atomic, &item) == 0);
	wort_atomic_reset(atomic);
	req.op = 77;
	CHECK(wort_atomic_get(atomic, a, "count", 5, 0) == 0);
	CHECK(wort_atomic_add(atomic, a, &req) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -EOPNOTSUPP);
	CHECK(refused == 1);
	req.flags = 1U << 16;
	CHECK(wort_atomic_add(atomic, b, &req) == -EOPNOTSUPP);
	CHECK(wort_atomic_put(atomic, a, "k", 1, "", 0, WORT_F_FETCH) ==
	      -EOPNOTSUPP);
	wort_atomic_reset(atomic);
}

static void check_atomic_limits(struct wort_index *a, struct wort_atomic *atomic)
{
	static char value[WORT_VALUE_MAX];
	unsigned int i, refused;
	char key[16];

	for (i = 0; i < WORT_ATOMIC_MAX; i++) {
		key_of(i, key);
		CHECK(wort_atomic_put(atomic, a, key, 7, "v", 1, 0) == 0);
	}
	CHECK(wort_atomic_put(atomic, a, "k", 1, "", 0, 0) == -EMSGSIZE);
	CHECK(wort_atomic_commit(atomic, NULL) == 0);
	wort_atomic_reset(atomic);
	for (i = 0; i < 3; i++) {
		key_of(i, key);
		CHECK(wort_atomic_put(atomic, a, key, 7, value, sizeof(value),
				      0) == 0);
	}
	CHECK(wort_atomic_put(atomic, a, "k", 1, value, sizeof(value), 0) ==
	      -EMSGSIZE);
	CHECK(wort_atomic_count(atomic) == 3);
	CHECK(wort_atomic_commit(atomic, NULL) == 0);
	CHECK(wort_atomic_put(atomic, a, "", 0, "", 0, 0) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -EINVAL && refused == 3);
	CHECK(wort_atomic_put(atomic, a, value, WORT_KEY_MAX + 1, "", 0, 0) ==
	      -EMSGSIZE);
	CHECK(wort_atomic_put(atomic, a, "k", (1ULL << 32) + 1, "", 0, 0) ==
	      -EMSGSIZE);
	wort_atomic_reset(atomic);
	for (i = 0; i < 3; i++)
		CHECK(wort_atomic_get(atomic, a, "k", 1, WORT_VALUE_MAX) == 0);
	CHECK(wort_atomic_get(atomic, a, "k", 1, WORT_VALUE_MAX) == -EMSGSIZE);
	CHECK(wort_atomic_count(atomic) == 3);
	wort_atomic_reset(atomic);
}

/* Its indexes stay open, and none that has got a number of theirs is changed. */
static void check_atomic_holds(struct wort_pool *pool, struct wort_atomic *atomic)
{
	struct wort_index *a = open_fresh(pool, "a"), *b = open_fresh(pool, "b");
	unsigned int refused;
	int fd = wort_index_fd(a);

	CHECK(wort_atomic_put(atomic, a, "k", 1, "a", 1, 0) == 0);
	CHECK(wort_atomic_put(atomic, b, "k", 1, "b", 1, 0) == 0);
	wort_index_close(a);
	wort_index_close(b);
	CHECK(wort_index_open(pool, "b", NULL, &b) == 0);
	CHECK(wort_atomic_commit(atomic, NULL) == 0);
	wort_atomic_reset(atomic);
	expect_value(b, "k", "b");
	CHECK(wort_index_open(pool, "a", NULL, &a) == 0);
	CHECK(wort_index_fd(a) <= fd);
	expect_value(a, "k", "a");
	CHECK(wort_atomic_put(atomic, b, "k", 1, "c", 1, 0) == 0);
	CHECK(wort_atomic_put(atomic, a, "k", 1, "c", 1, 0) == 0);
	CHECK(wort_pool_destroy(pool, "a") == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -ESTALE);
	CHECK(refused == WORT_NO_VALUE);
	wort_atomic_reset(atomic);
	expect_value(b, "k", "b");
	wort_index_close(a);
	wort_index_close(b);
	CHECK(wort_pool_destroy(pool, "b") == 0);
}

static void check_atomic_readonly(struct wort_pool *pool,
				  struct wort_atomic *atomic)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_RDONLY,
	};
	struct wort_index *a = open_fresh(pool, "a"), *r;
	unsigned int refused;

	CHECK(wort_index_open(pool, "a", &opts, &r) == 0);
	CHECK(wort_atomic_expect_absent(atomic, r, "k", 1) == 0);
	CHECK(wort_atomic_put(atomic, a, "k", 1, "v", 1, 0) == 0);
	CHECK(wort_atomic_commit(atomic, NULL) == 0);
	expect_value(r, "k", "v");
	CHECK(wort_atomic_del(atomic, r, "k", 1) == 0);
	CHECK(wort_atomic_commit(atomic, &refused) == -EBADF && refused == 2);
	wort_atomic_reset(atomic);
	wort_index_close(a);
	wort_index_close(r);
	CHECK(wort_pool_destroy(pool, "a") == 0);
}

static void check_atomic(struct wort_pool *pool)
{
	struct wort_index *a = open_fresh(pool, "x"), *b = open_fresh(pool, "y");
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct wort_atomic *atomic;

	CHECK(wort_atomic_new(&atomic) == 0);
	check_rename(a, a, atomic);
	CHECK(wort_del(a, "new", 3) == 0 && wort_del(a, "count", 5) == 0);
	check_rename(a, b, atomic);
	check_atomic_answers(a, b, atomic);
	check_atomic_limits(a, atomic);
	wort_index_close(a);
	wort_index_close(b);
	CHECK(wort_pool_destroy(pool, "x") == 0);
	CHECK(wort_pool_destroy(pool, "y") == 0);
	check_atomic_holds(pool, atomic);
	check_atomic_readonly(pool, atomic);
	wort_atomic_free(atomic);
	wort_atomic_free(NULL);
	CHECK(wort_pool_info(pool, &info) == 0);
	CHECK(info.out_atomic_batches && info.out_atomic_refused);
}

/* Records from @from on, @step apart, @nr of them, then the end. */
static void expect_scan(struct wort_index *index,
			const struct wort_scan_opts *opts, int from, int step,
			int nr)
{
	struct wort_scan_item item;
	struct wort_scan *scan;
	char key[16];
	int i;

	CHECK(wort_scan_begin(index, opts, &scan) == 0);
	for (i = 0; i < nr; i++) {
		key_of(from + i * step, key);
		if (wort_scan_next(scan, &item) != 1 || item.key_len != 7 ||
		    memcmp(item.key, key, 7)) {
			CHECK(!"the next key");
			break;
		}
	}
	CHECK(wort_scan_next(scan, &item) == 0);
	CHECK(wort_scan_next(scan, &item) == 0);
	wort_scan_end(scan);
}

static void check_scan(struct wort_index *index)
{
	struct wort_scan_opts opts = { .sz = sizeof(opts) };
	uint64_t count;

	expect_scan(index, NULL, 0, 1, NR);
	/* Small buffers, so that scans go on many times. */
	opts.buf_size = 1;
	opts.flags = WORT_SCAN_F_REVERSE;
	expect_scan(index, &opts, NR - 1, -1, NR);
	opts.max_count = 10;
	expect_scan(index, &opts, NR - 1, -1, 10);
	opts.flags = WORT_SCAN_F_PREFIX | WORT_SCAN_F_KEYS;
	opts.max_count = 0;
	opts.bound = "k0001";
	opts.bound_len = 5;
	expect_scan(index, &opts, 100, 1, 100);
	CHECK(wort_count(index, &opts, &count) == 0 && count == 100);
	opts.flags = WORT_SCAN_F_AFTER;
	opts.start = "k000010";
	opts.start_len = 7;
	opts.bound = "k000020";
	opts.bound_len = 7;
	expect_scan(index, &opts, 11, 1, 9);
	CHECK(wort_count(index, &opts, &count) == 0 && count == 9);
	CHECK(wort_count(index, NULL, &count) == 0 && count == NR);
}

/* Empty keys are keys that nothing is before, and not as if there were none. */
static void check_empty_keys(struct wort_index *index)
{
	struct wort_scan_opts opts = {
		.sz = sizeof(opts), .start = "", .bound = "",
	};
	uint64_t count = 1;

	expect_scan(index, &opts, 0, 1, 0);
	CHECK(wort_count(index, &opts, &count) == 0 && count == 0);
	opts.flags = WORT_SCAN_F_PREFIX;
	expect_scan(index, &opts, 0, 1, NR);
	opts.flags = WORT_SCAN_F_AFTER;
	opts.bound = NULL;
	expect_scan(index, &opts, 0, 1, NR);
	opts.flags = WORT_SCAN_F_REVERSE;
	expect_scan(index, &opts, NR - 1, -1, 0);
	CHECK(wort_count(index, &opts, &count) == 0 && count == 0);
	opts.start = NULL;
	opts.bound = "";
	expect_scan(index, &opts, NR - 1, -1, NR);
	opts.bound_len = 1ULL << 32;
	CHECK(wort_count(index, &opts, &count) == -EMSGSIZE);
	opts.flags = WORT_SCAN_F_COUNT;
	CHECK(wort_count(index, NULL, &count) == 0);
	CHECK(wort_count(index, &opts, &count) == -EOPNOTSUPP);
}

/* A scan goes on in its own index, whoever has got the number of that since. */
static void check_scan_holds(struct wort_pool *pool)
{
	struct wort_scan_opts opts = { .sz = sizeof(opts), .buf_size = 1 };
	struct wort_index *a = open_fresh(pool, "a"), *b = open_fresh(pool, "b");
	static char value[60000];
	struct wort_scan_item item;
	struct wort_scan *scan;
	int i, fd = wort_index_fd(a);

	for (i = 0; i < 3; i++) {
		CHECK(!wort_put(a, &"abc"[i], 1, value, sizeof(value), 0));
		CHECK(!wort_put(b, &"xyz"[i], 1, value, sizeof(value), 0));
	}
	wort_index_close(b);
	CHECK(wort_scan_begin(a, &opts, &scan) == 0);
	CHECK(wort_scan_next(scan, &item) == 1);
	wort_index_close(a);
	CHECK(wort_index_open(pool, "b", NULL, &b) == 0);
	for (i = 1; i < 3; i++)
		CHECK(wort_scan_next(scan, &item) == 1 && item.key_len == 1 &&
		      *(const char *)item.key == "abc"[i]);
	CHECK(wort_scan_next(scan, &item) == 0);
	wort_scan_end(scan);
	wort_index_close(b);
	/* With the scan the descriptor goes. */
	CHECK(wort_index_open(pool, "a", NULL, &a) == 0);
	CHECK(wort_index_fd(a) <= fd);
	wort_index_close(a);
	CHECK(wort_pool_destroy(pool, "a") == 0);
	CHECK(wort_pool_destroy(pool, "b") == 0);
}

static void check_opts(struct wort_index *index)
{
	struct {
		struct wort_scan_opts known;
		unsigned long later;
	} opts = { .known.sz = sizeof(opts) };
	uint64_t count;

	CHECK(wort_count(index, &opts.known, &count) == 0);
	opts.later = 1;
	CHECK(wort_count(index, &opts.known, &count) == -E2BIG);
	opts.known.sz = 1;
	CHECK(wort_count(index, &opts.known, &count) == -EINVAL);
	opts.known.sz = 1ULL << 46;
	CHECK(wort_count(index, &opts.known, &count) == -E2BIG);
}

static void check_pool(struct wort_pool *pool, struct wort_index *index)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct wort_index_info_arg iinfo = { .size = sizeof(iinfo) };
	struct wort_check_arg check = { .size = sizeof(check) };
	struct wort_op_stats stats[WORT_OP_NR];
	struct wort_index_record rec, many[8];
	bool more;

	CHECK(wort_pool_info(pool, &info) == 0 && info.out_nr_indexes);
	CHECK(wort_index_info(index, &iinfo) == 0);
	CHECK(iinfo.out_name_len == 7 && !memcmp(iinfo.out_name, "libwort", 7));
	CHECK(wort_pool_check(pool, &check) == 0 && !check.out_nr_damaged);
	CHECK(wort_index_stats(index, stats, sizeof(*stats), WORT_OP_NR) >= WORT_OP_NR);
	CHECK(stats[WORT_OP_INSERT].ops >= NR + 1);
	CHECK(wort_index_stats(index, stats, 0, WORT_OP_NR) == -EINVAL);
	CHECK(wort_pool_list(pool, iinfo.out_id - 1, &rec, 1, &more) == 1);
	CHECK(rec.id == iinfo.out_id);
	/* More than a call of the kernel takes. */
	CHECK(wort_pool_list(pool, iinfo.out_id - 1, many, UINT_MAX, &more) == 1);
	CHECK(wort_pool_destroy(pool, "libwort") == 0);
	CHECK(wort_put(index, "a", 1, "", 0, 0) == -ESTALE);
}

static void check_map_stats(struct wort_pool *pool, bool mapped)
{
	struct wort_map_stats stats;
	int err = wort_pool_map_stats(pool, &stats);

	CHECK(err == (mapped ? 0 : -EINVAL));
	/* The walk and what is freed may make lookups begin again, once each. */
	CHECK(!mapped || !stats.fallbacks);
}

/* An index that is gone is not read on, one beside it is. */
static void check_map_destroyed(struct wort_pool *pool)
{
	struct wort_index *a = open_fresh(pool, "a"), *b = open_fresh(pool, "b");
	struct wort_map_stats stats;
	char buf[8];
	size_t len = sizeof(buf);

	CHECK(wort_put(a, "k", 1, "v", 1, 0) == 0);
	CHECK(wort_put(b, "k", 1, "v", 1, 0) == 0);
	CHECK(wort_pool_destroy(pool, "a") == 0);
	CHECK(wort_get(a, "k", 1, buf, &len) == -ESTALE);
	CHECK(wort_get(b, "k", 1, buf, &len) == 0 && len == 1);
	CHECK(wort_get(b, "k", 1, buf, &len) == 0 && len == 1);
	CHECK(wort_get(a, "k", 1, buf, &len) == -ESTALE);
	CHECK(wort_pool_map_stats(pool, &stats) == 0 && stats.fallbacks == 3);
	CHECK(wort_pool_destroy(pool, "b") == 0);
	wort_index_close(a);
	wort_index_close(b);
}

/* Openings of an index that has got another name go on, also in a mapping. */
static void check_index_rename(struct wort_pool *pool)
{
	struct wort_index *a = open_fresh(pool, "a"), *again;
	char buf[8];
	size_t len;
	int i;

	CHECK(wort_put(a, "k", 1, "v", 1, 0) == 0);
	CHECK(wort_pool_rename(pool, "a", "renamed") == 0);
	CHECK(wort_pool_rename(pool, "a", "b") == -ENOENT);
	CHECK(wort_pool_rename(pool, "renamed", "renamed") == -EEXIST);
	CHECK(wort_pool_rename(pool, "renamed", "") == -EINVAL);
	for (i = 0; i < 3; i++) {
		len = sizeof(buf);
		CHECK(wort_get(a, "k", 1, buf, &len) == 0 && len == 1 &&
		      *buf == "vwx"[i]);
		CHECK(wort_put(a, "k", 1, &"wxy"[i], 1, 0) == 0);
	}
	CHECK(wort_index_open(pool, "a", NULL, &again) == -ENOENT);
	CHECK(wort_index_open(pool, "renamed", NULL, &again) == 0);
	len = sizeof(buf);
	CHECK(wort_get(again, "k", 1, buf, &len) == 0 && *buf == 'y');
	wort_index_close(again);
	wort_index_close(a);
	CHECK(wort_pool_destroy(pool, "renamed") == 0);
}

static void check_open_flags(const char *path)
{
	struct wort_pool *pool;

	CHECK(wort_pool_open(path, O_WRONLY, &pool) == -EINVAL);
	CHECK(wort_pool_open(path, O_RDWR | O_CREAT, &pool) == -EINVAL);
	CHECK(wort_pool_open(path, O_RDWR | O_TRUNC, &pool) == -EINVAL);
	CHECK(wort_pool_open(path, O_RDWR | O_CLOEXEC, &pool) == 0);
	wort_pool_close(pool);
}

int main(int argc, char **argv)
{
	bool mapped = argc == 3 && !strcmp(argv[1], "-m");
	struct wort_index *index;
	struct wort_pool *pool;
	int err;

	if (argc != 2 + mapped) {
		fprintf(stderr, "usage: libwort [-m] POOL\n");
		return 2;
	}
	err = wort_pool_open(argv[1 + mapped], O_RDWR, &pool);
	if (!err && mapped)
		err = wort_pool_map(pool);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[1 + mapped], strerror(-err));
		return 1;
	}
	check_open_flags(argv[1 + mapped]);
	index = open_fresh(pool, "libwort");
	check_single(index);
	check_fetch(index);
	check_batch(index);
	check_scan(index);
	check_empty_keys(index);
	check_scan_holds(pool);
	check_opts(index);
	check_map_stats(pool, mapped);
	if (mapped)
		check_map_destroyed(pool);
	check_index_rename(pool);
	check_atomic(pool);
	check_pool(pool, index);
	wort_index_close(index);
	wort_pool_close(pool);
	return failures != 0;
}
