/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _WORT_SHIM_NOSPEC_H
#define _WORT_SHIM_NOSPEC_H

#define array_index_nospec(index, size)	(index)

#endif
