# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Ordered indexes on persistent memory, through libwort.

    with wort.Pool("/dev/wort0", write=True) as pool:
        with pool.index("names", create=True) as names:
            names[b"key"] = b"value"
            for key, value in names.scan(prefix=b"k"):
                print(key, value)

A change is durable when it returns; a batch, when it was submitted; an atomic
batch, when it was committed.
"""
import collections
import errno
import os
import threading
import weakref
from collections.abc import Iterator, MutableMapping

from . import _lib
from ._lib import Error, KEY_MAX, VALUE_MAX

__all__ = ["Atomic", "Attribute", "Batch", "BatchError", "Engine", "Error",
           "Index", "IndexRecord", "KEY_MAX", "Lookup", "Pool", "Refused",
           "VALUE_MAX", "engines", "version"]

IndexRecord = collections.namedtuple("IndexRecord", "name id engine damaged")
Engine = collections.namedtuple("Engine", "name id traits attributes")
Attribute = collections.namedtuple("Attribute",
                                   "name values min max step default")


def version():
    """The version of libwort."""
    return _lib.library().wort_version().decode()


def engines():
    """The structures that an index can have, as Engines; the first is the
    default.  @traits is a set of names, @attributes a list of Attributes, whose
    @values are names or, of a number, None.  They are those of a module of
    libwort's version; the loaded one is not asked."""
    return [Engine(engine.name.decode(), engine.id, _lib.traits(engine.traits),
                   [_attribute(attr) for attr in
                    _lib.each("wort_engine_attr", engine.id)])
            for engine in _lib.each("wort_engine")]


def _attribute(attr):
    values = attr.values and attr.values.decode().split()
    return Attribute(attr.name.decode(), values, attr.min, attr.max, attr.unit,
                     getattr(attr, "def"))


def _engine_id(name):
    if name is None:
        return 0
    for engine in engines():
        if engine.name == name:
            return engine.id
    raise ValueError(f"no engine is called {name!r}")


class BatchError(Error):
    """An operation of a batch failed, or could not be carried out.

    @position: which one, counted from 0 since the batch was made
    @operation: "put" or "delete"
    @key: its key

    The operations before it are durable.  It and those after it changed nothing,
    and are no longer in the batch.
    """

    def __init__(self, number, text, operation=None, key=None, position=None):
        super().__init__(number, text)
        self.operation = operation
        self.key = key
        self.position = position

    def __str__(self):
        return f"{super().__str__()}: {self.operation} of {self.key!r}, " \
               f"operation {self.position} of the batch"


class Refused(Error):
    """An operation of an atomic batch refused, so nothing was changed.

    @number: which one, counted from 0
    @operation: what was called, "put", "cas", "delete", "expect", "present" or
        "absent"
    @key: its key
    """

    def __init__(self, number, text, operation=None, key=None, position=None):
        super().__init__(number, text)
        self.operation = operation
        self.key = key
        self.number = position

    def __str__(self):
        return f"{super().__str__()}: {self.operation} of {self.key!r}, " \
               f"operation {self.number} of the atomic batch"


_handles = weakref.WeakValueDictionary()


def _in_child():
    """Replace all locks: one that another thread held during the fork is never
    released in the child."""
    for handle in list(_handles.values()):
        handle.new_locks()


os.register_at_fork(after_in_child=_in_child)


class _Use:
    """The time of a call on a handle."""

    __slots__ = ("_handle",)

    def __init__(self, handle):
        self._handle = handle

    def __enter__(self):
        return self._handle.begin()

    def __exit__(self, *_exc):
        self._handle.end()


class _Handle:
    """A handle of libwort that its last user closes.

    ctypes lets other threads run during a call.  After libwort has closed a
    handle, the next open can get the same memory and descriptor.  Therefore
    the object is one user of the handle until it is closed, and each call is
    another.
    """

    _close = ""
    _closed = True

    def __init__(self, ptr):
        self._ptr = ptr
        self._free = getattr(_lib.library(), self._close)
        self._users = 1
        self.new_locks()
        self._closed = False
        _handles[id(self)] = self

    def new_locks(self):
        """Make the locks, at first and after a fork."""
        # A signal handler may use what it has interrupted.
        self._lock = threading.RLock()

    def close(self):
        """Close the handle, once no call on it is under way.  Closing it again
        has no effect."""
        if self._closed:
            return
        with self._lock:
            closed, self._closed = self._closed, True
        if not closed:
            _Handle.end(self)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    def __del__(self):
        self.close()

    def use(self):
        """A context in which the handle stays open; its value is libwort's
        pointer."""
        return _Use(self)

    def begin(self):
        """Add a user."""
        with self._lock:
            self._users += 1
        if self._closed:
            _Handle.end(self)
            raise ValueError(f"the {type(self).__name__} is closed")
        return self._ptr

    def end(self):
        """Remove a user; the last one closes the handle."""
        ptr = None
        with self._lock:
            self._users -= 1
            if not self._users:
                ptr, self._ptr = self._ptr, None
        if ptr:
            self._free(ptr)


class _Exclusive(_Handle):
    """A handle that one call at a time may use; other calls wait."""

    _busy = False

    def new_locks(self):
        super().new_locks()
        self._turn = threading.RLock()

    def begin(self):
        self._turn.acquire()
        try:
            # By a call that we have interrupted, or of a thread that a fork
            # has left behind.
            if self._busy:
                raise ValueError(f"the {type(self).__name__} is in use")
            ptr = super().begin()
            self._busy = True
        except BaseException:
            self._turn.release()
            raise
        return ptr

    def end(self):
        self._busy = False
        super().end()
        self._turn.release()


class Pool(_Handle):
    """An attached pool, /dev/wortN."""

    _close = "wort_pool_close"

    def __init__(self, path, write=False):
        try:
            super().__init__(_lib.out("wort_pool_open", _lib.string(path),
                                      os.O_RDWR if write else os.O_RDONLY))
        except _lib.Error as err:
            raise _lib.Error(err.errno, err.strerror, path) from None

    def map(self):
        """Map the pool: lookups in indexes opened afterwards make no system
        call, unless a writer changes what they read."""
        with self.use() as ptr:
            _lib.call("wort_pool_map", ptr)

    def index(self, name, create=False, exclusive=False, readonly=False,
              relaxed=False, engine=None, attributes=None):
        """Open an index; with @create make it if it does not exist, with
        @exclusive it must not exist.  With @relaxed what is read may rest on a
        change that is not durable yet.  @engine is the name of its engine and
        @attributes a map from names of attributes to values; an index that
        exists must have them.  The index stays open when the pool is closed."""
        flags = _lib.OPEN_CREATE * bool(create or exclusive) | \
            _lib.OPEN_EXCL * bool(exclusive) | \
            _lib.OPEN_RDONLY * bool(readonly) | \
            _lib.OPEN_RELAXED * bool(relaxed)
        return Index(self, name, flags, _engine_id(engine), attributes or {})

    def atomic(self):
        """An atomic batch of operations on indexes of the pool: all take effect
        or none."""
        with self.use():
            return Atomic()

    def destroy(self, name):
        """Drop an index with all of its records."""
        with self.use() as ptr:
            _lib.call("wort_pool_destroy", ptr, _lib.string(name))

    def indexes(self):
        """An IndexRecord for each index, in the order of creation."""
        after, more = 0, True
        while more:
            with self.use() as ptr:
                records, more = _lib.list_indexes(ptr, after)
            for rec in records:
                after = rec.id
                yield IndexRecord(bytes(rec.name)[:rec.name_len], rec.id,
                                  rec.engine, bool(rec.state & 1))
            more = more and bool(records)


class Index(_Handle, MutableMapping):
    """A map from bytes to bytes, in the order of keys."""

    _close = "wort_index_close"

    def __init__(self, pool, name, flags=0, engine=0, attributes=None):
        opts = _lib.IndexOpts.new(flags=flags, engine=engine,
                                  attr=_lib.attr_word(engine, attributes or {}))
        with pool.use() as ptr:
            super().__init__(_lib.out("wort_index_open", ptr,
                                      _lib.string(name), opts))

    def put(self, key, value, create=False, replace=False):
        """Store a record; with @create only if the key does not exist, with
        @replace only if it does."""
        with self.use() as ptr:
            _lib.call("wort_put", ptr, *_lib.sized(key), *_lib.sized(value),
                      _lib.PUT_CREATE * bool(create) |
                      _lib.PUT_REPLACE * bool(replace))

    def __setitem__(self, key, value):
        self.put(key, value)

    def __getitem__(self, key):
        with _lib.missing(key), self.use() as ptr:
            return _lib.get(ptr, key)

    def __delitem__(self, key):
        with _lib.missing(key), self.use() as ptr:
            _lib.call("wort_del", ptr, *_lib.sized(key))

    def __len__(self):
        return self.count()

    def __iter__(self):
        return (key for key, _ in self.scan(values=False))

    def __reversed__(self):
        return (key for key, _ in self.scan(values=False, reverse=True))

    def __contains__(self, key):
        with self.use() as ptr:
            return _lib.has(ptr, key)

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
        values are None.  None is no bound and no limit; the empty key is less
        than all others.  A key that exists throughout is seen exactly once,
        whatever is changed meanwhile."""
        return Scan(self, _lib.scan_opts(**selection))

    def count(self, **selection):
        """The number of records that a scan would find."""
        opts = _lib.scan_opts(**selection)
        with self.use() as ptr:
            return _lib.count(ptr, opts)

    def batch(self, max_ops=None):
        """A batch of at most @max_ops operations, which share a call."""
        return Batch(self, max_ops)

    def stats(self):
        """{operation: {counter: sum}} of what operations have cost."""
        with self.use() as ptr:
            return _lib.stats(ptr)


class Scan(_Exclusive, Iterator):
    """Pairs of key and value.  It keeps its index open until it has ended or
    is closed."""

    _close = "wort_scan_end"
    _ended = False

    def __init__(self, index, opts):
        with index.use() as ptr:
            super().__init__(_lib.out("wort_scan_begin", ptr, opts))

    def __next__(self):
        with self._turn:
            if self._ended:
                raise StopIteration
            with self.use() as ptr:
                item = _lib.scan_next(ptr)
            if item is None:
                self._ended = True
                self.close()
                raise StopIteration
            return item


class Batch(_Exclusive):
    """Operations that are carried out in order, with few calls.

    put() and delete() submit when the batch is full; leaving a with
    statement submits the rest, unless an exception was raised.  Each operation
    is atomic by itself.  The first that fails raises a BatchError, which
    says which one it is.  The operations before it are durable, and those after
    it were not carried out, including the one whose put() or delete() raised
    the error.
    """

    _close = "wort_batch_free"

    def __init__(self, index, max_ops=None):
        self._index = index
        self._pending = []
        self._submitted = 0
        self.done = 0
        super().__init__(_lib.out("wort_batch_new", _lib.batch_opts(max_ops)))

    def _append(self, operation, key, name, *args):
        with self.use() as ptr:
            try:
                _lib.call(name, ptr, *args)
            except Error as err:
                if err.errno != errno.ENOBUFS:
                    raise
                self._submit(ptr)
                _lib.call(name, ptr, *args)
            self._pending.append((operation, key))

    def put(self, key, value):
        """Store a record, whether or not the key exists."""
        key = _lib.sized(key)
        self._append("put", key[0], "wort_batch_put", *key,
                     *_lib.sized(value), 0)

    def delete(self, key):
        """Remove a record; it is an error if the key does not exist."""
        key = _lib.sized(key)
        self._append("delete", key[0], "wort_batch_del", *key)

    def submit(self):
        """Carry out the operations that were appended; @done counts those that
        are durable."""
        with self.use() as ptr:
            self._submit(ptr)

    def _submit(self, ptr):
        # If the index is closed the operations stay, and it is told again.
        with self._index.use() as index:
            done, err = _lib.submit(ptr, index)
            _lib.library().wort_batch_reset(ptr)
        pending, self._pending = self._pending, []
        position = self._submitted + done
        self._submitted += len(pending)
        self.done += done
        if err and done < len(pending):
            raise BatchError(-err, os.strerror(-err), *pending[done], position)
        if err:
            raise _lib.error(err)

    def __exit__(self, exc_type, *exc):
        try:
            if exc_type is None:
                self.submit()
        finally:
            self.close()


class Lookup:
    """What get() of an atomic batch will find."""

    _error = None
    _value = None

    @property
    def value(self):
        """The value, or None if the key does not exist.  A ValueError before
        the batch is committed."""
        if self._error is None:
            raise ValueError("the atomic batch is not committed")
        if self._error and self._error != -errno.ENOENT:
            raise _lib.error(self._error)
        return self._value

    def found(self, error, value):
        """The answer; called by the batch."""
        self._error, self._value = error, value


class Atomic(_Exclusive):
    """Operations on indexes of one pool that take effect at one moment, all or
    none, also if the power fails.

    Each operation sees those before it.  Leaving a with statement commits
    them, unless an exception was raised.  The first operation that refuses
    raises Refused, which says which one it is; nothing is changed then.  At
    most 64 operations, with 256 KiB of keys and values; one too many is an
    Error with EMSGSIZE.
    """

    _close = "wort_atomic_free"

    def __init__(self):
        self._pending = []
        super().__init__(_lib.out("wort_atomic_new"))

    def _append(self, name, index, operation, flags, key, *args, lookup=None,
                **more):
        request = _lib.request(operation, flags, key, *args, **more)
        with self.use() as ptr, index.use() as handle:
            _lib.call("wort_atomic_add", ptr, handle, request)
            self._pending.append((name, key[0], lookup))

    def put(self, index, key, value, create=False, replace=False):
        """Store a record; with @create only if the key does not exist, with
        @replace only if it does."""
        self._append("put", index, _lib.INSERT,
                     _lib.PUT_CREATE * bool(create) |
                     _lib.PUT_REPLACE * bool(replace),
                     _lib.sized(key), value=_lib.sized(value))

    def cas(self, index, key, expected, value):
        """Replace the value if it is the one expected."""
        self._append("cas", index, _lib.CAS, 0, _lib.sized(key),
                     _lib.sized(expected), _lib.sized(value))

    def delete(self, index, key, expected=None):
        """Remove a record; with @expected only if that is its value."""
        self._append("delete", index, _lib.DELETE,
                     _lib.DELETE_EXPECT * (expected is not None),
                     _lib.sized(key),
                     None if expected is None else _lib.sized(expected))

    def expect(self, index, key, value):
        """Go on only if the key has this value."""
        self._append("expect", index, _lib.EXPECT, 0, _lib.sized(key),
                     _lib.sized(value))

    def present(self, index, key):
        """Go on only if the key exists."""
        self._append("present", index, _lib.EXPECT, _lib.EXPECT_PRESENT,
                     _lib.sized(key))

    def absent(self, index, key):
        """Go on only if the key does not exist."""
        self._append("absent", index, _lib.EXPECT, _lib.EXPECT_ABSENT,
                     _lib.sized(key))

    def get(self, index, key, max_len=4000):
        """A Lookup, whose value is there when the batch is committed.  All
        values have 256 KiB together, so a longer one than @max_len is not read:
        an Error with ERANGE, which changes nothing else."""
        lookup = Lookup()
        self._append("get", index, _lib.LOOKUP, 0, _lib.sized(key),
                     max_len=_lib.number("max_len", max_len, 0, VALUE_MAX),
                     lookup=lookup)
        return lookup

    def commit(self):
        """Carry out the operations, or none.  In both cases the batch is empty
        afterwards."""
        with self.use() as ptr:
            pending, self._pending = self._pending, []
            err, refused = _lib.commit(ptr)
            answers = [] if err else list(_lib.atomic_answers(ptr))
            _lib.library().wort_atomic_reset(ptr)
        for (_, _, lookup), answer in zip(pending, answers):
            if lookup:
                lookup.found(*answer)
        if refused is not None:
            raise Refused(-err, os.strerror(-err), *pending[refused][:2],
                          refused)
        if err:
            raise _lib.error(err)

    def __exit__(self, exc_type, *exc):
        try:
            if exc_type is None:
                self.commit()
        finally:
            self.close()
