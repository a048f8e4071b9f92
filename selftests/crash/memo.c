// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memo.h"

#define ENTRY_BITS	24
#define NR_ENTRIES	(1u << ENTRY_BITS)
#define NR_LISTS	(1u << 21)
#define MAX_PROBES	64

/* Of a key there may be several: what differs is read within a list. */
struct entry {
	uint64_t key;
	uint64_t val;		/* number of a list, or an answer; 0: not yet */
};

/* Words that are touched one after the other. */
struct list {
	uint16_t nr;
	uint16_t touch[TOUCHES];
};

static struct memo {
	struct entry entries[NR_ENTRIES];
	struct list lists[NR_LISTS];
	uint32_t nr_lists;
} *memo;

void memo_init(void)
{
	memo = mmap(NULL, sizeof(*memo), PROT_READ | PROT_WRITE,
		    MAP_ANONYMOUS | MAP_SHARED | MAP_NORESERVE, -1, 0);
	if (memo == MAP_FAILED) {
		perror("explore: mmap");
		exit(2);
	}
	memo->nr_lists = 1;
}

static uint64_t mix(uint64_t val)
{
	val = (val ^ val >> 32) * 0x9e3779b97f4a7c15ull;
	return (val ^ val >> 29) * 0xbf58476d1ce4e5b9ull;
}

/* Of a run that has touched so many words. */
static uint64_t key_of(uint64_t hash, uint32_t nr, uint64_t program)
{
	return mix(hash + mix((uint64_t)nr << 8 | program)) | 1;
}

/* The entry of a key at or behind a place; NULL if there is none. */
static struct entry *next_entry(uint64_t key, uint32_t *probe)
{
	while (*probe < MAX_PROBES) {
		struct entry *e = &memo->entries[((key >> (64 - ENTRY_BITS)) +
						  (*probe)++) % NR_ENTRIES];
		uint64_t found = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);

		if (!found)
			return NULL;
		if (found == key && __atomic_load_n(&e->val, __ATOMIC_ACQUIRE))
			return e;
	}
	return NULL;
}

static void add(uint64_t key, uint64_t val)
{
	uint32_t i;

	for (i = 0; i < MAX_PROBES; i++) {
		struct entry *e = &memo->entries[((key >> (64 - ENTRY_BITS)) +
						  i) % NR_ENTRIES];
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&e->key, &none, key, false,
						__ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			__atomic_store_n(&e->val, val, __ATOMIC_RELEASE);
			return;
		}
		if (none == key && e->val == val)
			return;
	}
}

/* The number of a list, which is made if it is new; 0 if there is no room. */
static uint32_t list_number(const struct list *list)
{
	uint64_t key = list->nr;
	struct entry *e;
	uint32_t i, nr, probe = 0;

	for (i = 0; i < list->nr; i++)
		key = mix(key + list->touch[i]);
	key = mix(~key) | 1;
	while ((e = next_entry(key, &probe)))
		if (!memcmp(&memo->lists[e->val], list, sizeof(*list)))
			return e->val;
	nr = __atomic_fetch_add(&memo->nr_lists, 1, __ATOMIC_RELAXED);
	if (nr >= NR_LISTS) {
		__atomic_store_n(&memo->nr_lists, NR_LISTS, __ATOMIC_RELAXED);
		return 0;
	}
	memo->lists[nr] = *list;
	add(key, nr);
	return nr;
}

void memo_keep(const struct tracer *t, uint64_t program, uint64_t answer)
{
	uint32_t at, nr;

	for (at = 0; at < t->nr_touches; at += TOUCHES) {
		struct list list = { .nr = t->nr_touches - at };

		if (list.nr > TOUCHES)
			list.nr = TOUCHES;
		memcpy(list.touch, t->touches + at, 2 * list.nr);
		nr = list_number(&list);
		if (!nr)
			return;
		add(key_of(t->hash_at[at / TOUCHES], at, program), nr);
	}
	add(key_of(t->hash, t->nr_touches, program), MEMO_END | answer);
}

/* Touch the words of a list; the key then, or 0 if no run has got there. */
static uint64_t follow(struct tracer *t, const struct list *list, uint32_t nr,
		       uint64_t program)
{
	uint32_t i, probe = 0;
	uint64_t key;

	for (i = 0; i < list->nr; i++)
		tracer_touch(t, list->touch[i]);
	key = key_of(t->hash, nr + list->nr, program);
	return next_entry(key, &probe) ? key : 0;
}

uint64_t memo_recall(struct tracer *t, uint64_t program)
{
	uint64_t key = key_of(t->hash, 0, program), next = 0;
	struct tracer_mark mark;
	const struct list *list;
	uint32_t nr = 0, probe = 0;
	struct entry *e;

	while ((e = next_entry(key, &probe))) {
		if (e->val & MEMO_END)
			return e->val;
		list = &memo->lists[e->val];
		tracer_mark(t, &mark);
		next = follow(t, list, nr, program);
		if (!next) {
			tracer_back(t, &mark);
			continue;
		}
		key = next;
		nr += list->nr;
		probe = 0;
	}
	return 0;
}
