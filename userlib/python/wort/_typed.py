# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Keys and values that are not bytes."""
from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from ._index import Index

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


@dataclasses.dataclass(frozen=True)
class Codec(Generic[T]):
    """How bytes are made of a value and back.  Of keys the bytes must be in the
    order that the index is to have."""
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _whole(data: bytes) -> int:
    if len(data) != 8:
        raise ValueError(f"{data!r} has not 8 bytes")
    return int.from_bytes(data, "big")


def _f64(number: float) -> bytes:
    """Negative numbers, in whose bits a greater one is less, are inverted."""
    bits = int.from_bytes(struct.pack(">d", number), "big")
    return _u64(bits ^ (2 ** 64 - 1 if bits >> 63 else 1 << 63))


def _float(data: bytes) -> float:
    bits = _whole(data)
    bits ^= 1 << 63 if bits >> 63 else 2 ** 64 - 1
    return float(struct.unpack(">d", _u64(bits))[0])


BYTES: Codec[bytes] = Codec(lambda data: data, lambda data: data)
TEXT: Codec[str] = Codec(str.encode, bytes.decode)
U64: Codec[int] = Codec(_u64, _whole)
I64: Codec[int] = Codec(lambda number: _u64(number + 2 ** 63),
                        lambda data: _whole(data) - 2 ** 63)
F64: Codec[float] = Codec(_f64, _float)

ENDS = "start", "after", "before", "prefix"


class Typed(MutableMapping, Generic[K, V]):
    """A view of an index with keys and values of other types than bytes.

        ages = pool.index("ages", create=True).typed(wort.TEXT, wort.U64)
        ages["Ada"] = 36

    It is closed with its index.  A batch takes bytes: see Codec.encode.
    """

    def __init__(self, index: Index, key: Codec[K], value: Codec[V]) -> None:
        self.index = index
        self.key = key
        self.value = value

    def __repr__(self) -> str:
        return f"<wort.Typed of {self.index!r}>"

    def _ends(self, selection: dict[str, Any]) -> dict[str, Any]:
        return {name: self.key.encode(end)
                if name in ENDS and end is not None else end
                for name, end in selection.items()}

    def _present(self, key: Any) -> bytes:
        """The bytes of a key; a number that has no 64 bits is the key of no record."""
        try:
            return self.key.encode(key)
        except OverflowError:
            raise KeyError(key) from None

    def _slice(self, part: slice) -> slice:
        start, stop = (None if end is None else self.key.encode(end)
                       for end in (part.start, part.stop))
        return slice(start, stop, part.step)

    def _pairs(self, scan: Iterable) -> Iterator[tuple[K, V]]:
        decode_key, decode = self.key.decode, self.value.decode
        for key, value in scan:
            yield decode_key(key), decode(value)

    def __getitem__(self, key: Any) -> Any:
        """The value of a key; of a slice, a scan."""
        if isinstance(key, slice):
            return self._pairs(self.index[self._slice(key)])
        return self.value.decode(self.index[self._present(key)])

    def __setitem__(self, key: K, value: V) -> None:
        self.index[self.key.encode(key)] = self.value.encode(value)

    def __delitem__(self, key: Any) -> None:
        del self.index[self._slice(key) if isinstance(key, slice)
                       else self._present(key)]

    def __len__(self) -> int:
        return len(self.index)

    def __bool__(self) -> bool:
        return bool(self.index)

    def __iter__(self) -> Iterator[K]:
        return map(self.key.decode, self.index)

    def __reversed__(self) -> Iterator[K]:
        return map(self.key.decode, reversed(self.index))

    def __contains__(self, key: Any) -> bool:
        try:
            return self._present(key) in self.index
        except KeyError:
            return False

    def items(self) -> Iterator[tuple[K, V]]:   # type: ignore[override]
        """Keys and values, in the order of keys."""
        return self.scan()

    def values(self) -> Iterator[V]:        # type: ignore[override]
        """Values, in the order of keys."""
        return map(self.value.decode, self.index.values())

    def scan(self, **selection: Any) -> Iterator[tuple[K, V]]:
        """As Index.scan(), without values=False; @prefix is encoded as a key, so
        it is of use with TEXT and BYTES."""
        return self._pairs(self.index.scan(**self._ends(selection)))

    def count(self, **selection: Any) -> int:
        """The number of records that a scan would find."""
        return self.index.count(**self._ends(selection))

    def get_many(self, keys: Iterable[K]) -> list[V | None]:
        """The values of keys, None where there is no such key."""
        found = self.index.get_many(map(self.key.encode, keys))
        return [None if data is None else self.value.decode(data)
                for data in found]

    def popitem(self) -> tuple[K, V]:
        """As Index.popitem(); a record that cannot be decoded stays."""
        while True:
            key, data = next(iter(self.index.items()), (b"", None))
            if data is None:
                raise KeyError("popitem(): the index is empty")
            pair = self.key.decode(key), self.value.decode(data)
            if self.index.delete_if(key, data):
                return pair

    def put(self, key: K, value: V, create: bool = False,
            replace: bool = False) -> None:
        """Store a record; with @create only if the key does not exist, with
        @replace only if it does."""
        self.index.put(self.key.encode(key), self.value.encode(value), create,
                       replace)

    def cas(self, key: K, expected: V, value: V) -> bool:
        """Replace the value if its bytes are those of @expected."""
        return self.index.cas(self.key.encode(key), self.value.encode(expected),
                              self.value.encode(value))

    def delete_if(self, key: K, expected: V) -> bool:
        """Remove the record if the bytes of its value are those of @expected."""
        return self.index.delete_if(self.key.encode(key),
                                    self.value.encode(expected))

    def pop(self, key: K, *default: Any) -> Any:
        """Remove a record and return its value, in one step; one whose value cannot be
        decoded stays."""
        encoded = self.key.encode(key)
        while (data := self.index.get(encoded)) is not None:
            value = self.value.decode(data)
            if self.index.delete_if(encoded, data):
                return value
        if default:
            return default[0]
        raise KeyError(key)

    def setdefault(self, key: K, default: V) -> V:  # type: ignore[override]
        """The value of the key, which is @default if there was none, in one step."""
        return self.value.decode(self.index.setdefault(
            self.key.encode(key), self.value.encode(default)))

    def clear(self) -> None:
        """Remove all records, one after the other."""
        self.index.clear()

    def update(self, other: Any = (), /) -> None:   # type: ignore[override]
        """Store the records of a mapping, or pairs of key and value, by a batch."""
        pairs = other.items() if isinstance(other, Mapping) else other
        self.index.update((self.key.encode(key), self.value.encode(value))
                          for key, value in pairs)
