// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort stat: figures of a pool or an index.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "ctl.h"

static const struct syntax stat_syntax = {
	.args = "POOL|IMAGE [INDEX]",
	.doc = "Figures of a pool and the bytes of its indexes, or of an index and what\n"
	       "operations on it cost.",
	.groups = GROUP_OUTPUT | GROUP_OFFLINE,
	.min_args = 1,
	.max_args = 2,
};

static void say(const char *name, const char *text)
{
	printf("%-20s %s\n", name, text);
}

static void say_count(const char *name, uint64_t val)
{
	if (val == WORT_UNKNOWN)
		say(name, "unknown until the walk ends");
	else
		printf("%-20s %llu\n", name, ull(val));
}

static void say_time(const char *name, uint64_t secs)
{
	time_t when = secs;
	char text[64];
	struct tm tm;

	if (!gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(text, sizeof(text), "%llu", ull(secs));
	say(name, text);
}

static const struct {
	const char *name;
	const char *key;
	size_t at;
} pool_counts[] = {
#define COUNT(text, field) \
	{ text, #field, offsetof(struct wort_pool_info_arg, out_##field) }
	COUNT("size", pool_size),
	COUNT("extent size", extent_size),
	COUNT("extents", nr_extents),
	COUNT("free extents", free_extents),
	COUNT("kept back", reserve_extents),
	COUNT("used bytes", used_bytes),
	COUNT("being freed", freeing_bytes),
	COUNT("indexes", nr_indexes),
	COUNT("damaged indexes", nr_damaged),
	COUNT("dying indexes", nr_dying),
	COUNT("walked indexes", walk_indexes),
	COUNT("walked records", walk_records),
	COUNT("lines read to attach", attach_lines),
	COUNT("atomic batches", atomic_batches),
	COUNT("refused batches", atomic_refused),
	COUNT("waits for batches", atomic_waits),
	COUNT("redone batches", atomic_redone),
	COUNT("waiting batches", atomic_left),
	COUNT("damaged batches", atomic_damaged),
#undef COUNT
};

static uint64_t count_at(const struct wort_pool_info_arg *info, size_t at)
{
	uint64_t val;

	memcpy(&val, (const char *)info + at, sizeof(val));
	return val;
}

/* By WORT_FLUSH_*. */
static const char *const flushes[] = {
	"not flushed: caches are persistent", "flushed", "written by msync",
	"left to the kernel",
};

static void pool_text(const struct wort_pool_info_arg *info, const char *uuid)
{
	bool read_only = info->out_state & WORT_STATE_READONLY;
	unsigned int i;

	say("uuid", uuid);
	printf("%-20s ", "label");
	put_escaped(stdout, info->out_label,
		    strnlen((const char *)info->out_label, WORT_LABEL_LEN));
	putchar('\n');
	say("state", info->out_state & WORT_STATE_DAMAGED ?
	    "damaged: read-only" : read_only ? "read-only" :
	    info->out_nr_damaged ? "an index is damaged" :
	    info->out_state & WORT_STATE_UNKNOWN ?
	    "an index has an unknown engine" : "ok");
	say("walk", read_only ? "none" :
	    info->out_state & WORT_STATE_WALKING ? "under way" : "ended");
	say("stores", info->out_flush < ARRAY_SIZE(flushes) ? flushes[info->out_flush] :
	    "made durable in a way unknown here");
	for (i = 0; i < ARRAY_SIZE(pool_counts); i++)
		say_count(pool_counts[i].name,
			  count_at(info, pool_counts[i].at));
	say_time("formatted", info->out_format_time);
	say("format", info->out_incompat & 1 ? "experimental" : "stable");
}

static json_object *pool_object(const struct wort_pool_info_arg *info,
				const char *uuid)
{
	json_object *obj = json_object_new_object();
	unsigned int i;

	json_add_str(obj, "uuid", uuid);
	json_add_bytes(obj, "label", info->out_label,
		       strnlen((const char *)info->out_label, WORT_LABEL_LEN));
	json_add_bool(obj, "damaged", info->out_state & WORT_STATE_DAMAGED);
	json_add_bool(obj, "walking", info->out_state & WORT_STATE_WALKING);
	json_add_bool(obj, "unknown_engine",
		      info->out_state & WORT_STATE_UNKNOWN);
	json_add_bool(obj, "read_only", info->out_state & WORT_STATE_READONLY);
	json_add_bool(obj, "flush", info->out_flush);
	for (i = 0; i < ARRAY_SIZE(pool_counts); i++)
		json_add_known(obj, pool_counts[i].key,
			       count_at(info, pool_counts[i].at));
	json_add_u64(obj, "format_time", info->out_format_time);
	json_add_u64(obj, "incompat", info->out_incompat);
	return obj;
}

static int show_pool_text(struct source *src,
			  const struct wort_pool_info_arg *info,
			  const char *uuid)
{
	pool_text(info, uuid);
	return sizes_text(src);
}

static int show_pool_json(struct source *src,
			  const struct wort_pool_info_arg *info,
			  const char *uuid)
{
	json_object *obj = pool_object(info, uuid);
	int err = sizes_json(src, obj);

	json_print(obj);
	return err;
}

static int stat_pool(struct source *src, const char *name)
{
	struct wort_pool_info_arg info;
	int err = source_info(src, &info);
	char uuid[UUID_TEXT];

	if (err)
		return fail(name, err);
	uuid_to_text(info.out_uuid, uuid);
	err = settings.json ? show_pool_json(src, &info, uuid) :
			      show_pool_text(src, &info, uuid);
	if (err)
		return fail(name, err);
	return info.out_state & WORT_STATE_DAMAGED || info.out_nr_damaged ?
	       ST_DAMAGE : ST_OK;
}

static const char *const op_names[] = {
	[WORT_OP_LOOKUP] = "lookup",
	[WORT_OP_INSERT] = "insert",
	[WORT_OP_UPDATE] = "update",
	[WORT_OP_DELETE] = "delete",
	[WORT_OP_SCAN] = "scan",
	[WORT_OP_ATOMIC] = "atomic",
};

static_assert(ARRAY_SIZE(op_names) == WORT_OP_NR, "an operation has no name");

static void op_line(const char *name, const struct wort_op_stats *st)
{
	double ops = st->ops;

	if (!st->ops)
		return;
	printf("%-8s %10llu %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n",
	       name, ull(st->ops), st->stores / ops, st->lines / ops,
	       st->fences / ops, st->ordering_points / ops, st->nodes / ops,
	       st->leaves / ops, st->loads / ops);
}

static void ops_text(const struct wort_op_stats *stats, int nr)
{
	int i;

	printf("\n%-8s %10s %8s %8s %8s %8s %8s %8s %8s\n", "", "number",
	       "stores", "lines", "fences", "ordering", "nodes", "leaves",
	       "loads");
	for (i = 0; i < nr; i++)
		op_line(op_names[i], &stats[i]);
	puts("Since the index was attached; per operation but for the number.");
}

static json_object *ops_object(const struct wort_op_stats *stats, int nr)
{
	json_object *all = json_object_new_object(), *obj;
	int i;

	for (i = 0; i < nr; i++) {
		obj = json_object_new_object();
		json_add_u64(obj, "ops", stats[i].ops);
		json_add_u64(obj, "stores", stats[i].stores);
		json_add_u64(obj, "lines", stats[i].lines);
		json_add_u64(obj, "fences", stats[i].fences);
		json_add_u64(obj, "ordering_points", stats[i].ordering_points);
		json_add_u64(obj, "nodes", stats[i].nodes);
		json_add_u64(obj, "leaves", stats[i].leaves);
		json_add_u64(obj, "loads", stats[i].loads);
		json_add_u64(obj, "alloc_lines", stats[i].alloc_lines);
		json_add_u64(obj, "zero_lines", stats[i].zero_lines);
		json_object_object_add(all, op_names[i], obj);
	}
	return all;
}

/* The count may be of some time ago, and says of when it is. */
static void counted_text(const struct wort_index_info_arg *info)
{
	if (!info->out_count_time) {
		say("bytes", "unknown until a walk or a check counts them");
		return;
	}
	say_count("bytes", info->out_bytes);
	say_count("records", info->out_records);
	say_time("counted", info->out_count_time);
}

/* What was chosen for an attribute; @name: of the value, NULL if it is a number. */
struct chosen {
	uint64_t val;
	const char *name;
	int len;
};

/* The attribute by number; NULL: there are not so many. */
static const struct wort_attr *chosen_attr(const struct wort_index_info_arg *info,
					   unsigned int nr, struct chosen *chosen)
{
	const struct wort_attr *attr = wort_engine_attr(info->out_engine, nr);
	uint64_t val;

	if (!attr)
		return NULL;
	chosen->val = wort_attr_get(attr, info->out_attr);
	chosen->name = attr->values;
	for (val = attr->min; chosen->name && val < chosen->val; val++) {
		chosen->name = strchr(chosen->name, ' ');
		if (chosen->name)
			chosen->name++;
	}
	chosen->len = chosen->name ? strcspn(chosen->name, " ") : 0;
	return attr;
}

static void attrs_text(const struct wort_index_info_arg *info)
{
	const struct wort_attr *attr;
	struct chosen chosen;
	unsigned int i;

	for (i = 0; (attr = chosen_attr(info, i, &chosen)); i++) {
		printf("%-20s %s=", i ? "" : "attributes", attr->name);
		if (chosen.name)
			printf("%.*s\n", chosen.len, chosen.name);
		else
			printf("%llu\n", ull(chosen.val));
	}
}

static json_object *attrs_array(const struct wort_index_info_arg *info)
{
	json_object *array = json_object_new_array(), *obj;
	const struct wort_attr *attr;
	struct chosen chosen;
	unsigned int i;

	for (i = 0; (attr = chosen_attr(info, i, &chosen)); i++) {
		obj = json_object_new_object();
		json_add_str(obj, "name", attr->name);
		json_object_object_add(obj, "value", chosen.name ?
			json_object_new_string_len(chosen.name, chosen.len) :
			json_object_new_uint64(chosen.val));
		json_object_array_add(array, obj);
	}
	return array;
}

static void index_text(const struct wort_index_info_arg *info,
		       const char *engine, bool attached)
{
	printf("%-20s ", "name");
	put_escaped(stdout, info->out_name, info->out_name_len);
	putchar('\n');
	say_count("id", info->out_id);
	say("engine", engine);
	attrs_text(info);
	say("state", info->out_state & WORT_STATE_DAMAGED ?
	    "damaged: read-only" : "ok");
	say_time("created", info->out_create_time);
	counted_text(info);
	if (attached)
		say_count("bytes of DRAM", info->out_dram_bytes);
}

static json_object *index_object(const struct wort_index_info_arg *info,
				 const char *engine, bool attached)
{
	json_object *obj = json_object_new_object();

	json_add_bytes(obj, "name", info->out_name, info->out_name_len);
	json_add_u64(obj, "id", info->out_id);
	json_add_str(obj, "engine", engine);
	json_add_u64(obj, "attr", info->out_attr);
	json_object_object_add(obj, "attributes", attrs_array(info));
	json_add_bool(obj, "damaged", info->out_state & WORT_STATE_DAMAGED);
	json_add_u64(obj, "create_time", info->out_create_time);
	json_add_count(obj, info);
	json_add_known(obj, "dram_bytes", attached ? info->out_dram_bytes : WORT_UNKNOWN);
	return obj;
}

/* An image has no operations to count. */
static int stat_index(struct reader *reader, const char *name)
{
	struct wort_op_stats stats[WORT_OP_NR] = { };
	struct wort_index_info_arg info;
	char buf[16];
	const char *engine;
	json_object *obj;
	int nr = 0, err = reader_info(reader, &info);

	if (!err && reader->index)
		nr = wort_index_stats(reader->index, stats, sizeof(*stats),
				      WORT_OP_NR);
	if (err || nr < 0)
		return fail(name, err ? err : nr);
	if (nr > WORT_OP_NR)
		nr = WORT_OP_NR;
	if (info.out_name_len > WORT_NAME_MAX)
		return fail(name, -EBADMSG);
	engine = engine_name(info.out_engine, buf, sizeof(buf));
	if (settings.json) {
		obj = index_object(&info, engine, reader->index);
		if (nr)
			json_object_object_add(obj, "operations",
					       ops_object(stats, nr));
		json_print(obj);
	} else {
		index_text(&info, engine, reader->index);
		if (nr)
			ops_text(stats, nr);
	}
	return info.out_state & WORT_STATE_DAMAGED ? ST_DAMAGE : ST_OK;
}

int cmd_stat(int argc, char **argv)
{
	struct reader reader;
	struct source src;
	char **args;
	int nr, err;

	nr = parse_args(&stat_syntax, argc, argv, &args);
	err = source_open(args[0], false, &src);
	if (err)
		return err;
	if (nr == 1) {
		err = stat_pool(&src, args[0]);
	} else {
		err = reader_open(&src, args[1], &reader);
		if (!err) {
			if (src.image)
				image_settle();
			err = stat_index(&reader, args[1]);
			reader_close(&reader);
		}
	}
	source_close(&src);
	return err;
}
