"""Arena battles, and Arena-Hard's questions, answers and judgments.

A battle is one vote on two models, `model_a` shown on the left; most files carry no texts. An
Arena-Hard question is named by its `uid`; answers and judgments name it without carrying it.
In a judgment's first game the baseline was shown first, in its second the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.fastchat import line_of
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.battles import WINNERS
from judging.core.formats.recorded import JUDGE_CHARS, RecordedSession, VerdictRecord, recorded

BATTLES: Final = "arena-battles"
QUESTIONS: Final = "arena-hard-questions"
ANSWERS: Final = "arena-hard-answers"
JUDGMENTS: Final = "arena-hard-judgments"

SCENARIO: Final = "arena"
HARD: Final = "arena-hard"
"""Of sessions that a file names before any file of questions says their category."""
VOTER: Final = "arena"
"""Whose votes they are where a battle names nobody."""

_NAMES: Final = ("model_a", "model_b", "winner")
_OF_ARENA: Final = frozenset({"anony", "tstamp", "conv_metadata"})
_NOT_KEPT: Final = (
    *_NAMES,
    "judge",
    "turn",
    "tstamp",
    "question_id",
    "conversation_a",
    "conversation_b",
)
_SCORES: Final = {
    **dict.fromkeys(("A>>B", "A>B", "B<A", "B<<A"), Verdict.A),
    **dict.fromkeys(("A=B", "B=A"), Verdict.TIE),
    **dict.fromkeys(("B>A", "B>>A", "A<B", "A<<B"), Verdict.B),
}


def looks_like_battles(row: object) -> bool:
    """Whether a row is a vote of the arena, and none on a question of MT-Bench."""
    return isinstance(row, Mapping) and set(_NAMES) <= row.keys() and bool(_OF_ARENA & row.keys())


def looks_like_questions(row: object) -> bool:
    """Whether a row is a question of Arena-Hard."""
    return isinstance(row, Mapping) and {"uid", "category", "prompt"} <= row.keys()


def looks_like_answers(row: object) -> bool:
    """Whether a row is one model's answer to a question of Arena-Hard."""
    return isinstance(row, Mapping) and {"uid", "model", "messages"} <= row.keys()


def looks_like_judgments(row: object) -> bool:
    """Whether a row holds the two games of a model against the baseline."""
    return isinstance(row, Mapping) and {"uid", "model", "baseline", "games"} <= row.keys()


def parse_battle(fields: Fields) -> SessionRecord:
    """One battle as a session of its own, with the vote as a label."""
    models = [fields.short(name, MODEL_CHARS) for name in _NAMES[:2]]
    word = fields.text("winner")
    if fields.has("winner") and word not in WINNERS:
        reason = gettext_noop("Expected one of %(words)s")
        fields.fault("winner", reason, word, words=", ".join(WINNERS))
    details = LabelDetails(
        fields.annotator("judge") if fields.data.get("judge") else VOTER, given_at=_time(fields)
    )
    fields.refuse_unplaced()
    told = {side: _messages(fields, f"conversation_{side}") for side in "ab"}
    system = _system_prompt(fields, told)
    asked = [text for role, text in told["a"] if role == "user"]
    lines = [
        line_of(model, [text for role, text in told[side] if role == "assistant"] or [None])
        for model, side in zip(models, "ab", strict=True)
    ]
    last = min(map(len, lines))
    _refuse_apart(fields, told)
    comparison = ComparisonRecord(
        key="battle",
        a="a",
        b="b",
        extra=fields.kept(*_NOT_KEPT) | _turn(fields, last),
        labels=(
            PairwiseRecord(
                details,
                WINNERS.get(word, Verdict.TIE),
                both_bad="bothbad" in word,
                shown_order=Order.ORIGINAL,
            ),
        ),
    )
    turns = [
        TurnRecord(
            asked[place] if place < len(asked) else None,
            tuple(_side(key, line[place], place) for key, line in zip("ab", lines, strict=True)),
            (comparison,) if place == last - 1 else (),
        )
        for place in range(last)
    ]
    return SessionRecord(
        key=_battle_key(fields, models, details),
        scenario=SCENARIO,
        turns=tuple(turns),
        system_prompt=system,
    )


def _system_prompt(fields: Fields, told: Mapping[str, list[tuple[str, str | None]]]) -> str:
    """The first message of both conversations if it is the system's; taken from them."""
    found = {
        side: (messages.pop(0)[1] or "") if messages and messages[0][0] == "system" else ""
        for side, messages in told.items()
    }
    if found["a"] != found["b"]:
        reason = gettext_noop("Differs from the other system prompt of this row")
        fields.fault("conversation_b", reason, found["b"] or found["a"])
    return found["a"]


def _refuse_apart(fields: Fields, told: Mapping[str, list[tuple[str, str | None]]]) -> None:
    """A fault for conversations of which a comparison would show a part alone."""
    for side, messages in told.items():
        roles = [role for role, _text in messages]
        if roles != ["user", "assistant"] * (len(roles) // 2):
            reason = gettext_noop("Expected user and assistant messages in turns, the user first")
            fields.fault(f"conversation_{side}", reason, ", ".join(roles))
    asked = [[text for role, text in told[side] if role == "user"] for side in "ab"]
    if asked[0] != asked[1]:
        reason = gettext_noop("The two conversations have different user messages")
        fields.fault("conversation_b", reason, asked[1])


def _turn(fields: Fields, last: int) -> dict[str, object]:
    """In which turn it was, where the texts do not say so."""
    told = fields.data.get("turn")
    return {} if told is None or told == last else {"turn": told}


def _side(key: str, response: ResponseRecord, place: int) -> ResponseRecord:
    """A response by its side, so that a model can fight itself."""
    return ResponseRecord(
        key,
        response.text,
        response.model,
        continues=key if place else None,
        variant="" if key == "a" else "B",
    )


def _battle_key(fields: Fields, models: list[str], details: LabelDetails) -> str:
    """Its id, or all that tells it from other battles but its outcome."""
    if fields.has("question_id"):
        return fields.short("question_id", KEY_CHARS)
    if not fields.has("tstamp"):
        fields.fault("tstamp", gettext_noop("Needs question_id or tstamp to tell battles apart"))
    told = (fields.data.get(name) for name in ("tstamp", "turn", "language", "conv_metadata"))
    return content_key(*models, details.annotator, *(json.dumps(each) for each in told))


def _time(fields: Fields) -> datetime | None:
    """When it was, of seconds since 1970."""
    told = fields.data.get("tstamp")
    if told is None:
        return None
    try:
        return datetime.fromtimestamp(float(str(told)), UTC)
    except (ValueError, OverflowError, OSError):
        fields.fault("tstamp", gettext_noop("Expected a number of seconds"), told)
        return None


def _messages(fields: Fields, name: str) -> list[tuple[str, str | None]]:
    """The roles and texts of a conversation, none where it is not there."""
    items = fields.items(name)
    for item in items:
        item.refuse_unplaced()
    roles = [item.text("role") for item in items]
    said = [
        item.answer("content") if role == "assistant" else item.text("content")
        for role, item in zip(roles, items, strict=True)
    ]
    return list(zip(roles, said, strict=True))


def parse_question(fields: Fields) -> SessionRecord:
    """One question as a session of one unanswered turn."""
    fields.refuse_unplaced("prompt", "reference")
    return SessionRecord(
        key=fields.short("uid", KEY_CHARS),
        scenario=fields.short("category", SCENARIO_CHARS),
        turns=(TurnRecord(fields.text("prompt")),),
        extra=fields.kept("uid", "category", "prompt"),
    )


def parse_answer(fields: Fields) -> SessionRecord:
    """One model's answer; what its file counts in it is kept beside it."""
    fields.refuse_unplaced("messages")
    messages = fields.items("messages")
    if not messages:
        reason = gettext_noop("Expected at least one message")
        fields.fault("messages", reason, fields.data.get("messages"))
    if sum(message.data.get("role") == "user" for message in messages) > 1:
        reason = gettext_noop("Only the answer to one user message can be read")
        fields.fault("messages", reason, fields.data.get("messages"))
    text: str | None = ""
    for message in messages[-1:]:
        content = message.data.get("content")
        holder = message
        if isinstance(content, Mapping):
            told = {"content": content["answer"]} if "answer" in content else {}
            holder = Fields(told, fields.notes, message.path)
        text = holder.answer("content")
    response = ResponseRecord(
        "0",
        text,
        fields.short("model", MODEL_CHARS),
        extra=fields.mapping("metadata"),
    )
    turns = (TurnRecord(None, (response,)),)
    return SessionRecord(fields.short("uid", KEY_CHARS), HARD, turns, sketch=True)


def parse_judgment(fields: Fields) -> RecordedSession:
    """A verdict for each game; the two models stand in the order of their names."""
    fields.refuse_unplaced()
    model, baseline = (fields.short(name, MODEL_CHARS) for name in ("model", "baseline"))
    if model == baseline and model:
        fields.fault("baseline", gettext_noop("This is the other model"), baseline)
    models = sorted((model, baseline))
    comparison = ComparisonRecord(" | ".join(models), a="0", b="1")
    responses = tuple(ResponseRecord(str(place), None, each) for place, each in enumerate(models))
    session = SessionRecord(
        fields.short("uid", KEY_CHARS),
        HARD,
        (TurnRecord(None, responses, (comparison,)),),
        sketch=True,
    )
    return recorded(session, _games(fields, comparison.key, baseline_is_a=baseline == models[0]))


def _games(fields: Fields, comparison: str, *, baseline_is_a: bool) -> Iterator[VerdictRecord]:
    judge = fields.short("judge", JUDGE_CHARS)
    games = fields.data.get("games")
    if not isinstance(games, list) or not 0 < len(games) <= 2:
        fields.fault("games", gettext_noop("Expected one or two games"), games)
        return
    for place, told in enumerate(games):
        at = fields.at(f"games[{place}]")
        if told is not None and not isinstance(told, Mapping):
            fields.notes.fault(at, gettext_noop("Expected an object"), told)
            continue
        game = Fields(told or {}, fields.notes, at)
        first_is_a = baseline_is_a is (place == 0)
        verdict = _winner(game)
        yield VerdictRecord(
            judge,
            0,
            comparison,
            Order.ORIGINAL if first_is_a else Order.SWAPPED,
            verdict.flipped() if verdict and not first_is_a else verdict,
            raw=_reply(game),
        )


def _winner(game: Fields) -> Verdict | None:
    """The verdict by the letters as they were shown; null is a reply without one."""
    told = game.data.get("score")
    if told is None:
        return None
    verdict = _SCORES.get(told) if isinstance(told, str) else None
    if verdict is None:
        reason = gettext_noop("Expected one of %(words)s")
        game.fault("score", reason, told, words=", ".join(_SCORES))
    return verdict


def _reply(game: Fields) -> str:
    """The judge's words, or its label where they were not kept."""
    told = game.data.get("judgment")
    if isinstance(told, Mapping):
        told = told.get("answer")
    return told if isinstance(told, str) and told else game.text_or("score")


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
        name=QUESTIONS,
        title=gettext_noop("Arena-Hard questions"),
        line=gettext_noop("Prompts by category, without responses."),
        looks_like=looks_like_questions,
        parse=parse_question,
    ),
    Format(
        name=ANSWERS,
        title=gettext_noop("Arena-Hard answers of a model"),
        line=gettext_noop("One model’s answers to questions that were imported before."),
        looks_like=looks_like_answers,
        parse=parse_answer,
    ),
    Format(
        name=JUDGMENTS,
        title=gettext_noop("Arena-Hard judgments"),
        line=gettext_noop("A judge’s verdicts on a model against a baseline, in both orders."),
        looks_like=looks_like_judgments,
        parse=parse_judgment,
    ),
)
