/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_KREF_H
#define _SHIM_KREF_H

#include <linux/types.h>

struct kref {
	int count;
};

static inline void kref_init(struct kref *ref)
{
	ref->count = 1;
}

static inline void kref_get(struct kref *ref)
{
	__atomic_add_fetch(&ref->count, 1, __ATOMIC_RELAXED);
}

static inline int kref_put(struct kref *ref, void (*release)(struct kref *ref))
{
	if (__atomic_sub_fetch(&ref->count, 1, __ATOMIC_ACQ_REL))
		return 0;
	release(ref);
	return 1;
}

#endif
