import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.charts import (
    NARROWEST,
    BarRow,
    IntervalRow,
    ShareRow,
    bar_chart,
    fitted,
    interval_plot,
    nice_ticks,
    scatter_plot,
    share_chart,
    text_width,
)

numbers = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)
limits = st.tuples(numbers, numbers).map(sorted).filter(lambda pair: pair[1] - pair[0] > 1e-3)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, (0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (0.52, 0.87, (0.5, 0.6, 0.7, 0.8, 0.9)),
        (-0.08, 0.14, (-0.1, -0.05, 0, 0.05, 0.1, 0.15)),
        (728, 1196, (700, 800, 900, 1000, 1100, 1200)),
        (1.0, 5.0, (1, 2, 3, 4, 5)),
        (0.0, 0.0, (-1, -0.5, 0, 0.5, 1)),
        (1000, 1000, (900, 950, 1000, 1050, 1100)),
    ],
)
def test_ticks_are_round_and_enclose_the_values(low, high, ticks):
    assert nice_ticks(low, high) == ticks


@given(limits, st.integers(3, 12))
def test_there_are_never_more_ticks_than_there_is_room_for(pair, room):
    low, high = pair
    ticks = nice_ticks(low, high, at_most=room)
    slack = 1e-6 * (high - low)
    assert 2 <= len(ticks) <= room
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert list(ticks) == sorted(set(ticks))


@pytest.mark.parametrize(("low", "high", "room"), [(1, 0, 5), (0, float("nan"), 5), (0, 1, 2)])
def test_impossible_axes_are_refused(low, high, room):
    with pytest.raises(ValueError, match="no ticks"):
        nice_ticks(low, high, at_most=room)


def test_a_chinese_character_is_a_square_and_a_latin_one_about_half():
    assert text_width("选择") == 24
    assert text_width("ab") == pytest.approx(13.44)


def test_short_text_stays_and_long_text_is_cut_with_an_ellipsis():
    assert fitted("Base judge", 100) == "Base judge"
    assert fitted("Selected preferences of the annotator", 100) == "Selected pref…"
    assert fitted("anything", 1) == "…"


@given(st.text(max_size=80), st.floats(12, 400))
def test_fitted_text_fits(text, width):
    assert text_width(fitted(text, width)) <= width or fitted(text, width) == "…"


def row(label, value, low, high):
    return IntervalRow(label=label, value=value, low=low, high=high, text="78 % (70 … 86)")


def test_an_interval_plot_places_estimates_on_one_axis():
    plot = interval_plot(
        [row("base", 0.6, 0.5, 0.7), row("selected", 0.8, None, None)],
        write="{:.0%}".format,
        reference=0.5,
    )
    # The axis runs from 50 % (4 % from the left) to 80 % (96 %): 60 % stands a third of the way.
    assert [tick.label for tick in plot.ticks] == ["50%", "60%", "70%", "80%"]
    base, selected = plot.rows
    assert (base.x_low, base.x, base.x_high) == pytest.approx((4, 34.67, 65.33))
    assert (selected.x, selected.x_low, selected.x_high) == (96, None, None)
    assert plot.reference == 4
    assert base.mark_y < selected.label_y < selected.mark_y < plot.axis_y < plot.height


def test_an_interval_plot_of_nothing_is_an_empty_axis():
    plot = interval_plot([], write=str)
    assert plot.rows == ()
    assert plot.reference is None
    assert plot.axis_y == 0
    assert (plot.ticks[0].at, plot.ticks[-1].at) == (4, 96)


def test_a_row_without_a_value_has_no_mark_and_keeps_its_label():
    plot = interval_plot([row("never lost", None, None, None)], write=str)
    assert [(placed.label, placed.x) for placed in plot.rows] == [("never lost", None)]
    assert not plot.has_marks
    assert interval_plot([row("won", 0.5, None, None)], write=str).has_marks


@given(st.text(min_size=60, max_size=90))
def test_a_label_leaves_room_for_its_value(label):
    placed = interval_plot([row(label, 0.5, 0.4, 0.6)], write=str).rows[0]
    assert text_width(placed.label) + text_width(placed.row.text) < NARROWEST


def test_bars_stand_on_the_floor_side_by_side():
    chart = bar_chart(
        [BarRow("1", 5.0, "5"), BarRow("2", 0.0, "0"), BarRow("3", 10.0, "10")],
        write="{:g}".format,
    )
    first, second, third = chart.bars
    assert first.top + first.height == pytest.approx(chart.floor_y)
    assert (second.height, third.height) == (0, 120)
    assert first.height == pytest.approx(60)
    assert first.x + first.width < second.x
    assert third.x + third.width < 100
    assert [tick.label for tick in chart.ticks] == ["0", "5", "10"]


def test_a_bar_chart_of_nothing_still_has_a_floor():
    chart = bar_chart([], write="{:g}".format)
    assert chart.bars == ()
    assert chart.ticks[0].at == chart.floor_y


def test_a_scatter_plot_has_equal_axes_and_weights_by_area():
    plot = scatter_plot([(1, 1, 4, "low"), (5, 3, 1, "high")], low=1, high=5, write="{:g}".format)
    heavy, light = plot.points
    assert (heavy.x, heavy.y) == (plot.left, plot.bottom)
    assert light.x == plot.right
    assert light.y == pytest.approx((plot.top + plot.bottom) / 2)
    assert heavy.radius == 10
    assert light.radius == pytest.approx(6.5)
    assert [tick.label for tick in plot.x_ticks] == [tick.label for tick in plot.y_ticks]


def test_a_scatter_plot_of_nothing_has_its_axes():
    assert scatter_plot([], low=1, high=5, write=str).points == ()


def test_shares_stand_side_by_side_and_empty_ones_are_left_out():
    names, css = ("won", "tied", "lost"), ("c1", "control", "c2")
    rows = [
        ShareRow("alpha", (0.5, 0.25, 0.25), names, css, "4", ("/won/", "", "/lost/")),
        ShareRow("beta", (0.0, 0.0, 1.0), names, css, "2", ("", "", "")),
    ]
    chart = share_chart(rows, write=lambda share: f"{share:.0%}")
    first, second = chart.rows
    assert [(bar.x, bar.width, bar.css, bar.url) for bar in first.bars] == [
        (0, 50, "c1", "/won/"),
        (50, 25, "control", ""),
        (75, 25, "c2", "/lost/"),
    ]
    assert [bar.title for bar in second.bars] == ["beta: lost 100%"]
    assert first.top < second.top < chart.height
    assert share_chart([], write=str).rows == ()
