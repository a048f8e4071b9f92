/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that change several records at once by atomic batches, in two indexes,
 * "left" and "right".
 *
 * A group has 64 accounts, half of them in each index.  Transfers move amounts
 * between accounts of a group: the sum of a group never differs.  Names are moved
 * from one index to the other: each is there exactly once.  Both hold at every
 * moment, so no ledger is needed but a word that says whether they have been made.
 */
#ifndef _LOAD_TRANSFERS_H
#define _LOAD_TRANSFERS_H

#include "load.h"

/* Make what is not there yet.  0 or a negative errno. */
int transfers_create(struct load *load, int pool);

/*
 * Work until something fails, and say with what.  @singly: as it must not be done,
 * an amount is moved by one put after the other.
 */
int transfers_work(struct load *load, int pool, int number, uint64_t seed, bool singly);

/* Look at sums and names until something is wrong, which is printed. */
int transfers_watch(int pool, uint64_t seed);

/* While nobody changes anything; what is wrong is printed.  0 or -EILSEQ. */
int transfers_verify(const struct load *load, int pool);

#endif /* _LOAD_TRANSFERS_H */
