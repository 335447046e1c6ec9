"""Pages and files draw sessions: how wide, how many lack, and which p a gain has."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.cache import cache

from annotation.models import Comparison, PairwiseLabel
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import give_gold, record
from tests.factory import make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db

TOO_FEW = "Too few sessions (conversations) for an interval: about {} more are needed."


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(*, size=24):
    """One annotator; without preferences B always, with them as they said."""
    stage = Stage.make(size=size)
    ann = stage.rater("ann")
    labels = "AB" * (size // 2)
    stage.label(ann, labels, shown="ORIGINAL")
    stage.tested(ann, stage.distilled(ann), base="B" * size, selected=labels, shuffled="B" * size)
    return stage, ann


def gather(stage, sessions):
    """Lays the comparisons into the turns of so many sessions, one after the other."""
    told = stage.comparisons["Writing"]
    for place, each in enumerate(told):
        Comparison.objects.filter(pk=each.pk).update(turn=told[place % sessions].turn)
    cache.clear()  # comparisons do not move


def rows_of(viewer, address):
    return list(csv.DictReader(io.StringIO(viewer.get(address).content.decode())))


def width(row, name):
    return float(row[f"{name}_high"]) - float(row[f"{name}_low"])


def test_trust_says_how_many_sessions_lack_and_draws_no_conclusion(viewer):
    stage, _ann = study()
    assert "Yes: preferences help" in tight(viewer.get("/trust/"))
    gather(stage, 4)
    page = tight(viewer.get("/trust/"))
    assert "Not enough evidence: without preferences 50 %, with them 100 %" in page
    assert "too few sessions to tell." in page
    assert "On 48 unseen verdicts (24 comparisons)." in page
    assert TOO_FEW.format(6) in page
    assert "Yes:" not in page
    assert "Against the base judge" not in page


def test_one_session_is_one(viewer):
    stage, _ann = study()
    gather(stage, 9)
    assert "Too few sessions (conversations) for an interval: about 1 more is needed." in tight(
        viewer.get("/trust/")
    )


def test_a_session_that_holds_most_of_the_verdicts_is_named(viewer):
    stage, _ann = study()
    told = stage.comparisons["Writing"]
    for each in told[:14]:
        Comparison.objects.filter(pk=each.pk).update(turn=told[0].turn)
    cache.clear()
    page = tight(viewer.get("/trust/"))
    # 14 of 24 comparisons: 48^2 / (28^2 + 10 * 2^2) = 2.80 of eleven, 11 (6 / 2.80 - 1) = 12.6.
    assert "One session holds most of the rows." in page
    assert TOO_FEW.format(13) in page
    assert "Yes:" not in page


def test_a_base_judge_of_few_sessions_says_so_too(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, None, base="AAAA")
    page = tight(viewer.get("/trust/"))
    assert "Not enough evidence: the judge agrees 50 %" in page
    assert TOO_FEW.format(6) in page


def test_gains_stand_on_trust_with_their_p(viewer):
    study()
    page = tight(viewer.get("/trust/"))
    # Twelve of 24 sessions differ, all to one side: 2 / 2^12.
    assert "Against the base judge +50 points" in page
    assert "(p &lt; 0.001)" in page


def test_in_scenarios_too(viewer):
    stage = Stage.make(scenarios=("Writing", "Code"), size=3)
    ann = stage.rater("ann")
    stage.label(ann, "ABA" * 2)
    stage.tested(ann, stage.distilled(ann), base="B" * 6, selected="ABB" + "BBB")
    page = tight(viewer.get("/trust/"))
    assert "p = 1.000" in page.split("By scenario")[1]


def test_a_label_that_was_deleted_keeps_its_session(viewer, django_assert_num_queries):
    stage, ann = study()
    gather(stage, 8)
    viewer.get("/trust/")
    with django_assert_num_queries(30):
        before = tight(viewer.get(f"/trust/?annotator={ann.pk}"))
    assert TOO_FEW.format(2) in before
    PairwiseLabel.objects.filter(comparison=stage.comparisons["Writing"][0]).delete()
    with django_assert_num_queries(31):
        after = tight(viewer.get(f"/trust/?annotator={ann.pk}"))
    assert TOO_FEW.format(2) in after
    assert "(24 comparisons)" in after


def test_the_table_of_judges_draws_sessions(viewer):
    stage, _ann = study()
    apart, *_ = rows_of(viewer, "/trust/judges.csv?dataset=study&table=agreement")
    gather(stage, 12)
    together, *_ = rows_of(viewer, "/trust/judges.csv?dataset=study&table=agreement")
    assert (together["n"], together["base"]) == (apart["n"], apart["base"]) == ("24", "0.5")
    # Comparisons 1 and 13 are of one session, which now is all A or all B.
    assert width(together, "base") > 1.1 * width(apart, "base")
    assert float(apart["gain_p"]) == 2 / 2**12
    assert float(together["gain_p"]) == 2 / 2**6
    assert "p = 0.031" in tight(viewer.get("/trust/judges/"))
    gather(stage, 9)
    few, *_ = rows_of(viewer, "/trust/judges.csv?dataset=study&table=agreement")
    assert (few["base"], few["base_low"], few["gain_low"]) == ("0.5", "", "")
    leaning, *_ = rows_of(viewer, "/trust/judges.csv?dataset=study&table=leanings")
    assert leaning["position_bias"] != ""
    assert [leaning[f"{name}_low"] for name in ("position_bias", "consistency", "longer_wins")] == [
        ""
    ] * 3


def test_gold_and_people_draw_sessions(viewer):
    stage, _ann = study()
    give_gold(stage, "AB" * 12)
    run = record(stage, "GPT-4", "AB" * 6 + "BA" * 6)
    gold, people = (
        f"/trust/gold.csv?dataset=study&run={run.pk}",
        f"/trust/people.csv?dataset=study&run={run.pk}",
    )
    apart = {row["judge"]: row for row in rows_of(viewer, gold) if row["level"] == "all"}["GPT-4"]
    of_people = rows_of(viewer, people)[0]
    gather(stage, 12)
    together = {row["judge"]: row for row in rows_of(viewer, gold) if row["level"] == "all"}[
        "GPT-4"
    ]
    assert apart["accuracy"] == together["accuracy"] == "0.5"
    # Each session now holds one that is right and one that is wrong. They hardly differ, which no
    # more trials than verdicts come of: Wilson's of 24 still, with Student's t of twelve sessions.
    assert float(together["low"]) < float(apart["low"]) < 0.5
    assert 0.5 < float(apart["high"]) < float(together["high"])
    beside = rows_of(viewer, people)[0]
    assert float(beside["judge_low"]) < float(of_people["judge_low"]) < 0.5
    gather(stage, 3)
    assert {row["low"] for row in rows_of(viewer, gold) if row["judge"] == "GPT-4"} == {""}
    assert rows_of(viewer, people)[0]["judge_low"] == ""


def test_a_leaderboard_says_how_many_sessions_lack(viewer):
    stage, ann = study()
    PairwiseLabel.objects.filter(annotator=ann).update(verdict="A")
    PairwiseLabel.objects.filter(comparison__in=stage.comparisons["Writing"][:6]).update(
        verdict="B"
    )
    page = tight(viewer.get("/leaderboard/"))
    assert "1000 of 1000 draws gave finite ratings" in page
    gather(stage, 4)
    page = tight(viewer.get("/leaderboard/"))
    assert "Ratings have no interval: about 6 sessions more are needed." in page
    human = [
        row for row in rows_of(viewer, "/leaderboard/leaderboard.csv") if row["source"] == "human"
    ]
    assert {row["low"] for row in human} == {""}
    assert all(float(row["rating"]) for row in human)
