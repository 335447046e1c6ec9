"""What the pages of user memories read: a run's memories, and one memory with its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.choices import JudgmentStatus
from annotation.models import Response, SatisfactionLabel, Session, Turn
from annotation.models.wording import REASONS
from annotation.queries.datasets import of_no_deleted
from judging.core.calibration import LOWEST
from judging.core.memory import HistoryChange, Memory, history_of_evidence
from judging.core.memory_parsing import memory_from_content
from judging.core.rules import Level
from judging.judges.lexical import NAME as LEXICAL
from judging.models import JudgeRun, UserMemory
from judging.queries.satisfaction.labels import changes_since, level_of
from judging.queries.withheld import readable_memories

TURNS_A_PAGE: Final = 20

_TARGET: Final = {Level.TURN: "response_id", Level.SESSION: "session_id"}
_IN_SESSION: Final = {Level.TURN: "turn__session__", Level.SESSION: ""}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A turn of the history, scored as it was when the memory was written; no model is named.

    `now` is how the user scores it today, None where the rating was taken back; `reason` belongs to
    that, "" where it is another score. A whole session has no position: `user_message` is all that
    the user wrote, `response` the last answer.
    """

    turn_id: str
    number: int
    scenario: str
    session: int
    position: int | None
    user_message: str
    response: str
    score: int
    now: int | None
    reason: str


def evidence(row: UserMemory, turn_ids: Collection[str]) -> tuple[Evidence, ...]:
    """Turns of a memory's history in the order given, numbered from 1. Two queries, or four."""
    scores = history_of_evidence(row.evidence)
    ids = [int(turn) for turn in turn_ids if turn in scores]
    return _turns(row, ids, scores, first=1)


def turns_of_memory(
    row: UserMemory, *, score: int | None = None, scenario: str = "", page: str | int = 1
) -> tuple[tuple[Evidence, ...], Page[int]]:
    """The turns that a memory counts, of one score or scenario, a page at a time.

    They come by scenario and session, as the conversations went. Four queries, or six.
    """
    scores = history_of_evidence(row.evidence)
    level = level_of(row)
    wanted = [int(turn) for turn, given in scores.items() if score in (None, given)]
    where = _IN_SESSION[level]
    of_scenario = {f"{where}scenario__name": scenario} if scenario else {}
    rows = Response.objects if level is Level.TURN else Session.objects
    ids = (
        rows.filter(pk__in=wanted, **of_scenario)
        .order_by(
            f"{where}scenario__position",
            f"{where}scenario_id",
            f"{where}position",
            *(["turn__session_id", "turn__position"] if level is Level.TURN else []),
            "pk",
        )
        .values_list("pk", flat=True)
    )
    shown = Paginator(ids, TURNS_A_PAGE).get_page(page)
    first = max(shown.start_index(), 1)
    return _turns(row, list(shown), scores, first=first), shown


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said in a turn, or in a session."""

    session: Session
    position: int | None
    user_message: str
    response: str


def _turns(
    row: UserMemory, ids: Collection[int], scores: Mapping[str, int], *, first: int
) -> tuple[Evidence, ...]:
    if not ids:
        return ()
    level = level_of(row)
    target = _TARGET[level]
    labels = SatisfactionLabel.objects.filter(
        annotator_id=row.user_id, repeat_index=0, **{f"{target}__in": ids}
    ).order_by("-created_at", "-id")  # of several answers the first stays
    said = {
        one: (now, reason) for one, now, reason in labels.values_list(target, "score", "reason")
    }
    found = _said(ids) if level is Level.TURN else _said_in_sessions(ids)
    words = dict(REASONS)
    turns = []
    for number, one in enumerate((one for one in ids if one in found), start=first):
        now, reason = said.get(one, (None, None))
        score = scores[str(one)]
        turns.append(
            Evidence(
                turn_id=str(one),
                number=number,
                scenario=found[one].session.scenario.name,
                session=found[one].session.pk,
                position=found[one].position,
                user_message=found[one].user_message,
                response=found[one].response,
                score=score,
                now=now,
                reason=str(words.get(reason or "", "")) if now == score else "",
            )
        )
    return tuple(turns)


def _said(ids: Iterable[int]) -> dict[int, _Said]:
    rows = Response.objects.filter(pk__in=ids).select_related("turn__session__scenario")
    return {
        row.pk: _Said(
            row.turn.session, row.turn.position + 1, row.turn.user_message or "", row.text or ""
        )
        for row in rows
    }


def _said_in_sessions(ids: Iterable[int]) -> dict[int, _Said]:
    messages: dict[int, list[str]] = {}
    turns = Turn.objects.filter(session__in=ids, user_message__isnull=False).order_by("position")
    for session, message in turns.values_list("session_id", "user_message"):
        messages.setdefault(session, []).append(message or "")
    answers = Response.objects.filter(turn__session__in=ids, original=True, text__isnull=False)
    last = dict(answers.order_by("turn__position").values_list("turn__session_id", "text"))
    return {
        row.pk: _Said(row, None, "\n\n".join(messages.get(row.pk, ())), last.get(row.pk) or "")
        for row in Session.objects.filter(pk__in=ids).select_related("scenario")
    }


PAGE_SIZE = 50


class Twin(NamedTuple):
    """The memory of another user that says the same word for word."""

    id: int
    user: str


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One line of a run's list: the newest version of a block's memory.

    `change` is what was rated since it was written; `following` is the state of a later version
    that is not written; `twin` is another user's memory in the same words, to be looked into.
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
    twin: Twin | None = None


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

    `shares` says of each score how often the user gave it in other scenarios, and in what share.
    `change` is what the user rated since, in other scenarios; None where nothing changed. `twin` is
    as in `MemoryRow`.
    """

    row: UserMemory
    memory: Memory | None
    shares: tuple[tuple[int, int, float], ...]
    evidence: tuple[Evidence, ...]
    versions: tuple[Version, ...]
    change: HistoryChange | None = None
    twin: Twin | None = None

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


def memories_of_run(run: JudgeRun, *, page: str | int = 1, unwritten: bool = False) -> MemoryList:
    """The newest memories of a run by user and scenario, a page at a time.

    `unwritten` leaves only those that could not be written.
    """
    found = newest(UserMemory.objects.filter(run=run))
    if unwritten:
        found = found.exclude(status__in=(JudgmentStatus.DONE, JudgmentStatus.PENDING))
    rows = found.select_related("run", "user", "target_scenario").order_by(
        "user__username", "target_scenario__position", "target_scenario_id"
    )
    shown = Paginator(rows, PAGE_SIZE).get_page(page)
    return MemoryList(_rows(list(shown)), shown)


def memories_of_user(user_id: int, *, only: int | None = None) -> tuple[MemoryRow, ...]:
    """The newest memories that describe a user, the latest run first.

    To an annotator (`only`) none that was written from what is withheld, and no count of it.
    """
    done = UserMemory.objects.filter(user_id=user_id, status=JudgmentStatus.DONE)
    rows = (
        newest(of_no_deleted(done, "run__dataset"))
        .select_related("run", "user", "target_scenario")
        .order_by("-run_id", "target_scenario__position", "target_scenario_id")
    )
    return _rows(readable_memories(rows, only), only=only)


def _rows(memories: Sequence[UserMemory], *, only: int | None = None) -> tuple[MemoryRow, ...]:
    """Two queries for what came after them and one for twins, however many they are."""
    changes = changes_since(memories, only=only)
    twins = _twins(memories, only=only)
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
    return tuple(
        replace(_row(memory, changes, following), twin=twins.get(memory.pk)) for memory in memories
    )


def _twins(memories: Sequence[UserMemory], *, only: int | None) -> dict[int, Twin]:
    """Twins of what language models wrote and nobody edited, by memory.

    To an annotator (`only`) nothing is said of others. One query, none where no model wrote.
    """
    written = [
        memory
        for memory in memories
        if only is None
        and memory.status == JudgmentStatus.DONE
        and memory.judge != LEXICAL  # its vocabulary is fixed
        and memory.edited_by_id is None
    ]
    if not written:
        return {}
    opening = {row.texts["scoring_style"]["text"] for row in written}
    alike: dict[object, list[UserMemory]] = defaultdict(list)
    others = UserMemory.objects.filter(
        run__dataset__in={row.run.dataset_id for row in written},
        status=JudgmentStatus.DONE,
        edited_by=None,
        texts__scoring_style__text__in=opening,
    ).exclude(judge=LEXICAL)
    for row in others.select_related("user").order_by("-pk"):
        alike[_words(row)].append(row)
    found = {}
    for row in written:
        other = next((one for one in alike[_words(row)] if one.user_id != row.user_id), None)
        if other is not None:
            found[row.pk] = Twin(other.pk, str(other.user))
    return found


def _words(row: UserMemory) -> tuple[object, ...]:
    stored = {"statistics": row.statistics, "texts": row.texts}
    return memory_from_content(stored).texts.words()


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
    shares: tuple[tuple[int, int, float], ...] = ()
    cited: tuple[Evidence, ...] = ()
    if row.status == JudgmentStatus.DONE:
        memory = memory_from_content({"statistics": row.statistics, "texts": row.texts})
        turns = memory.statistics.turns
        shares = tuple(
            (score, count, count / turns if turns else 0.0)
            for score, count in enumerate(memory.statistics.counts, start=LOWEST)
        )
        cited = evidence(row, memory.texts.cited())
    change = changes_since([row], only=only).get(row.pk)
    twin = _twins([row], only=only).get(row.pk)
    return MemoryPage(row, memory, shares, cited, _versions(row), change, twin)


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
