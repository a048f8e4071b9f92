/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Persistence primitives.
 *
 * This file and pmem.c are the only ones that flush, fence or cast __pmem away.
 * A store becomes visible when it is made, and durable at any later moment.  It
 * is durable for certain once its line was flushed and a fence has passed.
 * Stores to one line become durable in the order in which they became visible,
 * stores to different lines in any order unless a flush and a fence come
 * between them.  Documentation/persistence.rst has the model.
 */
#ifndef _WORT_PMEM_H
#define _WORT_PMEM_H

#include <linux/bug.h>
#include <linux/libnvdimm.h>
#include <linux/prefetch.h>
#include <linux/string.h>
#include <linux/tracepoint-defs.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

#include "key.h"
#include "lock.h"
#include "powercut.h"

DECLARE_TRACEPOINT(wort_publish);

/* Do two words lie in different lines? */
static inline bool wort_pm_lines_differ(const void __pmem *a,
					const void __pmem *b)
{
	return ((__force unsigned long)a ^ (__force unsigned long)b) >=
	       WORT_LINE;
}

/**
 * wort_pm_load() - Read a word
 * @addr: The word, inside the region.
 *
 * An acquire: loads after it see all stores made before the word was published.
 * Pairs with the release in wort_pm_store_release().  The value is untrusted.
 *
 * Context: Any context.
 * Return: The word in the byte order of the processor.
 */
static inline u64 wort_pm_load(const __le64 __pmem *addr)
{
	/* pairs with the release in wort_pm_store_release() */
	return le64_to_cpu(smp_load_acquire((__force const __le64 *)addr));
}

/**
 * wort_pm_load_byte() - Read a byte of a line that was read before
 * @addr: The byte, inside the region.
 *
 * The load is not counted.
 *
 * Context: Any context.
 * Return: The byte.
 */
static inline u8 wort_pm_load_byte(const void __pmem *addr)
{
	return READ_ONCE(*(__force const u8 *)addr);
}

/**
 * wort_pm_load_be64() - Read eight bytes of a line that was read before
 * @addr: The first one, inside the region; a multiple of 8.
 *
 * The load is not counted.
 *
 * Context: Any context.
 * Return: The bytes, the first one high.
 */
static inline u64 wort_pm_load_be64(const void __pmem *addr)
{
	return be64_to_cpu(READ_ONCE(*(__force const __be64 *)addr));
}

/**
 * wort_pm_load_bytes() - Read eight bytes of lines that were read before
 * @addr: The first one, inside the region; any.
 *
 * The load is not counted.  The bytes must not change meanwhile, since it may
 * be two loads.
 *
 * Context: Any context.
 * Return: The bytes, the first one high.
 */
static inline u64 wort_pm_load_bytes(const void __pmem *addr)
{
	__be64 word;

	memcpy(&word, (__force const void *)addr, sizeof(word));
	return be64_to_cpu(word);
}

/**
 * wort_pm_prefetch() - Prefetch a line for reading
 * @addr: In the line; wort_region_verify() accepted it.
 *
 * Context: Any context.
 */
static inline void wort_pm_prefetch(const void __pmem *addr)
{
	prefetch((__force const void *)addr);
}

/**
 * wort_pm_prefetch_store() - Prefetch a line for writing
 * @addr: In the line, inside the region.
 *
 * Context: Any context.
 */
static inline void wort_pm_prefetch_store(const void __pmem *addr)
{
	prefetchw((__force const void *)addr);
}

/**
 * wort_pm_store() - Store a word that is not reachable yet
 * @op: The operation.
 * @addr: The word.
 * @val: Its value in the byte order of the processor.
 *
 * The store is neither durable nor ordered; see wort_pm_flush().
 *
 * Context: Any context.
 */
static inline void wort_pm_store(struct wort_op *op, __le64 __pmem *addr,
				 u64 val)
{
	wort_count(op, stores, 1);
	WRITE_ONCE(*(__force __le64 *)addr, cpu_to_le64(val));
}

/**
 * wort_pm_store_release() - Store a word that is reachable
 * @op: The operation.
 * @addr: The word.
 * @val: Its value in the byte order of the processor.
 *
 * Stores before it are visible before it.  Pairs with the acquire in
 * wort_pm_load().
 *
 * Context: Any context.
 */
static inline void wort_pm_store_release(struct wort_op *op,
					 __le64 __pmem *addr, u64 val)
{
	wort_count(op, stores, 1);
	/* pairs with the acquire in wort_pm_load() */
	smp_store_release((__force __le64 *)addr, cpu_to_le64(val));
}

/**
 * wort_pm_clear() - Store zeroes to a few words that are not reachable yet
 * @op: The operation.
 * @words: The first one.
 * @nr: How many.
 *
 * Makes no function call, and the compiler does not turn it into one.  Does not
 * flush.
 *
 * Context: Any context.
 */
static __always_inline void wort_pm_clear(struct wort_op *op,
					  __le64 __pmem *words, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		wort_pm_store(op, &words[i], 0);
}

void wort_pm_write_any(struct wort_op *op, void __pmem *dst, const void *src,
		       size_t len);

/**
 * wort_pm_write() - Store bytes that are not reachable yet
 * @op: The operation.
 * @dst: Where to, a multiple of 8.
 * @src: Bytes of the caller.
 * @len: How many; may be 0.
 *
 * Does not flush, so that adjacent writes can share one flush.
 *
 * Context: Any context.
 */
static __always_inline void wort_pm_write(struct wort_op *op, void __pmem *dst,
					  const void *src, size_t len)
{
	if (unlikely(len != sizeof(u64))) {
		wort_pm_write_any(op, dst, src, len);
		return;
	}
	wort_count(op, stores, 1);
	memcpy((__force void *)dst, src, sizeof(u64));
}

void wort_pm_gather(struct wort_op *op, const void __pmem *addr, size_t len);
void wort_pm_flush_gathered(struct wort_op *op);

/**
 * wort_pm_flush_now() - Flush a range of an operation without wort_op.gather
 * @op: The operation.  Its address is not passed on, so that the compiler can
 *	keep an operation that is a local variable in registers.
 * @addr: First byte of the range.
 * @len: Length in bytes.
 *
 * Context: Any context.
 */
static __always_inline void wort_pm_flush_now(struct wort_op *op,
					      const void __pmem *addr,
					      size_t len)
{
	unsigned long start = (__force unsigned long)addr;
	u32 lines = (start + len - 1) / WORT_LINE - start / WORT_LINE + 1;

	if (!op->flush)
		return;
	wort_powercut_flush(op, addr, len);
	arch_wb_cache_pmem((__force void *)addr, len);
	op->pending += lines;
	wort_count(op, lines, lines);
}

/**
 * wort_pm_flush() - Start writing a range back to the media
 * @op: The operation.
 * @addr: First byte of the range.
 * @len: Length in bytes.
 *
 * Flushes every cache line that the range touches.  Orders nothing and does not
 * wait: the range is durable after the next wort_pm_fence().  A store can also
 * become durable earlier, at any moment.  With wort_op.gather the lines are
 * only flushed before the next fence, and the range may change until then.
 *
 * Context: Any context.
 */
static inline void wort_pm_flush(struct wort_op *op, const void __pmem *addr,
				 size_t len)
{
	if (unlikely(op->gather) && op->flush)
		wort_pm_gather(op, addr, len);
	else
		wort_pm_flush_now(op, addr, len);
}

/**
 * wort_pm_fence_now() - Fence an operation without wort_op.gather
 * @op: The operation, as for wort_pm_flush_now().
 *
 * Context: Any context.
 */
static __always_inline void wort_pm_fence_now(struct wort_op *op)
{
	if (likely(op->pending))
		wort_count(op, ordering_points, 1);
	else
		wort_count(op, idle_fences, 1);
	op->pending = 0;
	wort_powercut_fence(op);
	pmem_wmb();
}

/**
 * wort_pm_fence() - Wait until every range that was flushed is durable
 * @op: The operation.
 *
 * Context: Any context.
 */
static inline void wort_pm_fence(struct wort_op *op)
{
	if (unlikely(op->gather)) {
		wort_pm_flush_gathered(op);
		if (op->gather->fences != op)
			wort_powercut_fence(op->gather->fences);
	}
	wort_pm_fence_now(op);
}

/**
 * wort_pm_fence_contents() - Make objects durable before they are linked in
 * @op: The operation.
 *
 * Ranges that were flushed are durable when this returns, and stores after it
 * become visible after those before.
 *
 * Context: Any context.
 */
static inline void wort_pm_fence_contents(struct wort_op *op)
{
	if (op->pending || !op->flush)
		wort_pm_fence(op);
}

void wort_pm_trace(const struct wort_region *region, const __le64 __pmem *addr,
		   u64 val);

/* The tracepoint's own inline function would be expanded at every publish. */
static inline void wort_pm_publishing(struct wort_op *op,
				      const __le64 __pmem *addr, u64 val)
{
	if (tracepoint_enabled(wort_publish))
		wort_pm_trace(op->region, addr, val);
}

/**
 * wort_pm_fence_in_flight() - Wait for words that were found in flight
 * @op: The operation, which has stored nothing itself.
 *
 * Context: Any context.
 */
static inline void wort_pm_fence_in_flight(struct wort_op *op)
{
	if (unlikely(op->pending))
		wort_pm_fence(op);
}

static inline u64 wort_pm_off(const struct wort_op *op,
			      const void __pmem *addr)
{
	return addr - (const void __pmem *)op->region->base;
}

void wort_pm_flush_read(struct wort_op *op, u64 off, size_t len);

/**
 * wort_pm_mark() - The mark of a node
 * @in_flight: wort_op.in_flight of the operation that has read a word of the
 *	node.
 * @node: Offset of the node, which is the name of its lock.
 *
 * For loops over many words; other callers use wort_pm_flush_in_flight().  If
 * this is not 0, the caller must call wort_pm_flush_read(), or must not answer.
 *
 * Context: Any context.
 * Return: The number of words of the node, and of other nodes with the same
 * mark, that are in flight.
 */
static inline u32 wort_pm_mark(const u32 *in_flight, u64 node)
{
	/*
	 * A plain load would suffice, since no later load has to wait for it.
	 * But the compiler computes the address of a volatile load with an
	 * addition, which it does not for an acquire load, and lookups have no
	 * register to spare.
	 */
	return smp_load_acquire(&in_flight[wort_lock_nr(node)]);
}

/* Is a word of a node perhaps not durable? */
static inline bool wort_pm_in_flight(const u32 *in_flight, u64 node)
{
	return wort_pm_mark(in_flight, node);
}

/**
 * wort_pm_flush_in_flight() - Make words that were read durable, if they are in flight
 * @op: The operation, whose answer will rest on the words.
 * @node: Offset of the node that they lie in.
 * @off: Offset of the first one.
 * @len: Length of what was read.
 *
 * Must be called after the words were read.  Flushes the current content: the
 * words that were read, or others that replaced them.  wort_op_end(), or the
 * fence before the commit of the operation, waits for that flush.  If nothing
 * is in flight this costs a load of DRAM.
 *
 * Context: Any context.
 */
static inline void wort_pm_flush_in_flight(struct wort_op *op, u64 node,
					   u64 off, size_t len)
{
	if (unlikely(wort_pm_in_flight(op->in_flight, node)))
		wort_pm_flush_read(op, off, len);
}

/**
 * wort_pm_launch() - Store a word that commits, without waiting
 * @op: The operation.
 * @lock: The lock of the node in which the word lies, held; NULL if there are
 *	no other operations (wort_op.locks is NULL) and the caller serialises
 *	writers of the word.
 * @addr: The word that makes the new state reachable.
 * @val: Its new value in the byte order of the processor.
 *
 * Objects that @val makes reachable were not changed since
 * wort_pm_fence_contents().  After a crash the word holds its old value or
 * @val, never a mixture.
 *
 * From now on other operations see @val, and that it is in flight.  The caller
 * must call wort_pm_land(), or flush, fence and call wort_pm_landed().
 *
 * Context: Any context.
 */
static inline void wort_pm_launch(struct wort_op *op, struct wort_lock *lock,
				  __le64 __pmem *addr, u64 val)
{
	wort_pm_publishing(op, addr, val);
	if (lock)
		WRITE_ONCE(*lock->in_flight, *lock->in_flight + 1);
	wort_pm_store_release(op, addr, val);
}

/**
 * wort_pm_landed() - Clear the mark of a launched word, which is durable now
 * @lock: As for wort_pm_launch(): held, perhaps again.
 *
 * Context: Any context.
 */
static inline void wort_pm_landed(struct wort_lock *lock)
{
	if (lock)
		WRITE_ONCE(*lock->in_flight, *lock->in_flight - 1);
}

/**
 * wort_pm_land() - Make a launched word durable
 * @op: The operation.
 * @lock: As for wort_pm_launch(), held since then.
 * @addr: The word.
 *
 * Context: Any context.
 */
static inline void wort_pm_land(struct wort_op *op, struct wort_lock *lock,
				__le64 __pmem *addr)
{
	lockdep_assert(!op->moving);
	wort_pm_flush(op, addr, sizeof(*addr));
	wort_pm_fence(op);
	wort_pm_landed(lock);
}

/**
 * wort_pm_publish() - Link prepared state in, atomically and durably
 * @op: The operation.
 * @addr: The word that makes the new state reachable.
 * @val: Its new value in the byte order of the processor.
 *
 * The caller has flushed all objects that @val makes reachable.  The first
 * fence makes them durable before the word can change, so this function
 * guarantees the order "contents, then link", and its callers need not.
 *
 * Context: Any context.  There are no other operations on the word
 * (wort_op.locks is NULL), and the caller serialises its writers.
 */
static inline void wort_pm_publish(struct wort_op *op, __le64 __pmem *addr,
				   u64 val)
{
	wort_pm_fence_contents(op);
	wort_pm_launch(op, NULL, addr, val);
	wort_pm_land(op, NULL, addr);
}

/**
 * wort_pm_publish_pair() - Publish two words under one fence
 * @op: The operation.
 * @addr: The word that makes the new state reachable.
 * @val: Its new value in the byte order of the processor.
 * @addr2: The other word.
 * @val2: Its new value.
 *
 * As wort_pm_publish(), with one fence for both words.  A crash may leave any
 * mixture of the two: the caller must show that each is legal.
 *
 * Context: Any context.  The caller serialises writers of both words.
 */
static inline void wort_pm_publish_pair(struct wort_op *op,
					__le64 __pmem *addr, u64 val,
					__le64 __pmem *addr2, u64 val2)
{
	wort_pm_publishing(op, addr, val);
	wort_pm_publishing(op, addr2, val2);
	wort_pm_fence_contents(op);
	wort_pm_store_release(op, addr, val);
	wort_pm_store_release(op, addr2, val2);
	wort_pm_flush(op, addr, sizeof(*addr));
	wort_pm_flush(op, addr2, sizeof(*addr2));
	wort_pm_fence(op);
}

/**
 * wort_pm_publish_later() - Change a word whose old and new value mean the same
 * @op: The operation.
 * @addr: The word.
 * @val: Its new value in the byte order of the processor.
 *
 * The change is atomic.  It becomes durable with a later fence, and nothing may
 * depend on when.
 *
 * Context: Any context.  The caller serialises writers of the word.
 */
static inline void wort_pm_publish_later(struct wort_op *op,
					 __le64 __pmem *addr, u64 val)
{
	wort_pm_store_release(op, addr, val);
	wort_pm_flush(op, addr, sizeof(*addr));
}

int wort_pm_probe_copy(struct wort_op *op, const void __pmem *addr,
		       size_t len);

/**
 * wort_pm_probe() - Is a range free of poison, so that it may be loaded?
 * @op: The operation.
 * @addr: First byte; wort_region_verify() accepted the range.
 * @len: Length in bytes.
 *
 * Checks only if wort_region.mcsafe is set.  Memory that goes bad between this
 * and the loads after it is not found.
 *
 * Context: Any context.
 * Return: 0; -EIO if it is poisoned and the processor can tell.
 */
static inline int wort_pm_probe(struct wort_op *op, const void __pmem *addr,
				size_t len)
{
	if (likely(!op->region->mcsafe))
		return 0;
	return wort_pm_probe_copy(op, addr, len);
}

void wort_pm_zero(struct wort_op *op, void __pmem *dst, size_t len);
int wort_pm_read(struct wort_op *op, void *dst, const void __pmem *src,
		 size_t len);
u32 wort_pm_common(struct wort_counts *n, const void __pmem *addr,
		   const void *data, u32 len);

/**
 * wort_pm_read_words() - Copy bytes from media, by words if at most a line
 * @op: The operation.
 * @dst: Memory of the caller: room for whole words.
 * @src: As for wort_pm_read(); a multiple of 8.
 * @len: How many, at least 1.
 *
 * Context: Any context.
 * Return: As wort_pm_read().
 */
static __always_inline int wort_pm_read_words(struct wort_op *op, void *dst,
					      const void __pmem *src, u32 len)
{
	const u64 *from = (__force const u64 *)src;
	u64 *to = dst;
	u32 i;

	if (unlikely(len > WORT_LINE || op->region->mcsafe))
		return wort_pm_read(op, dst, src, len);
	wort_count(op, more_loads,
		   1 + wort_pm_lines_differ(src, src + len - 1));
	for (i = 0; i * sizeof(u64) < len; i++)
		to[i] = READ_ONCE(from[i]);
	return 0;
}

/* wort_pm_equal() of eight bytes, without counting. */
static __always_inline bool wort_pm_equal_word(const void __pmem *addr,
					       const void *data)
{
	u64 word;

	memcpy(&word, data, sizeof(word));
	return READ_ONCE(*(__force const u64 *)addr) == word;
}

/*
 * The same of any number: by words, of which the last may overlap the one
 * before.
 */
static __always_inline bool wort_pm_equal_bytes(const void __pmem *addr,
						const void *data, u32 len)
{
	const u8 *a = (__force const u8 *)addr, *b = data;
	u32 i;

	if (len < sizeof(u32))
		return wort_bytes_high(a, len) == wort_bytes_high(b, len);
	if (len < sizeof(u64)) {
		i = len - sizeof(u32);
		return wort_bytes_be32(a) == wort_bytes_be32(b) &&
		       wort_bytes_be32(a + i) == wort_bytes_be32(b + i);
	}
	for (i = 0; i + sizeof(u64) < len; i += sizeof(u64))
		if (wort_bytes_be64(a + i) != wort_bytes_be64(b + i))
			return false;
	i = len - sizeof(u64);
	return wort_bytes_be64(a + i) == wort_bytes_be64(b + i);
}

/* The lines of a range without the first, which the caller has read before. */
static __always_inline u32 wort_pm_more_lines(const void __pmem *addr, u32 len)
{
	unsigned long in_line = (__force unsigned long)addr % WORT_LINE;

	return (in_line + len - 1) / WORT_LINE;
}

/**
 * wort_pm_equal() - Do media and memory hold the same bytes?
 * @op: The operation.
 * @addr: Bytes on media, as for wort_pm_common(); a multiple of 8.
 * @data: Bytes of the caller.
 * @len: How many, not 0.
 *
 * Context: Any context.
 * Return: True if they do.
 */
static __always_inline bool wort_pm_equal(struct wort_op *op,
					  const void __pmem *addr,
					  const void *data, u32 len)
{
	if (likely(len == sizeof(u64)))
		return wort_pm_equal_word(addr, data);
	wort_count(op, more_loads, wort_pm_more_lines(addr, len));
	return wort_pm_equal_bytes(addr, data, len);
}

#endif /* _WORT_PMEM_H */
