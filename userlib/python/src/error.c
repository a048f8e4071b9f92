// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What libwort answers, as exceptions.
 */
#include <errno.h>
#include <string.h>

#include "ext.h"

PyObject *wort_error;

/* The system's words are about files. */
static const struct meaning {
	int err;
	const char *text;
} meanings[] = {
	{ EBADF, "not opened for writing" },
	{ ECANCELED, "the value is not the one expected" },
	{ EMSGSIZE, "keys have 1024 bytes at most, values 65536, names 111" },
	{ ENODEV, "the pool was detached, or is a file that the parent process has open" },
	{ ENOSPC, "the pool is full" },
	{ EROFS, "damage was found, or the pool is attached read-only" },
	{ ESTALE, "the index was destroyed" },
	{ EUCLEAN, "damage was found" },
	{ }
};

static PyObject *text_with(int err, const char *meaning)
{
	return PyUnicode_FromFormat("%s (%s)", strerror(-err), meaning);
}

PyObject *error_text(int err)
{
	const struct meaning *meaning;

	for (meaning = meanings; meaning->err; meaning++)
		if (meaning->err == -err)
			return text_with(err, meaning->text);
	return PyUnicode_FromString(strerror(-err));
}

static PyObject *raise_args(int err, PyObject *text, PyObject *what)
{
	PyObject *args = NULL;

	if (text)
		args = what ? Py_BuildValue("(iOO)", -err, text, what) :
			      Py_BuildValue("(iO)", -err, text);
	if (args)
		PyErr_SetObject(wort_error, args);
	Py_XDECREF(args);
	Py_XDECREF(text);
	return NULL;
}

PyObject *raise_errno(int err, PyObject *what)
{
	return raise_args(err, PyUnicode_FromString(strerror(-err)), what);
}

PyObject *raise_with(int err, const char *meaning, PyObject *what)
{
	return raise_args(err, text_with(err, meaning), what);
}

PyObject *raise_in_pool(int err, PyObject *name)
{
	return raise_args(err, error_text(err), name);
}
