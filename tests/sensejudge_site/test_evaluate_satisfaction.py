import io
import json
import re
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command

from judging.models import JudgeRun
from sensejudge_site.management.commands import evaluate_satisfaction
from tests.benchmark.services.test_satisfaction_evaluation import BASELINES, make_rated_dataset
from tests.factory import make_dataset, make_endpoint
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def datasets():
    make_rated_dataset("train", users=("cid",))
    make_rated_dataset("test")


def call(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("evaluate_satisfaction", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_json_has_the_fields_that_scripts_read():
    out, err = call("--train", "train", "--test", "test", "--evaluators", *BASELINES, "--json")
    found = json.loads(out)
    assert (found["users"], found["turns"]) == (2, 24)
    assert all(line.startswith("step ") for line in err.splitlines())
    assert [one["name"] for one in found["evaluators"]] == BASELINES
    mean = found["evaluators"][BASELINES.index("history_mean")]
    for name in (
        "name",
        "setting",
        "pearson",
        "spearman",
        "qwk",
        "f1_dsat",
        "mae",
        "pearson_expected",
        "spearman_expected",
        "within_user_pearson",
        "within_user_pearson_expected",
        "seconds",
    ):
        assert name in mean
    assert mean["mae"] == pytest.approx(20 / 24)
    assert (mean["users"], mean["missing"], mean["missing_by_code"]) == (2, 0, {})
    assert mean["intervals"] == {}  # of two users
    assert mean["within_user_pearson"] is None
    assert mean["undefined"]["within_user_pearson"] == "CONSTANT_PREDICTION"


def test_a_table_without_json():
    out, _ = call(
        "--train",
        "train",
        "--test",
        "test",
        "--evaluators",
        "history_mean,global_mean",
        "--bootstrap",
        "0",
    )
    assert out.splitlines()[0] == "2 users, 24 turns"
    assert "history_mean, history" in out
    # Nobody is told what the reference gains over itself.
    gained = out.split("gain over history_mean")[1].split("\n\n")[0]
    assert [line.split(",")[0] for line in gained.splitlines()[1:]] == ["global_mean"]
    assert "0.8333" in out
    assert re.search(r"^history_mean, history +24 +2 +0 ", out, re.MULTILINE)
    assert "-: all predicted scores are equal (history_mean, history; global_mean, global)" in out
    assert "too few users" not in out  # no intervals were asked for


def test_too_few_users_are_said_and_how_many_more_would_do():
    out, _ = call("--train", "train", "--test", "test", "--evaluators", "history_mean")
    assert "2 users: too few users for intervals: about 8 more users needed" in out
    assert "[" not in out.split("the paper")[0]


def test_what_the_bootstrap_may_be_is_said():
    with pytest.raises(CommandError, match="a number from 0 to 5000, not '9999'"):
        call("--train", "train", "--test", "test", "--bootstrap", "9999")


LINES = ["fake: test: 28 calls", "fake:no-memory: test: 24 calls", "total: 52 calls"]


def test_an_estimate_asks_nothing():
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url, input_price=1, output_price=1)
        asked = ("fake", "fake:no-memory", "--estimate")
        out, _ = call("--train", "train", "--test", "test", "--evaluators", *asked)
        assert server.stats()["calls"] == 0
    assert [line.partition(", ")[0] for line in out.splitlines()[:3]] == LINES
    assert not JudgeRun.objects.exists()


def test_where_memories_fail_the_baselines_are_printed_with_what_to_do():
    out, err = io.StringIO(), io.StringIO()
    with FakeLlm() as server:
        server.told["write a memory with which"] = Act(text="I would rather not.")
        make_endpoint(name="fake", base_url=server.base_url)
        with pytest.raises(CommandError, match=r"judge --retry \d+") as caught:
            call_command(
                "evaluate_satisfaction",
                *("--train", "train", "--test", "test", "--evaluators", "fake", "history_mean"),
                stdout=out,
                stderr=err,
            )
    assert caught.value.returncode == 1
    assert re.search(r"^history_mean, history +24 +2 +0 ", out.getvalue(), re.MULTILINE)
    assert re.search(
        r"^left out, fake: run \d+ failed, memory:unparseable: The reply is not a user memory\.",
        err.getvalue(),
        re.MULTILINE,
    )
    assert "(--memory-judge NAME), or score without them (fake:no-memory)." in err.getvalue()


def test_where_some_memories_fail_the_turns_without_a_score_are_told():
    with FakeLlm() as server:
        server.told["ann xxx"] = Act(text="I would rather not.")
        make_endpoint(name="fake", base_url=server.base_url)
        out, _ = call("--train", "train", "--test", "test", "--evaluators", "fake")
    assert re.search(r"^fake, memory raw +12 +1 +12 ", out, re.MULTILINE)
    assert "without a score: fake, 12 of 24 turns: memory:unparseable: The reply is not" in out
    assert "score without them (fake:no-memory)." in out


def test_money_that_ended_is_told_with_how_to_go_on():
    err = io.StringIO()
    with FakeLlm() as server:
        make_endpoint(
            name="fake", base_url=server.base_url, input_price=1, output_price=1, max_tokens=20
        )
        with pytest.raises(CommandError, match="1 evaluator left out"):
            call_command(
                "evaluate_satisfaction",
                *("--train", "train", "--test", "test", "--budget", "0.005"),
                *("--evaluators", "fake", "history_mean"),
                stdout=io.StringIO(),
                stderr=err,
            )
    assert "has spent its budget of 0.0050; to resume it, run `judge --retry" in err.getvalue()


def test_steps_are_named_as_they_begin():
    with patch.object(evaluate_satisfaction, "_LOOK_EVERY_SECONDS", 0.0):
        _out, err = call(
            "--train", "train", "--test", "test", "--evaluators", "global_mean", "nearest_1"
        )
    assert err.splitlines() == ["step 1 of 2: global_mean", "step 2 of 2: nearest_1"]


def test_a_judge_by_the_name_of_its_endpoint():
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        out, _ = call(
            "--train",
            "train",
            "--test",
            "test",
            "--evaluators",
            "fake",
            "--bootstrap",
            "0",
            "--json",
        )
    names = [(one["name"], one["setting"]) for one in json.loads(out)["evaluators"]]
    assert ("fake", "memory raw") in names
    assert ("fake", "memory cdf") in names


def test_users_of_both_datasets_are_pointed_out():
    _, err = call("--train", "test", "--test", "test", "--evaluators", "global_mean")
    assert err.splitlines()[-1] == "2 users rated in both datasets"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--train", "nowhere", "--test", "test"),
        ("--train", "train", "--test", "bare", "--evaluators", "history_mean"),
        ("--train", "train", "--test", "test", "--evaluators", "nobody"),
        ("--train", "train", "--test", "test", "--bootstrap", "-1"),
        ("--train", "train", "--test", "test", "--bootstrap", "5001"),
        ("--train", "train", "--test", "test", "--learning-curve", "--curve-draws", "0"),
        (
            *("--train", "train", "--test", "test"),
            *("--evaluators", "history_mean", "--bootstrap", "0", "--learning-curve"),
        ),
        ("--train", "train", "--test", "test", "--evaluators", "learned+learned"),
    ],
)
def test_wrong_input_ends_with_two(arguments):
    make_dataset(slug="bare")
    with pytest.raises(CommandError) as caught:
        call(*arguments)
    assert caught.value.returncode == 2


@pytest.mark.parametrize("wrong", ["nobody", "fake:nohow", "learned+nobody"])
def test_a_name_that_no_evaluator_has_is_said_before_any_call_is_paid_for(wrong):
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        with pytest.raises(CommandError, match=r"^judge:unknown: ") as caught:
            call("--train", "train", "--test", "test", "--evaluators", f"fake,{wrong}")
        assert server.stats()["calls"] == 0
    assert caught.value.returncode == 2
    if wrong == "nobody":
        assert "lexical, or one of global_mean," in str(caught.value)


def test_work_that_failed_ends_with_one():
    with FakeLlm(faults={"401": 1.0}) as server:
        make_endpoint(name="fake", base_url=server.base_url)
        with pytest.raises(CommandError, match="llm:refused-key") as caught:
            call("--train", "train", "--test", "test", "--evaluators", "fake")
    assert caught.value.returncode == 1


def test_an_evaluator_that_is_left_out_is_told():
    out, err = call("--train", "train", "--test", "test", "--evaluators", "learned", "--json")
    assert json.loads(out)["evaluators"] == []
    assert "left out, learned: learned:too-few-ratings: There are too few ratings" in err
    assert "(training needs 4 users, " in err
    assert json.loads(out)["skipped"][0].startswith("learned:")
