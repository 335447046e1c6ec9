"""Charts of the verification report: the learning curve, and chances against what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.core.charts import (
    IntervalPlot,
    IntervalRow,
    Mark,
    ScatterPlot,
    interval_plot,
    scatter_plot,
)
from annotation.templatetags.look import decimal, percent
from benchmark.core.learning_curve import CurveOn, CurvePoint
from benchmark.core.metrics import MetricName
from benchmark.core.satisfaction_chances import ChanceBin

DRAWN: Final = f"{MetricName.PEARSON}_expected"
"""What the curve draws: the unrounded score depends on no cut points."""
_MARKS: Final = {
    CurveOn.HELD_OUT: ("c1", Mark.CIRCLE),
    CurveOn.TEST: ("c2", Mark.SQUARE),
}


def curve_plot(points: Sequence[CurvePoint]) -> IntervalPlot:
    """Pearson of the unrounded score by the number of training users."""
    return interval_plot(
        [_curve_row(point) for point in points], write=lambda value: decimal(value, 2)
    )


def _curve_row(point: CurvePoint) -> IntervalRow:
    figure = point.figures[DRAWN]
    interval = figure.interval
    text = decimal(figure.value, 3)
    if interval is not None:
        text = f"{text} ({decimal(interval.low, 2)} … {decimal(interval.high, 2)})"
    css, mark = _MARKS[point.on]
    return IntervalRow(
        label=curve_label(point),
        value=figure.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        text=text,
        css=css,
        mark=mark,
    )


def curve_label(point: CurvePoint) -> str:
    """How many users were learned from, and who is predicted."""
    users = ngettext("%(n)d user", "%(n)d users", point.users) % {"n": point.users}
    on = {CurveOn.HELD_OUT: _("held out"), CurveOn.TEST: _("test users")}[point.on]
    return f"{users}, {on}"


def chance_plot(bins: Sequence[ChanceBin]) -> ScatterPlot:
    """Share of dissatisfied turns against their mean chance; area is the number of turns."""
    points = [(one.chance, one.share, float(one.turns), _chance_text(one)) for one in bins]
    highest = max([one.share for one in bins] + [one.chance for one in bins], default=1.0)
    limit = min(1.0, -(-highest * 5 // 1) / 5)
    return scatter_plot(points, low=0.0, high=limit, write=percent, plot_height=160.0)


def _chance_text(one: ChanceBin) -> str:
    return _("predicted %(chance)s, dissatisfied %(share)s, n = %(n)d") % {
        "chance": percent(one.chance),
        "share": percent(one.share),
        "n": one.turns,
    }
