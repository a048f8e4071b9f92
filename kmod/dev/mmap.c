// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mapping of a pool, for reading only.
 *
 * A mapping holds its file, and that the claim.  So the control pages, which
 * the claim keeps, are there as long as any mapping; the memory of the pool is
 * not.  When it goes, nobody gets it mapped any more, since wort_dax_enter()
 * says no; then what is mapped is taken away.  Whoever looks there afterwards
 * finds a page of zeroes, and in the control page why.
 *
 * Files may be of several nodes, each with an address space of its own.  So
 * those that were mapped are in a list of the claim.
 */
#include <linux/mm.h>

#include "wort_dev.h"

static struct wort_dax *dax_of(const struct vm_area_struct *vma)
{
	const struct wort_file *wfile = vma->vm_file->private_data;

	return wfile->wdev->dax;
}

static vm_fault_t insert(struct vm_fault *vmf, unsigned long pfn)
{
	return vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK, pfn);
}

static vm_fault_t control_fault(struct vm_fault *vmf, u64 off)
{
	unsigned long nr = (off - WORT_MAP_CONTROL_OFF) >> PAGE_SHIFT;
	struct wort_dax *dax = dax_of(vmf->vma);

	if (nr >= WORT_CONTROL_PAGES)
		return VM_FAULT_SIGBUS;
	return insert(vmf, page_to_pfn(dax->control[nr]));
}

static bool pool_bad(const struct wort_dax *dax, u64 off, long nr)
{
	return wort_region_verify(&dax->region, off, (u64)nr << PAGE_SHIFT);
}

/*
 * A page can fail after pool_pfn() has looked and be taken away from all
 * mappings before it is inserted.  It is marked before it is taken away: so
 * either it is found inserted then, or the mark is found here.  True: it is
 * mapped no more.
 */
static bool pool_failed(struct wort_dax *dax, u64 off, long nr)
{
	/* pairs with the barrier in ask_from_now_on() */
	smp_mb();
	if (likely(!pool_bad(dax, off, nr)))
		return false;
	wort_mmap_zap(dax, off, (u64)nr << PAGE_SHIFT);
	return true;
}

/* Pages in a row; false if they are not in one piece, or known to be bad. */
static bool pool_pfn(struct wort_dax *dax, u64 off, long nr, unsigned long *pfn)
{
	return !pool_bad(dax, off, nr) && wort_dax_pfn(dax, off, nr, pfn);
}

static vm_fault_t pool_fault(struct vm_fault *vmf, u64 off)
{
	struct wort_dax *dax = dax_of(vmf->vma);
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long pfn;

	if (!wort_dax_enter(dax))
		return insert(vmf, page_to_pfn(ZERO_PAGE(vmf->address)));
	if (pool_pfn(dax, off, 1, &pfn)) {
		ret = insert(vmf, pfn);
		if (pool_failed(dax, off, 1))
			ret = VM_FAULT_SIGBUS;
	}
	wort_dax_exit(dax);
	return ret;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	u64 off = (u64)vmf->pgoff << PAGE_SHIFT;

	return off < WORT_MAP_POOL_OFF ?
	       control_fault(vmf, off) :
	       pool_fault(vmf, off - WORT_MAP_POOL_OFF);
}

#ifdef CONFIG_ARCH_SUPPORTS_PMD_PFNMAP

/* Does a huge page around a fault lie in the mapping, and in the pool? */
static bool huge_range(const struct vm_fault *vmf, u64 *off)
{
	unsigned long start = vmf->address & PMD_MASK;
	u64 page = vmf->pgoff - ((vmf->address - start) >> PAGE_SHIFT);

	*off = (page << PAGE_SHIFT) - WORT_MAP_POOL_OFF;
	return start >= vmf->vma->vm_start &&
	       start + PMD_SIZE <= vmf->vma->vm_end &&
	       page << PAGE_SHIFT >= WORT_MAP_POOL_OFF;
}

static vm_fault_t map_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct wort_dax *dax = dax_of(vmf->vma);
	vm_fault_t ret = VM_FAULT_FALLBACK;
	unsigned long pfn;
	u64 off;

	if (order != PMD_ORDER || !huge_range(vmf, &off) ||
	    !wort_dax_enter(dax))
		return ret;
	if (pool_pfn(dax, off, PTRS_PER_PMD, &pfn) &&
	    IS_ALIGNED(pfn, PTRS_PER_PMD)) {
		ret = vmf_insert_pfn_pmd(vmf, compat_pfn(pfn), false);
		/* Other pages of it may be good. */
		if (pool_failed(dax, off, PTRS_PER_PMD))
			ret = VM_FAULT_FALLBACK;
	}
	wort_dax_exit(dax);
	return ret;
}

#endif

static const struct vm_operations_struct map_ops = {
	.fault		= map_fault,
#ifdef CONFIG_ARCH_SUPPORTS_PMD_PFNMAP
	.huge_fault	= map_huge_fault,
#endif
};

/**
 * wort_mmap_zap() - Take memory away from all mappings
 * @dax: The claim.
 * @off: Where, in the pool.
 * @len: Bytes; 0: all from there on.  Pages that it touches go as a whole.
 *
 * Whoever touches it again has a fault.
 *
 * Context: May sleep.
 */
void wort_mmap_zap(struct wort_dax *dax, u64 off, u64 len)
{
	/*
	 * unmap_mapping_range() rounds the start down and the length up, each by
	 * itself: of a range that is not aligned the last page would stay.
	 */
	u64 first = round_down(off, PAGE_SIZE);
	u64 span = len ? round_up(off + len, PAGE_SIZE) - first : 0;
	struct wort_file *wfile;

	mutex_lock(&dax->mapped_lock);
	list_for_each_entry(wfile, &dax->mapped, mapped)
		unmap_mapping_range(wfile->mapping, WORT_MAP_POOL_OFF + first,
				    span, 1);
	mutex_unlock(&dax->mapped_lock);
}

/**
 * wort_mmap_forget() - A descriptor has no mapping any more
 * @wfile: Its private part.
 *
 * Context: May sleep.
 */
void wort_mmap_forget(struct wort_file *wfile)
{
	struct wort_dax *dax = wfile->wdev->dax;

	mutex_lock(&dax->mapped_lock);
	list_del_init(&wfile->mapped);
	mutex_unlock(&dax->mapped_lock);
}

static void remember(struct wort_file *wfile, struct address_space *mapping)
{
	struct wort_dax *dax = wfile->wdev->dax;

	mutex_lock(&dax->mapped_lock);
	wfile->mapping = mapping;
	if (list_empty(&wfile->mapped))
		list_add(&wfile->mapped, &dax->mapped);
	mutex_unlock(&dax->mapped_lock);
}

/**
 * wort_mmap() - Map a pool
 * @filp: A descriptor of it.
 * @vma: The mapping.
 *
 * Context: May sleep.
 * Return: 0; -EPERM if it is not for reading only; -EINVAL if it goes beyond
 * the pool; -ENODEV.
 */
int wort_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct wort_file *wfile = filp->private_data;
	u64 end = WORT_MAP_POOL_OFF + wfile->wdev->pool_size;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (vma->vm_pgoff + vma_pages(vma) > PFN_UP(end))
		return -EINVAL;
	if (wort_dax_dead(wfile->wdev->dax))
		return -ENODEV;
	compat_vm_flags(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
			VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &map_ops;
	remember(wfile, filp->f_mapping);
	return 0;
}
