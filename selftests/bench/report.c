// SPDX-License-Identifier: GPL-2.0-only
/*
 * Figures, for people and for programs.
 */
#include <stdlib.h>

#include "median.h"
#include "pmpool.h"
#include "report.h"

static const struct sample *find(const struct sample *samples, size_t nr,
				 unsigned int peer, unsigned int op,
				 unsigned int turn)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (samples[i].peer == peer && samples[i].op == op &&
		    samples[i].turn == turn)
			return &samples[i];
	return NULL;
}

/* The first peer that has this operation is what the others are measured by. */
static unsigned int measure_of(const struct sample *samples, size_t nr,
			       unsigned int op, unsigned int nr_peers)
{
	unsigned int peer;

	for (peer = 0; peer < nr_peers; peer++)
		if (find(samples, nr, peer, op, 0))
			break;
	return peer;
}

/* Medians of the turns, as all figures but exact counts are. */
static void print_latency(const struct sample *const *of, unsigned int turns)
{
	static const char *const names[] = { "p50", "p99", "p99.9" };
	double column[MAX_TURNS];
	unsigned int i, turn;

	for (i = 0; i < 3 && of[0]->latency[0]; i++) {
		for (turn = 0; turn < turns; turn++)
			column[turn] = of[turn]->latency[i];
		printf("%s %s %.0f", i ? "" : " ", names[i],
		       median_of(column, turns));
	}
}

static void print_misses(const struct sample *const *of, unsigned int turns)
{
	double column[MAX_TURNS];
	unsigned int turn;

	if (of[0]->misses < 0)
		return;
	for (turn = 0; turn < turns; turn++)
		column[turn] = of[turn]->misses / (double)of[turn]->nr;
	printf("  %.2f misses", median_of(column, turns));
}

static void print_counts(const struct sample *sample)
{
	const struct bench_counts *n = &sample->counts;
	double ops = sample->nr;

	if (n->fences)
		printf("  %.2f ordering points, %.2f lines",
		       n->ordering_points / ops, n->lines / ops);
	if (n->stores)
		printf(", %.2f stores", n->stores / ops);
	if (n->loads)
		printf("  %.2f loads", n->loads / ops);
	if (n->nodes)
		printf(", %.2f nodes", n->nodes / ops);
}

static void print_row(const char *name, const struct sample *samples, size_t nr,
		      unsigned int peer, unsigned int op, unsigned int measure,
		      uint64_t keys, unsigned int turns)
{
	const struct sample *of[MAX_TURNS] = {
		find(samples, nr, peer, op, 0)
	};
	double ns[MAX_TURNS], ratio[MAX_TURNS], mid;
	unsigned int i;

	if (!of[0])
		return;
	for (i = 0; i < turns; i++) {
		of[i] = find(samples, nr, peer, op, i);
		ns[i] = of[i]->ns;
		ratio[i] = of[i]->ns / find(samples, nr, measure, op, i)->ns;
	}
	mid = median_of(ratio, turns);
	printf("  %-10s %-15s %8.0f ns  %5.2f [%.2f..%.2f]", bench_ops[op].name,
	       name, median_of(ns, turns), mid, ratio[0], ratio[turns - 1]);
	if (bench_ops[op].fills)
		printf("  %.1f bytes/key", (double)of[0]->bytes / keys);
	print_counts(of[0]);
	print_misses(of, turns);
	print_latency(of, turns);
	putchar('\n');
}

void report_table(const char *workload, uint64_t nr, unsigned int turns,
		  const struct bench_peer *const *peers, unsigned int nr_peers,
		  const struct sample *samples, size_t nr_samples)
{
	unsigned int op, peer, measure;

	printf("\n%s, %llu keys\n", workload, (unsigned long long)nr);
	for (op = 0; bench_ops[op].name; op++) {
		measure = measure_of(samples, nr_samples, op, nr_peers);
		for (peer = measure; peer < nr_peers; peer++)
			print_row(peers[peer]->name, samples, nr_samples, peer,
				  op, measure, nr, turns);
	}
	fflush(stdout);
}

FILE *report_csv_create(const char *path)
{
	return csv_create(path, "workload,keys,peer,durability,clock,beside,op,turn,ops,ns,ordering_points,lines,fences,stores,loads,nodes,misses,bytes,p50,p99,p999");
}

static void csv_sample(FILE *csv, const struct sample *sample)
{
	const struct bench_counts *n = &sample->counts;
	unsigned int i;

	fprintf(csv, "%s,%u,%llu,%.2f,%llu,%llu,%llu,%llu,%llu,%llu,",
		bench_ops[sample->op].name, sample->turn,
		(unsigned long long)sample->nr, sample->ns,
		(unsigned long long)n->ordering_points,
		(unsigned long long)n->lines, (unsigned long long)n->fences,
		(unsigned long long)n->stores, (unsigned long long)n->loads,
		(unsigned long long)n->nodes);
	if (sample->misses >= 0)
		fprintf(csv, "%.0f", sample->misses);
	fprintf(csv, ",%zu", sample->bytes);
	for (i = 0; i < 3; i++) {
		if (sample->latency[0])
			fprintf(csv, ",%.0f", sample->latency[i]);
		else
			fputc(',', csv);
	}
}

void report_csv(FILE *csv, const struct setting *setting, const char *workload,
		const struct plan *plan, const struct sample *samples,
		size_t nr_samples)
{
	size_t i;

	for (i = 0; i < nr_samples; i++) {
		const struct bench_peer *peer = plan->peers[samples[i].peer];

		fprintf(csv, "%s,%llu,%s,\"%s\",%s,%llu,", workload,
			(unsigned long long)plan->keys->nr, peer->name,
			peer->durability, run_by_wall_clock(plan) ? "wall" : "thread",
			(unsigned long long)plan->beside);
		csv_sample(csv, &samples[i]);
		csv_end_line(csv, setting);
	}
	fflush(csv);
}
