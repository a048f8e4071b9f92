// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort atomic: operations from a file, all or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define MAX_FIELDS	5
#define SHOWN_MAX	200	/* bytes of a line in a complaint */

static const struct syntax atomic_syntax = {
	.args = "POOL [FILE]",
	.doc = "Carry out the operations of a file, or of standard input, at one moment:\n"
	       "all, or none if one of them refuses. Durable when the command ends.",
	.groups = GROUP_OUTPUT | GROUP_KEYS | GROUP_SYNC,
	.min_args = 1,
	.max_args = 2,
};

#define HAS_EXPECT	(1U << 0)
#define MAY_EXPECT	(1U << 1)
#define HAS_VALUE	(1U << 2)

/* A kind of line; @fields: those behind index and key. */
static const struct kind {
	const char *name;
	uint32_t op;
	uint32_t flags;
	unsigned int fields;
} kinds[] = {
	{ "put", WORT_BATCH_INSERT, 0, HAS_VALUE },
	{ "insert", WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, HAS_VALUE },
	{ "replace", WORT_BATCH_INSERT, WORT_INSERT_F_REPLACE, HAS_VALUE },
	{ "cas", WORT_BATCH_CAS, 0, HAS_EXPECT | HAS_VALUE },
	{ "del", WORT_BATCH_DELETE, 0, MAY_EXPECT },
	{ "get", WORT_BATCH_LOOKUP, 0, 0 },
	{ "expect", WORT_BATCH_EXPECT, 0, HAS_EXPECT },
	{ "present", WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, 0 },
	{ "absent", WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, 0 },
};

struct field {
	const char *text;
	size_t len;
};

/* An operation as a line has it. */
struct operation {
	const struct kind *kind;
	uint64_t line;
	char *shown;
	uint32_t flags;
	struct bytes name;	/* of the index, with a zero byte behind it */
	struct bytes key;
	struct bytes expect;
	struct bytes value;
	struct wort_index *index;
	bool opened;		/* the first with this index, which it closes */
};

static struct operation operations[WORT_ATOMIC_MAX];
static unsigned int nr_operations;

static int bad_line(uint64_t line, const char *why)
{
	return complain("line %llu: %s", ull(line), why);
}

/* The first fields of a line; how many there are. */
static unsigned int split(const char *line, size_t len, struct field *fields)
{
	const char *end = line + len, *tab;
	unsigned int nr = 0;

	for (; line; line = tab ? tab + 1 : NULL) {
		tab = memchr(line, '\t', end - line);
		if (nr < MAX_FIELDS)
			fields[nr] = (struct field){ line, (tab ? tab : end) -
						     line };
		nr++;
	}
	return nr;
}

static const struct kind *kind_of(const struct field *field)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].name) == field->len &&
		    !memcmp(kinds[i].name, field->text, field->len))
			return &kinds[i];
	return NULL;
}

/* What a complaint shows of a line. */
static char *shown_line(const char *line, size_t len)
{
	char *shown, *tab;

	if (asprintf(&shown, "%.*s%s", (int)(len < SHOWN_MAX ? len : SHOWN_MAX),
		     line, len < SHOWN_MAX ? "" : "...") < 0)
		return NULL;
	for (tab = shown; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	return shown;
}

/* The name of an index is text, whatever -x says of keys and values. */
static const char *read_name(struct bytes *name, const struct field *field)
{
	if (bytes_unescape(name, field->text, field->len) ||
	    memchr(name->data, 0, name->len))
		return "bad name of an index";
	name->data[name->len] = 0;
	return name->len ? NULL : "empty name of an index";
}

/* What follows the key. */
static const char *read_values(struct operation *op, const struct field *field,
			       bool expect)
{
	int err = 0;

	if (expect) {
		err = field_read(&op->expect, field->text, field->len);
		field++;
	}
	if (!err && op->kind->fields & HAS_VALUE)
		err = field_read(&op->value, field->text, field->len);
	return err ? "bad value" : NULL;
}

/* NULL, or what is wrong. */
static const char *read_operation(struct operation *op, const char *line,
				  size_t len)
{
	struct field fields[MAX_FIELDS];
	unsigned int nr = split(line, len, fields), least = 3, most;
	const char *why;

	op->kind = kind_of(&fields[0]);
	if (!op->kind)
		return "none of put, insert, replace, cas, del, get, expect, present, absent";
	least += !!(op->kind->fields & HAS_EXPECT);
	least += !!(op->kind->fields & HAS_VALUE);
	most = least + !!(op->kind->fields & MAY_EXPECT);
	if (nr < least)
		return "a field is missing: operation, index, key, values, with tabs between";
	if (nr > most)
		return "a field too many: \\t names a tab that is meant";
	op->flags = op->kind->flags;
	if (nr > least)
		op->flags |= WORT_DELETE_F_EXPECT;
	why = read_name(&op->name, &fields[1]);
	if (why)
		return why;
	if (key_read(&op->key, fields[2].text, fields[2].len))
		return "bad key";
	if (!op->key.len)
		return "empty key";
	return read_values(op, &fields[3],
			   nr > least || op->kind->fields & HAS_EXPECT);
}

static int add_line(uint64_t nr, const char *line, size_t len)
{
	struct operation *op;
	const char *why = line_verify(line, len);

	if (nr == 1 && len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3))
		why = "begins with a byte-order mark: sed '1s/^\\xef\\xbb\\xbf//' removes it";
	if (why)
		return bad_line(nr, why);
	len--;
	if (!len || line[0] == '#')
		return 0;
	if (nr_operations == WORT_ATOMIC_MAX)
		return bad_line(nr, "more than 64 operations");
	op = &operations[nr_operations];
	why = read_operation(op, line, len);
	if (why)
		return bad_line(nr, why);
	op->line = nr;
	op->shown = shown_line(line, len);
	nr_operations++;
	return op->shown ? 0 : fail("atomic", -ENOMEM);
}

static int read_lines(FILE *in, const char *name)
{
	char *line = NULL, place[64];
	uint64_t nr = 0;
	int status = 0;
	size_t size = 0;
	ssize_t len;

	while (!status) {
		len = line_read(&line, &size, in);
		if (len < 0 && !errno)
			break;
		if (len < 0 && errno == EMSGSIZE) {
			snprintf(place, sizeof(place), "line %llu", ull(nr + 1));
			status = fail(place, -EMSGSIZE);
		} else if (len < 0 || ferror(in)) {
			status = complain("%s: cannot read: %s", name,
					  strerror(errno ? errno : EIO));
		} else {
			status = add_line(++nr, line, len);
		}
	}
	free(line);
	return status;
}

static int read_file(const char *path)
{
	bool named = path && strcmp(path, "-");
	FILE *in = named ? fopen(path, "r") : stdin;
	int status;

	if (!in)
		return complain("%s: %s", path, strerror(errno));
	status = read_lines(in, named ? path : "standard input");
	if (named)
		fclose(in);
	return status;
}

static bool changes_anything(void)
{
	unsigned int i;

	for (i = 0; i < nr_operations; i++)
		if (operations[i].kind->op != WORT_BATCH_LOOKUP &&
		    operations[i].kind->op != WORT_BATCH_EXPECT)
			return true;
	return false;
}

static bool same_index(const struct operation *a, const struct operation *b)
{
	return a->name.len == b->name.len &&
	       !memcmp(a->name.data, b->name.data, a->name.len);
}

/* Each index once.  The pool must exist also if there is no operation. */
static int open_indexes(const char *name)
{
	bool write = changes_anything();
	struct operation *op, *other;
	struct wort_pool *pool;
	int status = open_pool(name, write ? O_RDWR : O_RDONLY, &pool);

	if (status)
		return status;
	wort_pool_close(pool);
	for (op = operations; op < operations + nr_operations; op++) {
		for (other = operations; !same_index(op, other); other++)
			;
		if (other == op) {
			status = open_index(name, (char *)op->name.data, write,
					    &op->index);
			if (status)
				return status;
			op->opened = true;
		}
		op->index = other->index;
	}
	return 0;
}

/* The longest value that each of the lookups can answer with. */
static size_t answer_max(void)
{
	unsigned int i, nr = 0;
	size_t share;

	for (i = 0; i < nr_operations; i++)
		nr += operations[i].kind->op == WORT_BATCH_LOOKUP;
	/* Each operation has an answer, most of them without a value. */
	share = (WORT_ATOMIC_BYTES - nr_operations *
		 sizeof(struct wort_batch_result)) / (nr ? nr : 1);
	return share < WORT_VALUE_MAX ? share & ~7U : WORT_VALUE_MAX;
}

/* At the line of an operation. */
static int fail_at(const struct operation *op, int err)
{
	char *place;
	int status;

	if (asprintf(&place, "line %llu: %s", ull(op->line), op->shown) < 0)
		return fail("atomic", -ENOMEM);
	status = fail(place, err);
	free(place);
	return status;
}

static int add_operations(struct wort_atomic *atomic)
{
	struct wort_batch_request req = { .sz = sizeof(req) };
	size_t max = answer_max();
	struct operation *op;
	int err;

	for (op = operations; op < operations + nr_operations; op++) {
		req.op = op->kind->op;
		req.flags = op->flags;
		req.key = op->key.data;
		req.key_len = op->key.len;
		req.expect = op->expect.data;
		req.expect_len = op->expect.len;
		req.value = op->value.data;
		req.value_len = op->value.len;
		req.max_len = req.op == WORT_BATCH_LOOKUP ? max : 0;
		err = wort_atomic_add(atomic, op->index, &req);
		if (err)
			return fail_at(op, err);
	}
	return 0;
}

/* As a condition with which a later batch can begin. */
static void show_answer(const struct operation *op,
			const struct wort_batch_item *item)
{
	fputs(item->error ? "absent" : "expect", stdout);
	putchar('\t');
	put_escaped(stdout, op->name.data, op->name.len);
	putchar('\t');
	put_key(stdout, op->key.data, op->key.len);
	if (!item->error) {
		putchar('\t');
		put_value(stdout, item->value, item->value_len);
	}
	putchar('\n');
}

static json_object *answer_json(const struct operation *op,
				const struct wort_batch_item *item)
{
	json_object *obj = json_object_new_object();

	json_add_u64(obj, "line", op->line);
	json_add_bytes(obj, "index", op->name.data, op->name.len);
	json_add_key(obj, op->key.data, op->key.len);
	json_add_bool(obj, "found", !item->error);
	if (!item->error)
		json_add_value(obj, item->value, item->value_len);
	return obj;
}

/* @answers: where they go with -o json; NULL: to standard output. */
static int show_answers(struct wort_atomic *atomic, json_object *answers)
{
	struct wort_batch_item item;
	struct operation *op;
	int status = 0;

	for (op = operations; op < operations + nr_operations; op++) {
		if (wort_atomic_next(atomic, &item) <= 0)
			return fail("atomic", -EBADMSG);
		if (op->kind->op != WORT_BATCH_LOOKUP)
			continue;
		if (item.error && item.error != -ENOENT)
			status = complain("line %llu: %s: done, but %zu bytes are too long a value",
					  ull(op->line), op->shown,
					  item.value_len);
		else if (answers)
			json_object_array_add(answers, answer_json(op, &item));
		else
			show_answer(op, &item);
	}
	return status;
}

/* What the state of records refuses has a status of its own: try again. */
static int refused(unsigned int nr, int err)
{
	int status = fail_at(&operations[nr], err);

	return err == -EEXIST ? ST_NOTHING : status;
}

static int commit(struct wort_atomic *atomic, const char *pool)
{
	unsigned int nr = WORT_NO_VALUE;
	json_object *obj = NULL, *answers = NULL;
	int err = wort_atomic_commit(atomic, &nr), status = 0;

	if (settings.json) {
		obj = json_object_new_object();
		answers = json_object_new_array();
		json_add_bool(obj, "done", !err);
		json_add_u64(obj, "operations", nr_operations);
		if (nr != WORT_NO_VALUE)
			json_add_u64(obj, "refused_line", operations[nr].line);
		json_object_object_add(obj, "answers", answers);
	}
	if (!err)
		status = show_answers(atomic, answers);
	if (obj)
		json_print(obj);
	if (err)
		status = nr == WORT_NO_VALUE ? fail(pool, err) : refused(nr, err);
	return status;
}

static void free_operations(void)
{
	struct operation *op;

	for (op = operations; op < operations + ARRAY_SIZE(operations); op++) {
		if (op->opened)
			wort_index_close(op->index);
		free(op->shown);
		bytes_free(&op->name);
		bytes_free(&op->key);
		bytes_free(&op->expect);
		bytes_free(&op->value);
	}
}

int cmd_atomic(int argc, char **argv)
{
	struct wort_atomic *atomic = NULL;
	char **args;
	int nr, status, err;

	nr = parse_args(&atomic_syntax, argc, argv, &args);
	status = read_file(nr == 2 ? args[1] : NULL);
	if (!status)
		status = open_indexes(args[0]);
	err = status ? 0 : wort_atomic_new(&atomic);
	if (err)
		status = fail("atomic", err);
	if (!status)
		status = add_operations(atomic);
	if (!status)
		status = commit(atomic, args[0]);
	wort_atomic_free(atomic);
	free_operations();
	return status;
}
