"""What an export is: a kind, its columns, how its rows are read, what an annotator was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Final

from annotation.core.formats.sensejudge import CHANCE
from annotation.core.participants import study_name
from annotation.core.refusals import Refused
from annotation.core.tables import (
    HeadedRow,
    Row,
    csv_lines,
    in_blocks,
    in_key_order,
    json_lines,
)
from annotation.exports.streams import ExportedLabel
from annotation.models import (
    Dataset,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Study,
    StudyItem,
)
from annotation.queries.participants import names_of

Rows = Callable[[Dataset], Iterator[Row]]
OwnRows = Callable[[Dataset, int], Iterator[Row]]
StudyRows = Callable[[Study], Iterator[Row]]

_WORKER: Final = "worker_id"


class ExportFormat(StrEnum):
    """The file formats of exports."""

    JSONL = "jsonl"
    CSV = "csv"
    EXCEL = "excel"

    @property
    def content_type(self) -> str:
        """The media type of a download."""
        return "text/csv" if self.is_table else "application/jsonl"

    @property
    def is_table(self) -> bool:
        """Whether it is CSV; for Excel it begins with a mark of its encoding."""
        return self is not ExportFormat.JSONL

    @property
    def ending(self) -> str:
        """How the name of a file ends."""
        return "jsonl" if self is ExportFormat.JSONL else "csv"

    def table(self, columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
        """The rows as CSV, in blocks of text."""
        mark = [BYTE_ORDER_MARK] if self is ExportFormat.EXCEL else []
        return in_blocks(chain(mark, csv_lines(columns, rows)))


BYTE_ORDER_MARK: Final = "\ufeff"
"""By which Excel knows that a CSV file is UTF-8."""


@dataclass(frozen=True, slots=True)
class Export:
    """One kind of export.

    `rows` reads a dataset's rows; `flat_rows` those of the CSV where they differ; `own_rows` what
    an annotator may have of it: their own labels, without the names of models and what came again.
    `columns_of` says the columns where they depend on the dataset or study; `flat_columns` stand
    last in the CSV alone, and are none for annotators.
    `study_rows` and `study_flat_rows` read what belongs to one study.
    `workers`, asked of a CSV, adds by what a platform of paid work knows those who answered.
    `empty` is the code of the sentence that says why there is no row.
    """

    kind: str
    columns: tuple[str, ...]
    rows: Rows
    flat_rows: Rows | None = None
    own_rows: OwnRows | None = None
    study_rows: StudyRows | None = None
    study_flat_rows: StudyRows | None = None
    columns_of: Callable[[Dataset | Study], tuple[str, ...]] | None = None
    flat_columns: tuple[str, ...] = ()
    empty: str = "export:empty"

    def blocks(
        self, dataset: Dataset, format_: ExportFormat, *, workers: bool = False
    ) -> Iterator[str]:
        """The file, in blocks of text."""
        if format_.is_table:
            rows = (self.flat_rows or self.rows)(dataset)
            return self._table(dataset, rows, format_, workers=workers)
        return in_blocks(json_lines(self.rows(dataset)))

    def check(self, dataset: Dataset) -> None:
        """Raises Refused where a dataset has no row of this kind."""
        if next(self.rows(dataset), None) is None:
            raise Refused(self.empty)

    def _table(
        self, of: Dataset | Study, rows: Iterator[Row], format_: ExportFormat, *, workers: bool
    ) -> Iterator[str]:
        columns = self.columns if self.columns_of is None else self.columns_of(of)
        columns = (*columns, *self.flat_columns)
        if workers and {"study", "annotator"} <= {*columns}:
            dataset = of.dataset if isinstance(of, Study) else of
            columns, rows = (*columns, _WORKER), _with_workers(rows, dataset)
        return format_.table(columns, rows)

    def study_blocks(
        self, study: Study, format_: ExportFormat, *, workers: bool = False
    ) -> Iterator[str] | None:
        """The file of one study; None where there is none of this kind."""
        if self.study_rows is None:
            return None
        if format_.is_table:
            rows = (self.study_flat_rows or self.study_rows)(study)
            return self._table(study, rows, format_, workers=workers)
        return in_blocks(json_lines(self.study_rows(study)))

    def own_blocks(
        self, dataset: Dataset, format_: ExportFormat, annotator_id: int
    ) -> Iterator[str] | None:
        """The file of one annotator's own rows; None where annotators may have none of this."""
        if self.own_rows is None:
            return None
        rows = self.own_rows(dataset, annotator_id)
        if format_ is ExportFormat.JSONL:
            return in_blocks(json_lines(rows))
        columns = [name for name in self.columns if not is_for_readers(name)]
        return format_.table(columns, rows)


def _with_workers(rows: Iterator[Row], dataset: Dataset) -> Iterator[Row]:
    names, studies = names_of(dataset=dataset), names_of_studies(dataset)
    parts = Participation.objects.filter(study__dataset=dataset).exclude(worker={})
    known = {
        (studies[part.study_id], names.get(part.annotator_id)): part.worker_id
        for part in parts.only("study", "annotator", "worker")
    }
    for row in rows:
        own = {_WORKER: known.get((str(row["study"]), str(row["annotator"])))}
        if isinstance(row, HeadedRow):
            yield HeadedRow(row.head, {**row.own, **own})
        else:
            yield {**row, **own}


def is_for_readers(column: str) -> bool:
    """Whether a column is none for annotators: which model wrote a response, what came again."""
    return column.startswith(("model", "variant")) or column in ("repeat", CHANCE)


def moment(value: datetime | None) -> str | None:
    """A point in time as ISO 8601 with its zone."""
    return None if value is None else value.isoformat()


GIVEN: Final = (
    "study",
    "repeat",
    "comment",
    "given_at",
    "active_seconds",
    "idle_seconds",
    "input_device",
    "edits",
    "guidelines_version",
    "app_version",
    "extra",
)


def given(
    label: ExportedLabel | PairwiseLabel | SatisfactionLabel, studies: Mapping[int | None, str]
) -> dict[str, object]:
    """The columns of GIVEN for a label; the names of studies come from `names_of_studies`."""
    return {
        "study": studies[label.study_id],
        "repeat": label.repeat_index,
        "comment": label.comment,
        "given_at": moment(label.created_at),
        "active_seconds": label.active_seconds,
        "idle_seconds": label.idle_seconds,
        "input_device": label.input_device,
        "edits": label.edits,
        "guidelines_version": label.guidelines_version,
        "app_version": label.app_version,
        "extra": in_key_order(label.extra),
    }


def name_of_study(study: Study | None, dataset: Dataset) -> str:
    """The study's name in files; "" outside any."""
    return "" if study is None else study_name(dataset.slug, study.slug, study.name)


def chances_of(dataset: Dataset) -> dict[tuple[int | None, int], float]:
    """By study and comparison the probability with which that study drew it. One query."""
    rows = StudyItem.objects.filter(study__dataset=dataset, comparison__isnull=False)
    drawn = rows.filter(inclusion_chance__isnull=False)
    return {
        (study, comparison or 0): chance or 0.0
        for study, comparison, chance in drawn.values_list(
            "study_id", "comparison_id", "inclusion_chance"
        )
    }


def names_of_studies(dataset: Dataset) -> dict[int | None, str]:
    """The names in a dataset's files of all studies, since labels of any may be there."""
    rows = Study.objects.values_list("pk", "slug", "name")
    return {None: "", **{pk: study_name(dataset.slug, slug, name) for pk, slug, name in rows}}


_ZERO_IS_ASSUMED: Final = ("repeat", "edits")


def told(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that say something: what is null, empty or false is what a reader assumes."""
    return {name: value for name, value in fields.items() if not _assumed(name, value)}


def _assumed(name: str, value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value == 0 and name in _ZERO_IS_ASSUMED
    return not value
