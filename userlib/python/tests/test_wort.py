#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The binding against libwort as the tests build it, with a stub of the
module's devices: WORT_LIBRARY names it, WORT_STUB its image, on which there
is a pool that is attached.
"""
import contextlib
import ctypes
import errno
import gc
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import wort  # noqa: E402
from wort import _lib  # noqa: E402

TOP = HERE.parent.parent.parent


class Errno:
    """Within it an OSError with this errno must come."""

    def __init__(self, number):
        self.number = number
        self.exc = None

    def __enter__(self):
        return self

    def __exit__(self, kind, exc, _trace):
        self.exc = exc
        if not isinstance(exc, wort.Error):
            raise AssertionError(f"{exc!r} is no wort.Error")
        if exc.errno != self.number:
            raise AssertionError(f"{exc!r}, not {errno.errorcode[self.number]}")
        return True


class IndexTest(unittest.TestCase):
    def setUp(self):
        self.pool = wort.Pool("/dev/wort0", write=True)
        self.index = self.pool.index("t", exclusive=True)

    def tearDown(self):
        self.index.close()
        self.pool.destroy("t")
        self.pool.close()

    def test_mapping(self):
        index = self.index
        index[b"b"] = b"two"
        index[b"a"] = b""
        index[b"\0\xff"] = bytes(wort.VALUE_MAX)
        self.assertEqual(index[b"b"], b"two")
        self.assertEqual(index[b"a"], b"")
        self.assertEqual(index[b"\0\xff"], bytes(wort.VALUE_MAX))
        self.assertEqual(list(index), [b"\0\xff", b"a", b"b"])
        self.assertEqual(list(reversed(index)), [b"b", b"a", b"\0\xff"])
        self.assertEqual(len(index), 3)
        self.assertIn(b"a", index)
        self.assertIn(b"b", index)
        self.assertNotIn(b"c", index)
        self.assertEqual(index.get(b"c", 7), 7)
        self.assertEqual(index.pop(b"b"), b"two")
        with self.assertRaises(KeyError):
            index[b"b"]
        with self.assertRaises(KeyError):
            del index[b"b"]
        index.update({b"x": b"1", b"y": bytearray(b"2")})
        self.assertEqual(dict(index.scan(start=b"x")), {b"x": b"1",
                                                        b"y": b"2"})
        index.clear()
        self.assertEqual(list(index.items()), [])

    def test_keys_that_cannot_be(self):
        index = self.index
        index[b"k"] = b"v"
        for key in b"", bytes(wort.KEY_MAX + 1), bytes(1 << 20):
            self.assertNotIn(key, index)
            self.assertEqual(index.get(key, 7), 7)
            self.assertEqual(index.pop(key, 7), 7)
            with self.assertRaises(KeyError):
                index[key]
            with self.assertRaises(KeyError):
                del index[key]
        for key in "k", 1, None:
            for use in index.__contains__, index.get, index.__delitem__, \
                    lambda key: index.put(b"l", key):
                with self.assertRaises(TypeError):
                    use(key)
        self.assertEqual(dict(index), {b"k": b"v"})

    def test_put(self):
        self.index.put(b"k", b"1", create=True)
        with Errno(errno.EEXIST):
            self.index.put(b"k", b"2", create=True)
        self.index.put(b"k", b"3", replace=True)
        with Errno(errno.ENOENT):
            self.index.put(b"l", b"4", replace=True)
        self.assertEqual(list(self.index.items()), [(b"k", b"3")])

    def test_limits(self):
        with Errno(errno.EINVAL):
            self.index[b""] = b""
        with Errno(errno.EMSGSIZE):
            self.index[bytes(wort.KEY_MAX + 1)] = b""
        with Errno(errno.EMSGSIZE):
            self.index[b"k"] = bytes(wort.VALUE_MAX + 1)
        with self.assertRaises(TypeError):
            self.index["text"] = b""

    def test_scan(self):
        for i in range(1000):
            self.index[b"%03d" % i] = b"%d" % i
        keys = [b"%03d" % i for i in range(1000)]
        scan = self.index.scan
        self.assertEqual([k for k, _ in scan()], keys)
        self.assertEqual([k for k, _ in scan(prefix=b"12")], keys[120:130])
        self.assertEqual([k for k, _ in scan(start=b"5", before=b"503")],
                         keys[500:503])
        self.assertEqual([k for k, _ in scan(after=b"500", limit=2)],
                         keys[501:503])
        self.assertEqual(list(scan(reverse=True, limit=1, values=False)),
                         [(b"999", None)])
        self.assertEqual(self.index.count(prefix=b"7"), 100)
        with self.assertRaises(ValueError):
            scan(start=b"a", after=b"b")
        with self.assertRaises(ValueError):
            scan(prefix=b"a", before=b"b")

    def test_scan_empty_keys(self):
        """An empty key is one that nothing is before; None is none."""
        keys = [b"\0", b"a", b"b"]
        self.index.update(dict.fromkeys(keys, b""))
        for selection, expected in (
                ({"before": b""}, []), ({"before": None}, keys),
                ({"prefix": b""}, keys), ({"start": b""}, keys),
                ({"after": b""}, keys),
                ({"before": b"", "reverse": True}, keys[::-1]),
                ({"prefix": b"", "reverse": True}, keys[::-1]),
                ({"start": b"", "reverse": True}, []),
                ({"after": b"", "reverse": True}, [])):
            with self.subTest(selection):
                found = [k for k, _ in self.index.scan(**selection)]
                self.assertEqual(found, expected)
                self.assertEqual(self.index.count(**selection), len(expected))

    def test_scan_limits(self):
        self.index.update(dict.fromkeys([b"a", b"b", b"c"], b""))
        for limit, number in ((None, 3), (0, 0), (1, 1), (3, 3), (True, 1),
                              (2 ** 32, 3), (2 ** 64 - 1, 3), (2 ** 64, 3),
                              (2 ** 64 + 1, 3)):
            self.assertEqual(len(list(self.index.scan(limit=limit))), number)
            self.assertEqual(self.index.count(limit=limit), number)
            self.assertEqual(
                len(list(self.index.scan(limit=limit, reverse=True,
                                         prefix=b""))), number)
        for wrong in -1, -2 ** 64, -2 ** 64 + 1:
            for use in self.index.scan, self.index.count:
                with self.assertRaises(ValueError):
                    use(limit=wrong)
        for wrong in "1", 1.0, b"1":
            with self.assertRaises(TypeError):
                self.index.scan(limit=wrong)
        for what in "start", "after", "before", "prefix":
            with self.assertRaises(TypeError):
                self.index.scan(**{what: "text"})
            with Errno(errno.EMSGSIZE):
                self.index.scan(**{what: bytes(3000)})

    def test_names(self):
        with self.assertRaises(ValueError):
            self.pool.index("t\0u")
        with self.assertRaises(ValueError):
            self.pool.destroy(b"t\0u")
        with self.assertRaises(ValueError):
            wort.Pool("/dev/wort0\0")
        with Errno(errno.EINVAL):
            self.pool.index("")
        with Errno(errno.EMSGSIZE):
            self.pool.index("n" * (_lib.NAME_MAX + 1))
        with Errno(errno.EMSGSIZE):
            self.pool.destroy("n" * (_lib.NAME_MAX + 1))

    def test_scan_beside_changes(self):
        for i in range(100):
            self.index[b"%02d" % i] = b""
        for key, _ in self.index.scan():
            del self.index[key]
        self.assertEqual(len(self.index), 0)

    def test_batch(self):
        with self.index.batch(max_ops=10) as batch:
            for i in range(95):
                batch.put(b"%02d" % i, b"v")
        self.assertEqual(batch.done, 95)
        self.assertEqual(len(self.index), 95)
        with Errno(errno.ENOENT):
            with self.index.batch() as batch:
                batch.delete(b"00")
                batch.delete(b"none")
                batch.delete(b"01")
        self.assertNotIn(b"00", self.index)
        self.assertIn(b"01", self.index)
        with self.assertRaises(ZeroDivisionError):
            with self.index.batch() as batch:
                batch.delete(b"01")
                1 / 0
        self.assertIn(b"01", self.index)

    def test_batch_sizes(self):
        for wrong in -1, 0, -2 ** 32 + 1:
            with self.assertRaises(ValueError):
                self.index.batch(max_ops=wrong)
        with self.assertRaises(TypeError):
            self.index.batch(max_ops="1")
        for size in None, 1, 2 ** 32, 2 ** 32 + 1:
            with self.index.batch(max_ops=size) as batch:
                for key in b"abc":
                    batch.put(bytes([key]), b"")
            self.assertEqual(batch.done, 3)

    def test_batch_failure(self):
        """What failed is named, and what is durable counted."""
        batch = self.index.batch()
        for key in b"a", b"b", b"c":
            batch.put(key, b"")
        batch.delete(b"missing")
        batch.put(b"never", b"")
        with Errno(errno.ENOENT) as caught:
            batch.submit()
        self.assertEqual(batch.done, 3)
        self.assertEqual(list(self.index), [b"a", b"b", b"c"])
        self.check_failure(caught.exc, 3, "delete", b"missing")
        self.assertIn("delete of b'missing', operation 3 of the batch",
                      str(caught.exc))
        self.check_failure(pickle.loads(pickle.dumps(caught.exc)), 3,
                           "delete", b"missing")
        # It is empty, and goes on to count.
        batch.submit()
        batch.put(b"d", b"")
        batch.delete(b"missing too")
        with Errno(errno.ENOENT) as caught:
            batch.submit()
        self.assertEqual(batch.done, 4)
        self.check_failure(caught.exc, 6, "delete", b"missing too")

    def test_batch_failure_on_the_way(self):
        with Errno(errno.ENOENT) as caught:
            with self.index.batch(max_ops=2) as batch:
                batch.put(b"a", b"")
                batch.delete(b"missing")
                batch.put(b"b", b"")
        self.assertEqual(batch.done, 1)
        self.check_failure(caught.exc, 1, "delete", b"missing")
        self.assertEqual(list(self.index), [b"a"])

    def test_batch_refused(self):
        """The call fails, so nothing was done."""
        with self.pool.index("t", readonly=True) as index:
            batch = index.batch()
            batch.put(b"a", b"")
            with Errno(errno.EBADF) as caught:
                batch.submit()
        self.assertEqual(batch.done, 0)
        self.check_failure(caught.exc, 0, "put", b"a")
        batch.put(b"a", b"")
        for _ in range(2):
            with self.assertRaises(ValueError):
                batch.submit()

    def check_failure(self, exc, position, operation, key):
        self.assertIsInstance(exc, wort.BatchError)
        self.assertEqual((exc.position, exc.operation, exc.key),
                         (position, operation, key))

    def test_atomic(self):
        """A rename from one index to another."""
        with self.pool.index("u", exclusive=True) as other:
            self.index[b"old"] = b"v"
            self.index[b"count"] = b"1"
            with self.pool.atomic() as batch:
                batch.absent(other, b"new")
                batch.expect(self.index, b"old", b"v")
                before = batch.get(self.index, b"old")
                batch.delete(self.index, b"old", expected=b"v")
                batch.put(other, b"new", b"v", create=True)
                batch.cas(self.index, b"count", b"1", b"2")
                batch.present(other, b"new")
                after = batch.get(self.index, b"old")
                with self.assertRaises(ValueError):
                    before.value
            self.assertEqual(before.value, b"v")
            self.assertIsNone(after.value)
            self.assertEqual(dict(self.index), {b"count": b"2"})
            self.assertEqual(dict(other), {b"new": b"v"})
        self.pool.destroy("u")

    def test_atomic_refused(self):
        """Each kind of operation, with its errno; nothing is changed."""
        index = self.index
        index[b"k"] = b"v"
        cases = [
            (errno.EEXIST, "put", lambda b: b.put(index, b"k", b"", create=True)),
            (errno.ENOENT, "put", lambda b: b.put(index, b"l", b"", replace=True)),
            (errno.ECANCELED, "cas", lambda b: b.cas(index, b"k", b"w", b"")),
            (errno.ECANCELED, "delete", lambda b: b.delete(index, b"k", b"w")),
            (errno.ENOENT, "delete", lambda b: b.delete(index, b"l")),
            (errno.ECANCELED, "expect", lambda b: b.expect(index, b"k", b"")),
            (errno.ENOENT, "present", lambda b: b.present(index, b"l")),
            (errno.EEXIST, "absent", lambda b: b.absent(index, b"k")),
            (errno.EINVAL, "put", lambda b: b.put(index, b"", b"")),
        ]
        for number, operation, append in cases:
            with Errno(number) as caught:
                with self.pool.atomic() as batch:
                    batch.put(index, b"x", b"")
                    append(batch)
                    batch.put(index, b"y", b"")
            for exc in caught.exc, pickle.loads(pickle.dumps(caught.exc)):
                self.assertIsInstance(exc, wort.Refused)
                self.assertEqual((exc.number, exc.operation), (1, operation))
                self.assertIn(exc.key, (b"k", b"l", b""))
                self.assertIn("operation 1 of the atomic batch", str(exc))
            self.assertEqual(dict(index), {b"k": b"v"})

    def test_atomic_exception(self):
        with self.assertRaises(ZeroDivisionError):
            with self.pool.atomic() as batch:
                batch.put(self.index, b"k", b"v")
                1 / 0
        self.assertEqual(len(self.index), 0)
        with self.assertRaises(ValueError):
            batch.commit()

    def test_atomic_commit(self):
        """It is empty afterwards, also if an operation refused."""
        with self.pool.atomic() as batch:
            batch.commit()
            batch.put(self.index, b"a", b"")
            batch.commit()
            batch.absent(self.index, b"a")
            lookup = batch.get(self.index, b"a")
            with Errno(errno.EEXIST):
                batch.commit()
            with self.assertRaises(ValueError):
                lookup.value
            batch.put(self.index, b"b", b"")
        self.assertEqual(list(self.index), [b"a", b"b"])

    def test_atomic_limits(self):
        with self.pool.atomic() as batch:
            for nr in range(64):
                batch.put(self.index, b"%02d" % nr, b"v")
            with Errno(errno.EMSGSIZE):
                batch.put(self.index, b"k", b"v")
        self.assertEqual(len(self.index), 64)
        self.index[b"00"] = bytes(5000)
        with self.pool.atomic() as batch:
            found = [batch.get(self.index, b"%02d" % nr) for nr in range(64)]
        self.assertEqual({lookup.value for lookup in found[1:]}, {b"v"})
        with Errno(errno.ERANGE):
            found[0].value
        with self.pool.atomic() as batch:
            long = batch.get(self.index, b"00", max_len=2 ** 40)
            with self.assertRaises(ValueError):
                batch.get(self.index, b"00", max_len=-1)
        self.assertEqual(long.value, bytes(5000))

    def test_atomic_handles(self):
        """The batch keeps indexes open, and a descriptor is not another one's."""
        index = self.pool.index("t")
        batch = self.pool.atomic()
        batch.put(index, b"k", b"v")
        index.close()
        with self.pool.index("u", exclusive=True) as other:
            batch.commit()
            self.assertEqual(dict(other), {})
        self.pool.destroy("u")
        self.assertEqual(dict(self.index), {b"k": b"v"})
        with self.assertRaises(ValueError):
            batch.put(index, b"k", b"v")
        batch.close()
        with self.assertRaises(ValueError):
            batch.put(self.index, b"k", b"v")
        with self.pool.index("t", readonly=True) as index:
            with Errno(errno.EBADF) as caught:
                with self.pool.atomic() as batch:
                    batch.present(index, b"k")
                    batch.delete(index, b"k")
        self.assertEqual(caught.exc.number, 1)

    def test_stats(self):
        self.index[b"k"] = b"v"
        cost = self.index.stats()
        self.assertEqual(set(cost), set(_lib.OPERATIONS))
        self.assertEqual(cost["insert"]["ops"], 1)
        self.assertEqual(cost["insert"]["ordering_points"], 2)

    def test_handles(self):
        other = self.pool.index("t", readonly=True)
        with Errno(errno.EBADF):
            other[b"k"] = b"v"
        other.close()
        other.close()
        with self.assertRaises(ValueError):
            other[b"k"]
        with Errno(errno.EEXIST):
            self.pool.index("t", exclusive=True)
        with Errno(errno.ENOENT):
            self.pool.index("none")
        names = [rec.name for rec in self.pool.indexes()]
        self.assertEqual(names.count(b"t"), 1)

    def test_destroyed(self):
        self.pool.index("gone", create=True).close()
        with self.pool.index("gone") as gone:
            self.pool.destroy("gone")
            with Errno(errno.ESTALE):
                gone[b"k"] = b"v"

    def test_engine(self):
        name = wort.engines()[0].name
        self.pool.index("t", engine=name).close()
        self.pool.index("u", create=True, engine=name, attributes={}).close()
        self.pool.destroy("u")
        with self.assertRaises(ValueError):
            self.pool.index("t", engine="none")
        with Errno(errno.ENOENT):
            self.pool.index("u", create=True, attributes={"absent": 1})
        self.assertNotIn(b"u", {rec.name for rec in self.pool.indexes()})

    def test_many_indexes(self):
        for i in range(130):
            self.pool.index(f"many{i}", create=True).close()
        names = {rec.name for rec in self.pool.indexes()}
        self.assertLessEqual({b"many%d" % i for i in range(130)}, names)
        for i in range(130):
            self.pool.destroy(f"many{i}")


class Call:
    """The first call of a function of libwort, held up before it is made."""

    def __init__(self, name, before=None):
        self.name = name
        self.real = getattr(_lib.library(), name)
        self.before = before or self.wait
        self.begun = threading.Event()
        self.may_go_on = threading.Event()
        self.nr = self.at_once = self.most_at_once = 0

    def wait(self):
        self.begun.set()
        if not self.may_go_on.wait(60):
            raise TimeoutError

    def __call__(self, *args):
        self.nr += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.nr == 1:
                self.before()
            return self.real(*args)
        finally:
            self.at_once -= 1

    def __enter__(self):
        setattr(_lib.library(), self.name, self)
        return self

    def __exit__(self, *_exc):
        setattr(_lib.library(), self.name, self.real)

    @contextlib.contextmanager
    def under_way(self, function, *args):
        """Within it another thread is in the call."""
        answer = []
        thread = threading.Thread(
            target=lambda: answer.append(function(*args)), daemon=True)
        thread.start()
        if not self.begun.wait(60):
            raise TimeoutError
        yield answer
        self.may_go_on.set()
        thread.join(60)


class Handles(unittest.TestCase):
    """They are closed while other threads, signal handlers or children use
    them."""

    def setUp(self):
        self.pool = wort.Pool("/dev/wort0", write=True)
        self.index = self.pool.index("t", exclusive=True)
        self.other = self.pool.index("other", exclusive=True)
        self.other.close()

    def tearDown(self):
        with wort.Pool("/dev/wort0", write=True) as pool:
            pool.destroy("t")
            pool.destroy("other")

    def close_and_reopen(self, *handles):
        """The next open would get what the last close gave back."""
        for handle in handles:
            handle.close()
        self.other = self.pool.index("other")

    def check_apart(self, records):
        """@records are in the index, and none in the other one."""
        self.assertEqual(dict(self.other), {})
        self.other.close()
        with self.pool.index("t") as index:
            self.assertEqual(dict(index), records)

    def test_put(self):
        with Call("wort_put") as put, Call("wort_index_close") as close:
            close.before = lambda: None
            index = self.pool.index("t")
            with put.under_way(index.put, b"k", b"v"):
                self.close_and_reopen(index)
                with self.assertRaises(ValueError):
                    index.put(b"k", b"v")
                index.close()
                self.assertEqual(close.nr, 0)
            self.assertEqual(close.nr, 1)
            index.close()
            del index
            gc.collect()
            self.assertEqual(close.nr, 1)
        self.check_apart({b"k": b"v"})

    def test_get(self):
        self.index[b"k"] = b"v"
        with Call("wort_get") as get:
            with get.under_way(self.index.get, b"k") as answer:
                self.close_and_reopen(self.index)
        self.assertEqual(answer, [b"v"])
        self.check_apart({b"k": b"v"})

    def test_each(self):
        """Whatever is called, the handle stays as long as it takes."""
        for name, use in (("wort_del", lambda index: index.pop(b"k")),
                          ("wort_count", len),
                          ("wort_index_stats", lambda index: index.stats()),
                          ("wort_scan_begin",
                           lambda index: list(index.scan()))):
            with self.subTest(name):
                self.index[b"k"] = b"v"
                with Call(name) as call, Call("wort_index_close") as close:
                    close.before = lambda: None
                    index = self.pool.index("t")
                    with call.under_way(use, index) as answer:
                        index.close()
                        self.assertEqual(close.nr, 0)
                    self.assertEqual((len(answer), close.nr), (1, 1))
                with self.assertRaises(ValueError):
                    use(index)

    def test_pool(self):
        for name, use in (
                ("wort_index_open", lambda pool: pool.index("t").close()),
                ("wort_pool_list", lambda pool: list(pool.indexes())),
                ("wort_pool_destroy", lambda pool: pool.destroy("third"))):
            with self.subTest(name), self.pool.index("third", create=True):
                with Call(name) as call, Call("wort_pool_close") as close:
                    close.before = lambda: None
                    pool = wort.Pool("/dev/wort0", write=True)
                    with call.under_way(use, pool) as answer:
                        pool.close()
                        self.assertEqual(close.nr, 0)
                    self.assertEqual((len(answer), close.nr), (1, 1))
                with self.assertRaises(ValueError):
                    use(pool)

    def test_scan_of_closed_index(self):
        for key in b"a", b"b", b"c":
            self.index[key] = bytes(60000)
        opts = _lib.scan_opts()
        opts.buf_size = 1       # a record at a time
        scan = wort.Scan(self.index, opts)
        self.assertEqual(next(scan)[0], b"a")
        self.close_and_reopen(self.index)
        self.other[b"x"] = b""
        self.assertEqual([key for key, _ in scan], [b"b", b"c"])
        self.assertEqual(list(scan), [])
        del self.other[b"x"]
        with self.assertRaises(ValueError):
            self.index.scan()

    def test_scan(self):
        self.index.update({b"a": b"", b"b": b""})
        with Call("wort_scan_next") as call, Call("wort_scan_end") as end:
            end.before = lambda: None
            scan = self.index.scan()
            with call.under_way(next, scan) as answer:
                scan.close()
                self.assertEqual(end.nr, 0)
            self.assertEqual((answer, end.nr), ([(b"a", b"")], 1))
        with self.assertRaises(ValueError):
            next(scan)

    def test_submit(self):
        batch = self.index.batch()
        batch.put(b"k", b"v")
        with Call("wort_batch_submit") as submit:
            with submit.under_way(batch.submit):
                self.close_and_reopen(self.index, batch)
        self.assertEqual(batch.done, 1)
        with self.assertRaises(ValueError):
            batch.put(b"k", b"v")
        self.check_apart({b"k": b"v"})

    def test_one_at_a_time(self):
        """Of a scan or a batch calls wait for each other."""
        self.index.update({b"a": b"", b"b": b""})
        batch, scan = self.index.batch(), self.index.scan()
        for name, handle, first, second in (
                ("wort_batch_put", batch, lambda: batch.put(b"c", b""),
                 lambda: batch.put(b"d", b"")),
                ("wort_scan_next", scan, lambda: next(scan),
                 lambda: next(scan))):
            with self.subTest(name), Call(name) as call:
                with call.under_way(first):
                    handle._turn = turn = Turn(handle._turn)
                    thread = threading.Thread(target=second, daemon=True)
                    thread.start()
                    self.assertTrue(turn.wanted.wait(60))
                thread.join(60)
                self.assertEqual((call.nr, call.most_at_once), (2, 1))
        batch.submit()
        self.assertEqual(list(self.index), [b"a", b"b", b"c", b"d"])
        self.assertEqual(list(scan), [])

    def test_signal_handler(self):
        """It may use what it interrupts: libwort's function is not left."""
        self.index.update({b"a": b"1", b"b": b"2"})
        errors = []

        def handler():
            for use in lambda: next(scan), lambda: batch.put(b"d", b""):
                try:
                    use()
                except ValueError as err:
                    errors.append(err)
            scan.close()

        with Call("wort_scan_next", handler):
            scan, batch = self.index.scan(), self.index.batch()
            self.assertEqual(next(scan), (b"a", b"1"))
        self.assertEqual(len(errors), 1)
        with Call("wort_batch_submit", handler):
            batch.submit()
        self.assertEqual(len(errors), 3)
        self.assertEqual(list(self.index), [b"a", b"b", b"d"])

    def test_fork(self):
        """The child does not wait for threads that it does not have."""
        scan, index = self.index.scan(), self.index
        locked, may_go_on = threading.Event(), threading.Event()

        def hold():
            with index._lock:
                locked.set()
                may_go_on.wait(60)

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        self.assertTrue(locked.wait(60))
        with Call("wort_scan_next") as call, call.under_way(next, scan, None):
            with warnings.catch_warnings():
                # Python 3.12 warns of what is tried here.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if not child:
                signal.alarm(30)
                try:
                    index.close()
                    next(scan)
                except ValueError:
                    os._exit(0)
                os._exit(1)
            _, status = os.waitpid(child, 0)
        may_go_on.set()
        thread.join(60)
        self.assertEqual(status, 0)

    def test_collected(self):
        """In whatever order, once."""
        names = ("wort_pool_close", "wort_index_close", "wort_scan_end",
                 "wort_batch_free")
        with contextlib.ExitStack() as stack:
            calls = [stack.enter_context(Call(name, lambda: None))
                     for name in names]
            pool = wort.Pool("/dev/wort0")
            index = pool.index("t")
            handles = [pool, index, index.scan(), index.batch()]
            handles.append(handles)
            del pool, index, handles
            gc.collect()
            self.assertEqual([call.nr for call in calls], [1, 1, 1, 1])


class Turn:
    """A lock that tells when somebody wants it."""

    def __init__(self, lock):
        self.lock = lock
        self.wanted = threading.Event()

    def acquire(self):
        self.wanted.set()
        return self.lock.acquire()

    def release(self):
        self.lock.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_exc):
        self.release()


class WithoutModule(unittest.TestCase):
    def test_no_pool(self):
        with Errno(errno.ENOENT):
            wort.Pool("/dev/wort7")

    def test_engines(self):
        engines = wort.engines()
        self.assertEqual(engines[0].name, "wort")
        self.assertEqual(engines[0].id, 1)
        self.assertLessEqual({"ordered", "mappable"}, engines[0].traits)
        self.assertNotIn("readers_lock", engines[0].traits)
        self.assertEqual(engines[0].attributes, [])
        with Errno(errno.ENOENT) as caught:
            _lib.attr_word(engines[0].id, {"node": 512})
        self.assertEqual(caught.exc.filename, "node=512")

    def test_attribute(self):
        attr = _lib.Attr(b"split", b"left right", 1, 2, 2, 1, 60, 4)
        self.assertEqual(
            wort._attribute(attr),
            wort.Attribute("split", ["left", "right"], 1, 2, 1, 2))

    def test_version(self):
        self.assertRegex(wort.version(), r"^\d+\.\d+$")


class Declarations(unittest.TestCase):
    """The structs and constants are those of the headers."""

    def compile(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.c")
            source.write_text("#include <stdio.h>\n#include <wort.h>\n"
                              "#include <linux/wort_engines.h>\n"
                              "int main(void)\n{\n" + "".join(lines) + "}\n")
            subprocess.run(["cc", f"-I{TOP}/userlib/include",
                            f"-I{TOP}/uapi", "-o", f"{folder}/a", source],
                           check=True)
            said = subprocess.run([f"{folder}/a"], capture_output=True,
                                  text=True, check=True).stdout
        return [int(word) for word in said.split()]

    def test_structs(self):
        lines, expected = [], []
        for struct in (_lib.IndexOpts, _lib.ScanOpts, _lib.BatchOpts,
                       _lib.ScanItem, _lib.BatchItem, _lib.BatchRequest,
                       _lib.IndexRecord, _lib.OpStats, _lib.Engine, _lib.Attr):
            name = "wort" + re.sub("([A-Z])", r"_\1", struct.__name__).lower()
            lines.append(f'printf("%zu\\n", sizeof(struct {name}));\n')
            expected.append(ctypes.sizeof(struct))
            for field in (field for field, _ in struct._fields_):
                cname = "__" + field if field == "reserved" else field
                lines.append(f'printf("%zu\\n", __builtin_offsetof('
                             f'struct {name}, {cname}));\n')
                expected.append(getattr(struct, field).offset)
        self.assertEqual(self.compile(lines), expected)

    def test_constants(self):
        pairs = {
            "WORT_KEY_MAX": _lib.KEY_MAX, "WORT_VALUE_MAX": _lib.VALUE_MAX,
            "WORT_NAME_MAX": _lib.NAME_MAX,
            "WORT_INDEX_OPEN_F_CREATE": _lib.OPEN_CREATE,
            "WORT_INDEX_OPEN_F_EXCL": _lib.OPEN_EXCL,
            "WORT_INDEX_OPEN_F_RDONLY": _lib.OPEN_RDONLY,
            "WORT_INDEX_OPEN_F_RELAXED": _lib.OPEN_RELAXED,
            "WORT_INSERT_F_CREATE": _lib.PUT_CREATE,
            "WORT_INSERT_F_REPLACE": _lib.PUT_REPLACE,
            "WORT_SCAN_F_REVERSE": _lib.SCAN_REVERSE,
            "WORT_SCAN_F_AFTER": _lib.SCAN_AFTER,
            "WORT_SCAN_F_PREFIX": _lib.SCAN_PREFIX,
            "WORT_SCAN_F_KEYS": _lib.SCAN_KEYS,
            "WORT_BATCH_F_STOP": _lib.BATCH_STOP,
            "WORT_BATCH_INSERT": _lib.INSERT, "WORT_BATCH_DELETE": _lib.DELETE,
            "WORT_BATCH_LOOKUP": _lib.LOOKUP, "WORT_BATCH_CAS": _lib.CAS,
            "WORT_BATCH_EXPECT": _lib.EXPECT,
            "WORT_DELETE_F_EXPECT": _lib.DELETE_EXPECT,
            "WORT_EXPECT_F_PRESENT": _lib.EXPECT_PRESENT,
            "WORT_EXPECT_F_ABSENT": _lib.EXPECT_ABSENT,
            "WORT_NO_VALUE": _lib.NO_VALUE, "WORT_OP_NR": len(_lib.OPERATIONS),
        }
        pairs.update({f"WORT_TRAIT_{name}": 1 << bit for bit, name in
                      enumerate(("INSTANT_OPEN", "MAPPABLE", "ORDERED",
                                 "READERS_LOCK", "DELETE_SPACE",
                                 "BATCH_SHARED"))})
        lines = [f'printf("%u\\n", {name});\n' for name in pairs]
        self.assertEqual(self.compile(lines), list(pairs.values()))


class Collection(unittest.TestCase):
    """What nobody closed is closed when it is collected, in any thread."""

    def test_collected(self):
        def use():
            index = wort.Pool("/dev/wort0", write=True).index("c", create=True)
            index[b"k"] = b"v"

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        with wort.Pool("/dev/wort0", write=True) as pool:
            self.assertEqual(pool.index("c")[b"k"], b"v")
            pool.destroy("c")


if __name__ == "__main__":
    unittest.main()
