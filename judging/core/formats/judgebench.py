"""JudgeBench: pairs of one model's responses with the right answer, and what judges said of them.

A pair has `pair_id, source, question, response_model, response_A, response_B, label` (A>B or B>A).
An output has `judge_name` and `judgments` besides: the first judgment in the order of the pair, the
second, where there is one, in the other order, its decision by the letters as they were shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.autoj import gold_pair
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import ResponseRecord
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import JUDGE_CHARS, RecordedSession, VerdictRecord, recorded

NAME: Final = "judgebench"

_TOLD: Final = ("pair_id", "question", "response_A", "response_B", "label")
_NEEDS: Final = frozenset(_TOLD)
_NOT_KEPT: Final = (*_TOLD, "source", "response_model", "judge_name", "judgments")
_DECISIONS: Final = {"A>B": Verdict.A, "B>A": Verdict.B, "A=B": Verdict.TIE}
_ORDERS: Final = (Order.ORIGINAL, Order.SWAPPED)


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and row.keys() >= _NEEDS


def parse(fields: Fields) -> RecordedSession:
    """One pair as a session of one turn, with the judge's verdicts where it has some."""
    fields.refuse_unplaced()
    model = fields.text_or("response_model", longest=MODEL_CHARS)
    one, two = (fields.answer(f"response_{side}") for side in "AB")
    label = fields.text("label")
    verdict = _DECISIONS.get(label, Verdict.TIE)
    if fields.has("label") and verdict is Verdict.TIE:
        fields.fault("label", gettext_noop("Expected A>B or B>A"), label)
    session = gold_pair(
        fields.short("source", SCENARIO_CHARS) if fields.has("source") else NAME,
        fields.text("question"),
        (
            ResponseRecord("A", one, model),
            ResponseRecord("B", two, model, variant="B" if one == two else ""),
        ),
        verdict,
        name=fields.short("pair_id", KEY_CHARS - 20),
        extra=fields.kept(*_NOT_KEPT),
    )
    key = session.turns[0].comparisons[0].key
    return recorded(session, _verdicts(fields, key) if fields.has("judge_name") else iter(()))


def _verdicts(fields: Fields, comparison: str) -> Iterator[VerdictRecord]:
    name = fields.short("judge_name", JUDGE_CHARS)
    given = fields.data.get("judgments")
    if not isinstance(given, list) or not 0 < len(given) <= len(_ORDERS):
        fields.fault("judgments", gettext_noop("Expected one or two judgments"), given)
        return
    replies = [told.get("judgment") if isinstance(told, Mapping) else None for told in given]
    models = (reply.get("judge_model") for reply in replies if isinstance(reply, Mapping))
    model = next((each for each in models if isinstance(each, str)), None)
    judge = f"{name} {model}" if model else name
    for place, (order, told) in enumerate(zip(_ORDERS, given, strict=False)):
        at = fields.at(f"judgments[{place}]")
        if told is not None and not isinstance(told, Mapping):
            fields.notes.fault(at, gettext_noop("Expected an object"), told)
            continue
        said = Fields(told or {}, fields.notes, at)
        verdict = _decision(said)
        yield VerdictRecord(
            judge[:JUDGE_CHARS],
            0,
            comparison,
            order,
            verdict.flipped() if verdict and order is Order.SWAPPED else verdict,
            raw=_raw(replies[place]),
        )


def _decision(said: Fields) -> Verdict | None:
    told = said.data.get("decision")
    verdict = _DECISIONS.get(told) if isinstance(told, str) else None
    if told is not None and verdict is None:
        reason = gettext_noop("Expected one of %(words)s")
        said.fault("decision", reason, told, words=", ".join(_DECISIONS))
    return verdict


def _raw(reply: object) -> str:
    """The reply, or all that is told of it."""
    if isinstance(reply, Mapping) and isinstance(reply.get("response"), str):
        return str(reply["response"])
    if reply is None or isinstance(reply, str):
        return reply or ""
    return json.dumps(reply, ensure_ascii=False)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("JudgeBench pairs, with judges’ outputs"),
        line=gettext_noop(
            "Two responses with a gold answer, and a judge’s verdicts in both orders."
        ),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
    ),
)
