// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A pool that nobody changes for a time.
 */
#include "internal.h"

static int freeze(struct wort_pool *pool, uint32_t flags)
{
	struct wort_freeze_arg arg = { .size = sizeof(arg), .flags = flags };

	return wort_ioctl(wort_pool_fd(pool), WORT_IOC_FREEZE, &arg);
}

WORT_API int wort_pool_freeze(struct wort_pool *pool)
{
	return freeze(pool, 0);
}

WORT_API int wort_pool_thaw(struct wort_pool *pool)
{
	return freeze(pool, WORT_FREEZE_F_THAW);
}
