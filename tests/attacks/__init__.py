"""Attacks on a running site, each over HTTP as a stranger or a user would make it.

`make attack` runs every module of this folder against a scratch site: `serve` on SQLite, and
granian with two workers on PostgreSQL. A module has one function `attack(site: Site) -> Outcome`;
the site is migrated and empty, and its data are made by the module. `--checkout FOLDER` runs the
same attacks on another checkout of the project, say of the commit before a defect was mended.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the site held, with the figures that say so; a name tells the unit of its figure."""

    held: bool
    figures: dict[str, float | str]
