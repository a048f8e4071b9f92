/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORT_TEST_HOSTILE_H
#define _WORT_TEST_HOSTILE_H

#include "image.h"

/* Operations, and a set of those that have to find a damage. */
enum {
	LOOKUP, SCAN, RSCAN, SEEK, INSERT, DELETE, CHECKS, WALK, DESTROY,
	NR_OPS,
};

#define FIND(op)		(1U << (op))
#define SCANS		(FIND(SCAN) | FIND(RSCAN))
#define WALKS		(FIND(CHECKS) | FIND(WALK))
#define ALL_OPS		(FIND(LOOKUP) | SCANS | WALKS)

extern struct wort_index *hostile_indexes[3];	/* while attached; "a", "b", "c" */

void hostile_attach(void);
void hostile_detach(void);
/* Does a check find damage? */
bool hostile_check(void);
/* Carry out one operation; true if it found the damage. */
bool hostile_try(u32 op);
/*
 * The image as it is patched: each operation of @finders finds that.  Afterwards the
 * image is clean.
 */
void hostile_case(const char *what, u32 finders);

/*
 * Every operation on image.patched, each on a fresh copy and then all of them
 * one after another.  They shall return.
 */
void hostile_try_all(void);

/* Runs in a process of its own: false if that was killed. */
bool hostile_survives(void (*run)(void));

/* Bad memory is known to be bad to nobody. */
extern bool bad_pages_poison;
/* How many keys of "a" are served, if the page of an object that leads to some is bad. */
u32 bad_pages_served(u64 off);

#endif /* _WORT_TEST_HOSTILE_H */
