// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for other kernel code beside what the kernel has in memory:
 * XArray, maple tree, rhashtable, which forget all at a power cut.  Loading
 * measures and prints; makes the index "bench" in the pool, and destroys it.
 *
 * The clock goes on while others run: meaningful on a machine that does nothing
 * else, or where the clock counts instructions.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/maple_tree.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wort_kernel.h>
#include <linux/xarray.h>

#define NAME	"bench"

static char *pool = "0";
module_param(pool, charp, 0444);
MODULE_PARM_DESC(pool, "number, block device or UUID of the attached pool");

static unsigned int keys = 20000;
module_param(keys, uint, 0444);
MODULE_PARM_DESC(keys, "number of keys, uniform over 63 bits");

static unsigned long *key;

/* What is compared: 0, or a negative errno. */
struct subject {
	const char *name;
	int (*insert)(unsigned int nr);
	int (*lookup)(unsigned int nr);
};

/* ---- XArray ---- */

static DEFINE_XARRAY(xarray);

static int xarray_insert(unsigned int nr)
{
	return xa_err(xa_store(&xarray, key[nr], xa_mk_value(nr), GFP_KERNEL));
}

static int xarray_lookup(unsigned int nr)
{
	return xa_load(&xarray, key[nr]) == xa_mk_value(nr) ? 0 : -ENOENT;
}

/* ---- maple tree ---- */

static DEFINE_MTREE(maple);

static int maple_insert(unsigned int nr)
{
	return mtree_insert(&maple, key[nr], xa_mk_value(nr), GFP_KERNEL);
}

static int maple_lookup(unsigned int nr)
{
	return mtree_load(&maple, key[nr]) == xa_mk_value(nr) ? 0 : -ENOENT;
}

/* ---- rhashtable, which keeps no order ---- */

struct entry {
	struct rhash_head head;
	unsigned long key;
	unsigned int nr;
};

static const struct rhashtable_params hash_params = {
	.head_offset = offsetof(struct entry, head),
	.key_offset = offsetof(struct entry, key),
	.key_len = sizeof_field(struct entry, key),
};

static struct rhashtable hash;

static int hash_insert(unsigned int nr)
{
	struct entry *entry = kmalloc(sizeof(*entry), GFP_KERNEL);
	int err;

	if (!entry)
		return -ENOMEM;
	entry->key = key[nr];
	entry->nr = nr;
	err = rhashtable_insert_fast(&hash, &entry->head, hash_params);
	if (err)
		kfree(entry);
	return err;
}

static int hash_lookup(unsigned int nr)
{
	struct entry *entry;
	bool found;

	rcu_read_lock();
	entry = rhashtable_lookup(&hash, &key[nr], hash_params);
	found = entry && entry->nr == nr;
	rcu_read_unlock();
	return found ? 0 : -ENOENT;
}

static void hash_free(void *entry, void *arg)
{
	kfree(entry);
}

/* ---- an index in persistent memory ---- */

static struct wort_kernel_index *bench_index;

static void to_bytes(unsigned int nr, __be64 *bytes)
{
	*bytes = cpu_to_be64(key[nr]);
}

static int index_insert(unsigned int nr)
{
	__be64 bytes;
	struct wort_kernel_bytes k = { &bytes, sizeof(bytes) };
	struct wort_kernel_bytes v = { &nr, sizeof(nr) };

	to_bytes(nr, &bytes);
	return wort_kernel_insert(bench_index, &k, &v, NULL, 0);
}

static int index_lookup(unsigned int nr)
{
	__be64 bytes;
	struct wort_kernel_bytes k = { &bytes, sizeof(bytes) };
	unsigned int value;
	int len;

	to_bytes(nr, &bytes);
	len = wort_kernel_lookup(bench_index, &k, &value, sizeof(value));
	if (len < 0)
		return len;
	return value == nr ? 0 : -ENOENT;
}

static const struct subject subjects[] = {
	{ "xarray", xarray_insert, xarray_lookup },
	{ "maple-tree", maple_insert, maple_lookup },
	{ "rhashtable", hash_insert, hash_lookup },
	{ "wort", index_insert, index_lookup },
};

/* ns for one call, or a negative errno. */
static s64 measure(int (*call)(unsigned int nr))
{
	ktime_t begin = ktime_get();
	unsigned int i;
	int err = 0;

	for (i = 0; i < keys && !err; i++) {
		err = call(i);
		if (i % 1024 == 0)
			cond_resched();
	}
	return err ?: div_s64(ktime_to_ns(ktime_sub(ktime_get(), begin)), keys);
}

static int measure_all(void)
{
	s64 insert, lookup;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		insert = measure(subjects[i].insert);
		lookup = insert < 0 ? insert : measure(subjects[i].lookup);
		if (lookup < 0) {
			pr_err("%s: %lld\n", subjects[i].name, lookup);
			return lookup;
		}
		pr_info("%s: insert %lld ns, lookup %lld ns\n",
			subjects[i].name, insert, lookup);
	}
	return 0;
}

static int measure_with_index(void)
{
	struct wort_kernel_pool *opened = wort_kernel_pool_open(pool);
	int err;

	if (IS_ERR(opened)) {
		pr_err("no pool %s is attached\n", pool);
		return PTR_ERR(opened);
	}
	bench_index = wort_kernel_index_open(opened, NAME,
					     WORT_INDEX_OPEN_F_CREATE |
					     WORT_INDEX_OPEN_F_EXCL,
					     WORT_ENGINE_DEFAULT, 0);
	err = PTR_ERR_OR_ZERO(bench_index);
	if (err == -EEXIST)
		pr_err("the index " NAME " exists, and would be destroyed\n");
	if (!err) {
		err = measure_all();
		wort_kernel_index_close(bench_index);
		wort_kernel_index_destroy(opened, NAME);
	}
	wort_kernel_pool_close(opened);
	return err;
}

static int make_keys(void)
{
	u64 state = 88172645463325252ULL;
	unsigned int i;

	key = vmalloc_array(keys, sizeof(*key));
	if (!key)
		return -ENOMEM;
	for (i = 0; i < keys; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		key[i] = state >> 1;
	}
	return 0;
}

static int __init wort_bench_init(void)
{
	int err;

	if (!keys)
		return -EINVAL;
	err = make_keys();
	if (err)
		return err;
	err = rhashtable_init(&hash, &hash_params);
	if (!err) {
		err = measure_with_index();
		rhashtable_free_and_destroy(&hash, hash_free, NULL);
	}
	xa_destroy(&xarray);
	mtree_destroy(&maple);
	vfree(key);
	return err;
}

static void __exit wort_bench_exit(void)
{
}

module_init(wort_bench_init);
module_exit(wort_bench_exit);

MODULE_DESCRIPTION("wort beside the kernel's own indexes");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
WORT_KERNEL_IMPORT_NS();
