"""PRISM: conversations in which people scored the replies of several models and chose one.

The user is the annotator. Of every two replies to a message the one with the higher score, from 1
to 100, is better; equal ones tie. The chosen reply is the original that the next message answers.
`conversations.jsonl` has a conversation a row, `utterances.jsonl` a reply a row: both say the same.
The survey holds people without conversations, and is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from annotation.core.formats.compared import ranked_comparisons
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.grouped import JsonObject, read_grouped, rows_of
from annotation.core.formats.reading import RawRow
from annotation.core.formats.records import (
    Extra,
    Fault,
    LabelDetails,
    QuestionnaireRecord,
    ResponseRecord,
    Row,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop

CONVERSATIONS: Final = "prism-conversations"
UTTERANCES: Final = "prism-utterances"
SCENARIO: Final = "prism"

_EMPTY: Final = "EMPTY STRING"
"""What stands where a model gave no reply."""
_MOST_TURNS: Final = 1000
_SURVEY: Final = gettext_noop(
    "This is the survey of PRISM: it says who the people are and holds no conversation. Import "
    "conversations.jsonl or utterances.jsonl"
)
_OF_SURVEY: Final = frozenset({"user_id", "survey_only", "lm_familiarity"})
_ATTRIBUTES: Final = ("performance_attributes", "choice_attributes")
_OF_CONVERSATION: Final = (
    "conversation_id",
    "user_id",
    "conversation_type",
    "conversation_history",
    "open_feedback",
    *_ATTRIBUTES,
)
_OF_REPLY: Final = ("turn", "role", "content", "model_name", "if_chosen")
_OF_UTTERANCE: Final = (
    "conversation_id",
    "user_id",
    "conversation_type",
    "included_in_balanced_subset",
    "turn",
    "user_prompt",
    "model_response",
    "model_name",
    "if_chosen",
)


class _Reply(NamedTuple):
    """One model's reply as a file tells it."""

    text: str | None
    model: str
    score: int
    is_chosen: bool
    extra: Extra


class _Exchange(NamedTuple):
    """A message of the user, and the replies to it."""

    message: str | None
    replies: list[_Reply]


def looks_like_conversations(row: object) -> bool:
    """Whether a row is a conversation of PRISM, or a person of its survey."""
    if not isinstance(row, Mapping):
        return False
    return {"conversation_id", "conversation_history"} <= row.keys() or row.keys() >= _OF_SURVEY


def looks_like_utterances(row: object) -> bool:
    """Whether a row is one reply of PRISM."""
    return (
        isinstance(row, Mapping)
        and {"utterance_id", "conversation_id", "model_response", "if_chosen"} <= row.keys()
    )


def parse_conversation(fields: Fields) -> SessionRecord:
    """One conversation with everything that its user said of it."""
    fields.refuse_unplaced()
    if fields.data.keys() >= _OF_SURVEY:
        fields.fault("", _SURVEY)
        return SessionRecord("", SCENARIO, ())
    exchanges: dict[int, _Exchange] = {}
    for item in fields.items("conversation_history"):
        item.refuse_unplaced()
        turn, role = item.whole("turn", 0, _MOST_TURNS), item.text("role")
        if role == "user":
            known = exchanges.get(turn)
            exchanges[turn] = _Exchange(item.text("content"), known.replies if known else [])
            told = item.kept(*_OF_REPLY).items()
            if more := {name: value for name, value in told if value is not None}:
                item.notes.keep(item.path, more)
        elif role == "model":
            exchange = exchanges.setdefault(turn, _Exchange(None, []))
            exchange.replies.append(_reply(item, "content", item.kept(*_OF_REPLY)))
        else:
            reason = gettext_noop("Expected one of %(words)s")
            item.fault("role", reason, role, words="user, model")
    return _session(fields, exchanges, fields.kept(*_OF_CONVERSATION), _answers(fields))


def parse_utterances(fields: Fields) -> SessionRecord:
    """The replies of one conversation."""
    rows = rows_of(fields)
    exchanges: dict[int, _Exchange] = {}
    for row in rows:
        row.refuse_unplaced()
        turn = row.whole("turn", 0, _MOST_TURNS)
        exchange = exchanges.setdefault(turn, _Exchange(row.text("user_prompt"), []))
        exchange.replies.append(_reply(row, "model_response", row.kept(*_OF_UTTERANCE)))
    name = "included_in_balanced_subset"
    extra = {name: rows[0].data[name]} if rows[0].has(name) else {}
    rows[0].notes.kept += extra
    return _session(rows[0], exchanges, extra, ())


def _reply(fields: Fields, name: str, extra: Extra) -> _Reply:
    text = fields.answer(name)
    return _Reply(
        None if text == _EMPTY else text,
        fields.short("model_name", MODEL_CHARS),
        fields.whole("score", 1, 100),
        fields.flag("if_chosen"),
        extra,
    )


def _session(
    fields: Fields,
    exchanges: Mapping[int, _Exchange],
    extra: Extra,
    answers: Sequence[Extra],
) -> SessionRecord:
    user = fields.annotator("user_id")
    if sorted(exchanges) != list(range(len(exchanges))):
        reason = gettext_noop("A turn is missing; turns are counted from 0, and their rows adjoin")
        fields.fault("turn", reason, sorted(exchanges)[0])
    ordered = [exchanges[turn] for turn in sorted(exchanges)]
    return SessionRecord(
        fields.short("conversation_id", KEY_CHARS),
        fields.text_or("conversation_type", longest=SCENARIO_CHARS) or SCENARIO,
        tuple(
            _turn(each, ordered[place + 1 : place + 2], user) for place, each in enumerate(ordered)
        ),
        user=user,
        extra=extra,
        questionnaires=(QuestionnaireRecord(user, tuple(answers)),) if answers else (),
    )


def _turn(exchange: _Exchange, following: Sequence[_Exchange], user: str) -> TurnRecord:
    original = _original(exchange, following)
    times = Counter(each.model for each in exchange.replies)
    seen: Counter[str] = Counter()
    responses = []
    for place, each in enumerate(exchange.replies):
        variant = chr(ord("A") + seen[each.model]) if times[each.model] > 1 else ""
        seen[each.model] += 1
        is_original = place == original
        response = ResponseRecord(
            str(place), each.text, each.model, is_original, variant=variant, extra=each.extra
        )
        responses.append(response)
    scores = {str(place): float(each.score) for place, each in enumerate(exchange.replies)}
    pairs = ranked_comparisons(exchange.message, responses, scores, details=LabelDetails(user))
    return TurnRecord(exchange.message, tuple(responses), tuple(pairs))


def _original(exchange: _Exchange, following: Sequence[_Exchange]) -> int | None:
    """The place of the chosen reply: of several equal ones that of the model that goes on."""
    chosen = [place for place, each in enumerate(exchange.replies) if each.is_chosen]
    models = {each.model for other in following for each in other.replies}
    going_on = [place for place in chosen if exchange.replies[place].model in models]
    return next(iter((*going_on, *chosen)), None)


def _answers(fields: Fields) -> tuple[Extra, ...]:
    """What the user said of the whole conversation, as answers to questions."""
    told = [
        (f"{name}: {attribute}", value)
        for name in _ATTRIBUTES
        for attribute, value in fields.mapping(name).items()
    ]
    told.append(("open_feedback", fields.text_or("open_feedback")))
    return tuple(
        {"query": query, "option": str(value)} for query, value in told if value not in (None, "")
    )


def _told_once(_path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, or one fault for a survey as a whole."""
    for row in rows:
        if any(fault.text == _SURVEY for fault in row.faults):
            yield Row(row.line, None, (Fault(0, "", _SURVEY),))
            return
        yield row


def _same_conversation(rows: Sequence[JsonObject], row: JsonObject) -> bool:
    return rows[-1].get("conversation_id") == row.get("conversation_id")


def _read_utterances(path: Path) -> Iterator[RawRow]:
    return read_grouped(path, _same_conversation)


FORMATS: Final = (
    Format(
        name=CONVERSATIONS,
        title=gettext_noop("PRISM conversations"),
        line=gettext_noop(
            "People’s conversations with several models at once, each reply scored from 1 to 100."
        ),
        looks_like=looks_like_conversations,
        parse=parse_conversation,
        checked=_told_once,
    ),
    Format(
        name=UTTERANCES,
        title=gettext_noop("PRISM utterances"),
        line=gettext_noop("PRISM’s replies, one a row; the rows of a conversation adjoin."),
        looks_like=looks_like_utterances,
        parse=parse_utterances,
        read_file=_read_utterances,
    ),
)
