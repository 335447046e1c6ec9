"""MT-Bench: votes of people and of GPT-4 on pairs of models, FastChat's pair and single judgments.

A vote has `question_id, model_a, model_b, winner, judge, turn`, and in the full release both
conversations. A judge named expert_N or author_N is a person, any other is a recorded judge whose
one verdict stands for both orders. A pair judgment (`gpt-4_pair.jsonl`) has `model_1, model_2` and
a verdict for each order: in game 1 model 1 was shown first, in game 2 model 2. A single judgment
(`gpt-4_single.jsonl`) grades one model's answer from 1 to 10; -1 is a reply without a grade.

The two models of a comparison stand in the order of their names, so that every file means the same
comparison. Second turns follow each model's own first answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.fastchat import SCENARIO, line_of, session_key
from annotation.core.formats.fields import MODEL_CHARS, NAME_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import (
    CALL_FAILED,
    JUDGE_CHARS,
    UNPARSEABLE,
    RecordedSession,
    ScoreRecord,
    VerdictRecord,
    recorded,
)

VOTES: Final = "mtbench-votes"
PAIRS: Final = "fastchat-pairs"
SINGLES: Final = "fastchat-singles"

_OF_ARENA: Final = frozenset({"anony", "tstamp", "conv_metadata"})
"""Fields by which a battle of the arena is told from a vote."""
_VOTE: Final = ("question_id", "model_a", "model_b", "winner", "judge", "turn")
_VOTE_NEEDS: Final = frozenset(_VOTE)
_PAIR_NEEDS: Final = frozenset({"question_id", "model_1", "g1_winner"})
_SINGLE_NEEDS: Final = frozenset({"question_id", "model", "judge", "score"})
_PEOPLE: Final = ("expert", "author")
_TIES: Final = ("tie", "tie (inconsistent)")
_WAYS: Final = ("pair", "single")
_API_ERROR: Final = "$ERROR$"
_MOST_TURNS: Final = 100

_Texts = list[str | None]
_Told = tuple[_Texts, dict[str, _Texts]]
"""The questions, and each model's answers; None is not available."""


def looks_like_votes(row: object) -> bool:
    """Whether a row is a vote on a question of MT-Bench."""
    return isinstance(row, Mapping) and row.keys() >= _VOTE_NEEDS and not _OF_ARENA & row.keys()


def looks_like_pairs(row: object) -> bool:
    """Whether a row is one of FastChat's pair judgments."""
    return isinstance(row, Mapping) and row.keys() >= _PAIR_NEEDS


def looks_like_singles(row: object) -> bool:
    """Whether a row is one of FastChat's single judgments."""
    return isinstance(row, Mapping) and row.keys() >= _SINGLE_NEEDS


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two models as a row names them, in the coordinates of the comparison: A sorts first."""

    first: str
    second: str
    turn: int

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(sorted((self.first, self.second)))

    @property
    def key(self) -> str:
        return " | ".join(self.models)

    @property
    def turned(self) -> bool:
        return self.models[0] != self.first

    def verdict(self, *, first_wins: bool) -> Verdict:
        return Verdict.A if first_wins is not self.turned else Verdict.B

    def order(self, *, first_shown: bool) -> Order:
        return Order.ORIGINAL if first_shown is not self.turned else Order.SWAPPED


def parse_vote(fields: Fields) -> RecordedSession:
    """One vote: a label where a person gave it, else a judge's verdict for both orders."""
    fields.refuse_unplaced()
    pair = _pair(fields, "model_a", "model_b")
    winner = _winner(fields, "winner", pair, ("model_a", "model_b", *_TIES))
    judge = _judge(fields)
    by_person = judge.split("_")[0] in _PEOPLE
    labels = []
    if by_person:
        labels = [PairwiseRecord(LabelDetails(fields.annotator("judge")), winner or Verdict.TIE)]
    verdicts = [
        VerdictRecord(
            judge, pair.turn - 1, pair.key, Order.COMBINED, winner, raw=fields.text_or("winner")
        )
    ]
    return recorded(
        _session(fields, pair, _conversations(fields, pair), labels),
        iter([] if by_person else verdicts),
    )


def parse_pair(fields: Fields) -> RecordedSession:
    """One pair judgment: a verdict for each game that the row has."""
    fields.refuse_unplaced()
    pair = _pair(fields, "model_1", "model_2")
    judge = _judge(fields)
    return recorded(_session(fields, pair, None, []), _games(fields, pair, judge))


def parse_single(fields: Fields) -> RecordedSession:
    """One single judgment: a grade of the model's answer to a turn."""
    fields.refuse_unplaced()
    model, turn = fields.short("model", MODEL_CHARS), fields.whole("turn", 1, _MOST_TURNS)
    raw = fields.text_or("judgment")
    value = _grade(fields)
    failed = CALL_FAILED if raw == _API_ERROR else UNPARSEABLE
    score = ScoreRecord(
        _judge(fields), turn - 1, model, value, raw, "" if value is not None else failed
    )
    turns = [TurnRecord(None, (response,)) for response in line_of(model, [None] * turn)]
    session = SessionRecord(session_key(fields), SCENARIO, tuple(turns), sketch=True)
    return recorded(session, iter(()), (score,))


def _grade(fields: Fields) -> float | None:
    told = fields.data.get("score")
    if isinstance(told, bool) or not isinstance(told, int | float):
        fields.fault("score", gettext_noop("Expected a number"), told)
        return None
    if told == -1:
        return None
    if not 1 <= told <= 10:
        reason = gettext_noop("Must be between %(low)d and %(high)d")
        fields.fault("score", reason, told, low=1, high=10)
    return float(told)


def _games(fields: Fields, pair: _Pair, judge: str) -> Iterator[VerdictRecord]:
    for game, first_shown in (("g1", True), ("g2", False)):
        if game == "g2" and not fields.has("g2_winner"):
            return
        raw = fields.text_or(f"{game}_judgment")
        winner = _winner(fields, f"{game}_winner", pair, ("model_1", "model_2", "tie", "error"))
        failed = CALL_FAILED if raw == _API_ERROR else UNPARSEABLE
        yield VerdictRecord(
            judge,
            pair.turn - 1,
            pair.key,
            pair.order(first_shown=first_shown),
            winner,
            raw=raw,
            error_code="" if winner else failed,
        )


def _pair(fields: Fields, first: str, second: str) -> _Pair:
    pair = _Pair(
        fields.short(first, MODEL_CHARS),
        fields.short(second, MODEL_CHARS),
        fields.whole("turn", 1, _MOST_TURNS),
    )
    if pair.first == pair.second and pair.first:
        fields.fault(second, gettext_noop("This is the other model"), pair.second)
    return pair


def _winner(fields: Fields, name: str, pair: _Pair, words: Sequence[str]) -> Verdict | None:
    """The verdict behind one of `words`: the row's first model, its second, a tie, or none."""
    word = fields.text(name)
    if word not in words:
        if fields.has(name):
            reason = gettext_noop("Expected one of %(words)s")
            fields.fault(name, reason, word, words=", ".join(words))
        return None
    if word in words[:2]:
        return pair.verdict(first_wins=word == words[0])
    return Verdict.TIE if word in _TIES else None


def _judge(fields: Fields) -> str:
    """The judge's name: as it stands, or "gpt-4_pair" of [model, prompt] such as pair-v2.

    FastChat has other prompts for questions with references and for second turns, all one judge.
    """
    told = fields.data.get("judge")
    if not isinstance(told, list):
        return fields.short("judge", min(JUDGE_CHARS, NAME_CHARS))
    parts = [each for each in told if isinstance(each, str) and each]
    if len(parts) != 2 or len(told) != 2:
        fields.fault("judge", gettext_noop("Expected a name, or a model and a prompt"), told)
        return ""
    model, prompt = parts
    way = prompt.split("-")[0]
    return f"{model}_{way if way in _WAYS else prompt}"[:JUDGE_CHARS]


def _session(
    fields: Fields,
    pair: _Pair,
    told: _Told | None,
    labels: Sequence[PairwiseRecord],
) -> SessionRecord:
    """The question's session up to the turn that is judged, its texts where they are told."""
    questions, answers = told or ([], {})
    lines = {
        model: line_of(model, [*answers.get(model, ()), *[None] * pair.turn][: pair.turn])
        for model in pair.models
    }
    a, b = (f"{model}/" for model in pair.models)
    turns = [
        TurnRecord(
            questions[place] if place < len(questions) else None,
            tuple(lines[model][place] for model in lines),
            (ComparisonRecord(pair.key, a, b, labels=tuple(labels)),)
            if place == pair.turn - 1
            else (),
        )
        for place in range(pair.turn)
    ]
    return SessionRecord(session_key(fields), SCENARIO, tuple(turns), sketch=True)


def _conversations(fields: Fields, pair: _Pair) -> _Told | None:
    """The questions and each model's answers where a vote carries both conversations."""
    if not (fields.has("conversation_a") and fields.has("conversation_b")):
        return None
    sides = {}
    for side in ("a", "b"):
        said: dict[str, _Texts] = {"user": [], "assistant": []}
        for message in fields.items(f"conversation_{side}"):
            role = message.text("role")
            message.refuse_unplaced()
            if role not in said:
                message.fault("role", gettext_noop("Expected user or assistant"), role)
                continue
            told = message.answer("content") if role == "assistant" else message.text("content")
            said[role].append(told)
        if min(len(said["user"]), len(said["assistant"])) < pair.turn:
            reason = gettext_noop("Shorter than the judged turn")
            fields.fault(f"conversation_{side}", reason)
        sides[side] = said
    asked = [sides[side]["user"][: pair.turn] for side in ("a", "b")]
    if asked[0] != asked[1]:
        reason = gettext_noop("The two conversations have different user messages")
        fields.fault("conversation_b", reason, sides["b"]["user"])
    return sides["a"]["user"], {
        pair.first: sides["a"]["assistant"],
        pair.second: sides["b"]["assistant"],
    }


FORMATS: Final = (
    Format(
        name=VOTES,
        title=gettext_noop("MT-Bench votes"),
        line=gettext_noop(
            "Votes of experts and judges on the answers of two models, a turn a row."
        ),
        looks_like=looks_like_votes,
        needs=_VOTE_NEEDS,
        parse=parse_vote,
    ),
    Format(
        name=PAIRS,
        title=gettext_noop("Pair judgments of FastChat"),
        line=gettext_noop(
            "A judge’s verdicts on two models’ answers in both orders, with its replies."
        ),
        looks_like=looks_like_pairs,
        needs=_PAIR_NEEDS,
        parse=parse_pair,
    ),
    Format(
        name=SINGLES,
        title=gettext_noop("Single judgments of FastChat"),
        line=gettext_noop("A judge’s grades from 1 to 10, one answer a row."),
        looks_like=looks_like_singles,
        needs=_SINGLE_NEEDS,
        parse=parse_single,
    ),
)
