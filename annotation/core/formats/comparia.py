"""compar:IA: a user's conversations with two models at once, with a vote or with reactions.

A vote says which model was better over the whole conversation, or that both were equal; it is on
the last turn. A reaction says of one reply that the user liked or disliked it. Both name the pair
of conversations, so that a file of votes and one of reactions share their sessions. Model A was
shown on the left. Times have no zone, and are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Order, Reason, Verdict
from annotation.core.formats.chat import read_messages, turns_of, without_system
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import decoded
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop

VOTES: Final = "comparia-votes"
REACTIONS: Final = "comparia-reactions"
SCENARIO: Final = "comparia"
NOBODY: Final = "comparia"
"""The annotator of a row that names neither a visitor nor a session."""

_PAIR: Final = (
    "conversation_pair_id",
    "model_a_name",
    "model_b_name",
    "conversation_a",
    "conversation_b",
    "system_prompt_a",
    "system_prompt_b",
    "visitor_id",
)
_REDUNDANT: Final = ("model_pair_name", "opening_msg", "conv_turns")
"""Fields that repeat what the conversations hold."""
_OF_VOTE: Final = (*_PAIR, *_REDUNDANT, "chosen_model_name", "both_equal")
_COMMENTS: Final = ("conv_comments_a", "conv_comments_b")
_OF_REACTION: Final = (
    *_PAIR,
    *_REDUNDANT,
    "system_prompt",
    "refers_to_model",
    "model_pos",
    "msg_index",
    "msg_rank",
    "question_content",
    "response_content",
    "liked",
    "disliked",
    "comment",
)
_SIDES: Final = ("a", "b")
_LIKED: Final = 5
_DISLIKED: Final = 1
_MOST_TURNS: Final = 1000


def looks_like_votes(row: object) -> bool:
    """Whether a row is a vote on two conversations."""
    return (
        isinstance(row, Mapping)
        and {"conversation_pair_id", "chosen_model_name", "both_equal"} <= row.keys()
    )


def looks_like_reactions(row: object) -> bool:
    """Whether a row is a reaction to one reply."""
    return (
        isinstance(row, Mapping)
        and {"conversation_pair_id", "refers_to_model", "liked", "disliked"} <= row.keys()
    )


def parse_vote(fields: Fields) -> SessionRecord:
    """One vote as a session with both conversations, compared at the last turn."""
    fields.refuse_unplaced()
    system, turns = _turns(fields)
    known = (*_OF_VOTE, *_COMMENTS)
    chosen = fields.text_or("chosen_model_name")
    models = [fields.data.get(f"model_{side}_name") for side in _SIDES]
    verdict = Verdict.TIE if fields.flag("both_equal") else None
    if chosen and chosen in models:
        verdict = (Verdict.A, Verdict.B)[models.index(chosen)]
    elif chosen:
        fields.fault("chosen_model_name", gettext_noop("Neither of the two models"), chosen)
    details = LabelDetails(_visitor(fields), comment=_comment(fields), extra=fields.kept(*known))
    labels = [PairwiseRecord(details, verdict, shown_order=Order.ORIGINAL)] if verdict else []
    comparison = ComparisonRecord(
        "vote", *_SIDES, extra={} if labels else details.extra, labels=tuple(labels)
    )
    if turns:
        turns[-1] = replace(turns[-1], comparisons=(comparison,))
    return _session(fields, system, turns)


def parse_reaction(fields: Fields) -> SessionRecord:
    """One reaction as a session with both conversations, the reply rated."""
    fields.refuse_unplaced("system_prompt")
    system, turns = _turns(fields)
    side = fields.text("model_pos")
    if side and side not in _SIDES:
        reason = gettext_noop("Expected one of %(words)s")
        fields.fault("model_pos", reason, side, words=", ".join(_SIDES))
    extra = fields.kept(*_OF_REACTION)
    liked, disliked = fields.flag("liked"), fields.flag("disliked")
    if liked and disliked:
        fields.fault("liked", gettext_noop("A reply cannot be both liked and disliked"), liked)
    score = _LIKED if liked else _DISLIKED
    comment, visitor = fields.text_or("comment"), _visitor(fields)
    rating = SatisfactionRecord(
        LabelDetails(visitor, comment=comment, extra=extra),
        score,
        None if score >= SATISFIED_FROM else Reason.NOT_RECORDED,
    )
    ratings = (rating,) if liked or disliked else ()
    unrated = {} if ratings else {"reaction": {**extra, "visitor_id": visitor, "comment": comment}}
    place = _place(fields, turns, side)
    rated = [
        replace(each, satisfaction=ratings, extra={**each.extra, **unrated})
        if each.key == side
        else each
        for each in (turns[place].responses if turns else ())
    ]
    if turns:
        turns[place] = replace(turns[place], responses=tuple(rated))
    return _session(fields, system, turns)


def _session(fields: Fields, system: str, turns: Sequence[TurnRecord]) -> SessionRecord:
    return SessionRecord(
        fields.short("conversation_pair_id", KEY_CHARS),
        SCENARIO,
        tuple(turns),
        system_prompt=system,
    )


def _turns(fields: Fields) -> tuple[str, list[TurnRecord]]:
    """The system prompt, where both models had the same, and the turns with both replies."""
    models = [fields.short(f"model_{side}_name", MODEL_CHARS) for side in _SIDES]
    said = [_conversation(fields, side) for side in _SIDES]
    (system, turns), (other_system, others) = said
    if not turns or [each.user_message for each in turns] != [each.user_message for each in others]:
        reason = gettext_noop("The two conversations have different user messages")
        fields.fault("conversation_b", reason, fields.data.get("conversation_b"))
        return "", []
    is_same = system == other_system
    systems = ("", "") if is_same else (system, other_system)
    fields.notes.kept += [] if is_same else ["system_prompt"]
    variants = ("", "B" if models[0] == models[1] else "")
    lines = [
        [_reply(side, model, variant, own_system, place, each) for place, each in enumerate(found)]
        for side, model, variant, own_system, (_system, found) in zip(
            _SIDES, models, variants, systems, said, strict=True
        )
    ]
    return system if is_same else "", [
        replace(turn, responses=pair)
        for turn, pair in zip(turns, zip(*lines, strict=True), strict=True)
    ]


def _reply(
    side: str, model: str, variant: str, system: str, place: int, turn: TurnRecord
) -> ResponseRecord:
    """A model's reply in a turn; it follows the model's own, and None is one that failed."""
    given = turn.responses[0] if turn.responses else ResponseRecord(side, None)
    return replace(
        given,
        key=side,
        model=model,
        original=False,
        continues=side if place else None,
        variant=variant,
        extra={**given.extra, "system_prompt": system} if system else given.extra,
    )


def _conversation(fields: Fields, side: str) -> tuple[str, tuple[TurnRecord, ...]]:
    """The system prompt of one model and its turns; the messages may be JSON in a text."""
    name = f"conversation_{side}"
    given = fields
    if isinstance(fields.data.get(name), str):
        raw = decoded(fields.notes.line, fields.text(name))
        if raw.fault is not None:
            fields.fault(name, raw.fault.text, raw.fault.value, **(raw.fault.parts or {}))
            return "", ()
        given = Fields({name: raw.value}, fields.notes)
    system, messages = without_system(given, name, read_messages(given, name))
    names = [f"system_prompt_{side}"]
    names += ["system_prompt"] if fields.data.get("model_pos") == side else []
    told = [fields.text_or(each) for each in names]
    return next(filter(None, (*told, system)), ""), turns_of(messages)


def _place(fields: Fields, turns: Sequence[TurnRecord], side: str) -> int:
    """The turn of the reply that a reaction is about."""
    text = fields.text("response_content")
    rank = fields.whole("msg_rank", 0, _MOST_TURNS) if fields.has("msg_rank") else 0
    places = [
        place
        for place, turn in enumerate(turns)
        if any((each.key, each.text) == (side, text) for each in turn.responses)
    ]
    if not places and turns:
        fields.fault("response_content", gettext_noop("Not among the replies of this model"), text)
        return 0
    return rank if rank in places else next(iter(places), 0)


def _visitor(fields: Fields) -> str:
    names = ("visitor_id", "session_hash")
    return next((fields.annotator(each) for each in names if fields.data.get(each)), NOBODY)


def _comment(fields: Fields) -> str:
    """The comments on both conversations, each with the letter of its model."""
    told = [(side.upper(), fields.text_or(f"conv_comments_{side}")) for side in _SIDES]
    return "\n".join(f"{side}: {text}" for side, text in told if text.strip())


FORMATS: Final = (
    Format(
        name=VOTES,
        title=gettext_noop("compar:IA votes"),
        line=gettext_noop("Conversations with two models at once, and which one the user chose."),
        looks_like=looks_like_votes,
        parse=parse_vote,
    ),
    Format(
        name=REACTIONS,
        title=gettext_noop("compar:IA reactions"),
        line=gettext_noop("Replies that users liked or disliked, in both models’ conversations."),
        looks_like=looks_like_reactions,
        parse=parse_reaction,
    ),
)
