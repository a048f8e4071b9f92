/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * User interface of the wort module.
 *
 * Two kinds of device: /dev/wort-control formats, attaches, detaches and lists
 * pools; /dev/wortN is one attached pool.  WORT_IOC_INDEX_OPEN on a pool
 * returns a descriptor that is an index.
 *
 * Every argument starts with its own size, set by the caller to sizeof the
 * struct it was compiled with.  A smaller argument than the first version is
 * refused, a larger one is accepted when the part unknown to the module is
 * zero, so a struct grows without a new ioctl number.  Fields named out_* are
 * written by the kernel; all others are only read, once.  User memory that a
 * pointer refers to is copied before an operation starts.
 *
 * Errors of every ioctl:
 *
 *	ENOTTY		the command is unknown, or belongs to another kind of
 *			descriptor
 *	EINVAL		the size is smaller than the first version of the
 *			argument, a reserved field is not zero, or a value is
 *			wrong in itself (an empty key, say)
 *	E2BIG		the argument is larger than known and its tail not zero
 *	EOPNOTSUPP	an unknown flag, operation or engine
 *	EFAULT		a pointer cannot be read or written
 *	EBADF		a change, a check or a freeze asked of a descriptor not
 *			opened for writing
 *	EPERM		CAP_SYS_ADMIN is missing (control device)
 *	ENODEV		the pool was detached or its device removed
 *	ENOMEM		no memory, or the caller's memory cgroup is at its
 *			limit; nothing was changed (of a batch: nothing beyond
 *			out_done)
 *	EINTR		a fatal signal came before anything was changed
 *
 * Errors of operations on pools and indexes:
 *
 *	ENOENT		no such key, index or pool
 *	EEXIST		the key or index exists and was to be created, or a
 *			pool is on the device and FORCE was not given
 *	ECANCELED	the value is not the one expected
 *	EMSGSIZE	key, value, name, path, buffer or batch longer than the
 *			limits below
 *	ERANGE		the result does not fit the buffer: out_value_len,
 *			out_old_len or out_need has the size that is needed
 *	ENOSPC		the pool is full; nothing was changed
 *	ESTALE		the index was destroyed
 *	EROFS		the index or pool is read-only because damage was found,
 *			or the pool because it was attached so or has a feature
 *			that this module does not know
 *	EUCLEAN		damage was found now; the kernel log has the place
 *	EIO		the data lies on a page known to be bad
 *	EBUSY		the device is in use; kernel code has the index for itself;
 *			or a check gave way three times to operations that need
 *			space; or a pool that is frozen was to be checked with CLEAR,
 *			or the other way round; or this descriptor has frozen it
 *	EXDEV		an index of an atomic batch is of another pool
 *	EMFILE, ENFILE	no descriptor is left for the index
 *
 * Errors of format and attach, further:
 *
 *	ENOTBLK		not a block device
 *	ENXIO		the block device is not a DAX device, or not in fsdax
 *			mode
 *	EOPNOTSUPP	flushes of the device are asynchronous (virtio-pmem), or
 *			it is a device-mapper target
 *	EDOM		the device or partition is not aligned to pages
 *	ENODATA		attach: there is no pool on the device
 *	EPROTONOSUPPORT	attach: the pool has a version, a feature or an atomic
 *			batch that this module does not know
 *	EROFS		attach: the pool is to grow, but damage was found in it,
 *			or it has a feature that this module does not know
 *	EFBIG, ENOSPC	the device is larger or smaller than a pool can be
 *	EOVERFLOW	attach: the pool is larger than the device, of which a part
 *			is missing
 *	EACCES		the device is write-protected and RDONLY was not given,
 *			or its node is on a nodev mount; other errors of opening
 *			a path are returned as they are
 *	EREMOTEIO	format: the device did not keep what was stored to it
 */
#ifndef _UAPI_LINUX_WORT_H
#define _UAPI_LINUX_WORT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define WORT_KEY_MAX		1024	/* bytes; at least 1 */
#define WORT_VALUE_MAX		65536	/* bytes; may be empty */
#define WORT_NAME_MAX		111	/* bytes of an index name; at least 1 */
#define WORT_LABEL_LEN		64
#define WORT_UUID_LEN		16
#define WORT_DEVICE_MAX		255	/* bytes of a device path */
#define WORT_BATCH_MAX		4096	/* operations in a batch */
#define WORT_BUF_MAX		(4 << 20)	/* bytes of a scan or batch buffer */
#define WORT_ATOMIC_MAX		64	/* operations in an atomic batch */
#define WORT_ATOMIC_BYTES	(256 << 10)	/* bytes of its operations, and of its answers */

#define WORT_IOC_TYPE		0xBC

/* on /dev/wort-control */
#define WORT_IOC_FORMAT		_IO(WORT_IOC_TYPE, 0x00)
#define WORT_IOC_ATTACH		_IO(WORT_IOC_TYPE, 0x01)
#define WORT_IOC_DETACH		_IO(WORT_IOC_TYPE, 0x02)
#define WORT_IOC_LIST		_IO(WORT_IOC_TYPE, 0x03)
/* on /dev/wortN */
#define WORT_IOC_INDEX_OPEN	_IO(WORT_IOC_TYPE, 0x10)
#define WORT_IOC_INDEX_LIST	_IO(WORT_IOC_TYPE, 0x11)
#define WORT_IOC_INDEX_DESTROY	_IO(WORT_IOC_TYPE, 0x12)
#define WORT_IOC_POOL_INFO	_IO(WORT_IOC_TYPE, 0x13)
#define WORT_IOC_CHECK		_IO(WORT_IOC_TYPE, 0x14)
#define WORT_IOC_INDEX_RENAME	_IO(WORT_IOC_TYPE, 0x15)
#define WORT_IOC_FREEZE		_IO(WORT_IOC_TYPE, 0x16)
/* on an index */
#define WORT_IOC_INSERT		_IO(WORT_IOC_TYPE, 0x20)
#define WORT_IOC_LOOKUP		_IO(WORT_IOC_TYPE, 0x21)
#define WORT_IOC_DELETE		_IO(WORT_IOC_TYPE, 0x22)
#define WORT_IOC_SCAN		_IO(WORT_IOC_TYPE, 0x23)
#define WORT_IOC_BATCH		_IO(WORT_IOC_TYPE, 0x24)
#define WORT_IOC_INDEX_INFO	_IO(WORT_IOC_TYPE, 0x25)
#define WORT_IOC_STATS		_IO(WORT_IOC_TYPE, 0x26)
#define WORT_IOC_CAS		_IO(WORT_IOC_TYPE, 0x27)
#define WORT_IOC_ATOMIC		_IO(WORT_IOC_TYPE, 0x28)

/*
 * Engines, for out_engine and the engine field of index_open.  2, 3, 5 and 6 are not given
 * again, see linux/wort_engines.h.
 */
#define WORT_ENGINE_DEFAULT	0
#define WORT_ENGINE_WORT	1
#define WORT_ENGINE_QUIRE	4
#define WORT_ENGINE_WOART	7
#define WORT_ENGINE_ART_COW	8

#define WORT_FORMAT_F_FORCE	(1U << 0)	/* a pool there is overwritten */
#define WORT_FORMAT_F_ALL	WORT_FORMAT_F_FORCE

/**
 * struct wort_format_arg - WORT_IOC_FORMAT: make an empty pool on a device
 * @size: sizeof(struct wort_format_arg)
 * @flags: WORT_FORMAT_F_*
 * @dev_ptr: path of the block device
 * @dev_len: its length in bytes, without a terminating zero
 * @extent_size: power of two from 4 KiB to 1 MiB; 0 lets the module choose
 * @uuid: identity of the pool; all zero lets the module choose
 * @label: name for people, padded with zeroes
 */
struct wort_format_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 dev_ptr;
	__u32 dev_len;
	__u32 extent_size;
	__u8 uuid[WORT_UUID_LEN];
	__u8 label[WORT_LABEL_LEN];
};

#define WORT_ATTACH_F_RDONLY	(1U << 0)	/* store nothing to the device */
#define WORT_ATTACH_F_GROW	(1U << 1)	/* take in what it has gained */
#define WORT_ATTACH_F_MCSAFE	(1U << 2)	/* survive unknown poison */
#define WORT_ATTACH_F_ALL	0x7U

/**
 * struct wort_attach_arg - WORT_IOC_ATTACH: take a device and serve its pool
 * @size: sizeof(struct wort_attach_arg)
 * @flags: WORT_ATTACH_F_*
 * @dev_ptr: path of the block device
 * @dev_len: its length in bytes
 * @out_minor: the pool is /dev/wort<out_minor>
 *
 * With RDONLY the device may be write-protected.  Every change returns EROFS;
 * there is no walk, so space figures stay unknown.
 *
 * With GROW, not together with RDONLY, the pool takes in what the device has
 * gained since it was formatted or grown; EROFS if the pool is read-only.
 *
 * A load of poisoned memory stops the kernel.  Memory known to be bad is never
 * accessed: what the driver knows at attach and at each check, and what fails under
 * an access meanwhile.  With MCSAFE all memory is copied before it is read, in a way that
 * survives poison, so that poison unknown to the driver is EIO, too.  Reading
 * gets slower.
 */
struct wort_attach_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 dev_ptr;
	__u32 dev_len;
	__u32 out_minor;
};

/**
 * struct wort_detach_arg - WORT_IOC_DETACH: stop serving a pool
 * @size: sizeof(struct wort_detach_arg)
 * @flags: none defined, zero
 * @minor: number of the pool
 * @__reserved: zero
 *
 * Open descriptors stay open and return ENODEV from then on.
 */
struct wort_detach_arg {
	__u32 size;
	__u32 flags;
	__u32 minor;
	__u32 __reserved;
};

#define WORT_STATE_DAMAGED	(1U << 0)	/* read-only, see the log */
#define WORT_STATE_WALKING	(1U << 1)	/* free space not fully known yet */
#define WORT_STATE_DEAD		(1U << 2)	/* device removed */
#define WORT_STATE_READONLY	(1U << 3)	/* attached RDONLY, or unknown feature */
#define WORT_STATE_INDEX_DAMAGED (1U << 4)	/* of a pool: an index is read-only */
#define WORT_STATE_UNKNOWN	(1U << 5)	/* an unknown engine: its own, or in it */

/**
 * struct wort_pool_record - One pool in the answer to WORT_IOC_LIST
 * @minor: the pool is /dev/wort<minor>
 * @state: WORT_STATE_*
 * @pool_size: bytes of the device in use
 * @uuid: identity of the pool
 * @label: name for people, padded with zeroes
 * @device: name of the block device (pmem0), padded with zeroes
 */
struct wort_pool_record {
	__u32 minor;
	__u32 state;
	__aligned_u64 pool_size;
	__u8 uuid[WORT_UUID_LEN];
	__u8 label[WORT_LABEL_LEN];
	__u8 device[32];
};

/**
 * struct wort_list_arg - WORT_IOC_LIST: attached pools
 * @size: sizeof(struct wort_list_arg)
 * @flags: none defined, zero
 * @buf_ptr: array of struct wort_pool_record
 * @buf_len: its size in bytes
 * @start: smallest minor wanted
 * @out_count: records written
 * @out_more: not zero: there are further pools
 */
struct wort_list_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 buf_ptr;
	__u32 buf_len;
	__u32 start;
	__u32 out_count;
	__u32 out_more;
};

#define WORT_INDEX_OPEN_F_CREATE	(1U << 0)	/* make it when absent */
#define WORT_INDEX_OPEN_F_EXCL		(1U << 1)	/* with CREATE: EEXIST */
#define WORT_INDEX_OPEN_F_RDONLY	(1U << 2)	/* descriptor for reading */
#define WORT_INDEX_OPEN_F_RELAXED	(1U << 3)	/* see below */
#define WORT_INDEX_OPEN_F_ALL		0xfU

/*
 * Lookups and scans through a RELAXED descriptor can see a change that is still
 * under way and not durable, and that a power cut can undo.  They never wait for
 * the memory.  Changes, and the values that they fetch, are as durable as through
 * any other descriptor.
 */

/**
 * struct wort_index_open_arg - WORT_IOC_INDEX_OPEN: get a descriptor of an index
 * @size: sizeof(struct wort_index_open_arg)
 * @flags: WORT_INDEX_OPEN_F_*
 * @name_ptr: name of the index, any bytes but zero
 * @name_len: its length
 * @engine: WORT_ENGINE_*; of an index that exists it must be its own or DEFAULT
 * @attr: attributes of the engine for a new index, as <linux/wort_engines.h> has
 *	them, 0 for the defaults; of an index that exists, its own or 0
 * @out_fd: the descriptor, closed on exec
 * @out_engine: engine of the index
 *
 * The descriptor may change the index if the pool's descriptor was opened for
 * writing and RDONLY is not given.  CREATE needs a pool's descriptor that was
 * opened for writing.
 */
struct wort_index_open_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 name_ptr;
	__u32 name_len;
	__u32 engine;
	__aligned_u64 attr;
	__s32 out_fd;
	__u32 out_engine;
};

/**
 * struct wort_index_record - One index in the answer to WORT_IOC_INDEX_LIST
 * @id: number of the index, unique in the pool
 * @engine: WORT_ENGINE_*
 * @state: WORT_STATE_DAMAGED, WORT_STATE_UNKNOWN or 0
 * @name_len: length of the name
 * @__reserved: zero
 * @name: its bytes, padded with zeroes
 */
struct wort_index_record {
	__aligned_u64 id;
	__u32 engine;
	__u32 state;
	__u32 name_len;
	__u32 __reserved;
	__u8 name[WORT_NAME_MAX + 1];
};

/**
 * struct wort_index_list_arg - WORT_IOC_INDEX_LIST: indexes of a pool
 * @size: sizeof(struct wort_index_list_arg)
 * @flags: none defined, zero
 * @buf_ptr: array of struct wort_index_record
 * @buf_len: its size in bytes
 * @out_count: records written
 * @after: list indexes with a greater id; 0 from the first
 * @out_more: not zero: there are further indexes
 * @__reserved: zero
 *
 * In the order of ids, which is the order of creation.
 */
struct wort_index_list_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 buf_ptr;
	__u32 buf_len;
	__u32 out_count;
	__aligned_u64 after;
	__u32 out_more;
	__u32 __reserved;
};

/**
 * struct wort_index_destroy_arg - WORT_IOC_INDEX_DESTROY: drop an index
 * @size: sizeof(struct wort_index_destroy_arg)
 * @flags: none defined, zero
 * @name_ptr: name of the index
 * @name_len: its length
 * @__reserved: zero
 *
 * The name is free at once, open descriptors return ESTALE, and the space is
 * given back in the background.
 */
struct wort_index_destroy_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 name_ptr;
	__u32 name_len;
	__u32 __reserved;
};

/**
 * struct wort_index_rename_arg - WORT_IOC_INDEX_RENAME: give an index another name
 * @size: sizeof(struct wort_index_rename_arg)
 * @flags: none defined, zero
 * @name_ptr: name of the index
 * @new_ptr: its new name, any bytes but zero
 * @name_len: length of the name
 * @new_len: length of the new name
 *
 * Durable when the call returns; after a power cut the index has one of the two
 * names.  Its id and its records stay, and open descriptors go on.  EEXIST if an
 * index has the new name, also if that is this one.
 */
struct wort_index_rename_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 name_ptr;
	__aligned_u64 new_ptr;
	__u32 name_len;
	__u32 new_len;
};

/*
 * A figure of space or of an index that is not known: before the walk after attach
 * has ended, and in a read-only pool.
 */
#define WORT_UNKNOWN		(~0ULL)

/*
 * What makes stores durable.  The module knows the first two; a library that serves pools
 * in plain files knows the others, too.
 */
#define WORT_FLUSH_NONE		0	/* nothing: caches are persistent */
#define WORT_FLUSH_LINES	1	/* flushes of cache lines */
#define WORT_FLUSH_PAGES	2	/* msync() of pages */
#define WORT_FLUSH_PROCESS	3	/* nothing; stores outlive the process only */

/**
 * struct wort_pool_info_arg - WORT_IOC_POOL_INFO
 * @size: sizeof(struct wort_pool_info_arg)
 * @flags: none defined, zero
 * @out_pool_size: bytes of the device in use
 * @out_extent_size: bytes of an extent
 * @out_nr_extents: extents of the pool
 * @out_free_extents: wholly free extents, or WORT_UNKNOWN until all of the extent
 *	table was read
 * @out_reserve_extents: of these, kept back for the time after a crash; or WORT_UNKNOWN
 * @out_used_bytes: bytes in allocated objects, or WORT_UNKNOWN
 * @out_freeing_bytes: of these, waiting to be given back, or WORT_UNKNOWN
 * @out_nr_indexes: indexes in the catalogue
 * @out_nr_dying: destroyed indexes whose space is not given back yet
 * @out_walk_indexes: indexes that the walk has finished
 * @out_walk_records: records that the walk has visited
 * @out_attach_lines: cache lines of the media read by attach
 * @out_incompat: incompatible features of the format
 * @out_format_time: seconds since 1970
 * @out_state: WORT_STATE_*
 * @out_flush: WORT_FLUSH_*: what makes stores durable
 * @out_uuid: identity of the pool
 * @out_label: name for people
 * @out_nr_damaged: of the indexes, those in which damage was found
 * @out_atomic_batches: atomic batches that have changed something since the attach
 * @out_atomic_refused: those that changed nothing since an operation refused
 * @out_atomic_waits: how often an operation waited for the end of an atomic batch
 * @out_atomic_redone: atomic batches that a power cut had interrupted and attach, or a
 *	check, has carried out
 * @out_atomic_left: atomic batches that are committed and wait: lookups answer from
 *	their lists.  An attach for writing carries them out, or a check without damage
 * @out_atomic_damaged: atomic batches whose lists are damaged, so that it is not known
 *	what they change; a check with CLEAR gives them up
 */
struct wort_pool_info_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_pool_size;
	__aligned_u64 out_extent_size;
	__aligned_u64 out_nr_extents;
	__aligned_u64 out_free_extents;
	__aligned_u64 out_reserve_extents;
	__aligned_u64 out_used_bytes;
	__aligned_u64 out_freeing_bytes;
	__aligned_u64 out_nr_indexes;
	__aligned_u64 out_nr_dying;
	__aligned_u64 out_walk_indexes;
	__aligned_u64 out_walk_records;
	__aligned_u64 out_attach_lines;
	__aligned_u64 out_incompat;
	__aligned_u64 out_format_time;
	__u32 out_state;
	__u32 out_flush;
	__u8 out_uuid[WORT_UUID_LEN];
	__u8 out_label[WORT_LABEL_LEN];
	__aligned_u64 out_nr_damaged;
	__aligned_u64 out_atomic_batches;
	__aligned_u64 out_atomic_refused;
	__aligned_u64 out_atomic_waits;
	__aligned_u64 out_atomic_redone;
	__aligned_u64 out_atomic_left;
	__aligned_u64 out_atomic_damaged;
};

/* drop what cannot be read; if nothing is wrong, end read-only states */
#define WORT_CHECK_F_CLEAR	(1U << 0)
#define WORT_CHECK_F_ALL	WORT_CHECK_F_CLEAR

/**
 * struct wort_check_arg - WORT_IOC_CHECK: examine a whole pool
 * @size: sizeof(struct wort_check_arg)
 * @flags: WORT_CHECK_F_*
 * @out_nr_indexes: indexes examined
 * @out_nr_nodes: inner nodes found
 * @out_nr_leaves: records found
 * @out_owned_bytes: bytes of objects with one owner
 * @out_free_bytes: bytes free
 * @out_freeing_bytes: bytes waiting to be given back
 * @out_nr_transient: places in a legal state that a power cut left
 * @out_nr_damaged: places with damage
 * @out_damaged_off: offset of the first of them
 * @out_damaged_index: id of its index, 0 if it belongs to none
 * @out_nr_dropped: references dropped by CLEAR because their targets cannot be
 *	read; the kernel's log has the offset of each.  Those that an earlier call
 *	dropped, which failed, are among them
 * @out_nr_lost: redundant data (copies of the superblock, the words of the pool)
 *	found lost since the last check that succeeded: by attach, which has
 *	written it anew, and by this call.  CLEAR writes it anew, without CLEAR it is damage.  What
 *	another system has written there is damage, too, and stays
 * @out_nr_unknown: indexes of engines that the module does not know.  They are not
 *	examined, so space is not compared with what is owned, and CLEAR changes nothing
 * @out_nr_atomic: atomic batches that are committed and could not be carried out
 *	because of damage.  CLEAR carries them out when it has found no other damage
 *
 * The call succeeds whatever is found.  Operations go on while it runs; what they
 * free is given back at its end.  Damage makes an index read-only, therefore the
 * descriptor must be open for writing.  CLEAR of a pool with WORT_STATE_READONLY
 * returns EROFS.  EBUSY: operations ran out of space three times.
 */
struct wort_check_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_nr_indexes;
	__aligned_u64 out_nr_nodes;
	__aligned_u64 out_nr_leaves;
	__aligned_u64 out_owned_bytes;
	__aligned_u64 out_free_bytes;
	__aligned_u64 out_freeing_bytes;
	__aligned_u64 out_nr_transient;
	__aligned_u64 out_nr_damaged;
	__aligned_u64 out_damaged_off;
	__aligned_u64 out_damaged_index;
	__aligned_u64 out_nr_dropped;
	__aligned_u64 out_nr_lost;
	__aligned_u64 out_nr_unknown;
	__aligned_u64 out_nr_atomic;
};

/*
 * A flag of every change of a record: return the former value.  It is read in
 * one step with the change, and returned also with EEXIST and ECANCELED.  If it
 * does not fit, the call returns ERANGE and nothing was changed.  The buffer may
 * be written before the change, to verify that it is writable.
 */
#define WORT_F_FETCH		(1U << 8)

/* the length if there is no value; an empty value has length 0 */
#define WORT_NO_VALUE		(~0U)

#define WORT_INSERT_F_CREATE	(1U << 0)	/* EEXIST if the key is there */
#define WORT_INSERT_F_REPLACE	(1U << 1)	/* ENOENT if it is not */
#define WORT_INSERT_F_ALL	(0x3U | WORT_F_FETCH)	/* not both of these */

/**
 * struct wort_insert_arg - WORT_IOC_INSERT: store a record
 * @size: sizeof(struct wort_insert_arg)
 * @flags: WORT_INSERT_F_*, WORT_F_FETCH; none: create or replace
 * @key_ptr: the key
 * @value_ptr: the value
 * @old_ptr: with FETCH: where the former value goes
 * @key_len: 1 to WORT_KEY_MAX
 * @value_len: 0 to WORT_VALUE_MAX
 * @old_len: with FETCH: size of the buffer, otherwise 0
 * @out_old_len: with FETCH: length of the former value, also with ERANGE, or
 *	WORT_NO_VALUE
 *
 * Durable when the call returns.
 */
struct wort_insert_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 key_ptr;
	__aligned_u64 value_ptr;
	__aligned_u64 old_ptr;
	__u32 key_len;
	__u32 value_len;
	__u32 old_len;
	__u32 out_old_len;
};

#define WORT_CAS_F_ALL		WORT_F_FETCH

/**
 * struct wort_cas_arg - WORT_IOC_CAS: replace a value by another one
 * @size: sizeof(struct wort_cas_arg)
 * @flags: WORT_F_FETCH or 0
 * @key_ptr: the key
 * @expect_ptr: the expected value
 * @value_ptr: the new value
 * @old_ptr: as in struct wort_insert_arg
 * @key_len: length of the key
 * @expect_len: 0 to WORT_VALUE_MAX
 * @value_len: 0 to WORT_VALUE_MAX
 * @old_len: as in struct wort_insert_arg
 * @__reserved: zero
 * @out_old_len: as in struct wort_insert_arg
 *
 * ENOENT if the key does not exist; ECANCELED if its value is another one, which
 * FETCH returns for the next attempt.  Durable when the call returns.
 */
struct wort_cas_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 key_ptr;
	__aligned_u64 expect_ptr;
	__aligned_u64 value_ptr;
	__aligned_u64 old_ptr;
	__u32 key_len;
	__u32 expect_len;
	__u32 value_len;
	__u32 old_len;
	__u32 __reserved;
	__u32 out_old_len;
};

/**
 * struct wort_lookup_arg - WORT_IOC_LOOKUP: read a record
 * @size: sizeof(struct wort_lookup_arg)
 * @flags: none defined, zero
 * @key_ptr: the key
 * @value_ptr: where the value goes; may be null if value_len is 0
 * @key_len: length of the key
 * @value_len: size of the buffer
 * @out_value_len: length of the value, also with ERANGE, or WORT_NO_VALUE
 * @__reserved: zero
 */
struct wort_lookup_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 key_ptr;
	__aligned_u64 value_ptr;
	__u32 key_len;
	__u32 value_len;
	__u32 out_value_len;
	__u32 __reserved;
};

#define WORT_DELETE_F_EXPECT	(1U << 0)	/* ECANCELED: another value */
#define WORT_DELETE_F_ALL	(WORT_DELETE_F_EXPECT | WORT_F_FETCH)

/**
 * struct wort_delete_arg - WORT_IOC_DELETE: remove a record
 * @size: sizeof(struct wort_delete_arg)
 * @flags: WORT_DELETE_F_*, WORT_F_FETCH
 * @key_ptr: the key
 * @expect_ptr: with EXPECT: the expected value
 * @old_ptr: as in struct wort_insert_arg
 * @key_len: length of the key
 * @expect_len: with EXPECT: its length, otherwise 0
 * @old_len: as in struct wort_insert_arg
 * @out_old_len: as in struct wort_insert_arg
 *
 * Durable when the call returns.
 */
struct wort_delete_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 key_ptr;
	__aligned_u64 expect_ptr;
	__aligned_u64 old_ptr;
	__u32 key_len;
	__u32 expect_len;
	__u32 old_len;
	__u32 out_old_len;
};

#define WORT_SCAN_F_REVERSE	(1U << 0)	/* from high keys to low */
#define WORT_SCAN_F_AFTER	(1U << 1)	/* start after the key, not at it */
#define WORT_SCAN_F_PREFIX	(1U << 2)	/* only keys that begin with bound */
#define WORT_SCAN_F_KEYS	(1U << 3)	/* no values */
#define WORT_SCAN_F_COUNT	(1U << 4)	/* no records, only out_count */
#define WORT_SCAN_F_ALL		0x1fU

/**
 * struct wort_scan_arg - WORT_IOC_SCAN: read records in order
 * @size: sizeof(struct wort_scan_arg)
 * @flags: WORT_SCAN_F_*
 * @start_ptr: first key; with AFTER the last key that was seen
 * @bound_ptr: the key before which to stop (exclusive), or the prefix
 * @buf_ptr: records go here, each a struct wort_record
 * @start_len: length of the first key, 0: from the first (last) record
 * @bound_len: length of the bound, 0: none
 * @buf_len: size of the buffer, at most WORT_BUF_MAX
 * @max_count: records wanted at most, 0: as many as fit
 * @out_count: records found
 * @out_len: bytes written to the buffer
 * @out_need: with ERANGE: bytes that the next record takes, with COUNT the last
 *            key
 * @out_more: not zero: the bound was not reached; go on with AFTER and the
 *            last key
 * @out_last_len: with COUNT: length of the last key, written to the buffer
 * @__reserved: zero
 *
 * ERANGE only if not even one record fits, or the last key of a COUNT: then only
 * out_need has a meaning.  Keys strictly increase (decrease); a key present
 * throughout a sequence of calls is seen exactly once.  A COUNT stops
 * after a bounded number of records; the buffer (WORT_KEY_MAX bytes) then holds
 * the last key.
 */
struct wort_scan_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 start_ptr;
	__aligned_u64 bound_ptr;
	__aligned_u64 buf_ptr;
	__u32 start_len;
	__u32 bound_len;
	__u32 buf_len;
	__u32 max_count;
	__aligned_u64 out_count;
	__u32 out_len;
	__u32 out_need;
	__u32 out_more;
	__u32 out_last_len;
	__aligned_u64 __reserved;
};

/**
 * struct wort_record - A record in the buffer of a scan
 * @rec_len: bytes from this record to the next, a multiple of 8
 * @key_len: length of the key, which follows this struct
 * @value_len: length of the value, which follows the key without a gap; with
 *             KEYS only the length is given
 * @__reserved: zero
 */
struct wort_record {
	__u32 rec_len;
	__u32 key_len;
	__u32 value_len;
	__u32 __reserved;
};

#define WORT_BATCH_INSERT	1
#define WORT_BATCH_DELETE	2
#define WORT_BATCH_LOOKUP	3
#define WORT_BATCH_CAS		4
#define WORT_BATCH_EXPECT	5	/* only in atomic batches */

#define WORT_EXPECT_F_PRESENT	(1U << 0)	/* ENOENT if the key is not there */
#define WORT_EXPECT_F_ABSENT	(1U << 1)	/* EEXIST if it is */
#define WORT_EXPECT_F_ALL	0x3U		/* not both; without: the value is compared */

/**
 * struct wort_batch_op - An operation in the input of a batch
 * @rec_len: bytes from this operation to the next, a multiple of 8
 * @op: WORT_BATCH_*
 * @flags: as of the ioctl of that name
 * @key_len: length of the key
 * @expect_len: length of the value expected, 0 if none is
 * @value_len: length of the value, 0 if the operation has none
 * @max_len: of a LOOKUP, and with FETCH, the longest value wanted; otherwise 0
 *
 * The key, the value expected and the value follow, without gaps.
 */
struct wort_batch_op {
	__u32 rec_len;
	__u16 op;
	__u16 flags;
	__u32 key_len;
	__u32 expect_len;
	__u32 value_len;
	__u32 max_len;
};

/**
 * struct wort_batch_result - The answer to an operation of a batch
 * @rec_len: bytes from this answer to the next, a multiple of 8
 * @error: 0 or a negative errno
 * @value_len: length of the value that a LOOKUP or FETCH returns, or
 *             WORT_NO_VALUE
 * @__reserved: zero
 *
 * The value follows, but not with ERANGE.
 */
struct wort_batch_result {
	__u32 rec_len;
	__s32 error;
	__u32 value_len;
	__u32 __reserved;
};

#define WORT_BATCH_F_STOP	(1U << 0)	/* stop at the first error */
#define WORT_BATCH_F_ALL	WORT_BATCH_F_STOP

/**
 * struct wort_batch_arg - WORT_IOC_BATCH: several operations in one call
 * @size: sizeof(struct wort_batch_arg)
 * @flags: WORT_BATCH_F_*
 * @ops_ptr: operations, each a struct wort_batch_op
 * @results_ptr: answers, each a struct wort_batch_result
 * @ops_len: bytes of operations, at most WORT_BUF_MAX
 * @results_len: size of the buffer for answers, at most WORT_BUF_MAX
 * @nr_ops: operations, at most WORT_BATCH_MAX
 * @out_done: operations carried out, successful or not, also if the call fails
 * @out_failed: of these, failed
 * @out_results_len: bytes of answers
 *
 * Each operation is atomic by itself, and they take effect in order.  All that
 * out_done counts is durable when the call returns; a power cut during the call
 * may leave any of the changes.  If the answers do not fit, the call ends with
 * ERANGE: the operations whose answers fit were carried out, the others were not.
 *
 * The memory of operations and answers must not overlap: answers are written
 * before all operations are read.  If a page is unmapped during the call, the call ends with
 * EFAULT; out_done counts what was carried out.
 */
struct wort_batch_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 ops_ptr;
	__aligned_u64 results_ptr;
	__u32 ops_len;
	__u32 results_len;
	__u32 nr_ops;
	__u32 out_done;
	__u32 out_failed;
	__u32 out_results_len;
};

#define WORT_ATOMIC_SELF	0	/* the index that the call is made on */

/**
 * struct wort_atomic_op - An operation in the input of an atomic batch
 * @op: as in a batch; or WORT_BATCH_EXPECT: go on only if the key has the value
 *	expected (otherwise ECANCELED, or ENOENT without the key), is there, or is not
 * @index: WORT_ATOMIC_SELF, or n: the index with the n-th descriptor of fds_ptr
 * @__reserved: zero
 *
 * The key, the value expected and the value follow, without gaps.  op.rec_len is
 * the length of all.
 */
struct wort_atomic_op {
	struct wort_batch_op op;
	__u32 index;
	__u32 __reserved;
};

/**
 * struct wort_atomic_arg - WORT_IOC_ATOMIC: several operations, all or none
 * @size: sizeof(struct wort_atomic_arg)
 * @flags: none defined, zero
 * @ops_ptr: operations, each a struct wort_atomic_op
 * @results_ptr: answers, each a struct wort_batch_result
 * @fds_ptr: descriptors of further indexes, each an int
 * @ops_len: bytes of operations, at most WORT_ATOMIC_BYTES
 * @results_len: size of the buffer for answers, at most WORT_ATOMIC_BYTES
 * @nr_ops: operations, at most WORT_ATOMIC_MAX
 * @nr_fds: descriptors, at most WORT_ATOMIC_MAX
 * @out_refused: number of the operation that refused, from 0 on, or WORT_NO_VALUE
 * @out_results_len: bytes of answers
 *
 * All operations take effect or none, also if the power fails, and all at one
 * moment: an operation that sees one of the changes sees all of them.  Each
 * operation sees those before it.  When the call returns 0 they are durable.
 *
 * The first operation that refuses ends the call with its error: EEXIST, ENOENT,
 * ECANCELED, ERANGE, EINVAL, EOPNOTSUPP or EMSGSIZE.  Nothing was changed then, nor
 * with any other error but these: EUCLEAN or EIO without a number in out_refused
 * may tell that damage was met when the operations had taken effect; the pool is
 * read-only then, and lookups answer from after them.  EFAULT may tell that the memory for
 * the answers was taken away when the operations had taken effect.
 *
 * EXDEV: a descriptor is an index of another pool.  EMSGSIZE: more than the limits.
 * EBADF: a descriptor is no index, or an index is to be changed and its descriptor
 * is not open for writing.  ENOSPC: a full pool may have no space though it has
 * space for each of the operations alone.
 */
struct wort_atomic_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 ops_ptr;
	__aligned_u64 results_ptr;
	__aligned_u64 fds_ptr;
	__u32 ops_len;
	__u32 results_len;
	__u32 nr_ops;
	__u32 nr_fds;
	__u32 out_refused;
	__u32 out_results_len;
};

#define WORT_FREEZE_F_THAW	(1U << 0)	/* end it */
#define WORT_FREEZE_F_ALL	WORT_FREEZE_F_THAW

/**
 * struct wort_freeze_arg - WORT_IOC_FREEZE: keep a pool as it is
 * @size: sizeof(struct wort_freeze_arg)
 * @flags: WORT_FREEZE_F_*
 *
 * When the call returns, changes under way have ended, atomic batches wholly, and
 * what would change a record or an index waits, killably, in programs and in the
 * kernel: until a call with THAW on the same descriptor, or until the last
 * reference to it is closed, as when the program dies.  Lookups and scans go on,
 * all of them of one state.  Several descriptors may freeze a pool.
 *
 * A program that has frozen a pool must not wait for a change of that pool, its own
 * included; where a filesystem keeps its metadata in the pool, nor for that
 * filesystem.  The machine cannot hibernate while changes wait.  A detach ends it.
 *
 * EBUSY: this descriptor has frozen the pool already, or a check with CLEAR runs.
 * EINVAL: THAW, and this descriptor has not frozen it.
 */
struct wort_freeze_arg {
	__u32 size;
	__u32 flags;
};

/**
 * struct wort_index_info_arg - WORT_IOC_INDEX_INFO
 * @size: sizeof(struct wort_index_info_arg)
 * @flags: none defined, zero
 * @out_id: number of the index
 * @out_attr: engine attributes
 * @out_create_time: seconds since 1970
 * @out_engine: WORT_ENGINE_*
 * @out_state: WORT_STATE_*
 * @out_name_len: length of the name
 * @__reserved: zero
 * @out_name: its bytes, padded with zeroes
 * @out_root_off: offset in the pool of its root record, for readers in a mapping;
 *	0: they cannot read its engine
 * @out_bytes: bytes that it took from the pool at @out_count_time, or WORT_UNKNOWN
 * @out_records: records that it had then, or WORT_UNKNOWN
 * @out_count_time: when the last walk after an attach, or the last check, counted
 *	them, in seconds since 1970; 0: not since the attach, or the index was made
 *	since.  What was changed while they counted may be in or not
 * @out_dram_bytes: bytes of DRAM that the engine keeps for it now
 */
struct wort_index_info_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_id;
	__aligned_u64 out_attr;
	__aligned_u64 out_create_time;
	__u32 out_engine;
	__u32 out_state;
	__u32 out_name_len;
	__u32 __reserved;
	__u8 out_name[WORT_NAME_MAX + 1];
	__aligned_u64 out_root_off;
	__aligned_u64 out_bytes;
	__aligned_u64 out_records;
	__aligned_u64 out_count_time;
	__aligned_u64 out_dram_bytes;
};

/* operation types in statistics */
#define WORT_OP_LOOKUP		0
#define WORT_OP_INSERT		1	/* of a new key */
#define WORT_OP_UPDATE		2	/* of an existing key */
#define WORT_OP_DELETE		3
#define WORT_OP_SCAN		4
#define WORT_OP_ATOMIC		5	/* its list and its head; changes count as such */
#define WORT_OP_NR		6

/**
 * struct wort_op_stats - Counts of one operation type since the index was
 *	attached or created
 * @ops: operations
 * @stores: 8-byte words stored to the media
 * @lines: cache lines flushed
 * @fences: fences
 * @ordering_points: fences that had a flush to wait for
 * @nodes: inner nodes visited
 * @leaves: leaves visited
 * @loads: cache lines of the media read
 * @alloc_lines: of the flushed lines, those of the extent table
 * @zero_lines: of the flushed lines, those of free space that was zeroed first
 */
struct wort_op_stats {
	__aligned_u64 ops;
	__aligned_u64 stores;
	__aligned_u64 lines;
	__aligned_u64 fences;
	__aligned_u64 ordering_points;
	__aligned_u64 nodes;
	__aligned_u64 leaves;
	__aligned_u64 loads;
	__aligned_u64 alloc_lines;
	__aligned_u64 zero_lines;
};

/**
 * struct wort_stats_arg - WORT_IOC_STATS: what operations on this index cost
 * @size: sizeof(struct wort_stats_arg)
 * @flags: none defined, zero
 * @buf_ptr: array of struct wort_op_stats, indexed by WORT_OP_*
 * @buf_len: its size in bytes
 * @out_count: types that the module has; as many as fit were written
 * @stride: sizeof(struct wort_op_stats), a multiple of 8, at least 72, at most
 *	4096; 0: 72, without @zero_lines and what follows.  Fields that the module
 *	does not know are 0
 * @__reserved: zero
 */
struct wort_stats_arg {
	__u32 size;
	__u32 flags;
	__aligned_u64 buf_ptr;
	__u32 buf_len;
	__u32 out_count;
	__u32 stride;
	__u32 __reserved;
};

/**
 * struct wort_uring_cmd - An ioctl as a command of io_uring
 * @arg_ptr: argument of the ioctl
 * @flags: none defined, zero
 * @__reserved: zero
 *
 * On a pool or an index: an SQE of 64 bytes with the opcode
 * IORING_OP_URING_CMD, the flag IOSQE_ASYNC, the number of the ioctl in cmd_op,
 * and this struct in the bytes of cmd.  The CQE's res is 0 or a negative errno
 * of those above.  When the CQE is posted, ``out_`` fields are in the argument, and
 * the change is durable.  Until then the argument, and the memory that it refers
 * to, belong to the kernel.
 *
 * An unknown command is ENOTTY, as for an ioctl.  EOPNOTSUPP is also returned for a
 * command without IOSQE_ASYNC, a value in uring_cmd_flags, a ring made with
 * IORING_SETUP_SQE128 or, before Linux 7.3, IORING_SETUP_IOPOLL, and by the control
 * device, which has no such commands.  io_uring itself returns ECANCELED for a
 * command that was never begun.
 */
struct wort_uring_cmd {
	__aligned_u64 arg_ptr;
	__u32 flags;
	__u32 __reserved;
};

/*
 * Reading without a system call: mmap() of /dev/wortN, for reading only.  A
 * descriptor of an index has no mapping, since it would show the others.
 *
 *	WORT_MAP_CONTROL_OFF	struct wort_map_control
 *	WORT_MAP_POOL_OFF	the pool as <linux/wort_format.h> has it,
 *				out_pool_size bytes; after a detach zeroes
 *
 * A lookup:
 *
 *	1. Load generation (acquire), then state and destroyed.  Ask the kernel
 *	   unless state is WORT_MAP_FOLLOW, and destroyed is the same as before
 *	   the kernel last told out_root_off of the index (WORT_IOC_INDEX_INFO):
 *	   since then the index may have been destroyed, or have another root.
 *	2. Descend.  After each word, loaded once and by an acquire, load
 *	   in_flight of its node.  If it is not 0 the word may not be durable:
 *	   retry.  Trust nothing: memory that is reused meanwhile can hold any
 *	   content.
 *	3. Copy the key and the value, then load generation again (behind an
 *	   acquire fence), and state.  Unless both are the same as before, retry.
 *
 * An engine that moves entries of a node says so.  Then a reader loads sequence of the
 * node by an acquire before it reads the entries, and again behind an acquire fence
 * after it has copied what it needs.  If the count is odd, or has changed, it retries.
 * The default engine moves nothing.
 *
 * After three attempts without success, or if what it finds is inconsistent,
 * the reader asks the kernel.
 */
#define WORT_MAP_CONTROL_OFF	0
#define WORT_MAP_POOL_OFF	(1 << 21)

#define WORT_MAP_NODE_BITS	10
#define WORT_MAP_NR_NODES	(1 << WORT_MAP_NODE_BITS)

/*
 * The number of a node in struct wort_map_control.  @off is the offset of the node: of
 * an inner node or a record that of its first byte, of a root record that of the
 * catalogue entry in which it lies.  Several nodes have one number, among them those
 * that begin in the same 128 bytes.
 */
#define WORT_MAP_NODE(off) \
	((__u32)((off) >> 7) * 0x9e3779b1U >> (32 - WORT_MAP_NODE_BITS))

#define WORT_MAP_ASK		0	/* ask the kernel: pages may be bad */
#define WORT_MAP_FOLLOW		4	/* 1 and 3 in older protocols, whose readers ask */
#define WORT_MAP_DEAD		2	/* the pool was detached */
#define WORT_MAP_STATE		0xff	/* bits of the above */
#define WORT_MAP_BATCH		0x100	/* unit of the other bits: atomic batches under way */

/**
 * struct wort_map_control - What readers in a mapping have to load
 * @state: WORT_MAP_*, and how many atomic batches are being carried out: readers
 *	follow links only while it is WORT_MAP_FOLLOW and no more
 * @__reserved: not used
 * @generation: changes before anything that was reachable is reused
 * @destroyed: changes when an index is destroyed, or its root record moves
 * @__reserved2: not used
 * @in_flight: by WORT_MAP_NODE(): whether a word of such a node is visible and perhaps
 *	not durable
 * @sequence: by WORT_MAP_NODE(): odd while entries of such a node are being moved
 */
struct wort_map_control {
	__u32 state;
	__u32 __reserved;
	__aligned_u64 generation;
	__aligned_u64 destroyed;
	__u8 __reserved2[4096 - 24];
	__u32 in_flight[WORT_MAP_NR_NODES];
	__u32 sequence[WORT_MAP_NR_NODES];
};

#endif /* _UAPI_LINUX_WORT_H */
