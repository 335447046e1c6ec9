"""The answers behind a figure of a study's quality, and the items that were given back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Page, Paginator

from annotation.core.choices import Order, Verdict
from annotation.core.labelling import Target, TargetKind
from annotation.core.quality import Measured, QualityMeasure, figures_of, measured
from annotation.core.refusals import Refused
from annotation.models import Claim, ClaimState, PairwiseLabel, SatisfactionLabel, StudyItem
from annotation.queries.quality import (
    QualityQuestion,
    QualityScope,
    answers_in,
    scope_of,
    yardstick_of,
)
from annotation.queries.targets import TargetRow, target_rows

ROWS_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One answer behind a figure, and what it is about."""

    target: TargetRow
    name: str
    measured: Measured
    given: datetime
    imported: bool

    @property
    def shown(self) -> Verdict | None:
        """Which response was shown first, where known."""
        order = self.measured.answer.shown
        return None if order is None else Verdict.A if order is Order.ORIGINAL else Verdict.B


@dataclass(frozen=True, slots=True)
class QualityRows:
    """The answers behind a figure, a page of them; of one annotator, or of all."""

    scope: QualityScope
    figure: QualityMeasure
    annotator: int | None
    outcome: str
    hits: int
    misses: int
    page: Page[QualityRow]

    @property
    def all(self) -> int:
        """Answers of either outcome."""
        return self.hits + self.misses


def quality_rows(
    question: QualityQuestion,
    figure: QualityMeasure,
    *,
    annotator: int | None = None,
    outcome: str = "",
    page: int | str = 1,
) -> QualityRows:
    """The answers behind a figure, the latest first.

    Args:
        question: As for the page.
        figure: Which figure.
        annotator: Whose; None for everybody's.
        outcome: "hit", "miss", or "" for both.
        page: Which page; one that does not exist gives the nearest.

    Raises:
        Refused: there is no such study, annotator, or figure of this study.
    """
    scope = _scope_with(question, annotator)
    if figure not in figures_of(verdicts=scope.verdicts):
        raise Refused("quality:unknown-choice", f"no {figure} in a study of this kind")
    rows = [
        row
        for row in measured(answers_in(scope), figure, yardstick_of(scope))
        if annotator in {None, row.answer.annotator}
    ]
    hits = [row for row in rows if row.hit]
    misses = [row for row in rows if not row.hit]
    chosen = {"": rows, "hit": hits, "miss": misses}[outcome]
    paginator: Paginator[Any] = Paginator(chosen[::-1], ROWS_A_PAGE)
    found = paginator.get_page(page)
    kind = TargetKind.COMPARISON if scope.verdicts else TargetKind.RESPONSE
    targets = target_rows(Target(kind, row.answer.target) for row in found.object_list)
    labels = PairwiseLabel if scope.verdicts else SatisfactionLabel
    shown = labels.objects.filter(pk__in=[row.answer.label for row in found.object_list])
    given = {
        label: (moment, submission is None)
        for label, moment, submission in shown.values_list("pk", "created_at", "submission_id")
    }
    listed = [
        QualityRow(
            target=targets[Target(kind, row.answer.target)],
            name=scope.names[row.answer.annotator],
            measured=row,
            given=given[row.answer.label][0],
            imported=given[row.answer.label][1],
        )
        for row in found.object_list
    ]
    return QualityRows(
        scope=scope,
        figure=figure,
        annotator=annotator,
        outcome=outcome,
        hits=len(hits),
        misses=len(misses),
        page=Page(listed, found.number, paginator),
    )


def skipped_rows(
    question: QualityQuestion, *, annotator: int | None = None, page: int | str = 1
) -> tuple[QualityScope, Page[tuple[TargetRow, Claim, str]]]:
    """The items that were given back without an answer, the latest first, with whose claim it was.

    Raises:
        Refused: there is no such study or annotator.
    """
    scope = _scope_with(question, annotator)
    claims = Claim.objects.filter(item__study=scope.study, state=ClaimState.SKIPPED)
    if annotator is not None:
        claims = claims.filter(annotator=annotator)
    paginator: Paginator[Any] = Paginator(
        claims.select_related("item").order_by("-finished_at", "-pk"), ROWS_A_PAGE
    )
    found = paginator.get_page(page)
    about = {claim.pk: _target_of(claim.item) for claim in found.object_list}
    targets = target_rows(about.values())
    listed = [
        (targets[about[claim.pk]], claim, scope.names[claim.annotator_id])
        for claim in found.object_list
    ]
    return scope, Page(listed, found.number, paginator)


def _target_of(item: StudyItem) -> Target:
    if item.comparison_id is not None:
        return Target(TargetKind.COMPARISON, item.comparison_id)
    return Target(TargetKind.SESSION, item.session_id or 0)


def _scope_with(question: QualityQuestion, annotator: int | None) -> QualityScope:
    scope, _parts = scope_of(question)
    if annotator is not None and annotator not in scope.names:
        raise Refused("quality:unknown-choice", "no such annotator in this study")
    return scope
