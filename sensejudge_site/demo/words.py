"""The demo's report as lines of text, from the same figures that the pages show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from benchmark.core.metrics import Metric, MetricName
from benchmark.core.trust import ReportRow
from benchmark.queries.ranking import Board, Source
from benchmark.queries.satisfaction import SatisfactionFigures
from benchmark.queries.trust import Report
from sensejudge_site.demo.accounts import LOGINS, PASSWORD

_METRICS: Final[Mapping[MetricName, str]] = MappingProxyType(
    {
        MetricName.PEARSON: "correlation (Pearson)",
        MetricName.WITHIN_USER_PEARSON: "correlation within users",
        MetricName.QWK: "weighted kappa",
        MetricName.F1_DSAT: "F1 of dissatisfaction",
        MetricName.MAE: "mean absolute error",
    }
)
_NONE: Final = "-"


def report_lines(report: Report, boards: tuple[Board, ...]) -> Iterator[str]:
    """The whole report, blank lines between its parts."""
    yield "Simulated labels; the judge is the embedded one, which is not an LLM."
    overall = [row for row in report.rows if row.scenario is None]
    yield ""
    yield from _agreement(overall)
    yield ""
    yield from _bias(overall)
    if report.satisfaction is not None:
        yield ""
        yield from _satisfaction(report.satisfaction)
    for board in boards:
        if board.source is not Source.BASE:
            yield ""
            yield from _leaderboard(board)


def login_lines() -> Iterator[str]:
    """As whom one may sign in."""
    yield f"Sign in with the password {PASSWORD} as"
    for login in LOGINS:
        yield f"  {login.username:<16} {login.role.label}"
    yield "They are for this machine only: change their passwords before you let anyone else in."


def _agreement(rows: list[ReportRow]) -> Iterator[str]:
    yield "Agreement of judge and annotator on the test split (95 % intervals over comparisons)"
    yield "  annotator       n  without  with preferences   gain                 shuffled labels"
    for row in rows:
        selected = _percent(row.selected) + _interval(row.low, row.high)
        gain = _points(row.gain) + _interval(row.gain_low, row.gain_high, sign="+")
        yield (
            f"  {row.annotator:<12} {row.n:>4}  {_percent(row.base):>7}  {selected:<18} {gain:<20} "
            f"{_percent(row.shuffled)}"
        )


def _bias(rows: list[ReportRow]) -> Iterator[str]:
    yield "Position bias (points above one half by which the first shown wins), and consistency"
    yield "  annotator    of the annotator   of the judge       judge alike in both orders"
    for row in rows:
        human = _points(row.human_position_bias)
        human += _interval(row.human_position_bias_low, row.human_position_bias_high, sign="+")
        judge = _points(row.position_bias)
        judge += _interval(row.position_bias_low, row.position_bias_high, sign="+")
        alike = _percent(row.consistency) + _interval(row.consistency_low, row.consistency_high)
        yield f"  {row.annotator:<12} {human:<18} {judge:<18} {alike}"


def _satisfaction(figures: SatisfactionFigures) -> Iterator[str]:
    yield (
        f"Satisfaction of {figures.users} users in {figures.turns} turns "
        "(95 % intervals over users)"
    )
    yield f"  {'':<26} {'calibrated to the user':<22} raw"
    for metric in figures.metrics:
        name = _METRICS.get(metric.name, metric.name)
        yield f"  {name:<26} {_metric(metric.calibrated):<22} {_metric(metric.raw)}"


def _leaderboard(board: Board) -> Iterator[str]:
    whose = (
        "the annotators' labels" if board.source is Source.HUMAN else "the judge under preferences"
    )
    yield f"Leaderboard by {whose}, {board.verdicts} verdicts (Bradley-Terry, 95 % intervals)"
    for row in board.ranking.models:
        rating = _NONE if row.rating is None else f"{row.rating:.0f}"
        interval = "" if row.low is None or row.high is None else f"[{row.low:.0f}, {row.high:.0f}]"
        rate = board.win_rates[row.model]
        yield (
            f"  {row.rank or _NONE:>2}  {row.model:<14} {rating:>5} {interval:<14} "
            f"wins {_percent(rate.value)}"
        )


def _metric(metric: Metric) -> str:
    if metric.value is None:
        return _NONE
    if metric.interval is None:
        return f"{metric.value:.2f}"
    return f"{metric.value:.2f} [{metric.interval.low:.2f}, {metric.interval.high:.2f}]"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.0f} %"


def _points(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:+.0f}"


def _interval(low: float | None, high: float | None, *, sign: str = "-") -> str:
    """Bounds in percent after a space, with a sign always or for negative ones alone."""
    if low is None or high is None:
        return ""
    return f" [{100 * low:{sign}.0f}, {100 * high:{sign}.0f}]"
