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
from ._load import load

load()

from ._ctl import (PoolRecord, attach, detach, find, format,  # noqa: E402
                   format_file, pools)
from ._engine import Attribute, Engine, engines  # noqa: E402
from ._index import (Batch, BatchError, Index, IndexInfo, Scan)  # noqa: E402
from ._pool import (Atomic, Check, IndexRecord, Lookup, Pool, PoolInfo,  # noqa: E402
                    Refused, grow_file)
from ._typed import BYTES, F64, I64, TEXT, U64, Codec, Typed  # noqa: E402
from ._wort import KEY_MAX, VALUE_MAX, Error, version  # noqa: E402

__all__ = ["Atomic", "Attribute", "BYTES", "Batch", "BatchError", "Check",
           "Codec", "Engine", "Error", "F64", "I64", "Index", "IndexInfo",
           "IndexRecord", "KEY_MAX", "Lookup", "Pool", "PoolInfo",
           "PoolRecord", "Refused", "Scan", "TEXT", "Typed", "U64",
           "VALUE_MAX", "attach", "detach", "engines", "find", "format",
           "format_file", "grow_file", "pools", "version"]

# Where a user finds them, in tracebacks and pickles, too.
for _item in list(globals().values()):
    if isinstance(_item, type) and _item.__module__.startswith("wort._"):
        _item.__module__ = "wort"
