/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * How engines are followed in a mapping: a function for each, and a row in
 * reader_engine.c.
 */
#ifndef _WORT_READER_ENGINE_H
#define _WORT_READER_ENGINE_H

#include <endian.h>
#include <errno.h>

#include <linux/wort_format.h>

#include "reader.h"

wort_reader_find_fn wort_reader_find_wort, wort_reader_find_art;

/*
 * Load a word of a node.  The mark of the node is set before the word is stored, so it
 * is loaded after the word.  Return: -EAGAIN if the word may not be durable.
 */
static inline int wort_reader_load(const unsigned char *pool,
				   const uint32_t *in_flight, uint64_t node,
				   uint64_t off, uint64_t *word)
{
	uint32_t nr = WORT_MAP_NODE(node);

	*word = le64toh(__atomic_load_n((const uint64_t *)(pool + off),
					__ATOMIC_ACQUIRE));
	return __atomic_load_n(&in_flight[nr], __ATOMIC_RELAXED) ?
	       -EAGAIN : 0;
}

#endif
