#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The binding against libwort as the tests build it, with a stub of the
module's devices: WORT_LIBRARY names it, WORT_STUB its image, on which there
is a pool that is attached.
"""
import ctypes
import errno
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import wort  # noqa: E402
from wort import _lib  # noqa: E402

TOP = HERE.parent.parent.parent


class Errno:
    """Within it an OSError with this errno must come."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        return self

    def __exit__(self, kind, exc, _trace):
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

    def test_many_indexes(self):
        for i in range(130):
            self.pool.index(f"many{i}", create=True).close()
        names = {rec.name for rec in self.pool.indexes()}
        self.assertLessEqual({b"many%d" % i for i in range(130)}, names)
        for i in range(130):
            self.pool.destroy(f"many{i}")


class WithoutModule(unittest.TestCase):
    def test_no_pool(self):
        with Errno(errno.ENOENT):
            wort.Pool("/dev/wort7")

    def test_version(self):
        self.assertRegex(wort.version(), r"^\d+\.\d+$")


class Declarations(unittest.TestCase):
    """The structs and constants are those of the headers."""

    def compile(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.c")
            source.write_text("#include <stdio.h>\n#include <wort.h>\n"
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
                       _lib.ScanItem, _lib.BatchItem, _lib.IndexRecord,
                       _lib.OpStats):
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
        }
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
