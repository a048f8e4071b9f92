// SPDX-License-Identifier: GPL-2.0-only
#include "transfers.h"

#define NR_GROUPS	16
#define NR_ACCOUNTS	64	/* of a group */
#define NR_NAMES	32
#define BALANCE		1000	/* of an account, in the beginning */
#define PARTS_MAX	3	/* accounts in a transfer */
#define KEY_LEN		3
#define VALUE_MAX	40

struct indexes {
	int fd[2];		/* "left", "right" */
};

struct account {
	int64_t balance;
	char more[VALUE_MAX - 8];	/* zeroes */
};

/* An atomic batch that is being put together, and its answers. */
struct batch {
	struct wort_atomic_arg arg;
	uint8_t ops[NR_ACCOUNTS * (sizeof(struct wort_atomic_op) + 96)];
	uint8_t results[NR_ACCOUNTS * (sizeof(struct wort_batch_result) + VALUE_MAX)];
};

static int open_both(struct indexes *in, int pool, uint32_t flags)
{
	in->fd[0] = open_index(pool, "left", flags);
	in->fd[1] = in->fd[0] < 0 ? in->fd[0] : open_index(pool, "right", flags);
	return in->fd[1] < 0 ? in->fd[1] : 0;
}

static void close_both(struct indexes *in)
{
	if (in->fd[0] >= 0)
		close(in->fd[0]);
	if (in->fd[1] >= 0)
		close(in->fd[1]);
}

static void make_key(char kind, int group, int nr, uint8_t key[KEY_LEN])
{
	key[0] = kind;
	key[1] = group;
	key[2] = nr;
}

static int side_of(int account)
{
	return account % 2;
}

static uint32_t account_len(int account)
{
	return account % 8 == 3 ? VALUE_MAX : 8;
}

static void batch_begin(struct batch *b)
{
	memset(&b->arg, 0, sizeof(b->arg));
	b->arg.size = sizeof(b->arg);
}

/* A value is that of an account, with the length that those of @nr have. */
static void batch_add(struct batch *b, uint16_t op, uint16_t flags, int side,
		      const uint8_t key[KEY_LEN], const struct account *expect,
		      const struct account *value)
{
	uint32_t len = key[0] == 'g' ? account_len(key[2]) : 8;
	struct wort_atomic_op head = {
		.op = {
			.op = op, .flags = flags, .key_len = KEY_LEN,
			.expect_len = expect ? len : 0,
			.value_len = value ? len : 0,
			.max_len = op == WORT_BATCH_LOOKUP ? VALUE_MAX : 0,
		},
		.index = side,
	};
	uint8_t *to = b->ops + b->arg.ops_len, *data = to + sizeof(head);

	head.op.rec_len = (sizeof(head) + KEY_LEN + head.op.expect_len +
			   head.op.value_len + 7) & ~7;
	memset(to, 0, head.op.rec_len);
	memcpy(to, &head, sizeof(head));
	memcpy(data, key, KEY_LEN);
	memcpy(data + KEY_LEN, expect ? expect : value, expect || value ? len : 0);
	if (expect && value)
		memcpy(data + KEY_LEN + len, value, len);
	b->arg.ops_len += head.op.rec_len;
	b->arg.nr_ops++;
}

static int batch_run(struct batch *b, struct indexes *in)
{
	b->arg.ops_ptr = PTR(b->ops);
	b->arg.results_ptr = PTR(b->results);
	b->arg.results_len = sizeof(b->results);
	b->arg.fds_ptr = PTR(&in->fd[1]);
	b->arg.nr_fds = 1;
	return call(in->fd[0], WORT_IOC_ATOMIC, &b->arg);
}

/* The next answer, and where the one behind it is. */
static const uint8_t *next_answer(const uint8_t *at, int *err, struct account *value)
{
	struct wort_batch_result result;

	memcpy(&result, at, sizeof(result));
	*err = result.error;
	memset(value, 0, sizeof(*value));
	if (!*err)
		memcpy(value, at + sizeof(result), result.value_len);
	return at + result.rec_len;
}

/* Some accounts of a group at one moment; -ENOENT if one is not there. */
static int read_accounts(struct indexes *in, int group, const int *account, int nr,
			 struct account *values)
{
	uint8_t key[KEY_LEN];
	const uint8_t *at;
	struct batch b;
	int err, i, one;

	batch_begin(&b);
	for (i = 0; i < nr; i++) {
		make_key('g', group, account[i], key);
		batch_add(&b, WORT_BATCH_LOOKUP, 0, side_of(account[i]), key, NULL,
			  NULL);
	}
	err = batch_run(&b, in);
	for (i = 0, at = b.results; i < nr && !err; i++) {
		at = next_answer(at, &one, &values[i]);
		err = one;
	}
	return err;
}

/* All of a group, or none, are there: they are made by one batch. */
static int sum_up(struct indexes *in, int group, int64_t *sum)
{
	struct account values[NR_ACCOUNTS];
	int all[NR_ACCOUNTS], i, err;

	for (i = 0; i < NR_ACCOUNTS; i++)
		all[i] = i;
	err = read_accounts(in, group, all, NR_ACCOUNTS, values);
	for (i = 0, *sum = 0; i < NR_ACCOUNTS && !err; i++)
		*sum += values[i].balance;
	return err;
}

static int verify_sum(struct indexes *in, int group)
{
	int64_t sum;
	int err = sum_up(in, group, &sum);

	if (!err && sum == NR_ACCOUNTS * BALANCE)
		return 0;
	printf("# wrong: the accounts of group %d have %lld: %d\n", group,
	       (long long)sum, err);
	return -EILSEQ;
}

/* On both sides at one moment.  How often one is there is noted. */
static int count_names(struct indexes *in, int often[NR_NAMES])
{
	struct account unused;
	uint8_t key[KEY_LEN];
	const uint8_t *at;
	struct batch b;
	int err, i, one;

	batch_begin(&b);
	for (i = 0; i < 2 * NR_NAMES; i++) {
		make_key('n', 0, i / 2, key);
		batch_add(&b, WORT_BATCH_LOOKUP, 0, i % 2, key, NULL, NULL);
	}
	err = batch_run(&b, in);
	memset(often, 0, NR_NAMES * sizeof(*often));
	for (i = 0, at = b.results; i < 2 * NR_NAMES && !err; i++) {
		at = next_answer(at, &one, &unused);
		often[i / 2] += !one;
	}
	return err;
}

static int verify_names(struct indexes *in)
{
	int often[NR_NAMES], i, err = count_names(in, often);

	for (i = 0; i < NR_NAMES && !err; i++)
		if (often[i] != 1) {
			printf("# wrong: name %d is there %d times\n", i, often[i]);
			err = -EILSEQ;
		}
	return err;
}

static int make_group(struct indexes *in, int group)
{
	struct account first = { .balance = BALANCE };
	uint8_t key[KEY_LEN];
	struct batch b;
	int i;

	batch_begin(&b);
	for (i = 0; i < NR_ACCOUNTS; i++) {
		make_key('g', group, i, key);
		batch_add(&b, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, side_of(i),
			  key, NULL, &first);
	}
	return batch_run(&b, in);
}

static int make_names(struct indexes *in)
{
	struct account value = { };
	uint8_t key[KEY_LEN];
	struct batch b;
	int i;

	batch_begin(&b);
	for (i = 0; i < NR_NAMES; i++) {
		make_key('n', 0, i, key);
		batch_add(&b, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, 0, key, NULL,
			  &value);
	}
	return batch_run(&b, in);
}

int transfers_create(struct load *load, int pool)
{
	int often[NR_NAMES], err, i;
	struct indexes in;
	int64_t sum;

	load_store(&load->transfers.sent, 1);
	err = open_both(&in, pool, WORT_INDEX_OPEN_F_CREATE);
	for (i = 0; i < NR_GROUPS && !err; i++) {
		err = sum_up(&in, i, &sum);
		if (err == -ENOENT)
			err = make_group(&in, i);
	}
	if (!err)
		err = count_names(&in, often);
	if (!err && !often[0])
		err = make_names(&in);
	close_both(&in);
	if (!err)
		load_store(&load->transfers.acked, 1);
	return err;
}

static int move_amount(struct indexes *in, uint64_t *seed, bool singly)
{
	int group = load_random(seed) % NR_GROUPS, nr = 2 + load_random(seed) % 2;
	struct account was[PARTS_MAX], is[PARTS_MAX];
	int account[PARTS_MAX], i, err;
	uint8_t key[KEY_LEN];
	struct batch b;

	account[0] = load_random(seed) % NR_ACCOUNTS;
	for (i = 1; i < nr; i++)
		account[i] = (account[i - 1] + 1 + load_random(seed) % 20) % NR_ACCOUNTS;
	err = read_accounts(in, group, account, nr, was);
	if (err)
		return err;
	memcpy(is, was, sizeof(is));
	is[0].balance -= 7 * (nr - 1);
	batch_begin(&b);
	for (i = 0; i < nr && !err; i++) {
		is[i].balance += i ? 7 : 0;
		make_key('g', group, account[i], key);
		if (singly)
			err = insert_raw(in->fd[side_of(account[i])], key, KEY_LEN,
					 &is[i], account_len(account[i]), 0);
		else
			batch_add(&b, WORT_BATCH_CAS, 0, side_of(account[i]), key,
				  &was[i], &is[i]);
	}
	if (err || singly)
		return err;
	err = batch_run(&b, in);
	return err == -ECANCELED ? 0 : err;
}

/* Somebody else may have moved it there and back. */
static int move_name(struct indexes *in, uint64_t *seed)
{
	int nr = load_random(seed) % NR_NAMES, side = load_random(seed) % 2, err;
	struct account value = { };
	uint8_t key[KEY_LEN];
	struct batch b;

	make_key('n', 0, nr, key);
	value.balance = load_random(seed);
	batch_begin(&b);
	batch_add(&b, WORT_BATCH_DELETE, 0, side, key, NULL, NULL);
	batch_add(&b, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, !side, key, NULL,
		  &value);
	err = batch_run(&b, in);
	return err == -ENOENT && !b.arg.out_refused ? 0 : err;
}

int transfers_work(struct load *load, int pool, int number, uint64_t seed, bool singly)
{
	struct indexes in;
	int err = open_both(&in, pool, 0);

	while (!err) {
		err = load_random(&seed) % 4 ? move_amount(&in, &seed, singly) :
					       move_name(&in, &seed);
		load_store(&load->ops[number], load->ops[number] + 1);
	}
	close_both(&in);
	return err;
}

int transfers_watch(int pool, uint64_t seed)
{
	struct indexes in;
	int err = open_both(&in, pool, 0);

	while (!err)
		err = load_random(&seed) % 4 ?
		      verify_sum(&in, load_random(&seed) % NR_GROUPS) :
		      verify_names(&in);
	close_both(&in);
	return err;
}

static int count_records(int index, uint64_t *count)
{
	uint8_t last[WORT_KEY_MAX];
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_SCAN_F_COUNT,
		.buf_ptr = PTR(last),
		.buf_len = sizeof(last),
	};
	int err = call(index, WORT_IOC_SCAN, &arg);

	*count += arg.out_count;
	return err ? err : arg.out_more ? -ERANGE : 0;
}

static int verify_count(struct indexes *in)
{
	uint64_t count = 0;
	int err = count_records(in->fd[0], &count);

	if (!err)
		err = count_records(in->fd[1], &count);
	if (err || count == NR_GROUPS * NR_ACCOUNTS + NR_NAMES)
		return err;
	printf("# wrong: %llu accounts and names\n", (unsigned long long)count);
	return -EILSEQ;
}

int transfers_verify(const struct load *load, int pool)
{
	struct indexes in;
	int i, err;

	if (!load->transfers.acked)
		return 0;
	err = open_both(&in, pool, 0);
	for (i = 0; i < NR_GROUPS && !err; i++)
		err = verify_sum(&in, i);
	if (!err)
		err = verify_names(&in);
	if (!err)
		err = verify_count(&in);
	close_both(&in);
	return err;
}
