"""Preference pairs as they are exported: prompt, chosen and rejected, who chose, how surely.

A row is what one person or one judge said of a comparison, or what a judge would have said as
people's labels correct it; that is read as the verdicts of a judge of its own name. `confidence`
is the probability or the share of the ballots for the chosen response; of 1 no log-odds are made.
Where `verdict` does not say which response is A it follows from the contents, so that every row
means the same comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.conversations import Speaker
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import SessionRecord, content_key
from annotation.core.formats.sensejudge import parse_pair
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import JUDGE_CHARS, VerdictRecord, recorded

NAME: Final = "preference-pairs"
MARGIN: Final = "margin"
"""How far the chosen response is ahead, from 0 to 1; a person's label keeps it in `extra`."""
CORRECTED_ENDING: Final = " corrected"
"""Of the name of a judge whose verdicts people's labels corrected."""

_SIDES: Final = ("chosen", "rejected")
_NEEDS: Final = frozenset({*_SIDES, "prompt", "annotator", "source"})
_FLAT: Final = ("scenario", "session", "comparison")


class PairSource(StrEnum):
    """Who chose."""

    HUMAN = "human"
    JUDGE = "judge"
    CORRECTED = "corrected"


def looks_like(row: object) -> bool:
    """Whether a row is a chosen and a rejected response with who chose."""
    return isinstance(row, Mapping) and row.keys() >= _NEEDS


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison, labelled or judged."""
    fields.refuse_unplaced("prompt")
    source = fields.word("source", PairSource, PairSource.HUMAN)
    texts = {side: _text(fields, side) for side in _SIDES}
    chosen_is_a = _chosen_is_a(fields, texts)
    a, b = _SIDES if chosen_is_a else _SIDES[::-1]
    system, dialogue = _prompt(fields)
    verdict = Verdict.A if chosen_is_a else Verdict.B
    pair: dict[str, object] = {
        **{name: fields.data.get(name) for name in _FLAT},
        "system_prompt": system,
        "dialogue": dialogue,
        "text_a": texts[a],
        "text_b": texts[b],
        **{
            f"{what}_{side}": fields.data.get(f"{name}_{what}")
            for side, name in (("a", a), ("b", b))
            for what in ("model", "variant")
        },
    }
    if source is PairSource.HUMAN:
        said = {name: fields.data.get(name) for name in ("annotator", "strength")}
        said["extra"] = {MARGIN: fields.data[MARGIN]} if fields.has(MARGIN) else {}
        return parse_pair(Fields({**pair, **said, "verdict": verdict.value}, fields.notes))
    session = parse_pair(Fields(pair, fields.notes))
    return recorded(session, _verdicts(fields, session, verdict))


def _verdicts(fields: Fields, session: SessionRecord, verdict: Verdict) -> Iterator[VerdictRecord]:
    judge, log_odds = fields.short("annotator", JUDGE_CHARS), _log_odds(fields)
    for place, turn in enumerate(session.turns):
        for comparison in turn.comparisons:
            yield VerdictRecord(
                judge,
                place,
                comparison.key,
                Order.COMBINED,
                verdict,
                log_odds=-log_odds if log_odds and verdict is Verdict.B else log_odds,
            )


def _log_odds(fields: Fields) -> float | None:
    """Of the chosen response; None where the confidence is 1 or nobody told it."""
    told = fields.data.get("confidence")
    if told is None:
        return None
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    if not is_number or not 0 < float(str(told)) <= 1:
        fields.fault("confidence", gettext_noop("Expected a number above 0 and at most 1"), told)
        return None
    chance = float(str(told))
    return None if chance == 1 else math.log(chance / (1 - chance))


def _chosen_is_a(fields: Fields, texts: Mapping[str, str]) -> bool:
    if fields.has("verdict"):
        given = fields.word("verdict", Verdict, Verdict.A)
        if given is Verdict.TIE:
            fields.fault("verdict", gettext_noop("Expected A or B"), given)
        return given is not Verdict.B
    one, other = (
        content_key(str(fields.data.get(f"{side}_model") or ""), texts[side]) for side in _SIDES
    )
    return one < other


def _prompt(fields: Fields) -> tuple[str, list[Mapping[str, object]]]:
    """The system prompt and the messages after it; a plain text is a user's."""
    if not isinstance(fields.data.get("prompt"), list):
        return "", [{"role": Speaker.USER.value, "content": fields.text("prompt")}]
    messages = [each.data for each in fields.items("prompt")]
    if messages and messages[0].get("role") == Speaker.SYSTEM.value:
        return str(messages[0].get("content") or ""), messages[1:]
    return "", messages


def _text(fields: Fields, side: str) -> str:
    """A response: a text, or a list of one message."""
    if not isinstance(fields.data.get(side), list):
        return fields.text(side)
    messages = fields.items(side)
    if len(messages) != 1:
        fields.fault(side, gettext_noop("Expected exactly one message"), fields.data.get(side))
    return "".join(message.text("content") for message in messages[:1])


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Preference pairs: chosen, rejected and who chose"),
        line=gettext_noop(
            "Chosen and rejected responses with who chose: a person or a judge, as "
            "SenseJudge exports them."
        ),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
    ),
)
