"""What is withheld from an annotator, and what of it comes back as studies go on."""

from __future__ import annotations

import pytest

from annotation.models import PairwiseLabel, SatisfactionLabel
from annotation.queries.withheld import (
    is_anything_withheld,
    own_labels,
    withheld_comparisons,
    withheld_responses,
    withheld_sessions,
)
from tests.factory import (
    make_claim,
    make_comparison,
    make_item,
    make_label,
    make_rating,
    make_response,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator():
    return make_user()


@pytest.mark.parametrize("state", [None, "ACTIVE", "SKIPPED", "RELEASED"])
@pytest.mark.parametrize("status", ["DRAFT", "OPEN", "PAUSED"])
def test_a_pair_that_is_left_to_answer_is_withheld_until_it_is_answered(annotator, status, state):
    item = make_item(make_study(annotators=[annotator], status=status))
    claim = None
    if state:
        slot = 0 if state == "ACTIVE" else None
        claim = make_claim(item, annotator, state=state, slot=slot)
    assert set(withheld_comparisons(annotator.pk)) == {item.comparison}
    assert is_anything_withheld(annotator.pk)
    if claim:
        type(claim).objects.update(state="DONE", slot=0)
        assert not withheld_comparisons(annotator.pk).exists()
        assert not is_anything_withheld(annotator.pk)


def test_of_a_study_with_repeats_every_pair_is_withheld_until_it_is_closed(annotator):
    study = make_study(annotators=[annotator], repeat_rate=0.1)
    make_claim(make_item(study), annotator, state="DONE")
    assert withheld_comparisons(annotator.pk).count() == 1
    type(study).objects.update(status="CLOSED")
    assert not withheld_comparisons(annotator.pk).exists()


def test_who_was_taken_out_of_a_study_with_repeats_does_not_read_their_answers(annotator):
    study = make_study(repeat_rate=0.1)
    comparison, turn = make_comparison(), make_turn()
    make_label(comparison, annotator=annotator, study=study)
    response, session = make_response(turn), make_session()
    make_rating(response, annotator=annotator, study=study)
    make_rating(session=session, annotator=annotator, study=study)
    assert set(withheld_comparisons(annotator.pk)) == {comparison}
    assert set(withheld_responses(annotator.pk)) == {response}
    assert set(withheld_sessions(annotator.pk)) == {session}
    for labels in (PairwiseLabel.objects.all(), SatisfactionLabel.objects.all()):
        assert not own_labels(labels, annotator.pk).exists()


def test_of_a_session_that_is_left_to_rate_every_response_is_withheld(annotator):
    turn = make_turn()
    responses = {make_response(turn), make_response(make_turn(turn.session))}
    study = make_study(turn.session.dataset, kind="SATISFACTION", annotators=[annotator])
    make_item(study, session=turn.session)
    assert set(withheld_responses(annotator.pk)) == responses
    assert set(withheld_sessions(annotator.pk)) == {turn.session}


def test_studies_of_others_and_readers_who_see_everyone_lose_nothing(
    annotator, django_assert_num_queries
):
    make_item(make_study(annotators=[make_user()], repeat_rate=0.1))
    assert not withheld_comparisons(annotator.pk).exists()
    with django_assert_num_queries(0):
        assert not withheld_comparisons(None)
        assert not withheld_responses(None)
        assert not withheld_sessions(None)
        assert not is_anything_withheld(None)
