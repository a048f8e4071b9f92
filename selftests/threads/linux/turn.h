/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Nobody waits for others to get a turn, unless a program wants that. */
#ifndef _THREADS_TURN_H
#define _THREADS_TURN_H

#define shim_turn(bits)	do { } while (0)

#endif
