/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_RCUPDATE_H
#define _SHIM_RCUPDATE_H

/* Readers hold the lock of the index, so a grace period is over at once. */
#define synchronize_rcu()	do { } while (0)

#endif
