"""The rows behind a number: comparisons with the human's verdict and the judge's decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import Order, Verdict
from annotation.core.refusals import Refused
from benchmark.core.decisions import Decisions
from benchmark.core.personal import common_cases
from benchmark.core.trust import (
    BASE,
    PERSONAL,
    SELECTED,
    SHUFFLED,
    STACK,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
)
from benchmark.queries.annotators import openings, voice_key
from benchmark.queries.trust import (
    Reader,
    TrustQuestion,
    TrustScope,
    scoped_cases,
    scoped_labels,
    trust_scope,
    voice_run,
)
from judging.core.votes import score
from judging.models import JudgeRun, RunStatus
from judging.queries.configurations import applied_plans

PAGE_SIZE: Final = 50
_OPENING: Final = 160


class NumberOwner(StrEnum):
    """Whose number it is that the rows stand behind; the last eight stand beside a result.

    OWN is what stands in for the annotator, PERSONAL the same where somebody else's judge decided,
    too.
    """

    HUMAN = "human"
    BASE = "base"
    SELECTED = "selected"
    SHUFFLED = "shuffled"
    OWN = "own"
    STACK = "stack"
    PERSONAL = "personal"
    OTHER = "other"
    RUBRIC = "rubric"
    LONGER = "longer"
    SHORTER = "shorter"
    FIRST = "first"
    MAJORITY = "majority"


class VerdictMatch(StrEnum):
    """How a judge's decisions on one comparison stand to the human's verdict."""

    AGREES = "agrees"
    SPLIT = "split"
    DISAGREES = "disagrees"
    UNREADABLE = "unreadable"


VOICES: Final = {
    NumberOwner.BASE: BASE,
    NumberOwner.SELECTED: SELECTED,
    NumberOwner.SHUFFLED: SHUFFLED,
    NumberOwner.OWN: PERSONAL,
    NumberOwner.STACK: STACK,
}

_QUEUED: Final = {NumberOwner.BASE, NumberOwner.SELECTED, NumberOwner.OWN, NumberOwner.STACK}


def voice_behind(behind: NumberOwner, who: str = "") -> Condition:
    """The voice that a number is of; `who` is an annotator's name, or a prompt.

    Raises:
        Refused: the number is a person's.
    """
    if behind is NumberOwner.HUMAN:
        raise Refused("benchmark:unknown-choice", "no judge decided this")
    return VOICES.get(behind) or Condition(ConditionKind(behind.value.upper()), who)


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One comparison behind a number, before its texts are read."""

    comparison: int
    scenario: str
    human: Verdict
    shown: Order | None
    decisions: Decisions

    @property
    def outcome(self) -> VerdictMatch | None:
        """None for a human tie, which nothing is scored against, and without any decision."""
        if self.human is Verdict.TIE or not self.decisions:
            return None
        scores = [score(winner, truth=self.human) for winner in self.decisions.values()]
        read = [each for each in scores if each is not None]
        if not read:
            return VerdictMatch.UNREADABLE
        if min(read) == max(read) != 0.5:
            return VerdictMatch.AGREES if read[0] else VerdictMatch.DISAGREES
        return VerdictMatch.SPLIT


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One comparison with the beginning of its request.

    `cells` are the judge's decisions in the original and the swapped order, and the combined one
    where the page has any: None where it was not judged, "" where the reply could not be read.
    """

    found: FoundRow
    key: str
    opening: str
    cells: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class RowsPage:
    """One page of rows, and how many there are of each outcome.

    `voice` is None for a person's own labels; `run` judged, None where nobody did. `sets` is how
    many sets of preferences the figure averages; the rows are those of the first.
    """

    scope: TrustScope
    behind: NumberOwner
    voice: Condition | None
    run: int | None
    outcome: VerdictMatch | None
    counts: Mapping[VerdictMatch, int]
    total: int
    rows: Sequence[EvidenceRow]
    page: Page[FoundRow]
    sets: int = 1

    @property
    def judge(self) -> str:
        """The run's key in the queue of disagreements; "" for what has none there."""
        chosen = self.scope.run
        if chosen is None or self.behind not in _QUEUED or chosen.status is not RunStatus.DONE:
            return ""
        return voice_key(chosen, VOICES[self.behind])

    @property
    def has_combined(self) -> bool:
        """Whether some source recorded one verdict for both orders."""
        return some_combined(row.found for row in self.rows)


def evidence_rows(
    question: TrustQuestion,
    reader: Reader,
    *,
    behind: NumberOwner,
    outcome: VerdictMatch | None,
    page: str,
    who: str = "",
) -> RowsPage:
    """The comparisons behind a number of the trust page, a page at a time.

    Args:
        question: as on the trust page.
        reader: who asks.
        behind: whose number.
        outcome: only comparisons of this outcome; None for all.
        page: its number as in the address; anything odd is the first.
        who: whose preferences, or which prompt, where the number is of such a control.

    Raises:
        Refused: something asked for does not exist, or is not this reader's to see.
    """
    scope = trust_scope(question, reader)
    labels = scoped_labels(scope)
    voice = None
    cases: Sequence[JudgedComparison] = ()
    if behind is NumberOwner.HUMAN:
        found = [_of_label(label) for label in labels if _shows_a_side(label)]
    else:
        voice = voice_behind(behind, who)
        beside = behind not in VOICES
        if beside and reader.only is not None:
            raise Refused("benchmark:unknown-choice", "not this reader's to see")
        shown = {label.comparison: label.shown for label in labels}
        cases = scoped_cases(scope, labels, compare=beside)
        if behind is NumberOwner.PERSONAL:
            cases = tuple(common_cases(cases))
        found = [_of_case(case.own, voice, shown) for case in cases]
        found = [row for row in found if row.decisions]
    kept = [row for row in found if outcome in {None, row.outcome}]
    counts = Counter(row.outcome for row in found if row.outcome)
    shown_page = Paginator(kept, PAGE_SIZE).get_page(page)
    rows = _with_texts(list(shown_page.object_list))
    run = None if voice is None else voice_run(scope, voice)
    sets = 1
    if run is not None and any(voice in case.own.shares for case in cases):
        sets = _averaged_sets(run, voice)
    return RowsPage(scope, behind, voice, run, outcome, counts, len(found), rows, shown_page, sets)


def _averaged_sets(run: int, voice: Condition | None) -> int:
    """How many sets of preferences a figure is the mean of, at most in any scenario."""
    config = JudgeRun.objects.values_list("config", flat=True).get(pk=run)
    return max(
        len(plan.control if voice == SHUFFLED else plan.subsets) for plan in applied_plans(config)
    )


def _shows_a_side(label: HumanLabel) -> bool:
    return label.verdict is not Verdict.TIE and label.shown is not None


def _of_label(label: HumanLabel) -> FoundRow:
    return FoundRow(label.comparison, label.scenario, label.verdict, label.shown, {})


def _of_case(
    case: JudgedComparison, voice: Condition, shown: Mapping[int, Order | None]
) -> FoundRow:
    return FoundRow(
        case.comparison,
        case.scenario,
        case.human,
        shown.get(case.comparison),
        case.decisions.get(voice, {}),
    )


def _with_texts(found: Sequence[FoundRow]) -> list[EvidenceRow]:
    texts = openings(row.comparison for row in found)
    return [
        EvidenceRow(
            found=row,
            key=texts[row.comparison][0],
            opening=Truncator(texts[row.comparison][2]).chars(_OPENING),
            cells=cells,
        )
        for row, cells in zip(found, decision_cells(found), strict=True)
    ]


def some_combined(rows: Iterable[FoundRow]) -> bool:
    """Whether some source recorded one verdict for both orders."""
    return any(Order.COMBINED in row.decisions for row in rows)


def decision_cells(rows: Sequence[FoundRow]) -> list[tuple[str | None, ...]]:
    """The cells of each row: a decision in each order, and a combined one where any row has it."""
    orders = tuple(Order) if some_combined(rows) else (Order.ORIGINAL, Order.SWAPPED)
    return [tuple(_decision_cell(row, order) for order in orders) for row in rows]


def _decision_cell(row: FoundRow, order: Order) -> str | None:
    """A decision as tables write it: None where there was none, "" for an unreadable reply."""
    if order not in row.decisions:
        return None
    winner = row.decisions[order]
    return "" if winner is None else winner.value
