// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Batches: an operation is packed with the GIL held, and the batch is submitted
 * without it when it is full.
 */
#include <errno.h>

#include "ext.h"

struct batch {
	struct handle handle;
	struct turn turn;
	PyObject *index;
	unsigned long long submitted;	/* operations of earlier submits */
	unsigned long long done;	/* operations that are durable */
	unsigned int nr;		/* operations in the batch */
	PyObject *keys[WORT_BATCH_MAX];	/* bytes */
	bool is_put[WORT_BATCH_MAX];
};

static void give_back(void *batch)
{
	wort_batch_free(batch);
}

/* None: as many as the module takes; a larger number is not reached. */
static int take_max(PyObject *obj, uint32_t *max)
{
	long long val = 0;

	if (obj != Py_None && number_take(obj, "max_ops", 1, &val))
		return -1;
	*max = val > WORT_BATCH_MAX ? WORT_BATCH_MAX : val;
	return 0;
}

static int batch_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct wort_batch_opts opts = { .sz = sizeof(opts) };
	struct batch *batch = (struct batch *)self;
	PyObject *index, *max = Py_None;
	struct wort_batch *opened;
	int err;

	if (!PyArg_ParseTuple(args, "O!|O", index_type, &index, &max) ||
	    take_max(max, &opts.max_ops) || turn_init(&batch->turn))
		return -1;
	if (!opts.max_ops)
		opts.max_ops = WORT_BATCH_MAX;
	err = wort_batch_new(&opts, &opened);
	if (err) {
		raise_in_pool(err, NULL);
		return -1;
	}
	if (handle_set(&batch->handle, opened, give_back))
		return -1;
	batch->index = Py_NewRef(index);
	return 0;
}

static void forget(struct batch *batch)
{
	while (batch->nr)
		Py_DECREF(batch->keys[--batch->nr]);
}

static int batch_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct batch *)self)->index);
	return 0;
}

static int batch_clear(PyObject *self)
{
	Py_CLEAR(((struct batch *)self)->index);
	return 0;
}

static void batch_dealloc(PyObject *self)
{
	struct batch *batch = (struct batch *)self;

	PyObject_GC_UnTrack(self);
	batch_clear(self);
	forget(batch);
	turn_free(&batch->turn);
	handle_dealloc(&batch->handle);
}

/*
 * Without the GIL: submit, and empty the batch.  The error of the operation behind the
 * *@done that are durable.
 */
static int submit(struct wort_batch *ptr, struct wort_index *index,
		  unsigned int *done)
{
	int err = wort_batch_submit(ptr, index, WORT_BATCH_F_STOP);
	unsigned int failed = wort_batch_failed(ptr);
	struct wort_batch_item item = { };

	if (failed) {
		while (!item.error && wort_batch_next(ptr, &item) > 0)
			;
		err = item.error ? item.error : err ? err : -EBADMSG;
	}
	*done = wort_batch_done(ptr) - failed;
	wort_batch_reset(ptr);
	return err;
}

/* Raise a BatchError, or the error of a call whose operations were all carried out. */
static void raise_failed(struct batch *batch, int err, unsigned int done,
			 unsigned long long first)
{
	PyObject *none;

	if (done >= batch->nr) {
		raise_in_pool(err, NULL);
		return;
	}
	none = PyObject_CallMethod((PyObject *)batch, "_failed", "isOK", -err,
				   batch->is_put[done] ? "put" : "delete",
				   batch->keys[done], first + done);
	Py_XDECREF(none);
}

/* @ptr and @index are in use. */
static int submit_used(struct batch *batch, struct wort_batch *ptr,
		       struct wort_index *index)
{
	unsigned long long first = batch->submitted;
	unsigned int done;
	int err;

	turn_take(&batch->turn);
	WITHOUT_GIL(err, submit(ptr, index, &done));
	batch->submitted += batch->nr;
	batch->done += done;
	/* Before other threads append. */
	if (err)
		raise_failed(batch, err, done, first);
	forget(batch);
	turn_end(&batch->turn);
	return err ? -1 : 0;
}

/* If the index is closed the operations stay, and the next submit tells it again. */
static int submit_batch(struct batch *batch, struct wort_batch *ptr)
{
	struct handle *index = (struct handle *)batch->index;
	struct wort_index *index_ptr = handle_use(index);
	int err;

	if (!index_ptr)
		return -1;
	err = submit_used(batch, ptr, index_ptr);
	handle_done(index);
	return err;
}

static void *batch_use(struct batch *batch)
{
	if (turn_wait(&batch->turn, Py_TYPE(batch)->tp_name))
		return NULL;
	return handle_use(&batch->handle);
}

/* @value: NULL to delete */
static int add(struct wort_batch *ptr, const struct bytes *key,
	       const struct bytes *value)
{
	if (!value)
		return wort_batch_del(ptr, key->data, key->len);
	return wort_batch_put(ptr, key->data, key->len, value->data, value->len,
			      0);
}

static int add_or_submit(struct batch *batch, struct wort_batch *ptr,
			 const struct bytes *key, const struct bytes *value)
{
	int err;

	/* While it is submitted another thread waits, and may fill it again. */
	while ((err = add(ptr, key, value)) == -ENOBUFS) {
		if (submit_batch(batch, ptr) || PyErr_CheckSignals() ||
		    turn_wait(&batch->turn, Py_TYPE(batch)->tp_name))
			return -1;
	}
	if (err)
		raise_in_pool(err, NULL);
	return err ? -1 : 0;
}

static int append_bytes(struct batch *batch, PyObject *key_obj,
			const struct bytes *key, const struct bytes *value)
{
	PyObject *kept = PyBytes_CheckExact(key_obj) ? Py_NewRef(key_obj) :
			 PyBytes_FromStringAndSize(key->data, key->len);
	struct wort_batch *ptr;
	int err = -1;

	if (!kept)
		return -1;
	ptr = batch_use(batch);
	if (ptr) {
		err = add_or_submit(batch, ptr, key, value);
		if (!err) {
			batch->keys[batch->nr] = kept;
			batch->is_put[batch->nr++] = value;
			kept = NULL;
		}
		handle_done(&batch->handle);
	}
	Py_XDECREF(kept);
	return err;
}

/* @value_obj: NULL to delete */
static int append(struct batch *batch, PyObject *key_obj, PyObject *value_obj)
{
	struct bytes key, value;
	int err;

	if (bytes_take(key_obj, &key))
		return -1;
	err = value_obj ? bytes_take(value_obj, &value) : 0;
	if (!err) {
		err = append_bytes(batch, key_obj, &key,
				   value_obj ? &value : NULL);
		if (value_obj)
			bytes_release(&value);
	}
	bytes_release(&key);
	return err;
}

static PyObject *put_method(PyObject *self, PyObject *const *args,
			    Py_ssize_t nr)
{
	if (nr != 2) {
		PyErr_SetString(PyExc_TypeError, "put(key, value)");
		return NULL;
	}
	if (append((struct batch *)self, args[0], args[1]))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *delete_method(PyObject *self, PyObject *key)
{
	if (append((struct batch *)self, key, NULL))
		return NULL;
	Py_RETURN_NONE;
}

/* Taking the key may run code of the program, which may change a list. */
static int append_pair(struct batch *batch, PyObject *pair)
{
	PyObject *two = PySequence_Tuple(pair);
	int err = -1;

	if (!two)
		return -1;
	if (PyTuple_GET_SIZE(two) != 2)
		PyErr_SetString(PyExc_ValueError, "update() takes pairs");
	else
		err = append(batch, PyTuple_GET_ITEM(two, 0),
			     PyTuple_GET_ITEM(two, 1));
	Py_DECREF(two);
	return err;
}

static PyObject *update_method(PyObject *self, PyObject *pairs)
{
	PyObject *iter = PyObject_GetIter(pairs), *pair;
	int err = 0;

	if (!iter)
		return NULL;
	while (!err && (pair = PyIter_Next(iter))) {
		err = append_pair((struct batch *)self, pair);
		Py_DECREF(pair);
	}
	Py_DECREF(iter);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *submit_method(PyObject *self, PyObject *none)
{
	struct batch *batch = (struct batch *)self;
	struct wort_batch *ptr = batch_use(batch);
	int err;

	if (!ptr)
		return NULL;
	err = submit_batch(batch, ptr);
	handle_done(&batch->handle);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "put", (PyCFunction)(void *)put_method, METH_FASTCALL,
	  SIGNATURE("put($self, key, value, /)")
	  "Store a record, whether or not the key exists." },
	{ "delete", delete_method, METH_O,
	  SIGNATURE("delete($self, key, /)")
	  "Remove a record; it is an error if the key does not exist." },
	{ "update", update_method, METH_O,
	  SIGNATURE("update($self, pairs, /)")
	  "put() of each pair of key and value." },
	{ "submit", submit_method, METH_NOARGS,
	  SIGNATURE("submit($self, /)")
	  "Carry out the operations that were appended; @done counts those that\n"
	  "are durable." },
	{ }
};

static PyObject *done_get(PyObject *self, void *none)
{
	return PyLong_FromUnsignedLongLong(((struct batch *)self)->done);
}

static PyGetSetDef members[] = {
	{ "done", done_get, NULL, "How many operations are durable.", NULL },
	{ }
};

static PyType_Slot slots[] = {
	{ Py_tp_init, batch_init },
	{ Py_tp_traverse, batch_traverse },
	{ Py_tp_clear, batch_clear },
	{ Py_tp_dealloc, batch_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, members },
	{ }
};

PyType_Spec batch_spec = {
	.name = "wort._wort.Batch",
	.basicsize = sizeof(struct batch),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};
