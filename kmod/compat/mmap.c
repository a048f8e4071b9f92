// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings into programs.
 */
#include <linux/mm.h>

/**
 * compat_vm_flags() - Change the flags of a mapping that is being made
 * @vma: The mapping.
 * @set: Flags to be set.
 * @clear: Flags to be cleared.
 *
 * Context: In file_operations.mmap.
 */
void compat_vm_flags(struct vm_area_struct *vma, unsigned long set,
		     unsigned long clear)
{
#if KERNEL_VERSION(6, 3, 0) <= LINUX_VERSION_CODE
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}
