from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import AuditEvent, GoldLabel, Study
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db

NEW = "/studies/new/"
COUNTS = "/studies/new/counts/"


@pytest.fixture
def manager(client):
    user = make_user(role="MANAGER", username="boss")
    client.force_login(user)
    return user


@pytest.fixture
def dataset():
    """Two scenarios with a pair each, and one pair without a text."""
    dataset = make_dataset()
    for name in ("Writing", "Code"):
        turn = make_turn(make_session(make_scenario(dataset, name=name), task_context="A task."))
        make_comparison(turn)
    missing = make_response(turn, text=None)
    make_comparison(turn, response_a=missing, response_b=make_response(turn, variant="b"))
    return dataset


def filled(**changes):
    fields = {
        "name": "Pilot",
        "kind": "PAIRWISE",
        "overlap": 1,
        "lease_minutes": 20,
        "seed": 7,
        "gold_rate": "0",
        "repeat_rate": "0",
        "pause_after": 5,
        "min_turns": 3,
    }
    return {**fields, **changes}


def make(client, dataset, **changes):
    return client.post(f"{NEW}?dataset={dataset.slug}", filled(**changes))


def rules(**changes):
    fields = {
        "since": "0",
        "name": "Pilot",
        "overlap": 1,
        "lease_minutes": 15,
        "gold_rate": "0",
        "repeat_rate": "0",
        "pause_after": 5,
    }
    return {**fields, **changes}


def rules_url(study):
    return reverse("annotation:study-rules", args=[study.slug])


def test_a_new_study_begins_with_its_dataset(client, manager, dataset):
    assert "form" in client.get(NEW).context  # the only one is chosen
    make_dataset()
    page = client.get(NEW)
    assert dataset.name in page.content.decode()
    assert "form" not in page.context
    html = client.get(NEW, {"dataset": dataset.slug}).content.decode()
    assert "Writing" in html
    assert "A study covers one dataset." in html


def test_without_a_dataset_the_page_says_how_to_get_one(client, manager):
    assert "No dataset to study" in client.get(NEW).content.decode()


def test_the_defaults_are_those_of_the_paper(client, manager, dataset):
    form = client.get(NEW, {"dataset": dataset.slug}).context["form"]
    on = {name for name, field in form.fields.items() if field.initial is True}
    assert on == {"allow_both_bad", "reveal_turns"}
    assert form["allow_tie"].initial is None
    assert (form["overlap"].initial, form["repeat_rate"].value()) == (1, "5")


def test_a_study_is_made_and_opened(client, manager, dataset):
    annotator = make_user(username="li")
    response = make(
        client, dataset, annotators=["li"], scenarios=["Code"], allow_tie="on", gold_rate="12.5"
    )
    assert (response.status_code, response.url) == (302, "/studies/pilot/")
    study = Study.objects.get()
    assert (study.status, study.allow_tie, study.items.count()) == ("DRAFT", True, 1)
    assert (study.gold_rate, study.lease_minutes, study.seed) == (0.125, 20, 7)
    assert list(study.annotators.all()) == [annotator]
    assert "Open to annotators" in client.get("/studies/pilot/").content.decode()
    response = client.post("/studies/pilot/status/", {"status": "OPEN"})
    assert (response.status_code, response.url) == (302, "/studies/pilot/")
    study.refresh_from_db()
    assert study.status == "OPEN"
    said = {"OPEN": "The study is open", "PAUSED": "The study is paused", "CLOSED": "is closed"}
    for status, text in said.items():
        page = client.post("/studies/pilot/status/", {"status": status}, follow=True)
        assert text in page.content.decode(), status


def test_the_rules_say_whether_there_are_guidelines_and_a_quiz(client, manager, dataset):
    make(client, dataset, guidelines="")
    facts = one_line(client.get("/studies/pilot/"))
    assert "<dt>guidelines</dt> <dd> none </dd> <dt>quiz</dt> <dd> none </dd>" in facts
    editor = reverse("annotation:edit-quiz", args=["pilot"])
    assert "Ask everyone again" not in client.get(editor).content.decode()
    question = {"question": "Tie?", "choices": ["Yes", "No"], "answer": 1, "explanation": ""}
    Study.objects.update(guidelines="Be fair.", guidelines_version=2, quiz=[question])
    facts = one_line(client.get("/studies/pilot/"))
    assert "<dd> version 2 </dd> <dt>quiz</dt> <dd> 1 question </dd>" in facts
    assert "Ask everyone again" in client.get(editor).content.decode()


def test_rules_of_other_kinds_are_as_if_not_said(client, manager, dataset):
    make_response(dataset.sessions.first().turns.get(), original=True)
    make(client, dataset, kind="SATISFACTION", allow_tie="on", ask_hallucination="on", min_turns=9)
    study = Study.objects.get()
    assert (study.allow_tie, study.ask_hallucination, study.min_turns) == (False, True, 1)


def test_nobody_needs_to_be_chosen_as_people_join_by_link(client, manager, dataset):
    assert make(client, dataset).status_code == 302
    assert not Study.objects.get().annotators.exists()


def test_a_study_of_conversations_leads_to_their_setup(client, manager, dataset):
    response = make(client, dataset, kind="CONVERSATION", min_turns=4)
    assert (response.status_code, response.url) == (302, "/studies/pilot/conversation/")
    assert Study.objects.get().min_turns == 4


@pytest.mark.parametrize(
    ("changes", "field", "error"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"annotators": ["nobody"]}, "annotators", "Select a valid choice"),
        ({"scenarios": ["Elsewhere"]}, "scenarios", "Select a valid choice"),
        ({"overlap": 0}, "overlap", "greater than or equal to 1"),
        ({"gold_rate": 51}, "gold_rate", "less than or equal to 50"),
        ({"repeat_rate": -1}, "repeat_rate", "greater than or equal to 0"),
        ({"pause_gold_below": 101}, "pause_gold_below", "less than or equal to 100"),
        ({"lease_minutes": ""}, "lease_minutes", "This field is required."),
        ({"kind": "GUESSING"}, "kind", "Select a valid choice"),
        ({"kind": "CONVERSATION", "min_turns": ""}, "min_turns", "This field is required."),
        (
            {"kind": "SATISFACTION"},
            "scenarios",
            "The selected items contain nothing to ask about in this way.",
        ),
    ],
)
def test_a_study_that_cannot_be_is_said_at_its_field(
    client, manager, dataset, changes, field, error
):
    response = make(client, dataset, annotators=changes.pop("annotators", ["boss"]), **changes)
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert error in response.content.decode().replace("&#x27;", "'")
    assert not Study.objects.exists()
    assert not AuditEvent.objects.exists()


def test_what_was_typed_stays_where_something_else_is_wrong(client, manager, dataset):
    response = make(client, dataset, name="", repeat_rate="12.5", allow_strength="on")
    form = response.context["form"]
    assert form["repeat_rate"].value() == "12.5"
    assert form["allow_strength"].value() is True


def test_the_size_of_a_study_is_counted_while_it_is_planned(client, manager, dataset):
    pair = dataset.sessions.first().turns.get().comparisons.first()
    GoldLabel.objects.create(comparison=pair, verdict="A", source="DATASET")
    wanted = filled(overlap=2, annotators=["boss"], gold_rate="50", dataset=dataset.slug)
    page = client.get(COUNTS, wanted)
    counts = page.context["counts"]
    assert (counts.targets, counts.wanted, counts.left_out) == (2, 4, 1)
    assert (counts.gold, counts.gold_known, counts.repeats) == (1, 1, 0)
    assert counts.each == 2  # four answers, but one person answers each of two items once
    assert "Each item needs 2 annotators; you have selected 1 so far." in page.content.decode()
    assert "invite people with a link after creating the study" in page.content.decode()
    assert not Study.objects.exists()


def test_chosen_scenarios_are_counted_alone(client, manager, dataset):
    page = client.get(COUNTS, filled(scenarios=["Writing"], dataset=dataset.slug))
    assert page.context["counts"].targets == 1
    assert page.context["counts"].each is None
    page = client.get(COUNTS, filled(kind="SATISFACTION", dataset=dataset.slug))
    assert "The selected items contain nothing to ask about" in page.content.decode()
    page = client.get(COUNTS, filled(kind="CONVERSATION", dataset=dataset.slug))
    assert page.context["counts"].targets == 2


def test_the_count_is_what_the_study_then_holds(client, manager):
    dataset = make_dataset()
    scenario = make_scenario(dataset)
    for number in range(60):
        pair = make_comparison(make_turn(make_session(scenario)))
        if number % 3 == 0:
            GoldLabel.objects.create(comparison=pair, verdict="A", source="DATASET")
    wanted = {"gold_rate": "10", "repeat_rate": "10", "overlap": 2}
    counts = client.get(COUNTS, filled(dataset=dataset.slug, **wanted)).context["counts"]
    make(client, dataset, **wanted)
    items = Study.objects.get().items
    assert counts.targets == items.exclude(kind="REPEAT").count()
    assert counts.gold == items.filter(kind="GOLD").count() > 0
    assert counts.repeats == items.filter(kind="REPEAT").count() > 0


def test_numbers_wait_for_fields_that_can_be_read(client, manager, dataset):
    page = client.get(COUNTS, filled(overlap="", dataset=dataset.slug))
    assert "Correct the fields above" in page.content.decode()
    assert client.get(COUNTS, filled(dataset="nowhere")).status_code == 404


def test_counting_costs_a_fixed_number_of_queries(
    client, manager, dataset, django_assert_num_queries
):
    # Session, user, datasets, scenarios, models of either side, languages, plans, people, the
    # dataset, its pairs, all of them, gold.
    with django_assert_num_queries(13):
        client.get(COUNTS, filled(dataset=dataset.slug))


def test_a_sample_is_counted_made_and_shown(client, manager, dataset):
    chosen = {"sample": 1, "strata": ["SCENARIO"], "scenarios": ["Writing", "Code"]}
    page = client.get(COUNTS, filled(dataset=dataset.slug, **chosen)).content.decode()
    assert "<b>1</b>" in page
    assert "sampled from" in page
    page = client.get(make(client, dataset, **chosen).url).content.decode()
    assert "scenarios: Writing, Code · sample size: 1 · equal numbers of each: Scenario" in page
    assert "This balanced sample has no inclusion probabilities" in page
    page = client.get(make(client, dataset, **{**chosen, "sample": 2}).url).content.decode()
    assert "no inclusion probabilities" not in page


def test_a_balance_needs_a_size_and_kinds_leave_out_what_says_nothing_of_them(
    client, manager, dataset
):
    assert make(client, dataset, strata=["SCENARIO"]).status_code == 422
    made = {"kind": "SATISFACTION", "sample": 1, "strata": ["MODELS", "SCENARIO"]}
    assert make(client, dataset, **made).status_code == 422  # no response is an original one
    made["kind"] = "CONVERSATION"
    assert make(client, dataset, **made).status_code == 302
    assert Study.objects.get().selection == {"sample": 1, "strata": ["SCENARIO"]}


def test_everything_changes_in_a_draft(client, manager):
    study = make_pair_study([], items=2, overlap=3, status="DRAFT")
    html = client.get(rules_url(study)).content.decode()
    assert "everything can still be changed" in html
    response = client.post(rules_url(study), rules(name="Pilot 2", allow_tie="on", overlap=2))
    assert (response.status_code, response.url) == (302, f"/studies/{study.slug}/")
    study.refresh_from_db()
    assert (study.name, study.allow_tie, study.overlap) == ("Pilot 2", True, 2)
    assert AuditEvent.objects.get().action == "study.rules"


@pytest.mark.parametrize("begun", [True, False])
def test_once_it_was_opened_only_harmless_rules_change(client, manager, begun):
    annotator = make_user()
    study = make_pair_study([annotator], overlap=2, allow_tie=True)
    if begun:
        make_claim(study.items.get(), annotator)
    page = client.get(rules_url(study))
    form = page.context["form"]
    assert form.fields["allow_tie"].disabled
    assert not form.fields["overlap"].disabled
    response = client.post(
        rules_url(study),
        rules(overlap=3, lease_minutes=40, pause_gold_below="60", contact="ada@example.org"),
    )
    assert response.status_code == 302
    study.refresh_from_db()
    # allow_tie was not sent, which of a box that nobody can tick says nothing.
    assert (study.overlap, study.lease_minutes, study.allow_tie) == (3, 40, True)
    assert (study.pause_gold_below, study.contact) == (0.6, "ada@example.org")


def test_an_overlap_that_goes_down_is_refused_at_its_field(client, manager):
    annotator = make_user()
    study = make_pair_study([annotator], overlap=2)
    make_claim(study.items.get(), annotator)
    response = client.post(rules_url(study), rules(overlap=1))
    assert response.status_code == 422
    assert response.context["form"].errors["overlap"] == [
        "This can only be raised: a lower number would exceed it with the answers already given."
    ]
    study.refresh_from_db()
    assert (study.overlap, study.name) == (2, study.slug)


def test_rules_of_an_opened_study_with_gold_and_repeats_still_change(client, manager):
    study = make_pair_study([make_user()], gold_rate=0.05, repeat_rate=0.1)
    make_claim(study.items.first(), study.annotators.get())
    page = client.get(rules_url(study))
    assert page.context["form"]["gold_rate"].value() == "5"
    fields = {name: text for name, text in rules(overlap=3).items() if not name.endswith("_rate")}
    assert client.post(rules_url(study), fields).status_code == 302
    study.refresh_from_db()
    assert (study.overlap, study.gold_rate, study.repeat_rate) == (3, 0.05, 0.1)


def test_an_old_page_of_rules_undoes_nothing(client, manager):
    study = make_pair_study([], items=2, status="DRAFT")
    client.post(rules_url(study), rules(overlap=2))
    response = client.post(rules_url(study), rules(overlap=3))
    assert response.status_code == 409
    assert "This was changed after you opened the page" in response.content.decode()
    assert response.context["form"]["overlap"].value() == 2
    study.refresh_from_db()
    assert study.overlap == 2
    newer = str(response.context["since"])
    assert client.post(rules_url(study), rules(overlap=3, since=newer)).status_code == 302


def test_rules_of_another_kind_are_not_asked_for(client, manager):
    fields = client.get(rules_url(make_session_study([]))).context["form"].fields
    assert "ask_hallucination" in fields
    assert not {"allow_tie", "min_turns", "ask_profile"} & set(fields)


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
def test_only_managers_make_studies_and_change_rules(client, role, dataset):
    client.force_login(make_user(role=role))
    study = make_study(overlap=1)
    assert client.get(NEW).status_code == 403
    assert make(client, dataset).status_code == 403
    assert client.get(COUNTS, filled(dataset=dataset.slug)).status_code == 403
    assert client.get(rules_url(study)).status_code == 403
    assert client.post(rules_url(study), rules(overlap=5)).status_code == 403
    study.refresh_from_db()
    assert (Study.objects.count(), study.overlap) == (1, 1)


def test_strangers_are_sent_to_the_sign_in(client):
    for path in (NEW, COUNTS, rules_url(make_study())):
        response = client.get(path)
        assert response.status_code == 302
        assert response.url.startswith(reverse("sign-in"))


def test_wrong_methods_and_what_is_not_there(client, manager):
    assert client.delete(NEW).status_code == 405
    assert client.post(COUNTS).status_code == 405
    assert client.delete(rules_url(make_study())).status_code == 405
    nowhere = reverse("annotation:study-rules", args=["nowhere"])
    assert client.get(nowhere).status_code == 404
