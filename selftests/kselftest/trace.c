// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints, as the trace buffer of an instance of its own has them.
 */
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <linux/wort_format.h>

#include "wort_test.h"

#define TRACEFS		"/sys/kernel/tracing"
#define INSTANCE	TRACEFS "/instances/wort_test"
#define RECORD_CMD	TRACEFS "/options/record-cmd"

/* An event: what stands behind its name. */
struct found {
	char text[256];
};

/* Occurrence @nth of an event, counted from 0; 0 if there is one. */
static int find(const char *name, int nth, struct found *found)
{
	FILE *trace = fopen(INSTANCE "/trace", "r");
	char line[512], want[64], *at;
	int err = -ENOENT;

	snprintf(want, sizeof(want), ": %s: ", name);
	while (trace && err && fgets(line, sizeof(line), trace)) {
		at = strstr(line, want);
		if (!at || nth--)
			continue;
		at[strcspn(at, "\n")] = 0;
		snprintf(found->text, sizeof(found->text), " %s",
			 at + strlen(want));
		err = 0;
	}
	if (trace)
		fclose(trace);
	return err;
}

static int count(const char *name)
{
	struct found found;
	int n = 0;

	while (!find(name, n, &found))
		n++;
	return n;
}

static const char *field(const struct found *found, const char *name)
{
	char want[64];
	const char *at;

	snprintf(want, sizeof(want), " %s ", name);
	at = strstr(found->text, want);
	return at ? at + strlen(want) : "";
}

static __u64 number(const struct found *found, const char *name)
{
	return strtoull(field(found, name), NULL, 0);
}

/* Does the field begin with this word? */
static bool is(const struct found *found, const char *name, const char *word)
{
	const char *at = field(found, name);
	size_t len = strlen(word);

	return !strncmp(at, word, len) && (!at[len] || at[len] == ' ');
}

static void clear(void)
{
	close(open(INSTANCE "/trace", O_WRONLY | O_TRUNC));
}

/*
 * Without the names of processes: they take tracepoints in the scheduler, and a
 * processor that QEMU emulates may run the breakpoint by which those are
 * patched after it is gone, which is an oops.  An instance takes this option
 * from the whole, as it is when the instance is made.
 */
static int new_instance(void)
{
	FILE *option = fopen(RECORD_CMD, "r");
	int before = option ? fgetc(option) : '1';
	int err = write_file(RECORD_CMD, "0");

	if (option)
		fclose(option);
	rmdir(INSTANCE);
	if (!err && mkdir(INSTANCE, 0700))
		err = -errno;
	write_file(RECORD_CMD, "%c", before);
	return err;
}

FIXTURE(trace)
{
	struct pool pool;
	int fd;
	char dev[32];		/* the pool's device, as every event names it */
};

FIXTURE_SETUP(trace)
{
	struct wort_check_arg found;
	struct stat status;

	if (access(TRACEFS "/events", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	if (access(TRACEFS "/instances", F_OK))
		SKIP(return, "the kernel has no trace events");
	ASSERT_EQ(0, pool_up(&self->pool));
	ASSERT_EQ(0, stat(test_device(), &status));
	snprintf(self->dev, sizeof(self->dev), "%u:%u", major(status.st_rdev),
		 minor(status.st_rdev));
	self->fd = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	ASSERT_EQ(0, new_instance());
	ASSERT_EQ(0, write_file(INSTANCE "/events/wort/enable", "1"));
}

FIXTURE_TEARDOWN(trace)
{
	write_file(INSTANCE "/events/wort/enable", "0");
	rmdir(INSTANCE);
	close(self->fd);
	pool_down(&self->pool);
}

/*
 * Keys in hexadecimal: 61626358, 61626359, 615a.  The first two part at place
 * 7, the third leaves them at place 2.
 */
TEST_F(trace, split_and_merge)
{
	struct found first, second, found;

	ASSERT_EQ(0, insert(self->fd, "abcX", "value"));
	EXPECT_EQ(0, count("wort_split"));
	ASSERT_EQ(0, insert(self->fd, "abcY", "value"));
	ASSERT_EQ(0, insert(self->fd, "aZ", "value"));
	ASSERT_EQ(0, delete(self->fd, "aZ"));
	ASSERT_EQ(0, delete(self->fd, "abcY"));

	ASSERT_EQ(2, count("wort_split"));
	ASSERT_EQ(0, find("wort_split", 0, &first));
	EXPECT_EQ(7, number(&first, "place"));
	EXPECT_EQ(true, is(&first, "kind", "leaf"));
	EXPECT_EQ(true, is(&first, "dev", self->dev));
	ASSERT_EQ(0, find("wort_split", 1, &second));
	EXPECT_EQ(2, number(&second, "place"));
	EXPECT_EQ(true, is(&second, "kind", "prefix"));

	ASSERT_EQ(2, count("wort_merge"));
	ASSERT_EQ(0, find("wort_merge", 0, &found));
	EXPECT_EQ(2, number(&found, "place"));
	EXPECT_EQ(true, is(&found, "kind", "prefix"));
	EXPECT_EQ(number(&second, "off"), number(&found, "off"));
	ASSERT_EQ(0, find("wort_merge", 1, &found));
	EXPECT_EQ(7, number(&found, "place"));
	EXPECT_EQ(true, is(&found, "kind", "leaf"));
	EXPECT_EQ(number(&first, "off"), number(&found, "off"));

	/* one word for each of these five operations */
	ASSERT_EQ(5, count("wort_publish"));
	ASSERT_EQ(0, find("wort_publish", 1, &found));
	EXPECT_EQ(number(&first, "off") |
		  (__u64)number(&first, "place") << WORT_MEDIA_LINK_PLACE_SHIFT,
		  number(&found, "val") & ~WORT_MEDIA_LINK_KIND_MASK);
	EXPECT_EQ(true, is(&found, "dev", self->dev));
	EXPECT_EQ(0, count("wort_corrupt"));
}

TEST_F(trace, extents)
{
	struct wort_check_arg found;
	struct found open, freed;
	int i;

	ASSERT_EQ(0, insert(self->fd, "a key", "a value of some length"));
	ASSERT_EQ(1, count("wort_extent_open"));
	ASSERT_EQ(0, find("wort_extent_open", 0, &open));
	EXPECT_EQ(true, is(&open, "dev", self->dev));
	EXPECT_EQ(64, number(&open, "slot_size"));
	EXPECT_EQ(0, number(&open, "run"));
	EXPECT_EQ(0, count("wort_extent_free"));
	ASSERT_EQ(0, destroy(self->pool.fd, "a"));
	/* the first may come while the space is being given back */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	ASSERT_EQ(0, find("wort_extent_free", 0, &freed));
	for (i = 1; number(&freed, "off") != number(&open, "off"); i++)
		ASSERT_EQ(0, find("wort_extent_free", i, &freed));
	EXPECT_EQ(64, number(&freed, "slot_size"));
}

static __u64 root_off(void)
{
	return first_entry() + offsetof(struct wort_media_entry, root);
}

TEST_F(trace, attach_walk_detach)
{
	struct wort_check_arg checked;
	struct found found;

	ASSERT_EQ(0, insert(self->fd, "key1", "value"));
	ASSERT_EQ(0, insert(self->fd, "key2", "value"));
	ASSERT_EQ(0, insert(self->fd, "key3", "value"));
	clear();
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, find("wort_detach", 0, &found));
	EXPECT_EQ(self->pool.minor, number(&found, "minor"));
	EXPECT_EQ(true, is(&found, "dev", self->dev));
	ASSERT_EQ(0, reattach(&self->pool));
	ASSERT_EQ(0, find("wort_attach", 0, &found));
	EXPECT_EQ(self->pool.minor, number(&found, "minor"));
	EXPECT_EQ(36, strcspn(field(&found, "uuid"), " "));
	EXPECT_LT(0, number(&found, "lines"));
	EXPECT_EQ(true, is(&found, "dev", self->dev));
	ASSERT_EQ(0, check(self->pool.fd, 0, &checked));
	ASSERT_EQ(1, count("wort_walk"));
	ASSERT_EQ(0, find("wort_walk", 0, &found));
	EXPECT_EQ(1, number(&found, "index"));
	EXPECT_EQ(1, number(&found, "indexes"));
	EXPECT_EQ(3, number(&found, "records"));
	ASSERT_EQ(1, count("wort_walk_end"));
	ASSERT_EQ(0, find("wort_walk_end", 0, &found));
	EXPECT_EQ(1, number(&found, "indexes"));
	EXPECT_EQ(3, number(&found, "records"));
	EXPECT_EQ(true, is(&found, "dev", self->dev));
}

TEST_F(trace, atomic)
{
	struct {
		struct wort_atomic_op op;
		char data[8];
	} ops[] = {
		{ { { 40, WORT_BATCH_INSERT, 0, 1, 0, 1, 0 }, 0, 0 }, "av" },
		{ { { 40, WORT_BATCH_INSERT, 1, 1, 0, 1, 0 }, 0, 0 }, "bv" },
	};
	struct wort_batch_result results[2];
	struct wort_atomic_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.ops_len = sizeof(ops),
		.results_ptr = PTR(results),
		.results_len = sizeof(results),
		.nr_ops = 2,
	};
	struct found found;

	clear();
	ASSERT_EQ(0, call(self->fd, WORT_IOC_ATOMIC, &arg));
	ASSERT_EQ(-EEXIST, call(self->fd, WORT_IOC_ATOMIC, &arg));
	ASSERT_EQ(2, count("wort_atomic"));
	ASSERT_EQ(0, find("wort_atomic", 0, &found));
	EXPECT_EQ(2, number(&found, "operations"));
	EXPECT_EQ(2, number(&found, "changes"));
	EXPECT_EQ(true, is(&found, "refused", "-1"));
	EXPECT_EQ(true, is(&found, "error", "0"));
	EXPECT_EQ(true, is(&found, "dev", self->dev));
	ASSERT_EQ(0, find("wort_atomic", 1, &found));
	EXPECT_EQ(true, is(&found, "refused", "1"));
	EXPECT_EQ(true, is(&found, "error", "-17"));
}

TEST_F(trace, corrupt)
{
	struct found found;

	ASSERT_EQ(0, insert(self->fd, "key", "value"));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, write_word(root_off(), 0x7ffffffff000ULL |
				WORT_MEDIA_LINK_RECORD));
	ASSERT_EQ(0, reattach(&self->pool));
	self->fd = open_index(self->pool.fd, "a", 0);
	EXPECT_EQ(-EUCLEAN, lookup(self->fd, "key", "value"));
	ASSERT_EQ(0, find("wort_corrupt", 0, &found));
	EXPECT_EQ(0x7ffffffff000ULL, number(&found, "off"));
	EXPECT_EQ(0, strcmp("leaf outside the pool", field(&found, "what")));
	EXPECT_EQ(true, is(&found, "dev", self->dev));
}

TEST_F_TIMEOUT(trace, dead, 300)
{
	struct found found;
	char name[64];

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	EXPECT_EQ(1, count("wort_dead"));
	ASSERT_EQ(0, rebind(name));
	ASSERT_EQ(0, find("wort_dead", 0, &found));
	EXPECT_EQ(true, is(&found, "dev", self->dev));
	EXPECT_EQ(0, count("wort_detach"));
}

TEST_HARNESS_MAIN
