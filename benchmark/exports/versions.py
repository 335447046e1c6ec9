"""Frozen benchmarks as files: SenseBench's own format, JSON lines, the datasheet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from benchmark.models import BenchmarkVersion

_SPEAKERS: Final = {"system": "System", "user": "Human", "assistant": "Assistant"}


class VersionFormat(NamedTuple):
    """How a version is written: the ending of the file, its type, its text in pieces."""

    ending: str
    content_type: str
    write: Callable[[BenchmarkVersion], Iterator[str]]


def version_file(version: BenchmarkVersion, form: str) -> Iterator[str]:
    """The text of a version's file in one of FORMATS, in pieces."""
    return FORMATS[form].write(version)


def _sensebench(version: BenchmarkVersion) -> Iterator[str]:
    """A JSON array of dialogues, one a line."""
    before = "[\n"
    for record in version.items:
        yield before + json.dumps(_messages(record), ensure_ascii=False)
        before = ",\n"
    yield "\n]\n"


def _messages(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Messages of parts, the topic on the first (protocols C)."""
    messages: list[dict[str, Any]] = [
        {"from": _SPEAKERS[each["role"]], "content": [{"type": "text", "value": each["text"]}]}
        for each in record["messages"]
    ]
    messages[0]["topic"] = f"sense_bmk:{record['category']}"
    return messages


def _lines(version: BenchmarkVersion) -> Iterator[str]:
    """An object a line, with all that is known of the dialogue."""
    for record in version.items:
        yield json.dumps({"version": version.version, **record}, ensure_ascii=False) + "\n"


def _datasheet(version: BenchmarkVersion) -> Iterator[str]:
    yield json.dumps(version.datasheet, ensure_ascii=False, indent=2) + "\n"


FORMATS: Final = {
    "sensebench": VersionFormat("json", "application/json", _sensebench),
    "jsonl": VersionFormat("jsonl", "application/x-ndjson", _lines),
    "datasheet": VersionFormat("datasheet.json", "application/json", _datasheet),
}
