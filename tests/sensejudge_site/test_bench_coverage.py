"""What the coverage bench draws and counts; its figures are in docs/methods.md."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sensejudge_site import benches
from sensejudge_site.benches.coverage import PAGES, UNITS_OF
from sensejudge_site.benches.coverage.findings import FINDINGS
from sensejudge_site.benches.coverage.people import scenarios
from sensejudge_site.benches.coverage.ranks import ranks_held
from sensejudge_site.benches.coverage.sampling import WITHIN, latent, members
from tests.refusals import refuses


def test_members_of_a_unit_vary_together():
    rng = np.random.default_rng(1)
    unit = members(rng, 20_000, most=4)
    sizes = np.bincount(unit)
    assert (sizes.min(), sizes.max()) == (1, 4)
    assert sizes.mean() == pytest.approx(2.5, abs=0.05)
    values = latent(rng, unit)
    same = unit[1:] == unit[:-1]
    assert values.std() == pytest.approx(1, abs=0.02)
    assert np.corrcoef(values[1:][same], values[:-1][same])[0, 1] == pytest.approx(WITHIN, abs=0.03)


def test_users_rate_in_two_to_four_scenarios():
    user = np.repeat(np.arange(300), 40)
    several = [len(set(own)) for own in np.split(scenarios(np.random.default_rng(2), user), 300)]
    assert np.bincount(several)[2:].min() > 50
    assert (min(several), max(several)) == (2, 4)
    found = PAGES["satisfaction"](np.random.default_rng(5), 10, 2)
    assert found["within_block_pearson"] != found["within_user_pearson"]


@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"uneven"}))
def test_ten_units_have_an_interval_of_every_figure(page):
    fewest = UNITS_OF.get(page, (10,))[0]
    found = PAGES[page](np.random.default_rng(5), fewest, 50)
    assert found
    unbounded = {name for name, (_value, interval) in found.items() if interval is None}
    # A draw without a loss; groups of five users; errors on either side of six sessions each.
    open_at_ten = ("rating", "other users", "errors lean")
    assert unbounded <= {name for name in found if any(word in name for word in open_at_ten)}
    nine = PAGES[page](np.random.default_rng(5), 9, 50)
    assert {interval for _value, interval in nine.values()} == {None}


def test_units_of_unequal_size_have_intervals_where_none_holds_most():
    found = PAGES["uneven"](np.random.default_rng(5), 100, 50)
    stated = {name for name, (_value, interval) in found.items() if interval is not None}
    figures = {name.partition(": ")[2] for name in found}
    assert len(figures) == 7
    kinds = ("skewed", "one of a third")
    assert stated == {f"{kind}: {figure}" for kind in kinds for figure in figures}
    # Of the population every unit counts alike: a true value of one unit alone would be chance.
    truth = PAGES["uneven"](np.random.default_rng(5), 2_000, 1)
    for figure in figures:
        values = [value for name, (value, _i) in truth.items() if name.endswith(f": {figure}")]
        assert values == pytest.approx([values[0]] * 3, abs=0.06)


def test_one_figure_is_measured(run_bench):
    found = run_bench("--simulations", "4", "--figure", "leaderboard win rate, model a")
    assert {name.rpartition(" ")[0] for name in found} == {"leaderboard win rate, model a", ""}
    assert all(0 <= value <= 100 for name, value in found.items() if name != "seconds")


def test_rank_sets_hold_more_often_than_percentiles(run_bench):
    found = run_bench("--simulations", "12", "--figure", "ranks")
    equal = "five equal models 30"
    joint, percentiles = (found[f"ranks {way}, {equal}"] for way in ("joint sets", "percentiles"))
    assert joint >= 90
    assert percentiles <= 60
    assert found["ranks joint sets, five apart 30"] >= 90
    only = run_bench("--simulations", "2", "--figure", "ranks percentiles, five apart")
    assert {name.rpartition(" ")[0].removesuffix(": none") for name in only} == {
        "ranks percentiles, five apart",
        "",
    }


def test_too_few_sessions_have_no_rank_sets():
    assert set(ranks_held(np.random.default_rng(5), 9, 50).values()) == {None}


def test_findings_of_coin_flips_are_counted(run_bench):
    found = run_bench("--simulations", "3", "--findings")
    told = {page: {name.split()[1] for name in found if name.startswith(page)} for page in FINDINGS}
    for page in FINDINGS:
        for units in (1, 3, 10, 100):
            shares = [
                value
                for name, value in found.items()
                if name.startswith(page) and name.endswith(f" {units}")
            ]
            assert sum(shares) == pytest.approx(100)
    assert {found[f"{page} TOO_FEW 3"] for page in ("trust", "agreement")} == {100}
    assert found["leaderboard NO_INTERVAL 3"] == 100
    assert "TOO_FEW" in told["trust"]


def test_what_does_not_exist_is_refused():
    with refuses("bench:input"):
        benches.run("coverage", {"figure": "weather", "simulations": 1})


@pytest.fixture
def run_bench(capsys):
    from django.core.management import call_command

    def run(*arguments):
        call_command("bench", "coverage", "--json", *arguments)
        return json.loads(capsys.readouterr().out)["figures"]

    return run


def test_it_prints_a_table(capsys):
    from django.core.management import call_command

    call_command("bench", "coverage", "--simulations", "2", "--findings")
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["1", "3", "10", "100"]
    assert rows[0].startswith("trust ")
    assert rows[-1].startswith("seconds")
