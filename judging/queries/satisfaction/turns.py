"""The turns of a satisfaction run as its pages show them: the human label beside the judgment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Abs

from annotation.core.choices import SATISFIED_FROM, JudgmentStatus
from annotation.core.dialogue import Dialogue
from annotation.models import SatisfactionLabel, Scenario, User
from annotation.models.wording import REASONS
from judging.core.satisfaction_explained import Explained, from_text
from judging.core.satisfaction_settings import LEARNED
from judging.models import JudgeRun, SatisfactionJudgment
from judging.queries.satisfaction.blocks import stored_blocks

PAGE_SIZE: Final = 50
Choice = TypeVar("Choice", bound=StrEnum)


class Show(StrEnum):
    """Which turns a list shows."""

    ALL = "all"
    APART = "apart"
    MISSED = "missed"
    FALSE_ALARM = "false-alarm"
    WITHOUT = "without"


class Sort(StrEnum):
    """In which order a list shows them."""

    PLACE = "place"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """What of a run's turns is wanted; None for everything."""

    user_id: int | None = None
    scenario_id: int | None = None
    show: Show = Show.ALL
    sort: Sort = Sort.PLACE


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One judged turn. `human` is None where the label was taken back."""

    id: int
    user: str
    scenario: str
    session: str
    position: int
    request: str
    status: JudgmentStatus
    error_code: str
    human: int | None
    human_reason: str
    raw: int | None
    expected: float | None
    calibrated: int | None
    fallback: str
    reason: str
    analysis: str
    memory_id: int | None


@dataclass(frozen=True, slots=True)
class TurnList:
    """One page of a run's turns, and the choices to narrow them by."""

    rows: tuple[TurnRow, ...]
    page: Page[Any]
    users: tuple[tuple[int, str], ...]
    scenarios: tuple[tuple[int, str], ...]

    @property
    def has_remarks(self) -> bool:
        """Whether some row has no answer, or a score that is not calibrated."""
        return any(row.status is not JudgmentStatus.DONE or row.fallback for row in self.rows)


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """One judged turn with what the judge read; empty where the label was taken back.

    `explained` is what the learned evaluator keeps instead of a reply.
    """

    row: TurnRow
    dialogue: Dialogue
    response: str
    task_context: str
    raw_reply: str
    explained: Explained | None = None


def filter_from(parameters: Mapping[str, str]) -> TurnFilter:
    """What an address asks for; what it cannot mean is passed over."""
    return TurnFilter(
        user_id=_number(parameters.get("user", "")),
        scenario_id=_number(parameters.get("scenario", "")),
        show=_word(Show, parameters.get("show", ""), Show.ALL),
        sort=_word(Sort, parameters.get("sort", ""), Sort.PLACE),
    )


def turns_of_run(run: JudgeRun, wanted: TurnFilter, *, page: str | int = 1) -> TurnList:
    """A page of a run's turns in stored order, or the widest apart first. Four queries."""
    rows = _filtered(_judged(run), wanted)
    ordered = rows.order_by("pk")
    if wanted.sort is Sort.APART:
        ordered = rows.order_by(Abs(F("calibrated") - F("human")).desc(nulls_last=True), "pk")
    shown = Paginator(ordered.values(*_FIELDS), PAGE_SIZE).get_page(page)
    users = User.objects.filter(satisfaction_judgments__run=run).distinct().order_by("username")
    scenarios = (
        Scenario.objects.filter(sessions__turns__responses__satisfaction_judgments__run=run)
        .distinct()
        .order_by("position", "pk")
    )
    return TurnList(
        rows=tuple(_row(values) for values in shown),
        page=shown,
        users=tuple((user.pk, str(user)) for user in users),
        scenarios=tuple(scenarios.values_list("pk", "name")),
    )


def turn_of_run(run: JudgeRun, judgment_id: int) -> TurnDetail | None:
    """One judged turn of a run with its conversation; None where the run has no such turn."""
    values = _judged(run).filter(pk=judgment_id).values(*_FIELDS, *_DETAILS).first()
    if values is None:
        return None
    dialogue: Dialogue = ()
    key = (values["user_id"], values["response__turn__session__scenario_id"])
    for stored in stored_blocks(dataset_id=run.dataset_id, target=key):
        for target in stored.block.targets:
            if target.turn_id == str(values["response_id"]):
                dialogue = target.dialogue
    learned = run.judge == LEARNED and bool(values["raw"])
    return TurnDetail(
        row=_row(values),
        dialogue=dialogue,
        response=values["response__text"] or "",
        task_context=values["response__turn__session__task_context"],
        raw_reply=values["raw"] or values["call__reply"] or "",
        explained=from_text(values["raw"]) if learned else None,
    )


_FIELDS: Final = (
    "pk",
    "user__username",
    "user__display_name",
    "response__turn__session__scenario__name",
    "response__turn__session__key",
    "response__turn__position",
    "response__turn__user_message",
    "status",
    "error_code",
    "human",
    "human_reason",
    "score",
    "expected_score",
    "calibrated",
    "fallback_reason",
    "reason",
    "analysis",
    "memory_id",
)
_DETAILS: Final = (
    "user_id",
    "response_id",
    "response__text",
    "response__turn__session__scenario_id",
    "response__turn__session__task_context",
    "raw",
    "call__reply",
)


def _judged(run: JudgeRun) -> QuerySet[SatisfactionJudgment]:
    """The turns of a run with the label that the user gave first."""
    labels = SatisfactionLabel.objects.filter(
        annotator=OuterRef("user"), response=OuterRef("response"), repeat_index=0
    ).order_by("created_at", "pk")
    return SatisfactionJudgment.objects.filter(run=run, response__isnull=False).annotate(
        human=Subquery(labels.values("score")[:1]),
        human_reason=Subquery(labels.values("reason")[:1]),
    )


def _filtered(
    rows: QuerySet[SatisfactionJudgment], wanted: TurnFilter
) -> QuerySet[SatisfactionJudgment]:
    if wanted.user_id is not None:
        rows = rows.filter(user_id=wanted.user_id)
    if wanted.scenario_id is not None:
        rows = rows.filter(response__turn__session__scenario_id=wanted.scenario_id)
    return rows.filter(_CONDITIONS[wanted.show])


_CONDITIONS: Final = {
    Show.ALL: Q(),
    Show.APART: ~Q(calibrated=F("human")) & Q(calibrated__isnull=False, human__isnull=False),
    Show.MISSED: Q(human__lt=SATISFIED_FROM, calibrated__gte=SATISFIED_FROM),
    Show.FALSE_ALARM: Q(human__gte=SATISFIED_FROM, calibrated__lt=SATISFIED_FROM),
    Show.WITHOUT: ~Q(status=JudgmentStatus.DONE),
}


def _row(values: Mapping[str, Any]) -> TurnRow:
    reasons = dict(REASONS)
    return TurnRow(
        id=values["pk"],
        user=values["user__display_name"] or values["user__username"],
        scenario=values["response__turn__session__scenario__name"],
        session=values["response__turn__session__key"],
        position=values["response__turn__position"] + 1,
        request=values["response__turn__user_message"] or "",
        status=JudgmentStatus(values["status"]),
        error_code=values["error_code"],
        human=values["human"],
        human_reason=str(reasons.get(values["human_reason"], "")),
        raw=values["score"],
        expected=values["expected_score"],
        calibrated=values["calibrated"],
        fallback=values["fallback_reason"],
        reason=str(reasons.get(values["reason"], "")),
        analysis=values["analysis"],
        memory_id=values["memory_id"],
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _word(words: type[Choice], text: str, usual: Choice) -> Choice:
    return words(text) if text in {word.value for word in words} else usual
