// SPDX-License-Identifier: GPL-2.0-only
#include "load.h"

#define BATCH_MAX	16
#define BUF_SIZE	(1 << 20)
#define NR_FILL		48

static char buf[BUF_SIZE];

uint32_t load_nr_keys = LOAD_KEYS;

uint64_t load_random(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* The ledger may be memory of the host: it is never ahead of the pool. */
void load_store(uint64_t *word, uint64_t val)
{
	__atomic_store_n(word, val, __ATOMIC_SEQ_CST);
}

uint64_t load_fetch(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static bool settled(const struct load_word *word)
{
	return word->sent == word->acked;
}

static uint64_t next_version(const struct load_word *word, bool put)
{
	return word->acked + 1 + (word->acked % 2 == put);
}

/* The version that is there, of two of which one is. */
static uint64_t there(const struct load_word *word)
{
	return word->acked % 2 ? word->acked : word->sent;
}

/* How the call ended that was to bring about @sent. */
static int answer(struct load_word *word, int err)
{
	if (err)
		load_store(&word->sent, word->acked);
	else
		load_store(&word->acked, word->sent);
	return err;
}

/*
 * Keys of the workers lie between each other.  Every fourth has eight bytes, for
 * which engines have paths of their own.  Odd keys are longer ones with an even key
 * as their beginning, if that is short, and every eighth has more digits than a word.
 */
static size_t make_key(int worker, uint32_t nr, char *key)
{
	size_t len = 0, i;

	key[len++] = nr >> 9;
	key[len++] = nr >> 1;
	key[len++] = 'A' + worker;
	if (nr % 2)
		key[len++] = 'x';
	for (i = 0; (nr % 8 == 3 && i < 40) || (nr % 4 == 0 && i < 5); i++)
		key[len++] = 'a' + i % 26;
	return len;
}

static bool parse_key(const char *key, size_t len, int *worker, uint32_t *nr)
{
	char again[LOAD_KEY_MAX];

	if (len < 3)
		return false;
	*worker = key[2] - 'A';
	*nr = ((uint8_t)key[0] << 9 | (uint8_t)key[1] << 1) + (len > 3 && key[3] == 'x');
	return *worker >= 0 && *worker < LOAD_WORKERS && *nr < LOAD_KEYS &&
	       make_key(*worker, *nr, again) == len && !memcmp(again, key, len);
}

static uint64_t value_seed(int index, int worker, uint32_t nr, uint64_t version)
{
	return version << 20 ^ nr << 8 ^ index << 4 ^ worker;
}

/* One half in the word of a leaf, most others behind the key, few elsewhere. */
static size_t make_value(uint64_t seed, char *value)
{
	uint64_t word, kind = load_random(&seed);
	size_t len = 8, i;

	if (kind % 128 == 1)
		len = kind >> 32 & (WORT_VALUE_MAX - 1);
	else if (kind % 2)
		len = kind >> 32 & (kind % 16 == 3 ? 0xfff : 0x7f);
	/* Shorter ones would not tell two versions apart. */
	len = len < 8 ? 8 : len;
	for (i = 0; i < len; i += sizeof(word)) {
		word = load_random(&seed);
		memcpy(value + i, &word, len - i < 8 ? len - i : 8);
	}
	return len;
}

static struct load_word *word_of(struct load_worker *w, int index, uint32_t nr)
{
	return &w->load->keys[index][w->number][nr];
}

static int put_one(struct load_worker *w, int index, uint32_t nr)
{
	struct load_word *word = word_of(w, index, nr);
	char key[LOAD_KEY_MAX];
	size_t len;

	load_store(&word->sent, next_version(word, true));
	len = make_value(value_seed(index, w->number, nr, word->sent), buf);
	return answer(word, insert_raw(w->index[index], key,
				       make_key(w->number, nr, key), buf, len,
				       word->acked % 2 ? WORT_INSERT_F_REPLACE :
				       WORT_INSERT_F_CREATE));
}

static int delete_one(struct load_worker *w, int index, uint32_t nr)
{
	struct load_word *word = word_of(w, index, nr);
	char key[LOAD_KEY_MAX];

	load_store(&word->sent, next_version(word, false));
	return answer(word, delete_raw(w->index[index], key,
				       make_key(w->number, nr, key)));
}

/* -EILSEQ: it is not of this version. */
static int look_for(struct load_worker *w, int index, uint32_t nr,
		    uint64_t version)
{
	static char want[WORT_VALUE_MAX + 8];
	char key[LOAD_KEY_MAX];
	int len;

	len = lookup_raw(w->index[index], key, make_key(w->number, nr, key),
			 buf, WORT_VALUE_MAX, NULL);
	if (len == -ENOENT && version % 2 == 0)
		return 0;
	if (len < 0 && len != -ENOENT)
		return len;
	if (version % 2 &&
	    len == (int)make_value(value_seed(index, w->number, nr, version),
				   want) && !memcmp(buf, want, len))
		return 0;
	return -EILSEQ;
}

/* What was under way when a worker was killed is of either version. */
static int look_up(struct load_worker *w, int index, uint32_t nr)
{
	struct load_word *word = word_of(w, index, nr);
	int err = look_for(w, index, nr, word->acked);

	if (err == -EILSEQ && !settled(word))
		err = look_for(w, index, nr, word->sent);
	if (err == -EILSEQ)
		printf("# lookup of key %u of worker %d in index %d: not as acknowledged\n",
		       nr, w->number, index);
	return err;
}

/* Append an operation; the bytes it takes. */
static size_t batch_add(struct load_worker *w, int index, uint32_t nr,
			bool put, char *at)
{
	struct load_word *word = word_of(w, index, nr);
	struct wort_batch_op op = {
		.op = put ? WORT_BATCH_INSERT : WORT_BATCH_DELETE,
	};
	char *value = at + sizeof(op);

	load_store(&word->sent, next_version(word, put));
	op.key_len = make_key(w->number, nr, value);
	value += op.key_len;
	if (put)
		op.value_len = make_value(value_seed(index, w->number, nr,
						     word->sent), value);
	op.rec_len = (sizeof(op) + op.key_len + op.value_len + 7) & ~7;
	memset(value + op.value_len, 0, 8);
	memcpy(at, &op, sizeof(op));
	return op.rec_len;
}

/* What out_done counts was done if its answer says so, the rest was not. */
static int batch_answers(struct load_worker *w, int index, const uint32_t *nr,
			 const struct wort_batch_arg *arg,
			 const struct wort_batch_result *results)
{
	uint32_t i;
	int err, first = 0;

	for (i = 0; i < arg->nr_ops; i++) {
		err = i < arg->out_done ? results[i].error : -ECANCELED;
		answer(word_of(w, index, nr[i]), err);
		if (err && !first && i < arg->out_done)
			first = err;
	}
	return first;
}

static int batch(struct load_worker *w, int index, uint32_t nr)
{
	struct wort_batch_result results[BATCH_MAX] = { };
	uint32_t step = load_random(&w->seed) | 1, nrs[BATCH_MAX];
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(buf),
		.results_ptr = PTR(results),
		.results_len = sizeof(results),
	};
	struct load_word *word;
	int err, err2, i;

	for (i = 0; i < BATCH_MAX; i++, nr = (nr + step) % load_nr_keys) {
		word = word_of(w, index, nr);
		if (!settled(word) || arg.ops_len > BUF_SIZE / 2)
			continue;
		nrs[arg.nr_ops++] = nr;
		arg.ops_len += batch_add(w, index, nr, word->acked % 2 == 0 ||
					 load_random(&w->seed) % 2,
					 buf + arg.ops_len);
	}
	if (!arg.nr_ops)
		return 0;
	err = call(w->index[index], WORT_IOC_BATCH, &arg);
	err2 = batch_answers(w, index, nrs, &arg, results);
	return err ? err : err2;
}

static void temp_name(int worker, int temp, char *name)
{
	sprintf(name, "temp %d %d", worker, temp);
}

static size_t temp_value(int worker, int temp, uint64_t version, uint64_t nr,
			 char *value)
{
	return make_value(value_seed(100 + temp, worker, nr, version), value);
}

static int temp_fill(struct load_worker *w, int temp, int fd)
{
	struct load_temp *t = &w->load->temps[w->number][temp];
	uint64_t nr, end = load_random(&w->seed) % NR_FILL;
	char key[16];
	size_t len;
	int err = 0;

	for (nr = 0; nr < end && !err; nr++) {
		load_store(&t->filled.sent, nr + 1);
		len = temp_value(w->number, temp, t->exists.acked, nr, buf);
		sprintf(key, "%08x", (unsigned int)nr);
		err = answer(&t->filled, insert_raw(fd, key, 8, buf, len, 0));
	}
	return err;
}

static int temp_create(struct load_worker *w, int temp, const char *name)
{
	struct load_temp *t = &w->load->temps[w->number][temp];
	int fd, err;

	load_store(&t->filled.sent, 0);
	load_store(&t->filled.acked, 0);
	load_store(&t->exists.sent, t->exists.acked + 1);
	fd = open_index(w->pool, name, WORT_INDEX_OPEN_F_CREATE |
				       WORT_INDEX_OPEN_F_EXCL);
	err = answer(&t->exists, fd < 0 ? fd : 0);
	if (err)
		return err;
	err = temp_fill(w, temp, fd);
	close(fd);
	return err;
}

static int temp_step(struct load_worker *w)
{
	int temp = load_random(&w->seed) % LOAD_TEMPS;
	struct load_temp *t = &w->load->temps[w->number][temp];
	char name[32];

	temp_name(w->number, temp, name);
	if (!settled(&t->exists))
		return 0;
	if (t->exists.acked % 2 == 0)
		return temp_create(w, temp, name);
	load_store(&t->exists.sent, t->exists.acked + 1);
	return answer(&t->exists, destroy(w->pool, name));
}

static int work_once(struct load_worker *w)
{
	uint64_t dice = load_random(&w->seed);
	uint32_t nr = dice % load_nr_keys;
	int index = (dice >> 32) % LOAD_INDEXES;

	dice >>= 40;
	if (dice % (w->style == LOAD_CATALOGUE ? 2 : 256) == 1)
		return temp_step(w);
	dice >>= 8;
	if (dice % 16 == 0)
		return batch(w, index, nr);
	if (!settled(word_of(w, index, nr)))
		return 0;
	if (dice % 4 == 1)
		return look_up(w, index, nr);
	if (dice % 4 == 2 && word_of(w, index, nr)->acked % 2)
		return delete_one(w, index, nr);
	return put_one(w, index, nr);
}

static void index_name(int index, char *name)
{
	sprintf(name, "index %d", index);
}

static int open_all(struct load_worker *w)
{
	char name[32];
	int i, err = 0;

	for (i = 0; i < LOAD_INDEXES; i++) {
		index_name(i, name);
		w->index[i] = open_index(w->pool, name, 0);
		if (w->index[i] < 0)
			err = w->index[i];
	}
	return err;
}

static void close_all(struct load_worker *w)
{
	int i;

	for (i = 0; i < LOAD_INDEXES; i++)
		if (w->index[i] >= 0)
			close(w->index[i]);
}

int load_steps(struct load_worker *w, uint64_t nr)
{
	int err = open_all(w);

	while (!err && nr--) {
		err = work_once(w);
		if (err == -EIO && w->lossy)
			err = 0;
		load_store(&w->load->ops[w->number],
			   w->load->ops[w->number] + 1);
	}
	close_all(w);
	return err;
}

int load_work(struct load_worker *w)
{
	return load_steps(w, UINT64_MAX);
}

int load_create(struct load *load, int pool)
{
	char name[32];
	int i, fd;

	for (i = 0; i < LOAD_INDEXES; i++) {
		index_name(i, name);
		load_store(&load->exists[i].sent, 1);
		fd = open_index(pool, name, WORT_INDEX_OPEN_F_CREATE);
		if (answer(&load->exists[i], fd < 0 ? fd : 0))
			return fd;
		close(fd);
	}
	return 0;
}

void load_reset(struct load *load)
{
	memset(&load->transfers, 0, sizeof(load->transfers));
	memset(load->exists, 0, sizeof(load->exists));
	memset(load->temps, 0, sizeof(load->temps));
	memset(load->keys, 0, sizeof(load->keys));
}

/* ---- what there is, against what there has to be ---- */

static void wrong(struct load_found *found, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void wrong(struct load_found *found, const char *fmt, ...)
{
	va_list args;

	if (found->wrong++ >= 10)
		return;
	va_start(args, fmt);
	printf("# wrong: ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

/* It was found to be of this version, which is one of both. */
static void adopt(struct load_word *word, uint64_t version,
		  struct load_found *found)
{
	if (!settled(word)) {
		found->done += version == word->sent;
		found->undone += version == word->acked;
	}
	word->sent = version;
	word->acked = version;
}

/* Nothing is there: legal if one of the versions says so. */
static void absent(struct load_word *word, struct load_found *found,
		   const char *what, int a, int b, uint32_t nr)
{
	if (word->acked % 2 == 0)
		adopt(word, word->acked, found);
	else if (word->sent % 2 == 0)
		adopt(word, word->sent, found);
	else
		wrong(found, "%s %d %d %u is missing: version %llu, sent %llu",
		      what, a, b, nr, (unsigned long long)word->acked,
		      (unsigned long long)word->sent);
}

static bool is_version(uint64_t version, uint64_t seed,
		       const struct wort_record *rec, const char *value)
{
	static char want[WORT_VALUE_MAX + 8];

	return version % 2 && make_value(seed, want) == rec->value_len &&
	       !memcmp(want, value, rec->value_len);
}

struct verifier {
	struct load *load;
	struct load_found *found;
	int index;		/* of a main index, or -1 */
	int worker;		/* of a temporary one */
	int temp;
	uint64_t nr;
	size_t last_len;
	char last[WORT_KEY_MAX];
	bool seen[LOAD_WORKERS][LOAD_KEYS];
};

static void verify_main(struct verifier *v, const struct wort_record *rec,
			const char *key)
{
	const char *value = key + rec->key_len;
	struct load_word *word;
	uint64_t version = 0;
	uint32_t nr;
	int worker;

	if (!parse_key(key, rec->key_len, &worker, &nr)) {
		wrong(v->found, "index %d: a key that was never sent", v->index);
		return;
	}
	word = &v->load->keys[v->index][worker][nr];
	v->seen[worker][nr] = true;
	if (is_version(word->acked, value_seed(v->index, worker, nr,
					       word->acked), rec, value))
		version = word->acked;
	else if (is_version(word->sent, value_seed(v->index, worker, nr,
						   word->sent), rec, value))
		version = word->sent;
	if (version)
		adopt(word, version, v->found);
	else
		wrong(v->found, "index %d worker %d key %u has a value that is neither of version %llu nor %llu",
		      v->index, worker, nr, (unsigned long long)word->acked,
		      (unsigned long long)word->sent);
}

static void verify_temp(struct verifier *v, const struct wort_record *rec,
			const char *key)
{
	struct load_temp *t = &v->load->temps[v->worker][v->temp];
	static char want[WORT_VALUE_MAX + 8];
	char name[16];

	sprintf(name, "%08x", (unsigned int)v->nr);
	if (rec->key_len != 8 || memcmp(key, name, 8) ||
	    temp_value(v->worker, v->temp, t->exists.acked, v->nr, want) !=
	    rec->value_len || memcmp(key + 8, want, rec->value_len))
		wrong(v->found, "temp %d %d: record %u was not sent", v->worker,
		      v->temp, (unsigned int)v->nr);
	v->nr++;
}

static bool key_after(const struct verifier *v, const char *key, size_t len)
{
	int cmp = memcmp(key, v->last, len < v->last_len ? len : v->last_len);

	return cmp ? cmp > 0 : len > v->last_len;
}

static void verify_record(struct verifier *v, const struct wort_record *rec,
			  const char *key)
{
	if (!key_after(v, key, rec->key_len))
		wrong(v->found, "keys do not increase");
	if (v->index >= 0)
		verify_main(v, rec, key);
	else
		verify_temp(v, rec, key);
	memcpy(v->last, key, rec->key_len);
	v->last_len = rec->key_len;
	v->found->records++;
}

static int scan_all(struct verifier *v, int fd)
{
	struct wort_scan_arg scan = {
		.size = sizeof(scan),
		.buf_ptr = PTR(buf),
		.buf_len = sizeof(buf),
	};
	struct wort_record rec;
	uint32_t at;
	int err;

	v->last_len = 0;
	do {
		err = call(fd, WORT_IOC_SCAN, &scan);
		for (at = 0; !err && at < scan.out_len; at += rec.rec_len) {
			memcpy(&rec, buf + at, sizeof(rec));
			verify_record(v, &rec, buf + at + sizeof(rec));
		}
		scan.start_ptr = PTR(v->last);
		scan.start_len = v->last_len;
		scan.flags = WORT_SCAN_F_AFTER;
	} while (!err && scan.out_more);
	return err;
}

static void absent_keys(struct verifier *v)
{
	uint32_t nr;
	int worker;

	for (worker = 0; worker < LOAD_WORKERS; worker++)
		for (nr = 0; nr < LOAD_KEYS; nr++)
			if (!v->seen[worker][nr])
				absent(&v->load->keys[v->index][worker][nr],
				       v->found, "index, worker, key",
				       v->index, worker, nr);
}

static int verify_index(struct load *load, int pool, int index,
			struct load_found *found)
{
	static struct verifier v;
	char name[32];
	int fd, err = 0;

	memset(&v, 0, sizeof(v));
	v.load = load;
	v.found = found;
	v.index = index;
	index_name(index, name);
	fd = open_index(pool, name, 0);
	if (fd >= 0) {
		adopt(&load->exists[index], 1, found);
		err = scan_all(&v, fd);
		close(fd);
	} else if (fd == -ENOENT) {
		absent(&load->exists[index], found, "index", index, 0, 0);
	} else {
		err = fd;
	}
	if (!err)
		absent_keys(&v);
	return err;
}

/* Its records are in the order in which they were inserted. */
static int verify_temp_index(struct load *load, int pool, int worker, int temp,
			     struct load_found *found)
{
	struct load_temp *t = &load->temps[worker][temp];
	struct verifier v = {
		.load = load,
		.found = found,
		.index = -1,
		.worker = worker,
		.temp = temp,
	};
	char name[32];
	int fd, err;

	temp_name(worker, temp, name);
	fd = open_index(pool, name, 0);
	if (fd == -ENOENT) {
		absent(&t->exists, found, "temp", worker, temp, 0);
		return 0;
	}
	if (fd < 0)
		return fd;
	if (there(&t->exists) % 2 == 0)
		wrong(found, "%s is there and was destroyed", name);
	adopt(&t->exists, there(&t->exists), found);
	err = scan_all(&v, fd);
	close(fd);
	if (!err && v.nr != t->filled.acked && v.nr != t->filled.sent)
		wrong(found, "%s has %u records, %u were acknowledged", name,
		      (unsigned int)v.nr, (unsigned int)t->filled.acked);
	if (!err)
		adopt(&t->filled, v.nr, found);
	return err;
}

/* The first two are those of transfers.h. */
static bool known_name(const char *name)
{
	char known[32];
	int i, j;

	if (!strcmp(name, "left") || !strcmp(name, "right"))
		return true;
	for (i = 0; i < LOAD_INDEXES; i++) {
		index_name(i, known);
		if (!strcmp(name, known))
			return true;
	}
	for (i = 0; i < LOAD_WORKERS; i++)
		for (j = 0; j < LOAD_TEMPS; j++) {
			temp_name(i, j, known);
			if (!strcmp(name, known))
				return true;
		}
	return false;
}

static int verify_names(int pool, struct load_found *found)
{
	struct wort_index_list_arg list = {
		.size = sizeof(list),
		.buf_ptr = PTR(buf),
		.buf_len = sizeof(buf),
	};
	struct wort_index_record *records = (void *)buf;
	int err = call(pool, WORT_IOC_INDEX_LIST, &list);
	uint32_t i;

	for (i = 0; !err && i < list.out_count; i++)
		if (!known_name((char *)records[i].name))
			wrong(found, "index %s was never created",
			      (char *)records[i].name);
	return err;
}

int load_verify(struct load *load, int pool, struct load_found *found)
{
	int i, j, err;

	memset(found, 0, sizeof(*found));
	err = verify_names(pool, found);
	for (i = 0; i < LOAD_INDEXES && !err; i++)
		err = verify_index(load, pool, i, found);
	for (i = 0; i < LOAD_WORKERS; i++)
		for (j = 0; j < LOAD_TEMPS && !err; j++)
			err = verify_temp_index(load, pool, i, j, found);
	if (err)
		wrong(found, "verification ended with %d", err);
	return found->wrong ? -EILSEQ : 0;
}

int load_verify_lossy(struct load *load, int pool, struct load_found *found)
{
	struct load_worker w = { .load = load, .pool = pool };
	uint32_t nr;
	int i, err;

	memset(found, 0, sizeof(*found));
	err = open_all(&w);
	for (; w.number < LOAD_WORKERS && !err; w.number++)
		for (i = 0; i < LOAD_INDEXES; i++)
			for (nr = 0; nr < LOAD_KEYS; nr++) {
				err = look_up(&w, i, nr);
				found->records += !err;
				found->lost += err == -EIO;
				if (err && err != -EIO)
					wrong(found, "lookup: %d", err);
				err = 0;
			}
	close_all(&w);
	return err ? err : found->wrong ? -EILSEQ : 0;
}
