// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Engines and their attributes, as libwort lists them.
 */
#include "ext.h"

static PyObject *attributes(uint32_t engine)
{
	PyObject *list = PyList_New(0), *item;
	const struct wort_attr *attr;
	unsigned int nr;
	int err;

	for (nr = 0; list && (attr = wort_engine_attr(engine, nr)); nr++) {
		item = Py_BuildValue("(szKKKK)", attr->name, attr->values,
				     (unsigned long long)attr->min,
				     (unsigned long long)attr->max,
				     (unsigned long long)attr->unit,
				     (unsigned long long)attr->def);
		err = item ? PyList_Append(list, item) : -1;
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(list);
	}
	return list;
}

/* _engines(): (name, id, traits, attributes) of each */
static PyObject *engines_method(PyObject *module, PyObject *none)
{
	PyObject *list = PyList_New(0), *attrs, *item;
	const struct wort_engine *engine;
	unsigned int nr;
	int err;

	for (nr = 0; list && (engine = wort_engine(nr)); nr++) {
		attrs = attributes(engine->id);
		item = attrs ? Py_BuildValue("(sIIN)", engine->name, engine->id,
					     engine->traits, attrs) : NULL;
		err = item ? PyList_Append(list, item) : -1;
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(list);
	}
	return list;
}

/*
 * _attr_set(engine, "NAME=VALUE", word): the word with it.  What an engine does
 * not have, or cannot be, is wrong in the program, as the name of an engine is.
 */
static PyObject *attr_set_method(PyObject *module, PyObject *args)
{
	unsigned long long given;
	unsigned int engine;
	PyObject *text, *bytes;
	uint64_t word;
	int err;

	if (!PyArg_ParseTuple(args, "IOK", &engine, &text, &given))
		return NULL;
	bytes = c_string(text);
	if (!bytes)
		return NULL;
	word = given;
	err = wort_attr_set(engine, PyBytes_AS_STRING(bytes), &word);
	Py_DECREF(bytes);
	if (err == -ENOENT)
		return PyErr_Format(PyExc_ValueError, "the engine has no such attribute: %S",
				    text);
	if (err == -EINVAL || err == -ERANGE)
		return PyErr_Format(PyExc_ValueError, "an attribute cannot be that: %S", text);
	return err ? raise_errno(err, text) : PyLong_FromUnsignedLongLong(word);
}

static PyObject *version_method(PyObject *module, PyObject *none)
{
	return PyUnicode_FromString(wort_version());
}

/* _error_text(number) */
static PyObject *error_text_method(PyObject *module, PyObject *number)
{
	long err = PyLong_AsLong(number);

	return PyErr_Occurred() ? NULL : error_text(-err);
}

PyMethodDef engine_methods[] = {
	{ "_error_text", error_text_method, METH_O, NULL },
	{ "_engines", engines_method, METH_NOARGS, NULL },
	{ "_attr_set", attr_set_method, METH_VARARGS, NULL },
	{ "version", version_method, METH_NOARGS, SIGNATURE("version()")
	  "The version of libwort." },
	{ }
};
