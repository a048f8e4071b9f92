/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests that report in KTAP.  With KSFT_PATH these are the kernel's own macros;
 * without, what the tests here use of them: each test runs in a child.
 */
#ifndef _KTAP_H
#define _KTAP_H

#define UNUSED __attribute__((unused))

#ifdef HAVE_KSELFTEST_HARNESS
#include "kselftest_harness.h"
#else

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define KTAP_PASS	0
#define KTAP_FAIL	1
#define KTAP_SKIP	4	/* as kselftest has it */

struct __test_metadata {
	const char *fixture;
	const char *name;
	void (*run)(struct __test_metadata *_metadata);
	int status;
	char reason[128];
	jmp_buf env;
	unsigned int timeout;
	struct __test_metadata *next;
};

static struct __test_metadata *ktap_first, **ktap_last = &ktap_first;

static inline void ktap_add(struct __test_metadata *test)
{
	*ktap_last = test;
	ktap_last = &test->next;
}

#define TH_LOG(fmt, ...)						\
	printf("# %s:%d:%s: " fmt "\n", __FILE__, __LINE__,		\
	       _metadata->name, ##__VA_ARGS__)

#define SKIP(statement, fmt, ...) do {					\
	snprintf(_metadata->reason, sizeof(_metadata->reason), fmt,	\
		 ##__VA_ARGS__);					\
	_metadata->status = KTAP_SKIP;					\
	statement;							\
} while (0)

#define KTAP_REGISTER(fix, test, function, seconds)			\
static struct __test_metadata test##_metadata = {			\
	.fixture = fix,							\
	.name = #test,							\
	.run = function,						\
	.timeout = seconds,						\
};									\
static void __attribute__((constructor)) test##_register(void)		\
{									\
	ktap_add(&test##_metadata);					\
}

/* To give up after, not to wait for: a machine may be slow, and a test that hangs not the last. */
#define KTAP_SECONDS	300

#define TEST(test)							\
static void test##_body(struct __test_metadata *_metadata UNUSED);		\
static void test##_run(struct __test_metadata *_metadata UNUSED)		\
{									\
	if (!setjmp(_metadata->env))					\
		test##_body(_metadata);					\
}									\
KTAP_REGISTER("global", test, test##_run, KTAP_SECONDS)		\
static void test##_body(struct __test_metadata *_metadata UNUSED)

#define FIXTURE(fix) struct fix##_data

#define FIXTURE_SETUP(fix)						\
static void fix##_setup(struct __test_metadata *_metadata UNUSED,	\
			struct fix##_data *self UNUSED)

#define FIXTURE_TEARDOWN(fix)						\
static void fix##_teardown(struct __test_metadata *_metadata UNUSED,	\
			   struct fix##_data *self UNUSED)

#define TEST_F(fix, test) TEST_F_TIMEOUT(fix, test, KTAP_SECONDS)

#define TEST_F_TIMEOUT(fix, test, seconds)				\
static void fix##_##test##_body(struct __test_metadata *_metadata UNUSED,	\
				struct fix##_data *self UNUSED);		\
static void fix##_##test##_run(struct __test_metadata *_metadata UNUSED)	\
{									\
	static struct fix##_data self;					\
	static bool ready;					\
									\
	if (!setjmp(_metadata->env)) {					\
		fix##_setup(_metadata, &self);				\
		if (_metadata->status != KTAP_PASS)			\
			return;						\
		ready = true;						\
		fix##_##test##_body(_metadata, &self);			\
	}								\
	if (ready)							\
		fix##_teardown(_metadata, &self);			\
}									\
KTAP_REGISTER(#fix, fix##_##test, fix##_##test##_run, seconds)		\
static void fix##_##test##_body(struct __test_metadata *_metadata UNUSED,	\
				struct fix##_data *self UNUSED)

#define KTAP_CHECK(expected, seen, op, stop) do {			\
	long long _want = (long long)(expected);			\
	long long _got = (long long)(seen);				\
									\
	if (!(_want op _got)) {						\
		printf("# %s:%d:%s: expected %s (%lld) %s %s (%lld)\n",	\
		       __FILE__, __LINE__, _metadata->name, #expected,	\
		       _want, #op, #seen, _got);			\
		_metadata->status = KTAP_FAIL;				\
		if (stop)						\
			longjmp(_metadata->env, 1);			\
	}								\
} while (0)

#define EXPECT_EQ(expected, seen)	KTAP_CHECK(expected, seen, ==, 0)
#define EXPECT_NE(expected, seen)	KTAP_CHECK(expected, seen, !=, 0)
#define EXPECT_LE(expected, seen)	KTAP_CHECK(expected, seen, <=, 0)
#define EXPECT_LT(expected, seen)	KTAP_CHECK(expected, seen, <, 0)
#define EXPECT_GE(expected, seen)	KTAP_CHECK(expected, seen, >=, 0)
#define ASSERT_EQ(expected, seen)	KTAP_CHECK(expected, seen, ==, 1)
#define ASSERT_NE(expected, seen)	KTAP_CHECK(expected, seen, !=, 1)
#define ASSERT_LE(expected, seen)	KTAP_CHECK(expected, seen, <=, 1)
#define ASSERT_LT(expected, seen)	KTAP_CHECK(expected, seen, <, 1)
#define ASSERT_GE(expected, seen)	KTAP_CHECK(expected, seen, >=, 1)

static inline int ktap_child(struct __test_metadata *test)
{
	alarm(test->timeout);
	test->run(test);
	if (test->status == KTAP_SKIP)
		printf("# SKIP %s\n", test->reason);
	fflush(stdout);
	_exit(test->status);
}

static inline int ktap_one(struct __test_metadata *test, int number)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		ktap_child(test);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return KTAP_FAIL;
	if (WIFSIGNALED(status))
		printf("# %s: signal %d\n", test->name, WTERMSIG(status));
	status = WIFEXITED(status) ? WEXITSTATUS(status) : KTAP_FAIL;
	printf("%s %d %s%s\n", status == KTAP_PASS || status == KTAP_SKIP ?
	       "ok" : "not ok", number, test->name,
	       status == KTAP_SKIP ? " # SKIP" : "");
	return status;
}

static inline int ktap_main(void)
{
	int pass = 0, fail = 0, skip = 0, nr = 0, status;
	struct __test_metadata *test;

	for (test = ktap_first; test; test = test->next)
		nr++;
	printf("TAP version 13\n1..%d\n", nr);
	nr = 0;
	for (test = ktap_first; test; test = test->next) {
		status = ktap_one(test, ++nr);
		if (status == KTAP_PASS)
			pass++;
		else if (status == KTAP_SKIP)
			skip++;
		else
			fail++;
	}
	printf("# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n",
	       pass, fail, skip);
	return fail ? KTAP_FAIL : KTAP_PASS;
}

#define TEST_HARNESS_MAIN						\
int main(void)								\
{									\
	exit(ktap_main());						\
}

#endif /* HAVE_KSELFTEST_HARNESS */

#endif /* _KTAP_H */
