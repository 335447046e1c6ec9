from __future__ import annotations

import csv
import io
import json

import pytest
from django.conf import settings

from annotation.models import Comparison, PairwiseLabel
from annotation.services.imports import import_records
from tests.annotation.records import NOW
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_item,
    make_label,
    make_rater,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.markup import tight
from tests.paths import shared_data

pytestmark = pytest.mark.django_db

ADDRESSES = ("/agreement/", "/agreement/rows/", "/agreement/agreement.csv")


class ConditionKind:
    """Three raters of one dataset with two scenarios; models alpha and beta, or beta and gamma."""

    def __init__(self):
        self.dataset = make_dataset(slug="panel", name="Panel")
        self.raters = [make_rater(self.dataset, name) for name in ("Ada", "Ben", "Cem")]
        self.scenarios = [
            make_scenario(self.dataset, name=name, position=place)
            for place, name in enumerate(("Maths", "Writing"))
        ]

    def pair(self, verdicts, *, scenario=0, models=("alpha", "beta"), key):
        """Verdicts of the raters in order, - for none."""
        turn = make_turn(make_session(self.scenarios[scenario]), user_message=f"Ask {key}")
        responses = [make_response(turn, model=model) for model in models]
        comparison = make_comparison(
            turn, response_a=responses[0], response_b=responses[1], key=key
        )
        words = {"A": "A", "B": "B", "T": "TIE"}
        for rater, verdict in zip(self.raters, verdicts, strict=True):
            if verdict != "-":
                make_label(comparison, annotator=rater, verdict=words[verdict])
        return comparison

    def rated(self, scores, *, scenario=0):
        session = make_session(self.scenarios[scenario])
        response = make_response(make_turn(session), original=True)
        for rater, score in zip(self.raters, scores, strict=True):
            if score:
                reason = "OTHER" if score <= 3 else None
                make_rating(response, annotator=rater, score=score, reason=reason)
        return response


@pytest.fixture
def panel():
    panel = ConditionKind()
    panel.pair("AAA", key="m1")
    panel.pair("AB-", key="m2")
    panel.pair("BBB", key="m3", models=("beta", "gamma"))
    panel.pair("TTA", key="w1", scenario=1, models=("gamma", "beta"))
    panel.pair("B-B", key="w2", scenario=1)
    panel.pair("A--", key="w3", scenario=1)
    return panel


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


@pytest.mark.parametrize("address", ADDRESSES)
def test_strangers_sign_in_first(client, panel, address):
    answer = client.get(address)
    assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


@pytest.mark.parametrize("address", ADDRESSES)
def test_annotators_stay_blind_to_one_another(client, panel, address):
    client.force_login(panel.raters[0])
    panel.raters[0].is_active = True
    panel.raters[0].save()
    assert client.get(address).status_code == 403


@pytest.mark.parametrize("address", ADDRESSES)
def test_figures_are_only_read(viewer, panel, address):
    assert viewer.post(address).status_code == 405


def test_annotators_find_no_way_there(client, panel):
    client.force_login(make_user())
    assert "/agreement/" not in client.get("/studies/").content.decode()


def test_the_navigation_leads_there(viewer, panel):
    page = viewer.get("/agreement/").content.decode()
    assert '<a href="/agreement/" aria-current="page">Agreement</a>' in page


def test_without_answers_the_page_says_so(viewer):
    page = viewer.get("/agreement/").content.decode()
    assert "No answers yet" in page
    assert viewer.get("/agreement/agreement.csv").status_code == 404
    assert viewer.get("/agreement/rows/").status_code == 404


def test_the_figures_are_of_all_items_with_two_answers(viewer, panel):
    context = viewer.get("/agreement/").context
    overall = context["overall"]
    assert (overall.items, overall.answers, overall.same, overall.different) == (5, 13, 3, 2)
    assert [(name, figures.items) for name, figures, _query in context["scenario_rows"]] == [
        ("Maths", 3),
        ("Writing", 2),
    ]
    # A pair is the same two models whichever of them is A.
    assert [(name, figures.items) for name, figures, _query in context["model_rows"]] == [
        ("alpha / beta", 3),
        ("beta / gamma", 2),
    ]


def test_the_page_shows_measures_intervals_and_the_matrix(viewer, panel):
    page = tight(viewer.get("/agreement/?dataset=panel"))
    for words in ("Krippendorff’s alpha, nominal", "Fleiss’ kappa", "Gwet’s AC1", "Cohen’s kappa"):
        assert words in page
    ada, ben, _cem = (rater.pk for rater in panel.raters)
    rows = f"/agreement/rows/?dataset=panel&kind=verdicts&ties=in&first={ada}&second={ben}"
    assert f'<a href="{rows.replace("&", "&amp;")}">n = 4</a>' in page


def test_ties_left_out_are_missing_answers(viewer, panel):
    overall = viewer.get("/agreement/?dataset=panel&ties=out").context["overall"]
    assert (overall.items, overall.answers) == (4, 10)


@pytest.mark.parametrize(
    ("asked", "items"),
    [("models=beta+/+gamma", 2), ("models=alpha+/+beta&ties=out", 3), ("was_dataset=other", 5)],
)
def test_the_figures_can_be_narrowed(viewer, panel, asked, items):
    page = viewer.get(f"/agreement/?dataset=panel&{asked}")
    assert page.context["overall"].items == items


def test_one_scenario_can_be_asked_for(viewer, panel):
    scenario = panel.scenarios[1].pk
    page = viewer.get(f"/agreement/?dataset=panel&scenario={scenario}")
    assert page.context["overall"].items == 2
    assert f'<option value="{scenario}" selected>' in page.content.decode()


def test_one_study_can_be_asked_for(viewer, panel):
    study = make_study(panel.dataset, name="Pilot", status="CLOSED", overlap=2)
    make_study(panel.dataset, kind="SATISFACTION", name="Ratings", status="CLOSED")
    make_study(panel.dataset, name="Planned", status="DRAFT")
    PairwiseLabel.objects.filter(comparison__key__in=["m1", "m2"]).update(study=study)
    page = viewer.get(f"/agreement/?dataset=panel&study={study.slug}")
    assert page.context["overall"].items == 2
    html = page.content.decode()
    assert f'<option value="{study.slug}" selected>Pilot</option>' in html
    assert "Ratings" not in html
    assert "Planned" not in html
    assert f"study={study.slug}" in page.context["query"]
    answer = viewer.get(f"/agreement/agreement.csv?{page.context['query']}")
    rows = csv.DictReader(io.StringIO(answer.content.decode()))
    assert {row["study"] for row in rows} == {study.slug}
    other = f"dataset=panel&study={study.slug}&models=beta+/+gamma&was_study="
    assert viewer.get(f"/agreement/?{other}other").context["overall"].items == 2
    assert viewer.get(f"/agreement/?{other}").status_code == 404


def test_the_pages_of_a_study_lead_to_its_agreement(viewer, panel):
    study = make_study(panel.dataset, status="CLOSED", overlap=2)
    address = f"dataset=panel&amp;kind=verdicts&amp;study={study.slug}"
    comparison = Comparison.objects.get(key="m1")
    pages = (f"/studies/{study.slug}/", f"/studies/{study.slug}/quality/")
    assert not any(address in viewer.get(page).content.decode() for page in pages)
    annotator = make_user()
    make_claim(make_item(study, comparison=comparison), annotator, state="DONE")
    make_label(comparison, annotator=annotator, study=study, active_seconds=4)
    assert all(address in viewer.get(page).content.decode() for page in pages)


@pytest.mark.parametrize(
    "asked",
    [
        "study=none",
        "dataset=none",
        "kind=scores",
        "kind=odd",
        "scenario=999999",
        "scenario=x",
        "models=a+/+b",
    ],
)
@pytest.mark.parametrize("address", ADDRESSES)
def test_what_is_not_there_is_not_found(viewer, panel, address, asked):
    assert viewer.get(f"{address}?{asked}").status_code == 404


def test_undefined_is_a_dash_with_its_reason(viewer, panel):
    maths = make_scenario(panel.dataset, name="Alike", position=9)
    panel.scenarios.append(maths)
    panel.pair("AA-", key="a1", scenario=2)
    panel.pair("AA-", key="a2", scenario=2)
    page = tight(viewer.get(f"/agreement/?dataset=panel&scenario={maths.pk}"))
    assert "Too few sessions to tell: about 8 more are needed." in page
    assert "all answers are the same" in page
    for place in range(8):
        panel.pair("AA-", key=f"b{place}", scenario=2)
    page = viewer.get(f"/agreement/?dataset=panel&scenario={maths.pk}").content.decode()
    assert "agreement beyond chance cannot be computed" in page


def test_hidden_repeats_and_second_answers_do_not_count(viewer, panel):
    comparison = panel.pair("AA-", key="again")
    before = viewer.get("/agreement/").context["report"]
    make_label(comparison, annotator=panel.raters[0], verdict="B", repeat_index=1)
    after = viewer.get("/agreement/").context["report"]
    assert after == before


def test_scores_are_ordinal(viewer, panel):
    panel.rated([5, 4, 0])
    panel.rated([1, 1, 2], scenario=1)
    session = make_session(panel.scenarios[0])
    for rater, score in zip(panel.raters, (4, 5, 4), strict=True):
        make_rating(None, session=session, annotator=rater, score=score)
    page = viewer.get("/agreement/?dataset=panel&kind=scores")
    assert page.context["overall"].items == 3
    assert page.context["overall"].leading.measure == "ALPHA_ORDINAL"
    assert "Cohen’s kappa, quadratic weights" in page.content.decode()
    rows = viewer.get("/agreement/rows/?dataset=panel&kind=scores")
    assert sorted(answers for _target, answers, _same in rows.context["page"]) == [
        [("Ada", 1), ("Ben", 1), ("Cem", 2)],
        [("Ada", 4), ("Ben", 5), ("Cem", 4)],
        [("Ada", 5), ("Ben", 4)],
    ]
    assert f'href="/sessions/{session.pk}/"' in rows.content.decode()


def test_another_kind_of_answer_forgets_the_model_pair(viewer, panel):
    panel.rated([5, 4, 0])
    asked = "dataset=panel&was_dataset=panel&was_kind=verdicts&models=beta+/+gamma&kind=scores"
    assert viewer.get(f"/agreement/?{asked}").status_code == 200


@pytest.mark.parametrize(
    ("outcome", "keys"),
    [
        ("", ["m1", "m2", "m3", "w1", "w2"]),
        ("same", ["m1", "m3", "w2"]),
        ("different", ["m2", "w1"]),
    ],
)
def test_the_items_behind_a_number(viewer, panel, outcome, keys):
    answer = viewer.get(f"/agreement/rows/?dataset=panel&outcome={outcome}")
    assert [target.key for target, *_more in answer.context["page"]] == keys
    page = answer.content.decode()
    assert "Ask" in page
    assert all(f'title="{key}"' in page for key in keys)


def test_the_items_of_two_annotators(viewer, panel):
    _ada, ben, cem = (rater.pk for rater in panel.raters)
    answer = viewer.get(f"/agreement/rows/?dataset=panel&first={ben}&second={cem}")
    assert [(target.key, same) for target, _answers, same in answer.context["page"]] == [
        ("m1", True),
        ("m3", True),
        ("w1", False),
    ]
    assert "Answered by Ben and Cem" in answer.content.decode()
    assert viewer.get("/agreement/rows/?dataset=panel&first=1&second=999999").status_code == 404
    alone = viewer.get(f"/agreement/rows/?dataset=panel&first={ben}")
    assert (alone.context["found"].between, alone.context["found"].all) == ((), 5)


def test_items_that_do_not_exist_are_said_to_be_none(viewer, panel):
    models = "models=alpha+/+beta&outcome=different"
    scenario = panel.scenarios[1].pk
    page = viewer.get(f"/agreement/rows/?dataset=panel&scenario={scenario}&{models}")
    assert "No matching items" in page.content.decode()


def test_the_export_holds_every_figure(viewer, panel):
    answer = viewer.get("/agreement/agreement.csv?dataset=panel")
    assert answer["Content-Disposition"] == 'attachment; filename="panel-agreement.csv"'
    text = answer.content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    kappa = next(row for row in rows if row["name"] == "Ada / Ben" and row["measure"] == "KAPPA")
    assert (kappa["items"], kappa["group"]) == ("4", "annotators")
    assert {row["group"] for row in rows} == {"all", "scenario", "models", "annotators"}
    assert {(row["seed"], row["version"]) for row in rows} == {("42", settings.APP_VERSION)}
    lone = [row for row in rows if row["undefined"]]
    assert all(row["value"] == "" for row in lone)


def test_what_the_pages_cost(viewer, panel, django_assert_num_queries):
    panel.rated([5, 4, 0])
    # Session and user, datasets, studies, scenarios, names, answers.
    with django_assert_num_queries(7):
        viewer.get("/agreement/?dataset=panel")
    with django_assert_num_queries(8):  # of turns and of sessions
        viewer.get("/agreement/?dataset=panel&kind=scores")
    with django_assert_num_queries(8):  # and the comparisons
        viewer.get("/agreement/rows/?dataset=panel")


def test_pandalm_s_annotators_agree_as_scikit_learn_says(viewer):
    from sklearn.metrics import cohen_kappa_score

    path = shared_data("pandalm_testset_dev.json")
    import_records(path=path, dataset_slug="pandalm", now=NOW)
    page = viewer.get("/agreement/?dataset=pandalm")
    found = {(pair["first"], pair["second"]): pair["overlap"] for pair in page.context["pairs"]}
    rows = json.loads(path.read_text())
    assert len(found) == 3
    for (first, second), overlap in found.items():
        share, kappa = overlap.coefficients
        given = [[row[name] for row in rows] for name in (first, second)]
        assert kappa.value == pytest.approx(cohen_kappa_score(*given), abs=1e-9)
        assert kappa.items == len(rows)
        same = sum(one == other for one, other in zip(*given, strict=True))
        assert share.value == pytest.approx(same / len(rows))
