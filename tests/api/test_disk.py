"""The disk cache: hits skip tracing; what changed is compiled again; damage does no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tapeless.api import encode
from tests.runtime.kernels import TYPES

MODULE = """
import numpy as np
import tapeless as tp

SCALE = 2
OFFSET = 1.5
TABLE = np.arange(4.0)

def helper(v):
    return v * SCALE

class Filter:
    def __init__(self, gain):
        self.gain = gain

    def response(self, x):
        return self.gain * x

@tp.jit
def apply(x, n):
    s = OFFSET
    for i in range(len(x)):
        s += helper(x[i]) * n + TABLE[i % 4]
    return s

@tp.jit
def filtered(f, x):
    return f.response(np.sum(x))

@tp.jit
def parts(x):
    return {"a": (x + 1.0, None), "b": x.size, "c": 1j * x[0]}
"""

SCRIPT = """
import json, sys
import numpy as np
import mod
x = np.arange(5.0)
out = {
    "apply": float(mod.apply(x, 3)),
    "back": float(mod.apply(x[::-1], 3)),
    "filtered": float(mod.filtered(mod.Filter(2.0), x)),
    "parts": repr(mod.parts(x)),
    "cached": [c.cached for f in (mod.apply, mod.filtered, mod.parts) for c in f.compilations],
    "seconds": max(c.seconds for f in (mod.apply, mod.filtered, mod.parts) for c in f.compilations),
}
print(json.dumps(out))
"""


@pytest.fixture
def project(tmp_path):
    class Project:
        cache = tmp_path / "cache"
        text = MODULE

        def run(self, **environment):
            (tmp_path / "mod.py").write_text(self.text)
            (tmp_path / "script.py").write_text(SCRIPT)
            env = {
                **os.environ, "TAPELESS_CACHE_DIR": str(self.cache),
                "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
                "PYTHONDONTWRITEBYTECODE": "1", **environment,
            }  # fmt: skip
            command = [sys.executable, str(tmp_path / "script.py")]
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        def entries(self):
            return [p for p in Path(self.cache).rglob("*") if p.is_file()]

    return Project()


def same(a, b):
    return all(a[k] == b[k] for k in ("apply", "back", "filtered", "parts"))


def test_second_process_compiles_nothing(project):
    first = project.run()
    assert not any(first["cached"])
    second = project.run()
    assert same(first, second)
    assert all(second["cached"])
    assert second["seconds"] < 0.1


def test_changes_of_the_source_are_seen(project):
    first = project.run()
    project.text = MODULE.replace("return v * SCALE", "return v * SCALE + 1.0")
    callee = project.run()
    assert callee["apply"] == first["apply"] + 15.0
    project.text = MODULE.replace("SCALE = 2", "SCALE = 3")
    assert project.run()["apply"] != first["apply"]
    project.text = MODULE.replace("OFFSET = 1.5", "OFFSET = 2.5")
    assert project.run()["apply"] == first["apply"] + 1.0
    project.text = MODULE.replace("self.gain * x", "self.gain * x + 7.0")
    assert project.run()["filtered"] == first["filtered"] + 7.0
    project.text = MODULE
    last = project.run()
    assert same(first, last)
    assert all(last["cached"])


def test_damaged_entries_are_compiled_again(project):
    first = project.run()
    for k, path in enumerate(project.entries()):
        data = path.read_bytes()
        if k % 3 == 0:
            path.write_bytes(data[: len(data) // 2])
        elif k % 3 == 1:
            path.write_bytes(data[:-7] + bytes(b ^ 0x55 for b in data[-7:]))
        else:
            path.write_bytes(b"something else")
    again = project.run()
    assert same(first, again)
    assert not all(again["cached"])
    assert all(project.run()["cached"])


def test_cache_can_be_switched_off(project):
    project.text = MODULE.replace("@tp.jit", "@tp.jit(cache=False)")
    project.run()
    before = len(project.entries())
    assert not any(project.run()["cached"])
    assert len(project.entries()) == before
    project.text = MODULE
    assert not any(project.run(TAPELESS_CACHE_SIZE="0")["cached"])


def test_read_only_directory(project):
    project.cache.mkdir()
    project.cache.chmod(0o500)
    try:
        assert project.run()["apply"]
    finally:
        project.cache.chmod(0o700)


def test_two_processes_fill_the_cache_at_once(project, tmp_path):
    expected = project.run()
    for path in project.entries():
        path.unlink()
    env = {
        **os.environ, "TAPELESS_CACHE_DIR": str(project.cache),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }  # fmt: skip
    command = [sys.executable, str(tmp_path / "script.py")]
    running = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for process in running:
        text, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert same(json.loads(text), expected)


def test_kernel_descriptions_survive_json():
    for _, type in TYPES.values():
        assert encode.read_kernel(json.loads(json.dumps(encode.kernel(type)))) == type
