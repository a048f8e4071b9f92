// SPDX-License-Identifier: GPL-2.0-only
/*
 * LMDB: a transaction for each change, a snapshot for each lookup.
 */
#include <lmdb.h>

#include "files.h"

struct lmdb {
	struct folder folder;
	MDB_env *env;
	MDB_dbi db;
	MDB_dbi second;
	MDB_txn *reader;
};

static void *lmdb_open(struct bench_env *env)
{
	struct lmdb *peer = calloc(1, sizeof(*peer));
	unsigned int flags = 0;
	MDB_txn *txn;

#ifndef SYNC
	flags |= MDB_NOSYNC;
#endif
	if (!peer || folder_make(&peer->folder, env))
		return NULL;
	if (mdb_env_create(&peer->env) || mdb_env_set_maxdbs(peer->env, 2) ||
	    mdb_env_set_mapsize(peer->env, env->size * 4) ||
	    mdb_env_open(peer->env, peer->folder.path, flags, 0600) ||
	    mdb_txn_begin(peer->env, NULL, 0, &txn) ||
	    mdb_dbi_open(txn, "first", MDB_CREATE, &peer->db) ||
	    mdb_dbi_open(txn, "second", MDB_CREATE, &peer->second) ||
	    mdb_txn_commit(txn) ||
	    mdb_txn_begin(peer->env, NULL, MDB_RDONLY, &peer->reader))
		return NULL;
	mdb_txn_reset(peer->reader);
	return peer;
}

static void lmdb_close(void *arg)
{
	struct lmdb *peer = arg;

	mdb_txn_abort(peer->reader);
	mdb_env_close(peer->env);
	folder_remove(&peer->folder);
	free(peer);
}

static int lmdb_insert_many(void *arg, const void *const *keys,
			    const size_t *lens, const uint64_t *values,
			    size_t nr)
{
	struct lmdb *peer = arg;
	MDB_txn *txn;
	size_t i;

	if (mdb_txn_begin(peer->env, NULL, 0, &txn))
		return -1;
	for (i = 0; i < nr; i++) {
		MDB_val key = { lens[i], (void *)keys[i] };
		MDB_val value = { sizeof(values[i]), (void *)&values[i] };

		if (mdb_put(txn, peer->db, &key, &value, 0)) {
			mdb_txn_abort(txn);
			return -1;
		}
	}
	return mdb_txn_commit(txn);
}

static int lmdb_insert(void *arg, const void *key, size_t len, uint64_t value)
{
	return lmdb_insert_many(arg, &key, &len, &value, 1);
}

static int lmdb_lookup_many(void *arg, const void *const *keys,
			    const size_t *lens, uint64_t *values, size_t nr)
{
	struct lmdb *peer = arg;
	int err = mdb_txn_renew(peer->reader);
	size_t i;

	for (i = 0; i < nr && !err; i++) {
		MDB_val key = { lens[i], (void *)keys[i] }, value;

		err = mdb_get(peer->reader, peer->db, &key, &value);
		if (!err)
			memcpy(&values[i], value.mv_data, sizeof(values[i]));
	}
	mdb_txn_reset(peer->reader);
	return err;
}

static int lmdb_lookup(void *arg, const void *key, size_t len, uint64_t *value)
{
	return lmdb_lookup_many(arg, &key, &len, value, 1);
}

static int lmdb_remove(void *arg, const void *key, size_t len)
{
	MDB_val which = { len, (void *)key };
	struct lmdb *peer = arg;
	MDB_txn *txn;

	if (mdb_txn_begin(peer->env, NULL, 0, &txn))
		return -1;
	if (mdb_del(txn, peer->db, &which, NULL)) {
		mdb_txn_abort(txn);
		return -1;
	}
	return mdb_txn_commit(txn);
}

static int put_in(MDB_txn *txn, MDB_dbi db, const void *key, size_t len,
		  uint64_t value)
{
	MDB_val at = { len, (void *)key }, what = { sizeof(value), &value };

	return mdb_put(txn, db, &at, &what, MDB_NOOVERWRITE);
}

static int del_from(MDB_txn *txn, MDB_dbi db, const void *key, size_t len)
{
	MDB_val at = { len, (void *)key };

	return mdb_del(txn, db, &at, NULL);
}

/* In one transaction; or in two. */
static int lmdb_move(void *arg, const void *key, size_t len, uint64_t value,
		     int back, int apart)
{
	struct lmdb *peer = arg;
	MDB_dbi from = back ? peer->second : peer->db;
	MDB_dbi to = back ? peer->db : peer->second;
	MDB_txn *txn;
	int err = mdb_txn_begin(peer->env, NULL, 0, &txn);

	if (err)
		return err;
	err = put_in(txn, to, key, len, value);
	if (!err && apart)
		err = mdb_txn_commit(txn) ?: mdb_txn_begin(peer->env, NULL, 0, &txn);
	if (!err)
		err = del_from(txn, from, key, len);
	return err ? err : mdb_txn_commit(txn);
}

static size_t lmdb_scan(void *arg, const void *key, size_t len, size_t nr,
			uint64_t *sum)
{
	MDB_val at = { len, (void *)key }, value;
	struct lmdb *peer = arg;
	MDB_cursor *cursor;
	size_t found = 0;
	uint64_t one;

	if (mdb_txn_renew(peer->reader))
		return 0;
	if (!mdb_cursor_open(peer->reader, peer->db, &cursor)) {
		int err = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);

		for (; !err && found < nr; found++) {
			memcpy(&one, value.mv_data, sizeof(one));
			*sum += one;
			err = mdb_cursor_get(cursor, &at, &value, MDB_NEXT);
		}
		mdb_cursor_close(cursor);
	}
	mdb_txn_reset(peer->reader);
	return found;
}

static size_t lmdb_bytes(void *arg)
{
	struct lmdb *peer = arg;

	return folder_bytes(&peer->folder);
}

static const struct bench_peer lmdb = {
	.version = BENCH_PEER_VERSION,
	VARIANT("lmdb", "each operation: fdatasync()", "a power cut may damage it: MDB_NOSYNC"),
	.by_wall_clock = 1,
	.open = lmdb_open,
	.close = lmdb_close,
	.insert = lmdb_insert,
	.lookup = lmdb_lookup,
	.remove = lmdb_remove,
	.move = lmdb_move,
	.scan = lmdb_scan,
	.insert_many = lmdb_insert_many,
	.lookup_many = lmdb_lookup_many,
	.bytes = lmdb_bytes,
};

const struct bench_peer *bench_peer(void)
{
	return &lmdb;
}
