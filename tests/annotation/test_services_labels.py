from __future__ import annotations

import tomllib
from datetime import timedelta
from uuid import uuid4

import pytest

from annotation.core.assignment import SkipReason
from annotation.core.choices import Hallucination, Reason
from annotation.core.labelling import Answer, Effort, Flag, InputDevice, Rating
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    PairwiseLabel,
    SatisfactionLabel,
    Study,
    StudyStatus,
)
from annotation.services.claims import RefusalCode, next_task, own_task, skip
from annotation.services.labels import rate_session
from tests.annotation.labelling import (
    NOW,
    answer,
    give_repeat,
    make_pair_study,
    make_session_study,
)
from tests.factory import make_label, make_user
from tests.paths import ROOT
from tests.refusals import refusal

pytestmark = pytest.mark.django_db

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
BAD = Rating(2, Reason.INSUFFICIENT_DETAIL)
GOOD = Rating(5)


def take(study, annotator, now=NOW):
    return next_task(study=study.slug, annotator=annotator, now=now)


def rate(study, task, annotator, ratings, submission=None, efforts=None):
    rate_session(
        study=study.slug,
        item=task.place.item,
        annotator=annotator,
        ratings=dict(enumerate(ratings, start=1)),
        submission=submission or uuid4(),
        now=NOW,
        efforts=efforts,
    )


def test_a_verdict_is_stored_in_the_comparison_s_own_coordinates():
    annotator = make_user()
    study = make_pair_study([annotator], items=24)
    for _item in range(24):
        task = take(study, annotator)
        answer(study, task, annotator, Answer.FIRST)
        label = PairwiseLabel.objects.get(comparison__study_items=task.place.item)
        winner = (
            label.comparison.response_a if label.verdict == "A" else label.comparison.response_b
        )
        assert winner.text == task.first.text
        assert label.shown_order == Claim.objects.get(item=task.place.item).shown_order
    # The order of an unseen pair of models is a fair coin: one side alone happens once in 2^23.
    assert set(PairwiseLabel.objects.values_list("shown_order", flat=True)) == {
        "ORIGINAL",
        "SWAPPED",
    }


def test_a_label_records_who_when_and_under_which_guidelines():
    annotator = make_user()
    study = make_pair_study([annotator], guidelines_version=3)
    submission = uuid4()
    answer(study, take(study, annotator), annotator, submission=submission)
    label = PairwiseLabel.objects.get()
    assert (label.annotator, label.study) == (annotator, study)
    assert (label.created_at, label.submission_id) == (NOW, submission)
    assert (label.guidelines_version, label.edits, label.repeat_index) == (3, 0, 0)


def test_a_label_records_how_it_was_given_and_a_change_adds_to_it():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator, effort=Effort(4.5, 1.0, InputDevice.KEYBOARD))
    label = PairwiseLabel.objects.get()
    assert (label.active_seconds, label.idle_seconds) == (4.5, 1.0)
    assert (label.input_device, label.app_version) == ("KEYBOARD", VERSION)
    answer(study, task, annotator, Answer.SECOND, effort=Effort(2.0, 0.0, InputDevice.TOUCH))
    label.refresh_from_db()
    assert (label.active_seconds, label.idle_seconds, label.edits) == (6.5, 1.0, 1)
    assert label.input_device == "TOUCH"
    answer(study, task, annotator, Answer.FIRST)  # not measured: nothing is added
    label.refresh_from_db()
    assert (label.active_seconds, label.input_device, label.edits) == (6.5, "TOUCH", 2)


def test_what_was_not_measured_is_unknown_rather_than_zero():
    annotator = make_user()
    study = make_pair_study([annotator])
    answer(study, take(study, annotator), annotator)
    label = PairwiseLabel.objects.get()
    assert (label.active_seconds, label.idle_seconds, label.input_device) == (None, None, "")


def test_every_turn_records_its_own_effort():
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    task = take(study, annotator)
    efforts = {1: Effort(3.0, 0.5, InputDevice.KEYBOARD), 2: Effort(8.0, 0.0, InputDevice.POINTER)}
    rate(study, task, annotator, [GOOD, BAD], efforts=efforts)
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.active_seconds, label.input_device) for label in labels] == [
        (3.0, "KEYBOARD"),
        (8.0, "POINTER"),
    ]
    assert {label.app_version for label in labels} == {VERSION}
    rate(study, task, annotator, [GOOD, GOOD], efforts=efforts)  # the first turn did not change
    assert [label.active_seconds for label in labels.all()] == [3.0, 16.0]


def test_a_comment_and_a_flag_are_stored_changed_and_shown_again():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator, comment="Both miss the point.", flag=Flag.UNCLEAR)
    label = PairwiseLabel.objects.get()
    assert (label.comment, label.extra) == ("Both miss the point.", {"flag": "UNCLEAR"})
    again = own_task(study=study.slug, item=task.place.item, annotator=annotator, now=NOW)
    assert (again.given.comment, again.given.flag) == ("Both miss the point.", Flag.UNCLEAR)
    answer(study, task, annotator)
    label.refresh_from_db()
    assert (label.comment, label.extra, label.edits) == ("", {}, 1)
    changed = AuditEvent.objects.get(action="label.changed").detail
    assert changed["before"]["extra"] == {"flag": "UNCLEAR"}


def test_sending_one_submission_five_times_leaves_one_label_and_one_trace():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    submission = uuid4()
    for _time in range(5):
        answer(study, task, annotator, submission=submission)
    assert PairwiseLabel.objects.count() == 1
    event = AuditEvent.objects.get()
    assert (event.action, event.actor, event.target) == ("label.given", annotator, "claim")


def test_an_answer_replaces_a_label_that_was_there_before_the_item_was_given_out():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    label = make_label(
        study.items.get().comparison, annotator=annotator, study=study, comment="imported"
    )
    answer(study, task, annotator, comment="mine")
    label.refresh_from_db()
    assert (label.comment, label.edits) == ("mine", 1)
    assert AuditEvent.objects.get().detail["before"]["comment"] == "imported"


def test_a_change_of_mind_replaces_the_label_and_leaves_a_trace():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator, Answer.FIRST)
    first = PairwiseLabel.objects.get().verdict
    answer(study, task, annotator, Answer.SECOND)
    label = PairwiseLabel.objects.get()
    assert {first, label.verdict} == {"A", "B"}
    assert label.edits == 1
    changed = AuditEvent.objects.get(action="label.changed")
    assert changed.detail["before"]["verdict"] == first
    assert changed.detail["after"]["verdict"] == label.verdict


def test_an_old_submission_sent_again_does_not_undo_a_change_of_mind():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    submission = uuid4()
    answer(study, task, annotator, Answer.FIRST, submission=submission)
    answer(study, task, annotator, Answer.SECOND)
    verdict = PairwiseLabel.objects.get().verdict
    answer(study, task, annotator, Answer.FIRST, submission=submission)
    assert PairwiseLabel.objects.get().verdict == verdict


def test_the_same_answer_again_is_no_edit():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    answer(study, task, annotator)
    answer(study, task, annotator)
    assert PairwiseLabel.objects.get().edits == 0
    assert AuditEvent.objects.count() == 1


def test_a_skipped_item_may_still_be_answered():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    skip(
        study=study.slug,
        item=task.place.item,
        annotator=annotator,
        reason=SkipReason.OTHER,
        submission=uuid4(),
        now=NOW,
    )
    shown = own_task(study=study.slug, item=task.place.item, annotator=annotator, now=NOW)
    assert shown.place.skipped is SkipReason.OTHER
    answer(study, task, annotator)
    claim = Claim.objects.get()
    assert (claim.state, claim.slot, claim.skip_reason) == (ClaimState.DONE, 0, "")


def test_an_answer_after_the_lease_ran_out_counts_while_nobody_took_the_item():
    annotator = make_user()
    study = make_pair_study([annotator])
    answer(study, take(study, annotator), annotator, now=NOW + timedelta(hours=3))
    assert PairwiseLabel.objects.count() == 1


def test_an_answer_to_an_item_that_others_took_is_refused():
    slow, quick = make_user(), make_user()
    study = make_pair_study([slow, quick])
    later = NOW + timedelta(minutes=30)
    lost = take(study, slow)
    answer(study, take(study, quick, later), quick, now=later)
    assert refusal(answer, study, lost, slow, now=later) is RefusalCode.TAKEN
    assert PairwiseLabel.objects.get().annotator == quick


@pytest.mark.parametrize(
    ("rules", "given", "allowed"),
    [
        ({}, {"choice": Answer.TIE}, False),
        ({"allow_tie": True}, {"choice": Answer.TIE}, True),
        ({"allow_tie": True, "allow_strength": True}, {"choice": Answer.TIE}, True),
        ({"allow_tie": True, "allow_strength": True}, {"choice": Answer.TIE, "strength": 1}, False),
        ({}, {"strength": 2}, False),
        ({"allow_strength": True}, {"strength": 2}, True),
        ({"allow_strength": True}, {"strength": 3}, False),
        ({"allow_strength": True}, {}, False),
        ({}, {"both_bad": True}, False),
        ({"allow_both_bad": True}, {"both_bad": True}, True),
    ],
)
def test_an_answer_must_be_one_that_the_study_allows(rules, given, allowed):
    annotator = make_user()
    study = make_pair_study([annotator], **rules)
    task = take(study, annotator)
    if allowed:
        answer(study, task, annotator, **given)
    else:
        assert refusal(answer, study, task, annotator, **given) is RefusalCode.NOT_ALLOWED
    assert PairwiseLabel.objects.count() == allowed


def test_a_study_that_was_closed_takes_no_answer():
    annotator = make_user()
    study = make_pair_study([annotator])
    task = take(study, annotator)
    Study.objects.update(status=StudyStatus.CLOSED)
    assert refusal(answer, study, task, annotator) is RefusalCode.CLOSED
    assert not PairwiseLabel.objects.exists()


def test_nobody_answers_for_somebody_else():
    one, other = make_user(), make_user()
    study = make_pair_study([one, other])
    task = take(study, one)
    assert refusal(answer, study, task, other) is RefusalCode.NOT_YOURS


def test_a_hidden_repeat_is_a_label_of_its_own():
    annotator = make_user()
    study = make_pair_study([annotator])
    item = study.items.get()
    for time in range(3):
        if time:
            give_repeat(item, annotator)
        answer(study, take(study, annotator), annotator, Answer.FIRST)
    rows = PairwiseLabel.objects.order_by("repeat_index").values_list("repeat_index", "verdict")
    indexes, verdicts = zip(*rows, strict=True)
    assert indexes == (0, 1, 2)
    # First in one order and first in the other are opposite verdicts.
    assert verdicts[0] != verdicts[1] == verdicts[2]


def test_a_session_is_rated_as_a_whole():
    annotator = make_user()
    study = make_session_study([annotator])
    rate(study, take(study, annotator), annotator, [GOOD, BAD, Rating(4)])
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.score, label.reason) for label in labels] == [
        (5, None),
        (2, "INSUFFICIENT_DETAIL"),
        (4, None),
    ]
    assert {label.annotator for label in labels} == {annotator}
    assert Claim.objects.get().state == ClaimState.DONE


@pytest.mark.parametrize(
    "ratings",
    [
        [GOOD, GOOD],
        [GOOD, GOOD, GOOD, GOOD],
        [GOOD, GOOD, Rating(3)],
        [GOOD, GOOD, Rating(4, Reason.OTHER)],
        [GOOD, GOOD, Rating(0, Reason.OTHER)],
        [GOOD, GOOD, Rating(6)],
        [GOOD, GOOD, Rating(2, Reason.NOT_RECORDED)],
        [GOOD, GOOD, Rating(5, None, Hallucination.NO)],
    ],
)
def test_ratings_that_break_a_rule_store_nothing(ratings):
    annotator = make_user()
    study = make_session_study([annotator])
    task = take(study, annotator)
    assert refusal(rate, study, task, annotator, ratings) is RefusalCode.NOT_ALLOWED
    assert not SatisfactionLabel.objects.exists()
    assert Claim.objects.get().state == ClaimState.ACTIVE


def test_hallucination_is_required_where_the_study_asks():
    annotator = make_user()
    study = make_session_study([annotator], turns=1, ask_hallucination=True)
    task = take(study, annotator)
    assert refusal(rate, study, task, annotator, [GOOD]) is RefusalCode.NOT_ALLOWED
    rate(study, task, annotator, [Rating(5, None, Hallucination.UNSURE)])
    assert SatisfactionLabel.objects.get().hallucination == "UNSURE"


def test_sending_ratings_again_changes_nothing():
    annotator = make_user()
    study = make_session_study([annotator])
    task = take(study, annotator)
    submission = uuid4()
    for _time in range(5):
        rate(study, task, annotator, [GOOD, BAD, GOOD], submission)
    assert SatisfactionLabel.objects.count() == 3
    assert AuditEvent.objects.get().action == "ratings.given"


def test_only_the_ratings_that_changed_count_as_edited():
    annotator = make_user()
    study = make_session_study([annotator])
    task = take(study, annotator)
    rate(study, task, annotator, [GOOD, BAD, GOOD])
    rate(study, task, annotator, [GOOD, GOOD, GOOD])
    rate(study, task, annotator, [GOOD, GOOD, GOOD])
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.score, label.reason, label.edits) for label in labels] == [
        (5, None, 0),
        (5, None, 1),
        (5, None, 0),
    ]
    actions = AuditEvent.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["ratings.given", "ratings.changed"]
    shown = own_task(study=study.slug, item=task.place.item, annotator=annotator, now=NOW)
    assert [turn.given for turn in shown.turns] == [GOOD, GOOD, GOOD]


def test_each_kind_of_item_takes_its_own_kind_of_answer():
    annotator = make_user()
    pairs, session = make_pair_study([annotator]), make_session_study([annotator])
    pair_task, session_task = take(pairs, annotator), take(session, annotator)
    assert refusal(rate, pairs, pair_task, annotator, [GOOD]) is RefusalCode.NOT_ALLOWED
    assert refusal(answer, session, session_task, annotator) is RefusalCode.NOT_ALLOWED


def test_an_answer_costs_a_fixed_number_of_queries(django_assert_num_queries):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    task = take(study, annotator)
    with django_assert_num_queries(10):
        answer(study, task, annotator)
