"""Judges in each way of asking, and whole sessions, in one table with the baselines."""

from __future__ import annotations

import pytest

from benchmark.models import VerificationReport
from benchmark.queries.satisfaction_report import satisfaction_report
from benchmark.services.evaluators import judge_and_variant, require_honest_stacking
from benchmark.services.satisfaction_evaluation import STORED
from judging.core.rules import SPECS, Level, Variant, variants_at
from tests.benchmark.evaluations import evaluate_satisfaction, judges_runs
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with FakeLlm() as fake:
        yield fake


def compare(server, *names, level=Level.TURN, train=None, **more):
    """What the named ways of asking one endpoint, and the history mean, say of some ratings."""
    test = make_ratings(people=2, sessions=level is Level.SESSION)
    endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
    asked = [f"{endpoint.name}:{name}" if name else endpoint.name for name in names]
    found = evaluate_satisfaction(
        train=train or test, test=test, evaluators=[*asked, "history_mean", *more.pop("also", [])],
        draws=0, level=level, **more,
    )  # fmt: skip
    return test, endpoint, found


def test_a_judge_is_asked_in_the_way_that_its_name_says(server):
    _, endpoint, found = compare(server, "", "two-stage", "spur", "no-memory")
    rows = [(one.name, one.setting) for one in found.rows]
    ways = ("memory", "two-stage", "spur", "no memory")
    assert rows == [
        *((endpoint.name, f"{way} {how}") for way in ways for how in
          ("raw", "mean_shift", "cdf", "cdf_expected")),
        ("history_mean", "history"),
    ]  # fmt: skip
    assert {one.turns for one in found.rows} == {20}
    runs = judges_runs().order_by("pk").values_list("config__variant", flat=True)
    assert list(runs) == ["CHECKLIST", "TWO_STAGE", "SPUR", "NO_MEMORY"]


def test_what_was_asked_once_stands_in_the_table_and_is_not_asked_again(server):
    test, endpoint, found = compare(server, "zero-shot", "few-shot")
    paid = server.stats()["calls"]
    again = evaluate_satisfaction(train=test, test=test, evaluators=[STORED], draws=0)
    assert [one.setting for one in again.rows] == [
        one.setting for one in found.rows if one.name == endpoint.name
    ]
    assert server.stats()["calls"] == paid
    assert judges_runs().count() == 2


def test_the_training_dataset_teaches(server):
    train = make_ratings(people=3)
    compare(server, "few-shot", train=train)
    run = judges_runs().get()
    assert run.config["train"] == train.slug
    assert len(run.config["teaching"]) == 1


@pytest.mark.parametrize("variant", variants_at(Level.SESSION))
def test_whole_sessions_are_compared_by_the_same_path(server, variant):
    _, endpoint, found = compare(server, variant.word, level=Level.SESSION, also=["learned"])
    assert {one.name for one in found.rows} == {endpoint.name, "history_mean"}
    assert {one.turns for one in found.rows} == {20}
    assert all(one.missing == 0 for one in found.rows)
    assert [each.evaluator for each in found.skipped] == ["learned"]
    assert VerificationReport.objects.get().settings["level"] == "SESSION"
    report = satisfaction_report()
    assert report is not None
    assert report.whole


@pytest.mark.parametrize("name", ["lexical", "lexical:no-memory", "history_cdf", "nearest_3"])
def test_embedded_evaluators_score_sessions_too(server, name):
    _, _, found = compare(server, level=Level.SESSION, also=[name])
    assert {one.turns for one in found.rows} == {20}
    assert len(found.rows) > 1


def test_a_run_of_sessions_does_not_answer_for_turns(server):
    test, _, _ = compare(server, "task-guarded", level=Level.SESSION)
    with refuses("run:no-ratings"):
        evaluate_satisfaction(train=test, test=test, evaluators=[STORED], draws=0)


def test_a_way_without_a_prompt_for_sessions_is_refused(server):
    with refuses("run:variant-level"):
        compare(server, "spur", level=Level.SESSION)


def test_names_of_judges_with_their_way():
    assert judge_and_variant("llm") == ("llm", Variant.CHECKLIST)
    assert judge_and_variant("llm:two-stage") == ("llm", Variant.TWO_STAGE)
    with refuses("judge:unknown", match="guess"):
        judge_and_variant("llm:guess")


@pytest.mark.parametrize("variant", Variant)
def test_nothing_is_stacked_on_what_shows_ratings_of_training_users(variant):
    if SPECS[variant].need.from_training:
        with refuses("learned:cannot-stack"):
            require_honest_stacking(f"llm:{variant.word}")
    else:
        require_honest_stacking(f"llm:{variant.word}")
