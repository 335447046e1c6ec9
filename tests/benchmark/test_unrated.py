"""What a judge says in users' stead: a table of models, and no figure of agreement."""

from __future__ import annotations

import csv
import io
import json

import pytest

from annotation.exports import ExportFormat
from annotation.models import Response
from benchmark.queries.response_bias import calibration_page
from benchmark.queries.satisfaction import evaluation_turns, judged_turns, model_scores
from benchmark.queries.trust import Reader, TrustQuestion, trust_page
from judging.core.targets import RunTarget, Targets
from judging.exports.satisfaction import SATISFACTION_JUDGMENTS
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_rating, make_response, make_turn, make_user
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import start_satisfaction_run
from tests.markup import tight

pytestmark = pytest.mark.django_db

ALL = Targets(kind=RunTarget.ALL)
EVERYBODY = Reader(only=None)


def make_beside(dataset):
    """Beside every original a long and a short response; each session has an unrated turn."""
    for session in dataset.sessions.all():
        make_response(make_turn(session), text="Not rated.", original=True, model="bot")
    for response in Response.objects.filter(original=True, turn__session__dataset=dataset):
        make_response(response.turn, model="long", text=f"long {response.text} " * 9)
        make_response(response.turn, model="a & b", text="No.")


def scored(dataset, judge="lexical", **more):
    return run_to_end(start_satisfaction_run(dataset=dataset, judge=judge, **more).pk)


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def figures(dataset, run):
    """Everything that says how far scores follow users'."""
    page = trust_page(TrustQuestion(dataset=dataset.slug), EVERYBODY)
    turns = evaluation_turns(dataset.pk)
    return page.all_satisfaction, calibration_page(run.pk), judged_turns(run.pk, turns.stored)


def test_no_figure_of_agreement_changes_through_unrated_rows(viewer):
    dataset = make_ratings(people=3)
    run = scored(dataset)
    before = figures(dataset, run)
    assert before[0] is not None
    assert before[0].turns == 30
    make_beside(dataset)
    for targets in (
        ALL,
        Targets(kind=RunTarget.UNLABELLED),
        Targets(kind=RunTarget.RATED, sample=3),
    ):
        newer = scored(dataset, targets=targets)
        assert newer.status == "DONE"
    assert figures(dataset, run) == before
    # Nor do the rows of a run that was about everything count what it scored unrated.
    everything = dataset.runs.get(config__targets__kind="ALL")
    assert calibration_page(everything.pk).turns == 30
    late = everything.satisfaction_judgments.filter(part="CANDIDATE").first()
    make_rating(late.response, annotator=late.user, score=1, reason="OTHER")
    assert calibration_page(everything.pk).turns == 30


def test_models_are_scored_beside_the_originals_of_the_same_turns(
    viewer, django_assert_num_queries
):
    dataset = make_ratings(people=11, scenarios=1, turns=2)
    make_beside(dataset)
    with FakeLlm() as server:
        endpoint = make_endpoint(base_url=server.base_url, concurrency=8)
        run = scored(dataset, endpoint.name, targets=ALL)
    with django_assert_num_queries(2):
        found = model_scores(run.pk, seed=42)
    assert found is not None
    control, best, worst = found.rows
    assert (control.is_control, control.responses, control.users) == (True, 33, 11)
    assert [row.model for row in (best, worst)] == ["long", "a & b"]
    # Without history in another scenario raw scores stand: 1 + length // 60, at most 5.
    assert (worst.mean, worst.satisfied, worst.responses) == (1.0, 0.0, 33)
    assert best.mean > control.mean > worst.mean
    assert best.interval is not None
    assert best.interval.low <= best.mean <= best.interval.high
    page = tight(viewer.get(f"/trust/satisfaction/models/{run.pk}/"))
    assert "Control: the original responses" in page
    for link, responses in (("show=control", 33), ("show=scored&amp;model=a%20%26%20b", 33)):
        assert f"?{link}" in page
        listed = viewer.get(f"/runs/{run.pk}/turns/?{link.replace('&amp;', '&')}")
        assert listed.context["listed"].page.paginator.count == responses
    assert "a &amp; b" in tight(listed)
    rows = list(csv.DictReader(io.StringIO(viewer.get(models_csv(page)).content.decode())))
    assert [row["role"] for row in rows] == ["control", "candidate", "candidate"]
    assert (rows[1]["model"], rows[1]["responses"], rows[1]["run"]) == (
        best.model,
        "33",
        str(run.pk),
    )
    assert float(rows[1]["mean_low"]) == pytest.approx(best.interval.low)


def models_csv(page):
    return page.split('.csv">')[0].split('href="')[-1] + ".csv"


def test_few_users_have_no_interval_and_rated_turns_no_models(viewer):
    dataset = make_ratings(people=2)
    run = scored(dataset)
    found = model_scores(run.pk, seed=42)
    assert found is not None
    assert found.rows == ()
    assert "No other responses scored yet" in tight(
        viewer.get(f"/trust/satisfaction/models/{run.pk}/")
    )
    make_beside(dataset)
    found = model_scores(scored(dataset, targets=ALL).pk, seed=42)
    assert found is not None
    assert {row.interval for row in found.rows} == {None}


def test_who_may_read_the_models(client, viewer):
    run = scored(make_ratings(people=1))
    for ending in ("/", ".csv"):
        viewer.force_login(make_user(role="VIEWER"))
        address = f"/trust/satisfaction/models/{run.pk}{ending}"
        assert viewer.post(address).status_code == 405
        assert viewer.get(f"/trust/satisfaction/models/99999{ending}").status_code == 404
        client.force_login(make_user(role="ANNOTATOR"))
        assert client.get(address).status_code == 403
        client.logout()
        assert client.get(address).url == f"/sign-in/?next={address}"


def test_exports_say_what_a_score_rests_on():
    dataset = make_ratings(people=2)
    make_beside(dataset)
    scored(dataset, targets=Targets(kind=RunTarget.CANDIDATES, scenarios=("kind 0",)))
    text = "".join(SATISFACTION_JUDGMENTS.blocks(dataset, ExportFormat.JSONL))
    rows = [json.loads(line) for line in text.splitlines()]
    assert {row["scenario"] for row in rows} == {"kind 0"}
    assert {row["part"] for row in rows} == {"CANDIDATE", "REFERENCE"}
    assert {(row["basis"], row["history_dataset"]) for row in rows} == {("OWN", dataset.slug)}
    assert {row["model"] for row in rows if row["part"] == "CANDIDATE"} == {"long", "a & b"}
