"""What `evaluate_satisfaction` prints: its report as lines, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from annotation.core.intervals import Interval, Units
from annotation.core.refusals import text_of
from benchmark.core.learning_curve import CURVE_METRICS
from benchmark.core.metrics import Metric, MetricName
from benchmark.core.paper_satisfaction import TABLE_2, TABLE_3, ours_beside
from benchmark.core.satisfaction_groups import GAINED
from benchmark.queries.satisfaction import StoredCurve
from benchmark.queries.satisfaction_report import EvaluatorRow, LeftOut, SatisfactionReport
from benchmark.services.evaluators import MEMORIES_BY
from benchmark.services.satisfaction_report import (
    stored_chances,
    stored_gains,
    stored_likely,
    stored_point,
)
from sensejudge_site.management.parsing import counted, few_users_told

SHOWN: Final = (
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.QWK,
    MetricName.F1_DSAT,
    MetricName.MAE,
    MetricName.WITHIN_USER_PEARSON,
    MetricName.WITHIN_BLOCK_PEARSON,
)
_UNROUNDED: Final = f"{MetricName.PEARSON}_expected"
_NAME: Final = 36
_CELL: Final = 23
_COUNTS: Final = f"{'turns':>7} {'users':>5} {'missing':>7}"


def lines(found: SatisfactionReport, curve: StoredCurve | None) -> Iterator[str]:
    """The report as a person reads it: the table, gains, reasons, the paper, the curve."""
    yield f"{counted(found.users, 'user')}, {counted(found.turns, 'turn')}"
    head = " ".join(f"{name.replace('within_user', 'within'):>{_CELL}}" for name in SHOWN)
    yield f"{'evaluator':{_NAME}} {_COUNTS} {head} {'pearson, unrounded':>{_CELL}}"
    for one in found.all_rows:
        metrics = [one.metrics[name] for name in (*SHOWN, _UNROUNDED)]
        cells = " ".join(f"{_cell(each):>{_CELL}}" for each in metrics)
        yield f"{_title(one):{_NAME}} {_counts(one)} {cells}"
    yield from _remarks(found)
    yield from _gains(found)
    yield from _reasons(found)
    yield from _paper(found)
    if curve is not None:
        yield from _curve(curve)


def _counts(one: EvaluatorRow) -> str:
    """What every figure of a line rests on."""
    return f"{one.turns:>7,} {one.users:>5,} {one.missing:>7,}"


def _remarks(found: SatisfactionReport) -> Iterator[str]:
    """Why turns, figures or intervals are missing."""
    for gap in found.unscored:
        of = f"{gap.n:,} of {counted(gap.turns, 'turn')}"
        yield f"without a score: {gap.evaluator}, {of}: {_told(gap.code)}"
        if gap.lacks_memories:
            yield f"  {other_memories(gap.evaluator)}"
    undefined: dict[str, dict[str, None]] = {}
    for one in found.all_rows:
        for why in (one.metrics[name].undefined for name in (*SHOWN, _UNROUNDED)):
            if why is not None:
                undefined.setdefault(why.label, {})[_title(one)] = None
    for reason, titles in undefined.items():
        yield f"-: {reason} ({'; '.join(titles)})"
    yield from _few(found)


def _few(found: SatisfactionReport) -> Iterator[str]:
    """Which lines have too few users for intervals, by how many they have."""
    few: dict[Units, list[str]] = {}
    for one in found.few_users:
        few.setdefault(one.units, []).append(_title(one))
    for users, titles in few.items():
        whose = "" if len(titles) == len(found.all_rows) else f" ({'; '.join(titles)})"
        yield f"{counted(users.number, 'user')}{whose}: {few_users_told(users)}"


def left_out_told(each: LeftOut) -> str:
    """Why an evaluator stands in no row: what was found, and the sentence of the code."""
    if not each.code:
        return each.detail
    run = "" if each.run is None else f"run {each.run} failed, "
    detail = f" ({each.detail})" if each.detail else ""
    return f"{each.evaluator}: {run}{_told(each.code)}{detail}"


def _told(code: str) -> str:
    """A code and its sentence."""
    return f"{code}: {text_of(code)}"


def other_memories(evaluator: str) -> str:
    """What to do where an evaluator's memories cannot be written."""
    judge = evaluator.partition(":")[0].partition(MEMORIES_BY)[0]
    return (
        "Have another judge write the memories (--memory-judge NAME), or score without them "
        f"({judge}:no-memory)."
    )


def _gains(found: SatisfactionReport) -> Iterator[str]:
    """What the others gain over the reference, where there are others."""
    others = [one for one in found.rows if one.name != found.reference]
    if not others:
        return
    yield ""
    head = " ".join(f"{name:>{_CELL}}" for name in GAINED)
    yield f"{f'gain over {found.reference}':{_NAME}} {_COUNTS} {head}"
    for one in others:
        gains = (gain for _name, gain in one.details.shown_gains)
        cells = (_figure(gain.value, gain.interval, signed=True) for gain in gains)
        row = " ".join(f"{cell:>{_CELL}}" for cell in cells)
        yield f"{_title(one):{_NAME}} {_counts(one)} {row}"


def _reasons(found: SatisfactionReport) -> Iterator[str]:
    for one in found.all_rows:
        details = one.details
        if (likely := details.likely) is not None:
            yield ""
            turns = counted(likely.turns, "dissatisfied turn")
            yield f"{_title(one)}: likely reason of {turns}, {counted(one.users, 'user')}"
            yield f"  accuracy {_figure(likely.accuracy.value, likely.accuracy.interval)}, always "
            yield (
                f"  the most common {likely.commonest:.3f}, macro-F1 "
                + _figure(likely.macro_f1.value, likely.macro_f1.interval)
                + f" against {likely.commonest_f1:.3f}, among two {likely.top_2.value:.3f}"
            )
        if (chances := details.chances) is not None:
            error = _figure(chances.error.value, chances.error.interval)
            n = counted(chances.turns, "turn")
            yield f"  calibration error of the chance of dissatisfaction {error} ({n})"


def _paper(found: SatisfactionReport) -> Iterator[str]:
    yield ""
    yield "the paper's Table 2 (its 90 test users): Pearson, Spearman, QWK, F1-DSAT; then ours"
    for row in TABLE_2:
        ours = "; ".join(
            _of_turns(one) + " ".join(_short(one.metrics[name]) for name in SHOWN[:4])
            for one in ours_beside(row, found.rows)
        )
        quoted = f"{row.pearson:.4f} {row.spearman:.4f} {row.qwk:.4f} {row.f1_dsat:.4f}"
        yield f"{row.evaluator:{_NAME}} {quoted}   {ours or 'not run here'}"
    yield "its Table 3 (20 of these users): Pearson, QWK, F1-DSAT"
    asked = (MetricName.PEARSON, MetricName.QWK, MetricName.F1_DSAT)
    for line in TABLE_3:
        ours = "; ".join(
            _of_turns(one) + " ".join(_short(one.metrics[name]) for name in asked)
            for one in ours_beside(line, found.rows)
        )
        title = f"{line.model}, {line.variant}"
        quoted = f"{line.pearson:.3f} {line.qwk:.3f} {line.f1_dsat:.3f}"
        yield f"{title:{_NAME}} {quoted}   {ours or 'not run here'}"


def _curve(curve: StoredCurve) -> Iterator[str]:
    yield ""
    head = " ".join(f"{name.replace('within_user', 'within'):>{_CELL}}" for name in CURVE_METRICS)
    yield f"{'learning curve, users learned from':{_NAME}} {head}"
    for point in curve.points:
        learned_from = f"{counted(point.users, 'user')}, {counted(point.draws, 'draw')}"
        title = f"{point.on.lower()}, {learned_from}, {counted(point.turns, 'turn')}"
        cells = (
            _figure(point.figures[name].value, point.figures[name].interval)
            for name in CURVE_METRICS
        )
        yield f"{title:{_NAME}} " + " ".join(f"{cell:>{_CELL}}" for cell in cells)


def _title(one: EvaluatorRow) -> str:
    return f"{one.name}, {one.setting}"


def _of_turns(one: EvaluatorRow) -> str:
    return f"{_title(one)} (n {one.turns:,}) "


def _cell(metric: Metric) -> str:
    return _figure(metric.value, metric.interval)


def _short(metric: Metric) -> str:
    return "-" if metric.value is None else f"{metric.value:.4f}"


def _figure(value: float | None, interval: Interval | None, *, signed: bool = False) -> str:
    if value is None:
        return "-"
    sign = "+" if signed else ""
    ends = "" if interval is None else f" [{interval.low:{sign}.3f},{interval.high:{sign}.3f}]"
    return f"{value:{sign}.4f}{ends}"


def as_json(found: SatisfactionReport, curve: StoredCurve | None) -> dict[str, Any]:
    """The report as one object; the fields that scripts read stand in design.md."""
    return {
        "users": found.users,
        "turns": found.turns,
        "shared_users": len(found.shared),
        "report": found.chosen.id,
        "skipped": [left_out_told(each) for each in found.skipped],
        "evaluators": [_fields(one) for one in found.rows],
        "training": None if found.training is None else _fields(found.training),
        "learning_curve": None
        if curve is None
        else {
            "report": curve.report_id,
            "users": list(curve.sizes),
            "points": [stored_point(one) for one in curve.points],
        },
    }


def _fields(one: EvaluatorRow) -> dict[str, Any]:
    """Every metric by its name, `_expected` after those on expected scores, null if undefined."""
    details = one.details
    return {
        "name": one.name,
        "setting": one.setting,
        "turns": one.turns,
        "users": one.users,
        "missing": one.missing,
        "missing_by_code": one.missing_by_code,
        "seconds": one.seconds,
        **{name: metric.value for name, metric in one.metrics.items()},
        "intervals": {
            name: [metric.interval.low, metric.interval.high]
            for name, metric in one.metrics.items()
            if metric.interval is not None
        },
        "undefined": {
            name: metric.undefined.value
            for name, metric in one.metrics.items()
            if metric.undefined is not None
        },
        "gains": stored_gains(details.gains),
        "likely_reason": None if details.likely is None else stored_likely(details.likely),
        "chances": None if details.chances is None else stored_chances(details.chances),
    }
