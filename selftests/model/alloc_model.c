// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exhaustive exploration of the protocol of the allocator.
 *
 * Not the code but its protocol: which word is stored, flushed and fenced in
 * which order, and when an object may be handed out again.  Two indexes, A and
 * B, live in a pool of a few extents.  An index is owned by its catalogue word,
 * which refers to its entry, an object itself; each of its keys is a word that
 * refers to an object.  One operation at a time on each index, so two writers;
 * one reader; one task in the background; a power cut in every state.
 *
 * Media are words with a visible and a durable value.  They differ from the
 * store to the fence of whoever flushed; a power cut leaves either, for each
 * word.  All else is lost, and the pool is attached again.  Where objects are
 * asked for that are durably zero, the same holds for what is in each object:
 * zeroes or something else.
 *
 * Rules, in every state:
 *
 *  1	An object is not handed out, nor free, while a link to it is visible or
 *	in some crash state, nor handed out while a reader may hold it or before
 *	all that frees it has done so.
 *  2	What a link in any crash state refers to lies in an extent whose word is
 *	durable and says its class.
 *  3	What no operation is changing is the same in every crash state.
 *  4	With the walk ended and nothing under way, what is not owned is free.
 *  5	ENOSPC is answered only if nothing can be given back.
 *  6	While an operation waits for space, somebody else can go on.
 *  7	Extents are kept back for the next walk: they are opened while it runs
 *	only, and (where a word is cleared) free after a power cut as well.
 *  8	An object that is handed out as zero is so, in each crash state.
 *  9	Operations that make no room leave to those that do, which are deletes,
 *	the slots that are kept for them, or a free extent.
 * 10	What a reader in a mapping holds, for which no grace period waits, is
 *	neither zeroed nor handed out before it has been told.
 *
 * Not modelled: runs, damage and media errors, keys that move in a tree,
 * operations that reserve more than one object, parts of objects, reclaim while
 * the walk runs.  So rule 5 takes what another operation has reserved as used.
 * Neither operations nor power cuts are counted: the states are finite without
 * a bound.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_EXTENTS	3
#define NR_WORDS	5
#define MAX_STATES	(1U << 26)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

enum { FREE, UNKNOWN, OPENING, OPEN };

/*
 * CHANGED: a link was stored.  UNLINKED: and fenced, the old object is left.
 * STUCK: waits for space with the index locked, which only a mutant does.
 * ZEROING: its object was zeroed and is not handed out before a fence.
 */
enum { IDLE, RESERVED, TAKEN, FENCED, CHANGED, UNLINKED, STUCK, ZEROING };

/* FAILED: no space, perhaps ENOSPC.  STALE: some was given back since then. */
enum { NOBODY, FAILED, STALE, WAITING };

/* GRACE_OVER: the objects of reclaim were zeroed, and a fence is due. */
enum { NO_GRACE, GRACE_RECLAIM, GRACE_WALK, GRACE_OVER };

/* What an operation reserves: an object that is zero; to make room. */
enum { ZERO = 1, MUST = 2 };

struct op {
	u8 phase;
	u8 word;	/* that it changes */
	u8 obj;	/* reserved; from CHANGED on the old one */
	u8 stored;	/* it has stored the word of the extent */
	u8 class;
	u8 zero;	/* the object is durably zero */
};

/* Words 0 and 1 are the catalogue, the others keys.  Objects count from 1. */
struct state {
	u8 word[NR_EXTENTS], dword[NR_EXTENTS];
	u8 link[NR_WORDS], dlink[NR_WORDS];
	u8 big;		/* objects of class 2 */
	u8 extent[NR_EXTENTS], class[NR_EXTENTS];
	u8 used, freed, waiting;
	u8 walking, rewalk;
	u8 walked;	/* indexes */
	u8 cur, pos;	/* 1 + index, key */
	u8 grace, grace_reader;
	u8 reader;	/* object that it holds */
	u8 dying[2];	/* entry */
	u8 waiter, waiter_class, waiter_must;
	u8 content, dcontent;	/* objects that are not all zeroes */
	u8 tracked;	/* extents that keep dirty slots apart */
	u8 dirty;	/* objects there that are perhaps not durably zero */
	u8 zeroing;	/* objects that reclaim has zeroed */
	u8 told;	/* the generation has changed since the reader began */
	struct op op[2];
};

/* In bits, to pack a state into 192. */
static const u8 width[sizeof(struct state)] = {
	2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 6,
	2, 2, 2, 2, 2, 2, 6, 6, 6, 1, 1, 2, 2, 2, 2, 1, 3, 3, 3, 2, 2, 1,
	6, 6, 3, 6, 6, 1,
	3, 3, 3, 1, 2, 1, 3, 3, 3, 1, 2, 1,
};

struct packed {
	u64 word[3];
};

static const struct config {
	const char *name;
	u8 nr_keys[2];
	u8 nr_extents;
	u8 nr_slots[NR_EXTENTS];
	u8 reserve;
	u8 nr_classes;
	bool clear;	/* the word of an extent that is given back */
	u8 kept;	/* slots of class 1, for deletes that need space */
	bool zero;	/* A asks for zero objects; the reader is in a mapping */
} configs[] = {
#define KEPT_CONFIG	4
#define ZERO_CONFIG	5
	{ "reserve", { 1, 1 }, 2, { 2, 2 }, 1, 1, true, 0, false },
	{ "one class", { 2, 1 }, 2, { 2, 2 }, 0, 1, false, 0, false },
	{ "two classes", { 1, 1 }, 2, { 2, 2 }, 0, 2, false, 0, false },
	{ "three extents", { 1, 1 }, 3, { 2, 1, 1 }, 1, 1, true, 0, false },
	{ "kept for deletes", { 1, 1 }, 2, { 2, 2 }, 1, 2, true, .kept = 1 },
	{ "zero", { 1, 1 }, 2, { 2, 2 }, 0, 1, false, .zero = true },
};

/* The configuration that is tried first, since it is likely to catch it. */
#define MUTANTS(m)							\
	m(HOLE_EARLY, 0, "the walk ends when one index was walked")	\
	m(HOLE_UNKNOWN, 0, "unknown extents are allocated from")	\
	m(WALK_UNLOCKED, 0, "the walk does not take the lock of the index") \
	m(WALK_NO_GRACE, 0, "the walk ends without a grace period")	\
	m(RESTART_ENTRY, 0, "restart forgets entries of dying indexes")	\
	m(DYING_UNWALKED, 0, "destroyed indexes are not walked")	\
	m(DYING_LEAKED, 0, "destroyed indexes are not freed")		\
	m(FREE_AT_ONCE, 0, "free during the walk gives back at once")	\
	m(FREE_FORGOTTEN, 0, "free during the walk is not recorded")	\
	m(FREE_EARLY, 0, "free before the unlink is durable")		\
	m(NO_GRACE_PERIOD, 0, "reclaim does not wait for readers")	\
	m(ONE_BITMAP, 0, "reclaim gives back what was freed meanwhile")	\
	m(ACK_EARLY, 0, "acknowledged before the fence")		\
	m(NO_LEADING_FENCE, 0, "link stored before the leading fence")	\
	m(WORD_ONCE, 0, "second writer does not store the word again")	\
	m(OPEN_EARLY, 0, "extent is open when its word was stored")	\
	m(WORD_LEFT, 0, "word of a free extent is not cleared")		\
	m(RESERVE_IGNORED, 0, "reserve is opened outside the walk")	\
	m(ENOSPC_WALK, 0, "ENOSPC while the walk runs")			\
	m(ENOSPC_FREED, 0, "ENOSPC while objects are being freed")	\
	m(ENOSPC_DYING, 0, "ENOSPC while an index is dying")		\
	m(ENOSPC_STALE, 0, "ENOSPC though space was just given back")	\
	m(WAIT_LOCKED, 0, "waits for space with the index locked")	\
	m(WAIT_RESERVE, 0, "waits for what is kept back")		\
	m(KEPT_SLOTS, KEPT_CONFIG, "puts take slots that are kept for deletes") \
	m(KEPT_EXTENT, KEPT_CONFIG, "puts open the extent that is kept for deletes") \
	m(KEPT_WALK, KEPT_CONFIG, "nothing is kept for deletes while the walk runs") \
	m(DELETE_RESERVE, KEPT_CONFIG, "deletes open no extent of the walk's reserve") \
	m(ZERO_UNFENCED, ZERO_CONFIG, "zeroed for an operation, handed out before the fence") \
	m(OPENED_CLEAN, ZERO_CONFIG, "slots of an extent that is opened count as zero") \
	m(FOUND_CLEAN, ZERO_CONFIG, "free slots count as zero when zeroes are first asked for") \
	m(GIVEN_CLEAN, ZERO_CONFIG, "slots that are given back count as zero") \
	m(WRITTEN_CLEAN, ZERO_CONFIG, "a slot that was written and not linked counts as zero") \
	m(LATE_CLEAN, ZERO_CONFIG, "reclaim has zeroed what is tracked when it gives back") \
	m(RECLAIM_UNFENCED, ZERO_CONFIG, "reclaim does not fence its zeroes") \
	m(ZERO_UNTOLD, ZERO_CONFIG, "reclaim zeroes before readers in mappings are told") \
	m(REUSE_UNTOLD, ZERO_CONFIG, "reclaim does not tell readers in mappings") \
	m(WALK_UNTOLD, ZERO_CONFIG, "the end of the walk does not tell readers in mappings")

#define MUTANT_ENUM(name, config, what)	name,
#define MUTANT_ROW(name, config, what)	{ #name, config, what },
enum { SOUND, MUTANTS(MUTANT_ENUM) NR_MUTANTS };
static const struct {
	const char *name;
	u32 config;
	const char *what;
} mutants[] = {
	{ "SOUND", 0, "" }, MUTANTS(MUTANT_ROW)
};

static const struct config *cfg;
static int mutant;
static bool verbose;
static u8 nr_objects, nr_words;
static u8 first_obj[NR_EXTENTS], extent_of[8], first_key[2];

static struct packed *states;
static u32 *parents, *table, nr_states, nr_alloced, table_mask, expanding;
static u64 nr_transitions;
static u32 nr_progress;
static bool progress;		/* what is emitted lets a waiter go on */
static const char *broken;	/* the rule that the step at hand breaks */
static const char *violation;

static char step_text[100];	/* that led to the violation or the goal */
static bool tracing;		/* look for the step to the goal, no more */
static struct packed trace_goal;

static u8 bit(u8 obj)
{
	return obj ? 1 << (obj - 1) : 0;
}

static u8 slots_of(u8 nr)
{
	return ((1 << cfg->nr_slots[nr]) - 1) << (first_obj[nr] - 1);
}

static u8 owner_of(u8 word)
{
	return word < 2 ? word : word >= first_key[1];
}

static struct packed pack(const struct state *s)
{
	const u8 *field = (const u8 *)s;
	struct packed packed = { };
	u32 i, at = 0;

	for (i = 0; i < sizeof(*s); at += width[i++]) {
		packed.word[at / 64] |= (u64)field[i] << at % 64;
		if (at % 64 + width[i] > 64)
			packed.word[at / 64 + 1] |= field[i] >> (64 - at % 64);
	}
	return packed;
}

static void unpack(struct packed packed, struct state *s)
{
	u8 *field = (u8 *)s;
	u32 i, at = 0;
	u64 val;

	for (i = 0; i < sizeof(*s); at += width[i++]) {
		val = packed.word[at / 64] >> at % 64;
		if (at % 64 + width[i] > 64)
			val |= packed.word[at / 64 + 1] << (64 - at % 64);
		field[i] = val & ((1 << width[i]) - 1);
	}
}

static bool same(struct packed a, struct packed b)
{
	return a.word[0] == b.word[0] && a.word[1] == b.word[1] &&
	       a.word[2] == b.word[2];
}

static u32 hash(struct packed packed)
{
	u64 h = packed.word[0];

	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL ^ packed.word[1];
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL ^ packed.word[2];
	return (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL >> 32;
}

static void grow(void)
{
	u32 i, size = nr_alloced ? 2 * nr_alloced : 1 << 16, at;

	states = realloc(states, size * sizeof(*states));
	parents = realloc(parents, size * sizeof(*parents));
	free(table);
	table = calloc(2 * size, sizeof(*table));
	if (!states || !parents || !table || size > MAX_STATES) {
		fprintf(stderr, "more states than memory\n");
		exit(2);
	}
	nr_alloced = size;
	table_mask = 2 * size - 1;
	for (i = 0; i < nr_states; i++) {
		at = hash(states[i]);
		while (table[at & table_mask])
			at++;
		table[at & table_mask] = i + 1;
	}
}

/* Returns true if the state is new. */
static bool remember(struct packed packed)
{
	u32 at = hash(packed);

	for (; table[at & table_mask]; at++)
		if (same(states[table[at & table_mask] - 1], packed))
			return false;
	table[at & table_mask] = nr_states + 1;
	states[nr_states] = packed;
	parents[nr_states++] = expanding;
	if (nr_states == nr_alloced)
		grow();
	return true;
}

static bool reachable(const struct state *s, u8 word)
{
	return word < 2 || s->link[owner_of(word)] || s->dlink[owner_of(word)];
}

/* Objects that are linked now or in some crash state. */
static u8 linked(const struct state *s)
{
	u8 word, set = 0;

	for (word = 0; word < nr_words; word++)
		if (reachable(s, word))
			set |= bit(s->link[word]) | bit(s->dlink[word]);
	return set;
}

static bool changing(const struct state *s, u8 word)
{
	const struct op *op = &s->op[owner_of(word)];

	return op->word == word && op->phase == CHANGED;
}

static const char *check_link(const struct state *s, u8 obj)
{
	u8 nr = extent_of[obj], class = s->big & bit(obj) ? 2 : 1;

	if ((s->freed | s->waiting) & bit(obj) || s->extent[nr] == FREE ||
	    (s->extent[nr] != UNKNOWN && !(s->used & bit(obj))))
		return "1: what is linked is free";
	if (s->word[nr] != class || s->dword[nr] != class)
		return "2: linked object in an extent of another class";
	return NULL;
}

static const char *check_leaks(const struct state *s)
{
	u8 nr;

	if (s->walking || s->op[0].phase || s->op[1].phase || s->dying[0] ||
	    s->dying[1] || s->freed || s->waiting)
		return NULL;
	if (s->used != linked(s))
		return "4: leaked object";
	for (nr = 0; nr < cfg->nr_extents; nr++)
		if (s->extent[nr] != (s->used & slots_of(nr) ? OPEN : FREE))
			return "4: leaked extent";
	return NULL;
}

static const char *check(const struct state *s)
{
	const char *err = NULL;
	u8 word, nr, obj;

	for (word = 0; word < nr_words && !err; word++)
		if (s->link[word] != s->dlink[word] && !changing(s, word))
			return "3: acknowledged and not durable";
	for (obj = 1; obj <= nr_objects && !err; obj++)
		if (linked(s) & bit(obj))
			err = check_link(s, obj);
	for (nr = 0; nr < cfg->nr_extents && !err; nr++)
		if (cfg->clear && s->extent[nr] == FREE &&
		    (s->word[nr] || s->dword[nr]))
			err = "7: kept back, and not free after a power cut";
	return err ? err : check_leaks(s);
}

__attribute__((format(printf, 2, 3)))
static void emit(struct state *s, const char *fmt, ...)
{
	const char *why = broken;
	struct packed packed;
	bool is_new = false;
	va_list args;

	s->big &= linked(s);
	packed = pack(s);
	broken = NULL;
	if (!tracing) {
		nr_transitions++;
		nr_progress += progress;
		is_new = remember(packed);
	}
	if (is_new && !why)
		why = check(s);
	if (tracing ? !same(packed, trace_goal) : violation || !why)
		return;
	va_start(args, fmt);
	vsnprintf(step_text, sizeof(step_text), fmt, args);
	va_end(args);
	if (!tracing)
		violation = why;
}

/* Whoever saw no space before this has to look again. */
static void given_back(struct state *s)
{
	u8 i;

	if (s->waiter == FAILED)
		s->waiter = STALE;
	if (s->waiter == WAITING)
		s->waiter = NOBODY;
	for (i = 0; i < 2; i++)
		if (s->op[i].phase == STUCK)
			s->op[i] = (struct op){ };
}

/*
 * Where the word is cleared it is durably so before the extent counts as free:
 * one step, since a power cut within leaves what one before or after it does.
 */
static void extent_close(struct state *s, u8 nr)
{
	s->extent[nr] = FREE;
	s->class[nr] = 0;
	s->tracked &= ~(1 << nr);
	s->dirty &= ~slots_of(nr);
	if (cfg->clear && mutant != WORD_LEFT)
		s->word[nr] = s->dword[nr] = 0;
}

static void give_back(struct state *s, u8 set)
{
	u8 nr;

	s->used &= ~set;
	for (nr = 0; nr < cfg->nr_extents; nr++)
		if (s->extent[nr] != UNKNOWN && set & slots_of(nr) &&
		    !(s->used & slots_of(nr)))
			extent_close(s, nr);
	given_back(s);
}

static void free_obj(struct state *s, u8 obj)
{
	u8 nr = extent_of[obj];

	if (s->extent[nr] == UNKNOWN) {
		if ((s->used | s->freed) & slots_of(nr) &&
		    mutant != FREE_FORGOTTEN)
			s->freed |= bit(obj);
		return;
	}
	if (!(s->used & ~s->freed & ~s->waiting & bit(obj)))
		broken = "1: freed object is free already";
	s->freed |= bit(obj);
	if (mutant == FREE_AT_ONCE && s->walking) {
		s->freed &= ~bit(obj);
		give_back(s, bit(obj));
	}
}

static u8 nr_free(const struct state *s)
{
	u8 nr, n = 0;

	for (nr = 0; nr < cfg->nr_extents; nr++)
		n += s->extent[nr] == FREE;
	return n;
}

/* Slots of a class that may be handed out. */
static u8 nr_spare(const struct state *s, u8 class)
{
	u8 nr, n = 0;

	for (nr = 0; nr < cfg->nr_extents; nr++)
		if (s->class[nr] == class && s->extent[nr] != FREE &&
		    (s->extent[nr] != UNKNOWN || mutant == HOLE_UNKNOWN))
			n += __builtin_popcount(slots_of(nr) & ~s->used);
	return n;
}

/* Can a delete reserve all that is kept for it? */
static bool is_kept(const struct state *s)
{
	return nr_spare(s, 1) >= cfg->kept || nr_free(s);
}

/* The extent serves those who ask for zeroes, too. */
static void track(struct state *s, u8 nr, bool opened)
{
	bool clean = mutant == (opened ? OPENED_CLEAN : FOUND_CLEAN);

	if (s->tracked & 1 << nr)
		return;
	s->tracked |= 1 << nr;
	s->dirty |= slots_of(nr) & (clean ? s->used : 0xff);
}

/* The first free one, of those that are zero if there are any. */
static u8 pick(const struct state *s, u8 nr, u8 flags)
{
	u8 set = slots_of(nr) & ~s->used;

	if (flags & ZERO && set & ~s->dirty)
		set &= ~s->dirty;
	return __builtin_ctz(set) + 1;
}

static void verify_free(const struct state *s, u8 obj)
{
	u8 owned = linked(s), n;

	/* A dying index still has to free what its words refer to. */
	for (n = 0; n < nr_words; n++)
		owned |= bit(s->link[n]);
	owned |= bit(s->dying[0]) | bit(s->dying[1]);
	if (owned & bit(obj))
		broken = "1: handed out and owned";
	if (s->reader == obj && !cfg->zero)
		broken = "1: handed out beside a reader that holds it";
	if (s->reader == obj && cfg->zero && !s->told)
		broken = "10: handed out beside a reader that was not told";
}

static void verify_zero(const struct state *s, u8 obj)
{
	if ((s->content | s->dcontent) & bit(obj))
		broken = "8: handed out as zero, and is not";
}

static void hand_out(const struct state *old, u8 i, u8 word, u8 nr, u8 class,
		     u8 flags)
{
	struct state s = *old;
	bool kept = is_kept(&s), opened = s.extent[nr] == FREE;
	u8 obj;

	if (opened) {
		if (!s.walking && nr_free(&s) <= cfg->reserve && !(flags & MUST))
			broken = "7: reserve opened outside the walk";
		s.extent[nr] = OPENING;
		s.class[nr] = class;
	}
	if (flags & ZERO)
		track(&s, nr, opened);
	obj = pick(&s, nr, flags);
	verify_free(&s, obj);
	s.used |= bit(obj);
	s.op[i] = (struct op){ RESERVED, word, obj, 0, class, !!(flags & ZERO) };
	if (flags & ZERO && s.dirty & bit(obj)) {
		s.content &= ~bit(obj);
		if (mutant != ZERO_UNFENCED)
			s.op[i].phase = ZEROING;
	}
	if (s.tracked & 1 << nr)
		s.dirty |= bit(obj);
	if (flags & ZERO && s.op[i].phase == RESERVED)
		verify_zero(&s, obj);
	if (!(flags & MUST) && !is_kept(&s) && (kept || class == 1))
		broken = "9: what is kept for deletes is taken";
	emit(&s, "%c: reserve object %u for word %u%s%s", 'A' + i, obj, word,
	     s.op[i].phase == ZEROING ? ", zeroed" : "",
	     flags & MUST ? ", to make room" : "");
}

static bool space_pending(const struct state *s)
{
	return (s->walking && mutant != ENOSPC_WALK) ||
	       ((s->dying[0] || s->dying[1]) && mutant != ENOSPC_DYING) ||
	       ((s->freed || s->waiting) && mutant != ENOSPC_FREED) ||
	       (mutant == WAIT_RESERVE && nr_free(s));
}

/* May a free slot of an open extent be taken? */
static bool may_take(const struct state *s, u8 class, u8 flags)
{
	u8 kept = class == 1 && !(flags & MUST) ? cfg->kept : 0;

	if (mutant == KEPT_SLOTS || (mutant == KEPT_WALK && s->walking))
		kept = 0;
	return nr_spare(s, class) > kept;
}

/* Free extents that are left alone. */
static u8 extents_to_leave(const struct state *s, u8 class, u8 flags)
{
	u8 n = s->walking || mutant == RESERVE_IGNORED ? 0 : cfg->reserve;

	if (flags & MUST)
		return mutant == DELETE_RESERVE ? n : 0;
	if (mutant == KEPT_EXTENT || (mutant == KEPT_WALK && s->walking))
		return n;
	return n + (class != 1 && nr_spare(s, 1) < cfg->kept);
}

static void find_no_space(const struct state *old, u8 i, u8 word, u8 class,
			  u8 flags)
{
	struct state s = *old;

	if (mutant == WAIT_LOCKED && space_pending(&s)) {
		s.op[i].phase = STUCK;
		emit(&s, "%c: waits for space", 'A' + i);
	} else if (s.waiter == NOBODY) {
		s.waiter = FAILED;
		s.waiter_class = class;
		s.waiter_must = !!(flags & MUST);
		emit(&s, "%c: finds no space for word %u", 'A' + i, word);
	}
}

static void reserve(const struct state *s, u8 i, u8 word, u8 class, u8 flags)
{
	u8 leave = extents_to_leave(s, class, flags), nr;
	bool found = false;

	for (nr = 0; may_take(s, class, flags) && nr < cfg->nr_extents; nr++) {
		if (s->extent[nr] == FREE || s->class[nr] != class ||
		    !(slots_of(nr) & ~s->used))
			continue;
		if (s->extent[nr] == UNKNOWN && mutant != HOLE_UNKNOWN)
			continue;
		hand_out(s, i, word, nr, class, flags);
		found = true;
	}
	if (found)
		return;
	for (nr = 0; nr_free(s) > leave && nr < cfg->nr_extents; nr++)
		if (s->extent[nr] == FREE) {
			hand_out(s, i, word, nr, class, flags);
			return;
		}
	find_no_space(s, i, word, class, flags);
}

/* Is there space, for an operation that makes room or for another one? */
static bool has_space(const struct state *s, u8 class, bool must)
{
	u8 owned = linked(s), nr, nr_unowned = 0, nr_slots[3] = { }, i;
	u8 kept = must ? 0 : cfg->kept;

	for (i = 0; i < 2; i++)
		owned |= bit(s->op[i].obj);
	for (nr = 0; nr < cfg->nr_extents; nr++) {
		nr_unowned += !(owned & slots_of(nr));
		if (owned & slots_of(nr))
			nr_slots[s->class[nr]] +=
				__builtin_popcount(slots_of(nr) & ~owned);
	}
	if (nr_slots[class] > (class == 1 ? kept : 0))
		return true;
	if (must)
		return nr_unowned;
	return nr_unowned > cfg->reserve + (class != 1 && nr_slots[1] < kept);
}

static void waiter_decides(const struct state *old)
{
	struct state s = *old;

	s.waiter = NOBODY;
	if (old->waiter == STALE && mutant != ENOSPC_STALE) {
		emit(&s, "looks for space again");
	} else if (old->waiter != WAITING && space_pending(old)) {
		s.waiter = WAITING;
		emit(&s, "waits for space");
	} else if (old->waiter != WAITING) {
		if (has_space(old, old->waiter_class, old->waiter_must))
			broken = "5: ENOSPC while there is space";
		emit(&s, "ENOSPC");
	}
}

/* The pool is locked by create and destroy. */
static bool pool_locked(const struct state *s)
{
	u8 i;

	for (i = 0; i < 2; i++)
		if (s->op[i].phase && s->op[i].phase != STUCK &&
		    s->op[i].word < 2)
			return true;
	return false;
}

static void unlink_word(const struct state *old, u8 i, u8 word)
{
	struct state s = *old;

	s.op[i] = (struct op){ .phase = CHANGED, .word = word, .obj = s.link[word] };
	s.link[word] = 0;
	emit(&s, "%c: clear word %u", 'A' + i, word);
}

static void op_begin(const struct state *s, u8 i)
{
	u8 word, class, key = first_key[i];

	if (!s->link[i]) {
		if (!s->dying[i] && !pool_locked(s))
			reserve(s, i, i, 1, 0);
		return;
	}
	if (!pool_locked(s))
		unlink_word(s, i, i);
	for (word = key; word < key + cfg->nr_keys[i]; word++) {
		for (class = 1; class <= cfg->nr_classes; class++)
			reserve(s, i, word, class, cfg->zero && !i ? ZERO : 0);
		if (s->link[word] && cfg->kept)
			reserve(s, i, word, 1, MUST);
		if (s->link[word])
			unlink_word(s, i, word);
	}
}

static void op_take(struct state *s, u8 i)
{
	struct op *op = &s->op[i];
	u8 nr = extent_of[op->obj];

	op->phase = TAKEN;
	op->zero = 0;
	if (cfg->zero)
		s->content |= bit(op->obj);
	if (s->extent[nr] == OPENING &&
	    (mutant != WORD_ONCE || s->word[nr] != op->class)) {
		s->word[nr] = op->class;
		op->stored = 1;
		if (mutant == OPEN_EARLY)
			s->extent[nr] = OPEN;
	}
	emit(s, "%c: take object %u, word of extent %u %s", 'A' + i, op->obj,
	     nr, op->stored ? "stored" : "not stored");
}

static void op_fence(struct state *s, u8 i)
{
	struct op *op = &s->op[i];
	u8 nr = extent_of[op->obj];

	op->phase = FENCED;
	if (op->stored && mutant != NO_LEADING_FENCE)
		s->dword[nr] = s->word[nr];
	op->stored = 0;
	s->dcontent |= s->content & bit(op->obj);
	emit(s, "%c: leading fence", 'A' + i);
}

static void op_link(struct state *s, u8 i)
{
	struct op *op = &s->op[i];
	u8 obj = op->obj;

	op->phase = CHANGED;
	op->obj = s->link[op->word];
	s->link[op->word] = obj;
	if (op->class == 2)
		s->big |= bit(obj);
	if (op->word < 2)
		s->walked |= s->walking << op->word;
	emit(s, "%c: word %u := object %u", 'A' + i, op->word, obj);
}

/* The fence after the change, and the end of the reservation. */
static void op_publish(struct state *s, u8 i)
{
	struct op *op = &s->op[i];
	u8 obj = s->link[op->word], word = op->word;

	if (mutant == FREE_EARLY && op->obj && word >= 2) {
		free_obj(s, op->obj);
		op->obj = 0;
		emit(s, "%c: free the old object", 'A' + i);
		return;
	}
	if (mutant != ACK_EARLY)
		s->dlink[word] = obj;
	if (obj && s->extent[extent_of[obj]] == OPENING)
		s->extent[extent_of[obj]] = OPEN;
	if (word < 2 && !obj)
		s->dying[word] = op->obj;
	if (word < 2 || !op->obj)
		*op = (struct op){ };
	else
		*op = (struct op){ .phase = UNLINKED, .word = word, .obj = op->obj };
	emit(s, "%c: fence, word %u is durable", 'A' + i, word);
}

static void op_zeroed(struct state *s, u8 i)
{
	u8 obj = s->op[i].obj;

	s->dcontent &= ~bit(obj);
	s->op[i].phase = RESERVED;
	verify_zero(s, obj);
	emit(s, "%c: fence, object %u is zero", 'A' + i, obj);
}

/* What it has reserved goes back; it is zero if it was so and was not written. */
static void op_give_up(const struct state *old, u8 i)
{
	struct state s = *old;
	u8 obj = s.op[i].obj;

	if (s.op[i].zero || mutant == WRITTEN_CLEAN)
		s.dirty &= ~bit(obj);
	s.op[i] = (struct op){ };
	give_back(&s, bit(obj));
	emit(&s, "%c: give object %u up", 'A' + i, obj);
}

static void op_step(const struct state *old, u8 i)
{
	struct state s = *old;
	u8 obj = s.op[i].obj;

	switch (s.op[i].phase) {
	case ZEROING:
		op_zeroed(&s, i);
		break;
	case RESERVED:
		op_take(&s, i);
		op_give_up(old, i);
		break;
	case TAKEN:
		op_fence(&s, i);
		if (cfg->zero)
			op_give_up(old, i);
		break;
	case FENCED:
		op_link(&s, i);
		break;
	case CHANGED:
		op_publish(&s, i);
		break;
	case UNLINKED:
		s.op[i] = (struct op){ };
		free_obj(&s, obj);
		emit(&s, "%c: free object %u", 'A' + i, obj);
		break;
	}
}

static void mark(struct state *s, u8 obj)
{
	if (obj && s->extent[extent_of[obj]] != UNKNOWN &&
	    !(s->used & bit(obj)))
		broken = "1: marked object is free";
	s->used |= bit(obj);
}

/* Readers in mappings see that the generation has changed, and begin again. */
static void tell(struct state *s)
{
	s->told = cfg->zero && s->reader;
}

static void walk_end(struct state *s)
{
	u8 nr;

	for (nr = 0; nr < cfg->nr_extents; nr++) {
		if (s->extent[nr] != UNKNOWN)
			continue;
		s->freed &= ~slots_of(nr) | s->used;
		s->extent[nr] = OPEN;
		if (!(s->used & slots_of(nr)))
			extent_close(s, nr);
	}
	s->walking = 0;
	s->walked = 0;
	if (mutant != WALK_UNTOLD)
		tell(s);
	given_back(s);
	emit(s, "walk: end");
}

static void walk_step(const struct state *old)
{
	struct state s = *old;
	u8 i = s.cur - 1, word = first_key[i] + s.pos;

	if (s.op[i].phase && mutant != WALK_UNLOCKED)
		return;
	s.rewalk = 1;
	s.cur = s.pos = 0;
	emit(&s, "walk: out of memory in %c", 'A' + i);
	s = *old;
	if (s.pos < cfg->nr_keys[i]) {
		s.pos++;
		mark(&s, s.link[word]);
		emit(&s, "walk: mark object %u of word %u", s.link[word], word);
	} else {
		s.walked |= 1 << i;
		s.cur = s.pos = 0;
		emit(&s, "walk: %c has been walked", 'A' + i);
	}
}

static void walk_restart(struct state *s)
{
	u8 nr, i;

	for (nr = 0; nr < cfg->nr_extents; nr++)
		if (s->extent[nr] == UNKNOWN)
			s->used &= ~slots_of(nr);
	s->rewalk = 0;
	s->walked = 0;
	for (i = 0; i < 2; i++) {
		mark(s, s->link[i]);
		if (mutant != RESTART_ENTRY)
			mark(s, s->dying[i]);
	}
	emit(s, "walk: restart");
}

static bool walk_next(const struct state *old)
{
	struct state s = *old;
	u8 i, dying;

	if (mutant == HOLE_EARLY && s.walked)
		return false;
	for (dying = 0; dying < 2; dying++)
		for (i = 0; i < 2; i++)
			if (!(s.walked >> i & 1) &&
			    (!dying ? s.link[i] : s.dying[i]) &&
			    (!dying || mutant != DYING_UNWALKED)) {
				s.cur = i + 1;
				emit(&s, "walk: begin %c", 'A' + i);
				return true;
			}
	return false;
}

static void grace_begin(struct state *s, u8 what)
{
	s->grace = what;
	s->grace_reader = s->reader && !cfg->zero;
	emit(s, "grace period begins");
}

static void walk(const struct state *old)
{
	struct state s = *old;

	if (s.cur)
		walk_step(old);
	else if (pool_locked(old))
		return;
	else if (s.rewalk)
		walk_restart(&s);
	else if (walk_next(old))
		return;
	else if (mutant == WALK_NO_GRACE)
		walk_end(&s);
	else
		grace_begin(&s, GRACE_WALK);
}

static u8 tracked_slots(const struct state *s)
{
	u8 nr, set = 0;

	for (nr = 0; nr < cfg->nr_extents; nr++)
		if (s->tracked & 1 << nr)
			set |= slots_of(nr);
	return set;
}

/* What goes back to extents that are tracked is zeroed, and then fenced. */
static void reclaim_zero(struct state *s)
{
	s->zeroing = s->waiting & tracked_slots(s);
	s->content &= ~s->zeroing;
	if (s->zeroing & bit(s->reader) && !s->told)
		broken = "10: zeroed beside a reader that was not told";
	s->grace = GRACE_OVER;
	emit(s, "reclaim zeroes %#x", s->zeroing);
}

static void reclaim_end(struct state *s)
{
	u8 set = s->waiting;

	s->grace = NO_GRACE;
	if (mutant == ONE_BITMAP) {
		set |= s->freed;
		s->freed = 0;
	}
	if (mutant != RECLAIM_UNFENCED)
		s->dcontent &= ~s->zeroing;
	if (mutant == LATE_CLEAN)
		s->zeroing = s->waiting & tracked_slots(s);
	s->dirty &= ~(mutant == GIVEN_CLEAN ? set : s->zeroing);
	s->zeroing = 0;
	s->waiting = 0;
	if (mutant == ZERO_UNTOLD)
		tell(s);
	give_back(s, set);
	emit(s, "reclaim gives back %#x", set);
}

static void grace_end(struct state *s)
{
	if (s->grace == GRACE_OVER) {
		reclaim_end(s);
		return;
	}
	if (s->grace_reader && mutant != NO_GRACE_PERIOD)
		return;
	s->grace_reader = 0;
	if (s->grace == GRACE_WALK) {
		s->grace = NO_GRACE;
		walk_end(s);
		return;
	}
	if (mutant != ZERO_UNTOLD && mutant != REUSE_UNTOLD)
		tell(s);
	if (cfg->zero && mutant != GIVEN_CLEAN)
		reclaim_zero(s);
	else
		reclaim_end(s);
}

static void free_dying(const struct state *old, u8 i)
{
	struct state s = *old;
	u8 n, obj = s.dying[i];

	for (n = first_key[i]; n < first_key[i] + cfg->nr_keys[i]; n++)
		if (s.link[n] && obj == s.dying[i]) {
			obj = s.link[n];
			s.link[n] = s.dlink[n] = 0;
		}
	if (obj == s.dying[i])
		s.dying[i] = 0;
	if (mutant != DYING_LEAKED)
		free_obj(&s, obj);
	emit(&s, "free object %u of dying %c", obj, 'A' + i);
}

static void background(const struct state *old)
{
	struct state s = *old;
	u8 i;

	if (s.grace) {
		grace_end(&s);
		return;
	}
	if (s.walking)
		walk(old);
	for (i = 0; i < 2; i++)
		if (s.dying[i] && !pool_locked(old) && !s.walking)
			free_dying(old, i);
	if (!s.walking && s.freed) {
		s.waiting = s.freed;
		s.freed = 0;
		grace_begin(&s, GRACE_RECLAIM);
	}
}

static void reader_enters(const struct state *old)
{
	struct state s = *old;
	u8 word;

	for (word = 0; word < nr_words; word++)
		if (old->link[word] && old->link[owner_of(word)]) {
			s.reader = old->link[word];
			emit(&s, "reader finds object %u", s.reader);
		}
}

static void reader_leaves(struct state *s)
{
	s->reader = 0;
	s->told = 0;
	s->grace_reader = 0;
	emit(s, "reader leaves");
}

/* What media say, and nothing else. */
static void attach(struct state *s)
{
	struct state media = *s;
	u8 nr, word;

	memset(s, 0, sizeof(*s));
	s->big = media.big;
	s->content = s->dcontent = media.dcontent;
	s->walking = 1;
	for (nr = 0; nr < cfg->nr_extents; nr++) {
		s->word[nr] = s->dword[nr] = s->class[nr] = media.dword[nr];
		s->extent[nr] = media.dword[nr] ? UNKNOWN : FREE;
	}
	for (word = 0; word < nr_words; word++)
		if (media.dlink[owner_of(word)])
			s->link[word] = s->dlink[word] = media.dlink[word];
	mark(s, s->link[0]);
	mark(s, s->link[1]);
}

/* Words of extents, links, and objects that are stored and not durable. */
static u8 pending(const struct state *s, u8 *choices)
{
	u8 n = 0, i;

	for (i = 0; i < NR_EXTENTS; i++)
		if (s->word[i] != s->dword[i])
			choices[n++] = i;
	for (i = 0; i < nr_words; i++)
		if (s->link[i] != s->dlink[i])
			choices[n++] = NR_EXTENTS + i;
	for (i = 0; i < nr_objects; i++)
		if ((s->content ^ s->dcontent) >> i & 1)
			choices[n++] = NR_EXTENTS + NR_WORDS + i;
	return n;
}

static void settle(struct state *s, u8 choice)
{
	u8 obj;

	if (choice < NR_EXTENTS) {
		s->dword[choice] = s->word[choice];
	} else if (choice < NR_EXTENTS + NR_WORDS) {
		s->dlink[choice - NR_EXTENTS] = s->link[choice - NR_EXTENTS];
	} else {
		obj = choice - NR_EXTENTS - NR_WORDS + 1;
		s->dcontent = (s->dcontent & ~bit(obj)) | (s->content & bit(obj));
	}
}

static void crash(const struct state *old)
{
	u8 choices[NR_EXTENTS + NR_WORDS + 8], n = pending(old, choices), i;
	struct state s;
	u32 set;

	for (set = 0; set < 1U << n; set++) {
		s = *old;
		for (i = 0; i < n; i++)
			if (set >> i & 1)
				settle(&s, choices[i]);
		attach(&s);
		emit(&s, "power cut: %#x of %u words durable", set, n);
	}
}

static void expand(const struct state *old)
{
	struct state s = *old;
	u8 i;

	nr_progress = 0;
	progress = true;
	for (i = 0; i < 2; i++)
		op_step(old, i);
	background(old);
	if (old->waiter)
		waiter_decides(old);
	if (old->reader)
		reader_leaves(&s);
	progress = false;
	if (!tracing && !nr_progress && !violation &&
	    (old->waiter == WAITING || old->op[0].phase == STUCK ||
	     old->op[1].phase == STUCK)) {
		violation = "6: waits, and nobody goes on";
		strcpy(step_text, "nothing");
		return;
	}
	for (i = 0; i < 2; i++)
		if (!old->op[i].phase)
			op_begin(old, i);
	if (!old->reader)
		reader_enters(old);
	crash(old);
}

static void print_trace(u32 at)
{
	struct state s;

	if (at) {
		print_trace(parents[at]);
		unpack(states[parents[at]], &s);
		trace_goal = states[at];
		expand(&s);
		printf("  %s\n", step_text);
	}
}

static void print_violation(void)
{
	char last[sizeof(step_text)];

	memcpy(last, step_text, sizeof(last));
	tracing = true;
	printf("%s, rule %s:\n", cfg->name, violation);
	print_trace(expanding);
	printf("  %s\n", last);
	tracing = false;
}

static void set_up(const struct config *config)
{
	u8 nr, i;

	cfg = config;
	nr_objects = 0;
	for (nr = 0; nr < cfg->nr_extents; nr++) {
		first_obj[nr] = nr_objects + 1;
		for (i = 0; i < cfg->nr_slots[nr]; i++)
			extent_of[++nr_objects] = nr;
	}
	first_key[0] = 2;
	first_key[1] = 2 + cfg->nr_keys[0];
	nr_words = first_key[1] + cfg->nr_keys[1];
	nr_states = nr_alloced = 0;
	nr_transitions = 0;
	violation = broken = NULL;
	grow();
}

/* Breadth first, so the trace of a violation is the shortest. */
static bool explore(const struct config *config)
{
	u32 depth = 0, level_end = 1;
	struct state s = { };

	set_up(config);
	attach(&s);
	expanding = 0;
	remember(pack(&s));
	for (; expanding < nr_states && !violation; expanding++) {
		if (expanding == level_end) {
			level_end = nr_states;
			depth++;
		}
		unpack(states[expanding], &s);
		expand(&s);
		if (violation)
			break;
	}
	if (violation && verbose)
		print_violation();
	if (!violation && verbose)
		printf("%s: %u states, %llu transitions, depth %u\n",
		       cfg->name, nr_states, (unsigned long long)nr_transitions,
		       depth);
	return !violation;
}

static bool explore_all(u64 *total)
{
	u32 i, first = mutants[mutant].config;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		if (!explore(&configs[(first + i) % ARRAY_SIZE(configs)]))
			return false;
		*total += nr_states;
	}
	return true;
}

static int self_test(void)
{
	u32 nr_caught = 0;
	u64 total = 0, ignored;
	bool sound;

	verbose = true;
	sound = explore_all(&total);
	verbose = false;
	for (mutant = SOUND + 1; mutant < NR_MUTANTS; mutant++) {
		ignored = 0;
		if (explore_all(&ignored)) {
			printf("%-16s NOT CAUGHT: %s\n", mutants[mutant].name,
			       mutants[mutant].what);
			continue;
		}
		nr_caught++;
		printf("%-16s caught by rule %s\n", mutants[mutant].name,
		       violation);
	}
	printf("%llu states, %u violations; %u of %u mutants caught\n",
	       (unsigned long long)total, !sound, nr_caught, NR_MUTANTS - 1);
	return !sound || nr_caught != NR_MUTANTS - 1;
}

static int find_mutant(const char *name)
{
	int i;

	for (i = 1; i < NR_MUTANTS; i++)
		if (!strcmp(mutants[i].name, name))
			return i;
	fprintf(stderr, "no mutant %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	u64 total = 0;
	bool sound;
	int i;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 1; i < NR_MUTANTS; i++)
			printf("%-16s %s\n", mutants[i].name, mutants[i].what);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--self-test"))
		return self_test();
	if (argc == 3 && !strcmp(argv[1], "--mutant")) {
		mutant = find_mutant(argv[2]);
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s %s\n", argv[0],
			"[--list | --self-test | --mutant NAME]");
		return 2;
	}
	verbose = true;
	sound = explore_all(&total);
	if (sound)
		printf("%llu states, 0 violations\n",
		       (unsigned long long)total);
	return !sound != (mutant != SOUND);
}
