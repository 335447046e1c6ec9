"""Nectar: seven answers to a prompt, ranked by GPT-4, a recorded judge.

A prompt is a dialogue written as `Human:` and `Assistant:` after an empty line, and ends on the
latter. Rank 1 is the best: of every two answers the one with the lower rank is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, open_turn
from annotation.core.formats.compared import paired, told_apart
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.hh_rlhf import spoken_in
from annotation.core.formats.records import (
    ComparisonRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import RecordedSession, VerdictRecord, recorded

NAME: Final = "nectar"
JUDGE: Final = "gpt-4"

_TOLD: Final = ("prompt", "answers")
_WORST: Final = 100


def looks_like(row: object) -> bool:
    """Whether a row has a prompt, and answers that are ranked."""
    if not isinstance(row, Mapping) or not set(_TOLD) <= row.keys():
        return False
    answers = row["answers"]
    first = answers[0] if isinstance(answers, list) and answers else None
    return isinstance(first, Mapping) and {"answer", "rank"} <= first.keys()


def parse(fields: Fields) -> RecordedSession:
    """One row as a session whose last turn has all answers, every two of them compared."""
    is_number = isinstance(fields.data.get("turns"), int | float)
    fields.refuse_unplaced(*_TOLD, *(["turns"] if is_number else []))
    messages = _messages(fields.text("prompt"))
    turns, message = open_turn(messages)
    responses, ranks = [], {}
    for place, item in enumerate(fields.items("answers")):
        item.refuse_unplaced()
        model = item.text_or("model", longest=MODEL_CHARS)
        text, extra = item.answer("answer"), item.kept("answer", "model")
        responses.append(ResponseRecord(str(place), text, model, extra=extra))
        if item.has("rank"):
            ranks[str(place)] = item.whole("rank", 0, _WORST)
    apart = told_apart(responses)
    ranked = tuple(paired(message, [each for each in apart if each.key in ranks]))
    scenario, extra = _scenario(fields), fields.kept(*_TOLD)
    session = SessionRecord(
        content_key(scenario, *(f"{each.role}:{each.text}" for each in messages)),
        scenario,
        (*turns, TurnRecord(message, apart, ranked)),
        extra=extra,
    )
    return recorded(session, _verdicts(ranked, ranks, len(turns)))


def _messages(prompt: str) -> list[SpokenMessage]:
    """The messages of a prompt, without the empty one that the answers go on with."""
    said = spoken_in(prompt) or [SpokenMessage(Speaker.USER, prompt)]
    is_open = said[-1].role is Speaker.ASSISTANT and not said[-1].text.strip()
    return said[:-1] if is_open else said


def _scenario(fields: Fields) -> str:
    """The first source of a row; the list is kept whole."""
    given = fields.data.get("source")
    first = given[0] if isinstance(given, list) and given else given
    return first[:SCENARIO_CHARS] if isinstance(first, str) and first.strip() else NAME


def _verdicts(
    pairs: Sequence[ComparisonRecord], ranks: Mapping[str, int], turn: int
) -> Iterator[VerdictRecord]:
    for pair in pairs:
        gain = ranks[pair.b] - ranks[pair.a]
        verdict = Verdict.TIE if gain == 0 else Verdict.A if gain > 0 else Verdict.B
        yield VerdictRecord(JUDGE, turn, pair.key, Order.COMBINED, verdict)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Nectar"),
        line=gettext_noop("Seven answers to each prompt, ranked by GPT-4."),
        looks_like=looks_like,
        parse=parse,
    ),
)
