from __future__ import annotations

import dataclasses

import pytest

from benchmark.core.metrics import MetricName, evaluate, scored
from judging.core.satisfaction_artefact import figures_of, intervals_of, manifest
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.core.satisfaction_training import train
from tests.judging.core.satisfaction_people import examples

QUICK = Settings(general=GeneralSettings(trees=2), folds=2)


@pytest.fixture(scope="module")
def held_out():
    return train(examples(users=10, turns=3), QUICK).held_out


def test_figures_are_those_that_a_report_computes(held_out):
    found, intervals = figures_of(held_out), intervals_of(held_out, seed=3, draws=50)
    assert intervals == intervals_of(held_out, seed=3, draws=50)
    assert intervals.keys() == found.keys()
    whole = scored(held_out.gold, held_out.scores, held_out.users)
    unrounded = scored(held_out.gold, held_out.expected, held_out.users, held_out.blocks)
    for name in (
        MetricName.PEARSON,
        MetricName.SPEARMAN,
        MetricName.QWK,
        MetricName.F1_DSAT,
        MetricName.MAE,
    ):
        expected = evaluate(whole, name, seed=3, draws=50)
        assert found[name.value] == pytest.approx(expected.value, abs=1e-12)
        assert intervals[name.value]["low"] == pytest.approx(expected.interval.low, abs=1e-12)
        assert intervals[name.value]["high"] == pytest.approx(expected.interval.high, abs=1e-12)
        assert expected.interval.low <= expected.value <= expected.interval.high
    for name in (
        MetricName.PEARSON,
        MetricName.WITHIN_USER_PEARSON,
        MetricName.WITHIN_BLOCK_PEARSON,
    ):
        expected = evaluate(unrounded, name, seed=3, draws=50)
        assert found[f"{name}_expected"] == pytest.approx(expected.value, abs=1e-9)
        low = intervals[f"{name}_expected"]["low"]
        assert low == pytest.approx(expected.interval.low, abs=1e-9)


def test_what_has_no_value_is_not_made_up(held_out):
    alike = dataclasses.replace(
        held_out, scores=(4,) * len(held_out.gold), expected=(4.0,) * len(held_out.gold)
    )
    found = figures_of(alike)
    assert {name for name, value in found.items() if value is None} == {
        "pearson",
        "spearman",
        "pearson_expected",
        "within_user_pearson_expected",
        "within_block_pearson_expected",
    }
    assert (found["qwk"], found["f1_dsat"]) == (0.0, 0.0)
    intervals = intervals_of(alike, seed=3, draws=20)
    assert intervals["pearson"] == {"low": None, "high": None}
    assert intervals["f1_dsat"] == {"low": 0.0, "high": 0.0}


def test_nine_users_have_no_intervals(held_out):
    users = tuple("8" if user == "9" else user for user in held_out.users)
    found = intervals_of(dataclasses.replace(held_out, users=users), seed=3, draws=20)
    assert {tuple(ends.values()) for ends in found.values()} == {(None, None)}


def test_a_manifest_counts_what_was_learned_from(held_out):
    kept = manifest(held_out, QUICK, users=["a", "b"])
    assert (kept["users"], kept["turns"]) == (["a", "b"], 90)
    assert kept["dissatisfied"] == sum(score < 4 for score in held_out.gold) == kept["reasons"]
    assert kept["folds"] == 2
    assert manifest(held_out, QUICK, users=["a"])["folds"] == 1  # no more groups than users
    assert kept["libraries"]["scikit-learn"]
    assert kept["intervals"] == intervals_of(held_out, seed=QUICK.seed)
