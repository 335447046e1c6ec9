"""The queue of comparisons on which a judge and a person disagree, its surest verdicts first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset
from annotation.queries.participants import names_of
from benchmark.core.decisions import Disagreement, Opinion, disagreements
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

    @property
    def listed(self) -> set[int]:
        """Whose labels: of the one asked for; else whom the judge stands in for; else everybody."""
        if self.question.annotator is not None:
            return {self.question.annotator}
        of = self.judge.of if self.judge else ""
        return {key for key, name in self.annotators.items() if of in {"", name}}

    @property
    def trusted(self) -> int | None:
        """The annotator whose trust page has this run; None where it is of several."""
        of = self.judge.of if self.judge else ""
        found = {key for key in self.listed if of in {"", self.annotators[key]}}
        return found.pop() if len(found) == 1 else None


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
    """A page of the queue; `compared` labels have a verdict of the judge beside them.

    Of those that are `different`, the `opposed` name the other response; the rest meet a tie.
    """

    scope: QueueScope
    rows: Sequence[DisagreementRow]
    page: Page[Disagreement] | None
    compared: int
    different: int
    opposed: int = 0

    @property
    def tied(self) -> int:
        """Labels that differ in that one of the two says tie."""
        return self.different - self.opposed


def queue_page(question: DisagreementQuestion, *, page: str) -> QueuePage:
    """The disagreements of a question, a page at a time.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = _scope(question)
    if scope.dataset is None or scope.judge is None:
        return QueuePage(scope, (), None, 0, 0)
    human = human_verdicts(scope.dataset, scope.annotators)
    names = _scenario_names(scope.dataset)
    labels = _labels(scope, human, voice_opinions(scope.judge.run, scope.judge.voice))
    found = disagreements(labels)
    shown = _asked(found, question)
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
        opposed=sum(row.opposed for row in found),
    )


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """One label beside the judge's verdict, and the queue that it may stand in.

    `labelled` people gave a verdict on the comparison.
    """

    scope: QueueScope
    row: Disagreement
    queue: Sequence[Disagreement]
    labelled: int

    @property
    def adjudicable(self) -> bool:
        """Whether it has a page to be decided on."""
        return self.labelled >= SEVERAL

    @property
    def number(self) -> int | None:
        """Its place in the queue, from 1 on; None where the two agree, or the filter hides it."""
        return self.queue.index(self.row) + 1 if self.row in self.queue else None

    @property
    def before(self) -> Disagreement | None:
        """The disagreement that comes before it."""
        return self.queue[self.number - 2] if self.number and self.number > 1 else None

    @property
    def after(self) -> Disagreement | None:
        """The one that comes after it; of what is not in the queue its first."""
        place = self.number or 0
        return self.queue[place] if place < len(self.queue) else None

    @property
    def annotator(self) -> str:
        """Who gave the label."""
        return self.scope.annotators[self.row.annotator]


def queue_place(question: DisagreementQuestion, comparison: int, annotator: int) -> QueuePlace:
    """A person's verdict on one comparison beside the judge's, and what is next in the queue.

    Raises:
        Refused: something asked for does not exist; one of the two gave no verdict.
    """
    scope = _scope(question)
    if scope.dataset is None or scope.judge is None or annotator not in scope.annotators:
        raise Refused("benchmark:unknown-choice", "no such label")
    human = human_verdicts(scope.dataset, scope.annotators)
    opinions = voice_opinions(scope.judge.run, scope.judge.voice)
    said = opinions.get(comparison)
    verdict = human.get(comparison, {}).get(annotator)
    if said is None or verdict is None:
        raise Refused("benchmark:unknown-choice", f"nothing to compare on comparison {comparison}")
    queue = _asked(disagreements(_labels(scope, human, opinions)), question)
    row = Disagreement(comparison, annotator, verdict, said)
    return QueuePlace(scope, row, queue, labelled=len(human[comparison]))


def _asked(found: list[Disagreement], question: DisagreementQuestion) -> list[Disagreement]:
    return [row for row in found if row.opposed] if question.opposed else found


def _labels(
    scope: QueueScope, human: Mapping[int, Mapping[int, Verdict]], said: Mapping[int, Opinion]
) -> list[tuple[int, int, Verdict, Opinion]]:
    """The labels asked for that have a ballot of the judge beside them."""
    listed, wanted = scope.listed, scope.scenario and scope.scenario.name
    names = _scenario_names(scope.dataset) if scope.dataset and wanted else {}
    return [
        (comparison, annotator, verdict, said[comparison])
        for comparison, given in human.items()
        if comparison in said and names.get(comparison) == wanted
        for annotator, verdict in given.items()
        if annotator in listed and said[comparison].ballots
    ]


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


def _scenario_names(dataset: DatasetChoice) -> dict[int, str]:
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id)
    return dict(rows.values_list("pk", "turn__session__scenario__name"))
