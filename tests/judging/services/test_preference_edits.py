"""Edits are versions: nothing is overwritten, and each says who did it."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from annotation.core.refusals import Refused
from annotation.models import AuditEvent
from judging.core.questions import Outcome
from judging.models import Preference
from judging.services.foreground import run_to_end
from judging.services.preference_edits import (
    MOST_ADDED,
    add_preference,
    edit_preference,
    may_edit,
    switch_preference,
)
from tests.factory import make_preference, make_user
from tests.judging.study import LONGER, FakeJudge, make_study, opener_of, start_distillation
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager():
    return make_user(role="MANAGER")


@pytest.fixture
def run():
    return distilled()


def distilled(judge=None, **study):
    dataset, rater = make_study(**study)
    started = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    return run_to_end(started.pk, opener=opener_of(judge or FakeJudge()))


def own(run, **fields):
    rows = Preference.objects.filter(run=run, control="NONE", **fields)
    return rows.order_by("position", "version").first()


def test_an_edit_is_the_next_version_and_keeps_what_it_was_distilled_from(run, manager):
    before = own(run, kind="PAIR")
    after = edit_preference(before, text=" Prefers lists. ", editor=manager)
    before.refresh_from_db()
    assert (before.text, before.version, before.active) == (LONGER, 1, True)
    assert (after.text, after.version, after.kind) == ("Prefers lists.", 2, "EDITED")
    assert (after.previous, after.root, after.edited_by) == (before, before, manager)
    assert after.source_comparison == before.source_comparison
    assert after.source_verdict == before.source_verdict
    assert (after.position, after.scenario, after.annotator) == (
        before.position,
        before.scenario,
        before.annotator,
    )
    third = edit_preference(after, text="Prefers tables.", editor=manager)
    assert (third.version, third.previous, third.root) == (3, after, before)
    assert third.origin == "PAIR"


def test_the_same_text_is_added_once(run, manager):
    scenario = own(run, kind="PAIR").scenario_id

    def add():
        return add_preference(run, scenario_id=scenario, text=" Prefers lists. ", editor=manager)

    added = add()
    assert add() == added
    assert AuditEvent.objects.count() == 1
    switch_preference(added, active=False, editor=manager)
    assert add() != added


def test_every_edit_leaves_a_trace(run, manager):
    after = edit_preference(own(run, kind="PAIR"), text="Prefers lists.", editor=manager)
    off = switch_preference(after, active=False, editor=manager)
    on = switch_preference(off, active=True, editor=manager)
    added = add_preference(
        run, scenario_id=after.scenario_id, text="Prefers tables.", editor=manager
    )
    assert (off.text, off.active, on.text, on.active) == (
        "Prefers lists.",
        False,
        "Prefers lists.",
        True,
    )
    events = AuditEvent.objects.filter(target="preference").order_by("pk")
    assert [(event.action, event.target_id, event.actor) for event in events] == [
        ("preference.edited", after.pk, manager),
        ("preference.switched-off", off.pk, manager),
        ("preference.switched-on", on.pk, manager),
        ("preference.added", added.pk, manager),
    ]
    assert events[0].detail["before"] == LONGER
    assert events[0].detail["after"] == "Prefers lists."
    assert events[1].detail["active"] is False


def test_what_changes_nothing_is_no_version(run, manager):
    row = own(run, kind="PAIR")
    with refuses("preference:unchanged"):
        edit_preference(row, text=f" {LONGER}\n", editor=manager)
    with refuses("preference:unchanged"):
        switch_preference(row, active=True, editor=manager)
    with pytest.raises(Refused):
        edit_preference(row, text="  ", editor=manager)
    assert not AuditEvent.objects.exists()


def test_of_two_who_edit_one_version_the_second_is_told(run, manager):
    row = own(run, kind="PAIR")
    edit_preference(row, text="Prefers lists.", editor=manager)
    with refuses("preference:not-editable"):
        edit_preference(row, text="Prefers tables.", editor=manager)
    assert Preference.objects.filter(previous=row).count() == 1
    assert AuditEvent.objects.count() == 1


def test_the_annotator_and_managers_edit_and_nobody_else(run, manager):
    rater, other = run.annotator, make_user()
    row = own(run, kind="PAIR")
    with pytest.raises(PermissionError):
        edit_preference(row, text="Prefers lists.", editor=other)
    with pytest.raises(PermissionError):
        switch_preference(row, active=False, editor=rater)  # imported raters cannot sign in
    with pytest.raises(PermissionError):
        add_preference(run, scenario_id=row.scenario_id, text="Prefers lists.", editor=other)
    rater.is_active = True
    rater.save()
    assert edit_preference(row, text="Prefers lists.", editor=rater).edited_by == rater
    assert may_edit(None, manager)
    assert not may_edit(None, other)


def test_what_was_never_distilled_can_be_written_but_not_switched(manager):
    silent = FakeJudge(
        distilled=lambda pairs: Outcome(None, "preference:empty") if len(pairs) > 1 else None
    )
    row = own(distilled(silent), kind="AGGREGATE")
    assert row.status == "FAILED"
    with refuses("preference:not-editable"):
        switch_preference(row, active=False, editor=manager)
    written = edit_preference(row, text="Prefers lists.", editor=manager)
    assert (written.status, written.origin) == ("DONE", "AGGREGATE")


def test_the_control_and_what_is_under_way_are_nobodys_to_edit(run, manager):
    control = Preference.objects.filter(run=run, control="SHUFFLED").first()
    with refuses("preference:not-editable"):
        edit_preference(control, text="Prefers lists.", editor=manager)
    with refuses("preference:not-editable"):
        edit_preference(make_preference(), text="Prefers lists.", editor=manager)
    row = own(run, kind="PAIR")
    run.status = "RUNNING"
    run.save()
    row.refresh_from_db()
    with refuses("preference:not-editable"):
        edit_preference(row, text="Prefers lists.", editor=manager)
    with refuses("preference:not-editable"):
        add_preference(run, scenario_id=row.scenario_id, text="Prefers lists.", editor=manager)


def test_added_texts_stand_behind_the_learned_ones_up_to_a_number(run, manager):
    scenario = own(run, kind="PAIR").scenario_id
    aggregate = own(run, kind="AGGREGATE")
    added = [
        add_preference(run, scenario_id=scenario, text=f"Prefers list {number}.", editor=manager)
        for number in range(MOST_ADDED)
    ]
    assert [row.position for row in added] == [
        aggregate.position + 1 + number for number in range(MOST_ADDED)
    ]
    assert {(row.source_comparison, row.root, row.version, row.origin) for row in added} == {
        (None, None, 1, "EDITED")
    }
    with refuses("preference:too-many"):
        add_preference(run, scenario_id=scenario, text="Prefers one more.", editor=manager)
    with refuses("preference:not-editable"):
        add_preference(run, scenario_id=0, text="Prefers lists.", editor=manager)


def test_the_database_keeps_versions_in_line(run, manager):
    row = own(run, kind="PAIR")
    broken = [
        {"version": 2, "kind": "EDITED"},
        {"version": 1, "kind": "EDITED", "previous": row, "root": row},
        {"version": 2, "kind": "GENERIC", "previous": row, "root": row},
        {"version": 1, "kind": "GENERIC", "active": False},
    ]
    for fields in broken:
        with pytest.raises(IntegrityError), transaction.atomic():
            make_preference(run=run, scenario=row.scenario, **fields)
