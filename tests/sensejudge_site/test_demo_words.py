"""The printed report says what there is, and a dash where there is nothing."""

from __future__ import annotations

from types import SimpleNamespace

from annotation.core.intervals import Interval, Units
from benchmark.core.metrics import Metric, MetricName, UndefinedMetric
from benchmark.core.ranking import ModelRating, Ranking, Standing, WinRate
from benchmark.core.report import ReportRow
from benchmark.queries.boards import Board
from benchmark.queries.ranking import Source
from benchmark.queries.satisfaction_runs import MetricRow
from benchmark.queries.trust import Report
from sensejudge_site.demo.load import login_lines, report_lines

NOT_MEASURED = dict.fromkeys(
    [
        "base",
        "base_low",
        "base_high",
        "selected",
        "shuffled",
        "low",
        "high",
        "stack",
        "stack_low",
        "stack_high",
        "gain",
        "gain_low",
        "gain_high",
        "gain_p",
        "gain_p_holm",
        "own",
        "own_low",
        "own_high",
        *(f"own_gain{end}" for end in ("", "_low", "_high", "_p", "_p_holm")),
        *(
            f"{name}{bound}"
            for name in ("position_bias", "human_position_bias", "consistency")
            for bound in ("", "_low", "_high")
        ),
    ]
)


def row(**figures):
    return ReportRow(
        annotator="concise",
        n=200,
        verdicts=400,
        unreadable=0,
        stands_in="stack",
        **{"scenario": None, **NOT_MEASURED, **figures},
    )


def printed(rows=(), satisfaction=None, boards=()):
    report = Report(
        dataset="demo", judges=("lexical",), rows=tuple(rows), satisfaction=satisfaction, seed=42
    )
    return [" ".join(line.split()) for line in report_lines(report, tuple(boards), ())]


def test_it_opens_with_what_the_figures_are_not():
    first = printed()[0]
    assert "Simulated labels" in first
    assert "not an LLM" in first


def test_agreement_and_bias_stand_in_percent_with_their_intervals():
    figures = row(
        base=0.19,
        selected=0.7,
        own=0.74,
        own_low=0.69,
        own_high=0.79,
        own_gain=0.55,
        own_gain_low=0.46,
        own_gain_high=0.64,
        shuffled=0.5,
        position_bias=0.0,
        human_position_bias=-0.012,
        human_position_bias_low=-0.06,
        human_position_bias_high=0.04,
        consistency=0.82,
        consistency_low=0.8,
        consistency_high=0.9,
    )
    lines = printed([figures])
    assert "concise 200 19 % 74 % [69, 79] stack +55 [+46, +64] 70 % 50 %" in lines
    assert "concise -1 [-6, +4] +0 82 % [80, 90]" in lines


def test_a_figure_that_is_not_there_is_a_dash():
    lines = printed([row()])
    assert "concise 200 - - stack - - -" in lines
    assert "concise - - -" in lines


def test_rows_of_single_scenarios_are_left_to_the_pages():
    lines = printed([row(scenario="Math")])
    assert not any(line.startswith("concise") for line in lines)


def test_satisfaction_stands_calibrated_and_raw():
    sure = Metric(0.41, interval=Interval(0.3, 0.5))
    figures = SimpleNamespace(
        users=4,
        turns=186,
        units=Units.alike(4),
        metrics=(
            MetricRow(MetricName.PEARSON, sure, Metric(0.39)),
            MetricRow(MetricName.AUC, Metric(None, undefined=next(iter(UndefinedMetric))), sure),
        ),
    )
    lines = printed(satisfaction=figures)
    few = "too few users for intervals: about 6 more users needed"
    assert f"Satisfaction of 4 users in 186 turns ({few})" in lines
    figures.units = Units(30, 3.5)
    uneven = "a few users hold most of the rows; too few users for intervals: about 22 more users"
    assert f"Satisfaction of 4 users in 186 turns ({uneven} needed)" in printed(
        satisfaction=figures
    )
    figures.units = Units.alike(10)
    many = printed(satisfaction=figures)
    assert "Satisfaction of 4 users in 186 turns (95 % intervals over users)" in many
    assert "correlation (Pearson) 0.41 [0.30, 0.50] 0.39" in lines
    assert "auc - 0.41 [0.30, 0.50]" in lines


def board(source):
    rated = ModelRating("terse-1", Standing.RATED, 1020.4, 990.0, 1051.0, 1, 1, 2, 100)
    unrated = ModelRating(
        "friendly-1", Standing.NOT_COMPARABLE, None, None, None, None, None, None, 9
    )
    ranking = Ranking((rated, unrated), 100, 100, Units.alike(100), 1000, 1000, 42, None)
    rates = {name: WinRate(name, 0.64, None, 100, 300) for name in ("terse-1", "friendly-1")}
    return Board(source, "", ranking, rates, {}, 864, 0)


def test_leaderboards_are_those_of_the_annotators_and_of_the_judge_in_their_place():
    lines = printed(boards=[board(source) for source in Source])
    assert sum(line.startswith("Leaderboard") for line in lines) == 4  # the base judge has none
    assert "1 terse-1 1020 [990, 1051] wins 64 %" in lines
    assert "- friendly-1 - wins 64 %" in lines


def test_every_login_is_named_with_its_role():
    text = "\n".join(login_lines())
    assert all(f"demo-{role}" in text for role in ("admin", "manager", "annotator", "viewer"))
    assert "sensejudge-demo" in text
