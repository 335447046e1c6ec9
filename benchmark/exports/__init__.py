"""Exports of what was decided: pairs to train on, and frozen benchmarks."""

from __future__ import annotations

from typing import Final

from benchmark.exports.pairs import PREFERENCE_PAIRS, PairChoice, preference_pairs
from benchmark.exports.versions import FORMATS, version_file

EXPORTS: Final = {each.kind: each for each in (PREFERENCE_PAIRS,)}

__all__ = [
    "EXPORTS",
    "FORMATS",
    "PREFERENCE_PAIRS",
    "PairChoice",
    "preference_pairs",
    "version_file",
]
