// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every allocation of memory fails in turn.
 *
 * For each command N goes up from 1, and the Nth allocation that the kernel
 * makes for us fails, until there are not so many.  A command either fails
 * with ENOMEM, nothing is changed and the same command succeeds afterwards,
 * or it succeeds as if nothing had happened (a failed allocation may have had
 * another way).  Damage and lost space are looked for each time.
 *
 * Needs a kernel with fail-nth; allocations that may wait, which is what there
 * is, are made to fail from then on.
 */
#include <sys/syscall.h>

#include "wort_test.h"

#define NR_RECORDS	40

/* What can be seen of a pool, to be compared as bytes. */
struct picture {
	size_t len;
	char bytes[64 << 10];
};

struct bed {
	struct pool pool;
	int fd;			/* of the index, or -1 */
	int nth;		/* /proc/thread-self/fail-nth */
	__u64 used;
	int (*look)(struct bed *bed, struct picture *picture);
	struct picture before, after, now;
};

/**
 * struct step - A command whose allocations fail
 * @name: for people
 * @run: 0 or a negative errno; a wrong answer is -EPROTO
 * @undo: take the success back; NULL: it changes nothing
 */
struct step {
	const char *name;
	int (*run)(struct bed *bed);
	int (*undo)(struct bed *bed);
};

static int set_up_faults(struct bed *bed)
{
	static const char * const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
	};
	char path[64];
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s",
			 settings[i][0]);
		err = write_file(path, "%s", settings[i][1]);
		if (err)
			return err;
	}
	bed->nth = open("/proc/thread-self/fail-nth", O_RDWR);
	return bed->nth < 0 ? -errno : 0;
}

static void arm(struct bed *bed, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(bed->nth, text, len, 0) != len)
		abort();
}

/* Did the one that was to fail come? */
static bool disarm(struct bed *bed)
{
	char text[16] = "";

	if (pread(bed->nth, text, sizeof(text) - 1, 0) <= 0)
		abort();
	arm(bed, 0);
	return !atoi(text);
}

static int add(struct picture *picture, const void *bytes, size_t len)
{
	if (picture->len + len > sizeof(picture->bytes))
		return -EOVERFLOW;
	memcpy(picture->bytes + picture->len, bytes, len);
	picture->len += len;
	return 0;
}

static int look_at_names(struct bed *bed, struct picture *picture)
{
	struct wort_index_record records[16];
	struct wort_index_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(records),
		.buf_len = sizeof(records),
	};
	int err = call(bed->pool.fd, WORT_IOC_INDEX_LIST, &arg);
	__u32 i;

	for (i = 0; i < arg.out_count && !err; i++)
		err = add(picture, records[i].name, sizeof(records[i].name));
	return err;
}

static int look_at_records(struct bed *bed, struct picture *picture)
{
	static char buf[32 << 10];
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(buf),
		.buf_len = sizeof(buf),
	};
	int err = call(bed->fd, WORT_IOC_SCAN, &arg);

	if (!err && arg.out_more)
		err = -EOVERFLOW;
	return err ? err : add(picture, buf, arg.out_len);
}

static int look_at_pool(struct bed *bed, struct picture *picture)
{
	int err = look_at_names(bed, picture);

	return err || bed->fd < 0 ? err : look_at_records(bed, picture);
}

/* Pools attached, and what stays of them. */
static int look_at_list(struct bed *bed, struct picture *picture)
{
	struct wort_pool_record record;
	struct wort_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(&record),
		.buf_len = sizeof(record),
	};
	int err = call(bed->pool.control, WORT_IOC_LIST, &arg);

	if (err || !arg.out_count)
		return err;
	record.state &= ~WORT_STATE_WALKING;
	err = add(picture, &record, sizeof(record));
	return err ? err : add(picture, &arg.out_more, sizeof(arg.out_more));
}

static int sound(int pool)
{
	struct wort_check_arg arg;
	int err = check(pool, 0, &arg);

	if (!err && (arg.out_nr_damaged || arg.out_nr_transient))
		err = -EUCLEAN;
	return err;
}

/* The pool on a device that nobody has attached. */
static int look_at_device(struct bed *bed, struct picture *picture)
{
	int minor = attach(bed->pool.control, test_device()), err;

	if (minor < 0)
		return minor;
	bed->pool.fd = open_pool(minor, O_RDWR);
	bed->fd = open_index(bed->pool.fd, "index", 0);
	err = sound(bed->pool.fd);
	if (!err)
		err = look_at_list(bed, picture);
	if (!err)
		err = look_at_pool(bed, picture);
	close(bed->fd);
	close(bed->pool.fd);
	return err ? err : detach(bed->pool.control, minor);
}

static int look(struct bed *bed, struct picture *picture)
{
	picture->len = 0;
	return bed->look(bed, picture);
}

static bool same(const struct picture *a, const struct picture *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* Bytes in objects that are not freed, when that is known. */
static __u64 used_bytes(struct bed *bed)
{
	struct wort_pool_info_arg arg;

	while (!info(bed->pool.fd, &arg)) {
		if (!(arg.out_state & WORT_STATE_WALKING) &&
		    !arg.out_nr_dying)
			return arg.out_used_bytes - arg.out_freeing_bytes;
		usleep(1000);
	}
	return WORT_UNKNOWN;
}

/* Both pictures, and the space in use before. */
static void rehearse(struct __test_metadata *_metadata, struct bed *bed,
		     const struct step *step)
{
	ASSERT_EQ(0, look(bed, &bed->before));
	ASSERT_EQ(0, step->run(bed));
	ASSERT_EQ(0, look(bed, &bed->after));
	if (step->undo)
		ASSERT_EQ(0, step->undo(bed));
	ASSERT_EQ(0, look(bed, &bed->now));
	ASSERT_EQ(true, same(&bed->before, &bed->now));
	if (bed->pool.fd >= 0)
		bed->used = used_bytes(bed);
}

static void judge(struct __test_metadata *_metadata, struct bed *bed,
		  const struct step *step, int n, int err, bool failed)
{
	const struct picture *right = err ? &bed->before : &bed->after;

	if (err && (!failed || err != -ENOMEM)) {
		TH_LOG("%s: error %d, allocation %d %s", step->name, err, n,
		       failed ? "failed" : "did not fail");
		EXPECT_EQ(0, err);
	}
	EXPECT_EQ(0, look(bed, &bed->now));
	if (!same(right, &bed->now)) {
		TH_LOG("%s: error %d, allocation %d failed: not what it was",
		       step->name, err, n);
		EXPECT_EQ(0, 1);
	}
	if (bed->pool.fd >= 0)
		EXPECT_EQ(0, sound(bed->pool.fd));
	if (!err && step->undo)
		ASSERT_EQ(0, step->undo(bed));
}

static void sweep(struct __test_metadata *_metadata, struct bed *bed,
		  const struct step *step)
{
	int n = 0, err, errors = 0;
	bool failed;

	rehearse(_metadata, bed, step);
	do {
		arm(bed, ++n);
		err = step->run(bed);
		failed = disarm(bed);
		errors += !!err;
		judge(_metadata, bed, step, n, err, failed);
	} while (failed);
	if (bed->pool.fd >= 0)
		EXPECT_EQ(bed->used, used_bytes(bed));
	TH_LOG("%s: %d allocations, %d of them fatal", step->name, n - 1,
	       errors);
}

static int fill(int fd)
{
	char key[32], value[96];
	int i, err = 0;

	for (i = 0; i < NR_RECORDS && !err; i++) {
		snprintf(key, sizeof(key), "record %d", i);
		memset(value, 'a' + i % 26, sizeof(value));
		err = insert_raw(fd, key, strlen(key), value,
				 i % sizeof(value), 0);
	}
	return err;
}

static int fill_pool(struct bed *bed)
{
	bed->fd = open_index(bed->pool.fd, "index", WORT_INDEX_OPEN_F_CREATE);
	return bed->fd < 0 ? bed->fd : fill(bed->fd);
}

/* On an attached pool with one index. */
FIXTURE(failnth)
{
	struct bed bed;
};

FIXTURE_SETUP(failnth)
{
	struct bed *bed = &self->bed;

	if (set_up_faults(bed))
		SKIP(return, "no fail-nth: kernel of selftests/scripts/debug.config");
	bed->look = look_at_pool;
	ASSERT_EQ(0, pool_up(&bed->pool));
	ASSERT_EQ(0, fill_pool(bed));
}

FIXTURE_TEARDOWN(failnth)
{
	close(self->bed.fd);
	pool_down(&self->bed.pool);
}

#define SECONDS	300
#define SWEEP(name, run, undo) \
	sweep(_metadata, &self->bed, &(const struct step){ name, run, undo })

static int run_open_pool(struct bed *bed)
{
	int fd = open_pool(bed->pool.minor, O_RDWR);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int run_open_control(struct bed *bed)
{
	int fd = open(CONTROL, O_RDWR);

	(void)bed;
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

TEST_F_TIMEOUT(failnth, open_devices, SECONDS)
{
	SWEEP("open of a pool", run_open_pool, NULL);
	SWEEP("open of the control device", run_open_control, NULL);
}

static int open_and_close(struct bed *bed, const char *name, __u32 flags)
{
	int fd = open_index(bed->pool.fd, name, flags);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int run_index_open(struct bed *bed)
{
	return open_and_close(bed, "index", 0);
}

static int run_index_create(struct bed *bed)
{
	return open_and_close(bed, "a name that takes more than the 64 bytes that lie on the stack",
			      WORT_INDEX_OPEN_F_CREATE |
			      WORT_INDEX_OPEN_F_EXCL);
}

static int undo_index_create(struct bed *bed)
{
	return destroy(bed->pool.fd, "a name that takes more than the 64 bytes that lie on the stack");
}

static int run_index_destroy(struct bed *bed)
{
	return destroy(bed->pool.fd, "other");
}

static int undo_index_destroy(struct bed *bed)
{
	int fd = open_index(bed->pool.fd, "other", WORT_INDEX_OPEN_F_CREATE);
	int err = fd < 0 ? fd : fill(fd);

	close(fd);
	return err;
}

#define LONG_NAME	"also a name that takes more than the 64 bytes that lie on the stack"

static int run_index_rename(struct bed *bed)
{
	return rename_index(bed->pool.fd, "other", LONG_NAME);
}

static int undo_index_rename(struct bed *bed)
{
	return rename_index(bed->pool.fd, LONG_NAME, "other");
}

static int run_index_list(struct bed *bed)
{
	struct picture *picture = calloc(1, sizeof(*picture));
	int err = look_at_names(bed, picture);

	free(picture);
	return err;
}

TEST_F_TIMEOUT(failnth, indexes, SECONDS)
{
	SWEEP("index_open", run_index_open, NULL);
	SWEEP("index_open with CREATE", run_index_create, undo_index_create);
	ASSERT_EQ(0, undo_index_destroy(&self->bed));
	SWEEP("index_rename", run_index_rename, undo_index_rename);
	SWEEP("index_destroy", run_index_destroy, undo_index_destroy);
	SWEEP("index_list", run_index_list, NULL);
}

static int run_pool_info(struct bed *bed)
{
	struct wort_pool_info_arg arg;
	int err = info(bed->pool.fd, &arg);

	return err || arg.out_nr_indexes ? err : -EPROTO;
}

static int run_check(struct bed *bed)
{
	struct wort_check_arg arg;
	int err = check(bed->pool.fd, 0, &arg);

	if (!err && (arg.out_nr_leaves != NR_RECORDS || arg.out_nr_damaged))
		err = -EPROTO;
	return err;
}

static int run_clear(struct bed *bed)
{
	struct wort_check_arg arg;

	return check(bed->pool.fd, WORT_CHECK_F_CLEAR, &arg);
}

TEST_F_TIMEOUT(failnth, pool, SECONDS)
{
	SWEEP("pool_info", run_pool_info, NULL);
	SWEEP("check", run_check, NULL);
	SWEEP("check with CLEAR", run_clear, NULL);
}

/* A key and a value, set by the tests. */
static char key[WORT_KEY_MAX], value[WORT_VALUE_MAX];
static __u32 key_len, value_len;

static void set_record(const char *text, __u32 len, __u32 size)
{
	memset(key, 'k', sizeof(key));
	memcpy(key, text, strlen(text));
	memset(value, 'v', sizeof(value));
	key_len = len;
	value_len = size;
}

static int run_insert(struct bed *bed)
{
	return insert_raw(bed->fd, key, key_len, value, value_len,
			  WORT_INSERT_F_CREATE);
}

static int run_delete(struct bed *bed)
{
	return delete_raw(bed->fd, key, key_len);
}

static int run_lookup(struct bed *bed)
{
	static char back[WORT_VALUE_MAX];
	int len = lookup_raw(bed->fd, key, key_len, back, sizeof(back), NULL);

	if (len < 0)
		return len;
	return len != (int)value_len || memcmp(back, value, len) ? -EPROTO : 0;
}

static int run_update(struct bed *bed)
{
	return insert_raw(bed->fd, key, key_len, "12345678", 8,
			  WORT_INSERT_F_REPLACE);
}

static char old[WORT_VALUE_MAX];

static int run_fetch(struct bed *bed)
{
	struct wort_insert_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_INSERT_F_REPLACE | WORT_F_FETCH,
		.key_ptr = PTR(key), .key_len = key_len,
		.value_ptr = PTR("12345678"), .value_len = 8,
		.old_ptr = PTR(old), .old_len = sizeof(old),
	};

	return call(bed->fd, WORT_IOC_INSERT, &arg);
}

static int run_cas(struct bed *bed)
{
	struct wort_cas_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_F_FETCH,
		.key_ptr = PTR(key), .key_len = key_len,
		.expect_ptr = PTR(value), .expect_len = value_len,
		.value_ptr = PTR("12345678"), .value_len = 8,
		.old_ptr = PTR(old), .old_len = sizeof(old),
	};

	return call(bed->fd, WORT_IOC_CAS, &arg);
}

static int run_delete_if(struct bed *bed)
{
	struct wort_delete_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_DELETE_F_EXPECT | WORT_F_FETCH,
		.key_ptr = PTR(key), .key_len = key_len,
		.expect_ptr = PTR(value), .expect_len = value_len,
		.old_ptr = PTR(old), .old_len = sizeof(old),
	};

	return call(bed->fd, WORT_IOC_DELETE, &arg);
}

static int undo_update(struct bed *bed)
{
	return insert_raw(bed->fd, key, key_len, value, value_len,
			  WORT_INSERT_F_REPLACE);
}

/* Each operation on a record that was not there. */
static void sweep_record(struct __test_metadata *_metadata, struct bed *bed,
			 const char *text, __u32 len, __u32 size)
{
	const struct step steps[] = {
		{ "insert", run_insert, run_delete },
		{ "lookup", run_lookup, NULL },
		{ "update", run_update, undo_update },
		{ "update with FETCH", run_fetch, undo_update },
		{ "cas with FETCH", run_cas, undo_update },
		{ "delete", run_delete, run_insert },
		{ "delete with EXPECT and FETCH", run_delete_if, run_insert },
	};
	size_t i;

	set_record(text, len, size);
	TH_LOG("key of %u bytes, value of %u:", len, size);
	sweep(_metadata, bed, &steps[0]);
	ASSERT_EQ(0, run_insert(bed));
	for (i = 1; i < ARRAY_SIZE(steps); i++)
		sweep(_metadata, bed, &steps[i]);
	ASSERT_EQ(0, run_delete(bed));
}

#define RECORD(text, len, size) \
	sweep_record(_metadata, &self->bed, text, len, size)

/* The shapes of an insert: a free slot, a split, a prefix of another key. */
TEST_F_TIMEOUT(failnth, records, SECONDS)
{
	RECORD("record 4 and more", 17, 8);
	RECORD("record", 6, 8);
	RECORD("rec", 8, 0);
	RECORD("\xff", 1, 100);
}

TEST_F_TIMEOUT(failnth, long_records, SECONDS)
{
	RECORD("long", WORT_KEY_MAX, 8);
	RECORD("record 1", 200, 5000);
	RECORD("big", 100, 20000);
}

/* A value longer than the picture takes: it stays for its sweep only. */
static int look_at_big(struct bed *bed, struct picture *picture)
{
	int err = run_lookup(bed);

	if (err && err != -ENOENT)
		return err;
	return add(picture, &err, sizeof(err));
}

TEST_F_TIMEOUT(failnth, largest_record, SECONDS)
{
	self->bed.look = look_at_big;
	set_record("largest", WORT_KEY_MAX, WORT_VALUE_MAX);
	SWEEP("insert of the largest record", run_insert, run_delete);
	ASSERT_EQ(0, run_insert(&self->bed));
	SWEEP("lookup of the largest record", run_lookup, NULL);
	SWEEP("delete of the largest record", run_delete, run_insert);
	ASSERT_EQ(0, run_delete(&self->bed));
}

#define LARGE_BUF	(1 << 20)

static int scan_with(struct bed *bed, __u32 flags, size_t size)
{
	static char buf[LARGE_BUF], start[100], bound[100];
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.start_ptr = PTR(start),
		.start_len = flags & WORT_SCAN_F_REVERSE ? 0 : sizeof(start),
		.bound_ptr = PTR(bound),
		.bound_len = flags & WORT_SCAN_F_PREFIX ? 6 : sizeof(bound),
		.buf_ptr = PTR(buf),
		.buf_len = size,
	};
	int err;

	memcpy(bound, "record", 6);
	err = call(bed->fd, WORT_IOC_SCAN, &arg);
	if (err)
		return err;
	if (flags & WORT_SCAN_F_PREFIX && arg.out_count != NR_RECORDS)
		return -EPROTO;
	return 0;
}

static int run_scan(struct bed *bed)
{
	return scan_with(bed, WORT_SCAN_F_PREFIX, 32 << 10);
}

static int run_large_scan(struct bed *bed)
{
	return scan_with(bed, WORT_SCAN_F_PREFIX, LARGE_BUF);
}

static int run_reverse_scan(struct bed *bed)
{
	return scan_with(bed, WORT_SCAN_F_REVERSE | WORT_SCAN_F_KEYS, 1 << 10);
}

static int run_count(struct bed *bed)
{
	return scan_with(bed, WORT_SCAN_F_PREFIX | WORT_SCAN_F_COUNT,
			 WORT_KEY_MAX);
}

TEST_F_TIMEOUT(failnth, scan, SECONDS)
{
	SWEEP("scan", run_scan, NULL);
	SWEEP("scan with a large buffer", run_large_scan, NULL);
	SWEEP("scan with REVERSE", run_reverse_scan, NULL);
	SWEEP("scan with COUNT", run_count, NULL);
}

#define BATCH_KEY	40

struct batch_op {
	struct wort_batch_op op;
	char key[BATCH_KEY];
	char value[BATCH_KEY];
};

/* Did operations of a batch fail, and all of them for want of memory? */
static bool no_memory(const struct wort_batch_arg *arg, const char *results)
{
	const struct wort_batch_result *result;
	__u32 at;

	for (at = 0; at < arg->out_results_len; at += result->rec_len) {
		result = (const void *)(results + at);
		if (result->error && result->error != -ENOMEM)
			return false;
	}
	return arg->out_failed;
}

/* What failed alone is repeated with all the rest, which changes nothing. */
static int batch(struct bed *bed, int op)
{
	static struct batch_op ops[8];
	static char results[8 << 10];
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.results_ptr = PTR(results),
		.ops_len = sizeof(ops),
		.results_len = sizeof(results),
		.nr_ops = ARRAY_SIZE(ops),
	};
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ops[i].op.rec_len = sizeof(ops[i]);
		ops[i].op.op = op;
		ops[i].op.key_len = BATCH_KEY;
		ops[i].op.value_len = op == WORT_BATCH_INSERT ? BATCH_KEY : 0;
		ops[i].op.max_len = op == WORT_BATCH_LOOKUP ? BATCH_KEY : 0;
		memset(ops[i].key, 'A' + i, BATCH_KEY);
	}
	err = call(bed->fd, WORT_IOC_BATCH, &arg);
	if (err)
		return arg.out_done ? -EPROTO : err;
	if (op != WORT_BATCH_DELETE && no_memory(&arg, results))
		return batch(bed, op);
	return arg.out_done != ARRAY_SIZE(ops) || arg.out_failed ? -EPROTO : 0;
}

static int run_batch(struct bed *bed)
{
	return batch(bed, WORT_BATCH_INSERT);
}

static int undo_batch(struct bed *bed)
{
	return batch(bed, WORT_BATCH_DELETE);
}

static int run_batch_lookup(struct bed *bed)
{
	return batch(bed, WORT_BATCH_LOOKUP);
}

TEST_F_TIMEOUT(failnth, batch, SECONDS)
{
	SWEEP("batch of inserts", run_batch, undo_batch);
	ASSERT_EQ(0, run_batch(&self->bed));
	SWEEP("batch of lookups", run_batch_lookup, NULL);
	SWEEP("batch of deletes", undo_batch, run_batch);
}

struct atomic_op {
	struct wort_atomic_op op;
	char key[BATCH_KEY];
	char value[BATCH_KEY];
};

/* Operations that refuse if the attempt before, which failed, has done any of them. */
static int atomic(struct bed *bed, int op)
{
	static struct atomic_op ops[8];
	static char results[1 << 10];
	struct wort_atomic_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.results_ptr = PTR(results),
		.ops_len = sizeof(ops),
		.results_len = sizeof(results),
		.nr_ops = ARRAY_SIZE(ops),
	};
	bool insert = op == WORT_BATCH_INSERT;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ops[i].op.op = (struct wort_batch_op){
			.rec_len = sizeof(ops[i]),
			.op = op,
			.flags = insert ? WORT_INSERT_F_CREATE : 0,
			.key_len = BATCH_KEY,
			.value_len = insert ? BATCH_KEY : 0,
		};
		memset(ops[i].key, 'A' + i, BATCH_KEY);
	}
	err = call(bed->fd, WORT_IOC_ATOMIC, &arg);
	return arg.out_refused == WORT_NO_VALUE ? err : -EPROTO;
}

static int run_atomic(struct bed *bed)
{
	return atomic(bed, WORT_BATCH_INSERT);
}

static int undo_atomic(struct bed *bed)
{
	return atomic(bed, WORT_BATCH_DELETE);
}

TEST_F_TIMEOUT(failnth, atomic, SECONDS)
{
	SWEEP("atomic batch of inserts", run_atomic, undo_atomic);
	ASSERT_EQ(0, run_atomic(&self->bed));
	SWEEP("atomic batch of deletes", undo_atomic, run_atomic);
}

static int run_index_info(struct bed *bed)
{
	struct wort_index_info_arg arg = { .size = sizeof(arg) };
	int err = call(bed->fd, WORT_IOC_INDEX_INFO, &arg);

	return err || arg.out_name_len == 5 ? err : -EPROTO;
}

static int run_stats(struct bed *bed)
{
	struct wort_op_stats stats[WORT_OP_NR];
	struct wort_stats_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(stats),
		.buf_len = sizeof(stats),
	};
	int err = call(bed->fd, WORT_IOC_STATS, &arg);

	return err || arg.out_count == WORT_OP_NR ? err : -EPROTO;
}

TEST_F_TIMEOUT(failnth, index_info, SECONDS)
{
	SWEEP("index_info", run_index_info, NULL);
	SWEEP("stats", run_stats, NULL);
}

static int run_map(struct bed *bed)
{
	void *at = mmap(NULL, WORT_MAP_POOL_OFF + 4096, PROT_READ, MAP_SHARED,
			bed->pool.fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	return munmap(at, WORT_MAP_POOL_OFF + 4096) ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, map, SECONDS)
{
	SWEEP("mmap", run_map, NULL);
}

/* On a device with a pool, not attached. */
FIXTURE(failnth_control)
{
	struct bed bed;
};

FIXTURE_SETUP(failnth_control)
{
	struct bed *bed = &self->bed;

	if (set_up_faults(bed))
		SKIP(return, "no fail-nth: kernel of selftests/scripts/debug.config");
	ASSERT_EQ(0, pool_up(&bed->pool));
	ASSERT_EQ(0, fill_pool(bed));
	close(bed->fd);
	close(bed->pool.fd);
	ASSERT_EQ(0, detach(bed->pool.control, bed->pool.minor));
	bed->pool.fd = -1;
}

FIXTURE_TEARDOWN(failnth_control)
{
	detach_all(self->bed.pool.control);
	close(self->bed.pool.control);
}

static __u32 attach_flags;

static int run_attach(struct bed *bed)
{
	int minor = attach_with(bed->pool.control, test_device(), attach_flags);

	return minor > 0 ? -EPROTO : minor;
}

static int run_detach(struct bed *bed)
{
	return detach(bed->pool.control, 0);
}

static int run_list(struct bed *bed)
{
	struct picture *picture = calloc(1, sizeof(*picture));
	int err = look_at_list(bed, picture);

	if (!err && !picture->len)
		err = -EPROTO;
	free(picture);
	return err;
}

/* The node of an attached pool is there, too. */
static int look_at_node(struct bed *bed, struct picture *picture)
{
	int fd = open_pool(0, O_RDWR), err = fd < 0 ? fd : sound(fd);

	close(fd);
	if (err && err != -ENOENT)
		return err;
	err = add(picture, &err, sizeof(err));
	return err ? err : look_at_list(bed, picture);
}

TEST_F_TIMEOUT(failnth_control, attach_and_detach, SECONDS)
{
	self->bed.look = look_at_node;
	SWEEP("attach", run_attach, run_detach);
	attach_flags = WORT_ATTACH_F_RDONLY;
	SWEEP("attach with RDONLY", run_attach, run_detach);
	attach_flags = WORT_ATTACH_F_GROW | WORT_ATTACH_F_MCSAFE;
	SWEEP("attach with GROW and MCSAFE", run_attach, run_detach);
	attach_flags = 0;
	ASSERT_EQ(0, run_attach(&self->bed));
	SWEEP("list", run_list, NULL);
	SWEEP("detach", run_detach, run_attach);
}

static int run_format(struct bed *bed)
{
	struct wort_format_arg arg = {
		.flags = WORT_FORMAT_F_FORCE,
		.uuid = "0123456789abcde",
		.label = "formatted again",
	};

	return format_with(bed->pool.control, test_device(), &arg);
}

static int undo_format(struct bed *bed)
{
	struct wort_format_arg arg = {
		.flags = WORT_FORMAT_F_FORCE,
		.uuid = "edcba9876543210",
		.label = "the first",
	};
	int err = format_with(bed->pool.control, test_device(), &arg);

	if (!err)
		err = run_attach(bed);
	if (err)
		return err;
	bed->pool.fd = open_pool(0, O_RDWR);
	err = fill_pool(bed);
	close(bed->fd);
	close(bed->pool.fd);
	bed->pool.fd = -1;
	return err ? err : run_detach(bed);
}

static int look_at_format(struct bed *bed, struct picture *picture)
{
	int err = look_at_device(bed, picture);

	bed->pool.fd = -1;
	return err;
}

TEST_F_TIMEOUT(failnth_control, format, SECONDS)
{
	self->bed.look = look_at_format;
	ASSERT_EQ(0, undo_format(&self->bed));
	SWEEP("format", run_format, undo_format);
}

TEST_HARNESS_MAIN
