/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools of older media versions, to be read only.
 *
 * The module's code attaches pools of its own version.  This reader takes the
 * indexes and records out of an older one, so that they can be loaded into a
 * new pool.  It shares no code and no constants with the module.
 */
#ifndef _WORT_OLD_IMAGE_H
#define _WORT_OLD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wort.h>

#define OLD_VERSION_MIN	2
#define OLD_VERSION_MAX	3

struct old_image;
struct old_index;

/* Called with each record; a non-zero result ends the scan and is returned. */
typedef int (*old_record_fn)(const struct wort_scan_item *item, void *data);

/*
 * All of them return 0 or a negative errno, and store nothing.  Each damaged
 * place is told on stderr, and what can be read without it is read.
 *
 * @offset: where the pool begins.  -EPROTONOSUPPORT if its version is not from
 * OLD_VERSION_MIN to OLD_VERSION_MAX or it has an unknown feature; -EUCLEAN if no
 * superblock is valid; -ENODATA if there is none; -EOVERFLOW if the pool is larger
 * than the file; -EBUSY if the device is in use.
 */
int old_image_open(const char *path, uint64_t offset, struct old_image **out);
void old_image_close(struct old_image *old);

/* As wort_pool_list(): the number of records, in the order of ids. */
int old_image_list(const struct old_image *old, uint64_t after,
		   struct wort_index_record *records, unsigned int max,
		   bool *more);

/*
 * The index is valid until the image is closed.  -ENOENT; -EUCLEAN or -EIO if it is
 * not found and a part of the catalogue cannot be read; -EOPNOTSUPP if its engine is
 * unknown.
 */
int old_image_index(struct old_image *old, const char *name,
		    const struct old_index **out);

/*
 * The records that @opts selects, in order.  -EUCLEAN or -EIO after all that could be
 * read, if not all could.
 */
int old_image_scan(struct old_image *old, const struct old_index *index,
		   const struct wort_scan_opts *opts, old_record_fn fn,
		   void *data);

#endif
