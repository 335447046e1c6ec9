"""The project's own JSONL: it carries all that the data model holds (docs/formats.md).

Three kinds of line: `dataset` (what the file says about itself), `session` (one conversation with
everything about it) and `pair` (one comparison written flat, for files made by hand or by scripts).
`type` may be left out where the other fields tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Hallucination, Order, Reason, Verdict
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, spoken, turns_of
from annotation.core.formats.fields import (
    KEY_CHARS,
    MODEL_CHARS,
    NAME_CHARS,
    SCENARIO_CHARS,
    VARIANT_CHARS,
    Fields,
)
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    GOLD_SOURCES,
    ComparisonRecord,
    DatasetRecord,
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
    content_key,
    split_profile,
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
CHANCE: Final = "inclusion_chance"
"""Of a pair that a study drew: an export has it, an import passes it over, for it has no draw."""
VERDICT: Final = ("verdict", "strength", "both_bad", "shown_order")
_TEXTS: Final = frozenset({"text_a", "text_b"})
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
        labels.append(rating(item))
    return tuple(labels)


def rating(fields: Fields) -> SatisfactionRecord:
    """One rating; a reason that is not told is NOT_RECORDED."""
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
    """The gold answers of a comparison (a verdict), a response or a session (a score).

    An answer that stands alone, no list of them, is the dataset's.
    """
    labels: dict[str, GoldRecord] = {}
    alone = fields.data.get("gold")
    if isinstance(alone, str | int):
        name = "verdict" if _of_comparison(fields) else "score"
        fields = Fields({**fields.data, "gold": [{name: alone}]}, fields.notes, fields.path)
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
    return {"a", "b"} <= fields.data.keys() or fields.data.keys() >= _TEXTS


_PAIR: Final = (
    "type",
    "session",
    "scenario",
    "system_prompt",
    "task_context",
    "prompt",
    "dialogue",
    "comparison",
    "position",
    "model_a",
    "variant_a",
    "text_a",
    "model_b",
    "variant_b",
    "text_b",
    "labels",
    "gold",
)
_ROLES: Final = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}


def parse_pair(fields: Fields) -> SessionRecord:
    """One pair as a session whose last turn holds the comparison."""
    fields.refuse_unknown(*_PAIR, *DETAILS, *VERDICT, CHANCE)
    scenario = fields.short("scenario", SCENARIO_CHARS)
    system_prompt = fields.text_or("system_prompt")
    task_context = fields.text_or("task_context")
    messages = _context(fields)
    told = [f"{message.role}:{message.text}" for message in messages]
    key = content_key(scenario, system_prompt, task_context, *told)
    turns = turns_of(messages)
    if turns:
        a, b = _candidate(fields, "a"), _candidate(fields, "b")
        if (a.model, a.variant, a.text) == (b.model, b.variant, b.text):
            if b.variant:
                fields.fault("variant_b", gettext_noop("A and B are the same response"), b.variant)
            b = replace(b, variant="B")
        last = TurnRecord(turns[-1].user_message, (a, b), (_pair_comparison(fields, a, b),))
        turns = (*turns[:-1], last)
    return SessionRecord(
        key=fields.short("session", KEY_CHARS) if fields.has("session") else key,
        scenario=scenario,
        turns=turns,
        system_prompt=system_prompt,
        task_context=task_context,
    )


def _context(fields: Fields) -> list[SpokenMessage]:
    if fields.has("prompt") == fields.has("dialogue"):
        fields.fault("dialogue", gettext_noop("Give either prompt or dialogue"))
        return []
    if fields.has("prompt"):
        return [SpokenMessage(Speaker.USER, fields.text("prompt"))]
    messages = []
    for item in fields.items("dialogue"):
        item.refuse_unknown("role", "content")
        role = item.text("role")
        if role not in _ROLES:
            item.fault("role", gettext_noop("Expected user or assistant"), role)
        messages.append(spoken(item, "content", _ROLES.get(role, Speaker.USER)))
    if not messages or messages[-1].role is not Speaker.USER:
        fields.fault(
            "dialogue", gettext_noop("Must end with the user message that both responses answer")
        )
    return messages


def _candidate(fields: Fields, side: str) -> ResponseRecord:
    name = f"text_{side}"
    if name not in fields.data:
        fields.fault(name, gettext_noop("Missing (use null if the text is not available)"))
    return ResponseRecord(
        key=side,
        text=fields.answer(name) if fields.has(name) else None,
        model=fields.text_or(f"model_{side}", longest=MODEL_CHARS),
        variant=fields.text_or(f"variant_{side}", longest=VARIANT_CHARS),
    )


def _pair_comparison(fields: Fields, a: ResponseRecord, b: ResponseRecord) -> ComparisonRecord:
    content = (a.model, a.variant, a.text or "", b.model, b.variant, b.text or "")
    return ComparisonRecord(
        key=fields.short("comparison", KEY_CHARS)
        if fields.has("comparison")
        else content_key(*content),
        a="a",
        b="b",
        position=fields.whole_or_none("position", 0, 2**31 - 1),
        labels=_labels(fields),
        gold=gold_labels(fields),
    )


def _labels(fields: Fields) -> tuple[PairwiseRecord, ...]:
    flat = fields.has("verdict") or fields.has("annotator")
    if flat and fields.has("labels"):
        fields.fault("labels", gettext_noop("Duplicates a label in the line's own fields"))
    return (verdict(fields),) if flat else verdicts(fields, "labels")


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
        return parse_pair(fields)
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
    if "turns" in row and "question_id" not in row and not isinstance(row["turns"], int | float):
        return "session"  # a number of turns is Nectar's
    return "pair" if row.keys() >= _TEXTS else None


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
    # A turn that nobody answered is continued past.
    answered = next((turn for turn in reversed(earlier) if turn.responses), None)
    before = {response.key for response in answered.responses} if answered else set()
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
    continues = fields.short("continues", KEY_CHARS) if fields.has("continues") else None
    if continues is not None and continues not in before:
        fields.fault("continues", gettext_noop("Not a response of the previous turn"), continues)
    return ResponseRecord(
        key=fields.short("id", KEY_CHARS) if fields.has("id") else default,
        text=fields.answer("text") if fields.has("text") else None,
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
    a, b = fields.short("a", KEY_CHARS), fields.short("b", KEY_CHARS)
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


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("SenseJudge (JSONL)"),
        line=gettext_noop(
            "Everything SenseJudge stores, a line each: comparisons, conversations, "
            "labels and gold answers."
        ),
        looks_like=looks_like,
        needs=frozenset({"prompt", *_TEXTS}),
        parse=parse,
    ),
)
