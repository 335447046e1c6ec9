"""AlpacaEval's outputs of a model, and annotations: two outputs, and which an annotator prefers.

`preference` is 1 where output 1 is better, 2 where output 2 is, in between by how sure the judge
is (1 + P(output 2 is better)); 1.5 and 0 are ties, null a reply without a verdict. In which order
the outputs were shown the file does not tell: verdicts are combined ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import JUDGE_CHARS, RecordedSession, VerdictRecord, recorded

NAME: Final = "alpaca-eval"
OUTPUTS: Final = "alpaca-eval-outputs"
SCENARIO: Final = "alpaca_eval"
"""Of rows that name no dataset."""

_NEEDS: Final = frozenset({"instruction", "output_1", "output_2", "preference"})
_OUTPUT_NEEDS: Final = frozenset({"instruction", "output", "generator"})


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and row.keys() >= _NEEDS


def looks_like_outputs(row: object) -> bool:
    """Whether a row is one model's output."""
    return isinstance(row, Mapping) and row.keys() >= _OUTPUT_NEEDS


def parse_output(fields: Fields) -> SessionRecord:
    """One model's output as a response in the session of its instruction."""
    fields.refuse_unplaced()
    scenario, instruction = _scenario(fields), fields.text("instruction")
    response = ResponseRecord("0", fields.answer("output"), fields.short("generator", MODEL_CHARS))
    turn = TurnRecord(instruction, (response,))
    return SessionRecord(content_key(scenario, instruction), scenario, (turn,))


def _scenario(fields: Fields) -> str:
    return fields.short("dataset", SCENARIO_CHARS) if fields.has("dataset") else SCENARIO


def parse(fields: Fields) -> RecordedSession:
    """One annotation as a session of one turn, with the annotator's verdict."""
    fields.refuse_unplaced()
    scenario, instruction = _scenario(fields), fields.text("instruction")
    one = ResponseRecord("1", fields.answer("output_1"), _generator(fields, "1"))
    two = ResponseRecord(
        "2",
        fields.answer("output_2"),
        _generator(fields, "2"),
        variant="B" if _says_the_same(fields) else "",
    )
    content = (instruction, one.model, one.text or "", two.model, two.text or "")
    comparison = ComparisonRecord(content_key(*content), a="1", b="2")
    turn = TurnRecord(instruction, (one, two), (comparison,))
    session = SessionRecord(content_key(scenario, instruction), scenario, (turn,))
    return recorded(session, _verdicts(fields, comparison.key))


def _generator(fields: Fields, side: str) -> str:
    return fields.text_or(f"generator_{side}", longest=MODEL_CHARS)


def _says_the_same(fields: Fields) -> bool:
    told = fields.data
    return (told.get("generator_1"), told.get("output_1")) == (
        told.get("generator_2"),
        told.get("output_2"),
    )


def _verdicts(fields: Fields, comparison: str) -> Iterator[VerdictRecord]:
    judge = fields.short("annotator", JUDGE_CHARS)
    verdict, log_odds = _preferred(fields)
    raw = fields.data.get("raw_completion")
    yield VerdictRecord(
        judge,
        0,
        comparison,
        Order.COMBINED,
        verdict,
        raw=raw if isinstance(raw, str) else "" if raw is None else _json(raw),
        log_odds=log_odds,
    )


def _preferred(fields: Fields) -> tuple[Verdict | None, float | None]:
    """The verdict, and log P(1)/P(2) where the preference says how sure it is."""
    told = fields.data.get("preference")
    if told is None:
        return None, None
    try:
        value = float(told) if isinstance(told, str | int | float) else math.nan
    except ValueError:
        value = math.nan
    if isinstance(told, bool) or not (value == 0 or 1 <= value <= 2):
        fields.fault("preference", gettext_noop("Expected 0 or a number from 1 to 2"), told)
        return None, None
    if value in {0, 1.5}:
        return Verdict.TIE, None
    log_odds = math.log((2 - value) / (value - 1)) if 1 < value < 2 else None
    return (Verdict.A if value < 1.5 else Verdict.B), log_odds


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("AlpacaEval annotations"),
        line=gettext_noop(
            "Two outputs for an instruction, with a judge’s preference between them."
        ),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
    ),
    Format(
        name=OUTPUTS,
        title=gettext_noop("AlpacaEval outputs of a model"),
        line=gettext_noop("One model’s outputs, one instruction a row."),
        looks_like=looks_like_outputs,
        needs=_OUTPUT_NEEDS,
        parse=parse_output,
    ),
)
