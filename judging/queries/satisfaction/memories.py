"""What the pages of user memories read: a run's memories, and one memory with its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.choices import JudgmentStatus
from judging.core.calibration import LOWEST
from judging.core.memory import Memory
from judging.core.memory_history import HistoryChange
from judging.core.memory_parsing import memory_from_content
from judging.models import JudgeRun, UserMemory
from judging.queries.satisfaction.histories import changes_since
from judging.queries.satisfaction.memory_turns import Evidence, evidence
from judging.queries.withheld import readable_memories

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One line of a run's list: the newest version of a block's memory.

    `change` is what was rated since it was written; `following` is the state of a later version
    that is not written.
    """

    id: int
    user: str
    scenario: str
    version: int
    status: JudgmentStatus
    error_code: str
    turns: int
    mean: float | None
    edited: bool
    made_at: datetime
    change: HistoryChange | None = None
    following: JudgmentStatus | None = None


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
    status: JudgmentStatus


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Everything that the page of one memory shows; `memory` is None where none was built.

    `change` is what the user rated since, in other scenarios; None where nothing changed.
    """

    row: UserMemory
    memory: Memory | None
    shares: tuple[ScoreShare, ...]
    evidence: tuple[Evidence, ...]
    versions: tuple[Version, ...]
    change: HistoryChange | None = None

    @property
    def newest_id(self) -> int:
        """The last version that was written; the first one where none was."""
        written = (each.id for each in self.versions if each.status is JudgmentStatus.DONE)
        return next(written, self.versions[-1].id)

    @property
    def is_newest(self) -> bool:
        """Whether this is the version that an edit would follow."""
        return self.row.pk == self.newest_id

    @property
    def is_editable(self) -> bool:
        """Whether an edit could follow: it is written, the newest, and none is being written."""
        waits = self.versions[0].status is JudgmentStatus.PENDING
        return self.memory is not None and self.is_newest and not waits

    @property
    def following(self) -> Version | None:
        """The last version, where it is not written and stands after this one."""
        last = self.versions[0]
        after = last.number > self.row.version and last.status is not JudgmentStatus.DONE
        return last if after else None


def newest(memories: QuerySet[UserMemory]) -> QuerySet[UserMemory]:
    """Each block's last version that was written; the first where none was."""
    later = UserMemory.objects.filter(
        run=OuterRef("run"),
        user=OuterRef("user"),
        target_scenario=OuterRef("target_scenario"),
        version__gt=OuterRef("version"),
        status=JudgmentStatus.DONE,
    )
    return memories.filter(Q(version=1) | Q(status=JudgmentStatus.DONE)).filter(~Exists(later))


@dataclass(frozen=True, slots=True)
class MemoryList:
    """One page of a run's memories."""

    rows: tuple[MemoryRow, ...]
    page: Page[UserMemory]

    @property
    def has_outdated(self) -> bool:
        """Whether one of them could be written anew."""
        return any(row.change and row.following is not JudgmentStatus.PENDING for row in self.rows)


def memories_of_run(run: JudgeRun, *, page: str | int = 1) -> MemoryList:
    """The newest memories of a run by user and scenario, a page at a time."""
    rows = (
        newest(UserMemory.objects.filter(run=run))
        .select_related("run", "user", "target_scenario")
        .order_by("user__username", "target_scenario__position", "target_scenario_id")
    )
    shown = Paginator(rows, PAGE_SIZE).get_page(page)
    return MemoryList(_rows(list(shown)), shown)


def memories_of_user(user_id: int, *, only: int | None = None) -> tuple[MemoryRow, ...]:
    """The newest memories that describe a user, the latest run first.

    To an annotator (`only`) none that was written from what is withheld, and no count of it.
    """
    rows = (
        newest(UserMemory.objects.filter(user_id=user_id, status=JudgmentStatus.DONE))
        .select_related("run", "user", "target_scenario")
        .order_by("-run_id", "target_scenario__position", "target_scenario_id")
    )
    return _rows(readable_memories(rows, only), only=only)


def _rows(memories: Sequence[UserMemory], *, only: int | None = None) -> tuple[MemoryRow, ...]:
    """Two queries for what came after them, however many they are."""
    changes = changes_since(memories, only=only)
    following: dict[tuple[int, int, int], tuple[int, JudgmentStatus]] = {}
    later = UserMemory.objects.filter(
        run__in={memory.run_id for memory in memories},
        user__in={memory.user_id for memory in memories},
        version__gt=1,
    ).exclude(status=JudgmentStatus.DONE)
    for run, user, scenario, version, status in later.order_by("version").values_list(
        "run_id", "user_id", "target_scenario_id", "version", "status"
    ):
        following[run, user, scenario] = version, JudgmentStatus(status)
    return tuple(_row(memory, changes, following) for memory in memories)


def _row(
    memory: UserMemory,
    changes: Mapping[int, HistoryChange],
    following: Mapping[tuple[int, int, int], tuple[int, JudgmentStatus]],
) -> MemoryRow:
    key = (memory.run_id, memory.user_id, memory.target_scenario_id)
    version, status = following.get(key, (0, None))
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
        made_at=memory.created_at,
        change=changes.get(memory.pk),
        following=status if version > memory.version else None,
    )


def visible_memory(memory_id: int, *, only: int | None) -> UserMemory | None:
    """A memory that somebody may read: their own (`only`) and not withheld, or anybody's."""
    allowed = Q() if only is None else Q(user_id=only)
    rows = UserMemory.objects.filter(allowed, pk=memory_id).select_related(
        "run__dataset", "user", "target_scenario", "edited_by"
    )
    return next(iter(readable_memories(rows, only)), None)


def memory_page(row: UserMemory, *, only: int | None = None) -> MemoryPage:
    """A memory with its statistics, the turns it cites and its versions.

    To an annotator (`only`) it does not count what was rated since and is withheld.
    """
    memory = None
    shares: tuple[ScoreShare, ...] = ()
    cited: tuple[Evidence, ...] = ()
    if row.status == JudgmentStatus.DONE:
        memory = memory_from_content({"statistics": row.statistics, "texts": row.texts})
        turns = memory.statistics.turns
        shares = tuple(
            ScoreShare(score, count, count / turns if turns else 0.0)
            for score, count in enumerate(memory.statistics.counts, start=LOWEST)
        )
        cited = evidence(row, memory.texts.cited())
    change = changes_since([row], only=only).get(row.pk)
    return MemoryPage(row, memory, shares, cited, _versions(row), change)


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
            status=JudgmentStatus(item.status),
        )
        for item in rows
    )
