"""The disk cache: entries of JSON and machine code that survive the process.

An entry is one file, named by the hash that its writer chose. It is written beside its place and
renamed, so that other processes see all of it or nothing; it carries its key, its lengths and a
checksum. A file that is not whole, not ours, or not for this key is the same as no file.
`TAPELESS_CACHE_DIR` says where, `TAPELESS_CACHE_SIZE` how big (bytes; 0: no cache).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG = logging.getLogger("tapeless")

MAGIC = b"tapeless kernel 1\n"
DIGEST = 32  # bytes
DEFAULT_SIZE = 512 << 20
TOUCH_AFTER = 3600.0  # s: an entry's time is renewed at most this often
SUFFIX = ".tpl"

_unswept = True


@dataclass(frozen=True, slots=True)
class Info:
    """What is in the cache. `enabled` is false where nothing can be written."""

    directory: Path
    enabled: bool
    entries: int
    bytes: int
    limit: int


def directory() -> Path:
    """Where the cache is: `TAPELESS_CACHE_DIR`, else the platform's place for caches."""
    chosen = os.environ.get("TAPELESS_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tapeless"
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "tapeless"
    try:
        return Path.home() / ".cache" / "tapeless"
    except RuntimeError:
        return Path(os.devnull) / "tapeless"


def limit() -> int:
    """The most bytes that the cache may hold."""
    try:
        return max(int(os.environ["TAPELESS_CACHE_SIZE"]), 0)
    except (KeyError, ValueError):
        return DEFAULT_SIZE


def key_of(*parts: object) -> str:
    """A key from the text of all that an entry depends on."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def read(key: str) -> tuple[Any, bytes] | None:
    """The JSON and the machine code stored under `key`; None if there is no sound entry."""
    path = _path(key)
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
                return None
            data = file.read()
        age = time.time() - status.st_mtime
    except OSError:
        return None
    entry = decode(key, data)
    if entry is None:
        LOG.warning("cache: %s is damaged and will be written again", path)
    elif age > TOUCH_AFTER:
        with contextlib.suppress(OSError):
            os.utime(path)
    return entry


def write(key: str, meta: Any, blob: bytes) -> bool:
    """Store an entry; False, with nothing changed, if that is not possible here."""
    global _unswept  # noqa: PLW0603
    if limit() == 0:
        return False
    path = _path(key)
    data = encode(key, meta, blob)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError as e:
        LOG.info("cache: cannot write %s: %s", path, e)
        with contextlib.suppress(OSError):
            beside.unlink()
        return False
    if _unswept or os.urandom(1)[0] < 8:
        _unswept = False
        _sweep()
    return True


def info() -> Info:
    found = list(_entries())
    place = directory()
    known = _existing(place)
    writable = limit() > 0 and known.is_dir() and os.access(known, os.W_OK)
    return Info(place, writable, len(found), sum(size for _, _, size in found), limit())


def clear() -> int:
    """Remove every entry; returns how many there were."""
    count = 0
    for _, path, _ in list(_entries()):
        with contextlib.suppress(OSError):
            path.unlink()
            count += 1
    return count


def encode(key: str, meta: Any, blob: bytes) -> bytes:
    text = json.dumps(meta, separators=(",", ":")).encode()
    lengths = len(text).to_bytes(8, "little") + len(blob).to_bytes(8, "little")
    body = key.encode() + b"\n" + lengths + text + blob
    return MAGIC + hashlib.sha256(body).digest() + body


def decode(key: str, data: bytes) -> tuple[Any, bytes] | None:
    start = len(MAGIC) + DIGEST
    head = key.encode() + b"\n"
    if data[: len(MAGIC)] != MAGIC or data[start : start + len(head)] != head:
        return None
    if hashlib.sha256(memoryview(data)[start:]).digest() != data[len(MAGIC) : start]:
        return None
    at = start + len(head)
    text = int.from_bytes(data[at : at + 8], "little")
    blob = int.from_bytes(data[at + 8 : at + 16], "little")
    at += 16
    if at + text + blob != len(data):
        return None
    try:
        return json.loads(data[at : at + text]), data[at + text :]
    except ValueError:
        return None


def _path(key: str) -> Path:
    return directory() / key[:2] / (key + SUFFIX)


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _entries() -> Iterator[tuple[float, Path, int]]:
    """Time of last use, path and size of everything stored, leftovers of dead writers included."""
    for pattern in (f"*/*{SUFFIX}", f"*/.*{SUFFIX}.*"):
        for path in directory().glob(pattern):
            with contextlib.suppress(OSError):
                status = path.stat()
                yield status.st_mtime, path, status.st_size


def _sweep() -> None:
    """Remove what was not used for longest until the cache is within its limit."""
    found = sorted(_entries())
    excess = sum(size for _, _, size in found) - limit()
    if excess <= 0:
        return
    excess += limit() // 10
    for _, path, size in found:
        if excess <= 0:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            excess -= size
