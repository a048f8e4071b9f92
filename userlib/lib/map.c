// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The mapping of a pool.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../local/local.h"
#include "internal.h"

static int map_device(struct wort_map *map, int pool_fd)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	int err = wort_ioctl(pool_fd, WORT_IOC_POOL_INFO, &info);

	if (err)
		return err;
	if (info.out_pool_size > SIZE_MAX - WORT_MAP_POOL_OFF)
		return -ENOMEM;
	map->len = WORT_MAP_POOL_OFF + info.out_pool_size;
	map->addr = mmap(NULL, map->len, PROT_READ, MAP_SHARED, pool_fd, 0);
	if (map->addr == MAP_FAILED)
		return -errno;
	map->control = map->addr + WORT_MAP_CONTROL_OFF;
	map->pool = map->addr + WORT_MAP_POOL_OFF;
	map->size = info.out_pool_size;
	return 0;
}

int wort_map_open(int pool_fd, struct wort_map **out)
{
	struct wort_map *map = calloc(1, sizeof(*map));
	int err = 0;

	if (!map)
		return -ENOMEM;
	map->users = 1;
	if (wort_local_owns(pool_fd))
		wort_local_map(pool_fd, &map->control, &map->pool, &map->size);
	else
		err = map_device(map, pool_fd);
	if (err)
		free(map);
	else
		*out = map;
	return err;
}

/* What a file is mapped to stays as long as a descriptor is open. */
void wort_map_put(struct wort_map *map)
{
	if (!map || __atomic_sub_fetch(&map->users, 1, __ATOMIC_ACQ_REL))
		return;
	if (map->addr)
		munmap(map->addr, map->len);
	free(map);
}

int wort_map_index(struct wort_map *map, struct wort_index *index, bool relaxed)
{
	struct wort_index_info_arg info = { .size = sizeof(info) };
	struct wort_reader *reader = &index->reader;
	uint64_t destroyed;
	int err;

	*reader = (struct wort_reader){
		.control = map->control,
		.pool = map->pool,
		.size = map->size,
		.relaxed = relaxed,
	};
	destroyed = wort_reader_destroyed(reader);
	err = wort_index_info(index, &info);
	/* Without a mapping lookups go through the module. */
	if (err || !info.out_root_off ||
	    !wort_reader_follow(reader, info.out_engine))
		return err;
	wort_reader_trust(reader, destroyed, info.out_root_off);
	__atomic_add_fetch(&map->users, 1, __ATOMIC_RELAXED);
	index->map = map;
	return 0;
}

/* One thread at a time: the older of two answers could be stored last. */
void wort_map_ask(struct wort_index *index)
{
	struct wort_index_info_arg info = { .size = sizeof(info) };
	struct wort_reader *reader = &index->reader;
	uint64_t destroyed;

	if (__atomic_exchange_n(&reader->asking, true, __ATOMIC_ACQUIRE))
		return;
	destroyed = wort_reader_destroyed(reader);
	if (!wort_index_info(index, &info) && info.out_root_off)
		wort_reader_trust(reader, destroyed, info.out_root_off);
	__atomic_store_n(&reader->asking, false, __ATOMIC_RELEASE);
}
