from __future__ import annotations

from datetime import UTC, datetime

import pytest

from annotation.core.choices import Verdict
from annotation.core.labelling import Target, TargetKind
from annotation.models import AuditEvent, GoldLabel
from annotation.services.quality import decide
from tests.factory import make_comparison, make_label, make_rating, make_response, make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def comparison():
    found = make_comparison()
    make_label(found, verdict="A")
    make_label(found, verdict="B")
    return Target(TargetKind.COMPARISON, found.pk)


@pytest.fixture
def response():
    found = make_response(original=True)
    make_rating(found, score=4)
    make_rating(found, score=5)
    return Target(TargetKind.RESPONSE, found.pk)


def decided(target, decision, rationale="Because."):
    decide(target=target, decision=decision, rationale=rationale, by=make_user(), now=NOW)


def test_a_decision_is_kept_with_its_moment(comparison):
    decided(comparison, Verdict.B)
    gold = GoldLabel.objects.get()
    assert (gold.verdict, gold.created_at) == ("B", NOW)
    event = AuditEvent.objects.get()
    assert (event.created_at, event.detail["comparison"]) == (NOW, comparison.id)


def test_what_does_not_fit_is_refused(comparison, response):
    alone = make_label().comparison
    for target, decision, rationale in (
        (comparison, 4, "x"),
        (comparison, Verdict.A, "  "),
        (response, Verdict.A, "x"),
        (response, 6, "x"),
        (Target(TargetKind.COMPARISON, alone.pk), Verdict.A, "x"),
        (Target(TargetKind.COMPARISON, 999_999), Verdict.A, "x"),
    ):
        with refuses("adjudication:refused") as raised:
            decided(target, decision, rationale)
        assert raised.value.code == "adjudication:refused"
    assert not GoldLabel.objects.exists()
    assert not AuditEvent.objects.exists()


def test_one_annotator_twice_is_not_two():
    label = make_label(verdict="A")
    make_label(label.comparison, annotator=label.annotator, verdict="B", repeat_index=1)
    with refuses("adjudication:refused"):
        decided(Target(TargetKind.COMPARISON, label.comparison_id), Verdict.A)
