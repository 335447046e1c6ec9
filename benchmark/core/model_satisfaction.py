"""How satisfied users are with each model's answers, and whether two models differ.

Scores are 1-5; what users say, what an evaluator says in their stead, or the one corrected by the
other (benchmark.core.corrected). Users are the units: turns of one user are no independent trials.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from annotation.core.choices import Hallucination, Reason, is_satisfied
from annotation.core.intervals import Interval, ends, student_quantile
from annotation.core.profiles import QUESTIONS
from annotation.core.significance import holm
from benchmark.core.corrected import (
    FLAT,
    SHARE,
    CorrectedFigure,
    Floats,
    JudgedRows,
    MeanEstimate,
    clustered_mean,
    corrected,
    deviations,
)

SCORES: Final = (1.0, 5.0)
"""The range of a score."""


class AnswerOfModel(NamedTuple):
    """A model's answer (or whole conversation) to one user.

    `stated` is the user's own score, `predicted` an evaluator's, and `unrounded` that before it was
    rounded; None without. `reason` and `hallucination` are of the one who is asked about, "" where
    nothing was said.
    """

    user: int
    target: int
    session: int
    model: str
    scenario: str
    stated: int | None
    predicted: int | None = None
    reason: str = ""
    hallucination: str = ""
    unrounded: float | None = None


@dataclass(frozen=True, slots=True)
class ModelSatisfaction:
    """The figures of one model by one voice, people or an evaluator.

    `reasons` counts those given for dissatisfied answers. `made_up` is the share of answers with
    invented facts among those of which it was said, None where it never was.
    """

    model: str
    mean: MeanEstimate
    satisfied: MeanEstimate
    dissatisfied: MeanEstimate
    reasons: Mapping[str, int]
    made_up: MeanEstimate | None
    scenarios: Mapping[str, MeanEstimate]

    def record(self) -> dict[str, object]:
        """Every figure as cells of a row; a reason's count is named `reason_` and its word."""
        cells: dict[str, object] = {
            "model": self.model,
            "answers": self.mean.rows,
            "users": self.mean.units.number,
        }
        for name in ("mean", "satisfied", "dissatisfied", "made_up"):
            found: MeanEstimate | None = getattr(self, name)
            cells |= mean_cells(found, name)
        cells["asked_made_up"] = 0 if self.made_up is None else self.made_up.rows
        return cells | {f"reason_{each.lower()}": self.reasons.get(each, 0) for each in Reason}


@dataclass(frozen=True, slots=True)
class CorrectedSatisfaction:
    """Mean score and share of dissatisfied answers of one model, three ways."""

    model: str
    mean: CorrectedFigure
    dissatisfied: CorrectedFigure

    def records(self) -> Iterator[dict[str, object]]:
        """A row for either figure."""
        for name in ("mean", "dissatisfied"):
            figure: CorrectedFigure = getattr(self, name)
            yield {"model": self.model, "figure": name, **figure.cells()}


class ModelDifference(NamedTuple):
    """By how much the first model does better than the second; p is Holm's over all pairs.

    `both` of `users` rated both models. No interval and no p where too few rated either, or one or
    a few of them hold most of its answers, or where the scores of neither vary.
    """

    first: str
    second: str
    value: float
    interval: Interval | None
    p: float | None
    users: int
    both: int

    @property
    def turned(self) -> ModelDifference:
        """The same from the other model's side."""
        interval = self.interval and Interval(-self.interval.high, -self.interval.low)
        turned = self._replace(first=self.second, second=self.first, value=-self.value)
        return turned._replace(interval=interval)

    def record(self, figure: str) -> dict[str, object]:
        """The difference as cells of a row."""
        return {
            "figure": figure,
            "first": self.first,
            "second": self.second,
            "difference": self.value,
            **ends(self.interval),
            "p_holm": self.p,
            "users": self.users,
            "users_of_both": self.both,
        }


def mean_cells(found: MeanEstimate | None, name: str = "mean") -> dict[str, object]:
    """A mean with its interval as cells of a row; None where there is none."""
    value = None if found is None else found.value
    return {name: value, **ends(None if found is None else found.interval, f"{name}_")}


def by_model(answers: Iterable[AnswerOfModel], *, stated: bool) -> tuple[ModelSatisfaction, ...]:
    """Every model's figures, the best first.

    Args:
        answers: those without a score of the voice asked for say nothing.
        stated: by what users said; else by the evaluator.
    """
    found = [
        _figures(model, own, stated=stated)
        for model, own in _grouped(answers, stated=stated).items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.mean.value, row.model)))


def _grouped(
    answers: Iterable[AnswerOfModel], *, stated: bool
) -> dict[str, list[tuple[AnswerOfModel, int]]]:
    own: dict[str, list[tuple[AnswerOfModel, int]]] = defaultdict(list)
    for answer in answers:
        score = answer.stated if stated else answer.predicted
        if score is not None:
            own[answer.model].append((answer, score))
    return own


def _figures(
    model: str, own: Sequence[tuple[AnswerOfModel, int]], *, stated: bool
) -> ModelSatisfaction:
    users = [answer.user for answer, _score in own]
    low = [float(not is_satisfied(score)) for _answer, score in own]
    told = [answer for answer, _score in own if answer.hallucination]
    scenarios: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for answer, score in own:
        scenarios[answer.scenario].append((answer.user, score))
    reasons = (answer.reason for answer, score in own if not is_satisfied(score))
    return ModelSatisfaction(
        model=model,
        mean=clustered_mean([score for _answer, score in own], users, bounds=SCORES),
        satisfied=clustered_mean([1 - each for each in low], users),
        dissatisfied=clustered_mean(low, users),
        reasons=Counter(reason for reason in reasons if reason),
        made_up=_made_up(told) if told and stated else None,
        scenarios={
            name: clustered_mean(
                [score for _user, score in each], [user for user, _score in each], bounds=SCORES
            )
            for name, each in scenarios.items()
        },
    )


def _made_up(told: Sequence[AnswerOfModel]) -> MeanEstimate:
    invented = [float(answer.hallucination == Hallucination.YES) for answer in told]
    return clustered_mean(invented, [answer.user for answer in told])


def corrected_by_model(
    answers: Iterable[AnswerOfModel], *, is_random: bool
) -> tuple[CorrectedSatisfaction, ...]:
    """Every model's mean and share of dissatisfied answers three ways, the best first.

    Means take the evaluator's scores unrounded, if it gave such scores.
    """
    found = []
    for model, own in _grouped(answers, stated=False).items():
        figures = [
            corrected(_rows(own, lows=lows), is_random=is_random, bounds=SHARE if lows else SCORES)
            for lows in (False, True)
        ]
        found.append(CorrectedSatisfaction(model, *figures))
    return tuple(sorted(found, key=lambda row: (row.mean.order, row.model)))


def _rows(own: Sequence[tuple[AnswerOfModel, int]], *, lows: bool) -> JudgedRows:
    return JudgedRows.of(
        [
            (
                _worth(score, lows=lows) if lows or answer.unrounded is None else answer.unrounded,
                None if answer.stated is None else _worth(answer.stated, lows=lows),
                answer.user,
            )
            for answer, score in own
        ]
    )


def _worth(score: int, *, lows: bool) -> float:
    return float(not is_satisfied(score)) if lows else float(score)


def differences(
    answers: Sequence[AnswerOfModel], *, stated: bool, lows: bool = False
) -> tuple[ModelDifference, ...]:
    """Every pair of models by one voice, the better one first.

    What users add to either mean is summed by user: where the same users rated both models the
    difference is theirs, and what is their own cancels; where they are others it is that of
    independent groups. p is two-sided, by Student's distribution with a degree of freedom less than
    the model of fewer effective users has of them. Where a share is the same for every user, or no
    user differs between the models, that variance says nothing: the interval comes from Wilson's of
    both (Newcombe 1998, method 10), and p is that of an error which has its nearer end there.

    Args:
        answers: as for `by_model`.
        stated: by what users said; else by the evaluator.
        lows: of the shares of dissatisfied answers instead of means; less is better.
    """
    sides = {}
    for model, own in _grouped(answers, stated=stated).items():
        values = np.array([_worth(score, lows=lows) for _answer, score in own])
        users = [answer.user for answer, _score in own]
        found = clustered_mean(list(values), users, bounds=SHARE if lows else SCORES)
        held = np.full(len(values), 1 / len(values))
        sides[model] = _side(found, (values - values.mean()) / len(values), held, users)
    return _all_pairs(sides, -1 if lows else 1)


def corrected_differences(
    answers: Sequence[AnswerOfModel], *, is_random: bool, lows: bool = False
) -> tuple[ModelDifference, ...]:
    """The same of corrected figures, of the models that have one."""
    sides = {}
    for model, own in _grouped(answers, stated=False).items():
        rows = _rows(own, lows=lows)
        figure = corrected(rows, is_random=is_random, bounds=SHARE if lows else SCORES)
        if figure.corrected is not None and figure.weight is not None:
            _value, around = deviations(rows, figure.weight)
            held = rows.labelled / rows.labelled.sum()
            users = [answer.user for answer, _score in own]
            sides[model] = _side(figure.corrected, around, held, users)
    return _all_pairs(sides, -1 if lows else 1)


class _Side(NamedTuple):
    """A model's figure, what each user adds to its error, and the users who count.

    What a user adds is divided by the root of 1 less what they hold (CR2).
    """

    found: MeanEstimate
    added: Mapping[int, float]
    users: frozenset[int]

    @property
    def value(self) -> float:
        return self.found.value

    def spread(self) -> float:
        """The sum of what users add, squared."""
        return sum(each * each for each in self.added.values())


def _side(found: MeanEstimate, around: Floats, held: Floats, users: Sequence[int]) -> _Side:
    added: dict[int, float] = defaultdict(float)
    holding: dict[int, float] = defaultdict(float)
    for user, each, part in zip(users, around.tolist(), held.tolist(), strict=True):
        added[user] += each
        holding[user] += part
    if not found.units.few:
        added = {user: each / sqrt(1 - holding[user]) for user, each in added.items()}
    return _Side(found, added, frozenset(user for user, part in holding.items() if part))


def _all_pairs(sides: Mapping[str, _Side], sign: int) -> tuple[ModelDifference, ...]:
    """Of shares where the sign is -1, less being better; else of scores."""
    order = sorted(sides, key=lambda model: (-sign * sides[model].value, model))
    found = [
        _difference(first, sides[first], second, sides[second], shares=sign < 0)
        for first, second in combinations(order, 2)
    ]
    adjusted = holm([each.p for each in found])
    return tuple(each._replace(p=p) for each, p in zip(found, adjusted, strict=True))


def _difference(
    first: str, one: _Side, second: str, other: _Side, *, shares: bool
) -> ModelDifference:
    users = one.users | other.users
    value = one.value - other.value
    told = ModelDifference(
        first, second, value, None, None, len(users), len(one.users & other.users)
    )
    if one.found.units.few or other.found.units.few:
        return told
    freedom = min(one.found.units.effective, other.found.units.effective) - 1
    both = {*one.added, *other.added}
    moved = sum((one.added.get(user, 0.0) - other.added.get(user, 0.0)) ** 2 for user in both)
    quantile, error = student_quantile(freedom), sqrt(moved)
    interval = Interval(value - quantile * error, value + quantile * error)
    if shares and min(one.spread(), other.spread(), moved) < FLAT:
        interval = _newcombe(one.found, other.found)
        nearer = value - interval.low if value > 0 else interval.high - value
        error = nearer / quantile
    elif moved < FLAT:
        return told
    return told._replace(interval=interval, p=_two_sided(value, error, freedom))


def _newcombe(one: MeanEstimate, other: MeanEstimate) -> Interval:
    """The interval of one share less another (method 10)."""
    first, second = one.interval or Interval(*SHARE), other.interval or Interval(*SHARE)
    down = sqrt((one.value - first.low) ** 2 + (second.high - other.value) ** 2)
    up = sqrt((first.high - one.value) ** 2 + (other.value - second.low) ** 2)
    value = one.value - other.value
    return Interval(value - down, value + up)


def _two_sided(value: float, error: float, freedom: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(value) / error))


class AnsweredQuestion(NamedTuple):
    """One answer of a user about a whole conversation; `query` is the question in words."""

    user: int
    session: int
    model: str
    question: str
    query: str
    option: str

    @property
    def name(self) -> str:
        """What stands for question and option in an address, however long they are."""
        return answer_name(self.question, self.option)


def answer_name(question: str, option: str) -> str:
    """Sixteen hexadecimal digits."""
    return sha256(f"{question}\x1f{option}".encode()).hexdigest()[:16]


class QuestionAnswers(NamedTuple):
    """One question: its options, and by model how many chose each, and how many answered."""

    question: str
    query: str
    options: tuple[str, ...]
    models: tuple[tuple[str, tuple[int, ...], int], ...]


def questions_of(
    user: int, session: int, model: str, answers: Iterable[Mapping[str, object]]
) -> Iterator[AnsweredQuestion]:
    """A stored questionnaire, question by question; what is of another shape is left out."""
    for each in answers:
        question = str(each.get("summary") or each.get("query") or "")
        option = each.get("option")
        if question and isinstance(option, str):
            query = str(each.get("query") or question)
            yield AnsweredQuestion(user, session, model, question, query, option)


def question_answers(rows: Iterable[AnsweredQuestion]) -> tuple[QuestionAnswers, ...]:
    """The answers by question and model: ours in the order of the page, any others by name."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    queries: dict[str, str] = {}
    for row in rows:
        counts.setdefault(row.question, {}).setdefault(row.model, Counter())[row.option] += 1
        queries.setdefault(row.question, row.query)
    ours = [each.summary for each in QUESTIONS]
    order = sorted(counts, key=lambda name: (ours.index(name) if name in ours else len(ours), name))
    return tuple(
        QuestionAnswers(name, queries[name], *_by_option(name, counts[name])) for name in order
    )


def _by_option(
    name: str, models: Mapping[str, Counter[str]]
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[int, ...], int], ...]]:
    """The options, ours in their order and then the commonest, and each model's counts of them."""
    known = next((each.options for each in QUESTIONS if each.summary == name), ())
    chosen: Counter[str] = sum(models.values(), Counter())
    others = [option for option, _n in chosen.most_common() if option not in known]
    options = (*(option for option in known if option in chosen), *others)
    return options, tuple(
        (model, tuple(own[option] for option in options), own.total())
        for model, own in sorted(models.items())
    )
