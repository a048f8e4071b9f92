// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <valgrind/callgrind.h>

#include "misses.h"

static int counter = -1;

int misses_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_CACHE_MISSES, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	counter = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	return counter >= 0;
}

void misses_begin(void)
{
	if (counter >= 0) {
		ioctl(counter, PERF_EVENT_IOC_RESET, 0);
		ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
	}
	CALLGRIND_TOGGLE_COLLECT;
}

double misses_end(void)
{
	uint64_t misses;

	CALLGRIND_TOGGLE_COLLECT;
	if (counter < 0)
		return -1;
	ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
	if (read(counter, &misses, sizeof(misses)) != sizeof(misses))
		return -1;
	return misses;
}

void misses_profile(const char *op)
{
	CALLGRIND_DUMP_STATS_AT(op);
}
