from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.benchmark.test_views_model_satisfaction import ratings, scored
from tests.factory import (
    make_dataset,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
)

pytestmark = pytest.mark.django_db


def board(*arguments):
    out = io.StringIO()
    call_command("satisfaction_board", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_it_says_how_satisfied_users_are():
    ratings()
    assert board("--dataset", "talks").splitlines() == [
        "alpha  4.50  0.0% dissatisfied  24 answers",
        "beta   3.00  50.0% dissatisfied  24 answers",
        "alpha less beta: +1.50 (12 of 12 users rated both)",
    ]


def test_as_json_it_prints_one_object():
    ratings()
    found = json.loads(board("--dataset", "talks", "--json"))
    alpha, beta = found["models"]
    assert (alpha["mean"], beta["reason_unusable"], beta["made_up"]) == (4.5, 12, 0.5)
    assert beta["scenarios"]["Food"]["mean"] == 3.0
    assert [row["figure"] for row in found["differences"]] == ["mean", "dissatisfied"]
    [question] = found["questions"]
    assert question["models"][1] == {"model": "beta", "counts": [4, 8], "answered": 12}
    assert (found["voice"], found["run"], found["corrected"]) == ("people", None, [])


def test_the_evaluator_is_corrected_by_users():
    run = scored(ratings())
    found = json.loads(board("--dataset", "talks", "--voice", "corrected", "--json"))
    assert (found["run"], found["grounds"], found["models"]) == (run.pk, ["all"], [])
    mean = next(row for row in found["corrected"] if row["model"] == "beta")
    assert (mean["human"], mean["judge_only"]) == pytest.approx((3, 4))
    told = board("--dataset", "talks", "--voice", "corrected", "--run", run.pk).splitlines()
    assert told[1].startswith("beta   people 3.00")
    judge = board("--dataset", "talks", "--voice", "judge").splitlines()
    assert judge[0].startswith("alpha  4.00")


def test_where_nobody_rated_it_says_so():
    response = make_response(
        make_turn(make_session(make_scenario(make_dataset(slug="x")))), model=""
    )
    make_rating(response)
    assert board("--dataset", "x") == "no ratings of named models\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--dataset", "none"], "dataset:unknown"),
        (["--dataset", "talks", "--study", "none"], "benchmark:unknown-choice"),
        (["--dataset", "talks", "--study", "elsewhere"], "benchmark:unknown-choice"),
        (["--dataset", "talks", "--voice", "judge"], "leaderboard:not-judged"),
        (["--dataset", "talks", "--voice", "judge", "--run", "7"], "benchmark:unknown-choice"),
        (["--dataset", "bare"], "benchmark:unknown-choice"),
    ],
)
def test_what_is_not_there_is_wrong_input(arguments, problem):
    ratings(1)
    make_dataset(slug="bare")
    make_study(make_dataset(slug="other"), kind="SATISFACTION", slug="elsewhere")
    with pytest.raises(CommandError, match=problem) as refused:
        board(*arguments)
    assert refused.value.returncode == 2
