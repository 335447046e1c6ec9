"""Battles of Chatbot Arena: votes on two models, `model_a` shown on the left.

Its releases share `model_a, model_b, winner`; most without texts have `tstamp` and `anony`, the 33k
and 100k whole conversations, the 140k and expert votes contents in parts and, in
`full_conversation`, what was said before the battle began, PPE one prompt with two responses.
The Kaggle competition's table (55k) has a column of 0 and 1 for each outcome, and lists of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from annotation.core.choices import Order, Verdict
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, read_message, read_messages, spoken
from annotation.core.formats.chat_logs import language_code
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.printed import read_printed
from annotation.core.formats.published import headers_of, named_rows
from annotation.core.formats.reading import RawRow, open_text, read_rows
from annotation.core.formats.records import (
    ComparisonRecord,
    Extra,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.battles import BOTH_BAD, WINNERS

BATTLES: Final = "arena-battles"
KAGGLE: Final = "arena-kaggle"

SCENARIO: Final = "arena"
VOTER: Final = "arena"
"""Whose votes they are where a battle names nobody."""

_NAMES: Final = ("model_a", "model_b", "winner")
_OF_ARENA: Final = frozenset({"anony", "tstamp", "conv_metadata", "evaluation_order"})
_CONVERSATIONS: Final = ("conversation_a", "conversation_b", "full_conversation")
_RESPONSES: Final = ("prompt", "response_1", "response_2")
_NOT_KEPT: Final = (
    *_NAMES,
    *_CONVERSATIONS,
    "judge",
    "judge_hash",
    "turn",
    "tstamp",
    "timestamp",
    "question_id",
    "id",
)
_COUNTED: Final = ("num_tokens",)
"""What a message counts of its own text."""
_OUTCOMES: Final[Mapping[str, Verdict]] = {
    "winner_model_a": Verdict.A,
    "winner_model_b": Verdict.B,
    "winner_tie": Verdict.TIE,
}
_OF_KAGGLE: Final = ("id", "model_a", "model_b", "prompt", "response_a", "response_b", *_OUTCOMES)
_CODE_CHARS: Final = 2
_APART: Final = gettext_noop("The two conversations have different user messages")


class _Answer(NamedTuple):
    """A response as a file has it; None is a text that is not available."""

    text: str | None
    extra: Extra | None = None


_Earlier = tuple[str | None, tuple[_Answer | None, _Answer | None]]
"""A request before the battle, and what was answered on either side by models not named."""


def looks_like_battles(row: object) -> bool:
    """Whether a row is a vote of the arena, and none on a question of MT-Bench."""
    return isinstance(row, Mapping) and set(_NAMES) <= row.keys() and bool(_OF_ARENA & row.keys())


def looks_like_kaggle(row: object) -> bool:
    """Whether a row is one of the Kaggle competition's table."""
    return isinstance(row, Mapping) and set(_OF_KAGGLE) <= row.keys()


def knows_kaggle(first_line: str) -> bool:
    """Whether the first line of a file is the header of the Kaggle competition's table."""
    return set(_OF_KAGGLE) <= headers_of(first_line)


def read_kaggle(path: Path) -> Iterator[RawRow]:
    """The rows of the Kaggle competition's file, a table or JSON.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    with open_text(path) as stream:
        is_json = stream.readline().lstrip().startswith(("{", "["))
    return read_rows(path) if is_json else named_rows(path)


def parse_battle(fields: Fields) -> SessionRecord:
    """One battle as a session of its own, with the vote as a label."""
    models = [fields.short(name, MODEL_CHARS) for name in _NAMES[:2]]
    word = fields.text("winner")
    if fields.has("winner") and word not in WINNERS:
        reason = gettext_noop("Expected one of %(words)s")
        fields.fault("winner", reason, word, words=", ".join(WINNERS))
    details = LabelDetails(_voter(fields), given_at=_time(fields))
    has_responses = fields.has("response_1") and not fields.has("conversation_a")
    texts = _RESPONSES if has_responses else ()
    fields.refuse_unplaced(*texts)
    told = {side: _conversation(fields, side) for side in "ab"}
    system = _system_prompt(fields, told)
    _refuse_apart(fields, told)
    asked = _asked(fields, told)
    answers = [
        [_Answer(each.answer, each.extra) for each in told[side] if each.role is Speaker.ASSISTANT]
        or [_Answer(None)]
        for side in "ab"
    ]
    last = min(map(len, answers))
    label = PairwiseRecord(
        details,
        WINNERS.get(word, Verdict.TIE),
        both_bad=word in BOTH_BAD,
        shown_order=Order.ORIGINAL,
    )
    comparison = ComparisonRecord(
        key="battle",
        a="a",
        b="b",
        extra=fields.kept(*_NOT_KEPT, *texts) | _turn(fields, last),
        labels=(label,),
    )
    return SessionRecord(
        key=_battle_key(fields, models, details),
        scenario=SCENARIO,
        turns=tuple(_turns(models, asked, answers, comparison, _earlier(fields, len(asked)))),
        system_prompt=system,
        language=_language(fields),
    )


def parse_kaggle(fields: Fields) -> SessionRecord:
    """One row of the Kaggle competition's table as a battle."""
    fields.refuse_unplaced("prompt")
    models = [fields.short(name, MODEL_CHARS) for name in _NAMES[:2]]
    given = {name: _list_of_texts(fields, name) for name in ("prompt", "response_a", "response_b")}
    asked = given.pop("prompt")
    for name, texts in given.items():
        if len(texts) != len(asked):
            reason = gettext_noop("Expected as many texts as in prompt")
            fields.fault(name, reason, fields.data.get(name))
    outcomes = {name: fields.whole(name, 0, 1) for name in _OUTCOMES}
    won = [name for name, value in outcomes.items() if value]
    if len(won) != 1:
        reason = gettext_noop("Expected 1 in one of winner_model_a, winner_model_b and winner_tie")
        fields.fault("winner_model_a", reason, ", ".join(map(str, outcomes.values())))
    verdict = _OUTCOMES[won[0]] if won else Verdict.TIE
    label = PairwiseRecord(LabelDetails(VOTER), verdict, shown_order=Order.ORIGINAL)
    extra = fields.kept(*_OF_KAGGLE)
    comparison = ComparisonRecord(key="battle", a="a", b="b", extra=extra, labels=(label,))
    answers = [[_Answer(text) for text in texts] for texts in given.values()]
    turns = _turns(models, asked, answers, comparison)
    return SessionRecord(fields.short("id", KEY_CHARS), SCENARIO, tuple(turns))


def _list_of_texts(fields: Fields, name: str) -> list[str | None]:
    """A list of texts, as such or as JSON; null is a text that is not available."""
    given = read_printed(fields, name)
    if not isinstance(given, list) or not given:
        if given is not None or not fields.has(name):
            fields.fault(name, gettext_noop("Expected a list of strings"), given)
        return [None]
    return [
        fields.notes.answer(each, f"{fields.at(name)}[{place}]") for place, each in enumerate(given)
    ]


def _turns(
    models: Sequence[str],
    asked: Sequence[str | None],
    answers: Sequence[Sequence[_Answer]],
    comparison: ComparisonRecord,
    earlier: Sequence[_Earlier] = (),
) -> Iterator[TurnRecord]:
    """The turns of a battle, each side following its own; the comparison is on the last."""
    for place, (message, pair) in enumerate(earlier):
        yield TurnRecord(
            message,
            tuple(
                _side(key, "", answer, place)
                for key, answer in zip("ab", pair, strict=True)
                if answer is not None
            ),
        )
    last = min(map(len, answers))
    for place in range(last):
        yield TurnRecord(
            asked[place] if place < len(asked) else None,
            tuple(
                _side(key, model, given[place], place + len(earlier))
                for key, model, given in zip("ab", models, answers, strict=True)
            ),
            (comparison,) if place == last - 1 else (),
        )


def _side(key: str, model: str, answer: _Answer, place: int) -> ResponseRecord:
    """A response by its side, so that a model can fight itself."""
    return ResponseRecord(
        key,
        answer.text,
        model,
        continues=key if place else None,
        variant="" if key == "a" else "B",
        extra=answer.extra or {},
    )


def _voter(fields: Fields) -> str:
    named = next((each for each in ("judge", "judge_hash") if fields.data.get(each)), None)
    return fields.annotator(named) if named else VOTER


def _conversation(fields: Fields, side: str) -> list[SpokenMessage]:
    """The messages of one side: of its conversation, of PPE's prompt and response, or none."""
    name = f"conversation_{side}"
    if fields.has(name):
        held = Fields({name: read_printed(fields, name)}, fields.notes, fields.path)
        return read_messages(held, name, drop=_COUNTED)
    response = f"response_{'ab'.index(side) + 1}"
    if not fields.has(response):
        return []
    return [
        spoken(fields, "prompt", Speaker.USER),
        spoken(fields, response, Speaker.ASSISTANT),
    ]


def _earlier(fields: Fields, asked: int) -> list[_Earlier]:
    """What was said before the battle: `full_conversation` without as many turns as it has."""
    name = "full_conversation"
    held = Fields({name: read_printed(fields, name)}, fields.notes, fields.path)
    items = held.items(name)
    return [
        (
            _text_of(each, "user"),
            (_answer(each, "model_side_a"), _answer(each, "model_side_b")),
        )
        for each in items[: max(len(items) - asked, 0)]
    ]


def _answer(turn: Fields, name: str) -> _Answer | None:
    text = _text_of(turn, name)
    return None if text is None else _Answer(text)


def _text_of(turn: Fields, name: str) -> str | None:
    """The text of one message; None where it is not there."""
    messages = read_message(turn, name) if turn.has(name) else []
    texts = [each.text for each in messages if each.is_available]
    return "\n\n".join(texts) if texts else None


def _system_prompt(fields: Fields, told: Mapping[str, list[SpokenMessage]]) -> str:
    """The first message of both conversations if it is the system's; taken from them."""
    found = {
        side: messages.pop(0).text if messages and messages[0].role is Speaker.SYSTEM else ""
        for side, messages in told.items()
    }
    if found["a"] != found["b"]:
        reason = gettext_noop("Differs from the other system prompt of this row")
        fields.fault("conversation_b", reason, found["b"] or found["a"])
    return found["a"]


def _refuse_apart(fields: Fields, told: Mapping[str, list[SpokenMessage]]) -> None:
    """A fault for conversations of which a comparison would show a part alone."""
    for side, messages in told.items():
        roles = [message.role for message in messages]
        if roles != [Speaker.USER, Speaker.ASSISTANT] * (len(roles) // 2):
            reason = gettext_noop("Expected user and assistant messages in turns, the user first")
            fields.fault(f"conversation_{side}", reason, ", ".join(roles))


def _asked(fields: Fields, told: Mapping[str, list[SpokenMessage]]) -> list[str]:
    """The user's messages, which both sides have; of one in parts the side that has more."""
    one, other = ([each.text for each in told[side] if each.role is Speaker.USER] for side in "ab")
    pairs = [sorted(pair, key=len) for pair in zip(one, other, strict=False)]
    begins = (short == long or long.startswith(f"{short}\n\n") for short, long in pairs)
    if len(one) != len(other) or not all(begins):
        fields.fault("conversation_b", _APART, other)
    return [long for _short, long in pairs]


def _turn(fields: Fields, last: int) -> dict[str, object]:
    """In which turn it was, where the texts do not say so."""
    told = fields.data.get("turn")
    return {} if told is None or told == last else {"turn": told}


def _language(fields: Fields) -> str:
    """The code of a language that is told by its code, or by a name that is known."""
    told = fields.data.get("language")
    if not isinstance(told, str):
        return ""
    code = language_code(told.strip()).lower()
    return code if len(code) == _CODE_CHARS and code.isalpha() else ""


def _battle_key(fields: Fields, models: list[str], details: LabelDetails) -> str:
    """Its id, or all that tells it from other battles but its outcome."""
    named = next((each for each in ("question_id", "id") if fields.has(each)), None)
    if named:
        return fields.short(named, KEY_CHARS)
    if not fields.has("tstamp"):
        fields.fault("tstamp", gettext_noop("Needs question_id or tstamp to tell battles apart"))
    told = (fields.data.get(name) for name in ("tstamp", "turn", "language", "conv_metadata"))
    return content_key(*models, details.annotator, *(json.dumps(each) for each in told))


def _time(fields: Fields) -> datetime | None:
    """When it was: of seconds since 1970, or ISO 8601 that is in UTC unless it has a zone."""
    told = fields.data.get("tstamp")
    if told is None:
        return fields.utc_moment("timestamp")
    try:
        return datetime.fromtimestamp(float(str(told)), UTC)
    except (ValueError, OverflowError, OSError):
        fields.fault("tstamp", gettext_noop("Expected a number of seconds"), told)
        return None


FORMATS: Final = (
    Format(
        name=BATTLES,
        title=gettext_noop("Arena battles"),
        line=gettext_noop(
            "Votes between two models, mostly without texts: enough for leaderboards."
        ),
        looks_like=looks_like_battles,
        parse=parse_battle,
    ),
    Format(
        name=KAGGLE,
        title=gettext_noop("Arena battles of the Kaggle competition (55k)"),
        line=gettext_noop(
            "A table of two models’ responses to one or more prompts, with the voter’s choice."
        ),
        looks_like=looks_like_kaggle,
        parse=parse_kaggle,
        knows_text=knows_kaggle,
        read_file=read_kaggle,
    ),
)
