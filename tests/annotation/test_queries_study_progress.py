from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from annotation.core.study_progress import AnnotatorStatus, NoEstimate
from annotation.models import Claim, Participation, Study
from annotation.queries.assignment import progress_of
from annotation.queries.studies import study_page
from annotation.queries.study_progress import study_live
from tests.annotation.labelling import NOW, make_pair_study, make_session_study
from tests.factory import make_claim, make_label, make_rating, make_user

pytestmark = pytest.mark.django_db


def live(study, now=NOW):
    row, page = study_page(study.slug)
    return study_live(row, page.row, now)


def people(study, now=NOW):
    return {each.username: each for each in live(study, now).annotators}


def claim(item, annotator, *, minutes_ago=0, lease=15, **fields):
    since = NOW - timedelta(minutes=minutes_ago)
    ends = NOW + timedelta(minutes=lease)
    return make_claim(item, annotator, claimed_at=since, expires_at=ends, **fields)


def done(item, annotator, *, minutes_ago, slot=0):
    finished = NOW - timedelta(minutes=minutes_ago)
    return claim(item, annotator, state="DONE", slot=slot, finished_at=finished)


def items(study):
    return list(study.items.order_by("position"))


def test_what_is_left_is_what_the_annotators_own_page_says():
    random = Random(7)
    annotators = [make_user() for _each in range(4)]
    study = make_pair_study(annotators, items=30, overlap=2)
    for item in items(study):
        slots = iter(range(2))
        for annotator in random.sample(annotators, 4):
            state = random.choice(["DONE", "ACTIVE", "SKIPPED", "RELEASED", None])
            slot = next(slots, None) if state in {"DONE", "ACTIVE"} else None
            if state is None or (slot is None and state in {"DONE", "ACTIVE"}):
                continue
            lease = random.choice([10, -10])
            claim(item, annotator, state=state, slot=slot, lease=lease)
    found = people(study)
    for annotator in annotators:
        own = progress_of(study, annotator.pk, NOW)
        facts = found[annotator.username].facts
        assert (facts.done, facts.skipped, facts.left) == (own.done, own.skipped, own.left)


def test_of_repeats_those_count_whose_first_was_answered():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=2, overlap=1, repeat_rate=0.3)
    first, second = items(study)
    repeat = study.items.create(
        comparison=first.comparison, kind="REPEAT", repeat_of=first, position=2
    )
    done(first, one, minutes_ago=5)
    found = people(study)
    assert (found[one.username].facts.left, found[other.username].facts.left) == (2, 1)
    done(second, other, minutes_ago=3)
    done(repeat, one, minutes_ago=1)
    assert {each.facts.left for each in people(study).values()} == {0}


def test_everybody_has_a_standing():
    names = ["working", "slow", "lapsed", "paused", "silent", "away", "finished", "gone", "waiting"]
    users = {name: make_user(username=name) for name in names}
    study = make_pair_study(list(users.values()), items=9, overlap=9)
    first, second, *_rest = items(study)
    claim(first, users["working"], minutes_ago=4, slot=0)
    claim(first, users["slow"], minutes_ago=6, slot=1)
    claim(first, users["lapsed"], minutes_ago=40, lease=-1, slot=2)
    done(first, users["away"], minutes_ago=90, slot=3)
    done(first, users["gone"], minutes_ago=90, slot=4)
    for item in items(study):
        done(item, users["finished"], minutes_ago=30, slot=5)
    claim(second, users["waiting"], lease=24 * 60, slot=6)
    parts = Participation.objects.filter(study=study)
    parts.update(joined_at=NOW - timedelta(hours=3))
    parts.filter(annotator=users["gone"]).delete()
    parts.filter(annotator=users["paused"]).update(paused_at=NOW, pause_reason="GOLD")
    parts.filter(annotator=users["silent"]).update(joined_at=NOW - timedelta(days=2))
    found = live(study)
    standings = {each.username: each.standing for each in found.annotators}
    assert standings == {
        "working": AnnotatorStatus.WORKING,
        "slow": AnnotatorStatus.SLOW,
        "lapsed": AnnotatorStatus.LAPSED,
        "paused": AnnotatorStatus.PAUSED,
        "silent": AnnotatorStatus.SILENT,
        "away": AnnotatorStatus.AWAY,
        "finished": AnnotatorStatus.FINISHED,
        "gone": AnnotatorStatus.GONE,
        "waiting": AnnotatorStatus.AWAY,
    }
    assert {each.username for each in found.stuck} == {"slow", "lapsed", "paused", "silent"}
    assert [(row.name, row.phase) for row in found.held] == [
        ("lapsed", "LAPSED"),
        ("slow", "RUNNING"),
        ("working", "RUNNING"),
        ("waiting", "RESERVED"),
    ]
    assert (found.held_count, found.last_hour) == (4, 9)
    assert (found.active, found.able) == (3, 7)


def test_the_time_left_follows_from_the_median_and_who_is_active():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other], items=4)
    assert live(study).estimate.why_not is NoEstimate.NO_TIMES
    first, second, *_rest = items(study)
    for item, seconds in ((first, 10.0), (second, 30.0)):
        make_label(item.comparison, annotator=one, study=study, active_seconds=seconds)
    assert live(study).estimate.why_not is NoEstimate.NOBODY
    done(first, one, minutes_ago=10)
    done(second, one, minutes_ago=1)
    found = live(study)
    # Two answers are missing, 20 s each, by the one who answered within the hour.
    assert (found.seconds, found.estimate.seconds) == (20.0, 40.0)
    assert people(study)[one.username].facts.seconds == 20.0
    assert people(study)[other.username].facts.seconds is None


def test_a_conversation_takes_as_long_as_all_of_its_turns():
    annotator = make_user()
    study = make_session_study([annotator], turns=3)
    session = study.items.get().session
    for turn in session.turns.all():
        make_rating(turn.responses.get(), annotator=annotator, study=study, active_seconds=10.0)
    assert live(study).seconds == 30.0


def test_too_few_people_to_finish():
    study = make_pair_study([make_user()], items=1, overlap=2)
    assert live(study).out_of_reach
    Participation.objects.create(study=study, annotator=make_user())
    assert not live(study).out_of_reach


def test_an_empty_study_has_a_state():
    found = live(make_pair_study([], items=0))
    assert (found.annotators, found.held, found.missing) == ((), (), 0)
    assert found.estimate.seconds == 0.0


@pytest.mark.parametrize(("annotators", "count"), [(1, 2), (6, 20)])
def test_it_costs_the_same_whatever_the_size(annotators, count, django_assert_num_queries):
    users = [make_user() for _each in range(annotators)]
    study = make_pair_study(users, items=count, overlap=annotators, repeat_rate=0.1)
    for slot, user in enumerate(users):
        claim(items(study)[0], user, slot=slot)
    row, page = study_page(study.slug)
    # Who is in it, their claims, times, filled items, number of items, repeats, fast answers, items
    # held.
    with django_assert_num_queries(8):
        study_live(row, page.row, NOW)
    assert Claim.objects.count() == annotators
    assert Study.objects.count() == 1
