"""The disk cache: whole entries or none, whoever writes and whatever happens to the files."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from tapeless.runtime import cache
from tests.runtime.processes import start

KEY = cache.key_of("test", 1)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAPELESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TAPELESS_CACHE_SIZE", raising=False)
    return tmp_path / "cache"


def the_file(place: Path) -> Path:
    (path,) = place.rglob("*.tpl")
    return path


def test_round_trip():
    assert cache.read(KEY) is None
    assert cache.write(KEY, {"a": [1, "ü"]}, b"\0code")
    assert cache.read(KEY) == ({"a": [1, "ü"]}, b"\0code")
    assert cache.read(cache.key_of("test", 2)) is None


def test_keys_tell_parts_apart():
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")


@pytest.mark.parametrize("at", [0, 10, 20, 60, 120, 150, -1])
def test_any_damage_is_noticed(place: Path, at: int):
    cache.write(KEY, {"plan": 3}, b"code" * 10)
    path = the_file(place)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert cache.read(KEY) is None
    assert cache.write(KEY, {"plan": 3}, b"code")
    assert cache.read(KEY) == ({"plan": 3}, b"code")


def test_truncated_empty_and_foreign_files_are_no_entries(place: Path):
    cache.write(KEY, None, b"code")
    path = the_file(place)
    whole = path.read_bytes()
    for data in (whole[:-1], whole[: len(whole) // 2], b"", b"\x7fELF", whole + b"x"):
        path.write_bytes(data)
        assert cache.read(KEY) is None


def test_an_entry_under_another_name_is_no_entry(place: Path):
    cache.write(KEY, None, b"code")
    other = cache.key_of("other")
    target = place / other[:2] / (other + ".tpl")
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(the_file(place), target)
    assert cache.read(other) is None


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_only_the_owner_may_enter(place: Path):
    cache.write(KEY, None, b"code")
    assert stat.S_IMODE(the_file(place).parent.stat().st_mode) == 0o700


def test_no_place_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TAPELESS_CACHE_DIR", str(blocked / "cache"))
    assert not cache.write(KEY, None, b"code")
    assert cache.read(KEY) is None
    assert not cache.info().enabled
    assert cache.clear() == 0


def test_size_zero_turns_it_off(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TAPELESS_CACHE_SIZE", "0")
    assert not cache.write(KEY, None, b"code")
    assert not place.exists()


def test_what_was_used_last_stays(monkeypatch: pytest.MonkeyPatch, place: Path):
    keys = [cache.key_of(k) for k in range(10)]
    for age, key in enumerate(keys):
        cache.write(key, None, bytes(1000))
        path = place / key[:2] / (key + ".tpl")
        os.utime(path, (time.time() - 9000 + age,) * 2)
    assert cache.read(keys[0]) is not None  # used now
    monkeypatch.setenv("TAPELESS_CACHE_SIZE", "6000")
    cache._sweep()
    kept = [k for k, key in enumerate(keys) if cache.read(key) is not None]
    assert kept[0] == 0 and kept[1:] == list(range(11 - len(kept), 10)) and len(kept) < 6


def test_info_and_clear():
    for k in range(3):
        cache.write(cache.key_of(k), None, bytes(100))
    info = cache.info()
    assert info.entries == 3 and info.bytes > 300 and info.enabled
    assert cache.clear() == 3
    assert cache.info().entries == 0


def test_two_processes_fill_it_at_once(place: Path):
    program = (
        "import sys\nfrom tapeless.runtime import cache\n"
        "for k in range(200):\n"
        "    key = cache.key_of(k % 5)\n"
        "    entry = cache.read(key)\n"
        "    assert entry is None or entry == ({'k': k % 5}, bytes(5000)), entry\n"
        "    cache.write(key, {'k': k % 5}, bytes(5000))\n"
    )
    crowd = [start(program) for _ in range(3)]
    assert [process.wait() for process in crowd] == [0, 0, 0]
    assert cache.info().entries == 5
    assert not list(place.rglob(".*"))
