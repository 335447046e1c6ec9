"""The labels of the project's own format: verdicts, ratings and gold answers."""

from __future__ import annotations

import re
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Hallucination, Order, Reason, Verdict
from annotation.core.formats.fields import Fields
from annotation.core.formats.records import (
    GOLD_SOURCES,
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    SatisfactionRecord,
)
from annotation.core.refusals import gettext_noop

DETAILS: Final = (
    "annotator",
    "study",
    "repeat",
    "comment",
    "given_at",
    "active_seconds",
    "idle_seconds",
    "input_device",
    "edits",
    "guidelines_version",
    "app_version",
    "extra",
)
VERDICT: Final = ("verdict", "strength", "both_bad", "shown_order")
_RATING: Final = ("score", "reason", "hallucination")
_SLUG: Final = re.compile(r"[-a-zA-Z0-9_]{1,80}")
_COUNT: Final = 32_767
"""The largest count that every database column here holds."""


def verdicts(fields: Fields, name: str) -> tuple[PairwiseRecord, ...]:
    """The pairwise labels of a comparison; nobody gives two for one study and repeat."""
    labels = []
    for item in _once_each(fields, name):
        item.refuse_unknown(*DETAILS, *VERDICT)
        labels.append(verdict(item))
    return tuple(labels)


def verdict(fields: Fields) -> PairwiseRecord:
    """One pairwise label."""
    given = fields.word("verdict", Verdict, Verdict.TIE)
    strength = fields.whole_or_none("strength", 1, 2)
    if strength is not None and given is Verdict.TIE:
        fields.fault("strength", gettext_noop("A tie has no strength"), strength)
    order = None
    if fields.has("shown_order"):
        order = fields.word("shown_order", Order, Order.ORIGINAL)
        if order is Order.COMBINED:
            fields.fault("shown_order", gettext_noop("Expected ORIGINAL or SWAPPED"), order)
    return PairwiseRecord(details(fields), given, strength, fields.flag("both_bad"), order)


def ratings(fields: Fields, name: str) -> tuple[SatisfactionRecord, ...]:
    """The satisfaction labels of a response or a session."""
    labels = []
    for item in _once_each(fields, name):
        item.refuse_unknown(*DETAILS, *_RATING)
        labels.append(_rating(item))
    return tuple(labels)


def _rating(fields: Fields) -> SatisfactionRecord:
    score = fields.whole("score", 1, 5)
    reason = fields.word("reason", Reason, Reason.OTHER) if fields.has("reason") else None
    if score >= SATISFIED_FROM and reason is not None:
        fields.fault("reason", gettext_noop("Only scores of 3 or below have a reason"), reason)
    if score < SATISFIED_FROM and reason is None:
        reason = Reason.NOT_RECORDED
    hallucination = None
    if fields.has("hallucination"):
        hallucination = fields.word("hallucination", Hallucination, Hallucination.UNSURE)
    return SatisfactionRecord(details(fields), score, reason, hallucination)


def details(fields: Fields) -> LabelDetails:
    """Who gave a label, and how."""
    study = fields.text_or("study")
    if study and not _SLUG.fullmatch(study):
        fields.fault(
            "study", gettext_noop("Expected a short name of letters, digits, - and _"), study
        )
    return LabelDetails(
        annotator=fields.annotator(),
        study=study,
        repeat=fields.whole_or_none("repeat", 0, _COUNT) or 0,
        comment=fields.text_or("comment"),
        given_at=fields.moment("given_at"),
        active_seconds=fields.seconds("active_seconds"),
        idle_seconds=fields.seconds("idle_seconds"),
        input_device=fields.text_or("input_device", longest=16),
        edits=fields.whole_or_none("edits", 0, _COUNT) or 0,
        guidelines_version=fields.whole_or_none("guidelines_version", 0, _COUNT),
        app_version=fields.text_or("app_version", longest=40),
        extra=fields.mapping("extra"),
    )


def _once_each(fields: Fields, name: str) -> list[Fields]:
    """The labels of a list; a second one by the same annotator, study and repeat is a fault."""
    items = fields.items(name)
    seen: set[tuple[str, str, str]] = set()
    for item in items:
        one = (
            str(item.data.get("annotator")),
            str(item.data.get("study") or ""),
            str(item.data.get("repeat") or 0),
        )
        if one in seen:
            item.fault(
                "annotator", gettext_noop("Has already answered this"), item.data.get("annotator")
            )
        seen.add(one)
    return items


def gold_labels(fields: Fields) -> tuple[GoldRecord, ...]:
    """The gold answers of a comparison (a verdict), a response or a session (a score)."""
    labels: dict[str, GoldRecord] = {}
    for item in fields.items("gold"):
        item.refuse_unknown("source", "verdict", "score", "rationale")
        source = item.text_or("source", "DATASET")
        if source not in GOLD_SOURCES or source in labels:
            reason = gettext_noop("Each of %(words)s can appear only once")
            item.fault("source", reason, source, words=", ".join(GOLD_SOURCES))
        labels[source] = GoldRecord(
            source=source,
            verdict=item.word("verdict", Verdict, Verdict.TIE) if _of_comparison(fields) else None,
            score=None if _of_comparison(fields) else item.whole("score", 1, 5),
            rationale=item.text_or("rationale"),
        )
    return tuple(labels.values())


def _of_comparison(fields: Fields) -> bool:
    return "a" in fields.data and "b" in fields.data
