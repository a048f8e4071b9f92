// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <asm/byteorder.h>

#include "pmpool.h"

u32 pmpool_engine;
u64 pmpool_attr;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* What nobody may touch, behind a pool that is not measured. */
#define GUARD	4096

void pmpool_map(struct pmpool *pm, u64 size, bool huge)
{
	u64 len = size + (huge ? 0 : GUARD);
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		die("cannot map %llu bytes", (unsigned long long)size);
	if (huge)
		madvise(mem, size, MADV_HUGEPAGE);
	else
		mprotect((u8 *)mem + size, GUARD, PROT_NONE);
	pm->region = (struct wort_region){
		.base = mem, .size = size, .flush = true, .line_order = true,
	};
	pm->pool = NULL;
	pm->mapped = len;
}

void pmpool_unmap(struct pmpool *pm)
{
	munmap((void *)pm->region.base, pm->mapped);
}

void pmpool_format(struct pmpool *pm, u32 extent_size)
{
	struct wort_format_opts opts = {
		.extent_size = extent_size, .label = "test",
	};
	int err = wort_pool_format(&pm->region, &opts);

	if (err)
		die("format: %d", err);
}

void pmpool_attach(struct pmpool *pm)
{
	int err = wort_pool_attach(&pm->region, &pm->pool);

	if (err)
		die("attach: %d", err);
}

void pmpool_detach(struct pmpool *pm)
{
	wort_pool_detach(pm->pool);
	pm->pool = NULL;
}

void pmpool_settle(void)
{
	while (shim_run_work())
		;
}

struct wort_index *pmpool_index(struct pmpool *pm, const char *name)
{
	struct wort_index *index;
	int err = wort_index_open(pm->pool, (const u8 *)name, strlen(name),
				  WORT_INDEX_OPEN_F_CREATE, pmpool_engine,
				  pmpool_attr, &index);

	if (err)
		die("open index %s: %d", name, err);
	return index;
}

int pm_put(struct wort_index *index, const void *key, u32 key_len,
	   const void *value, u32 value_len)
{
	struct wort_put put = {
		.key = { key, key_len }, .value = { value, value_len },
	};

	return wort_index_insert(index, &put);
}

int pm_get(struct wort_index *index, const void *key, u32 key_len,
	   void *value, u32 *value_len)
{
	struct wort_key k = { key, key_len };
	struct wort_buf buf = { .data = value, .size = *value_len };
	int err = wort_index_lookup(index, &k, &buf);

	*value_len = buf.len;
	return err;
}

int pm_del(struct wort_index *index, const void *key, u32 key_len)
{
	struct wort_key k = { key, key_len };

	return wort_index_delete(index, &k, NULL, NULL);
}

void pm_reader(struct wort_index *index, struct wort_reader *reader)
{
	struct wort_map_control *control = index->pool->locks.control;
	struct wort_index_info_arg info;

	wort_index_info(index, &info);
	control->state = WORT_MAP_FOLLOW;
	*reader = (struct wort_reader){
		.control = control,
		.pool = (const void *)index->pool->region->base,
		.size = le64_to_cpu(index->pool->sb.pool_size),
		.root_off = info.out_root_off,
		.destroyed = control->destroyed,
	};
	wort_reader_follow(reader, info.out_engine);
}

u32 pm_pack(u8 *at, u16 op, const void *key, u32 key_len, const void *value,
	    u32 value_len)
{
	struct wort_batch_op head = {
		.op = op, .key_len = key_len, .value_len = value_len,
	};

	head.rec_len = round_up(sizeof(head) + key_len + value_len, 8);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), key, key_len);
	if (value_len)
		memcpy(at + sizeof(head) + key_len, value, value_len);
	return head.rec_len;
}
