// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools in image files and on devices, without the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <asm/byteorder.h>

#include "../../kmod/pool/pool.h"
#include "../local/content.h"
#include "../local/sync.h"
#include "image.h"
#include "text.h"

/* <linux/fs.h> and the shim do not go together. */
#define BLKGETSIZE64	_IOR(0x12, 114, size_t)

/*
 * The info block that ndctl writes into an fsdax namespace: what is /dev/pmemN
 * begins start_pad + dataoff bytes into the memory and ends end_trunc bytes
 * before its end.
 */
#define PFN_OFF			4096
#define PFN_SIGNATURE		"NVDIMM_PFN_INFO"
#define PFN_DATAOFF		56
#define PFN_START_PAD		76
#define PFN_END_TRUNC		80

/* Where to look if there is no info block: namespaces are aligned to this. */
#define SEARCH_STEP		(2ULL << 20)
#define SEARCH_END		(1ULL << 30)

/* A store makes so much writable: a process may have 65530 mappings. */
#define WRITE_STEP		(2UL << 20)

struct image {
	int fd;
	bool write;
	bool device;
	bool shared;		/* a device that others may have open for themselves */
	bool locked;		/* a file: as libwort, one process at a time stores to it */
	unsigned int wait_ms;	/* for that lock */
	u64 size;
	u64 offset;
	void *map;
	struct sync_file *sync;	/* what fences do; NULL: nothing is written */
	char *name;		/* of the file, as messages show it */
	struct wort_region region;
	struct wort_pool *pool;
};

struct image_index {
	struct wort_index *index;
};

static u64 le64_at(const u8 *p)
{
	__le64 val;

	memcpy(&val, p, sizeof(val));
	return le64_to_cpu(val);
}

static u32 le32_at(const u8 *p)
{
	__le32 val;

	memcpy(&val, p, sizeof(val));
	return le32_to_cpu(val);
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* A look now and then: flock() that waits knows no limit but a signal. */
static int lock_file(const struct image *image)
{
	int way = (image->write ? LOCK_EX : LOCK_SH) | LOCK_NB, err;
	static const struct timespec moment = { .tv_nsec = 2000000 };
	u64 end = now_ms() + image->wait_ms;

	while ((err = flock(image->fd, way) ? -errno : 0) == -EWOULDBLOCK &&
	       now_ms() < end)
		nanosleep(&moment, NULL);
	return err;
}

#define OPEN_TRIES	16	/* while others take the name away */

static int open_fd(struct image *image, const char *path, int flags)
{
	int err, tries;

	for (tries = 0; tries < OPEN_TRIES; tries++) {
		if (image->fd >= 0)
			close(image->fd);
		image->fd = open(path, flags | O_CLOEXEC);
		if (image->fd < 0)
			return -errno;
		if (!image->locked || image->device)
			return 0;
		err = lock_file(image);
		if (err || file_is_named(image->fd, path))
			return err;
	}
	return -EWOULDBLOCK;
}

/* With the lock: the process that had it before may have changed the size of the file. */
static int measure(struct image *image)
{
	struct stat st;

	if (image->device)
		return ioctl(image->fd, BLKGETSIZE64, &image->size) ? -errno : 0;
	if (fstat(image->fd, &st))
		return -errno;
	image->size = st.st_size;
	return 0;
}

/* A block device in use by others is refused: it would change under us. */
static int open_media(struct image *image, const char *path)
{
	int flags = image->write ? O_RDWR : O_RDONLY, err;
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return -ENOTBLK;
	image->name = text_shown(path);
	if (!image->name)
		return -ENOMEM;
	image->region.name = image->name;
	image->device = S_ISBLK(st.st_mode);
	if (image->device && !image->shared)
		flags |= O_EXCL;
	err = open_fd(image, path, flags);
	if (!err)
		err = measure(image);
	if (err)
		return err;
	return image->size < WORT_MEDIA_POOL_MIN ? -ENODATA : 0;
}

/* The image that is mapped: there is one at a time. */
static struct {
	char *start;
	size_t size;
	char why[PATH_MAX + 100];
	size_t why_len;
} mapped;

/*
 * What is stored to becomes writable.  SIGBUS: the file ends before the page,
 * its disk cannot be read or, of a file with holes, is full.
 */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	size_t at = (char *)info->si_addr - mapped.start;

	if (!mapped.start || at >= mapped.size) {
		signal(sig, SIG_DFL);
		return;
	}
	at -= at % WRITE_STEP;
	if (sig == SIGSEGV &&
	    !mprotect(mapped.start + at,
		      min_t(size_t, WRITE_STEP, mapped.size - at),
		      PROT_READ | PROT_WRITE))
		return;
	(void)!write(STDERR_FILENO, mapped.why, mapped.why_len);
	_exit(IMAGE_LOST);
}

static void catch_faults(const struct image *image)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	mapped.start = image->map;
	mapped.size = image->size;
	mapped.why_len = snprintf(mapped.why, sizeof(mapped.why),
				  "wort: %s: out of memory, or a part of it cannot be read or written\n",
				  image->name);
	action.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

/*
 * A fence is an msync() of what was flushed.  What somebody has stored before, and nobody has
 * written yet, comes first.
 */
static int sync_media(struct image *image)
{
	if (fsync(image->fd))
		return -errno;
	image->sync = sync_file_add(image->map, image->size, SYNC_PAGES);
	return image->sync ? 0 : -EMFILE;
}

/*
 * Unless the image is to be changed, what is stored stays in private memory.
 * Where the kernel does not overcommit, a private mapping that can be written
 * takes memory for all of its size.  So it begins read-only, and on_fault()
 * makes those parts writable that are stored to.
 */
static int map_media(struct image *image)
{
	int prot = image->write ? PROT_READ | PROT_WRITE : PROT_READ;

	image->map = mmap(NULL, image->size, prot, image->write ? MAP_SHARED :
			  MAP_PRIVATE | MAP_NORESERVE, image->fd, 0);
	if (image->map == MAP_FAILED) {
		image->map = NULL;
		return -errno;
	}
	catch_faults(image);
	return image->write ? sync_media(image) : 0;
}

static void set_region(struct image *image, u64 offset, u64 end)
{
	image->offset = offset;
	image->region.base = image->map + offset;
	image->region.size = end - offset;
	image->region.flush = true;
}

/* Is there something that only a pool has at its beginning? */
static bool looks_like_pool(const struct image *image, u64 offset)
{
	const u8 *sb = image->map + offset + WORT_MEDIA_SB_OFF;

	if (offset > image->size - WORT_MEDIA_POOL_MIN)
		return false;
	return le64_at(sb) == WORT_MEDIA_MAGIC ||
	       le64_at(sb + WORT_MEDIA_SB_SPACE) == WORT_MEDIA_MAGIC;
}

/* The info block comes first: an old superblock may still lie behind it. */
static bool find_by_info_block(struct image *image)
{
	const u8 *pfn = image->map + PFN_OFF;
	u64 offset, trunc;

	if (memcmp(pfn, PFN_SIGNATURE, sizeof(PFN_SIGNATURE)))
		return false;
	offset = le64_at(pfn + PFN_DATAOFF);
	if (offset >= image->size)
		return false;
	offset += le32_at(pfn + PFN_START_PAD);
	trunc = le32_at(pfn + PFN_END_TRUNC);
	if (offset % 4096 || trunc > image->size ||
	    offset > image->size - trunc ||
	    image->size - trunc - offset < WORT_MEDIA_POOL_MIN)
		return false;
	set_region(image, offset, image->size - trunc);
	return looks_like_pool(image, offset);
}

/* The pool of a block device is at its beginning. */
static int find_pool(struct image *image, u64 offset)
{
	u64 end = min_t(u64, image->size,
			image->device ? SEARCH_STEP : SEARCH_END);

	if (offset != IMAGE_FIND) {
		if (offset % 4096 || offset >= image->size)
			return -EINVAL;
		set_region(image, offset, image->size);
		return 0;
	}
	if (!image->device && find_by_info_block(image))
		return 0;
	for (offset = 0; offset < end; offset += SEARCH_STEP)
		if (looks_like_pool(image, offset)) {
			set_region(image, offset, image->size);
			return 0;
		}
	return -ENODATA;
}

/* Where a pool would begin whose beginning is lost. */
static int find_place(struct image *image, u64 offset)
{
	if (offset != IMAGE_FIND)
		return find_pool(image, offset);
	if (!image->device)
		find_by_info_block(image);
	if (!image->region.size)
		set_region(image, 0, image->size);
	return 0;
}

/* At the end of the device, or up to @reach before it, if that is larger than the pool. */
static int find_copy(struct image *image, u64 reach, struct wort_media_sb *sb)
{
	u64 size = image->region.size;
	u64 off = round_down(size, (u64)WORT_MEDIA_SB_SPACE);
	u64 last = max_t(u64, WORT_MEDIA_TABLE_OFF, size - min(size, reach));
	struct wort_op op;

	wort_op_begin(&op, &image->region, NULL);
	for (; off > last; off -= WORT_MEDIA_SB_SPACE)
		if (!wort_sb_read(&op, off - WORT_MEDIA_SB_SPACE, sb) &&
		    wort_sb_off(sb, WORT_SB_END) == off - WORT_MEDIA_SB_SPACE)
			return 0;
	return -ENODATA;
}

static int image_load(struct image *image, const char *path, u64 offset)
{
	int err = open_media(image, path);

	if (!err)
		err = map_media(image);
	return err ? err : find_pool(image, offset);
}

static int release(struct image *image)
{
	int err = 0;

	if (image->pool)
		wort_pool_detach(image->pool);
	if (image->sync) {
		err = -image->sync->error;
		if (msync(image->map, image->size, MS_SYNC) && !err)
			err = -errno;
		sync_file_del(image->sync);
	}
	mapped.start = NULL;
	if (image->map)
		munmap(image->map, image->size);
	if (image->fd >= 0)
		close(image->fd);
	free(image->name);
	free(image);
	return err;
}

static struct image *image_new(bool write)
{
	struct image *image = calloc(1, sizeof(*image));

	if (image) {
		image->fd = -1;
		image->write = write;
	}
	return image;
}

int image_open(const char *path, bool write, uint64_t offset,
	       unsigned int wait_ms, struct image **out)
{
	struct image *image = image_new(write);
	int err;

	if (!image)
		return -ENOMEM;
	image->locked = true;
	image->wait_ms = wait_ms;
	err = image_load(image, path, offset);
	if (!err)
		err = wort_pool_attach(&image->region, &image->pool);
	if (err) {
		release(image);
		return err;
	}
	if (!write && image->pool->nr_lost)
		pr_warn("%s: that is so in memory only: nothing is stored to it\n", image->name);
	*out = image;
	return 0;
}

int image_close(struct image *image)
{
	return image ? release(image) : 0;
}

uint64_t image_offset(const struct image *image)
{
	return image->offset;
}

static void fill_label(const struct image *image,
		       const struct wort_media_sb *sb, struct image_label *label)
{
	label->offset = image->offset;
	label->pool_size = le64_to_cpu(sb->pool_size);
	label->format_time = le64_to_cpu(sb->format_time);
	memcpy(label->uuid, sb->uuid, sizeof(label->uuid));
	memcpy(label->label, sb->label, sizeof(label->label));
}

static int probe(const char *path, bool shared, struct image_label *label)
{
	struct image *image = image_new(false);
	struct wort_media_sb sb;
	int err;

	if (!image)
		return -ENOMEM;
	image->shared = shared;
	err = image_load(image, path, IMAGE_FIND);
	if (!err)
		err = wort_pool_probe(&image->region, &sb);
	if (!err || err == -EOVERFLOW)
		fill_label(image, &sb, label);
	label->size = image->region.size;
	release(image);
	return err;
}

int image_probe(const char *path, struct image_label *label)
{
	return probe(path, false, label);
}

int image_peek(const char *path, struct image_label *label)
{
	return probe(path, true, label);
}

uint32_t image_own_version(void)
{
	return WORT_MEDIA_VERSION;
}

/* If the copies disagree, one of them is damaged: the one of another version. */
static u32 version_of(const struct image *image)
{
	const u8 *sb = image->region.base + WORT_MEDIA_SB_OFF;
	u32 i, version = 0;

	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++, sb += WORT_MEDIA_SB_SPACE)
		if (le64_at(sb) == WORT_MEDIA_MAGIC &&
		    (!version || le32_at(sb + 8) == WORT_MEDIA_VERSION))
			version = le32_at(sb + 8);
	return version;
}

int image_version(const char *path, uint64_t offset, struct image_label *label)
{
	struct image *image = image_new(false);
	int err;

	if (!image)
		return -ENOMEM;
	err = image_load(image, path, offset);
	if (!err && image->region.size < WORT_MEDIA_POOL_MIN)
		err = -ENODATA;
	if (!err) {
		label->offset = image->offset;
		label->version = version_of(image);
	}
	release(image);
	return !err && !label->version ? -ENODATA : err;
}

/* Is there no pool at the beginning, but a copy of the superblock at the end? */
static int look_for_copy(struct image *image, const char *path, u64 offset,
			 u64 reach, struct wort_media_sb *sb)
{
	struct wort_media_sb first;
	int err = open_media(image, path);

	if (!err)
		err = map_media(image);
	if (!err)
		err = find_place(image, offset);
	if (err)
		return err;
	err = wort_pool_probe(&image->region, &first);
	if (err && err != -ENODATA && err != -EUCLEAN && err != -EIO)
		return err;
	return err ? find_copy(image, reach, sb) : -EEXIST;
}

int image_copy(const char *path, uint64_t offset, uint64_t reach, bool restore,
	       unsigned int wait_ms, struct image_label *label)
{
	struct image *image = image_new(restore);
	struct wort_media_sb sb;
	struct wort_op op;
	int err, err2;

	if (!image)
		return -ENOMEM;
	image->locked = restore;
	image->wait_ms = wait_ms;
	err = look_for_copy(image, path, offset, reach, &sb);
	if (!err)
		fill_label(image, &sb, label);
	if (!err && restore) {
		wort_op_begin(&op, &image->region, NULL);
		err = wort_sb_replace(&op, &sb, WORT_SB_END);
		wort_op_end(&op);
	}
	err2 = release(image);
	return err ? err : err2;
}

void image_settle(void)
{
	while (shim_run_work())
		;
}

int image_info(struct image *image, struct wort_pool_info_arg *info)
{
	int err;

	image_settle();
	err = wort_pool_info(image->pool, info);
	/* What libwort does to a file that it serves. */
	if (!err && !image->device)
		info->out_flush = WORT_FLUSH_PAGES;
	return err;
}

int image_check(struct image *image, struct wort_check_arg *check)
{
	int err;

	image_settle();
	err = wort_pool_check(image->pool, check);
	image_settle();
	return err;
}

uint64_t image_checked(const struct image *image)
{
	return READ_ONCE(image->pool->check_records);
}

unsigned int image_list(struct image *image, uint64_t after,
			struct wort_index_record *records, unsigned int max,
			bool *more)
{
	return wort_index_list(image->pool, after, records, max, more);
}

int image_index_open(struct image *image, const char *name,
		     struct image_index **out)
{
	struct image_index *index;
	size_t len = strlen(name);
	int err;

	if (!len || len > WORT_NAME_MAX)
		return len ? -EMSGSIZE : -EINVAL;
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	err = wort_index_open(image->pool, (const u8 *)name, len, 0,
			      WORT_ENGINE_DEFAULT, 0, &index->index);
	if (err)
		free(index);
	else
		*out = index;
	return err;
}

void image_index_close(struct image_index *index)
{
	if (!index)
		return;
	wort_index_put(index->index);
	free(index);
}

int image_index_info(struct image_index *index,
		     struct wort_index_info_arg *info)
{
	wort_index_info(index->index, info);
	return 0;
}

int image_get(struct image_index *index, const void *key, size_t key_len,
	      void *value, size_t *value_len)
{
	struct wort_key k = { .data = key, .len = key_len };
	struct wort_buf buf = { .data = value, .size = *value_len };
	int err = wort_index_lookup(index->index, &k, &buf);

	*value_len = buf.len;
	return err;
}

static const void *from_ptr(u64 ptr)
{
	return (const void *)(uintptr_t)ptr;
}

int image_scan(struct image_index *index, struct wort_scan_arg *arg)
{
	struct wort_key start = { from_ptr(arg->start_ptr), arg->start_len };
	struct wort_key bound = { from_ptr(arg->bound_ptr), arg->bound_len };
	struct wort_scan scan = {
		.flags = arg->flags,
		.start = arg->start_len ? &start : NULL,
		.bound = arg->bound_len ? &bound : NULL,
		.max = arg->max_count,
		.buf = (u8 *)from_ptr(arg->buf_ptr),
		.buf_len = arg->buf_len,
	};
	int err = wort_index_scan(index->index, &scan);

	arg->out_count = scan.count;
	arg->out_len = scan.len;
	arg->out_need = scan.need;
	arg->out_more = scan.more;
	arg->out_last_len = scan.last_len;
	return err;
}
