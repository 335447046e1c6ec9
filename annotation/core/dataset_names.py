"""Names of datasets that the application made from others, rather than people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

SlugNames = list[tuple[str, str]]
"""Short and shown names of datasets."""

BUILT_IN_PAIRS: Final = "built-in-pairs"
"""The dataset of the pairs that an injection check takes where none is named."""

_CANDIDATES: Final = "-candidates-"
_DERIVED: Final = re.compile(rf".*{_CANDIDATES}\d+", re.DOTALL)


def candidates_slug(version: str, run_id: int) -> str:
    """Returns the short name of the dataset in which the models of a construction answer."""
    return f"{version}{_CANDIDATES}{run_id}"


def is_derived(slug: str) -> bool:
    """Whether a dataset was made by the application: built-in pairs or candidates of a run."""
    return slug == BUILT_IN_PAIRS or _DERIVED.fullmatch(slug) is not None


def split_derived(names: Iterable[tuple[str, str]]) -> tuple[SlugNames, SlugNames]:
    """Returns the datasets that people brought and those that were derived, each in its order."""
    own: SlugNames = []
    derived: SlugNames = []
    for slug, name in names:
        (derived if is_derived(slug) else own).append((slug, name))
    return own, derived
