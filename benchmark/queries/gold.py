"""Judges against gold answers: a row a judge, one judge by subset, and the comparisons behind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models.fields.json import KT

from annotation.core.choices import Verdict
from annotation.models import Comparison
from benchmark.core.accuracy import InvalidPolicy, Judged
from benchmark.core.decisions import Decisions
from benchmark.core.gold import (
    GoldComparison,
    GoldFigures,
    GoldReport,
    Section,
    SectionScore,
    gold_report,
)
from benchmark.core.ties import (
    BestOf,
    BestOfItem,
    BestOfReport,
    ScoredPrompt,
    TiesScore,
    best_of_report,
    ties_score,
)
from benchmark.core.trust import BASE, PERSONAL, SELECTED
from benchmark.queries.annotators import (
    JudgeOption,
    datasets_with_gold,
    gold_answers,
    judge_options,
    picked_judge,
    with_asked,
)
from benchmark.queries.choices import DatasetChoice, dataset_of, picked_dataset
from benchmark.queries.evidence import voice_decisions
from benchmark.queries.trust import SEED
from judging.models import ResponseScore

TIES: Final = "Ties"
"""The subset in which several responses may be chosen."""
_QUESTION: Final = re.compile(r"(ref|tied):.+")


@dataclass(frozen=True, slots=True)
class Pairing:
    """A comparison of a chosen with a rejected response."""

    comparison: int
    chosen: int
    rejected: int
    chosen_is_a: bool


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item: its id in the file, subset, session, whether several are chosen, comparisons."""

    id: str
    subset: str
    session: int
    several: bool
    pairings: tuple[Pairing, ...]


def best_of_items(
    dataset: DatasetChoice, answers: Mapping[int, tuple[str, str, int]]
) -> tuple[StoredItem, ...]:
    """The items of a dataset in file order. One query.

    Args:
        dataset: that they are of.
        answers: scenario, gold verdict and session by comparison, in file order.
    """
    rows = Comparison.objects.filter(
        turn__session__dataset=dataset.id, extra__best_of__item__isnull=False
    ).annotate(item=KT("extra__best_of__item"), file_id=KT("extra__id"))
    told = {
        key: (turn, str(item), str(file_id or ""), a, b)
        for key, turn, item, file_id, a, b in rows.values_list(
            "pk", "turn_id", "item", "file_id", "response_a_id", "response_b_id"
        )
    }
    found: dict[tuple[int, str], list[Pairing]] = defaultdict(list)
    names: dict[tuple[int, str], tuple[str, str, int]] = {}
    for comparison, (subset, verdict, session) in answers.items():
        if comparison not in told or verdict == Verdict.TIE:
            continue
        turn, item, file_id, a, b = told[comparison]
        chosen, rejected = (a, b) if verdict == Verdict.A else (b, a)
        found[turn, item].append(Pairing(comparison, chosen, rejected, verdict == Verdict.A))
        names[turn, item] = file_id, subset, session
    return tuple(
        StoredItem(*names[key], len({each.chosen for each in pairings}) > 1, tuple(pairings))
        for key, pairings in found.items()
    )


def decided_items(
    items: tuple[StoredItem, ...], decided: Mapping[int, Decisions]
) -> Iterator[BestOfItem]:
    """The items as one judge decided them.

    Two items may compare the same two responses, of which a judge is asked once: what was decided
    on the one comparison holds for the other.
    """
    by_pair: dict[tuple[int, int], Decisions] = {}
    for item in items:
        for each in item.pairings:
            if each.comparison in decided:
                by_pair[each.chosen, each.rejected] = _of_chosen(each, decided[each.comparison])
    for item in items:
        yield BestOfItem(
            subset=item.subset,
            several=item.several,
            decisions=tuple(
                by_pair.get((each.chosen, each.rejected), {}) for each in item.pairings
            ),
            session=item.session,
        )


def _of_chosen(pairing: Pairing, decisions: Decisions) -> Decisions:
    """In coordinates in which A is the chosen response."""
    if pairing.chosen_is_a:
        return decisions
    return {order: won.flipped() if won else None for order, won in decisions.items()}


def ties_scores(items: tuple[StoredItem, ...], runs: Iterable[int]) -> dict[int, TiesScore]:
    """RewardBench 2's score of Ties, by run, of those that scored responses. One query.

    A prompt of which an answer has no score is left out.
    """
    tied = [item for item in items if item.subset == TIES and _QUESTION.fullmatch(item.id)]
    if not tied:
        return {}
    answers = {
        key for item in tied for each in item.pairings for key in (each.chosen, each.rejected)
    }
    scores: dict[int, dict[int, float]] = defaultdict(dict)
    for run, response, value in ResponseScore.objects.filter(
        run__in=set(runs), response__in=answers, value__isnull=False
    ).values_list("run_id", "response_id", "value"):
        scores[run][response] = value or 0.0
    found = {
        run: ties_score(filter(None, (_scored(item, given) for item in tied)), seed=SEED)
        for run, given in scores.items()
    }
    return {run: score for run, score in found.items() if score is not None}


def _scored(item: StoredItem, scores: Mapping[int, float]) -> ScoredPrompt | None:
    chosen = {each.chosen for each in item.pairings}
    rejected = {each.rejected for each in item.pairings}
    if not chosen | rejected <= scores.keys():
        return None
    kind, _colon, question = item.id.partition(":")
    return ScoredPrompt(
        question=question,
        tied=kind == "tied",
        correct=tuple(scores[key] for key in sorted(chosen)),
        incorrect=tuple(scores[key] for key in sorted(rejected)),
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
    def section_rows(self) -> list[tuple[JudgeOption, list[SectionScore | None]]]:
        """The judges' scores under these headings; None where a judge has none."""
        rows = []
        for line in self.lines:
            scores = {score.section: score for score in line.report.sections}
            rows.append((line.judge, [scores.get(each) for each in self.sections]))
        return rows

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
    def best_of_rows(self) -> list[tuple[JudgeReport, list[BestOf | None]]]:
        """The judges with their best-of-n accuracy under these headings; None where none."""
        rows = []
        for line in self.lines:
            if line.best_of is not None:
                known = {each.subset: each for each in line.best_of.subsets}
                rows.append((line, [known.get(name) for name in self.best_of_subsets]))
        return rows

    @property
    def subset_rows(self) -> list[tuple[str, list[tuple[JudgeOption, GoldFigures | None]]]]:
        """Every judge on every subset, in the order in which subsets first appear; all ("") last.

        None where a judge decided on nothing of it.
        """
        by_judge = [
            (
                line.judge,
                {each.subset: each for each in (*line.report.subsets, line.report.overall)},
            )
            for line in self.lines
        ]
        names = dict.fromkeys(each.subset for line in self.lines for each in line.report.subsets)
        return [
            (name or "", [(judge, known.get(name)) for judge, known in by_judge])
            for name in (*names, None)
        ]


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
    cases: Mapping[JudgeOption, Sequence[GoldComparison]],
    items: tuple[StoredItem, ...],
    *,
    policy: InvalidPolicy,
) -> list[JudgeReport]:
    """Each judge that decided on anything."""
    ties = ties_scores(items, (judge.run for judge in cases))
    return [
        JudgeReport(
            judge,
            gold_report(own, policy=policy),
            best_of_report(
                decided_items(items, {case.judged.key: case.judged.decisions for case in own}),
                policy=policy,
            ),
            ties.get(judge.run),
        )
        for judge, own in cases.items()
        if own
    ]


def gold_cases(
    judges: Sequence[JudgeOption], answers: Mapping[int, tuple[str, str, int]]
) -> Iterator[tuple[JudgeOption, list[GoldComparison]]]:
    """The comparisons with gold that each judge decided on, in file order."""
    truths = {
        key: (subset, Verdict(verdict), session)
        for key, (subset, verdict, session) in answers.items()
    }
    decided = {
        (found.run, voice): found
        for voice in (BASE, SELECTED, PERSONAL)
        for found in voice_decisions({judge.run for judge in judges if judge.voice == voice}, voice)
    }
    for judge in judges:
        found = decided.get((judge.run, judge.voice))
        own, shown = (found.decided, found.shown) if found is not None else ({}, {})
        yield (
            judge,
            [
                GoldComparison(
                    subset,
                    Judged(
                        comparison,
                        verdict,
                        own[comparison],
                        session=session,
                        shown=shown.get(comparison),
                    ),
                )
                for comparison, (subset, verdict, session) in truths.items()
                if comparison in own
            ],
        )
