"""The values of a table's row: what its label says, by a chosen meaning or by a usual word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.formats import sensejudge
from annotation.core.formats.fields import Fields
from annotation.core.formats.records import GoldRecord, SatisfactionRecord
from annotation.core.formats.values import (
    LEFT_OUT,
    Meaning,
    Means,
    is_empty,
    meaning_of,
    plain,
    reason_of,
    score_of,
    verdict_of,
    vocabulary_of,
)
from annotation.core.refusals import gettext_noop

SCENARIO: Final = "default"
"""Of rows without a scenario."""

_OUTCOMES: Final[Mapping[Meaning, Mapping[str, object]]] = {
    Meaning.A: {"verdict": "A"},
    Meaning.B: {"verdict": "B"},
    Meaning.TIE: {"verdict": "TIE"},
    Meaning.BOTH_BAD: {"verdict": "TIE", "both_bad": True},
    Meaning.A_SLIGHTLY: {"verdict": "A", "strength": 1},
    Meaning.A_CLEARLY: {"verdict": "A", "strength": 2},
    Meaning.B_SLIGHTLY: {"verdict": "B", "strength": 1},
    Meaning.B_CLEARLY: {"verdict": "B", "strength": 2},
}
_UNKNOWN: Final = gettext_noop(
    "Not known as a verdict: say what this value means (step Values of the import page, or "
    "--values)"
)
_SEVERAL: Final = gettext_noop("This can mean more than one answer")
_NOBODY: Final = gettext_noop("Neither response of this row has this name")
_UNKNOWN_SIGN: Final = gettext_noop(
    "Not known: say what this value means (step Values of the import page, or --values)"
)


def outcome_of(meaning: Meaning) -> Mapping[str, object]:
    """Returns the fields of a label; none where there is no answer."""
    return _OUTCOMES.get(meaning, {})


def verdict_said(fields: Fields, key: str, means: Means) -> Meaning:
    """Returns what a verdict says: a chosen or usual meaning, or the name of a response."""
    word = fields.text(key)
    chosen = meaning_of(means, key, word)
    if chosen is Meaning.SKIP:
        fields.notes.skip(LEFT_OUT)
    if chosen is not None and chosen is not Meaning.NAME:
        return chosen
    if is_empty(word):
        return Meaning.NONE
    usual = None if chosen is Meaning.NAME else verdict_of(word)
    meant = _named(fields, word) | ({usual} if usual else set())
    if len(meant) == 1:
        return meant.pop()
    unknown = _NOBODY if chosen is Meaning.NAME else _UNKNOWN
    fields.fault(key, _SEVERAL if meant else unknown, word)
    return Meaning.NONE


def _named(fields: Fields, word: str) -> set[Meaning]:
    """Returns the responses whose header or model a word is."""
    text = plain(word)
    return {
        better
        for side, better in (("a", Meaning.A), ("b", Meaning.B))
        for name in ("header", "model")
        if text == plain(str(fields.data.get(f"{name}_{side}", "")))
    }


def as_sign(fields: Fields, key: str, means: Means) -> Meaning:
    """Returns the meaning of a value with a closed vocabulary: yes, a strength, a role."""
    word = fields.text(key)
    chosen = meaning_of(means, key, word)
    if chosen is Meaning.SKIP:
        fields.notes.skip(LEFT_OUT)
    vocabulary = vocabulary_of(key, pairs=True)
    meaning = chosen or (vocabulary.read(word) if vocabulary else None)
    if meaning is None:
        fields.fault(key, _UNKNOWN_SIGN, word)
    return meaning or Meaning.NONE


def gold_reason(fields: Fields) -> dict[str, object]:
    """Returns the reason of a gold answer, if there is one."""
    return {"rationale": fields.data["gold_reason"]} if "gold_reason" in fields.data else {}


def rated(
    fields: Fields, annotator: str, means: Means
) -> tuple[tuple[SatisfactionRecord, ...], tuple[GoldRecord, ...]]:
    """Returns the rating of a response and its gold score, where there are some."""
    told = {key: fields.data[key] for key in ("annotator", "comment") if key in fields.data}
    score, known = _score(fields, "score", means), _score(fields, "gold", means)
    reason = reason_of(fields.text_or("reason"))
    told |= {"annotator": told.get("annotator", annotator)}
    told |= {name: value for name, value in (("score", score), ("reason", reason)) if value}
    ratings = (
        (sensejudge.rating(Fields(told, fields.notes, fields.path)),)
        if {"score", "reason"} & told.keys()
        else ()
    )
    gold = [{"score": known, **gold_reason(fields)}] if known else []
    return ratings, sensejudge.gold_labels(Fields({"gold": gold}, fields.notes, fields.path))


def _score(fields: Fields, key: str, means: Means) -> str:
    """Returns a score as a digit, the word itself if it is none, or "" where there is none."""
    word = fields.text_or(key)
    chosen = meaning_of(means, key, word) if key in fields.data else None
    if chosen is Meaning.SKIP:
        fields.notes.skip(LEFT_OUT)
    meaning = chosen or score_of(word)
    if meaning in {Meaning.NONE, Meaning.SKIP}:
        return ""
    return meaning.value if meaning else word
