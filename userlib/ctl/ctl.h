/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the verbs of the wort command share.
 */
#ifndef _WORT_CTL_H
#define _WORT_CTL_H

#include <argp.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include <wort.h>

#include "image.h"
#include "old_image.h"
#include "text.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* exit statuses; the manual page explains them */
enum status {
	ST_OK = 0,
	ST_NOTHING = 1,		/* it is not there, or not what was expected */
	ST_USAGE = 2,
	ST_REFUSED = 3,		/* refused, or failed */
	ST_DAMAGE = 4,		/* damage was found */
};

/* ---- arguments: args.c ---- */

#define ATTRS_MAX	16
#define POOL_MIN	(256ULL << 10)	/* bytes */

/**
 * struct settings - Options that several verbs share
 * @verb: the verb that runs
 * @target: its first argument, which most verbs do something with, or ""
 * @argc: words of the command line from the verb on
 * @argv: these
 * @json: -o json
 * @hex: -x: keys and values are hexadecimal
 * @number: -n: keys are 64-bit numbers
 * @verbose: -v
 * @quiet: -q
 * @attrs: NAME=VALUE of -o and --attr
 * @nr_attrs: number of them; -1: the verb takes none
 * @offset: --offset
 * @process: --sync process
 * @may_wait: the verb takes --wait, which was not given
 * @wait_ms: --wait
 */
struct settings {
	const char *verb;
	const char *target;
	int argc;
	char **argv;
	bool json;
	bool hex;
	bool number;
	bool verbose;
	bool quiet;
	const char *attrs[ATTRS_MAX];
	int nr_attrs;
	uint64_t offset;
	bool process;
	bool may_wait;
	unsigned int wait_ms;
};

extern struct settings settings;

/* The attribute word that -o and --attr choose for an engine; complains, a status. */
int attrs_read(uint32_t engine, uint64_t *word);

/* option groups */
#define GROUP_OUTPUT	(1U << 0)	/* -o */
#define GROUP_KEYS	(1U << 1)	/* -x -n */
#define GROUP_OFFLINE	(1U << 2)	/* --offset */
#define GROUP_RANGE	(1U << 3)	/* see struct range */
#define GROUP_VERBOSE	(1U << 4)	/* -v -q */
#define GROUP_ATTRS	(1U << 5)	/* --attr and, with GROUP_OUTPUT, -o */
#define GROUP_SYNC	(1U << 6)	/* --sync */
/* Of both, as their verbs open pools in plain files: --wait */
#define GROUP_FILE	(GROUP_OFFLINE | GROUP_SYNC)

/**
 * struct syntax - What the command line of a verb looks like
 * @args: its arguments, for the help text
 * @doc: what it does, for the help text
 * @groups: option groups, GROUP_*
 * @min_args: fewest arguments
 * @max_args: most of them
 * @options: options of its own, or NULL
 * @option: takes one of those; an unknown one is ARGP_ERR_UNKNOWN
 */
struct syntax {
	const char *args;
	const char *doc;
	unsigned int groups;
	unsigned int min_args;
	unsigned int max_args;
	const struct argp_option *options;
	error_t (*option)(int key, char *arg, struct argp_state *state);
};

/* Returns the number of arguments; ends the program if they are wrong. */
int parse_args(const struct syntax *syntax, int argc, char **argv,
	       char ***args);

/* A number with an optional suffix k, M, G, T; ends the program if it is none. */
uint64_t parse_size(const char *text, struct argp_state *state);
/* argp_error() with arguments that hold any bytes. */
void usage_error(struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * struct range - Which records of an index
 * @start: first key, or the one to begin after
 * @bound: key to stop before, or the prefix
 * @after: begin after @start
 * @prefix: @bound is a prefix
 * @reverse: from high keys to low
 * @keys: no values
 * @limit: records at most; 0: all
 */
struct range {
	const char *start;
	const char *bound;
	bool after;
	bool prefix;
	bool reverse;
	bool keys;
	uint64_t limit;
};

extern struct range range;

/* ---- messages: message.c ---- */

/*
 * "wort VERB: TEXT" on stderr, or with -o json an object there; returns
 * ST_REFUSED
 */
int complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* With -o json the complaint names this negative errno. */
void name_errno(int err);
/*
 * The line that mends what was complained about, to be given to a shell: what
 * is not ours in it goes through shell_word().
 */
void mend(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * The errno of the first write to standard output that failed, 0 if none did.
 * Asked after what may have written, while errno is that of the write.
 */
int output_error(void);
/* Does this error of the control device say that there is no module? */
bool no_module(int err);
int complain_no_module(void);
/* Say in words what a negative errno means for this verb; returns a status. */
int fail(const char *object, int err);
int status_of(int err);

/* What printf() calls %llu. */
static inline unsigned long long ull(uint64_t val)
{
	return val;
}

/* ---- bytes: bytes.c ---- */

struct bytes {
	unsigned char *data;
	size_t len;
	size_t size;
};

/* Room for @size bytes. */
int bytes_reserve(struct bytes *bytes, size_t size);
int bytes_set(struct bytes *bytes, const void *data, size_t len);
void bytes_free(struct bytes *bytes);

/*
 * Read a line, with its end, and a 0 behind it.  Its length, or -1: with errno 0 there is
 * none any more; EMSGSIZE: it is longer than that of any record.
 */
ssize_t line_read(char **line, size_t *size, FILE *in);
int bytes_from_hex(struct bytes *bytes, const char *text, size_t len);
int bytes_from_number(struct bytes *bytes, const char *text, size_t len);
int bytes_unescape(struct bytes *bytes, const char *text, size_t len);
/* All of the text: -EINVAL if it is no number, -ERANGE for more than 64 bits. */
int number_parse(const char *text, size_t len, uint64_t *val);

/* An argument of the command line, as -x and -n say; complains and ends. */
void key_from_arg(struct bytes *key, const char *arg);
void value_from_arg(struct bytes *value, const char *arg);

void put_hex(FILE *out, const void *data, size_t len);
/* As -x and -n say. */
void put_key(FILE *out, const void *key, size_t len);
void put_value(FILE *out, const void *value, size_t len);

/* ---- JSON: json.c ---- */

void json_add_u64(json_object *obj, const char *name, uint64_t val);
void json_add_str(json_object *obj, const char *name, const char *text);
void json_add_bool(json_object *obj, const char *name, bool val);
/* A figure that may be WORT_UNKNOWN: null then. */
void json_add_known(json_object *obj, const char *name, uint64_t val);
/* What the last walk or check has counted of an index, or null. */
void json_add_count(json_object *obj, const struct wort_index_info_arg *info);
/* Bytes: a string if they are UTF-8, otherwise <name>_hex. */
void json_add_bytes(json_object *obj, const char *name, const void *data,
		    size_t len);
void json_add_key(json_object *obj, const void *key, size_t len);
void json_add_value(json_object *obj, const void *value, size_t len);
/* Print and free. */
void json_print(json_object *obj);
/* The same on one line. */
void json_print_line(json_object *obj, FILE *out);

/* ---- pools and indexes: source.c, names.c ---- */

/* A pool, through the module or from an image, or one of an older version. */
struct source {
	const char *name;
	struct wort_pool *pool;
	unsigned int minor;
	struct image *image;
	struct old_image *old;
};

struct reader {
	struct wort_index *index;
	struct image_index *image;
	struct old_image *old;
	const struct old_index *old_index;
};

/* Called with each record; a non-zero result ends it and is returned. */
typedef int (*record_fn)(const struct wort_scan_item *item, void *data);

/**
 * struct pool_place - Where a pool is
 * @path: its own device; or an image, or a block device
 * @offline: the latter: there is no attached pool
 * @attached: @minor is known; with @offline, of a dead pool of the device
 * @minor: number of the attached pool
 * @dead: its device was unbound or removed; not known of one named by number
 */
struct pool_place {
	char path[PATH_MAX];
	bool offline;
	bool attached;
	unsigned int minor;
	bool dead;
};

/* The digits of a name that means the pool with a number, 7 or wort7; else NULL. */
const char *pool_number(const char *name);

/*
 * How a pool is named: a path, a number, its label or its UUID.  Of several on
 * one device the live one is meant.  -ENOENT if no pool is called so,
 * -ENOTUNIQ if several are, -EUNATCH if there is no module.
 */
int find_pool(const char *name, struct pool_place *place);
/* What find_pool() or an open of the pool returned; a status. */
int no_pool(const char *name, int err);
/* Says why this is neither an attached pool nor a pool in a plain file; a status. */
int not_attached(const char *name);
bool label_is(const uint8_t *label, const char *text);
/* Is it the pool of the block device that the kernel calls so? */
bool lies_on(const struct wort_pool_record *rec, const char *device);
bool module_loaded(void);
/*
 * The block device that @name (a path, UUID= or LABEL=) is: -ENOENT if no free
 * one holds such a pool, -ENOTUNIQ if several do, -EEXIST if it is attached.
 */
int find_device(const char *name, char *path, size_t size);
/* Tell people of other pools with the label of the one on @device, attached or not. */
void warn_label_shared(const char *label, const char *device);
/*
 * WORT_STATE_* of the attached pool that was opened last; -ENODEV if it is not
 * attached any more, -ENOENT if none was opened.
 */
int64_t opened_state(void);
/* An attached pool, or one in a plain file; complains. */
int open_pool(const char *name, int flags, struct wort_pool **out);
int open_index(const char *pool_name, const char *name, bool write,
	       struct wort_index **out);

/* file_pool.c: pools in plain files.  Those that return an int complain. */
bool is_plain_file(const char *path);
bool is_file_pool(const char *path);
/* What --sync and --wait say. */
struct wort_pool_opts file_pool_opts(void);
int open_file_pool(const char *path, int flags, struct wort_pool **out);
int format_file(const char *path, uint64_t size, const struct wort_format_opts *opts);
/* What an open of a file has returned. */
int file_failed(const char *path, int err);
/* -ENODATA of a file: its beginning may be lost, with a copy of the superblock at its end. */
int no_pool_in_file(const char *path);
/* Is there anything but zeroes in it? */
bool holds_something(const char *path);

/* What libblkid finds, "" for nothing; -errno if it cannot look. */
int foreign_signature(const char *path, char *type, size_t size);

int source_open(const char *name, bool repair, struct source *src);
int source_open_to_check(const char *name, bool repair, struct source *src);
/* A pool of an older version, too; then only source_list() and reader_scan() read it. */
int source_open_to_dump(const char *name, struct source *src);
/* Complain if the pool at @path is of another media version; a status, 0 if it is not. */
int other_version(const char *name, const char *path);
/* What is said of a pool of another version, and the line that mends it, or NULL. */
const char *version_text(uint32_t version);
const char *version_mend(const char *path, uint32_t version);
int source_close(struct source *src);
int source_info(struct source *src, struct wort_pool_info_arg *info);
int source_check(struct source *src, struct wort_check_arg *check);
/* Records that a check under way has examined; another thread may have called it. */
uint64_t source_checked(const struct source *src);
int source_list(struct source *src, uint64_t after,
		struct wort_index_record *records, unsigned int max,
		bool *more);

/* Called with each index of a pool, in the order of ids. */
typedef void (*index_fn)(struct source *src,
			 const struct wort_index_record *rec, void *data);

int source_each(struct source *src, index_fn fn, void *data);
/*
 * What the last walk or check counted of an index; @info->out_count_time is 0 if that is
 * not known, also because the index cannot be opened.
 */
/*
 * -EUCLEAN or -EIO if a part of the catalogue cannot be read: a name that no index has may be
 * in it.
 */
int source_verify_list(struct source *src);
/* May what is read from a pool be written to this path?  0, or a status. */
int refuse_output(const char *path, const char *pool);
void source_counted(struct source *src, const struct wort_index_record *rec,
		    struct wort_index_info_arg *info);

/* sizes.c: the same of each index, as lines or as the member "sizes". */
int sizes_text(struct source *src);
int sizes_json(struct source *src, json_object *obj);
/* Both columns of one index. */
void sizes_columns(const struct wort_index_info_arg *info);

int reader_open(struct source *src, const char *name, struct reader *reader);
void reader_close(struct reader *reader);
int reader_info(struct reader *reader, struct wort_index_info_arg *info);
int reader_get(struct reader *reader, const struct bytes *key,
	       struct bytes *value);
int reader_scan(struct reader *reader, const struct wort_scan_opts *opts,
		record_fn fn, void *data);
int reader_count(struct reader *reader, const struct wort_scan_opts *opts,
		 uint64_t *count);

/* What -s, -a, -b, -p, -r, -k and -l chose. */
struct selection {
	struct wort_scan_opts opts;
	struct bytes start;
	struct bytes bound;
};

void selection_read(struct selection *sel);
void selection_free(struct selection *sel);

#define UUID_TEXT	37
void uuid_to_text(const uint8_t *uuid, char *text);
int uuid_from_text(const char *text, uint8_t *uuid);
/* A label as the name of a file, as udev and the module have it. */
#define LABEL_ENCODED	(4 * WORT_LABEL_LEN + 1)
void label_encode(const uint8_t *label, char text[LABEL_ENCODED]);

const char *engine_name(uint32_t engine, char *buf, size_t size);
int engine_by_name(const char *name, uint32_t *engine);

/* All pools that are attached: an array to free, its length or an error. */
int list_pools(struct wort_pool_record **out);

/* ---- streams of records: format.c, progress.c ---- */

enum format { FORMAT_TSV, FORMAT_JSONL, FORMAT_LINES };

int format_by_name(const char *name, enum format *format);
void format_write(FILE *out, enum format format,
		  const struct wort_scan_item *item);
/* A field of a line as -x and -n say; -EINVAL, -ENOMEM, of a number -ERANGE. */
int field_read(struct bytes *bytes, const char *text, size_t len);
int key_read(struct bytes *key, const char *text, size_t len);
/* NULL, or why the line, with its end, is not whole. */
const char *line_verify(const char *line, size_t len);
/*
 * One line with its end: -EINVAL with *@why if it is not one whole record,
 * -ENOMEM.
 */
int format_read(enum format format, const char *line, size_t len,
		struct bytes *key, struct bytes *value, const char **why);
/* The same of a line of JSON; its end may be missing.  jsonl.c */
int jsonl_read(const char *line, size_t len, struct bytes *key,
	       struct bytes *value, const char **why);

struct progress {
	bool shown;
	double begin;
	double last;
	uint64_t count;
	uint64_t bytes;
	uint64_t total;		/* of @count, or 0 if it is not known */
};

void progress_begin(struct progress *progress);
void progress_tick(struct progress *progress);
double progress_end(struct progress *progress);

/* ---- files that get their name when they are whole ---- */

/**
 * struct part - A file that is being written
 * @path: the name that it gets; "-": standard output
 * @target: room for what a symbolic link at @path refers to
 * @name: the name that it has; empty: it is written to @path itself
 */
struct part {
	const char *path;
	char target[PATH_MAX];
	char name[PATH_MAX];
};

/* NULL: errno says why.  One at a time: signals that end the program remove it. */
FILE *part_open(struct part *part, const char *path);
bool part_is_stdout(const struct part *part);

/*
 * With @whole, syncs the file and gives it its name, which replaces the file that had it.
 * Otherwise removes it.  A negative errno if not all of it could be written.
 */
int part_close(struct part *part, FILE *out, bool whole);

/* ---- verbs ---- */

int cmd_atomic(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_backup(int argc, char **argv);
int cmd_cas(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_count(int argc, char **argv);
int cmd_create(int argc, char **argv);
int cmd_del(int argc, char **argv);
int cmd_destroy(int argc, char **argv);
int cmd_rename(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_format(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_grow(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_engines(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_put(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_scan(int argc, char **argv);
int cmd_stat(int argc, char **argv);

#endif
