// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts within commands of the sample for kernel code: kmod/samples/dirindex.c.
 */
#include <stdio.h>
#include <string.h>

#include "../../kmod/core/powercut.h"
#include "../dirindex/host.h"
#include "../engines/unit.h"
#include "tests.h"

#define MOVED	6		/* names that are moved at once */

static void command(const char *text)
{
	CHECK_EQ(dirindex_command(text, NULL), 0);
}

static void load(struct bed *bed)
{
	CHECK_EQ(dirindex_load(&bed->pm), 0);
}

static void reload(struct bed *bed)
{
	dirindex_unload();
	bed_detach(bed);
	bed_attach(bed);
	load(bed);
}

/* The inode that a name has, or 0 if there is no such name. */
static int inode_of(const char *path)
{
	const char *answer;
	char text[64];
	int err;

	snprintf(text, sizeof(text), "lookup %s", path);
	err = dirindex_command(text, &answer);
	if (err == -ENOENT)
		return 0;
	CHECK_EQ(err, 0);
	return atoi(strchr(answer, ' '));
}

/* How many names two directories have together. */
static int nr_names(void)
{
	int first, second;
	const char *answer;

	CHECK_EQ(dirindex_command("count 1", &answer), 0);
	first = atoi(answer);
	CHECK_EQ(dirindex_command("count 2", &answer), 0);
	second = atoi(answer);
	return first + second;
}

/* Return: was the power cut in the command?  The media is what it left. */
static bool cut(struct bed *bed, const char *text, u64 event, u32 seed)
{
	struct wort_powercut_status status;
	u8 *media = (u8 *)bed->pm.region.base;

	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&bed->pm.region);
	command(text);
	wort_powercut_end(&bed->pm.region);
	wort_powercut_status(&status);
	if (status.state == WORT_POWERCUT_CUT)
		CHECK_EQ(wort_powercut_image(seed, media, MIB, 0), MIB);
	wort_powercut_disarm();
	reload(bed);
	bed_check(bed);
	return status.state == WORT_POWERCUT_CUT;
}

static void restore(struct bed *bed, const u8 *before)
{
	dirindex_unload();
	bed_detach(bed);
	memcpy((u8 *)bed->pm.region.base, before, MIB);
	bed_attach(bed);
	load(bed);
}

/*
 * Cut the power at each event of a command and look what is there.  The last look is
 * at what the whole command leaves.
 */
static void cut_everywhere(struct bed *bed, const char *text, void (*look)(bool whole))
{
	static u8 before[MIB];
	bool within = true;
	u64 event;
	u32 seed;

	load(bed);
	pmpool_settle();
	memcpy(before, (u8 *)bed->pm.region.base, sizeof(before));
	for (event = 1; within; event++)
		for (seed = 0; seed < 8 && within; seed++) {
			within = cut(bed, text, event, seed);
			look(!within);
			restore(bed, before);
		}
	dirindex_unload();
}

static struct {
	const char *from;
	const char *to;
	int replaced;		/* the inode that @to had before */
	int old;		/* cuts after which the name was the old one */
	int new;
} renamed;

/* Inode 7 has exactly one name, and what it replaces is there as long as it does not. */
static void look_renamed(bool whole)
{
	bool done = !inode_of(renamed.from);

	CHECK_EQ(inode_of(renamed.from), done ? 0 : 7);
	CHECK_EQ(inode_of(renamed.to), done ? 7 : renamed.replaced);
	CHECK_EQ(nr_names(), 2 + (renamed.replaced && !done));
	CHECK(done || !whole);
	renamed.old += !done;
	renamed.new += done && !whole;
}

static void cut_rename(const char *from, const char *to, bool replace)
{
	struct bed bed;
	char text[64];

	renamed.from = from;
	renamed.to = to;
	renamed.replaced = replace ? 9 : 0;
	renamed.old = 0;
	renamed.new = 0;
	bed_open(&bed, MIB, 4096);
	load(&bed);
	command("create 1/another 5 644 0");
	snprintf(text, sizeof(text), "create %s 7 644 0", from);
	command(text);
	snprintf(text, sizeof(text), "create %s 9 644 0", to);
	if (replace)
		command(text);
	dirindex_unload();
	snprintf(text, sizeof(text), "rename %s %s", from, to);
	cut_everywhere(&bed, text, look_renamed);
	CHECK(renamed.old && renamed.new);
	bed_close(&bed);
}

void check_dirindex_rename(void)
{
	cut_rename("1/name", "1/other", false);
	cut_rename("1/name", "1/other", true);
}

void check_dirindex_rename_between(void)
{
	cut_rename("1/name", "2/name", false);
	cut_rename("1/name", "2/other", true);
}

static int moved_before, moved_after;	/* cuts that left all names where they were, or not */

/* All names are in the old directory, or all in the new one; a second move ends it. */
static void look_moved(bool whole)
{
	char from[16], to[16];
	int i, old, new, stayed = 0;

	for (i = 1; i <= MOVED; i++) {
		snprintf(from, sizeof(from), "1/%d", i);
		snprintf(to, sizeof(to), "2/%d", i);
		old = inode_of(from);
		new = inode_of(to);
		CHECK_EQ(old + new, i);
		CHECK(!old || !new);
		stayed += !!old;
	}
	CHECK(!stayed || (stayed == MOVED && !whole));
	moved_before += !!stayed;
	moved_after += !stayed && !whole;
	command("move 1 2");
	for (i = 1; i <= MOVED; i++) {
		snprintf(to, sizeof(to), "2/%d", i);
		CHECK_EQ(inode_of(to), i);
	}
	CHECK_EQ(nr_names(), MOVED);
}

void check_dirindex_move(void)
{
	struct bed bed;
	char text[64];
	int i;

	moved_before = 0;
	moved_after = 0;
	bed_open(&bed, MIB, 4096);
	load(&bed);
	for (i = 1; i <= MOVED; i++) {
		snprintf(text, sizeof(text), "create 1/%d %d 644 0", i, i);
		command(text);
	}
	dirindex_unload();
	cut_everywhere(&bed, "move 1 2", look_moved);
	CHECK(moved_before && moved_after);
	bed_close(&bed);
}
