// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules that hold for every ioctl: each test breaks one of them in an argument
 * that is otherwise valid.
 */
#include "wort_test.h"

enum kind { ON_CONTROL, ON_POOL, ON_INDEX, NR_KINDS };

#define NOTHING 0

struct command {
	const char *name;
	unsigned long cmd;
	unsigned int number;	/* as it was published */
	size_t size;		/* of the first version */
	size_t size_now;	/* of the one that this is built with */
	enum kind kind;
	__u32 flags;
	size_t reserved;	/* where, or NOTHING */
	bool write;
	bool has_out;
	int valid;		/* what a valid argument gets here */
};

#define COMMAND(NAME, type, nr, bytes, on, ...) {			\
	.name = #NAME, .cmd = WORT_IOC_##NAME, .number = nr,		\
	.size = bytes, .size_now = sizeof(struct type), .kind = on,	\
	##__VA_ARGS__ }
#define RESERVED(type) .reserved = offsetof(struct type, __reserved)

static const struct command commands[] = {
	COMMAND(FORMAT, wort_format_arg, 0xbc00, 104, ON_CONTROL,
		.flags = 1, .write = true, .valid = -EBUSY),
	COMMAND(ATTACH, wort_attach_arg, 0xbc01, 24, ON_CONTROL, .flags = 7,
		.write = true, .has_out = true, .valid = -EBUSY),
	COMMAND(DETACH, wort_detach_arg, 0xbc02, 16, ON_CONTROL,
		RESERVED(wort_detach_arg), .write = true, .valid = -ENOENT),
	COMMAND(LIST, wort_list_arg, 0xbc03, 32, ON_CONTROL, .has_out = true),
	COMMAND(INDEX_OPEN, wort_index_open_arg, 0xbc10, 40, ON_POOL,
		.flags = 0xf, .has_out = true),
	COMMAND(INDEX_LIST, wort_index_list_arg, 0xbc11, 40, ON_POOL,
		RESERVED(wort_index_list_arg), .has_out = true),
	COMMAND(INDEX_DESTROY, wort_index_destroy_arg, 0xbc12, 24, ON_POOL,
		RESERVED(wort_index_destroy_arg), .write = true,
		.valid = -ENOENT),
	COMMAND(POOL_INFO, wort_pool_info_arg, 0xbc13, 208, ON_POOL,
		.has_out = true),
	COMMAND(CHECK, wort_check_arg, 0xbc14, 88, ON_POOL, .flags = 1,
		.write = true, .has_out = true),
	COMMAND(INSERT, wort_insert_arg, 0xbc20, 48, ON_INDEX, .flags = 0x103,
		.write = true, .has_out = true),
	COMMAND(LOOKUP, wort_lookup_arg, 0xbc21, 40, ON_INDEX,
		RESERVED(wort_lookup_arg), .has_out = true),
	COMMAND(DELETE, wort_delete_arg, 0xbc22, 48, ON_INDEX, .flags = 0x101,
		.write = true, .has_out = true, .valid = -ENOENT),
	COMMAND(SCAN, wort_scan_arg, 0xbc23, 80, ON_INDEX, .flags = 0x1f,
		RESERVED(wort_scan_arg), .has_out = true),
	COMMAND(BATCH, wort_batch_arg, 0xbc24, 48, ON_INDEX, .flags = 1,
		.has_out = true),
	COMMAND(INDEX_INFO, wort_index_info_arg, 0xbc25, 168, ON_INDEX,
		RESERVED(wort_index_info_arg), .has_out = true),
	COMMAND(STATS, wort_stats_arg, 0xbc26, 24, ON_INDEX,
		RESERVED(wort_stats_arg), .has_out = true),
	COMMAND(CAS, wort_cas_arg, 0xbc27, 64, ON_INDEX, .flags = 0x100,
		RESERVED(wort_cas_arg), .write = true, .has_out = true),
	COMMAND(ATOMIC, wort_atomic_arg, 0xbc28, 56, ON_INDEX, .has_out = true),
	COMMAND(INDEX_RENAME, wort_index_rename_arg, 0xbc15, 32, ON_POOL,
		.write = true, .valid = -ENOENT),
	/* A thaw of what is not frozen: what others change would wait. */
	COMMAND(FREEZE, wort_freeze_arg, 0xbc16, 8, ON_POOL, .flags = 1,
		.write = true, .valid = -EINVAL),
};

/* Room for an argument and for what later versions may append. */
union argument {
	__u32 size;
	struct {
		__u32 size;
		__u32 flags;
	} head;
	struct wort_format_arg format;
	struct wort_attach_arg attach;
	struct wort_detach_arg detach;
	struct wort_list_arg list;
	struct wort_index_open_arg index_open;
	struct wort_index_list_arg index_list;
	struct wort_index_destroy_arg index_destroy;
	struct wort_index_rename_arg index_rename;
	struct wort_insert_arg insert;
	struct wort_lookup_arg lookup;
	struct wort_delete_arg delete;
	struct wort_scan_arg scan;
	struct wort_batch_arg batch;
	struct wort_stats_arg stats;
	struct wort_cas_arg cas;
	struct wort_atomic_arg atomic;
	unsigned char bytes[512];
};

static char memory[8192];

/* What an atomic batch refers to: a lookup, and the index once more. */
static struct {
	struct wort_atomic_op op;
	char key[8];
} atomic_op = { { { 40, WORT_BATCH_LOOKUP, 0, 3, 0, 0, 8 }, 0, 0 }, "key" };

static int atomic_fd;

FIXTURE(abi)
{
	struct pool pool;
	int index;
	int fd[NR_KINDS];
};

FIXTURE_SETUP(abi)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	self->index = open_index(self->pool.fd, "index",
				 WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->index);
	ASSERT_EQ(0, insert(self->index, "key", "value"));
	self->fd[ON_CONTROL] = self->pool.control;
	self->fd[ON_POOL] = self->pool.fd;
	self->fd[ON_INDEX] = self->index;
	atomic_fd = self->index;
}

FIXTURE_TEARDOWN(abi)
{
	close(self->index);
	pool_down(&self->pool);
}

static void fill_control(const struct command *command, union argument *arg)
{
	static const char device[] = "/dev/pmem0";

	if (command->cmd == WORT_IOC_FORMAT) {
		arg->format.dev_ptr = PTR(device);
		arg->format.dev_len = strlen(device);
	} else if (command->cmd == WORT_IOC_ATTACH) {
		arg->attach.dev_ptr = PTR(device);
		arg->attach.dev_len = strlen(device);
	} else if (command->cmd == WORT_IOC_DETACH) {
		arg->detach.minor = 999999;
	} else {
		arg->list.buf_ptr = PTR(memory);
		arg->list.buf_len = sizeof(memory);
	}
}

static void fill_pool(const struct command *command, union argument *arg)
{
	if (command->cmd == WORT_IOC_INDEX_OPEN) {
		arg->index_open.name_ptr = PTR("index");
		arg->index_open.name_len = 5;
	} else if (command->cmd == WORT_IOC_INDEX_LIST) {
		arg->index_list.buf_ptr = PTR(memory);
		arg->index_list.buf_len = sizeof(memory);
	} else if (command->cmd == WORT_IOC_INDEX_DESTROY) {
		arg->index_destroy.name_ptr = PTR("none");
		arg->index_destroy.name_len = 4;
	} else if (command->cmd == WORT_IOC_INDEX_RENAME) {
		arg->index_rename.name_ptr = PTR("none");
		arg->index_rename.new_ptr = PTR("other");
		arg->index_rename.name_len = 4;
		arg->index_rename.new_len = 5;
	} else if (command->cmd == WORT_IOC_FREEZE) {
		arg->head.flags = WORT_FREEZE_F_THAW;
	}
}

static void fill_index(const struct command *command, union argument *arg)
{
	if (command->cmd == WORT_IOC_INSERT) {
		arg->insert.key_ptr = PTR("key");
		arg->insert.key_len = 3;
		arg->insert.value_ptr = PTR("value");
		arg->insert.value_len = 5;
	} else if (command->cmd == WORT_IOC_LOOKUP) {
		arg->lookup.key_ptr = PTR("key");
		arg->lookup.key_len = 3;
		arg->lookup.value_ptr = PTR(memory);
		arg->lookup.value_len = 5;
	} else if (command->cmd == WORT_IOC_DELETE) {
		arg->delete.key_ptr = PTR("none");
		arg->delete.key_len = 4;
	} else if (command->cmd == WORT_IOC_CAS) {
		arg->cas.key_ptr = PTR("key");
		arg->cas.key_len = 3;
		arg->cas.expect_ptr = PTR("value");
		arg->cas.expect_len = 5;
		arg->cas.value_ptr = PTR("value");
		arg->cas.value_len = 5;
	} else if (command->cmd == WORT_IOC_SCAN) {
		arg->scan.buf_ptr = PTR(memory);
		arg->scan.buf_len = sizeof(memory);
	} else if (command->cmd == WORT_IOC_STATS) {
		arg->stats.buf_ptr = PTR(memory);
		arg->stats.buf_len = sizeof(memory);
	} else if (command->cmd == WORT_IOC_ATOMIC) {
		arg->atomic.ops_ptr = PTR(&atomic_op);
		arg->atomic.ops_len = sizeof(atomic_op);
		arg->atomic.nr_ops = 1;
		arg->atomic.results_ptr = PTR(memory);
		arg->atomic.results_len = 24;
		arg->atomic.fds_ptr = PTR(&atomic_fd);
		arg->atomic.nr_fds = 1;
	}
}

static void fill(const struct command *command, union argument *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = command->size;
	if (command->kind == ON_CONTROL)
		fill_control(command, arg);
	else if (command->kind == ON_POOL)
		fill_pool(command, arg);
	else
		fill_index(command, arg);
}

/* The command after this one, the first one after NULL; NULL at the end. */
static const struct command *next(const struct command *command)
{
	command = command ? command + 1 : commands;
	return command < commands + ARRAY_SIZE(commands) ? command : NULL;
}

/* Tells which command it was, where the line does not. */
#define EXPECT_OF(command, want, seen) do {				\
	int _expected = (want), _err = (seen);				\
									\
	if (_err != _expected)						\
		TH_LOG("%s", (command)->name);				\
	EXPECT_EQ(_expected, _err);					\
} while (0)

static int call_with(const struct command *command, const int *fd, void *arg)
{
	int err = call(fd[command->kind], command->cmd, arg);

	if (!err && command->cmd == WORT_IOC_INDEX_OPEN)
		close(((struct wort_index_open_arg *)arg)->out_fd);
	return err;
}

TEST_F(abi, numbers)
{
	const struct command *command = NULL;

	while ((command = next(command)))
		EXPECT_EQ(command->number, command->cmd);
}

TEST_F(abi, sizes)
{
	EXPECT_EQ(sizeof(struct wort_format_arg), commands[0].size);
	EXPECT_EQ(sizeof(struct wort_attach_arg), commands[1].size);
	EXPECT_EQ(sizeof(struct wort_detach_arg), commands[2].size);
	EXPECT_EQ(sizeof(struct wort_list_arg), commands[3].size);
	EXPECT_EQ(sizeof(struct wort_index_open_arg), commands[4].size);
	EXPECT_EQ(sizeof(struct wort_index_list_arg), commands[5].size);
	EXPECT_EQ(sizeof(struct wort_index_destroy_arg), commands[6].size);
	EXPECT_EQ(264, sizeof(struct wort_pool_info_arg));
	EXPECT_EQ(120, sizeof(struct wort_check_arg));
	EXPECT_EQ(8, sizeof(struct wort_freeze_arg));
	EXPECT_EQ(sizeof(struct wort_insert_arg), commands[9].size);
	EXPECT_EQ(sizeof(struct wort_lookup_arg), commands[10].size);
	EXPECT_EQ(sizeof(struct wort_delete_arg), commands[11].size);
	EXPECT_EQ(sizeof(struct wort_scan_arg), commands[12].size);
	EXPECT_EQ(sizeof(struct wort_batch_arg), commands[13].size);
	EXPECT_EQ(200, sizeof(struct wort_index_info_arg));
	EXPECT_EQ(32, sizeof(struct wort_stats_arg));
	EXPECT_EQ(sizeof(struct wort_cas_arg), commands[16].size);
	EXPECT_EQ(sizeof(struct wort_atomic_arg), commands[17].size);
	EXPECT_EQ(sizeof(struct wort_index_rename_arg), commands[18].size);
	EXPECT_EQ(128, sizeof(struct wort_pool_record));
	EXPECT_EQ(136, sizeof(struct wort_index_record));
	EXPECT_EQ(16, sizeof(struct wort_record));
	EXPECT_EQ(24, sizeof(struct wort_batch_op));
	EXPECT_EQ(32, sizeof(struct wort_atomic_op));
	EXPECT_EQ(16, sizeof(struct wort_batch_result));
	EXPECT_EQ(80, sizeof(struct wort_op_stats));
}

TEST_F(abi, valid_arguments)
{
	const struct command *command = NULL;
	union argument arg;

	while ((command = next(command))) {
		fill(command, &arg);
		EXPECT_OF(command, command->valid,
			  call_with(command, self->fd, &arg));
	}
}

/* errno-table: ioctl EINVAL */
TEST_F(abi, size_too_small)
{
	const struct command *command = NULL;
	union argument arg;
	__u32 size;

	while ((command = next(command))) {
		for (size = 0; size < command->size; size += 4) {
			fill(command, &arg);
			arg.size = size;
			EXPECT_OF(command, -EINVAL,
				  call_with(command, self->fd, &arg));
		}
		arg.size = command->size - 1;
		EXPECT_OF(command, -EINVAL,
			  call_with(command, self->fd, &arg));
	}
}

TEST_F(abi, larger_with_zero_tail)
{
	const struct command *command = NULL;
	union argument arg;

	while ((command = next(command))) {
		fill(command, &arg);
		arg.size = sizeof(arg);
		EXPECT_OF(command, command->valid,
			  call_with(command, self->fd, &arg));
		EXPECT_EQ(0, arg.bytes[sizeof(arg) - 1]);
	}
}

/* errno-table: ioctl E2BIG */
TEST_F(abi, larger_with_other_tail)
{
	const struct command *command = NULL;
	union argument arg;

	while ((command = next(command))) {
		fill(command, &arg);
		arg.size = sizeof(arg);
		arg.bytes[sizeof(arg) - 1] = 1;
		EXPECT_OF(command, -E2BIG,
			  call_with(command, self->fd, &arg));
		fill(command, &arg);
		arg.size = command->size_now + 4;
		arg.bytes[command->size_now] = 1;
		EXPECT_OF(command, -E2BIG,
			  call_with(command, self->fd, &arg));
		arg.size = ~0U;
		EXPECT_OF(command, -E2BIG,
			  call_with(command, self->fd, &arg));
	}
}

/* errno-table: ioctl EOPNOTSUPP */
TEST_F(abi, unknown_flags)
{
	const struct command *command = NULL;
	union argument arg;
	int bit;

	while ((command = next(command))) {
		for (bit = 0; bit < 32; bit++) {
			if (command->flags & (1U << bit))
				continue;
			fill(command, &arg);
			arg.head.flags = 1U << bit;
			EXPECT_OF(command, -EOPNOTSUPP,
				  call_with(command, self->fd, &arg));
		}
	}
}

/* errno-table: ioctl EINVAL */
TEST_F(abi, reserved_not_zero)
{
	const struct command *command = NULL;
	union argument arg;
	int byte;

	while ((command = next(command))) {
		if (command->reserved == NOTHING)
			continue;
		for (byte = 0; byte < 4; byte++) {
			fill(command, &arg);
			arg.size = command->size_now;
			arg.bytes[command->reserved + byte] = 0x80;
			EXPECT_OF(command, -EINVAL,
				  call_with(command, self->fd, &arg));
		}
	}
}

/* errno-table: ioctl EFAULT */
TEST_F(abi, argument_unreadable)
{
	const struct command *command = NULL;
	union argument arg;
	char *end;

	while ((command = next(command))) {
		EXPECT_OF(command, -EFAULT,
			  call_with(command, self->fd, NULL));
		EXPECT_OF(command, -EFAULT,
			  call_with(command, self->fd, bad_page()));
		fill(command, &arg);
		end = at_page_end(&arg, command->size - 4);
		EXPECT_OF(command, -EFAULT,
			  call_with(command, self->fd, end));
		end = at_page_end(&arg, command->size);
		EXPECT_OF(command, command->valid,
			  call_with(command, self->fd, end));
	}
}

/* Nothing is written where there are no out fields. */
TEST_F(abi, argument_read_only)
{
	const struct command *command = NULL;
	union argument *arg;

	while ((command = next(command))) {
		arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		fill(command, arg);
		mprotect(arg, 4096, PROT_READ);
		EXPECT_OF(command, command->has_out ? -EFAULT : command->valid,
			  call(self->fd[command->kind], command->cmd, arg));
		munmap(arg, 4096);
	}
}

/* errno-table: ioctl ENOTTY */
TEST_F(abi, wrong_descriptor)
{
	const struct command *command = NULL;
	union argument arg;
	enum kind kind;

	while ((command = next(command))) {
		for (kind = 0; kind < NR_KINDS; kind++) {
			if (kind == command->kind)
				continue;
			fill(command, &arg);
			EXPECT_OF(command, -ENOTTY,
				  call(self->fd[kind], command->cmd, &arg));
		}
	}
}

/* errno-table: ioctl ENOTTY */
TEST_F(abi, unknown_command)
{
	union argument arg = { .size = sizeof(arg) };
	unsigned int nr;
	enum kind kind;
	size_t i;

	for (kind = 0; kind < NR_KINDS; kind++) {
		for (nr = 0; nr < 256; nr++) {
			for (i = 0; i < ARRAY_SIZE(commands); i++)
				if ((commands[i].number & 0xff) == nr)
					break;
			if (i < ARRAY_SIZE(commands))
				continue;
			EXPECT_EQ(-ENOTTY, call(self->fd[kind],
						_IO(WORT_IOC_TYPE, nr), &arg));
		}
		EXPECT_EQ(-ENOTTY, call(self->fd[kind], TCGETS, &arg));
		/* the right number with a size, a direction or another type */
		EXPECT_EQ(-ENOTTY, call(self->fd[kind],
					_IOW(WORT_IOC_TYPE, 3, __u32), &arg));
		EXPECT_EQ(-ENOTTY, call(self->fd[kind], _IO(0xbd, 3), &arg));
	}
}

/* errno-table: ioctl EBADF */
TEST_F(abi, read_only_descriptor)
{
	const struct command *command = NULL;
	union argument arg;
	int fd[NR_KINDS];

	fd[ON_CONTROL] = open(CONTROL, O_RDONLY);
	fd[ON_POOL] = open_pool(self->pool.minor, O_RDONLY);
	ASSERT_LE(0, fd[ON_CONTROL]);
	ASSERT_LE(0, fd[ON_POOL]);
	fd[ON_INDEX] = open_index(fd[ON_POOL], "index", 0);
	ASSERT_LE(0, fd[ON_INDEX]);
	while ((command = next(command))) {
		fill(command, &arg);
		EXPECT_OF(command, command->write ? -EBADF : command->valid,
			  call_with(command, fd, &arg));
		/* the right to act comes before the shape of the argument */
		arg.size = 0;
		EXPECT_OF(command, command->write ? -EBADF : -EINVAL,
			  call_with(command, fd, &arg));
	}
	EXPECT_EQ(-EBADF, open_index(fd[ON_POOL], "index",
				     WORT_INDEX_OPEN_F_CREATE));
	EXPECT_EQ(-EBADF, open_index(fd[ON_POOL], "new",
				     WORT_INDEX_OPEN_F_CREATE |
				     WORT_INDEX_OPEN_F_RDONLY));
	EXPECT_EQ(-ENOENT, open_index(fd[ON_POOL], "new", 0));
}

/* errno-table: ioctl EPERM */
TEST_F(abi, without_capability)
{
	const struct command *command = NULL;
	union argument arg;

	set_sys_admin(false);
	while ((command = next(command))) {
		fill(command, &arg);
		EXPECT_OF(command, command->kind == ON_CONTROL ? -EPERM :
			  command->valid, call_with(command, self->fd, &arg));
	}
	EXPECT_EQ(-EPERM, call(self->fd[ON_CONTROL], WORT_IOC_LIST, NULL));
	set_sys_admin(true);
}

/* errno-table: ioctl ENODEV */
TEST_F(abi, after_detach)
{
	const struct command *command = NULL;
	union argument arg;

	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	while ((command = next(command))) {
		if (command->kind == ON_CONTROL)
			continue;
		fill(command, &arg);
		EXPECT_OF(command, -ENODEV,
			  call_with(command, self->fd, &arg));
		arg.size = 0;
		EXPECT_OF(command, -EINVAL,
			  call_with(command, self->fd, &arg));
	}
}

/* errno-table: operation ESTALE */
TEST_F(abi, after_destroy)
{
	const struct command *command = NULL;
	union argument arg;

	ASSERT_EQ(0, destroy(self->pool.fd, "index"));
	while ((command = next(command))) {
		if (command->kind != ON_INDEX || command->cmd == WORT_IOC_BATCH)
			continue;
		fill(command, &arg);
		EXPECT_OF(command, -ESTALE,
			  call_with(command, self->fd, &arg));
	}
	EXPECT_EQ(-ENOENT, open_index(self->pool.fd, "index", 0));
}

/* Pointers within arguments, with the command and where its pointer is. */
static const struct {
	unsigned long cmd;
	size_t at;
} pointers[] = {
	{ WORT_IOC_FORMAT, offsetof(struct wort_format_arg, dev_ptr) },
	{ WORT_IOC_ATTACH, offsetof(struct wort_attach_arg, dev_ptr) },
	{ WORT_IOC_LIST, offsetof(struct wort_list_arg, buf_ptr) },
	{ WORT_IOC_INDEX_OPEN, offsetof(struct wort_index_open_arg, name_ptr) },
	{ WORT_IOC_INDEX_LIST, offsetof(struct wort_index_list_arg, buf_ptr) },
	{ WORT_IOC_INDEX_DESTROY,
	  offsetof(struct wort_index_destroy_arg, name_ptr) },
	{ WORT_IOC_INDEX_RENAME,
	  offsetof(struct wort_index_rename_arg, name_ptr) },
	{ WORT_IOC_INDEX_RENAME,
	  offsetof(struct wort_index_rename_arg, new_ptr) },
	{ WORT_IOC_INSERT, offsetof(struct wort_insert_arg, key_ptr) },
	{ WORT_IOC_INSERT, offsetof(struct wort_insert_arg, value_ptr) },
	{ WORT_IOC_LOOKUP, offsetof(struct wort_lookup_arg, key_ptr) },
	{ WORT_IOC_LOOKUP, offsetof(struct wort_lookup_arg, value_ptr) },
	{ WORT_IOC_DELETE, offsetof(struct wort_delete_arg, key_ptr) },
	{ WORT_IOC_CAS, offsetof(struct wort_cas_arg, key_ptr) },
	{ WORT_IOC_CAS, offsetof(struct wort_cas_arg, expect_ptr) },
	{ WORT_IOC_CAS, offsetof(struct wort_cas_arg, value_ptr) },
	{ WORT_IOC_SCAN, offsetof(struct wort_scan_arg, buf_ptr) },
	{ WORT_IOC_STATS, offsetof(struct wort_stats_arg, buf_ptr) },
	{ WORT_IOC_ATOMIC, offsetof(struct wort_atomic_arg, ops_ptr) },
	{ WORT_IOC_ATOMIC, offsetof(struct wort_atomic_arg, results_ptr) },
	{ WORT_IOC_ATOMIC, offsetof(struct wort_atomic_arg, fds_ptr) },
};

/* errno-table: ioctl EFAULT */
TEST_F(abi, pointer_unusable)
{
	const struct command *command = NULL;
	union argument arg;
	__u64 bad[] = { PTR(bad_page()), 1ULL << 63, ~0ULL - 4095 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(pointers); i++) {
		command = NULL;
		while ((command = next(command)))
			if (command->cmd == pointers[i].cmd)
				break;
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			fill(command, &arg);
			memcpy(arg.bytes + pointers[i].at, &bad[j], 8);
			EXPECT_OF(command, -EFAULT,
				  call_with(command, self->fd, &arg));
		}
	}
	EXPECT_EQ(0, lookup(self->index, "key", "value"));
}

TEST_F(abi, scan_and_batch_pointers)
{
	struct wort_scan_arg scan = {
		.size = sizeof(scan),
		.buf_ptr = PTR(memory),
		.buf_len = sizeof(memory),
	};
	struct wort_batch_arg batch = {
		.size = sizeof(batch),
		.ops_ptr = PTR(bad_page()),
		.ops_len = 64,
		.nr_ops = 1,
	};

	scan.start_ptr = PTR(bad_page());
	scan.start_len = 3;
	EXPECT_EQ(-EFAULT, call(self->index, WORT_IOC_SCAN, &scan));
	scan.start_len = 0;
	scan.bound_ptr = PTR(bad_page());
	scan.bound_len = 3;
	EXPECT_EQ(-EFAULT, call(self->index, WORT_IOC_SCAN, &scan));
	EXPECT_EQ(-EFAULT, call(self->index, WORT_IOC_BATCH, &batch));
}

/* Asks for the value that is there, to be put where it cannot; false: none. */
static bool fetch_to_nowhere(const struct command *command, union argument *arg)
{
	fill(command, arg);
	arg->head.flags = WORT_F_FETCH;
	switch (command->cmd) {
	case WORT_IOC_INSERT:
		arg->insert.value_ptr = PTR("other");
		arg->insert.old_ptr = PTR(bad_page());
		arg->insert.old_len = 5;
		return true;
	case WORT_IOC_DELETE:
		arg->delete.key_ptr = PTR("key");
		arg->delete.key_len = 3;
		arg->delete.old_ptr = PTR(bad_page());
		arg->delete.old_len = 5;
		return true;
	case WORT_IOC_CAS:
		arg->cas.value_ptr = PTR("other");
		arg->cas.old_ptr = PTR(bad_page());
		arg->cas.old_len = 5;
		return true;
	}
	return false;
}

/*
 * What cannot be told is not done.
 *
 * errno-table: ioctl EFAULT
 */
TEST_F(abi, answer_unwritable)
{
	struct {
		struct wort_batch_op op;
		char key[8];
	} del = { { 32, WORT_BATCH_DELETE, 0, 3, 0, 0, 0 }, "key" };
	struct wort_batch_arg batch = {
		.size = sizeof(batch),
		.ops_ptr = PTR(&del),
		.ops_len = sizeof(del),
		.results_ptr = PTR(bad_page()),
		.results_len = 16,
		.nr_ops = 1,
	};
	const struct command *command = NULL;
	union argument arg;

	while ((command = next(command))) {
		if (!fetch_to_nowhere(command, &arg))
			continue;
		EXPECT_OF(command, -EFAULT,
			  call_with(command, self->fd, &arg));
		EXPECT_EQ(0, lookup(self->index, "key", "value"));
	}
	EXPECT_EQ(-EFAULT, call(self->index, WORT_IOC_BATCH, &batch));
	EXPECT_EQ(0, lookup(self->index, "key", "value"));
}

TEST_HARNESS_MAIN
