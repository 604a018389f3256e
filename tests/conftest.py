"""Whatever the tests compile keeps the rules of Core after every pass, and those of Loop IR."""

from __future__ import annotations

import pytest

from tapeless import pipeline


@pytest.fixture(autouse=True, scope="session")
def _checked():
    pipeline.CHECKED = True
    yield
    pipeline.CHECKED = False
