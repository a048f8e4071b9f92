// SPDX-License-Identifier: GPL-2.0-only
/*
 * All operations on a damaged image, and whether they find the damage.
 */
#include "hostile.h"

struct wort_index *hostile_indexes[3];

static struct wort_index **const indexes = hostile_indexes;
static u8 buf[WORT_VALUE_MAX * 2] __attribute__((aligned(8)));

void hostile_attach(void)
{
	u32 i;

	pmpool_attach(&image.pm);
	for (i = 0; i < 3; i++)
		if (wort_index_open(image.pm.pool, (u8 *)&"abc"[i], 1, 0, 0, 0,
				    &indexes[i]))
			indexes[i] = NULL;
}

void hostile_detach(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (indexes[i])
			wort_index_put(indexes[i]);
	pmpool_detach(&image.pm);
}

static bool do_lookup(struct wort_index *index)
{
	bool found = false;
	u32 i, len;

	for (i = 0; i < image_nr_keys; i++) {
		len = sizeof(buf);
		found |= pm_get(index, image_keys[i], strlen(image_keys[i]),
				buf, &len) == -EUCLEAN;
		reader_get(index, image_keys[i], strlen(image_keys[i]), buf,
			   &len);
	}
	return found;
}

static bool do_scan(struct wort_index *index, u32 flags)
{
	struct wort_scan scan = {
		.flags = flags, .buf = buf, .buf_len = sizeof(buf),
	};
	int err = wort_index_scan(index, &scan);

	CHECK_LE(scan.count, 10000);
	return err == -EUCLEAN;
}

/* One record from each key on, both ways. */
static bool do_seek(struct wort_index *index)
{
	struct wort_scan scan = {
		.max = 1, .buf = buf, .buf_len = sizeof(buf),
	};
	bool found = false;
	struct wort_key key;
	u32 i;

	scan.start = &key;
	for (i = 0; i < 2 * image_nr_keys; i++) {
		key.data = (const u8 *)image_keys[i / 2];
		key.len = strlen(image_keys[i / 2]);
		scan.flags = i % 2 ? WORT_SCAN_F_REVERSE : 0;
		found |= wort_index_scan(index, &scan) == -EUCLEAN;
	}
	return found;
}

/* Each key with values of other lengths, its neighbours and its beginning. */
static bool do_insert(struct wort_index *index)
{
	bool found = false;
	char key[64];
	u32 i, len;

	for (i = 0; i < image_nr_keys; i++) {
		len = strlen(image_keys[i]);
		strcpy(key, image_keys[i]);
		found |= pm_put(index, key, len, buf, 8) == -EUCLEAN;
		found |= pm_put(index, key, len, buf, i * 40) == -EUCLEAN;
		found |= pm_put(index, key, len + 1, buf, 7) == -EUCLEAN;
		found |= pm_put(index, key, len / 2, buf, 6) == -EUCLEAN;
		key[len - 1]++;
		found |= pm_put(index, key, len, buf, 8) == -EUCLEAN;
		key[len / 2] ^= 4;
		found |= pm_put(index, key, len, buf, 8) == -EUCLEAN;
	}
	return found;
}

static bool do_delete(struct wort_index *index)
{
	bool found = false;
	u32 i;

	for (i = image_nr_keys; i; i--)
		found |= pm_del(index, image_keys[i - 1],
				strlen(image_keys[i - 1])) == -EUCLEAN;
	return found;
}

bool hostile_check(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };

	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	return arg.out_nr_damaged;
}

static bool any_damaged(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (indexes[i] && indexes[i]->damaged)
			return true;
	return image.pm.pool->damaged;
}

static bool on_index(struct wort_index *index, u32 op)
{
	switch (op) {
	case LOOKUP:
		return do_lookup(index);
	case SCAN:
		return do_scan(index, 0);
	case RSCAN:
		return do_scan(index, WORT_SCAN_F_REVERSE);
	case SEEK:
		return do_seek(index);
	case INSERT:
		return do_insert(index);
	default:
		return do_delete(index);
	}
}

/* Carry out one operation; true if it found the damage. */
bool hostile_try(u32 op)
{
	bool found = false;
	u32 i;

	if (op == CHECKS)
		return hostile_check();
	if (op == WALK) {
		pmpool_settle();
		return any_damaged();
	}
	if (op == DESTROY) {
		wort_index_destroy(image.pm.pool, (u8 *)"a", 1);
		pmpool_settle();
		return false;
	}
	for (i = 0; i < 3; i++)
		if (indexes[i])
			found |= on_index(indexes[i], op);
	return found;
}

void hostile_try_all(void)
{
	u32 op;

	for (op = 0; op < NR_OPS; op++) {
		image_restore(image.patched);
		hostile_attach();
		hostile_try(op);
		pmpool_settle();
		hostile_detach();
	}
	image_restore(image.patched);
	hostile_attach();
	for (op = 0; op < NR_OPS; op++)
		hostile_try(op);
	hostile_detach();
}

/* Which index is read-only now?  Its changes are refused, also later. */
static void check_read_only(void)
{
	bool damaged[3];
	u32 i, again;

	for (i = 0; i < 3; i++)
		damaged[i] = indexes[i]->damaged;
	CHECK(damaged[0] || damaged[1] || damaged[2]);
	for (again = 0; again < 2; again++) {
		for (i = 0; i < 3; i++) {
			if (!damaged[i])
				continue;
			CHECK(indexes[i]->damaged);
			CHECK_EQ(pm_put(indexes[i], "new", 3, "v", 1), -EROFS);
			CHECK_EQ(pm_put(indexes[i], "new-word", 8, "a-value!", 8), -EROFS);
			CHECK_EQ(pm_del(indexes[i], "new", 3), -EROFS);
		}
		hostile_detach();
		hostile_attach();
	}
}

/* With the patch taken back a check with CLEAR makes all writable. */
static void check_cleared(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	u32 i;

	image_undo();
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(any_damaged());
	arg.flags = WORT_CHECK_F_CLEAR;
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(!any_damaged());
	for (i = 0; i < 3; i++)
		CHECK_EQ(pm_put(indexes[i], "new", 3, "v", 1), 0);
	hostile_detach();
	hostile_attach();
	CHECK(!hostile_check());
	CHECK(!any_damaged());
}

/* What was patched is found by the operations of @finders. */
void hostile_case(const char *what, u32 finders)
{
	bool found;
	u32 op;

	image_keep();
	for (op = 0; op < NR_OPS; op++) {
		image_restore(image.patched);
		hostile_attach();
		found = hostile_try(op);
		if (finders & FIND(op)) {
			if (!CHECK(found))
				printf("  %s: operation %u\n", what, op);
			if (found && !image.pm.pool->damaged)
				check_read_only();
			if (found && op == CHECKS && !image.pm.pool->damaged)
				check_cleared();
		}
		hostile_detach();
	}
	hostile_try_all();
	image_restore(image.clean);
}
