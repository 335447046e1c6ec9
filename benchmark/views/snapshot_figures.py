"""What of a snapshot is shown: tables, figures in words, the chart, the columns of its file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext as _

from annotation.core.charts import IntervalPlot, IntervalRow, interval_plot
from annotation.core.refusals import gettext_noop
from annotation.templatetags.look import decimal, label, percent
from benchmark.core.ranking import RatingMethod
from benchmark.core.replay import ReplayScale
from benchmark.core.snapshots import KEYS, SnapshotKind, named_rows
from benchmark.forms import POLICIES, RULES
from benchmark.models import Snapshot
from benchmark.queries.model_satisfaction import Voice
from benchmark.queries.ranking import Source
from benchmark.templatetags.figures import items_told, p_relation
from benchmark.views.figures import method_name
from judging.templatetags.run_settings import evaluator_label


class FigureColumn(NamedTuple):
    """A figure of a row with its interval; a share is written in percent, others with `places`.

    Where `is_share` is None the row's `figure` says which.
    """

    name: str
    title: str
    low: str = ""
    high: str = ""
    is_share: bool | None = True
    places: int = 0


_AGREEMENT: Final = (
    FigureColumn("own", gettext_noop("Agreement of the stand-in"), "own_low", "own_high"),
    FigureColumn("base", gettext_noop("Base judge agrees"), "base_low", "base_high"),
    FigureColumn("own_gain", gettext_noop("Gain"), "own_gain_low", "own_gain_high"),
    FigureColumn(
        "position_bias", gettext_noop("Position bias"), "position_bias_low", "position_bias_high"
    ),
    FigureColumn("consistency", gettext_noop("Consistency"), "consistency_low", "consistency_high"),
    FigureColumn("n", gettext_noop("Comparisons"), is_share=False),
)
_RANK: Final = FigureColumn("rank", gettext_noop("Rank"), "rank_low", "rank_high", is_share=False)


def _three_ways(*, is_share: bool | None) -> tuple[FigureColumn, ...]:
    """A figure corrected, by people and by the judge, and what it rests on."""
    ways = (
        ("corrected", gettext_noop("Corrected")),
        ("human", gettext_noop("People")),
        ("judge_only", gettext_noop("Judge")),
    )
    return (
        *(
            FigureColumn(name, title, f"{name}_low", f"{name}_high", is_share, 2)
            for name, title in ways
        ),
        FigureColumn("r", gettext_noop("Correlation"), is_share=False, places=3),
        FigureColumn("labels", gettext_noop("Labels"), is_share=False),
        FigureColumn("targets", gettext_noop("Judged"), is_share=False),
    )


_TABLES: Final[dict[SnapshotKind, tuple[tuple[FigureColumn, ...], ...]]] = {
    SnapshotKind.BOARD: (
        (
            FigureColumn("rating", gettext_noop("Rating"), "low", "high", is_share=False),
            _RANK,
            FigureColumn("win_rate", gettext_noop("Win rate"), "win_rate_low", "win_rate_high"),
            FigureColumn("verdicts", gettext_noop("Verdicts"), is_share=False),
        ),
    ),
    SnapshotKind.CORRECTED: (
        (
            *_three_ways(is_share=True),
            FigureColumn(
                "rating", gettext_noop("Rating"), "rating_low", "rating_high", is_share=False
            ),
            _RANK,
        ),
    ),
    SnapshotKind.PAIRS: (
        (
            FigureColumn("win_rate", gettext_noop("Win rate"), "low", "high"),
            FigureColumn("wins", gettext_noop("Wins"), is_share=False),
            FigureColumn("ties", gettext_noop("Ties"), is_share=False),
            FigureColumn("losses", gettext_noop("Losses"), is_share=False),
            FigureColumn("comparisons", gettext_noop("Comparisons"), is_share=False),
        ),
    ),
    SnapshotKind.SATISFACTION: (
        (
            FigureColumn(
                "mean",
                gettext_noop("Mean score"),
                "mean_low",
                "mean_high",
                is_share=False,
                places=2,
            ),
            FigureColumn(
                "dissatisfied",
                gettext_noop("Dissatisfied"),
                "dissatisfied_low",
                "dissatisfied_high",
            ),
            FigureColumn("made_up", gettext_noop("Made-up facts"), "made_up_low", "made_up_high"),
            FigureColumn("answers", gettext_noop("Answers"), is_share=False),
            FigureColumn("users", gettext_noop("Users"), is_share=False),
        ),
        _three_ways(is_share=None),
        (
            FigureColumn(
                "difference", gettext_noop("Difference"), "low", "high", is_share=None, places=2
            ),
            FigureColumn("p_holm", gettext_noop("p (Holm)"), is_share=False, places=3),
            FigureColumn("users", gettext_noop("Users"), is_share=False),
        ),
        (
            FigureColumn("n", gettext_noop("Chosen"), is_share=False),
            FigureColumn("answered", gettext_noop("Answered"), is_share=False),
        ),
    ),
    SnapshotKind.PEOPLE: (
        (
            FigureColumn(
                "judge_share", gettext_noop("Judge and people"), "judge_low", "judge_high"
            ),
            FigureColumn("judge_pairs", gettext_noop("Vote pairs"), is_share=False),
            FigureColumn(
                "people_share", gettext_noop("People with people"), "people_low", "people_high"
            ),
            FigureColumn("people_pairs", gettext_noop("Vote pairs"), is_share=False),
        ),
    ),
    SnapshotKind.TRUST: (_AGREEMENT,),
    SnapshotKind.REPORT: (_AGREEMENT,),
    SnapshotKind.REPLAY: (
        (
            FigureColumn(
                "user",
                gettext_noop("Mean over users"),
                "user_low",
                "user_high",
                is_share=False,
                places=2,
            ),
            FigureColumn(
                "gain", gettext_noop("Gain"), "gain_low", "gain_high", is_share=False, places=2
            ),
            FigureColumn("p_holm", gettext_noop("p (Holm)"), is_share=False, places=3),
            FigureColumn("sat", gettext_noop("Satisfied"), "sat_low", "sat_high"),
            FigureColumn("items", gettext_noop("Turns"), is_share=False),
        ),
    ),
}
"""What the page shows of rows: a row is in the table whose first column it has. The file has all.

The first figure of the first table with rows is in the chart.
"""
_ReadRow = tuple[str, Mapping[str, Any]]
_Columns = tuple[FigureColumn, ...]


def figure_tables(snapshot: Snapshot) -> list[tuple[_Columns, list[_ReadRow]]]:
    """The tables that have rows, each with its columns; of win rates the rating is a share."""
    kind = SnapshotKind(snapshot.kind)
    named = named_rows(kind, snapshot.figures, snapshot.figures, told=row_word)
    found = []
    by_share = snapshot.question.get("method") == RatingMethod.WIN_RATE.value
    for lead, *others in _TABLES[kind]:
        first = lead._replace(is_share=True) if by_share else lead
        rows = [(name, row) for name, row, _same in named if row and first.name in row]
        if rows:
            titled = tuple(each._replace(title=_(each.title)) for each in (first, *others))
            found.append((titled, rows))
    return found


def _written(column: FigureColumn, value: float | None, *, is_share: bool) -> str:
    if value is None:
        return "–"
    if column.name == "p_holm":
        return p_relation(value).removeprefix("= ")
    return (
        percent(value, 1).replace("-", "\N{MINUS SIGN}")
        if is_share
        else decimal(value, column.places)
    )


def _is_share(column: FigureColumn, row: Mapping[str, Any]) -> bool:
    return row.get("figure") == "dissatisfied" if column.is_share is None else column.is_share


def figure_cell(column: FigureColumn, row: Mapping[str, Any]) -> tuple[str, str]:
    """The figure of a row and its interval, in words; "" without one."""
    is_share = _is_share(column, row)
    value, low, high = (row.get(name) for name in (column.name, column.low, column.high))
    told = _written(column, value, is_share=is_share)
    if low is None or high is None:
        return told, ""
    ends = (_written(column, each, is_share=is_share) for each in (low, high))
    return told, " … ".join(ends)


def _plot(column: FigureColumn, rows: list[_ReadRow]) -> IntervalPlot:
    """The rows on one scale, that of the first."""
    is_share = _is_share(column, rows[0][1])
    shown = []
    for name, row in rows:
        if _is_share(column, row) is is_share:
            told, interval = figure_cell(column, row)
            text = f"{told} ({interval})" if interval else told
            ends = (row.get(column.low), row.get(column.high)) if interval else (None, None)
            shown.append(IntervalRow(name, row.get(column.name), *ends, text))
    return interval_plot(shown, write=lambda value: _written(column, value, is_share=is_share))


def first_plot(snapshot: Snapshot) -> IntervalPlot:
    """The first figure of its first table; of rows by scenario there may be too many to name."""
    columns, rows = figure_tables(snapshot)[0]
    whole = [(name, row) for name, row in rows if not row.get("scenario")]
    return _plot(columns[0], whole or rows)


_SETTINGS: Final = {
    "dataset": gettext_noop("Dataset"),
    "verdicts": gettext_noop("Verdicts"),
    "judge": gettext_noop("Judge"),
    "scenario": gettext_noop("Scenario"),
    "annotator": gettext_noop("Annotator"),
    "language": gettext_noop("Language"),
    "method": gettext_noop("Ranked by"),
    "style": gettext_noop("Style"),
    "bootstrap": gettext_noop("Bootstrap draws"),
    "seed": gettext_noop("Seed"),
    "anchor": gettext_noop("Against"),
    "run": gettext_noop("Run"),
    "rule": gettext_noop("Vote"),
    "policy": gettext_noop("Unreadable"),
    "until": gettext_noop("Last run that counts"),
    "scale": gettext_noop("Scores"),
    "evaluator": gettext_noop("Evaluator"),
    "items": gettext_noop("Turns to replay"),
    "study": gettext_noop("Study"),
    "voice": gettext_noop("Scores by"),
    "people": gettext_noop("People"),
}
_SOURCES: Final = {
    Source.HUMAN: gettext_noop("Human labels"),
    Source.SELECTED: gettext_noop("Personal judges"),
    Source.SUBSET: gettext_noop("Personal judges, selected preferences"),
    Source.BASE: gettext_noop("Base judge"),
    Source.DRAWN: gettext_noop("Personal judges, preferences drawn at random"),
}
_VOICES: Final = {
    Voice.PEOPLE: gettext_noop("people"),
    Voice.JUDGE: gettext_noop("judge"),
    Voice.CORRECTED: gettext_noop("corrected"),
}


_ROLES: Final = {
    "control": gettext_noop("Control: the original responses, scored again"),
    "stated": gettext_noop("Original responses, as users rated them"),
}
_FIGURES: Final = {
    "mean": gettext_noop("mean score"),
    "dissatisfied": gettext_noop("dissatisfied"),
    "agreement": gettext_noop("agreement"),
}


def row_word(column: str, row: Mapping[str, Any]) -> str:
    """How a page calls what tells a row from others; what has no words stays as it is."""
    value = str(row.get(column) or "")
    words: dict[str, Callable[[], str]] = {
        "candidate": lambda: _(_ROLES[row["role"]]) if row["role"] in _ROLES else value,
        "role": lambda: "",  # as the candidate says
        "source": lambda: _(_SOURCES[Source(value)]),
        "figure": lambda: _(_FIGURES[value]),
        "setup": lambda: _("ties counted") if value == "S1" else _("ties left out"),
        "of": lambda: f"{_('Turn')} {row['turn']}" if "turn" in row else row.get("scenario", value),
    }
    told = column in words and (value or column == "candidate")
    return words[column]() if told else value


def setting_title(name: str) -> str:
    """How a page calls what a snapshot was asked."""
    return _(_SETTINGS[name]) if name in _SETTINGS else name


def setting_told(name: str, value: object) -> str:
    """What was asked, in words; a value that has none stays as it is."""
    told: dict[str, Callable[[Any], str]] = {
        "verdicts": lambda word: _(_SOURCES[Source(word)]),
        "method": lambda word: method_name(RatingMethod(word)),
        "style": lambda _on: _("controlled"),
        "rule": lambda word: str(dict(RULES)[word]),
        "policy": lambda word: str(dict(POLICIES)[word]),
        "scale": lambda word: label(ReplayScale(word)),
        "evaluator": evaluator_label,
        "items": items_told,
        "voice": lambda word: _(_VOICES[Voice(word)]),
    }
    return told[name](value) if value and name in told else str(value)


def settings_of(snapshot: Snapshot, *, without: Collection[str] = ()) -> list[tuple[str, str]]:
    """What was asked, in words: the title of each setting and its value."""
    return [
        (setting_title(name), setting_told(name, value))
        for name, value in snapshot.question.items()
        if value and name not in without
    ]


_SAME: Final = frozenset({"dataset", "bootstrap", "seed", "until"})


def settings_told(snapshot: Snapshot) -> str:
    """What tells a snapshot of a dataset from others of its kind."""
    return " · ".join(f"{title}: {told}" for title, told in settings_of(snapshot, without=_SAME))


def all_columns(found: Snapshot) -> list[str]:
    """What tells a row, what its page shows, then the rest; PostgreSQL keeps no order of names."""
    there = {name for row in found.figures for name in row}
    shown = [
        part
        for columns, _rows in figure_tables(found)
        for each in columns
        for part in (each.name, each.low, each.high)
    ]
    wanted = dict.fromkeys((*KEYS[SnapshotKind(found.kind)], *shown, *sorted(there)))
    return [name for name in wanted if name in there]
