// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The control device: pools are made, attached, detached and listed.
 */
#include <errno.h>

#include "ext.h"

/* @what: a device, for the exception */
static PyObject *answer(int err, PyObject *what)
{
	if (err)
		return raise_errno(err, what);
	Py_RETURN_NONE;
}

static int format_device(const char *device, const struct wort_format_opts *opts)
{
	struct wort_ctl *ctl;
	int err = wort_ctl_open(&ctl);

	if (err)
		return err;
	err = wort_ctl_format(ctl, device, opts);
	wort_ctl_close(ctl);
	return err;
}

static int format(PyObject *path, PyObject *size_obj,
		  const struct wort_format_opts *opts)
{
	unsigned long long size;
	int err;

	if (size_obj == Py_None) {
		WITHOUT_GIL(err, format_device(PyBytes_AS_STRING(path), opts));
		return err;
	}
	size = PyLong_AsUnsignedLongLong(size_obj);
	if (PyErr_Occurred())
		return -EINVAL;
	WITHOUT_GIL(err, wort_format_file(PyBytes_AS_STRING(path), size, opts));
	return err;
}

/* _format(path, size, flags, extent_size, uuid or None, label or None); size: None of a device */
static PyObject *format_method(PyObject *module, PyObject *args)
{
	struct wort_format_opts opts = { .sz = sizeof(opts) };
	PyObject *path_obj, *path, *size;
	Py_ssize_t uuid_len;
	const char *uuid;
	int err;

	if (!PyArg_ParseTuple(args, "OOIIz#z", &path_obj, &size, &opts.flags,
			      &opts.extent_size, &uuid, &uuid_len, &opts.label))
		return NULL;
	if (uuid && uuid_len != WORT_UUID_LEN)
		return PyErr_Format(PyExc_ValueError, "a UUID has %d bytes",
				    WORT_UUID_LEN);
	opts.uuid = (const uint8_t *)uuid;
	path = c_string(path_obj);
	if (!path)
		return NULL;
	err = format(path, size, &opts);
	Py_DECREF(path);
	return PyErr_Occurred() ? NULL : answer(err, path_obj);
}

/* _file_holder(path): a process, or 0 */
static PyObject *file_holder_method(PyObject *module, PyObject *path_obj)
{
	PyObject *path = c_string(path_obj);
	pid_t holder;

	if (!path)
		return NULL;
	WITHOUT_GIL(holder, wort_file_holder(PyBytes_AS_STRING(path)));
	Py_DECREF(path);
	return PyLong_FromLong(holder);
}

static int attach(const char *device, uint32_t flags, unsigned int *minor)
{
	struct wort_ctl *ctl;
	int err = wort_ctl_open(&ctl);

	if (err)
		return err;
	err = wort_ctl_attach(ctl, device, flags, minor);
	wort_ctl_close(ctl);
	return err;
}

/* _attach(device, flags): the minor */
static PyObject *attach_method(PyObject *module, PyObject *args)
{
	PyObject *device, *path;
	unsigned int flags, minor = 0;
	int err;

	if (!PyArg_ParseTuple(args, "OI", &device, &flags))
		return NULL;
	path = c_string(device);
	if (!path)
		return NULL;
	WITHOUT_GIL(err, attach(PyBytes_AS_STRING(path), flags, &minor));
	Py_DECREF(path);
	return err ? raise_errno(err, device) : PyLong_FromUnsignedLong(minor);
}

static int detach(unsigned int minor)
{
	struct wort_ctl *ctl;
	int err = wort_ctl_open(&ctl);

	if (err)
		return err;
	err = wort_ctl_detach(ctl, minor);
	wort_ctl_close(ctl);
	return err;
}

static PyObject *detach_method(PyObject *module, PyObject *minor_obj)
{
	unsigned long minor = PyLong_AsUnsignedLong(minor_obj);
	int err;

	if (PyErr_Occurred())
		return NULL;
	if (minor > UINT32_MAX)
		return raise_errno(-ENOENT, NULL);
	WITHOUT_GIL(err, detach(minor));
	return answer(err, NULL);
}

static int list(unsigned int start, struct wort_pool_record *records,
		unsigned int max, bool *more)
{
	struct wort_ctl *ctl;
	int nr = wort_ctl_open(&ctl);

	if (nr)
		return nr;
	nr = wort_ctl_list(ctl, start, records, max, more);
	wort_ctl_close(ctl);
	return nr;
}

static PyObject *record_list(const struct wort_pool_record *recs, int nr)
{
	PyObject *list = PyList_New(0), *item;
	int i, err;

	for (i = 0; list && i < nr; i++) {
		item = Py_BuildValue("(IIKy#y#y#)", recs[i].minor, recs[i].state,
				     (unsigned long long)recs[i].pool_size,
				     recs[i].uuid,
				     (Py_ssize_t)sizeof(recs[i].uuid),
				     recs[i].label,
				     (Py_ssize_t)sizeof(recs[i].label),
				     recs[i].device,
				     (Py_ssize_t)sizeof(recs[i].device));
		err = item ? PyList_Append(list, item) : -1;
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(list);
	}
	return list;
}

#define NR_RECORDS	32

/* _pools(start): some attached pools, and whether there are more */
static PyObject *pools_method(PyObject *module, PyObject *start_obj)
{
	unsigned long start = PyLong_AsUnsignedLong(start_obj);
	struct wort_pool_record records[NR_RECORDS];
	PyObject *found;
	bool more;
	int nr;

	if (PyErr_Occurred())
		return NULL;
	WITHOUT_GIL(nr, list(start, records, NR_RECORDS, &more));
	if (nr < 0)
		return raise_errno(nr, NULL);
	found = record_list(records, nr);
	return found ? Py_BuildValue("(NN)", found, PyBool_FromLong(more)) : NULL;
}

PyMethodDef ctl_methods[] = {
	{ "_format", format_method, METH_VARARGS, NULL },
	{ "_grow", grow_method, METH_VARARGS, NULL },
	{ "_file_holder", file_holder_method, METH_O, NULL },
	{ "_attach", attach_method, METH_VARARGS, NULL },
	{ "_detach", detach_method, METH_O, NULL },
	{ "_pools", pools_method, METH_O, NULL },
	{ }
};
