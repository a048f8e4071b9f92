/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_PROCESSOR_H
#define _SHIM_PROCESSOR_H

#define cpu_relax()	do { } while (0)

#endif
