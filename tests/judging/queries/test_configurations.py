from __future__ import annotations

import json

import pytest

from annotation.core.choices import Verdict
from annotation.core.splits import SplitSampling
from judging.core.calibration import Calibration
from judging.core.rules import Level, PairwiseSettings, SatisfactionSettings, Variant, Window
from judging.core.runs import COLUMNS, AppliedPlan, ColumnPlan, DistilPlan
from judging.core.targets import RunTarget, Targets
from judging.core.verdicts import VerdictRule
from judging.queries.configurations import (
    applied_plans,
    as_json,
    column_plans,
    distil_plans,
    pairwise_settings,
    satisfaction_config,
    satisfaction_settings,
    stored_targets,
    targets_of,
)

A, B = Verdict.A, Verdict.B

DISTIL = DistilPlan(
    scenario_id=3,
    scenario="math",
    dev=(1, 2, 3),
    winners=((1, A), (3, B)),
    shuffled=((1, B), (3, B)),
    dev_ties=1,
    test_winners=((4, A),),
    test_ties=0,
)
APPLIED = AppliedPlan(
    scenario_id=3,
    scenario="math",
    winners=((4, A),),
    ties=1,
    base=10,
    selected=(10, 12),
    shuffled=(14, 12),
    sets={"NONE": 7},
)


def stored(*plans):
    return json.loads(json.dumps({"scenarios": [as_json(plan) for plan in plans]}))


def test_plans_survive_their_configuration():
    assert distil_plans(stored(DISTIL)) == (DISTIL,)
    assert applied_plans(stored(APPLIED)) == (APPLIED,)
    bare = AppliedPlan(scenario_id=1, scenario="x", winners=(), ties=0, base=10)
    assert applied_plans(stored(bare)) == (bare,)


def test_columns_survive_their_configuration():
    plans = (ColumnPlan(3, "NONE", (1, 7, 9)), ColumnPlan(3, "SHUFFLED", (1,)))
    config = json.loads(json.dumps({COLUMNS: [as_json(plan) for plan in plans]}))
    assert column_plans(config) == plans
    assert column_plans({}) == ()


def test_a_configuration_of_another_kind_has_no_plans():
    assert distil_plans({}) == ()
    assert applied_plans({}) == ()


def test_every_preference_is_judged_under_once_the_base_judge_first():
    assert APPLIED.preferences == (10, 12, 14)
    assert AppliedPlan(1, "x", (), 0, base=10).preferences == (10,)


def test_plans_and_rules_are_stored_under_their_names_in_order():
    assert list(as_json(DISTIL).items()) == [
        ("scenario_id", 3),
        ("scenario", "math"),
        ("dev", [1, 2, 3]),
        ("winners", [[1, "A"], [3, "B"]]),
        ("shuffled", [[1, "B"], [3, "B"]]),
        ("dev_ties", 1),
        ("test_winners", [[4, "A"]]),
        ("test_ties", 0),
        ("more_shuffled", []),
    ]
    assert as_json(APPLIED)["sets"] == {"NONE": 7}
    assert list(as_json(PairwiseSettings()).items())[2:6] == [
        ("sampling", "DEFAULT"),
        ("pooling", "AUTO"),
        ("verdict_rule", "STRICT"),
        ("window", "ALL"),
    ]


def test_pairwise_rules_survive_a_configuration_with_other_keys():
    settings = PairwiseSettings(
        dev_size=4,
        seed=7,
        sampling=SplitSampling.PAPER,
        verdict_rule=VerdictRule.LOGPROB,
        window=Window.LAST_TURN,
        aggregate_eligible=True,
        shuffled_control=False,
    )
    config = json.loads(json.dumps({**as_json(settings), "scenarios": []}))
    assert pairwise_settings(config) == settings


def test_an_empty_configuration_has_the_usual_rules():
    assert pairwise_settings({}) == PairwiseSettings()


@pytest.mark.parametrize(
    "settings",
    [
        SatisfactionSettings(),
        SatisfactionSettings(Calibration.MEAN_SHIFT, Variant.NO_MEMORY, memories_of=3),
        SatisfactionSettings(variant=Variant.SPUR, train="others"),
        SatisfactionSettings(variant=Variant.TASK_GUARDED, level=Level.SESSION),
    ],
)
def test_satisfaction_rules_survive_storage_beside_other_keys(settings):
    stored = json.loads(json.dumps({**satisfaction_config(settings), "judge": "lexical"}))
    assert satisfaction_settings(stored) == settings


def test_the_usual_rules_of_satisfaction_runs():
    usual = SatisfactionSettings()
    assert satisfaction_settings({}) == usual
    assert usual == SatisfactionSettings(Calibration.CDF, Variant.CHECKLIST, Level.TURN, None, "")
    assert usual.with_memory


def test_runs_of_before_there_were_variants_are_understood():
    assert satisfaction_settings({"with_memory": False}).variant is Variant.NO_MEMORY
    assert satisfaction_settings({"with_memory": True}).variant is Variant.CHECKLIST


def test_the_training_dataset_is_kept_only_where_something_is_taught():
    assert "train" not in satisfaction_config(SatisfactionSettings(train="others"))
    teaching = SatisfactionSettings(variant=Variant.FEW_SHOT, train="x")
    assert satisfaction_config(teaching)["train"] == "x"


def test_references_are_known_to_runs_with_targets():
    stored = {"calibration": "REFERENCE_CDF", "targets": {"kind": "CANDIDATES", "models": ["m"]}}
    assert satisfaction_settings(stored).calibration is Calibration.REFERENCE_CDF
    assert targets_of(stored) == Targets(kind=RunTarget.CANDIDATES, models=("m",))
    assert targets_of({}) == Targets()


@pytest.mark.parametrize("calibration", ["REFERENCE_CDF", "BEST"])
def test_calibrations_that_a_run_cannot_do_are_refused(calibration):
    with pytest.raises(ValueError, match=r"runs with targets|BEST"):
        satisfaction_settings({"calibration": calibration})


@pytest.mark.parametrize("targets", [Targets(kind=RunTarget.ALL), Targets(only=(3, 5))])
def test_targets_are_stored_as_before_ids_could_be_named(targets):
    stored = stored_targets(targets)
    assert ("only" in stored) == bool(targets.only)
    assert targets_of({"targets": stored}) == targets
