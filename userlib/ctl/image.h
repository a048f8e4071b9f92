/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools in image files and on devices, without the module.
 *
 * The module's own portable code reads them.  This header is the boundary:
 * on the other side of it functions have names that libwort has, too.
 */
#ifndef _WORT_IMAGE_H
#define _WORT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/wort.h>

#define IMAGE_FIND	(~0ULL)	/* offset: look for the pool */
#define IMAGE_LOST	3	/* exit status: the rest cannot be read (ST_REFUSED) */

struct image;
struct image_index;

/* What a look at the beginning of a pool tells. */
struct image_label {
	uint64_t offset;
	uint64_t pool_size;
	uint64_t size;			/* of the device or image, from there on */
	uint64_t format_time;		/* seconds since 1970 */
	uint32_t version;		/* of the layout on media */
	uint8_t uuid[WORT_UUID_LEN];
	uint8_t label[WORT_LABEL_LEN];
};

/*
 * All of them return 0 or a negative errno.  Unless @write, nothing is changed
 * on the media: what the code stores stays in private memory.  Damage is told
 * about on stderr.  Where a page of the file cannot be read, the program ends
 * with IMAGE_LOST and a line on stderr.  Others that have the file open are waited
 * for @wait_ms: -EWOULDBLOCK then.
 */
int image_open(const char *path, bool write, uint64_t offset,
	       unsigned int wait_ms, struct image **out);
/* With @write: the error of writing back what was changed. */
int image_close(struct image *image);
uint64_t image_offset(const struct image *image);

/*
 * Is there a pool?  Only a few pages are read.  With -EOVERFLOW, too, it is
 * described: it is larger than what it lies on.
 */
int image_probe(const char *path, struct image_label *label);
/* The same of a device that others may have for themselves meanwhile. */
int image_peek(const char *path, struct image_label *label);

/* The media version of the pools that this command can open as an image. */
uint32_t image_own_version(void);

/*
 * Find a pool, and fill in @offset and @version of the label, whatever the version
 * is.  Nothing else of the pool is verified.
 */
int image_version(const char *path, uint64_t offset, struct image_label *label);

#define IMAGE_COPY_REACH	(64ULL << 20)	/* so that nobody waits for a whole device */

/*
 * The superblock at the end of a pool, if those at its beginning are lost; -EEXIST
 * if they are not.  It is looked for in the last @reach bytes of the device, each page of
 * which is read.  With @restore the others are written anew from it, and others that have
 * the file open are waited for.
 */
int image_copy(const char *path, uint64_t offset, uint64_t reach, bool restore,
	       unsigned int wait_ms, struct image_label *label);

/* The fields out_*; the walk has ended. */
int image_info(struct image *image, struct wort_pool_info_arg *info);
int image_check(struct image *image, struct wort_check_arg *check);
/* Records that image_check(), perhaps in another thread, has examined by now. */
uint64_t image_checked(const struct image *image);
unsigned int image_list(struct image *image, uint64_t after,
			struct wort_index_record *records, unsigned int max,
			bool *more);

int image_index_open(struct image *image, const char *name,
		     struct image_index **out);
void image_index_close(struct image_index *index);
/* Wait for the walk, which counts what indexes own. */
void image_settle(void);
int image_index_info(struct image_index *index,
		     struct wort_index_info_arg *info);
int image_get(struct image_index *index, const void *key, size_t key_len,
	      void *value, size_t *value_len);
int image_scan(struct image_index *index, struct wort_scan_arg *arg);

#endif
