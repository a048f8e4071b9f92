// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures indexes with the same keys in the same run, in turns.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../engines/engines.h"
#include "builtin.h"
#include "misses.h"
#include "pmpool.h"
#include "relay.h"
#include "report.h"

#define MAX_PEERS	RELAY_MAX
#define MAX_SAMPLES	(MAX_PEERS * MAX_TURNS * BENCH_MAX_OPS)

static const struct bench_peer *peers[MAX_PEERS + 1];
static unsigned int nr_peers;

static struct sample *samples;
static size_t nr_samples;

static struct options {
	const char *engine;
	char *workloads;
	uint64_t nr_keys;
	uint32_t ops;
	enum choice choice;
	enum bench_flush flush;
	bool latencies;
	uint64_t beside;
	const char *csv;
	const char *dir;
	bool files;		/* plug-ins may keep some there */
	size_t mib;
	struct setting setting;
} options = {
	.workloads = "dense,sparse,clustered",
	.nr_keys = 1000000,
	.dir = "/var/tmp",
	.setting = { .seed = 88172645463325252ULL, .turns = 5 },
};

/* ---- peers ---- */

static bool name_taken(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_peers; i++)
		if (!strcmp(peers[i]->name, name))
			return true;
	return false;
}

/* The second one of a name has a number behind it. */
static void add_peer(const struct bench_peer *peer)
{
	struct bench_peer *copy = malloc(sizeof(*copy));
	unsigned int nr = 1;
	char *name;

	if (nr_peers == MAX_PEERS)
		die("more than %u peers", MAX_PEERS);
	if (!copy)
		die("no memory");
	*copy = *peer;
	while (name_taken(copy->name)) {
		if (asprintf(&name, "%s#%u", peer->name, ++nr) < 0)
			die("no memory");
		copy->name = name;
	}
	peers[nr_peers++] = copy;
}

static void add_plugin(const char *path)
{
	const struct bench_peer *(*get)(void);
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct bench_peer *peer;

	options.files = true;
	if (!object)
		die("%s (a path without a slash is looked for where libraries are)",
		    dlerror());
	get = dlsym(object, "bench_peer");
	if (!get)
		die("%s has no function bench_peer(): see peer.h", path);
	peer = get();
	if (!peer || peer->version != BENCH_PEER_VERSION)
		die("%s is made for another version of peer.h: compile it again",
		    path);
	add_peer(peer);
}

static void add_builtin(const char *name)
{
	const struct bench_peer *peer;

	for (peer = builtin_peers; peer->name; peer++)
		if (!strcmp(peer->name, name)) {
			add_peer(peer);
			return;
		}
	die("no peer is called %s: see --list; -p loads a plug-in", name);
}

static void each_word(char *list, void (*work)(const char *word))
{
	char *copy = strdup(list), *word, *rest = copy;

	while ((word = strsep(&rest, ",")))
		work(word);
	free(copy);
}

/* ---- options ---- */

static void add_op(const char *name)
{
	bool found = false;
	unsigned int op;

	for (op = 0; bench_ops[op].name; op++)
		if (!strcmp(name, "all") || !strcmp(name, bench_ops[op].name)) {
			options.ops |= 1U << op;
			found = true;
		}
	if (!found)
		die("no operation is called %s: see --list", name);
}

static void list_all(void)
{
	const struct bench_peer *peer;
	const struct workload *workload;
	const struct bench_op *op;

	puts("peers (-P):");
	for (peer = builtin_peers; peer->name; peer++)
		printf("  %-15s %s\n", peer->name, peer->durability);
	puts("workloads (-w), or a file with a key in each line:");
	for (workload = workloads; workload->name; workload++)
		printf("  %-12s %s\n", workload->name, workload->what);
	puts("operations (-o):");
	for (op = bench_ops; op->name; op++)
		printf("  %-12s %s\n", op->name, op->what);
}

static int name_index(const char *text, const char *const *names, int nr,
		      struct argp_state *state)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(text, names[i]))
			return i;
	argp_error(state, "%s: not one of those that --help names", text);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const choices[] = {
		[CHOICE_USUAL] = "usual", [CHOICE_ZIPFIAN] = "zipfian",
		[CHOICE_UNIFORM] = "uniform", [CHOICE_LATEST] = "latest",
	};

	switch (key) {
	case 'P':
		each_word(arg, add_builtin);
		break;
	case 'p':
		add_plugin(arg);
		break;
	case 'e':
		if (!setting_engine(arg))
			argp_error(state, "%s: no engine is called so", arg);
		options.engine = arg;
		break;
	case 'w':
		options.workloads = arg;
		break;
	case 'o':
		each_word(arg, add_op);
		break;
	case 'n':
		options.nr_keys = setting_number(arg, 64, 1ULL << 32);
		break;
	case 'r':
		options.setting.turns = setting_number(arg, 1, MAX_TURNS);
		break;
	case 's':
		options.setting.seed = setting_number(arg, 1, UINT64_MAX);
		break;
	case 'a':
		options.setting.added_ns = setting_number(arg, 0, 1000000);
		break;
	case 'f':
		options.flush = name_index(arg, flush_names, 5, state);
		if ((enum shim_flush)options.flush < shim_flush)
			argp_error(state, "the processor has no %s", arg);
		break;
	case 'z':
		options.choice = name_index(arg, choices, 4, state);
		break;
	case 'b':
		options.beside = setting_number(arg, 1, 1ULL << 32);
		break;
	case 't':
		options.latencies = true;
		break;
	case 'c':
		options.csv = arg;
		break;
	case 'd':
		options.dir = arg;
		break;
	case 'm':
		options.mib = setting_number(arg, 64, 1ULL << 30);
		break;
	case 'l':
		list_all();
		exit(0);
	case ARGP_KEY_ARG:
		argp_error(state, "%s: no arguments besides options", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_option option_table[] = {
	{ "peers", 'P', "NAME,...", 0, "The first is the measure (floor and the engine)", 0 },
	{ "plugin", 'p', "FILE", 0, "A peer from a shared object; may be repeated", 0 },
	{ "engine", 'e', "NAME", 0, "Engine if no -P, and of wort-mapped ... (the default)", 0 },
	{ "workloads", 'w', "NAME,...", 0, "Keys (dense,sparse,clustered)", 0 },
	{ "ops", 'o', "NAME,...", 0, "Besides insert, or all (lookup,delete,insert-64)", 0 },
	{ "keys", 'n', "NUMBER", 0, "Keys to load (1000000)", 0 },
	{ "turns", 'r', "NUMBER", 0, "Turns, of which the median is printed (5)", 0 },
	{ "seed", 's', "NUMBER", 0, "Seed of all that is random", 0 },
	{ "added", 'a', "NS", 0, "Wait this long for each flushed line (0)", 0 },
	{ "flush", 'f', "HOW", 0, "clwb, clflushopt, clflush, none, eadr (the best there is)", 0 },
	{ "choice", 'z', "HOW", 0, "How YCSB picks keys: zipfian, uniform, latest or usual", 0 },
	{ "beside", 'b', "NUMBER", 0, "All peers at once, another after so many operations", 0 },
	{ "times", 't', NULL, 0, "Take the time of each operation, for percentiles", 0 },
	{ "csv", 'c', "FILE", 0, "Write every figure of every turn there", 0 },
	{ "dir", 'd', "FOLDER", 0, "For peers that keep files (/var/tmp)", 0 },
	{ "memory", 'm', "MIB", 0, "Memory for each peer (by the number of keys)", 0 },
	{ "list", 'l', NULL, 0, "List peers, workloads and operations", 0 },
	{ }
};

/* ---- the run ---- */

/* Peers make theirs in this one, which goes with the run, also if a signal ends that. */
static char folder[256];

/* Also within a signal: by another process. */
static void folder_remove(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/rm", "rm", "-rf", "--", folder, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void interrupted(int nr)
{
	folder_remove();
	signal(nr, SIG_DFL);
	raise(nr);
}

static void folder_make(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	unsigned int i;

	snprintf(folder, sizeof(folder), "%s/bench.XXXXXX", options.dir);
	if (!mkdtemp(folder))
		die("%s: %m", options.dir);
	options.dir = folder;
	atexit(folder_remove);
	for (i = 0; i < 3; i++)
		if (signal(signals[i], interrupted) == SIG_IGN)
			signal(signals[i], SIG_IGN);
}

static void take_sample(const struct sample *sample)
{
	samples[nr_samples++] = *sample;
}

static struct bench_env memory_begin(void)
{
	size_t size = options.mib << 20;
	void *memory;

	if (!size)
		size = round_up(options.nr_keys * 200, 2 << 20) + (64 << 20);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("cannot map %zu MiB: -m asks for less", size >> 20);
	madvise(memory, size, MADV_HUGEPAGE);
	return (struct bench_env){
		.memory = memory, .size = size, .used = size,
		.dir = options.dir, .flush = options.flush,
		.line_ticks = options.setting.added_ns ?
			      options.setting.added_ns / run_ns_per_tick() : 0,
	};
}

static void run_workload(const char *workload, FILE *csv)
{
	struct seen seen[BENCH_MAX_OPS] = { };
	static struct bench_env envs[MAX_PEERS];
	struct keys keys, again;
	struct plan plan = {
		.keys = &keys, .again = &again, .ops = options.ops,
		.choice = options.choice, .latencies = options.latencies,
		.seed = options.setting.seed, .seen = seen, .done = take_sample,
		.peers = peers, .nr_peers = nr_peers, .beside = options.beside,
	};
	unsigned int i;

	for (i = 0; i < (options.beside ? nr_peers : 1); i++)
		if (!envs[i].memory)
			envs[i] = memory_begin();

	keys_make(&keys, workload, options.nr_keys, options.setting.seed);
	keys_shuffled(&again, &keys, options.setting.seed);
	nr_samples = 0;
	for (plan.turn = 0; plan.turn < options.setting.turns; plan.turn++)
		run_turn(&plan, &bench_env, envs);
	report_table(workload, keys.nr, options.setting.turns, peers, nr_peers,
		     samples, nr_samples);
	if (csv)
		report_csv(csv, &options.setting, workload, &plan, samples,
			   nr_samples);
	keys_free(&keys);
	keys_free(&again);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		option_table, parse, NULL,
		"Measures indexes natively: the same keys, one thread, in turns.\vMedians of the turns, each as a multiple of the first peer in the same turn, with the least and the largest.  YCSB picks keys by Zipf's law, D the latest, and scatters them.",
		NULL, NULL, NULL
	};
	char *list, *workload;
	FILE *csv = NULL;

	setting_huge_pages(argv);
	options.flush = (enum bench_flush)shim_flush;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (!nr_peers) {
		add_builtin("floor");
		add_builtin(options.engine ?: test_engines[0].name);
	}
	if (!options.ops)
		each_word("lookup,delete,insert-64", add_op);
	if (options.files)
		folder_make();
	setting_detect(&options.setting);
	options.setting.flush = flush_names[options.flush];
	samples = calloc(MAX_SAMPLES, sizeof(*samples));
	if (!samples)
		die("no memory");
	if (options.csv)
		csv = report_csv_create(options.csv);
	setting_print(&options.setting);
	printf("one thread, no locks; medians of %u turns%s%s\n",
	       options.setting.turns,
	       options.beside ? ", peers beside each other" : "",
	       run_by_wall_clock(&(struct plan){ .peers = peers, .nr_peers = nr_peers }) ?
	       ", all by the clock on the wall" : "");
	if (!misses_open())
		puts("cache misses: the processor does not count them for us");
	list = strdup(options.workloads);
	while ((workload = strsep(&list, ",")))
		run_workload(workload, csv);
	if (csv)
		csv_close(csv, options.csv);
	return 0;
}
