// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the kernel complain, or die, when it is loaded: what a guest's
 * runner must notice, whatever the guest's command returned.
 */

#include <linux/module.h>

static bool fatal;
module_param(fatal, bool, 0444);
MODULE_PARM_DESC(fatal, "panic instead of a warning");

static int __init wort_splat_init(void)
{
	if (fatal)
		panic("wort_splat: as asked\n");
	WARN(true, "wort_splat: as asked\n");
	return 0;
}

static void __exit wort_splat_exit(void)
{
}

module_init(wort_splat_init);
module_exit(wort_splat_exit);

MODULE_DESCRIPTION("Seeded kernel warning for the test of the guest runner");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
