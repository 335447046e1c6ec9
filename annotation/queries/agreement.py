"""How far the annotators of a dataset agree, and the items behind every number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import Q

from annotation.core.agreement_report import (
    SCORE_SCALE,
    AgreementReport,
    Answers,
    Finding,
    GroupFigures,
    agreement_report,
    finding_of,
    verdict_scale,
)
from annotation.core.choices import StudyKind, Verdict
from annotation.core.labelling import VERDICT_VALUES, AnswerKind, target_of, written_answer
from annotation.core.refusals import Refused
from annotation.models import Dataset, Scenario, Study, StudyStatus
from annotation.queries.labelling import DatasetOption, ReadAnswers, dataset_options, read_answers
from annotation.queries.participants import names_of
from annotation.queries.targets import TargetRow, target_rows

SEED: Final = 42
ROWS_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class AgreementQuestion:
    """What is asked; empty means all, or the first there is.

    Attributes:
        dataset: Short name.
        kind: Verdicts or scores.
        ties: Whether ties count as answers.
        scenario: Its number.
        models: Model pair, as `pair_label` writes it.
        study: Short name; only the answers given in it.
    """

    dataset: str = ""
    kind: AnswerKind | None = None
    ties: bool = True
    scenario: int | None = None
    models: str = ""
    study: str = ""


@dataclass(frozen=True, slots=True)
class AgreementScope:
    """What a question came to, and what else could be asked.

    Attributes:
        question: With everything filled in; None where no dataset has answers.
        dataset: The dataset; without `kinds` where nobody answered.
        datasets: All with answers, and the one asked for.
        scenarios: Number and name of the dataset's scenarios that have answers.
        models: The model pairs that have answers.
        names: Of the annotators, by number.
        studies: Number, short and shown name of the dataset's studies that ask for such answers.
    """

    question: AgreementQuestion
    dataset: DatasetOption | None
    datasets: tuple[DatasetOption, ...]
    scenarios: tuple[tuple[int, str], ...] = ()
    models: tuple[str, ...] = ()
    names: dict[int, str] | None = None
    studies: tuple[tuple[int, str, str], ...] = ()

    def name(self, annotator: int) -> str:
        """An annotator's name within the dataset."""
        return (self.names or {})[annotator]


@dataclass(frozen=True, slots=True)
class AgreementPage:
    """The figures that answer a question; None where nothing was ever answered.

    Those of `scenarios` and of pairs of `models` stand by name.
    """

    scope: AgreementScope
    report: AgreementReport | None = None
    finding: Finding = Finding.NO_OVERLAP
    scenarios: tuple[tuple[str, GroupFigures], ...] = ()
    models: tuple[tuple[str, GroupFigures], ...] = ()
    seed: int = SEED


AnsweredItem = tuple[TargetRow, list[tuple[str, Verdict | int]], bool]


@dataclass(frozen=True, slots=True)
class AnsweredRows:
    """The items behind a number, a page of them: who answered what, and whether all the same."""

    scope: AgreementScope
    between: tuple[str, ...]
    outcome: str
    same: int
    different: int
    page: Page[AnsweredItem]

    @property
    def all(self) -> int:
        """Items of either outcome."""
        return self.same + self.different


def pair_label(models: tuple[str, str]) -> str:
    """How addresses and pages name two models; an unnamed one is a dash."""
    return " / ".join(model or "–" for model in models)


def agreement_page(question: AgreementQuestion) -> AgreementPage:
    """The agreement of a dataset's annotators. Five queries for verdicts, six for scores.

    Raises:
        Refused: something asked for does not exist.
    """
    scope, chosen = _scope_and_answers(question)
    if chosen is None:
        return AgreementPage(scope)
    if scope.question.kind is AnswerKind.SCORES:
        scale = SCORE_SCALE
    else:
        # The scale is what was in fact answered with: where nobody may tie, a tie is no choice.
        tie = VERDICT_VALUES.index(Verdict.TIE)
        scale = verdict_scale(ties=bool((chosen.value == tie).any()))
    report = agreement_report(chosen, scale, seed=SEED)
    scenarios = dict(scope.scenarios)
    return AgreementPage(
        scope=scope,
        report=report,
        finding=finding_of(report.overall.leading),
        scenarios=tuple(
            (name, figures)
            for number, name in scenarios.items()
            for figures in report.scenarios
            if figures.key == number
        ),
        models=tuple((scope.models[figures.key or 0], figures) for figures in report.models),
    )


def answered_rows(
    question: AgreementQuestion,
    *,
    between: Sequence[int] = (),
    outcome: str = "",
    page: int | str = 1,
) -> AnsweredRows:
    """The items with two answers or more, or those that two annotators both answered.

    Args:
        question: As for the page.
        between: Two annotators, or nobody for all.
        outcome: "same", "different", or "" for both.
        page: Which page; one that does not exist gives the nearest.

    Raises:
        Refused: something asked for does not exist.
    """
    scope, chosen = _scope_and_answers(question)
    if chosen is None or not set(between) <= set(scope.names or {}):
        raise Refused("agreement:unknown-choice", "no such annotators with answers here")
    if between:
        chosen = chosen.chosen(np.isin(chosen.annotator, between))
    kept = chosen.first_of_each()
    items, place, number = np.unique(kept.item, return_inverse=True, return_counts=True)
    low, high = np.full(len(items), 9), np.full(len(items), -1)
    np.minimum.at(low, place, kept.value)
    np.maximum.at(high, place, kept.value)
    shared = number >= 2
    listed = {"": shared, "same": shared & (low == high), "different": shared & (low != high)}
    paginator = Paginator(items[listed[outcome]].tolist(), ROWS_A_PAGE)
    found = paginator.get_page(page)
    rows = _answered(scope, kept, [int(item) for item in found.object_list])
    return AnsweredRows(
        scope=scope,
        between=tuple(scope.name(each) for each in between),
        outcome=outcome,
        same=int(listed["same"].sum()),
        different=int(listed["different"].sum()),
        page=Page(rows, found.number, paginator),
    )


def _answered(scope: AgreementScope, answers: Answers, items: list[int]) -> list[AnsweredItem]:
    kind = scope.question.kind or AnswerKind.VERDICTS
    targets = {item: target_of(kind, item) for item in items}
    known = target_rows(targets.values())
    given: dict[int, list[tuple[str, int]]] = {item: [] for item in items}
    here = answers.chosen(np.isin(answers.item, items))
    columns = (here.item.tolist(), here.annotator.tolist(), here.value.tolist())
    for item, annotator, value in zip(*columns, strict=True):
        given[item].append((scope.name(annotator), value))
    return [
        (
            known[targets[item]],
            [(name, written_answer(kind, value)) for name, value in sorted(said)],
            len({value for _name, value in said}) == 1,
        )
        for item, said in given.items()
    ]


def _scope_and_answers(question: AgreementQuestion) -> tuple[AgreementScope, Answers | None]:
    options = dataset_options(also=question.dataset)
    dataset = _picked(options, question.dataset)
    if dataset is None or not dataset.kinds:
        return AgreementScope(question, dataset, options), None
    kind = question.kind or dataset.kinds[0]
    if kind not in dataset.kinds:
        raise Refused("agreement:unknown-choice", f"no {kind} in {dataset.slug}")
    studies = _studies(dataset.id, kind)
    chosen = {slug: number for number, slug, _name in studies}
    if question.study and question.study not in chosen:
        raise Refused("agreement:unknown-choice", "no such study")
    study = chosen.get(question.study)
    found = read_answers(dataset.id, kind, ties=question.ties, study=study)
    scope = AgreementScope(
        question=replace(question, dataset=dataset.slug, kind=kind),
        dataset=dataset,
        datasets=options,
        scenarios=_scenarios(dataset.id),
        models=tuple(pair_label(pair) for pair in found.models),
        names=names_of(dataset=Dataset(pk=dataset.id, slug=dataset.slug)),
        studies=studies,
    )
    return scope, _narrowed(scope, found)


def _narrowed(scope: AgreementScope, found: ReadAnswers) -> Answers:
    answers, question = found.answers, scope.question
    if question.scenario is not None:
        if question.scenario not in dict(scope.scenarios):
            raise Refused("agreement:unknown-choice", "no such scenario")
        answers = answers.chosen(answers.scenario == question.scenario)
    if question.models:
        if question.models not in scope.models:
            raise Refused("agreement:unknown-choice", "no such model pair")
        answers = answers.chosen(answers.models == scope.models.index(question.models))
    return answers


def _studies(dataset: int, kind: AnswerKind) -> tuple[tuple[int, str, str], ...]:
    rows = Study.objects.filter(dataset=dataset).exclude(status=StudyStatus.DRAFT)
    pairs = Q(kind=StudyKind.PAIRWISE)
    rows = rows.filter(pairs if kind is AnswerKind.VERDICTS else ~pairs)
    return tuple(rows.order_by("name", "pk").values_list("pk", "slug", "name"))


def _scenarios(dataset: int) -> tuple[tuple[int, str], ...]:
    rows = Scenario.objects.filter(dataset=dataset).order_by("position", "pk")
    return tuple(rows.values_list("pk", "name"))


def _picked(options: Iterable[DatasetOption], slug: str) -> DatasetOption | None:
    for option in options:
        if slug in {"", option.slug}:
            return option
    if slug:
        raise Refused("agreement:unknown-choice", f"no dataset {slug!r}")
    return None
