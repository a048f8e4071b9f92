// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#include "trace.h"

#define noinline __attribute__((noinline))

/* Traced memories lie side by side, so that one comparison finds them. */
static struct tracer *tracers[NR_TRACERS];
static unsigned int nr_tracers;
static uintptr_t traced_base;

/* A plain store is announced before it is made: its value is read later. */
static struct {
	struct tracer *t;
	uint32_t first, last, thread;
	void *site;
} unresolved;

static void *need(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

void tracer_init(struct tracer *t, uint8_t *mem)
{
	memset(t, 0, sizeof(*t));
	t->mem = mem;
	t->events = need(MAX_EVENTS * sizeof(*t->events));
	t->last_store = need(IMAGE_WORDS * sizeof(*t->last_store));
	t->order = need(MAX_EVENTS * sizeof(*t->order));
	for (uint32_t i = 0; i <= SCHED_THREADS; i++)
		t->flushed_at[i] = need(IMAGE_LINES * sizeof(**t->flushed_at));
	t->read_stamp = need(IMAGE_WORDS * sizeof(*t->read_stamp));
	t->unit_stamp = need(IMAGE_WORDS * sizeof(*t->unit_stamp));
	t->unit_taken = need(IMAGE_WORDS * sizeof(*t->unit_taken));
	t->write_stamp = need(IMAGE_WORDS * sizeof(*t->write_stamp));
	t->unit_pending = need(IMAGE_WORDS * sizeof(*t->unit_pending));
	t->undo = need(IMAGE_WORDS * sizeof(*t->undo));
	t->touches = need(IMAGE_WORDS * sizeof(*t->touches));
	t->hash_at = need((IMAGE_WORDS / TOUCHES + 1) * sizeof(*t->hash_at));
	t->settled = need(IMAGE_WORDS * sizeof(*t->settled));
	t->over_stamp = need(IMAGE_WORDS * sizeof(*t->over_stamp));
	t->over = need(IMAGE_WORDS * sizeof(*t->over));
	if (!nr_tracers)
		traced_base = (uintptr_t)mem;
	tracers[nr_tracers++] = t;
}

static inline bool is_traced(const void *addr)
{
	return (uintptr_t)addr - traced_base < NR_TRACERS * IMAGE_SIZE;
}

static inline struct tracer *find(const void *addr)
{
	return is_traced(addr) ?
	       tracers[((uintptr_t)addr - traced_base) / IMAGE_SIZE] : NULL;
}

static uint64_t word_at(const uint8_t *image, uint32_t word)
{
	uint64_t val;

	memcpy(&val, image + 8ul * word, 8);
	return val;
}

static void set_word(uint8_t *image, uint32_t word, uint64_t val)
{
	memcpy(image + 8ul * word, &val, 8);
}

/*
 * High bits reach low ones before the first product: otherwise words that differ in their
 * highest bits only would have hashes with few differences, whose sums meet.
 */
static uint64_t mix(uint64_t val)
{
	val = (val ^ val >> 32) * 0x9e3779b97f4a7c15ull;
	val = (val ^ val >> 29) * 0xbf58476d1ce4e5b9ull;
	return val ^ val >> 32;
}

static uint64_t word_hash(uint32_t word, uint64_t val)
{
	return mix(val ^ mix(word + 1));
}

uint64_t tracer_hash(const uint8_t *image)
{
	uint64_t hash = 0;

	for (uint32_t w = 0; w < IMAGE_WORDS; w++)
		hash += word_hash(w, word_at(image, w));
	return hash;
}

static uint64_t part_of(uint32_t word)
{
	return 1ull << word / (IMAGE_WORDS / IMAGE_PARTS);
}

void tracer_load(struct tracer *t, const uint8_t *image, uint64_t hash)
{
	const uint32_t size = IMAGE_SIZE / IMAGE_PARTS;

	if (t->image != image || t->image_hash != hash)
		t->dirty = -1ull;
	for (; t->dirty; t->dirty &= t->dirty - 1) {
		uint32_t at = __builtin_ctzll(t->dirty) * size;

		memcpy(t->mem + at, image + at, size);
	}
	t->image = image;
	t->image_hash = hash;
	t->durable = hash;
}

uint64_t tracer_point(const struct tracer *t)
{
	uint64_t hash = mix(t->durable + t->model);

	for (uint32_t i = 0; i < t->nr_order; i++) {
		const struct event *e = &t->events[t->order[i]];

		hash = mix(hash + word_hash(e->word, e->val));
		hash = mix(hash + ((uintptr_t)e->site << 1 | e->release));
	}
	return hash;
}

uint64_t tracer_events_hash(const struct tracer *t)
{
	uint64_t hash = mix(t->model);

	for (uint32_t i = 0; i < t->nr_events; i++) {
		const struct event *e = &t->events[i];

		hash = mix(hash + word_hash(e->word, e->val));
		hash = mix(hash + ((uintptr_t)e->site << 1 | e->release));
		hash = mix(hash + ((uint64_t)e->nr_lines << 16 |
				   e->thread << 8 | e->kind));
	}
	return hash;
}

static struct event *event_add(struct tracer *t, enum event_kind kind,
			       uint32_t word, uint32_t thread, void *site)
{
	struct event *e;

	if (t->nr_events == MAX_EVENTS) {
		fprintf(stderr, "explorer: too many events\n");
		abort();
	}
	e = &t->events[t->nr_events++];
	*e = (struct event){
		.kind = kind, .word = word, .site = site,
		.thread = thread,
	};
	return e;
}

static noinline void resolve_slow(void)
{
	struct tracer *t = unresolved.t;

	unresolved.t = NULL;
	for (uint32_t w = unresolved.first; w <= unresolved.last; w++) {
		event_add(t, EVENT_STORE, w, unresolved.thread,
			  unresolved.site)->val = word_at(t->mem, w);
		t->last_store[w] = t->nr_events;
	}
}

static inline void resolve(void)
{
	if (unresolved.t)
		resolve_slow();
}

/* As far as tracer_advance() may have gone; it is much less than all memory. */
static void forget(struct tracer *t, const struct event *e)
{
	if (e->kind == EVENT_STORE) {
		t->last_store[e->word] = 0;
		t->unit_pending[e->word] = 0;
		t->unit_pending[e->word / 8] = 0;
	}
	for (uint32_t i = 0; e->kind == EVENT_FLUSH && i < e->nr_lines; i++)
		t->flushed_at[e->thread][e->word / 8 + i] = 0;
	if (e->kind >= EVENT_FENCE && t->model == MODEL_EADR)
		memset(t->flushed_at[e->thread], 0,
		       IMAGE_LINES * sizeof(**t->flushed_at));
}

void tracer_reset(struct tracer *t, enum memory_model model)
{
	for (uint32_t i = 0; i < t->nr_events; i++)
		forget(t, &t->events[i]);
	t->model = model;
	t->nr_events = 0;
	t->seen = 0;
	t->nr_order = 0;
	t->mode = TRACE_OFF;
}

void tracer_record(struct tracer *t)
{
	t->mode = TRACE_RECORD;
}

uint32_t tracer_events(struct tracer *t)
{
	resolve();
	return t->nr_events;
}

void tracer_stop(struct tracer *t)
{
	resolve();
	t->mode = TRACE_OFF;
}

/* The model: what is pending and what is durable. */

static uint32_t unit_of(const struct tracer *t, uint32_t word)
{
	return t->model == MODEL_X86 ? word / 8 : word;
}

static void count_pending(struct tracer *t, uint32_t event, int add)
{
	t->unit_pending[unit_of(t, t->events[event].word)] += add;
}

/* A fence waits for the flushes of its own thread only. */
static void retire(struct tracer *t, uint32_t thread)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->nr_order; i++) {
		uint32_t event = t->order[i];
		const struct event *e = &t->events[event];

		if (event < t->flushed_at[thread][e->word / 8]) {
			t->durable += word_hash(e->word, e->val) -
				word_hash(e->word, word_at(t->mem, e->word));
			set_word(t->mem, e->word, e->val);
			t->dirty |= part_of(e->word);
			count_pending(t, event, -1);
		} else {
			t->order[kept++] = event;
		}
	}
	t->nr_order = kept;
}

/* eADR: let retire() find all flushed that is pending, up to an event. */
static void flush_until(struct tracer *t, uint32_t thread, uint32_t event)
{
	for (uint32_t i = 0; i < t->nr_order; i++)
		t->flushed_at[thread][t->events[t->order[i]].word / 8] = event;
}

void tracer_advance(struct tracer *t, uint32_t event)
{
	const struct event *e = &t->events[event];

	switch (e->kind) {
	case EVENT_STORE:
		t->order[t->nr_order++] = event;
		count_pending(t, event, 1);
		break;
	case EVENT_FLUSH:
		for (uint32_t i = 0; i < e->nr_lines; i++)
			t->flushed_at[e->thread][e->word / 8 + i] = event;
		break;
	case EVENT_FENCE:
		if (t->model == MODEL_EADR)
			flush_until(t, e->thread, event);
		retire(t, e->thread);
		break;
	case EVENT_SEEN:
		flush_until(t, e->thread, e->word + 1);
		retire(t, e->thread);
		break;
	}
}

static bool in_unit(const struct tracer *t, uint32_t unit, uint32_t i)
{
	return unit_of(t, t->events[t->order[i]].word) == unit;
}

/*
 * arm64: words of a line are independent, but when a release store is durable,
 * so is all that precedes it in its line.  So a word that was chosen bounds
 * the others: what precedes its last durable release is durable too, and no
 * release is that follows its first store that is not.
 */
static void arm64_bounds(const struct tracer *t, uint32_t word, uint32_t *min,
			 uint32_t *max)
{
	uint32_t must = 0, cap = UINT32_MAX, seen[8] = { 0 }, i, nr = 0;
	bool capped = false;

	for (i = 0; i < t->nr_order; i++) {
		const struct event *e = &t->events[t->order[i]];

		if (e->word / 8 != word / 8 || e->word == word ||
		    t->unit_stamp[e->word] != t->stamp)
			continue;
		if (seen[e->word % 8]++ >= t->unit_taken[e->word])
			cap = cap < i ? cap : i;
		else if (e->release)
			must = i;
	}
	*min = 0;
	*max = 0;
	for (i = 0; i < t->nr_order; i++) {
		const struct event *e = &t->events[t->order[i]];

		if (e->word != word)
			continue;
		nr++;
		if (i < must)
			*min = nr;
		capped |= e->release && i > cap;
		if (!capped)
			*max = nr;
	}
}

/*
 * eADR: a prefix of all stores.  Words that were chosen leave a range for its
 * length: from @eadr_min to @eadr_max.
 */
static void eadr_bounds(const struct tracer *t, uint32_t word, uint32_t *min,
			uint32_t *max)
{
	*min = 0;
	*max = 0;
	for (uint32_t i = 0; i < t->eadr_max; i++) {
		if (t->events[t->order[i]].word != word)
			continue;
		*min += i < t->eadr_min;
		++*max;
	}
}

static void eadr_narrow(struct tracer *t, uint32_t word, uint32_t taken)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nr_order; i++) {
		if (t->events[t->order[i]].word != word)
			continue;
		if (++n == taken && t->eadr_min < i + 1)
			t->eadr_min = i + 1;
		if (n == taken + 1 && t->eadr_max > i)
			t->eadr_max = i;
	}
}

static void save(struct tracer *t, uint32_t word)
{
	if (t->write_stamp[word] == t->stamp)
		return;
	t->write_stamp[word] = t->stamp;
	t->undo[t->nr_undo].word = word;
	t->undo[t->nr_undo++].val = word_at(t->mem, word);
}

static void apply(struct tracer *t, uint32_t unit, uint32_t taken)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nr_order && n < taken; i++) {
		const struct event *e = &t->events[t->order[i]];

		if (!in_unit(t, unit, i))
			continue;
		n++;
		if (t->over_stamp[e->word] == t->stamp)
			continue;
		save(t, e->word);
		set_word(t->mem, e->word, e->val);
	}
}

/*
 * The ways in which a unit can differ: numbers of stores from @min to @max,
 * leaving out those where the last one changes nothing that can still be read.
 */
static uint32_t distinct_ways(const struct tracer *t, uint32_t unit,
			      uint32_t min, uint32_t max, uint16_t *ways)
{
	uint64_t val[8] = { 0 };
	uint32_t known = 0, n = 0, nr = 0;

	ways[nr++] = min;
	for (uint32_t i = 0; i < t->nr_order && n < max; i++) {
		const struct event *e = &t->events[t->order[i]];
		uint32_t w = e->word % 8;
		uint64_t old;

		if (!in_unit(t, unit, i))
			continue;
		old = known >> w & 1 ? val[w] : word_at(t->mem, e->word);
		known |= 1u << w;
		val[w] = e->val;
		if (++n > min && old != e->val &&
		    t->over_stamp[e->word] != t->stamp)
			ways[nr++] = n;
	}
	return nr;
}

/* The next choice: as prescribed, or the first of its ways. */
static uint32_t choose(struct tracer *t, uint32_t unit, uint32_t min,
		       uint32_t max)
{
	static uint16_t ways[MAX_EVENTS];
	struct choice *c = &t->choices[t->at_choice];
	uint32_t nr = distinct_ways(t, unit, min, max, ways);

	if (nr == 1)
		return ways[0];
	if (!t->hashing)
		return ways[mix(t->hash + unit) % nr];
	if (t->at_choice == t->nr_choices) {
		if (t->nr_choices == MAX_CHOICES)
			abort();
		*c = (struct choice){ .unit = unit };
		t->nr_choices++;
	}
	c->options = nr;
	t->at_choice++;
	return ways[c->taken];
}

/* How many of its stores a unit that is open has at least, and at most. */
static void bounds(const struct tracer *t, uint32_t word, uint32_t *min, uint32_t *max)
{
	*min = 0;
	*max = t->unit_pending[unit_of(t, word)];
	if (*max && t->model == MODEL_ARM64)
		arm64_bounds(t, word, min, max);
	if (*max && t->model == MODEL_EADR)
		eadr_bounds(t, word, min, max);
}

/* A word is about to be touched in a run: settle what its unit holds. */
static void settle(struct tracer *t, uint32_t word)
{
	uint32_t unit = unit_of(t, word), min, max;

	if (t->unit_stamp[unit] == t->stamp)
		return;
	bounds(t, word, &min, &max);
	t->unit_stamp[unit] = t->stamp;
	t->unit_taken[unit] = min;
	/* Also where other choices leave none here: it is open again without them. */
	if (t->unit_pending[unit])
		t->settled[t->nr_settled++] = unit;
	if (max > min)
		t->unit_taken[unit] = choose(t, unit, min, max);
	if (max && t->model == MODEL_EADR)
		eadr_narrow(t, word, t->unit_taken[unit]);
	apply(t, unit, t->unit_taken[unit]);
}

/*
 * A word is about to be written: what the crash had left there does not matter any
 * more, so there is nothing to choose yet.
 */
static void overwrite(struct tracer *t, uint32_t word)
{
	uint32_t unit = unit_of(t, word);

	if (t->unit_stamp[unit] == t->stamp || !t->unit_pending[unit])
		return;
	t->over_stamp[word] = t->stamp;
	t->over[t->nr_over++] = word;
}

void tracer_touch(struct tracer *t, uint16_t touch)
{
	uint32_t word = touch & ~TOUCH_STORE;
	uint64_t h;

	if (touch & TOUCH_STORE) {
		overwrite(t, word);
		return;
	}
	settle(t, word);
	h = (word_at(t->mem, word) ^ (uint64_t)word << 40) *
	    0x9e3779b97f4a7c15ull;
	t->hash = (t->hash ^ h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
}

static void touch_first(struct tracer *t, uint32_t word, uint16_t kind)
{
	t->read_stamp[word] = t->stamp;
	if (!t->hashing) {
		if (kind & TOUCH_STORE)
			overwrite(t, word);
		else
			settle(t, word);
		return;
	}
	if (t->nr_touches % TOUCHES == 0)
		t->hash_at[t->nr_touches / TOUCHES] = t->hash;
	t->touches[t->nr_touches++] = word | kind;
	tracer_touch(t, word | kind);
}

void tracer_mark(const struct tracer *t, struct tracer_mark *mark)
{
	*mark = (struct tracer_mark){
		.nr_choices = t->nr_choices, .at_choice = t->at_choice,
		.eadr_min = t->eadr_min, .eadr_max = t->eadr_max,
		.nr_undo = t->nr_undo, .nr_settled = t->nr_settled,
		.nr_over = t->nr_over,
		.hash = t->hash,
	};
}

static void undo(struct tracer *t, uint32_t nr)
{
	while (t->nr_undo > nr) {
		t->nr_undo--;
		set_word(t->mem, t->undo[t->nr_undo].word,
			 t->undo[t->nr_undo].val);
		t->write_stamp[t->undo[t->nr_undo].word] = 0;
	}
}

void tracer_back(struct tracer *t, const struct tracer_mark *mark)
{
	undo(t, mark->nr_undo);
	while (t->nr_settled > mark->nr_settled)
		t->unit_stamp[t->settled[--t->nr_settled]] = 0;
	while (t->nr_over > mark->nr_over)
		t->over_stamp[t->over[--t->nr_over]] = 0;
	t->nr_choices = mark->nr_choices;
	t->at_choice = mark->at_choice;
	t->eadr_min = mark->eadr_min;
	t->eadr_max = mark->eadr_max;
	t->hash = mark->hash;
}

bool tracer_next(struct tracer *t)
{
	while (t->nr_choices) {
		struct choice *c = &t->choices[t->nr_choices - 1];

		if (++c->taken < c->options)
			return true;
		t->nr_choices--;
	}
	return false;
}

void tracer_run_begin(struct tracer *t)
{
	t->stamp++;
	t->nr_undo = 0;
	t->at_choice = 0;
	t->hash = 0;
	t->nr_stores = 0;
	t->nr_touches = 0;
	t->nr_settled = 0;
	t->nr_over = 0;
	t->eadr_min = 0;
	t->eadr_max = t->nr_order;
	t->hashing = true;
	t->mode = TRACE_RUN;
}

void tracer_run_random(struct tracer *t, uint64_t seed)
{
	tracer_run_begin(t);
	t->hashing = false;
	t->hash = seed;
}

void tracer_run_end(struct tracer *t)
{
	t->mode = TRACE_OFF;
	undo(t, 0);
}

/* A unit that the run did not read keeps all of its stores or none, by a bit of the run's hash. */
static uint32_t stores_left(const struct tracer *t, uint32_t word)
{
	uint32_t unit = unit_of(t, word), min, max;

	if (t->unit_stamp[unit] == t->stamp)
		return t->unit_taken[unit];
	bounds(t, word, &min, &max);
	return t->hash & 1 ? max : min;
}

uint64_t tracer_left(const struct tracer *t, uint8_t *image)
{
	static uint32_t seen[IMAGE_WORDS];
	uint64_t hash = t->durable;

	memcpy(image, t->mem, IMAGE_SIZE);
	for (uint32_t i = 0; i < t->nr_order; i++)
		seen[unit_of(t, t->events[t->order[i]].word)] = 0;
	for (uint32_t i = 0; i < t->nr_order; i++) {
		const struct event *e = &t->events[t->order[i]];
		uint32_t unit = unit_of(t, e->word);

		if (seen[unit]++ >= stores_left(t, e->word))
			continue;
		hash += word_hash(e->word, e->val) -
			word_hash(e->word, word_at(image, e->word));
		set_word(image, e->word, e->val);
	}
	return hash;
}

int tracer_persisted(struct tracer *t, uint32_t event)
{
	uint32_t unit = unit_of(t, t->events[event].word), n = 0;

	if (t->unit_stamp[unit] != t->stamp)
		return -1;
	for (uint32_t i = 0; i < t->nr_order; i++) {
		if (!in_unit(t, unit, i))
			continue;
		if (t->order[i] == event)
			return n < t->unit_taken[unit];
		n++;
	}
	return -1;
}

/* Hooks. */

/*
 * With persistent caches a store that another thread can see is durable, fence or not,
 * and so is what precedes it.
 */
static void see(struct tracer *t, uint32_t first, uint32_t last)
{
	for (uint32_t w = first; w <= last; w++) {
		uint32_t store = t->last_store[w];

		if (store <= t->seen ||
		    t->events[store - 1].thread == sched_thread())
			continue;
		event_add(t, EVENT_SEEN, store - 1, sched_thread(), NULL);
		t->seen = store;
	}
}

static noinline void on_read(struct tracer *t, const void *addr, size_t size)
{
	uint32_t first = ((uintptr_t)addr - (uintptr_t)t->mem) / 8;
	uint32_t last = ((uintptr_t)addr - (uintptr_t)t->mem + size - 1) / 8;

	resolve();
	if (t->mode == TRACE_RECORD && t->model == MODEL_EADR)
		see(t, first, last);
	if (t->mode != TRACE_RUN)
		return;
	for (uint32_t w = first; w <= last; w++)
		if (t->read_stamp[w] != t->stamp)
			touch_first(t, w, 0);
}

/* Does a store write a whole word?  Otherwise what is left of it can be read. */
static bool covers(const struct tracer *t, uint32_t word, const void *addr,
		   size_t size)
{
	uintptr_t begin = (uintptr_t)t->mem + 8 * word;

	return (uintptr_t)addr <= begin && (uintptr_t)addr + size >= begin + 8;
}

static noinline void on_write(struct tracer *t, void *addr, size_t size,
			      void *site)
{
	uint32_t first = ((uintptr_t)addr - (uintptr_t)t->mem) / 8;
	uint32_t last = ((uintptr_t)addr - (uintptr_t)t->mem + size - 1) / 8;

	resolve();
	for (uint32_t w = first; w <= last; w++)
		t->dirty |= part_of(w);
	if (t->mode == TRACE_RECORD) {
		unresolved.t = t;
		unresolved.first = first;
		unresolved.last = last;
		unresolved.thread = sched_thread();
		unresolved.site = site;
	} else if (t->mode == TRACE_RUN) {
		for (uint32_t w = first; w <= last; w++) {
			if (t->read_stamp[w] != t->stamp)
				touch_first(t, w, covers(t, w, addr, size) ?
						  TOUCH_STORE : 0);
			if (t->nr_stores < STORED_MAX)
				t->stored[t->nr_stores] = w;
			t->nr_stores++;
			save(t, w);
		}
	}
}

/* Most of what is touched is DRAM: that has to be found out fast. */
static inline void hook_read(const void *addr, size_t size)
{
	if (is_traced(addr) && size)
		on_read(find(addr), addr, size);
}

static inline void hook_write(void *addr, size_t size, void *site)
{
	if (is_traced(addr) && size)
		on_write(find(addr), addr, size, site);
}

#define SITE __builtin_return_address(0)

void __tsan_init(void) { }
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) { }

bool (*trace_shared)(const void *at);

/* Of DRAM only few addresses are loaded and stored concurrently without a barrier. */
static inline void shared_point(const void *at)
{
	if (!trace_shared || is_traced(at) || !trace_shared(at))
		return;
	resolve();
	sched_point();
}

#define VOLATILE(kind, n)						\
void __tsan_##kind##_read##n(void *p)					\
{									\
	shared_point(p);						\
	hook_read(p, n);						\
}									\
void __tsan_##kind##_write##n(void *p)					\
{									\
	shared_point(p);						\
	hook_write(p, n, SITE);						\
}

VOLATILE(volatile, 1) VOLATILE(volatile, 2) VOLATILE(volatile, 4)
VOLATILE(volatile, 8) VOLATILE(volatile, 16)
VOLATILE(unaligned_volatile, 2) VOLATILE(unaligned_volatile, 4)
VOLATILE(unaligned_volatile, 8)

#define HOOKS(n)							\
void __tsan_read##n(void *p) { hook_read(p, n); }			\
void __tsan_write##n(void *p) { hook_write(p, n, SITE); }		\
void __tsan_unaligned_read##n(void *p) { hook_read(p, n); }		\
void __tsan_unaligned_write##n(void *p) { hook_write(p, n, SITE); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)

void __tsan_read_range(void *p, size_t n) { hook_read(p, n); }
void __tsan_write_range(void *p, size_t n) { hook_write(p, n, SITE); }

uint64_t __tsan_atomic64_load(const volatile uint64_t *p, int order)
{
	uint64_t val;

	(void)order;
	resolve();
	sched_point();
	hook_read((const void *)p, 8);
	val = *p;
	sched_point();
	return val;
}

void __tsan_atomic64_store(volatile uint64_t *p, uint64_t val, int order)
{
	struct tracer *t = find((void *)p);

	resolve();
	sched_point();
	hook_write((void *)p, 8, SITE);
	*p = val;
	if (t && t->mode == TRACE_RECORD) {
		resolve();
		t->events[t->nr_events - 1].release = order != __ATOMIC_RELAXED;
	}
	sched_point();
}

/* Of words in DRAM only, from here on. */

void __tsan_atomic32_store(volatile uint32_t *p, uint32_t val, int order)
{
	(void)order;
	resolve();
	sched_point();
	*p = val;
	sched_point();
}

uint32_t __tsan_atomic32_load(const volatile uint32_t *p, int order)
{
	(void)order;
	resolve();
	sched_point();
	return *p;
}

/* One thread runs after the other. */
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

int __tsan_atomic64_compare_exchange_strong(volatile uint64_t *p,
					    uint64_t *old, uint64_t val,
					    int order, int failure)
{
	(void)order;
	(void)failure;
	return __atomic_compare_exchange_n(p, old, val, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

uint64_t __tsan_atomic64_fetch_add(volatile uint64_t *p, uint64_t v, int order)
{
	(void)order;
	resolve();
	sched_point();
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

uint64_t __tsan_atomic64_exchange(volatile uint64_t *p, uint64_t v, int order)
{
	(void)order;
	return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}

int __tsan_atomic32_fetch_add(volatile int *p, int v, int order)
{
	(void)order;
	resolve();
	sched_point();
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

int __tsan_atomic32_fetch_sub(volatile int *p, int v, int order)
{
	(void)order;
	resolve();
	sched_point();
	return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);
}

int __tsan_atomic32_fetch_or(volatile int *p, int v, int order)
{
	(void)order;
	resolve();
	sched_point();
	return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}

int __tsan_atomic32_fetch_and(volatile int *p, int v, int order)
{
	(void)order;
	resolve();
	sched_point();
	return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);
}

int __tsan_atomic32_compare_exchange_strong(volatile uint32_t *p, uint32_t *old,
					    uint32_t val, int order, int failure)
{
	(void)order;
	(void)failure;
	return __atomic_compare_exchange_n(p, old, val, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

uint8_t __tsan_atomic8_load(const volatile uint8_t *p, int order)
{
	(void)order;
	resolve();
	sched_point();
	return *p;
}

void __tsan_atomic8_store(volatile uint8_t *p, uint8_t val, int order)
{
	(void)order;
	resolve();
	sched_point();
	*p = val;
	sched_point();
}

void *trace_memcpy(void *dst, const void *src, size_t n)
{
	void *site = SITE;

	hook_read(src, n);
	hook_write(dst, n, site);
	memcpy(dst, src, n);
	resolve();
	return dst;
}

void *trace_memset(void *dst, int c, size_t n)
{
	hook_write(dst, n, SITE);
	memset(dst, c, n);
	resolve();
	return dst;
}

int trace_memcmp(const void *a, const void *b, size_t n)
{
	hook_read(a, n);
	hook_read(b, n);
	return memcmp(a, b, n);
}

void arch_wb_cache_pmem(void *addr, size_t len)
{
	struct tracer *t = find(addr);
	uint32_t first, last;

	resolve();
	sched_point();
	if (!t || t->mode != TRACE_RECORD || !len)
		return;
	first = ((uintptr_t)addr - (uintptr_t)t->mem) / 64;
	last = ((uintptr_t)addr - (uintptr_t)t->mem + len - 1) / 64;
	event_add(t, EVENT_FLUSH, first * 8, sched_thread(), SITE)->nr_lines =
		last - first + 1;
}

void pmem_wmb(void)
{
	resolve();
	sched_point();
	for (unsigned int i = 0; i < nr_tracers; i++)
		if (tracers[i]->mode == TRACE_RECORD)
			event_add(tracers[i], EVENT_FENCE, 0, sched_thread(),
				  SITE);
}
