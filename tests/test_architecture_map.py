"""docs/architecture.md stays a map: short, and every file it names is there."""

from __future__ import annotations

import re

from tests.paths import ROOT

LINES = (ROOT / "docs" / "architecture.md").read_text("utf-8").splitlines()
PATH = re.compile(r"`([\w*{},.-]*(?:/[\w*{},./-]*|\.(?:py|md)))`")
BRACES = re.compile(r"\{([^{}]*)\}")


def expanded(path):
    """The paths that a path with {a,b} in it stands for."""
    found = BRACES.search(path)
    if found is None:
        return [path]
    before, after = path[: found.start()], path[found.end() :]
    return [each for word in found[1].split(",") for each in expanded(before + word + after)]


def named_paths():
    """Every path of the map from the top folder; `judging/` alone says where the next ones are."""
    folder = ""
    for line in LINES:
        if line.startswith("#"):
            folder = ""
        for path in PATH.findall(line):
            if (ROOT / path.split("/")[0]).exists():
                yield from expanded(path)
                folder = path if path.endswith("/") else folder
            else:
                yield from expanded(folder + path)


def test_the_map_is_short():
    assert len(LINES) <= 150
    assert max(map(len, LINES)) <= 120


def test_the_map_names_paths():
    assert len(set(named_paths())) > 150


def test_every_path_of_the_map_exists():
    assert [path for path in sorted(set(named_paths())) if not any(ROOT.glob(path))] == []
