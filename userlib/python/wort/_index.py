# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Indexes, scans and batches."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, NoReturn, TypeVar

from . import _wort
from ._engine import STATES, attr_word, engine_id, words
from ._typed import BYTES, Codec, Typed

K = TypeVar("K")
V = TypeVar("V")
Buffer = bytes | bytearray | memoryview


class BatchError(_wort.Error):
    """An operation of a batch failed, or could not be carried out.

    @position: which one, counted from 0 since the batch was made
    @operation: "put" or "delete"
    @key: its key

    The operations before it are durable.  It and those after it changed nothing,
    and are no longer in the batch.
    """

    def __init__(self, number: int, text: str, operation: str = "",
                 key: bytes = b"", position: int = 0) -> None:
        super().__init__(number, text)
        self.operation = operation
        self.key = key
        self.position = position

    def __str__(self) -> str:
        return f"{super().__str__()}: {self.operation} of {self.key!r}, " \
               f"operation {self.position} of the batch"


class Scan(_wort.Scan, Iterator):
    """Pairs of key and value.  It keeps its index open until it has ended or
    is closed."""


class Batch(_wort.Batch):
    """Operations that are carried out in order, with few calls.

    put() and delete() submit when the batch is full; leaving a with
    statement submits the rest, unless an exception was raised.  Each operation
    is atomic by itself.  The first that fails raises a BatchError, which
    says which one it is.  The operations before it are durable, and those after
    it were not carried out, including the one whose put() or delete() raised
    the error.
    """

    def _failed(self, number: int, operation: str, key: bytes,
                position: int) -> NoReturn:
        raise BatchError(number, _wort._error_text(number), operation, key, position)

    def __exit__(self, exc_type: Any = None, *exc: Any) -> None:
        try:
            if exc_type is None:
                self.submit()
        finally:
            self.close()


class IndexInfo(NamedTuple):
    """What the module tells of an index; @create_time: seconds since 1970."""
    name: bytes
    id: int
    engine: int
    attr: int
    create_time: int
    state: frozenset[str]


class Index(_wort.Index, MutableMapping):   # type: ignore[misc]
    """A map from bytes to bytes, in the order of keys.

    Keys have 1 to KEY_MAX bytes, values up to VALUE_MAX.  index[start:stop] is a
    scan from @start up to, not including @stop; with a step of -1 it goes down.
    @name: the one it was opened by.
    """

    def __init__(self, pool: _wort.Pool, name: str | bytes, flags: int = 0,
                 engine: str | None = None,
                 attributes: Mapping[str, int | str] | None = None) -> None:
        self.name = os.fsdecode(name)
        number = engine_id(engine)
        super().__init__(pool, name, flags, number,
                         attr_word(number, attributes or {}))

    def __repr__(self) -> str:
        return f"<wort.Index {self.name!r}{', closed' * self.closed}>"

    def __iter__(self) -> Iterator[bytes]:
        return Scan(self, values=False, _what=_wort.SELECT_KEYS)

    def __reversed__(self) -> Iterator[bytes]:
        return Scan(self, values=False, reverse=True, _what=_wort.SELECT_KEYS)

    def items(self) -> Scan:            # type: ignore[override]
        """Keys and values, in the order of keys."""
        return self.scan()

    def values(self) -> Iterator[bytes]:    # type: ignore[override]
        """Values, in the order of keys."""
        return Scan(self, _what=_wort.SELECT_VALUES)

    def scan(self, **selection: Any) -> Scan:
        """Pairs of key and value, from @start or after @after up to @before
        or within @prefix; @reverse; at most @limit; with values=False the
        values are None.  None is no bound and no limit; the empty key is less
        than all others.  A key that exists throughout is seen exactly once,
        whatever is changed meanwhile.  @buffer_size: bytes that are fetched at a
        time, 0: chosen by libwort."""
        return Scan(self, **selection)

    def _slice(self, part: slice, **more: Any) -> Scan:
        if part.step not in (None, 1, -1):
            raise ValueError("the step of a slice is 1 or -1")
        return Scan(self, start=part.start, before=part.stop,
                    reverse=part.step == -1, **more)

    def _delete_slice(self, part: slice) -> None:
        for key in self._slice(part, values=False, _what=_wort.SELECT_KEYS):
            self.pop(key, None)

    def popitem(self) -> tuple[bytes, bytes]:
        """Remove the first record, and return its key and value; a KeyError if there is
        none.  Each record goes to one of the threads that do so."""
        for key in self:
            value = self.pop(key, None)
            if value is not None:
                return key, value
        raise KeyError("popitem(): the index is empty")

    def clear(self) -> None:
        """Remove all records, one after the other."""
        del self[:]

    def update(self, other: Any = (), /) -> None:   # type: ignore[override]
        """Store the records of a mapping, or pairs of key and value, by a batch.
        A failure is a BatchError; the records before it are durable then."""
        with self.batch() as batch:
            batch.update(other.items() if isinstance(other, Mapping) else other)

    def batch(self, max_ops: int | None = None) -> Batch:
        """A batch of at most @max_ops operations, which share a call."""
        return Batch(self, max_ops)

    def typed(self, key: Codec[K] = BYTES,      # type: ignore[assignment]
              value: Codec[V] = BYTES) -> Typed[K, V]:  # type: ignore[assignment]
        """A view whose keys and values are not bytes."""
        return Typed(self, key, value)

    def info(self) -> IndexInfo:
        """What the module tells of the index."""
        told = self._info()
        return IndexInfo(told["name"][:told["name_len"]], told["id"],
                         told["engine"], told["attr"], told["create_time"],
                         words(told["state"], STATES))
