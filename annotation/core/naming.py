"""Names within a dataset: imported raters and studies carry the dataset's name before their own."""

from __future__ import annotations

import hashlib
import re

_SLUG_CHARS = 80


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sorting key that puts User_2 before User_10."""
    return tuple(
        (0, int(piece), "") if re.fullmatch("[0-9]+", piece) else (1, 0, piece)
        for piece in re.split("([0-9]+)", name)
    )


def rater_username(dataset: str, name: str) -> str:
    """The user name of an imported rater."""
    return f"{dataset}:{name}"


def imported_study_slug(dataset: str, name: str) -> str:
    """The short name of a study that a file names: unique on this site, at most 80 characters."""
    slug = f"{dataset}--{name}"
    if len(slug) <= _SLUG_CHARS:
        return slug
    digest = hashlib.sha256(slug.encode()).hexdigest()[:16]
    return f"{slug[: _SLUG_CHARS - 17]}-{digest}"


def study_name(dataset: str, slug: str, name: str) -> str:
    """The name that a file gives a study: an imported one goes by its own name again."""
    return name if slug == imported_study_slug(dataset, name) else slug
