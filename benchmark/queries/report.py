"""The report of a dataset: every annotator's figures, as scripts and the demo print them."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.models import Dataset
from annotation.queries.annotators import resolve_annotator
from benchmark.core.leanings import leaning_records
from benchmark.core.report import ControlRow, ReportRow, control_rows, report_rows
from benchmark.core.trust import trust_figures
from benchmark.queries.baselines import with_baselines
from benchmark.queries.choices import annotators, check_judge, dataset_of, verdict_runs
from benchmark.queries.evidence import cases_of, labels_of
from benchmark.queries.leanings import leanings_of
from benchmark.queries.satisfaction import SatisfactionFigures, satisfaction_figures
from benchmark.queries.trust import (
    SEED,
    Reader,
    TrustQuestion,
    scoped_figures,
    scoped_labels,
    trust_scope,
)
from judging.core.votes import VoteRule


@dataclass(frozen=True, slots=True)
class Report:
    """Pairwise agreement by annotator and scenario, and satisfaction over all users.

    `leanings` are rows of benchmark.core.leanings: length bias and self-preference. `controls` are
    what stands beside each result.
    """

    dataset: str
    judges: tuple[str, ...]
    rows: tuple[ReportRow, ...]
    satisfaction: SatisfactionFigures | None
    seed: int
    leanings: tuple[dict[str, object], ...] = ()
    controls: tuple[ControlRow, ...] = ()


def report(dataset: str, *, annotator: str = "", judge: str = "") -> Report:
    """The figures of the run to read of each annotator, for all annotators or for one.

    Args:
        dataset: its slug.
        annotator: a name within the dataset, or a user name; empty for all.
        judge: only runs of this judge; empty for the run to read, whoever judged.

    Raises:
        Refused: there is no such dataset; nobody of that name labels in it; the judge decided on
            nothing that they labelled.
    """
    row = dataset_of(dataset)
    only = None
    if annotator:
        known = Dataset.objects.get(pk=row.id)
        only = resolve_annotator(dataset=known, name=annotator).id
    everybody = annotators(row)
    people = [person for person in everybody if only in {None, person.id}]
    rows: list[ReportRow] = []
    controls: list[ControlRow] = []
    judges: dict[str, None] = {}
    leanings: list[dict[str, object]] = []
    runs = {person.id: verdict_runs(row, person) for person in people}
    if judge:
        check_judge(judge, (run.judge for known in runs.values() for run in known))
    for person in people:
        for run in [run for run in runs[person.id] if judge in {"", run.judge}][:1]:
            labels = labels_of(row, person, None)
            others = {each.id: each.name for each in everybody if each.id != person.id}
            cases = cases_of(labels, run, person, None, rule=VoteRule.DEFAULT, others=others)
            cases = with_baselines(cases, run, person)
            figures = trust_figures(cases, labels, seed=SEED)
            rows += report_rows(person.name, figures)
            controls += control_rows(person.name, figures)
            judges[run.judge] = None
            leaning = leanings_of(cases, labels, dataset=row, run=run, seed=SEED)
            leanings += leaning_records(person.name, leaning)
    return Report(
        dataset=dataset,
        judges=tuple(judges),
        rows=tuple(rows),
        satisfaction=satisfaction_figures(row, user=only, seed=SEED),
        seed=SEED,
        leanings=tuple(leanings),
        controls=tuple(controls),
    )


def asked_report(question: TrustQuestion, reader: Reader) -> tuple[ReportRow, ...]:
    """The rows of one annotator as a trust page asks for them.

    Raises:
        Refused: something asked for does not exist, or is not this reader's to see.
    """
    scope = trust_scope(question, reader)
    if scope.annotator is None:
        return ()
    figures = scoped_figures(scope, scoped_labels(scope), compare=False)
    return tuple(report_rows(scope.annotator.name, figures))
