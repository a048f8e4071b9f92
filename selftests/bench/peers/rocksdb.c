// SPDX-License-Identifier: GPL-2.0-only
/*
 * RocksDB as it comes, with a log; a bloom filter for lookups, as its guide says.
 */
#include <rocksdb/c.h>

#include "files.h"

struct rocks {
	struct folder folder;
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_writeoptions_t *write;
	rocksdb_readoptions_t *read;
};

static rocksdb_options_t *make_options(void)
{
	rocksdb_filterpolicy_t *bloom = rocksdb_filterpolicy_create_bloom(10);
	rocksdb_block_based_table_options_t *table =
		rocksdb_block_based_options_create();
	rocksdb_options_t *options = rocksdb_options_create();

	rocksdb_block_based_options_set_filter_policy(table, bloom);
	rocksdb_options_set_block_based_table_factory(options, table);
	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_block_based_options_destroy(table);
	return options;
}

static void *rocks_open(struct bench_env *env)
{
	struct rocks *peer = calloc(1, sizeof(*peer));
	char *err = NULL;

	if (!peer || folder_make(&peer->folder, env))
		return NULL;
	peer->options = make_options();
	peer->write = rocksdb_writeoptions_create();
	peer->read = rocksdb_readoptions_create();
#ifdef SYNC
	rocksdb_writeoptions_set_sync(peer->write, 1);
#endif
	peer->db = rocksdb_open(peer->options, peer->folder.path, &err);
	if (err)
		fprintf(stderr, "rocksdb: %s\n", err);
	return err ? NULL : peer;
}

static void rocks_close(void *arg)
{
	struct rocks *peer = arg;

	rocksdb_close(peer->db);
	rocksdb_options_destroy(peer->options);
	rocksdb_writeoptions_destroy(peer->write);
	rocksdb_readoptions_destroy(peer->read);
	folder_remove(&peer->folder);
	free(peer);
}

static int failed(char *err)
{
	if (!err)
		return 0;
	fprintf(stderr, "rocksdb: %s\n", err);
	free(err);
	return -1;
}

static int rocks_insert(void *arg, const void *key, size_t len, uint64_t value)
{
	struct rocks *peer = arg;
	char *err = NULL;

	rocksdb_put(peer->db, peer->write, key, len, (char *)&value,
		    sizeof(value), &err);
	return failed(err);
}

static int rocks_insert_many(void *arg, const void *const *keys,
			     const size_t *lens, const uint64_t *values,
			     size_t nr)
{
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	struct rocks *peer = arg;
	char *err = NULL;
	size_t i;

	for (i = 0; i < nr; i++)
		rocksdb_writebatch_put(batch, keys[i], lens[i],
				       (char *)&values[i], sizeof(values[i]));
	rocksdb_write(peer->db, peer->write, batch, &err);
	rocksdb_writebatch_destroy(batch);
	return failed(err);
}

static int rocks_lookup(void *arg, const void *key, size_t len, uint64_t *value)
{
	rocksdb_pinnableslice_t *found;
	struct rocks *peer = arg;
	char *err = NULL;
	size_t size = 0;

	found = rocksdb_get_pinned(peer->db, peer->read, key, len, &err);
	if (failed(err) || !found)
		return -1;
	memcpy(value, rocksdb_pinnableslice_value(found, &size), sizeof(*value));
	rocksdb_pinnableslice_destroy(found);
	return 0;
}

static int rocks_remove(void *arg, const void *key, size_t len)
{
	struct rocks *peer = arg;
	char *err = NULL;

	rocksdb_delete(peer->db, peer->write, key, len, &err);
	return failed(err);
}

static size_t rocks_scan(void *arg, const void *key, size_t len, size_t nr,
			 uint64_t *sum)
{
	struct rocks *peer = arg;
	rocksdb_iterator_t *at = rocksdb_create_iterator(peer->db, peer->read);
	size_t found = 0, size;
	uint64_t one;

	rocksdb_iter_seek(at, key, len);
	for (; found < nr && rocksdb_iter_valid(at); found++) {
		memcpy(&one, rocksdb_iter_value(at, &size), sizeof(one));
		*sum += one;
		rocksdb_iter_next(at);
	}
	rocksdb_iter_destroy(at);
	return found;
}

/* Threads of its own write out tables, and merge them. */
static void rocks_settle(void *arg)
{
	static const char *const behind[] = {
		"rocksdb.mem-table-flush-pending", "rocksdb.num-running-flushes",
		"rocksdb.compaction-pending", "rocksdb.num-running-compactions",
	};
	struct rocks *peer = arg;
	uint64_t nr, sum;
	size_t i;

	do {
		for (i = sum = 0; i < sizeof(behind) / sizeof(*behind); i++)
			if (!rocksdb_property_int(peer->db, behind[i], &nr))
				sum += nr;
	} while (sum && !usleep(100));
}

static size_t rocks_bytes(void *arg)
{
	struct rocks *peer = arg;

	return folder_bytes(&peer->folder);
}

static const struct bench_peer rocks = {
	.version = BENCH_PEER_VERSION,
	VARIANT("rocksdb", "each operation: its log is synced",
		"a power cut loses the latest; its log is not synced"),
	.by_wall_clock = 1,
	.open = rocks_open,
	.close = rocks_close,
	.insert = rocks_insert,
	.lookup = rocks_lookup,
	.remove = rocks_remove,
	.scan = rocks_scan,
	.insert_many = rocks_insert_many,
	.settle = rocks_settle,
	.bytes = rocks_bytes,
};

const struct bench_peer *bench_peer(void)
{
	return &rocks;
}
