/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_LIST_SORT_H
#define _SHIM_LIST_SORT_H

#include <linux/list.h>

typedef int list_cmp_func_t(void *priv, const struct list_head *a,
			    const struct list_head *b);

/* Stable, as the kernel's. */
void list_sort(void *priv, struct list_head *head, list_cmp_func_t *cmp);

#endif
