// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes wrong, in words, and the line that mends it.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define INDEX_VERBS \
	"get put cas del atomic scan count load dump stat create destroy rename backup"

static const struct reason {
	int err;
	const char *verbs;	/* separated by spaces; NULL: any */
	const char *text;
	const char *mend;	/* %s: the object, %p: the first argument; or NULL */
} reasons[] = {
	{ ENOENT, "format attach", "no such device", "ls /dev/pmem*" },
	{ ENOENT, "detach", "no such pool", "wort list" },
	{ ENOENT, "get del cas atomic", "no such key", NULL },
	{ ENOENT, "put load", "no such key: it was to be replaced", NULL },
	{ ENOENT, NULL, "not found", "wort list" },
	{ EEXIST, "format", "a pool is on the device",
	  "wort format -f %s    # its records are lost" },
	{ EEXIST, "attach", "attached already", "wort list" },
	{ EEXIST, "create", "there is an index of this name", NULL },
	{ EEXIST, NULL, "the key exists", NULL },
	{ ECANCELED, NULL, "the value is not the one expected", NULL },
	{ EBUSY, "format attach check dump stat list scan count get",
	  "the device is in use: mounted, attached, or held by another driver; or kernel code has the index for itself",
	  "wort doctor %s" },
	{ EBUSY, "put cas del atomic load create rename destroy",
	  "kernel code has the index for itself", NULL },
	{ EBUSY, "backup", "the device is in use, or wort check --clear runs",
	  "wort doctor %s" },
	{ EBUSY, "detach", "the pool has open descriptors", "fuser -v %s" },
	{ EPERM, NULL, "this takes CAP_SYS_ADMIN (sudo); or the file is immutable",
	  NULL },
	{ EACCES, "attach", "write-protected, or on a nodev mount",
	  "wort attach --read-only %s" },
	{ EACCES, NULL, "permission denied; pools of the module take root, or a udev rule",
	  NULL },
	{ ENOTBLK, "format attach", "not a block device", "wort doctor %s" },
	{ ENOTBLK, NULL, "not a block device, nor an image of one", NULL },
	{ ENXIO, NULL, "not a DAX device, or not in fsdax mode",
	  "wort doctor %s" },
	{ EOPNOTSUPP, "format attach",
	  "the device cannot flush at once (virtio-pmem), or is a device-mapper target",
	  "wort doctor %s" },
	{ EOPNOTSUPP, INDEX_VERBS,
	  "the index has an engine that is not known here: it takes the wort that made it",
	  NULL },
	{ EOPNOTSUPP, NULL, "the module does not know this option", NULL },
	{ EDOM, NULL, "the device or partition is not aligned to pages",
	  "wort doctor %s" },
	{ ENODATA, "attach", "there is no pool; wort format makes one",
	  "wort doctor %s" },
	{ ENODATA, NULL, "there is no pool, or not where one is looked for (--offset)",
	  "wort doctor %p" },
	{ EPROTONOSUPPORT, NULL,
	  "the pool has a version, a feature or an atomic batch unknown here; the kernel log (of an image: stderr) has which",
	  "wort doctor %p" },
	{ EOVERFLOW, NULL,
	  "the pool is larger than what it lies on; nothing was changed: give a device back the size that it had; of a file that was cut take a copy or a backup",
	  NULL },
	{ EFBIG, NULL, "larger than a pool can be (16 TiB), or than a file may be here", NULL },
	{ ENOSPC, "format attach", "smaller than a pool can be (256 KiB, or some large extents)",
	  NULL },
	{ ENOSPC, NULL,
	  "the pool is full; nothing was changed: delete records, or let it grow (wort grow, wort attach --grow)",
	  "wort stat %p" },
	{ EREMOTEIO, NULL,
	  "the device did not keep what was stored to it: it is no memory", NULL },
	{ ENODEV, NULL, "the pool was detached, or its device removed or changed",
	  "wort list    # of a dead one: wort detach, then attach it again" },
	{ ENOTTY, "atomic", "the module has no atomic batches: it is too old", NULL },
	{ ENOTTY, "rename", "the module cannot rename an index: it is too old", NULL },
	{ ENOTTY, "backup", "the module cannot freeze a pool: it is too old",
	  "wort detach %p    # then wort backup of its device" },
	{ ENOTTY, NULL, "the module does not know this call: it is too old", NULL },
	{ EMSGSIZE, "atomic",
	  "too long: keys have 1024 bytes, values 65536, names 111, a batch 256 KiB at most",
	  NULL },
	{ EMSGSIZE, "create rename destroy stat", "too long: names have 111 bytes at most",
	  NULL },
	{ EMSGSIZE, NULL,
	  "too long: keys have 1024 bytes, values 65536, names 111 at most",
	  NULL },
	{ EROFS, "attach",
	  "the pool cannot grow: damage was found in it, or it takes a newer wort to write it",
	  "wort attach %s    # without --grow; then wort check --clear" },
	{ EROFS, NULL, "read-only, because damage was found",
	  "wort check %p    # then wort check --clear" },
	{ EUCLEAN, "check",
	  "damage was found; the kernel log (of an image: stderr) has the place", NULL },
	{ EUCLEAN, NULL,
	  "damage was found; the kernel log (of an image: stderr) has the place",
	  "wort check %p" },
	{ EIO, NULL, "the data lies on a page known to be bad",
	  "ndctl list --media-errors" },
	{ ESTALE, NULL, "the index was destroyed", NULL },
	{ EBADF, NULL, "not opened for writing", NULL },
	{ EINTR, NULL, "interrupted", NULL },
	{ ENOMEM, NULL, "out of memory", NULL },
	{ EINVAL, "create",
	  "the index has another engine or other attributes, or the module does not know one of them",
	  "wort stat %p %s" },
	{ EINVAL, "format", "the extent size is no power of two from 4k to 1M",
	  NULL },
};

/* Is @word in a list separated by spaces? */
static bool listed(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *at = list;

	while ((at = strstr(at, word))) {
		if ((at == list || at[-1] == ' ') &&
		    (at[len] == ' ' || !at[len]))
			return true;
		at += len;
	}
	return false;
}

/* Of an attached pool its state says more than the error. */
static const struct reason *reason_of_state(int err)
{
	static const struct reason detached = {
		ENODEV, NULL, "the pool was detached meanwhile",
		"wort list    # or wort attach DEVICE",
	}, dead = {
		ENODEV, NULL, "the pool is dead: its device was removed or changed",
		"wort list    # wort detach it, then attach the device again",
	}, readonly = {
		EROFS, NULL,
		"the pool is attached read-only: with --read-only, or because it takes a newer wort to write it",
		"wort list    # wort detach it, then wort attach without --read-only",
	};
	int64_t state = err == ENODEV || err == EROFS ? opened_state() : -ENOENT;

	if (err == ENODEV && state == -ENODEV)
		return &detached;
	if (err == ENODEV && state >= 0 && state & WORT_STATE_DEAD)
		return &dead;
	if (err == EROFS && state >= 0 && state & WORT_STATE_READONLY)
		return &readonly;
	return NULL;
}

static const struct reason *find_reason(int err)
{
	const struct reason *reason = reason_of_state(err);
	unsigned int i;

	if (reason)
		return reason;
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err &&
		    (!reasons[i].verbs ||
		     listed(reasons[i].verbs, settings.verb)))
			return &reasons[i];
	return NULL;
}

/*
 * With -o json a complaint is an object, too; it waits for the line that mends
 * it, until the next one or the end of the program.
 */
static struct json_object *complaint;

static void end_complaint(void)
{
	if (!complaint)
		return;
	json_print_line(complaint, stderr);
	fputc('\n', stderr);
	complaint = NULL;
}

static void begin_complaint(const char *text)
{
	static bool registered;

	end_complaint();
	if (!registered)
		registered = !atexit(end_complaint);
	complaint = json_object_new_object();
	json_add_str(complaint, "verb", settings.verb);
	json_add_str(complaint, "text", text);
}

int output_error(void)
{
	static int err;

	if (!err && ferror(stdout))
		err = errno ? errno : EIO;
	return err;
}

/* What was formatted, as it may be shown.  To be freed. */
static char *vshown(const char *fmt, va_list args)
{
	char text[2 * PATH_MAX];

	vsnprintf(text, sizeof(text), fmt, args);
	return text_shown(text);
}

int complain(const char *fmt, ...)
{
	va_list args;
	char *text;

	/* What was printed before comes first, wherever both end up. */
	fflush(stdout);
	output_error();
	va_start(args, fmt);
	text = vshown(fmt, args);
	va_end(args);
	if (settings.json)
		begin_complaint(text ? text : "");
	else
		fprintf(stderr, "wort%s%s: %s\n", settings.verb ? " " : "",
			settings.verb ? settings.verb : "", text ? text : "");
	free(text);
	return ST_REFUSED;
}

/* A line for each of several. */
static void add_mend(const char *text)
{
	const char *before = json_object_get_string(json_object_object_get(complaint, "mend"));
	char lines[4 * PATH_MAX];

	snprintf(lines, sizeof(lines), "%s%s%s", before ? before : "", before ? "\n" : "", text);
	json_add_str(complaint, "mend", lines);
}

void mend(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = vshown(fmt, args);
	va_end(args);
	if (text && complaint)
		add_mend(text);
	else if (text)
		fprintf(stderr, "  try: %s\n", text);
	free(text);
}

void usage_error(struct argp_state *state, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = vshown(fmt, args);
	va_end(args);
	argp_error(state, "%s", text ? text : "");
	free(text);
}

bool no_module(int err)
{
	return err == -ENOENT || err == -ENXIO || err == -ENODEV;
}

int complain_no_module(void)
{
	complain("the module is not loaded");
	mend("modprobe wort");
	return ST_REFUSED;
}

int status_of(int err)
{
	if (!err)
		return ST_OK;
	if (err == -ENOENT || err == -ENODATA || err == -ECANCELED)
		return ST_NOTHING;
	if (err == -EUCLEAN || err == -EROFS)
		return ST_DAMAGE;
	return ST_REFUSED;
}

void name_errno(int err)
{
	if (complaint && strerrorname_np(-err))
		json_add_str(complaint, "errno", strerrorname_np(-err));
}

static void mend_reason(const char *text, const char *object)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return;
	for (; *text; text++) {
		if (*text != '%')
			fputc(*text, out);
		else
			fputs(shell_word(*++text == 'p' ? settings.target : object), out);
	}
	if (!fclose(out))
		mend("%s", line);
	free(line);
}

int fail(const char *object, int err)
{
	const struct reason *reason = find_reason(-err);

	complain("%s: %s", object, reason ? reason->text : strerror(-err));
	name_errno(err);
	if (reason && reason->mend)
		mend_reason(reason->mend, object);
	return status_of(err);
}
