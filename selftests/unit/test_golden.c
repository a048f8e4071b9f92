// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image of each engine that was written once, in golden/: whatever is
 * changed in the code, what it holds is still there.  "unit -g FILE ENGINE"
 * writes one like it; new files are due when the version of the format goes up.
 *
 * The file has a line for each word that is not 0: its offset and its value.
 */
#include "../engines/unit.h"

#define GOLDEN_SIZE	(512 << 10)
#define GOLDEN_EXTENT	4096
#define NR_INTS		64

static const char *const names[] = { "values", "keys", "ints" };

/* What is done with each record, by its number in its index. */
typedef void golden_fn(struct wort_index *index, const struct wort_key *key,
		       const struct wort_value *value);

/* Zeroes, but for a mark at each end, so that the file stays small. */
static void make_value(struct wort_value *value, u32 len, u8 mark)
{
	static u8 bytes[WORT_VALUE_MAX];

	memset(bytes, 0, len);
	if (len) {
		bytes[0] = mark;
		bytes[len - 1] = ~mark;
	}
	*value = (struct wort_value){ bytes, len };
}

static void each_value(struct wort_index *index, golden_fn *fn)
{
	static const u32 lens[] = { 0, 1, 7, 8, 9, 40, 300, 900, 5000, 65536 };
	struct wort_value value;
	u8 byte;

	for (byte = 0; byte < ARRAY_SIZE(lens); byte++) {
		make_value(&value, lens[byte], byte + 1);
		fn(index, &(struct wort_key){ &byte, 1 }, &value);
	}
}

/* All but the first are beginnings of the next, some with zeroes behind. */
static void each_key(struct wort_index *index, golden_fn *fn)
{
	static const u32 lens[] = { 1, 2, 3, 8, 9, 16, 17, 100, 1023, 1024 };
	static const u8 ones[] = { 0xff, 0xff, 0xff };
	u8 bytes[WORT_KEY_MAX] = { 'k' };
	struct wort_value value;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		make_value(&value, 8, i);
		fn(index, &(struct wort_key){ bytes, lens[i] }, &value);
	}
	bytes[5] = 0x80;
	fn(index, &(struct wort_key){ bytes, 8 }, &value);
	fn(index, &(struct wort_key){ ones, sizeof(ones) }, &value);
}

static void each_int(struct wort_index *index, golden_fn *fn)
{
	struct wort_value value;
	u8 key[8];
	u64 i;

	for (i = 0; i < NR_INTS; i++) {
		key_u64(key, i % 3 ? i : i << 40);
		make_value(&value, 8, i);
		fn(index, &(struct wort_key){ key, 8 }, &value);
	}
}

static void each_record(struct bed *bed, golden_fn *fn)
{
	struct wort_index *index[ARRAY_SIZE(names)];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		index[i] = pmpool_index(&bed->pm, names[i]);
	each_value(index[0], fn);
	each_key(index[1], fn);
	each_int(index[2], fn);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		wort_index_put(index[i]);
}

static void put(struct wort_index *index, const struct wort_key *key,
		const struct wort_value *value)
{
	CHECK_EQ(pm_put(index, key->data, key->len, value->data, value->len), 0);
}

static u32 nr_found;

static void get(struct wort_index *index, const struct wort_key *key,
		const struct wort_value *value)
{
	static u8 buf[WORT_VALUE_MAX];
	u32 len = sizeof(buf);

	CHECK_EQ(pm_get(index, key->data, key->len, buf, &len), 0);
	CHECK_EQ(len, value->len);
	CHECK(!memcmp(buf, value->data, value->len));
	nr_found++;
}

/*
 * Other records between them come and go, and so does an index.  What that
 * leaves open is closed by the walk of the next attach.
 */
void golden_write(const char *path)
{
	FILE *f = fopen(path, "w");
	struct bed bed;
	u64 off, word;
	u8 key[8];
	u64 i;

	bed_open(&bed, GOLDEN_SIZE, GOLDEN_EXTENT);
	for (i = 0; i < 64; i++) {
		key_u64(key, i << 32);
		pm_put(bed.index, key, 8, &i, 8);
	}
	each_record(&bed, put);
	for (i = 0; i < 64; i += 1 + i % 2) {
		key_u64(key, i << 32);
		pm_del(bed.index, key, 8);
	}
	wort_index_destroy(bed.pm.pool, (const u8 *)"t", 1);
	pmpool_settle();
	pmpool_detach(&bed.pm);
	pmpool_attach(&bed.pm);
	pmpool_settle();
	for (off = 0; f && off < GOLDEN_SIZE; off += 8) {
		memcpy(&word, bed.pm.region.base + off, 8);
		if (word)
			fprintf(f, "%06llx %016llx\n", (unsigned long long)off,
				(unsigned long long)le64_to_cpu(word));
	}
	if (!f || fclose(f))
		die("%s cannot be written", path);
	bed_close(&bed);
}

static void load(struct bed *bed, const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long long off, val;
	__le64 word;

	if (!f)
		die("%s cannot be read", path);
	pmpool_map(&bed->pm, GOLDEN_SIZE, false);
	memset(bed->pm.region.base, 0, GOLDEN_SIZE);
	while (fscanf(f, "%llx %llx", &off, &val) == 2 && off < GOLDEN_SIZE) {
		word = cpu_to_le64(val);
		memcpy(bed->pm.region.base + off, &word, sizeof(word));
	}
	CHECK(feof(f));
	fclose(f);
}

static u64 nr_records(struct bed *bed)
{
	struct wort_check_arg arg;

	bed_check_arg(bed, 0, &arg);
	return arg.out_nr_leaves;
}

/* An image of the version before is refused, and stays as it is. */
void check_golden_older(void)
{
	void *before = malloc(GOLDEN_SIZE);
	struct bed bed = { };

	load(&bed, GOLDEN "/v3-wort.txt");
	memcpy(before, bed.pm.region.base, GOLDEN_SIZE);
	CHECK_EQ(wort_pool_attach(&bed.pm.region, &bed.pm.pool),
		 -EPROTONOSUPPORT);
	CHECK(!memcmp(before, bed.pm.region.base, GOLDEN_SIZE));
	pmpool_unmap(&bed.pm);
	free(before);
}

void check_golden(void)
{
	struct bed bed = { };
	void *before;
	char path[512];

	if (!subject.unit->golden || pmpool_attr)
		return;
	snprintf(path, sizeof(path), "%s/%s", GOLDEN, subject.unit->golden);
	load(&bed, path);
	before = malloc(GOLDEN_SIZE);
	memcpy(before, bed.pm.region.base, GOLDEN_SIZE);
	bed.live = shim_alloc_live;
	pmpool_attach(&bed.pm);
	pmpool_settle();
	nr_found = 0;
	each_record(&bed, get);
	CHECK_EQ(nr_records(&bed), nr_found);
	CHECK(media_same(before, bed.pm.region.base, GOLDEN_SIZE));
	bed_check(&bed);
	/* and it goes on */
	bed.index = pmpool_index(&bed.pm, "more");
	each_int(bed.index, put);
	each_record(&bed, get);
	bed_check(&bed);
	bed_detach(&bed);
	pmpool_unmap(&bed.pm);
	free(before);
}
