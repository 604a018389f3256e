"""Whatever the tests compile keeps the rules of Core after every pass, and those of Loop IR: they
have a disk cache of their own, so that nothing was compiled before."""

from __future__ import annotations

import pytest

from tapeless import pipeline


@pytest.fixture(autouse=True, scope="session")
def _checked(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAPELESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(pipeline, "CHECKED", True)
        yield
