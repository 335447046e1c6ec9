from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sensejudge_site.benches import BenchFigure


def run(*arguments):
    out = StringIO()
    call_command("bench", *arguments, stdout=out)
    return out.getvalue()


def test_the_selection_bench_prints_its_figures_beside_the_published_ones():
    result = json.loads(run("select", "--json"))
    assert result["name"] == "select"
    assert result["published"]["select_20x12_ms"] == 382.0
    assert set(result["published"]) < set(result["figures"])
    assert all(value > 0 for value in result["figures"].values())


def test_people_get_a_table():
    lines = run("select").splitlines()
    assert lines[0].split() == ["here", "published"]
    assert lines[1].split()[0] == "select_10x12_ms"
    assert lines[-1].split()[-1] == "-"


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("next_p50_ms", "ms"),
        ("warm_start_s", "s"),
        ("requests_per_s", "/s"),
        ("page_kb_gzipped", "KB"),
        ("errors", ""),
    ],
)
def test_a_figure_s_unit_is_what_its_name_ends_on(name, unit):
    assert BenchFigure(name, 1.0).unit == unit


def test_a_setting_that_a_bench_does_not_have_exits_2():
    with pytest.raises(CommandError, match="no setting 'vast'") as raised:
        run("annotate", "--setting", "vast")
    assert raised.value.returncode == 2


def test_an_unknown_bench_exits_2_and_names_the_known_ones():
    with pytest.raises(CommandError, match=r"no bench 'none'; choose from .*select") as raised:
        run("none")
    assert raised.value.returncode == 2


def test_a_size_that_a_bench_does_not_have_exits_2():
    with pytest.raises(CommandError, match="'select' has no size items") as raised:
        run("select", "--items", "5")
    assert raised.value.returncode == 2


@pytest.mark.parametrize("items", ["0", "-3", "many", "100001"])
def test_a_size_is_a_number_of_rows(items):
    with pytest.raises(CommandError, match="a number from 1 to 100000"):
        run("annotate", "--items", items)


def test_the_ranking_bench_times_every_layout():
    figures = json.loads(run("rank", "--items", "2000", "--json"))["figures"]
    layouts = ("csv", "jsonl", "csv_100_draws", "sessions")
    told = {f"{name}_2000_{unit}" for name in layouts for unit in ("s", "mb")}
    assert set(figures) == {*told, "naive_5_draws_2000_s"}
    assert all(value > 0 for value in figures.values())
