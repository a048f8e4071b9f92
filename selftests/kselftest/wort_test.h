/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the module share.
 */
#ifndef _WORT_TEST_H
#define _WORT_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/wort.h>
#include <linux/wort_engines.h>
#include <linux/wort_format.h>

#include "ktap.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#define PTR(pointer) ((uintptr_t)(pointer))

#define CONTROL "/dev/wort-control"
#define DRIVER "/sys/bus/nd/drivers/nd_pmem"

/* What is written there is lost. */
static inline const char *test_device(void)
{
	const char *device = getenv("WORT_DEVICE");

	return device ? device : "/dev/pmem0";
}

struct engine_row {
	const char *name;
	__u32 id;
	__u32 traits;
};

#define ENGINE_ROW(symbol, name, id, traits)	{ name, id, traits },

/* The engines, the default first; no name behind the last. */
static const struct engine_row engine_rows[] __attribute__((unused)) = {
	WORT_ENGINES(ENGINE_ROW)
	{ }
};

#define ENGINE_ID(symbol, name, id, traits)	id,

/* May a module lack the engine? */
static inline bool engine_is_for_tests(__u32 id)
{
	static const __u32 ids[] = { WORT_ENGINES_TEST(ENGINE_ID) 0 };
	const __u32 *at = ids;

	while (*at && *at != id)
		at++;
	return *at;
}

/* The engine that open_index() gives new indexes: $WORT_ENGINE, or the default. */
static inline const struct engine_row *test_engine(void)
{
	const char *name = getenv("WORT_ENGINE");
	const struct engine_row *engine;

	for (engine = engine_rows; name && engine->name; engine++)
		if (!strcmp(engine->name, name))
			return engine;
	return &engine_rows[0];
}

/* As it is asked for: without a name, by the default's number. */
static inline __u32 test_engine_id(void)
{
	return getenv("WORT_ENGINE") ? test_engine()->id : WORT_ENGINE_DEFAULT;
}

/* Was the module told to do without the optional functions of engines? */
static inline bool engines_mandatory(void)
{
	int fd = open("/sys/module/wort/parameters/mandatory", O_RDONLY);
	char is = 'N';

	if (fd >= 0 && read(fd, &is, 1) < 0)
		is = 'N';
	if (fd >= 0)
		close(fd);
	return is == 'Y';
}

static inline int call(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

static inline int format_with(int control, const char *device,
			      struct wort_format_arg *arg)
{
	arg->size = sizeof(*arg);
	arg->dev_ptr = PTR(device);
	arg->dev_len = strlen(device);
	return call(control, WORT_IOC_FORMAT, arg);
}

static inline int format(int control, const char *device, __u32 flags)
{
	struct wort_format_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
	};

	return format_with(control, device, &arg);
}

/* The minor, or a negative errno. */
static inline int attach_with(int control, const char *device, __u32 flags)
{
	struct wort_attach_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.dev_ptr = PTR(device),
		.dev_len = strlen(device),
	};
	int err = call(control, WORT_IOC_ATTACH, &arg);

	return err ? err : (int)arg.out_minor;
}

static inline int attach(int control, const char *device)
{
	return attach_with(control, device, 0);
}

static inline int detach(int control, int minor)
{
	struct wort_detach_arg arg = {
		.size = sizeof(arg),
		.minor = minor,
	};

	return call(control, WORT_IOC_DETACH, &arg);
}

static inline void detach_all(int control)
{
	struct wort_pool_record record;
	struct wort_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(&record),
		.buf_len = sizeof(record),
	};

	while (!call(control, WORT_IOC_LIST, &arg) && arg.out_count)
		if (detach(control, record.minor))
			break;
}

/* devtmpfs makes the node before attach returns. */
static inline int open_pool(int minor, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/wort%d", minor);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* With an engine and an attribute word; 0: the defaults. */
static inline int open_index_with(int pool, const char *name, __u32 flags,
				  __u32 engine, __u64 attr)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.engine = engine,
		.attr = attr,
		.name_ptr = PTR(name),
		.name_len = strlen(name),
	};
	int err = call(pool, WORT_IOC_INDEX_OPEN, &arg);

	return err ? err : arg.out_fd;
}

static inline int open_index(int pool, const char *name, __u32 flags)
{
	return open_index_with(pool, name, flags, test_engine_id(), 0);
}

static inline int destroy(int pool, const char *name)
{
	struct wort_index_destroy_arg arg = {
		.size = sizeof(arg),
		.name_ptr = PTR(name),
		.name_len = strlen(name),
	};

	return call(pool, WORT_IOC_INDEX_DESTROY, &arg);
}

static inline int rename_index(int pool, const char *name, const char *to)
{
	struct wort_index_rename_arg arg = {
		.size = sizeof(arg),
		.name_ptr = PTR(name),
		.new_ptr = PTR(to),
		.name_len = strlen(name),
		.new_len = strlen(to),
	};

	return call(pool, WORT_IOC_INDEX_RENAME, &arg);
}

static inline int insert_raw(int index, const void *key, __u32 key_len,
			     const void *value, __u32 value_len, __u32 flags)
{
	struct wort_insert_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.key_ptr = PTR(key),
		.value_ptr = PTR(value),
		.key_len = key_len,
		.value_len = value_len,
	};

	return call(index, WORT_IOC_INSERT, &arg);
}

static inline int insert(int index, const char *key, const char *value)
{
	return insert_raw(index, key, strlen(key), value, strlen(value), 0);
}

/* The length of the value, or a negative errno. */
static inline int lookup_raw(int index, const void *key, __u32 key_len,
			     void *value, __u32 size, __u32 *out_len)
{
	struct wort_lookup_arg arg = {
		.size = sizeof(arg),
		.key_ptr = PTR(key),
		.value_ptr = PTR(value),
		.key_len = key_len,
		.value_len = size,
	};
	int err = call(index, WORT_IOC_LOOKUP, &arg);

	if (out_len)
		*out_len = arg.out_value_len;
	return err ? err : (int)arg.out_value_len;
}

/* 0 if the key has this value. */
static inline int lookup(int index, const char *key, const char *value)
{
	char buf[256];
	int len = lookup_raw(index, key, strlen(key), buf, sizeof(buf), NULL);

	if (len < 0)
		return len;
	return len != (int)strlen(value) || memcmp(buf, value, len);
}

static inline int delete_raw(int index, const void *key, __u32 key_len)
{
	struct wort_delete_arg arg = {
		.size = sizeof(arg),
		.key_ptr = PTR(key),
		.key_len = key_len,
	};

	return call(index, WORT_IOC_DELETE, &arg);
}

static inline int delete(int index, const char *key)
{
	return delete_raw(index, key, strlen(key));
}

static inline int info(int pool, struct wort_pool_info_arg *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	return call(pool, WORT_IOC_POOL_INFO, arg);
}

static inline int check(int pool, __u32 flags, struct wort_check_arg *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->flags = flags;
	return call(pool, WORT_IOC_CHECK, arg);
}

/* 0 if the kernel took the text; there is a newline behind it. */
static inline int write_file(const char *path, const char *fmt, ...)
{
	char text[128];
	va_list args;
	int fd, len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	len = write(fd, text, len) == len ? 0 : -errno;
	close(fd);
	return len;
}

/* What proc(5) has of a process by a name; empty if it has nothing. */
static inline void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, text, size - 1);
	text[len < 0 ? 0 : len] = 0;
	close(fd);
}

/*
 * Does a process sleep in the module, so that only a fatal signal ends that?  A kernel without
 * CONFIG_STACKTRACE does not tell where, and of one that runs again nothing is told.
 */
static inline bool sleeps_in_module(pid_t pid)
{
	char text[4096], *end;

	read_proc(pid, "stat", text, sizeof(text));
	end = strrchr(text, ')');
	if (!end || strncmp(end, ") D", 3))
		return false;
	if (access("/proc/self/stack", F_OK))
		return true;
	read_proc(pid, "stack", text, sizeof(text));
	return strstr(text, "wort");
}

/* The name of the device that the driver of the memory is bound to. */
static inline int bound_name(char *name, size_t size)
{
	char path[64], target[256];
	const char *disk = strrchr(test_device(), '/') + 1;
	int len;

	snprintf(path, sizeof(path), "/sys/block/%s/device", disk);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = 0;
	snprintf(name, size, "%s", strrchr(target, '/') + 1);
	return access(DRIVER, F_OK) ? -errno : 0;
}

static inline int rebind(const char *name)
{
	int tries = 300, err = write_file(DRIVER "/bind", "%s", name);

	while (!err && access(test_device(), F_OK) && tries--)
		usleep(10000);
	return err;
}

/* Where the memory is; 0 if nobody tells. */
static inline __u64 physical_start(void)
{
	char name[64], path[128], text[32] = "";
	int fd;

	if (bound_name(name, sizeof(name)))
		return 0;
	snprintf(path, sizeof(path), "/sys/bus/nd/devices/%s/resource", name);
	fd = open(path, O_RDONLY);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strtoull(text, NULL, 16);
}

/* What is on media, looked at and changed while nobody has it attached. */
static inline __u64 read_word(__u64 off)
{
	int fd = open(test_device(), O_RDONLY);
	__u64 word = 0;

	if (pread(fd, &word, 8, off) != 8)
		word = 0;
	close(fd);
	return word;
}

static inline int write_word(__u64 off, __u64 word)
{
	int fd = open(test_device(), O_RDWR), err = -EIO;

	if (fd >= 0 && pwrite(fd, &word, 8, off) == 8 && !fsync(fd))
		err = 0;
	close(fd);
	return err;
}

/* A link or offset there leads out of the pool afterwards. */
static inline int damage_word(__u64 off)
{
	return write_word(off, read_word(off) | 0x7ffffffff000ULL);
}

static inline __u64 first_entry(void)
{
	__u64 catalogue = read_word(WORT_MEDIA_SB_OFF +
				    offsetof(struct wort_media_sb,
					     catalogue_off));

	return read_word(catalogue + offsetof(struct wort_media_catalogue,
					      slot));
}

static inline void set_sys_admin(bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	syscall(SYS_capget, &head, data);
	data[0].effective &= ~(1U << CAP_SYS_ADMIN);
	if (on)
		data[0].effective |= 1U << CAP_SYS_ADMIN;
	syscall(SYS_capset, &head, data);
}

static sigjmp_buf touched_badly UNUSED;

static inline void on_bus(int signal UNUSED)
{
	siglongjmp(touched_badly, 1);
}

/* -EFAULT if a byte cannot be read. */
static inline int touch(const void *at)
{
	struct sigaction action = { .sa_handler = on_bus }, before;
	int err = 0;

	sigaction(SIGBUS, &action, &before);
	if (sigsetjmp(touched_badly, 1))
		err = -EFAULT;
	else
		(void)*(const volatile __u8 *)at;
	sigaction(SIGBUS, &before, NULL);
	return err;
}

/* A page that cannot be touched. */
static inline void *bad_page(void)
{
	return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Bytes that end where memory ends. */
static inline void *at_page_end(const void *data, size_t len)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(page + 4096, 4096, PROT_NONE);
	return memcpy(page + 4096 - len, data, len);
}

/* An empty pool, attached. */
struct pool {
	int control;
	int minor;
	int fd;
};

static inline int pool_attach(struct pool *pool, const char *device,
			      __u32 flags)
{
	pool->minor = attach_with(pool->control, device, flags);
	if (pool->minor < 0)
		return pool->minor;
	pool->fd = open_pool(pool->minor, O_RDWR);
	return pool->fd < 0 ? pool->fd : 0;
}

static inline int pool_up(struct pool *pool)
{
	int err;

	pool->control = open(CONTROL, O_RDWR | O_CLOEXEC);
	if (pool->control < 0)
		return -errno;
	detach_all(pool->control);
	err = format(pool->control, test_device(), WORT_FORMAT_F_FORCE);
	return err ? err : pool_attach(pool, test_device(), 0);
}

static inline void pool_down(struct pool *pool)
{
	close(pool->fd);
	detach_all(pool->control);
	close(pool->control);
}

/* It was detached. */
static inline int reattach_with(struct pool *pool, __u32 flags)
{
	close(pool->fd);
	return pool_attach(pool, test_device(), flags);
}

static inline int reattach(struct pool *pool)
{
	return reattach_with(pool, 0);
}

/* As the list of pools tells it, of one that is there. */
static inline __u32 listed_state(int control, __u32 minor)
{
	struct wort_pool_record record = { };
	struct wort_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(&record),
		.buf_len = sizeof(record),
		.start = minor,
	};

	if (call(control, WORT_IOC_LIST, &arg) || !arg.out_count)
		return ~0U;
	return record.state;
}

#endif /* _WORT_TEST_H */
