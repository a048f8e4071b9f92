// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Atomic batches: operations on several indexes, packed in one buffer.
 *
 * The call is made on the index of the first operation; the descriptors of the
 * others are an argument.  The buffers grow as operations are appended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../local/local.h"
#include "internal.h"

struct wort_atomic {
	uint32_t nr_ops;
	uint32_t nr_indexes;
	uint32_t ops_len;
	uint32_t ops_size;
	uint32_t results_need;		/* bytes that answers may take */
	uint32_t results_size;
	uint32_t results_len;		/* bytes of answers */
	uint32_t at;			/* the next of them */
	unsigned char *ops;
	unsigned char *results;
	struct wort_index *indexes[WORT_ATOMIC_MAX];	/* held */
};

WORT_API int wort_atomic_new(struct wort_atomic **out)
{
	struct wort_atomic *atomic = calloc(1, sizeof(*atomic));

	if (!atomic)
		return -ENOMEM;
	*out = atomic;
	return 0;
}

WORT_API void wort_atomic_reset(struct wort_atomic *atomic)
{
	while (atomic->nr_indexes)
		wort_index_put(atomic->indexes[--atomic->nr_indexes]);
	atomic->nr_ops = 0;
	atomic->ops_len = 0;
	atomic->results_need = 0;
	atomic->results_len = 0;
	atomic->at = 0;
}

WORT_API void wort_atomic_free(struct wort_atomic *atomic)
{
	if (!atomic)
		return;
	wort_atomic_reset(atomic);
	free(atomic->ops);
	free(atomic->results);
	free(atomic);
}

WORT_API unsigned int wort_atomic_count(const struct wort_atomic *atomic)
{
	return atomic->nr_ops;
}

/* Room for @need bytes, at most WORT_ATOMIC_BYTES. */
static int reserve(unsigned char **buf, uint32_t *size, uint32_t need)
{
	uint32_t new_size = *size ? *size : 1024;
	unsigned char *new_buf;

	if (need <= *size)
		return 0;
	while (new_size < need)
		new_size *= 2;
	new_buf = realloc(*buf, new_size);
	if (!new_buf)
		return -ENOMEM;
	*buf = new_buf;
	*size = new_size;
	return 0;
}

/* The number of an index in the call; there are no more indexes than operations. */
static uint32_t number_of(struct wort_atomic *atomic, struct wort_index *index)
{
	uint32_t nr;

	for (nr = 0; nr < atomic->nr_indexes; nr++)
		if (atomic->indexes[nr] == index)
			return nr;
	wort_index_hold(index);
	atomic->indexes[atomic->nr_indexes++] = index;
	return nr;
}

static int append(struct wort_atomic *atomic, struct wort_index *index,
		  const struct wort_batch_op *op,
		  const struct wort_batch_request *req)
{
	struct wort_atomic_op aop = { .op = *op };
	uint32_t room = wort_answer_room(op);
	int err;

	aop.op.rec_len = wort_op_len(op, sizeof(aop));
	if (atomic->nr_ops == WORT_ATOMIC_MAX ||
	    aop.op.rec_len > WORT_ATOMIC_BYTES - atomic->ops_len ||
	    room > WORT_ATOMIC_BYTES - atomic->results_need)
		return -EMSGSIZE;
	err = reserve(&atomic->ops, &atomic->ops_size,
		      atomic->ops_len + aop.op.rec_len);
	if (err)
		return err;
	aop.index = number_of(atomic, index);
	wort_op_pack(atomic->ops + atomic->ops_len, &aop, sizeof(aop), &aop.op,
		     req);
	atomic->nr_ops++;
	atomic->ops_len += aop.op.rec_len;
	atomic->results_need += room;
	return 0;
}

WORT_API int wort_atomic_add(struct wort_atomic *atomic,
			     struct wort_index *index,
			     const struct wort_batch_request *request)
{
	struct wort_batch_request req;
	struct wort_batch_op op;
	int err = wort_request_read(request, &req, &op);

	return err ? err : append(atomic, index, &op, &req);
}

WORT_API int wort_atomic_put(struct wort_atomic *atomic,
			     struct wort_index *index, const void *key,
			     size_t key_len, const void *value,
			     size_t value_len, uint32_t flags)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_INSERT,
		.flags = flags,
		.key = key,
		.key_len = key_len,
		.value = value,
		.value_len = value_len,
	};

	if (flags & ~(WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE))
		return -EOPNOTSUPP;
	return wort_atomic_add(atomic, index, &req);
}

WORT_API int wort_atomic_cas(struct wort_atomic *atomic,
			     struct wort_index *index, const void *key,
			     size_t key_len, const void *expect,
			     size_t expect_len, const void *value,
			     size_t value_len)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_CAS,
		.key = key,
		.key_len = key_len,
		.expect = expect,
		.expect_len = expect_len,
		.value = value,
		.value_len = value_len,
	};

	return wort_atomic_add(atomic, index, &req);
}

WORT_API int wort_atomic_del(struct wort_atomic *atomic,
			     struct wort_index *index, const void *key,
			     size_t key_len)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_DELETE,
		.key = key,
		.key_len = key_len,
	};

	return wort_atomic_add(atomic, index, &req);
}

WORT_API int wort_atomic_get(struct wort_atomic *atomic,
			     struct wort_index *index, const void *key,
			     size_t key_len, size_t max_value_len)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_LOOKUP,
		.key = key,
		.key_len = key_len,
		.max_len = max_value_len,
	};

	return wort_atomic_add(atomic, index, &req);
}

static int expect(struct wort_atomic *atomic, struct wort_index *index,
		  const void *key, size_t key_len, const void *value,
		  size_t value_len, uint32_t flags)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_EXPECT,
		.flags = flags,
		.key = key,
		.key_len = key_len,
		.expect = value,
		.expect_len = value_len,
	};

	return wort_atomic_add(atomic, index, &req);
}

WORT_API int wort_atomic_expect(struct wort_atomic *atomic,
				struct wort_index *index, const void *key,
				size_t key_len, const void *value,
				size_t value_len)
{
	return expect(atomic, index, key, key_len, value, value_len, 0);
}

WORT_API int wort_atomic_expect_present(struct wort_atomic *atomic,
					struct wort_index *index,
					const void *key, size_t key_len)
{
	return expect(atomic, index, key, key_len, NULL, 0,
		      WORT_EXPECT_F_PRESENT);
}

WORT_API int wort_atomic_expect_absent(struct wort_atomic *atomic,
				       struct wort_index *index,
				       const void *key, size_t key_len)
{
	return expect(atomic, index, key, key_len, NULL, 0,
		      WORT_EXPECT_F_ABSENT);
}

static int commit(struct wort_atomic *atomic, struct wort_atomic_arg *arg)
{
	const int first = atomic->indexes[0]->fd;
	int fds[WORT_ATOMIC_MAX], err;
	uint32_t i;

	for (i = 1; i < atomic->nr_indexes; i++) {
		fds[i - 1] = atomic->indexes[i]->fd;
		/* The kernel does not know the indexes of a file, nor the other way round. */
		if (wort_local_owns(fds[i - 1]) != wort_local_owns(first))
			return -EXDEV;
	}
	*arg = (struct wort_atomic_arg){
		.size = sizeof(*arg),
		.ops_ptr = wort_ptr(atomic->ops),
		.results_ptr = wort_ptr(atomic->results),
		.fds_ptr = wort_ptr(fds),
		.ops_len = atomic->ops_len,
		.results_len = atomic->results_need,
		.nr_ops = atomic->nr_ops,
		.nr_fds = atomic->nr_indexes - 1,
		.out_refused = WORT_NO_VALUE,
	};
	err = wort_ioctl(first, WORT_IOC_ATOMIC, arg);
	if (arg->out_results_len > atomic->results_need ||
	    (arg->out_refused != WORT_NO_VALUE &&
	     arg->out_refused >= atomic->nr_ops))
		return -EBADMSG;
	return err;
}

WORT_API int wort_atomic_commit(struct wort_atomic *atomic,
				unsigned int *refused)
{
	struct wort_atomic_arg arg = { .out_refused = WORT_NO_VALUE };
	int err;

	atomic->results_len = 0;
	atomic->at = 0;
	if (refused)
		*refused = WORT_NO_VALUE;
	if (!atomic->nr_ops)
		return 0;
	err = reserve(&atomic->results, &atomic->results_size,
		      atomic->results_need);
	if (err)
		return err;
	err = commit(atomic, &arg);
	if (!err)
		atomic->results_len = arg.out_results_len;
	else if (refused && err != -EBADMSG)
		*refused = arg.out_refused;
	return err;
}

WORT_API int wort_atomic_next(struct wort_atomic *atomic,
			      struct wort_batch_item *item)
{
	return wort_answer_next(atomic->results, atomic->results_len,
				&atomic->at, item);
}
