// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Arguments that are bytes, names, paths or numbers.
 */
#include <limits.h>

#include "ext.h"

int bytes_take(PyObject *obj, struct bytes *bytes)
{
	bytes->view.obj = NULL;
	bytes->held = NULL;
	if (PyBytes_Check(obj)) {
		/* Who has it in a list can drop it while the GIL is given away. */
		bytes->held = Py_NewRef(obj);
		bytes->data = PyBytes_AS_STRING(obj);
		bytes->len = PyBytes_GET_SIZE(obj);
		return 0;
	}
	if (PyObject_GetBuffer(obj, &bytes->view, PyBUF_SIMPLE))
		return -1;
	/* NULL would be none at all. */
	bytes->data = bytes->view.buf ? bytes->view.buf : "";
	bytes->len = bytes->view.len;
	return 0;
}

int bytes_take_optional(PyObject *obj, struct bytes *bytes)
{
	if (obj && obj != Py_None)
		return bytes_take(obj, bytes);
	bytes->view.obj = NULL;
	bytes->held = NULL;
	bytes->data = NULL;
	bytes->len = 0;
	return 0;
}

void bytes_release(struct bytes *bytes)
{
	Py_CLEAR(bytes->held);
	if (bytes->view.obj)
		PyBuffer_Release(&bytes->view);
}

PyObject *c_string(PyObject *obj)
{
	PyObject *name;

	if (!PyUnicode_FSConverter(obj, &name))
		return NULL;
	return name;
}

int number_take(PyObject *obj, const char *name, long long least, long long *val)
{
	PyObject *number = PyNumber_Index(obj);
	int overflow;

	if (!number)
		return -1;
	*val = PyLong_AsLongLongAndOverflow(number, &overflow);
	Py_DECREF(number);
	if (overflow < 0 || (!overflow && *val < least)) {
		PyErr_Format(PyExc_ValueError, "%s is %S, and must be %lld or more", name,
			     obj, least);
		return -1;
	}
	if (overflow)
		*val = LLONG_MAX;
	return 0;
}
