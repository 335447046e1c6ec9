"""Where the marks of a chart stand: geometry that templates draw as SVG.

Horizontal positions are percentages of the chart's width and vertical ones are pixels, so that a
chart fills its column at any width while its text keeps its size. Colours are not decided here:
a mark carries the name of a CSS class (static/app.css holds the Okabe-Ito palette for day and
night) and a shape, because colour alone must never tell two series apart.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, floor, isfinite, log10
from typing import Final, NamedTuple

Formatter = Callable[[float], str]
"""How a value on an axis is written."""

FONT_SIZE: Final = 12.0
NARROWEST: Final = 320.0
"""Pixels a chart may count on: a phone in portrait, less the page's margins."""

_INSET: Final = 4.0  # percent on both sides, so that the outer ticks' labels are not cut
_ROW: Final = 46.0
_LABEL_BASELINE: Final = 14.0
_MARK_CENTRE: Final = 28.0
_BAND: Final = 18.0
_AXIS: Final = 20.0
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0, 50.0)


class Mark(StrEnum):
    """A shape, as an SVG path around the origin, about 10 px across."""

    CIRCLE = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"
    SQUARE = "M-4.5-4.5h9v9h-9z"
    TRIANGLE = "M0-5.5L5.5 4.5h-11z"
    DIAMOND = "M0-6L6 0L0 6L-6 0z"


@dataclass(frozen=True, slots=True)
class Tick:
    """A position on an axis, in percent across or in pixels down, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One estimate to draw; `value`, `low` and `high` are None where there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    css: str = "c1"
    mark: Mark = Mark.CIRCLE
    strong: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """An estimate in its place: the label's baseline, and the mark with its interval below.

    Grid lines run from `top` to `bottom`, so that they do not cross the labels.
    """

    row: IntervalRow
    label: str
    label_y: float
    mark_y: float
    top: float
    bottom: float
    x: float | None
    x_low: float | None
    x_high: float | None


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """Estimates under one another on a common axis.

    `reference` is the position of a value worth comparing with (chance, zero), or None.
    """

    rows: tuple[PlacedRow, ...]
    ticks: tuple[Tick, ...]
    reference: float | None
    axis_y: float
    height: float

    @property
    def has_marks(self) -> bool:
        """Whether any row has an estimate: without one there is nothing to see."""
        return any(row.x is not None for row in self.rows)


@dataclass(frozen=True, slots=True)
class BarRow:
    """One value to draw as a bar, at least 0."""

    label: str
    value: float
    text: str
    css: str = "c1"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a bar chart: left edge and width in percent, top and height in pixels."""

    row: BarRow
    label: str
    x: float
    width: float
    top: float
    height: float
    centre: float


@dataclass(frozen=True, slots=True)
class BarChart:
    """Upright bars from a common floor at zero."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    floor_y: float
    height: float


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a scatter plot: percent across, pixels down, radius in pixels."""

    x: float
    y: float
    radius: float
    text: str


@dataclass(frozen=True, slots=True)
class ScatterPlot:
    """Points in a plane; on equal axes a diagonal marks where both agree."""

    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float
    right: float
    top: float
    bottom: float
    height: float


class ShareRow(NamedTuple):
    """Shares of a whole, to draw side by side; `urls` say where each leads, "" nowhere."""

    label: str
    shares: Sequence[float]
    names: Sequence[str]
    css: Sequence[str]
    text: str
    urls: Sequence[str]


class ShareBar(NamedTuple):
    """One share: left edge and width in percent across, and what it is in words."""

    x: float
    width: float
    css: str
    title: str
    url: str


class PlacedShares(NamedTuple):
    """A row of shares in its place: the label's baseline, and the top of its bars below."""

    label: str
    text: str
    label_y: float
    top: float
    bars: tuple[ShareBar, ...]


class ShareChart(NamedTuple):
    """Rows of shares under one another, each as wide as the chart."""

    rows: tuple[PlacedShares, ...]
    bar_height: float
    height: float


def share_chart(rows: Sequence[ShareRow], *, write: Formatter) -> ShareChart:
    """Stacked bars of shares, such as wins, ties and losses; empty shares are left out.

    Args:
        rows: from top to bottom.
        write: writes a share.
    """
    placed = []
    for number, row in enumerate(rows):
        bars, start = [], 0.0
        for share, name, css, url in zip(row.shares, row.names, row.css, row.urls, strict=True):
            if share > 0:
                title = f"{row.label}: {name} {write(share)}"
                bars.append(ShareBar(round(100 * start, 2), round(100 * share, 2), css, title, url))
            start += share
        top = number * _ROW
        label = fitted(row.label, NARROWEST - text_width(row.text) - FONT_SIZE)
        placed.append(
            PlacedShares(
                label, row.text, top + _LABEL_BASELINE, top + _MARK_CENTRE - _BAND / 2, tuple(bars)
            )
        )
    return ShareChart(tuple(placed), _BAND, _ROW * len(placed))


def nice_ticks(low: float, high: float, *, at_most: int = 6) -> tuple[float, ...]:
    """Round numbers that enclose low..high: multiples of 1, 2, 2.5 or 5 times a power of ten.

    Args:
        low: smallest value to show; equal to `high` where there is but one.
        high: largest value to show.
        at_most: how many ticks there is room for, at least 3.

    Raises:
        ValueError: the limits are not finite, are in the wrong order, or leave no room.
    """
    if not (isfinite(low) and isfinite(high)) or high < low or at_most < 3:
        raise ValueError(f"no ticks from {low} to {high}, at most {at_most}")
    if low == high:
        margin = abs(low) / 10 or 1.0
        low, high = low - margin, high + margin
    size = 10 ** floor(log10((high - low) / (at_most - 1)))
    step = next(size * factor for factor in _STEPS if _count(low, high, size * factor) <= at_most)
    first = floor(low / step + 1e-9)
    # Twelve digits drop what binary fractions add: 0.30000000000000004 is a label nobody wants.
    return tuple(
        float(f"{(first + number) * step:.12g}") for number in range(_count(low, high, step))
    )


def _count(low: float, high: float, step: float) -> int:
    return ceil(high / step - 1e-9) - floor(low / step + 1e-9) + 1


def text_width(text: str, *, size: float = FONT_SIZE) -> float:
    """About how wide a text is in pixels in a system font: full-width characters are square."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (wide + 0.56 * (len(text) - wide))


def fitted(text: str, width: float, *, size: float = FONT_SIZE) -> str:
    """The text, or as much of it as fits the width with an ellipsis."""
    if text_width(text, size=size) <= width:
        return text
    kept = text
    while kept and text_width(kept + "…", size=size) > width:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def interval_plot(
    rows: Iterable[IntervalRow],
    *,
    write: Formatter,
    reference: float | None = None,
    include: Sequence[float] = (),
) -> IntervalPlot:
    """A dot with its interval for each row, labels above the marks and the axis below.

    Args:
        rows: from top to bottom.
        write: writes an axis value.
        reference: a value to mark with a dashed line; the axis always shows it.
        include: further values that the axis must show.
    """
    estimates = list(rows)
    shown = [*include, *([] if reference is None else [reference])]
    for row in estimates:
        shown += [number for number in (row.value, row.low, row.high) if number is not None]
    ticks = nice_ticks(min(shown, default=0.0), max(shown, default=1.0))
    scale = _Scale(ticks[0], ticks[-1], _INSET, 100 - _INSET)
    axis_y = _ROW * len(estimates)
    return IntervalPlot(
        rows=tuple(_placed(row, number * _ROW, scale) for number, row in enumerate(estimates)),
        ticks=tuple(Tick(scale.at(tick), write(tick)) for tick in ticks),
        reference=scale.maybe(reference),
        axis_y=axis_y,
        height=axis_y + _AXIS,
    )


def _placed(row: IntervalRow, top: float, scale: _Scale) -> PlacedRow:
    room = NARROWEST - text_width(row.text) - FONT_SIZE
    return PlacedRow(
        row=row,
        label=fitted(row.label, room),
        label_y=top + _LABEL_BASELINE,
        mark_y=top + _MARK_CENTRE,
        top=top + _MARK_CENTRE - _BAND / 2,
        bottom=top + _MARK_CENTRE + _BAND / 2,
        x=scale.maybe(row.value),
        x_low=scale.maybe(row.low),
        x_high=scale.maybe(row.high),
    )


def bar_chart(
    rows: Sequence[BarRow],
    *,
    write: Formatter,
    plot_height: float = 120.0,
    at_least: float = 0.0,
) -> BarChart:
    """Upright bars from zero, for counts and shares, from left to right.

    Args:
        rows: the bars.
        write: writes an axis value.
        plot_height: pixels from the floor to the highest tick.
        at_least: the axis reaches this value, so that several charts share one scale.
    """
    highest = max((row.value for row in rows), default=0.0)
    ticks = nice_ticks(0.0, max(highest, at_least) or 1.0, at_most=4)
    floor_y = plot_height + FONT_SIZE
    scale = _Scale(ticks[0], ticks[-1], floor_y, FONT_SIZE)
    left = 3 * _INSET
    slot = (100 - left) / max(1, len(rows))
    room = NARROWEST * slot / 100
    bars = []
    for number, row in enumerate(rows):
        start, top = left + number * slot, scale.at(row.value)
        bars.append(
            Bar(
                row=row,
                label=fitted(row.label, room),
                x=start + slot * 0.15,
                width=slot * 0.7,
                top=top,
                height=floor_y - top,
                centre=start + slot / 2,
            )
        )
    marks = tuple(Tick(scale.at(tick), write(tick)) for tick in ticks)
    return BarChart(tuple(bars), marks, floor_y, floor_y + _AXIS)


def scatter_plot(
    points: Sequence[tuple[float, float, float, str]],
    *,
    low: float,
    high: float,
    write: Formatter,
    plot_height: float = 220.0,
) -> ScatterPlot:
    """Points on two equal axes, such as stated against predicted scores (a reliability plot).

    Args:
        points: x, y, weight (area grows with it, more than 0) and text.
        low: least value of both axes.
        high: largest value of both axes.
        write: writes an axis value.
        plot_height: pixels from the lowest to the highest tick.
    """
    ticks = nice_ticks(low, high)
    left, right, top = 3 * _INSET, 100 - _INSET, FONT_SIZE
    bottom = top + plot_height
    across, up = _Scale(ticks[0], ticks[-1], left, right), _Scale(ticks[0], ticks[-1], bottom, top)
    heaviest = max((weight for _, _, weight, _ in points), default=1.0)
    return ScatterPlot(
        points=tuple(
            Point(across.at(x), up.at(y), 3 + 7 * (weight / heaviest) ** 0.5, text)
            for x, y, weight, text in points
        ),
        x_ticks=tuple(Tick(across.at(tick), write(tick)) for tick in ticks),
        y_ticks=tuple(Tick(up.at(tick), write(tick)) for tick in ticks),
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        height=bottom + _AXIS,
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """A linear scale from low..high onto start..end."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def maybe(self, value: float | None) -> float | None:
        return None if value is None else self.at(value)
