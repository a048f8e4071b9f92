# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Pools and atomic batches."""
from __future__ import annotations

import errno
import math
import os
import uuid as _uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from . import _wort
from ._ctl import NOT_LOADED, SYSFS, StrPath, hints, place, text
from ._engine import STATES, words
from ._index import Buffer, Index


SYNC = {"media": _wort.SYNC_MEDIA, "process": _wort.SYNC_PROCESS}
WAIT_MAX = 1_000_000
HINTS = {
    errno.EBUSY: "open in this process already, for reading only or with another sync",
    errno.EISDIR: "neither a plain file nor /dev/wortN",
    errno.ENODATA: "no pool is in it: wort.format_file()",
    errno.ENOTBLK: "no plain file",
    errno.ENOTTY: "a device, but not one of a pool: wort list",
    errno.EOVERFLOW: "the file has become shorter than the pool in it",
    errno.ERANGE: "the file is larger, and gets no smaller",
    errno.EUCLEAN: "damage was found: wort check",
}


class IndexRecord(NamedTuple):
    """An index in the list of a pool."""
    name: bytes
    id: int
    engine: int
    damaged: bool


class PoolInfo(NamedTuple):
    """What the module tells of a pool, as struct wort_pool_info_arg of
    <linux/wort.h>.  None: not known yet, or in a read-only pool."""
    pool_size: int
    extent_size: int
    nr_extents: int
    free_extents: int | None
    reserve_extents: int | None
    used_bytes: int | None
    freeing_bytes: int | None
    nr_indexes: int
    nr_dying: int
    walk_indexes: int
    walk_records: int
    attach_lines: int
    incompat: int
    format_time: int
    state: frozenset[str]
    flush: bool
    uuid: _uuid.UUID
    label: str
    nr_damaged: int
    atomic_batches: int
    atomic_refused: int
    atomic_waits: int
    atomic_redone: int


class Check(NamedTuple):
    """What a check has found, as struct wort_check_arg of <linux/wort.h>."""
    nr_indexes: int
    nr_nodes: int
    nr_leaves: int
    owned_bytes: int
    free_bytes: int
    freeing_bytes: int
    nr_transient: int
    nr_damaged: int
    damaged_off: int
    damaged_index: int
    nr_dropped: int
    nr_lost: int
    nr_unknown: int
    nr_atomic: int


def _file_options(sync: str, wait: float) -> tuple[int, int]:
    """As numbers for the library."""
    if sync not in SYNC:
        raise ValueError(f'sync is {sync!r}, and not "media" or "process"')
    if not 0 <= wait <= WAIT_MAX:
        raise ValueError(f"wait is {wait!r}, and not from 0 to {WAIT_MAX} seconds")
    return SYNC[sync], math.ceil(wait * 1000)


def _hint(err: _wort.Error, path: StrPath) -> str | None:
    """Of an error where a pool is opened."""
    if err.errno == errno.EWOULDBLOCK:
        holder = _wort._file_holder(path)
        return f"process {holder} has it open" if holder else None
    if err.errno in HINTS:
        return HINTS[err.errno]
    if not os.fsdecode(path).startswith("/dev/wort"):
        return None
    if err.errno == errno.ENOENT and not SYSFS.exists():
        return NOT_LOADED
    if err.errno == errno.ENOENT:
        return "no such pool is attached: wort list"
    if err.errno == errno.EACCES:
        return "as root, or with a udev rule: man 4 wort"
    return None


def grow_file(path: StrPath, size: int = 0, *, sync: str = "media",
              wait: float = 0) -> int:
    """Let the pool in a plain file take in what the file has gained; with a @size in
    bytes the file grows to that first.  Returns the size of the pool.  Nobody may have
    the pool open: other processes are waited for, @wait seconds.  @sync as of Pool."""
    options = _file_options(sync, wait)
    with hints(path, lambda err: _hint(err, path)):
        return _wort._grow(path, size, *options)


class Pool(_wort.Pool):
    """A pool: /dev/wortN, "LABEL=..." or "UUID=..." of an attached one, or a plain
    file.

    A file is served in this process, by the code of the module; one process at a time
    has it open for writing.  With @sync="media" what was acknowledged survives a power
    cut; with "process", for files only, it survives the process and not the machine.
    Other processes that have the file open are waited for, @wait seconds.
    @path: the file or device.
    """

    def __init__(self, path: StrPath, write: bool = False, *,
                 sync: str = "media", wait: float = 0) -> None:
        path = place(path)
        self.path = os.fsdecode(path)
        options = _file_options(sync, wait)
        with hints(path, lambda err: _hint(err, path)):
            super().__init__(path, os.O_RDWR if write else os.O_RDONLY, *options)

    def __repr__(self) -> str:
        return f"<wort.Pool {self.path!r}{', closed' * self.closed}>"

    def index(self, name: str | bytes, create: bool = False,
              exclusive: bool = False, readonly: bool = False,
              relaxed: bool = False, engine: str | None = None,
              attributes: Mapping[str, int | str] | None = None) -> Index:
        """Open an index; with @create make it if it does not exist, with
        @exclusive it must not exist.  With @relaxed what is read may rest on a
        change that is not durable yet.  @engine is the name of its engine and
        @attributes a map from names of attributes to values; an index that
        exists must have them.  The index stays open when the pool is closed."""
        flags = _wort.OPEN_CREATE * bool(create or exclusive) | \
            _wort.OPEN_EXCL * bool(exclusive) | \
            _wort.OPEN_RDONLY * bool(readonly) | \
            _wort.OPEN_RELAXED * bool(relaxed)
        return Index(self, name, flags, engine, attributes)

    def atomic(self) -> Atomic:
        """An atomic batch of operations on indexes of the pool: all take effect
        or none."""
        if self.closed:
            raise ValueError("the Pool is closed")
        return Atomic()

    def indexes(self) -> Iterator[IndexRecord]:
        """An IndexRecord for each index, in the order of creation."""
        after, more = 0, True
        while more:
            records, more = self._list(after)
            for name, after, engine, state in records:
                yield IndexRecord(name, after, engine,
                                  bool(state & _wort.STATE_DAMAGED))
            more = more and bool(records)

    def info(self) -> PoolInfo:
        """What the module tells of the pool."""
        told = self._info()
        told.update(state=words(told["state"], STATES), flush=bool(told["flush"]),
                    uuid=_uuid.UUID(bytes=told["uuid"]), label=text(told["label"]))
        return PoolInfo(**told)

    def check(self, clear: bool = False) -> Check:
        """Examine the whole pool, which must be open for writing: what is
        damaged becomes read-only.  @clear drops what cannot be read and, if
        nothing is wrong, ends read-only states."""
        return Check(**self._check(clear))


class Refused(_wort.Error):
    """An operation of an atomic batch refused, so nothing was changed.

    @number: which one, counted from 0
    @operation: what was called, "put", "cas", "delete", "expect", "present" or
        "absent"
    @key: its key
    """

    def __init__(self, number: int, text: str, operation: str = "",
                 key: bytes = b"", position: int = 0) -> None:
        super().__init__(number, text)
        self.operation = operation
        self.key = key
        self.number = position

    def __str__(self) -> str:
        return f"{super().__str__()}: {self.operation} of {self.key!r}, " \
               f"operation {self.number} of the atomic batch"


class Lookup:
    """What get() of an atomic batch will find."""

    _error: int | None = None
    _value: bytes | None = None

    @property
    def value(self) -> bytes | None:
        """The value, or None if the key does not exist.  A ValueError before
        the batch is committed."""
        if self._error is None:
            raise ValueError("the atomic batch is not committed")
        if self._error and self._error != -errno.ENOENT:
            raise _wort.Error(-self._error, _wort._error_text(-self._error))
        return self._value

    def found(self, error: int, value: bytes | None) -> None:
        """The answer; called by the batch."""
        self._error, self._value = error, value


class Atomic(_wort.Atomic):
    """Operations on indexes of one pool that take effect at one moment, all or
    none, also if the power fails.

    Each operation sees those before it.  Leaving a with statement commits
    them, unless an exception was raised.  The first operation that refuses
    raises Refused, which says which one it is; nothing is changed then.  At
    most 64 operations, with 256 KiB of keys and values; one too many is an
    Error with EMSGSIZE.
    """

    def _append(self, name: str, index: Index, operation: int, flags: int,
                key: Buffer, expect: Buffer | None = None,
                value: Buffer | None = None, max_len: int = 0,
                lookup: Lookup | None = None) -> None:
        key = bytes(memoryview(key))
        self._add((name, key, lookup), index, operation, flags, key, expect,
                  value, max_len)

    def put(self, index: Index, key: Buffer, value: Buffer, create: bool = False,
            replace: bool = False) -> None:
        """Store a record; with @create only if the key does not exist, with
        @replace only if it does."""
        if create and replace:
            raise ValueError("create and replace exclude each other")
        self._append("put", index, _wort.INSERT,
                     _wort.PUT_CREATE * bool(create) |
                     _wort.PUT_REPLACE * bool(replace), key,
                     value=memoryview(value))

    def cas(self, index: Index, key: Buffer, expected: Buffer,
            value: Buffer) -> None:
        """Replace the value if it is the one expected."""
        self._append("cas", index, _wort.CAS, 0, key, memoryview(expected),
                     memoryview(value))

    def delete(self, index: Index, key: Buffer,
               expected: Buffer | None = None) -> None:
        """Remove a record; with @expected only if that is its value."""
        self._append("delete", index, _wort.DELETE,
                     _wort.DELETE_EXPECT * (expected is not None), key, expected)

    def expect(self, index: Index, key: Buffer, value: Buffer) -> None:
        """Go on only if the key has this value."""
        self._append("expect", index, _wort.EXPECT, 0, key, memoryview(value))

    def present(self, index: Index, key: Buffer) -> None:
        """Go on only if the key exists."""
        self._append("present", index, _wort.EXPECT, _wort.EXPECT_PRESENT, key)

    def absent(self, index: Index, key: Buffer) -> None:
        """Go on only if the key does not exist."""
        self._append("absent", index, _wort.EXPECT, _wort.EXPECT_ABSENT, key)

    def get(self, index: Index, key: Buffer, max_len: int = 4000) -> Lookup:
        """A Lookup, whose value is there when the batch is committed.  All
        values have 256 KiB together, so a longer one than @max_len is not read:
        an Error with ERANGE, which changes nothing else."""
        if max_len < 0:
            raise ValueError(f"max_len is {max_len}, and must be 0 or more")
        lookup = Lookup()
        self._append("get", index, _wort.LOOKUP, 0, key,
                     max_len=min(max_len, _wort.VALUE_MAX), lookup=lookup)
        return lookup

    def commit(self) -> None:
        """Carry out the operations, or none.  In both cases the batch is empty
        afterwards."""
        err, refused, tags, answers = self._commit()
        for (_, _, lookup), answer in zip(tags, answers):
            if lookup:
                lookup.found(*answer)
        if refused >= 0:
            operation, key, _ = tags[refused]
            raise Refused(-err, _wort._error_text(-err), operation, key, refused)
        if err:
            raise _wort.Error(-err, _wort._error_text(-err))

    def __exit__(self, exc_type: Any = None, *exc: Any) -> None:
        try:
            if exc_type is None:
                self.commit()
        finally:
            self.close()
