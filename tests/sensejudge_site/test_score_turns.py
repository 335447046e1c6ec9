"""`score_turns`: which turns, in whose stead, and what it answers."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import SatisfactionLabel
from judging.models import JudgeRun
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_response,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings

pytestmark = pytest.mark.django_db


def run(*words):
    out = io.StringIO()
    call_command("score_turns", *map(str, words), "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())


@pytest.fixture
def dataset():
    """Of ten turns a user two are not rated, and one has another response."""
    dataset = make_ratings(people=2)
    SatisfactionLabel.objects.filter(response__turn__position=4).delete()
    turn = dataset.sessions.first().turns.last()
    make_response(turn, model="other", text="Another answer.")
    return dataset


@pytest.mark.parametrize(
    ("words", "scored", "parts"),
    [
        ((), 16, [16, 0, 0, 0]),
        (("--targets", "unlabelled"), 4, [0, 4, 0, 16]),
        (("--targets", "candidates"), 1, [0, 0, 1, 5]),
        (("--targets", "all"), 21, [16, 4, 1, 0]),
        (("--targets", "all", "--annotator", "p1"), 10, [8, 2, 0, 0]),
        (("--targets", "all", "--model", "bot", "--scenario", "kind 0"), 10, [8, 2, 0, 0]),
        (("--targets", "rated", "--sample", 1), 1, [1, 0, 0, 4]),
        (("--targets", "unlabelled", "--language", "zh"), None, None),
    ],
)
def test_what_is_scored(dataset, words, scored, parts):
    asked = ("--dataset", dataset.slug, *words)
    if scored is None:
        with pytest.raises(CommandError, match="run:no-targets") as refused:
            run(*asked)
        assert refused.value.returncode == 2
        return
    found = run(*asked)
    assert found["scored"] == scored
    assert list(found["parts"].values()) == parts
    assert (found["failed"], found["unparseable"], found["calls"]) == (0, 0, 0)
    assert found["runs"] == [JudgeRun.objects.get().pk]


def test_an_endpoint_is_asked_once_and_an_estimate_says_how_often(dataset):
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url, input_price=1, output_price=2).name
        asked = ("--dataset", dataset.slug, "--evaluator", f"{name},lexical", "--targets", "all")
        told = run(*asked, "--estimate")
        assert not JudgeRun.objects.exists()
        first, second = run(*asked, "--variant", "no-memory"), run(*asked, "--variant", "no-memory")
    assert told["calls"] == 21 + 4  # with four memories
    assert (first["scored"], first["calls"], second["calls"]) == (42, 21, 0)
    assert first["cost"] > 0
    assert second["cost"] == 0


def test_another_dataset_in_an_annotators_stead(dataset):
    other = make_dataset()
    turn = make_turn(make_session(make_scenario(other)))
    make_response(turn, text="An answer.", original=True)
    asked = ("--dataset", dataset.slug, "--targets", f"dataset:{other.slug}")
    found = run(*asked, "--annotator", "p0")
    assert found["parts"]["unlabelled"] == 1
    assert JudgeRun.objects.get().dataset == other
    everybody = run(*asked)
    assert everybody["parts"]["unlabelled"] == len(everybody["runs"]) > 1
    names = {row.annotator.username for row in JudgeRun.objects.filter(pk__in=everybody["runs"])}
    assert names == {f"{dataset.slug}:p{place}" for place in range(len(names))}
    with pytest.raises(CommandError, match="run:no-ratings: nobody rated anything in"):
        run("--dataset", other.slug, "--targets", f"dataset:{dataset.slug}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--targets", "test"), "targets are one of rated, unlabelled, candidates, all"),
        (("--targets", "dataset:nowhere"), "nowhere"),
        (("--annotator", "nobody"), "no annotator 'nobody'"),
        (("--targets", "candidates", "--level", "session"), "has no other than the original"),
        (("--level", "session", "--variant", "spur"), "no prompt for sessions"),
        (("--batch-out", "/dev/null"), "lexical calls no endpoint"),
    ],
)
def test_what_is_refused_in_one_line(dataset, words, said):
    with pytest.raises(CommandError, match=said) as refused:
        run("--dataset", dataset.slug, *words)
    assert refused.value.returncode == 2
    assert not JudgeRun.objects.exists()


def test_people_read_lines(dataset):
    out = io.StringIO()
    call_command("score_turns", "--dataset", dataset.slug, stdout=out, stderr=io.StringIO())
    assert "scored: 16" in out.getvalue()
    assert "parts: rated 16, unlabelled 0, candidate 0, reference 0" in out.getvalue()
