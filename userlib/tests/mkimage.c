// SPDX-License-Identifier: GPL-2.0-only
/*
 * mkimage FILE MIB OFFSET-MIB NR [ENGINE [batch]]: an image whose pool holds an index "n"
 * with keys and values 1 to NR.  With an offset there is an info block, as ndctl
 * writes it.  With ENGINE the index has that number as its engine.  With "batch" the
 * power was cut when an atomic batch had been committed: 1 removed, 2 := two,
 * new := 0.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/crc32c.h>

#include "../../kmod/core/pmem.h"
#include "../../kmod/pool/redo.h"

static void fail(const char *what, int err)
{
	fprintf(stderr, "mkimage: %s: %d\n", what, err);
	exit(1);
}

static void *map(const char *path, u64 size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	void *mem;

	if (fd < 0 || ftruncate(fd, size))
		fail(path, -1);
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		fail(path, -1);
	return mem;
}

static void fill(struct wort_index *index, int nr)
{
	struct wort_put put = { };
	char text[16];
	int i, err;

	for (i = 1; i <= nr; i++) {
		put.key.len = sprintf(text, "%d", i);
		put.key.data = (u8 *)text;
		put.value.data = text;
		put.value.len = put.key.len;
		err = wort_index_insert(index, &put);
		if (err)
			fail("insert", err);
	}
}

static void set_engine(struct wort_media_entry *entry, u32 engine)
{
	struct wort_media_entry tmp;

	entry->engine = cpu_to_le32(engine);
	tmp = *entry;
	tmp.csum = 0;
	tmp.state = 0;
	memset(tmp.root, 0, sizeof(tmp.root));
	entry->csum = cpu_to_le32(crc32c(~0U, &tmp, sizeof(tmp)));
}

static void change(struct wort_redo *redo, u64 index, const char *key,
		   const char *value)
{
	struct wort_redo_change change = {
		.index = index,
		.key = { (const u8 *)key, strlen(key) },
		.value = { value, strlen(value) },
		.remove = !*value,
	};

	wort_redo_add(redo, &change);
}

static void commit_batch(struct wort_pool *pool, u64 index)
{
	struct wort_redo *redo = wort_redo_alloc(sizeof(struct wort_media_redo) +
						 wort_redo_entry_len(1, 0) +
						 wort_redo_entry_len(1, 3) +
						 wort_redo_entry_len(3, 1), GFP_KERNEL);
	struct wort_op op;
	void __pmem *to;
	u32 len;
	u64 off;

	change(redo, index, "1", "");
	change(redo, index, "2", "two");
	change(redo, index, "new", "0");
	wort_redo_seal(redo);
	len = le32_to_cpu(redo->media.len);
	wort_op_begin(&op, pool->region, &pool->alloc);
	if (wort_alloc_reserve(&op, len))
		fail("reserve", -1);
	off = wort_alloc_take(&op);
	to = wort_region_at(pool->region, off);
	wort_pm_write(&op, to, &redo->media, len);
	wort_pm_flush(&op, to, len);
	wort_pm_publish(&op, wort_head_at(pool->region, 3), off);
	wort_op_end(&op);
	kvfree(redo);
}

int main(int argc, char **argv)
{
	struct wort_format_opts opts = { .label = "image" };
	u64 size = strtoull(argv[argc > 4 ? 2 : 0], NULL, 10) << 20;
	u64 off = strtoull(argv[argc > 4 ? 3 : 0], NULL, 10) << 20;
	struct wort_region region = { .size = size - off, .flush = true };
	struct wort_index *index = NULL;
	struct wort_pool *pool = NULL;
	char *mem;
	int err;

	if (argc < 5 || argc > 7)
		fail("usage", argc);
	mem = map(argv[1], size);
	region.base = mem + off;
	if (off) {
		memcpy(mem + 4096, "NVDIMM_PFN_INFO", 16);
		memcpy(mem + 4096 + 56, &off, sizeof(off));
	}
	err = wort_pool_format(&region, &opts);
	if (!err)
		err = wort_pool_attach(&region, &pool);
	if (!err)
		err = wort_index_open(pool, (const u8 *)"n", 1,
				      WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);
	if (err)
		fail("format", err);
	fill(index, atoi(argv[4]));
	if (argc == 7)
		commit_batch(pool, index->id);
	if (argc >= 6)
		set_engine((void *)(mem + off + index->entry_off), atoi(argv[5]));
	wort_index_put(index);
	wort_pool_detach(pool);
	return 0;
}
