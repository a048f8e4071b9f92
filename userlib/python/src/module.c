// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The module wort._wort.
 */
#include <linux/wort_engines.h>

#include "ext.h"

static const struct {
	const char *name;
	long value;
} constants[] = {
	{ "KEY_MAX", WORT_KEY_MAX },
	{ "VALUE_MAX", WORT_VALUE_MAX },
	{ "NAME_MAX", WORT_NAME_MAX },
	{ "OPEN_CREATE", WORT_INDEX_OPEN_F_CREATE },
	{ "OPEN_EXCL", WORT_INDEX_OPEN_F_EXCL },
	{ "OPEN_RDONLY", WORT_INDEX_OPEN_F_RDONLY },
	{ "OPEN_RELAXED", WORT_INDEX_OPEN_F_RELAXED },
	{ "PUT_CREATE", WORT_INSERT_F_CREATE },
	{ "PUT_REPLACE", WORT_INSERT_F_REPLACE },
	{ "INSERT", WORT_BATCH_INSERT },
	{ "DELETE", WORT_BATCH_DELETE },
	{ "LOOKUP", WORT_BATCH_LOOKUP },
	{ "CAS", WORT_BATCH_CAS },
	{ "EXPECT", WORT_BATCH_EXPECT },
	{ "DELETE_EXPECT", WORT_DELETE_F_EXPECT },
	{ "EXPECT_PRESENT", WORT_EXPECT_F_PRESENT },
	{ "EXPECT_ABSENT", WORT_EXPECT_F_ABSENT },
	{ "FORMAT_FORCE", WORT_FORMAT_F_FORCE },
	{ "SYNC_MEDIA", WORT_SYNC_MEDIA },
	{ "SYNC_PROCESS", WORT_SYNC_PROCESS },
	{ "ATTACH_RDONLY", WORT_ATTACH_F_RDONLY },
	{ "ATTACH_GROW", WORT_ATTACH_F_GROW },
	{ "ATTACH_MCSAFE", WORT_ATTACH_F_MCSAFE },
	{ "STATE_DAMAGED", WORT_STATE_DAMAGED },
	{ "STATE_WALKING", WORT_STATE_WALKING },
	{ "STATE_DEAD", WORT_STATE_DEAD },
	{ "STATE_READONLY", WORT_STATE_READONLY },
	{ "STATE_INDEX_DAMAGED", WORT_STATE_INDEX_DAMAGED },
	{ "STATE_UNKNOWN", WORT_STATE_UNKNOWN },
	{ "TRAIT_INSTANT_OPEN", WORT_TRAIT_INSTANT_OPEN },
	{ "TRAIT_MAPPABLE", WORT_TRAIT_MAPPABLE },
	{ "TRAIT_ORDERED", WORT_TRAIT_ORDERED },
	{ "TRAIT_READERS_LOCK", WORT_TRAIT_READERS_LOCK },
	{ "TRAIT_DELETE_SPACE", WORT_TRAIT_DELETE_SPACE },
	{ "TRAIT_BATCH_SHARED", WORT_TRAIT_BATCH_SHARED },
	{ "SELECT_KEYS", SELECT_KEYS },
	{ "SELECT_VALUES", SELECT_VALUES },
	{ NULL }
};

static int add_constants(PyObject *module)
{
	int i;

	for (i = 0; constants[i].name; i++)
		if (PyModule_AddIntConstant(module, constants[i].name,
					    constants[i].value))
			return -1;
	return 0;
}

/* The module keeps a reference, and @type, unless NULL, another. */
static int add_type(PyObject *module, const char *name, PyType_Spec *spec,
		    PyTypeObject **type)
{
	PyObject *bases = NULL, *made;

	if (handle_type) {
		bases = PyTuple_Pack(1, handle_type);
		if (!bases)
			return -1;
	}
	made = PyType_FromSpecWithBases(spec, bases);
	Py_XDECREF(bases);
	if (!made)
		return -1;
	if (type)
		*type = (PyTypeObject *)Py_NewRef(made);
	if (!PyModule_AddObject(module, name, made))
		return 0;
	Py_DECREF(made);
	return -1;
}

static int add_types(PyObject *module)
{
	return add_type(module, "Handle", &handle_spec, &handle_type) ||
	       add_type(module, "Pool", &pool_spec, &pool_type) ||
	       add_type(module, "Index", &index_spec, &index_type) ||
	       add_type(module, "Scan", &scan_spec, NULL) ||
	       add_type(module, "Batch", &batch_spec, NULL) ||
	       add_type(module, "Atomic", &atomic_spec, NULL) ? -1 : 0;
}

static int add_error(PyObject *module)
{
	static const char doc[] =
		"libwort's answer; errno means what <linux/wort.h> says.";

	wort_error = PyErr_NewExceptionWithDoc("wort.Error", doc, PyExc_OSError,
					       NULL);
	if (!wort_error)
		return -1;
	return PyModule_AddObject(module, "Error", Py_NewRef(wort_error));
}

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "wort._wort",
	.m_doc = "libwort, for the package wort.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit__wort(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (!module)
		return NULL;
	if (PyModule_AddFunctions(module, ctl_methods) ||
	    PyModule_AddFunctions(module, engine_methods) ||
	    add_constants(module) || add_error(module) || add_types(module)) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
