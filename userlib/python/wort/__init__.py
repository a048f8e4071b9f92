# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Ordered indexes on persistent memory, through libwort.

    with wort.Pool("/dev/wort0", write=True) as pool:
        with pool.index("names", create=True) as names:
            names[b"key"] = b"value"
            for key, value in names.scan(prefix=b"k"):
                print(key, value)

A change is durable when it returns; a batch, when it was submitted.
"""
import collections
import errno
import os
from collections.abc import Iterator, MutableMapping

from . import _lib
from ._lib import Error, KEY_MAX, VALUE_MAX

__all__ = ["Batch", "Error", "Index", "IndexRecord", "KEY_MAX", "Pool",
           "VALUE_MAX", "version"]

IndexRecord = collections.namedtuple("IndexRecord", "name id engine damaged")


def version():
    """The version of libwort."""
    return _lib.library().wort_version().decode()


class _Handle:
    """Something of libwort's that has to be closed, once."""

    _close = ""

    def __init__(self):
        self._ptr = None

    def close(self):
        """Give it back; a second time nothing happens."""
        ptr, self._ptr = self._ptr, None
        if ptr:
            getattr(_lib.library(), self._close)(ptr)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    def __del__(self):
        if getattr(self, "_ptr", None):
            self.close()

    @property
    def ptr(self):
        """What libwort calls it."""
        if not self._ptr:
            raise ValueError("it is closed")
        return self._ptr


class Pool(_Handle):
    """An attached pool, /dev/wortN."""

    _close = "wort_pool_close"

    def __init__(self, path, write=False):
        super().__init__()
        try:
            self._ptr = _lib.out("wort_pool_open", os.fsencode(path),
                                 os.O_RDWR if write else os.O_RDONLY)
        except _lib.Error as err:
            raise _lib.Error(err.errno, err.strerror, path) from None

    def map(self):
        """Map the pool: lookups in indexes opened afterwards make no system
        call, unless what they find is being changed."""
        _lib.call("wort_pool_map", self.ptr)

    def index(self, name, create=False, exclusive=False, readonly=False,
              relaxed=False):
        """Open an index; with @create make it if there is none, with
        @exclusive only then.  With @relaxed what is read may rest on a change
        that is not durable yet.  It stays open when the pool is closed."""
        flags = _lib.OPEN_CREATE * bool(create or exclusive) | \
            _lib.OPEN_EXCL * bool(exclusive) | \
            _lib.OPEN_RDONLY * bool(readonly) | \
            _lib.OPEN_RELAXED * bool(relaxed)
        return Index(self, name, flags)

    def destroy(self, name):
        """Drop an index with all of its records."""
        _lib.call("wort_pool_destroy", self.ptr, os.fsencode(name))

    def indexes(self):
        """An IndexRecord for each index, in the order of creation."""
        after, more = 0, True
        while more:
            records, more = _lib.list_indexes(self.ptr, after)
            for rec in records:
                after = rec.id
                yield IndexRecord(bytes(rec.name)[:rec.name_len], rec.id,
                                  rec.engine, bool(rec.state & 1))
            more = more and bool(records)


class Index(_Handle, MutableMapping):
    """A map from bytes to bytes, in the order of keys."""

    _close = "wort_index_close"

    def __init__(self, pool, name, flags=0):
        super().__init__()
        opts = _lib.IndexOpts.new(flags=flags)
        self._ptr = _lib.out("wort_index_open", pool.ptr,
                                  os.fsencode(name), opts)

    def put(self, key, value, create=False, replace=False):
        """Store a record; with @create only a new one, with @replace only
        in the place of an old one."""
        _lib.call("wort_put", self.ptr, *_lib.sized(key), *_lib.sized(value),
                  _lib.PUT_CREATE * bool(create) |
                  _lib.PUT_REPLACE * bool(replace))

    def __setitem__(self, key, value):
        self.put(key, value)

    def __getitem__(self, key):
        with _lib.missing(key):
            return _lib.get(self.ptr, key)

    def __delitem__(self, key):
        with _lib.missing(key):
            _lib.call("wort_del", self.ptr, *_lib.sized(key))

    def __len__(self):
        return self.count()

    def __iter__(self):
        return (key for key, _ in self.scan(values=False))

    def __reversed__(self):
        return (key for key, _ in self.scan(values=False, reverse=True))

    def __contains__(self, key):
        try:
            _lib.get(self.ptr, key, size=0)
        except Error as err:
            if err.errno == errno.ENOENT:
                return False
            if err.errno != errno.ERANGE:
                raise
        return True

    def items(self):
        """Keys and values, in the order of keys."""
        return self.scan()

    def values(self):
        """Values, in the order of keys."""
        return (value for _, value in self.scan())

    def clear(self):
        """Remove all records, one after the other."""
        for key in list(self):
            self.pop(key, None)

    def scan(self, **selection):
        """Pairs of key and value, from @start or after @after up to @before
        or within @prefix; @reverse; at most @limit; with values=False the
        values are None.  Beside changes it sees each key that is there
        throughout exactly once."""
        return Scan(self, _lib.scan_opts(**selection))

    def count(self, **selection):
        """How many records a scan would find."""
        return _lib.count(self.ptr, _lib.scan_opts(**selection))

    def batch(self, max_ops=0):
        """Operations that go to the module together."""
        return Batch(self, max_ops)

    def stats(self):
        """{operation: {counter: sum}} of what operations have cost."""
        return _lib.stats(self.ptr)


class Scan(_Handle, Iterator):
    """Pairs of key and value.  It keeps its index open."""

    _close = "wort_scan_end"

    def __init__(self, index, opts):
        super().__init__()
        self._index = index
        self._ptr = _lib.out("wort_scan_begin", index.ptr, opts)

    def __next__(self):
        if not self._ptr:
            raise StopIteration
        item = _lib.scan_next(self.ptr)
        if item is None:
            self.close()
            raise StopIteration
        return item


class Batch(_Handle):
    """Operations that are carried out in order, with few calls.

    put() and delete() submit when there is no room left; leaving a with
    statement submits the rest, unless an exception came.  Each operation is
    atomic by itself.  The first that fails is raised; what came before it is
    durable, and what came after it was not carried out.
    """

    _close = "wort_batch_free"

    def __init__(self, index, max_ops=0):
        super().__init__()
        self._index = index
        self.done = 0
        self._ptr = _lib.out("wort_batch_new",
                             _lib.BatchOpts.new(max_ops=max_ops))

    def _append(self, name, *args):
        try:
            _lib.call(name, self.ptr, *args)
        except Error as err:
            if err.errno != errno.ENOBUFS:
                raise
            self.submit()
            _lib.call(name, self.ptr, *args)

    def put(self, key, value):
        """Store a record, new or not."""
        self._append("wort_batch_put", *_lib.sized(key), *_lib.sized(value),
                     0)

    def delete(self, key):
        """Remove a record, which has to be there."""
        self._append("wort_batch_del", *_lib.sized(key))

    def submit(self):
        """Carry out what was appended; @done counts what is durable."""
        try:
            self.done += _lib.submit(self.ptr, self._index.ptr)
        finally:
            _lib.library().wort_batch_reset(self.ptr)

    def __exit__(self, exc_type, *exc):
        try:
            if exc_type is None:
                self.submit()
        finally:
            self.close()
