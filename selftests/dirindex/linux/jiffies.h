/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DIRINDEX_JIFFIES_H
#define _DIRINDEX_JIFFIES_H

#define HZ	100

#endif
