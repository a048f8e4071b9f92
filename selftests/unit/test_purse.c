// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is set aside for operations that must not fail.
 */
#include "../../kmod/core/purse.h"
#include "space.h"

#define SLOT	200
#define RUN	3000		/* a whole extent */

static struct wort_purse *purse;

static void open_full(struct bed *bed)
{
	struct wort_op op;
	int err = 0;

	bed_open(bed, MIB, 4096);
	purse = wort_purse_new(4, 0);
	space_begin(bed, &op);
	CHECK_EQ(wort_purse_add(&op, purse, SLOT, 2), 0);
	CHECK_EQ(wort_purse_add(&op, purse, RUN, 1), 0);
	wort_op_end(&op);
	while (!err) {
		space_begin(bed, &op);
		err = wort_alloc_reserve(&op, RUN) ?: wort_alloc_reserve(&op, SLOT);
		while (op.nr_taken < op.nr_reserved)
			wort_alloc_take(&op);
		wort_pm_fence(&op);
		wort_op_end(&op);
	}
	CHECK_EQ(err, -ENOSPC);
	for (err = 0; !err;) {
		space_begin(bed, &op);
		err = wort_alloc_reserve(&op, SLOT);
		if (!err)
			wort_alloc_take(&op);
		wort_pm_fence(&op);
		wort_op_end(&op);
	}
}

static void close_full(struct bed *bed)
{
	u64 used = space_alloc(bed)->used_bytes;
	u32 nr = purse->nr;
	struct wort_op op;

	space_begin(bed, &op);
	op.released = space_alloc(bed)->released;
	wort_purse_free(&op, purse);
	/* That is no reason to try again. */
	CHECK_EQ(op.released, space_alloc(bed)->released);
	wort_op_end(&op);
	CHECK(used > space_alloc(bed)->used_bytes || !nr);
	bed_close(bed);
}

/* Of a full pool an operation has what is in its purse, and no more. */
void check_purse_full(void)
{
	struct wort_op op;
	struct bed bed;

	open_full(&bed);
	space_begin(&bed, &op);
	op.purse = purse;
	CHECK_EQ(wort_alloc_reserve(&op, SLOT), 0);
	CHECK_EQ(wort_alloc_reserve(&op, RUN), 0);
	CHECK_EQ(wort_alloc_reserve(&op, RUN), -ENOSPC);
	CHECK_EQ(wort_alloc_reserve(&op, SLOT), 0);
	CHECK_EQ(wort_alloc_reserve(&op, SLOT), -ENOSPC);
	CHECK_EQ(purse->nr, 0);
	wort_op_end(&op);
	CHECK_EQ(purse->nr, 3);
	close_full(&bed);
}

/* What can be done without takes nothing out of a purse, and no space during an attach. */
void check_purse_beside(void)
{
	struct wort_purse *none = wort_purse_new(0, 0);
	struct wort_op op;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	space_begin(&bed, &op);
	none->attach = true;
	op.purse = none;
	CHECK_EQ(wort_purse_reserve_beside(&op, SLOT), -ENOSPC);
	op.purse = NULL;
	CHECK_EQ(wort_purse_reserve_beside(&op, SLOT), 0);
	wort_op_end(&op);
	bed_close(&bed);
	kvfree(none);

	open_full(&bed);
	space_begin(&bed, &op);
	op.purse = purse;
	CHECK_EQ(wort_purse_reserve_beside(&op, SLOT), -ENOSPC);
	CHECK_EQ(wort_alloc_reserve(&op, SLOT), 0);
	wort_op_end(&op);

	/* It also leaves the extents that deletes and the walk may take. */
	space_begin(&bed, &op);
	op.must_free = true;
	CHECK_EQ(wort_purse_reserve_beside(&op, RUN), -ENOSPC);
	CHECK_EQ(wort_alloc_reserve(&op, RUN), 0);
	wort_op_end(&op);
	close_full(&bed);
}

/* What was taken is gone; what was not taken can be lent again. */
void check_purse_returns(void)
{
	struct wort_op op;
	struct bed bed;
	u32 i;

	open_full(&bed);
	for (i = 3; i; i--) {
		space_begin(&bed, &op);
		op.purse = purse;
		CHECK_EQ(wort_alloc_reserve(&op, i == 2 ? RUN : SLOT), 0);
		if (i != 2)
			CHECK_EQ(wort_alloc_reserve(&op, RUN), i == 3 ? 0 : -ENOSPC);
		wort_alloc_take(&op);
		wort_pm_fence(&op);
		wort_op_end(&op);
		CHECK_EQ(purse->nr, i - 1);
	}
	close_full(&bed);
}

/* Nothing fails for want of DRAM. */
void check_purse_memory(void)
{
	static const u64 sizes[] = { 24, 200, 1000, 3000 };
	struct wort_op op;
	struct bed bed;
	u32 i;

	bed_open(&bed, MIB, 4096);
	purse = wort_purse_new(1, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		space_begin(&bed, &op);
		shim_alloc_fail_nth = 0;
		if (i < 3)
			CHECK_EQ(wort_alloc_reserve(&op, sizes[i]), -ENOMEM);
		shim_alloc_fail_nth = 0;
		op.purse = purse;
		CHECK_EQ(wort_alloc_reserve(&op, sizes[i]), 0);
		shim_alloc_fail_nth = 0;
		CHECK_EQ(wort_alloc_reserve_zero(&op, sizes[i]), 0);
		shim_alloc_fail_nth = -1;
		wort_op_end(&op);
	}
	close_full(&bed);
}
