// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the kernel complain, or die, when it is loaded: what a guest's
 * runner must notice, whatever the guest's command returned.  The bugs behind
 * the first two take a kernel that looks for them.
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *bug = "warning";
module_param(bug, charp, 0444);
MODULE_PARM_DESC(bug, "warning, panic, breakpoint, use-after-free, shift, lock-order, sleep, leak or race");

static void warning(void)
{
	WARN(true, "wort_splat: as asked\n");
}

static void die(void)
{
	panic("wort_splat: as asked\n");
}

static void use_after_free(void)
{
	u64 *freed = kmalloc(sizeof(*freed), GFP_KERNEL);

	kfree(freed);
	OPTIMIZER_HIDE_VAR(freed);
	if (freed)
		pr_info("%llu\n", READ_ONCE(*freed));
}

static void shift(void)
{
	int bits = 40;

	OPTIMIZER_HIDE_VAR(bits);
	pr_info("%d\n", 1 << bits);
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static DEFINE_SPINLOCK(spin);

static void sleep_locked(void)
{
	spin_lock(&spin);
	msleep(20);
	spin_unlock(&spin);
}

/* Several: a stale word on some stack may still point at one. */
static void leak(void)
{
	void *lost;
	int i;

	for (i = 0; i < 16; i++) {
		lost = kmalloc(100, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(lost);
	}
}

static u64 shared;

static int racer(void *data)
{
	while (!kthread_should_stop()) {
		shared++;
		cond_resched();
	}
	return 0;
}

static void race(void)
{
	struct task_struct *threads[2];
	int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = kthread_run(racer, NULL, "wort_splat");
	msleep(2000);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		if (!IS_ERR(threads[i]))
			kthread_stop(threads[i]);
}

/* The kernel prints the 42 bytes before a breakpoint, if all of them are mapped. */
static void breakpoint(void)
{
	asm volatile(".skip 64, 0x90\n\tint3");
}

static const struct {
	const char *name;
	void (*make)(void);
} bugs[] = {
	{ "warning", warning },
	{ "panic", die },
	{ "breakpoint", breakpoint },
	{ "use-after-free", use_after_free },
	{ "shift", shift },
	{ "lock-order", lock_order },
	{ "sleep", sleep_locked },
	{ "leak", leak },
	{ "race", race },
};

static int __init wort_splat_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (strcmp(bug, bugs[i].name))
			continue;
		bugs[i].make();
		return 0;
	}
	return -EINVAL;
}

static void __exit wort_splat_exit(void)
{
}

module_init(wort_splat_init);
module_exit(wort_splat_exit);

MODULE_DESCRIPTION("Seeded kernel bugs for the test of the guest runner");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
