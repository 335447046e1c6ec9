"""Judges against gold answers: a row a judge, one judge by subset, and the comparisons behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.core.choices import Verdict
from benchmark.core.accuracy import InvalidPolicy, Judged
from benchmark.core.best_of import BestOf, BestOfReport, best_of_report
from benchmark.core.decisions import decide
from benchmark.core.gold import (
    GoldCase,
    GoldFigures,
    GoldReport,
    Section,
    SectionScore,
    gold_report,
)
from benchmark.core.ties import TiesScore
from benchmark.core.trust import BASE, SELECTED
from benchmark.queries.best_of import StoredItem, best_of_items, decided_items, ties_scores
from benchmark.queries.choices import DatasetChoice, dataset_of, picked_dataset
from benchmark.queries.evidence import heard_replies
from benchmark.queries.trust import SEED
from benchmark.queries.verdict_runs import (
    JudgeOption,
    datasets_with_gold,
    gold_answers,
    judge_options,
    picked_judge,
    with_asked,
)


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """What a reader asks; empty fields take the first choice there is. `run` is an option's key."""

    dataset: str = ""
    run: str = ""
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED


@dataclass(frozen=True, slots=True)
class GoldScope:
    """What was asked, resolved, with what else could be asked."""

    question: GoldQuestion
    datasets: tuple[DatasetChoice, ...]
    dataset: DatasetChoice | None
    judges: tuple[JudgeOption, ...]
    judge: JudgeOption | None


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """One judge on all comparisons with gold that it decided on.

    `best_of` is there where the best of several responses is to be named, `ties` beside it where
    the judge scored the answers of RewardBench 2's subset Ties.
    """

    judge: JudgeOption
    report: GoldReport
    best_of: BestOfReport | None = None
    ties: TiesScore | None = None

    @property
    def standing(self) -> float:
        """By which judges are ordered: the benchmark's score where there is one, else accuracy."""
        scores = [each.value for each in self.report.sections if each.section is None]
        return scores[0] if scores else self.report.overall.agreement.value or 0.0


@dataclass(frozen=True, slots=True)
class SectionRow:
    """One judge's section scores, one for each heading of the page; None where it has none."""

    judge: JudgeOption
    scores: tuple[SectionScore | None, ...]


@dataclass(frozen=True, slots=True)
class BestOfRow:
    """One judge's best-of-n accuracy, one for each subset of the page, the mean and all pooled."""

    judge: JudgeOption
    subsets: tuple[BestOf | None, ...]
    mean: BestOf
    overall: BestOf
    ties: TiesScore | None


@dataclass(frozen=True, slots=True)
class SubsetRow:
    """One subset, or all (""), with the figures of each judge of the page; None where none."""

    subset: str
    figures: tuple[tuple[JudgeOption, GoldFigures | None], ...]


@dataclass(frozen=True, slots=True)
class GoldPage:
    """Everything the page shows, judges best first; `report` is that of the chosen judge.

    `answers` counts the gold answers, of which `without` have no decision of the chosen judge.
    """

    scope: GoldScope
    lines: tuple[JudgeReport, ...]
    report: GoldReport | None
    answers: int
    without: int

    @property
    def sections(self) -> tuple[Section | None, ...]:
        """The sections that some judge has a score of, None for that of the benchmark, last."""
        known = {score.section for line in self.lines for score in line.report.sections}
        return tuple(each for each in (*Section, None) if each in known)

    @property
    def section_rows(self) -> tuple[SectionRow, ...]:
        """The judges' scores under these headings."""
        rows = []
        for line in self.lines:
            scores = {score.section: score for score in line.report.sections}
            rows.append(SectionRow(line.judge, tuple(scores.get(each) for each in self.sections)))
        return tuple(rows)

    @property
    def best_of_subsets(self) -> tuple[str, ...]:
        """The subsets in which the best of n responses is to be named."""
        told = (line.best_of.subsets for line in self.lines if line.best_of)
        return tuple(dict.fromkeys(each.subset or "" for subsets in told for each in subsets))

    @property
    def any_ties(self) -> bool:
        """Whether some judge has the score of Ties."""
        return any(line.ties is not None for line in self.lines)

    @property
    def best_of_rows(self) -> tuple[BestOfRow, ...]:
        """The judges' best-of-n accuracy under these headings."""
        rows = []
        for line in self.lines:
            if line.best_of is not None:
                known = {each.subset: each for each in line.best_of.subsets}
                subsets = tuple(known.get(name) for name in self.best_of_subsets)
                rows.append(
                    BestOfRow(
                        line.judge, subsets, line.best_of.mean, line.best_of.overall, line.ties
                    )
                )
        return tuple(rows)

    @property
    def subset_rows(self) -> tuple[SubsetRow, ...]:
        """Every judge on every subset, in the order in which subsets first appear; all last."""
        by_judge = [
            (
                line.judge,
                {each.subset: each for each in (*line.report.subsets, line.report.overall)},
            )
            for line in self.lines
        ]
        names = dict.fromkeys(each.subset for line in self.lines for each in line.report.subsets)
        return tuple(
            SubsetRow(name or "", tuple((judge, known.get(name)) for judge, known in by_judge))
            for name in (*names, None)
        )


def gold_scope(question: GoldQuestion) -> GoldScope:
    """Resolve a question to rows.

    Raises:
        Refused: something asked for does not exist.
    """
    known = with_asked(datasets_with_gold(), question.dataset)
    dataset = picked_dataset(known, question.dataset)
    if dataset is None:
        return GoldScope(question, known, None, (), None)
    judges = judge_options(dataset)
    return GoldScope(question, known, dataset, judges, picked_judge(judges, question.run))


def gold_page(question: GoldQuestion) -> GoldPage:
    """Every judge against gold, and the chosen one by subset.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = gold_scope(question)
    if scope.dataset is None:
        return GoldPage(scope, (), None, 0, 0)
    answers = gold_answers(scope.dataset)
    cases = dict(gold_cases(scope.judges, answers))
    lines = _reports(cases, best_of_items(scope.dataset, answers), policy=question.policy)
    report = next((line.report for line in lines if line.judge == scope.judge), None)
    decided = len(cases[scope.judge]) if scope.judge else 0
    ordered = tuple(sorted(lines, key=lambda line: (-line.standing, line.judge.judge)))
    return GoldPage(scope, ordered, report, len(answers), len(answers) - decided)


def dataset_gold_reports(dataset: str, *, policy: InvalidPolicy) -> tuple[JudgeReport, ...]:
    """Every judge of a dataset against its gold answers.

    Raises:
        Refused: there is no such dataset.
    """
    row = dataset_of(dataset)
    answers = gold_answers(row)
    cases = dict(gold_cases(judge_options(row), answers))
    return tuple(_reports(cases, best_of_items(row, answers), policy=policy))


def _reports(
    cases: Mapping[JudgeOption, Sequence[GoldCase]],
    items: tuple[StoredItem, ...],
    *,
    policy: InvalidPolicy,
) -> list[JudgeReport]:
    """Each judge that decided on anything."""
    ties = ties_scores(items, (judge.run for judge in cases))
    return [
        JudgeReport(
            judge,
            gold_report(own, seed=SEED, policy=policy),
            best_of_report(
                decided_items(items, {case.judged.key: case.judged.decisions for case in own}),
                seed=SEED,
                policy=policy,
            ),
            ties.get(judge.run),
        )
        for judge, own in cases.items()
        if own
    ]


def gold_cases(
    judges: Sequence[JudgeOption], answers: Mapping[int, tuple[str, str]]
) -> Iterator[tuple[JudgeOption, list[GoldCase]]]:
    """The comparisons with gold that each judge decided on, in file order."""
    decided: dict[tuple[int, str], dict[int, GoldCase]] = {}
    for voice in (BASE, SELECTED):
        runs = {judge.run for judge in judges if judge.voice == voice}
        for heard in heard_replies(runs, voice) if runs else ():
            gold = answers.get(heard.comparison)
            if gold is None:
                continue
            decisions = decide(heard.replies, heard.members)
            if decisions:
                judged = Judged(heard.comparison, Verdict(gold[1]), decisions)
                cases = decided.setdefault((heard.run, voice.panel), {})
                cases[heard.comparison] = GoldCase(gold[0], judged)
    for judge in judges:
        own = decided.get((judge.run, judge.voice.panel), {})
        yield judge, [own[comparison] for comparison in answers if comparison in own]
