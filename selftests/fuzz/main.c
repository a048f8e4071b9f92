// SPDX-License-Identifier: GPL-2.0-only
/*
 * The image fuzzer.
 *
 *	fuzz [-e ENGINE] [-s SEED] [-t SECONDS] [-m MUTATIONS] [-n RUNS]
 *	     [-j WORKERS] [-k FINDINGS]
 *	fuzz [-e ENGINE] -s SEED -r RUN [-w FILE]
 *
 * Each run takes one of some sound images, changes a few words of it, and does with
 * it what programs do: see run.c.  A run is told by the seed and its number, so
 * what it found is found again by these; -r says what is done, and -w keeps the
 * image.  Workers are processes: one that dies has found something, and another
 * one goes on behind it, until there are so many findings.  Without -t it ends after
 * a minute, with -m when so many words were changed, with -n after so many runs.
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/printk.h>

#include "fuzz.h"

#define MAX_WORKERS	64
#define SECONDS_OF_RUN	10
#define CHUNK		64	/* runs that a worker takes at a time */

/* What workers share. */
struct shared {
	u64 next;		/* run */
	u64 outcomes[3];
	u64 changes;
	u64 doing[MAX_WORKERS];
};

static struct options {
	u64 seed;
	u64 runs;
	u64 mutations;
	u64 one;
	u32 seconds;
	u32 workers;
	u32 findings;
	const char *file;
	const struct test_engine *engine;
} options = { .seed = 1, .runs = U64_MAX, .mutations = U64_MAX, .one = U64_MAX,
	      .workers = 1, .findings = 1, .engine = &test_engines[0] };

static struct shared *shared;
static struct fuzz *running;
static u64 *doing;
static u64 begun_before;

void say(const struct fuzz *f, const char *fmt, ...)
{
	va_list ap;

	if (!f->say)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void finding(struct fuzz *f, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "fuzz: FOUND: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_abort=1:detect_leaks=0:quarantine_size_mb=2:malloc_context_size=2";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1";
}

/* Of the time of this processor: a run that began before the last signal hangs. */
static void on_alarm(int sig)
{
	if (begun_before == *doing && running)
		finding(running, "does not end");
	begun_before = *doing;
}

static void watch(void)
{
	const struct itimerval limit = {
		.it_value.tv_sec = SECONDS_OF_RUN,
		.it_interval.tv_sec = SECONDS_OF_RUN,
	};

	begun_before = U64_MAX;
	signal(SIGVTALRM, on_alarm);
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void begin_run(struct fuzz *f, u64 nr)
{
	*f = (struct fuzz){
		.rnd = (options.seed * 0x9e3779b97f4a7c15ULL) ^
		       ((nr + 1) * 0xc2b2ae3d27d4eb4fULL),
		.say = options.one != U64_MAX,
	};
	f->rnd += !f->rnd;
	test_random(&f->rnd);
	f->base = &bases[draw(f, nr_bases)];
	/* That of many indexes takes ten times as long. */
	if (f->base->nr_entries > 8 && !one_in(f, 4))
		f->base = &bases[0];
}

static void run_one(u64 nr)
{
	struct fuzz f;
	enum outcome outcome;

	*doing = nr;
	begin_run(&f, nr);
	running = &f;
	outcome = run(&f);
	running = NULL;
	__atomic_add_fetch(&shared->outcomes[outcome], 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shared->changes, f.changes, __ATOMIC_RELAXED);
}

/* From @from on to the end of that chunk, and then others. */
static void work(u32 worker, u64 from, double end)
{
	u64 nr = from;

	doing = &shared->doing[worker];
	watch();
	do {
		if (nr % CHUNK == 0)
			nr = __atomic_fetch_add(&shared->next, CHUNK,
						__ATOMIC_RELAXED);
		do {
			if (nr >= options.runs)
				_exit(0);
			run_one(nr++);
		} while (nr % CHUNK);
	} while (now() < end && shared->changes < options.mutations);
	_exit(0);
}

static pid_t start(u32 worker, u64 from, double end)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("cannot fork");
	if (!pid)
		work(worker, from, end);
	return pid;
}

static void tell_replay(u64 nr)
{
	struct fuzz f;

	begin_run(&f, nr);
	fprintf(stderr, "fuzz: image \"%s\"; again: build/fuzz/fuzz -e %s -s %llu -r %llu\n",
		f.base->name, f.base->engine->name, (unsigned long long)options.seed,
		(unsigned long long)nr);
}

/* Returns how many runs have found something. */
static u32 supervise(double end)
{
	pid_t pid[MAX_WORKERS], dead;
	u32 left = options.workers, found = 0, i;
	int status;

	for (i = 0; i < options.workers; i++)
		pid[i] = start(i, 0, end);
	while (left) {
		dead = wait(&status);
		for (i = 0; i < options.workers && pid[i] != dead; i++)
			;
		left--;
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			continue;
		tell_replay(shared->doing[i]);
		if (++found >= options.findings)
			end = 0;
		else if (now() < end)
			pid[i] = start(i, shared->doing[i] + 1, end), left++;
	}
	return found;
}

/* As it is before the first step. */
static void keep_image(void)
{
	struct fuzz f;
	FILE *file = fopen(options.file, "w");

	begin_run(&f, options.one);
	base_restore(f.base);
	mutate(&f);
	if (!file || fwrite(f.base->mem, 1, f.base->size, file) != f.base->size ||
	    fclose(file))
		die("cannot write %s", options.file);
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "e:s:t:m:n:j:k:r:w:")) != -1) {
		if (opt == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (opt == 't')
			options.seconds = strtoul(optarg, NULL, 0);
		else if (opt == 'm')
			options.mutations = strtoull(optarg, NULL, 0);
		else if (opt == 'n')
			options.runs = strtoull(optarg, NULL, 0);
		else if (opt == 'j')
			options.workers = strtoul(optarg, NULL, 0);
		else if (opt == 'k')
			options.findings = strtoul(optarg, NULL, 0);
		else if (opt == 'r')
			options.one = strtoull(optarg, NULL, 0);
		else if (opt == 'w')
			options.file = optarg;
		else if (opt == 'e' && test_engine_named(optarg))
			options.engine = test_engine_named(optarg);
		else
			die("usage: %s [-e ENGINE] [-s SEED] [-t SECONDS] [-m MUTATIONS] [-n RUNS] [-j WORKERS] [-k FINDINGS] [-r RUN [-w FILE]]",
			    argv[0]);
	}
	/* A machine may have more processors. */
	options.workers = min_t(u32, options.workers, MAX_WORKERS);
	if (!options.workers)
		die("at least one worker");
	if (!options.seconds)
		options.seconds = options.mutations == U64_MAX &&
				  options.runs == U64_MAX ? 60 : U32_MAX;
}

static int replay(void)
{
	if (options.file)
		keep_image();
	doing = &shared->doing[0];
	watch();
	run_one(options.one);
	printf("run %llu finds nothing\n", (unsigned long long)options.one);
	return 0;
}

/* Only what a check finds clean is compared with the model: one image in ten at least. */
static bool compares_few(u64 runs)
{
	if (runs < 1000 || shared->outcomes[RUN_CLEAN] >= runs / 10)
		return false;
	fprintf(stderr, "fuzz: so few images are clean that little was compared\n");
	return true;
}

int main(int argc, char **argv)
{
	double begin = now();
	u64 runs;
	u32 found;

	parse(argc, argv);
	shim_log_quiet = options.one == U64_MAX;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("no memory");
	bases_make(options.engine);
	if (options.one != U64_MAX)
		return replay();
	found = supervise(begin + options.seconds);
	runs = shared->outcomes[RUN_REFUSED] + shared->outcomes[RUN_DAMAGED] +
	       shared->outcomes[RUN_CLEAN];
	printf("fuzz: seed %llu, %llu mutations in %llu images, %llu attached, %llu clean, %.0f s, %u findings\n",
	       (unsigned long long)options.seed,
	       (unsigned long long)shared->changes, (unsigned long long)runs,
	       (unsigned long long)(runs - shared->outcomes[RUN_REFUSED]),
	       (unsigned long long)shared->outcomes[RUN_CLEAN], now() - begin,
	       found);
	return found || compares_few(runs);
}
