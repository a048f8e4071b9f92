// SPDX-License-Identifier: GPL-2.0-only
/*
 * SQLite with a write-ahead log and a table without row ids.
 */
#include <sqlite3.h>

#include "files.h"

enum statement { INSERT, LOOKUP, REMOVE, SCAN, BEGIN, COMMIT, NR_STATEMENTS };

static const char *const texts[] = {
	[INSERT] = "insert or replace into t values (?1, ?2)",
	[LOOKUP] = "select value from t where key = ?1",
	[REMOVE] = "delete from t where key = ?1",
	[SCAN] = "select value from t where key >= ?1 order by key limit ?2",
	[BEGIN] = "begin",
	[COMMIT] = "commit",
};

static const char setup[] =
	"pragma journal_mode = wal;"
#ifdef SYNC
	"pragma synchronous = full;"
#else
	"pragma synchronous = off;"
#endif
	"create table t (key blob primary key, value integer) without rowid;";

struct lite {
	struct folder folder;
	sqlite3 *db;
	struct sqlite3_stmt *statements[NR_STATEMENTS];
};

static void *lite_open(struct bench_env *env)
{
	struct lite *peer = calloc(1, sizeof(*peer));
	char path[300];
	int i;

	if (!peer || folder_make(&peer->folder, env))
		return NULL;
	snprintf(path, sizeof(path), "%s/db", peer->folder.path);
	if (sqlite3_open(path, &peer->db) ||
	    sqlite3_exec(peer->db, setup, NULL, NULL, NULL))
		goto fail;
	for (i = 0; i < NR_STATEMENTS; i++)
		if (sqlite3_prepare_v2(peer->db, texts[i], -1,
				       &peer->statements[i], NULL))
			goto fail;
	return peer;
fail:
	fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(peer->db));
	return NULL;
}

static void lite_close(void *arg)
{
	struct lite *peer = arg;
	int i;

	for (i = 0; i < NR_STATEMENTS; i++)
		sqlite3_finalize(peer->statements[i]);
	sqlite3_close(peer->db);
	folder_remove(&peer->folder);
	free(peer);
}

static sqlite3_stmt *with_key(struct lite *peer, enum statement which,
			      const void *key, size_t len)
{
	sqlite3_stmt *statement = peer->statements[which];

	sqlite3_bind_blob(statement, 1, key, len, SQLITE_STATIC);
	return statement;
}

/* One without an answer. */
static int run(sqlite3_stmt *statement)
{
	int err = sqlite3_step(statement) != SQLITE_DONE;

	sqlite3_reset(statement);
	return err;
}

static int lite_insert(void *arg, const void *key, size_t len, uint64_t value)
{
	sqlite3_stmt *insert = with_key(arg, INSERT, key, len);

	sqlite3_bind_int64(insert, 2, value);
	return run(insert);
}

static int lite_insert_many(void *arg, const void *const *keys,
			    const size_t *lens, const uint64_t *values,
			    size_t nr)
{
	struct lite *peer = arg;
	int err = run(peer->statements[BEGIN]);
	size_t i;

	for (i = 0; i < nr && !err; i++)
		err = lite_insert(peer, keys[i], lens[i], values[i]);
	return err ? err : run(peer->statements[COMMIT]);
}

static int lite_lookup(void *arg, const void *key, size_t len, uint64_t *value)
{
	sqlite3_stmt *lookup = with_key(arg, LOOKUP, key, len);
	int err = sqlite3_step(lookup) != SQLITE_ROW;

	if (!err)
		*value = sqlite3_column_int64(lookup, 0);
	sqlite3_reset(lookup);
	return err;
}

static int lite_remove(void *arg, const void *key, size_t len)
{
	return run(with_key(arg, REMOVE, key, len));
}

static size_t lite_scan(void *arg, const void *key, size_t len, size_t nr,
			uint64_t *sum)
{
	sqlite3_stmt *scan = with_key(arg, SCAN, key, len);
	size_t found = 0;

	sqlite3_bind_int64(scan, 2, nr);
	for (; sqlite3_step(scan) == SQLITE_ROW; found++)
		*sum += sqlite3_column_int64(scan, 0);
	sqlite3_reset(scan);
	return found;
}

static size_t lite_bytes(void *arg)
{
	struct lite *peer = arg;

	return folder_bytes(&peer->folder);
}

static const struct bench_peer lite = {
	.version = BENCH_PEER_VERSION,
	VARIANT("sqlite", "each operation: WAL, synchronous = full",
		"a power cut may damage it: WAL, synchronous = off"),
	.by_wall_clock = 1,
	.open = lite_open,
	.close = lite_close,
	.insert = lite_insert,
	.lookup = lite_lookup,
	.remove = lite_remove,
	.scan = lite_scan,
	.insert_many = lite_insert_many,
	.bytes = lite_bytes,
};

const struct bench_peer *bench_peer(void)
{
	return &lite;
}
