// SPDX-License-Identifier: GPL-2.0-only
/*
 * This project's engines as peers, and the floor under all inserts that take two
 * ordering points.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/libnvdimm.h>

#include "../../kmod/pool/gate.h"
#include "../engines/engines.h"
#include "builtin.h"
#include "pmpool.h"

#define SCAN_MAX	(1U << 20)
#define BATCH_MAX	(1U << 16)

struct bench_env bench_env;

/* ---- the floor: two lines, each flushed and waited for ---- */

struct floor {
	struct bench_env *env;
	u64 nr;
	u64 random;
};

static void *floor_open(struct bench_env *env)
{
	struct floor *floor = calloc(1, sizeof(*floor));

	if (!floor)
		return NULL;
	*floor = (struct floor){ .env = env, .random = 42 };
	env->used = env->size;
	return floor;
}

/* Where records go, one after the other, and where a link goes. */
static __always_inline int insert_two(struct floor *floor, u64 value, bool flush)
{
	struct bench_env *env = floor->env;
	u64 half = env->size / 2;
	char *record = env->memory + floor->nr++ * 32 % half;
	char *link = env->memory + half +
		     test_random(&floor->random) % half / 64 * 64;

	*(volatile u64 *)record = value;
	if (flush)
		bench_flush(env, record, 8);
	bench_fence(env);
	*(volatile u64 *)link = value;
	if (flush)
		bench_flush(env, link, 8);
	bench_fence(env);
	return 0;
}

static int floor_insert(void *peer, const void *key, size_t len, u64 value)
{
	return insert_two(peer, value, true);
}

static int floor_insert_eadr(void *peer, const void *key, size_t len, u64 value)
{
	return insert_two(peer, value, false);
}

static size_t floor_bytes(void *peer)
{
	return 0;
}

#define FLOOR_PEER(_name, _how, _insert)			\
	{							\
		.version = BENCH_PEER_VERSION,			\
		.name = _name,					\
		.durability = _how "; no index",		\
		.open = floor_open,				\
		.close = free,					\
		.insert = _insert,				\
		.bytes = floor_bytes,				\
	}

/* ---- the engines ---- */

struct wort_peer {
	struct pmpool pm;
	u32 engine;
	bool mandatory;			/* the mandatory functions of the engine only */
	struct wort_index *index;
	struct wort_index *second;	/* for moves, made by the first one */
	struct wort_reader reader;
	struct wort_buf value;
	struct wort_put put;
	u32 calls;
	u8 *buf;
	u8 *results;
};

static struct wort_index *open_index(struct wort_peer *peer, const char *name)
{
	u32 engine = pmpool_engine;
	struct wort_index *index;

	pmpool_engine = peer->engine;
	index = pmpool_index(&peer->pm, name);
	pmpool_engine = engine;
	return index;
}

static void *open_pool(struct bench_env *env, u32 engine, bool mcsafe, bool eadr)
{
	struct wort_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->buf = malloc(SCAN_MAX);
	peer->results = malloc(BATCH_MAX);
	if (!peer->buf || !peer->results)
		die("no memory");
	peer->engine = engine;
	peer->value.size = sizeof(u64);
	peer->put.value.len = sizeof(u64);
	peer->pm.region = (struct wort_region){
		.base = (void *)env->memory, .size = env->size, .mcsafe = mcsafe,
		.flush = !eadr && env->flush != BENCH_NO_FLUSH &&
			 env->flush != BENCH_EADR,
		.line_order = true,
	};
	pmpool_format(&peer->pm, 0);
	pmpool_attach(&peer->pm);
	pmpool_settle();
	peer->index = open_index(peer, "bench");
	pm_reader(peer->index, &peer->reader);
	env->used = env->size;
	return peer;
}

/* The engine that -e names. */
static void *wort_open(struct bench_env *env)
{
	return open_pool(env, pmpool_engine, false, false);
}

static void *open_mandatory(struct bench_env *env, u32 engine)
{
	struct wort_peer *peer;

	wort_engine_mandatory = true;
	peer = open_pool(env, engine, false, false);
	wort_engine_mandatory = false;
	if (peer)
		peer->mandatory = true;
	return peer;
}

/* An engine of the table, whatever -e names. */
#define ENGINE_OPEN(symbol, _name, _id, _traits)			\
	static void *open_##symbol(struct bench_env *env)		\
	{								\
		return open_pool(env, _id, false, false);		\
	}								\
									\
	static void *open_mandatory_##symbol(struct bench_env *env)	\
	{								\
		return open_mandatory(env, _id);			\
	}
WORT_ENGINES(ENGINE_OPEN)

static void *wort_open_mcsafe(struct bench_env *env)
{
	return open_pool(env, pmpool_engine, true, false);
}

/* Where caches are persistent, too: nothing is flushed, fences stay. */
static void *wort_open_eadr(struct bench_env *env)
{
	return open_pool(env, pmpool_engine, false, true);
}

static void wort_close(void *arg)
{
	struct wort_peer *peer = arg;

	if (peer->second)
		wort_index_put(peer->second);
	wort_index_put(peer->index);
	pmpool_detach(&peer->pm);
	free(peer->buf);
	free(peer->results);
	free(peer);
}

/* The background has a thread of its own in the kernel; here it takes its turn. */
static void background(void)
{
	if (unlikely(!list_empty(shim_works)))
		pmpool_settle();
}

static int wort_insert(void *arg, const void *key, size_t len, u64 value)
{
	struct wort_peer *peer = arg;
	int err;

	peer->put.key.data = key;
	peer->put.key.len = len;
	peer->put.value.data = &value;
	err = wort_index_insert(peer->index, &peer->put);

	background();
	return err;
}

static int wort_lookup(void *arg, const void *key, size_t len, u64 *value)
{
	struct wort_peer *peer = arg;

	peer->value.data = value;
	return wort_index_lookup(peer->index, &(struct wort_key){ key, len },
				 &peer->value);
}

static int wort_look(void *arg, const void *key, size_t len, u64 *value)
{
	struct wort_peer *peer = arg;
	size_t value_len = sizeof(*value);
	u64 retries = 0;

	if (!(peer->index->tree.engine->traits & WORT_TRAIT_MAPPABLE))
		return wort_lookup(arg, key, len, value);
	return wort_reader_get(&peer->reader, key, len, value, &value_len,
			       &retries);
}

/* What is given back goes through a list, which is emptied now and then. */
static int wort_remove(void *arg, const void *key, size_t len)
{
	struct wort_peer *peer = arg;
	int err = pm_del(peer->index, key, len);

	background();
	return err;
}

static size_t wort_scan(void *arg, const void *key, size_t len, size_t nr,
			u64 *sum)
{
	struct wort_peer *peer = arg;
	struct wort_key start = { key, len };
	struct wort_scan scan = {
		.start = &start, .max = nr, .buf = peer->buf,
		.buf_len = SCAN_MAX,
	};
	const u8 *at = peer->buf;
	u64 i, value;

	if (wort_index_scan(peer->index, &scan))
		return 0;
	for (i = 0; i < scan.count; i++) {
		const struct wort_record *record = (const void *)at;

		memcpy(&value, at + sizeof(*record) + record->key_len,
		       sizeof(value));
		*sum += value;
		at += record->rec_len;
	}
	return scan.count;
}

static int batch_run(struct wort_peer *peer, struct wort_batch *batch)
{
	int err;

	batch->ops = peer->buf;
	batch->results = peer->results;
	batch->results_size = BATCH_MAX;
	err = wort_index_batch(peer->index, batch);
	background();
	return err ?: batch->failed;
}

static int wort_insert_many(void *arg, const void *const *keys,
			    const size_t *lens, const u64 *values, size_t nr)
{
	struct wort_batch batch = { .nr_ops = nr, .write = true };
	struct wort_peer *peer = arg;
	size_t i;

	for (i = 0; i < nr; i++)
		batch.ops_len += pm_pack(peer->buf + batch.ops_len,
					 WORT_BATCH_INSERT, keys[i], lens[i],
					 &values[i], sizeof(values[i]));
	return batch_run(peer, &batch);
}

static int wort_lookup_many(void *arg, const void *const *keys,
			    const size_t *lens, u64 *values, size_t nr)
{
	struct wort_batch batch = { .nr_ops = nr };
	struct wort_peer *peer = arg;
	const u8 *at = peer->results;
	size_t i;
	int err;

	for (i = 0; i < nr; i++) {
		struct wort_batch_op *op = (void *)(peer->buf + batch.ops_len);

		batch.ops_len += pm_pack((void *)op, WORT_BATCH_LOOKUP, keys[i],
					 lens[i], NULL, 0);
		op->max_len = sizeof(*values);
	}
	err = batch_run(peer, &batch);
	for (i = 0; i < nr && !err; i++) {
		const struct wort_batch_result *result = (const void *)at;

		memcpy(&values[i], at + sizeof(*result), sizeof(values[i]));
		at += result->rec_len;
	}
	return err;
}

static int move_apart(struct wort_index *from, struct wort_index *to,
		      const void *key, size_t len, u64 value)
{
	return pm_put(to, key, len, &value, sizeof(value)) ?:
	       pm_del(from, key, len);
}

static int move_together(struct wort_index *from, struct wort_index *to,
			 const void *key, size_t len, u64 value)
{
	struct wort_index *indexes[] = { from, to };
	struct wort_request reqs[] = {
		{ .op = { .op = WORT_BATCH_DELETE }, .put.key = { key, len } },
		{ .op = { .op = WORT_BATCH_INSERT, .flags = WORT_INSERT_F_CREATE },
		  .put = { .key = { key, len }, .value = { &value, sizeof(value) } } },
	};
	struct wort_atomic batch = {
		.nr_ops = ARRAY_SIZE(reqs), .reqs = reqs, .indexes = indexes,
	};

	return wort_pool_atomic(from->pool, &batch);
}

/* Its second index has had an atomic batch, so operations look at gates. */
static void *wort_open_gated(struct bench_env *env)
{
	struct wort_peer *peer = open_pool(env, pmpool_engine, false, false);
	const u64 value = 1;

	if (!peer)
		return NULL;
	peer->second = open_index(peer, "second");
	if (pm_put(peer->second, "k", 1, &value, sizeof(value)) ||
	    move_together(peer->second, peer->index, "k", 1, value) ||
	    pm_del(peer->index, "k", 1))
		die("an atomic batch fails");
	pmpool_settle();
	return peer;
}

/* The same, after a while without one. */
static void *wort_open_rested(struct bench_env *env)
{
	struct wort_peer *peer = wort_open_gated(env);

	/* The first call sees the batch that has been. */
	if (peer && wort_gates_rest(peer->index->pool) &&
	    wort_gates_rest(peer->index->pool))
		die("operations still look at gates");
	return peer;
}

static int wort_move(void *arg, const void *key, size_t len, u64 value, int back,
		     int apart)
{
	struct wort_peer *peer = arg;
	struct wort_index *from = peer->index, *to;
	int err;

	/* The first batch of a pool asks for the functions of all engines again. */
	wort_engine_mandatory = peer->mandatory;
	if (!peer->second)
		peer->second = open_index(peer, "second");
	to = peer->second;
	if (back)
		swap(from, to);
	err = (apart ? move_apart : move_together)(from, to, key, len, value);
	wort_engine_mandatory = false;
	background();
	return err;
}

/* ---- the same behind a system call, as programs are ---- */

#define TOGETHER	16	/* operations that io_uring may run in one call */

static void enter_kernel(void)
{
	syscall(SYS_getppid);
}

static bool enters(struct wort_peer *peer)
{
	return peer->calls++ % TOGETHER == 0;
}

static noinline int called_insert(void *arg, const void *key, size_t len, u64 value)
{
	enter_kernel();
	return wort_insert(arg, key, len, value);
}

static noinline int called_lookup(void *arg, const void *key, size_t len, u64 *value)
{
	enter_kernel();
	return wort_lookup(arg, key, len, value);
}

static int called_16_insert(void *arg, const void *key, size_t len, u64 value)
{
	return enters(arg) ? called_insert(arg, key, len, value) :
			     wort_insert(arg, key, len, value);
}

static int called_16_lookup(void *arg, const void *key, size_t len, u64 *value)
{
	return enters(arg) ? called_lookup(arg, key, len, value) :
			     wort_lookup(arg, key, len, value);
}

/*
 * As an ioctl or io_uring hands it on.  Member by member: of the whole the compiler
 * makes a string instruction, which a processor does not run ahead of.
 */
static __always_inline int request_run(struct wort_peer *peer, u16 op,
				       const void *key, size_t len,
				       void *value, u32 *value_len)
{
	struct wort_request req;
	int err;

	req.op.op = op;
	req.op.flags = 0;
	req.op.key_len = len;
	req.op.value_len = 0;
	req.op.expect_len = 0;
	req.op.max_len = 0;
	req.put.key.data = key;
	req.put.key.len = len;
	if (op == WORT_BATCH_LOOKUP) {
		req.op.max_len = *value_len;
		req.answer.data = value;
		req.answer.size = *value_len;
		req.answer.relaxed = false;
	} else {
		req.op.value_len = *value_len;
		req.put.value.data = value;
		req.put.value.len = *value_len;
	}
	err = wort_request_verify(&req.op, true) ?:
	      wort_request_run(peer->index, &req);
	if (op != WORT_BATCH_LOOKUP)
		background();
	*value_len = req.answer.len;
	return err;
}

static int run_insert(void *arg, const void *key, size_t len, u64 value)
{
	u32 value_len = sizeof(value);

	return request_run(arg, WORT_BATCH_INSERT, key, len, &value,
			   &value_len);
}

static int run_lookup(void *arg, const void *key, size_t len, u64 *value)
{
	u32 value_len = sizeof(*value);

	return request_run(arg, WORT_BATCH_LOOKUP, key, len, value, &value_len);
}

static noinline int request_insert(void *arg, const void *key, size_t len, u64 value)
{
	enter_kernel();
	return run_insert(arg, key, len, value);
}

static noinline int request_lookup(void *arg, const void *key, size_t len, u64 *value)
{
	enter_kernel();
	return run_lookup(arg, key, len, value);
}

static int request_16_insert(void *arg, const void *key, size_t len, u64 value)
{
	return enters(arg) ? request_insert(arg, key, len, value) :
			     run_insert(arg, key, len, value);
}

static int request_16_lookup(void *arg, const void *key, size_t len, u64 *value)
{
	return enters(arg) ? request_lookup(arg, key, len, value) :
			     run_lookup(arg, key, len, value);
}

static size_t wort_bytes(void *arg)
{
	struct wort_peer *peer = arg;
	struct wort_pool_info_arg info;

	wort_pool_info(peer->pm.pool, &info);
	return (info.out_nr_extents - info.out_free_extents) *
	       info.out_extent_size;
}

static void add_counts(struct wort_index *index, struct bench_counts *counts)
{
	struct wort_op_stats stats[WORT_OP_NR];
	u32 i;

	wort_index_stats(index, stats);
	for (i = 0; i < WORT_OP_NR; i++) {
		counts->lines += stats[i].lines;
		counts->fences += stats[i].fences;
		counts->ordering_points += stats[i].ordering_points;
		counts->stores += stats[i].stores;
		counts->loads += stats[i].loads;
		counts->nodes += stats[i].nodes;
	}
}

static void wort_counts_of(void *arg, struct bench_counts *counts)
{
	struct wort_peer *peer = arg;

	*counts = (struct bench_counts){ };
	add_counts(peer->index, counts);
	if (peer->second)
		add_counts(peer->second, counts);
}

#define WORT_PEER(_name, _how, _open, _insert, _lookup)		\
	{								\
		.version = BENCH_PEER_VERSION,				\
		.name = _name,						\
		.durability = "each operation, at any instruction" _how, \
		.open = _open,						\
		.close = wort_close,					\
		.insert = _insert,					\
		.lookup = _lookup,					\
		.remove = wort_remove,					\
		.move = wort_move,					\
		.scan = wort_scan,					\
		.insert_many = wort_insert_many,			\
		.lookup_many = wort_lookup_many,			\
		.bytes = wort_bytes,					\
		.count = wort_counts_of,				\
	}

#define ENGINE_PEERS(symbol, _name, _id, _traits)			\
	WORT_PEER(_name, "", open_##symbol, wort_insert, wort_lookup),	\
	WORT_PEER(_name "-mandatory",					\
		  "; without the optional functions of the engine",	\
		  open_mandatory_##symbol, wort_insert, wort_lookup),

const struct bench_peer builtin_peers[] = {
	FLOOR_PEER("floor", "two lines, each flushed and waited for", floor_insert),
	FLOOR_PEER("floor-eadr", "two stores, each with a fence", floor_insert_eadr),
	WORT_ENGINES(ENGINE_PEERS)
	WORT_PEER("wort-mapped", "; lookups in a mapping", wort_open, wort_insert, wort_look),
	WORT_PEER("wort-mcsafe", "; loads with care", wort_open_mcsafe,
		  wort_insert, wort_lookup),
	WORT_PEER("wort-gated", "; the pool has had an atomic batch", wort_open_gated,
		  wort_insert, wort_lookup),
	WORT_PEER("wort-rested", "; that was a while ago", wort_open_rested,
		  wort_insert, wort_lookup),
	WORT_PEER("wort-eadr", ", caches being persistent", wort_open_eadr,
		  wort_insert, wort_lookup),
	WORT_PEER("wort-called", "; an empty system call each", wort_open,
		  called_insert, called_lookup),
	WORT_PEER("wort-request", "; the same, run as by an ioctl", wort_open,
		  request_insert, request_lookup),
	WORT_PEER("wort-called-16", "; an empty system call for 16", wort_open,
		  called_16_insert, called_16_lookup),
	WORT_PEER("wort-request-16", "; the same, run as by io_uring",
		  wort_open, request_16_insert, request_16_lookup),
	{ }
};
