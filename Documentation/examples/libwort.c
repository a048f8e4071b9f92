// SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT
/*
 * Records in a batch, and a scan of those with a prefix, with libwort.
 *
 *	cc -o example Documentation/examples/libwort.c \
 *		$(pkg-config --cflags --libs libwort)
 *	sudo ./example /dev/wort0
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wort.h>

/* Every function returns a negative errno when it fails. */
static int must(int ret, const char *what)
{
	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-ret));
		exit(1);
	}
	return ret;
}

static void fill(struct wort_index *index)
{
	struct wort_batch *batch;
	char key[32];
	int i;

	must(wort_batch_new(NULL, &batch), "batch");
	for (i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "key %02d", i);
		must(wort_batch_put(batch, key, strlen(key), &i, sizeof(i), 0),
		     "put");
	}
	must(wort_batch_submit(batch, index, WORT_BATCH_F_STOP), "submit");
	printf("%u durable, %u failed\n", wort_batch_done(batch),
	       wort_batch_failed(batch));
	wort_batch_free(batch);
}

static void show(struct wort_index *index, const char *prefix)
{
	struct wort_scan_opts opts = {
		.sz = sizeof(opts), .flags = WORT_SCAN_F_PREFIX,
		.bound = prefix, .bound_len = strlen(prefix),
	};
	struct wort_scan_item item;
	struct wort_scan *scan;

	must(wort_scan_begin(index, &opts, &scan), "scan");
	while (must(wort_scan_next(scan, &item), "scan"))
		printf("%.*s\n", (int)item.key_len, (const char *)item.key);
	wort_scan_end(scan);
}

int main(int argc, char **argv)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	struct wort_index *index;
	struct wort_pool *pool;

	must(wort_pool_open(argc > 1 ? argv[1] : "/dev/wort0", O_RDWR, &pool),
	     "pool");
	must(wort_index_open(pool, "example", &opts, &index), "index");
	fill(index);
	show(index, "key 4");
	wort_index_close(index);
	wort_pool_close(pool);
	return 0;
}
