"""What the pages of user memories read: a run's memories, and one memory with its evidence."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.choices import JudgmentStatus
from annotation.models import SatisfactionLabel
from annotation.models.wording import REASONS
from judging.core.calibration import LOWEST
from judging.core.memory import Memory
from judging.core.memory_parsing import memory_from_content
from judging.models import JudgeRun, UserMemory

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One line of a run's list: the newest version of a block's memory."""

    id: int
    user: str
    scenario: str
    version: int
    status: JudgmentStatus
    error_code: str
    turns: int
    mean: float | None
    edited: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """A turn of the history that a statement rests on; no model is named."""

    turn_id: str
    number: int
    scenario: str
    session: str
    position: int
    user_message: str
    response: str
    score: int
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """How often the user gave one score in other scenarios."""

    score: int
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory, and who wrote its texts ("" for the judge)."""

    id: int
    number: int
    editor: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Everything that the page of one memory shows; `memory` is None where none was built."""

    row: UserMemory
    memory: Memory | None
    shares: tuple[ScoreShare, ...]
    evidence: tuple[Evidence, ...]
    versions: tuple[Version, ...]

    @property
    def is_newest(self) -> bool:
        """Whether this is the version that an edit would follow."""
        return self.row.version == self.versions[0].number


def newest(memories: QuerySet[UserMemory]) -> QuerySet[UserMemory]:
    """Only the last version of each block's memory."""
    later = UserMemory.objects.filter(previous=OuterRef("pk"), run=OuterRef("run"))
    return memories.filter(~Exists(later))


@dataclass(frozen=True, slots=True)
class MemoryList:
    """One page of a run's memories."""

    rows: tuple[MemoryRow, ...]
    page: Page[UserMemory]


def memories_of_run(run: JudgeRun, *, page: str | int = 1) -> MemoryList:
    """The newest memories of a run by user and scenario, a page at a time."""
    rows = (
        newest(UserMemory.objects.filter(run=run))
        .select_related("user", "target_scenario")
        .order_by("user__username", "target_scenario__position", "target_scenario_id")
    )
    shown = Paginator(rows, PAGE_SIZE).get_page(page)
    return MemoryList(tuple(_row(memory) for memory in shown), shown)


def memories_of_user(user_id: int) -> tuple[MemoryRow, ...]:
    """The newest memories that describe a user, the latest run first."""
    rows = (
        newest(UserMemory.objects.filter(user_id=user_id, status=JudgmentStatus.DONE))
        .select_related("user", "target_scenario")
        .order_by("-run_id", "target_scenario__position", "target_scenario_id")
    )
    return tuple(_row(memory) for memory in rows)


def _row(memory: UserMemory) -> MemoryRow:
    return MemoryRow(
        id=memory.pk,
        user=str(memory.user),
        scenario=memory.target_scenario.name,
        version=memory.version,
        status=JudgmentStatus(memory.status),
        error_code=memory.error_code,
        turns=memory.statistics.get("turns", 0),
        mean=memory.statistics.get("mean"),
        edited=memory.edited_by_id is not None,
    )


def visible_memory(memory_id: int, *, reader_id: int, sees_everyone: bool) -> UserMemory | None:
    """A memory that somebody may read: their own, or anybody's if they see everyone."""
    allowed = Q() if sees_everyone else Q(user_id=reader_id)
    return (
        UserMemory.objects.filter(allowed, pk=memory_id)
        .select_related("run__dataset", "user", "target_scenario", "edited_by")
        .first()
    )


def memory_page(row: UserMemory) -> MemoryPage:
    """A memory with its statistics, the turns it cites and its versions."""
    memory = None
    shares: tuple[ScoreShare, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    if row.status == JudgmentStatus.DONE:
        memory = memory_from_content({"statistics": row.statistics, "texts": row.texts})
        turns = memory.statistics.turns
        shares = tuple(
            ScoreShare(score, count, count / turns if turns else 0.0)
            for score, count in enumerate(memory.statistics.counts, start=LOWEST)
        )
        evidence = _evidence(row, memory.texts.cited())
    return MemoryPage(row, memory, shares, evidence, _versions(row))


def _versions(row: UserMemory) -> tuple[Version, ...]:
    rows = (
        UserMemory.objects.filter(
            run_id=row.run_id, user_id=row.user_id, target_scenario_id=row.target_scenario_id
        )
        .select_related("edited_by")
        .order_by("-version")
    )
    return tuple(
        Version(
            id=item.pk,
            number=item.version,
            editor="" if item.edited_by is None else str(item.edited_by),
            created_at=item.created_at,
        )
        for item in rows
    )


def _evidence(row: UserMemory, cited: Collection[str]) -> tuple[Evidence, ...]:
    """The cited turns in order of citation, as this user rated them."""
    ids = [int(turn_id) for turn_id in cited]
    labels = (
        SatisfactionLabel.objects.filter(
            annotator_id=row.user_id, response_id__in=ids, repeat_index=0
        )
        .order_by("-created_at", "-id")
        .values_list(
            "response_id",
            "response__turn__session__scenario__name",
            "response__turn__session__key",
            "response__turn__position",
            "response__turn__user_message",
            "response__text",
            "score",
            "reason",
        )
    )
    found = {label[0]: label[1:] for label in labels}  # of several answers the first stays
    reasons = dict(REASONS)
    return tuple(
        Evidence(
            turn_id=str(turn_id),
            number=number,
            scenario=scenario,
            session=session,
            position=position + 1,
            user_message=message or "",
            response=text or "",
            score=score,
            reason=str(reasons.get(reason or "", "")),
        )
        for number, turn_id in enumerate((one for one in ids if one in found), start=1)
        for scenario, session, position, message, text, score, reason in [found[turn_id]]
    )
