// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads on one index: writers that own keys side by side in the same nodes,
 * change them alone and in batches, and count together by compare-and-swap,
 * readers, half of the time in a mapping, a scan both ways, another index that
 * comes and goes, checks.  Atomic batches change the same keys, and those of
 * atomics.h.  Round after round on one pool, so that the walk after
 * each attach runs beside them.
 *
 * What a reader may see: of each key versions that never go back, none older
 * than what was acknowledged before it asked, and nothing that was not begun.
 *
 * With -w only the writers, which meet each other more often then.  All engines in
 * turn, or with -e one of them.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atomics.h"
#include "stress.h"

#define NR_READERS	2
#define MAX_THREADS	(NR_OWNERS + NR_READERS + 1)
#define NR_COUNTERS	4
#define BUF_SIZE	65536
#define MAX_BATCH	40

static uint32_t nr_ids = 3072;
static uint32_t nr_rounds = 4;
static uint32_t round_ms = 1000;
static uint32_t nr_threads = MAX_THREADS;
static const struct test_engine *only;
static unsigned int nr_tests, nr_passed;

const struct test_engine *stress_engine;
__u64 stress_attr;
static uint64_t seed = 1;

static bool stop;

/* Of each key: the version begun, and the one acknowledged; odd: it is there. */
static uint32_t *begun, *acked;
static uint64_t counted[NR_COUNTERS];
static uint64_t nr_changes, nr_reads, nr_scans, nr_checks, nr_clashes, nr_frozen;

void fail(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\nnot ok %u stress of %s\n", nr_passed + 1, stress_engine ?
	       stress_engine->name : "no engine");
	exit(1);
}

/* The reverse, or the number of ids for a key that has none. */
static uint32_t id_of(const uint8_t *key, uint32_t len)
{
	uint8_t again[MAX_KEY];
	uint32_t id;

	if (key[0] >= 'c')
		return nr_ids;
	id = key[len - 2] << 8 | key[len - 1];
	if (id >= nr_ids || make_key(id, again) != len ||
	    memcmp(again, key, len))
		fail("a key that nobody has stored");
	return id;
}

/* Some keys never go away. */
static bool stays(uint32_t id)
{
	return id % 7 == 0;
}

void verify_value(uint32_t id, const struct value *value, uint32_t len)
{
	uint32_t i;

	if (value->id != id || len != value_len(value->version))
		fail("key %u: %u bytes for key %u", id, len, value->id);
	for (i = 0; i + 8 < len; i++)
		if (value->more[i] != (uint8_t)value->version)
			fail("key %u: a value in parts", id);
}

/* The next version of a key, which its owner makes. */
struct change {
	uint32_t id;
	uint32_t version;
	uint8_t key[MAX_KEY];
	uint32_t key_len;
	struct value value;
};

static void change_begin(struct change *c, uint32_t id, uint64_t *random)
{
	uint32_t was = acked[id];

	*c = (struct change){ .id = id, .version = was + 1 };
	if (was % 2 && (stays(id) || pick(random, 2)))
		c->version++;
	c->key_len = make_key(id, c->key);
	make_value(id, c->version, &c->value);
	__atomic_store_n(&begun[id], c->version, __ATOMIC_RELEASE);
}

static void change_end(const struct change *c, int err)
{
	if (err)
		fail("key %u, version %u: %d", c->id, c->version, err);
	__atomic_store_n(&acked[c->id], c->version, __ATOMIC_RELEASE);
	add(&nr_changes);
}

static void change(uint32_t id, uint64_t *random)
{
	struct change c;

	change_begin(&c, id, random);
	change_end(&c, c.version % 2 ?
		   face_put(c.key, c.key_len, &c.value, value_len(c.version)) :
		   face_del(c.key, c.key_len));
}

static uint32_t pack(const struct change *c, uint8_t *at)
{
	struct wort_batch_op op = {
		.op = c->version % 2 ? WORT_BATCH_INSERT : WORT_BATCH_DELETE,
		.key_len = c->key_len,
		.value_len = c->version % 2 ? value_len(c->version) : 0,
	};

	memcpy(at + sizeof(op), c->key, c->key_len);
	memcpy(at + sizeof(op) + c->key_len, &c->value, op.value_len);
	op.rec_len = (sizeof(op) + c->key_len + op.value_len + 7) / 8 * 8;
	memcpy(at, &op, sizeof(op));
	return op.rec_len;
}

static void run_batch(const struct change *c, uint32_t nr)
{
	struct wort_batch_result results[MAX_BATCH];
	uint8_t ops[MAX_BATCH * 128];
	uint32_t len = 0, i;
	int err;

	for (i = 0; i < nr; i++)
		len += pack(&c[i], ops + len);
	err = face_batch(nr, ops, len, results, sizeof(results));
	for (i = 0; i < nr; i++)
		change_end(&c[i], err ? err : results[i].error);
}

static void run_atomic(const struct change *c, uint32_t nr)
{
	struct face_atomic_op ops[MAX_BATCH] = { };
	uint32_t i;
	int err;

	for (i = 0; i < nr; i++) {
		ops[i].op = WORT_BATCH_DELETE;
		ops[i].key = c[i].key;
		ops[i].key_len = c[i].key_len;
		if (c[i].version % 2 == 0)
			continue;
		ops[i].op = WORT_BATCH_INSERT;
		ops[i].value = &c[i].value;
		ops[i].value_len = value_len(c[i].version);
	}
	err = face_atomic(ops, nr, NULL);
	for (i = 0; i < nr; i++)
		change_end(&c[i], err);
	add(&nr_atomics);
}

/* Neighbours, which meet in nodes. */
static void change_some(uint32_t owner, uint64_t *random)
{
	uint32_t own = nr_ids / NR_OWNERS, first = pick(random, own), i, nr;
	struct change c[MAX_BATCH];

	nr = 1 + pick(random, own < MAX_BATCH ? own : MAX_BATCH);
	for (i = 0; i < nr; i++)
		change_begin(&c[i], (first + i) % own * NR_OWNERS + owner,
			     random);
	if (pick(random, 2))
		run_batch(c, nr);
	else
		run_atomic(c, nr);
}

typedef int get_fn(const void *key, uint32_t key_len, void *value,
		   uint32_t *len);

static void look(get_fn *get, uint32_t id, uint32_t *seen)
{
	uint32_t before = load(&acked[id]), after, len, size;
	struct value value;
	uint8_t key[MAX_KEY];
	int err;

	len = make_key(id, key);
	size = sizeof(value);
	err = get(key, len, &value, &size);
	after = load(&begun[id]);
	add(&nr_reads);
	if (err == -ENOENT && (before % 2 == 0 || after != before))
		return;
	if (err)
		fail("key %u, version %u to %u: lookup: %d", id, before, after,
		     err);
	verify_value(id, &value, size);
	if (value.version < before || value.version > after)
		fail("key %u: version %u, not %u to %u", id, value.version,
		     before, after);
	if (value.version < seen[id])
		fail("key %u: version %u after %u", id, value.version, seen[id]);
	seen[id] = value.version;
}

/* Some are longer, so that records are updated in place and replaced. */
static uint32_t make_count(uint64_t n, uint64_t count[2], uint64_t *random)
{
	count[0] = n;
	count[1] = ~n;
	return pick(random, 3) ? 8 : 16;
}

/* An atomic batch of one, or a compare-and-swap. */
static int count_to(const uint8_t key[2], const uint64_t *was, uint32_t len,
		    const uint64_t *next, uint32_t next_len, uint64_t *random)
{
	struct face_atomic_op op = {
		.op = WORT_BATCH_CAS,
		.key = key, .key_len = 2,
		.expect = was, .expect_len = len,
		.value = next, .value_len = next_len,
	};

	return pick(random, 4) ?
	       face_cas(key, 2, was, len, next, next_len) :
	       face_atomic(&op, 1, NULL);
}

static void count(uint32_t nr, uint64_t *random)
{
	uint8_t key[2] = { 'c', nr };
	uint64_t now[2], next[2];
	uint32_t len, next_len;
	int err;

	do {
		len = sizeof(now);
		err = face_get(key, sizeof(key), now, &len);
		next_len = make_count(now[0] + 1, next, random);
		if (!err)
			err = count_to(key, now, len, next, next_len, random);
		if (err == -ECANCELED)
			add(&nr_clashes);
	} while (err == -ECANCELED);
	if (err)
		fail("counter %u: %d", nr, err);
	add(&counted[nr]);
}

/* Both, or none. */
static void count_two(uint32_t nr, uint64_t *random)
{
	uint32_t of[2] = { nr, (nr + 1) % NR_COUNTERS }, len, i;
	struct face_atomic_op ops[2];
	uint64_t now[2][2], next[2][2];
	uint8_t key[2][2];
	int err;

	do {
		for (i = 0, err = 0; i < 2 && !err; i++) {
			key[i][0] = 'c';
			key[i][1] = of[i];
			len = sizeof(now[i]);
			err = face_get(key[i], 2, now[i], &len);
			ops[i] = (struct face_atomic_op){
				.op = WORT_BATCH_CAS,
				.key = key[i], .key_len = 2,
				.expect = now[i], .expect_len = len,
				.value = next[i],
			};
			ops[i].value_len = make_count(now[i][0] + 1, next[i],
						      random);
		}
		if (!err)
			err = face_atomic(ops, 2, NULL);
		if (err == -ECANCELED)
			add(&nr_clashes);
	} while (err == -ECANCELED);
	if (err)
		fail("counters %u and %u: %d", of[0], of[1], err);
	add(&counted[of[0]]);
	add(&counted[of[1]]);
	add(&nr_atomics);
}

static void verify_order(const uint8_t *key, uint32_t len,
			 const uint8_t *last, uint32_t last_len, bool reverse)
{
	int cmp = memcmp(key, last, len < last_len ? len : last_len);

	cmp = cmp ? cmp : (int)len - (int)last_len;
	if (last_len && (reverse ? cmp >= 0 : cmp <= 0))
		fail("scan: keys out of order");
}

/* Each key that stays is to be found once, and all keys in order. */
static void scan_all(bool reverse, void *buf, uint32_t buf_len, uint8_t *found)
{
	uint8_t last[MAX_KEY];
	struct face_scan scan = {
		.reverse = reverse, .after = last,
		.buf = buf, .buf_len = buf_len,
	};
	struct wort_record *rec;
	const uint8_t *key;
	uint32_t at, id;
	int err;

	memset(found, 0, nr_ids + 1);
	do {
		err = face_scan(&scan);
		if (err)
			fail("scan: %d", err);
		for (at = 0; at < scan.out_len; at += rec->rec_len) {
			rec = buf + at;
			key = buf + at + sizeof(*rec);
			verify_order(key, rec->key_len, last, scan.after_len,
				     reverse);
			id = id_of(key, rec->key_len);
			found[id]++;
			memcpy(last, key, rec->key_len);
			scan.after_len = rec->key_len;
		}
	} while (scan.out_more);
	for (id = 0; id < nr_ids; id++)
		if (found[id] > 1 || (stays(id) && !found[id]))
			fail("scan: key %u is there %u times", id, found[id]);
	add(&nr_scans);
}

/* All records, summed up. */
static uint64_t sum_up(uint8_t *buf)
{
	uint8_t last[MAX_KEY];
	struct face_scan scan = {
		.after = last, .buf = buf, .buf_len = BUF_SIZE,
	};
	uint64_t sum = 0xcbf29ce484222325;
	struct wort_record *rec;
	uint32_t at;

	do {
		if (face_scan(&scan))
			fail("scan");
		for (at = 0; at < scan.out_len; at++)
			sum = (sum ^ buf[at]) * 0x100000001b3;
		for (at = 0; at < scan.out_len; at += rec->rec_len) {
			rec = (void *)(buf + at);
			scan.after_len = rec->key_len;
			memcpy(last, rec + 1, rec->key_len);
		}
	} while (scan.out_more);
	return sum;
}

/* What is read twice of a frozen pool is the same, and of one state. */
static void look_frozen(uint8_t *buf, uint64_t *random)
{
	uint64_t sum;

	face_freeze();
	sum = sum_up(buf);
	atomics_frozen(random);
	if (sum_up(buf) != sum)
		fail("a frozen pool has changed");
	face_thaw();
	add(&nr_frozen);
}

static void put_elsewhere(uint64_t *random)
{
	int err = face_other_put(pick(random, 1000));

	if (err && err != -ENOENT && err != -ESTALE)
		fail("index b: %d", err);
}

static void owner(uint32_t nr, uint64_t *random)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!pick(random, 32))
			put_elsewhere(random);
		else if (!pick(random, 8))
			change_some(nr, random);
		else if (!pick(random, 4))
			count(pick(random, NR_COUNTERS), random);
		else if (!pick(random, 16))
			count_two(pick(random, NR_COUNTERS), random);
		else if (!pick(random, 4))
			atomics_change(nr, random);
		else
			change(pick(random, nr_ids / NR_OWNERS) * NR_OWNERS + nr,
			       random);
	}
}

static void reader(uint64_t *random)
{
	uint32_t *seen = calloc(nr_ids, sizeof(*seen));

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!pick(random, 4))
			atomics_look(random);
		look(pick(random, 2) ? face_look : face_get,
		     pick(random, nr_ids), seen);
	}
	free(seen);
}

static void scanner(uint64_t *random)
{
	uint8_t *found = malloc(nr_ids + 1), *buf = malloc(BUF_SIZE);

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!pick(random, 8))
			look_frozen(buf, random);
		scan_all(pick(random, 2), buf, pick(random, 2) ? 512 : BUF_SIZE,
			 found);
	}
	free(found);
	free(buf);
}

static void *thread_main(void *arg)
{
	uint32_t nr = (uintptr_t)arg;
	uint64_t random = seed * 77777 + nr + 1;

	face_thread_begin(nr);
	if (nr < NR_OWNERS)
		owner(nr, &random);
	else if (nr < NR_OWNERS + NR_READERS)
		reader(&random);
	else
		scanner(&random);
	face_thread_end();
	return NULL;
}

static void check(void)
{
	uint64_t damaged = face_check();

	if (damaged)
		fail("check: %llu places are damaged",
		     (unsigned long long)damaged);
	nr_checks++;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static void verify_all(void)
{
	uint32_t i, len, *seen = calloc(nr_ids, sizeof(*seen));
	uint64_t value[2];

	for (i = 0; i < nr_ids; i++)
		look(face_get, i, seen);
	free(seen);
	for (i = 0; i < NR_COUNTERS; i++) {
		uint8_t key[2] = { 'c', i };

		len = sizeof(value);
		if (face_get(key, sizeof(key), value, &len) ||
		    value[0] != counted[i])
			fail("counter %u is %llu, not %llu", i,
			     (unsigned long long)value[0],
			     (unsigned long long)counted[i]);
	}
	atomics_verify();
}

static void run_round(uint64_t *random)
{
	uint64_t end = now_ms() + round_ms;
	pthread_t threads[MAX_THREADS];
	uintptr_t i;

	face_attach();
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, thread_main, (void *)i))
			fail("no thread");
	do {
		face_other_index();
		/* Seldom: writers wait meanwhile, and readers in a mapping ask. */
		if (!pick(random, 8))
			face_rename();
		if (!pick(random, 4))
			check();
		if (!pick(random, 4))
			face_shrink();
	} while (now_ms() < end);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	verify_all();
	check();
	face_detach();
}

static void fill(uint64_t *random)
{
	uint64_t zero = 0;
	uint32_t i;

	face_attach();
	for (i = 0; i < nr_ids; i++)
		change(i, random);
	for (i = 0; i < NR_COUNTERS; i++) {
		uint8_t key[2] = { 'c', i };

		if (face_put(key, sizeof(key), &zero, sizeof(zero)))
			fail("counter: insert");
	}
	atomics_fill();
	face_detach();
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "e:k:r:t:s:w")) != -1) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;

		if (opt == 'w')
			nr_threads = NR_OWNERS;
		else if (opt == 'e' && test_engine_named(optarg))
			only = test_engine_named(optarg);
		else if (opt == 'k' && n >= 16 && n <= 65535)
			nr_ids = n / NR_OWNERS * NR_OWNERS;
		else if (opt == 'r' && n)
			nr_rounds = n;
		else if (opt == 't' && n)
			round_ms = n;
		else if (opt == 's' && n)
			seed = n;
		else
			fail("usage: %s [-w] [-e ENGINE] [-k KEYS] [-r ROUNDS] [-t MS] [-s SEED]",
			     argv[0]);
	}
}

static void report(void)
{
	printf("# %llu changes, %llu clashes, %llu lookups, %llu scans, %llu checks, frozen %llu times\n",
	       (unsigned long long)nr_changes, (unsigned long long)nr_clashes,
	       (unsigned long long)nr_reads, (unsigned long long)nr_scans,
	       (unsigned long long)nr_checks,
	       (unsigned long long)nr_frozen);
	printf("# %llu atomic batches, %llu refused\n",
	       (unsigned long long)nr_atomics, (unsigned long long)nr_refused);
	printf("# of the lookups in a mapping %llu, tried again %llu times, of them asked the kernel %llu\n",
	       (unsigned long long)face_looks.looks,
	       (unsigned long long)face_looks.retries,
	       (unsigned long long)face_looks.asked);
}

static void begin_engine(const struct test_engine *engine, __u64 attr)
{
	stress_engine = engine;
	stress_attr = attr;
	begun = calloc(nr_ids, sizeof(*begun));
	acked = calloc(nr_ids, sizeof(*acked));
	memset(counted, 0, sizeof(counted));
	nr_changes = nr_clashes = nr_reads = nr_scans = nr_checks = nr_frozen = 0;
	face_looks = (struct face_looks) { };
}

static void stress(const struct test_engine *engine, __u64 attr)
{
	uint32_t threads = nr_threads, i;
	uint64_t random = seed;
	bool skip;

	begin_engine(engine, attr);
	/* The last thread scans in order. */
	if (!(engine->traits & WORT_TRAIT_ORDERED) && nr_threads == MAX_THREADS)
		nr_threads--;
	skip = !face_format();
	if (!skip) {
		fill(&random);
		for (i = 0; i < nr_rounds; i++)
			run_round(&random);
		report();
	}
	nr_threads = threads;
	free(begun);
	free(acked);
	printf("ok %u stress of %s%s\n", ++nr_passed, engine->name,
	       skip ? " # SKIP the module does not have it" : "");
}

static bool wanted(const struct test_engine *engine)
{
	return !only || only == engine;
}

int main(int argc, char **argv)
{
	const struct test_engine *engine;
	unsigned int k;

	printf("TAP version 13\n");
	parse(argc, argv);
	for (engine = test_engines; engine < test_engines + TEST_ENGINES_NR;
	     engine++)
		nr_tests += wanted(engine) ? engine->nr_attrs : 0;
	printf("1..%u\n", nr_tests);
	for (engine = test_engines; engine < test_engines + TEST_ENGINES_NR;
	     engine++)
		for (k = 0; wanted(engine) && k < engine->nr_attrs; k++)
			stress(engine, engine->attrs[k]);
	return 0;
}
