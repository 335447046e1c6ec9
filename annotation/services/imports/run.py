"""One import from its upload and first row to its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import OperationalError

from annotation.core.formats.detect import AUTO, FORMATS, open_records
from annotation.core.formats.fields import Notes
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    DatasetRecord,
    Fault,
    FaultGroup,
    FaultLog,
    Row,
    SessionRecord,
)
from annotation.core.formats.user_lists import only_of
from annotation.core.refusals import Refused, gettext_noop
from annotation.models import Dataset, User
from annotation.services.disk import is_full
from annotation.services.imports.labels import ImportPeople, Places, names_in
from annotation.services.imports.merge import Merger
from annotation.services.imports.publishing import ImportTarget, publish
from annotation.services.imports.staging import Staging
from annotation.services.imports.tree import Batch, load_batch


@dataclass(frozen=True, slots=True)
class ImportReport:
    """An import told in numbers.

    `rows` were read (those of unwanted users not counted); each either added something
    (`created`), said only what was stored (`unchanged`), or was passed over, counted by reason
    (`skipped`). With any fault nothing was written and both are 0.
    `objects` counts what was added by kind; `faults` holds the first 200 of `fault_count`, and
    `fault_groups` all by kind. `left_out` holds the first 200 of `left_out_count` faults of the
    `rows_left_out`, which were not imported because errors were to be passed over; `kept`
    counts the fields that no page shows, by name: they are kept in `extra`. `source` says what
    was assumed of the file: its encoding, its sheet.
    """

    dataset: str
    format: str
    rows: int
    created: int
    unchanged: int
    coerced: int
    fault_count: int
    faults: tuple[Fault, ...]
    objects: dict[str, int]
    missing_users: tuple[str, ...]
    dry_run: bool
    kept: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    fault_groups: tuple[FaultGroup, ...] = ()
    rows_left_out: int = 0
    left_out_count: int = 0
    left_out: tuple[Fault, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The JSON object of `import_records --json`."""
        return {
            "dataset": self.dataset,
            "format": self.format,
            "rows": self.rows,
            "created": self.created,
            "unchanged": self.unchanged,
            "coerced": self.coerced,
            "fault_count": self.fault_count,
            "faults": [fault.as_dict() for fault in self.faults],
            "objects": self.objects,
            "missing_users": list(self.missing_users),
            "dry_run": self.dry_run,
            "kept": self.kept,
            "skipped": self.skipped,
            "source": dict(self.source),
            "fault_groups": [group.as_dict() for group in self.fault_groups],
            "rows_left_out": self.rows_left_out,
            "left_out_count": self.left_out_count,
            "left_out": [fault.as_dict() for fault in self.left_out],
        }


_BATCH_ROWS: Final = 200
_ATTEMPTS: Final = 3
_SLUG_CHARS: Final = 80
_RESERVED: Final = ("import",)

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written beside a batch: new rows by the words of the report.

    `lines` are those of the file's rows that added any of them.
    """

    objects: Mapping[str, int] = field(default_factory=dict)
    lines: frozenset[int] = frozenset()
    faults: tuple[Fault, ...] = ()


class Beside(Protocol):
    """Stages what the rows of one import say that another app keeps."""

    def write(self, dataset: Dataset, batch: Batch, rows: Sequence[Row]) -> Written:
        """Stage what these rows say; the batch holds their sessions, all without a fault.

        A dataset that is not stored yet has no id.
        """


def _quietly(_rows: int) -> None:
    """No progress is asked for."""


def import_records(  # noqa: PLR0913 - what a person says of an import
    *,
    path: Path,
    dataset_slug: str,
    now: datetime,
    format_name: str = AUTO,
    only_users: frozenset[str] | None = None,
    dry_run: bool = False,
    skip_errors: bool = False,
    actor: User | None = None,
    progress: Progress = _quietly,
    formats: Mapping[str, Format] = FORMATS,
    beside: Callable[[], Beside] | None = None,
) -> ImportReport:
    """Import a file or directory into a dataset, made if it is not there.

    All or nothing: with any fault, or in a dry run, nothing is written. Importing a file again
    changes nothing; a row that contradicts a stored one is a fault. Where others wrote into the
    dataset in the meantime, its rows are read and checked anew.

    Args:
        path: The file or directory.
        dataset_slug: Short name of the dataset.
        now: The time that labels without one get.
        format_name: One of `formats`, or `auto`.
        only_users: Import only these users' sessions and labels.
        dry_run: Only report.
        skip_errors: Leave out rows with errors, and report them. The file is read again without
            them, as they may have been merged in part; a fault of the file as a whole refuses it.
        actor: Who imports, for the audit log.
        progress: Called with the number of rows read so far, after each batch.
        formats: Those that are known.
        beside: Makes who stages what rows say beside sessions and labels.

    Raises:
        Refused: nothing to read is there; no such format, or `auto` cannot tell; the short name is
            none; others kept writing into the dataset; the disk is full.
    """
    _check_slug(dataset_slug)
    try:
        return _import(
            path,
            dataset_slug,
            now=now,
            format_name=format_name,
            only_users=only_users,
            dry_run=dry_run,
            skip_errors=skip_errors,
            actor=actor,
            progress=progress,
            formats=formats,
            beside=beside,
        )
    except (OSError, OperationalError) as error:
        if is_full(error):
            raise Refused("import:disk-full", f"{path.name}: {error}") from error
        raise


def _import(  # noqa: PLR0913
    path: Path,
    dataset_slug: str,
    *,
    now: datetime,
    format_name: str,
    only_users: frozenset[str] | None,
    dry_run: bool,
    skip_errors: bool,
    actor: User | None,
    progress: Progress,
    formats: Mapping[str, Format],
    beside: Callable[[], Beside] | None,
) -> ImportReport:
    attempt = 0
    left_out = _LeftOut()
    while True:
        attempt += 1
        with Staging() as staging:
            chosen, rows = open_records(path, format_name, formats)
            target = ImportTarget.of(dataset_slug)
            job = _Job(
                target=target,
                staging=staging,
                now=now,
                only_users=only_users,
                beside=None if beside is None else beside(),
                left_out=left_out,
            )
            for batch in _batches(rows):
                job.take(batch)
                progress(job.read)
            source = {} if path.is_dir() else chosen.source_of(path)
            report = job.report(format_name=chosen.name, dry_run=dry_run, source=source)
            if report.fault_count and skip_errors and job.can_go_without(left_out):
                attempt -= 1
                continue
            if report.fault_count or dry_run:
                return report
            detail = {"format": chosen.name, "rows": report.rows, **report.objects}
            try:
                publish(staging, target, actor=actor, detail=detail if report.created else None)
            except Refused as refused:
                if refused.code != "import:outrun" or attempt == _ATTEMPTS:
                    raise
            else:
                return report


def _check_slug(slug: str) -> None:
    try:
        validate_slug(slug)
    except ValidationError as error:
        message = f"{slug!r} is not a short name: use only letters, digits, - and _"
        raise Refused("import:dataset", message) from error
    if slug in _RESERVED:
        raise Refused(
            "import:dataset", f"{slug!r} is used by a page of the site: choose another name"
        )
    if len(slug) > _SLUG_CHARS:
        raise Refused("import:dataset", f"a short name has at most {_SLUG_CHARS} characters")


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _BATCH_ROWS)):
        yield batch


@dataclass(slots=True)
class _Tally:
    """What was counted so far."""

    rows: int = 0
    created: int = 0
    unchanged: int = 0
    coerced: int = 0


class _LeftOut:
    """The rows that an import leaves out, by line, and their faults."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self.faults = FaultLog()


class _Job:
    """The running state of an import."""

    def __init__(
        self,
        *,
        target: ImportTarget,
        staging: Staging,
        now: datetime,
        only_users: frozenset[str] | None,
        beside: Beside | None,
        left_out: _LeftOut,
    ) -> None:
        self.read = 0
        self._left_out = left_out
        self._faulty: dict[int, list[Fault]] = {}
        self._is_file_at_fault = False
        self._beside = beside
        self._target = target
        self._staging = staging
        self._dataset = dataset = target.dataset
        self._only_users = only_users
        self._seen_users: set[str] = set()
        self._people = ImportPeople(dataset, staging)
        places = Places(dataset, staging)
        self._merger = Merger(dataset=dataset, people=self._people, places=places, now=now)
        self._tally = _Tally()
        self._faults = FaultLog()
        self._objects: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def take(self, rows: list[Row]) -> None:
        """Merge and stage one batch of rows."""
        self.read += len(rows)
        if self._left_out.lines:
            rows = [row for row in rows if row.line not in self._left_out.lines]
        wanted = [row for row in map(self._wanted, rows) if row is not None]
        records = [row.record for row in wanted if isinstance(row.record, SessionRecord)]
        batch = load_batch(self._staging, self._dataset, {record.key for record in records})
        for node in batch.sessions.values():
            node.row.extra = self._target.extended.get(node.row.pk, node.row.extra)
        self._people.prepare(name for record in records for name in names_in(record))
        good: list[tuple[Row, bool]] = []
        for row in wanted:
            self._tally.rows += 1
            self._tally.coerced += row.coerced
            self._kept.update(row.kept)
            self._note(row.faults)
            if row.skipped:
                self._skipped[row.skipped] += 1
            if row.record is None:
                continue
            notes = Notes(row.line, row.path)
            before = batch.added
            changed = False
            if isinstance(row.record, DatasetRecord):
                changed = self._describe_dataset(row.record, notes)
            else:
                self._merger.merge(batch, row.record, notes)
            self._note(notes.faults)
            if not notes.faults:
                good.append((row, changed or batch.added > before))
        self._objects.update(batch.counts())
        self._target.extended |= batch.extended
        batch.write()
        more = self._write_beside(batch, [row for row, _new in good])
        created = sum(new or row.line in more for row, new in good)
        self._tally.created += created
        self._tally.unchanged += len(good) - created

    def _note(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self._faults.extend([fault])
            if fault.is_of_row:
                self._faulty.setdefault(fault.line, []).append(fault)
            else:
                self._is_file_at_fault = True

    def can_go_without(self, left_out: _LeftOut) -> bool:
        """Whether the file may be read again without the rows at fault, which are noted then."""
        if self._is_file_at_fault or len(self._faulty) >= self._tally.rows:
            return False
        new = self._faulty.keys() - left_out.lines
        for line in sorted(new):
            left_out.faults.extend(self._faulty[line])
        left_out.lines |= new
        return bool(new)

    def _write_beside(self, batch: Batch, rows: Sequence[Row]) -> frozenset[int]:
        """The lines that added something elsewhere; nothing is written once there is a fault."""
        if self._beside is None or self._faults.count:
            return frozenset()
        written = self._beside.write(self._dataset, batch, rows)
        self._note(written.faults)
        self._objects.update(written.objects)
        return written.lines

    def _wanted(self, row: Row) -> Row | None:
        """The row with what it says of wanted users; None where it says nothing of them."""
        if self._only_users is None or not isinstance(row.record, SessionRecord):
            return row
        record = only_of(row.record, self._only_users)
        if record is None:
            return None
        self._seen_users.update(names_in(record))
        return replace(row, record=record)

    def _describe_dataset(self, record: DatasetRecord, notes: Notes) -> bool:
        """Take over what a file says of its dataset where nothing is stored; True if anything."""
        changed = False
        for column in ("name", "description", "source", "licence", "simulated", "extra"):
            told, stored = getattr(record, column), getattr(self._dataset, column)
            unsaid = not stored or (column == "name" and stored == self._dataset.slug)
            if column == "simulated":
                unsaid = self._dataset.pk is None and not stored
            if told is None or told == stored:
                continue
            if not unsaid:
                notes.fault(column, gettext_noop("Differs from the existing data"), told)
            else:
                setattr(self._dataset, column, told)
                self._target.changed.add(column)
                changed = True
        return changed

    def report(self, *, format_name: str, dry_run: bool, source: Mapping[str, str]) -> ImportReport:
        """What came of it."""
        if not self._tally.rows:
            self._faults.extend([Fault(0, "", gettext_noop("No rows for the selected users"))])
        elif self._skipped.total() == self._tally.rows:
            nothing = gettext_noop("Every row was skipped: %(reason)s")
            reason = self._skipped.most_common(1)[0][0]
            self._faults.extend([Fault(0, "", nothing, parts={"reason": reason})])
        good = self._faults.count == 0
        return ImportReport(
            dataset=self._dataset.slug,
            format=format_name,
            rows=self._tally.rows,
            created=self._tally.created if good else 0,
            unchanged=self._tally.unchanged if good else 0,
            coerced=self._tally.coerced,
            fault_count=self._faults.count,
            faults=tuple(self._faults.kept),
            objects=dict(self._objects, raters=self._people.created) if good else {},
            missing_users=tuple(sorted((self._only_users or frozenset()) - self._seen_users)),
            dry_run=dry_run,
            kept=dict(self._kept.most_common()),
            skipped=dict(self._skipped.most_common()),
            source=source,
            fault_groups=self._faults.groups,
            rows_left_out=len(self._left_out.lines),
            left_out_count=self._left_out.faults.count,
            left_out=tuple(self._left_out.faults.kept),
        )


class ImportFile(Protocol):
    """What imports a file; judges' recorded verdicts have one of their own."""

    def __call__(
        self,
        *,
        path: Path,
        dataset_slug: str,
        now: datetime,
        format_name: str = AUTO,
        dry_run: bool = False,
        skip_errors: bool = False,
        actor: User | None = None,
        formats: Mapping[str, Format],
    ) -> ImportReport:
        """Import a file; arguments and errors are those of `import_records`."""
