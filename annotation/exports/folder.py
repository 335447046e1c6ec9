"""An export as a folder that `datasets` loads: a data file and a card with its counts; or Parquet.

Every row has every column. Objects are JSON text there, since their keys differ from row to row.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from annotation.core.refusals import Refused
from annotation.core.tables import Row, json_lines
from annotation.exports.export import Export
from annotation.models import Dataset, Session
from annotation.queries.datasets import languages_of_sessions

PARQUET: Final = "parquet"
PACKED: Final = {"zip": "application/zip", PARQUET: "application/vnd.apache.parquet"}
"""The media types of downloads that are no text."""
UNLIKE: Final = "sessions"
"""The kind whose rows have no common columns."""

_SIZES: Final = (
    (1000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_LARGEST: Final = "n>1M"


def flat_rows(export: Export, dataset: Dataset) -> Iterator[Row]:
    """The rows with every column, in one type each."""
    columns = export.columns if export.columns_of is None else export.columns_of(dataset)
    for row in export.rows(dataset):
        yield {name: _plain(row.get(name)) for name in columns}


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def write_folder(out: Path, export: Export, dataset: Dataset) -> None:
    """Write the folder whole, or leave nothing.

    Raises:
        OSError: it is there already, or cannot be written.
    """
    part = out.with_name(f"{out.name}.part")
    part.mkdir(parents=True)
    try:
        data = part / "data" / f"{export.kind}.jsonl"
        data.parent.mkdir()
        rows = 0
        with data.open("w", encoding="utf-8", newline="") as file:
            for line in json_lines(flat_rows(export, dataset)):
                file.write(line)
                rows += 1
        (part / "README.md").write_text(_card(export, dataset, rows), "utf-8")
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _card(export: Export, dataset: Dataset, rows: int) -> str:
    """The card: what a machine reads first, then what people do."""
    size = next((word for most, word in _SIZES if rows < most), _LARGEST)
    languages = languages_of_sessions(dataset.pk)
    head = [
        "---",
        f"pretty_name: {json.dumps(f'{dataset.name}: {export.kind}', ensure_ascii=False)}",
        "license: null # fill in before publishing",
        *(["language:", *(f"- {each}" for each in languages)] if languages else []),
        f"size_categories:\n- {size}",
        "configs:\n- config_name: default\n  data_files:",
        f"  - split: train\n    path: data/{export.kind}.jsonl",
        "---",
    ]
    columns = export.columns if export.columns_of is None else export.columns_of(dataset)
    told = [
        f"# {dataset.name}: {export.kind}",
        dataset.description,
        f"Source: {dataset.source}" if dataset.source else "",
        f"Licence of the source, as told: {dataset.licence}" if dataset.licence else "",
        "The labels are simulated: no person gave them." if dataset.simulated else "",
        f"- rows: {rows}\n- sessions in the dataset: "
        f"{Session.objects.filter(dataset=dataset).count()}",
        f"Columns: {', '.join(f'`{name}`' for name in columns)}.",
        "Texts are as people and models wrote them, and annotators go by their names in the "
        "dataset: look for personal data before publishing.",
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(filter(None, told)) + "\n"


def packed(export: Export, dataset: Dataset, form: str) -> IO[bytes]:
    """The folder as a zip, or Parquet (PACKED), written whole; nothing of it stays on disk.

    Raises:
        Refused: the kind has no common columns, or the package that writes Parquet is not here.
    """
    if export.kind == UNLIKE:
        raise Refused("export:unlike")
    if form == PARQUET and not has_parquet():
        raise Refused("export:no-parquet")
    name = f"{dataset.slug}-{export.kind}"
    with TemporaryDirectory() as place:
        path = Path(place) / name
        if form == PARQUET:
            write_parquet(path, export, dataset)
        else:
            write_folder(path, export, dataset)
            path = Path(shutil.make_archive(str(path), "zip", root_dir=place, base_dir=name))
        return path.open("rb")


def has_parquet() -> bool:
    """Whether the package that writes Parquet is here; it is none of this project's."""
    return find_spec("pyarrow") is not None


def write_parquet(out: Path, export: Export, dataset: Dataset) -> None:
    """Write one file of Parquet; all rows are held in memory.

    Raises:
        OSError: it cannot be written.
    """
    table = import_module("pyarrow").Table.from_pylist(list(flat_rows(export, dataset)))
    part = out.with_name(f"{out.name}.part")
    try:
        import_module("pyarrow.parquet").write_table(table, part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
