/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORT_BENCH_MEDIAN_H
#define _WORT_BENCH_MEDIAN_H

#include <stdlib.h>

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values.  Of an even number it is between the two in the middle. */
static inline double median_of(double *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return (values[(nr - 1) / 2] + values[nr / 2]) / 2;
}

#endif
