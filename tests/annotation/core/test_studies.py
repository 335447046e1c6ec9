from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from annotation.core.choices import StudyKind
from annotation.core.hidden_items import Rates
from annotation.core.quality import BrokenRule, QualityMeasure
from annotation.core.studies import (
    AnnotatorRow,
    HeldPhase,
    PlannedCounts,
    StudyLive,
    StudyRow,
    StudySort,
    held_phase,
    sorted_studies,
)
from annotation.core.study_progress import AnnotatorStatus, Facts, TimeLeft

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def row(**changes):
    fields = {
        "slug": "s",
        "name": "S",
        "kind": StudyKind.PAIRWISE,
        "status": "OPEN",
        "dataset": "D",
        "simulated": False,
        "annotators": 4,
        "items": 10,
        "overlap": 3,
        "done": 7,
        "created": NOW,
    }
    return StudyRow(**{**fields, **changes})


def person(standing=AnnotatorStatus.AWAY, *, done=0, running=0, member=True, paused=False, left=1):
    facts = Facts(
        member=member,
        paused=paused,
        joined=NOW,
        done=done,
        skipped=0,
        left=left,
        running=running,
        lapsed=0,
        reserved=0,
        since=None,
        last_answer=None,
        last_hour=0,
        seconds=None,
    )
    return AnnotatorRow(1, "li", "Li", facts, standing, None, "", 300.0)


def live(*annotators, **changes):
    return StudyLive(
        row=row(**changes),
        annotators=annotators,
        held=(),
        held_count=0,
        last_hour=0,
        seconds=None,
        estimate=TimeLeft(0.0),
    )


def test_a_study_wants_its_overlap_of_answers_for_each_item():
    assert row().wanted == 30
    assert row(done=15).share == 0.5
    assert row(items=0, done=0).share == 0.0


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (StudySort.NEWEST, ["b", "study 10", "study 2"]),
        (StudySort.NAME, ["b", "study 2", "study 10"]),
        (StudySort.PROGRESS, ["study 10", "b", "study 2"]),
        (StudySort.ANNOTATORS, ["study 2", "b", "study 10"]),
    ],
)
def test_studies_stand_in_an_order(sort, order):
    rows = [
        row(name="study 2", created=NOW - timedelta(days=2), annotators=9, done=1),
        row(name="study 10", created=NOW - timedelta(days=1), annotators=1, done=9),
        row(name="b", created=NOW, annotators=1, done=1),
    ]
    assert [each.name for each in sorted_studies(rows, sort)] == order


@pytest.mark.parametrize(
    ("minutes", "phase"),
    [
        (-1, HeldPhase.LAPSED),
        (0, HeldPhase.LAPSED),
        (1, HeldPhase.RUNNING),
        (15, HeldPhase.RUNNING),
        (16, HeldPhase.RESERVED),
    ],
)
def test_a_lease_longer_than_any_page_makes_was_made_by_a_manager(minutes, phase):
    until = NOW + timedelta(minutes=minutes)
    assert held_phase(until=until, now=NOW, lease_minutes=15) is phase


def test_a_study_is_summed_over_its_annotators():
    found = live(
        person(AnnotatorStatus.SLOW, done=5, running=1),
        person(done=4),
        person(AnnotatorStatus.PAUSED, paused=True),
        person(AnnotatorStatus.GONE, member=False),
    )
    assert (found.missing, found.repeats) == (23, 2)  # 30 wanted; 9 answered, 7 of them wanted
    assert (found.active, found.able) == (1, 2)
    assert [each.standing for each in found.stuck] == [AnnotatorStatus.SLOW, AnnotatorStatus.PAUSED]
    assert found.out_of_reach  # three are wanted for each item
    assert [each.standing for each in found.paused] == [AnnotatorStatus.PAUSED]


def test_whoever_breaks_a_rule_needs_attention():
    broken = (BrokenRule(QualityMeasure.FAST, 28, 30, 0.25),)
    found = live(replace(person(AnnotatorStatus.FINISHED), broken=broken), person())
    assert [each.standing for each in found.stuck] == [AnnotatorStatus.FINISHED]


def test_closing_releases_codes_to_those_with_enough_answers():
    found = replace(
        live(
            replace(person(done=5, left=0), paid=True),
            replace(person(done=4), paid=True),
            replace(person(done=9, paused=True), paid=True),
            person(done=9),
            replace(person(done=9, member=False), paid=True),
        ),
        completion_answers=5,
    )
    assert (len(found.members), found.unfinished, found.is_paid, found.codes) == (4, 3, True, 1)
    assert (live(person()).is_paid, live(person()).codes) == (False, 0)


def test_a_study_is_used_up_once_nobody_who_works_has_anything_left():
    idle = person(left=0)
    assert live(idle, person(AnnotatorStatus.PAUSED, paused=True)).used_up
    assert not live(idle, person(left=1)).used_up
    assert not live(idle, done=30).used_up
    assert not live(person(member=False)).used_up


def test_what_is_finished_is_not_out_of_reach():
    assert live(done=31).missing == 0
    assert not live(done=30).out_of_reach
    assert not live(person(), person(), person()).out_of_reach


@pytest.mark.parametrize(
    ("annotators", "overlap", "each", "too_few"),
    [
        (0, 1, None, True),
        (1, 2, 10, True),  # nobody answers an item twice
        (4, 2, 5, False),
        (3, 1, 10 / 3, False),
    ],
)
def test_the_size_of_a_plan(annotators, overlap, each, too_few):
    counts = PlannedCounts(
        targets=10,
        available=10,
        left_out=0,
        gold_known=0,
        gold=0,
        repeats=2,
        annotators=annotators,
        overlap=overlap,
        rates=Rates(gold=0.25, repeats=0.2),
        gap=4,
    )
    assert counts.wanted == 10 * overlap
    assert (counts.gold_wanted, counts.repeats_wanted, counts.repeats_after) == (3, 2, 8)
    assert (counts.each, counts.too_few) == (each, too_few)
