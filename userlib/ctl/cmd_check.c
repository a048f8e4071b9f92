// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort check: examine a whole pool.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

enum { OPTION_FROM_COPY = 0x1000, OPTION_YES };

static bool clear, from_copy, yes;

static const struct argp_option check_options[] = {
	{ "clear", 'c', NULL, 0,
	  "mend what a power cut left; drop what cannot be read; if all is well, end read-only states",
	  0 },
	{ "from-copy", OPTION_FROM_COPY, NULL, 0,
	  "with -c, of a device or image: if its beginning is lost, write it anew from the copy at its end",
	  0 },
	{ "yes", OPTION_YES, NULL, 0, "with --from-copy: do not ask", 0 },
	{ }
};

static error_t check_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case 'c':
		clear = true;
		return 0;
	case OPTION_FROM_COPY:
		from_copy = true;
		return 0;
	case OPTION_YES:
		yes = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (from_copy && !clear)
			argp_error(state, "--from-copy stores to the device: it takes -c");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct syntax check_syntax = {
	.args = "POOL|IMAGE",
	.doc = "Examine a whole pool: each index, and that each byte is owned once,\n"
	       "free, or being freed. Operations go on meanwhile.",
	.groups = GROUP_OUTPUT | GROUP_OFFLINE | GROUP_VERBOSE,
	.min_args = 1,
	.max_args = 1,
	.options = check_options,
	.option = check_option,
};

/* A check of an image that is only read cannot write the lost copies anew. */
static bool copies_lack(const struct source *src, const struct wort_check_arg *check)
{
	return check->out_nr_lost && src->image && !clear;
}

static int check_json(struct source *src, const struct wort_check_arg *check,
		      uint64_t redone)
{
	json_object *obj = json_object_new_object();
	int err;

	json_add_bool(obj, "clean", !check->out_nr_damaged && !copies_lack(src, check));
	json_add_u64(obj, "indexes", check->out_nr_indexes);
	json_add_u64(obj, "nodes", check->out_nr_nodes);
	json_add_u64(obj, "records", check->out_nr_leaves);
	json_add_u64(obj, "owned_bytes", check->out_owned_bytes);
	json_add_u64(obj, "free_bytes", check->out_free_bytes);
	json_add_u64(obj, "freeing_bytes", check->out_freeing_bytes);
	json_add_u64(obj, "transient", check->out_nr_transient);
	json_add_u64(obj, "dropped", check->out_nr_dropped);
	json_add_u64(obj, "lost_copies", check->out_nr_lost);
	json_add_u64(obj, "unknown", check->out_nr_unknown);
	json_add_u64(obj, "atomic", check->out_nr_atomic);
	json_add_u64(obj, "atomic_redone", redone);
	json_add_u64(obj, "damaged", check->out_nr_damaged);
	if (check->out_nr_damaged) {
		json_add_u64(obj, "damaged_offset", check->out_damaged_off);
		json_add_u64(obj, "damaged_index", check->out_damaged_index);
	}
	err = sizes_json(src, obj);
	json_print(obj);
	return err;
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

static void atomic_text(const struct wort_check_arg *check, uint64_t redone)
{
	if (redone)
		printf("%llu atomic batches that a power cut had interrupted are carried out%s\n",
		       ull(redone), clear ? "" : ", in memory only");
	if (check->out_nr_atomic)
		printf("%llu atomic batches are committed and could not be carried out%s\n",
		       ull(check->out_nr_atomic),
		       clear && !check->out_nr_damaged ? ": they are now" :
						 ": lookups answer as if they were");
}

static void totals_text(const struct wort_check_arg *check)
{
	printf("%llu indexes, %llu records, %llu nodes\n",
	       ull(check->out_nr_indexes), ull(check->out_nr_leaves),
	       ull(check->out_nr_nodes));
	printf("%llu bytes owned, %llu free, %llu being freed\n",
	       ull(check->out_owned_bytes), ull(check->out_free_bytes),
	       ull(check->out_freeing_bytes));
}

static int check_text(struct source *src, const struct wort_check_arg *check,
		      uint64_t redone)
{
	int err;

	totals_text(check);
	err = sizes_text(src);
	if (check->out_nr_lost)
		printf("%llu copies of the superblock were lost%s\n",
		       ull(check->out_nr_lost),
		       copies_lack(src, check) ? "" : ", written anew");
	if (check->out_nr_transient)
		printf("%llu places in a legal state that a power cut left%s\n",
		       ull(check->out_nr_transient), clear ? ", mended" : "");
	atomic_text(check, redone);
	if (check->out_nr_dropped)
		printf("%llu references dropped to what cannot be read: see the kernel's log\n",
		       ull(check->out_nr_dropped));
	if (check->out_nr_unknown)
		printf("%llu indexes of engines that are not known here were not examined%s\n",
		       ull(check->out_nr_unknown),
		       clear ? ", so nothing was cleared" : "");
	if (check->out_nr_damaged)
		damage_text(check);
	else
		puts(check->out_nr_unknown || copies_lack(src, check) ?
		     "clean otherwise" : "clean");
	return err;
}

/* The device may be somebody else's by now: a person has to know it is not. */
static bool agreed(const char *name, const struct image_label *label)
{
	char uuid[UUID_TEXT], answer[8];

	uuid_to_text(label->uuid, uuid);
	fprintf(stderr, "%s: at the end is a copy of pool %s \"", name, uuid);
	put_escaped(stderr, label->label,
		    strnlen((const char *)label->label, WORT_LABEL_LEN));
	fprintf(stderr, "\", %llu bytes\n", ull(label->pool_size));
	if (yes)
		return true;
	if (!isatty(STDIN_FILENO))
		return false;
	fputs("Has nobody else stored to it since? Type yes: ", stderr);
	return fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n");
}

static int restore(const char *name)
{
	struct image_label label;
	char type[64];
	int err = image_copy(name, settings.offset, UINT64_MAX, false, 0, &label);

	if (err == -EEXIST)
		return 0;
	if (err == -ENODATA)
		return complain("%s: there is no pool, nor a copy of a superblock at the end",
				name);
	if (!err)
		err = foreign_signature(name, type, sizeof(type));
	if (err)
		return fail(name, err);
	if (*type) {
		complain("%s: there is something else (%s)", name, type);
		mend("wipefs %s    # says where; if it is there by mistake, wipefs -a -b",
		     shell_word(name));
		return ST_REFUSED;
	}
	if (!agreed(name, &label))
		return complain("%s: nothing was changed (--yes: nobody else has stored to it)",
				name);
	err = image_copy(name, settings.offset, UINT64_MAX, true, settings.wait_ms, &label);
	return err ? file_failed(name, err) : 0;
}

struct running {
	struct source *src;
	struct wort_check_arg *check;
	int err;
};

static void *run_check(void *arg)
{
	struct running *run = arg;

	run->err = source_check(run->src, run->check);
	return NULL;
}

/* Does the thread go on for another second? */
static bool goes_on(pthread_t thread)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec++;
	return pthread_timedjoin_np(thread, NULL, &end) == ETIMEDOUT;
}

/*
 * A check is one call, which tells nothing before it ends.  So a thread makes it, while
 * this one shows how far it has come.
 */
static int check_shown(struct source *src, struct wort_check_arg *check)
{
	struct running run = { .src = src, .check = check };
	struct progress progress;
	pthread_t thread;

	progress_begin(&progress);
	if (!progress.shown || settings.json ||
	    pthread_create(&thread, NULL, run_check, &run))
		return source_check(src, check);
	while (goes_on(thread)) {
		progress.count = source_checked(src);
		progress_tick(&progress);
	}
	if (progress.last > progress.begin)
		progress_end(&progress);
	return run.err;
}

/*
 * What was found.  The atomic batches that opening an image has carried out are found
 * by this command; those of an attached pool were found by attach.
 */
static int show(struct source *src, const struct wort_check_arg *check)
{
	struct wort_pool_info_arg info = { };
	int err = src->image ? source_info(src, &info) : 0;

	if (err)
		return err;
	return (settings.json ? check_json : check_text)(src, check,
							 info.out_atomic_redone);
}

int cmd_check(int argc, char **argv)
{
	struct wort_check_arg check = { .size = sizeof(check) };
	struct source src;
	char **args;
	bool sound;
	int err, err2;

	parse_args(&check_syntax, argc, argv, &args);
	check.flags = clear ? WORT_CHECK_F_CLEAR : 0;
	err = from_copy ? restore(args[0]) : 0;
	if (!err)
		err = source_open_to_check(args[0], clear, &src);
	if (err)
		return err;
	err = check_shown(&src, &check);
	if (!err)
		err = show(&src, &check);
	sound = !check.out_nr_damaged && !copies_lack(&src, &check);
	err2 = source_close(&src);
	if (err || err2)
		return fail(args[0], err ? err : err2);
	return sound ? ST_OK : ST_DAMAGE;
}
