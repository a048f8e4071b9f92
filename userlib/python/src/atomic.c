// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Atomic batches.  With each operation goes an object of Python's, which comes back
 * with its answer.
 */
#include <errno.h>

#include "ext.h"

#define TOO_LONG	"an atomic batch has 64 operations and 256 KiB, keys 1024 bytes " \
			"and values 65536 at most"

struct atomic {
	struct handle handle;
	struct turn turn;
	unsigned int nr;
	PyObject *tags[WORT_ATOMIC_MAX];
};

static void give_back(void *atomic)
{
	wort_atomic_free(atomic);
}

static int atomic_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct atomic *atomic = (struct atomic *)self;
	struct wort_atomic *opened;
	int err;

	if (!PyArg_ParseTuple(args, "") || turn_init(&atomic->turn))
		return -1;
	err = wort_atomic_new(&opened);
	if (err) {
		raise_in_pool(err, NULL);
		return -1;
	}
	return handle_set(&atomic->handle, opened, give_back);
}

static int atomic_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct atomic *atomic = (struct atomic *)self;
	unsigned int i;

	Py_VISIT(Py_TYPE(self));
	for (i = 0; i < atomic->nr; i++)
		Py_VISIT(atomic->tags[i]);
	return 0;
}

static int atomic_clear(PyObject *self)
{
	struct atomic *atomic = (struct atomic *)self;
	PyObject *tag;

	/* It may be in no place any more when it is given back. */
	while (atomic->nr) {
		tag = atomic->tags[--atomic->nr];
		Py_DECREF(tag);
	}
	return 0;
}

static void atomic_dealloc(PyObject *self)
{
	struct atomic *atomic = (struct atomic *)self;

	PyObject_GC_UnTrack(self);
	atomic_clear(self);
	turn_free(&atomic->turn);
	handle_dealloc(&atomic->handle);
}

static struct wort_atomic *atomic_use(struct atomic *atomic)
{
	if (turn_wait(&atomic->turn, Py_TYPE(atomic)->tp_name))
		return NULL;
	return handle_use(&atomic->handle);
}

static int add(struct atomic *atomic, struct handle *index,
	       const struct wort_batch_request *request, PyObject *tag)
{
	struct wort_atomic *ptr = atomic_use(atomic);
	struct wort_index *index_ptr = ptr ? handle_use(index) : NULL;
	int err = -1;

	if (index_ptr) {
		err = atomic->nr == WORT_ATOMIC_MAX ? -EMSGSIZE :
		      wort_atomic_add(ptr, index_ptr, request);
		if (err == -EMSGSIZE)
			raise_with(err, TOO_LONG, NULL);
		else if (err)
			raise_in_pool(err, NULL);
		else
			atomic->tags[atomic->nr++] = Py_NewRef(tag);
		handle_done(index);
	}
	if (ptr)
		handle_done(&atomic->handle);
	return err;
}

/* _add(tag, index, op, flags, key, expect, value, max_len) */
static PyObject *add_method(PyObject *self, PyObject *args)
{
	struct wort_batch_request req = { .sz = sizeof(req) };
	PyObject *tag, *key_obj, *expect_obj, *value_obj;
	struct bytes key, expect, value;
	struct handle *index;
	unsigned int max_len;
	int err = -1;

	if (!PyArg_ParseTuple(args, "OO!IIOOOI", &tag, index_type, &index,
			      &req.op, &req.flags, &key_obj, &expect_obj,
			      &value_obj, &max_len) ||
	    bytes_take(key_obj, &key))
		return NULL;
	if (bytes_take_optional(expect_obj, &expect))
		goto out_key;
	if (bytes_take_optional(value_obj, &value))
		goto out_expect;
	req.key = key.data;
	req.key_len = key.len;
	req.expect = expect.data;
	req.expect_len = expect.len;
	req.value = value.data;
	req.value_len = value.len;
	req.max_len = max_len;
	err = add((struct atomic *)self, index, &req, tag);
	bytes_release(&value);
out_expect:
	bytes_release(&expect);
out_key:
	bytes_release(&key);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}

/* (error, value or None) of each operation */
static PyObject *answers(struct wort_atomic *ptr)
{
	PyObject *list = PyList_New(0), *item;
	struct wort_batch_item got;
	int err;

	while (list && (err = wort_atomic_next(ptr, &got))) {
		if (err < 0)
			item = raise_in_pool(err, NULL);
		else
			item = Py_BuildValue("(iy#)", got.error, got.value,
					     (Py_ssize_t)got.value_len);
		err = item ? PyList_Append(list, item) : -1;
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *take_tags(struct atomic *atomic)
{
	PyObject *list = PyList_New(atomic->nr);
	unsigned int i;

	for (i = 0; list && i < atomic->nr; i++)
		PyList_SET_ITEM(list, i, Py_NewRef(atomic->tags[i]));
	return list;
}

/*
 * _commit(): (error, number of the operation that refused or -1, tags, answers).  The
 * batch is empty afterwards.
 */
static PyObject *commit_method(PyObject *self, PyObject *none)
{
	struct atomic *atomic = (struct atomic *)self;
	struct wort_atomic *ptr = atomic_use(atomic);
	unsigned int refused = WORT_NO_VALUE;
	PyObject *tags, *found;
	int err;

	if (!ptr)
		return NULL;
	turn_take(&atomic->turn);
	WITHOUT_GIL(err, wort_atomic_commit(ptr, &refused));
	tags = take_tags(atomic);
	found = !tags ? NULL : err ? PyList_New(0) : answers(ptr);
	wort_atomic_reset(ptr);
	atomic_clear(self);
	turn_end(&atomic->turn);
	handle_done(&atomic->handle);
	if (!found) {
		Py_XDECREF(tags);
		return NULL;
	}
	return Py_BuildValue("(iiNN)", err,
			     refused == WORT_NO_VALUE ? -1 : (int)refused, tags,
			     found);
}

static PyMethodDef methods[] = {
	{ "_add", add_method, METH_VARARGS, NULL },
	{ "_commit", commit_method, METH_NOARGS, NULL },
	{ }
};

static PyType_Slot slots[] = {
	{ Py_tp_init, atomic_init },
	{ Py_tp_traverse, atomic_traverse },
	{ Py_tp_clear, atomic_clear },
	{ Py_tp_dealloc, atomic_dealloc },
	{ Py_tp_methods, methods },
	{ }
};

PyType_Spec atomic_spec = {
	.name = "wort._wort.Atomic",
	.basicsize = sizeof(struct atomic),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};
