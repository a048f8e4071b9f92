// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Structs that the module fills in.
 */
#include "ext.h"

static PyObject *field_value(const struct field *field, const void *record)
{
	const unsigned char *at = (const unsigned char *)record + field->offset;
	uint64_t number;
	uint32_t half;

	if (field->size == sizeof(number)) {
		memcpy(&number, at, sizeof(number));
		if (number == WORT_UNKNOWN)
			Py_RETURN_NONE;
		return PyLong_FromUnsignedLongLong(number);
	}
	if (field->size == sizeof(half)) {
		memcpy(&half, at, sizeof(half));
		return PyLong_FromUnsignedLong(half);
	}
	return PyBytes_FromStringAndSize((const char *)at, field->size);
}

PyObject *fields_to_dict(const struct field *fields, const void *record)
{
	PyObject *dict = PyDict_New(), *value;
	int err;

	for (; dict && fields->name; fields++) {
		value = field_value(fields, record);
		err = value ? PyDict_SetItemString(dict, fields->name, value) :
			      -1;
		Py_XDECREF(value);
		if (err)
			Py_CLEAR(dict);
	}
	return dict;
}
