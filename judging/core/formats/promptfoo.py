"""Results of promptfoo: a row is one provider's answer to one test of one prompt.

A results file has the rows in `results.results`, one of JSON lines has one a line. The answers of
all providers to a test and prompt share a turn. What promptfoo's assertions say is a grade of a
recorded judge, its score from 0 to 1 taken to 1 to 10; where a person rated in its viewer, which
overrides them, it is the rating of an annotator, good 5 and bad 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from annotation.core.choices import Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import (
    SpokenMessage,
    are_messages,
    open_turn,
    read_messages,
    without_system,
)
from annotation.core.formats.chosen import media_of, one_system, rest_of, steps_of, with_media
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import decoded
from annotation.core.formats.records import (
    LabelDetails,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import RecordedSession, ScoreRecord, recorded

NAME: Final = "promptfoo"
SCENARIO: Final = "promptfoo"
JUDGE: Final = "promptfoo"
HUMAN: Final = "human"
"""The annotator that the viewer's ratings have; promptfoo does not say who rated."""

_KNOWN: Final = ("prompt", "provider", "response", "error")
_BEST: Final = 5
_FINE: Final = 3
"""A rating up to this one has a reason."""


def looks_like(row: object) -> bool:
    """Whether a row is a result of promptfoo."""
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("prompt"), Mapping)
        and "raw" in row["prompt"]
        and "provider" in row
        and not {"response", "error", "success"}.isdisjoint(row)
        and not {"testCase", "testIdx", "vars"}.isdisjoint(row)
    )


def parse(fields: Fields) -> RecordedSession:
    """One result as a session with one response to the test's prompt."""
    messages = _prompt(fields)
    told, said = without_system(fields, "prompt", messages)
    system = one_system(fields, {"prompt": told} if told else {})
    before, message = open_turn(with_media(fields, said))
    response = _response(fields)
    ratings, scores = _grades(fields, len(before), response)
    response = replace(response, satisfaction=ratings)
    case = Fields(fields.mapping("testCase"), fields.notes, "testCase")
    scenario = case.text_or("description", longest=SCENARIO_CHARS) or SCENARIO
    # A test that is repeated has the same prompt and another number.
    key = content_key(system, *steps_of(said), str(fields.data.get("testIdx", "")))
    turn = TurnRecord(message, (response,))
    session = SessionRecord(key, scenario, (*before, turn), system_prompt=system)
    return recorded(session, iter(()), scores)


def _prompt(fields: Fields) -> list[SpokenMessage]:
    """The rendered prompt: a text, or messages as JSON."""
    prompt = Fields(fields.mapping("prompt"), fields.notes, "prompt")
    raw = prompt.data.get("raw")
    found = decoded(fields.notes.line, raw) if isinstance(raw, str) else None
    value = raw if found is None or found.fault else found.value
    if are_messages(value):
        return read_messages(Fields({"raw": value}, fields.notes, "prompt"), "raw")
    return [SpokenMessage(Speaker.USER, prompt.text("raw"))]


def _response(fields: Fields) -> ResponseRecord:
    given = fields.data.get("provider")
    provider = Fields(given if isinstance(given, dict) else {"id": given}, fields.notes, "provider")
    model = provider.text_or("label", longest=MODEL_CHARS) or provider.short("id", MODEL_CHARS)
    answer = Fields(fields.mapping("response"), fields.notes, "response")
    output = answer.data.get("output")
    is_text = isinstance(output, str | int | float | None)
    text = answer.text_or("output") if is_text else json.dumps(output, ensure_ascii=False)
    has_failed = output is None or (not output and bool(fields.data.get("error")))
    extra = rest_of(fields, *_KNOWN) | media_of(fields)
    beside = {
        "provider": provider.kept("label"),
        "prompt": Fields(fields.mapping("prompt"), fields.notes, "prompt").kept("raw"),
        "response": answer.kept("output"),
        "error": fields.data.get("error"),
    }
    extra |= {name: value for name, value in beside.items() if value}
    return ResponseRecord("0", None if has_failed else text, model, extra=extra)


def _grades(
    fields: Fields, turn: int, response: ResponseRecord
) -> tuple[tuple[SatisfactionRecord, ...], tuple[ScoreRecord, ...]]:
    """What a person said of the response, or else what the assertions did."""
    result = Fields(fields.mapping("gradingResult"), fields.notes, "gradingResult")
    parts = result.items("componentResults")
    for part in parts:
        assertion = part.data.get("assertion")
        if isinstance(assertion, Mapping) and assertion.get("type") == HUMAN:
            comment = part.text_or("comment") or result.text_or("comment")
            return (_rating(part, comment),), ()
    score = _share(result)
    if response.text is None or score is None or not parts:
        return (), ()
    value = round(1 + 9 * score, 2)
    return (), (ScoreRecord(JUDGE, turn, response.model, value, result.text_or("reason")),)


def _rating(part: Fields, comment: str) -> SatisfactionRecord:
    share = _share(part)
    if share is None:
        share = float(part.flag("pass"))
    score = 1 + round((_BEST - 1) * share)
    reason = Reason.NOT_RECORDED if score <= _FINE else None
    return SatisfactionRecord(LabelDetails(HUMAN, comment=comment), score, reason)


def _share(fields: Fields) -> float | None:
    """A score from 0 to 1; None where it is none."""
    value = fields.data.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("promptfoo: results"),
        line=gettext_noop(
            "Answers of providers to the tests of an evaluation, with its scores and people’s "
            "ratings."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
