"""How a label was given, under the names of the project's own format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.naming import study_name
from annotation.exports.export import moment
from annotation.models import Dataset, PairwiseLabel, SatisfactionLabel, Study

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


def given(label: PairwiseLabel | SatisfactionLabel, dataset: Dataset) -> dict[str, object]:
    """The columns of GIVEN for a label whose study is loaded."""
    return {
        "study": name_of_study(label.study, dataset),
        "repeat": label.repeat_index,
        "comment": label.comment,
        "given_at": moment(label.created_at),
        "active_seconds": label.active_seconds,
        "idle_seconds": label.idle_seconds,
        "input_device": label.input_device,
        "edits": label.edits,
        "guidelines_version": label.guidelines_version,
        "app_version": label.app_version,
        "extra": label.extra,
    }


def name_of_study(study: Study | None, dataset: Dataset) -> str:
    """The study's name in files; "" outside any."""
    return "" if study is None else study_name(dataset.slug, study.slug, study.name)


_ZERO_IS_ASSUMED: Final = ("repeat", "edits")


def told(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that say something: what is null, empty or false is what a reader assumes."""
    return {name: value for name, value in fields.items() if not _assumed(name, value)}


def _assumed(name: str, value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value == 0 and name in _ZERO_IS_ASSUMED
    return not value
