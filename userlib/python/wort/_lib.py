# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""What userlib/include/wort.h declares, for ctypes."""
import contextlib
import ctypes
import errno
import functools
import itertools
import operator
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, \
    c_uint, c_uint32, c_uint64, c_uint8, c_void_p

KEY_MAX = 1024
VALUE_MAX = 65536
NAME_MAX = 111

OPEN_CREATE, OPEN_EXCL, OPEN_RDONLY, OPEN_RELAXED = 1, 2, 4, 8
PUT_CREATE, PUT_REPLACE = 1, 2
SCAN_REVERSE, SCAN_AFTER, SCAN_PREFIX, SCAN_KEYS = 1, 2, 4, 8
BATCH_STOP = 1
INSERT, DELETE, LOOKUP, CAS, EXPECT = 1, 2, 3, 4, 5
DELETE_EXPECT = 1
EXPECT_PRESENT, EXPECT_ABSENT = 1, 2
NO_VALUE = 2 ** 32 - 1
TRAITS = ("instant_open", "mappable", "ordered", "readers_lock",
          "delete_needs_space", "batch_shares_fences")

OPERATIONS = "lookup", "insert", "update", "delete", "scan", "atomic"
COUNTERS = ("ops", "stores", "lines", "fences", "ordering_points", "nodes",
            "leaves", "loads", "alloc_lines", "zero_lines")


class Error(OSError):
    """libwort's answer; errno means what <linux/wort.h> says."""


class Opts(ctypes.Structure):
    """Options, whose first member is their size."""

    @classmethod
    def new(cls, **members):
        return cls(sz=ctypes.sizeof(cls), **members)


class IndexOpts(Opts):
    _fields_ = [("sz", c_size_t), ("flags", c_uint32), ("engine", c_uint32),
                ("attr", c_uint64)]


class Engine(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("id", c_uint32), ("traits", c_uint32)]


class Attr(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("values", c_char_p), ("min", c_uint64),
                ("max", c_uint64), ("def", c_uint64), ("unit", c_uint64),
                ("shift", c_uint8), ("bits", c_uint8)]


class ScanOpts(Opts):
    _fields_ = [("sz", c_size_t), ("flags", c_uint32), ("buf_size", c_uint32),
                ("start", c_char_p), ("start_len", c_size_t),
                ("bound", c_char_p), ("bound_len", c_size_t),
                ("max_count", c_uint64)]


class BatchOpts(Opts):
    _fields_ = [("sz", c_size_t), ("max_ops", c_uint32),
                ("max_bytes", c_uint32)]


class ScanItem(ctypes.Structure):
    _fields_ = [("key", c_void_p), ("value", c_void_p),
                ("key_len", c_size_t), ("value_len", c_size_t)]


class BatchRequest(Opts):
    _fields_ = [("sz", c_size_t), ("op", c_uint32), ("flags", c_uint32),
                ("key", c_char_p), ("key_len", c_size_t),
                ("expect", c_char_p), ("expect_len", c_size_t),
                ("value", c_char_p), ("value_len", c_size_t),
                ("max_len", c_size_t)]


class BatchItem(ctypes.Structure):
    _fields_ = [("error", c_int), ("value", c_void_p),
                ("value_len", c_size_t)]


class IndexRecord(ctypes.Structure):
    _fields_ = [("id", c_uint64), ("engine", c_uint32), ("state", c_uint32),
                ("name_len", c_uint32), ("reserved", c_uint32),
                ("name", c_uint8 * (NAME_MAX + 1))]


class OpStats(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in COUNTERS]


HANDLE = POINTER(c_void_p)
BYTES = [c_char_p, c_size_t]

# None: no answer.
FUNCTIONS = {
    "wort_version": (c_char_p, []),
    "wort_engine": (POINTER(Engine), [c_uint]),
    "wort_engine_attr": (POINTER(Attr), [c_uint32, c_uint]),
    "wort_attr_set": (c_int, [c_uint32, c_char_p, POINTER(c_uint64)]),
    "wort_pool_open": (c_int, [c_char_p, c_int, HANDLE]),
    "wort_pool_close": (None, [c_void_p]),
    "wort_pool_list": (c_int, [c_void_p, c_uint64, POINTER(IndexRecord),
                               c_uint, POINTER(c_bool)]),
    "wort_pool_destroy": (c_int, [c_void_p, c_char_p]),
    "wort_pool_map": (c_int, [c_void_p]),
    "wort_index_open": (c_int, [c_void_p, c_char_p, POINTER(IndexOpts),
                                HANDLE]),
    "wort_index_close": (None, [c_void_p]),
    "wort_index_stats": (c_int, [c_void_p, POINTER(OpStats), c_size_t, c_uint]),
    "wort_put": (c_int, [c_void_p, *BYTES, *BYTES, c_uint32]),
    "wort_get": (c_int, [c_void_p, *BYTES, c_void_p, POINTER(c_size_t)]),
    "wort_del": (c_int, [c_void_p, *BYTES]),
    "wort_scan_begin": (c_int, [c_void_p, POINTER(ScanOpts), HANDLE]),
    "wort_scan_next": (c_int, [c_void_p, POINTER(ScanItem)]),
    "wort_scan_end": (None, [c_void_p]),
    "wort_count": (c_int, [c_void_p, POINTER(ScanOpts), POINTER(c_uint64)]),
    "wort_batch_new": (c_int, [POINTER(BatchOpts), HANDLE]),
    "wort_batch_free": (None, [c_void_p]),
    "wort_batch_reset": (None, [c_void_p]),
    "wort_batch_done": (c_uint, [c_void_p]),
    "wort_batch_failed": (c_uint, [c_void_p]),
    "wort_batch_put": (c_int, [c_void_p, *BYTES, *BYTES, c_uint32]),
    "wort_batch_del": (c_int, [c_void_p, *BYTES]),
    "wort_batch_submit": (c_int, [c_void_p, c_void_p, c_uint32]),
    "wort_batch_next": (c_int, [c_void_p, POINTER(BatchItem)]),
    "wort_atomic_new": (c_int, [HANDLE]),
    "wort_atomic_free": (None, [c_void_p]),
    "wort_atomic_reset": (None, [c_void_p]),
    "wort_atomic_add": (c_int, [c_void_p, c_void_p, POINTER(BatchRequest)]),
    "wort_atomic_commit": (c_int, [c_void_p, POINTER(c_uint)]),
    "wort_atomic_next": (c_int, [c_void_p, POINTER(BatchItem)]),
}


@functools.lru_cache(maxsize=None)
def library():
    """libwort; $WORT_LIBRARY names another than the system's."""
    lib = ctypes.CDLL(os.environ.get("WORT_LIBRARY", "libwort.so.0"))
    for name, (answer, args) in FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype = answer
        function.argtypes = args
    return lib


def error(err):
    return Error(-err, os.strerror(-err))


def call(name, *args):
    """Call a function; what it answers, unless that is a negative errno."""
    answer = getattr(library(), name)(*args)
    if answer < 0:
        raise error(answer)
    return answer


def out(name, *args):
    """Call a function whose last parameter is where a handle goes."""
    handle = c_void_p()
    call(name, *args, byref(handle))
    return handle


def each(name, *args):
    """What a function answers to 0, 1, ... behind the arguments."""
    for nr in itertools.count():
        item = getattr(library(), name)(*args, nr)
        if not item:
            return
        yield item[0]


def traits(word):
    return frozenset(name for bit, name in enumerate(TRAITS)
                     if word >> bit & 1)


def attr_word(engine, attributes):
    """The word of attributes, a map from names to values."""
    word = c_uint64()
    for name, value in attributes.items():
        text = f"{name}={value}"
        err = library().wort_attr_set(engine, string(text), byref(word))
        if err:
            raise Error(-err, os.strerror(-err), text)
    return word.value


def sized(data):
    """Bytes and their number."""
    data = bytes(memoryview(data))
    return data, len(data)


def string(name):
    """A name or path as C has it: it ends at a zero byte."""
    name = os.fsencode(name)
    if b"\0" in name:
        raise ValueError(f"a zero byte in {name!r}")
    return name


def number(what, value, least, most):
    """An integer that C takes: a smaller one is an error, and of larger ones
    there is none that would be reached."""
    value = operator.index(value)
    if value < least:
        raise ValueError(f"{what} is {value}, and must be {least} or more")
    return min(value, most)


def is_missing(key, err):
    """Whether a call failed because there is no such key, or cannot be."""
    return err.errno == errno.ENOENT or not 0 < len(sized(key)[0]) <= KEY_MAX


@contextlib.contextmanager
def missing(key):
    """A key that is not there is a KeyError."""
    try:
        yield
    except Error as err:
        if not is_missing(key, err):
            raise
        raise KeyError(key) from None


def get(index, key, size=256):
    """The value of a key, once more with a larger buffer if need be."""
    while True:
        buf = ctypes.create_string_buffer(size) if size else None
        length = c_size_t(size)
        err = library().wort_get(index, *sized(key), buf, byref(length))
        if err == -errno.ERANGE and size:
            size = length.value
        elif err:
            raise error(err)
        else:
            return buf.raw[:length.value] if buf else b""


def has(index, key):
    """Whether a key is there."""
    try:
        get(index, key, size=0)
    except Error as err:
        if err.errno != errno.ERANGE and not is_missing(key, err):
            raise
        return err.errno == errno.ERANGE
    return True


def scan_opts(start=None, after=None, before=None, prefix=None, reverse=False,
              limit=None, values=True):
    if start is not None and after is not None:
        raise ValueError("start and after exclude each other")
    if before is not None and prefix is not None:
        raise ValueError("before and prefix exclude each other")
    if limit is not None:
        limit = number("limit", limit, 0, 2 ** 64 - 1)
    first = start if after is None else after
    bound = before if prefix is None else prefix
    opts = ScanOpts.new(
        flags=SCAN_REVERSE * bool(reverse) |
        SCAN_AFTER * (after is not None) |
        SCAN_PREFIX * (prefix is not None) | SCAN_KEYS * (not values),
        max_count=limit or 0)
    if first is not None:
        opts.start, opts.start_len = sized(first)
    if bound is not None:
        opts.bound, opts.bound_len = sized(bound)
    if limit == 0:
        # To C that is no limit; before the empty key there is nothing.
        opts = ScanOpts.new(bound=b"")
    return opts


def scan_next(scan):
    """The next pair, or None at the end."""
    item = ScanItem()
    if not call("wort_scan_next", scan, byref(item)):
        return None
    value = ctypes.string_at(item.value, item.value_len) \
        if item.value is not None else None
    return ctypes.string_at(item.key, item.key_len), value


def count(index, opts):
    number = c_uint64()
    call("wort_count", index, byref(opts), byref(number))
    return number.value


def stats(index):
    array = (OpStats * len(OPERATIONS))()
    known = call("wort_index_stats", index, array, ctypes.sizeof(OpStats),
                 len(OPERATIONS))
    return {name: {counter: getattr(cost, counter) for counter in COUNTERS}
            for name, cost in zip(OPERATIONS[:known], array)}


def list_indexes(pool, after):
    """A part of the indexes, and whether there are more."""
    array, more = (IndexRecord * 64)(), c_bool()
    number = call("wort_pool_list", pool, after, array, len(array),
                  byref(more))
    return array[:number], more.value


def batch_opts(max_ops=None):
    if max_ops is None:
        return BatchOpts.new()
    return BatchOpts.new(max_ops=number("max_ops", max_ops, 1, 2 ** 32 - 1))


def first_error(batch):
    """The first error among the answers of a batch, or 0."""
    item = BatchItem()
    while not item.error and \
            library().wort_batch_next(batch, byref(item)) > 0:
        pass
    return item.error


def submit(batch, index):
    """How many operations succeeded, and the error of the one after them;
    0: there was none."""
    err = library().wort_batch_submit(batch, index, BATCH_STOP)
    failed = library().wort_batch_failed(batch)
    if failed:
        err = first_error(batch) or err or -errno.EBADMSG
    return library().wort_batch_done(batch) - failed, err


def request(operation, flags, key, expect=None, value=None, max_len=0):
    """An operation of an atomic batch; keys and values as sized() has them."""
    made = BatchRequest.new(op=operation, flags=flags, max_len=max_len)
    made.key, made.key_len = key
    made.expect, made.expect_len = expect or (None, 0)
    made.value, made.value_len = value or (None, 0)
    return made


def commit(atomic):
    """The error of an atomic batch, and the number of the operation that refused
    or None."""
    refused = c_uint(NO_VALUE)
    err = library().wort_atomic_commit(atomic, byref(refused))
    return err, None if refused.value == NO_VALUE else refused.value


def atomic_answers(atomic):
    """An error and a value, or None, for each operation of an atomic batch."""
    item = BatchItem()
    while call("wort_atomic_next", atomic, byref(item)):
        yield item.error, ctypes.string_at(item.value, item.value_len) \
            if item.value is not None else None
