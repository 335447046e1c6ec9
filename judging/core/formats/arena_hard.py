"""Arena-Hard's questions, answers and judgments, in the layout of v2 and in that of v0.1.

A question is named by its `uid` (v0.1: `question_id`); answers and judgments name it without
carrying it. In a judgment's first game the baseline was shown first, in its second the model. v0.1
names no baseline, since all its judgments have the same one. The files of v0.1 that were published
since 2025 have the layout of v2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.fastchat import has_objects, session_key, variant_of
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.reasoning import REASONING
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import (
    CALL_FAILED,
    JUDGE_CHARS,
    RecordedSession,
    VerdictRecord,
    recorded,
)

QUESTIONS: Final = "arena-hard-questions"
ANSWERS: Final = "arena-hard-answers"
JUDGMENTS: Final = "arena-hard-judgments"

HARD: Final = "arena-hard"
"""Of sessions that a file names before any file of questions says their category."""
BASELINE: Final = "gpt-4-0314"
"""The baseline of all judgments of v0.1, which name none."""

_SCORES: Final = {
    **dict.fromkeys(("A>>B", "A>B", "B<A", "B<<A"), Verdict.A),
    **dict.fromkeys(("A=B", "B=A"), Verdict.TIE),
    **dict.fromkeys(("B>A", "B>>A", "A<B", "A<<B"), Verdict.B),
}


def looks_like_questions(row: object) -> bool:
    """Whether a row is a question of Arena-Hard."""
    return isinstance(row, Mapping) and (
        {"uid", "category", "prompt"} <= row.keys()
        or ("question_id" in row and has_objects(row.get("turns")))
    )


def looks_like_answers(row: object) -> bool:
    """Whether a row is one model's answer to a question of Arena-Hard."""
    return isinstance(row, Mapping) and (
        {"uid", "model", "messages"} <= row.keys()
        or ({"question_id", "model_id"} <= row.keys() and has_objects(row.get("choices"), "turns"))
    )


def looks_like_judgments(row: object) -> bool:
    """Whether a row holds the two games of a model against the baseline."""
    return (
        isinstance(row, Mapping)
        and {"model", "games"} <= row.keys()
        and ({"uid", "baseline"} <= row.keys() or {"question_id", "judge"} <= row.keys())
    )


def parse_question(fields: Fields) -> SessionRecord:
    """One question as a session of unanswered turns."""
    if fields.has("uid"):
        fields.refuse_unplaced("prompt", "reference")
        turns = [TurnRecord(fields.text("prompt"))]
        known = ("uid", "category", "prompt")
    else:
        fields.refuse_unplaced("turns", "reference")
        turns = [TurnRecord(each.text("content")) for each in fields.items("turns")]
        known = ("question_id", "category", "turns")
    return SessionRecord(
        key=_key(fields),
        scenario=fields.short("category", SCENARIO_CHARS),
        turns=tuple(turns),
        extra=fields.kept(*known),
    )


def parse_answer(fields: Fields) -> SessionRecord:
    """One model's answer; what its file counts in it is kept beside it."""
    if fields.has("uid"):
        fields.refuse_unplaced("messages")
        turns = [TurnRecord(None, (_answer(fields),))]
    else:
        fields.refuse_unplaced()
        turns = _first_turns(fields)
    return SessionRecord(_key(fields), HARD, tuple(turns), sketch=True)


def _key(fields: Fields) -> str:
    return fields.short("uid", KEY_CHARS) if fields.has("uid") else session_key(fields)


def _answer(fields: Fields) -> ResponseRecord:
    """The answer in the layout of v2: the last message, a text or an object with `answer`."""
    messages = fields.items("messages")
    if not messages:
        reason = gettext_noop("Expected at least one message")
        fields.fault("messages", reason, fields.data.get("messages"))
    if sum(message.data.get("role") == "user" for message in messages) > 1:
        reason = gettext_noop("Only the answer to one user message can be read")
        fields.fault("messages", reason, fields.data.get("messages"))
    for message in messages:
        if message.data.get("role") not in ("user", "assistant"):
            reason = gettext_noop("Expected user or assistant")
            message.fault("role", reason, message.data.get("role"))
    text: str | None = None
    extra = dict(fields.mapping("metadata"))
    for message in messages[-1:]:
        holder = message
        if isinstance(message.data.get("content"), Mapping):
            given = message.mapping("content")
            told = {"content": given["answer"]} if "answer" in given else {}
            holder = Fields(told, fields.notes, message.path)
            if given.get("thought"):
                extra[REASONING] = given["thought"]
        text = holder.answer("content")
    return ResponseRecord("0", text, fields.short("model", MODEL_CHARS), extra=extra)


def _first_turns(fields: Fields) -> list[TurnRecord]:
    """The answers in the layout of v0.1: turns with a text and its tokens, of every choice."""
    model = fields.short("model_id", MODEL_CHARS)
    lines = [_line(model, choice) for choice in fields.items("choices")]
    most = max(map(len, lines), default=0)
    if not most:
        reason = gettext_noop("Expected at least one choice")
        fields.fault("choices", reason, fields.data.get("choices"))
    return [
        TurnRecord(None, tuple(line[place] for line in lines if place < len(line)))
        for place in range(most)
    ]


def _line(model: str, choice: Fields) -> list[ResponseRecord]:
    variant = variant_of(choice)
    return [
        ResponseRecord(
            variant,
            each.answer("content"),
            model,
            continues=variant if place else None,
            variant=variant,
            extra=each.rest("content"),
        )
        for place, each in enumerate(choice.items("turns"))
    ]


def parse_judgment(fields: Fields) -> RecordedSession:
    """A verdict for each game; the two models stand in the order of their names."""
    fields.refuse_unplaced()
    model = fields.short("model", MODEL_CHARS)
    names_baseline = fields.has("baseline") or fields.has("uid")
    baseline = fields.short("baseline", MODEL_CHARS) if names_baseline else BASELINE
    if model == baseline and model:
        fields.fault("baseline", gettext_noop("This is the other model"), baseline)
    models = sorted((model, baseline))
    comparison = ComparisonRecord(" | ".join(models), a="0", b="1")
    responses = tuple(ResponseRecord(str(place), None, each) for place, each in enumerate(models))
    session = SessionRecord(
        _key(fields),
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
            error_code=CALL_FAILED if told is None else "",
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
