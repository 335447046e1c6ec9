"""Who and what there is in a scratch database."""

from __future__ import annotations

from typing import Final

PASSWORD: Final = "a bench has no secrets"  # noqa: S105 - of a database that lives for minutes
SINGLE: Final = "single"
TRIPLE: Final = "triple"
DATASET: Final = "bench"
MANAGER: Final = "manager"
LABELLERS: Final = 20  # who gave the labels that are there at the start


def name_of(annotator: int) -> str:
    """The user name of the n-th annotator."""
    return f"annotator-{annotator}"
