"""Pages about a judge read by l*: .6 for the annotator's choice, 2.0 for the first shown."""

from __future__ import annotations

import pytest

from annotation.core.choices import Order
from annotation.models import PairwiseLabel
from benchmark.core.decisions import Judgments
from benchmark.core.trust import BASE, SELECTED
from benchmark.queries.evidence import voice_decisions
from judging.models import Judgment
from tests.benchmark.test_views_trust import study, text
from tests.factory import make_user

pytestmark = pytest.mark.django_db

ORIGINAL, SWAPPED = Order.ORIGINAL, Order.SWAPPED


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def labels_of(rater):
    rows = PairwiseLabel.objects.filter(annotator=rater)
    return dict(rows.values_list("comparison", "verdict"))


def lettered():
    """The study of the trust page, its run read by letters."""
    stage, ann, run = study()
    truth = labels_of(ann)
    for row in Judgment.objects.filter(run=run):
        own = {"A": 0.6, "B": -0.6, "TIE": 0.0}[truth[row.comparison_id]]
        row.log_odds = own + (2.0 if row.order == "ORIGINAL" else -2.0)
        row.verdict = "A" if row.log_odds > 0 else "B"
        row.status, row.error_code = "DONE", ""
        row.save()
    run.judge = "small"
    run.config["verdict_rule"] = "LOGPROB"
    run.save()
    return stage, ann, run


def test_figures_go_by_the_one_verdict_and_leanings_by_each_order(viewer):
    _stage, ann, run = lettered()
    figures = viewer.get("/trust/", {"annotator": ann.pk, "run": run.pk}).context["figures"]
    for each in (figures.overall.base, figures.overall.selected):
        assert each.agreement.value == 1.0
        assert (each.position.value, each.consistency.value) == (0.5, 0.0)
    (found,) = voice_decisions({run.pk}, BASE)
    assert {tuple(each) for each in found.decided.values()} == {(ORIGINAL, SWAPPED)}
    assert all(each[ORIGINAL] is each[SWAPPED] for each in found.decided.values())
    assert {tuple(each.values()) for each in found.shown.values()} == {("A", "B")}


def test_the_lexical_judge_decides_by_its_verdicts_whatever_its_run_says(viewer):
    _stage, ann, run = lettered()
    run.judge = "lexical"
    run.save()
    figures = viewer.get("/trust/", {"annotator": ann.pk, "run": run.pk}).context["figures"]
    assert figures.overall.base.agreement.value == 0.5


def test_the_page_offers_no_other_way_to_count_and_refuses_one(viewer):
    _stage, ann, run = lettered()
    asked = {"annotator": ann.pk, "run": run.pk}
    page = text(viewer.get("/trust/", asked))
    assert "mean log-odds of both orders</option>" in page
    assert "even split: first shown" not in page
    assert "read by letter probabilities" in page
    for rule in ("PAPER", "SOFT"):
        assert viewer.get("/trust/", {**asked, "rule": rule}).status_code == 409
    # The filters' own rule was chosen for another run that was looked at before.
    changed = viewer.get("/trust/", {**asked, "rule": "PAPER", "was_run": run.pk + 1})
    assert changed.status_code == 200
    assert changed.context["scope"].question.rule == "DEFAULT"


def test_the_table_of_judges_keeps_l_star_beside_any_rule(viewer):
    stage, _ann, _run = lettered()
    page = viewer.get("/trust/judges/", {"dataset": stage.dataset.slug, "rule": "PAPER"})
    assert page.status_code == 200
    (line,) = page.context["page"].lines
    assert line.figures.overall.selected.asked.value == 1.0
    assert line.leans.position.selected.value == 0.5
    assert "whatever the vote rule" in text(page)


def test_nothing_is_disagreed_about_and_the_board_is_the_annotator_s(viewer):
    stage, ann, run = lettered()
    (found,) = voice_decisions({run.pk}, SELECTED)
    labels = labels_of(ann)
    assert {labels[key] for key, own in found.decided.items() for won in own.values()} == {"A", "B"}
    assert all(won == labels[key] for key, own in found.decided.items() for won in own.values())
    page = viewer.get("/trust/disagreements/", {"dataset": stage.dataset.slug})
    assert page.status_code == 200
    found = page.context["found"]
    assert (found.compared, found.different) == (11, 0)


def test_members_are_averaged_over_both_orders_on_a_page_of_one_comparison(viewer):
    _stage, _ann, run = lettered()
    comparison = Judgment.objects.filter(run=run).first().comparison_id
    page = text(viewer.get(f"/runs/{run.pk}/comparisons/{comparison}/"))
    assert "Both orders:" in page
    assert "mean log-odds of A 0.60" in page


def test_nothing_judged_is_nothing_decided():
    assert Judgments.of([]).decisions_by_log_odds([([7], {1})]) == {}
    assert Judgments.of([]).opinions_by_log_odds([([7], {1})]) == {}
