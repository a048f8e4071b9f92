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
 * word.  All else is lost, and the pool is attached again.
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
 *
 * Not modelled: runs, damage and media errors, keys that move in a tree,
 * operations that reserve more than one object.  So rule 5 takes what another
 * operation has reserved as used.  Neither operations nor power cuts are
 * counted: the states are finite without a bound.
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
typedef unsigned __int128 u128;

enum { FREE, UNKNOWN, OPENING, OPEN };

/*
 * CHANGED: a link was stored.  UNLINKED: and fenced, the old object is left.
 * STUCK: waits for space with the index locked, which only a mutant does.
 */
enum { IDLE, RESERVED, TAKEN, FENCED, CHANGED, UNLINKED, STUCK };

/* FAILED: no space, perhaps ENOSPC.  STALE: some was given back since then. */
enum { NOBODY, FAILED, STALE, WAITING };

enum { NO_GRACE, GRACE_RECLAIM, GRACE_WALK };

struct op {
	u8 phase;
	u8 word;	/* that it changes */
	u8 obj;	/* reserved; from CHANGED on the old one */
	u8 stored;	/* it has stored the word of the extent */
	u8 class;
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
	u8 waiter, waiter_class;
	struct op op[2];
};

/* In bits, to pack a state into 128. */
static const u8 width[sizeof(struct state)] = {
	2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 6,
	2, 2, 2, 2, 2, 2, 6, 6, 6, 1, 1, 2, 2, 2, 2, 1, 3, 3, 3, 2, 2,
	3, 3, 3, 1, 2, 3, 3, 3, 1, 2,
};

static const struct config {
	const char *name;
	u8 nr_keys[2];
	u8 nr_extents;
	u8 nr_slots[NR_EXTENTS];
	u8 reserve;
	u8 nr_classes;
	bool clear;	/* the word of an extent that is given back */
} configs[] = {
	{ "reserve", { 1, 1 }, 2, { 2, 2 }, 1, 1, true },
	{ "one class", { 2, 1 }, 2, { 2, 2 }, 0, 1, false },
	{ "two classes", { 1, 1 }, 2, { 2, 2 }, 0, 2, false },
	{ "three extents", { 1, 1 }, 3, { 2, 1, 1 }, 1, 1, true },
};

#define MUTANTS(m)							\
	m(HOLE_EARLY, "the walk ends when one index was walked")	\
	m(HOLE_UNKNOWN, "unknown extents are allocated from")		\
	m(WALK_UNLOCKED, "the walk does not take the lock of the index") \
	m(WALK_NO_GRACE, "the walk ends without a grace period")	\
	m(RESTART_ENTRY, "restart forgets entries of dying indexes")	\
	m(DYING_UNWALKED, "destroyed indexes are not walked")		\
	m(DYING_LEAKED, "destroyed indexes are not freed")		\
	m(FREE_AT_ONCE, "free during the walk gives back at once")	\
	m(FREE_FORGOTTEN, "free during the walk is not recorded")	\
	m(FREE_EARLY, "free before the unlink is durable")		\
	m(NO_GRACE_PERIOD, "reclaim does not wait for readers")		\
	m(ONE_BITMAP, "reclaim gives back what was freed meanwhile")	\
	m(ACK_EARLY, "acknowledged before the fence")			\
	m(NO_LEADING_FENCE, "link stored before the leading fence")	\
	m(WORD_ONCE, "second writer does not store the word again")	\
	m(OPEN_EARLY, "extent is open when its word was stored")	\
	m(WORD_LEFT, "word of a free extent is not cleared")		\
	m(RESERVE_IGNORED, "reserve is opened outside the walk")	\
	m(ENOSPC_WALK, "ENOSPC while the walk runs")			\
	m(ENOSPC_FREED, "ENOSPC while objects are being freed")		\
	m(ENOSPC_DYING, "ENOSPC while an index is dying")		\
	m(ENOSPC_STALE, "ENOSPC though space was just given back")	\
	m(WAIT_LOCKED, "waits for space with the index locked")		\
	m(WAIT_RESERVE, "waits for what is kept back")

#define MUTANT_ENUM(name, what)	name,
#define MUTANT_NAME(name, what)	{ #name, what },
enum { SOUND, MUTANTS(MUTANT_ENUM) NR_MUTANTS };
static const struct { const char *name, *what; } mutants[] = {
	{ "SOUND", "" }, MUTANTS(MUTANT_NAME)
};

static const struct config *cfg;
static int mutant;
static bool verbose;
static u8 nr_objects, nr_words;
static u8 first_obj[NR_EXTENTS], extent_of[8], first_key[2];

static u128 *states;
static u32 *parents, *table, nr_states, nr_alloced, table_mask, expanding;
static u64 nr_transitions;
static u32 nr_progress;
static bool progress;		/* what is emitted lets a waiter go on */
static const char *broken;	/* the rule that the step at hand breaks */
static const char *violation;

static char step_text[100];	/* that led to the violation or the goal */
static bool tracing;		/* look for the step to the goal, no more */
static u128 trace_goal;

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

static u128 pack(const struct state *s)
{
	const u8 *field = (const u8 *)s;
	u128 packed = 0;
	u32 i;

	for (i = 0; i < sizeof(*s); i++)
		packed = packed << width[i] | field[i];
	return packed;
}

static void unpack(u128 packed, struct state *s)
{
	u8 *field = (u8 *)s;
	u32 i;

	for (i = sizeof(*s); i-- > 0; packed >>= width[i])
		field[i] = packed & ((1 << width[i]) - 1);
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
		at = (u64)((states[i] ^ states[i] >> 61) *
			   0x9e3779b97f4a7c15ULL) >> 32;
		while (table[at & table_mask])
			at++;
		table[at & table_mask] = i + 1;
	}
}

/* Returns true if the state is new. */
static bool remember(u128 packed)
{
	u32 at = (u64)((packed ^ packed >> 61) * 0x9e3779b97f4a7c15ULL) >> 32;

	for (; table[at & table_mask]; at++)
		if (states[table[at & table_mask] - 1] == packed)
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
	bool is_new = false;
	va_list args;
	u128 packed;

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
	if (tracing ? packed != trace_goal : violation || !why)
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

static void hand_out(const struct state *old, u8 i, u8 word, u8 nr, u8 class)
{
	u8 obj = first_obj[nr], owned = linked(old), n;
	struct state s = *old;

	while (s.used & bit(obj))
		obj++;
	/* A dying index still has to free what its words refer to. */
	for (n = 0; n < nr_words; n++)
		owned |= bit(s.link[n]);
	owned |= bit(s.dying[0]) | bit(s.dying[1]);
	if (owned & bit(obj))
		broken = "1: handed out and owned";
	if (s.reader == obj)
		broken = "1: handed out beside a reader that holds it";
	if (s.extent[nr] == FREE) {
		if (!s.walking && nr_free(&s) <= cfg->reserve)
			broken = "7: reserve opened outside the walk";
		s.extent[nr] = OPENING;
		s.class[nr] = class;
	}
	s.used |= bit(obj);
	s.op[i] = (struct op){ RESERVED, word, obj, 0, class };
	emit(&s, "%c: reserve object %u for word %u", 'A' + i, obj, word);
}

static bool space_pending(const struct state *s)
{
	return (s->walking && mutant != ENOSPC_WALK) ||
	       ((s->dying[0] || s->dying[1]) && mutant != ENOSPC_DYING) ||
	       ((s->freed || s->waiting) && mutant != ENOSPC_FREED) ||
	       (mutant == WAIT_RESERVE && nr_free(s));
}

static void reserve(const struct state *old, u8 i, u8 word, u8 class)
{
	u8 keep = old->walking || mutant == RESERVE_IGNORED ? 0 : cfg->reserve;
	struct state s = *old;
	bool found = false;
	u8 nr;

	for (nr = 0; nr < cfg->nr_extents; nr++) {
		if (s.extent[nr] == FREE || s.class[nr] != class ||
		    !(slots_of(nr) & ~s.used))
			continue;
		if (s.extent[nr] == UNKNOWN && mutant != HOLE_UNKNOWN)
			continue;
		hand_out(old, i, word, nr, class);
		found = true;
	}
	if (found)
		return;
	for (nr = 0; nr_free(&s) > keep && nr < cfg->nr_extents; nr++)
		if (s.extent[nr] == FREE) {
			hand_out(old, i, word, nr, class);
			return;
		}
	if (mutant == WAIT_LOCKED && space_pending(&s)) {
		s.op[i].phase = STUCK;
		emit(&s, "%c: waits for space", 'A' + i);
	} else if (s.waiter == NOBODY) {
		s.waiter = FAILED;
		s.waiter_class = class;
		emit(&s, "%c: finds no space for word %u", 'A' + i, word);
	}
}

static bool has_space(const struct state *s, u8 class)
{
	u8 owned = linked(s), nr, nr_unowned = 0, i;

	for (i = 0; i < 2; i++)
		owned |= bit(s->op[i].obj);
	for (nr = 0; nr < cfg->nr_extents; nr++) {
		nr_unowned += !(owned & slots_of(nr));
		if (owned & slots_of(nr) && slots_of(nr) & ~owned &&
		    s->class[nr] == class)
			return true;
	}
	return nr_unowned > cfg->reserve;
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
		if (has_space(old, old->waiter_class))
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

	s.op[i] = (struct op){ CHANGED, word, s.link[word], 0, 0 };
	s.link[word] = 0;
	emit(&s, "%c: clear word %u", 'A' + i, word);
}

static void op_begin(const struct state *s, u8 i)
{
	u8 word, class, key = first_key[i];

	if (!s->link[i]) {
		if (!s->dying[i] && !pool_locked(s))
			reserve(s, i, i, 1);
		return;
	}
	if (!pool_locked(s))
		unlink_word(s, i, i);
	for (word = key; word < key + cfg->nr_keys[i]; word++) {
		for (class = 1; class <= cfg->nr_classes; class++)
			reserve(s, i, word, class);
		if (s->link[word])
			unlink_word(s, i, word);
	}
}

static void op_take(struct state *s, u8 i)
{
	struct op *op = &s->op[i];
	u8 nr = extent_of[op->obj];

	op->phase = TAKEN;
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
		*op = (struct op){ UNLINKED, word, op->obj, 0, 0 };
	emit(s, "%c: fence, word %u is durable", 'A' + i, word);
}

static void op_step(const struct state *old, u8 i)
{
	struct state s = *old;
	u8 obj = s.op[i].obj;

	switch (s.op[i].phase) {
	case RESERVED:
		op_take(&s, i);
		s = *old;
		s.op[i] = (struct op){ };
		give_back(&s, bit(obj));
		emit(&s, "%c: give object %u up", 'A' + i, obj);
		break;
	case TAKEN:
		op_fence(&s, i);
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
	s->grace_reader = s->reader != 0;
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

static void grace_end(struct state *s)
{
	u8 set = s->waiting;

	if (s->grace_reader && mutant != NO_GRACE_PERIOD)
		return;
	s->grace_reader = 0;
	if (s->grace == GRACE_WALK) {
		s->grace = NO_GRACE;
		walk_end(s);
		return;
	}
	s->grace = NO_GRACE;
	if (mutant == ONE_BITMAP) {
		set |= s->freed;
		s->freed = 0;
	}
	s->waiting = 0;
	give_back(s, set);
	emit(s, "reclaim gives back %#x", set);
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

static void crash(const struct state *old)
{
	u8 choices[NR_EXTENTS + NR_WORDS], n = 0, i;
	struct state s;
	u32 set;

	for (i = 0; i < NR_EXTENTS; i++)
		if (old->word[i] != old->dword[i])
			choices[n++] = i;
	for (i = 0; i < nr_words; i++)
		if (old->link[i] != old->dlink[i])
			choices[n++] = NR_EXTENTS + i;
	for (set = 0; set < 1U << n; set++) {
		s = *old;
		for (i = 0; i < n; i++) {
			u8 word = choices[i];

			if (!(set >> i & 1))
				continue;
			if (word < NR_EXTENTS)
				s.dword[word] = s.word[word];
			else
				s.dlink[word - NR_EXTENTS] =
					s.link[word - NR_EXTENTS];
		}
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
	u32 i;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		if (!explore(&configs[i]))
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
