"""What annotators read of the judge that learned from them, and what they never read."""

from __future__ import annotations

import pytest

from tests.benchmark.stage import Stage
from tests.benchmark.test_views_trust import ROWS, rated_and_scored, study, text, voted
from tests.factory import make_rating, make_run, make_user

pytestmark = pytest.mark.django_db


def annotator_of(rater, client):
    rater.is_active = True
    rater.save()
    client.force_login(rater)
    return client


def test_an_annotator_is_not_told_to_run_a_judge(client):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "AB.T")
    annotator_of(ann, client)
    page = text(client.get("/trust/"))
    assert "no judge has decided on items that you answered" in page
    assert "Distil preferences" not in page


def test_an_annotator_reads_of_themselves_alone(client):
    stage, ann, run = study()
    other = stage.rater("other")
    stage.label(other, "BBBBBB" * 2)
    stage.tested(other, stage.distilled(other), base="A" * 12, selected="B" * 12)
    annotator_of(ann, client)
    page = text(client.get("/trust/"))
    assert "chose as you did in 91 % of 11 comparisons that it had not learned from." in page
    assert "Not enough evidence: preferences help (45 % → 91 %)" in page
    for hidden in ("Preferences of other", "Position bias", "og-odds", "Control", "figures.csv"):
        assert hidden not in page
    part = client.get("/trust/", HTTP_HX_TARGET="figures")
    assert "Position bias" not in text(part)
    assert "other" not in [each.name for each in client.get("/trust/").context["scope"].annotators]
    assert client.get(f"/trust/?annotator={other.pk}").status_code == 404
    assert client.get(f"{ROWS}?annotator={other.pk}").status_code == 404
    assert client.get(ROWS).status_code == 200
    assert f"/runs/{run.pk}/" not in page


def test_an_annotator_never_reads_a_models_name(client):
    _stage, ann, _run = study()
    annotator_of(ann, client)
    for address in ("/trust/", ROWS, f"{ROWS}?of=human"):
        page = text(client.get(address))
        assert "alpha" not in page
        assert "beta" not in page


def test_an_annotator_is_addressed_as_such(client):
    annotator = make_rating().annotator
    client.force_login(annotator)
    page = text(client.get("/trust/"))
    assert "Does this judge decide as you would?" in page
    assert "no judge has decided on items that you answered" in page
    assert "this annotator" not in page


def test_an_annotator_who_rated_reads_whether_the_scores_follow_theirs(client):
    stage = Stage.make()
    rater = stage.rater("rater")
    run = make_run(stage.dataset, kind="SATISFACTION", status="DONE")
    rated_and_scored(stage, rater, run, [1, 2, 3, 4, 5, 5, 4, 3, 2])
    annotator_of(rater, client)
    page = text(client.get("/trust/"))
    assert "Not known yet whether its scores follow yours." in page
    assert "The correlation over 9 replies is 1.00" in page
    rated_and_scored(stage, rater, run, [1])
    page = text(client.get("/trust/"))
    assert "Yes: its scores rise and fall with yours." in page
    assert page.count("<progress") == 1


@pytest.mark.parametrize(
    ("base", "selected", "sentence"),
    [
        ("B" * 12, "", "It has not learned from your answers yet."),
        ("A" * 12, "A" * 12, "preferences make no clear difference"),
        ("A" * 12, "B" * 12, "less often than chance"),
        ("A" * 12, "AB" * 6, "indistinguishable from chance"),
    ],
)
def test_an_annotator_reads_each_finding_in_a_sentence(client, base, selected, sentence):
    stage = Stage.make(scenarios=("Writing", "Code"), size=6)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 12)
    stage.tested(ann, stage.distilled(ann), base=base, selected=selected)
    annotator_of(ann, client)
    assert sentence in text(client.get("/trust/"))


def test_an_annotator_of_other_data_sees_none_of_this(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    assert "No labels yet" in text(client.get("/trust/"))
    assert client.get("/trust/?dataset=study").status_code == 404


def test_an_annotator_sees_the_rows_of_their_own_vote(client):
    ann = voted()
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    for of in ("own", "stack"):
        assert "12 comparisons" in text(client.get(f"/trust/rows/?of={of}"))
