// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots that are durably zero.
 */
#include <signal.h>
#include <sys/mman.h>

#include <linux/bitmap.h>

#include "../../kmod/core/powercut.h"
#include "space.h"

#define SIZE	(512 * KIB)
#define EXTENT	4096

static const u64 sizes[] = { 16, 24, 64, 100, 200, 1000, 3000, 5000 };

static u8 *at(struct bed *bed, u64 off)
{
	return (u8 *)bed->pm.region.base + off;
}

static bool is_zero(const u8 *p, u64 len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

/* What was never stored to is no zero. */
static void open_dirty(struct bed *bed)
{
	*bed = (struct bed){ };
	pmpool_map(&bed->pm, SIZE, false);
	memset((u8 *)bed->pm.region.base, 0xa5, SIZE);
	pmpool_format(&bed->pm, EXTENT);
	bed->live = shim_alloc_live;
	bed_attach(bed);
	pmpool_settle();
}

/* Store something to an object, and make it durable. */
static void spoil(struct bed *bed, struct wort_op *op, u64 off, u64 size)
{
	memset(at(bed, off), 0x5a, size);
	wort_pm_flush(op, (void __pmem *)at(bed, off), size);
}

/* Reserve an object as zero, look at it, take it and write it. */
static u64 take_zero(struct bed *bed, u64 size)
{
	struct wort_op op;
	u64 off;

	space_begin(bed, &op);
	if (!CHECK_EQ(wort_alloc_reserve_zero(&op, size), 0))
		return 0;
	CHECK(is_zero(at(bed, op.reserved[0]), size));
	off = wort_alloc_take(&op);
	spoil(bed, &op, off, size);
	wort_pm_fence(&op);
	wort_op_end(&op);
	return off;
}

static u64 take(struct bed *bed, u64 size)
{
	struct wort_op op;
	u64 off;

	space_begin(bed, &op);
	CHECK_EQ(wort_alloc_reserve(&op, size), 0);
	off = wort_alloc_take(&op);
	spoil(bed, &op, off, size);
	wort_pm_fence(&op);
	CHECK_EQ(op.n.zero_lines, 0);
	wort_op_end(&op);
	return off;
}

/* Returns the lines that were zeroed. */
static u64 reclaim(struct bed *bed)
{
	struct wort_op op;

	space_begin(bed, &op);
	wort_alloc_reclaim(&op, NULL);
	wort_op_end(&op);
	CHECK_LE(op.n.zero_lines, op.n.lines);
	return op.n.zero_lines;
}

/* Lines zeroed by a reservation that takes nothing. */
static u64 zero_lines(struct bed *bed, u64 size)
{
	struct wort_op op;

	space_begin(bed, &op);
	CHECK_EQ(wort_alloc_reserve_zero(&op, size), 0);
	CHECK(is_zero(at(bed, op.reserved[0]), size));
	wort_op_end(&op);
	CHECK_LE(op.n.zero_lines, op.n.lines);
	return op.n.zero_lines;
}

static bool is_tracked(struct bed *bed, u64 off)
{
	return wort_extent_of(space_alloc(bed), off)->zeroed;
}

/* New extents, then slots that were written and come back. */
void check_zero_slots(void)
{
	u64 off[64];
	struct bed bed;
	u32 i, k, round;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		open_dirty(&bed);
		for (round = 0; round < 3; round++) {
			for (k = 0; k < 32; k++)
				off[k] = take_zero(&bed, sizes[i]);
			for (k = round; k < 32; k++)
				CHECK_EQ(space_give(&bed, off[k], sizes[i]), 0);
			reclaim(&bed);
			while (k-- > 32 - round)
				CHECK_EQ(space_give(&bed, off[k - 32 + round],
						    sizes[i]), 0);
		}
		reclaim(&bed);
		bed_check(&bed);
		bed_close(&bed);
	}
}

/* Each slot is zeroed once, where that can be done: by reclaim if it came back. */
void check_zero_counts(void)
{
	struct wort_op op;
	struct bed bed;
	u64 a, b;

	open_dirty(&bed);
	b = take(&bed, 64);
	CHECK(!is_tracked(&bed, b));
	a = take_zero(&bed, 64);
	CHECK(is_tracked(&bed, a));
	/* Those of the word are clean by now, and stay so if they are not taken. */
	take_zero(&bed, 64);
	CHECK_EQ(zero_lines(&bed, 64), 0);
	CHECK_EQ(zero_lines(&bed, 64), 0);
	CHECK_EQ(space_give(&bed, a, 64), 0);
	CHECK_EQ(reclaim(&bed), 1);
	CHECK_EQ(zero_lines(&bed, 64), 0);
	CHECK_EQ(take_zero(&bed, 64), a);
	/* Written, and begun again. */
	space_begin(&bed, &op);
	CHECK_EQ(wort_alloc_reserve_zero(&op, 64), 0);
	spoil(&bed, &op, wort_alloc_take(&op), 64);
	wort_op_again(&op);
	CHECK_EQ(op.nr_reserved, 0);
	CHECK_EQ(wort_alloc_reserve_zero(&op, 64), 0);
	CHECK(is_zero(at(&bed, op.reserved[0]), 64));
	/* Written, and dropped: it is not zero any more when it goes back. */
	spoil(&bed, &op, wort_alloc_take(&op), 64);
	wort_alloc_untake(&op);
	wort_op_end(&op);
	for (b = 0; b < 62; b++)
		take_zero(&bed, 64);
	/* What the operation collects is not flushed here, and remembered. */
	space_begin(&bed, &op);
	op.gather = calloc(1, sizeof(*op.gather));
	wort_pm_flush(&op, (void __pmem *)at(&bed, a), 64);
	CHECK_EQ(wort_alloc_reserve_zero(&op, 48), 0);
	CHECK_EQ(op.pending, 1);
	CHECK_EQ(op.gather->nr, 1);
	wort_pm_fence(&op);
	free(op.gather);
	op.gather = NULL;
	wort_op_end(&op);
	bed_close(&bed);
}

/* Reclaim zeroes slots of one word of the bitmaps and not of another. */
void check_zero_words(void)
{
	u64 off[2 * BITS_PER_LONG];
	struct bed bed;
	u32 i;

	open_dirty(&bed);
	for (i = 0; i < ARRAY_SIZE(off); i++)
		off[i] = take_zero(&bed, 16);
	for (i = BITS_PER_LONG; i < ARRAY_SIZE(off); i++)
		CHECK_EQ(space_give(&bed, off[i], 16), 0);
	CHECK_EQ(reclaim(&bed), BITS_PER_LONG * 16 / WORT_LINE);
	CHECK_EQ(zero_lines(&bed, 16), 0);
	bed_close(&bed);
}

/* An operation that reserves objects as zero, writes some, and keeps these or none. */
static u64 write_zeroed(struct bed *bed, u32 type, u32 nr, u32 written, bool keeps)
{
	struct wort_op op;
	u32 i;

	CHECK_EQ(wort_index_enter(bed->index, &op, WORT_WRITE), 0);
	for (i = 0; i < nr; i++)
		CHECK_EQ(wort_alloc_reserve_zero(&op, 1000), 0);
	for (i = 0; i < written; i++)
		spoil(bed, &op, wort_alloc_take(&op), 1000);
	if (!keeps)
		wort_alloc_untake(&op);
	if (written)
		wort_pm_fence(&op);
	wort_index_exit(bed->index, &op, WORT_WRITE, type, 0);
	return op.reserved[0];
}

/* A reservation counts for its operation, reclaim for the pool. */
void check_zero_stats(void)
{
	struct wort_op_stats stats[WORT_OP_NR];
	struct bed bed;
	u64 off;

	open_dirty(&bed);
	off = write_zeroed(&bed, WORT_OP_UPDATE, 1, 1, true);
	write_zeroed(&bed, WORT_OP_DELETE, 3, 3, false);
	write_zeroed(&bed, WORT_OP_INSERT, 1, 0, false);
	wort_index_stats(bed.index, stats);
	/* The four slots of the extent; the object; the word of the extent. */
	CHECK_EQ(stats[WORT_OP_UPDATE].zero_lines, 64);
	CHECK_EQ(stats[WORT_OP_UPDATE].alloc_lines, 1);
	CHECK_EQ(stats[WORT_OP_UPDATE].lines, 64 + 16 + 1);
	/* The other three are zero already; then written; then zeroed again. */
	CHECK_EQ(stats[WORT_OP_DELETE].zero_lines, 0);
	CHECK_EQ(stats[WORT_OP_DELETE].lines, 48);
	CHECK_EQ(stats[WORT_OP_INSERT].zero_lines, 48);
	CHECK_EQ(stats[WORT_OP_INSERT].lines, 48);
	CHECK_EQ(bed.pm.pool->zero_lines, 0);
	CHECK_EQ(space_give(&bed, off, 1000), 0);
	wort_pool_kick(bed.pm.pool);
	pmpool_settle();
	CHECK_EQ(bed.pm.pool->zero_lines, 16);
	bed_close(&bed);
}

/* Operations that do not ask share the extents, and pay nothing. */
void check_zero_shared(void)
{
	static u64 off[2000];
	struct bed bed;
	u32 n = 0, i;
	u64 a;

	open_dirty(&bed);
	a = take_zero(&bed, 200);
	for (n = 0; n < 40; n++)
		off[n] = take(&bed, 200);
	CHECK_EQ(off[0] / EXTENT, a / EXTENT);
	for (i = 0; i < n; i += 2)
		CHECK_EQ(space_give(&bed, off[i], 200), 0);
	reclaim(&bed);
	space_drain(&bed);
	for (i = 0; i < 40; i++)
		take_zero(&bed, 200);
	/* An extent that became free serves others, and then zeroes again. */
	CHECK_EQ(space_give(&bed, a, 200), 0);
	bed_close(&bed);

	open_dirty(&bed);
	a = take_zero(&bed, 1000);
	CHECK_EQ(space_give(&bed, a, 1000), 0);
	reclaim(&bed);
	CHECK_EQ(take(&bed, 3000), a);
	CHECK_EQ(space_give(&bed, a, 3000), 0);
	reclaim(&bed);
	CHECK_EQ(take(&bed, 1000), a);
	CHECK(!is_tracked(&bed, a));
	bed_close(&bed);
}

/*
 * A slot that was reserved as zero is freed by a damaged record, and its extent serves another
 * size: who gives it back knows nothing of what is there now.
 */
void check_zero_untaken(void)
{
	u64 first, second, third, off;
	struct wort_op op;
	struct bed bed;

	open_dirty(&bed);
	first = take_zero(&bed, 1024);
	second = take_zero(&bed, 1024);
	space_begin(&bed, &op);
	CHECK_EQ(wort_alloc_reserve_zero(&op, 1024), 0);
	third = op.reserved[0];
	CHECK_EQ(space_give(&bed, first, 1024), 0);
	CHECK_EQ(space_give(&bed, second, 1024), 0);
	CHECK_EQ(space_give(&bed, third, 1024), 0);
	reclaim(&bed);
	memset(at(&bed, first), 0x5a, EXTENT);
	CHECK_EQ(take_zero(&bed, 16), first);
	wort_op_end(&op);
	for (off = first + 16; off <= third; off += 16)
		CHECK_EQ(take_zero(&bed, 16), off);
	bed_close(&bed);
}

/* What the walk finds unmarked may have been written before the power failed. */
void check_zero_walk(void)
{
	u8 value[200], found[200];
	u32 len, i, old = 0;
	struct bed bed;
	u64 off, first;
	u8 key[8];

	memset(value, 0x77, sizeof(value));
	open_dirty(&bed);
	for (i = 0; i < 64; i++) {
		key_u64(key, i << 16);
		CHECK_EQ(pm_put(bed.index, key, 8, value, sizeof(value)), 0);
	}
	for (i = 0; i < 64; i += 2) {
		key_u64(key, i << 16);
		CHECK_EQ(pm_del(bed.index, key, 8), 0);
	}
	pmpool_settle();
	first = le64_to_cpu(bed.pm.pool->sb.data_off);
	bed_detach(&bed);
	bed_attach(&bed);
	/* Not before the walk has ended. */
	off = take_zero(&bed, 224);
	CHECK_EQ(space_give(&bed, off, 224), 0);
	pmpool_settle();
	for (i = 0; i < 32; i++) {
		off = take_zero(&bed, 224);
		old += off < first + 16 * EXTENT;
	}
	CHECK_GE(old, 16);
	for (i = 1; i < 64; i += 2) {
		key_u64(key, i << 16);
		len = sizeof(found);
		CHECK_EQ(pm_get(bed.index, key, 8, found, &len), 0);
		CHECK(!memcmp(found, value, sizeof(value)));
	}
	bed_close(&bed);
}

/* A sequence whose objects are zero when it ends: these. */
static u32 reserve_some(struct bed *bed, struct wort_op *op, u32 how, u64 size)
{
	static u64 off[8];
	u32 i;

	switch (how) {
	case 0:		/* of a new extent */
		break;
	case 1:		/* of an extent that serves others */
		take(bed, size);
		space_drain(bed);
		break;
	default:	/* of what came back */
		for (i = 0; i < ARRAY_SIZE(off); i++)
			off[i] = take_zero(bed, size);
		for (i = 1; i < ARRAY_SIZE(off); i++)
			CHECK_EQ(space_give(bed, off[i], size), 0);
		reclaim(bed);
	}
	space_begin(bed, op);
	for (i = 0; i < WORT_RESERVE_MAX; i++)
		CHECK_EQ(wort_alloc_reserve_zero(op, size), 0);
	return op->nr_reserved;
}

/* The power fails when the objects were reserved, and nothing happened since. */
static void cut_after(u32 how, u64 size)
{
	struct wort_powercut_status status = { };
	u8 *image = malloc(SIZE);
	struct wort_op op;
	struct bed bed;
	u32 pass, seed, i;
	u64 events = 1ULL << 40;

	for (pass = 0; pass < 2; pass++) {
		open_dirty(&bed);
		CHECK_EQ(wort_powercut_arm(events), 0);
		wort_powercut_begin(&bed.pm.region);
		reserve_some(&bed, &op, how, size);
		wort_powercut_status(&status);
		CHECK_EQ(status.state, WORT_POWERCUT_RUNNING);
		events = status.events + 1;
		wort_pm_flush_now(&op, (void __pmem *)at(&bed, 0), 1);
		wort_powercut_end(&bed.pm.region);
		wort_powercut_status(&status);
		for (seed = 0; pass && seed < 6; seed++) {
			CHECK_EQ(status.state, WORT_POWERCUT_CUT);
			CHECK_EQ(wort_powercut_image(seed, image, SIZE, 0), SIZE);
			for (i = 0; i < op.nr_reserved; i++)
				CHECK(is_zero(image + op.reserved[i], size));
		}
		wort_op_end(&op);
		wort_powercut_disarm();
		bed_close(&bed);
	}
	free(image);
}

void check_zero_cut(void)
{
	u32 how, i;

	for (how = 0; how < 3; how++)
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			cut_after(how, sizes[i]);
}

/* The media at any event: what is served afterwards is zero, and the pool is whole. */
void check_zero_cut_anywhere(void)
{
	struct wort_powercut_status status;
	u64 event = 0, value = 42;
	u8 *image = malloc(SIZE);
	struct wort_op op;
	struct bed bed;
	u32 seed, len = 8;

	do {
		event += 3;
		for (seed = 0; seed < 2; seed++) {
			open_dirty(&bed);
			CHECK_EQ(pm_put(bed.index, "k", 1, &value, 8), 0);
			CHECK_EQ(wort_powercut_arm(event), 0);
			wort_powercut_begin(&bed.pm.region);
			reserve_some(&bed, &op, 2, 200);
			wort_op_end(&op);
			wort_powercut_end(&bed.pm.region);
			wort_powercut_status(&status);
			if (status.state == WORT_POWERCUT_CUT)
				CHECK_EQ(wort_powercut_image(seed, image, SIZE, 0),
					 SIZE);
			else
				memcpy(image, at(&bed, 0), SIZE);
			wort_powercut_disarm();
			bed_detach(&bed);
			memcpy(at(&bed, 0), image, SIZE);
			bed_attach(&bed);
			pmpool_settle();
			reserve_some(&bed, &op, 1, 200);
			wort_op_end(&op);
			CHECK_EQ(pm_get(bed.index, "k", 1, &value, &len), 0);
			CHECK_EQ(value, 42);
			bed_close(&bed);
		}
	} while (status.state == WORT_POWERCUT_CUT);
	CHECK_GE(event, 10);
	free(image);
}

static struct {
	u8 *page;
	const struct wort_alloc *alloc;
	u64 generation;		/* at the first store to the page */
	bool freeing;
} watched;

static void on_store(int sig, siginfo_t *info, void *context)
{
	u8 *page = (u8 *)((unsigned long)info->si_addr & ~4095UL);

	if (page != watched.page)
		signal(sig, SIG_DFL);
	watched.generation = watched.alloc->locks->control->generation;
	watched.freeing = wort_alloc_freeing(watched.alloc);
	mprotect(watched.page, 4096, PROT_READ | PROT_WRITE);
}

/* Zero something in the page of an object, and look on. */
static void watch(struct bed *bed, u64 off, u64 (*zero)(struct bed *bed))
{
	struct sigaction action = { .sa_flags = SA_SIGINFO }, before;

	action.sa_sigaction = on_store;
	watched.alloc = space_alloc(bed);
	watched.page = (u8 *)((unsigned long)at(bed, off) & ~4095UL);
	watched.generation = 0;
	sigaction(SIGSEGV, &action, &before);
	mprotect(watched.page, 4096, PROT_READ);
	CHECK(zero(bed));
	mprotect(watched.page, 4096, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &before, NULL);
}

static u64 zero_by_reserve(struct bed *bed)
{
	return zero_lines(bed, 200);
}

/*
 * Readers in a mapping are told before what they may read is zeroed.  What a reservation
 * zeroes will come back: operations that find no space meanwhile wait for it.
 */
void check_zero_mapped(void)
{
	struct bed bed;
	u64 generation, a;

	open_dirty(&bed);
	a = take(&bed, 200);
	space_drain(&bed);
	watch(&bed, a, zero_by_reserve);
	CHECK(watched.freeing);
	CHECK(!wort_alloc_freeing(space_alloc(&bed)));
	CHECK_EQ(space_give(&bed, take_zero(&bed, 200), 200), 0);
	generation = space_alloc(&bed)->locks->control->generation;
	watch(&bed, a, reclaim);
	CHECK_EQ(watched.generation, generation + 1);
	CHECK_EQ(zero_lines(&bed, 200), 0);
	bed_close(&bed);
}

static u64 grace_off;
static struct bed *grace_bed;

static void in_grace_period(void)
{
	CHECK(!is_zero(at(grace_bed, grace_off), 200));
}

/* Operations that have begun still read what was freed. */
void check_zero_grace(void)
{
	struct bed bed;

	open_dirty(&bed);
	take_zero(&bed, 200);
	grace_off = take_zero(&bed, 200);
	grace_bed = &bed;
	CHECK_EQ(space_give(&bed, grace_off, 200), 0);
	CHECK(!is_zero(at(&bed, grace_off), 200));
	shim_in_grace_period = in_grace_period;
	CHECK(reclaim(&bed));
	shim_in_grace_period = NULL;
	CHECK(is_zero(at(&bed, grace_off), 200));
	bed_close(&bed);
}

#define LIVE	300

/* Any mixture: whoever asks for zeroes gets them. */
void check_zero_random(void)
{
	u64 seed = unit_seed, off[LIVE], size[LIVE], r;
	struct wort_op op;
	struct bed bed;
	u32 step, n = 0, i;

	open_dirty(&bed);
	for (step = 0; step < 20000; step++) {
		r = test_random(&seed) >> 20;
		if (r % 100 < 50 && n < LIVE) {
			size[n] = sizes[r / 100 % 6];
			off[n] = r / 1000 % 2 ? take(&bed, size[n]) :
						take_zero(&bed, size[n]);
			n++;
		} else if (r % 100 < 60) {
			space_begin(&bed, &op);
			for (i = 0; i < WORT_RESERVE_MAX; i++) {
				r = test_random(&seed) >> 20;
				if (r % 2) {
					CHECK_EQ(wort_alloc_reserve(&op, 200), 0);
					continue;
				}
				CHECK_EQ(wort_alloc_reserve_zero(&op, 200), 0);
				CHECK(is_zero(at(&bed, op.reserved[i]), 200));
			}
			for (i = r / 2 % 5; i; i--)
				spoil(&bed, &op, wort_alloc_take(&op), 200);
			if (r / 16 % 2)
				wort_op_again(&op);
			else
				wort_alloc_untake(&op);
			wort_op_end(&op);
		} else if (n) {
			i = r / 100 % n--;
			CHECK_EQ(space_give(&bed, off[i], size[i]), 0);
			off[i] = off[n];
			size[i] = size[n];
		}
		if (r / 1000 % 16 == 0)
			reclaim(&bed);
	}
	while (n--)
		CHECK_EQ(space_give(&bed, off[n], size[n]), 0);
	reclaim(&bed);
	bed_check(&bed);
	bed_close(&bed);
}
