// SPDX-License-Identifier: GPL-2.0-only
/*
 * make FILE: the image of a small pool, whose indexes hold keys and values of all
 * shapes.  README says how it is built of the code of an older version.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../kmod/pool/pool.h"

#define POOL_SIZE	(256 << 10)
#define NR_EMPTY	66	/* more than a block of the catalogue has slots */

static u8 key[WORT_KEY_MAX], value[WORT_VALUE_MAX];

static void fail(const char *what, int err)
{
	fprintf(stderr, "make: %s: %d\n", what, err);
	exit(1);
}

static struct wort_index *index_new(struct wort_pool *pool, const char *name)
{
	struct wort_index *index;
	int err = wort_index_open(pool, (const u8 *)name, strlen(name),
				  WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);

	if (err)
		fail(name, err);
	return index;
}

static void put(struct wort_index *index, u32 key_len, u32 value_len)
{
	struct wort_put put = { };
	int err;

	put.key.data = key;
	put.key.len = key_len;
	put.value.data = value;
	put.value.len = value_len;
	err = wort_index_insert(index, &put);
	if (err)
		fail("insert", err);
}

/* Each key is the beginning of the next; those of zeroes differ in length only. */
static void fill_shapes(struct wort_index *index)
{
	static const u32 lens[] = { 0, 1, 7, 8, 9, 40, 1000, 1008, 1009, 5000, 20000 };
	u32 i, len = 1;

	memset(value, 'v', sizeof(value));
	for (i = 0; len <= WORT_KEY_MAX; i++, len = len * 3 / 2 + 1) {
		memset(key, 'a', len);
		put(index, len, lens[i % 9]);
		memset(key, 0, len);
		put(index, len, lens[i % 9]);
	}
	memset(key, 'z', sizeof(key));
	put(index, WORT_KEY_MAX, 3);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(value, 'A' + i, lens[i]);
		put(index, sprintf((char *)key, "value %u", lens[i]), lens[i]);
	}
	for (i = 0; i < 8; i++)
		value[i] = i * 32;
	put(index, sprintf((char *)key, "value\t\\\n%c", 0xff), 8);
}

/* Records replaced and removed leave nodes and leaves behind that are not owned. */
static void fill_numbers(struct wort_index *index)
{
	struct wort_key k = { key, sizeof(u64) };
	__be64 number;
	u64 i;
	int err;

	for (i = 0; i < 200; i++) {
		number = cpu_to_be64(i * i * i * i * 0x10001);
		memcpy(key, &number, sizeof(number));
		memcpy(value, &i, sizeof(i));
		put(index, sizeof(number), sizeof(i));
		if (i % 3 == 0)
			put(index, sizeof(number), i % 16);
		if (i % 5)
			continue;
		err = wort_index_delete(index, &k, NULL, NULL);
		if (err)
			fail("delete", err);
	}
}

static void fill(struct wort_pool *pool)
{
	struct wort_index *index = index_new(pool, "shapes");
	char name[16];
	int i;

	fill_shapes(index);
	wort_index_put(index);
	index = index_new(pool, "numbers");
	fill_numbers(index);
	wort_index_put(index);
	for (i = 0; i < NR_EMPTY; i++) {
		sprintf(name, "empty%d", i);
		wort_index_put(index_new(pool, name));
	}
	index = index_new(pool, "a tab\tand one record");
	put(index, sprintf((char *)key, "one"), 8);
	wort_index_put(index);
}

int main(int argc, char **argv)
{
	struct wort_format_opts opts = { .label = "old", .uuid = "0123456789abcdef" };
	struct wort_region region = { .size = POOL_SIZE, .flush = true };
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644) : -1;
	struct wort_pool *pool = NULL;
	int err;

	if (fd < 0 || ftruncate(fd, POOL_SIZE))
		fail("file", fd);
	region.base = mmap(NULL, POOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);
	if (region.base == MAP_FAILED)
		fail("mmap", -1);
	err = wort_pool_format(&region, &opts);
	if (!err)
		err = wort_pool_attach(&region, &pool);
	if (err)
		fail("format", err);
	fill(pool);
	wort_pool_detach(pool);
	return 0;
}
