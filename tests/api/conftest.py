"""Every test run has a disk cache of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("TAPELESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()
