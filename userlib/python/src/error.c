// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What libwort answers, as exceptions.
 */
#include <string.h>

#include "ext.h"

PyObject *wort_error;

PyObject *raise_errno(int err, PyObject *what)
{
	PyObject *args = what ?
		Py_BuildValue("(isO)", -err, strerror(-err), what) :
		Py_BuildValue("(is)", -err, strerror(-err));

	if (args)
		PyErr_SetObject(wort_error, args);
	Py_XDECREF(args);
	return NULL;
}
