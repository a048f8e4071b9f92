// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for kernel code over a pool in memory: kmod/dev/api_record.c is the
 * module's own, and what it needs of kmod/dev/api.c is here.  No device can be removed.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wort_kernel.h>

#include "../../kmod/dev/api.h"
#include "host.h"

struct wort_dev {
	struct pmpool *pm;
};

static struct wort_dev host;

bool wort_api_enter(struct wort_dev *wdev, unsigned int *noio)
{
	return true;
}

void wort_api_leave(struct wort_dev *wdev, unsigned int noio)
{
}

int wort_api_atomic(struct wort_dev *wdev, struct wort_atomic *batch)
{
	return wort_pool_atomic(wdev->pm->pool, batch);
}

void dirindex_serve(struct pmpool *pm)
{
	host.pm = pm;
}

int dirindex_load(struct pmpool *pm)
{
	dirindex_serve(pm);
	return dirindex_module_init();
}

void dirindex_unload(void)
{
	dirindex_module_exit();
}

struct wort_kernel_pool *wort_kernel_pool_open(const char *name)
{
	return (struct wort_kernel_pool *)&host;
}

void wort_kernel_pool_close(struct wort_kernel_pool *pool)
{
}

struct wort_kernel_index *
wort_kernel_index_open(struct wort_kernel_pool *pool, const char *name,
		       u32 flags, u32 engine, u64 attr)
{
	struct wort_kernel_index *index = kzalloc(sizeof(*index), GFP_KERNEL);

	if (!index)
		return ERR_PTR(-ENOMEM);
	index->wdev = &host;
	index->index = pmpool_index(host.pm, name);
	return index;
}

void wort_kernel_index_close(struct wort_kernel_index *index)
{
	wort_index_put(index->index);
	kfree(index);
}

int wort_kernel_state(struct wort_kernel_index *index)
{
	return 0;
}

int wort_kernel_wait_lost(struct wort_kernel_index *index, long timeout)
{
	return 0;
}
