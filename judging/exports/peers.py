"""The data in the layouts of MT-Bench, AlpacaEval, the Arena and RewardBench.

What these files say besides and nobody stores here (answer ids, the judges' prompts, prices and
times of calls) is left out. Judges are heard without preferences.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from django.db.models.fields.json import KeyTextTransform

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.conversations import Speaker
from annotation.core.tables import Row, in_key_order
from annotation.exports.export import Export
from annotation.exports.streams import (
    ExportedComparison,
    ExportedSession,
    ExportedTurn,
    LabelsByTarget,
    ResponseRow,
    Texts,
    extra_of,
    sessions_of,
)
from annotation.models import Dataset
from annotation.queries.participants import names_of
from judging.core.rules import JudgePrompt
from judging.core.structured import GRADE_SCALE
from judging.models import Judgment, PreferenceKind, ResponseScore

_AT_ONCE: Final = 200  # sessions in memory
_CHOICE: Final = re.compile(r"choice ([0-9]+)")
_NAMED: Final = re.compile(r"(.+)-[0-9a-f]{12}")
"""A comparison's key that begins with the id of a row of RewardBench."""
_PAIR: Final = "_pair"
_SINGLE: Final = "_single"
_WAYS: Final = {
    **{each.value: f"_{each.word}" for each in JudgePrompt if each is not JudgePrompt.PERSONAL},
    JudgePrompt.PAIRWISE.value: _PAIR,
}
_REFERENCE: Final = "reference:"
_API_ERROR: Final = "$ERROR$"
_BATTLE: Final = "battle"


class _Compared(NamedTuple):
    """A comparison with where it stands."""

    session: ExportedSession
    turn: ExportedTurn
    row: ExportedComparison
    a: ResponseRow
    b: ResponseRow


class _Part:
    """Some sessions with what hangs on them."""

    def __init__(self, sessions: Sequence[ExportedSession]) -> None:
        self.sessions = sessions
        self.texts = Texts([session.pk for session in sessions])
        self.labels = LabelsByTarget(self.texts)

    def turns(self, session: ExportedSession) -> Sequence[ExportedTurn]:
        return self.texts.turns.get(session.pk, ())

    def responses(self, turn: ExportedTurn) -> Sequence[ResponseRow]:
        return self.texts.responses.get(turn.pk, ())

    def compared(self) -> Iterator[_Compared]:
        for session in self.sessions:
            for turn in self.turns(session):
                found = {row.pk: row for row in self.responses(turn)}
                for row in self.labels.comparisons.get(turn.pk, ()):
                    yield _Compared(session, turn, row, found[row.a], found[row.b])

    def conversation(self, pair: _Compared, last: ResponseRow) -> list[dict[str, str]] | None:
        """The messages of one side; None where a text is not available."""
        messages = []
        for turn in self.turns(pair.session):
            if turn.position > pair.turn.position:
                break
            own = (
                [last]
                if turn.pk == pair.turn.pk
                else [
                    row
                    for row in self.responses(turn)
                    if (row.model, row.variant) == (last.model, last.variant)
                ]
            )
            if turn.user_message is None or not own or own[0].text is None:
                return None
            messages += [_message(Speaker.USER, turn.user_message)]
            messages += [_message(Speaker.ASSISTANT, own[0].text)]
        return messages

    def conversations(self, pair: _Compared, a: ResponseRow, b: ResponseRow) -> Row:
        """Both sides, or nothing."""
        one, other = self.conversation(pair, a), self.conversation(pair, b)
        if one is None or other is None:
            return {}
        return {"conversation_a": one, "conversation_b": other}


def _parts(dataset: Dataset) -> Iterator[_Part]:
    for sessions in sessions_of(dataset, at_once=_AT_ONCE):
        yield _Part(sessions)


def _message(speaker: Speaker, text: str) -> dict[str, str]:
    return {"role": speaker.value, "content": text}


def _question(session: ExportedSession) -> int | str:
    """A number where the key is one."""
    is_number = session.key.isascii() and session.key.isdigit()
    return int(session.key) if is_number and str(int(session.key)) == session.key else session.key


def _questions(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        for session in part.sessions:
            turns = [turn.user_message for turn in part.turns(session)]
            if turns and None not in turns:
                more = in_key_order(session.extra)
                told = more if isinstance(more, dict) else {}
                yield {
                    "question_id": _question(session),
                    "category": session.scenario,
                    "turns": turns,
                    **{key: told[key] for key in told if not key.startswith(_REFERENCE)},
                }


def _answers(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        for session in part.sessions:
            for model, choices in _lines(part, session).items():
                told = [{"index": index, "turns": choices[index]} for index in sorted(choices)]
                yield {"question_id": _question(session), "model_id": model, "choices": told}


def _lines(part: _Part, session: ExportedSession) -> dict[str, dict[int, list[str]]]:
    """Each model's answers from the first turn on, by choice."""
    lines: dict[str, dict[int, list[str]]] = defaultdict(dict)
    for place, turn in enumerate(part.turns(session)):
        for row in part.responses(turn):
            choice = _CHOICE.fullmatch(row.variant)
            if row.model and row.text is not None and (choice or not row.variant):
                index = int(choice[1]) if choice else 0
                before = lines[row.model].get(index, [])
                if len(before) == place:
                    lines[row.model][index] = [*before, row.text]
    return {model: choices for model, choices in lines.items() if choices}


def _votes(dataset: Dataset) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    for part in _parts(dataset):
        for pair in part.compared():
            for label in part.labels.verdicts.get(pair.row.pk, ()):
                if not label.repeat_index:
                    yield {
                        "question_id": _question(pair.session),
                        "model_a": pair.a.model,
                        "model_b": pair.b.model,
                        "winner": _winner(label.verdict, "model_a", "model_b"),
                        "judge": names[label.annotator_id],
                        "turn": pair.turn.position + 1,
                        **part.conversations(pair, pair.a, pair.b),
                    }


def _winner(verdict: str | None, first: str, second: str) -> str:
    return {Verdict.A: first, Verdict.B: second, Verdict.TIE: "tie", None: "error"}[
        Verdict(verdict) if verdict else None
    ]


class _Judged(NamedTuple):
    """One verdict of a judge."""

    run: int
    judge: str
    order: str
    status: str
    verdict: str | None
    log_odds: float | None
    raw: str


def _judged(part: _Part) -> Iterator[tuple[_Compared, dict[str, _Judged]]]:
    """What each judge said of each comparison by order, in the order of comparisons and runs.

    Of several runs of one judge the last that has a verdict there.
    """
    pairs = list(part.compared())
    found: dict[int, dict[int, dict[str, _Judged]]] = defaultdict(lambda: defaultdict(dict))
    rows = Judgment.objects.filter(
        comparison__in=[pair.row.pk for pair in pairs], preference__kind=PreferenceKind.EMPTY
    ).exclude(status=JudgmentStatus.PENDING)
    for comparison, run, judge, prompt, order, status, verdict, log_odds, raw, reply in (
        rows.order_by("run_id", "pk").values_list(
            "comparison_id", "run_id", "run__judge", KeyTextTransform("prompt", "run__config"),
            "order", "status", "verdict", "log_odds", "raw", "call__reply",
        )
    ):  # fmt: skip
        name = _asked(judge, prompt)
        said = _Judged(run, name, order, status, verdict, log_odds, reply or raw)
        found[comparison][run][order] = said
    for pair in pairs:
        heard: dict[str, dict[str, _Judged]] = {}
        for own in found.get(pair.row.pk, {}).values():
            name = next(iter(own.values())).judge
            if name not in heard or any(each.verdict is not None for each in own.values()):
                heard[name] = own
        for own in heard.values():
            yield pair, own


def _pair_judgments(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        for pair, said in _judged(part):
            games = [said[order] for order in said if order in (Order.ORIGINAL, Order.SWAPPED)]
            if games:
                yield _games(pair, games)


def _games(pair: _Compared, games: Sequence[_Judged]) -> Row:
    """One or two games; in the first model 1 was shown first."""
    names, words = [pair.a.model, pair.b.model], ["model_1", "model_2"]
    if games[0].order == Order.SWAPPED:
        names, words = names[::-1], words[::-1]
    numbered = [(f"g{number}", game) for number, game in enumerate(games, 1)]
    return {
        "question_id": _question(pair.session),
        "model_1": names[0],
        "model_2": names[1],
        **{f"{name}_winner": _winner(game.verdict, *words) for name, game in numbered},
        "judge": _judge(games[0].judge, _PAIR),
        **{f"{name}_judgment": _reply(game.status, game.raw) for name, game in numbered},
        "turn": pair.turn.position + 1,
    }


def _asked(judge: str, prompt: str | None) -> str:
    """A judge with the prompt that it was asked by, each a judge of its own in these files.

    By its name alone: verdicts that were recorded, and the prompt that preferences are for.
    """
    return judge + _WAYS.get(prompt or "", "")


def _judge(name: str, way: str) -> object:
    """A model and the kind of its prompt, as FastChat has them, where the name tells both."""
    return [name.removesuffix(way), way[1:]] if name.endswith(way) else name


def _reply(status: str, raw: str) -> str:
    return _API_ERROR if status == JudgmentStatus.FAILED else raw


def _single_judgments(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        responses = {row.pk: row for rows in part.texts.responses.values() for row in rows}
        found: dict[int, dict[str, Any]] = defaultdict(dict)
        rows = ResponseScore.objects.filter(response__in=list(responses), scale=GRADE_SCALE)
        there = rows.exclude(status=JudgmentStatus.PENDING).order_by("run_id", "pk")
        for score in there.values_list(
            *(
                "response_id",
                "run__judge",
                KeyTextTransform("prompt", "run__config"),
                "value",
                "status",
                "raw",
            ),
            "call__reply",
        ):
            name = _asked(score[1], score[2])
            if name not in found[score[0]] or score[3] is not None:  # of several runs, the last
                found[score[0]][name] = score[3:]
        for session in part.sessions:
            for turn in part.turns(session):
                for response in part.responses(turn):
                    own = found.get(response.pk, {})
                    for judge, (value, status, raw, reply) in own.items():
                        yield {
                            "question_id": _question(session),
                            "model": response.model,
                            "judge": _judge(judge, _SINGLE),
                            "judgment": _reply(status, reply or raw),
                            "score": -1 if value is None else value,
                            "turn": turn.position + 1,
                        }


def _outputs(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        for session in part.sessions:
            for turn in _only(part, session):
                for row in part.responses(turn):
                    if row.text is not None and row.model:
                        yield {
                            "instruction": turn.user_message,
                            "output": row.text,
                            "generator": row.model,
                            "dataset": session.scenario,
                        }


def _only(part: _Part, session: ExportedSession) -> Iterator[ExportedTurn]:
    """The turn of a session that has one alone, and no system prompt."""
    turns = part.turns(session)
    if len(turns) == 1 and turns[0].user_message is not None and not session.system_prompt:
        yield turns[0]


def _annotations(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        alone = {turn.pk for session in part.sessions for turn in _only(part, session)}
        for pair, said in _judged(part):
            if pair.turn.pk in alone and None not in {pair.a.text, pair.b.text}:
                first = next(iter(said.values()))
                yield {
                    "instruction": pair.turn.user_message,
                    "output_1": pair.a.text,
                    "generator_1": pair.a.model,
                    "dataset": pair.session.scenario,
                    "output_2": pair.b.text,
                    "generator_2": pair.b.model,
                    "annotator": first.judge,
                    "preference": _preference(list(said.values())),
                    "raw_completion": first.raw,
                }


def _preference(said: Sequence[_Judged]) -> float | None:
    """1 + P(output 2 is better) averaged over the orders; null where nothing could be read."""
    told = [
        1.5 if each.verdict == Verdict.TIE
        else 1 + 1 / (1 + math.exp(min(each.log_odds, 700.0))) if each.log_odds is not None
        else 1.0 if each.verdict == Verdict.A else 2.0
        for each in said
        if each.verdict is not None
    ]  # fmt: skip
    return round(sum(told) / len(told), 12) if told else None


def _battles(dataset: Dataset) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    for part in _parts(dataset):
        for pair in part.compared():
            for label in part.labels.verdicts.get(pair.row.pk, ()):
                if label.repeat_index:
                    continue
                a, b, words = pair.a, pair.b, ("model_a", "model_b")
                if label.shown_order == Order.SWAPPED:
                    a, b, words = b, a, words[::-1]
                winner = _winner(label.verdict, *words)
                if label.both_bad and winner == "tie":
                    winner = "tie (bothbad)"
                judge = names[label.annotator_id]
                apart = f"{pair.session.key}/{pair.turn.position + 1}/{pair.row.key}/{judge}"
                extra = in_key_order(extra_of(pair.row))
                yield {
                    "question_id": pair.session.key if pair.row.key == _BATTLE else apart,
                    "model_a": a.model,
                    "model_b": b.model,
                    "winner": winner,
                    "judge": judge,
                    "turn": pair.turn.position + 1,
                    "tstamp": label.created_at.timestamp(),
                    **(extra if isinstance(extra, dict) else {}),
                    **part.conversations(pair, a, b),
                }


def _chosen(dataset: Dataset) -> Iterator[Row]:
    for part in _parts(dataset):
        for pair in part.compared():
            for gold in part.labels.comparison_gold.get(pair.row.pk, ()):
                dialogue = _prompt(part, pair)
                if gold.verdict == Verdict.TIE or dialogue is None:
                    continue
                won, lost = (pair.a, pair.b) if gold.verdict == Verdict.A else (pair.b, pair.a)
                named = _NAMED.fullmatch(pair.row.key)
                if won.text is not None and lost.text is not None:
                    yield {
                        "prompt": dialogue[0]["content"] if len(dialogue) == 1 else dialogue,
                        "chosen": won.text,
                        "chosen_model": won.model,
                        "rejected": lost.text,
                        "rejected_model": lost.model,
                        "subset": pair.session.scenario,
                        "id": named[1] if named else pair.row.key,
                    }
                    break


def _prompt(part: _Part, pair: _Compared) -> list[dict[str, str]] | None:
    """The messages up to the request, with the original answers; None without a request."""
    told = []
    for turn in part.turns(pair.session):
        if turn.user_message is not None and turn.position <= pair.turn.position:
            told.append(_message(Speaker.USER, turn.user_message))
        if turn.position < pair.turn.position:
            told += [
                _message(Speaker.ASSISTANT, row.text)
                for row in part.responses(turn)
                if row.original and row.text is not None
            ]
    if pair.turn.user_message is None:
        return None
    system = pair.session.system_prompt
    return [_message(Speaker.SYSTEM, system), *told] if system else told


_SIDES: Final = ("conversation_a", "conversation_b")
PEERS: Final = (
    Export("mtbench_questions", ("question_id", "category", "turns", "reference"), _questions),
    Export("mtbench_answers", ("question_id", "model_id", "choices"), _answers),
    Export(
        "mtbench_votes",
        ("question_id", "model_a", "model_b", "winner", "judge", "turn", *_SIDES),
        _votes,
    ),
    Export(
        "mtbench_pairs",
        ("question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge", "g1_judgment",
         "g2_judgment", "turn"),
        _pair_judgments,
    ),
    Export(
        "mtbench_singles",
        ("question_id", "model", "judge", "judgment", "score", "turn"),
        _single_judgments,
    ),
    Export("alpaca_outputs", ("instruction", "output", "generator", "dataset"), _outputs),
    Export(
        "alpaca_annotations",
        ("instruction", "output_1", "generator_1", "dataset", "output_2", "generator_2",
         "annotator", "preference", "raw_completion"),
        _annotations,
    ),
    Export(
        "arena_battles",
        ("question_id", "model_a", "model_b", "winner", "judge", "turn", "tstamp", "anony",
         "language", "conv_metadata", *_SIDES, "evaluation_session_id", "evaluation_order",
         "category_tag", "occupational_tags", "is_code", "is_refusal", "hard_prompt"),
        _battles,
    ),
    Export(
        "rewardbench",
        ("prompt", "chosen", "chosen_model", "rejected", "rejected_model", "subset", "id"),
        _chosen,
    ),
)  # fmt: skip
