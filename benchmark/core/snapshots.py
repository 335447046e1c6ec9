"""What was kept of a page against what it would be now, each difference by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop

Figures = Sequence[Mapping[str, Any]]
"""Rows as a page's file has them, in JSON's types."""
Basis = Mapping[str, Mapping[str, Any]]
"""By part (`BasisPart`) and name what the figures rest on, in JSON's plain types."""
METHOD: Final = 2
"""Version of the methods of figures, one more with each change that gives other figures of the same
data. A snapshot that names none is of the first. 2: units count by how much they hold."""
METHOD_CHANGED: Final = gettext_noop("%(name)s: method changed")
"""Said of a figure that another version of the method gave."""
THERE: Final = gettext_noop("there")
"""Said of a whole row that came or went."""


class SnapshotKind(LabelledEnum):
    """What is kept."""

    BOARD = "BOARD", gettext_noop("Leaderboard")
    CORRECTED = "CORRECTED", gettext_noop("People, judge, corrected")
    PAIRS = "PAIRS", gettext_noop("Models two by two")
    SATISFACTION = "SATISFACTION", gettext_noop("Satisfaction by model")
    TRUST = "TRUST", gettext_noop("Trust")
    PEOPLE = "PEOPLE", gettext_noop("Judges compared with people")
    REPORT = "REPORT", gettext_noop("Report")
    REPLAY = "REPLAY", gettext_noop("Replay")


class BasisPart(LabelledEnum):
    """What figures rest on; a text with the place of a name."""

    QUESTION = "question", gettext_noop("setting %(name)s")
    COMPARISONS = "comparisons", gettext_noop("comparisons of %(name)s")
    LABELS = "labels", gettext_noop("labels of %(name)s")
    RESPONSES = "responses", gettext_noop("responses of %(name)s")
    RATINGS = "ratings", gettext_noop("ratings of %(name)s")
    QUESTIONNAIRES = "questionnaires", gettext_noop("questionnaires of %(name)s")
    ANSWERS = "answers", gettext_noop("answers of replay %(name)s")
    JUDGMENTS = "judgments", gettext_noop("judgments of run %(name)s")
    SCORES = "scores", gettext_noop("calibrated scores and reasons of run %(name)s")
    RATED = "rated", gettext_noop("ratings of %(name)s")
    SETTINGS = "settings", gettext_noop("settings of run %(name)s")
    PROMPTS = "prompts", gettext_noop("prompt %(name)s")
    REPLIES = "replies", gettext_noop("replies of run %(name)s")
    READ_AGAIN = "read_again", gettext_noop("answers of run %(name)s, read again")
    VERSIONS = "versions", gettext_noop("version of %(name)s")


KEYS: Final = {
    SnapshotKind.BOARD: ("model", "source"),
    SnapshotKind.CORRECTED: ("model", "figure"),
    SnapshotKind.PAIRS: ("pair",),
    SnapshotKind.SATISFACTION: (
        *("model", "first", "second", "scenario", "question", "option", "figure"),
    ),
    SnapshotKind.PEOPLE: ("of", "setup"),
    SnapshotKind.TRUST: ("annotator", "scenario"),
    SnapshotKind.REPORT: ("annotator", "scenario"),
    SnapshotKind.REPLAY: ("candidate", "role"),
}
"""The columns that tell a row; but for the first each is named only where it has several values."""


class SnapshotChange(NamedTuple):
    """One thing that is not as it was; None where it was not there, or no longer is.

    `text` has the place of a name, which for a figure is all there is to say.
    """

    text: str
    name: str
    was: object
    now: object

    def record(self) -> dict[str, object]:
        """As scripts read it."""
        what = self.text % {"name": self.name} if self.text else self.name
        return {"what": what, "was": self.was, "is": self.now}


def method_of(basis: Basis) -> str:
    """The version of the methods that gave figures of some basis."""
    return str(basis.get(BasisPart.VERSIONS.value, {}).get(_METHOD, 1))


_METHOD: Final = "method"


def with_method(basis: Basis) -> dict[str, dict[str, Any]]:
    """A basis with the version of the methods among its versions, told or not."""
    versions = {**basis.get(BasisPart.VERSIONS.value, {}), _METHOD: method_of(basis)}
    return {**{part: dict(own) for part, own in basis.items()}, BasisPart.VERSIONS.value: versions}


def differences(
    kind: SnapshotKind, was: tuple[Basis, Figures], now: tuple[Basis, Figures]
) -> list[SnapshotChange]:
    """All that is not as it was, the basis first; figures of another method are said to be so.

    Args:
        kind: of the page.
        was: what was kept: its basis and rows.
        now: the same of today, or of another snapshot.
    """
    bases = [with_method(basis) for basis, _figures in (was, now)]
    is_other = method_of(bases[0]) != method_of(bases[1])
    figures = figure_differences(kind, was[1], now[1])
    if is_other:
        figures = [each._replace(text=METHOD_CHANGED) for each in figures]
    return [*basis_differences(*bases), *figures]


def basis_differences(was: Basis, now: Basis) -> list[SnapshotChange]:
    """What of the basis is not as it was, part by part, of those that both tell of."""
    return [
        SnapshotChange(part.label, name, was_one, now_one)
        for part in BasisPart
        if part.value in was and part.value in now
        for name in {**was[part.value], **now[part.value]}
        for was_one, now_one in [(was[part.value].get(name), now[part.value].get(name))]
        if was_one != now_one
        and (part is not BasisPart.READ_AGAIN or _is_read_otherwise(was_one, now_one))
    ]


def _is_read_otherwise(was: object, now: object) -> bool:
    """Whether answers changed by two counts of them, `12 same, 0 other, 0 missing`.

    Where differently many were read the fewer are among the more: of no kind can they be more.
    """
    if was is None or now is None:
        return False  # the run came or went, which its judgments tell, or was not read then
    then, today = ([int(n) for n in re.findall(r"\d+", str(each))] for each in (was, now))
    fewer, more = sorted((then, today), key=sum)
    return any(one > other for one, other in zip(fewer, more, strict=True))


def _as_filed(column: str, row: Mapping[str, Any]) -> str:
    return str(row.get(column) or "")


def figure_differences(kind: SnapshotKind, was: Figures, now: Figures) -> list[SnapshotChange]:
    """Which figures are not exactly as they were: `alpha: rating`; a row that came or went whole.

    Args:
        kind: of the page.
        was: its rows then.
        now: its rows now.
    """
    paired = named_rows(kind, was, now)
    found = []
    for name, before, after in paired:
        if before is None or after is None:
            told = [None if row is None else THERE for row in (before, after)]
            found.append(SnapshotChange("", name, *told))
            continue
        found += [
            SnapshotChange("", f"{name}: {column}", before.get(column), after.get(column))
            for column in {**before, **after}
            if before.get(column) != after.get(column)
        ]
    return found


def named_rows(
    kind: SnapshotKind,
    was: Figures,
    now: Figures,
    *,
    told: Callable[[str, Mapping[str, Any]], str] = _as_filed,
) -> list[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Each row's name with the row of one table and that of the other, in the order of the first.

    A page of one kind of verdict names its models alone, one of several `alpha, human`.

    Args:
        kind: of the page.
        was: the rows of one table.
        now: the rows of the other.
        told: how a column of a row is called in its name, "" to leave it out.
    """
    columns = KEYS[kind]
    first_table, second_table = (
        {tuple(row.get(each) for each in columns): row for row in rows} for rows in (was, now)
    )
    both = {**first_table, **second_table}
    values = zip(columns, zip(*both, strict=True), strict=bool(both))
    named = dict.fromkeys((columns[0], *(name for name, own in values if len(set(own)) > 1)))
    return [
        (
            ", ".join(filter(None, (told(column, row) for column in named))),
            first_table.get(key),
            second_table.get(key),
        )
        for key, row in both.items()
    ]
