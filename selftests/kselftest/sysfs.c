// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of /sys/class/wort/wortN, poll on the state, and uevents.
 */
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "wort_test.h"

#define EVENT_MS	30000	/* to give up after, not to wait for */
#define LABEL		"my pool/1"
#define LABEL_ENCODED	"my\\x20pool\\x2f1"

/* An event of the class: variables, each ended by a zero. */
struct event {
	char text[8192];
	ssize_t len;
};

static int open_events(void)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = 1,
	};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (void *)&address, sizeof(address)))
		return -errno;
	return fd;
}

static const char *variable(const struct event *event, const char *name)
{
	const char *at, *end = event->text + event->len;
	size_t len = strlen(name);

	for (at = event->text; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, len) && at[len] == '=')
			return at + len + 1;
	return "";
}

/* 0 if the variable has this value; says what it has otherwise. */
static int differs(const struct event *event, const char *name,
		   const char *value)
{
	if (!strcmp(variable(event, name), value))
		return 0;
	printf("# %s is \"%s\", not \"%s\"\n", name, variable(event, name),
	       value);
	return 1;
}

/* The next event of this kind of a pool's device. */
static int next_event(int fd, const char *action, struct event *event)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	for (;;) {
		if (poll(&poll_fd, 1, EVENT_MS) != 1)
			return -ETIMEDOUT;
		event->len = recv(fd, event->text, sizeof(event->text) - 1, 0);
		if (event->len < 0)
			return -errno;
		event->text[event->len] = 0;
		if (!strcmp(variable(event, "SUBSYSTEM"), "wort") &&
		    !strcmp(variable(event, "ACTION"), action))
			return 0;
	}
}

static int open_attr(int minor, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/wort/wort%d/%s", minor, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The text of an attribute without its newline; its length or an error. */
static int read_fd(int fd, char *text, size_t size)
{
	ssize_t len = pread(fd, text, size - 1, 0);
	int err = len < 0 ? -errno : -EBADMSG;

	if (len <= 0 || text[len - 1] != '\n') {
		text[0] = 0;
		return err;
	}
	text[len - 1] = 0;
	return len - 1;
}

static int read_attr(int minor, const char *name, char *text, size_t size)
{
	int fd = open_attr(minor, name), len;

	text[0] = 0;
	if (fd < 0)
		return fd;
	len = read_fd(fd, text, size);
	close(fd);
	return len;
}

/* 0 if the attribute says this; says what it says otherwise. */
static int attr_differs(int minor, const char *name, const char *value)
{
	char text[256];
	int len = read_attr(minor, name, text, sizeof(text));

	if (len >= 0 && !strcmp(text, value))
		return 0;
	printf("# %s says \"%s\" (%d), not \"%s\"\n", name, text, len, value);
	return 1;
}

static int figure_differs(int minor, const char *name, __u64 value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return attr_differs(minor, name, text);
}

/*
 * Wait until an open state attribute, which was read, says this, and until an
 * event does.  The walk that setup began may end in between.
 */
static int wait_state(int fd, const char *state)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLPRI };
	char text[64] = "";

	do {
		if (poll(&poll_fd, 1, EVENT_MS) != 1) {
			printf("# waited for \"%s\", is \"%s\"\n", state, text);
			return -ETIMEDOUT;
		}
		if (read_fd(fd, text, sizeof(text)) < 0)
			return -EIO;
	} while (strcmp(text, state));
	return 0;
}

static int wait_event(int fd, const char *state, struct event *event)
{
	int err;

	do {
		err = next_event(fd, "change", event);
	} while (!err && strcmp(variable(event, "WORT_STATE"), state));
	return err;
}

static void *wait_any(void *fd)
{
	struct pollfd poll_fd = { .fd = *(int *)fd, .events = POLLPRI };

	return poll(&poll_fd, 1, EVENT_MS) == 1 ? NULL : fd;
}

FIXTURE(sysfs)
{
	struct pool pool;
	int minor;
	int events;
};

FIXTURE_SETUP(sysfs)
{
	struct wort_format_arg arg = {
		.flags = WORT_FORMAT_F_FORCE,
		.label = LABEL,
	};
	int i;

	for (i = 0; i < WORT_UUID_LEN; i++)
		arg.uuid[i] = i + 0xa0;
	ASSERT_EQ(0, pool_up(&self->pool));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, format_with(self->pool.control, test_device(), &arg));
	ASSERT_EQ(0, reattach(&self->pool));
	self->minor = self->pool.minor;
	self->events = open_events();
	ASSERT_LE(0, self->events);
}

FIXTURE_TEARDOWN(sysfs)
{
	close(self->events);
	pool_down(&self->pool);
}

#define UUID "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"

TEST_F(sysfs, attributes)
{
	struct wort_pool_info_arg arg;
	struct wort_check_arg found;
	int fd = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_CREATE);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert(fd, "key", "value"));
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	ASSERT_EQ(0, info(self->pool.fd, &arg));
	EXPECT_EQ(0, attr_differs(self->minor, "uuid", UUID));
	EXPECT_EQ(0, attr_differs(self->minor, "label", LABEL));
	EXPECT_EQ(0, attr_differs(self->minor, "device",
				  strrchr(test_device(), '/') + 1));
	EXPECT_EQ(0, attr_differs(self->minor, "state", "active"));
	EXPECT_EQ(0, attr_differs(self->minor, "format_features", "0x1"));
	EXPECT_EQ(0, figure_differs(self->minor, "pool_size",
				    arg.out_pool_size));
	EXPECT_EQ(0, figure_differs(self->minor, "extent_size",
				    arg.out_extent_size));
	EXPECT_EQ(0, figure_differs(self->minor, "flush", arg.out_flush));
	EXPECT_LT(0, arg.out_used_bytes);
	EXPECT_EQ(0, figure_differs(self->minor, "used_bytes",
				    arg.out_used_bytes));
	EXPECT_EQ(0, figure_differs(self->minor, "free_bytes",
				    found.out_free_bytes));
	EXPECT_EQ(0, figure_differs(self->minor, "nr_indexes", 1));
	EXPECT_EQ(0, figure_differs(self->minor, "nr_dying", 0));
	EXPECT_LT(0, arg.out_attach_lines);
	EXPECT_EQ(0, figure_differs(self->minor, "attach_lines",
				    arg.out_attach_lines));
	/* No engine of the module asks for zeroes. */
	EXPECT_EQ(0, figure_differs(self->minor, "zero_lines", 0));
	EXPECT_EQ(0, figure_differs(self->minor, "atomic_waits",
				    arg.out_atomic_waits));
	EXPECT_EQ(0, figure_differs(self->minor, "atomic_left", 0));
	EXPECT_EQ(0, figure_differs(self->minor, "atomic_damaged", 0));
}

/* A walk that cannot end as long as the index is there. */
static void block_walk(struct __test_metadata *_metadata, struct pool *pool)
{
	int fd = open_index(pool->fd, "a", WORT_INDEX_OPEN_F_CREATE), i;
	char key[16];

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert(fd, "key1", "value"));
	close(fd);
	fd = open_index(pool->fd, "b", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, fd);
	for (i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		ASSERT_EQ(0, insert(fd, key, "value"));
	}
	close(fd);
	ASSERT_EQ(0, detach(pool->control, pool->minor));
	ASSERT_EQ(0, damage_word(first_entry() +
				 offsetof(struct wort_media_entry, root)));
}

TEST_F(sysfs, walk)
{
	struct event event;
	char text[64];
	int fd;

	block_walk(_metadata, &self->pool);
	ASSERT_EQ(0, next_event(self->events, "remove", &event));
	ASSERT_EQ(0, reattach(&self->pool));
	ASSERT_EQ(0, next_event(self->events, "add", &event));
	/* The walk may have met the damage by then. */
	if (strcmp(variable(&event, "WORT_STATE"),
		   "active index-damaged walking"))
		EXPECT_EQ(0, differs(&event, "WORT_STATE", "active walking"));
	EXPECT_EQ(0, attr_differs(self->minor, "used_bytes", "unknown"));
	EXPECT_EQ(0, attr_differs(self->minor, "free_bytes", "unknown"));
	fd = open_attr(self->minor, "state");
	EXPECT_EQ(0, wait_state(fd, "active index-damaged walking"));
	EXPECT_EQ(0, figure_differs(self->minor, "nr_damaged", 1));
	ASSERT_EQ(0, destroy(self->pool.fd, "a"));
	EXPECT_EQ(0, wait_state(fd, "active"));
	EXPECT_EQ(0, wait_event(self->events, "active", &event));
	EXPECT_EQ(0, figure_differs(self->minor, "walk_records", 10));
	EXPECT_EQ(0, figure_differs(self->minor, "nr_indexes", 1));
	ASSERT_LT(0, read_attr(self->minor, "walk_indexes", text,
			       sizeof(text)));
	EXPECT_LE(1, atoi(text));
	ASSERT_LT(0, read_attr(self->minor, "used_bytes", text, sizeof(text)));
	EXPECT_LT(0, atoi(text));
	close(fd);
}

/* Attributes are there when the event of a device comes. */
TEST_F(sysfs, add_and_remove)
{
	int fd = open_attr(self->minor, "state");
	struct event event;
	pthread_t waiter;
	void *asleep;
	char text[32];

	ASSERT_LT(0, read_fd(fd, text, sizeof(text)));
	ASSERT_EQ(0, pthread_create(&waiter, NULL, wait_any, &fd));
	/* if it comes too late, it finds that there is nothing to wait for */
	usleep(200000);
	ASSERT_EQ(0, detach(self->pool.control, self->minor));
	ASSERT_EQ(0, pthread_join(waiter, &asleep));
	EXPECT_EQ(0, PTR(asleep));
	EXPECT_EQ(-ENODEV, read_fd(fd, text, sizeof(text)));
	close(fd);
	ASSERT_EQ(0, next_event(self->events, "remove", &event));
	EXPECT_EQ(0, differs(&event, "WORT_STATE", "detached"));
	ASSERT_EQ(0, reattach(&self->pool));
	ASSERT_EQ(0, next_event(self->events, "add", &event));
	EXPECT_LT(0, read_attr(self->minor, "state", text, sizeof(text)));
	EXPECT_EQ(0, differs(&event, "DEVNAME", "wort0"));
	EXPECT_EQ(0, differs(&event, "WORT_UUID", UUID));
	EXPECT_EQ(0, differs(&event, "WORT_LABEL", LABEL_ENCODED));
	EXPECT_EQ(0, differs(&event, "WORT_DEVICE",
			     strrchr(test_device(), '/') + 1));
	EXPECT_EQ(0, strncmp(variable(&event, "WORT_STATE"), "active", 6));
}

/* One sector, past the page cache: others of its page belong to the module. */
static int sector(int flags, __u64 off, void *data)
{
	static __attribute__((aligned(4096))) char buf[512];
	int fd = open(test_device(), flags | O_DIRECT), err = -EIO;

	if (fd < 0)
		return -errno;
	if (flags == O_RDONLY) {
		err = pread(fd, buf, 512, off) == 512 ? 0 : -errno;
		memcpy(data, buf, 512);
	} else {
		memcpy(buf, data, 512);
		err = pwrite(fd, buf, 512, off) == 512 ? 0 : -errno;
	}
	close(fd);
	return err;
}

static __u64 catalogue_off(void)
{
	struct wort_media_sb sb;
	char data[512];

	if (sector(O_RDONLY, WORT_MEDIA_SB_OFF, data))
		return 0;
	memcpy(&sb, data, sizeof(sb));
	return sb.catalogue_off;
}

/* Slots that were empty are not any more: that is damage of the catalogue. */
TEST_F(sysfs, damage)
{
	struct wort_media_catalogue before, after;
	struct wort_check_arg found;
	struct event event;
	char text[64];
	int fd, i;

	ASSERT_EQ(512, sizeof(before));
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	fd = open_attr(self->minor, "state");
	ASSERT_LT(0, read_fd(fd, text, sizeof(text)));
	EXPECT_EQ(0, strcmp(text, "active"));
	ASSERT_EQ(0, sector(O_RDONLY, catalogue_off(), &before));
	after = before;
	for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS; i++)
		after.slot[i] = 8;
	ASSERT_EQ(0, sector(O_WRONLY, catalogue_off(), &after));
	EXPECT_EQ(-EUCLEAN, open_index(self->pool.fd, "a",
				       WORT_INDEX_OPEN_F_CREATE));
	EXPECT_EQ(0, wait_state(fd, "damaged"));
	EXPECT_EQ(0, wait_event(self->events, "damaged", &event));
	ASSERT_EQ(0, sector(O_WRONLY, catalogue_off(), &before));
	ASSERT_EQ(0, check(self->pool.fd, WORT_CHECK_F_CLEAR, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
	EXPECT_EQ(0, wait_state(fd, "active"));
	EXPECT_EQ(0, wait_event(self->events, "active", &event));
	close(fd);
}

/* A file that was read from does not keep the device. */
TEST_F_TIMEOUT(sysfs, dead, 300)
{
	struct wort_check_arg found;
	char name[64], text[64];
	struct event event;
	int fd;

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	fd = open_attr(self->minor, "state");
	ASSERT_LT(0, read_fd(fd, text, sizeof(text)));
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	EXPECT_EQ(0, wait_state(fd, "dead"));
	EXPECT_EQ(0, wait_event(self->events, "dead", &event));
	EXPECT_EQ(0, differs(&event, "WORT_UUID", UUID));
	EXPECT_EQ(0, attr_differs(self->minor, "uuid", UUID));
	EXPECT_EQ(0, attr_differs(self->minor, "label", LABEL));
	EXPECT_EQ(-ENODEV, read_attr(self->minor, "used_bytes", text,
				     sizeof(text)));
	EXPECT_EQ(-ENODEV, read_attr(self->minor, "free_bytes", text,
				     sizeof(text)));
	EXPECT_EQ(-ENODEV, read_attr(self->minor, "flush", text,
				     sizeof(text)));
	EXPECT_EQ(0, detach(self->pool.control, self->minor));
	ASSERT_EQ(0, next_event(self->events, "remove", &event));
	EXPECT_EQ(-ENODEV, read_fd(fd, text, sizeof(text)));
	close(fd);
	ASSERT_EQ(0, rebind(name));
}

static __u32 crc32c(const void *data, size_t len)
{
	const __u8 *bytes = data;
	__u32 crc = ~0U;
	int bit;

	while (len--) {
		crc ^= *bytes++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

TEST_F(sysfs, unknown_feature)
{
	struct wort_pool_record record;
	struct wort_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(&record),
		.buf_len = sizeof(record),
	};
	struct wort_media_sb sb;
	struct wort_check_arg found;
	char data[512];
	int copy;

	ASSERT_EQ(0, detach(self->pool.control, self->minor));
	for (copy = 0; copy < WORT_MEDIA_SB_COPIES; copy++) {
		__u64 off = WORT_MEDIA_SB_OFF + copy * WORT_MEDIA_SB_SPACE;

		ASSERT_EQ(0, sector(O_RDONLY, off, data));
		memcpy(&sb, data, sizeof(sb));
		sb.ro_compat = 1ULL << 40;
		sb.csum = 0;
		sb.csum = crc32c(&sb, sizeof(sb));
		memcpy(data, &sb, sizeof(sb));
		ASSERT_EQ(0, sector(O_WRONLY, off, data));
	}
	ASSERT_EQ(0, reattach(&self->pool));
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	EXPECT_EQ(-EROFS, open_index(self->pool.fd, "a",
				     WORT_INDEX_OPEN_F_CREATE));
	ASSERT_EQ(0, call(self->pool.control, WORT_IOC_LIST, &arg));
	EXPECT_EQ(WORT_STATE_READONLY, record.state & WORT_STATE_READONLY);
	EXPECT_EQ(0, attr_differs(self->minor, "state", "readonly"));
}

static atomic_bool stop;

#define NR_READS	200

/* Puts and deletes one record after the other, until told to stop. */
static void *write_on(void *index)
{
	char key[16];
	int i;

	for (i = 0; !stop; i++) {
		snprintf(key, sizeof(key), "key%d", i % 1000);
		if (insert(*(int *)index, key, "a value of some bytes") ||
		    (i % 3 == 0 && delete(*(int *)index, key)))
			return index;
	}
	return NULL;
}

/* Space can be read beside writers, whom that does not disturb. */
TEST_F_TIMEOUT(sysfs, space_beside_writers, 300)
{
	int index = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_CREATE);
	struct wort_check_arg found;
	unsigned long long used, unused;
	char text[32];
	pthread_t writer;
	void *failed;
	int i;

	ASSERT_LE(0, index);
	/* the walk has ended afterwards, so the figures are known */
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	stop = false;
	ASSERT_EQ(0, pthread_create(&writer, NULL, write_on, &index));
	for (i = 0; i < NR_READS; i++) {
		ASSERT_LT(0, read_attr(self->minor, "used_bytes", text,
				       sizeof(text)));
		used = strtoull(text, NULL, 10);
		ASSERT_LT(0, read_attr(self->minor, "free_bytes", text,
				       sizeof(text)));
		unused = strtoull(text, NULL, 10);
		EXPECT_LT(0, used);
		EXPECT_LT(0, unused);
		EXPECT_LT(used + unused, 1ULL << 40);
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(writer, &failed));
	EXPECT_EQ(0, PTR(failed));
	stop = false;
	close(index);
}

/* Read every attribute, again and again, whether the device is there or not. */
static void *read_on(void *data)
{
	static const char * const names[] = {
		"uuid", "label", "device", "pool_size", "state", "extent_size",
		"flush", "used_bytes", "free_bytes", "nr_indexes", "nr_damaged",
		"nr_dying",
		"walk_indexes", "walk_records", "check_records",
		"rebuild_records", "attach_lines", "zero_lines", "atomic_batches",
		"atomic_refused", "atomic_waits", "atomic_redone",
		"atomic_left", "atomic_damaged", "format_features", "uevent",
	};
	long *reads = data;
	char text[1024];
	int i, len;

	while (!stop)
		for (i = 0; i < (int)ARRAY_SIZE(names); i++) {
			len = read_attr(0, names[i], text, sizeof(text));
			if (len > 0)
				++*reads;
			else if (len != -ENODEV && len != -ENOENT)
				return (void *)names[i];
		}
	return NULL;
}

TEST_F_TIMEOUT(sysfs, readers_beside_detach, 300)
{
	pthread_t thread;
	long reads = 0;
	void *failed;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, read_on, &reads));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
		ASSERT_EQ(0, reattach(&self->pool));
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(thread, &failed));
	if (failed)
		printf("# reading %s failed\n", (char *)failed);
	EXPECT_EQ(0, PTR(failed));
	EXPECT_LT(0, reads);
}

TEST_HARNESS_MAIN
