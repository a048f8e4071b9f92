/* SPDX-License-Identifier: GPL-2.0-only */
/* What all figures of a run have in common, and every one of them has to say. */
#ifndef _WORT_BENCH_SETTING_H
#define _WORT_BENCH_SETTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_TURNS	100

struct setting {
	char processor[128];
	const char *memory;
	const char *flush;
	unsigned int added_ns;
	uint64_t seed;
	unsigned int turns;
};

/* By enum bench_flush, and by enum shim_flush, which is the beginning of it. */
extern const char *const flush_names[5];

/*
 * The first thing that a program does: it begins again with malloc() in huge pages, unless
 * GLIBC_TUNABLES is set.  The kernel maps its memory by such pages, too; with small ones, what
 * indexes keep in DRAM would be slower here than there.
 */
void setting_huge_pages(char **argv);
/* Plain DRAM, in huge pages if the kernel gives them, the best flush, nothing added. */
void setting_detect(struct setting *setting);
void setting_print(const struct setting *setting);
/* Read the number of an option.  If it is none, or out of bounds, say so and end the program. */
uint64_t setting_number(const char *text, uint64_t least, uint64_t most);
/* Indexes are to have the engine with a name; false if there is none. */
bool setting_engine(const char *name);

/* For programs: the columns of a setting are the last ones of each line. */
FILE *csv_create(const char *path, const char *columns);
void csv_end_line(FILE *csv, const struct setting *setting);
void csv_close(FILE *csv, const char *path);

#endif
