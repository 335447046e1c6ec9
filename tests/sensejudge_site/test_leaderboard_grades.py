from __future__ import annotations

import json

import pytest
from django.core.management import CommandError

from tests.benchmark.stage import Stage
from tests.benchmark.test_views_grades import grade
from tests.benchmark.test_views_grades import study as graded
from tests.sensejudge_site.test_leaderboard import leaderboard

pytestmark = pytest.mark.django_db


def test_models_stand_by_their_mean_grade():
    stage, run = graded()
    printed = leaderboard("--dataset", "study", "--grades", "--json")
    found = json.loads(printed)
    assert (found["judge"], found["run"], found["unnamed"]) == ("gpt-4", run.pk, 0)
    assert [(row["model"], row["mean"], row["unreadable"]) for row in found["models"]] == [
        ("alpha", 8.0, 1),
        ("beta", 3.5, 0),
    ]
    assert [row["mean"] for row in found["models"][0]["scenarios"]] == [8.5, 7.0]
    lines = leaderboard("--dataset", "study", "--grades").splitlines()
    assert lines[0] == "alpha  8.00  turn 1 8.00  1 unreadable, 0 without a reply"
    assert lines[2].startswith(f"by gpt-4, run {run.pk};")
    grade(stage.dataset, [None] * 8, judge="mute")
    mute = leaderboard("--dataset", "study", "--grades", "--judge", "mute")
    assert "alpha  -  turn 1 -  4 unreadable" in mute
    assert leaderboard("--dataset", "study", "--grades", "--json") == printed


def test_many_questions_give_a_grade_an_interval():
    stage = Stage.make(size=10)
    grade(stage.dataset, [9, 5, 7, 4] * 5)
    # Five 9s and five 7s: 8 +- 2.262 / 3.
    assert "alpha  8.00 (7.25 to 8.75)" in leaderboard("--dataset", "study", "--grades")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "study", "--grades"], "leaderboard:not-judged: .*--prompt single"),
        (["--dataset", "study", "--grades", "--method", "elo"], "no use for --method"),
        (["--dataset", "study", "--grades", "--snapshot"], "needs --dataset, and the board"),
        (["--battles", "FILE", "--grades"], "--grades needs --dataset"),
    ],
)
def test_grades_are_of_a_dataset_that_was_graded(arguments, message):
    Stage.make()
    with pytest.raises(CommandError, match=message) as refused:
        leaderboard(*arguments)
    assert refused.value.returncode == 2


def test_grades_of_a_judge_that_gave_none_are_refused():
    graded()
    with pytest.raises(CommandError, match="there are: gpt-4"):
        leaderboard("--dataset", "study", "--grades", "--judge", "nobody")
