/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORT_TEST_HOSTILE_H
#define _WORT_TEST_HOSTILE_H

#include "image.h"

/*
 * Every operation on image.patched, each on a fresh copy and then all of them
 * one after another.  They shall return.
 */
void hostile_try_all(void);

/* Runs in a process of its own: false if that was killed. */
bool hostile_survives(void (*run)(void));

#endif /* _WORT_TEST_HOSTILE_H */
