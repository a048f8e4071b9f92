// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Reading in order.
 *
 * libwort's buffer may only be read until the next call, and that call may wait.  So
 * records are copied a chunk at a time without the GIL, and made Python's objects
 * one at a time with it.
 */
#include <errno.h>

#include "ext.h"

/* A chunk ends with the record that makes it as long as this. */
#define CHUNK		(16 << 10)

/* How the records of a chunk begin; NO_VALUE: only keys are read. */
struct head {
	uint32_t key_len;
	uint32_t value_len;
};

#define CHUNK_SIZE	(CHUNK + sizeof(struct head) + WORT_KEY_MAX + WORT_VALUE_MAX)

struct scan {
	struct handle handle;
	struct turn turn;
	int what;
	int result;		/* of libwort behind the chunk: 1, there is more */
	bool ended;
	size_t at;
	size_t len;
	unsigned char *chunk;
};

/* ---- options ---- */

static int take_ends(struct selection *sel, PyObject *start, PyObject *bound)
{
	if (bytes_take_optional(start, &sel->start))
		return -1;
	if (bytes_take_optional(bound, &sel->bound)) {
		bytes_release(&sel->start);
		return -1;
	}
	sel->opts.start = sel->start.data;
	sel->opts.start_len = sel->start.len;
	sel->opts.bound = sel->bound.data;
	sel->opts.bound_len = sel->bound.len;
	return 0;
}

static int take_limit(PyObject *obj, bool *none, uint64_t *limit)
{
	long long val = 0;

	*none = obj == Py_None;
	if (!*none && number_take(obj, "limit", 0, &val))
		return -1;
	*limit = val;
	return 0;
}

static int take_size(PyObject *obj, uint32_t *size)
{
	long long val = 0;

	if (obj && number_take(obj, "buffer_size", 0, &val))
		return -1;
	*size = val < UINT32_MAX ? val : UINT32_MAX;
	return 0;
}

/* No record at all: before the empty key there is none. */
static void select_none(struct selection *sel)
{
	sel->opts.flags &= ~(WORT_SCAN_F_REVERSE | WORT_SCAN_F_PREFIX);
	sel->opts.bound = "";
	sel->opts.bound_len = 0;
}

static int exclude(PyObject *a, PyObject *b, const char *text)
{
	if (a == Py_None || b == Py_None)
		return 0;
	PyErr_SetString(PyExc_ValueError, text);
	return -1;
}

int selection_parse(struct selection *sel, PyObject *kwargs)
{
	static char *names[] = { "start", "after", "before", "prefix", "limit",
				 "reverse", "values", "buffer_size", "_what",
				 NULL };
	PyObject *start = Py_None, *after = Py_None, *before = Py_None,
		 *prefix = Py_None, *limit = Py_None, *buf_size = NULL, *none;
	int reverse = 0, values = 1, err;
	bool all;

	sel->what = SELECT_PAIRS;
	none = PyTuple_New(0);
	err = !none || !PyArg_ParseTupleAndKeywords(none, kwargs, "|$OOOOOppOi",
			names, &start, &after, &before, &prefix, &limit,
			&reverse, &values, &buf_size, &sel->what);
	Py_XDECREF(none);
	sel->opts = (struct wort_scan_opts){ .sz = sizeof(sel->opts) };
	if (err || exclude(start, after, "start and after exclude each other") ||
	    exclude(before, prefix, "before and prefix exclude each other") ||
	    take_limit(limit, &all, &sel->opts.max_count) ||
	    take_size(buf_size, &sel->opts.buf_size) ||
	    take_ends(sel, after == Py_None ? start : after,
		      prefix == Py_None ? before : prefix))
		return -1;
	sel->opts.flags = (reverse ? WORT_SCAN_F_REVERSE : 0) |
			  (after != Py_None ? WORT_SCAN_F_AFTER : 0) |
			  (prefix != Py_None ? WORT_SCAN_F_PREFIX : 0) |
			  (values ? 0 : WORT_SCAN_F_KEYS);
	/* To C a limit of 0 is none. */
	if (!all && !sel->opts.max_count)
		select_none(sel);
	return 0;
}

void selection_release(struct selection *sel)
{
	bytes_release(&sel->start);
	bytes_release(&sel->bound);
}

/* ---- scans ---- */

static void give_back(void *scan)
{
	wort_scan_end(scan);
}

static int scan_open(struct scan *scan, struct handle *index,
		     const struct selection *sel)
{
	struct wort_index *ptr = handle_use(index);
	struct wort_scan *opened;
	int err;

	if (!ptr)
		return -1;
	WITHOUT_GIL(err, wort_scan_begin(ptr, &sel->opts, &opened));
	handle_done(index);
	if (err) {
		raise_in_pool(err, NULL);
		return -1;
	}
	scan->what = sel->what;
	scan->result = 1;
	return handle_set(&scan->handle, opened, give_back);
}

static int scan_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct scan *scan = (struct scan *)self;
	struct selection sel;
	struct handle *index;
	int err;

	if (!PyArg_ParseTuple(args, "O!", index_type, &index) ||
	    turn_init(&scan->turn))
		return -1;
	if (!scan->chunk)
		scan->chunk = PyMem_Malloc(CHUNK_SIZE);
	if (!scan->chunk) {
		PyErr_NoMemory();
		return -1;
	}
	if (selection_parse(&sel, kwargs))
		return -1;
	err = scan_open(scan, index, &sel);
	selection_release(&sel);
	return err;
}

static void scan_dealloc(PyObject *self)
{
	struct scan *scan = (struct scan *)self;

	turn_free(&scan->turn);
	PyMem_Free(scan->chunk);
	handle_dealloc(&scan->handle);
}

static unsigned char *append(unsigned char *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

/* Without the GIL: what libwort returned last, 0 at the end, or an error. */
static int fill(struct scan *scan, struct wort_scan *ptr)
{
	struct wort_scan_item item;
	unsigned char *at;
	struct head head;
	int err = 1;

	for (at = scan->chunk; at - scan->chunk < CHUNK;) {
		err = wort_scan_next(ptr, &item);
		if (err != 1)
			break;
		if (item.key_len > WORT_KEY_MAX ||
		    (item.value && item.value_len > WORT_VALUE_MAX))
			return -EBADMSG;
		head.key_len = item.key_len;
		head.value_len = item.value ? item.value_len : WORT_NO_VALUE;
		at = append(at, &head, sizeof(head));
		at = append(at, item.key, item.key_len);
		if (item.value)
			at = append(at, item.value, item.value_len);
	}
	scan->len = at - scan->chunk;
	return err;
}

/* Have a record in the chunk: 1, 0 at the end, -1 with an exception. */
static int have_record(struct scan *scan)
{
	struct wort_scan *ptr;
	int result;

	if (turn_wait(&scan->turn, Py_TYPE(scan)->tp_name))
		return -1;
	if (scan->ended)
		return 0;
	ptr = handle_use(&scan->handle);
	if (!ptr)
		return -1;
	if (scan->at == scan->len && scan->result == 1) {
		turn_take(&scan->turn);
		scan->at = 0;
		scan->len = 0;
		WITHOUT_GIL(result, fill(scan, ptr));
		scan->result = result;
		turn_end(&scan->turn);
	}
	handle_done(&scan->handle);
	if (scan->at < scan->len)
		return 1;
	if (scan->result < 0) {
		raise_in_pool(scan->result, NULL);
		/* The next call asks again. */
		scan->result = 1;
		return -1;
	}
	scan->ended = true;
	handle_close(&scan->handle);
	return 0;
}

/* The references are the tuple's; NULL: there is no memory. */
static PyObject *pair(PyObject *key, PyObject *value)
{
	PyObject *tuple = key && value ? PyTuple_New(2) : NULL;

	if (!tuple) {
		Py_XDECREF(key);
		Py_XDECREF(value);
		return NULL;
	}
	PyTuple_SET_ITEM(tuple, 0, key);
	PyTuple_SET_ITEM(tuple, 1, value);
	return tuple;
}

/* All that is read of the chunk is copied before other threads can run. */
static PyObject *decode(struct scan *scan)
{
	const unsigned char *at = scan->chunk + scan->at;
	PyObject *key = NULL, *value = NULL;
	const char *bytes;
	struct head head;

	memcpy(&head, at, sizeof(head));
	bytes = (const char *)at + sizeof(head);
	scan->at += sizeof(head) + head.key_len;
	if (head.value_len != WORT_NO_VALUE)
		scan->at += head.value_len;
	if (scan->what != SELECT_VALUES)
		key = PyBytes_FromStringAndSize(bytes, head.key_len);
	if (scan->what == SELECT_KEYS)
		return key;
	value = head.value_len == WORT_NO_VALUE ? Py_NewRef(Py_None) :
		PyBytes_FromStringAndSize(bytes + head.key_len, head.value_len);
	return scan->what == SELECT_VALUES ? value : pair(key, value);
}

static PyObject *scan_next(PyObject *self)
{
	struct scan *scan = (struct scan *)self;

	return have_record(scan) == 1 ? decode(scan) : NULL;
}

static PyType_Slot slots[] = {
	{ Py_tp_init, scan_init },
	{ Py_tp_dealloc, scan_dealloc },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, scan_next },
	{ }
};

PyType_Spec scan_spec = {
	.name = "wort._wort.Scan",
	.basicsize = sizeof(struct scan),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
