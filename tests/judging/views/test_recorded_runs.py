from __future__ import annotations

import pytest

from annotation.models import Comparison
from judging.models import JudgeRun
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import comparisons, give_gold, record
from tests.factory import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def first(stage) -> Comparison:
    found: Comparison = comparisons(stage)[0]
    return found


def test_a_combined_verdict_is_shown_as_one(manager):
    stage = Stage.make()
    run = record(stage, "gpt4_pair", "AAAA")
    page = one_line(manager.get(f"/runs/{run.pk}/comparisons/{first(stage).pk}/"))
    assert "Combined: one verdict recorded for both orders" in page
    assert "A shown first" not in page
    assert "not judged in this order" not in page


def test_both_orders_stand_side_by_side(manager):
    stage = Stage.make()
    run = record(stage, "GPT-4", "AAAA", "BBBB")
    page = one_line(manager.get(f"/runs/{run.pk}/comparisons/{first(stage).pk}/"))
    assert page.index("A shown first") < page.index("B shown first")
    assert "Combined" not in page


def test_without_texts_the_page_says_so(manager):
    stage = Stage.make()
    run = record(stage, "gpt4_pair", "AAAA")
    comparison = first(stage)
    type(comparison.response_a).objects.filter(pk=comparison.response_a_id).update(text=None)
    page = one_line(manager.get(f"/runs/{run.pk}/comparisons/{comparison.pk}/"))
    assert "The texts of these responses are not available." in page
    assert "Write a note to my landlord." in page
    assert f"/comparisons/{comparison.pk}/" in page


def test_a_recorded_run_leads_to_its_figures_and_cannot_be_tried_again(manager):
    stage = Stage.make()
    give_gold(stage, "AAAA")
    run = record(stage, "GPT-4", "A??A", "AAAA")
    page = one_line(manager.get(f"/runs/{run.pk}/"))
    assert f"/trust/gold/?dataset=study&amp;run={run.pk}" in page
    assert f"/trust/people/?dataset=study&amp;run={run.pk}" in page
    assert "Retry failed calls" not in page
    answer = manager.post(f"/runs/{run.pk}/retry/", follow=True)
    assert "recorded elsewhere" in one_line(answer)
    assert JudgeRun.objects.get(pk=run.pk).status == "DONE"


def test_the_trust_page_says_what_combined_verdicts_cannot_tell(manager):
    stage = Stage.make()
    stage.label(stage.rater("ann"), "AABB", shown="ORIGINAL")
    run = record(stage, "gpt4_pair", "AAB?")
    page = one_line(manager.get("/trust/"))
    assert "the judge agrees 100 %" in page
    assert "3 verdicts of the judge are combined" in page
    rows = one_line(manager.get(f"/trust/rows/?of=base&run={run.pk}"))
    assert "<th>combined</th>" in rows
    assert rows.count("agrees</span>") >= 3


def test_rows_of_both_orders_have_no_combined_column(manager):
    stage = Stage.make()
    stage.label(stage.rater("ann"), "AABB")
    run = record(stage, "GPT-4", "AABB", "AABB")
    assert "combined" not in one_line(manager.get(f"/trust/rows/?of=base&run={run.pk}"))
    assert "Same winner in both orders" in one_line(manager.get("/trust/"))


def test_the_leaderboard_counts_recorded_verdicts(manager):
    stage = Stage.make()
    stage.label(stage.rater("ann"), "ABAB")
    record(stage, "gpt4_pair", "AAAB")
    page = one_line(manager.get("/leaderboard/"))
    assert "Base judge (gpt4_pair)" in page
    assert "75 %" in page
