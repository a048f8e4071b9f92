# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Pools as a whole: made, attached, listed, found."""
from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import re
import uuid as _uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import _wort
from ._engine import STATES, words

SYSFS = pathlib.Path("/sys/class/wort")
StrPath = str | bytes | os.PathLike
NOT_LOADED = "the module is not loaded: sudo modprobe wort"
FORMAT_HINTS = {
    errno.EEXIST: "a pool, or something else, is there: force=True overwrites it",
    errno.ENODATA: "smaller than a pool can be, which is 256 KiB",
}


@contextlib.contextmanager
def hints(path: StrPath | None,
          hint: Callable[[_wort.Error], str | None]) -> Iterator[None]:
    """Errors say what the system's words do not, or the command that helps."""
    try:
        yield
    except _wort.Error as err:
        told = hint(err)
        if not told:
            raise
        raise _wort.Error(err.errno, f"{err.strerror} ({told})", path) from None


class PoolRecord(NamedTuple):
    """An attached pool.  @device is the name that the kernel has for its device."""
    minor: int
    path: str
    label: str
    uuid: _uuid.UUID
    device: str
    size: int
    state: frozenset[str]


def text(data: bytes) -> str:
    """Bytes that zeroes pad, as a string from which os.fsencode() makes them again."""
    return os.fsdecode(data.split(b"\0")[0])


def _extent_size(size: int) -> int:
    """C would take the last bits of a larger number."""
    if not 0 <= size < 1 << 32:
        raise ValueError(f"extent_size is {size}, and must be from 0 to {(1 << 32) - 1}")
    return size


def format(device: StrPath, *, label: str | None = None, force: bool = False,
           extent_size: int = 0, uuid: _uuid.UUID | None = None) -> None:
    """Make an empty pool on a device.  What was there is lost; a pool there is
    overwritten only with @force.  Needs CAP_SYS_ADMIN, as attach() and detach()."""
    _wort._format(device, None, _wort.FORMAT_FORCE * bool(force),
                  _extent_size(extent_size),
                  uuid.bytes if uuid else None, label)


def format_file(path: StrPath, size: int = 0, *, label: str | None = None,
                force: bool = False, extent_size: int = 0,
                uuid: _uuid.UUID | None = None) -> None:
    """Make an empty pool in a plain file of @size bytes, which is made if it is not
    there, and grows if it is shorter.  With a @size of 0 the file is there and keeps
    its size.  A pool there is overwritten only with @force."""
    with hints(path, lambda err: FORMAT_HINTS.get(err.errno)):
        _wort._format(path, size, _wort.FORMAT_FORCE * bool(force),
                      _extent_size(extent_size),
                      uuid.bytes if uuid else None, label)


def attach(device: StrPath, *, readonly: bool = False, grow: bool = False,
           mcsafe: bool = False) -> str:
    """Attach the pool on a device; its path, /dev/wortN.  With @grow it takes in
    what the device has gained, with @mcsafe reading survives unknown poison."""
    flags = _wort.ATTACH_RDONLY * bool(readonly) | \
        _wort.ATTACH_GROW * bool(grow) | _wort.ATTACH_MCSAFE * bool(mcsafe)
    return f"/dev/wort{_wort._attach(device, flags)}"


def detach(pool: StrPath | int) -> None:
    """Detach a pool, named by its path, "LABEL=..." or its number."""
    if not isinstance(pool, int):
        name = os.fsdecode(place(pool))
        found = re.fullmatch(r"/dev/wort(\d+)", os.path.realpath(name))
        if not found:
            raise _wort.Error(errno.ENOENT, os.strerror(errno.ENOENT), name)
        pool = int(found[1])
    _wort._detach(pool)


def _from_control() -> list[PoolRecord]:
    found: list[PoolRecord] = []
    start, more = 0, True
    while more:
        records, more = _wort._pools(start)
        for minor, state, size, uuid, label, device in records:
            found.append(PoolRecord(
                minor, f"/dev/wort{minor}", text(label), _uuid.UUID(bytes=uuid),
                text(device), size, words(state, STATES)))
            start = minor + 1
        more = more and bool(records)
    return found


def _from_sysfs() -> list[PoolRecord]:
    found = []
    for folder in SYSFS.glob("wort*"):
        minor = re.fullmatch(r"wort(\d+)", folder.name)
        if not minor:
            continue

        def read(name: str, folder: pathlib.Path = folder) -> str:
            return os.fsdecode((folder / name).read_bytes()).removesuffix("\n")

        try:
            found.append(PoolRecord(
                int(minor[1]), f"/dev/{folder.name}", read("label"),
                _uuid.UUID(read("uuid")), read("device"), int(read("pool_size")),
                frozenset(read("state").split()) & frozenset(STATES.values())))
        except FileNotFoundError:
            continue        # detached meanwhile
    return sorted(found)


def pools() -> list[PoolRecord]:
    """The attached pools.  The control device answers root, sysfs everybody."""
    if not SYSFS.exists():
        with hints(None, lambda err: NOT_LOADED):
            return _from_control()
    try:
        return _from_control()
    except _wort.Error:
        return _from_sysfs()


def find(name: str) -> str:
    """The path of the attached pool with this label, or with this UUID.  A pool
    whose device is gone counts only if no other one has the name.  ENOENT: there is
    none; ENOTUNIQ: there are several."""
    found = [pool for pool in pools()
             if name and name in (pool.label, str(pool.uuid))]
    live = [pool for pool in found if "dead" not in pool.state] or found
    if len(live) == 1:
        return live[0].path
    number = errno.ENOTUNIQ if live else errno.ENOENT
    raise _wort.Error(number, os.strerror(number), name)


def place(path: StrPath) -> StrPath:
    """A path, also of "LABEL=..." or "UUID=..."."""
    for prefix in "LABEL=", "UUID=":
        if isinstance(path, str) and path.startswith(prefix):
            return find(path.removeprefix(prefix))
    return path
