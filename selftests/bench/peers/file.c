// SPDX-License-Identifier: GPL-2.0-only
/*
 * libwort on a pool in a plain file.
 */
#include <fcntl.h>

#include <wort.h>

#include "files.h"

#define POOL_MIN	(64ULL << 20)

struct file {
	struct folder folder;
	struct wort_pool *pool;
	struct wort_index *index;	/* in the mapping */
	struct wort_index *second;
	struct wort_batch *batch;
	struct wort_atomic *atomic;
};

static int open_pool(struct file *peer, const struct bench_env *env)
{
	struct wort_index_opts create = {
		.sz = sizeof(create), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	struct wort_pool_opts opts = { .sz = sizeof(opts) };
	char path[300];

#ifndef SYNC
	opts.sync = WORT_SYNC_PROCESS;
#endif
	snprintf(path, sizeof(path), "%s/pool", peer->folder.path);
	return wort_format_file(path, env->size > POOL_MIN ? env->size : POOL_MIN, NULL) ||
	       wort_pool_open_with(path, O_RDWR, &opts, &peer->pool) ||
	       wort_pool_map(peer->pool) ||
	       wort_index_open(peer->pool, "first", &create, &peer->index) ||
	       wort_index_open(peer->pool, "second", &create, &peer->second) ||
	       wort_batch_new(NULL, &peer->batch) ||
	       wort_atomic_new(&peer->atomic);
}

static void *file_open(struct bench_env *env)
{
	struct file *peer = calloc(1, sizeof(*peer));

	if (!peer || folder_make(&peer->folder, env))
		return NULL;
	if (!open_pool(peer, env))
		return peer;
	fprintf(stderr, "%s: no pool\n", peer->folder.path);
	return NULL;
}

static void file_close(void *arg)
{
	struct file *peer = arg;

	wort_atomic_free(peer->atomic);
	wort_batch_free(peer->batch);
	wort_index_close(peer->second);
	wort_index_close(peer->index);
	wort_pool_close(peer->pool);
	folder_remove(&peer->folder);
	free(peer);
}

static int file_insert(void *arg, const void *key, size_t len, uint64_t value)
{
	struct file *peer = arg;

	return wort_put(peer->index, key, len, &value, sizeof(value), 0);
}

static int submit(struct file *peer)
{
	int err = wort_batch_submit(peer->batch, peer->index, 0);

	if (!err && wort_batch_failed(peer->batch))
		err = -1;
	wort_batch_reset(peer->batch);
	return err;
}

static int file_insert_many(void *arg, const void *const *keys, const size_t *lens,
			    const uint64_t *values, size_t nr)
{
	struct file *peer = arg;
	int err = 0;
	size_t i;

	for (i = 0; i < nr && !err; i++)
		err = wort_batch_put(peer->batch, keys[i], lens[i], &values[i],
				     sizeof(values[i]), 0);
	return err ? err : submit(peer);
}

static int file_lookup(void *arg, const void *key, size_t len, uint64_t *value)
{
	size_t value_len = sizeof(*value);
	struct file *peer = arg;

	return wort_get(peer->index, key, len, value, &value_len);
}

static int file_remove(void *arg, const void *key, size_t len)
{
	struct file *peer = arg;

	return wort_del(peer->index, key, len);
}

static size_t file_scan(void *arg, const void *key, size_t len, size_t nr, uint64_t *sum)
{
	struct wort_scan_opts opts = {
		.sz = sizeof(opts), .start = key, .start_len = len, .max_count = nr,
	};
	struct file *peer = arg;
	struct wort_scan_item item;
	struct wort_scan *scan;
	size_t found = 0;
	uint64_t one;

	if (wort_scan_begin(peer->index, &opts, &scan))
		return 0;
	for (; wort_scan_next(scan, &item) > 0; found++) {
		memcpy(&one, item.value, sizeof(one));
		*sum += one;
	}
	wort_scan_end(scan);
	return found;
}

static int file_move(void *arg, const void *key, size_t len, uint64_t value, int back,
		     int apart)
{
	struct file *peer = arg;
	struct wort_index *from = back ? peer->second : peer->index;
	struct wort_index *to = back ? peer->index : peer->second;
	int err;

	if (apart)
		return wort_put(to, key, len, &value, sizeof(value), 0) ?:
		       wort_del(from, key, len);
	wort_atomic_reset(peer->atomic);
	err = wort_atomic_put(peer->atomic, to, key, len, &value, sizeof(value),
			      WORT_INSERT_F_CREATE);
	if (!err)
		err = wort_atomic_del(peer->atomic, from, key, len);
	return err ? err : wort_atomic_commit(peer->atomic, NULL);
}

static size_t file_bytes(void *arg)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct file *peer = arg;

	return wort_pool_info(peer->pool, &info) ? 0 : info.out_used_bytes;
}

static const struct bench_peer file = {
	.version = BENCH_PEER_VERSION,
	VARIANT("wort-file", "each ordering point: msync()", "a power cut loses it: sync=process"),
	.by_wall_clock = 1,
	.open = file_open,
	.close = file_close,
	.insert = file_insert,
	.lookup = file_lookup,
	.remove = file_remove,
	.move = file_move,
	.scan = file_scan,
	.insert_many = file_insert_many,
	.bytes = file_bytes,
};

const struct bench_peer *bench_peer(void)
{
	return &file;
}
