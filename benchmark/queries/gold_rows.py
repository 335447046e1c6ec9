"""The comparisons behind a number of a judge against gold answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.agreement import Coefficient, Measure
from annotation.core.labelling import AnswerKind
from annotation.core.refusals import Refused
from annotation.queries.agreement import AgreementQuestion, agreement_page
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.gold import SUBSETS, Section
from benchmark.core.vote_agreement import AgreementTables
from benchmark.queries.annotators import (
    OPENING_CHARS,
    JudgeOption,
    dataset_vote_agreement,
    gold_answers,
    group_of,
    labellers,
    openings,
)
from benchmark.queries.gold import (
    GoldQuestion,
    GoldScope,
    JudgeReport,
    dataset_gold_reports,
    gold_cases,
    gold_scope,
)
from benchmark.queries.rows import (
    EvidenceRow,
    FoundRow,
    VerdictMatch,
    decision_cells,
    some_combined,
)
from benchmark.queries.trust import SEED

ROWS_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class GoldRows:
    """A page of the comparisons behind a number, and how many there are of each outcome.

    With each row goes who labelled it first, None where nobody did.
    """

    scope: GoldScope
    judge: JudgeOption
    subset: str
    section: Section | None
    outcome: VerdictMatch | None
    counts: Mapping[VerdictMatch, int]
    total: int
    rows: Sequence[tuple[EvidenceRow, int | None]]
    page: Page[FoundRow]

    @property
    def has_combined(self) -> bool:
        """Whether some source recorded one verdict for both orders."""
        return some_combined(row.found for row, _person in self.rows)


def gold_rows(
    question: GoldQuestion,
    *,
    subset: str,
    section: Section | None = None,
    outcome: VerdictMatch | None,
    page: str,
) -> GoldRows:
    """The comparisons behind a number of one judge, a page at a time.

    Args:
        question: as on the page.
        subset: only this scenario; "" for all.
        section: only the subsets of this section of RewardBench; None for all.
        outcome: only comparisons of this outcome; None for all.
        page: its number as in the address; anything odd is the first.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = gold_scope(question)
    if scope.dataset is None or scope.judge is None:
        raise Refused(
            "benchmark:unknown-choice", "no judge decided on comparisons with a gold answer"
        )
    [(judge, cases)] = gold_cases((scope.judge,), gold_answers(scope.dataset))
    here = [
        case
        for case in cases
        if subset in {"", case.subset} and (section is None or case.subset in SUBSETS[section])
    ]
    if not here:
        raise Refused("benchmark:unknown-choice", f"nothing was judged in {subset or section!r}")
    found = [
        FoundRow(case.judged.key, case.subset, case.judged.human, None, case.judged.decisions)
        for case in here
    ]
    kept = [row for row in found if outcome in {None, row.outcome}]
    shown = Paginator(kept, ROWS_A_PAGE).get_page(page)
    return GoldRows(
        scope=scope,
        judge=judge,
        subset=subset,
        section=section,
        outcome=outcome,
        counts=Counter(row.outcome for row in found if row.outcome),
        total=len(found),
        rows=_rows(list(shown.object_list)),
        page=shown,
    )


def _rows(found: Sequence[FoundRow]) -> list[tuple[EvidenceRow, int | None]]:
    texts = openings(row.comparison for row in found)
    people = labellers(row.comparison for row in found)
    return [
        (
            EvidenceRow(
                found=row,
                key=texts[row.comparison][0],
                opening=Truncator(texts[row.comparison][2]).chars(OPENING_CHARS),
                cells=cells,
            ),
            people.get(row.comparison),
        )
        for row, cells in zip(found, decision_cells(found), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class RecordedFigures:
    """Judges against gold, judges beside people, and people two by two; parts may be empty.

    `kappas` are Cohen's of two annotators, by name, on the comparisons that both judged, ties a
    category; those who share the most come first.
    """

    dataset: str
    people: str
    gold: tuple[JudgeReport, ...]
    agreement: tuple[tuple[JudgeOption, AgreementTables], ...]
    kappas: tuple[tuple[str, str, Coefficient], ...]
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
            (judge, tables)
            for judge, tables in dataset_vote_agreement(dataset, people=people)
            if judge.recorded or not recorded_only
        ),
        gold=tuple(
            each
            for each in dataset_gold_reports(dataset, policy=InvalidPolicy.EXCLUDED)
            if each.judge.recorded or not recorded_only
        ),
        kappas=tuple(
            (first, second, kappa)
            for first, second, kappa in _kappas(dataset)
            if not people or {group_of(first), group_of(second)} == {people}
        ),
        seed=SEED,
    )


def _kappas(dataset: str) -> list[tuple[str, str, Coefficient]]:
    try:
        page = agreement_page(AgreementQuestion(dataset=dataset, kind=AnswerKind.VERDICTS))
    except Refused:  # nobody gave a verdict in this dataset
        return []
    if page.report is None:
        return []
    pairs = (
        (page.scope.name(overlap.first), page.scope.name(overlap.second), each)
        for overlap in page.report.overlaps
        for each in overlap.coefficients
        if each.measure is Measure.KAPPA
    )
    return sorted(pairs, key=lambda pair: (-pair[2].items, *pair[:2]))
