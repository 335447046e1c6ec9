from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.core.choices import Verdict
from annotation.core.labelling import Target, TargetKind
from annotation.models import AuditEvent, GoldLabel
from annotation.queries.quality import study_gold_verdicts
from annotation.services.quality import mark_gold, withdraw_gold
from tests.annotation.records import NOW
from tests.factory import (
    make_claim,
    make_comparison,
    make_item,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison():
    return Target(TargetKind.COMPARISON, make_comparison().pk)


def mark(target, answer, rationale="It breaks off.", *, since=NOW, by=None, now=NOW):
    mark_gold(
        target=target,
        answer=answer,
        rationale=rationale,
        since=since,
        by=by or make_user(),
        now=now,
    )


def test_what_a_manager_holds_to_be_right_is_kept_with_its_reason(comparison):
    manager = make_user(role="MANAGER")
    mark(comparison, Verdict.B, "  A breaks off. ", by=manager)
    gold = GoldLabel.objects.get()
    assert (gold.comparison_id, gold.verdict, gold.score) == (comparison.id, "B", None)
    assert (gold.source, gold.rationale) == ("MANAGER", "A breaks off.")
    assert (gold.created_by, gold.created_at) == (manager, NOW)
    event = AuditEvent.objects.get()
    assert (event.action, event.actor, event.target_id) == ("gold.marked", manager, gold.pk)


@pytest.mark.parametrize("kind", [TargetKind.RESPONSE, TargetKind.SESSION])
def test_a_reply_and_a_session_have_a_score(kind):
    made = make_response() if kind is TargetKind.RESPONSE else make_session()
    mark(Target(kind, made.pk), 4)
    assert GoldLabel.objects.get().score == 4


def test_a_later_answer_replaces_an_earlier_one_with_a_trace(comparison):
    mark(comparison, Verdict.B)
    mark(comparison, Verdict.A, "On second thought.", now=NOW + timedelta(hours=1))
    gold = GoldLabel.objects.get()
    assert (gold.verdict, gold.rationale) == ("A", "On second thought.")
    event = AuditEvent.objects.get(action="gold.changed")
    assert (event.detail["before"]["verdict"], event.detail["after"]["verdict"]) == ("B", "A")


def test_saying_the_same_again_leaves_no_trace(comparison):
    mark(comparison, Verdict.B)
    mark(comparison, Verdict.B)
    assert AuditEvent.objects.count() == 1


def test_other_sources_stand_as_they_are(comparison):
    GoldLabel.objects.create(comparison_id=comparison.id, verdict="A", source="DATASET")
    mark(comparison, Verdict.B)
    withdraw_gold(target=comparison, since=NOW, by=make_user(), now=NOW)
    assert GoldLabel.objects.get().source == "DATASET"


def test_withdrawing_leaves_a_trace_and_happens_once(comparison):
    mark(comparison, Verdict.B)
    for _time in range(2):
        withdraw_gold(target=comparison, since=NOW, by=make_user(), now=NOW)
    assert not GoldLabel.objects.exists()
    event = AuditEvent.objects.get(action="gold.withdrawn")
    assert event.detail["before"]["verdict"] == "B"


def test_what_does_not_fit_is_refused(comparison):
    response = Target(TargetKind.RESPONSE, make_response().pk)
    for target, answer in (
        (comparison, 4),
        (response, Verdict.A),
        (response, 6),
        (Target(TargetKind.COMPARISON, 999_999), Verdict.A),
    ):
        with refuses("gold:refused") as refused:
            mark(target, answer, "")
        assert refused.value.code == "gold:refused"
    assert not GoldLabel.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("allow_tie", [False, True])
def test_a_tie_is_not_held_right_in_a_study_where_nobody_may_give_one(allow_tie):
    comparison = make_comparison()
    study = make_study(comparison.turn.session.dataset, allow_tie=allow_tie)
    make_item(study, comparison=comparison, kind="GOLD")
    mark(Target(TargetKind.COMPARISON, comparison.pk), Verdict.TIE)
    assert study_gold_verdicts(study) == ({comparison.pk: Verdict.TIE} if allow_tie else {})


def gold_of(study):
    return set(study.items.filter(kind="GOLD").values_list("comparison_id", flat=True))


def test_drafts_draw_their_gold_items_anew(comparison):
    dataset = make_comparison().turn.session.dataset
    other = make_comparison(make_turn(make_session(make_scenario(dataset))))
    target = Target(TargetKind.COMPARISON, other.pk)
    studies = {
        status: make_study(dataset, status=status, gold_rate=0.5) for status in ("DRAFT", "OPEN")
    }
    held = make_study(dataset, status="DRAFT", gold_rate=0.5)
    for study in (*studies.values(), held):
        make_item(study, comparison=other)
    make_claim(held.items.get(), make_user())
    mark(target, Verdict.B, "")
    assert gold_of(studies["DRAFT"]) == set()  # half of one item is none
    for study in studies.values():
        make_item(study, comparison=dataset_pair(dataset))
    mark(target, Verdict.A, "")
    assert gold_of(studies["DRAFT"]) == {other.pk}
    assert gold_of(studies["OPEN"]) == gold_of(held) == set()
    withdraw_gold(target=target, since=NOW, by=make_user(), now=NOW)
    assert gold_of(studies["DRAFT"]) == set()
    assert studies["DRAFT"].items.count() == 2


def dataset_pair(dataset):
    return make_comparison(make_turn(make_session(make_scenario(dataset))))


def test_a_draft_of_conversations_draws_anew_for_a_score():
    response = make_response(original=True)
    session = response.turn.session
    study = make_study(session.dataset, kind="SATISFACTION", status="DRAFT", gold_rate=0.5)
    make_item(study, session=session)
    make_item(study, session=make_session(make_scenario(session.dataset)))
    mark(Target(TargetKind.RESPONSE, response.pk), 2, "")
    assert study.items.get(kind="GOLD").session_id == session.pk
