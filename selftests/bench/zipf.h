/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranks by Zipf's law with the constant that YCSB uses, drawn as by Gray et al.,
 * "Quickly generating billion-record synthetic databases" (SIGMOD'94).
 */
#ifndef _WORT_BENCH_ZIPF_H
#define _WORT_BENCH_ZIPF_H

#include <math.h>
#include <stdint.h>

#include "pmpool.h"

#define ZIPF_THETA	0.99

struct zipf {
	uint64_t nr;
	double zeta, alpha, eta;
};

static inline void zipf_init(struct zipf *zipf, uint64_t nr)
{
	double zeta = 0, two = 1 + pow(0.5, ZIPF_THETA);
	uint64_t i;

	for (i = 1; i <= nr; i++)
		zeta += pow(1.0 / i, ZIPF_THETA);
	zipf->nr = nr;
	zipf->zeta = zeta;
	zipf->alpha = 1 / (1 - ZIPF_THETA);
	zipf->eta = (1 - pow(2.0 / nr, 1 - ZIPF_THETA)) / (1 - two / zeta);
}

/* A rank below zipf->nr: 0 is the most frequent. */
static inline uint64_t zipf_next(const struct zipf *zipf, uint64_t *seed)
{
	double u = (test_random(seed) >> 11) / 9007199254740992.0;
	uint64_t rank;

	if (u * zipf->zeta < 1)
		return 0;
	if (u * zipf->zeta < 1 + pow(0.5, ZIPF_THETA))
		return 1 % zipf->nr;
	rank = zipf->nr * pow(zipf->eta * u - zipf->eta + 1, zipf->alpha);
	return rank < zipf->nr ? rank : zipf->nr - 1;
}

/* Frequent ranks shall not be neighbours. */
static inline uint64_t zipf_scatter(uint64_t rank)
{
	rank = (rank ^ rank >> 33) * 0xff51afd7ed558ccdULL;
	rank = (rank ^ rank >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return rank ^ rank >> 33;
}

#endif
