// SPDX-License-Identifier: GPL-2.0-only
/*
 * powercut [-n SEEDS] [-s START]... [-p K/N] [-x]: loses the power in the kernel.
 *
 * For every pool that the crash explorer starts from, or those that are named, or
 * the Kth of each N pools, and every step that it tries there: lose the power
 * before each flush and each fence, from attach to detach, with several choices of
 * what is lost.  The program writes the rest back, attaches the pool and judges it
 * by the explorer's rules: the pool is as before the step or as after it, and as
 * after it once the step was acknowledged; every byte is accounted for; further
 * steps succeed.
 *
 * Without -x it goes on after a failure.
 *
 * Needs a module built with CONFIG_WORT_POWERCUT and the file "starts" of
 * "explore --write-starts".  The pool is a partition of $WORT_DEVICE, whose
 * content is lost.
 */
#include <getopt.h>

#include "face_ioctl.h"
#include "partition.h"

#define DEBUGFS		"/sys/kernel/debug/wort/powercut/"

static struct runner runner = { .minor = -1, .index = { -1, -1 } };
static char device[64];
static __u32 nr_seeds = 2;
static bool first_only;		/* one failure is enough */
static const char *names[16];	/* of the pools to start from */
static __u32 nr_names;		/* 0: from all */
static unsigned int part = 1, nr_parts = 1;

/* What was seen from one start. */
static struct tally {
	__u32 cuts;
	__u32 done;
	__u32 states;
	__u32 by_step[NR_STEP_KINDS];
} tally;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void write_device(const void *image)
{
	int fd = open(device, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, image, WORLD_SIZE, 0) != WORLD_SIZE ||
	    fsync(fd))
		die(device);
	close(fd);
}

static void arm(__u64 event)
{
	if (write_file(DEBUGFS "arm", "%llu", event))
		die("arm");
}

/* Is the power cut?  And how many flushes and fences there were. */
static bool power_is_cut(__u64 *events)
{
	char text[96] = { }, state[16];
	int fd = open(DEBUGFS "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%15s %llu", state, events) != 2)
		die(DEBUGFS "status");
	close(fd);
	if (!strcmp(state, "failed")) {
		fprintf(stderr, "the simulation failed\n");
		exit(1);
	}
	return !strcmp(state, "cut");
}

static void read_image(__u64 seed, void *image)
{
	int fd = open(DEBUGFS "image", O_RDONLY | O_CLOEXEC);

	if (write_file(DEBUGFS "seed", "%llu", seed) || fd < 0 ||
	    read(fd, image, WORLD_SIZE) != WORLD_SIZE)
		die(DEBUGFS "image");
	close(fd);
}

static __u64 hash(__u64 h, const void *data, size_t size)
{
	const __u8 *byte = data;
	__u64 word;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		memcpy(&word, byte, sizeof(word));
		byte += sizeof(word);
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	while (size--)
		h = (h ^ *byte++) * 0x100000001b3ULL;
	return h;
}

/**
 * struct cut - A power cut
 * @event: before this flush or fence; 0: none, all are to be counted
 * @first: told: the first event that belongs to the step
 * @events: told: how many there were
 * @cut: told: the power was lost
 * @nr_worlds: told: how many of @worlds may be there
 * @worlds: told: before the step, after it, in between, and while a pool is
 *	formatted none
 */
struct cut {
	__u64 event;
	__u64 first;
	__u64 events;
	bool cut;
	__u32 nr_worlds;
	struct world worlds[MAX_WORLDS];
};

/*
 * A pool of which the same is asked is the same state.  Seen before?  Of very many, those
 * that find no room are judged each time.
 */
static bool seen(const void *image, const struct cut *cut)
{
	static __u64 table[1 << 18];
	static size_t nr;
	__u64 h = hash(1, image, WORLD_SIZE);
	size_t i;

	h = hash(h, cut->worlds, cut->nr_worlds * sizeof(cut->worlds[0]));
	for (i = h % ARRAY_SIZE(table); table[i]; i = (i + 1) % ARRAY_SIZE(table))
		if (table[i] == h)
			return true;
	if (nr < ARRAY_SIZE(table) / 2) {
		table[i] = h;
		nr++;
	}
	return false;
}

/* Start, attach, do the step, detach.  NULL, or what went wrong. */
static const char *run(const struct world_start *start,
		       const struct step *step, struct cut *cut)
{
	struct world after = start->world;
	const char *bad = NULL;
	bool before, within;

	write_device(start->image);
	memset(cut->worlds, 0, sizeof(cut->worlds));
	arm(cut->event);
	if (start->world.pool && runner_attach(&runner))
		bad = "the starting pool does not attach";
	if (!bad && face_attached(&runner) && !start->unsettled)
		face_settle(&runner);
	before = power_is_cut(&cut->first);
	cut->first++;
	if (!bad)
		bad = runner_step(&runner, &after, step);
	within = power_is_cut(&cut->events);
	runner_detach(&runner);
	cut->nr_worlds = world_within(&start->world, &after, step, cut->worlds);
	cut->nr_worlds += step->kind == STEP_FORMAT;
	if (before || !within)
		cut->nr_worlds = 1;
	if (!within)
		cut->worlds[0] = after;
	cut->cut = power_is_cut(&cut->events);
	return bad;
}

/* Which of the worlds is there? */
static const char *identify(const struct cut *cut, __u32 *which)
{
	int err = runner_attach(&runner);
	const char *bad = "no world";

	if (!err)
		face_settle(&runner);
	for (*which = 0; *which < cut->nr_worlds; ++*which) {
		const struct world *w = &cut->worlds[*which];

		if (!w->pool && err == -ENODATA)
			return NULL;
		if (!w->pool || err) {
			bad = err ? "attach fails" : "a pool that should not be";
			continue;
		}
		bad = runner_compare(&runner, w);
		if (!bad)
			return NULL;
	}
	return bad;
}

static const char *judge(const void *image, const struct cut *cut)
{
	const char *bad;
	struct world w;
	__u32 which;

	write_device(image);
	bad = identify(cut, &which);
	if (!bad && face_attached(&runner)) {
		tally.done += which == 1;
		w = cut->worlds[which];
		bad = runner_check(&runner, false);
		if (!bad)
			bad = runner_go_on(&runner, &w);
	}
	runner_detach(&runner);
	return bad;
}

static bool judge_seeds(const struct world_start *start,
			const struct step *step, const struct cut *cut)
{
	static __u8 image[WORLD_SIZE];
	const char *bad = NULL;
	char text[32];
	__u64 seed;

	for (seed = 0; seed < nr_seeds && !bad; seed++) {
		read_image(seed, image);
		tally.cuts++;
		tally.by_step[step->kind]++;
		if (seen(image, cut))
			continue;
		tally.states++;
		bad = judge(image, cut);
	}
	if (!bad)
		return true;
	step_print(step, text, sizeof(text));
	printf("# \"%s\", %s, power lost before event %llu, seed %llu: %s\n",
	       start->name, text, cut->event, seed - 1, bad);
	return false;
}

/*
 * What attaching does is the same for each step: it is swept with the first.
 * Now and then the background does less before detach than it did when events
 * were counted.
 */
static bool sweep_step(const struct world_start *start,
		       const struct step *step, bool first)
{
	struct cut cut = { }, all = { };
	const char *bad = run(start, step, &all);
	char text[32];

	for (cut.event = first ? 1 : all.first;
	     cut.event <= all.events && !bad; cut.event++) {
		bad = run(start, step, &cut);
		if (!bad && cut.cut && !judge_seeds(start, step, &cut))
			return false;
	}
	if (!bad)
		return true;
	step_print(step, text, sizeof(text));
	printf("# \"%s\", %s, power lost before event %llu: %s\n", start->name,
	       text, cut.event - 1, bad);
	runner_detach(&runner);
	return false;
}

/* What the interface has. */
static bool possible(const struct step *step)
{
	return step->kind != STEP_DAMAGE;
}

static bool sweep(const struct world_start *start, __u32 *totals)
{
	bool good = true;
	__u32 i;

	memset(&tally, 0, sizeof(tally));
	world_engine = start->engine;
	world_engine_b = start->engine_b;
	for (i = 0; i < start->nr_steps && good; i++)
		if (possible(&start->steps[i]))
			good = sweep_step(start, &start->steps[i], !i);
	for (i = 0; i < NR_STEP_KINDS; i++)
		totals[i] += tally.by_step[i];
	return good;
}

static void print_totals(const __u32 *totals, __u32 cuts, __u32 states)
{
	struct step step = { };

	printf("# %u power cuts, %u states; by step:", cuts, states);
	for (; step.kind < NR_STEP_KINDS; step.kind++)
		if (totals[step.kind])
			printf(" %s %u", step_name(&step), totals[step.kind]);
	printf("\n");
}

/* Is this one in the part, and are all wanted, or this one? */
static bool wanted(const char *name)
{
	static __u32 nr;
	__u32 i;

	if (nr++ % nr_parts != part - 1)
		return false;
	for (i = 0; i < nr_names; i++)
		if (!strcmp(names[i], name))
			return true;
	return !nr_names;
}

static int sweep_all(FILE *f)
{
	__u32 totals[NR_STEP_KINDS] = { }, cuts = 0, states = 0;
	static struct world_start start;
	int nr = 0, failed = 0;
	bool good;

	while (!(failed && first_only) &&
	       fread(&start, sizeof(start), 1, f) == 1) {
		if (!wanted(start.name))
			continue;
		good = sweep(&start, totals);
		failed += !good;
		printf("%sok %d - from \"%s\": %u power cuts, %u states, in %u the step was done\n",
		       good ? "" : "not ", ++nr, start.name, tally.cuts,
		       tally.states, tally.done);
		fflush(stdout);
		cuts += tally.cuts;
		states += tally.states;
	}
	printf("1..%d\n", nr);
	print_totals(totals, cuts, states);
	return failed || !nr || nr < (int)nr_names;
}

/* The first part is 1. */
static bool parse_part(const char *text)
{
	char end;

	return sscanf(text, "%u/%u%c", &part, &nr_parts, &end) == 2 &&
	       part - 1 < nr_parts;
}

int main(int argc, char **argv)
{
	const char *disk = test_device();
	FILE *f = fopen("starts", "r");
	int opt, failed;

	while ((opt = getopt(argc, argv, "n:s:p:x")) >= 0) {
		if (opt == 'n')
			nr_seeds = atoi(optarg);
		else if (opt == 's' && nr_names < ARRAY_SIZE(names))
			names[nr_names++] = optarg;
		else if (opt == 'x')
			first_only = true;
		else if (opt != 'p' || !parse_part(optarg))
			return 2;
	}
	if (access(DEBUGFS, X_OK) || !f) {
		printf("1..1\nok 1 # SKIP the module simulates no power cuts, or there is no file \"starts\"\n");
		return 4;	/* by which kselftest knows that */
	}
	runner.control = open(CONTROL, O_RDWR | O_CLOEXEC);
	if (runner.control < 0)
		die(CONTROL);
	detach_all(runner.control);
	if (make_partition(disk, WORLD_SIZE, device))
		die(disk);
	runner.device = device;
	failed = sweep_all(f);
	drop_partition(disk);
	write_file(DEBUGFS "arm", "off");
	return failed;
}
