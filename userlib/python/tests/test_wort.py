#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The package, built for the tests: its extension is linked with hold.c, which
WORT_HOLD names, and with libwort and a stub of the module's devices.  WORT_STUB
names the image of the stub, on which there is a pool that is attached.
"""
import ast
import contextlib
import ctypes
import doctest
import errno
import faulthandler
import gc
import inspect
import os
import pathlib
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
import warnings
from unittest import mock

import wort
from wort import _ctl, _engine, _load, _wort

SOURCE = pathlib.Path(__file__).resolve().parent.parent
hold = ctypes.CDLL(os.environ["WORT_HOLD"])


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
        self.assertIs(bool(index), True)
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
        for put in self.index.put, self.index.exchange:
            with self.assertRaisesRegex(ValueError, "exclude each other"):
                put(b"k", b"5", create=True, replace=True)
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
            self.pool.index("n" * (_wort.NAME_MAX + 1))
        with Errno(errno.EMSGSIZE):
            self.pool.destroy("n" * (_wort.NAME_MAX + 1))

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
                with self.assertRaisesRegex(ValueError, "exclude each other"):
                    batch.put(other, b"new", b"w", create=True, replace=True)
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

    def test_former_value(self):
        """Short, long and none, each in one step with the change."""
        index, long = self.index, bytes(range(256)) * 256
        self.assertIsNone(index.exchange(b"k", long))
        self.assertEqual(index.exchange(b"k", b"short"), long)
        self.assertEqual(index.exchange(b"k", b""), b"short")
        self.assertEqual(index.exchange(b"k", long, replace=True), b"")
        with Errno(errno.EEXIST):
            index.exchange(b"k", b"", create=True)
        with Errno(errno.ENOENT):
            index.exchange(b"l", b"", replace=True)
        self.assertEqual(index.setdefault(b"k", b"other"), long)
        self.assertEqual(index.setdefault(b"l", bytearray(b"new")), b"new")
        self.assertEqual(dict(index), {b"k": long, b"l": b"new"})
        self.assertEqual(index.pop(b"k"), long)
        self.assertEqual(index.pop(b"l", None), b"new")
        with self.assertRaises(KeyError):
            index.pop(b"l")
        self.assertEqual(index.pop(b"l", 7), 7)
        with Errno(errno.EINVAL):
            index.exchange(b"", b"")
        with Errno(errno.EMSGSIZE):
            index.setdefault(bytes(wort.KEY_MAX + 1), b"")
        for use in index.exchange, index.setdefault:
            with self.assertRaises(TypeError):
                use(b"k", None)
        self.assertEqual(len(index), 0)
        self.assertIs(bool(index), False)

    def test_cas(self):
        index = self.index
        self.assertFalse(index.cas(b"k", b"", b"1"))
        index[b"k"] = b"1"
        self.assertFalse(index.cas(b"k", b"2", b"3"))
        self.assertTrue(index.cas(b"k", b"1", bytes(5000)))
        self.assertEqual(index.compare_exchange(b"k", b"1", b"2"), bytes(5000))
        self.assertEqual(index[b"k"], bytes(5000))
        self.assertEqual(index.compare_exchange(b"k", bytes(5000), b"2"),
                         bytes(5000))
        self.assertEqual(index[b"k"], b"2")
        self.assertIsNone(index.compare_exchange(b"l", b"1", b"2"))
        self.assertFalse(index.delete_if(b"k", b"1"))
        self.assertFalse(index.delete_if(b"l", b"2"))
        self.assertTrue(index.delete_if(b"k", memoryview(b"2")))
        index[b"k"] = b""
        self.assertFalse(index.delete_if(b"k", b"2"))
        self.assertTrue(index.delete_if(b"k", b""))
        self.assertEqual(len(index), 0)
        for use in (lambda: index.cas(b"k", None, b""),
                    lambda: index.cas(b"k", b"", None),
                    lambda: index.compare_exchange(b"k", b"", "text"),
                    lambda: index.delete_if(b"k", None),
                    lambda: index.delete_if(b"k")):
            with self.assertRaises(TypeError):
                use()
        with self.pool.index("t", readonly=True) as other:
            for use in (lambda: other.cas(b"k", b"", b""),
                        lambda: other.compare_exchange(b"k", b"", b""),
                        lambda: other.delete_if(b"k", b"")):
                with Errno(errno.EBADF):
                    use()

    def test_get_many(self):
        """More keys than a batch takes, and values that its answers do not."""
        index = self.index
        index.update((b"%05d" % i, b"%d" % i) for i in range(10000))
        index[b"long"] = bytes(60000)
        index[b"empty"] = b""
        keys = [b"%05d" % i for i in range(10000)]
        random.Random(1).shuffle(keys)
        self.assertEqual(index.get_many(keys), [b"%d" % int(k) for k in keys])
        odd = [b"long", b"none", b"empty", b"", bytes(wort.KEY_MAX + 1),
               bytearray(b"00007"), b"long"]
        self.assertEqual(index.get_many(iter(odd)),
                         [bytes(60000), None, b"", None, None, b"7",
                          bytes(60000)])
        self.assertEqual(index.get_many([]), [])
        for wrong in 7, [7], [b"00001", None]:
            with self.assertRaises(TypeError):
                index.get_many(wrong)
        index.close()
        with self.assertRaises(ValueError):
            index.get_many(keys)

    def test_scan_sizes(self):
        """Chunks of the binding and buffers of libwort end anywhere."""
        rng = random.Random(2)
        records = {b"%04d" % i: bytes(rng.choice([0, 1, 300, 16383, 65536]))
                   for i in range(300)}
        self.index.update(records)
        with self.assertRaisesRegex(ValueError, "buffer_size is -1"):
            self.index.scan(buffer_size=-1)
        for buffer_size in 0, 1, 100000, 1 << 30, 1 << 100:
            self.assertEqual(dict(self.index.scan(buffer_size=buffer_size)),
                             records)
        self.assertEqual(list(self.index), sorted(records))
        self.assertEqual(list(self.index.values()),
                         [records[key] for key in sorted(records)])
        self.assertEqual(list(self.index.keys()), sorted(records))
        self.assertEqual(self.index, records)

    def test_scan_twice(self):
        """An end is an end, and an open scan is not opened again."""
        self.index[b"a"] = b""
        scan = self.index.scan()
        with self.assertRaises(ValueError):
            scan.__init__(self.index)
        self.assertEqual(list(scan), [(b"a", b"")])
        self.index[b"b"] = b""
        self.assertEqual(list(scan), [])
        with self.assertRaises(TypeError):
            wort.Scan(self.pool)
        for unopened in wort.Scan, wort.Batch, wort.Index, wort.Atomic:
            unopened = unopened.__new__(unopened)
            self.assertTrue(unopened.closed)
            unopened.close()
        with self.assertRaises(ValueError):
            next(wort.Scan.__new__(wort.Scan))

    def test_scan_error(self):
        """The records before an error come first."""
        with self.pool.index("gone", create=True) as index:
            index.update({b"%d" % i: bytes(60000) for i in range(9)})
            scan = index.scan(buffer_size=1)
            next(scan)
            self.pool.destroy("gone")
            with Errno(errno.ESTALE):
                list(scan)
            with Errno(errno.ESTALE):
                next(scan)

    def test_slices(self):
        index = self.index
        index.update((bytes([c]), b"") for c in b"abcdef")

        def keys(*bounds):
            return b"".join(key for key, _ in index[slice(*bounds)])

        self.assertEqual(keys(None), b"abcdef")
        self.assertEqual(keys(b"b", b"e"), b"bcd")
        self.assertEqual(keys(b"e", b"b"), b"")
        self.assertEqual(keys(b"e", b"b", -1), b"edc")
        self.assertEqual(keys(None, None, -1), b"fedcba")
        self.assertEqual(keys(b"aa", None, 1), b"bcdef")
        for step in 2, 0, -2:
            with self.assertRaises(ValueError):
                index[b"a":b"b":step]
        with self.assertRaises(TypeError):
            index[0:2]
        with self.assertRaises(TypeError):
            index[b"a":b"b"] = b""
        del index[b"b":b"e"]
        self.assertEqual(keys(None), b"aef")
        del index[b"e"::-1]
        self.assertEqual(keys(None), b"f")

    def test_update(self):
        self.index.update({b"a": b"1"})
        self.index.update([(b"b", b"2"), [b"c", bytearray(b"3")]])
        self.index.update()
        self.assertEqual(self.index,
                         {b"a": b"1", b"b": b"2", b"c": b"3"})
        with self.assertRaises(ValueError):
            self.index.update([(b"d", b"4", b"5")])
        with self.assertRaises(TypeError):
            self.index.update([7])
        with self.assertRaises(ZeroDivisionError):
            self.index.update((b"%d" % (1 // i), b"") for i in (1, 0))
        with Errno(errno.EMSGSIZE):
            self.index.update({bytes(1025): b""})
        self.assertEqual(len(self.index), 3)

    def test_batch_by_itself(self):
        """The pairs of an update may come from the index, and use the batch."""
        self.index.update((b"%03d" % i, b"") for i in range(100))
        with self.index.batch(max_ops=7) as batch:
            batch.update((b"x" + key, value) for key, value in self.index.scan())

        def pairs():
            for i in range(20):
                batch.put(b"y%02d" % i, b"")
                yield b"z%02d" % i, b""

        with self.index.batch(max_ops=3) as batch:
            batch.update(pairs())
        self.assertEqual(batch.done, 40)
        self.assertEqual(len(self.index), 240)

    def test_typed(self):
        numbers = [0, 1, 255, 256, 2 ** 32, 2 ** 64 - 1]
        for codec, values in ((wort.U64, numbers),
                              (wort.I64, [-2 ** 63, -256, -1, 0, 1, 2 ** 63 - 1]),
                              (wort.F64, [float("-inf"), -1e300, -1.5, -1e-310,
                                          0.0, 1e-310, 1.5, 1e300,
                                          float("inf")]),
                              (wort.TEXT, ["A", "a", "\u00e9", "\U0001f600"]),
                              (wort.BYTES, [b"a", b"b"])):
            with self.subTest(values):
                view = self.index.typed(codec, wort.U64)
                view.clear()
                view.update((key, nr) for nr, key in enumerate(values))
                self.assertEqual(list(view), values)
                self.assertEqual(list(reversed(view)), values[::-1])
                self.assertEqual(list(view.values()), list(range(len(values))))
                self.assertEqual(dict(view.items()),
                                 {key: nr for nr, key in enumerate(values)})
                self.assertEqual(view.get_many(values[:2]), [0, 1])
                self.assertEqual(list(view[values[1]:]),
                                 list(zip(values, range(99)))[1:])
                self.assertEqual(view.count(before=values[-1]), len(values) - 1)
                del view[values[1]:]
                self.assertEqual(list(view), values[:1])

    def test_typed_absent(self):
        """What cannot be a key is not there, as in a dict."""
        view = self.index.typed(wort.U64)
        for number in -1, 2 ** 64:
            self.assertNotIn(number, view)
            self.assertIsNone(view.get(number))
            with self.assertRaises(KeyError):
                view[number]
            with self.assertRaises(KeyError):
                del view[number]
            with self.assertRaises(OverflowError):
                view[number] = b""

    def test_typed_mapping(self):
        view = self.index.typed(wort.TEXT, wort.Codec(
            lambda value: repr(value).encode(),
            lambda data: ast.literal_eval(data.decode())))
        view["Ada"] = [1, 2]
        view.put("Ada", [3], replace=True)
        self.assertEqual(self.index[b"Ada"], b"[3]")
        self.assertEqual(view.setdefault("Ada", []), [3])
        self.assertTrue(view.cas("Ada", [3], {}))
        self.assertFalse(view.delete_if("Ada", []))
        self.assertIn("Ada", view)
        self.assertEqual(view.get("Bob", 7), 7)
        self.assertEqual(view, {"Ada": {}})
        self.assertEqual(list(view.scan(prefix="A", limit=1)), [("Ada", {})])
        view.index[view.key.encode("Ada")] = b"(no Python"
        for use in (lambda: view.pop("Ada")), view.popitem:
            self.assertRaises(SyntaxError, use)
        view["Ada"] = {}
        self.assertEqual(view.pop("Ada"), {})
        self.assertEqual(view.pop("Ada", 7), 7)
        for use in view.pop, view.__getitem__, view.__delitem__:
            with self.assertRaises(KeyError) as caught:
                use("Ada")
        self.assertEqual(len(view), 0)
        for codec, wrong in ((wort.U64, -1), (wort.U64, 2 ** 64),
                             (wort.I64, 2 ** 63)):
            with self.assertRaises(OverflowError):
                codec.encode(wrong)
        self.index[b"short"] = b""
        with self.assertRaises(ValueError):
            list(self.index.typed(wort.U64, wort.BYTES))

    def test_info(self):
        info = self.pool.info()
        self.assertEqual(info.pool_size, os.stat(os.environ["WORT_STUB"]).st_size)
        self.assertEqual(info.label, "stub")
        self.assertIsInstance(info.uuid, uuid.UUID)
        self.assertEqual(info.state, frozenset())
        self.assertEqual(info.nr_indexes, len(list(self.pool.indexes())))
        info = self.index.info()
        self.assertEqual((info.name, info.state), (b"t", frozenset()))
        self.assertEqual([rec.id for rec in self.pool.indexes()
                          if rec.name == b"t"], [info.id])

    def test_check(self):
        self.index.update((b"%d" % i, b"") for i in range(50))
        for clear in False, True:
            found = self.pool.check(clear)
            self.assertEqual((found.nr_damaged, found.nr_leaves), (0, 50))
        with wort.Pool("/dev/wort0") as pool:
            with Errno(errno.EBADF):
                pool.check()

    def test_not_mapped(self):
        with Errno(errno.EINVAL):
            self.pool.map_stats()

    def test_stats(self):
        self.index[b"k"] = b"v"
        cost = self.index.stats()
        self.assertEqual(set(cost), {"lookup", "insert", "update",
                                     "delete", "scan", "atomic"})
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

    def test_rename(self):
        self.index[b"k"] = b"v"
        with self.pool.index("taken", create=True):
            pass
        with Errno(errno.EEXIST):
            self.pool.rename("t", "taken")
        with Errno(errno.ENOENT):
            self.pool.rename("missing", "other")
        with self.assertRaises(TypeError):
            self.pool.rename("t")
        self.pool.rename("t", b"renamed")
        self.assertEqual(self.index[b"k"], b"v")
        with self.pool.index("renamed") as index:
            self.assertEqual(index[b"k"], b"v")
        self.pool.rename("renamed", "t")
        self.pool.destroy("taken")

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
        with self.assertRaises(ValueError):
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
    """A function of libwort whose calls are counted, and the first one held up."""

    def __init__(self, name, wait=True):
        self.name = name.encode()
        self.wait = wait

    nr = property(lambda self: hold.hold_nr(self.name))
    most_at_once = property(lambda self: hold.hold_most_at_once(self.name))

    def __enter__(self):
        hold.hold_arm(self.name, self.wait)
        return self

    def __exit__(self, *_exc):
        hold.hold_go_on(self.name)

    @contextlib.contextmanager
    def under_way(self, function, *args):
        """Within it another thread is in the call."""
        answer = []
        thread = threading.Thread(
            target=lambda: answer.append(function(*args)), daemon=True)
        thread.start()
        if not hold.hold_begun(self.name):
            raise TimeoutError
        yield answer
        hold.hold_go_on(self.name)
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

    def test_pickle(self):
        for handle in self.pool, self.index, self.index.scan():
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with self.assertRaises(TypeError):
                    pickle.dumps(handle, protocol)
            handle.close()

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
        with Call("wort_put") as put, \
                Call("wort_index_close", wait=False) as close:
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

    def test_update_list(self):
        """A list of key and value is changed while the operations before are stored."""
        pair = [b"2", bytes([97]) * 3000]

        def pairs():
            yield b"1", b""
            yield pair

        with self.index.batch(max_ops=1) as batch, Call("wort_batch_submit") as call:
            with call.under_way(batch.update, pairs()):
                pair[:] = [None, None]
                others = [bytes([98]) * 3000 for _ in range(100)]
        self.assertEqual(len(others), 100)
        self.assertEqual(self.index[b"2"], bytes([97]) * 3000)

    @unittest.skipIf(sys.version_info < (3, 12), "no __buffer__() in Python")
    def test_update_buffer(self):
        """A list of key and value is emptied by the key when it is taken."""
        class Key:
            def __buffer__(self, flags):
                pair.clear()
                return memoryview(b"k")

        with self.index.batch() as batch:
            for _ in range(50):
                pair = [Key(), bytes(49000)]
                batch.update([pair])
        self.assertEqual(self.index[b"k"], bytes(49000))

    def test_update_signal(self):
        """A signal is heeded between the calls that carry a long update out."""
        class Heard(Exception):
            pass

        def hear(*_):
            raise Heard

        def interrupt():
            if hold.hold_begun(b"wort_batch_submit"):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            hold.hold_go_on(b"wort_batch_submit")

        pairs = [(b"%d" % i, b"") for i in range(100)]
        keys = [key for key, _ in pairs]
        old = signal.signal(signal.SIGUSR1, hear)
        try:
            for use in (self.index.batch(max_ops=1).update, pairs), (self.index.get_many, keys * 500):
                thread = threading.Thread(target=interrupt)
                with Call("wort_batch_submit"), self.assertRaises(Heard):
                    thread.start()
                    use[0](use[1])
                thread.join()
        finally:
            signal.signal(signal.SIGUSR1, old)
        self.assertLess(len(self.index), 10)

    def test_each(self):
        """Whatever is called, the handle stays as long as it takes."""
        for name, use in (("wort_del_if", lambda index: index.pop(b"k")),
                          ("wort_count", len),
                          ("wort_index_stats", lambda index: index.stats()),
                          ("wort_scan_begin",
                           lambda index: list(index.scan()))):
            with self.subTest(name):
                self.index[b"k"] = b"v"
                with Call(name) as call, \
                        Call("wort_index_close", wait=False) as close:
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
                with Call(name) as call, \
                        Call("wort_pool_close", wait=False) as close:
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
        scan = self.index.scan(buffer_size=1)   # a record at a time
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
        with Call("wort_scan_next") as call, \
                Call("wort_scan_end", wait=False) as end:
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
        batch, scan = self.index.batch(max_ops=1), self.index.scan()
        batch.put(b"c", b"")
        for name, first, second in (
                ("wort_batch_submit", batch.submit,
                 lambda: batch.put(b"d", b"")),
                ("wort_scan_next", lambda: next(scan), lambda: next(scan))):
            with self.subTest(name), Call(name) as call:
                with call.under_way(first):
                    thread = threading.Thread(target=second, daemon=True)
                    thread.start()
                    time.sleep(0.1)     # or the test finds less
                    self.assertEqual(call.nr, 1)
                    self.assertTrue(thread.is_alive())
                thread.join(60)
                self.assertEqual(call.most_at_once, 1)
        batch.submit()
        self.assertEqual(list(self.index), [b"a", b"b", b"c", b"d"])
        self.assertEqual(list(scan), [(b"c", b"")])

    def test_signal_handler(self):
        """It runs when libwort's function has returned, and may use the handle."""
        self.index.update({b"a": b"1", b"b": b"2"})
        found = []

        def handler(*_args):
            found.append(next(scan, None))
            batch.put(b"d", b"")

        def interrupt():
            hold.hold_begun(b"wort_scan_next")
            os.kill(os.getpid(), signal.SIGUSR1)
            hold.hold_go_on(b"wort_scan_next")

        before = signal.signal(signal.SIGUSR1, handler)
        try:
            with Call("wort_scan_next"):
                scan, batch = self.index.scan(), self.index.batch()
                thread = threading.Thread(target=interrupt)
                thread.start()
                found.append(next(scan))
                thread.join()
        finally:
            signal.signal(signal.SIGUSR1, before)
        batch.submit()
        self.assertEqual(sorted(found), [(b"a", b"1"), (b"b", b"2")])
        self.assertEqual(list(self.index), [b"a", b"b", b"d"])

    def test_used_by_itself(self):
        """What a batch calls cannot use the batch."""
        class Using(wort.Batch):
            def _failed(self, *args):
                self.put(b"x", b"")

        batch = Using(self.index)
        batch.delete(b"missing")
        with self.assertRaisesRegex(ValueError, "the Using is in use"):
            batch.submit()
        batch.put(b"y", b"")
        batch.submit()
        self.assertEqual(list(self.index), [b"y"])

    def test_fork(self):
        """The child does not wait for threads that it does not have."""
        scan, batch, index = self.index.scan(), self.index.batch(), self.index
        batch.put(b"k", b"")
        with contextlib.ExitStack() as stack:
            for name, use in (("wort_scan_next", lambda: next(scan, None)),
                              ("wort_batch_submit", batch.submit),
                              ("wort_get", lambda: index.get(b"k"))):
                call = stack.enter_context(Call(name))
                stack.enter_context(call.under_way(use))
            with warnings.catch_warnings():
                # Python 3.12 warns of what is tried here.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if not child:
                signal.alarm(30)
                os._exit(self.in_child(scan, batch, index))
            _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)

    def in_child(self, scan, batch, index):
        for use in lambda: next(scan), lambda: batch.put(b"l", b""), \
                batch.submit:
            try:
                use()
                return 1
            except ValueError:
                pass
        with self.pool.index("t") as other:
            list(other.scan())
        index.close()
        return 0

    def test_scan_after_fork(self):
        """One that nobody used goes on in both."""
        self.index.update({b"a": b"", b"b": b""})
        scan = self.index.scan()
        next(scan)
        child = os.fork()
        if not child:
            signal.alarm(30)
            os._exit(next(scan)[0] != b"b" or next(scan, 7) != 7)
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)
        self.assertEqual(list(scan), [(b"b", b"")])

    def test_collected(self):
        """In whatever order, once."""
        names = ("wort_pool_close", "wort_index_close", "wort_scan_end",
                 "wort_batch_free")
        with contextlib.ExitStack() as stack:
            calls = [stack.enter_context(Call(name, wait=False))
                     for name in names]
            pool = wort.Pool("/dev/wort0")
            index = pool.index("t")
            handles = [pool, index, index.scan(), index.batch()]
            handles.append(handles)
            del pool, index, handles
            gc.collect()
            self.assertEqual([call.nr for call in calls], [1, 1, 1, 1])


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
        with self.assertRaisesRegex(ValueError, "node=512"):
            _engine.attr_word(engines[0].id, {"node": 512})
        for engine in engines:
            for attr in engine.attributes:
                with self.assertRaisesRegex(ValueError, attr.name):
                    _engine.attr_word(engine.id, {attr.name: attr.max + 1})

    def test_attribute(self):
        self.assertEqual(
            _engine.attribute("split", "left right", 1, 2, 1, 2),
            wort.Attribute("split", ["left", "right"], 1, 2, 1, 2))
        self.assertIsNone(_engine.attribute("n", None, 1, 2, 1, 2).values)

    def test_version(self):
        self.assertRegex(wort.version(), r"^\d+\.\d+$")


class Control(unittest.TestCase):
    """The stub has one device, its image."""

    device = os.environ["WORT_STUB"]

    def test_format(self):
        for kwargs in {}, {"force": True, "label": "x",
                           "uuid": uuid.UUID(int=1), "extent_size": 4096}:
            with Errno(errno.EBUSY) as caught:
                wort.format(self.device, **kwargs)
            self.assertEqual(caught.exc.filename, self.device)
        with Errno(errno.EMSGSIZE):
            wort.format(self.device, label="x" * 64)

    def test_attach(self):
        with Errno(errno.EBUSY) as caught:
            wort.attach(self.device)
        self.assertEqual(caught.exc.filename, self.device)
        for name in "/dev/wort0", "LABEL=stub", 0:
            wort.detach(name)
            with Errno(errno.ENOENT):
                wort.detach(0)
            with Errno(errno.ENOENT):
                wort.detach("/dev/null")
            self.assertEqual(wort.pools(), [])
            self.assertEqual(wort.attach(self.device), "/dev/wort0")
        for wrong in -1, 2 ** 32:
            with self.assertRaises((OverflowError, wort.Error)):
                wort.detach(wrong)

    def test_find(self):
        pool, = wort.pools()
        self.assertEqual((pool.minor, pool.path, pool.label, pool.device),
                         (0, "/dev/wort0", "stub", os.path.basename(self.device)))
        self.assertEqual(wort.find("stub"), "/dev/wort0")
        for name in "LABEL=stub", f"UUID={pool.uuid}":
            with wort.Pool(name) as found:
                self.assertEqual(found.info().uuid, pool.uuid)
        for name in "LABEL=", "LABEL=none":
            with Errno(errno.ENOENT) as caught:
                wort.Pool(name)
        self.assertEqual(caught.exc.filename, "none")

    def test_sysfs(self):
        """Dead pools count if no other one has the name."""
        nobody = mock.patch.object(_ctl, "_from_control",
                                   side_effect=wort.Error(errno.EACCES, ""))
        with tempfile.TemporaryDirectory() as folder, nobody, \
                mock.patch.object(_ctl, "SYSFS", pathlib.Path(folder)):
            for minor, label, state in ((0, "a", "walking"), (2, "two\nlines", ""),
                                        (3, "b", "dead"), (10, "a", "dead"),
                                        (11, "c", ""), (12, "c", "")):
                pool = pathlib.Path(folder, f"wort{minor}")
                pool.mkdir()
                for name, line in (("label", label), ("state", state),
                                   ("device", f"pmem{minor}"),
                                   ("uuid", uuid.UUID(int=minor)),
                                   ("pool_size", 4096)):
                    (pool / name).write_text(f"{line}\n")
            pathlib.Path(folder, "wort4").mkdir()
            pathlib.Path(folder, "wort-control").mkdir()
            found = wort.pools()
            self.assertEqual([pool.minor for pool in found],
                             [0, 2, 3, 10, 11, 12])
            self.assertEqual(found[0].state, {"walking"})
            self.assertEqual(wort.find("a"), "/dev/wort0")
            self.assertEqual(wort.find("two\nlines"), "/dev/wort2")
            self.assertEqual(wort.find("b"), "/dev/wort3")
            self.assertEqual(wort.find(str(uuid.UUID(int=10))), "/dev/wort10")
            with Errno(errno.ENOTUNIQ):
                wort.find("c")
            with Errno(errno.ENOENT):
                wort.find("")
        with nobody, mock.patch.object(_ctl, "SYSFS", pathlib.Path("/none")):
            with Errno(errno.EACCES):
                wort.pools()


class Files(unittest.TestCase):
    """Pools in plain files."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "pool.img")

    def test_file(self):
        with Errno(errno.ENOENT):
            wort.format_file(self.path)
        with Errno(errno.ENODATA) as caught:
            wort.format_file(self.path, 1)
        self.assertIn("256 KiB", str(caught.exc))
        with self.assertRaises(OverflowError):
            wort.format_file(self.path, -1)
        wort.format_file(self.path, 16 << 20, label="x", uuid=uuid.UUID(int=1))
        with Errno(errno.EEXIST) as caught:
            wort.format_file(self.path)
        self.assertEqual(caught.exc.filename, self.path)
        with wort.Pool(self.path, write=True, sync="process") as pool, \
                pool.index("t", create=True) as index:
            self.assertEqual(pool.info().label, "x")
            self.assertEqual(pool.info().uuid, uuid.UUID(int=1))
            index.update((b"%d" % i, b"v") for i in range(1000))
            with Errno(errno.EBUSY):
                wort.Pool(self.path, write=True, sync="media")
            pool.map()
            with pool.index("t") as mapped:
                self.assertEqual(mapped[b"7"], b"v")
                self.assertNotIn(b"none", mapped)
                self.assertEqual(pool.map_stats()["fallbacks"], 0)
        with wort.Pool(self.path) as pool, pool.index("t") as index:
            self.assertEqual(len(index), 1000)
            with Errno(errno.EBADF):
                index[b"k"] = b""
        wort.format_file(self.path, force=True)
        with wort.Pool(self.path) as pool:
            self.assertEqual(list(pool.indexes()), [])

    def test_sync(self):
        with self.assertRaises(ValueError):
            wort.Pool(self.path, sync="none")
        with Errno(errno.ENOTBLK):
            wort.Pool("/dev/wort0", sync="process")

    def test_file_and_device(self):
        """No batch changes indexes of both."""
        wort.format_file(self.path, 16 << 20)
        with wort.Pool(self.path, write=True) as pool, \
                wort.Pool("/dev/wort0", write=True) as device, \
                pool.index("t", create=True) as index, \
                device.index("beside", create=True) as other:
            with Errno(errno.EXDEV), pool.atomic() as batch:
                batch.put(index, b"file and device", b"")
                batch.put(other, b"file and device", b"")
            self.assertNotIn(b"file and device", index)
            self.assertNotIn(b"file and device", other)
            device.destroy("beside")

    def test_fork(self):
        """A pool that is open for writing stays with the process that opened it."""
        for mapped in False, True:
            with self.subTest(mapped=mapped):
                self.fork(mapped)

    def fork(self, mapped):
        wort.format_file(self.path, 16 << 20, force=True)
        with wort.Pool(self.path, write=True) as pool:
            if mapped:
                pool.map()
            self.fork_beside(pool)
        with wort.Pool(self.path) as pool, pool.index("t") as index:
            self.assertEqual(list(index.items()), [(b"k", b"2")])

    def fork_beside(self, pool):
        with pool.index("t", create=True) as index:
            index[b"k"] = b"1"
            child = os.fork()
            if not child:
                signal.alarm(30)
                os._exit(self.in_child(pool, index))
            _, status = os.waitpid(child, 0)
            self.assertEqual(status, 0)
            index[b"k"] = b"2"

    def in_child(self, pool, index):
        for use, error in ((lambda: index[b"k"], errno.ENODEV),
                           (lambda: b"k" in index, errno.ENODEV),
                           (lambda: index.update([(b"l", b"")]), errno.ENODEV),
                           (lambda: wort.Pool(self.path, write=True),
                            errno.EWOULDBLOCK)):
            try:
                use()
                return 1
            except OSError as raised:
                if raised.errno != error:
                    return 2
        index.close()
        pool.close()
        return 0

    def test_fork_read_only(self):
        """Also one that is open for reading: the child opens the file itself."""
        wort.format_file(self.path, 16 << 20)
        with wort.Pool(self.path, write=True) as pool, pool.index("t", create=True) as index:
            index[b"k"] = b"1"
        with wort.Pool(self.path) as pool, pool.index("t") as index:
            child = os.fork()
            if not child:
                signal.alarm(30)
                os._exit(self.in_reading_child(pool, index))
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(index[b"k"], b"1")

    def in_reading_child(self, pool, index):
        try:
            index[b"k"]
            return 1
        except OSError as raised:
            if raised.errno != errno.ENODEV:
                return 2
        with wort.Pool(self.path) as own, own.index("t") as records:
            if records[b"k"] != b"1":
                return 3
        index.close()
        pool.close()
        return 0

    def test_fork_lock(self):
        """A child that lives keeps no lock on a file that its parent has closed."""
        wort.format_file(self.path, 16 << 20)
        pool = wort.Pool(self.path, write=True)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        pool.close()
        with wort.Pool(self.path, write=True):
            os.close(write)
        os.waitpid(child, 0)
        os.close(read)

    def test_fork_threads(self):
        """A child uses a pool of its own, whatever the threads of its parent were at."""
        mine = f"{self.path}.child"
        self.addCleanup(os.unlink, mine)
        for path in self.path, mine:
            wort.format_file(path, 16 << 20)
        end = threading.Event()

        def count(index):
            while not end.is_set():
                index.count()

        with wort.Pool(self.path, write=True, sync="process") as pool, \
                pool.index("t", create=True) as index:
            index.update((b"%06d" % i, b"") for i in range(20000))
            threads = [threading.Thread(target=count, args=(index,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for _ in range(8):
                child = os.fork()
                if not child:
                    signal.alarm(30)
                    self.use_other(mine)
                    os._exit(0)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
            end.set()
            for thread in threads:
                thread.join()

    @staticmethod
    def use_other(path):
        with wort.Pool(path, write=True, sync="process") as pool:
            with pool.index("t", create=True) as index:
                index[b"k"] = b"1"
                index.clear()
            pool.destroy("t")

    def test_format_beside(self):
        """Of two processes that make one file, one succeeds, and its pool stays."""
        start = "import os, sys, wort; sys.stdin.readline()\n" \
            "try: wort.format_file(sys.argv[1], 4 << 20); print('made')\n" \
            "except wort.Error as err: print(os.strerror(err.errno))"
        for _ in range(20):
            if os.path.exists(self.path):
                os.unlink(self.path)
            both = [subprocess.Popen([sys.executable, "-c", start, self.path], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    for _ in range(2)]
            for one in both:
                one.stdin.write("\n")
                one.stdin.flush()
            said = [one.communicate()[0].strip() for one in both]
            self.assertEqual(said.count("made"), 1, said)
            wort.Pool(self.path).close()

    def test_blocks(self):
        """A file gets all its blocks, also if it has some behind its end."""
        wort.format_file(self.path, 4 << 20)
        for args in (["-n", "-o", "4M", "-l", "2M"], ["-p", "-o", "2M", "-l", "1M"]):
            if subprocess.run(["fallocate", *args, self.path], check=False).returncode:
                self.skipTest("the filesystem has no fallocate()")
        wort.Pool(self.path, write=True).close()
        self.assertGreaterEqual(os.stat(self.path).st_blocks * 512, 6 << 20)

    def test_no_pool(self):
        """What holds no pool is told when it is opened."""
        with open(self.path, "wb") as file:
            file.truncate(16 << 20)
        for path, error, what in ((self.path, errno.ENODATA, "no pool is in it"),
                                  (os.path.dirname(self.path), errno.EISDIR, "neither")):
            with Errno(error) as caught:
                wort.Pool(path)
            self.assertIn(what, str(caught.exc))
        with self.assertRaises(ValueError):
            wort.format_file(self.path, extent_size=(1 << 32) + 4096)

    def test_popitem(self):
        """Threads that empty an index get each record once, and all of them."""
        wort.format_file(self.path, 16 << 20)
        with wort.Pool(self.path, write=True, sync="process") as pool, \
                pool.index("t", create=True) as index:
            index.update((b"%06d" % i, b"%d" % i) for i in range(2000))
            found = []

            def drain():
                with contextlib.suppress(KeyError):
                    while True:
                        found.append(index.popitem())

            threads = [threading.Thread(target=drain) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(found), [(b"%06d" % i, b"%d" % i) for i in range(2000)])
            words = index.typed(wort.TEXT, wort.U64)
            words["a"] = 1
            self.assertEqual(words.popitem(), ("a", 1))
            with self.assertRaises(KeyError):
                words.popitem()

    @contextlib.contextmanager
    def holder(self):
        """A process that has the file open until its input ends."""
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys, wort\n"
             "with wort.Pool(sys.argv[1], write=True):\n"
             "    print(flush=True)\n    sys.stdin.read()", self.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with child:
            child.stdout.readline()
            yield child
            child.stdin.close()

    def test_held(self):
        """Another process has it: which one is said."""
        wort.format_file(self.path, 16 << 20)
        with self.holder() as child:
            for wait in 0, 0.01:
                with Errno(errno.EWOULDBLOCK) as caught:
                    wort.Pool(self.path, write=True, wait=wait)
                self.assertIn(f"process {child.pid} has it open", str(caught.exc))

    def test_error_texts(self):
        """Errors name the index, and say what the system's words do not."""
        wort.format_file(self.path, 1 << 20)
        with wort.Pool(self.path, write=True, sync="process") as pool, \
                pool.index("a", create=True) as index, \
                pool.index("a", readonly=True) as readonly:
            for call, text in (
                    (lambda: pool.index("none"), "directory: 'none'"),
                    (lambda: pool.index("a", exclusive=True), "exists: 'a'"),
                    (lambda: pool.index("a", engine=wort.engines()[1].name),
                     "(the index has another engine or other attributes): 'a'"),
                    (lambda: pool.index(""), "argument: ''"),
                    (lambda: pool.destroy("none"), "directory: 'none'"),
                    (lambda: pool.rename("none", "b"), "directory: 'none'"),
                    (lambda: pool.rename("a", "a"), "exists: 'a'"),
                    (lambda: pool.rename("a", "n" * 112), "names 111): 'nnn"),
                    (lambda: index.put(b"k" * 1025, b""), "keys have 1024 bytes"),
                    (lambda: readonly.put(b"k", b""), "(not opened for writing)")):
                with self.assertRaises(wort.Error) as caught:
                    call()
                self.assertTrue(text in str(caught.exception), str(caught.exception))
            with self.assertRaises(wort.Refused) as caught, pool.atomic() as batch:
                batch.cas(index, b"k", b"v", b"w")
            with self.assertRaises(wort.Error) as caught, pool.atomic() as batch:
                for i in range(65):
                    batch.present(index, b"k")
            self.assertIn("64 operations", str(caught.exception))
            with self.assertRaises(wort.Refused) as caught, pool.atomic() as batch:
                batch.cas(index, b"k", b"v", b"w")
            self.assertIn("cas of b'k'", str(caught.exception))
            with self.assertRaises(wort.Error) as caught:
                for i in range(100):
                    index[b"%d" % i] = bytes(20000)
            self.assertIn("(the pool is full)", str(caught.exception))
            pool.destroy("a")
            with self.assertRaises(wort.Error) as caught:
                index[b"k"] = b"v"
            self.assertIn("(the index was destroyed)", str(caught.exception))

    def test_grow(self):
        """A full pool in a file has room when the file has grown."""
        wort.format_file(self.path, 1 << 20)
        with wort.Pool(self.path, write=True, sync="process") as pool, \
                pool.index("k", create=True) as index:
            with Errno(errno.ENOSPC):
                for i in range(100):
                    index[b"%d" % i] = bytes(20000)
            kept = dict(index)
            with Errno(errno.EWOULDBLOCK):
                wort.grow_file(self.path, 4 << 20)
        self.assertEqual(wort.grow_file(self.path, 4 << 20), 4 << 20)
        with open(self.path, "ab") as file:
            file.truncate(8 << 20)
        wort.grow_file(self.path, sync="process", wait=1)
        with wort.Pool(self.path, write=True, sync="process") as pool, \
                pool.index("k") as index:
            self.assertEqual(pool.info().pool_size, 8 << 20)
            self.assertEqual(dict(index), kept)
            for i in range(100):
                index[b"%d" % i] = bytes(20000)
            self.assertEqual(pool.check(clear=True).nr_damaged, 0)
        with Errno(errno.ERANGE):
            wort.grow_file(self.path, 4 << 20)
        with Errno(errno.ENOENT):
            wort.grow_file(f"{self.path}x")
        with Errno(errno.ENOTBLK):
            wort.grow_file(self.folder.name)
        with self.assertRaises(OverflowError):
            wort.grow_file(self.path, -1)
        with self.assertRaises(ValueError):
            wort.grow_file(self.path, sync="never")
        holes = pathlib.Path(self.folder.name, "holes")
        with open(holes, "wb") as file:
            file.truncate(64 << 20)
        for use in wort.grow_file, lambda path: wort.Pool(path, write=True):
            with Errno(errno.ENODATA):
                use(holes)
            self.assertLess(holes.stat().st_blocks, 1000)
        text = pathlib.Path(self.folder.name, "text")
        text.write_bytes(b"no pool" * 100000)
        with Errno(errno.ENODATA):
            wort.grow_file(text, 4 << 20)
        self.assertEqual(text.stat().st_size, 700000)

    def test_wait(self):
        """One that waits gets the file when the other has closed it."""
        wort.format_file(self.path, 16 << 20)
        with self.holder() as child:
            timer = threading.Timer(0.2, child.stdin.close)
            timer.start()
            wort.Pool(self.path, write=True, wait=600).close()
            timer.join()
        for wait in -1, 1e9, float("nan"):
            with self.assertRaises(ValueError):
                wort.Pool(self.path, wait=wait)

    def test_wait_signal(self):
        """A handler that raises ends the wait, and one that does not lets it go on."""
        wort.format_file(self.path, 16 << 20)
        handler = mock.Mock()
        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.holder():
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
            with Errno(errno.EWOULDBLOCK):
                wort.Pool(self.path, write=True, wait=0.1)
            handler.assert_called()

            def end(*_):
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise TimeoutError

            with self.assertRaises(TimeoutError):
                handler.side_effect = end
                wort.Pool(self.path, write=True, wait=600)


class Missing(unittest.TestCase):
    """One line says what is missing, and the command that mends it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.checkout = pathlib.Path(self.folder.name, "userlib", "python")
        shutil.copytree(SOURCE / "wort", self.checkout / "wort",
                        ignore=shutil.ignore_patterns("*.so", "__pycache__"))

    def said(self):
        run = subprocess.run([sys.executable, "-c", "import wort"], text=True,
                             env={**os.environ, "PYTHONPATH": self.checkout},
                             capture_output=True)
        self.assertEqual(run.returncode, 1)
        return run.stderr.splitlines()[-1]

    def test_not_built(self):
        self.assertEqual(self.said(), "ImportError: the extension of wort is not "
                         "built: apt-get install python3-wort, or pip install "
                         "userlib/python in a checkout of wort")
        (self.checkout / "setup.py").touch()
        self.assertEqual(self.said(), "ImportError: the extension of wort is not "
                         f"built: make -C {self.folder.name} python "
                         f"PYTHON={sys.executable}")

    def test_another_python(self):
        (self.checkout / "wort" / "_wort.cpython-27-vax.so").touch()
        self.assertRegex(self.said(), "^ImportError: the extension of wort is "
                         r"built for another Python than \S+ "
                         r"\(_wort.cpython-27-vax.so\): ")

    def test_unreadable(self):
        (self.checkout / "wort" / "_wort.so").write_bytes(b"no ELF")
        self.assertRegex(self.said(), "^ImportError: .*_wort.so: .*: apt-get ")

    def test_no_libwort(self):
        self.assertEqual(
            _load.what_is_missing("libwort.so.0: cannot open", ["_wort.so"]),
            "libwort.so.0: cannot open: apt-get install libwort0, or name its "
            "folder in LD_LIBRARY_PATH")

    def test_no_pool(self):
        with mock.patch("wort._pool.SYSFS", pathlib.Path("/none")):
            with Errno(errno.ENOENT) as caught:
                wort.Pool("/dev/wort7")
        self.assertIn("sudo modprobe wort", str(caught.exc))
        with mock.patch("wort._pool.SYSFS", pathlib.Path("/")):
            with Errno(errno.ENOENT) as caught:
                wort.Pool("/dev/wort7")
        self.assertIn("wort list", str(caught.exc))
        self.assertEqual(caught.exc.filename, "/dev/wort7")


class Examples(unittest.TestCase):
    """Those of the documentation."""

    def test_page(self):
        failed, tried = doctest.testfile(
            str(SOURCE.parent.parent / "Documentation" / "python.rst"),
            module_relative=False, optionflags=doctest.ELLIPSIS)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 30)


class Hints(unittest.TestCase):
    """_wort.pyi describes the extension."""

    def test_names(self):
        tree = ast.parse((SOURCE / "wort" / "_wort.pyi").read_text())
        declared, actual = set(), set()
        for node in tree.body:
            if isinstance(node, ast.AnnAssign):
                declared.add(node.target.id)
            elif isinstance(node, ast.FunctionDef):
                declared.add(node.name)
            elif isinstance(node, ast.ClassDef) and node.name != "Error":
                declared |= {f"{node.name}.{item.name}" for item in node.body
                             if isinstance(item, ast.FunctionDef)}
        for name, item in vars(_wort).items():
            if isinstance(item, type) and item is not wort.Error:
                actual |= {f"{name}.{part}" for part in vars(item)
                           if part not in ("__doc__", "__module__", "__new__",
                                           "__weakref__")}
            elif not name.startswith("__") and item is not wort.Error:
                actual.add(name)
        self.assertEqual(declared, actual)

    def test_signatures(self):
        """help() has the parameters; that of pop() has no default to show."""
        tree = ast.parse((SOURCE / "wort" / "_wort.pyi").read_text())
        methods = [(node.name, item) for node in tree.body
                   if isinstance(node, ast.ClassDef)
                   for item in node.body if isinstance(item, ast.FunctionDef)]
        shown = 0
        for kind, item in methods:
            if item.name.startswith("_") or item.name in ("closed", "done", "pop"):
                continue
            args = item.args
            names = [arg.arg for arg in args.posonlyargs + args.args]
            told = inspect.signature(getattr(getattr(_wort, kind), item.name))
            with self.subTest(kind=kind, name=item.name):
                self.assertEqual(
                    [name for name, parameter in told.parameters.items()
                     if parameter.kind != parameter.VAR_KEYWORD], names)
                self.assertEqual("selection" in told.parameters,
                                 bool(args.kwonlyargs))
            shown += 1
        self.assertGreater(shown, 15)

    def test_repr(self):
        pool = wort.Pool("/dev/wort0", write=True)
        index = pool.index(b"r", create=True)
        self.assertEqual(repr(pool), "<wort.Pool '/dev/wort0'>")
        self.assertEqual(repr(index), "<wort.Index 'r'>")
        self.assertEqual(repr(index.typed()), "<wort.Typed of <wort.Index 'r'>>")
        index.close()
        pool.destroy("r")
        pool.close()
        self.assertEqual(repr(pool), "<wort.Pool '/dev/wort0', closed>")
        self.assertEqual(repr(index), "<wort.Index 'r', closed>")

    def test_marker(self):
        for name in "py.typed", "_wort.pyi":
            self.assertTrue((pathlib.Path(wort.__file__).parent / name).exists())


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
    # A call that never returns is a failure, too.
    faulthandler.dump_traceback_later(600, exit=True)
    unittest.main()
