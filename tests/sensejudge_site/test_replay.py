from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.benchmark.replays import make_stored
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def dataset():
    found = make_ratings(people=3, turns=3)
    make_stored(found)
    return found


def call(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("replay", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_json_has_the_documented_fields(dataset):
    out, _err = call(
        "--dataset",
        dataset.slug,
        "--evaluator",
        "lexical",
        "--candidates",
        "copy,responses:long",
        "--items",
        "sample:6",
        "--seed",
        "7",
        "--json",
    )
    found = json.loads(out)
    assert {name: found[name] for name in ("dataset", "scores", "evaluator", "items", "turns")} == {
        "dataset": dataset.slug,
        "scores": "calibrated",
        "evaluator": "lexical",
        "items": "sample:6",
        "turns": 6,
    }
    assert (found["seed"], found["draws"], found["left_out"]) == (7, 1000, [])
    control, stated, copy, long = found["candidates"]
    assert (control["role"], stated["role"], copy["candidate"], long["candidate"]) == (
        "control",
        "stated",
        "copy",
        "long",
    )
    for name in ("user", "user_low", "micro", "scenario", "block", "sat", "dsat", "score_5"):
        assert copy[name] == control[name]
    assert long["items"] == 6
    pair = found["pairs"][0]
    assert (pair["candidate"], pair["reference"], pair["micro_ties"]) == ("copy", "", 6)
    assert (pair["gain"], pair["p"], pair["p_holm"]) == (0.0, None, None)


def test_the_table_for_people(dataset):
    out, _err = call(
        "--dataset",
        dataset.slug,
        "--evaluator",
        "lexical",
        "--candidates",
        "long",
        "--items",
        "hard:3",
        "--scores",
        "raw",
    )
    lines = out.splitlines()
    assert "scored by lexical, raw" in lines[0]
    assert "selected on the outcome" in lines[1]
    assert [line.split()[0] for line in lines[3:6]] == ["(original,", "(original,", "long"]
    assert lines[-1].split()[0] == "long"


def test_an_estimate_starts_nothing(dataset):
    with FakeLlm() as server:
        make_endpoint(base_url=server.base_url, name="a", model="a")
        words = ("--dataset", dataset.slug, "--evaluator", "lexical", "--candidates", "a")
        found = json.loads(call(*words, "--estimate", "--json")[0])
        assert found["calls"] == 18
        assert not server.bodies
        assert not dataset.runs.exists()


def test_a_candidate_that_was_left_out_ends_the_command(dataset):
    with FakeLlm(faults={"401": 1.0}) as server:
        make_endpoint(name="broken", base_url=server.base_url)
        words = ("--dataset", dataset.slug, "--evaluator", "lexical")
        with pytest.raises(CommandError, match="1 candidate left out") as error:
            call(*words, "--candidates", "broken,long")
    assert error.value.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--candidates", ""], "--candidates is required"),
        (["--candidates", "long", "--context", "all"], "--context is one or more of prefix"),
        (["--candidates", "long", "--items", "some"], "items are one of"),
        (["--candidates", "nobody"], "'nobody' is no endpoint"),
    ],
)
def test_wrong_arguments_are_said_in_one_line(dataset, arguments, said):
    with pytest.raises(CommandError, match=said) as error:
        call("--dataset", dataset.slug, "--evaluator", "lexical", *arguments)
    assert error.value.returncode == 2
