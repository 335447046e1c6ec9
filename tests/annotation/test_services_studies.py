from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.core.choices import StudyKind
from annotation.core.studies import StudyPlan
from annotation.core.study_items import ItemChoice, Stratum
from annotation.models import AuditEvent, Dataset, PairingPlan, Study, StudyStatus
from annotation.services.participants import invite
from annotation.services.studies import change_rules, create_study, delete_draft, set_status
from tests.annotation.labelling import NOW, make_pair_study
from tests.annotation.records import import_rows, pair
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_label,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def plan(dataset, **changes):
    fields = {
        "name": "Pilot study",
        "kind": StudyKind.PAIRWISE,
        "dataset": dataset.slug,
        "annotators": (),
        "overlap": 2,
        "allow_tie": True,
        "allow_strength": False,
        "ask_hallucination": False,
        "guidelines": "Read **both**.",
    }
    return StudyPlan(**{**fields, **changes})


@pytest.fixture
def dataset():
    """Two scenarios of three pairs and sessions each, one pair without texts."""
    dataset = make_dataset()
    for name in ("Writing", "Code"):
        scenario = make_scenario(dataset, name=name)
        for _number in range(3):
            turn = make_turn(make_session(scenario))
            make_comparison(turn)
            make_response(turn, original=True)
    make_comparison(
        turn, response_a=make_response(turn, text=None), response_b=make_response(turn, variant="b")
    )
    make_turn(make_session(scenario))  # a session without a response
    return dataset


@pytest.mark.parametrize(
    ("choice", "keys"),
    [
        ({"models": ("a",)}, {"ab", "ac"}),
        ({"models": ("a", "b"), "both_models": True}, {"ab"}),
        ({"languages": ("zh",)}, {"ab", "bc"}),
        ({"languages": ("zh",), "models": ("c",)}, {"bc"}),
        ({"plan": 0}, {"ac"}),
        ({"sample": 3, "strata": (Stratum.MODELS,)}, {"ab", "ac", "bc"}),
    ],
)
def test_items_are_chosen_and_the_choice_is_kept(choice, keys):
    dataset = make_dataset()
    turns = [
        make_turn(make_session(make_scenario(dataset), language=code)) for code in ("en", "zh-Hans")
    ]
    made = {}
    for place, models in ((0, "ab"), (0, "ac"), (1, "ab"), (1, "ab"), (1, "bc")):
        a, b = (make_response(turns[place], model=model) for model in models)
        key = f"{models}{len(made)}"
        made[key] = make_comparison(turns[place], response_a=a, response_b=b, key=key)
    if "plan" in choice:
        planned = PairingPlan.objects.create(dataset=dataset, kind="ALL", seed=1)
        planned.comparisons.add(made["ac1"])
        choice = {"plan": planned.pk}
    items = ItemChoice(**choice)
    study = Study.objects.get(slug=create_study(plan(dataset, items=items), by=make_user()))
    found = [item.comparison.key[:2] for item in study.items.all()]
    assert set(found) == keys
    assert len(found) == choice.get("sample", len(found))
    assert study.selection == items.stored()
    event = AuditEvent.objects.get(action="study.created")
    assert event.detail == {**items.stored(), "items": len(found), "gold": 0, "repeats": 0}


def test_making_a_study_reads_its_pairs_once(dataset):
    manager = make_user()
    with CaptureQueriesContext(connection) as captured:
        create_study(plan(dataset), by=manager)
    reads = [each["sql"] for each in captured if 'FROM "annotation_comparison"' in each["sql"]]
    assert len(reads) == 1


def test_a_study_is_a_draft_with_every_available_pair_once(dataset):
    manager, annotator = make_user(role="MANAGER"), make_user()
    slug = create_study(plan(dataset, annotators=(annotator.username,)), by=manager)
    study = Study.objects.get(slug=slug)
    assert (study.status, study.overlap, study.created_by) == (StudyStatus.DRAFT, 2, manager)
    assert (study.allow_tie, study.guidelines) == (True, "Read **both**.")
    assert list(study.annotators.all()) == [annotator]
    assert study.items.count() == 6
    assert list(study.items.order_by("position").values_list("position", flat=True)) == [*range(6)]
    assert AuditEvent.objects.get().action == "study.created"


def test_every_rule_of_a_plan_is_kept(dataset):
    rules = {
        "overlap": 3,
        "lease_minutes": 40,
        "allow_tie": False,
        "allow_strength": True,
        "allow_both_bad": True,
        "ask_hallucination": True,
        "ask_questionnaire": True,
        "pause_gold_below": 0.6,
        "pause_repeats_below": 0.7,
        "pause_after": 8,
        "consent": "I agree.",
        "ask_profile": True,
        "min_turns": 4,
        "seed": 7,
    }
    study = Study.objects.get(slug=create_study(plan(dataset, **rules), by=make_user()))
    assert {name: getattr(study, name) for name in rules} == rules


def test_a_study_of_sessions_holds_those_with_a_response(dataset):
    slug = create_study(plan(dataset, kind=StudyKind.SATISFACTION), by=make_user())
    items = Study.objects.get(slug=slug).items
    assert items.count() == items.filter(session__isnull=False).count() == 6


@pytest.mark.parametrize("kind", [StudyKind.PAIRWISE, StudyKind.SATISFACTION])
def test_chosen_scenarios_alone_come_in(dataset, kind):
    slug = create_study(
        plan(dataset, kind=kind, items=ItemChoice(scenarios=("Code",))), by=make_user()
    )
    assert Study.objects.get(slug=slug).items.count() == 3


def test_a_study_of_nothing_is_refused_whole(dataset):
    with refuses("study:empty"):
        create_study(plan(dataset, items=ItemChoice(scenarios=("Nowhere",))), by=make_user())
    assert not Study.objects.exists()


def test_equal_names_get_numbered_addresses(dataset):
    slugs = [create_study(plan(dataset), by=make_user()) for _time in range(3)]
    assert slugs == ["pilot-study", "pilot-study-2", "pilot-study-3"]


def test_a_name_without_latin_letters_still_gets_an_address(dataset):
    assert create_study(plan(dataset, name="写作"), by=make_user()) == "study"


def test_a_status_is_changed_once_and_traced():
    manager, study = make_user(), make_study(status=StudyStatus.DRAFT)
    for _twice in range(2):
        set_status(study=study.slug, status=StudyStatus.OPEN, by=manager)
    study.refresh_from_db()
    assert study.status == StudyStatus.OPEN
    event = AuditEvent.objects.get()
    assert event.detail == {"before": "DRAFT", "after": "OPEN"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("OPEN", "DRAFT"), ("DRAFT", "CLOSED"), ("CLOSED", "PAUSED")],
)
def test_a_status_that_cannot_follow_is_refused(before, after):
    study = make_study(status=before)
    with refuses("study:status"):
        set_status(study=study.slug, status=StudyStatus(after), by=make_user())
    study.refresh_from_db()
    assert study.status == before
    assert not AuditEvent.objects.exists()


def test_rules_are_changed_once_and_traced():
    manager, study = make_user(), make_study(overlap=1)
    for _twice in range(2):
        change_rules(
            study=study.slug, rules={"overlap": 3, "pause_gold_below": 0.5}, since=0, by=manager
        )
    study.refresh_from_db()
    assert (study.overlap, study.pause_gold_below, study.lease_minutes) == (3, 0.5, 15)
    event = AuditEvent.objects.get()
    assert (event.action, event.actor, event.target_id) == ("study.rules", manager, study.pk)
    assert event.detail == {
        "before": {"overlap": 1, "pause_gold_below": None},
        "after": {"overlap": 3, "pause_gold_below": 0.5},
    }


def test_once_somebody_got_an_item_what_is_asked_stays_whole():
    annotator = make_user()
    study = make_pair_study([annotator], overlap=2)
    make_claim(study.items.get(), annotator, state="RELEASED", slot=None)
    with refuses("study:rules") as refused:
        change_rules(
            study=study.slug,
            rules={"allow_tie": True, "overlap": 1, "lease_minutes": 30},
            since=0,
            by=make_user(),
        )
    assert [each.name for each in refused.value.faults] == ["allow_tie", "overlap"]
    study.refresh_from_db()
    assert (study.allow_tie, study.overlap, study.lease_minutes) == (False, 2, 15)
    assert not AuditEvent.objects.exists()


def test_other_shares_choose_the_items_of_a_draft_anew(dataset):
    slug = create_study(plan(dataset, items=ItemChoice(scenarios=("Code",))), by=make_user())
    study = Study.objects.get(slug=slug)
    before = set(study.items.values_list("comparison_id", flat=True))
    change_rules(study=slug, rules={"repeat_rate": 0.4}, since=0, by=make_user())
    normal = study.items.exclude(kind="REPEAT")
    assert set(normal.values_list("comparison_id", flat=True)) == before
    positions = list(study.items.order_by("position").values_list("position", flat=True))
    assert positions == [*range(len(positions))]


def test_the_chance_of_each_item_is_stored_and_stays_when_items_are_chosen_again(dataset):
    """Of three pairs of Writing and four of Code, three of which have texts, two each."""
    choice = ItemChoice(sample=4, strata=(Stratum.SCENARIO,))
    slug = create_study(plan(dataset, items=choice, repeat_rate=0.2), by=None)
    study = Study.objects.get(slug=slug)
    first = study.items.exclude(kind="REPEAT")
    assert set(first.values_list("inclusion_chance", flat=True)) == {2 / 3}
    change_rules(study=slug, rules={"repeat_rate": 0.0}, since=0, by=make_user())
    assert list(study.items.values_list("inclusion_chance", flat=True)) == [2 / 3] * 4


def test_a_draft_of_another_size_is_drawn_again_and_keeps_how_it_is_chosen(dataset):
    choice = ItemChoice(scenarios=("Code", "Writing"), sample=4, strata=(Stratum.SCENARIO,))
    study = Study.objects.get(slug=create_study(plan(dataset, items=choice), by=None))
    change_rules(study=study.slug, rules={"sample": 2}, since=0, by=make_user())
    scenarios = study.items.values_list("comparison__turn__session__scenario__name", flat=True)
    assert sorted(scenarios) == ["Code", "Writing"]
    study.refresh_from_db()
    assert study.selection == {**choice.stored(), "sample": 2}
    event = AuditEvent.objects.get(action="study.rules")
    assert event.detail == {"before": {"sample": 4}, "after": {"sample": 2}}
    change_rules(study=study.slug, rules={"sample": None}, since=event.pk, by=make_user())
    assert study.items.count() == 6


def test_an_import_of_gold_answers_draws_drafts_again(tmp_path):
    import_rows(tmp_path, pair(), pair(prompt="q"), pair(prompt="r"))
    dataset = Dataset.objects.get()
    study = Study.objects.get(slug=create_study(plan(dataset, gold_rate=0.4), by=None))
    assert not study.items.filter(kind="GOLD").exists()
    import_rows(tmp_path, pair(prompt="q", gold="B"))
    assert study.items.get(kind="GOLD").comparison.turn.user_message == "q"


def test_a_draft_is_deleted_and_leaves_a_trace(dataset):
    manager = make_user(role="MANAGER")
    annotator = make_user()
    drawn = plan(dataset, repeat_rate=0.4, annotators=(annotator.username,))
    slug = create_study(drawn, by=manager)
    invite(study=slug, by=manager, now=NOW, note="", places=3, expires_at=None)
    number = Study.objects.get().pk
    assert delete_draft(study=slug, by=manager) == "Pilot study"
    assert not Study.objects.exists()
    event = AuditEvent.objects.get(action="study.deleted")
    assert (event.target_id, event.actor, event.detail["slug"]) == (number, manager, slug)


def test_only_a_draft_without_answers_is_deleted():
    opened = make_pair_study([make_user()])
    labelled = make_pair_study([make_user()], status="DRAFT")
    make_label(labelled.items.first().comparison, study=labelled)
    for study in (opened, labelled):
        with refuses("study:no-draft"):
            delete_draft(study=study.slug, by=make_user())
    assert Study.objects.count() == 2
    assert not AuditEvent.objects.filter(action="study.deleted").exists()
