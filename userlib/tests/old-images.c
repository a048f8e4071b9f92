// SPDX-License-Identifier: GPL-2.0-only
/*
 * old-images dump IMAGE: the records of all indexes, as wort dump writes them,
 * read by the reader of older versions whatever version is the current one.
 *
 * old-images damage IMAGE ROUNDS: open and read images with random damage, and some
 * that were made to keep a reader busy.  Each has to be read as well as can be, in
 * bounded time.  Sanitizers watch.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ctl/old_image.h"
#include "../ctl/text.h"

#define SECONDS		20	/* for one image */
#define SB_OFF		4096
#define ENTRY_ROOT	64
#define ENTRY_NAME	128
#define NODE_WORDS	16
#define CHAIN		200

static uint64_t *whole, *words;
static size_t size, nr_words;
static int mem = -1;

static void fail(const char *what, int err)
{
	printf("old-images: %s: %d\n", what, err);
	exit(1);
}

static int each_index(struct old_image *old,
		      int (*fn)(struct old_image *old, const struct old_index *index))
{
	struct wort_index_record records[16];
	char name[WORT_NAME_MAX + 1];
	const struct old_index *index;
	bool more = true;
	uint64_t after = 0;
	int i, nr, err = 0;

	while (more) {
		nr = old_image_list(old, after, records, 16, &more);
		for (i = 0; i < nr; i++) {
			snprintf(name, sizeof(name), "%.*s",
				 records[i].name_len, (char *)records[i].name);
			if (!old_image_index(old, name, &index))
				err = fn(old, index) ?: err;
			after = records[i].id;
		}
		if (nr <= 0)
			break;
	}
	return err;
}

static int print(const struct wort_scan_item *item, void *data)
{
	(void)data;
	put_escaped(stdout, item->key, item->key_len);
	putchar('\t');
	put_escaped(stdout, item->value, item->value_len);
	putchar('\n');
	return 0;
}

static int dump_index(struct old_image *old, const struct old_index *index)
{
	struct wort_scan_opts opts = { .sz = sizeof(opts) };

	return old_image_scan(old, index, &opts, print, NULL);
}

static void dump(const char *path)
{
	struct old_image *old;
	int err = old_image_open(path, 0, &old);

	if (err)
		fail(path, err);
	err = each_index(old, dump_index);
	if (err)
		fail("scan", err);
	old_image_close(old);
}

/* What one scan found. */
struct found {
	size_t bytes;
	size_t records;
	bool unordered;
	size_t key_len;
	uint8_t key[WORT_KEY_MAX];
};

static unsigned long nr_damaged, nr_records;

static int look(const struct wort_scan_item *item, void *data)
{
	size_t min, i, sum = 0;
	struct found *f = data;
	int cmp;

	min = f->key_len < item->key_len ? f->key_len : item->key_len;
	cmp = memcmp(f->key, item->key, min);
	if (f->records && (cmp ? cmp > 0 : f->key_len >= item->key_len))
		f->unordered = true;
	memcpy(f->key, item->key, item->key_len);
	f->key_len = item->key_len;
	for (i = 0; i < item->value_len; i++)
		sum += ((const uint8_t *)item->value)[i];
	f->bytes += item->key_len + item->value_len + !sum;
	f->records++;
	return 0;
}

static int look_index(struct old_image *old, const struct old_index *index)
{
	struct wort_scan_opts opts = { .sz = sizeof(opts) };
	struct found found = { };
	int err = old_image_scan(old, index, &opts, look, &found);

	if (err != 0 && err != -EUCLEAN && err != -EIO)
		fail("scan", err);
	if (!err && found.unordered)
		fail("keys out of order, and no damage", 0);
	if (found.bytes > 2 * size)
		fail("more bytes than the pool has", 0);
	nr_records += found.records;
	return err;
}

/* Returns what was wrong with the image that is in memory. */
static int look_at(void)
{
	struct old_image *old;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", mem);
	alarm(SECONDS);
	if (pwrite(mem, words, size, 0) != (ssize_t)size)
		fail("memfd", errno);
	err = old_image_open(path, 0, &old);
	if (!err) {
		err = each_index(old, look_index);
		old_image_close(old);
	} else if (err != -EUCLEAN && err != -EIO && err != -ENODATA &&
		   err != -EPROTONOSUPPORT && err != -EOVERFLOW) {
		fail("open", err);
	}
	nr_damaged += !!err;
	return err;
}

static uint32_t crc32c(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t crc = ~0U;
	int bit;

	while (len--)
		for (crc ^= *p++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	return crc;
}

/* A checksum that holds lets hostile numbers through. */
static void sign(size_t off)
{
	uint8_t *sb = (uint8_t *)words + off;
	uint32_t csum;

	memset(sb + 12, 0, 4);
	csum = htole32(crc32c(sb, sb[8] == 2 ? 192 : 200));
	memcpy(sb + 12, &csum, sizeof(csum));
}

/* Not of a long value, which is one byte over and over. */
static size_t used_word(void)
{
	size_t i;

	do
		i = random() % nr_words;
	while (whole[i] == (whole[i] << 8 | whole[i] >> 56));
	return i;
}

static void damage_word(void)
{
	size_t i = random() % 8 ? used_word() : (size_t)(SB_OFF / 8 + random() % 25);

	switch (random() % 6) {
	case 0:
		words[i] ^= 1ULL << random() % 64;
		break;
	case 1:
		words[i] = (uint64_t)random() << 33 ^ random();
		break;
	case 2:
		words[i] = random() % 2 ? ~0ULL : 0;
		break;
	case 3:
		words[i] += 8 * (random() % 64) - 256;
		break;
	default:
		words[i] = whole[used_word()];
	}
}

static void damage_at_random(unsigned long rounds)
{
	unsigned long round;
	int n;

	srandom(1);
	for (round = 0; round < rounds; round++) {
		memcpy(words, whole, size);
		for (n = 1 + random() % 4; n; n--)
			damage_word();
		if (random() % 2) {
			sign(SB_OFF);
			sign(2 * SB_OFF);
		}
		look_at();
	}
	if (nr_damaged < rounds / 4 || nr_damaged == rounds || !nr_records)
		fail("damage is not found, or always", nr_damaged);
	printf("%lu rounds, damage found in %lu, %lu records\n", rounds,
	       nr_damaged, nr_records);
}

/* The word of the entry with this name that is the slot of the whole tree. */
static uint64_t *root_of(const char *name)
{
	size_t len = strlen(name), off;
	const char *at;

	for (off = SB_OFF; off < size - 256; off += 8) {
		at = (const char *)words + off + ENTRY_NAME;
		if ((uint8_t)at[0] == len && !memcmp(at + 1, name, len) && !at[1 + len])
			return &words[(off + ENTRY_ROOT) / 8];
	}
	fail(name, -ENOENT);
	return NULL;
}

static uint64_t node_link(size_t word, uint64_t place)
{
	return htole64(place << 52 | (word * 8 + 1));
}

/*
 * Nodes each of whose slots leads to the next one: more paths than could ever be
 * followed.  With @cycle the last one leads to the first, else it is empty.
 */
static void make_chain(bool cycle)
{
	size_t first = nr_words - 512 - CHAIN * NODE_WORDS, i, slot;

	memcpy(words, whole, size);
	for (i = first; i < nr_words - 512; i++)
		if (words[i])
			fail("no room for a chain", i);
	for (i = 0; i < CHAIN; i++)
		for (slot = 0; slot < NODE_WORDS; slot++)
			words[first + i * NODE_WORDS + slot] = i + 1 < CHAIN ?
				node_link(first + (i + 1) * NODE_WORDS, i + 1) :
				cycle ? node_link(first, 0) : 0;
	*root_of("numbers") = node_link(first, 0);
}

static void made_to_harm(void)
{
	size_t one;
	int cycle;

	for (cycle = 0; cycle < 2; cycle++) {
		make_chain(cycle);
		if (look_at() != -EUCLEAN)
			fail("a chain of nodes with many owners is sound", cycle);
	}
	/* a value that is longer than any */
	memcpy(words, whole, size);
	one = le64toh(*root_of("a tab\tand one record")) / 8;
	words[one] = words[SB_OFF / 8 + 8];
	words[one + 1] = htole64(3 | 0x1ffffULL << 12 | 2ULL << 29);
	if (look_at() != -EUCLEAN)
		fail("a value of 131071 bytes is sound", 0);
	/* a catalogue whose first block is its own next one */
	memcpy(words, whole, size);
	words[le64toh(words[SB_OFF / 8 + 10]) / 8] = words[SB_OFF / 8 + 10];
	look_at();
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fail(path, errno);
	size = st.st_size;
	nr_words = size / 8;
	whole = malloc(size);
	words = malloc(size);
	mem = memfd_create("image", 0);
	if (!whole || !words || mem < 0 || read(fd, whole, size) != (ssize_t)size)
		fail(path, errno);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "dump")) {
		dump(argv[2]);
		return 0;
	}
	if (argc != 4 || strcmp(argv[1], "damage"))
		fail("usage", argc);
	load(argv[2]);
	/* Sanitizers write to the descriptor. */
	stderr = fopen("/dev/null", "w");
	made_to_harm();
	nr_damaged = 0;
	damage_at_random(strtoul(argv[3], NULL, 10));
	free(whole);
	free(words);
	return 0;
}
