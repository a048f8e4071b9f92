// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every ioctl on every kind of descriptor, with arguments that are mostly
 * valid and wrong in any field.  What fields there are, and what flags and
 * errnos, is read from the header when this is built: fuzz_table.py.
 *
 *	WORT_FUZZ_SEED=N	another sequence (1)
 *	WORT_FUZZ_CALLS=N	so many calls (200000)
 *
 * A call may only write fields that are told, and only fail with what the
 * header has.  Afterwards the pool is sound.  What the kernel says of it all
 * is the business of whoever runs this.
 */
#include "wort_test.h"

enum kind { ON_CONTROL, ON_POOL, ON_INDEX, NR_KINDS };

enum field_kind {
	FIELD_SIZE,
	FIELD_FLAGS,
	FIELD_PTR,
	FIELD_LEN,
	FIELD_NUMBER,
	FIELD_BYTES,
	FIELD_RESERVED,
	FIELD_OUT,
};

struct field {
	const char *name;
	size_t offset;
	size_t size;
	enum field_kind kind;
	int len;		/* of a pointer: which field is its length */
};

struct command {
	const char *name;
	unsigned long cmd;
	enum kind on;
	const struct field *fields;
	size_t nr_fields;
	size_t size;
	__u32 flags;
};

#define FIELD(type, member, what, length) {				\
	#member, offsetof(struct type, member),				\
	sizeof(((struct type *)0)->member), what, length }
#define COMMAND(NAME, kind, table, type, mask) {			\
	#NAME, WORT_IOC_##NAME, kind, table, ARRAY_SIZE(table),		\
	sizeof(struct type), mask }

#include "fuzz_table.h"

#define NR_COMMANDS	ARRAY_SIZE(commands)
#define ARG_SIZE	512
#define ARENA		(8 << 20)

/* Descriptors of each kind: for writing, for reading, and of what is gone. */
enum { WRITE, READ, GONE, NR_DOORS };

static struct {
	uint64_t rnd;
	struct pool pool;
	int fd[NR_KINDS][NR_DOORS];
	char *arena;		/* ends where memory ends */
	char *bad;		/* cannot be touched */
	char *read_only;
	bool atomic;		/* operations are packed for an atomic batch */
	unsigned long good[NR_COMMANDS];
	unsigned long calls[NR_COMMANDS];
} fuzz;

static uint32_t pick(uint32_t n)
{
	fuzz.rnd ^= fuzz.rnd >> 12;
	fuzz.rnd ^= fuzz.rnd << 25;
	fuzz.rnd ^= fuzz.rnd >> 27;
	return (fuzz.rnd * 0x2545f4914f6cdd1dULL >> 32) % n;
}

#define PICK(list)	((list)[pick(ARRAY_SIZE(list))])

static uint32_t pick_len(void)
{
	static const uint32_t edges[] = {
		0, 7, 8, 9, 15, 16, 17, 63, 64, 65, 111, 112, 128, 136, 255,
		256, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536, 65537,
	};
	static const uint32_t huge[] = {
		(4 << 20) - 1, 4 << 20, (4 << 20) + 1, 1U << 31, ~0U - 7, ~0U,
	};
	uint32_t p = pick(100);

	if (p < 60)
		return 1 + pick(8);
	if (p < 97)
		return PICK(edges);
	return PICK(huge);
}

static uint64_t pick_number(void)
{
	static const uint64_t edges[] = {
		0, 0, 0, 1, 2, 4096, 65536, 1 << 20, ~0U, 1ULL << 63, ~0ULL,
	};

	return PICK(edges);
}

/* So few different bytes that operations meet. */
static void fill_text(char *at, size_t len)
{
	memset(at, 'a' + pick(3), len);
	if (len > 1 && pick(2))
		at[len - 1] = pick(4);
}

static void fill_ops(char *at, size_t len)
{
	size_t head = fuzz.atomic ? sizeof(struct wort_atomic_op) :
				    sizeof(struct wort_batch_op);
	struct wort_atomic_op packed;
	struct wort_batch_op op;
	size_t done = 0, room;

	while (len - done >= head && done < 2048) {
		room = len - done;
		memset(&op, 0, sizeof(op));
		op.op = pick(20) ? 1 + pick(5) : pick(1 << 16);
		op.flags = pick(2) ? 0 : pick(10) ? pick(4) | pick(2) << 8 :
						    pick(1 << 16);
		op.key_len = pick_len();
		op.expect_len = pick(2) ? 0 : pick_len();
		op.value_len = pick(2) ? 0 : pick_len();
		op.max_len = pick(2) ? 0 : pick_len();
		op.rec_len = (head + op.key_len + op.expect_len +
			      op.value_len + 7) & ~7U;
		if (!pick(20))
			op.rec_len = pick_len();
		fill_text(at + done, room < 4096 ? room : 4096);
		packed = (struct wort_atomic_op){
			op, pick(20) ? pick(2) : pick_len(), !pick(50),
		};
		memcpy(at + done, &packed, head);
		if (op.rec_len < head || op.rec_len > room)
			break;
		done += op.rec_len;
	}
}

/* What a pointer of this name mostly leads to, or NULL. */
static const char *pick_text(const char *name)
{
	if (!pick(4))
		return NULL;
	if (!strcmp(name, "dev_ptr"))
		return test_device();
	return strcmp(name, "name_ptr") ? NULL : pick(2) ? "index" : "other";
}

/* Descriptors of all kinds, mostly good ones; how many bytes they take. */
static uint32_t fill_fds(char *end, uint32_t nr)
{
	uint32_t i, used = nr < 1000 ? nr : 1000;
	int fd;

	for (i = 0; i < used; i++) {
		fd = fuzz.fd[pick(20) ? ON_INDEX : pick(NR_KINDS)]
			    [pick(10) ? WRITE : pick(NR_DOORS)];
		memcpy(end - (i + 1) * sizeof(fd), &fd, sizeof(fd));
	}
	return used * sizeof(fd);
}

/* Where a good pointer leads: so far from the end as it has bytes. */
static uint64_t good_ptr(const char *name, uint32_t *len)
{
	const char *text = pick_text(name);
	uint32_t room;
	char *at;

	if (!strcmp(name, "fds_ptr"))
		return PTR(fuzz.arena) + ARENA -
		       fill_fds(fuzz.arena + ARENA, *len);
	if (text)
		*len = strlen(text);
	room = *len < ARENA ? *len : ARENA;
	at = fuzz.arena + ARENA - room;
	/* Not over the name that is to become this one. */
	if (!strcmp(name, "new_ptr") && room <= ARENA / 2)
		at -= ARENA / 2;
	if (text)
		memcpy(at, text, room);
	else if (!strcmp(name, "ops_ptr"))
		fill_ops(at, room);
	else
		fill_text(at, room < 4096 ? room : 4096);
	return PTR(at);
}

static uint64_t pick_ptr(const char *name, uint32_t *len)
{
	uint64_t bad[] = {
		0, 1, PTR(fuzz.bad), PTR(fuzz.read_only), 1ULL << 63,
		~0ULL - 4095, ~0ULL, PTR(fuzz.arena) + ARENA + 1 -
			(*len < ARENA ? *len : ARENA),
	};

	return pick(10) ? good_ptr(name, len) : PICK(bad);
}

static void put(char *arg, const struct field *field, uint64_t val)
{
	size_t i;

	for (i = 0; i < field->size; i++)
		arg[field->offset + i] = i < 8 ? val >> 8 * i : 0;
}

static uint32_t pick_size(const struct command *command)
{
	const uint32_t sizes[] = {
		0, 4, command->size - 4, command->size - 1, command->size + 1,
		command->size + 8, ARG_SIZE, 4096, 4097, ~0U,
	};

	return pick(10) ? command->size : PICK(sizes);
}

static uint64_t pick_value(const struct command *command,
			   const struct field *field)
{
	switch (field->kind) {
	case FIELD_SIZE:
		return pick_size(command);
	case FIELD_FLAGS:
		return pick(10) ? fuzz.rnd >> 20 & (pick(2) ? command->flags : 0) :
				  1U << pick(32);
	case FIELD_LEN:
		return pick_len();
	case FIELD_NUMBER:
		return pick_number();
	case FIELD_RESERVED:
		return pick(50) ? 0 : pick_number();
	default:
		return pick(3) ? 0 : pick_number();
	}
}

static void fill(const struct command *command, char *arg)
{
	const struct field *field, *len_field;
	uint32_t len;
	size_t i;

	memset(arg, 0, ARG_SIZE);
	fuzz.atomic = command->cmd == WORT_IOC_ATOMIC;
	for (i = 0; i < command->nr_fields; i++)
		put(arg, &command->fields[i],
		    pick_value(command, &command->fields[i]));
	for (i = 0; i < command->nr_fields; i++) {
		field = &command->fields[i];
		if (field->kind != FIELD_PTR)
			continue;
		len_field = &command->fields[field->len];
		if (pick(3) == 0)	/* an operation without that field */
			put(arg, len_field, 0);
		memcpy(&len, arg + len_field->offset, sizeof(len));
		put(arg, field, pick_ptr(field->name, &len));
		put(arg, len_field, len);
	}
	if (!pick(50))
		arg[command->size + pick(ARG_SIZE - command->size)] = 1;
}

/* Only out fields were written. */
static bool untouched(const struct command *command, const char *before,
		      const char *after)
{
	char masked[ARG_SIZE];
	size_t i;

	memcpy(masked, after, ARG_SIZE);
	for (i = 0; i < command->nr_fields; i++)
		if (command->fields[i].kind == FIELD_OUT)
			memcpy(masked + command->fields[i].offset,
			       before + command->fields[i].offset,
			       command->fields[i].size);
	return !memcmp(masked, before, ARG_SIZE);
}

static bool err_known(const struct command *command, int err)
{
	size_t i;

	/* a path may lead to anything */
	if (!err || command->on == ON_CONTROL)
		return true;
	for (i = 0; i < ARRAY_SIZE(errnos); i++)
		if (err == -errnos[i])
			return true;
	return false;
}

static void close_all(void)
{
	int kind, door;

	for (kind = 0; kind < NR_KINDS; kind++)
		for (door = 0; door < NR_DOORS; door++)
			if (fuzz.fd[kind][door] > 0)
				close(fuzz.fd[kind][door]);
	memset(fuzz.fd, 0, sizeof(fuzz.fd));
}

/* A pool with two indexes, and descriptors of a pool that was detached. */
static int set_up(void)
{
	int err;

	close_all();
	err = pool_up(&fuzz.pool);
	if (err)
		return err;
	fuzz.fd[ON_POOL][GONE] = fuzz.pool.fd;
	fuzz.fd[ON_INDEX][GONE] = open_index(fuzz.pool.fd, "index",
					     WORT_INDEX_OPEN_F_CREATE);
	close(fuzz.pool.control);
	err = pool_up(&fuzz.pool);
	if (err)
		return err;
	fuzz.fd[ON_CONTROL][WRITE] = fuzz.pool.control;
	fuzz.fd[ON_CONTROL][READ] = open(CONTROL, O_RDONLY);
	fuzz.fd[ON_CONTROL][GONE] = open("/dev/null", O_RDWR);
	fuzz.fd[ON_POOL][WRITE] = fuzz.pool.fd;
	fuzz.fd[ON_POOL][READ] = open_pool(fuzz.pool.minor, O_RDONLY);
	return 0;
}

/* Indexes come and go meanwhile. */
static int open_indexes(void)
{
	int *fd = fuzz.fd[ON_INDEX];

	if (fd[WRITE] > 0)
		close(fd[WRITE]);
	if (fd[READ] > 0)
		close(fd[READ]);
	fd[WRITE] = open_index(fuzz.pool.fd, "index", WORT_INDEX_OPEN_F_CREATE);
	fd[READ] = open_index(fuzz.pool.fd, "index", WORT_INDEX_OPEN_F_RDONLY);
	return fd[WRITE] < 0 ? fd[WRITE] : fd[READ] < 0 ? fd[READ] : 0;
}

/* What was made is given up, what is gone comes back. */
static int tidy(const struct command *command, const char *arg)
{
	struct wort_freeze_arg thaw = {
		.size = sizeof(thaw), .flags = WORT_FREEZE_F_THAW,
	};
	struct wort_index_open_arg opened;
	int err = 0;

	switch (command->cmd) {
	case WORT_IOC_FREEZE:
		/* Else the next change would wait for ever. */
		ioctl(fuzz.pool.fd, WORT_IOC_FREEZE, &thaw);
		return 0;
	case WORT_IOC_INDEX_OPEN:
		memcpy(&opened, arg, sizeof(opened));
		close(opened.out_fd);
		return 0;
	case WORT_IOC_FORMAT:
	case WORT_IOC_ATTACH:
	case WORT_IOC_DETACH:
		err = set_up();
		return err ? err : open_indexes();
	case WORT_IOC_INDEX_DESTROY:
	case WORT_IOC_INDEX_RENAME:
		return open_indexes();
	}
	return 0;
}

/* Those that take long are rare. */
static const struct command *pick_command(void)
{
	const struct command *command = &PICK(commands);

	if (command->on == ON_INDEX || command->cmd == WORT_IOC_INDEX_OPEN ||
	    !pick(20))
		return command;
	return pick_command();
}

/* Mostly an argument that can be written, or one that ends with its page. */
static char *place(const struct command *command, char *arg)
{
	static char *end;
	uint32_t p = pick(100);

	if (!end)
		end = at_page_end("", 0);
	if (p < 80)
		return arg;
	if (p < 95)
		return memcpy(end - command->size, arg, command->size);
	return p == 95 ? NULL : p == 96 ? fuzz.bad : p == 97 ? fuzz.read_only :
	       memcpy(end - command->size + 1, arg, command->size - 1);
}

/* What takes a device finds it free half of the time. */
static bool free_device(const struct command *command)
{
	if (command->cmd != WORT_IOC_FORMAT && command->cmd != WORT_IOC_ATTACH)
		return false;
	return pick(2) && !detach(fuzz.pool.control, fuzz.pool.minor);
}

static void one_call(struct __test_metadata *_metadata)
{
	static char arg[ARG_SIZE], before[ARG_SIZE];
	const struct command *command = pick_command();
	enum kind kind = pick(20) ? command->on : pick(NR_KINDS);
	int door = pick(20) ? WRITE : pick(NR_DOORS), err;
	unsigned long cmd = command->cmd;
	bool freed = free_device(command);
	char *at;

	fill(command, arg);
	memcpy(before, arg, ARG_SIZE);
	at = place(command, arg);
	if (!pick(100))
		cmd ^= 1UL << (8 + pick(24));	/* not another command */
	err = call(fuzz.fd[kind][door], cmd, at);
	if (!untouched(command, before, arg) || !err_known(command, err)) {
		TH_LOG("%s: %d", command->name, err);
		EXPECT_EQ(true, untouched(command, before, arg));
		EXPECT_EQ(true, err_known(command, err));
	}
	fuzz.calls[command - commands]++;
	if (!err && cmd == command->cmd)
		fuzz.good[command - commands]++;
	else if (!freed)
		return;
	ASSERT_EQ(0, tidy(command, at));
}

static unsigned long number(const char *variable, unsigned long val)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 0) : val;
}

/* In a long run nothing is left to chance: each command has succeeded. */
static void report(struct __test_metadata *_metadata, unsigned long calls)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++) {
		printf("# %-14s %8lu calls, %8lu succeeded\n", commands[i].name,
		       fuzz.calls[i], fuzz.good[i]);
		if (calls >= 100000)
			EXPECT_LT(0, fuzz.good[i]);
	}
}

FIXTURE(fuzz)
{
	unsigned long seed;
	unsigned long calls;
};

FIXTURE_SETUP(fuzz)
{
	self->seed = number("WORT_FUZZ_SEED", 1);
	self->calls = number("WORT_FUZZ_CALLS", 200000);
	printf("# WORT_FUZZ_SEED=%lu WORT_FUZZ_CALLS=%lu\n", self->seed,
	       self->calls);
	fuzz.rnd = self->seed * 0x9e3779b97f4a7c15ULL | 1;
	fuzz.arena = mmap(NULL, ARENA + 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, mprotect(fuzz.arena + ARENA, 4096, PROT_NONE));
	fuzz.bad = bad_page();
	fuzz.read_only = mmap(NULL, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, set_up());
	ASSERT_EQ(0, open_indexes());
}

FIXTURE_TEARDOWN(fuzz)
{
	detach_all(fuzz.pool.control);
}

static void expect_sound(struct __test_metadata *_metadata, int pool)
{
	struct wort_check_arg found;

	ASSERT_EQ(0, check(pool, 0, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
	EXPECT_EQ(0, found.out_nr_transient);
}

TEST_F_TIMEOUT(fuzz, ioctls, 1200)
{
	unsigned long i;
	int minor;

	for (i = 0; i < self->calls; i++)
		one_call(_metadata);
	report(_metadata, self->calls);
	expect_sound(_metadata, fuzz.pool.fd);
	detach_all(fuzz.pool.control);
	minor = attach(fuzz.pool.control, test_device());
	ASSERT_LE(0, minor);
	expect_sound(_metadata, open_pool(minor, O_RDWR));
}

TEST_HARNESS_MAIN
