// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Handles of libwort, which any thread may use and close at any time.
 */
#include <pthread.h>

#include "ext.h"

PyTypeObject *handle_type;

/* How often this process was made by a fork since the module was loaded. */
static unsigned int forks;

static void in_child(void)
{
	forks++;
}

static void __attribute__((constructor)) watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

int handle_set(struct handle *handle, void *ptr, void (*give_back)(void *ptr))
{
	if (handle->ptr || handle->closed) {
		give_back(ptr);
		PyErr_Format(PyExc_ValueError, "the %s was opened before",
			     Py_TYPE(handle)->tp_name);
		return -1;
	}
	handle->ptr = ptr;
	handle->give_back = give_back;
	handle->users = 1;
	return 0;
}

void *handle_use(struct handle *handle)
{
	if (handle->closed || !handle->ptr) {
		PyErr_Format(PyExc_ValueError, "the %s is closed",
			     Py_TYPE(handle)->tp_name);
		return NULL;
	}
	handle->users++;
	return handle->ptr;
}

void handle_done(struct handle *handle)
{
	void *ptr = handle->ptr;

	if (--handle->users)
		return;
	handle->ptr = NULL;
	Py_BEGIN_ALLOW_THREADS
	handle->give_back(ptr);
	Py_END_ALLOW_THREADS
}

void handle_close(struct handle *handle)
{
	bool open = handle->ptr && !handle->closed;

	handle->closed = true;
	if (open)
		handle_done(handle);
}

/* The type is one of the heap, and each object holds a reference to it. */
void handle_dealloc(struct handle *handle)
{
	PyTypeObject *type = Py_TYPE(handle);
	PyObject *kind, *value, *trace;

	/* Other threads may run, and this may happen while an exception is raised. */
	PyErr_Fetch(&kind, &value, &trace);
	handle_close(handle);
	PyErr_Restore(kind, value, trace);
	type->tp_free(handle);
	Py_DECREF(type);
}

static PyObject *close_method(PyObject *self, PyObject *none)
{
	handle_close((struct handle *)self);
	Py_RETURN_NONE;
}

static PyObject *enter_method(PyObject *self, PyObject *none)
{
	return Py_NewRef(self);
}

static PyObject *exit_method(PyObject *self, PyObject *const *args,
			     Py_ssize_t nr)
{
	return PyObject_CallMethod(self, "close", NULL);
}

/* Without this, old protocols pickle the fields of a handle, and load a closed one. */
static PyObject *reduce_method(PyObject *self, PyObject *none)
{
	return PyErr_Format(PyExc_TypeError, "%s cannot be pickled: it is of this process",
			    Py_TYPE(self)->tp_name);
}

static PyObject *closed_get(PyObject *self, void *none)
{
	struct handle *handle = (struct handle *)self;

	return PyBool_FromLong(handle->closed || !handle->ptr);
}

static PyMethodDef methods[] = {
	{ "close", close_method, METH_NOARGS,
	  SIGNATURE("close($self, /)")
	  "Close the handle, once no call on it is under way.  Closing it again\n"
	  "has no effect." },
	{ "__reduce__", reduce_method, METH_NOARGS, NULL },
	{ "__enter__", enter_method, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void *)exit_method, METH_FASTCALL, NULL },
	{ }
};

static PyGetSetDef members[] = {
	{ "closed", closed_get, NULL, "Whether it was closed.", NULL },
	{ }
};

static PyType_Slot slots[] = {
	{ Py_tp_dealloc, handle_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, members },
	{ }
};

PyType_Spec handle_spec = {
	.name = "wort._wort.Handle",
	.basicsize = sizeof(struct handle),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};

int turn_init(struct turn *turn)
{
	if (turn->lock)
		return 0;
	turn->lock = PyThread_allocate_lock();
	turn->forks = forks;
	if (!turn->lock)
		PyErr_NoMemory();
	return turn->lock ? 0 : -1;
}

void turn_free(struct turn *turn)
{
	if (turn->lock)
		PyThread_free_lock(turn->lock);
}

/* A thread that the fork has left behind may hold the lock for ever. */
static int after_fork(struct turn *turn)
{
	turn->lock = NULL;
	return turn_init(turn);
}

int turn_wait(struct turn *turn, const char *what)
{
	if (!turn->taken)
		return turn->forks == forks ? 0 : after_fork(turn);
	while (turn->taken) {
		if (turn->forks != forks ||
		    turn->owner == PyThread_get_thread_ident()) {
			PyErr_Format(PyExc_ValueError, "the %s is in use", what);
			return -1;
		}
		Py_BEGIN_ALLOW_THREADS
		PyThread_acquire_lock(turn->lock, WAIT_LOCK);
		PyThread_release_lock(turn->lock);
		Py_END_ALLOW_THREADS
	}
	return 0;
}

/* Those who wait hold the lock for a moment, and need no GIL to release it. */
void turn_take(struct turn *turn)
{
	PyThread_acquire_lock(turn->lock, WAIT_LOCK);
	turn->owner = PyThread_get_thread_ident();
	turn->taken = true;
}

void turn_end(struct turn *turn)
{
	turn->taken = false;
	PyThread_release_lock(turn->lock);
}
