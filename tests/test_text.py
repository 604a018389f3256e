"""What no file of the repository may contain."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = {".py", ".md", ".toml", ".sh", ".yml", ".yaml", ".json", ".cfg", ".txt", ".ll", ".c", ""}


def tracked() -> list[Path]:
    """The files under version control, or in an unpacked source archive all of them."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listing.stdout.splitlines() if listing.returncode == 0 else []
    paths = [ROOT / name for name in names] or list(ROOT.rglob("*"))
    hidden = {".venv", ".git", "dist", ".cache"}
    return [p for p in paths if p.is_file() and p.suffix in TEXT and not hidden & set(p.parts)]


FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(?:home|root|work|Users|mnt|opt)/\w",
    "a package index or its mirror": r"pypi\.|pythonhosted|files\.python|npmjs|deb\.debian",
    "an address of a network": r"\b(?:10|127|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d+){2,3}\b",
    "a note to come back to": r"\b(?:TODO|FIXME|XXX)\b",
    "an unfinished body": "NotImplementedError",
    "trailing space": r"[ \t]+$",
    "a tab in Python": r"^\t",
    "a conflict mark": r"^(?:<{7}|>{7}) ",
}
EXEMPT = {
    "a tab in Python": lambda path: path.suffix != ".py",
    "trailing space": lambda path: path.suffix == ".md" or path.name == "LICENSE",
    "a note to come back to": lambda path: path.name == "CONTRIBUTING.md",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_contains(what: str):
    pattern = re.compile(FORBIDDEN[what], re.M)
    exempt = EXEMPT.get(what, lambda path: False)
    found = []
    for path in tracked():
        if path == Path(__file__) or exempt(path):  # this file holds the patterns themselves
            continue
        text = path.read_text(errors="replace")
        found += [
            f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()}"
            for m in pattern.finditer(text)
        ]
    assert not found, what + ":\n" + "\n".join(found[:20])


def test_the_patterns_find_what_they_should():
    """The checks above can fail."""
    samples = {
        "a path of one machine": 'open("/home/ann/data.csv")',
        "a package index or its mirror": "https://pypi.org/simple",
        "an address of a network": "http://192.168.1.7/",
        "a note to come back to": "# TODO later",
        "an unfinished body": "raise NotImplementedError",
        "trailing space": "x = 1 \n",
        "a tab in Python": "\tx = 1",
        "a conflict mark": "<<<<<<< HEAD",
    }
    assert samples.keys() == FORBIDDEN.keys()
    for what, sample in samples.items():
        assert re.search(FORBIDDEN[what], sample, re.M), what
