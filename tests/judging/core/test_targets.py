from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from judging.core.runs import AppliedPlan
from judging.core.targets import (
    RunTarget,
    Targets,
    TurnPart,
    targets_named,
    turn_targets_named,
)
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("test", (Targets(), "")),
        ("unlabelled", (Targets(kind=RunTarget.UNLABELLED), "")),
        ("all", (Targets(kind=RunTarget.ALL), "")),
        ("study:pilot", (Targets(kind=RunTarget.STUDY, study="pilot"), "")),
        ("plan:7", (Targets(kind=RunTarget.PLAN, plan=7), "")),
        ("dataset:mtbench", (Targets(kind=RunTarget.ALL), "mtbench")),
    ],
)
def test_an_argument_names_targets(word, named):
    assert targets_named(word) == named


@pytest.mark.parametrize(
    "word",
    [
        "",
        "study",
        "study:",
        "plan:x",
        "plan:" + "9" * 5000,
        "plan",
        "dataset:",
        "rated",
        "everything",
    ],
)
def test_anything_else_is_refused(word):
    with refuses("run:targets", match="all, study:SLUG, plan:NUMBER, dataset:SLUG"):
        targets_named(word)


@pytest.mark.parametrize(
    ("targets", "filtered"),
    [
        (Targets(), False),
        (Targets(kind=RunTarget.ALL), False),
        (Targets(scenarios=("a",)), True),
        (Targets(models=("a",)), True),
        (Targets(languages=("en",)), True),
        (Targets(sample=1), False),
        (Targets(kind=RunTarget.STUDY, study="pilot"), True),
        (Targets(kind=RunTarget.PLAN, plan=7), True),
    ],
)
def test_filters_are_told_from_the_kind(targets, filtered):
    assert targets.are_filtered is filtered


def test_what_was_learned_from_is_judged_and_is_not_fresh():
    plan = AppliedPlan(
        scenario_id=1,
        scenario="s",
        winners=((1, Verdict.A),),
        ties=0,
        base=9,
        unscored=(2, 3),
        learned_from=(3,),
    )
    assert plan.comparisons == (1, 2, 3)
    assert plan.fresh == (1, 2)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("rated", (Targets(kind=RunTarget.RATED), "")),
        ("unlabelled", (Targets(kind=RunTarget.UNLABELLED), "")),
        ("candidates", (Targets(kind=RunTarget.CANDIDATES), "")),
        ("all", (Targets(kind=RunTarget.ALL), "")),
        ("study:pilot", (Targets(kind=RunTarget.STUDY, study="pilot"), "")),
        ("dataset:mtbench", (Targets(kind=RunTarget.ALL), "mtbench")),
    ],
)
def test_an_argument_names_turns(word, named):
    assert turn_targets_named(word) == named


@pytest.mark.parametrize("word", ["", "test", "study:", "plan:7", "dataset:", "RATED"])
def test_what_names_no_turns_is_refused(word):
    with refuses("run:targets", match="rated, unlabelled, candidates, all, study:SLUG, dataset"):
        turn_targets_named(word)


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        (RunTarget.TEST, "rated original, rated other"),
        (RunTarget.RATED, "rated original, rated other"),
        (RunTarget.UNLABELLED, "original"),
        (RunTarget.CANDIDATES, "rated other, other"),
        (RunTarget.STUDY, "rated original, original"),
        (RunTarget.ALL, "rated original, original, rated other, other"),
    ],
)
def test_each_kind_takes_its_responses(kind, taken):
    found = [
        ("rated " if rated else "") + ("original" if original else "other")
        for original in (True, False)
        for rated in (True, False)
        if Targets(kind=kind).takes(rated=rated, original=original)
    ]
    assert ", ".join(found) == taken


@pytest.mark.parametrize(
    ("targets", "plain"),
    [
        (Targets(), True),
        (Targets(kind=RunTarget.RATED), True),
        (Targets(kind=RunTarget.RATED, sample=3), False),
        (Targets(scenarios=("a",)), False),
        (Targets(kind=RunTarget.UNLABELLED), False),
    ],
)
def test_everything_rated_is_what_a_run_is_usually_about(targets, plain):
    assert targets.are_rated is plain


def test_what_was_rated_is_so_whoever_wrote_it():
    assert TurnPart.of(rated=True, original=False) is TurnPart.RATED
    assert TurnPart.of(rated=False, original=False) is TurnPart.CANDIDATE
    assert TurnPart.of(rated=False, original=True) is TurnPart.UNLABELLED
