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
    make_comparison,
    make_item,
    make_response,
    make_session,
    make_study,
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
    for target, answer, rationale in (
        (comparison, 4, "x"),
        (comparison, Verdict.A, "  "),
        (response, Verdict.A, "x"),
        (response, 6, "x"),
        (Target(TargetKind.COMPARISON, 999_999), Verdict.A, "x"),
    ):
        with refuses("gold:refused") as refused:
            mark(target, answer, rationale)
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
