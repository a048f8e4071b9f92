// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pools.
 */
#include <errno.h>
#include <time.h>

#include "ext.h"

PyTypeObject *pool_type;

static void give_back(void *pool)
{
	wort_pool_close(pool);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* After a signal whose handler raises nothing the rest of the wait, until @end, goes on. */
static bool waits_on(int err, uint64_t end, struct wort_pool_opts *opts)
{
	uint64_t now = now_ms();

	if (err != -EINTR || PyErr_CheckSignals())
		return false;
	opts->wait_ms = now < end ? end - now : 0;
	return true;
}

static int open_pool(const char *path, int flags, struct wort_pool_opts *opts,
		     struct wort_pool **pool)
{
	uint64_t end = now_ms() + opts->wait_ms;
	int err;

	do {
		WITHOUT_GIL(err, wort_pool_open_with(path, flags, opts, pool));
	} while (waits_on(err, end, opts));
	return err;
}

PyObject *grow_method(PyObject *module, PyObject *args)
{
	struct wort_pool_opts opts = { .sz = sizeof(opts) };
	PyObject *path, *size_obj, *bytes;
	unsigned long long size;
	uint64_t end, now;
	int err;

	if (!PyArg_ParseTuple(args, "OOII", &path, &size_obj, &opts.sync, &opts.wait_ms))
		return NULL;
	size = PyLong_AsUnsignedLongLong(size_obj);
	if (PyErr_Occurred())
		return NULL;
	bytes = c_string(path);
	if (!bytes)
		return NULL;
	end = now_ms() + opts.wait_ms;
	do {
		WITHOUT_GIL(err, wort_grow_file(PyBytes_AS_STRING(bytes), size, &opts, NULL,
						&now));
	} while (waits_on(err, end, &opts));
	Py_DECREF(bytes);
	if (PyErr_Occurred())
		return NULL;
	return err ? raise_errno(err, path) : PyLong_FromUnsignedLongLong(now);
}

static int pool_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct wort_pool_opts opts = { .sz = sizeof(opts) };
	PyObject *path, *bytes;
	struct wort_pool *pool;
	int flags, err;

	if (!PyArg_ParseTuple(args, "OiII", &path, &flags, &opts.sync, &opts.wait_ms))
		return -1;
	bytes = c_string(path);
	if (!bytes)
		return -1;
	err = open_pool(PyBytes_AS_STRING(bytes), flags, &opts, &pool);
	Py_DECREF(bytes);
	if (err && !PyErr_Occurred())
		raise_errno(err, path);
	if (err)
		return -1;
	return handle_set((struct handle *)self, pool, give_back);
}

static PyObject *answer(int err, PyObject *name)
{
	if (err)
		return raise_in_pool(err, name);
	Py_RETURN_NONE;
}

static PyObject *map_method(PyObject *self, PyObject *none)
{
	struct handle *handle = (struct handle *)self;
	struct wort_pool *pool = handle_use(handle);
	int err;

	if (!pool)
		return NULL;
	WITHOUT_GIL(err, wort_pool_map(pool));
	handle_done(handle);
	return answer(err, NULL);
}

static PyObject *map_stats_method(PyObject *self, PyObject *none)
{
	struct handle *handle = (struct handle *)self;
	struct wort_pool *pool = handle_use(handle);
	struct wort_map_stats stats;
	int err;

	if (!pool)
		return NULL;
	err = wort_pool_map_stats(pool, &stats);
	handle_done(handle);
	if (err)
		return raise_in_pool(err, NULL);
	return Py_BuildValue("{sKsK}", "retries",
			     (unsigned long long)stats.retries, "fallbacks",
			     (unsigned long long)stats.fallbacks);
}

static PyObject *destroy_method(PyObject *self, PyObject *name)
{
	struct handle *handle = (struct handle *)self;
	PyObject *bytes = c_string(name);
	struct wort_pool *pool;
	int err = 0;

	if (!bytes)
		return NULL;
	pool = handle_use(handle);
	if (pool) {
		WITHOUT_GIL(err, wort_pool_destroy(pool,
						   PyBytes_AS_STRING(bytes)));
		handle_done(handle);
	}
	Py_DECREF(bytes);
	return pool ? answer(err, name) : NULL;
}

/* False: the pool is closed, which was raised. */
static bool rename_both(struct handle *handle, PyObject *name, PyObject *new_name, int *err)
{
	struct wort_pool *pool = handle_use(handle);

	if (!pool)
		return false;
	WITHOUT_GIL(*err, wort_pool_rename(pool, PyBytes_AS_STRING(name),
					   PyBytes_AS_STRING(new_name)));
	handle_done(handle);
	return true;
}

static PyObject *rename_method(PyObject *self, PyObject *args)
{
	PyObject *from, *to, *name, *new_name;
	bool done = false;
	int err = 0;

	if (!PyArg_ParseTuple(args, "OO:rename", &from, &to))
		return NULL;
	name = c_string(from);
	new_name = name ? c_string(to) : NULL;
	if (new_name)
		done = rename_both((struct handle *)self, name, new_name, &err);
	Py_XDECREF(new_name);
	Py_XDECREF(name);
	/* Only the first name has to be there. */
	return done ? answer(err, err == -ENOENT ? from : to) : NULL;
}

#define NR_RECORDS	64

static PyObject *record_list(const struct wort_index_record *recs, int nr)
{
	PyObject *list = PyList_New(0), *item;
	uint32_t len;
	int i, err;

	for (i = 0; list && i < nr; i++) {
		len = recs[i].name_len;
		if (len > sizeof(recs[i].name))
			len = sizeof(recs[i].name);
		item = Py_BuildValue("(y#KII)", recs[i].name, (Py_ssize_t)len,
				     (unsigned long long)recs[i].id,
				     recs[i].engine, recs[i].state);
		err = item ? PyList_Append(list, item) : -1;
		Py_XDECREF(item);
		if (err)
			Py_CLEAR(list);
	}
	return list;
}

/* _list(after): some indexes behind the one with this number, and whether there are more. */
static PyObject *list_method(PyObject *self, PyObject *after_obj)
{
	unsigned long long after = PyLong_AsUnsignedLongLong(after_obj);
	struct wort_index_record records[NR_RECORDS];
	struct handle *handle = (struct handle *)self;
	struct wort_pool *pool;
	PyObject *list;
	bool more;
	int nr;

	if (PyErr_Occurred())
		return NULL;
	pool = handle_use(handle);
	if (!pool)
		return NULL;
	WITHOUT_GIL(nr, wort_pool_list(pool, after, records, NR_RECORDS, &more));
	handle_done(handle);
	if (nr < 0)
		return raise_in_pool(nr, NULL);
	list = record_list(records, nr);
	return list ? Py_BuildValue("(NN)", list, PyBool_FromLong(more)) : NULL;
}

static PyObject *info_method(PyObject *self, PyObject *none)
{
	static const struct field fields[] = {
		FIELD(wort_pool_info_arg, pool_size),
		FIELD(wort_pool_info_arg, extent_size),
		FIELD(wort_pool_info_arg, nr_extents),
		FIELD(wort_pool_info_arg, free_extents),
		FIELD(wort_pool_info_arg, reserve_extents),
		FIELD(wort_pool_info_arg, used_bytes),
		FIELD(wort_pool_info_arg, freeing_bytes),
		FIELD(wort_pool_info_arg, nr_indexes),
		FIELD(wort_pool_info_arg, nr_dying),
		FIELD(wort_pool_info_arg, walk_indexes),
		FIELD(wort_pool_info_arg, walk_records),
		FIELD(wort_pool_info_arg, attach_lines),
		FIELD(wort_pool_info_arg, incompat),
		FIELD(wort_pool_info_arg, format_time),
		FIELD(wort_pool_info_arg, state),
		FIELD(wort_pool_info_arg, flush),
		FIELD(wort_pool_info_arg, uuid),
		FIELD(wort_pool_info_arg, label),
		FIELD(wort_pool_info_arg, nr_damaged),
		FIELD(wort_pool_info_arg, atomic_batches),
		FIELD(wort_pool_info_arg, atomic_refused),
		FIELD(wort_pool_info_arg, atomic_waits),
		FIELD(wort_pool_info_arg, atomic_redone),
		{ }
	};
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct handle *handle = (struct handle *)self;
	struct wort_pool *pool = handle_use(handle);
	int err;

	if (!pool)
		return NULL;
	WITHOUT_GIL(err, wort_pool_info(pool, &info));
	handle_done(handle);
	return err ? raise_in_pool(err, NULL) : fields_to_dict(fields, &info);
}

static PyObject *check_method(PyObject *self, PyObject *clear)
{
	static const struct field fields[] = {
		FIELD(wort_check_arg, nr_indexes),
		FIELD(wort_check_arg, nr_nodes),
		FIELD(wort_check_arg, nr_leaves),
		FIELD(wort_check_arg, owned_bytes),
		FIELD(wort_check_arg, free_bytes),
		FIELD(wort_check_arg, freeing_bytes),
		FIELD(wort_check_arg, nr_transient),
		FIELD(wort_check_arg, nr_damaged),
		FIELD(wort_check_arg, damaged_off),
		FIELD(wort_check_arg, damaged_index),
		FIELD(wort_check_arg, nr_dropped),
		FIELD(wort_check_arg, nr_lost),
		FIELD(wort_check_arg, nr_unknown),
		FIELD(wort_check_arg, nr_atomic),
		{ }
	};
	struct wort_check_arg check = { .size = sizeof(check) };
	struct handle *handle = (struct handle *)self;
	int err, want = PyObject_IsTrue(clear);
	struct wort_pool *pool;

	if (want < 0)
		return NULL;
	check.flags = want ? WORT_CHECK_F_CLEAR : 0;
	pool = handle_use(handle);
	if (!pool)
		return NULL;
	WITHOUT_GIL(err, wort_pool_check(pool, &check));
	handle_done(handle);
	return err ? raise_in_pool(err, NULL) : fields_to_dict(fields, &check);
}

static PyMethodDef methods[] = {
	{ "map", map_method, METH_NOARGS,
	  SIGNATURE("map($self, /)")
	  "Map the pool: lookups in indexes opened afterwards make no system\n"
	  "call, unless a writer changes what they read." },
	{ "map_stats", map_stats_method, METH_NOARGS,
	  SIGNATURE("map_stats($self, /)")
	  "{\"retries\": n, \"fallbacks\": n} of lookups since map(): repeated, and\n"
	  "answered by the module after all." },
	{ "destroy", destroy_method, METH_O,
	  SIGNATURE("destroy($self, name, /)")
	  "Drop an index with all of its records." },
	{ "rename", rename_method, METH_VARARGS,
	  SIGNATURE("rename($self, name, new_name, /)")
	  "Give an index a name that no index has." },
	{ "_list", list_method, METH_O, NULL },
	{ "_info", info_method, METH_NOARGS, NULL },
	{ "_check", check_method, METH_O, NULL },
	{ }
};

static PyType_Slot slots[] = {
	{ Py_tp_init, pool_init },
	{ Py_tp_methods, methods },
	{ }
};

PyType_Spec pool_spec = {
	.name = "wort._wort.Pool",
	.basicsize = sizeof(struct handle),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
