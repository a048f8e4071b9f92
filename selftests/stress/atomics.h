/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records that only atomic batches change.  Groups: two records in index "a" and one
 * in "c", whose values are equal at every moment.  Movers: records that are in "a" or
 * in "c", and at every moment in one of them.  The keys begin with 'd' and 'e'.
 */
#ifndef _STRESS_ATOMICS_H
#define _STRESS_ATOMICS_H

#include <stdint.h>

/* Batches that changed something, and those that were refused. */
extern uint64_t nr_atomics, nr_refused;

void atomics_fill(void);

/* One step of an owner, or of a reader. */
void atomics_change(uint32_t owner, uint64_t *random);
void atomics_look(uint64_t *random);

/* While the pool is frozen: all batches are wholly there, or not at all. */
void atomics_frozen(uint64_t *random);

/* While nobody changes anything. */
void atomics_verify(void);

#endif
