# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Engines, which are the structures that an index can have."""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import _wort

TRAITS = {
    _wort.TRAIT_INSTANT_OPEN: "instant_open",
    _wort.TRAIT_MAPPABLE: "mappable",
    _wort.TRAIT_ORDERED: "ordered",
    _wort.TRAIT_READERS_LOCK: "readers_lock",
    _wort.TRAIT_DELETE_SPACE: "delete_needs_space",
    _wort.TRAIT_BATCH_SHARED: "batch_shares_fences",
}
STATES = {
    _wort.STATE_DAMAGED: "damaged",
    _wort.STATE_WALKING: "walking",
    _wort.STATE_DEAD: "dead",
    _wort.STATE_READONLY: "readonly",
    _wort.STATE_INDEX_DAMAGED: "index-damaged",
    _wort.STATE_UNKNOWN: "unknown-engine",
}


class Attribute(NamedTuple):
    """An attribute of an engine, chosen when an index is made.  @values are
    names or, of a number, None."""
    name: str
    values: list[str] | None
    min: int
    max: int
    step: int
    default: int


class Engine(NamedTuple):
    """A structure that an index can have."""
    name: str
    id: int
    traits: frozenset[str]
    attributes: list[Attribute]


def words(bits: int, names: Mapping[int, str]) -> frozenset[str]:
    """The names of the bits that are set."""
    return frozenset(name for bit, name in names.items() if bits & bit)


def attribute(name: str, values: str | None, *numbers: int) -> Attribute:
    """An Attribute of what libwort lists."""
    return Attribute(name, values and values.split() or None, *numbers)


def engines() -> list[Engine]:
    """The structures that an index can have; the first is the default.  They
    are those of a module of libwort's version; the loaded one is not asked."""
    return [Engine(name, nr, words(traits, TRAITS),
                   [attribute(*attr) for attr in attributes])
            for name, nr, traits, attributes in _wort._engines()]


def engine_id(name: str | None) -> int:
    """The number of an engine; None is the default one."""
    if name is None:
        return 0
    for engine in engines():
        if engine.name == name:
            return engine.id
    raise ValueError(f"no engine is called {name!r}")


def attr_word(engine: int, attributes: Mapping[str, int | str]) -> int:
    """The word of attributes, a map from names to values."""
    word = 0
    for name, value in attributes.items():
        word = _wort._attr_set(engine, f"{name}={value}", word)
    return word
