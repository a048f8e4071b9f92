// SPDX-License-Identifier: GPL-2.0-only
/*
 * A shrinker has been an object of the kernel since 6.7; before that it was a
 * part of an object of its user.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

struct compat_shrinker {
	const struct compat_shrinker_ops *ops;
	void *data;
#if KERNEL_VERSION(6, 7, 0) <= LINUX_VERSION_CODE
	struct shrinker *shrinker;
};

static struct compat_shrinker *compat_of(struct shrinker *shrinker)
{
	return shrinker->private_data;
}
#else
	struct shrinker shrinker;
};

static struct compat_shrinker *compat_of(struct shrinker *shrinker)
{
	return container_of(shrinker, struct compat_shrinker, shrinker);
}
#endif

static unsigned long count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct compat_shrinker *s = compat_of(shrinker);

	return s->ops->count(s->data) ?: SHRINK_EMPTY;
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct compat_shrinker *s = compat_of(shrinker);

	return s->ops->free(s->data, sc->nr_to_scan) ?: SHRINK_STOP;
}

#if KERNEL_VERSION(6, 7, 0) <= LINUX_VERSION_CODE

static int add(struct compat_shrinker *s, const char *name)
{
	s->shrinker = shrinker_alloc(0, "wort-%s", name);
	if (!s->shrinker)
		return -ENOMEM;
	s->shrinker->count_objects = count;
	s->shrinker->scan_objects = scan;
	s->shrinker->private_data = s;
	shrinker_register(s->shrinker);
	return 0;
}

static void remove(struct compat_shrinker *s)
{
	shrinker_free(s->shrinker);
}

#else

static int add(struct compat_shrinker *s, const char *name)
{
	s->shrinker.count_objects = count;
	s->shrinker.scan_objects = scan;
	s->shrinker.seeks = DEFAULT_SEEKS;
	return register_shrinker(&s->shrinker, "wort-%s", name);
}

static void remove(struct compat_shrinker *s)
{
	unregister_shrinker(&s->shrinker);
}

#endif

/**
 * compat_shrinker_add() - Be asked for memory when the machine is short of it
 * @name: What the memory is of, for people.
 * @ops: What it is asked for.
 * @data: For @ops.
 *
 * Context: May sleep.
 * Return: For compat_shrinker_remove(); or ERR_PTR(-ENOMEM).
 */
struct compat_shrinker *
compat_shrinker_add(const char *name, const struct compat_shrinker_ops *ops,
		    void *data)
{
	struct compat_shrinker *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	s->ops = ops;
	s->data = data;
	err = add(s, name);
	if (!err)
		return s;
	kfree(s);
	return ERR_PTR(err);
}

/**
 * compat_shrinker_remove() - Be asked no more
 * @s: Result of compat_shrinker_add(), NULL, or an error.
 *
 * Context: May sleep: waits for calls under way.
 */
void compat_shrinker_remove(struct compat_shrinker *s)
{
	if (IS_ERR_OR_NULL(s))
		return;
	remove(s);
	kfree(s);
}
