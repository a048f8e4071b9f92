// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort VERB: the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "doctor", cmd_doctor, "can this device hold a pool?" },
	{ "probe", cmd_probe, "names of the pool on a device, for udev" },
	{ "format", cmd_format, "make an empty pool on a device" },
	{ "attach", cmd_attach, "serve the pool of a device" },
	{ "detach", cmd_detach, "stop serving pools" },
	{ "grow", cmd_grow, "let a pool in a plain file take in more of it" },
	{ "list", cmd_list, "attached pools, or the indexes of a pool" },
	{ "engines", cmd_engines, "structures that an index can have" },
	{ "create", cmd_create, "make an index" },
	{ "rename", cmd_rename, "give an index another name" },
	{ "destroy", cmd_destroy, "drop an index with all its records" },
	{ "put", cmd_put, "store a record" },
	{ "cas", cmd_cas, "replace a value if it is the one expected" },
	{ "get", cmd_get, "read a record" },
	{ "del", cmd_del, "remove records" },
	{ "atomic", cmd_atomic, "several operations, all or none" },
	{ "scan", cmd_scan, "read records in order" },
	{ "count", cmd_count, "count records" },
	{ "load", cmd_load, "store records from a file" },
	{ "dump", cmd_dump, "write records to a file" },
	{ "backup", cmd_backup, "copy a whole pool to a file" },
	{ "restore", cmd_restore, "make the indexes of a backup in a pool" },
	{ "stat", cmd_stat, "figures of a pool or an index" },
	{ "check", cmd_check, "examine a whole pool" },
};

static int show_help(FILE *out)
{
	unsigned int i;

	fputs("usage: wort VERB [OPTION...] [ARGUMENT...]\n\n", out);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n\"wort VERB --help\" tells more, \"man wort\" all.\n", out);
	return out == stdout ? ST_OK : ST_USAGE;
}

static const struct verb *find_verb(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static int no_verb(const char *name)
{
	char *shown = text_shown(name);

	if (*name == '-')
		fprintf(stderr, "wort: options come after the verb: wort VERB %s\n",
			shown ? shown : "");
	else
		fprintf(stderr, "wort: no such verb: %s\n  try: wort help\n",
			shown ? shown : "");
	free(shown);
	return ST_USAGE;
}

/* What was printed must have arrived: a full disk is an error. */
static int finish(int status)
{
	fflush(stdout);
	if (output_error() && status != ST_REFUSED)
		return complain("cannot write the output: %s",
				strerror(output_error()));
	return status;
}

/*
 * A descriptor that is closed is given out by the next open: a complaint would
 * go into the image.  As the C library does it for programs that change the
 * user, what is read from or written to such a descriptor fails.
 */
static void fill_standard_fds(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY :
							   O_RDONLY) != fd)
			_exit(ST_REFUSED);
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	char name[64];

	fill_standard_fds();
	/* A write beyond the limit of file sizes fails with EFBIG then, which is told. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2)
		return show_help(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help"))
		return finish(show_help(stdout));
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("wort %s\n", wort_version());
		return finish(ST_OK);
	}
	verb = find_verb(argv[1]);
	if (!verb)
		return no_verb(argv[1]);
	settings.verb = verb->name;
	/* argp begins its messages with this. */
	snprintf(name, sizeof(name), "wort %s", verb->name);
	argv[1] = name;
	return finish(verb->run(argc - 1, argv + 1));
}
