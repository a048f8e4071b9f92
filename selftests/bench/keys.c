// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads of the papers: dense, sparse and clustered integers as WORT defines
 * them (FAST'17, section 5), dictionary, sequential and random strings as
 * HART does (IPDPS'19, section IV); and paths of files.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "pmpool.h"

#define CLUSTER		64
#define DICTIONARY	"/usr/share/dict/american-english-insane"
#define PACKAGES	"/var/lib/dpkg/info/*.list"

static const char alphabet[] =
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const struct workload workloads[] = {
	{ "dense", "integers from 1 on, in random order" },
	{ "sparse", "integers, uniform over 64 bits" },
	{ "clustered", "integers, clusters of 64 neighbours spread evenly" },
	{ "words", "words of " DICTIONARY },
	{ "sequential", "strings of 62 characters counted up, in their order" },
	{ "random", "strings of 5 to 16 such characters" },
	{ "paths", "paths of " PACKAGES },
	{ }
};

static void *allocate(size_t size)
{
	void *mem = malloc(size ? size : 1);

	if (!mem)
		die("no memory for %zu bytes of keys", size);
	return mem;
}

static void swap_strings(char **a, char **b)
{
	char *tmp = *a;

	*a = *b;
	*b = tmp;
}

static void shuffle_integers(uint64_t *keys, uint64_t nr, uint64_t *seed)
{
	uint64_t i, j, tmp;

	for (i = nr; i > 1; i--) {
		j = test_random(seed) % i;
		tmp = keys[i - 1];
		keys[i - 1] = keys[j];
		keys[j] = tmp;
	}
}

/* Those behind the keys to load are shuffled by themselves. */
static void make_integers(struct keys *keys, const char *workload,
			  uint64_t seed)
{
	uint64_t all = keys->nr + keys->more, i;
	uint64_t step = UINT64_MAX / (all / CLUSTER + 1);
	uint64_t *ints = allocate(all * sizeof(*ints));

	for (i = 0; i < all; i++)
		ints[i] = !strcmp(workload, "dense") ? i + 1 :
			  !strcmp(workload, "sparse") ? test_random(&seed) :
			  i / CLUSTER * step + i % CLUSTER;
	shuffle_integers(ints, keys->nr, &seed);
	shuffle_integers(ints + keys->nr, keys->more, &seed);
	for (i = 0; i < all; i++)
		ints[i] = __builtin_bswap64(ints[i]);
	keys->fixed = sizeof(*ints);
	keys->bytes = (uint8_t *)ints;
}

/* A list of strings that grows. */
struct strings {
	char **at;
	uint64_t nr, room;
};

static void strings_add(struct strings *list, const char *text)
{
	if (list->nr == list->room) {
		list->room = list->room ? 2 * list->room : 1024;
		list->at = realloc(list->at, list->room * sizeof(*list->at));
		if (!list->at)
			die("no memory for keys");
	}
	list->at[list->nr] = strdup(text);
	if (!list->at[list->nr++])
		die("no memory for keys");
}

static void strings_of_file(struct strings *list, const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!f)
		die("%s: %m: no such workload, nor a file of keys", path);
	while ((len = getline(&line, &size, f)) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (strlen(line) > WORT_KEY_MAX)
			die("%s: a line is longer than keys can be, %u bytes",
			    path, WORT_KEY_MAX);
		if (*line)
			strings_add(list, line);
	}
	free(line);
	fclose(f);
}

static void strings_of_packages(struct strings *list)
{
	glob_t found;
	size_t i;

	if (glob(PACKAGES, 0, NULL, &found))
		die("no file matches " PACKAGES ": name a file with paths instead");
	for (i = 0; i < found.gl_pathc; i++)
		strings_of_file(list, found.gl_pathv[i]);
	globfree(&found);
}

static void sequential_strings(struct strings *list, uint64_t nr)
{
	unsigned int width = 1, at;
	uint64_t i, left;
	char text[16];

	for (left = nr; left >= 62; left /= 62)
		width++;
	text[width] = 0;
	for (i = 0; i < nr; i++) {
		left = i;
		for (at = width; at-- > 0; left /= 62)
			text[at] = alphabet[left % 62];
		strings_add(list, text);
	}
}

/* A few more than asked for: some are drawn twice. */
static void random_strings(struct strings *list, uint64_t nr, uint64_t *seed)
{
	unsigned int len, at;
	char text[17];

	for (nr += nr / 64 + 1; nr; nr--) {
		len = 5 + test_random(seed) % 12;
		for (at = 0; at < len; at++)
			text[at] = alphabet[test_random(seed) % 62];
		text[len] = 0;
		strings_add(list, text);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each once, in random order. */
static void strings_mix(struct strings *list, uint64_t *seed)
{
	uint64_t i, nr = 0;

	qsort(list->at, list->nr, sizeof(*list->at), by_text);
	for (i = 0; i < list->nr; i++) {
		if (nr && !strcmp(list->at[nr - 1], list->at[i]))
			free(list->at[i]);
		else
			list->at[nr++] = list->at[i];
	}
	list->nr = nr;
	for (i = nr; i > 1; i--)
		swap_strings(&list->at[i - 1],
			     &list->at[test_random(seed) % i]);
}

static void make_strings(struct keys *keys, const char *workload,
			 uint64_t seed)
{
	uint64_t all = keys->nr + keys->more, size = 0, i;
	struct strings list = { };

	if (!strcmp(workload, "sequential"))
		sequential_strings(&list, all);
	else if (!strcmp(workload, "random"))
		random_strings(&list, all, &seed);
	else if (!strcmp(workload, "paths"))
		strings_of_packages(&list);
	else
		strings_of_file(&list, !strcmp(workload, "words") ?
				DICTIONARY : workload);
	if (strcmp(workload, "sequential"))
		strings_mix(&list, &seed);
	if (list.nr < all) {	/* of both parts the same share */
		keys->nr = max_t(uint64_t, list.nr * keys->nr / all,
				 list.nr > 0);
		keys->more = list.nr - keys->nr;
		all = list.nr;
	}
	if (!keys->nr)
		die("%s: no keys", workload);
	keys->ends = allocate(all * sizeof(*keys->ends));
	for (i = 0; i < all; i++)
		keys->ends[i] = size += strlen(list.at[i]);
	keys->bytes = allocate(size);
	for (i = 0; i < all; i++)
		memcpy((void *)key_at(keys, i).bytes, list.at[i],
		       key_at(keys, i).len);
	for (i = 0; i < list.nr; i++)
		free(list.at[i]);
	free(list.at);
}

void keys_make(struct keys *keys, const char *workload, uint64_t nr,
	       uint64_t seed)
{
	uint64_t i;

	*keys = (struct keys){ .nr = nr, .more = nr / 10 + 1 };
	if (!strcmp(workload, "dense") || !strcmp(workload, "sparse") ||
	    !strcmp(workload, "clustered"))
		make_integers(keys, workload, seed);
	else
		make_strings(keys, workload, seed);
	keys->values = allocate((keys->nr + keys->more) * sizeof(uint64_t));
	for (i = 0; i < keys->nr + keys->more; i++)
		keys->values[i] = i + 1;
}

void keys_shuffled(struct keys *to, const struct keys *from, uint64_t seed)
{
	uint64_t *order = allocate(from->nr * sizeof(*order)), i, size = 0;

	*to = (struct keys){ .nr = from->nr, .fixed = from->fixed };
	for (i = 0; i < from->nr; i++) {
		order[i] = i;
		size += key_at(from, i).len;
	}
	shuffle_integers(order, from->nr, &seed);
	to->bytes = allocate(size);
	to->values = allocate(from->nr * sizeof(*to->values));
	if (!from->fixed)
		to->ends = allocate(from->nr * sizeof(*to->ends));
	for (i = 0, size = 0; i < from->nr; i++) {
		struct key key = key_at(from, order[i]);

		memcpy(to->bytes + size, key.bytes, key.len);
		size += key.len;
		to->values[i] = from->values[order[i]];
		if (to->ends)
			to->ends[i] = size;
	}
	free(order);
}

void keys_free(struct keys *keys)
{
	free(keys->bytes);
	free(keys->ends);
	free(keys->values);
}
