"""Which datasets have answers, and these as columns of numbers in canonical coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.agreement_report import Answers
from annotation.core.answers import VERDICT_VALUES, AnswerKind
from annotation.core.choices import Verdict
from annotation.models import Dataset, PairwiseLabel, SatisfactionLabel

_VERDICT_NUMBERS = {verdict.value: number for number, verdict in enumerate(VERDICT_VALUES)}


@dataclass(frozen=True, slots=True)
class DatasetOption:
    """A dataset with answers, and of which kinds."""

    id: int
    slug: str
    name: str
    simulated: bool
    kinds: tuple[AnswerKind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReadAnswers:
    """The answers, and the two models that each model pair's number stands for.

    Hidden repeats are left out: they measure an annotator against themselves.
    """

    answers: Answers
    models: tuple[tuple[str, str], ...]


def read_answers(
    dataset: int, kind: AnswerKind, *, ties: bool = True, study: int | None = None
) -> ReadAnswers:
    """A dataset's answers of a kind, oldest first: one query for verdicts, two for scores.

    Args:
        dataset: The dataset's number.
        kind: Verdicts or scores.
        ties: Whether ties count as answers; without, they are left out.
        study: Only those given in this study.
    """
    if kind is AnswerKind.VERDICTS:
        return _verdicts(dataset, ties=ties, study=study)
    return ReadAnswers(_scores(dataset, study=study), ())


def _verdicts(dataset: int, *, ties: bool, study: int | None) -> ReadAnswers:
    labels = _given(PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset), study)
    if not ties:
        labels = labels.exclude(verdict=Verdict.TIE)
    rows = list(
        labels.values_list(
            "comparison",
            "annotator",
            "verdict",
            "comparison__turn__session__scenario",
            "comparison__response_a__model",
            "comparison__response_b__model",
        )
    )
    named = {(row[4], row[5]): tuple(sorted((row[4], row[5]))) for row in rows}
    pairs = sorted(set(named.values()))
    numbers = {models: pairs.index(pair) for models, pair in named.items()}
    answers = _columns(
        (2 * item, annotator, _VERDICT_NUMBERS[verdict], scenario, numbers[a, b])
        for item, annotator, verdict, scenario, a, b in rows
    )
    return ReadAnswers(answers, tuple((first, second) for first, second in pairs))


def _scores(dataset: int, *, study: int | None) -> Answers:
    labels = SatisfactionLabel.objects
    of_turns = _given(labels.filter(response__turn__session__dataset=dataset), study)
    of_sessions = _given(labels.filter(session__dataset=dataset), study)
    rows = [
        (2 * item, annotator, score - 1, scenario, -1)
        for item, annotator, score, scenario in of_turns.values_list(
            "response", "annotator", "score", "response__turn__session__scenario"
        )
    ]
    rows += [
        (2 * item + 1, annotator, score - 1, scenario, -1)
        for item, annotator, score, scenario in of_sessions.values_list(
            "session", "annotator", "score", "session__scenario"
        )
    ]
    return _columns(rows)


def _given(labels: QuerySet[Any], study: int | None) -> QuerySet[Any]:
    chosen = labels.filter(repeat_index=0).order_by("pk")
    return chosen if study is None else chosen.filter(study=study)


def _columns(rows: Iterable[Sequence[int]]) -> Answers:
    table = np.array(list(rows), dtype=np.int64).reshape(-1, 5)
    return Answers(*table.T)


def dataset_options() -> tuple[DatasetOption, ...]:
    """The datasets in which somebody answered, by name. One query."""
    verdicts = PairwiseLabel.objects.filter(comparison__turn__session__dataset=OuterRef("pk"))
    of_turns = SatisfactionLabel.objects.filter(response__turn__session__dataset=OuterRef("pk"))
    of_sessions = SatisfactionLabel.objects.filter(session__dataset=OuterRef("pk"))
    rows = (
        Dataset.objects.annotate(
            has_verdicts=Exists(verdicts), has_scores=Q(Exists(of_turns) | Exists(of_sessions))
        )
        .filter(Q(has_verdicts=True) | Q(has_scores=True))
        .order_by("name", "slug")
    )
    return tuple(
        DatasetOption(
            row.pk,
            row.slug,
            row.name,
            row.simulated,
            tuple(
                kind
                for kind, there in (
                    (AnswerKind.VERDICTS, row.has_verdicts),
                    (AnswerKind.SCORES, row.has_scores),
                )
                if there
            ),
        )
        for row in rows
    )
