// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <trace/events/wort.h>

#include "pmem.h"

/* Words of media that a range touches. */
static u64 words(const void __pmem *addr, size_t len)
{
	unsigned long start = (__force unsigned long)addr;

	return len ? (start + len - 1) / 8 - start / 8 + 1 : 0;
}

/**
 * wort_pm_trace() - Tell the tracepoint of a word that is about to change
 * @region: The region.
 * @addr: The word.
 * @val: Its new value in the byte order of the processor.
 *
 * Context: Any context.
 */
void wort_pm_trace(const struct wort_region *region, const __le64 __pmem *addr,
		   u64 val)
{
	trace_wort_publish(region->dev,
			   (const void __pmem *)addr - region->base, val);
}

/**
 * wort_pm_flush_gathered() - Flush what was gathered
 * @op: An operation that gathers lines, perhaps with others.
 *
 * Context: As wort_pm_flush().
 */
void wort_pm_flush_gathered(struct wort_op *op)
{
	struct wort_lines *lines = op->gather;
	const void __pmem *line;
	u32 i;

	for (i = 0; i < lines->nr; i++) {
		line = lines->line[WORT_LINES_NEAR + i];
		wort_powercut_flush(lines->fences, line, WORT_LINE);
		arch_wb_cache_pmem((__force void *)line, WORT_LINE);
	}
	lines->nr = 0;
}

static bool gathered(const struct wort_lines *lines, const void __pmem *line)
{
	const void __pmem *const *near = &lines->line[lines->nr];

	BUILD_BUG_ON(WORT_LINES_NEAR != 4);
	return near[3] == line || near[2] == line || near[1] == line ||
	       near[0] == line;
}

/**
 * wort_pm_gather() - Flush a range before the next fence
 * @op: An operation that gathers lines.
 * @addr: First byte of the range.
 * @len: Length in bytes.
 *
 * Context: As wort_pm_flush().
 */
void wort_pm_gather(struct wort_op *op, const void __pmem *addr, size_t len)
{
	unsigned long in_line = (__force unsigned long)addr % WORT_LINE;
	const void __pmem *line = addr - in_line, *end = addr + len;
	struct wort_lines *lines = op->gather;

	for (; line < end; line += WORT_LINE) {
		/* Also the line of another operation has to be waited for. */
		op->pending++;
		if (gathered(lines, line))
			continue;
		if (lines->nr == WORT_LINES_MAX)
			wort_pm_flush_gathered(op);
		lines->line[WORT_LINES_NEAR + lines->nr++] = line;
		wort_count(op, lines, 1);
	}
}

/* Kept out of the way of descents. */
noinline void wort_pm_flush_read(struct wort_op *op, u64 off, size_t len)
{
	wort_pm_flush(op, wort_region_at(op->region, off), len);
}

/**
 * wort_pm_write_any() - As wort_pm_write(), however many bytes
 * @op: The operation.
 * @dst: Where to.
 * @src: Bytes of the caller.
 * @len: How many; may be 0.
 *
 * Context: Any context.
 */
void wort_pm_write_any(struct wort_op *op, void __pmem *dst, const void *src,
		       size_t len)
{
	wort_count(op, stores, words(dst, len));
	memcpy((__force void *)dst, src, len);
}

/**
 * wort_pm_zero() - Store zeroes where nobody can reach yet
 * @op: The operation.
 * @dst: Where to.
 * @len: How many bytes; may be 0.
 *
 * Not flushed.
 *
 * Context: Any context.
 */
void wort_pm_zero(struct wort_op *op, void __pmem *dst, size_t len)
{
	wort_count(op, stores, words(dst, len));
	memset((__force void *)dst, 0, len);
}

/**
 * wort_pm_read() - Copy bytes from media, safe from machine checks
 * @op: The operation.
 * @dst: Memory of the caller.
 * @src: Where from; wort_region_verify() accepted the range.
 * @len: How many; may be 0.
 *
 * Context: Any context.
 * Return: 0, or -EIO if the memory is poisoned and the processor can tell.
 */
int wort_pm_read(struct wort_op *op, void *dst, const void __pmem *src,
		 size_t len)
{
	if (!len)
		return 0;
	wort_count(op, more_loads, 1 + wort_pm_more_lines(src, len));
	return copy_mc_to_kernel(dst, (__force const void *)src, len) ?
	       -EIO : 0;
}

/**
 * wort_pm_probe_copy() - Copy a range, and forget it
 * @op: The operation.
 * @addr: First byte.
 * @len: Length in bytes.
 *
 * Context: Any context.
 * Return: 0 or -EIO.
 */
int wort_pm_probe_copy(struct wort_op *op, const void __pmem *addr, size_t len)
{
	u8 copy[2 * WORT_LINE];
	size_t done, n;

	for (done = 0; done < len; done += n) {
		n = min(len - done, sizeof(copy));
		if (copy_mc_to_kernel(copy, (__force const void *)addr + done,
				      n))
			return -EIO;
	}
	return 0;
}

/* The number of bytes before the first difference, up to 8. */
static u32 word_common(const u8 *media, const u8 *bytes)
{
	__be64 a, b;

	memcpy(&a, media, sizeof(a));
	memcpy(&b, bytes, sizeof(b));
	return a == b ? 8 : (64 - fls64(be64_to_cpu(a ^ b))) / 8;
}

/**
 * wort_pm_common() - Length of the common beginning of media and memory
 * @n: Counts of the operation.
 * @addr: Bytes on media.
 * @data: Bytes of the caller.
 * @len: How many of both to compare at most.
 *
 * Counts the lines but for the first, in which the caller has read before.
 *
 * Context: Any context.
 * Return: The number of bytes before the first difference, up to @len.
 */
u32 wort_pm_common(struct wort_counts *n, const void __pmem *addr,
		   const void *data, u32 len)
{
	const u8 *media = (__force const u8 *)addr;
	const u8 *bytes = data;
	u32 i, same;

	if (static_branch_likely(&wort_counting))
		n->more_loads += wort_pm_more_lines(addr, len);
	for (i = 0; i + 8 <= len; i += 8) {
		same = word_common(media + i, bytes + i);
		if (same < 8)
			return i + same;
	}
	/* The last word may begin in the one before. */
	if (len > 8)
		return len - 8 + word_common(media + len - 8, bytes + len - 8);
	for (; i < len; i++)
		if (READ_ONCE(media[i]) != bytes[i])
			break;
	return i;
}
