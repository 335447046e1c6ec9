"""UltraFeedback in full: four models' completions of an instruction, graded by GPT-4.

GPT-4 is a recorded judge: its `overall_score`, from 1 to 10, is a grade, the critique what it said.
Of the grades of two completions follows its verdict, a tie where they are equal. Its ratings of
single aspects ("1" to "5" or "N/A"), and the system prompt that a completion alone had, are kept
with the response.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from annotation.core.formats.compared import paired
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import UNPARSEABLE, RecordedSession, ScoreRecord, recorded

NAME: Final = "ultrafeedback"
JUDGE: Final = "gpt-4"

_TOLD: Final = ("instruction", "completions", "source", "models")
_OF_COMPLETION: Final = ("response", "model", "overall_score", "critique")
_LOWEST: Final = 1
_HIGHEST: Final = 10


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and {"instruction", "models", "completions"} <= row.keys()


def parse(fields: Fields) -> RecordedSession:
    """One row as a session of one turn with a grade of each completion."""
    fields.refuse_unplaced(*_TOLD)
    scenario = fields.text_or("source", longest=SCENARIO_CHARS) or NAME
    message = fields.text("instruction")
    responses: dict[str, ResponseRecord] = {}
    scores = []
    for place, item in enumerate(fields.items("completions")):
        item.refuse_unplaced()
        model = item.short("model", MODEL_CHARS)
        if model in responses:
            item.fault("model", gettext_noop("This model has another response already"), model)
        text, extra = item.answer("response"), item.kept(*_OF_COMPLETION)
        responses[model] = ResponseRecord(str(place), text, model, extra=extra)
        value, critique = _score(item), item.text_or("critique")
        code = UNPARSEABLE if value is None else ""
        scores.append(ScoreRecord(JUDGE, 0, model, value, critique, code))
    found = tuple(responses.values())
    turn = TurnRecord(message, found, tuple(paired(message, found)))
    same_models = fields.data.get("models") == list(responses)
    session = SessionRecord(
        content_key(scenario, message),
        scenario,
        (turn,),
        extra=fields.kept(*_TOLD if same_models else _TOLD[:-1]),
    )
    return recorded(session, iter(()), tuple(scores))


def _score(item: Fields) -> float | None:
    """A grade; None where there is none, also "N/A"."""
    told = item.data.get("overall_score")
    if told in (None, "", "N/A"):
        return None
    try:
        value = math.nan if isinstance(told, bool) else float(str(told))
    except ValueError:
        value = math.nan
    if not _LOWEST <= value <= _HIGHEST:
        reason = gettext_noop("Must be between %(low)d and %(high)d")
        item.fault("overall_score", reason, told, low=_LOWEST, high=_HIGHEST)
    return value


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("UltraFeedback, full"),
        line=gettext_noop(
            "Four models’ completions of an instruction with GPT-4’s grades and critiques."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
