import pytest

from annotation.models import AnnotatorProfile
from judging.queries.satisfaction.blocks import stored_blocks
from tests.factory import (
    make_dataset,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    return make_dataset(slug="rec")


@pytest.fixture
def user():
    return make_user()


def rate_session(user, scenario, scores, **fields):
    """A session with one original response a turn, each rated by the user (None: not)."""
    session = make_session(scenario, **fields)
    responses = []
    for at, score in enumerate(scores):
        turn = make_turn(session, user_message=f"{session.key} ask {at}")
        response = make_response(turn, text=f"{session.key} answer {at}", original=True)
        if score is not None:
            make_rating(
                response, annotator=user, score=score, reason="UNUSABLE" if score < 4 else None
            )
        responses.append(response)
    return responses


def test_blocks_come_with_the_ids_of_their_rows(dataset, user):
    travel = make_scenario(dataset, name="travel", position=1)
    gifts = make_scenario(dataset, name="gifts", position=0)
    (first, second) = rate_session(user, travel, [5, 2], language="zh", task_context="a week")
    (gift,) = rate_session(user, gifts, [4])
    gifts_block, travel_block = stored_blocks(dataset_id=dataset.pk)
    assert (travel_block.user_id, travel_block.scenario_id) == (user.pk, travel.pk)
    assert (travel_block.language, travel_block.block.scenario) == ("zh", "travel")
    assert [target.turn_id for target in travel_block.block.targets] == [
        str(first.pk),
        str(second.pk),
    ]
    assert travel_block.block.targets[1].task_context == "a week"
    assert [message.text for message in travel_block.block.targets[1].dialogue] == [
        first.turn.user_message,
        first.text,
        second.turn.user_message,
    ]
    assert [turn.turn_id for turn in travel_block.block.history] == [str(gift.pk)]
    assert gifts_block.scenario_id == gifts.pk
    assert [turn.reason for turn in gifts_block.block.history] == [None, "UNUSABLE"]


def test_a_dataset_of_many_users_costs_five_queries(dataset, django_assert_num_queries):
    scenarios = [make_scenario(dataset) for _ in range(3)]
    for _ in range(4):
        user = make_user()
        for scenario in scenarios:
            rate_session(user, scenario, [4, 3])
    with django_assert_num_queries(5):
        assert len(stored_blocks(dataset_id=dataset.pk)) == 12


def test_one_block_or_some_users_alone(dataset, user):
    other = make_user()
    travel, gifts = make_scenario(dataset), make_scenario(dataset)
    for who in (user, other):
        rate_session(who, travel, [4])
        rate_session(who, gifts, [3])
    assert {item.user_id for item in stored_blocks(dataset_id=dataset.pk, user_ids=[other.pk])} == {
        other.pk
    }
    (block,) = stored_blocks(dataset_id=dataset.pk, target=(user.pk, gifts.pk))
    assert (block.user_id, block.scenario_id) == (user.pk, gifts.pk)
    assert [turn.score for turn in block.block.history] == [4]


def test_repeats_other_datasets_and_missing_texts_do_not_count(dataset, user):
    scenario = make_scenario(dataset)
    (response,) = rate_session(user, scenario, [4])
    make_rating(response, annotator=user, score=1, reason="OTHER", repeat_index=1)
    make_rating(
        make_response(make_turn(response.turn.session), text=None, original=True), annotator=user
    )
    rate_session(user, make_scenario(), [5])
    (block,) = stored_blocks(dataset_id=dataset.pk)
    assert [target.turn_id for target in block.block.targets] == [str(response.pk)]
    assert block.block.history == ()


def test_the_first_answer_of_several_studies_counts(dataset, user):
    travel, gifts = make_scenario(dataset), make_scenario(dataset)
    (response,) = rate_session(user, travel, [4])
    make_rating(response, annotator=user, score=1, reason="OTHER", study=make_study(dataset))
    rate_session(user, gifts, [5])
    block = stored_blocks(dataset_id=dataset.pk, target=(user.pk, gifts.pk))[0].block
    assert [turn.score for turn in block.history] == [4]


def test_candidate_responses_share_the_original_context(dataset, user):
    session = make_session(make_scenario(dataset))
    first, second = make_turn(session), make_turn(session)
    make_response(first, text="original", original=True)
    candidate = make_response(second, text="candidate")
    make_rating(candidate, annotator=user)
    (block,) = stored_blocks(dataset_id=dataset.pk)
    (target,) = block.block.targets
    assert target.response == "candidate"
    assert [message.text for message in target.dialogue] == [
        first.user_message,
        "original",
        second.user_message,
    ]


def test_a_profile_is_the_raters_own(dataset, user):
    scenario = make_scenario(dataset)
    snapshot = {"occupation": "nurse", "complete_tid": {}}
    rate_session(user, scenario, [4], original_user=user, profile_snapshot=snapshot)
    other = make_user()
    AnnotatorProfile.objects.create(user=other, occupation="baker")
    (response,) = rate_session(user, scenario, [3], original_user=user, profile_snapshot=snapshot)
    make_rating(response, annotator=other)
    own, others = (item.block.targets[0].profile for item in stored_blocks(dataset_id=dataset.pk))
    assert own == {"occupation": "nurse"}
    assert others == {"occupation": "baker"}


def test_a_language_that_nobody_stated_is_read_from_the_request(dataset, user):
    turn = make_turn(make_session(make_scenario(dataset)), user_message="推荐一道菜")
    make_rating(make_response(turn, original=True), annotator=user)
    (block,) = stored_blocks(dataset_id=dataset.pk)
    assert block.language == "zh"


def test_nothing_rated_no_blocks(dataset, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert stored_blocks(dataset_id=dataset.pk) == ()
