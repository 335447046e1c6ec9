"""The project's own JSONL: it carries all that the data model holds (docs/formats.md).

Three kinds of line: `dataset` (what the file says about itself), `session` (one conversation with
everything about it) and `pair` (one comparison written flat, for files made by hand or by scripts).
`type` may be left out where the other fields tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.formats import sensejudge_pairs
from annotation.core.formats.fields import (
    KEY_CHARS,
    MODEL_CHARS,
    NAME_CHARS,
    SCENARIO_CHARS,
    VARIANT_CHARS,
    Fields,
)
from annotation.core.formats.records import (
    ComparisonRecord,
    DatasetRecord,
    QuestionnaireRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
    split_profile,
)
from annotation.core.formats.sensejudge_labels import gold_labels, ratings, verdicts
from annotation.core.refusals import gettext_noop

NAME: Final = "sensejudge"

_DATASET: Final = ("type", "name", "description", "source", "licence", "simulated", "extra")
_SESSION: Final = (
    "type",
    "key",
    "scenario",
    "user",
    "system_prompt",
    "task_context",
    "language",
    "profile",
    "extra",
    "turns",
    "satisfaction",
    "questionnaires",
    "gold",
)
_RESPONSE: Final = (
    "id",
    "text",
    "model",
    "original",
    "continues",
    "variant",
    "extra",
    "satisfaction",
    "gold",
)
_COMPARISON: Final = ("key", "a", "b", "position", "extra", "labels", "gold")


def looks_like(row: object) -> bool:
    """Whether a row is one of this format's three kinds."""
    return isinstance(row, Mapping) and _kind(row) is not None


def parse(fields: Fields) -> SessionRecord | DatasetRecord:
    """One line of any kind."""
    kind = _kind(fields.data)
    if kind == "dataset":
        return _dataset(fields)
    if kind == "pair":
        return sensejudge_pairs.parse(fields)
    if kind is None:
        fields.fault(
            "type", gettext_noop("Expected dataset, session or pair"), fields.data.get("type")
        )
        return DatasetRecord()
    return _session(fields)


def _kind(row: Mapping[str, object]) -> str | None:
    if "type" in row:
        kind = row["type"]
        return kind if isinstance(kind, str) and kind in {"dataset", "session", "pair"} else None
    if "turns" in row and "question_id" not in row:
        return "session"
    return "pair" if {"text_a", "text_b"} <= row.keys() else None


def _dataset(fields: Fields) -> DatasetRecord:
    fields.refuse_unknown(*_DATASET)
    return DatasetRecord(
        name=fields.short("name", 200) if fields.has("name") else None,
        description=fields.text("description") if fields.has("description") else None,
        source=fields.text_or("source", longest=300) if fields.has("source") else None,
        licence=fields.text_or("licence", longest=100) if fields.has("licence") else None,
        simulated=fields.flag("simulated") if fields.has("simulated") else None,
        extra=fields.mapping("extra") if fields.has("extra") else None,
    )


def _session(fields: Fields) -> SessionRecord:
    fields.refuse_unknown(*_SESSION)
    known, stray = split_profile(fields.mapping("profile"))
    extra = dict(fields.mapping("extra"))
    if stray:
        extra["profile"] = stray
    if "turns" not in fields.data:
        fields.fault("turns", gettext_noop("Missing"))
    turns: list[TurnRecord] = []
    for turn in fields.items("turns"):
        turns.append(_turn(turn, turns))
    return SessionRecord(
        key=fields.short("key", KEY_CHARS),
        scenario=fields.short("scenario", SCENARIO_CHARS),
        turns=tuple(turns),
        user=fields.annotator("user") if fields.has("user") else None,
        system_prompt=fields.text_or("system_prompt"),
        task_context=fields.text_or("task_context"),
        language=fields.text_or("language", longest=16),
        profile=known,
        extra=extra,
        satisfaction=ratings(fields, "satisfaction"),
        questionnaires=tuple(_questionnaire(item) for item in fields.items("questionnaires")),
        gold=gold_labels(fields),
    )


def _turn(fields: Fields, earlier: list[TurnRecord]) -> TurnRecord:
    fields.refuse_unknown("user", "responses", "comparisons")
    if "user" not in fields.data:
        fields.fault("user", gettext_noop("Missing (use null if there is no user message before)"))
    responses: dict[str, ResponseRecord] = {}
    before = {response.key for response in earlier[-1].responses} if earlier else set()
    for item in fields.items("responses"):
        response = _response(item, default=str(len(responses)), before=before)
        if response.key in responses:
            item.fault("id", gettext_noop("Appears twice in this turn"), response.key)
        responses[response.key] = response
    if sum(response.original for response in responses.values()) > 1:
        fields.fault("responses", gettext_noop("Only one response per turn can be the original"))
    return TurnRecord(
        user_message=fields.text("user") if fields.has("user") else None,
        responses=tuple(responses.values()),
        comparisons=_comparisons(fields, responses),
    )


def _response(fields: Fields, *, default: str, before: set[str]) -> ResponseRecord:
    fields.refuse_unknown(*_RESPONSE)
    if "text" not in fields.data:
        fields.fault("text", gettext_noop("Missing (use null if the text is not available)"))
    continues = fields.text("continues") if fields.has("continues") else None
    if continues is not None and continues not in before:
        fields.fault("continues", gettext_noop("Not a response of the previous turn"), continues)
    return ResponseRecord(
        key=fields.short("id", KEY_CHARS) if fields.has("id") else default,
        text=fields.text("text") if fields.has("text") else None,
        model=fields.text_or("model", longest=MODEL_CHARS),
        original=fields.flag("original"),
        continues=continues,
        variant=fields.text_or("variant", longest=VARIANT_CHARS),
        extra=fields.mapping("extra"),
        satisfaction=ratings(fields, "satisfaction"),
        gold=gold_labels(fields),
    )


def _comparisons(
    fields: Fields, responses: dict[str, ResponseRecord]
) -> tuple[ComparisonRecord, ...]:
    comparisons: dict[str, ComparisonRecord] = {}
    for item in fields.items("comparisons"):
        comparison = _comparison(item, responses)
        if comparison.key in comparisons:
            item.fault("key", gettext_noop("Appears twice in this turn"), comparison.key)
        comparisons[comparison.key] = comparison
    return tuple(comparisons.values())


def _comparison(fields: Fields, responses: dict[str, ResponseRecord]) -> ComparisonRecord:
    fields.refuse_unknown(*_COMPARISON)
    a, b = fields.text("a"), fields.text("b")
    for name, key in (("a", a), ("b", b)):
        if fields.has(name) and key not in responses:
            fields.fault(name, gettext_noop("Not a response of this turn"), key)
    if fields.has("a") and a == b:
        fields.fault("b", gettext_noop("A comparison needs two responses"), b)
    content = [
        part
        for response in (responses.get(a), responses.get(b))
        if response is not None
        for part in (response.model, response.variant, response.text or "")
    ]
    return ComparisonRecord(
        key=fields.short("key", KEY_CHARS) if fields.has("key") else content_key(*content),
        a=a,
        b=b,
        position=fields.whole_or_none("position", 0, 2**31 - 1),
        extra=fields.mapping("extra"),
        labels=verdicts(fields, "labels"),
        gold=gold_labels(fields),
    )


def _questionnaire(fields: Fields) -> QuestionnaireRecord:
    fields.refuse_unknown("annotator", "answers", "study", "given_at")
    return QuestionnaireRecord(
        annotator=fields.annotator(),
        answers=tuple(item.data for item in fields.items("answers")),
        study=fields.text_or("study", longest=NAME_CHARS),
        given_at=fields.moment("given_at"),
    )
