"""The command line."""

from __future__ import annotations

import pytest

from tapeless.cli import main

PROGRAM = """
import numpy as np
import tapeless as tp

def dot(x: tp.f64["n"], y: tp.f64["n"]):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total

def plain(x, k):
    return x * k

def bad(x: tp.f64["n"]):
    print(x)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "program_of_cli_test.py"
    path.write_text(PROGRAM)
    return path


def test_show_source(file, capsys):
    assert main(["show", f"{file}:dot"]) == 0
    assert "def dot(x, y):" in capsys.readouterr().out


@pytest.mark.parametrize(
    "stage, words", [("loops", "proc"), ("llvm", "define"), ("explain", "dot")]
)
def test_show_stages(file, capsys, stage, words):
    assert main(["show", f"{file}:dot", "--stage", stage]) == 0
    assert words in capsys.readouterr().out


def test_show_with_arguments(file, capsys):
    assert main(["show", f"{file}:plain", "np.zeros(3)", "2"]) == 0
    assert "def plain(x, k):" in capsys.readouterr().out


@pytest.mark.parametrize(
    "target, args, words",
    [
        ("dot", ["x ="], "argument"), ("plain", [], "what is 'x'"), ("none", [], "no function"),
        ("bad", [], "print"),
    ],
)  # fmt: skip
def test_mistakes(file, capsys, target, args, words):
    assert main(["show", f"{file}:{target}", *args]) == 1
    assert words in capsys.readouterr().err


def test_no_file(capsys):
    assert main(["show", "nowhere.py:f"]) == 1
    assert "nowhere.py" in capsys.readouterr().err


def test_cache(capsys):
    assert main(["cache", "info"]) == 0
    assert "directory" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "removed" in capsys.readouterr().out


def test_doctor(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "works" in out and "processor" in out
