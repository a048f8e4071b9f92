// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories of a filesystem in a wort index: a sample of its use by other
 * kernel code.
 *
 *	key	number of the directory, big endian, then the name: so a
 *		directory is a prefix, and its names come in order
 *	value	what the filesystem knows of the inode
 *
 * Create, unlink and append change one record.  Each of them is durable when
 * it returns and, after a power cut in the middle, done or not done, without
 * anything here that sees to it.
 *
 * Rename changes two records.  An atomic batch deletes the old one, if it is
 * still what was read, and stores the new one: after a power cut both are done
 * or none is, and nobody sees the inode under both names, or under none.
 *
 * Move does so with as many names at once as an atomic batch takes.  An error or
 * a power cut on the way leaves each name in the old directory or in the new
 * one, and the command is given once more and goes on.
 *
 * When the pool is detached or its device removed, every call answers -ENODEV,
 * for good, and so do the commands.  Nothing is lost: unload, attach, load.
 *
 * A command is written to /dev/dirindex, an answer read from the same
 * descriptor:
 *
 *	create PARENT/NAME INO MODE SIZE	mode in octal
 *	unlink PARENT/NAME
 *	append PARENT/NAME BYTES		the size grows
 *	rename PARENT/NAME PARENT/NAME		replaces what is there
 *	move PARENT PARENT			all names; replaces, too
 *	watch SECONDS				ends when the pool is lost
 *	lookup PARENT/NAME			answer: a line as list has it
 *	list PARENT				PARENT/NAME INO MODE SIZE MTIME
 *	count PARENT				a number
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/wort_kernel.h>

#define LIST_BUF_SIZE	16384
#define MOVE_MAX	(WORT_ATOMIC_MAX / 2)	/* records at a time */

struct dir_key {
	__be64 parent;
	char name[NAME_MAX + 1];
};

struct dir_inode {
	__le64 ino;
	__le64 size;
	__le64 mtime;		/* seconds since 1970 */
	__le32 mode;
	__le32 reserved;
};

struct dir_names {
	struct dir_key from;
	struct dir_key to;
};

static char *pool = "0";
module_param(pool, charp, 0444);
MODULE_PARM_DESC(pool, "number, block device or UUID of the attached pool");

static char *name = "dirindex";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "name of the index, which is made when absent");

static bool own;
module_param(own, bool, 0444);
MODULE_PARM_DESC(own, "keep others from opening the index, as a filesystem does");

static struct wort_kernel_index *dirs;

static struct wort_kernel_bytes key_bytes(const struct dir_key *key)
{
	return (struct wort_kernel_bytes){
		key, offsetof(struct dir_key, name) + strlen(key->name)
	};
}

/* What is on media is believed only as far as it is examined. */
static int get(const struct dir_key *key, void *value, u32 size)
{
	struct wort_kernel_bytes k = key_bytes(key);
	int len = wort_kernel_lookup(dirs, &k, value, size);

	if (len < 0)
		return len;
	return len == size ? 0 : -EUCLEAN;
}

static int put(const struct dir_key *key, const void *value, u32 size,
	       u32 flags)
{
	struct wort_kernel_bytes k = key_bytes(key), v = { value, size };

	return wort_kernel_insert(dirs, &k, &v, NULL, flags);
}

static int dir_create(const struct dir_key *key, const struct dir_inode *inode)
{
	return put(key, inode, sizeof(*inode), WORT_INSERT_F_CREATE);
}

/* Delete the very record that was examined: look again if it has changed. */
static int dir_unlink(const struct dir_key *key)
{
	struct wort_kernel_bytes k = key_bytes(key);
	struct dir_inode inode;
	struct wort_kernel_bytes seen = { &inode, sizeof(inode) };
	int err;

	do {
		err = get(key, &inode, sizeof(inode));
		if (!err && S_ISDIR(le32_to_cpu(inode.mode)))
			err = -EISDIR;
		if (!err)
			err = wort_kernel_delete(dirs, &k, &seen);
	} while (err == -ECANCELED);
	return err;
}

/* Compare and swap: a change by somebody else in between is not undone. */
static int dir_append(const struct dir_key *key, u64 bytes)
{
	struct wort_kernel_bytes k = key_bytes(key);
	struct dir_inode old, new;
	struct wort_kernel_bytes seen = { &old, sizeof(old) };
	struct wort_kernel_bytes value = { &new, sizeof(new) };
	int err;

	do {
		err = get(key, &old, sizeof(old));
		if (err)
			break;
		new = old;
		le64_add_cpu(&new.size, bytes);
		new.mtime = cpu_to_le64(ktime_get_real_seconds());
		err = wort_kernel_insert(dirs, &k, &value, &seen, 0);
	} while (err == -ECANCELED);
	return err;
}

static int try_rename(const struct dir_names *names)
{
	struct dir_inode inode;
	struct wort_kernel_bytes value = { &inode, sizeof(inode) };
	struct wort_kernel_atomic_op ops[] = {
		{ dirs, {
			.op = WORT_BATCH_DELETE,
			.flags = WORT_DELETE_F_EXPECT,
			.key = key_bytes(&names->from),
			.expect = value,
		} },
		{ dirs, {
			.op = WORT_BATCH_INSERT,
			.key = key_bytes(&names->to),
			.value = value,
		} },
	};
	int err = get(&names->from, &inode, sizeof(inode));

	if (err || !memcmp(&names->from, &names->to, sizeof(names->from)))
		return err;
	return wort_kernel_atomic(ops, ARRAY_SIZE(ops), NULL);
}

/* Of the very record that was read: look again if it has changed. */
static int dir_rename(const struct dir_names *names)
{
	int err;

	do
		err = try_rename(names);
	while (err == -ECANCELED);
	return err;
}

/* Records on their way to another directory. */
struct dir_move {
	struct wort_kernel_scan scan;
	struct dir_key to[MOVE_MAX];
	struct wort_kernel_atomic_op ops[2 * MOVE_MAX];
	u8 buf[LIST_BUF_SIZE] __aligned(8);
};

/* A delete and an insert for each record that the scan has found. */
static int move_ops(struct dir_move *move, __be64 to)
{
	struct wort_kernel_bytes key, value;
	struct dir_key *new = move->to;
	const struct wort_record *rec;
	u32 nr = 0;

	wort_kernel_for_each_record(rec, &move->scan) {
		key.data = wort_kernel_record_key(rec);
		key.len = rec->key_len;
		value.data = wort_kernel_record_value(rec);
		value.len = rec->value_len;
		if (key.len > sizeof(*new))
			return -EUCLEAN;
		move->ops[nr++] = (struct wort_kernel_atomic_op){ dirs, {
			.op = WORT_BATCH_DELETE,
			.flags = WORT_DELETE_F_EXPECT,
			.key = key,
			.expect = value,
		} };
		memcpy(new, key.data, key.len);
		new->parent = to;
		key.data = new++;
		move->ops[nr++] = (struct wort_kernel_atomic_op){ dirs, {
			.op = WORT_BATCH_INSERT,
			.key = key,
			.value = value,
		} };
	}
	return nr;
}

/* Some names; 0: there are none. */
static int move_some(struct dir_move *move, __be64 from, __be64 to)
{
	int nr, err;

	move->scan = (struct wort_kernel_scan){
		.flags = WORT_SCAN_F_PREFIX,
		.max_count = MOVE_MAX,
		.bound = { &from, sizeof(from) },
		.buf = move->buf,
		.buf_len = sizeof(move->buf),
	};
	err = wort_kernel_scan(dirs, &move->scan);
	if (err)
		return err;
	nr = move_ops(move, to);
	if (nr <= 0)
		return nr;
	return wort_kernel_atomic(move->ops, nr, NULL) ?: nr;
}

/*
 * A record that has changed or gone since it was read is read again.  Others may
 * go on storing names, so only a fatal signal surely ends it.
 */
static int dir_move(__be64 from, __be64 to)
{
	struct dir_move *move;
	int err;

	if (from == to)
		return 0;
	move = kmalloc(sizeof(*move), GFP_KERNEL);
	if (!move)
		return -ENOMEM;
	do {
		cond_resched();
		err = fatal_signal_pending(current) ? -EINTR :
						      move_some(move, from, to);
	} while (err > 0 || err == -ECANCELED || err == -ENOENT);
	kfree(move);
	return err;
}

static void show_entry(struct seq_file *m, u64 parent, const char *entry,
		       u32 len, const struct dir_inode *inode)
{
	seq_printf(m, "%llu/%.*s %llu %o %llu %llu\n", parent, (int)len, entry,
		   le64_to_cpu(inode->ino), le32_to_cpu(inode->mode),
		   le64_to_cpu(inode->size), le64_to_cpu(inode->mtime));
}

static int show_one(struct seq_file *m, const struct dir_key *key)
{
	struct dir_inode inode;
	int err = get(key, &inode, sizeof(inode));

	if (!err)
		show_entry(m, be64_to_cpu(key->parent), key->name,
			   strlen(key->name), &inode);
	return err;
}

static int show_record(struct seq_file *m, const struct wort_record *rec)
{
	const struct dir_key *key = wort_kernel_record_key(rec);
	struct dir_inode inode;

	if (rec->key_len < sizeof(key->parent) ||
	    rec->value_len != sizeof(inode))
		return -EUCLEAN;
	memcpy(&inode, wort_kernel_record_value(rec), sizeof(inode));
	show_entry(m, be64_to_cpu(key->parent), key->name,
		   rec->key_len - sizeof(key->parent), &inode);
	return 0;
}

static int show_list(struct seq_file *m, const struct dir_key *key)
{
	const struct wort_record *rec;
	struct wort_kernel_scan scan = {
		.flags = WORT_SCAN_F_PREFIX,
		.bound = { &key->parent, sizeof(key->parent) },
		.buf = kmalloc(LIST_BUF_SIZE, GFP_KERNEL),
		.buf_len = LIST_BUF_SIZE,
	};
	int err;

	if (!scan.buf)
		return -ENOMEM;
	do {
		err = wort_kernel_scan(dirs, &scan);
		wort_kernel_for_each_record(rec, &scan)
			if (!err)
				err = show_record(m, rec);
	} while (!err && scan.more && !seq_has_overflowed(m));
	kfree(scan.buf);
	return err;
}

static int show_count(struct seq_file *m, const struct dir_key *key)
{
	struct wort_kernel_scan scan = {
		.flags = WORT_SCAN_F_PREFIX | WORT_SCAN_F_COUNT,
		.bound = { &key->parent, sizeof(key->parent) },
		.buf = kmalloc(WORT_KEY_MAX, GFP_KERNEL),
		.buf_len = WORT_KEY_MAX,
	};
	u64 count = 0;
	int err;

	if (!scan.buf)
		return -ENOMEM;
	do {
		err = wort_kernel_scan(dirs, &scan);
		count += scan.count;
	} while (!err && scan.more);
	kfree(scan.buf);
	if (!err)
		seq_printf(m, "%llu\n", count);
	return err;
}

/* What a descriptor was asked last. */
struct question {
	int (*show)(struct seq_file *m, const struct dir_key *key);
	struct dir_key key;
};

static int answer(struct seq_file *m, void *unused)
{
	struct question *q = m->private;

	return q->show ? q->show(m, &q->key) : 0;
}

static char *next_word(char **rest)
{
	char *word = skip_spaces(*rest);
	char *end = strchrnul(word, ' ');

	*rest = *end ? end + 1 : end;
	*end = 0;
	return word;
}

static int parse_parent(const char *word, struct dir_key *key)
{
	u64 parent;

	if (kstrtou64(word, 10, &parent) || !parent)
		return -EINVAL;
	key->parent = cpu_to_be64(parent);
	return 0;
}

/* PARENT/NAME, into a key that is all zeroes. */
static int parse_key(char **rest, struct dir_key *key)
{
	char *entry = next_word(rest);
	char *parent = strsep(&entry, "/");

	if (!entry || !*entry)
		return -EINVAL;
	if (strscpy(key->name, entry, sizeof(key->name)) < 0)
		return -ENAMETOOLONG;
	return parse_parent(parent, key);
}

static int do_create(char *args, struct question *q)
{
	struct dir_inode inode = { };
	struct dir_key key = { };
	u64 ino, size;
	u32 mode;
	int err = parse_key(&args, &key);

	if (err)
		return err;
	if (sscanf(args, "%llu %o %llu", &ino, &mode, &size) != 3)
		return -EINVAL;
	inode.ino = cpu_to_le64(ino);
	inode.mode = cpu_to_le32(mode);
	inode.size = cpu_to_le64(size);
	inode.mtime = cpu_to_le64(ktime_get_real_seconds());
	return dir_create(&key, &inode);
}

static int do_unlink(char *args, struct question *q)
{
	struct dir_key key = { };
	int err = parse_key(&args, &key);

	return err ? err : dir_unlink(&key);
}

static int do_append(char *args, struct question *q)
{
	struct dir_key key = { };
	u64 bytes;
	int err = parse_key(&args, &key);

	if (!err)
		err = kstrtou64(next_word(&args), 10, &bytes);
	return err ? err : dir_append(&key, bytes);
}

static int do_rename(char *args, struct question *q)
{
	struct dir_names names = { };
	int err = parse_key(&args, &names.from);

	if (!err)
		err = parse_key(&args, &names.to);
	return err ? err : dir_rename(&names);
}

static int do_move(char *args, struct question *q)
{
	struct dir_key from, to;
	int err = parse_parent(next_word(&args), &from);

	if (!err)
		err = parse_parent(next_word(&args), &to);
	return err ? err : dir_move(from.parent, to.parent);
}

static int do_watch(char *args, struct question *q)
{
	u16 seconds;
	int err = kstrtou16(next_word(&args), 10, &seconds);

	return err ? err : wort_kernel_wait_lost(dirs, (long)seconds * HZ);
}

static int do_lookup(char *args, struct question *q)
{
	q->show = show_one;
	return parse_key(&args, &q->key);
}

static int do_list(char *args, struct question *q)
{
	q->show = show_list;
	return parse_parent(next_word(&args), &q->key);
}

static int do_count(char *args, struct question *q)
{
	q->show = show_count;
	return parse_parent(next_word(&args), &q->key);
}

static const struct command {
	const char *verb;
	int (*run)(char *args, struct question *q);
} commands[] = {
	{ "create", do_create },
	{ "unlink", do_unlink },
	{ "append", do_append },
	{ "rename", do_rename },
	{ "move", do_move },
	{ "watch", do_watch },
	{ "lookup", do_lookup },
	{ "list", do_list },
	{ "count", do_count },
};

/* A command that asks nothing leaves the descriptor without a question. */
static int run(char *line, struct question *q)
{
	char *verb = next_word(&line);
	u32 i;

	memset(q, 0, sizeof(*q));
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(verb, commands[i].verb))
			return commands[i].run(line, q);
	return -EINVAL;
}

static ssize_t dirindex_write(struct file *file, const char __user *text,
			      size_t len, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	char *line;
	int err;

	if (len >= PAGE_SIZE)
		return -E2BIG;
	line = memdup_user_nul(text, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&m->lock);
	err = run(strim(line), m->private);
	mutex_unlock(&m->lock);
	kfree(line);
	if (err)
		return err;
	/* The next read begins at the beginning of the answer. */
	*pos = 0;
	return len;
}

static int dirindex_open(struct inode *inode, struct file *file)
{
	struct question *q = kzalloc(sizeof(*q), GFP_KERNEL);
	int err;

	if (!q)
		return -ENOMEM;
	/* It is the misc device's, and seq_file wants it for itself. */
	file->private_data = NULL;
	err = single_open(file, answer, q);
	if (err)
		kfree(q);
	return err;
}

static int dirindex_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;

	kfree(m->private);
	return single_release(inode, file);
}

static const struct file_operations dirindex_fops = {
	.owner		= THIS_MODULE,
	.open		= dirindex_open,
	.read		= seq_read,
	.write		= dirindex_write,
	.llseek		= seq_lseek,
	.release	= dirindex_release,
};

static struct miscdevice dirindex_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "dirindex",
	.fops	= &dirindex_fops,
	.mode	= 0600,
};

/* An index holds what it needs of its pool: that handle is not kept. */
static int open_index(void)
{
	struct wort_kernel_pool *p = wort_kernel_pool_open(pool);

	if (IS_ERR(p))
		return PTR_ERR(p);
	dirs = wort_kernel_index_open(p, name, WORT_INDEX_OPEN_F_CREATE |
				      (own ? WORT_KERNEL_OPEN_F_OWN : 0),
				      WORT_ENGINE_DEFAULT, 0);
	wort_kernel_pool_close(p);
	return PTR_ERR_OR_ZERO(dirs);
}

static int __init dirindex_init(void)
{
	int err = open_index(), state;

	if (err) {
		pr_err("pool %s, index %s: cannot be opened (%d)\n", pool,
		       name, err);
		return err;
	}
	state = wort_kernel_state(dirs);
	if (state > 0 && state & WORT_STATE_DAMAGED)
		pr_warn("index %s is read-only: see wort check\n", name);
	err = misc_register(&dirindex_device);
	if (err)
		wort_kernel_index_close(dirs);
	return err;
}

static void __exit dirindex_exit(void)
{
	misc_deregister(&dirindex_device);
	wort_kernel_index_close(dirs);
}

module_init(dirindex_init);
module_exit(dirindex_exit);

MODULE_DESCRIPTION("Directories in a wort index: a sample");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
WORT_KERNEL_IMPORT_NS();
