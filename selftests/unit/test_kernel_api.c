// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of other kernel code on records: kmod/dev/api_record.c.
 */
#include <linux/err.h>
#include <linux/wort_kernel.h>

#include "../dirindex/host.h"
#include "../engines/unit.h"

#define NR_RECORDS	400
#define NR_COUNTED	3000	/* sections of a scan have 1024 */
#define VALUE_LEN	100
#define LONG_LEN	6000	/* a buffer holds one record */
#define BUF_LEN		8192

static struct wort_kernel_index *api_open(struct bed *bed)
{
	dirindex_serve(&bed->pm);
	return wort_kernel_index_open(wort_kernel_pool_open(""), "t", 0, 0, 0);
}

static void api_fill(struct wort_kernel_index *index, u32 nr, u32 value_len)
{
	static char value[LONG_LEN];
	struct wort_kernel_op op = { .op = WORT_BATCH_INSERT };
	char key[8];
	u32 i;

	op.value = (struct wort_kernel_bytes){ value, value_len };
	for (i = 0; i < nr; i++) {
		memset(value, i + 1, value_len);
		op.key = (struct wort_kernel_bytes){ key, sprintf(key, "k%05u", i) };
		CHECK_EQ(wort_kernel_batch(index, &op, 1, 0), 1);
		CHECK_EQ(op.err, 0);
	}
}

/* What a scan has found continues what others have found before. */
static void expect_records(const struct wort_kernel_scan *scan, u32 *next)
{
	const struct wort_record *rec;
	char key[8];

	wort_kernel_for_each_record(rec, scan) {
		CHECK_EQ(rec->key_len, sprintf(key, "k%05u", (*next)++));
		CHECK(!memcmp(wort_kernel_record_key(rec), key, rec->key_len));
	}
}

/*
 * A page cannot be read while the first call is there, and can afterwards.  The records that
 * an error came with are not met again, and none behind them is passed over.
 */
static void scan_on(struct bed *bed, struct wort_kernel_index *index, u32 nr)
{
	static u8 buf[BUF_LEN] __aligned(8);
	struct wort_kernel_scan scan = { .buf = buf, .buf_len = sizeof(buf) };
	u32 next = 0, nr_errors = 0;
	int err;

	do {
		err = wort_kernel_scan(index, &scan);
		expect_records(&scan, &next);
		if (err) {
			CHECK_EQ(err, -EIO);
			CHECK_GE(nr / 2, next);
			nr_errors++;
			wort_region_forget_bad(&bed->pm.region);
		}
	} while (scan.more || err);
	CHECK_EQ(nr_errors, 1);
	CHECK_EQ(next, nr);
}

void check_kernel_scan_error(void)
{
	struct wort_kernel_index *index;
	struct bed bed;

	bed_open(&bed, 16 * MIB, 0);
	index = api_open(&bed);
	api_fill(index, NR_RECORDS, VALUE_LEN);
	wort_region_add_bad(&bed.pm.region, bed_record(&bed, "k00150", 6), 1);
	scan_on(&bed, index, NR_RECORDS);
	wort_kernel_index_close(index);
	bed_close(&bed);
}

/* Where the end of a value lies that consists of one byte. */
static u64 end_of_value(struct bed *bed, u8 byte)
{
	const u8 *mem = (const u8 *)bed->pm.region.base;
	u64 at = 0;
	u8 want[64];

	memset(want, byte, sizeof(want));
	while (memcmp(mem + at, want, sizeof(want)))
		at += 8;
	return at + LONG_LEN - sizeof(want);
}

/* A record whose value cannot be read overwrites the key at which the call began. */
void check_kernel_scan_value(void)
{
	struct wort_kernel_index *index;
	struct bed bed;

	bed_open(&bed, 16 * MIB, 0);
	index = api_open(&bed);
	api_fill(index, 10, LONG_LEN);
	wort_region_add_bad(&bed.pm.region, end_of_value(&bed, 6), 1);
	scan_on(&bed, index, 10);
	wort_kernel_index_close(index);
	bed_close(&bed);
}

/*
 * A count that has gone on from the buffer, and fails behind the end of a section: it counts
 * from the same key again.
 */
void check_kernel_count_error(void)
{
	static u8 buf[WORT_KEY_MAX];
	struct wort_kernel_scan scan = {
		.flags = WORT_SCAN_F_COUNT, .max_count = 10, .buf = buf, .buf_len = sizeof(buf),
	};
	struct wort_kernel_index *index;
	struct bed bed;

	bed_open(&bed, 16 * MIB, 0);
	index = api_open(&bed);
	api_fill(index, NR_COUNTED, VALUE_LEN);
	CHECK_EQ(wort_kernel_scan(index, &scan), 0);
	CHECK(scan.more && scan.count == 10);
	scan.max_count = 0;
	wort_region_add_bad(&bed.pm.region, bed_record(&bed, "k02500", 6), 1);
	CHECK_EQ(wort_kernel_scan(index, &scan), -EIO);
	CHECK_EQ(scan.count, 0);
	wort_region_forget_bad(&bed.pm.region);
	CHECK_EQ(wort_kernel_scan(index, &scan), 0);
	CHECK_EQ(scan.count, NR_COUNTED - 10);
	wort_kernel_index_close(index);
	bed_close(&bed);
}

/* The answer of a lookup by itself is a length; in a batch it is in the operation. */
void check_kernel_lengths(void)
{
	struct wort_kernel_op op = {
		.op = WORT_BATCH_LOOKUP, .key = { "k00001", 6 },
	};
	struct wort_kernel_index *index;
	struct bed bed;

	bed_open(&bed, 16 * MIB, 0);
	index = api_open(&bed);
	api_fill(index, NR_RECORDS, VALUE_LEN);
	CHECK_EQ(wort_kernel_lookup(index, &op.key, NULL, 0), VALUE_LEN);
	CHECK_EQ(wort_kernel_batch(index, &op, 1, WORT_BATCH_F_STOP), 1);
	CHECK_EQ(op.err, -ERANGE);
	CHECK_EQ(op.old.len, VALUE_LEN);
	wort_kernel_index_close(index);
	bed_close(&bed);
}
