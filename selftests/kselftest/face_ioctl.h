/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool being worked on through the module.
 */
#ifndef _WORT_FACE_IOCTL_H
#define _WORT_FACE_IOCTL_H

#include "wort_test.h"
#include "face.h"

struct runner {
	const char *device;
	int control;
	int minor;		/* negative: not attached */
	int pool;
	int index[NR_INDEXES];	/* negative: not open */
};

#endif
