// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's devices without the module: what libwort asks of them is done
 * by the portable layers on the image file that WORT_STUB names.  The linker
 * puts these functions in the place of libwort's own (--wrap).
 *
 * /dev/wort-control is there; the image is its one block device, and
 * /dev/wort0 the pool, while FILE.attached exists.  Nothing is ever detached
 * in an orderly way: each process leaves the image as a crash would.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../kmod/pool/pool.h"
#include "stub.h"

#define NR_HANDLES	256

enum kind { NONE, CONTROL, POOL, INDEX };

static struct handle {
	enum kind kind;
	bool write;
	bool frozen;
	struct wort_index *index;
} handles[NR_HANDLES];

static struct wort_region region = { .flush = true };
static struct wort_pool *pool;

static const char *image(void)
{
	const char *path = getenv("WORT_STUB");

	return path ? path : "";
}

static const char *mark(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s.attached", image());
	return path;
}

static bool attached(void)
{
	return !access(mark(), F_OK);
}

/* The mark of a pool that is attached read-only is not empty. */
static bool marked_readonly(void)
{
	struct stat st;

	return !__real_stat(mark(), &st) && st.st_size;
}

static void settle(void)
{
	while (shim_run_work())
		;
}

static int map(void)
{
	struct stat st;
	int fd;

	if (region.base)
		return 0;
	fd = open(image(), O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -ENOENT;
	region.size = st.st_size;
	region.base = mmap(NULL, region.size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
	__real_close(fd);
	return region.base == MAP_FAILED ? -ENOMEM : 0;
}

static int load(void)
{
	int err = map();

	if (err || pool)
		return err;
	shim_log_quiet = true;
	region.readonly = region.readonly || marked_readonly();
	err = wort_pool_attach(&region, &pool);
	if (!err)
		settle();
	return err;
}

static int handle_new(enum kind kind, bool write, struct wort_index *index)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd >= NR_HANDLES) {
		__real_close(fd);
		return -EMFILE;
	}
	if (fd < 0)
		return -errno;
	handles[fd] = (struct handle) { kind, write, false, index };
	return fd;
}

/* To the command the image is a block device. */
int __wrap_stat(const char *path, struct stat *st)
{
	int err = __real_stat(path, st);

	if (!err && !strcmp(path, image()))
		st->st_mode = S_IFBLK | 0600;
	return err;
}

int __wrap_close(int fd)
{
	if (fd >= 0 && fd < NR_HANDLES) {
		if (handles[fd].index)
			wort_index_put(handles[fd].index);
		if (handles[fd].frozen)
			wort_pool_release(pool, &handles[fd].frozen);
		handles[fd] = (struct handle) { };
	}
	return __real_close(fd);
}

int __wrap_wort_open_path(const char *path, int flags)
{
	int err;

	if (!strcmp(path, "/dev/wort-control"))
		return handle_new(CONTROL, true, NULL);
	if (strcmp(path, "/dev/wort0") || !attached())
		return -ENOENT;
	err = load();
	return err ? err : handle_new(POOL, (flags & O_ACCMODE) != O_RDONLY,
				      NULL);
}

static void *ptr(u64 val)
{
	return (void *)(uintptr_t)val;
}

static int length(u32 len, u32 max)
{
	return !len ? -EINVAL : len > max ? -EMSGSIZE : 0;
}

static int do_format(struct wort_format_arg *arg)
{
	struct wort_format_opts opts = { .extent_size = arg->extent_size };
	struct wort_media_sb sb;
	int err = map();

	if (err || attached())
		return err ? err : -EBUSY;
	if (!(arg->flags & WORT_FORMAT_F_FORCE) &&
	    !wort_pool_probe(&region, &sb))
		return -EEXIST;
	memcpy(opts.uuid, arg->uuid, sizeof(opts.uuid));
	memcpy(opts.label, arg->label, sizeof(opts.label));
	return wort_pool_format(&region, &opts);
}

static int do_attach(struct wort_attach_arg *arg)
{
	bool readonly = arg->flags & WORT_ATTACH_F_RDONLY;
	int err, fd;

	arg->out_minor = 0;
	region.readonly = readonly;
	err = attached() ? -EBUSY : load();
	if (err)
		return err;
	fd = open(mark(), O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || (readonly && write(fd, "r", 1) != 1))
		return -errno;
	return __real_close(fd);
}

static int do_list(struct wort_list_arg *arg)
{
	struct wort_pool_record *rec = ptr(arg->buf_ptr);
	const char *base = strrchr(image(), '/');
	struct wort_pool_info_arg info = { };
	int err = attached() && !arg->start ? load() : -ENODEV;

	arg->out_count = 0;
	arg->out_more = 0;
	if (err || arg->buf_len < sizeof(*rec))
		return 0;
	wort_pool_info(pool, &info);
	*rec = (struct wort_pool_record) {
		.state = info.out_state, .pool_size = info.out_pool_size,
	};
	memcpy(rec->uuid, info.out_uuid, sizeof(rec->uuid));
	memcpy(rec->label, info.out_label, sizeof(rec->label));
	snprintf((char *)rec->device, sizeof(rec->device), "%s",
		 base ? base + 1 : image());
	arg->out_count = 1;
	return 0;
}

static int on_control(unsigned long cmd, void *arg)
{
	struct wort_detach_arg *detach = arg;

	switch (cmd) {
	case WORT_IOC_FORMAT:
		return do_format(arg);
	case WORT_IOC_ATTACH:
		return do_attach(arg);
	case WORT_IOC_DETACH:
		return detach->minor || unlink(mark()) ? -ENOENT : 0;
	case WORT_IOC_LIST:
		return do_list(arg);
	default:
		return -ENOTTY;
	}
}

static int do_open(const struct handle *h, struct wort_index_open_arg *arg)
{
	bool write = h->write && !(arg->flags & WORT_INDEX_OPEN_F_RDONLY);
	struct wort_index *index;
	int err = length(arg->name_len, WORT_NAME_MAX);

	if (!err && arg->flags & WORT_INDEX_OPEN_F_CREATE && !h->write)
		err = -EBADF;
	if (!err)
		err = wort_index_open(pool, ptr(arg->name_ptr), arg->name_len,
				      arg->flags, arg->engine, arg->attr,
				      &index);
	if (err)
		return err;
	arg->out_fd = handle_new(INDEX, write, index);
	return arg->out_fd < 0 ? arg->out_fd : 0;
}

static int do_freeze(struct handle *h, struct wort_freeze_arg *arg)
{
	if (!h->write)
		return -EBADF;
	return arg->flags & WORT_FREEZE_F_THAW ?
	       wort_pool_release(pool, &h->frozen) :
	       wort_pool_hold(pool, &h->frozen);
}

static int on_pool(struct handle *h, unsigned long cmd, void *arg)
{
	struct wort_index_list_arg *list = arg;
	struct wort_index_destroy_arg *destroy = arg;
	struct wort_index_rename_arg *rename = arg;
	bool more;
	int err;

	switch (cmd) {
	case WORT_IOC_INDEX_OPEN:
		return do_open(h, arg);
	case WORT_IOC_INDEX_LIST:
		list->out_count = wort_index_list(pool, list->after,
						  ptr(list->buf_ptr),
						  list->buf_len /
						  sizeof(struct wort_index_record),
						  &more);
		list->out_more = more;
		return 0;
	case WORT_IOC_INDEX_DESTROY:
		err = h->write ? length(destroy->name_len, WORT_NAME_MAX) :
				 -EBADF;
		if (!err)
			err = wort_index_destroy(pool, ptr(destroy->name_ptr),
						 destroy->name_len);
		settle();
		return err;
	case WORT_IOC_INDEX_RENAME:
		err = h->write ? wort_index_rename(pool, ptr(rename->name_ptr),
						   rename->name_len,
						   ptr(rename->new_ptr),
						   rename->new_len) : -EBADF;
		settle();
		return err;
	case WORT_IOC_POOL_INFO:
		return wort_pool_info(pool, arg);
	case WORT_IOC_CHECK:
		/* For tests of what is shown of one that takes long. */
		if (getenv("WORT_STUB_CHECK_SECONDS"))
			sleep(atoi(getenv("WORT_STUB_CHECK_SECONDS")));
		return h->write ? wort_pool_check(pool, arg) : -EBADF;
	case WORT_IOC_FREEZE:
		return do_freeze(h, arg);
	default:
		return -ENOTTY;
	}
}

/* As kmod/dev does it; @out_len: length of the answer, or WORT_NO_VALUE */
static int single(const struct handle *h, struct wort_request *req, u32 flags,
		  u32 *out_len)
{
	int err;

	*out_len = WORT_NO_VALUE;
	req->op.flags = flags;
	err = flags > UINT16_MAX ? -EOPNOTSUPP :
	      wort_request_verify(&req->op, h->write);
	if (err)
		return err;
	req->put.key.len = req->op.key_len;
	req->expect.len = req->op.expect_len;
	req->put.value.len = req->op.value_len;
	req->answer.size = min_t(u32, req->op.max_len, WORT_VALUE_MAX);
	req->answer.len = WORT_NO_VALUE;
	err = wort_request_run(h->index, req);
	*out_len = req->answer.len;
	return err;
}

static int do_insert(const struct handle *h, struct wort_insert_arg *arg)
{
	struct wort_request req = {
		.op = {
			.op = WORT_BATCH_INSERT, .key_len = arg->key_len,
			.value_len = arg->value_len, .max_len = arg->old_len,
		},
		.put.key.data = ptr(arg->key_ptr),
		.put.value.data = ptr(arg->value_ptr),
		.answer.data = ptr(arg->old_ptr),
	};

	return single(h, &req, arg->flags, &arg->out_old_len);
}

static int do_cas(const struct handle *h, struct wort_cas_arg *arg)
{
	struct wort_request req = {
		.op = {
			.op = WORT_BATCH_CAS, .key_len = arg->key_len,
			.expect_len = arg->expect_len,
			.value_len = arg->value_len, .max_len = arg->old_len,
		},
		.put.key.data = ptr(arg->key_ptr),
		.expect.data = ptr(arg->expect_ptr),
		.put.value.data = ptr(arg->value_ptr),
		.answer.data = ptr(arg->old_ptr),
	};

	return single(h, &req, arg->flags, &arg->out_old_len);
}

static int do_delete(const struct handle *h, struct wort_delete_arg *arg)
{
	struct wort_request req = {
		.op = {
			.op = WORT_BATCH_DELETE, .key_len = arg->key_len,
			.expect_len = arg->expect_len, .max_len = arg->old_len,
		},
		.put.key.data = ptr(arg->key_ptr),
		.expect.data = ptr(arg->expect_ptr),
		.answer.data = ptr(arg->old_ptr),
	};

	return single(h, &req, arg->flags, &arg->out_old_len);
}

static int do_lookup(const struct handle *h, struct wort_lookup_arg *arg)
{
	struct wort_request req = {
		.op = {
			.op = WORT_BATCH_LOOKUP, .key_len = arg->key_len,
			.max_len = arg->value_len,
		},
		.put.key.data = ptr(arg->key_ptr),
		.answer.data = ptr(arg->value_ptr),
	};

	return single(h, &req, arg->flags, &arg->out_value_len);
}

static int do_scan(const struct handle *h, struct wort_scan_arg *arg)
{
	struct wort_key start = { ptr(arg->start_ptr), arg->start_len };
	struct wort_key bound = { ptr(arg->bound_ptr), arg->bound_len };
	struct wort_scan scan = {
		.flags = arg->flags,
		.start = arg->start_len ? &start : NULL,
		.bound = arg->bound_len ? &bound : NULL,
		.max = arg->max_count,
		.buf = ptr(arg->buf_ptr),
		.buf_len = arg->buf_len,
	};
	int err = wort_index_scan(h->index, &scan);

	arg->out_count = scan.count;
	arg->out_len = scan.len;
	arg->out_need = scan.need;
	arg->out_more = scan.more;
	arg->out_last_len = scan.last_len;
	return err;
}

static int do_batch(const struct handle *h, struct wort_batch_arg *arg)
{
	struct wort_batch batch = {
		.flags = arg->flags,
		.ops = ptr(arg->ops_ptr),
		.ops_len = arg->ops_len,
		.nr_ops = arg->nr_ops,
		.results = ptr(arg->results_ptr),
		.results_size = arg->results_len,
		.write = h->write,
	};
	int err = wort_index_batch(h->index, &batch);

	arg->out_done = batch.done;
	arg->out_failed = batch.failed;
	arg->out_results_len = batch.results_len;
	return err;
}

/* The operations of an atomic batch. */
struct atomic_run {
	struct wort_request reqs[WORT_ATOMIC_MAX];
	struct wort_index *indexes[WORT_ATOMIC_MAX];
	struct wort_atomic batch;
};

static const struct handle *handle_of(const struct handle *self,
				      const struct wort_atomic_arg *arg, u32 nr)
{
	const int *fds = ptr(arg->fds_ptr);

	if (!nr)
		return self;
	if (nr > arg->nr_fds || fds[nr - 1] < 0 || fds[nr - 1] >= NR_HANDLES ||
	    handles[fds[nr - 1]].kind != INDEX)
		return NULL;
	return &handles[fds[nr - 1]];
}

/* What libwort has packed; each answer has its room in @results. */
static int parse_atomic(const struct handle *self, struct atomic_run *run,
			struct wort_atomic_arg *arg)
{
	struct wort_request *req = run->reqs;
	u8 *results = ptr(arg->results_ptr);
	const u8 *at = ptr(arg->ops_ptr);
	struct wort_atomic_op op;
	const struct handle *h;
	int err;
	u32 i;

	for (i = 0; i < arg->nr_ops; i++, req++, at += op.op.rec_len) {
		memcpy(&op, at, sizeof(op));
		h = handle_of(self, arg, op.index);
		if (!h)
			return -EBADF;
		run->indexes[i] = h->index;
		req->op = op.op;
		req->put.key.data = at + sizeof(op);
		req->put.key.len = op.op.key_len;
		req->expect.data = req->put.key.data + op.op.key_len;
		req->expect.len = op.op.expect_len;
		req->put.value.data = (u8 *)req->expect.data + op.op.expect_len;
		req->put.value.len = op.op.value_len;
		req->answer.data = results + sizeof(struct wort_batch_result);
		req->answer.size = op.op.max_len;
		results += round_up(sizeof(struct wort_batch_result) +
				    op.op.max_len, 8);
		err = wort_atomic_verify(&op.op, h->write);
		if (err) {
			arg->out_refused = i;
			return err;
		}
	}
	return 0;
}

/* Answers are not longer than their room, therefore packing moves them down. */
static void pack_answers(struct atomic_run *run, struct wort_atomic_arg *arg)
{
	u8 *results = ptr(arg->results_ptr), *to;
	struct wort_batch_result res = { };
	const struct wort_request *req;
	u32 i, len;

	for (i = 0; i < arg->nr_ops; i++) {
		req = &run->reqs[i];
		to = results + arg->out_results_len;
		res.error = req->err;
		res.value_len = req->answer.len;
		len = req->err || req->answer.len == WORT_NO_VALUE ?
		      0 : req->answer.len;
		res.rec_len = round_up(sizeof(res) + len, 8);
		memmove(to + sizeof(res), req->answer.data, len);
		memcpy(to, &res, sizeof(res));
		arg->out_results_len += res.rec_len;
	}
}

static int do_atomic(const struct handle *h, struct wort_atomic_arg *arg)
{
	struct atomic_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	arg->out_refused = WORT_NO_VALUE;
	arg->out_results_len = 0;
	err = parse_atomic(h, run, arg);
	if (!err) {
		run->batch = (struct wort_atomic){
			.nr_ops = arg->nr_ops,
			.reqs = run->reqs,
			.indexes = run->indexes,
			.refused = WORT_NO_VALUE,
		};
		err = wort_pool_atomic(pool, &run->batch);
		arg->out_refused = run->batch.refused;
	}
	if (!err)
		pack_answers(run, arg);
	free(run);
	return err;
}

static int do_stats(const struct handle *h, struct wort_stats_arg *arg)
{
	struct wort_op_stats stats[WORT_OP_NR];
	size_t size = min_t(size_t, arg->buf_len, sizeof(stats));

	if (arg->stride != sizeof(stats[0]))
		return -EINVAL;
	wort_index_stats(h->index, stats);
	memcpy(ptr(arg->buf_ptr), stats, size - size % sizeof(stats[0]));
	arg->out_count = WORT_OP_NR;
	return 0;
}

static int on_index(const struct handle *h, unsigned long cmd, void *arg)
{
	switch (cmd) {
	case WORT_IOC_INSERT:
		return do_insert(h, arg);
	case WORT_IOC_CAS:
		return do_cas(h, arg);
	case WORT_IOC_LOOKUP:
		return do_lookup(h, arg);
	case WORT_IOC_DELETE:
		return do_delete(h, arg);
	case WORT_IOC_SCAN:
		return do_scan(h, arg);
	case WORT_IOC_BATCH:
		return do_batch(h, arg);
	case WORT_IOC_ATOMIC:
		return do_atomic(h, arg);
	case WORT_IOC_INDEX_INFO:
		wort_index_info(h->index, arg);
		return 0;
	case WORT_IOC_STATS:
		return do_stats(h, arg);
	default:
		return -ENOTTY;
	}
}

int __wrap_wort_ioctl(int fd, unsigned long cmd, void *arg)
{
	struct handle *h = &handles[fd];

	/* Maybe of a pool in a plain file. */
	if (fd < 0 || fd >= NR_HANDLES || h->kind == NONE)
		return __real_wort_ioctl(fd, cmd, arg);
	if (h->kind == CONTROL)
		return on_control(cmd, arg);
	if (!attached())
		return -ENODEV;
	return h->kind == POOL ? on_pool(h, cmd, arg) : on_index(h, cmd, arg);
}
