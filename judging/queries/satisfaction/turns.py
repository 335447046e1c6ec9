"""The turns of a satisfaction run as its pages show them: the human label beside the judgment.

Where whole sessions were judged, sessions stand in the place of turns; they have no position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Abs, Coalesce, NullIf

from annotation.core.choices import SATISFIED_FROM, JudgmentStatus
from annotation.core.conversations import Dialogue
from annotation.core.item_names import ItemKey
from annotation.core.numbers import number_in
from annotation.models import SatisfactionLabel, Scenario, Turn, User
from annotation.models.wording import REASONS
from judging.core.calibration import HIGHEST, LOWEST, Fallback
from judging.core.rules import LEARNED, Level
from judging.core.runs import TARGETS
from judging.core.satisfaction_model import Explained, from_text
from judging.core.targets import TurnPart
from judging.models import JudgeRun, SatisfactionJudgment
from judging.queries.configurations import satisfaction_settings
from judging.queries.satisfaction.blocks import StoredBlock, stored_blocks
from judging.queries.satisfaction.targets import blocks_of

PAGE_SIZE: Final = 50
Choice = TypeVar("Choice", bound=StrEnum)
Usual = TypeVar("Usual")


class Show(StrEnum):
    """Which turns a list shows."""

    ALL = "all"
    APART = "apart"
    MISSED = "missed"
    FALSE_ALARM = "false-alarm"
    WITHOUT = "without"
    SCORED = "scored"
    UNRATED = "unrated"
    CONTROL = "control"


class Sort(StrEnum):
    """In which order a list shows them."""

    PLACE = "place"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """What of a run's turns is wanted; None for everything.

    `stated`, `raw` and `calibrated` are scores 1-5: the user's, the judge's before and after
    calibration (a score that was not calibrated stands as it is). `fallback` is why it was not.
    `part` is what the turn was to the user, `model` whose candidate responses are wanted ("" for
    those of a model without a name).
    """

    user_id: int | None = None
    scenario_id: int | None = None
    show: Show = Show.ALL
    sort: Sort = Sort.PLACE
    stated: int | None = None
    raw: int | None = None
    calibrated: int | None = None
    fallback: Fallback | None = None
    part: TurnPart | None = None
    model: str | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for what a figure is about that leads here."""
        asked = (self.stated, self.raw, self.calibrated, self.fallback, self.part, self.model)
        return any(each is not None for each in asked)


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One judged turn, or session (`position` None).

    `human` is None without a label: never rated, or taken back. `model` is that of a response which
    is not the original, "" otherwise.
    """

    id: int
    user: str
    scenario: str
    session: str
    position: int | None
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
    part: TurnPart
    model: str


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
        user_id=number_in(parameters.get("user", "")),
        scenario_id=number_in(parameters.get("scenario", "")),
        show=_word(Show, parameters.get("show", ""), Show.ALL),
        sort=_word(Sort, parameters.get("sort", ""), Sort.PLACE),
        stated=_score(parameters.get("stated", "")),
        raw=_score(parameters.get("raw", "")),
        calibrated=_score(parameters.get("calibrated", "")),
        fallback=_word(Fallback, parameters.get("fallback", ""), None),
        part=_word(TurnPart, parameters.get("part", ""), None),
        model=parameters.get("model"),
    )


def turns_of_run(run: JudgeRun, wanted: TurnFilter, *, page: str | int = 1) -> TurnList:
    """A page of a run's turns in stored order, or the widest apart first. Four queries."""
    rows = _filtered(_judged(run), wanted)
    ordered = rows.order_by("pk")
    if wanted.sort is Sort.APART:
        ordered = rows.order_by(Abs(F("calibrated") - F("human")).desc(nulls_last=True), "pk")
    shown = Paginator(ordered.values(*_FIELDS), PAGE_SIZE).get_page(page)
    users = User.objects.filter(satisfaction_judgments__run=run).distinct().order_by("username")
    path = "sessions" if _level(run) is Level.SESSION else "sessions__turns__responses"
    scenarios = (
        Scenario.objects.filter(**{f"{path}__satisfaction_judgments__run": run})
        .distinct()
        .order_by("position", "pk")
    )
    return TurnList(
        rows=tuple(_row(values) for values in shown),
        page=shown,
        users=tuple((user.pk, str(user)) for user in users),
        scenarios=tuple(scenarios.values_list("pk", "name")),
    )


class PartCount(NamedTuple):
    """How many turns of a run are of one part, and how many of them have a score."""

    part: TurnPart
    turns: int
    scored: int


def parts_of_run(run_id: int) -> list[PartCount]:
    """The turns of a satisfaction run by part, in the order of the parts. One query."""
    rows = (
        SatisfactionJudgment.objects.filter(run=run_id)
        .order_by()
        .values_list("part")
        .annotate(turns=Count("pk"), scored=Count("pk", filter=Q(status=JudgmentStatus.DONE)))
    )
    counts = {part: (turns, scored) for part, turns, scored in rows}
    return [PartCount(part, *counts[part]) for part in TurnPart if part in counts]


def turn_of_run(run: JudgeRun, judgment_id: int) -> TurnDetail | None:
    """One judged turn of a run with its conversation; None where the run has no such turn."""
    values = _judged(run).filter(pk=judgment_id).values(*_FIELDS, *_DETAILS).first()
    if values is None:
        return None
    dialogue: Dialogue = ()
    response = values["response__text"] or ""
    for stored in _blocks(run, values):
        for target in stored.block.targets:
            if target.turn_id == str(values["response_id"] or values["session_id"]):
                dialogue, response = target.dialogue, target.response
    learned = run.judge == LEARNED and bool(values["raw"])
    return TurnDetail(
        row=_row(values),
        dialogue=dialogue,
        response=response,
        task_context=values["task_context"],
        raw_reply=values["raw"] or values["call__reply"] or "",
        explained=from_text(values["raw"]) if learned else None,
    )


def _blocks(run: JudgeRun, values: Mapping[str, Any]) -> tuple[StoredBlock, ...]:
    """The block of a judgment; of a run over other targets with this one alone."""
    user = values["user_id"]
    if TARGETS in run.config:
        return blocks_of(run, [(user, values["response_id"] or values["session_id"])])
    block = user, values["scenario_id"]
    return stored_blocks(dataset_id=run.dataset_id, target=block, level=_level(run))


_FIELDS: Final = (
    "pk",
    "user__username",
    "user__display_name",
    "scenario_name",
    "session_key",
    "session_position",
    "position",
    "request",
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
    "part",
    "response__original",
    "response__model",
)
_DETAILS: Final = (
    "user_id",
    "response_id",
    "session_id",
    "response__text",
    "scenario_id",
    "task_context",
    "raw",
    "call__reply",
)


def _level(run: JudgeRun) -> Level:
    return satisfaction_settings(run.config).level


def _judged(run: JudgeRun) -> QuerySet[SatisfactionJudgment]:
    """The turns of a run, or its sessions, with the label that the user gave first."""
    whole = _level(run) is Level.SESSION
    target, session = ("session", "session") if whole else ("response", "response__turn__session")
    labels = SatisfactionLabel.objects.filter(
        annotator=OuterRef("user"), repeat_index=0, **{target: OuterRef(target)}
    ).order_by("created_at", "pk")
    asked = Turn.objects.filter(session=OuterRef("session"), user_message__isnull=False)
    first = Subquery(asked.order_by("position").values("user_message")[:1])
    return SatisfactionJudgment.objects.filter(run=run, **{f"{target}__isnull": False}).annotate(
        human=Subquery(labels.values("score")[:1]),
        human_reason=Subquery(labels.values("reason")[:1]),
        scenario_id=F(f"{session}__scenario_id"),
        scenario_name=F(f"{session}__scenario__name"),
        session_key=F(f"{session}__key"),
        session_position=F(f"{session}__position"),
        task_context=F(f"{session}__task_context"),
        position=Value(None, IntegerField()) if whole else F("response__turn__position"),
        request=first if whole else F("response__turn__user_message"),
    )


def _filtered(
    rows: QuerySet[SatisfactionJudgment], wanted: TurnFilter
) -> QuerySet[SatisfactionJudgment]:
    asked: dict[str, object] = {
        "user_id": wanted.user_id,
        "scenario_id": wanted.scenario_id,
        "human": wanted.stated,
        "score": wanted.raw,
        "fallback_reason": wanted.fallback,
        "part": wanted.part,
    }
    condition = _CONDITIONS[wanted.show]
    if wanted.show is Show.CONTROL:
        condition &= Q(_has_candidate())
    if wanted.model is not None:
        condition &= Q(response__original=False, response__model=wanted.model)
    for name, value in asked.items():
        condition &= Q() if value is None else Q((name, value))
    if wanted.calibrated is not None:
        standing = Q(calibrated=None, score=wanted.calibrated)
        condition &= standing | Q(calibrated=wanted.calibrated)
    return rows.filter(condition)


def _has_candidate() -> Exists:
    """Whether a candidate for the same turn was scored in the same user's stead."""
    return Exists(
        SatisfactionJudgment.objects.filter(
            run=OuterRef("run"),
            user=OuterRef("user"),
            response__turn=OuterRef("response__turn"),
            response__original=False,
            status=JudgmentStatus.DONE,
        )
    )


_CONDITIONS: Final = {
    Show.ALL: Q(),
    Show.APART: ~Q(calibrated=F("human")) & Q(calibrated__isnull=False, human__isnull=False),
    Show.MISSED: Q(human__lt=SATISFIED_FROM, calibrated__gte=SATISFIED_FROM),
    Show.FALSE_ALARM: Q(human__gte=SATISFIED_FROM, calibrated__lt=SATISFIED_FROM),
    Show.WITHOUT: ~Q(status=JudgmentStatus.DONE),
    Show.SCORED: Q(status=JudgmentStatus.DONE),
    Show.CONTROL: Q(status=JudgmentStatus.DONE, response__original=True),
    Show.UNRATED: Q(part__in=[TurnPart.UNLABELLED, TurnPart.CANDIDATE]),
}


def _row(values: Mapping[str, Any]) -> TurnRow:
    reasons = dict(REASONS)
    return TurnRow(
        id=values["pk"],
        user=values["user__display_name"] or values["user__username"],
        scenario=values["scenario_name"],
        session=ItemKey.of(values["session_key"], values["session_position"], values["request"]),
        position=None if values["position"] is None else values["position"] + 1,
        request=values["request"] or "",
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
        part=TurnPart(values["part"]),
        model=values["response__model"] if values["response__original"] is False else "",
    )


def _score(text: str) -> int | None:
    number = number_in(text)
    return number if number is not None and LOWEST <= number <= HIGHEST else None


def _word(words: type[Choice], text: str, usual: Usual) -> Choice | Usual:
    return words(text) if text in {word.value for word in words} else usual


NOT_ASKED: Final = "score:not-asked"
"""The turn was rated after the judge's run began."""


def missing_turns(run_id: int, blocks: Sequence[StoredBlock]) -> dict[str, int]:
    """Why turns of the blocks have no score in a run: codes with how many turns, by code.

    Where a memory was not written its own code counts, which says more than that it is missing.
    """
    rows = SatisfactionJudgment.objects.filter(run=run_id, part=TurnPart.RATED)
    codes = {
        (user_id, response_id or session_id): "" if status == JudgmentStatus.DONE else why
        for user_id, response_id, session_id, status, why in rows.values_list(
            "user_id",
            "response_id",
            "session_id",
            "status",
            Coalesce(NullIf("memory__error_code", Value("")), "error_code"),
        )
    }
    found = Counter(
        codes.get((stored.user_id, int(one.turn_id)), NOT_ASKED)
        for stored in blocks
        for one in stored.block.targets
    )
    del found[""]
    return dict(sorted(found.items()))
