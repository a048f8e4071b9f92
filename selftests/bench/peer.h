/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What an index has to bring to be measured: a shared object with one function,
 * bench_peer(), that returns a struct bench_peer.  C or C++; nothing else of
 * this project is needed.
 *
 *	bench -p ./mine.so
 *
 * A peer is opened anew for each turn and used by one thread.  Keys are
 * strings of bytes in the order of memcmp(); integers come as 8 bytes, most
 * significant first.  Values are 8 bytes.  No key is inserted twice unless
 * to change its value.
 */
#ifndef _WORT_BENCH_PEER_H
#define _WORT_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_PEER_VERSION	2

/* The last one is for memory behind caches that are persistent: no flush, but fences. */
enum bench_flush {
	BENCH_CLWB, BENCH_CLFLUSHOPT, BENCH_CLFLUSH, BENCH_NO_FLUSH, BENCH_EADR,
};

/* Sums since the peer was opened. */
struct bench_counts {
	uint64_t lines;			/* flushed */
	uint64_t fences;
	uint64_t ordering_points;	/* fences that had a line to wait for */
	uint64_t stores;		/* of 8 bytes to the memory, if known */
	uint64_t loads;			/* lines of the memory read, if known */
	uint64_t nodes;			/* entered on the way, if known */
};

/**
 * struct bench_env - where a peer lives
 * @memory: stands for persistent memory: huge pages, touched, all zeroes
 * @size: of @memory
 * @used: of @memory, by bench_alloc(), or all that was written to: it is cleared
 *	before the next peer is opened
 * @dir: an empty folder for files, on a real file system
 * @flush: the instruction to flush by
 * @line_ticks: time stamp ticks added for each flushed line
 * @fenced: of counts.lines those before the last fence
 * @counts: by bench_flush() and bench_fence(); who stores past the cache adds to
 *	counts.lines himself
 */
struct bench_env {
	char *memory;
	size_t size;
	size_t used;
	const char *dir;
	enum bench_flush flush;
	uint64_t line_ticks;
	uint64_t fenced;
	struct bench_counts counts;
};

/**
 * struct bench_peer - an index
 * @version: BENCH_PEER_VERSION
 * @name: a word
 * @durability: what has happened when insert() returns, for the reader
 * @by_wall_clock: it waits for a disk or has threads of its own.  Then the time of
 *	its thread says little, and the clock on the wall measures all peers of the run
 * @fixed_keys: it takes keys of 8 bytes only
 * @open: returns the peer, or NULL after saying why on stderr
 * @close: gives back everything
 * @insert: adds a key or changes its value; 0, or not
 * @lookup: 0 and the value, or not; NULL if it cannot
 * @remove: 0, or not; NULL if it cannot
 * @scan: visits up to @nr keys from @key on, in their order, and adds up their
 *	values; returns how many there were; NULL if it cannot
 * @insert_many: like insert() of @nr keys, all durable when it returns; NULL
 *	if there is no faster way
 * @lookup_many: like lookup() of @nr keys
 * @move: takes a key and its value out of the index into a second one, or with @back
 *	from that one into the first: all or none, also if the power fails; or with
 *	@apart by an insert and a delete; 0, or not; NULL if it cannot
 * @settle: waits for what goes on behind; NULL if nothing does
 * @bytes: of memory or files in use
 * @count: the peer's own counts; NULL: those of bench_flush() and bench_fence()
 */
struct bench_peer {
	uint32_t version;
	const char *name;
	const char *durability;
	int by_wall_clock;
	int fixed_keys;

	void *(*open)(struct bench_env *env);
	void (*close)(void *peer);
	int (*insert)(void *peer, const void *key, size_t len, uint64_t value);
	int (*lookup)(void *peer, const void *key, size_t len, uint64_t *value);
	int (*remove)(void *peer, const void *key, size_t len);
	size_t (*scan)(void *peer, const void *key, size_t len, size_t nr,
		       uint64_t *sum);
	int (*insert_many)(void *peer, const void *const *keys,
			   const size_t *lens, const uint64_t *values,
			   size_t nr);
	int (*lookup_many)(void *peer, const void *const *keys,
			   const size_t *lens, uint64_t *values, size_t nr);
	int (*move)(void *peer, const void *key, size_t len, uint64_t value,
		    int back, int apart);
	void (*settle)(void *peer);
	size_t (*bytes)(void *peer);
	void (*count)(void *peer, struct bench_counts *counts);
};

const struct bench_peer *bench_peer(void);

/* @align: a power of two.  NULL if there is no more. */
static inline void *bench_alloc(struct bench_env *env, size_t size,
				size_t align)
{
	size_t at = (env->used + align - 1) & ~(align - 1);

	if (size > env->size || at > env->size - size)
		return NULL;
	env->used = at + size;
	return env->memory + at;
}

/* The compiler keeps stores to all of the line before the flush. */
#ifdef __x86_64__
static inline void bench_flush_line(enum bench_flush how, char *line)
{
	if (how == BENCH_CLWB)
		__asm__ volatile("clwb %0" : "+m"(*line) :: "memory");
	else if (how == BENCH_CLFLUSHOPT)
		__asm__ volatile("clflushopt %0" : "+m"(*line) :: "memory");
	else if (how == BENCH_CLFLUSH)
		__asm__ volatile("clflush %0" : "+m"(*line) :: "memory");
}

static inline uint64_t bench_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static inline void bench_store_fence(void)
{
	__asm__ volatile("sfence" ::: "memory");
}
#else
static inline void bench_flush_line(enum bench_flush how, char *line)
{
	(void)how;
	(void)line;
}

static inline uint64_t bench_ticks(void)
{
	return 0;
}

static inline void bench_store_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

/*
 * A processor that waits for a fence goes on as far as it can hold what it stores
 * meanwhile.  So counting is few stores, and none of them is behind the fence.
 */
static inline void bench_flush(struct bench_env *env, const void *at,
			       size_t len)
{
	char *line = (char *)((uintptr_t)at & ~(uintptr_t)63);
	char *end = (char *)at + len;
	uint64_t lines = 0;

	if (env->flush == BENCH_NO_FLUSH || env->flush == BENCH_EADR)
		return;
	for (; line < end; line += 64, lines++)
		bench_flush_line(env->flush, line);
	env->counts.lines += lines;
}

static inline void bench_fence(struct bench_env *env)
{
	uint64_t lines = env->counts.lines - env->fenced, until;

	env->counts.fences++;
	if (lines) {
		env->counts.ordering_points++;
		env->fenced = env->counts.lines;
	}
	if (env->flush != BENCH_NO_FLUSH)
		bench_store_fence();
	if (!env->line_ticks)
		return;
	until = bench_ticks() + lines * env->line_ticks;
	while (bench_ticks() < until)
		;
}

#ifdef __cplusplus
}
#endif

#endif
