/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A folder of its own for each opening of a peer that keeps files.
 */
#ifndef _WORT_BENCH_FILES_H
#define _WORT_BENCH_FILES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../peer.h"

#ifdef SYNC
#define VARIANT(_name, _kept, _lost)	.name = _name "-sync", .durability = _kept
#else
#define VARIANT(_name, _kept, _lost)	.name = _name, .durability = _lost
#endif

struct folder {
	char path[256];
};

static inline int folder_make(struct folder *folder, const struct bench_env *env)
{
	snprintf(folder->path, sizeof(folder->path), "%s/bench.XXXXXX",
		 env->dir);
	if (mkdtemp(folder->path))
		return 0;
	perror(folder->path);
	return -1;
}

static inline void folder_each(const struct folder *folder,
			       void (*work)(const char *path, size_t *sum),
			       size_t *sum)
{
	DIR *dir = opendir(folder->path);
	struct dirent *entry;
	char path[600];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder->path,
			 entry->d_name);
		work(path, sum);
	}
	if (dir)
		closedir(dir);
}

static inline void add_blocks(const char *path, size_t *sum)
{
	struct stat status;

	if (!stat(path, &status))
		*sum += status.st_blocks * 512;
}

static inline void remove_file(const char *path, size_t *sum)
{
	*sum += !unlink(path);
}

static inline size_t folder_bytes(const struct folder *folder)
{
	size_t sum = 0;

	folder_each(folder, add_blocks, &sum);
	return sum;
}

static inline void folder_remove(const struct folder *folder)
{
	size_t sum = 0;

	folder_each(folder, remove_file, &sum);
	rmdir(folder->path);
}

#endif
