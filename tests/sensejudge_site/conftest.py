"""What tests of the site share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from sensejudge_site.benches import annotate, export, imports, judge
from sensejudge_site.benches.annotate.site import Site, scratch_site
from tests.children import output_of
from tests.migrated import copy_migrated

_PATIENCE: Final = 120.0  # seconds

PREPARED: Final = {"migrate", "collectstatic", "flush"}
"""Steps that take longer than what a tiny bench measures; one bench takes them in earnest."""


class PreparedSite(Site):
    """A site whose steps before and after measuring are done: it is migrated and goes away."""

    __slots__ = ()

    def manage(self, *arguments: str) -> str:
        return "" if arguments[0] in PREPARED else super().manage(*arguments)

    def python(self, *arguments: str) -> str:
        if arguments[0] == "-c":
            return super().python(*arguments)
        return output_of(arguments, env=self.env, timeout=_PATIENCE)


def _begin_with(monkeypatch: pytest.MonkeyPatch, make: Callable[[Site], Site]) -> None:
    @contextmanager
    def begun() -> Iterator[Site]:
        with scratch_site() as site:
            if "DATABASE_URL" in site.env:
                yield site
            else:
                copy_migrated(Path(site.env["SENSEJUDGE_VAR"]) / "sensejudge.sqlite3")
                yield make(site)

    for bench in (annotate, export, imports, judge):
        monkeypatch.setattr(bench, "scratch_site", begun)


@pytest.fixture
def migrated_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have benches begin with a migrated database where that is SQLite."""
    _begin_with(monkeypatch, lambda site: site)


@pytest.fixture
def prepared_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have benches begin with a prepared site where that is SQLite."""
    env = {
        "STATICFILES_BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
        "PYTHONPYCACHEPREFIX": "",  # what is compiled already, is
    }
    _begin_with(monkeypatch, lambda site: PreparedSite(site.env | env, site.root))
