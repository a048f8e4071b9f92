/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORT_BENCH_BUILTIN_H
#define _WORT_BENCH_BUILTIN_H

#include "peer.h"

extern struct bench_env bench_env;

/* Peers that are part of the program, up to one without a name. */
extern const struct bench_peer builtin_peers[];

#endif
