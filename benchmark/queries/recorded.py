"""The figures of a dataset's judges and people that papers with recorded data print."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.core.agreement import Coefficient, Measure
from annotation.core.answers import AnswerKind
from annotation.core.refusals import Refused
from annotation.queries.agreement import AgreementQuestion, agreement_page
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.vote_agreement import VoteAgreement
from benchmark.queries.annotators import JudgeOption, dataset_vote_agreement, group_of
from benchmark.queries.gold import JudgeReport, dataset_gold_reports
from benchmark.queries.trust import SEED


@dataclass(frozen=True, slots=True)
class PairKappa:
    """Cohen's kappa of two annotators on the comparisons that both judged, ties a category.

    Lists of them begin with those who share the most.
    """

    first: str
    second: str
    kappa: Coefficient


@dataclass(frozen=True, slots=True)
class RecordedFigures:
    """Judges against gold, judges beside people, and people two by two; parts may be empty."""

    dataset: str
    people: str
    gold: tuple[JudgeReport, ...]
    agreement: tuple[tuple[JudgeOption, tuple[VoteAgreement, ...]], ...]
    kappas: tuple[PairKappa, ...]
    seed: int


def recorded_figures(
    dataset: str, *, people: str = "", recorded_only: bool = False
) -> RecordedFigures:
    """Everything that a dataset's judges and people give.

    Args:
        dataset: its slug.
        people: a group of annotators (expert for expert_1, expert_2 …); empty for all.
        recorded_only: leave out judges whose verdicts were not imported.

    Raises:
        Refused: there is no such dataset; nobody of the group labelled in it.
    """
    return RecordedFigures(
        dataset=dataset,
        people=people,
        agreement=tuple(
            (judge, rows)
            for judge, rows in dataset_vote_agreement(dataset, people=people)
            if judge.recorded or not recorded_only
        ),
        gold=tuple(
            each
            for each in dataset_gold_reports(dataset, policy=InvalidPolicy.EXCLUDED)
            if each.judge.recorded or not recorded_only
        ),
        kappas=tuple(
            pair
            for pair in _kappas(dataset)
            if not people or {group_of(pair.first), group_of(pair.second)} == {people}
        ),
        seed=SEED,
    )


def _kappas(dataset: str) -> tuple[PairKappa, ...]:
    try:
        page = agreement_page(AgreementQuestion(dataset=dataset, kind=AnswerKind.VERDICTS))
    except Refused:  # nobody gave a verdict in this dataset
        return ()
    if page.report is None:
        return ()
    pairs = (
        PairKappa(page.scope.name(overlap.first), page.scope.name(overlap.second), each)
        for overlap in page.report.overlaps
        for each in overlap.coefficients
        if each.measure is Measure.KAPPA
    )
    return tuple(sorted(pairs, key=lambda pair: (-pair.kappa.items, pair.first, pair.second)))
