// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is done with an image that was changed.
 *
 * Whatever it holds, every call returns, with one of the answers that it has, and
 * touches nothing beyond the pool or on a page known to be bad.  If check finds
 * nothing wrong with it, then nothing is: what a scan finds is what the indexes
 * hold, and they behave so from then on.
 */
#include <string.h>
#include <sys/mman.h>

#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "fuzz.h"

#define STEPS		12
#define BATCH_OPS	8

/* A key, a value, an answer. */
static u8 key_buf[WORT_KEY_MAX + 8];
static u8 value_buf[WORT_VALUE_MAX];
static u8 answer[WORT_VALUE_MAX * 2] __attribute__((aligned(8)));

static const int errors_read[] = { -ENOENT, -ERANGE, -EUCLEAN, -EIO, -ENOMEM };
static const int errors_write[] = { -ENOENT, -EEXIST, -ECANCELED, -ENOSPC,
				    -EROFS, -EUCLEAN, -EIO, -ENOMEM, -ERANGE };

static void answered(struct fuzz *f, const char *what, int err,
		     const int *errors, u32 nr)
{
	say(f, "%s: %d", what, err);
	if (err == -ENOMEM && f->armed && shim_alloc_fail_nth >= 0)
		finding(f, "%s: ENOMEM though no allocation failed", what);
	if (!err || (err == -ENOMEM && f->armed))
		return;
	/* A check has dropped the index, since its entry could not be read. */
	if (err == -ESTALE && f->dropped)
		return;
	/* An index seems to be of another engine: its entry was changed. */
	if (err == -EOPNOTSUPP && f->pool && f->pool->nr_unknown)
		return;
	while (nr--)
		if (errors[nr] == err && err != -ENOMEM)
			return;
	finding(f, "%s answers %d", what, err);
}

#define ANSWERED(f, what, err, errors) \
	answered(f, what, err, errors, ARRAY_NR(errors))

/* Background work, which ends. */
static void settle(struct fuzz *f)
{
	u32 nr = 0;

	while (shim_run_work())
		if (++nr == 1000)
			finding(f, "the background work does not end");
}

/* A key of an index, one beside it, or any. */
static struct bytes some_key(struct fuzz *f, const struct model *model)
{
	const struct record *rec = &model->rec[draw(f, model->nr + !model->nr)];
	struct bytes key = { key_buf, 0 };
	u32 i;

	if (model->nr && !one_in(f, 4)) {
		key.len = rec->key.len;
		memcpy(key_buf, rec->key.data, key.len);
		if (one_in(f, 2))
			return key;
		key_buf[draw(f, key.len)] ^= 1 << draw(f, 8);
		if (one_in(f, 4))
			key.len = 1 + draw(f, key.len);
		else if (one_in(f, 4) && key.len < WORT_KEY_MAX)
			key_buf[key.len++] = draw(f, 256);
		return key;
	}
	key.len = one_in(f, 2) ? 8 : 1 + draw(f, one_in(f, 16) ? 1024 : 24);
	for (i = 0; i < key.len; i++)
		key_buf[i] = one_in(f, 2) ? draw(f, 4) : draw(f, 256);
	return key;
}

static struct bytes some_value(struct fuzz *f)
{
	static const u32 lens[] = { 0, 1, 8, 8, 8, 9, 40, 200, 900, 1100, 3000,
				    9000 };
	u32 len = lens[draw(f, ARRAY_NR(lens))];

	memset(value_buf, draw(f, 256), len);
	return (struct bytes){ value_buf, len };
}

/* An index that is there, or NULL. */
static struct model *some_model(struct fuzz *f)
{
	struct model *model = nr_models ? &models[draw(f, nr_models)] : NULL;

	return model && model->index ? model : NULL;
}

/* The index is gone when its name is still needed. */
static void name_model(struct model *model)
{
	model->name_len = model->index->name_len;
	memcpy(model->name, model->index->name, model->name_len);
}

static void open_all(struct fuzz *f)
{
	static struct wort_index_record list[MAX_ENTRIES];
	bool more;
	u32 i, nr = wort_index_list(f->pool, 0, list, MAX_ENTRIES, &more);
	int err;

	models_reset();
	for (i = 0; i < nr; i++) {
		struct model *model = &models[nr_models];

		model->nr = 0;
		err = wort_index_open(f->pool, list[i].name, list[i].name_len, 0, 0,
				      0, &model->index);
		ANSWERED(f, "open", err, errors_write);
		if (!err)
			name_model(&models[nr_models++]);
	}
}

static void close_all(void)
{
	u32 i;

	for (i = 0; i < nr_models; i++)
		if (models[i].index)
			wort_index_put(models[i].index);
	nr_models = 0;
}

/* Marks of words in flight, locks and sections are all given back. */
static void at_rest(struct fuzz *f)
{
	const u32 *marks = f->pool->locks.in_flight;
	u32 i;

	for (i = 0; i < WORT_NR_LOCKS; i++)
		if (marks[i])
			finding(f, "a word is in flight for ever");
	if (shim_locks_held || shim_rcu_sections)
		finding(f, "a lock or a section is held for ever");
}

static void detach(struct fuzz *f)
{
	at_rest(f);
	close_all();
	wort_pool_detach(f->pool);
	f->pool = NULL;
	if (shim_alloc_live != f->live)
		finding(f, "%ld allocations leak", shim_alloc_live - f->live);
	if (shim_run_work())
		finding(f, "background work is left");
}

static int attach(struct fuzz *f)
{
	static const int errors[] = { -ENODATA, -EPROTONOSUPPORT, -EOVERFLOW, -EUCLEAN,
				      -EIO };
	int err;

	f->live = shim_alloc_live;
	err = wort_pool_attach(&f->region, &f->pool);
	ANSWERED(f, "attach", err, errors);
	if (err)
		f->pool = NULL;
	if (err && shim_alloc_live != f->live)
		finding(f, "a failed attach leaks");
	return err;
}

/* A check; what it says must hold. */
static int check(struct fuzz *f, u32 flags, struct wort_check_arg *arg)
{
	static const int errors[] = { -EROFS };
	int err;

	*arg = (struct wort_check_arg){ .size = sizeof(*arg), .flags = flags };
	err = wort_pool_check(f->pool, arg);
	ANSWERED(f, "check", err, errors);
	f->dropped |= arg->out_nr_dropped;
	say(f, "  %llu damaged at %#llx",
	    (unsigned long long)arg->out_nr_damaged,
	    (unsigned long long)arg->out_damaged_off);
	return err;
}

/* Each byte is owned, free or being freed; with bad memory some are neither. */
static bool accounted(const struct fuzz *f, const struct wort_check_arg *arg)
{
	const struct wort_geometry *geo = &f->pool->alloc.geo;
	u64 sum = arg->out_owned_bytes + arg->out_free_bytes +
		  arg->out_freeing_bytes;
	u64 all = (u64)geo->nr_extents << geo->extent_shift;

	return f->pool->alloc.walking || f->pool->leaky || sum == all ||
	       (wort_region_any_bad(&f->region) && sum < all);
}

static void check_clean(struct fuzz *f)
{
	struct wort_check_arg arg;

	if (check(f, 0, &arg))
		finding(f, "check of a clean pool fails");
	if (arg.out_nr_damaged)
		finding(f, "damage at %#llx of a pool that check had found clean",
			(unsigned long long)arg.out_damaged_off);
	if (!accounted(f, &arg))
		finding(f, "%llu owned, %llu free, %llu being freed are not all",
			(unsigned long long)arg.out_owned_bytes,
			(unsigned long long)arg.out_free_bytes,
			(unsigned long long)arg.out_freeing_bytes);
}

/*
 * Steps that may meet damage, or in a clean pool are compared with the model.
 */

/* What an operation on a clean pool has to answer, but that there may be no space. */
static bool expected(struct fuzz *f, const char *what, int err, int want)
{
	if (err == -ENOSPC && !want)
		return false;
	if (err != want)
		finding(f, "%s answers %d of a clean pool, should be %d", what,
			err, want);
	return !err;
}

static void do_get(struct fuzz *f, struct model *model, bool clean)
{
	struct bytes key = some_key(f, model);
	struct wort_key k = { key.data, key.len };
	struct wort_buf buf = { answer, one_in(f, 4) ? draw(f, 64) :
						       sizeof(answer) };
	bool found;
	u32 at = model_find(model, key, &found);
	const struct bytes *value = &model->rec[at].value;
	int err = wort_index_lookup(model->index, &k, &buf);

	ANSWERED(f, "get", err, errors_read);
	if (!clean)
		return;
	if (!expected(f, "get", err, !found ? -ENOENT : value->len > buf.size ?
					      -ERANGE : 0))
		return;
	if (buf.len != value->len || memcmp(answer, value->data, buf.len))
		finding(f, "get answers with another value");
}

static void do_put(struct fuzz *f, struct model *model, bool clean)
{
	struct bytes key = some_key(f, model), value = some_value(f);
	struct wort_buf old = { answer, sizeof(answer) };
	struct wort_put put = {
		.key = { key.data, key.len },
		.value = { value.data, value.len },
		.create = one_in(f, 6), .replace = one_in(f, 6),
		.old = one_in(f, 3) ? &old : NULL,
	};
	bool found;
	int err, want = 0;

	put.replace &= !put.create;
	model_find(model, key, &found);
	if (put.create && found)
		want = -EEXIST;
	else if (put.replace && !found)
		want = -ENOENT;
	err = wort_index_insert(model->index, &put);
	ANSWERED(f, "put", err, errors_write);
	if (clean && expected(f, "put", err, want))
		model_put(model, key, value);
}

static void do_del(struct fuzz *f, struct model *model, bool clean)
{
	struct bytes key = some_key(f, model);
	struct wort_key k = { key.data, key.len };
	bool found;
	int err;

	model_find(model, key, &found);
	err = wort_index_delete(model->index, &k, NULL, NULL);
	ANSWERED(f, "delete", err, errors_write);
	if (clean && expected(f, "delete", err, found ? 0 : -ENOENT))
		model_del(model, key);
}

static void do_scan(struct fuzz *f, struct model *model, bool clean)
{
	struct bytes key = some_key(f, model);
	struct wort_key k = { key.data, key.len };
	struct wort_scan scan = {
		.flags = draw(f, WORT_SCAN_F_ALL + 1),
		.start = one_in(f, 2) ? &k : NULL,
		.max = one_in(f, 2) ? 1 + draw(f, 40) : 0,
		.buf = answer, .buf_len = sizeof(answer),
	};
	int err;

	if (scan.flags & WORT_SCAN_F_PREFIX)
		scan.bound = &k;
	if (clean) {
		model_compare(f, model, one_in(f, 2));
		return;
	}
	err = wort_index_scan(model->index, &scan);
	ANSWERED(f, "scan", err, errors_read);
}

static u16 some_op(struct fuzz *f)
{
	static const u16 ops[] = { WORT_BATCH_INSERT, WORT_BATCH_INSERT,
				   WORT_BATCH_DELETE, WORT_BATCH_DELETE,
				   WORT_BATCH_LOOKUP };

	return ops[draw(f, ARRAY_NR(ops))];
}

/* What one of them did, in the order in which they were given. */
static void model_op(struct fuzz *f, struct model *model,
		     const struct wort_batch_op *op, const u8 *data, int err)
{
	struct bytes key = { data, op->key_len };
	struct bytes value = { data + op->key_len, op->value_len };
	bool found;

	model_find(model, key, &found);
	if (op->op == WORT_BATCH_INSERT) {
		if (expected(f, "insert of a batch", err, 0))
			model_put(model, key, value);
	} else if (op->op == WORT_BATCH_DELETE) {
		if (expected(f, "delete of a batch", err, found ? 0 : -ENOENT))
			model_del(model, key);
	} else {
		expected(f, "lookup of a batch", err, found ? -ERANGE : -ENOENT);
	}
}

static void batch_answers(struct fuzz *f, struct model *model,
			  const struct wort_batch *batch, bool clean)
{
	const u8 *at = batch->results, *data = batch->ops;
	struct wort_batch_result result;
	struct wort_batch_op op;
	u32 i;

	for (i = 0; i < batch->done; i++) {
		memcpy(&result, at, sizeof(result));
		memcpy(&op, data, sizeof(op));
		ANSWERED(f, "of a batch", result.error, errors_write);
		/* A lookup that wants no byte of an empty value succeeds. */
		if (clean && op.op == WORT_BATCH_LOOKUP && !result.error &&
		    !result.value_len)
			result.error = -ERANGE;
		if (clean)
			model_op(f, model, &op, data + sizeof(op), result.error);
		at += result.rec_len;
		data += op.rec_len;
	}
}

static void do_batch(struct fuzz *f, struct model *model, bool clean)
{
	static u8 ops[BATCH_OPS * (WORT_KEY_MAX + 10000)]
		__attribute__((aligned(8)));
	struct wort_batch batch = {
		.ops = ops, .write = true, .nr_ops = 1 + draw(f, BATCH_OPS),
		.results = answer, .results_size = sizeof(answer),
	};
	struct bytes key, value;
	u16 op;
	u32 i;
	int err;

	for (i = 0; i < batch.nr_ops; i++) {
		op = some_op(f);
		key = some_key(f, model);
		value = some_value(f);
		if (op != WORT_BATCH_INSERT)
			value.len = 0;
		batch.ops_len += pm_pack(ops + batch.ops_len, op, key.data,
					 key.len, value.data, value.len);
	}
	err = wort_index_batch(model->index, &batch);
	ANSWERED(f, "batch", err, errors_write);
	if (clean && batch.done != batch.nr_ops)
		finding(f, "%u of %u operations of a batch", batch.done,
			batch.nr_ops);
	batch_answers(f, model, &batch, clean);
}

/*
 * Atomic batches of several indexes, each key once, so that what is expected of one
 * operation does not depend on the others.
 */
#define ATOMIC_OPS	6

struct atomic {
	struct wort_atomic batch;
	struct wort_request reqs[ATOMIC_OPS];
	struct wort_index *indexes[ATOMIC_OPS];
	struct model *models[ATOMIC_OPS];
	u8 answers[ATOMIC_OPS][16];
};

static bool atomic_has(const struct atomic *a, const struct model *model,
		       struct bytes key)
{
	const struct wort_key *k;
	u32 i;

	for (i = 0; i < a->batch.nr_ops; i++) {
		k = &a->reqs[i].put.key;
		if (a->models[i] == model && k->len == key.len &&
		    !memcmp(k->data, key.data, key.len))
			return true;
	}
	return false;
}

static void add_to_atomic(struct fuzz *f, struct atomic *a, struct model *model)
{
	struct wort_request *req = &a->reqs[a->batch.nr_ops];
	struct bytes key = some_key(f, model), value = some_value(f);
	u8 *copy;

	if (atomic_has(a, model, key))
		return;
	copy = model_bytes(key.len + value.len);
	if (!copy)
		return;
	memcpy(copy, key.data, key.len);
	memcpy(copy + key.len, value.data, value.len);
	*req = (struct wort_request){
		.op = { .op = one_in(f, 6) ? WORT_BATCH_EXPECT : some_op(f),
			.key_len = key.len },
		.put.key = { copy, key.len },
		.answer = { a->answers[a->batch.nr_ops], sizeof(a->answers[0]) },
	};
	if (req->op.op == WORT_BATCH_EXPECT)
		req->op.flags = WORT_EXPECT_F_ABSENT;
	if (req->op.op == WORT_BATCH_INSERT)
		req->put.value = (struct wort_value){ copy + key.len, value.len };
	a->indexes[a->batch.nr_ops] = model->index;
	a->models[a->batch.nr_ops++] = model;
}

/* How it should end, and which operation refuses. */
static int atomic_expected(const struct atomic *a, u32 *refused)
{
	const struct wort_request *req;
	struct bytes key;
	bool found;
	u32 i;

	for (i = 0; i < a->batch.nr_ops; i++) {
		req = &a->reqs[i];
		key = (struct bytes){ req->put.key.data, req->put.key.len };
		model_find(a->models[i], key, &found);
		*refused = i;
		if (req->op.op == WORT_BATCH_DELETE && !found)
			return -ENOENT;
		if (req->op.op == WORT_BATCH_EXPECT && found)
			return -EEXIST;
	}
	*refused = WORT_NO_VALUE;
	return 0;
}

static void atomic_done(const struct atomic *a)
{
	const struct wort_request *req;
	struct bytes key, value;
	u32 i;

	for (i = 0; i < a->batch.nr_ops; i++) {
		req = &a->reqs[i];
		key = (struct bytes){ req->put.key.data, req->put.key.len };
		value = (struct bytes){ req->put.value.data, req->put.value.len };
		if (req->op.op == WORT_BATCH_INSERT)
			model_put(a->models[i], key, value);
		else if (req->op.op == WORT_BATCH_DELETE)
			model_del(a->models[i], key);
	}
}

static void do_atomic(struct fuzz *f, struct model *model, bool clean)
{
	static struct atomic a;
	u32 nr = 1 + draw(f, ATOMIC_OPS), refused;
	int err, want;

	a.batch = (struct wort_atomic){ .reqs = a.reqs, .indexes = a.indexes };
	while (nr--) {
		model = some_model(f);
		if (model && model_room(model))
			add_to_atomic(f, &a, model);
	}
	want = atomic_expected(&a, &refused);
	err = wort_pool_atomic(f->pool, &a.batch);
	ANSWERED(f, "atomic batch", err, errors_write);
	if (!clean)
		return;
	if (a.batch.refused != (err == -ENOSPC ? WORT_NO_VALUE : refused))
		finding(f, "operation %u refuses, should be %u", a.batch.refused,
			refused);
	if (expected(f, "atomic batch", err, want))
		atomic_done(&a);
}

static void do_create(struct fuzz *f, struct model *unused, bool clean)
{
	struct model *model = &models[nr_models];
	u8 name[2] = { 'n', 'a' + draw(f, 26) };
	u32 i;
	int err;

	if (nr_models == MAX_MODELS)
		return;
	model->nr = 0;
	err = wort_index_open(f->pool, name, sizeof(name),
			      WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL,
			      f->base->engine->id, 0, &model->index);
	ANSWERED(f, "create", err, errors_write);
	if (!err)
		name_model(&models[nr_models++]);
	if (!clean || !err || err == -ENOSPC || f->pool->nr_unknown)
		return;
	for (i = 0; i < nr_models; i++)
		if (models[i].index && models[i].index->name_len == 2 &&
		    !memcmp(models[i].index->name, name, 2))
			return;
	finding(f, "create answers %d of a clean pool", err);
}

static void do_destroy(struct fuzz *f, struct model *model, bool clean)
{
	struct wort_index *index = model->index;
	int err = wort_index_destroy(f->pool, index->name, index->name_len);

	ANSWERED(f, "destroy", err, errors_write);
	if (clean)
		expected(f, "destroy", err, 0);
	if (err)
		return;
	wort_index_put(index);
	model->index = NULL;
}

/* As a program does that has mapped the pool; it believes nothing, either. */
static void do_read(struct fuzz *f, struct model *model, bool clean)
{
	struct bytes key = some_key(f, model);
	struct wort_reader reader;
	size_t len = sizeof(answer);
	uint64_t retries = 0;

	/* Whoever maps it may meet a bad page. */
	if (wort_region_any_bad(&f->region) ||
	    !(f->base->engine->traits & WORT_TRAIT_MAPPABLE))
		return;
	pm_reader(model->index, &reader);
	wort_reader_get(&reader, key.data, key.len, answer, &len, &retries);
}

static void do_check(struct fuzz *f, struct model *model, bool clean)
{
	struct wort_check_arg arg;

	if (clean)
		check_clean(f);
	else
		check(f, one_in(f, 2) ? WORT_CHECK_F_CLEAR : 0, &arg);
}

static void do_settle(struct fuzz *f, struct model *model, bool clean)
{
	settle(f);
}

static void do_info(struct fuzz *f, struct model *model, bool clean)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };

	wort_pool_info(f->pool, &info);
}

static void (*const steps[])(struct fuzz *f, struct model *model, bool clean) = {
	do_get, do_get, do_put, do_put, do_put, do_del, do_del, do_del, do_scan,
	do_batch, do_batch, do_atomic, do_atomic, do_create, do_destroy, do_read, do_check,
	do_settle, do_settle, do_info,
};

static void some_steps(struct fuzz *f, bool clean)
{
	u32 nr = 1 + draw(f, STEPS);
	struct model *model;

	while (nr--) {
		model = some_model(f);
		if (model && model_room(model))
			steps[draw(f, ARRAY_NR(steps))](f, model, clean);
	}
}

/* A clean pool stays clean, also over a detach. */
static void keep_clean(struct fuzz *f)
{
	u32 i;

	settle(f);
	check_clean(f);
	for (i = 0; i < nr_models; i++)
		if (models[i].index)
			model_compare(f, &models[i], false);
}

static void attach_again(struct fuzz *f)
{
	struct wort_index *index;
	u32 i;

	at_rest(f);
	for (i = 0; i < nr_models; i++)
		if (models[i].index)
			wort_index_put(models[i].index);
	wort_pool_detach(f->pool);
	if (attach(f))
		finding(f, "a clean pool cannot be attached again");
	/* That it is none any more is not told where its page is bad. */
	if (f->pool->damaged && !wort_region_any_bad(&f->region))
		finding(f, "attach finds damage in a clean pool");
	for (i = 0; i < nr_models; i++) {
		if (!models[i].index)
			continue;
		index = NULL;
		if (wort_index_open(f->pool, models[i].name,
				    models[i].name_len, 0, 0, 0, &index))
			finding(f, "an index of a clean pool is gone");
		models[i].index = index;
	}
}

/* Scans of a read-only pool find what lookups do, also of batches. */
static void read_both(struct fuzz *f)
{
	const struct record *rec;
	struct wort_buf buf;
	struct wort_key key;
	u32 i, at;

	for (i = 0; i < nr_models; i++) {
		if (!models[i].index || model_load(f, &models[i]))
			continue;
		model_compare(f, &models[i], true);
		for (at = 0; at < models[i].nr; at++) {
			rec = &models[i].rec[at];
			key = (struct wort_key){ rec->key.data, rec->key.len };
			buf = (struct wort_buf){ answer, sizeof(answer) };
			if (wort_index_lookup(models[i].index, &key, &buf) ||
			    buf.len != rec->value.len ||
			    memcmp(answer, rec->value.data, buf.len))
				finding(f, "a lookup and a scan find different values");
		}
	}
}

/* A check that clears has carried all batches out, or given them up. */
static void no_heads(struct fuzz *f)
{
	u32 i;

	for (i = 0; i < WORT_MEDIA_NR_HEADS && !f->pool->nr_unknown; i++)
		if (base_get(f->base, WORT_MEDIA_HEADS_OFF +
			     i * sizeof(struct wort_media_head)))
			finding(f, "batch %u of a clean pool is not carried out", i);
}

/*
 * Check has found nothing wrong: what was marked as damaged before is made
 * writable, so that everything can be tried.  Return: false if something stays
 * read-only.  Check clears no mark while an index has an unknown engine.
 */
static bool begin_clean(struct fuzz *f)
{
	struct wort_check_arg arg;
	u32 i;

	if (f->pool->readonly) {
		read_both(f);
		return false;
	}
	if (check(f, WORT_CHECK_F_CLEAR, &arg) || arg.out_nr_damaged)
		finding(f, "a second check finds damage");
	settle(f);
	check_clean(f);
	no_heads(f);
	close_all();
	open_all(f);
	for (i = 0; i < nr_models; i++)
		if ((f->pool->nr_unknown && models[i].index->damaged) ||
		    model_load(f, &models[i]))
			return false;
	return !f->pool->damaged || !f->pool->nr_unknown;
}

static void run_clean(struct fuzz *f)
{
	if (!begin_clean(f)) {
		some_steps(f, false);
		return;
	}
	some_steps(f, true);
	keep_clean(f);
	attach_again(f);
	if (one_in(f, 2))
		some_steps(f, true);
	keep_clean(f);
}

/* Does check find nothing wrong?  With bad memory what it does not read may be. */
static bool finds_clean(struct fuzz *f)
{
	struct wort_check_arg arg;

	return !check(f, 0, &arg) && !arg.out_nr_damaged && !shim_poison;
}

static enum outcome on_pool(struct fuzz *f)
{
	bool clean = false;

	open_all(f);
	f->tried = one_in(f, 2);
	if (f->tried)
		some_steps(f, false);
	if (!one_in(f, 4))
		settle(f);
	if (!one_in(f, 8))
		clean = finds_clean(f);
	f->armed = false;
	shim_alloc_fail_nth = -1;
	if (clean)
		run_clean(f);
	else
		some_steps(f, false);
	f->end = le64_to_cpu(f->pool->sb.pool_size);
	detach(f);
	return clean ? RUN_CLEAN : RUN_DAMAGED;
}

/* Known to be bad, upon which nobody may touch it, or poisoned. */
static void make_bad(struct fuzz *f)
{
	u32 nr = 1 + draw(f, 3), page;

	if (one_in(f, 3)) {
		f->region.mcsafe = true;
		shim_poison = (char *)f->base->mem +
			      PAGE * draw(f, f->base->size / PAGE);
		return;
	}
	while (nr--) {
		page = 1 + draw(f, one_in(f, 2) ? 4 : f->base->size / PAGE - 1);
		say(f, "page %u is bad", page);
		wort_region_add_bad(&f->region, PAGE * page, PAGE);
		mprotect(f->base->mem + PAGE * page, PAGE, PROT_NONE);
	}
}

/* The memory ends before the pool does. */
static void cut(struct fuzz *f)
{
	u64 len = PAGE * (1 + draw(f, 8));

	f->region.size -= len;
	say(f, "the memory has %llu bytes", (unsigned long long)f->region.size);
	mprotect(f->base->mem + f->region.size, len, PROT_NONE);
}

static void make_good(struct fuzz *f)
{
	shim_poison = NULL;
	shim_alloc_fail_nth = -1;
	if (wort_region_any_bad(&f->region) || f->region.size < f->base->size)
		mprotect(f->base->mem, f->base->size, PROT_READ | PROT_WRITE);
	wort_region_forget_bad(&f->region);
}

static u8 behind[MEMORY_BEHIND];

static void keep_behind(const struct base *base)
{
	memcpy(behind, base->mem + WORT_MEDIA_POOL_MIN,
	       base->size - WORT_MEDIA_POOL_MIN);
}

/* Nobody stores to what lies before and behind the pool, if check found it clean. */
static void around_pool(struct fuzz *f)
{
	const struct base *base = f->base;

	if (memcmp(base->mem, base->clean, WORT_MEDIA_SB_OFF))
		finding(f, "memory before the pool has changed");
	if (memcmp(base->mem + f->end, behind + f->end - WORT_MEDIA_POOL_MIN,
		   base->size - f->end))
		finding(f, "memory behind the pool has changed");
}

enum outcome run(struct fuzz *f)
{
	enum outcome outcome = RUN_REFUSED;

	base_restore(f->base);
	mutate(f);
	keep_behind(f->base);
	f->region = (struct wort_region){
		.base = f->base->mem, .size = f->base->size,
		.flush = !one_in(f, 4), .readonly = one_in(f, 16),
	};
	if (one_in(f, 32))
		cut(f);
	else if (one_in(f, 8))
		make_bad(f);
	if (one_in(f, 8)) {
		f->armed = true;
		shim_alloc_fail_nth = draw(f, one_in(f, 2) ? 20 : 100);
	}
	if (!attach(f))
		outcome = on_pool(f);
	make_good(f);
	if (outcome == RUN_CLEAN && !f->tried)
		around_pool(f);
	return outcome;
}
