// SPDX-License-Identifier: GPL-2.0-only
/*
 * How far a load, a dump or a check has come, on stderr.
 */
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define INTERVAL	0.5	/* seconds */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void progress_begin(struct progress *progress)
{
	*progress = (struct progress) {
		.shown = settings.verbose ||
			 (!settings.quiet && isatty(STDERR_FILENO)),
		.begin = now(),
	};
	progress->last = progress->begin;
}

static double rate(const struct progress *progress, double at)
{
	double secs = at - progress->begin;

	return secs > 0 ? progress->count / secs : 0;
}

/* A terminal's line is written over, a log gets lines. */
static void show(const struct progress *progress, double at, bool last)
{
	bool tty = isatty(STDERR_FILENO);
	char of[40] = "";

	if (progress->total)
		snprintf(of, sizeof(of), " of %llu", ull(progress->total));
	fprintf(stderr, "%s%s: %llu%s records, %.0f/s%s",
		tty ? "\r" : "", settings.verb, ull(progress->count), of,
		rate(progress, at), tty ? "\033[K" : "\n");
	if (tty && last)
		fputc('\n', stderr);
}

void progress_tick(struct progress *progress)
{
	double at;

	if (!progress->shown)
		return;
	at = now();
	if (at - progress->last < INTERVAL)
		return;
	progress->last = at;
	show(progress, at, false);
}

double progress_end(struct progress *progress)
{
	double at = now();

	if (progress->shown)
		show(progress, at, true);
	return at - progress->begin;
}
