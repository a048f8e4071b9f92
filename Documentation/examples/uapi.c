// SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT
/*
 * Three records in and out again, by ioctl alone.
 *
 *	cc -Iuapi -o uapi-example Documentation/examples/uapi.c
 *	sudo ./uapi-example /dev/wort0
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/wort.h>

static int open_index(int pool, const char *name)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_INDEX_OPEN_F_CREATE,
		.name_ptr = (uintptr_t)name,
		.name_len = strlen(name),
	};

	if (ioctl(pool, WORT_IOC_INDEX_OPEN, &arg))
		err(1, "open %s", name);
	return arg.out_fd;
}

/* Durable when it returns. */
static void insert(int index, const char *key, const char *value)
{
	struct wort_insert_arg arg = {
		.size = sizeof(arg),
		.key_ptr = (uintptr_t)key,
		.key_len = strlen(key),
		.value_ptr = (uintptr_t)value,
		.value_len = strlen(value),
	};

	if (ioctl(index, WORT_IOC_INSERT, &arg))
		err(1, "insert %s", key);
}

static void lookup(int index, const char *key)
{
	char value[64];
	struct wort_lookup_arg arg = {
		.size = sizeof(arg),
		.key_ptr = (uintptr_t)key,
		.key_len = strlen(key),
		.value_ptr = (uintptr_t)value,
		.value_len = sizeof(value),
	};

	if (ioctl(index, WORT_IOC_LOOKUP, &arg))
		err(1, "lookup %s", key);
	printf("%s is %.*s\n", key, (int)arg.out_value_len, value);
}

/* Each call goes on after the last key of the one before. */
static void scan(int index)
{
	static char buf[1 << 16] __attribute__((aligned(8)));
	static char last[WORT_KEY_MAX];
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.start_ptr = (uintptr_t)last,
		.buf_ptr = (uintptr_t)buf,
		.buf_len = sizeof(buf),
	};

	do {
		if (ioctl(index, WORT_IOC_SCAN, &arg))
			err(1, "scan");
		for (__u32 at = 0; at < arg.out_len;) {
			struct wort_record *rec = (void *)(buf + at);
			char *key = (char *)(rec + 1);

			printf("%.*s\t%.*s\n", (int)rec->key_len, key,
			       (int)rec->value_len, key + rec->key_len);
			memcpy(last, key, rec->key_len);
			arg.start_len = rec->key_len;
			at += rec->rec_len;
		}
		arg.flags = WORT_SCAN_F_AFTER;
	} while (arg.out_more);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/wort0";
	int pool = open(path, O_RDWR | O_CLOEXEC), index;

	if (pool < 0)
		err(1, "%s", path);
	index = open_index(pool, "fruit");
	insert(index, "pear", "yellow");
	insert(index, "apple", "red");
	insert(index, "plum", "blue");
	lookup(index, "apple");
	scan(index);
	close(index);
	close(pool);
	return 0;
}
