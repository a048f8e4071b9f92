/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * wort._wort: libwort for the package wort, which its other files finish.
 *
 * A call into libwort that may wait is made without the GIL, between
 * handle_use() and handle_done().  All else here is changed with the GIL held,
 * which is the lock of this module.
 */
#ifndef _WORT_PYTHON_EXT_H
#define _WORT_PYTHON_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include <wort.h>

/* @err: what a call of libwort returns, made without the GIL */
#define WITHOUT_GIL(err, call) do {	\
	Py_BEGIN_ALLOW_THREADS		\
	(err) = (call);			\
	Py_END_ALLOW_THREADS		\
} while (0)

/* What help() says of a method, before a string with the rest. */
#define SIGNATURE(text)	text "\n--\n\n"

/* ---- error.c ---- */

/* wort.Error, an OSError */
extern PyObject *wort_error;

/* Raise a wort.Error; @err is negative.  @what: a path or an option, or NULL. */
PyObject *raise_errno(int err, PyObject *what);
/* The same with a meaning that the system's words do not have. */
PyObject *raise_with(int err, const char *meaning, PyObject *what);
/* The same of an operation on a pool or an index; @name: of an index, or NULL. */
PyObject *raise_in_pool(int err, PyObject *name);
/* What it says of @err. */
PyObject *error_text(int err);

/* ---- bytes.c ---- */

/* Bytes that an argument has, which stay as long as they are not released. */
struct bytes {
	const void *data;
	size_t len;
	PyObject *held;		/* a bytes object, or NULL */
	Py_buffer view;		/* taken if view.obj is not NULL */
};

int bytes_take(PyObject *obj, struct bytes *bytes);
void bytes_release(struct bytes *bytes);
/* None gives a NULL pointer. */
int bytes_take_optional(PyObject *obj, struct bytes *bytes);

/*
 * A whole number of at least @least, called @name in the error.  Of one that C does not
 * hold the largest that it does: none of these is ever reached.
 */
int number_take(PyObject *obj, const char *name, long long least, long long *val);
/* Names and paths: as os.fsencode() has them, without a zero byte; a new reference. */
PyObject *c_string(PyObject *obj);

/* ---- handle.c ---- */

/*
 * A handle of libwort.  The object is one user of it until it is closed, and
 * each call another: the last one gives the handle back, since the next open
 * may get the same memory and descriptor.
 */
struct handle {
	PyObject_HEAD
	void *ptr;
	void (*give_back)(void *ptr);
	unsigned int users;
	bool closed;
};

extern PyType_Spec handle_spec;

/* Take what an open has returned; give it back if the object has one already. */
int handle_set(struct handle *handle, void *ptr, void (*give_back)(void *ptr));
/* libwort's pointer, valid until handle_done(); NULL with a ValueError: closed. */
void *handle_use(struct handle *handle);
void handle_done(struct handle *handle);
void handle_close(struct handle *handle);
void handle_dealloc(struct handle *handle);

/*
 * The turn of a handle that libwort lets one call at a time use.  It is taken
 * only where the GIL is given up; all other uses wait until nobody has it.
 */
struct turn {
	PyThread_type_lock lock;
	unsigned long owner;
	unsigned int forks;
	bool taken;
};

int turn_init(struct turn *turn);
void turn_free(struct turn *turn);
/*
 * Wait until no other thread has the turn.  -1 with a ValueError if it would
 * never end: this thread has it, or one that a fork has left behind.
 */
int turn_wait(struct turn *turn, const char *what);
void turn_take(struct turn *turn);
void turn_end(struct turn *turn);

/* ---- the types ---- */

extern PyType_Spec pool_spec, index_spec, scan_spec, batch_spec, atomic_spec;
extern PyTypeObject *handle_type, *pool_type, *index_type;

/* Functions of the module: control device and engines. */
extern PyMethodDef ctl_methods[], engine_methods[];
/* _grow(path, size, sync, wait_ms): in pool.c, for it waits as an open does */
PyObject *grow_method(PyObject *module, PyObject *args);

/* ---- record.c: structs as dicts ---- */

struct field {
	const char *name;
	unsigned short offset;
	unsigned short size;	/* 4 and 8: a number; others: bytes */
};

#define FIELD(type, member)						\
	{ #member, offsetof(struct type, out_##member),			\
	  sizeof(((struct type *)NULL)->out_##member) }

/* A field named NULL ends the table. */
PyObject *fields_to_dict(const struct field *fields, const void *record);

/* ---- scan.c ---- */

/* Options of a scan or a count, and the bytes that they refer to. */
struct selection {
	struct wort_scan_opts opts;
	struct bytes start;
	struct bytes bound;
	int what;		/* SELECT_* */
};

enum { SELECT_PAIRS, SELECT_KEYS, SELECT_VALUES };

int selection_parse(struct selection *sel, PyObject *kwargs);
void selection_release(struct selection *sel);

#endif
