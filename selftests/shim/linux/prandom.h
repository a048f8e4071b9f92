/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* xorshift64*, as good as any. */
#ifndef _SHIM_PRANDOM_H
#define _SHIM_PRANDOM_H

#include <linux/types.h>

struct rnd_state {
	u64 s;
};

static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	state->s = seed * 0x9e3779b97f4a7c15ULL + 1;
}

static inline u32 prandom_u32_state(struct rnd_state *state)
{
	state->s ^= state->s >> 12;
	state->s ^= state->s << 25;
	state->s ^= state->s >> 27;
	return state->s * 0x2545f4914f6cdd1dULL >> 32;
}

#endif
