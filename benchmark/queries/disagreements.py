"""The queue of comparisons on which a judge and a person disagree, its surest verdicts first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset
from annotation.queries.participants import names_of
from benchmark.core.decisions import Disagreement, disagreements
from benchmark.queries.annotators import (
    OPENING_CHARS,
    JudgeOption,
    datasets_with_labels,
    human_verdicts,
    judge_options,
    openings,
    picked_judge,
    with_asked,
)
from benchmark.queries.choices import (
    DatasetChoice,
    ScenarioChoice,
    picked,
    picked_dataset,
    scenarios,
)
from benchmark.queries.evidence import voice_opinions

ROWS_A_PAGE: Final = 50
SEVERAL: Final = 2
"""Annotators from which on a comparison can be adjudicated."""


@dataclass(frozen=True, slots=True)
class DisagreementQuestion:
    """What a reader asks; empty fields take the first dataset and run, and everybody.

    `opposed` leaves out where either says tie.
    """

    dataset: str = ""
    run: str = ""
    annotator: int | None = None
    scenario: int | None = None
    opposed: bool = False


@dataclass(frozen=True, slots=True)
class QueueScope:
    """What was asked, resolved, with what else could be asked; `annotators` are names by id."""

    question: DisagreementQuestion
    datasets: tuple[DatasetChoice, ...]
    dataset: DatasetChoice | None
    judges: tuple[JudgeOption, ...]
    judge: JudgeOption | None
    annotators: Mapping[int, str]
    scenarios: tuple[ScenarioChoice, ...]
    scenario: ScenarioChoice | None


@dataclass(frozen=True, slots=True)
class DisagreementRow:
    """One disagreement; `labelled` people gave a verdict on the comparison."""

    found: Disagreement
    key: str
    session: str
    opening: str
    scenario: str
    annotator: str
    labelled: int

    @property
    def adjudicable(self) -> bool:
        """Whether it has a page to be decided on."""
        return self.labelled >= SEVERAL


@dataclass(frozen=True, slots=True)
class QueuePage:
    """A page of the queue; `compared` labels have a verdict of the judge beside them."""

    scope: QueueScope
    rows: Sequence[DisagreementRow]
    page: Page[Disagreement] | None
    compared: int
    different: int


def queue_page(question: DisagreementQuestion, *, page: str) -> QueuePage:
    """The disagreements of a question, a page at a time.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = _scope(question)
    if scope.dataset is None or scope.judge is None:
        return QueuePage(scope, (), None, 0, 0)
    human = human_verdicts(scope.dataset, scope.annotators)
    said = voice_opinions(scope.judge.run, scope.judge.voice)
    names = _scenario_names(scope.dataset)
    kept = _kept_annotators(scope)
    wanted = scope.scenario.name if scope.scenario else None
    labels = [
        (comparison, annotator, verdict, said[comparison])
        for comparison, given in human.items()
        if comparison in said and wanted in {None, names[comparison]}
        for annotator, verdict in given.items()
        if annotator in kept and said[comparison].ballots
    ]
    found = disagreements(labels)
    shown = [row for row in found if row.opposed] if question.opposed else found
    listed = Paginator(shown, ROWS_A_PAGE).get_page(page)
    rows = list(listed.object_list)
    texts = openings(row.comparison for row in rows)
    return QueuePage(
        scope=scope,
        rows=[
            DisagreementRow(
                found=row,
                key=texts[row.comparison][0],
                session=texts[row.comparison][1],
                opening=Truncator(texts[row.comparison][2]).chars(OPENING_CHARS),
                scenario=names[row.comparison],
                annotator=scope.annotators[row.annotator],
                labelled=len(human[row.comparison]),
            )
            for row in rows
        ],
        page=listed,
        compared=len(labels),
        different=len(found),
    )


def _scope(question: DisagreementQuestion) -> QueueScope:
    known = with_asked(datasets_with_labels(), question.dataset)
    dataset = picked_dataset(known, question.dataset)
    if dataset is None:
        return QueueScope(question, known, None, (), None, {}, (), None)
    names = names_of(dataset=Dataset(pk=dataset.id, slug=dataset.slug))
    if question.annotator is not None and question.annotator not in names:
        raise Refused(
            "benchmark:unknown-choice", f"nobody of number {question.annotator} labelled here"
        )
    topics, judges = scenarios(dataset), judge_options(dataset)
    return QueueScope(
        question=question,
        datasets=known,
        dataset=dataset,
        judges=judges,
        judge=picked_judge(judges, question.run),
        annotators=dict(sorted(names.items(), key=lambda each: each[1])),
        scenarios=topics,
        scenario=None if question.scenario is None else picked(topics, question.scenario),
    )


def _kept_annotators(scope: QueueScope) -> set[int]:
    """The one asked for; else whom the judge stands in for; else everybody."""
    if scope.question.annotator is not None:
        return {scope.question.annotator}
    of = scope.judge.of if scope.judge else ""
    return {key for key, name in scope.annotators.items() if of in {"", name}}


def _scenario_names(dataset: DatasetChoice) -> dict[int, str]:
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id)
    return dict(rows.values_list("pk", "turn__session__scenario__name"))
