"""Importing files in which judges' verdicts are recorded: the data first, then a run a judge.

Data goes the way of every import, and the verdicts are staged and published with it: with any fault
nothing is. A judge of a file is one run of recorded verdicts in the dataset, so that every page and
figure reads it like a run that was made here. Importing again adds nothing, and a verdict that
contradicts the stored one is a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile

from annotation.core.choices import JudgmentStatus
from annotation.core.formats.detect import AUTO
from annotation.core.formats.fields import Notes
from annotation.core.formats.records import Row
from annotation.core.refusals import gettext_noop
from annotation.models import Dataset, User
from annotation.services.imports import ImportReport, Written, import_records
from annotation.services.imports.staging import Staging
from annotation.services.imports.tree import Batch, SessionNode
from judging.core.formats.detect import ALL_FORMATS
from judging.core.formats.recorded import RecordedSession, VerdictRecord
from judging.models import (
    JudgeRun,
    Judgment,
    Preference,
    PreferenceKind,
    RunKind,
    RunStatus,
)

_DIFFERS: Final = gettext_noop("Differs from the existing data")

_Cell = tuple[int, int, str]
"""Run, comparison, order."""


def _quietly(_rows: int) -> None:
    """No progress is asked for."""


def import_any(
    *,
    path: Path,
    dataset_slug: str,
    now: datetime,
    format_name: str = AUTO,
    only_users: frozenset[str] | None = None,
    dry_run: bool = False,
    actor: User | None = None,
    progress: Any = _quietly,
    file_name: str = "",
) -> ImportReport:
    """Import a file of any format, with the verdicts of recorded judges where it has some.

    Arguments and errors are those of annotation's `import_records`; `file_name` is what the runs
    say they come from (the path's name without it).
    """
    return import_records(
        path=path,
        dataset_slug=dataset_slug,
        now=now,
        format_name=format_name,
        only_users=only_users,
        dry_run=dry_run,
        actor=actor,
        progress=progress,
        formats=ALL_FORMATS,
        beside=partial(RecordedVerdicts, file_name=file_name or path.name, now=now, actor=actor),
    )


def import_any_upload(
    *,
    upload: UploadedFile[Any],
    dataset_slug: str,
    actor: User,
    now: datetime,
    format_name: str = AUTO,
    dry_run: bool = False,
) -> ImportReport:
    """Import an uploaded file; it is written to a name of ours, its own is only told."""
    with TemporaryDirectory(prefix="sensejudge-upload-") as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        return import_any(
            path=path,
            dataset_slug=dataset_slug,
            now=now,
            format_name=format_name,
            dry_run=dry_run,
            actor=actor,
            file_name=(upload.name or "")[:200],
        )


@dataclass(frozen=True, slots=True)
class _Said:
    """One verdict of a row, with the session and the comparison that it is about."""

    line: int
    session: SessionNode
    comparison: int
    record: VerdictRecord


class RecordedVerdicts:
    """Stages the verdicts of one import, batch by batch."""

    def __init__(self, *, file_name: str, now: datetime, actor: User | None) -> None:
        self._file_name = file_name
        self._now = now
        self._actor = actor
        self._runs: dict[str, JudgeRun] = {}
        self._preference: int | None = None

    def write(self, dataset: Dataset, batch: Batch, rows: Sequence[Row]) -> Written:
        """The verdicts of rows whose sessions the batch holds (at most five queries)."""
        said = list(_placed(batch, rows))
        if not said:
            return Written()
        staging = batch.staging
        made = self._make_runs(staging, dataset, (each.record.judge for each in said))
        known = self._known(staging, said)
        preference = self._empty_preference(staging)
        new: list[tuple[Judgment, int, bool]] = []
        lines: set[int] = set()
        notes = []
        for each in said:
            run = self._runs[each.record.judge]
            cell = (run.pk, each.comparison, each.record.order.value)
            stored = known.get(cell)
            if stored is None:
                row = known[cell] = _judgment(run, each, preference)
                row.pk = staging.new_id(Judgment)
                new.append((row, each.session.row.pk, False))
                lines.add(each.line)
            else:
                notes.append(_compare(each, stored))
        staging.write(Judgment, new)
        return Written(
            objects={"judgments": len(new), "runs": made},
            lines=frozenset(lines),
            faults=tuple(fault for note in notes for fault in note.faults),
        )

    def _make_runs(self, staging: Staging, dataset: Dataset, judges: Iterable[str]) -> int:
        """Find or make a run for each judge; how many are new."""
        wanted = set(judges) - self._runs.keys()
        if not wanted:
            return 0
        if dataset.pk:
            found = JudgeRun.objects.filter(
                dataset=dataset, kind=RunKind.RECORDED, judge__in=wanted, annotator=None
            )
            self._runs |= {run.judge: run for run in found.order_by("-pk")}
        missing = sorted(wanted - self._runs.keys())
        for judge in missing:
            self._runs[judge] = JudgeRun(
                kind=RunKind.RECORDED,
                dataset_id=dataset.pk,
                judge=judge,
                config={"recorded_in": self._file_name},
                status=RunStatus.DONE,
                created_by=self._actor,
                started_at=self._now,
                finished_at=self._now,
            )
        staging.put(*(self._runs[judge] for judge in missing))
        return len(missing)

    def _empty_preference(self, staging: Staging) -> int:
        """The base judge's preference, staged where no run has stored it yet."""
        if self._preference is None:
            row = Preference.objects.filter(kind=PreferenceKind.EMPTY).first()
            if row is None:
                row = Preference(kind=PreferenceKind.EMPTY, text="", status=JudgmentStatus.DONE)
                staging.put(row)
            self._preference = row.pk
        return self._preference

    def _known(self, staging: Staging, said: Sequence[_Said]) -> dict[_Cell, Judgment]:
        """The judgments of these comparisons, stored or staged."""
        stored = Judgment.objects.filter(
            run__in={self._runs[each.record.judge].pk for each in said},
            comparison__in={each.comparison for each in said},
        )
        staged = staging.rows(Judgment, {each.session.row.pk for each in said})
        return {(row.run_id, row.comparison_id, row.order): row for row in (*stored, *staged)}


def _placed(batch: Batch, rows: Sequence[Row]) -> Iterator[_Said]:
    """Every verdict with the comparison that it is about."""
    for row in rows:
        if isinstance(row.record, RecordedSession):
            session = batch.sessions[row.record.key]
            for verdict in row.record.verdicts:
                node = session.turns[verdict.turn].comparisons[verdict.comparison]
                yield _Said(row.line, session, node.row.pk, verdict)


def _judgment(run: JudgeRun, said: _Said, preference: int) -> Judgment:
    record = said.record
    return Judgment(
        run=run,
        comparison_id=said.comparison,
        preference_id=preference,
        order=record.order.value,
        status=record.status.value,
        verdict=record.verdict.value if record.verdict else None,
        log_odds=record.log_odds,
        raw=record.raw,
        error_code=record.error_code,
    )


def _compare(said: _Said, stored: Judgment) -> Notes:
    """A fault for what a verdict says otherwise than it is stored; a raw text may be left out."""
    notes = Notes(said.line)
    record = said.record
    field = f"verdicts[{record.judge}].{record.order.lower()}"
    told = record.verdict.value if record.verdict else None
    if told != stored.verdict or record.status.value != stored.status:
        notes.fault(field, _DIFFERS, told)
    elif record.raw and record.raw != stored.raw:
        notes.fault(f"{field}.raw", _DIFFERS, record.raw)
    return notes
