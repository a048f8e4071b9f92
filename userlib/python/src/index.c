// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Single operations on an index, and lookups of many keys.
 */
#include <errno.h>

#include "ext.h"

PyTypeObject *index_type;

/* Values up to this length are read at the first attempt. */
#define VALUE_GUESS	2048

/* A lookup of many reads values up to this length together, longer ones singly. */
#define MANY_VALUE	1000

static void give_back(void *index)
{
	wort_index_close(index);
}

/* @name: bytes */
static void raise_not_opened(int err, PyObject *name)
{
	PyObject *shown = PyUnicode_DecodeFSDefaultAndSize(PyBytes_AS_STRING(name),
							   PyBytes_GET_SIZE(name));

	if (!shown)
		return;
	if (err == -EINVAL && PyBytes_GET_SIZE(name))
		raise_with(err, "the index has another engine or other attributes", shown);
	else
		raise_in_pool(err, shown);
	Py_DECREF(shown);
}

static int index_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct wort_index_opts opts = { .sz = sizeof(opts) };
	unsigned long long attr = 0;
	struct wort_index *index;
	struct handle *pool;
	struct wort_pool *ptr;
	PyObject *name;
	int err;

	if (!PyArg_ParseTuple(args, "O!O&|IIK", pool_type, &pool,
			      PyUnicode_FSConverter, &name, &opts.flags,
			      &opts.engine, &attr))
		return -1;
	opts.attr = attr;
	ptr = handle_use(pool);
	if (!ptr) {
		Py_DECREF(name);
		return -1;
	}
	WITHOUT_GIL(err, wort_index_open(ptr, PyBytes_AS_STRING(name), &opts,
					 &index));
	handle_done(pool);
	if (err)
		raise_not_opened(err, name);
	Py_DECREF(name);
	return err ? -1 : handle_set((struct handle *)self, index, give_back);
}

/* No such key, or none that there can be. */
static bool is_missing(int err, const struct bytes *key)
{
	return err == -ENOENT || !key->len || key->len > WORT_KEY_MAX;
}

static PyObject *raise_for_key(int err, const struct bytes *key, PyObject *obj)
{
	if (!is_missing(err, key))
		return raise_in_pool(err, NULL);
	PyErr_SetObject(PyExc_KeyError, obj);
	return NULL;
}

/* A value longer than the guess, which may be replaced by a longer one meanwhile. */
static int get_long(struct wort_index *index, const struct bytes *key,
		    size_t len, PyObject **value)
{
	size_t size;
	int err;

	do {
		size = len;
		*value = PyBytes_FromStringAndSize(NULL, size);
		if (!*value)
			return -ENOMEM;
		WITHOUT_GIL(err, wort_get(index, key->data, key->len,
					  PyBytes_AS_STRING(*value), &len));
		if (err)
			Py_CLEAR(*value);
	} while (err == -ERANGE);
	if (!err && len < size && _PyBytes_Resize(value, len))
		return -ENOMEM;
	return err;
}

static int get(struct wort_index *index, const struct bytes *key,
	       PyObject **value)
{
	size_t len = VALUE_GUESS;
	char buf[VALUE_GUESS];
	int err;

	*value = NULL;
	WITHOUT_GIL(err, wort_get(index, key->data, key->len, buf, &len));
	if (err == -ERANGE)
		err = get_long(index, key, len, value);
	else if (!err)
		*value = PyBytes_FromStringAndSize(buf, len);
	return !err && !*value ? -ENOMEM : err;
}

/* @or: what to return if there is no such key; NULL: a KeyError */
static PyObject *lookup(PyObject *self, PyObject *obj, PyObject *or)
{
	struct handle *handle = (struct handle *)self;
	struct wort_index *index;
	PyObject *value = NULL;
	struct bytes key;
	int err;

	if (bytes_take(obj, &key))
		return NULL;
	index = handle_use(handle);
	if (!index)
		goto out;
	err = get(index, &key, &value);
	handle_done(handle);
	if (err && or && is_missing(err, &key))
		value = Py_NewRef(or);
	else if (err && !PyErr_Occurred())
		raise_for_key(err, &key, obj);
out:
	bytes_release(&key);
	return value;
}

static PyObject *subscript(PyObject *self, PyObject *key)
{
	if (PySlice_Check(key))
		return PyObject_CallMethod(self, "_slice", "O", key);
	return lookup(self, key, NULL);
}

static PyObject *get_method(PyObject *self, PyObject *const *args,
			    Py_ssize_t nr)
{
	if (nr < 1 || nr > 2) {
		PyErr_SetString(PyExc_TypeError, "get(key, default=None)");
		return NULL;
	}
	return lookup(self, args[0], nr == 2 ? args[1] : Py_None);
}

static int contains(PyObject *self, PyObject *obj)
{
	struct handle *handle = (struct handle *)self;
	struct wort_index *index;
	struct bytes key;
	size_t len = 0;
	int err = -1;

	if (bytes_take(obj, &key))
		return -1;
	index = handle_use(handle);
	if (index) {
		WITHOUT_GIL(err, wort_get(index, key.data, key.len, NULL, &len));
		handle_done(handle);
		if (!err || err == -ERANGE)
			err = 1;
		else if (is_missing(err, &key))
			err = 0;
		else
			raise_in_pool(err, NULL);
	}
	bytes_release(&key);
	return err < 0 ? -1 : err;
}

static int store(PyObject *self, PyObject *key_obj, PyObject *value_obj,
		 uint32_t flags)
{
	struct handle *handle = (struct handle *)self;
	struct bytes key, value;
	struct wort_index *index;
	int err = -1;

	if (bytes_take(key_obj, &key))
		return -1;
	if (bytes_take(value_obj, &value))
		goto out;
	index = handle_use(handle);
	if (index) {
		WITHOUT_GIL(err, wort_put(index, key.data, key.len, value.data,
					  value.len, flags));
		handle_done(handle);
		if (err)
			raise_in_pool(err, NULL);
	}
	bytes_release(&value);
out:
	bytes_release(&key);
	return err ? -1 : 0;
}

/* NULL as the value that is expected: any. */
static int remove_key(struct handle *handle, const struct bytes *key,
		      const struct bytes *expect)
{
	struct wort_index *index = handle_use(handle);
	int err;

	if (!index)
		return 1;
	WITHOUT_GIL(err, wort_del_if(index, key->data, key->len, expect->data,
				     expect->len, NULL));
	handle_done(handle);
	return err;
}

static int delete(PyObject *self, PyObject *obj)
{
	const struct bytes any = { };
	struct bytes key;
	int err;

	if (bytes_take(obj, &key))
		return -1;
	err = remove_key((struct handle *)self, &key, &any);
	if (err < 0)
		raise_for_key(err, &key, obj);
	bytes_release(&key);
	return err ? -1 : 0;
}

static int assign(PyObject *self, PyObject *key, PyObject *value)
{
	PyObject *done;

	if (!PySlice_Check(key))
		return value ? store(self, key, value, 0) : delete(self, key);
	if (value) {
		PyErr_SetString(PyExc_TypeError,
				"records cannot be stored by a slice");
		return -1;
	}
	done = PyObject_CallMethod(self, "_delete_slice", "O", key);
	Py_XDECREF(done);
	return done ? 0 : -1;
}

static int put_flags(int create, int replace, uint32_t *flags)
{
	*flags = (create ? WORT_INSERT_F_CREATE : 0) |
		 (replace ? WORT_INSERT_F_REPLACE : 0);
	if (!create || !replace)
		return 0;
	PyErr_SetString(PyExc_ValueError, "create and replace exclude each other");
	return -1;
}

static PyObject *put_method(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "key", "value", "create", "replace", NULL };
	int create = 0, replace = 0;
	PyObject *key, *value;
	uint32_t flags;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|pp", names, &key,
					 &value, &create, &replace))
		return NULL;
	if (put_flags(create, replace, &flags) || store(self, key, value, flags))
		return NULL;
	Py_RETURN_NONE;
}

/* A change that returns the former value: put, cas or delete. */
struct change {
	struct bytes key;
	struct bytes value;
	struct bytes expect;
	uint32_t flags;
	int (*run)(struct wort_index *index, const struct change *change,
		   struct wort_old *old);
};

static int run_put(struct wort_index *index, const struct change *c,
		   struct wort_old *old)
{
	return wort_put_fetch(index, c->key.data, c->key.len, c->value.data,
			      c->value.len, c->flags, old);
}

static int run_cas(struct wort_index *index, const struct change *c,
		   struct wort_old *old)
{
	return wort_cas(index, c->key.data, c->key.len, c->expect.data,
			c->expect.len, c->value.data, c->value.len, old);
}

static int run_delete(struct wort_index *index, const struct change *c,
		      struct wort_old *old)
{
	return wort_del_if(index, c->key.data, c->key.len, c->expect.data,
			   c->expect.len, old);
}

/* As long as the former value does not fit nothing was changed. */
static int fetch(struct wort_index *index, const struct change *change,
		 PyObject **former)
{
	struct wort_old old;
	char buf[VALUE_GUESS];
	char *large = NULL;
	int err;

	old = (struct wort_old){ .buf = buf, .size = sizeof(buf) };
	WITHOUT_GIL(err, change->run(index, change, &old));
	if (err == -ERANGE) {
		large = PyMem_Malloc(WORT_VALUE_MAX);
		if (!large)
			return -ENOMEM;
		old.buf = large;
		old.size = WORT_VALUE_MAX;
		WITHOUT_GIL(err, change->run(index, change, &old));
	}
	*former = NULL;
	if (!err || err == -EEXIST || err == -ECANCELED)
		*former = old.found ?
			PyBytes_FromStringAndSize(old.buf, old.len) :
			Py_NewRef(Py_None);
	PyMem_Free(large);
	return err;
}

/*
 * Make a change of @key_obj to @value_obj, and of the value @expect_obj only.  The former
 * value; NULL with @*err, or with an exception, then @*err is 0.
 */
static PyObject *change_key(PyObject *self, struct change *c, PyObject *key_obj,
			    PyObject *value_obj, PyObject *expect_obj, int *err)
{
	struct handle *handle = (struct handle *)self;
	struct wort_index *index;
	PyObject *former = NULL;

	*err = 0;
	if (bytes_take(key_obj, &c->key))
		return NULL;
	if (bytes_take_optional(value_obj, &c->value))
		goto out_key;
	if (bytes_take_optional(expect_obj, &c->expect))
		goto out_value;
	index = handle_use(handle);
	if (index) {
		*err = fetch(index, c, &former);
		handle_done(handle);
		if (*err && *err != -ENOMEM && is_missing(*err, &c->key) &&
		    c->run != run_put)
			*err = -ENOENT;
	}
	bytes_release(&c->expect);
out_value:
	bytes_release(&c->value);
out_key:
	bytes_release(&c->key);
	return former;
}

static PyObject *exchange_method(PyObject *self, PyObject *args,
				 PyObject *kwargs)
{
	static char *names[] = { "key", "value", "create", "replace", NULL };
	struct change change = { .run = run_put };
	PyObject *key, *value, *former;
	int create = 0, replace = 0, err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|pp", names, &key,
					 &value, &create, &replace))
		return NULL;
	if (value == Py_None)
		return PyErr_Format(PyExc_TypeError, "a value is bytes");
	if (put_flags(create, replace, &change.flags))
		return NULL;
	former = change_key(self, &change, key, value, NULL, &err);
	if (!err)
		return former;
	Py_XDECREF(former);
	return raise_in_pool(err, NULL);
}

static PyObject *setdefault_method(PyObject *self, PyObject *const *args,
				   Py_ssize_t nr)
{
	struct change change = { .run = run_put, .flags = WORT_INSERT_F_CREATE };
	PyObject *former;
	int err;

	if (nr != 2) {
		PyErr_SetString(PyExc_TypeError, "setdefault(key, value)");
		return NULL;
	}
	if (args[1] == Py_None)
		return PyErr_Format(PyExc_TypeError, "a value is bytes");
	former = change_key(self, &change, args[0], args[1], NULL, &err);
	if (err == -EEXIST || !former)
		return err && !former ? raise_in_pool(err, NULL) : former;
	Py_DECREF(former);
	return PyBytes_FromObject(args[1]);
}

static PyObject *pop_method(PyObject *self, PyObject *const *args,
			    Py_ssize_t nr)
{
	struct change change = { .run = run_delete };
	PyObject *former;
	int err;

	if (nr < 1 || nr > 2) {
		PyErr_SetString(PyExc_TypeError, "pop(key[, default])");
		return NULL;
	}
	former = change_key(self, &change, args[0], NULL, NULL, &err);
	if (!err)
		return former;
	if (err != -ENOENT)
		return raise_in_pool(err, NULL);
	if (nr == 2)
		return Py_NewRef(args[1]);
	PyErr_SetObject(PyExc_KeyError, args[0]);
	return NULL;
}

/* Three arguments, none of them None: a value that is expected cannot be any. */
static int three(PyObject *const *args, Py_ssize_t nr, Py_ssize_t wanted,
		 const char *usage)
{
	Py_ssize_t i;

	for (i = 0; i < nr && args[i] != Py_None; i++)
		;
	if (nr == wanted && i == nr)
		return 0;
	PyErr_SetString(PyExc_TypeError, usage);
	return -1;
}

static PyObject *compare_exchange_method(PyObject *self, PyObject *const *args,
					 Py_ssize_t nr)
{
	struct change change = { .run = run_cas };
	PyObject *former;
	int err;

	if (three(args, nr, 3, "compare_exchange(key, expected, value) of bytes"))
		return NULL;
	former = change_key(self, &change, args[0], args[2], args[1], &err);
	if (!err || err == -ECANCELED)
		return former;
	if (err != -ENOENT)
		return raise_in_pool(err, NULL);
	Py_RETURN_NONE;
}

/* True: changed; False: another value or none. */
static PyObject *whether(int err)
{
	if (err && err != -ECANCELED && err != -ENOENT)
		return raise_in_pool(err, NULL);
	return PyBool_FromLong(!err);
}

static PyObject *cas_method(PyObject *self, PyObject *const *args,
			    Py_ssize_t nr)
{
	struct handle *handle = (struct handle *)self;
	struct bytes key, expect, value;
	struct wort_index *index;
	PyObject *done = NULL;
	int err;

	if (three(args, nr, 3, "cas(key, expected, value) of bytes") ||
	    bytes_take(args[0], &key))
		return NULL;
	if (bytes_take(args[1], &expect))
		goto out_key;
	if (bytes_take(args[2], &value))
		goto out_expect;
	index = handle_use(handle);
	if (index) {
		WITHOUT_GIL(err, wort_cas(index, key.data, key.len, expect.data,
					  expect.len, value.data, value.len,
					  NULL));
		handle_done(handle);
		done = whether(err);
	}
	bytes_release(&value);
out_expect:
	bytes_release(&expect);
out_key:
	bytes_release(&key);
	return done;
}

static PyObject *delete_if_method(PyObject *self, PyObject *const *args,
				  Py_ssize_t nr)
{
	struct bytes key, expect;
	PyObject *done = NULL;
	int err;

	if (three(args, nr, 2, "delete_if(key, expected) of bytes") ||
	    bytes_take(args[0], &key))
		return NULL;
	if (!bytes_take(args[1], &expect)) {
		err = remove_key((struct handle *)self, &key, &expect);
		if (err <= 0)
			done = whether(err);
		bytes_release(&expect);
	}
	bytes_release(&key);
	return done;
}

static PyObject *count_method(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct handle *handle = (struct handle *)self;
	struct wort_index *index;
	struct selection sel;
	uint64_t number = 0;
	int err = 0;

	if (!PyArg_ParseTuple(args, "") || selection_parse(&sel, kwargs))
		return NULL;
	index = handle_use(handle);
	if (index) {
		WITHOUT_GIL(err, wort_count(index, &sel.opts, &number));
		handle_done(handle);
	}
	selection_release(&sel);
	if (!index)
		return NULL;
	return err ? raise_in_pool(err, NULL) : PyLong_FromUnsignedLongLong(number);
}

/* The records, but at most so many of them; 0: all. */
static Py_ssize_t count_to(PyObject *self, uint64_t max)
{
	struct wort_scan_opts opts = { .sz = sizeof(opts), .max_count = max };
	struct handle *handle = (struct handle *)self;
	struct wort_index *index = handle_use(handle);
	uint64_t number;
	int err;

	if (!index)
		return -1;
	WITHOUT_GIL(err, wort_count(index, &opts, &number));
	handle_done(handle);
	if (err)
		raise_in_pool(err, NULL);
	return err ? -1 : (Py_ssize_t)number;
}

static Py_ssize_t length(PyObject *self)
{
	return count_to(self, 0);
}

static int has_records(PyObject *self)
{
	return (int)count_to(self, 1);
}

/* Keys in order, of which some are in the batch and some were answered. */
struct many {
	struct wort_batch *batch;
	struct wort_index *index;
	PyObject *keys;		/* a sequence made by PySequence_Fast() */
	PyObject *values;	/* a list */
};

/* How many keys fit; the GIL is held, so that a buffer cannot change. */
static Py_ssize_t many_append(struct many *many, Py_ssize_t from)
{
	Py_ssize_t i, nr = PySequence_Fast_GET_SIZE(many->keys);
	struct bytes key;
	int err = 0;

	for (i = from; i < nr && !err; i++) {
		if (bytes_take(PySequence_Fast_GET_ITEM(many->keys, i), &key))
			return -1;
		/* Refused, so that the answers stay those of the keys. */
		if (!key.len || key.len > WORT_KEY_MAX)
			err = wort_batch_get(many->batch, "", 1, 0);
		else
			err = wort_batch_get(many->batch, key.data, key.len,
					     MANY_VALUE);
		bytes_release(&key);
	}
	if (err && err != -ENOBUFS) {
		raise_in_pool(err, NULL);
		return -1;
	}
	return i - from - !!err;
}

static PyObject *many_answer(struct many *many, PyObject *obj,
			     const struct wort_batch_item *item)
{
	struct bytes key;
	PyObject *value;
	int err;

	if (bytes_take(obj, &key))
		return NULL;
	if (!key.len || key.len > WORT_KEY_MAX || item->error == -ENOENT) {
		value = Py_NewRef(Py_None);
	} else if (item->error == -ERANGE) {
		err = get(many->index, &key, &value);
		if (err == -ENOENT)
			value = Py_NewRef(Py_None);
		else if (err && !PyErr_Occurred())
			raise_in_pool(err, NULL);
	} else if (item->error) {
		value = raise_in_pool(item->error, NULL);
	} else {
		value = PyBytes_FromStringAndSize(item->value, item->value_len);
	}
	bytes_release(&key);
	return value;
}

static int many_submit(struct many *many, Py_ssize_t from, Py_ssize_t nr)
{
	struct wort_batch_item item;
	PyObject *value;
	Py_ssize_t i;
	int err;

	WITHOUT_GIL(err, wort_batch_submit(many->batch, many->index, 0));
	for (i = from; !err && i < from + nr; i++) {
		err = wort_batch_next(many->batch, &item);
		if (err != 1) {
			err = err ? err : -EBADMSG;
			break;
		}
		value = many_answer(many,
				    PySequence_Fast_GET_ITEM(many->keys, i),
				    &item);
		err = value ? PyList_Append(many->values, value) : -1;
		Py_XDECREF(value);
		if (err)
			return -1;
	}
	wort_batch_reset(many->batch);
	if (err)
		raise_in_pool(err, NULL);
	return err ? -1 : 0;
}

static int many_run(struct many *many)
{
	Py_ssize_t from, nr;

	for (from = 0; from < PySequence_Fast_GET_SIZE(many->keys); from += nr) {
		nr = many_append(many, from);
		if (nr < 0 || many_submit(many, from, nr) || PyErr_CheckSignals())
			return -1;
	}
	return 0;
}

static PyObject *get_many_method(PyObject *self, PyObject *keys)
{
	struct handle *handle = (struct handle *)self;
	struct many many = { };
	int err = -1;

	many.keys = PySequence_Tuple(keys);
	if (!many.keys)
		return NULL;
	many.values = PyList_New(0);
	many.index = handle_use(handle);
	if (many.values && many.index) {
		err = wort_batch_new(NULL, &many.batch);
		if (err)
			raise_in_pool(err, NULL);
		else
			err = many_run(&many);
		wort_batch_free(many.batch);
	}
	if (many.index)
		handle_done(handle);
	Py_DECREF(many.keys);
	if (err)
		Py_CLEAR(many.values);
	return many.values;
}

static const char *const counters[] = {
	"ops", "stores", "lines", "fences", "ordering_points", "nodes",
	"leaves", "loads", "alloc_lines", "zero_lines",
};

_Static_assert(sizeof(counters) / sizeof(*counters) * sizeof(uint64_t) ==
	       sizeof(struct wort_op_stats), "the counters of an operation");

static PyObject *counts(const struct wort_op_stats *stats)
{
	const uint64_t *at = (const uint64_t *)stats;
	PyObject *dict = PyDict_New(), *number;
	size_t i;
	int err;

	for (i = 0; dict && i < sizeof(counters) / sizeof(*counters); i++) {
		number = PyLong_FromUnsignedLongLong(at[i]);
		err = number ? PyDict_SetItemString(dict, counters[i], number) :
			       -1;
		Py_XDECREF(number);
		if (err)
			Py_CLEAR(dict);
	}
	return dict;
}

static PyObject *stats_method(PyObject *self, PyObject *none)
{
	static const char *const names[WORT_OP_NR] = {
		[WORT_OP_LOOKUP] = "lookup", [WORT_OP_INSERT] = "insert",
		[WORT_OP_UPDATE] = "update", [WORT_OP_DELETE] = "delete",
		[WORT_OP_SCAN] = "scan", [WORT_OP_ATOMIC] = "atomic",
	};
	struct wort_op_stats stats[WORT_OP_NR] = { };
	struct handle *handle = (struct handle *)self;
	struct wort_index *index = handle_use(handle);
	PyObject *dict, *count;
	int i, nr;

	if (!index)
		return NULL;
	WITHOUT_GIL(nr, wort_index_stats(index, stats, sizeof(*stats),
					 WORT_OP_NR));
	handle_done(handle);
	if (nr < 0)
		return raise_in_pool(nr, NULL);
	dict = PyDict_New();
	for (i = 0; dict && i < WORT_OP_NR && i < nr; i++) {
		count = counts(&stats[i]);
		if (!count || PyDict_SetItemString(dict, names[i], count))
			Py_CLEAR(dict);
		Py_XDECREF(count);
	}
	return dict;
}

static PyObject *info_method(PyObject *self, PyObject *none)
{
	static const struct field fields[] = {
		FIELD(wort_index_info_arg, id),
		FIELD(wort_index_info_arg, attr),
		FIELD(wort_index_info_arg, create_time),
		FIELD(wort_index_info_arg, engine),
		FIELD(wort_index_info_arg, state),
		FIELD(wort_index_info_arg, name_len),
		FIELD(wort_index_info_arg, name),
		{ }
	};
	struct wort_index_info_arg info = { .size = sizeof(info) };
	struct handle *handle = (struct handle *)self;
	struct wort_index *index = handle_use(handle);
	int err;

	if (!index)
		return NULL;
	WITHOUT_GIL(err, wort_index_info(index, &info));
	handle_done(handle);
	return err ? raise_in_pool(err, NULL) : fields_to_dict(fields, &info);
}

/* A function with other parameters than self and one object. */
#define METHOD(function)	((PyCFunction)(void *)(function))

static PyMethodDef methods[] = {
	{ "get", METHOD(get_method), METH_FASTCALL,
	  SIGNATURE("get($self, key, default=None, /)")
	  "The value of a key, or @default." },
	{ "get_many", get_many_method, METH_O,
	  SIGNATURE("get_many($self, keys, /)")
	  "A list of the values of keys, None where there is no such key, with few\n"
	  "calls.  They are not read at one moment." },
	{ "put", METHOD(put_method), METH_VARARGS | METH_KEYWORDS,
	  SIGNATURE("put($self, key, value, create=False, replace=False)")
	  "Store a record; with @create only if the key does not exist, with\n"
	  "@replace only if it does." },
	{ "exchange", METHOD(exchange_method), METH_VARARGS | METH_KEYWORDS,
	  SIGNATURE("exchange($self, key, value, create=False, replace=False)")
	  "put() that returns the former value, or None, in one step." },
	{ "setdefault", METHOD(setdefault_method), METH_FASTCALL,
	  SIGNATURE("setdefault($self, key, value, /)")
	  "The value of the key, which is @value if there was none, in one step." },
	{ "pop", METHOD(pop_method), METH_FASTCALL,
	  "pop(key[, default]): remove a record and return its value, in one step." },
	{ "cas", METHOD(cas_method), METH_FASTCALL,
	  SIGNATURE("cas($self, key, expected, value, /)")
	  "Replace the value if it is the one expected.  False if it is another\n"
	  "one, or if there is none." },
	{ "compare_exchange", METHOD(compare_exchange_method), METH_FASTCALL,
	  SIGNATURE("compare_exchange($self, key, expected, value, /)")
	  "cas() that returns the value that it found, or None: the value was\n"
	  "replaced if @expected is returned, and otherwise what is returned can\n"
	  "be expected next." },
	{ "delete_if", METHOD(delete_if_method), METH_FASTCALL,
	  SIGNATURE("delete_if($self, key, expected, /)")
	  "Remove the record if its value is the one expected.  False if it is\n"
	  "another one, or if there is none." },
	{ "count", METHOD(count_method), METH_VARARGS | METH_KEYWORDS,
	  SIGNATURE("count($self, **selection)")
	  "The number of records that a scan would find." },
	{ "stats", stats_method, METH_NOARGS,
	  SIGNATURE("stats($self, /)")
	  "{operation: {counter: sum}} of what operations have cost." },
	{ "_info", info_method, METH_NOARGS, NULL },
	{ }
};

static PyType_Slot slots[] = {
	{ Py_tp_init, index_init },
	{ Py_tp_methods, methods },
	{ Py_mp_subscript, subscript },
	{ Py_mp_ass_subscript, assign },
	{ Py_mp_length, length },
	{ Py_nb_bool, has_records },
	{ Py_sq_contains, contains },
	{ }
};

PyType_Spec index_spec = {
	.name = "wort._wort.Index",
	.basicsize = sizeof(struct handle),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
