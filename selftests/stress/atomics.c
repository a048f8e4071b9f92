// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "atomics.h"
#include "stress.h"

#define NR_GROUPS	4
#define IN_GROUP	3
#define NR_MOVERS	(2 * NR_OWNERS)
#define MOVER_ID	0x10000	/* of the first, as their values say */

uint64_t nr_atomics, nr_refused;

/* Of each mover: the version begun, and the one acknowledged; odd: it is in "c". */
static uint32_t begun[NR_MOVERS], acked[NR_MOVERS];

/* A record, as an operation says where it is. */
static struct face_atomic_op record(uint16_t op, bool in_c, const uint8_t *key,
				    uint32_t len)
{
	return (struct face_atomic_op){
		.op = op, .in_c = in_c, .key = key, .key_len = len,
	};
}

static void group_key(uint32_t nr, uint32_t k, uint8_t key[3])
{
	key[0] = 'd';
	key[1] = nr;
	key[2] = k;
}

static struct face_atomic_op of_group(uint16_t op, uint32_t k, const uint8_t key[3])
{
	return record(op, k == IN_GROUP - 1, key, 3);
}

static void mover_key(uint32_t nr, uint8_t key[2])
{
	key[0] = 'e';
	key[1] = nr;
}

/* Sometimes in the mapping. */
static int get(bool in_c, const uint8_t *key, uint32_t key_len,
	       struct value *value, uint32_t *len, uint64_t *random)
{
	*len = sizeof(*value);
	if (in_c)
		return face_get_c(key, key_len, value, len);
	return pick(random, 2) ? face_look(key, key_len, value, len) :
				 face_get(key, key_len, value, len);
}

static uint32_t group_version(uint32_t nr, uint32_t k, uint64_t *random)
{
	struct value value;
	uint8_t key[3];
	uint32_t len;
	int err;

	group_key(nr, k, key);
	err = get(k == IN_GROUP - 1, key, sizeof(key), &value, &len, random);
	if (err)
		fail("group %u: lookup of record %u: %d", nr, k, err);
	verify_value(nr, &value, len);
	return value.version;
}

/* Each record is compared with the version that one of them had. */
static int raise(uint32_t nr, uint32_t version, uint32_t first, uint32_t *refused)
{
	struct face_atomic_op ops[IN_GROUP];
	uint8_t key[IN_GROUP][3];
	struct value was, next;
	uint32_t i, k;

	make_value(nr, version, &was);
	make_value(nr, version + 1, &next);
	for (i = 0; i < IN_GROUP; i++) {
		k = (first + i) % IN_GROUP;
		group_key(nr, k, key[i]);
		ops[i] = of_group(WORT_BATCH_CAS, k, key[i]);
		ops[i].expect = &was;
		ops[i].expect_len = value_len(version);
		ops[i].value = &next;
		ops[i].value_len = value_len(version + 1);
	}
	return face_atomic(ops, IN_GROUP, refused);
}

/* A later record can only be refused if it differs from the first. */
static void raise_group(uint32_t nr, uint64_t *random)
{
	uint32_t refused, version;
	int err;

	do {
		version = group_version(nr, pick(random, IN_GROUP), random);
		err = raise(nr, version, pick(random, IN_GROUP), &refused);
		if (err == -ECANCELED && refused)
			fail("group %u: a record has not version %u, others have",
			     nr, version);
		if (err == -ECANCELED)
			add(&nr_refused);
	} while (err == -ECANCELED);
	if (err)
		fail("group %u: atomic batch: %d", nr, err);
	add(&nr_atomics);
}

/* What is seen of one record is seen of the others from then on. */
static void look_at_group(uint32_t nr, uint64_t *random)
{
	uint32_t first = pick(random, IN_GROUP), other, was, is;

	other = (first + 1 + pick(random, IN_GROUP - 1)) % IN_GROUP;
	was = group_version(nr, first, random);
	is = group_version(nr, other, random);
	if (is < was)
		fail("group %u: record %u has version %u, record %u had %u",
		     nr, other, is, first, was);
}

/* At one moment. */
static void see_group(uint32_t nr)
{
	struct face_atomic_op ops[IN_GROUP];
	struct value value[IN_GROUP];
	uint8_t key[IN_GROUP][3];
	uint32_t k;
	int err;

	for (k = 0; k < IN_GROUP; k++) {
		group_key(nr, k, key[k]);
		ops[k] = of_group(WORT_BATCH_LOOKUP, k, key[k]);
		ops[k].answer = &value[k];
		ops[k].max_len = sizeof(value[k]);
	}
	err = face_atomic(ops, IN_GROUP, NULL);
	for (k = 0; k < IN_GROUP; k++) {
		if (err || ops[k].out_err)
			fail("group %u: batch of lookups: %d, record %u: %d",
			     nr, err, k, ops[k].out_err);
		verify_value(nr, &value[k], ops[k].out_len);
		if (value[k].version != value[0].version)
			fail("group %u: at one moment record 0 has version %u, record %u has %u",
			     nr, value[0].version, k, value[k].version);
	}
}

/* Now and then it has a third operation, which refuses. */
static void move(uint32_t nr, uint64_t *random)
{
	uint32_t version = acked[nr], refused;
	struct face_atomic_op ops[3];
	bool in_c = version % 2, refuse = !pick(random, 8);
	struct value was, next;
	uint8_t key[2];
	int err;

	mover_key(nr, key);
	make_value(MOVER_ID + nr, version, &was);
	make_value(MOVER_ID + nr, version + 1, &next);
	ops[0] = record(WORT_BATCH_DELETE, in_c, key, sizeof(key));
	ops[0].flags = WORT_DELETE_F_EXPECT;
	ops[0].expect = &was;
	ops[0].expect_len = value_len(version);
	ops[1] = record(WORT_BATCH_INSERT, !in_c, key, sizeof(key));
	ops[1].flags = WORT_INSERT_F_CREATE;
	ops[1].value = &next;
	ops[1].value_len = value_len(version + 1);
	ops[2] = record(WORT_BATCH_EXPECT, in_c, key, sizeof(key));
	ops[2].flags = WORT_EXPECT_F_PRESENT;
	if (!refuse)
		__atomic_store_n(&begun[nr], version + 1, __ATOMIC_RELEASE);
	err = face_atomic(ops, 2 + refuse, &refused);
	if (err != (refuse ? -ENOENT : 0) || (refuse && refused != 2))
		fail("mover %u, version %u: %d, operation %u", nr, version, err,
		     refused);
	if (!refuse)
		__atomic_store_n(&acked[nr], version + 1, __ATOMIC_RELEASE);
	add(refuse ? &nr_refused : &nr_atomics);
}

/* Versions in "a" are even, in "c" odd. */
static void verify_mover(uint32_t nr, bool in_c, const struct value *value,
			 uint32_t len, uint32_t from, uint32_t to)
{
	verify_value(MOVER_ID + nr, value, len);
	if (value->version % 2 != in_c || value->version < from || value->version > to)
		fail("mover %u: version %u in \"%c\", not %u to %u", nr,
		     value->version, in_c ? 'c' : 'a', from, to);
}

/* It may move between the lookups. */
static void look_at_mover(uint32_t nr, uint64_t *random)
{
	uint32_t before = load(&acked[nr]), after, len[2], i;
	bool first = pick(random, 2);
	struct value value[2];
	uint8_t key[2];
	int err[2];

	mover_key(nr, key);
	for (i = 0; i < 2; i++) {
		err[i] = get(first ^ i, key, sizeof(key), &value[i], &len[i], random);
		if (err[i] && err[i] != -ENOENT)
			fail("mover %u: lookup: %d", nr, err[i]);
	}
	after = load(&begun[nr]);
	for (i = 0; i < 2; i++)
		if (!err[i])
			verify_mover(nr, first ^ i, &value[i], len[i], before, after);
	if (before == after && !err[0] == !err[1])
		fail("mover %u: %s of \"a\" and \"c\" has version %u", nr,
		     err[0] ? "none" : "each", before);
	if (!err[0] && !err[1] && value[1].version < value[0].version)
		fail("mover %u: version %u after %u", nr, value[1].version,
		     value[0].version);
}

/* At one moment. */
static void see_mover(uint32_t nr)
{
	struct face_atomic_op ops[2];
	struct value value[2];
	uint8_t key[2];
	uint32_t i;
	int err;

	mover_key(nr, key);
	for (i = 0; i < 2; i++) {
		ops[i] = record(WORT_BATCH_LOOKUP, i, key, sizeof(key));
		ops[i].answer = &value[i];
		ops[i].max_len = sizeof(value[i]);
	}
	err = face_atomic(ops, 2, NULL);
	if (err || ops[0].out_err + ops[1].out_err != -ENOENT)
		fail("mover %u: batch of lookups: %d, in \"a\" %d, in \"c\" %d",
		     nr, err, ops[0].out_err, ops[1].out_err);
}

void atomics_frozen(uint64_t *random)
{
	uint32_t nr, k, version, len;
	struct value value;
	uint8_t key[2];

	for (nr = 0; nr < NR_GROUPS; nr++) {
		version = group_version(nr, 0, random);
		for (k = 1; k < IN_GROUP; k++)
			if (group_version(nr, k, random) != version)
				fail("group %u: frozen, and of several versions", nr);
	}
	for (nr = 0; nr < NR_MOVERS; nr++) {
		mover_key(nr, key);
		if (!get(false, key, sizeof(key), &value, &len, random) ==
		    !get(true, key, sizeof(key), &value, &len, random))
			fail("mover %u: frozen, and not in one of \"a\" and \"c\"", nr);
	}
}

void atomics_fill(void)
{
	struct face_atomic_op op;
	struct value value;
	uint8_t key[3];
	uint32_t nr, k;
	int err = 0;

	memset(begun, 0, sizeof(begun));
	memset(acked, 0, sizeof(acked));
	nr_atomics = 0;
	nr_refused = 0;
	for (nr = 0; nr < NR_GROUPS; nr++)
		for (k = 0; k < IN_GROUP && !err; k++) {
			make_value(nr, 0, &value);
			group_key(nr, k, key);
			op = of_group(WORT_BATCH_INSERT, k, key);
			op.value = &value;
			op.value_len = value_len(0);
			err = face_atomic(&op, 1, NULL);
		}
	for (nr = 0; nr < NR_MOVERS && !err; nr++) {
		make_value(MOVER_ID + nr, 0, &value);
		mover_key(nr, key);
		op = record(WORT_BATCH_INSERT, false, key, 2);
		op.value = &value;
		op.value_len = value_len(0);
		err = face_atomic(&op, 1, NULL);
	}
	if (err)
		fail("groups and movers: %d", err);
}

void atomics_change(uint32_t owner, uint64_t *random)
{
	if (pick(random, 2))
		raise_group(pick(random, NR_GROUPS), random);
	else
		move(pick(random, NR_MOVERS / NR_OWNERS) * NR_OWNERS + owner, random);
}

void atomics_look(uint64_t *random)
{
	uint32_t group = pick(random, NR_GROUPS), mover = pick(random, NR_MOVERS);

	switch (pick(random, 8)) {
	case 0:
		see_group(group);
		break;
	case 1:
		see_mover(mover);
		break;
	case 2: case 3:
		look_at_mover(mover, random);
		break;
	default:
		look_at_group(group, random);
	}
}

void atomics_verify(void)
{
	uint64_t random = 1;
	uint32_t nr;

	for (nr = 0; nr < NR_GROUPS; nr++)
		see_group(nr);
	for (nr = 0; nr < NR_MOVERS; nr++)
		look_at_mover(nr, &random);
}
