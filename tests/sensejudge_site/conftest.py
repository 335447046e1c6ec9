"""What tests of the site share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sensejudge_site.benches import annotate, imports, judge
from sensejudge_site.benches.annotate.site import Site, scratch_site
from tests.migrated import copy_migrated


@pytest.fixture
def migrated_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have benches begin with a migrated database where that is SQLite."""

    @contextmanager
    def begun() -> Iterator[Site]:
        with scratch_site() as site:
            if "DATABASE_URL" not in site.env:
                copy_migrated(Path(site.env["SENSEJUDGE_VAR"]) / "sensejudge.sqlite3")
            yield site

    for bench in (annotate, imports, judge):
        monkeypatch.setattr(bench, "scratch_site", begun)
