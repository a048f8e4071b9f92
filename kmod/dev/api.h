/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handles of other kernel code, and how its calls begin and end.
 */
#ifndef _WORT_API_H
#define _WORT_API_H

#include <linux/types.h>

struct wort_atomic;
struct wort_dev;
struct wort_index;

/**
 * struct wort_kernel_index - A handle of an index
 * @wdev: its device, held
 * @index: the index, held
 * @relaxed: a power cut can undo what lookups and scans find
 */
struct wort_kernel_index {
	struct wort_dev *wdev;
	struct wort_index *index;
	bool relaxed;
};

bool wort_api_enter(struct wort_dev *wdev, unsigned int *noio);
void wort_api_leave(struct wort_dev *wdev, unsigned int noio);
int wort_api_atomic(struct wort_dev *wdev, struct wort_atomic *batch);

#endif
