"""Every test of the runtime has a disk cache of its own session."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAPELESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
