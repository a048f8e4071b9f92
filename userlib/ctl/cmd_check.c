// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort check: examine a whole pool.
 */
#include "ctl.h"

static bool clear;

static const struct argp_option check_options[] = {
	{ "clear", 'c', NULL, 0,
	  "mend what a power cut left; drop what cannot be read; if all is well, end read-only states",
	  0 },
	{ }
};

static error_t check_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key != 'c')
		return ARGP_ERR_UNKNOWN;
	clear = true;
	return 0;
}

static const struct syntax check_syntax = {
	.args = "POOL|IMAGE",
	.doc = "Examine a whole pool: each index, and that each byte is owned once,\n"
	       "free, or being freed. Changes wait while it runs.",
	.groups = GROUP_OUTPUT | GROUP_OFFLINE,
	.min_args = 1,
	.max_args = 1,
	.options = check_options,
	.option = check_option,
};

static void check_json(const struct wort_check_arg *check)
{
	json_object *obj = json_object_new_object();

	json_add_bool(obj, "clean", !check->out_nr_damaged);
	json_add_u64(obj, "indexes", check->out_nr_indexes);
	json_add_u64(obj, "nodes", check->out_nr_nodes);
	json_add_u64(obj, "records", check->out_nr_leaves);
	json_add_u64(obj, "owned_bytes", check->out_owned_bytes);
	json_add_u64(obj, "free_bytes", check->out_free_bytes);
	json_add_u64(obj, "freeing_bytes", check->out_freeing_bytes);
	json_add_u64(obj, "transient", check->out_nr_transient);
	json_add_u64(obj, "dropped", check->out_nr_dropped);
	json_add_u64(obj, "damaged", check->out_nr_damaged);
	if (check->out_nr_damaged) {
		json_add_u64(obj, "damaged_offset", check->out_damaged_off);
		json_add_u64(obj, "damaged_index", check->out_damaged_index);
	}
	json_print(obj);
}

static void damage_text(const struct wort_check_arg *check)
{
	printf("DAMAGED: %llu places, the first at offset %#llx",
	       ull(check->out_nr_damaged), ull(check->out_damaged_off));
	if (check->out_damaged_index)
		printf(" in the index with id %llu",
		       ull(check->out_damaged_index));
	putchar('\n');
}

static void check_text(const struct wort_check_arg *check)
{
	printf("%llu indexes, %llu records, %llu nodes\n",
	       ull(check->out_nr_indexes), ull(check->out_nr_leaves),
	       ull(check->out_nr_nodes));
	printf("%llu bytes owned, %llu free, %llu being freed\n",
	       ull(check->out_owned_bytes), ull(check->out_free_bytes),
	       ull(check->out_freeing_bytes));
	if (check->out_nr_transient)
		printf("%llu places in a legal state that a power cut left%s\n",
		       ull(check->out_nr_transient), clear ? ", mended" : "");
	if (check->out_nr_dropped)
		printf("%llu references dropped to what cannot be read: see the kernel's log\n",
		       ull(check->out_nr_dropped));
	if (check->out_nr_damaged)
		damage_text(check);
	else
		puts("clean");
}

int cmd_check(int argc, char **argv)
{
	struct wort_check_arg check = { .size = sizeof(check) };
	struct source src;
	char **args;
	int err, err2;

	parse_args(&check_syntax, argc, argv, &args);
	check.flags = clear ? WORT_CHECK_F_CLEAR : 0;
	err = source_open_to_check(args[0], clear, &src);
	if (err)
		return err;
	err = source_check(&src, &check);
	if (!err)
		(settings.json ? check_json : check_text)(&check);
	err2 = source_close(&src);
	if (err || err2)
		return fail(args[0], err ? err : err2);
	return check.out_nr_damaged ? ST_DAMAGE : ST_OK;
}
