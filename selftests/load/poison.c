// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is known to be bad when a pool is attached, and memory that
 * fails under load: aimed at each kind of object, which is found on media.
 * What lies there is EIO, the rest is served.  The device needs a driver that
 * can be unbound, which makes its list of bad blocks anew.
 */
#include <signal.h>
#include <sys/wait.h>

#include <asm/byteorder.h>
#include <linux/wort_format.h>

#include "load.h"

#define OFFLINE		"/sys/devices/system/memory/hard_offline_page"
#define PAGE		4096ULL
#define NR_RECORDS	2000
#define ENTRIES		(PAGE / sizeof(struct wort_media_entry))
#define NR_FILLERS	(ENTRIES + 4)	/* an entry behind is on another page */
#define FIRST		(ENTRIES - LOAD_INDEXES + 1)	/* of load: the last is, too */

/* ---- where things are ---- */

/* Past the page cache: the module stores behind its back. */
static uint64_t word_at(uint64_t off)
{
	static uint64_t page[PAGE / 8] __attribute__((aligned(4096)));
	int fd = open(test_device(), O_RDONLY | O_DIRECT);
	ssize_t got = pread(fd, page, PAGE, off & ~(PAGE - 1));

	close(fd);
	return got == (ssize_t)PAGE ? __le64_to_cpu(page[off % PAGE / 8]) : 0;
}

static uint64_t sb_word(size_t member)
{
	return word_at(WORT_MEDIA_SB_OFF + member);
}

#define SB(member) sb_word(offsetof(struct wort_media_sb, member))

static uint64_t block_off(void)
{
	return SB(catalogue_off);
}

/* The entry of the index that was created as the nth. */
static uint64_t entry_off(int nth)
{
	return word_at(block_off() + offsetof(struct wort_media_catalogue,
					      slot[nth]));
}

/* Behind the end of a key there are zeroes, as far as these tests go. */
static unsigned int digit(const char *key, size_t len, unsigned int at)
{
	if (at / 2 >= len)
		return 0;
	return at % 2 ? key[at / 2] & 0xf : (uint8_t)key[at / 2] >> 4;
}

/* The leaf of a key, or what is there instead, and the node above. */
static uint64_t leaf_off(int nth, const char *key, size_t len, uint64_t *node)
{
	uint64_t slot = entry_off(nth) + offsetof(struct wort_media_entry, root);
	uint64_t link;
	int steps = 0;

	*node = 0;
	for (;;) {
		link = word_at(slot);
		if (!link || steps++ > 2048 ||
		    (link & WORT_MEDIA_LINK_KIND_MASK) == WORT_MEDIA_LINK_RECORD)
			return link & WORT_MEDIA_LINK_OFF_MASK;
		*node = link & WORT_MEDIA_LINK_OFF_MASK;
		slot = *node + 8 * digit(key, len, link >>
					 WORT_MEDIA_LINK_PLACE_SHIFT);
	}
}

/* Far behind what the tests store before they fill the pool. */
static uint64_t free_page(void)
{
	return (SB(pool_size) / 2) & ~(PAGE - 1);
}

/* ---- the device ---- */

/* Nothing is bad any more. */
static int mend(void)
{
	char name[64];
	int err = bound_name(name, sizeof(name));

	if (!err)
		err = write_file(DRIVER "/unbind", "%s", name);
	return err ? err : rebind(name);
}

static int make_bad(uint64_t off)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/%s/badblocks",
		 strrchr(test_device(), '/') + 1);
	return write_file(path, "%llu 8\n",
			  (unsigned long long)(off & ~(PAGE - 1)) / 512);
}

/* ---- a pool ---- */

FIXTURE(poison)
{
	struct pool pool;
	int a;
	int b;
};

static char big[WORT_VALUE_MAX], back[WORT_VALUE_MAX];

static size_t make_key(int nr, char *key)
{
	return sprintf(key, "a%06d", nr);
}

static int create_fillers(int pool, int nr)
{
	char name[32];
	int fd;

	while (nr--) {
		sprintf(name, "filler %d", nr);
		fd = open_index(pool, name, WORT_INDEX_OPEN_F_CREATE);
		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

/* Index a is the first, b the last in the catalogue. */
static int fill(struct poison_data *self)
{
	char name[32];
	int i, err = 0;

	self->a = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_CREATE);
	for (i = 0; i < NR_RECORDS && !err; i++)
		err = insert_raw(self->a, name, make_key(i, name), "12345678",
				 8, 0);
	memset(big, 0xa5, sizeof(big));
	if (!err)
		err = insert_raw(self->a, "big", 3, big, sizeof(big), 0);
	if (!err)
		err = create_fillers(self->pool.fd, NR_FILLERS);
	self->b = open_index(self->pool.fd, "b", WORT_INDEX_OPEN_F_CREATE);
	return err ? err : insert(self->b, "key", "value");
}

static void leave(struct poison_data *self)
{
	if (self->a >= 0)
		close(self->a);
	if (self->b >= 0)
		close(self->b);
	if (self->pool.fd >= 0)
		close(self->pool.fd);
	self->a = self->b = self->pool.fd = -1;
	detach_all(self->pool.control);
}

static int enter(struct poison_data *self)
{
	self->pool.minor = attach(self->pool.control, test_device());
	if (self->pool.minor < 0)
		return self->pool.minor;
	self->pool.fd = open_pool(self->pool.minor, O_RDWR);
	self->a = open_index(self->pool.fd, "a", 0);
	self->b = open_index(self->pool.fd, "b", 0);
	return 0;
}

static int enter_with_bad(struct poison_data *self, uint64_t off)
{
	int err;

	leave(self);
	err = make_bad(off);
	return err ? err : enter(self);
}

FIXTURE_SETUP(poison)
{
	char name[64];

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	ASSERT_EQ(0, mend());
	ASSERT_EQ(0, pool_up(&self->pool));
	ASSERT_EQ(0, fill(self));
}

FIXTURE_TEARDOWN(poison)
{
	leave(self);
	mend();
	close(self->pool.control);
}

/* How many of the records are EIO; negative: something else was told. */
static int lost(int index)
{
	int i, err, nr = 0;
	char key[16];

	for (i = 0; i < NR_RECORDS; i++) {
		err = lookup_raw(index, key, make_key(i, key), back,
				 sizeof(back), NULL);
		if (err != 8 && err != -EIO)
			return err < 0 ? err : -EILSEQ;
		nr += err == -EIO;
	}
	return nr;
}

static int big_lookup(int index)
{
	int err = lookup_raw(index, "big", 3, back, sizeof(back), NULL);

	return err < 0 ? err : memcmp(back, big, sizeof(big));
}

static long long nr_damaged(int pool, __u32 flags)
{
	struct wort_check_arg found;
	int err = check(pool, flags, &found);

	return err ? err : (long long)found.out_nr_damaged;
}

static __u32 state(int pool)
{
	struct wort_pool_info_arg arg;

	return info(pool, &arg) ? ~0U : arg.out_state & WORT_STATE_DAMAGED;
}

/* Once nothing is bad, nothing is lost, and a clean check ends read-only. */
#define EXPECT_ALL_BACK() do {						\
	leave(self);							\
	ASSERT_EQ(0, mend());						\
	ASSERT_EQ(0, enter(self));					\
	EXPECT_EQ(0, nr_damaged(self->pool.fd, WORT_CHECK_F_CLEAR));	\
	EXPECT_EQ(0, state(self->pool.fd));				\
	EXPECT_EQ(0, lost(self->a));					\
	EXPECT_EQ(0, big_lookup(self->a));				\
	EXPECT_EQ(0, lookup(self->b, "key", "value"));			\
	EXPECT_EQ(0, insert(self->a, "after", "value"));		\
} while (0)

/* All is served, and what is new, too. */
#define EXPECT_FULL_SERVICE() do {					\
	EXPECT_EQ(0, lost(self->a));					\
	EXPECT_EQ(0, big_lookup(self->a));				\
	EXPECT_EQ(0, lookup(self->b, "key", "value"));			\
	EXPECT_EQ(0, insert(self->a, "new", "value"));			\
	EXPECT_EQ(0, insert(self->b, "new", "value"));			\
	EXPECT_EQ(0, nr_damaged(self->pool.fd, 0));			\
} while (0)

TEST_F_TIMEOUT(poison, superblock_copies, 120)
{
	ASSERT_EQ(0, enter_with_bad(self, WORT_MEDIA_SB_OFF));
	EXPECT_FULL_SERVICE();
	EXPECT_ALL_BACK();
	ASSERT_EQ(0, enter_with_bad(self, WORT_MEDIA_SB_OFF +
				    WORT_MEDIA_SB_SPACE));
	EXPECT_FULL_SERVICE();
	leave(self);
	ASSERT_EQ(0, make_bad(WORT_MEDIA_SB_OFF));
	EXPECT_EQ(-EIO, enter(self));
	EXPECT_EQ(-EIO, format(self->pool.control, test_device(),
			       WORT_FORMAT_F_FORCE));
	EXPECT_ALL_BACK();
}

TEST_F_TIMEOUT(poison, extent_table, 120)
{
	ASSERT_EQ(0, enter_with_bad(self, WORT_MEDIA_TABLE_OFF));
	EXPECT_EQ(WORT_STATE_DAMAGED, state(self->pool.fd));
	EXPECT_EQ(0, lost(self->a));
	EXPECT_EQ(0, big_lookup(self->a));
	EXPECT_EQ(0, lookup(self->b, "key", "value"));
	EXPECT_EQ(-EROFS, insert(self->a, "new", "value"));
	EXPECT_LT(0, nr_damaged(self->pool.fd, WORT_CHECK_F_CLEAR));
	EXPECT_EQ(WORT_STATE_DAMAGED, state(self->pool.fd));
	EXPECT_ALL_BACK();
}

TEST_F_TIMEOUT(poison, catalogue_block, 120)
{
	ASSERT_EQ(0, enter_with_bad(self, block_off()));
	EXPECT_EQ(-EIO, self->a);
	EXPECT_EQ(-EIO, self->b);
	EXPECT_EQ(-EIO, destroy(self->pool.fd, "a"));
	EXPECT_EQ(-EROFS, open_index(self->pool.fd, "new",
				     WORT_INDEX_OPEN_F_CREATE));
	EXPECT_LT(0, nr_damaged(self->pool.fd, 0));
	EXPECT_ALL_BACK();
}

TEST_F_TIMEOUT(poison, catalogue_entry, 120)
{
	ASSERT_NE(entry_off(0) / PAGE, entry_off(NR_FILLERS + 1) / PAGE);
	ASSERT_EQ(0, enter_with_bad(self, entry_off(NR_FILLERS + 1)));
	EXPECT_EQ(-EIO, self->b);
	EXPECT_EQ(0, lost(self->a));
	EXPECT_EQ(0, big_lookup(self->a));
	EXPECT_LT(0, nr_damaged(self->pool.fd, 0));
	EXPECT_ALL_BACK();
}

/* What cannot be read of the catalogue is dropped: names are free, and all is writable. */
#define EXPECT_INDEX_DROPPED() do {					\
	ASSERT_EQ(0, check(self->pool.fd, WORT_CHECK_F_CLEAR, &found));	\
	EXPECT_EQ(0, found.out_nr_damaged);				\
	EXPECT_LT(0, found.out_nr_dropped);				\
	EXPECT_EQ(0, state(self->pool.fd));				\
	EXPECT_EQ(-ENOENT, open_index(self->pool.fd, "b", 0));		\
	self->b = open_index(self->pool.fd, "b",			\
			     WORT_INDEX_OPEN_F_CREATE);			\
	EXPECT_EQ(0, insert(self->b, "key", "again"));			\
	EXPECT_EQ(0, nr_damaged(self->pool.fd, WORT_CHECK_F_CLEAR));	\
	leave(self);							\
	ASSERT_EQ(0, enter(self));					\
	EXPECT_EQ(0, lookup(self->b, "key", "again"));			\
	EXPECT_EQ(0, nr_damaged(self->pool.fd, 0));			\
} while (0)

TEST_F_TIMEOUT(poison, dropped_entry, 120)
{
	struct wort_check_arg found;

	ASSERT_EQ(0, enter_with_bad(self, entry_off(NR_FILLERS + 1)));
	EXPECT_INDEX_DROPPED();
	EXPECT_EQ(0, lost(self->a));
	EXPECT_EQ(0, big_lookup(self->a));
	EXPECT_EQ(0, insert(self->a, "new", "value"));
}

TEST_F_TIMEOUT(poison, dropped_block, 120)
{
	struct wort_check_arg found;

	ASSERT_EQ(0, enter_with_bad(self, block_off()));
	EXPECT_INDEX_DROPPED();
	EXPECT_EQ(-ENOENT, self->a);
}

/* Some of index a is lost, and nothing else. */
#define EXPECT_SOME_LOST() do {						\
	EXPECT_LT(0, lost(self->a));					\
	EXPECT_LT(lost(self->a), NR_RECORDS);				\
	EXPECT_EQ(0, lookup(self->b, "key", "value"));			\
	EXPECT_EQ(0, insert(self->b, "new", "value"));			\
	EXPECT_EQ(0, insert(self->a, "Z", "value"));			\
	EXPECT_EQ(0, state(self->pool.fd));				\
	EXPECT_LT(0, nr_damaged(self->pool.fd, 0));			\
} while (0)

TEST_F_TIMEOUT(poison, inner_node, 120)
{
	uint64_t node;

	leaf_off(0, "a000555", 7, &node);
	ASSERT_EQ(0, enter_with_bad(self, node));
	EXPECT_SOME_LOST();
	EXPECT_ALL_BACK();
}

TEST_F_TIMEOUT(poison, leaf, 120)
{
	uint64_t node, leaf = leaf_off(0, "a001000", 7, &node);

	ASSERT_EQ(0, enter_with_bad(self, leaf));
	EXPECT_SOME_LOST();
	EXPECT_EQ(-EIO, lookup(self->a, "a001000", "12345678"));
	EXPECT_ALL_BACK();
}

/* What cannot be read is dropped, and then the walk ends. */
#define EXPECT_DROPPED() do {						\
	ASSERT_EQ(0, check(self->pool.fd, WORT_CHECK_F_CLEAR, &found));	\
	EXPECT_EQ(0, found.out_nr_damaged);				\
	EXPECT_LT(0, found.out_nr_dropped);				\
	EXPECT_EQ(-ENOENT, lookup(self->a, "a000555", "12345678"));	\
	EXPECT_EQ(0, insert(self->a, "a000555", "again"));		\
	EXPECT_EQ(0, lookup(self->a, "a000555", "again"));		\
	EXPECT_EQ(0, lookup(self->b, "key", "value"));			\
	EXPECT_EQ(0, nr_damaged(self->pool.fd, WORT_CHECK_F_CLEAR));	\
	ASSERT_EQ(0, info(self->pool.fd, &pool));			\
	EXPECT_EQ(0, pool.out_state);					\
} while (0)

TEST_F_TIMEOUT(poison, dropped, 120)
{
	uint64_t node, leaf = leaf_off(0, "a000555", 7, &node);
	struct wort_pool_info_arg pool;
	struct wort_check_arg found;

	ASSERT_EQ(0, enter_with_bad(self, leaf));
	EXPECT_DROPPED();
	leaf_off(0, "a000555", 7, &node);
	ASSERT_EQ(0, enter_with_bad(self, node));
	EXPECT_DROPPED();
}

TEST_F_TIMEOUT(poison, long_value, 120)
{
	uint64_t node, value = word_at(leaf_off(0, "big", 3, &node));

	ASSERT_EQ(0, enter_with_bad(self, value + WORT_VALUE_MAX - PAGE));
	EXPECT_EQ(-EIO, big_lookup(self->a));
	EXPECT_EQ(0, lost(self->a));
	EXPECT_EQ(0, insert(self->a, "new", "value"));
	EXPECT_EQ(0, nr_damaged(self->pool.fd, 0));
	EXPECT_ALL_BACK();
	/* nobody reads the value that goes */
	ASSERT_EQ(0, enter_with_bad(self, value + WORT_VALUE_MAX - PAGE));
	EXPECT_EQ(0, insert(self->a, "big", "small"));
	EXPECT_EQ(0, lookup(self->a, "big", "small"));
	EXPECT_EQ(0, nr_damaged(self->pool.fd, 0));
}

/* A full pool has nothing there. */
TEST_F_TIMEOUT(poison, free_space, 300)
{
	uint64_t bad = free_page(), i;
	int err = 0;

	ASSERT_EQ(0, word_at(bad));
	ASSERT_EQ(0, enter_with_bad(self, bad));
	for (i = 0; !err; i++)
		err = insert_raw(self->b, &i, sizeof(i), big, sizeof(big), 0);
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_LT(SB(pool_size) / WORT_VALUE_MAX / 4 * 3, i);
	EXPECT_EQ(0, nr_damaged(self->pool.fd, 0));
	EXPECT_EQ(0, lost(self->a));
	leave(self);
	ASSERT_EQ(0, mend());
	EXPECT_EQ(0, word_at(bad));
	/* what lies around it was taken */
	EXPECT_NE(0, word_at(bad - 2 * WORT_VALUE_MAX));
	EXPECT_NE(0, word_at(bad + 2 * WORT_VALUE_MAX));
}

/* ---- under load ---- */

static struct load *load;

static pid_t start_worker(int number, int pool)
{
	struct load_worker w = {
		.load = load,
		.number = number,
		.lossy = true,
		.seed = number,
		.pool = pool,
	};
	pid_t pid = fork();
	int err;

	if (pid)
		return pid;
	err = load_work(&w);
	printf("# worker %d ended with %d\n", number, err);
	fflush(stdout);
	_exit(1);
}

/* Each goes on with so many operations. */
static void wait_for_work(const uint64_t nr)
{
	uint64_t enough[LOAD_WORKERS];
	int i;

	for (i = 0; i < LOAD_WORKERS; i++)
		enough[i] = load_fetch(&load->ops[i]) + nr;
	for (i = 0; i < LOAD_WORKERS; i++)
		while (load_fetch(&load->ops[i]) < enough[i])
			usleep(200);
}

/*
 * The keys that load.c makes begin with their number.  Node and leaf of one
 * are where they were a moment ago, which is a place in use at any rate.  The
 * node is far from the first one, without which all would be lost.
 */
static uint64_t used_leaf(uint64_t *node)
{
	uint64_t first = word_at(entry_off(FIRST) +
				 offsetof(struct wort_media_entry, root));
	char key[] = "nnA";
	uint64_t leaf = 0;
	int nr;

	for (nr = 0; nr < 0x800; nr++) {
		key[0] = nr >> 8;
		key[1] = nr;
		leaf = leaf_off(FIRST, key, 3, node);
		if (leaf && *node / PAGE != first / PAGE)
			break;
	}
	return leaf;
}

static int page_fails(int what)
{
	uint64_t node, leaf = used_leaf(&node);
	uint64_t off[] = {
		leaf, node, WORT_MEDIA_SB_OFF, WORT_MEDIA_TABLE_OFF,
		free_page(), block_off(),
		entry_off(FIRST + LOAD_INDEXES - 1),
	};

	if (what == ARRAY_SIZE(off))
		return 1;
	printf("# page of offset %#llx fails\n", (unsigned long long)off[what]);
	return write_file(OFFLINE, "%#llx", (unsigned long long)
			  (physical_start() + off[what]) & ~(PAGE - 1));
}

/* Nothing but the module looks at these pages any more: so this comes last. */
TEST(memory_fails_under_load)
{
	pid_t workers[LOAD_WORKERS];
	struct load_found found;
	struct pool pool;
	char name[64];
	int i, status, err = 0;

	if (bound_name(name, sizeof(name)) || access(OFFLINE, W_OK))
		SKIP(return, "the kernel cannot make memory fail");
	alarm(600);
	load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, pool_up(&pool));
	ASSERT_EQ(0, create_fillers(pool.fd, FIRST));
	ASSERT_EQ(0, load_create(load, pool.fd));
	for (i = 0; i < LOAD_WORKERS; i++)
		workers[i] = start_worker(i, pool.fd);
	wait_for_work(4000);
	for (i = 0; !err; i++) {
		err = page_fails(i);
		wait_for_work(500);
	}
	EXPECT_EQ(1, err);
	for (i = 0; i < LOAD_WORKERS; i++) {
		kill(workers[i], SIGKILL);
		ASSERT_EQ(workers[i], waitpid(workers[i], &status, 0));
		EXPECT_EQ(1, WIFSIGNALED(status));
	}
	EXPECT_EQ(0, load_verify_lossy(load, pool.fd, &found));
	printf("# %llu keys served, %llu lost\n",
	       (unsigned long long)found.records,
	       (unsigned long long)found.lost);
	/* an index of which the entry is lost; of the others, a few keys */
	EXPECT_LE(LOAD_WORKERS * LOAD_KEYS, found.lost);
	EXPECT_LT(found.lost, found.records);
	EXPECT_LT(0, nr_damaged(pool.fd, 0));
	close(pool.fd);
	EXPECT_EQ(0, detach(pool.control, pool.minor));
}

TEST_HARNESS_MAIN
