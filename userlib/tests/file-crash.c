// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts on pools in plain files.
 *
 * Page cache outlives a killed process, so killing shows nothing about msync().  Here each
 * store to the mapped file is traced: pages are read-only, a store faults, is let through,
 * and traps behind its instruction.  At each msync() images are made of what a disk may
 * hold: of every sector of 512 bytes any of the contents that it had since the last
 * msync() of its page; and after each operation.  Each image has to be sound, and to hold
 * what was acknowledged, with the operation under way done or not.  First the pool grows
 * to its size so.
 *
 *	file-crash FOLDER IMAGES [SEED]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <wort.h>

#define POOL_SIZE	(512u << 10)
#define SIZE_BEFORE	(256u << 10)
#define PAGE		4096u
#define SECTOR		512u
#define NR_PAGES	(POOL_SIZE / PAGE)
#define MAX_VERSIONS	256
#define NR_KEYS		24
#define MAX_CHANGES	4
#define GROW_TRIES	100	/* images at each of a few fences */
#define VALUE_MAX	1500
#define TRAP_FLAG	0x100

struct page {
	unsigned char *version[MAX_VERSIONS];	/* [0]: since the last msync() */
	unsigned int nr;
};

struct change {
	unsigned int key;
	unsigned int val;	/* 0: absent */
};

static struct page pages[NR_PAGES];
static unsigned char *base;		/* of the mapping that is traced */
static bool tracing, growing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread unsigned char *stepping;	/* the page that the next trap is about */
static char pool_path[512], image_path[512];
static unsigned long nr_images, max_images, nr_stores, nr_syncs;
static unsigned long long seed = 1;

/*
 * What the judge is told, a process of its own, since an image is made within calls of
 * the library.
 */
static struct {
	unsigned char image[POOL_SIZE];
	unsigned int acked[NR_KEYS];
	/* The operation under way: all of it, or none. */
	struct change under_way[MAX_CHANGES];
	unsigned int nr_under_way;
	bool index_made;
	uint64_t pool_size;	/* and before */
	uint64_t size_before;
} *told;
static int to_judge, from_judge;

void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __wrap_msync(void *addr, size_t len, int flags);

static unsigned int rnd(unsigned int n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

static void die(const char *what, long err)
{
	printf("file-crash: %s (%ld); image %lu: %s\n", what, err, nr_images, image_path);
	fflush(stdout);
	_exit(1);
}

static unsigned int value_of(unsigned int val, unsigned char *to)
{
	unsigned int len = val % 4 == 1 ? 8 : 4 + val * 37 % (VALUE_MAX - 4);

	memset(to, val, len);
	memcpy(to, &val, sizeof(val));
	return len;
}

/* ---- the trace ---- */

static void keep(unsigned int nr)
{
	struct page *page = &pages[nr];

	if (page->nr && !memcmp(page->version[page->nr - 1], base + nr * PAGE, PAGE))
		return;
	/* Of very many the last but one gives way. */
	if (page->nr == MAX_VERSIONS)
		page->nr--;
	if (!page->version[page->nr])
		page->version[page->nr] = malloc(PAGE);
	memcpy(page->version[page->nr++], base + nr * PAGE, PAGE);
}

static void on_store(int sig, siginfo_t *info, void *context)
{
	unsigned char *addr = info->si_addr;
	ucontext_t *uc = context;

	if (!base || addr < base || addr >= base + POOL_SIZE) {
		signal(sig, SIG_DFL);
		return;
	}
	stepping = base + (addr - base) / PAGE * PAGE;
	pthread_mutex_lock(&lock);
	mprotect(stepping, PAGE, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	mprotect(stepping, PAGE, PROT_READ);
	keep((stepping - base) / PAGE);
	stepping = NULL;
	nr_stores++;
	pthread_mutex_unlock(&lock);
}

/* ---- images ---- */

static void fill_image(unsigned char *image)
{
	unsigned int nr, at, way;
	struct page *page;

	for (nr = 0; nr < NR_PAGES; nr++) {
		page = &pages[nr];
		way = rnd(4);
		for (at = 0; at < PAGE; at += SECTOR)
			memcpy(image + nr * PAGE + at,
			       page->version[way == 0 ? 0 : way == 1 ? page->nr - 1 :
					     rnd(page->nr)] + at, SECTOR);
	}
}

static bool holds(const unsigned int *found, bool with_changes)
{
	unsigned int want[NR_KEYS], i;

	memcpy(want, told->acked, sizeof(want));
	for (i = 0; with_changes && i < told->nr_under_way; i++)
		want[told->under_way[i].key] = told->under_way[i].val;
	return !memcmp(want, found, sizeof(want));
}

static void read_all(struct wort_index *index, unsigned int *found)
{
	unsigned char value[VALUE_MAX], want[VALUE_MAX];
	unsigned int val;
	uint64_t key;
	size_t len;
	int err;

	for (key = 0; key < NR_KEYS; key++) {
		len = sizeof(value);
		err = wort_get(index, &key, sizeof(key), value, &len);
		found[key] = 0;
		if (err == -ENOENT)
			continue;
		if (err || len < sizeof(val))
			die("get", err);
		memcpy(&val, value, sizeof(val));
		if (value_of(val, want) != len || memcmp(value, want, len))
			die("a value that was never stored", key);
		found[key] = val;
	}
}

static void judge(struct wort_pool *pool)
{
	struct wort_check_arg check = { .size = sizeof(check) };
	unsigned int found[NR_KEYS];
	struct wort_index *index;
	int err = wort_index_open(pool, "names", NULL, &index);

	if (err == -ENOENT && !told->index_made)
		return;
	if (err)
		die("open the index", err);
	read_all(index, found);
	wort_index_close(index);
	if (!holds(found, false) && !holds(found, true))
		die("neither the state before nor that after", 0);
	err = wort_pool_check(pool, &check);
	if (err || check.out_nr_damaged)
		die("damage", err ? err : (long)check.out_nr_damaged);
}

static void judge_size(struct wort_pool *pool)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	int err = wort_pool_info(pool, &info);

	if (err)
		die("the size", err);
	if (info.out_pool_size != told->pool_size && info.out_pool_size != told->size_before)
		die("another size", info.out_pool_size);
}

static void judge_image(void)
{
	struct wort_pool_opts opts = { .sz = sizeof(opts), .sync = WORT_SYNC_PROCESS };
	struct wort_pool *pool;
	int fd, err;

	fd = open(image_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, told->image, POOL_SIZE) != POOL_SIZE)
		die("write", errno);
	close(fd);
	err = wort_pool_open_with(image_path, O_RDWR, &opts, &pool);
	if (err)
		die("open", err);
	judge_size(pool);
	judge(pool);
	wort_pool_close(pool);
	nr_images++;
}

static void start_judge(void)
{
	int there[2], back[2];
	char byte;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED || pipe(there) || pipe(back))
		die("no judge", errno);
	if (!fork()) {
		close(there[1]);
		close(back[0]);
		while (read(there[0], &byte, 1) == 1) {
			judge_image();
			if (write(back[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	to_judge = there[1];
	from_judge = back[0];
}

static void try_image(void)
{
	char byte = 0;

	fill_image(told->image);
	if (write(to_judge, &byte, 1) != 1 || read(from_judge, &byte, 1) != 1)
		_exit(1);
	nr_images++;
}

/* ---- what the library calls ---- */

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *map = __real_mmap(addr, len, prot, flags, fd, off);
	unsigned int nr;

	if (!tracing || base || map == MAP_FAILED || flags != MAP_SHARED || len != POOL_SIZE)
		return map;
	base = map;
	for (nr = 0; nr < NR_PAGES; nr++)
		keep(nr);
	mprotect(base, POOL_SIZE, PROT_READ);
	return map;
}

int __wrap_msync(void *addr, size_t len, int flags)
{
	unsigned char *at = addr;
	unsigned int nr, i, tries = growing ? GROW_TRIES : 1 + rnd(6);
	struct page *page;

	if (!base || at < base || at >= base + POOL_SIZE)
		return 0;
	pthread_mutex_lock(&lock);
	for (i = 0; i < tries && nr_images < max_images; i++)
		try_image();
	for (nr = (at - base) / PAGE; flags & MS_SYNC && nr < (at + len - base) / PAGE; nr++) {
		page = &pages[nr];
		memcpy(page->version[0], page->version[page->nr - 1], PAGE);
		page->nr = 1;
	}
	nr_syncs++;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* ---- operations ---- */

static void announce(unsigned int key, bool put)
{
	static unsigned int version;

	told->under_way[told->nr_under_way++] = (struct change){ key, put ? ++version : 0 };
}

static void acknowledge(void)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < told->nr_under_way; i++)
		told->acked[told->under_way[i].key] = told->under_way[i].val;
	told->nr_under_way = 0;
	if (base && nr_images < max_images)
		try_image();
	pthread_mutex_unlock(&lock);
}

static int one(struct wort_index *index)
{
	uint64_t key = rnd(NR_KEYS);
	unsigned char value[VALUE_MAX];
	int err;

	announce(key, rnd(3));
	if (told->under_way[0].val)
		return wort_put(index, &key, sizeof(key), value,
				value_of(told->under_way[0].val, value), 0);
	err = wort_del(index, &key, sizeof(key));
	return err == -ENOENT ? 0 : err;
}

static int several(struct wort_index *index)
{
	struct wort_atomic *batch;
	unsigned char value[VALUE_MAX];
	unsigned int i, first = rnd(NR_KEYS);
	uint64_t key;
	int err = wort_atomic_new(&batch);

	for (i = 0; i < MAX_CHANGES && !err; i++) {
		key = (first + 5 * i) % NR_KEYS;
		announce(key, told->acked[key] ? rnd(2) : 1);
		err = told->under_way[i].val ?
		      wort_atomic_put(batch, index, &key, sizeof(key), value,
				      value_of(told->under_way[i].val, value), 0) :
		      wort_atomic_del(batch, index, &key, sizeof(key));
	}
	if (!err)
		err = wort_atomic_commit(batch, NULL);
	wort_atomic_free(batch);
	return err;
}

static void catch(void)
{
	struct sigaction store = { .sa_flags = SA_SIGINFO };
	struct sigaction trap = { .sa_flags = SA_SIGINFO };

	store.sa_sigaction = on_store;
	trap.sa_sigaction = on_trap;
	sigaction(SIGSEGV, &store, NULL);
	sigaction(SIGTRAP, &trap, NULL);
}

static int open_both(struct wort_pool **pool, struct wort_index **index)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	int err = wort_pool_open(pool_path, O_RDWR, pool);

	return err ? err : wort_index_open(*pool, "names", &opts, index);
}

/* The pool is to be full then, with records whose extents the table tells. */
static int fill(void)
{
	struct wort_index *index;
	struct wort_pool *pool;
	int i, err = open_both(&pool, &index);

	for (i = 0; i < NR_KEYS && !err; i++) {
		err = one(index);
		acknowledge();
	}
	if (err)
		return err;
	wort_index_close(index);
	wort_pool_close(pool);
	told->index_made = true;
	return 0;
}

static int grow(void)
{
	int err;

	told->pool_size = POOL_SIZE;
	growing = true;
	tracing = true;
	err = wort_grow_file(pool_path, POOL_SIZE, NULL, NULL, NULL);
	tracing = false;
	growing = false;
	if (err)
		return err;
	printf("# grown by %lu stores, %lu msyncs, %lu images\n", nr_stores, nr_syncs, nr_images);
	told->size_before = POOL_SIZE;
	max_images += nr_images;
	/* It has unmapped the file. */
	base = NULL;
	memset(pages, 0, sizeof(pages));
	return 0;
}

int main(int argc, char **argv)
{
	struct wort_index *index;
	struct wort_pool *pool;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: file-crash FOLDER IMAGES [SEED]\n");
		return 2;
	}
	max_images = strtoul(argv[2], NULL, 0);
	seed = argc > 3 ? strtoul(argv[3], NULL, 0) : 1;
	snprintf(pool_path, sizeof(pool_path), "%s/pool", argv[1]);
	snprintf(image_path, sizeof(image_path), "%s/image", argv[1]);
	unlink(pool_path);
	start_judge();
	told->size_before = SIZE_BEFORE;
	err = wort_format_file(pool_path, SIZE_BEFORE, NULL);
	catch();
	if (!err)
		err = fill();
	if (!err)
		err = grow();
	tracing = true;
	if (!err)
		err = open_both(&pool, &index);
	while (!err && nr_images < max_images) {
		err = rnd(4) ? one(index) : several(index);
		acknowledge();
	}
	if (err)
		die("an operation", err);
	printf("# %lu stores, %lu msyncs, %lu images: 0 failures\n", nr_stores, nr_syncs,
	       nr_images);
	return 0;
}
