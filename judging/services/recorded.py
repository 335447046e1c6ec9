"""Importing files in which judges' verdicts are recorded: the data first, then a run a judge.

Data goes the way of every import, and the verdicts are staged and published with it: with any fault
nothing is. A judge of a file is one run of recorded verdicts in the dataset, so that every page and
figure reads it like a run that was made here. Importing again adds nothing, and a verdict that
contradicts the stored one is a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.formats.detect import AUTO
from annotation.core.formats.fields import Notes
from annotation.core.formats.format import Format
from annotation.core.formats.records import Row
from annotation.core.refusals import gettext_noop
from annotation.models import Comparison, Dataset, User, text_hash
from annotation.services.imports import ImportReport, Written, import_records
from annotation.services.imports.staging import Staging
from annotation.services.imports.tree import Batch, SessionNode, TurnNode
from judging.core.formats.detect import ALL_FORMATS
from judging.core.formats.recorded import RecordedSession, ScoreRecord, VerdictRecord
from judging.core.structured import GRADE_SCALE, compare_scores
from judging.models import (
    JudgeRun,
    Judgment,
    Preference,
    PreferenceKind,
    ResponseScore,
    RunKind,
    RunStatus,
)
from judging.services.preferences import empty_preference

_DIFFERS: Final = gettext_noop("Differs from the existing data")

_ROWS_AT_ONCE: Final = 2000

_Cell = tuple[int, int, str]
"""Run, comparison, order."""
_Scores = dict[tuple[int, int], ResponseScore]
"""Grades by run and response."""


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
    skip_errors: bool = False,
    actor: User | None = None,
    progress: Any = _quietly,
    formats: Mapping[str, Format] = ALL_FORMATS,
) -> ImportReport:
    """Import a file of any format, with the verdicts of recorded judges where it has some.

    Arguments and errors are those of annotation's `import_records`; the runs say that they come
    from a file of this name.
    """
    return import_records(
        path=path,
        dataset_slug=dataset_slug,
        now=now,
        format_name=format_name,
        only_users=only_users,
        dry_run=dry_run,
        skip_errors=skip_errors,
        actor=actor,
        progress=progress,
        formats=formats,
        beside=partial(RecordedVerdicts, file_name=path.name, now=now, actor=actor),
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """One verdict of a row, with the session and the comparison that it is about."""

    row: Row
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
        """The verdicts of rows whose sessions the batch holds (at most six queries)."""
        graded, said = list(_graded(batch, rows)), list(_placed(batch, rows))
        if not said and not graded:
            return Written()
        staging = batch.staging
        judges = {each.record.judge for each in said} | {each.record.judge for each in graded}
        made = self._make_runs(staging, dataset, judges)
        scores = self._known_scores(staging, graded)
        new_scores, notes = self._write_scores(staging, graded, scores)
        said += _verdicts_of_scores(graded, scores, self._runs)
        known = self._known(staging, said)
        preference = self._empty_preference(staging)
        new: list[tuple[Judgment, int, bool]] = []
        lines = set(new_scores)
        for each in said:
            run = self._runs[each.record.judge]
            cell = (run.pk, each.comparison, each.record.order.value)
            stored = known.get(cell)
            if stored is None:
                row = known[cell] = _judgment(run, each.comparison, each.record, preference)
                row.pk = staging.new_id(Judgment)
                new.append((row, each.session.row.pk, False))
                lines.add(each.row.line)
            else:
                notes.append(_compare(each, stored))
        staging.write(Judgment, new)
        objects = {"judgments": len(new), "runs": made}
        return Written(
            objects={**objects, "scores": len(new_scores)} if graded else objects,
            lines=frozenset(lines),
            faults=tuple(fault for note in notes for fault in note.faults),
        )

    def _known_scores(self, staging: Staging, graded: Sequence[_Graded]) -> _Scores:
        """The grades of all responses to these turns, stored or staged."""
        stored = ResponseScore.objects.filter(
            run__in={self._runs[each.record.judge].pk for each in graded},
            response__in={node.row.pk for each in graded for node in each.turn.responses.values()},
            scale=GRADE_SCALE,
        )
        staged = staging.rows(ResponseScore, {each.session.row.pk for each in graded})
        return {(row.run_id, row.response_id): row for row in (*stored, *staged)}

    def _write_scores(
        self, staging: Staging, graded: Sequence[_Graded], scores: _Scores
    ) -> tuple[list[int], list[Notes]]:
        """Stage the grades that are new, of these lines; others are compared."""
        new: list[tuple[ResponseScore, int, bool]] = []
        lines, notes = [], []
        for each in graded:
            run, record = self._runs[each.record.judge], each.record
            stored = scores.get((run.pk, each.response))
            if stored is not None:
                notes.append(_compare_scores(each, stored))
                continue
            row = scores[run.pk, each.response] = ResponseScore(
                run=run,
                response_id=each.response,
                value=record.value,
                scale=GRADE_SCALE,
                status=record.status.value,
                raw=record.raw,
                error_code=record.error_code,
            )
            row.pk = staging.new_id(ResponseScore)
            new.append((row, each.session.row.pk, False))
            lines.append(each.row.line)
        if new:
            staging.write(ResponseScore, new)
        return lines, notes

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
                yield _Said(row, session, node.row.pk, verdict)


class _Graded(NamedTuple):
    """One grade of a row, with the response that it is about, and its turn."""

    row: Row
    session: SessionNode
    turn: TurnNode
    response: int
    record: ScoreRecord


def _graded(batch: Batch, rows: Sequence[Row]) -> Iterator[_Graded]:
    """Every grade with its response: of several of a model, the one without a text."""
    for row in rows:
        if isinstance(row.record, RecordedSession):
            session = batch.sessions[row.record.key]
            for score in row.record.scores:
                turn = session.turns[score.turn]
                of_model = {
                    key: node
                    for key, node in turn.responses.items()
                    if key[:2] == (score.model, "")
                }
                nameless = (score.model, "", text_hash(None))
                node = of_model.get(nameless) or next(iter(of_model.values()))
                yield _Graded(row, session, turn, node.row.pk, score)


def _verdicts_of_scores(
    graded: Sequence[_Graded], scores: _Scores, runs: Mapping[str, JudgeRun]
) -> Iterator[_Said]:
    """The verdicts that follow where both responses of a comparison have grades of one judge."""
    for each in graded:
        judge = each.record.judge
        for node in each.turn.comparisons.values():
            sides = [scores.get((runs[judge].pk, side.row.pk)) for side in (node.a, node.b)]
            both = [side for side in sides if side is not None]
            if len(both) == 2 and each.response in {node.a.row.pk, node.b.row.pk}:
                record = VerdictRecord(
                    judge, each.record.turn, node.row.key, Order.COMBINED, *_verdict(both)
                )
                yield _Said(each.row, each.session, node.row.pk, record)


def _verdict(scores: Sequence[ResponseScore]) -> tuple[Verdict | None, str, None, str]:
    """The verdict of two grades, no reply of its own, no odds, and why there is none."""
    values = [score.value for score in scores if score.value is not None]
    if len(values) == 2:
        return compare_scores(*values), "", None, ""
    return None, "", None, next(score.error_code for score in scores if score.error_code)


def _compare_scores(graded: _Graded, stored: ResponseScore) -> Notes:
    """A fault for a grade that is stored otherwise."""
    notes, record = Notes(graded.row.line, graded.row.path), graded.record
    if record.value != stored.value or record.status.value != stored.status:
        notes.fault(f"scores[{record.judge}]", _DIFFERS, record.value)
    elif record.raw and record.raw != stored.raw:
        notes.fault(f"scores[{record.judge}].raw", _DIFFERS, record.raw)
    return notes


def judge_by_grades(dataset: Dataset, comparisons: Sequence[Comparison]) -> None:
    """The verdicts on new comparisons that follow from grades imported before them."""
    found = ResponseScore.objects.filter(
        run__dataset=dataset, run__kind=RunKind.RECORDED, scale=GRADE_SCALE
    )
    grades: dict[int, dict[int, ResponseScore]] = {}
    runs: dict[int, JudgeRun] = {}
    for score in found.select_related("run").defer("raw").order_by("pk"):
        grades.setdefault(score.run_id, {})[score.response_id] = score
        runs[score.run_id] = score.run
    if not grades:
        return
    preference = empty_preference().pk
    new = []
    for run, of_run in grades.items():
        for each in comparisons:
            one, other = (of_run.get(pk) for pk in (each.response_a_id, each.response_b_id))
            if one and other:
                verdict = _verdict((one, other))
                record = VerdictRecord(runs[run].judge, 0, each.key, Order.COMBINED, *verdict)
                new.append(_judgment(runs[run], each.pk, record, preference))
    Judgment.objects.bulk_create(new, batch_size=_ROWS_AT_ONCE)


def _judgment(run: JudgeRun, comparison: int, record: VerdictRecord, preference: int) -> Judgment:
    return Judgment(
        run=run,
        comparison_id=comparison,
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
    notes = Notes(said.row.line, said.row.path)
    record = said.record
    field = f"verdicts[{record.judge}].{record.order.lower()}"
    told = record.verdict.value if record.verdict else None
    if told != stored.verdict or record.status.value != stored.status:
        notes.fault(field, _DIFFERS, told)
    elif record.raw and record.raw != stored.raw:
        notes.fault(f"{field}.raw", _DIFFERS, record.raw)
    return notes
