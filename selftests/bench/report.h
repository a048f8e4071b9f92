/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORT_BENCH_REPORT_H
#define _WORT_BENCH_REPORT_H

#include <stdio.h>

#include "run.h"
#include "setting.h"

/* All samples of a workload, for people: medians, the first peer as measure. */
void report_table(const char *workload, uint64_t nr, unsigned int turns,
		  const struct bench_peer *const *peers, unsigned int nr_peers,
		  const struct sample *samples, size_t nr_samples);
/* For programs: a line for each sample. */
FILE *report_csv_create(const char *path);
void report_csv(FILE *csv, const struct setting *setting, const char *workload,
		const struct plan *plan, const struct sample *samples,
		size_t nr_samples);

#endif
