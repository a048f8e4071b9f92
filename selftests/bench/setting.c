// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../engines/engines.h"
#include "peer.h"
#include "pmpool.h"
#include "setting.h"

const char *const flush_names[] = {
	[BENCH_CLWB] = "clwb", [BENCH_CLFLUSHOPT] = "clflushopt",
	[BENCH_CLFLUSH] = "clflush", [BENCH_NO_FLUSH] = "none",
	[BENCH_EADR] = "eadr",
};

uint64_t setting_number(const char *text, uint64_t least, uint64_t most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (isdigit(*text) && !*end && !errno && n >= least && n <= most)
		return n;
	errx(2, "%s: a number from %llu to %llu is wanted", text, (unsigned long long)least,
	     (unsigned long long)most);
}

bool setting_engine(const char *name)
{
	const struct test_engine *engine = test_engine_named(name);

	if (engine)
		pmpool_engine = engine->id;
	return engine;
}

void setting_huge_pages(char **argv)
{
	if (getenv("GLIBC_TUNABLES"))
		return;
	setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 1);
	execv("/proc/self/exe", argv);
	die("/proc/self/exe: %m");
}

static void find_processor(struct setting *setting)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *colon;

	snprintf(setting->processor, sizeof(setting->processor), "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		colon = strstr(line, ": ");
		if (strncmp(line, "model name", 10) || !colon)
			continue;
		colon[strcspn(colon, "\n")] = 0;
		snprintf(setting->processor, sizeof(setting->processor), "%s",
			 colon + 2);
		break;
	}
	if (f)
		fclose(f);
}

/* Does memory that is to be in huge pages get them? */
static bool huge_pages(void)
{
	const size_t size = 8 << 20;
	char line[128];
	bool huge = false;
	size_t len = 0;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *f;

	if (at == MAP_FAILED)
		return false;
	madvise(at, size, MADV_HUGEPAGE);
	memset(at, 1, size);
	f = fopen("/proc/self/smaps_rollup", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "AnonHugePages: %zu", &len) == 1)
			huge = len << 10 >= size / 2;
	if (f)
		fclose(f);
	munmap(at, size);
	return huge;
}

void setting_detect(struct setting *setting)
{
	find_processor(setting);
	setting->memory = huge_pages() ? "plain DRAM in huge pages" :
					 "plain DRAM in small pages";
	setting->flush = flush_names[shim_flush];
}

void setting_print(const struct setting *setting)
{
	printf("processor: %s\nmemory: %s, %u ns added for each flushed line\nflush: %s, sfence; seed %llu\n",
	       setting->processor, setting->memory, setting->added_ns,
	       setting->flush, (unsigned long long)setting->seed);
}

FILE *csv_create(const char *path, const char *columns)
{
	FILE *csv = fopen(path, "w");

	if (!csv)
		die("%s: %m", path);
	fprintf(csv, "%s,processor,memory,flush,added_ns,seed\n", columns);
	return csv;
}

void csv_end_line(FILE *csv, const struct setting *setting)
{
	fprintf(csv, ",\"%s\",\"%s\",%s,%u,%llu\n", setting->processor,
		setting->memory, setting->flush, setting->added_ns,
		(unsigned long long)setting->seed);
}

void csv_close(FILE *csv, const char *path)
{
	bool failed = ferror(csv);

	if (fclose(csv) || failed)
		die("%s: the figures cannot be written", path);
}
