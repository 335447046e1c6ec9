from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from annotation.models import Comparison
from judging.queries.comparisons import (
    learnable_labels,
    split_items,
    texts_of,
    texts_of_responses,
    verdicts_of,
)
from tests.factory import (
    make_comparison,
    make_dataset,
    make_label,
    make_rater,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.judging.study import label_pair, make_pair
from tests.judging.study import make_study as make_pairs

pytestmark = pytest.mark.django_db


def test_items_come_by_scenario_in_file_order(django_assert_num_queries):
    dataset = make_dataset()
    second = make_scenario(dataset, position=2)
    first = make_scenario(dataset, position=1)
    later = make_turn(make_session(first, position=9))
    early = make_turn(make_session(first, position=3))
    ids = [
        make_comparison(turn, position=place).pk
        for turn, place in ((later, 0), (early, 5), (early, 1))
    ]
    other = make_comparison(make_turn(make_session(second)))
    make_comparison()  # of another dataset
    with django_assert_num_queries(1):
        items = split_items(dataset.pk)
    assert list(items) == [first.pk, second.pk]
    assert [item.comparison_id for item in items[first.pk]] == [ids[2], ids[1], ids[0]]
    assert items[second.pk][0].text_a == other.response_a.text_hash
    assert items[second.pk][0].turn_id == other.turn_id


def test_a_comparison_without_a_text_cannot_be_judged():
    turn = make_turn()
    known, unknown = make_response(turn), make_response(turn, text=None)
    comparison = make_comparison(turn, response_a=known, response_b=unknown)
    assert split_items(turn.session.dataset_id) == {}
    assert texts_of([comparison.pk]) == {}


def test_an_empty_response_is_a_response():
    turn = make_turn()
    comparison = make_comparison(turn, response_b=make_response(turn, text=""))
    assert texts_of([comparison.pk])[comparison.pk].text_b == ""


def test_the_last_label_counts_that_is_no_hidden_repeat():
    comparison, tied = make_comparison(), None
    dataset_id = comparison.turn.session.dataset_id
    annotator = make_user()
    make_label(comparison, annotator=annotator, verdict="B", repeat_index=1)
    make_label(comparison, annotator=annotator, verdict="A")
    tied = make_comparison(comparison.turn)
    make_label(tied, annotator=annotator, verdict="TIE", study=make_study())
    make_label(tied, annotator=annotator, verdict="B", study=make_study())
    make_label(comparison, verdict="B")  # somebody else's
    make_label(annotator=annotator)  # in another dataset
    assert verdicts_of(annotator.pk, dataset_id=dataset_id) == {
        comparison.pk: Verdict.A,
        tied.pk: Verdict.B,
    }


def test_the_conversation_is_the_original_line(django_assert_num_queries):
    session = make_session(system_prompt="Be brief.")
    first = make_turn(session, user_message="One?")
    make_response(first, text="Said.", original=True)
    make_response(first, text="Not said.")
    comparison = make_comparison(make_turn(session, user_message="Two?"))
    with django_assert_num_queries(3):
        found = texts_of([comparison.pk])[comparison.pk]
    assert found.dialogue == (
        Message(Speaker.SYSTEM, "Be brief."),
        Message(Speaker.USER, "One?"),
        Message(Speaker.ASSISTANT, "Said."),
        Message(Speaker.USER, "Two?"),
    )
    assert (found.text_a, found.text_b) == (comparison.response_a.text, comparison.response_b.text)


def test_first_turns_need_one_query(django_assert_num_queries):
    comparisons = [make_comparison().pk for _ in range(3)]
    with django_assert_num_queries(1):
        assert len(texts_of(comparisons)) == 3


def test_responses_that_continue_one_line_share_it():
    first = make_turn(user_message="One?")
    second = make_turn(first.session, user_message="Two?")
    before = make_response(first, text="Mine.")
    comparison = make_comparison(
        second,
        response_a=make_response(second, continues=before),
        response_b=make_response(second, continues=before),
    )
    found = texts_of([comparison.pk])[comparison.pk]
    assert [message.text for message in found.dialogue] == ["One?", "Mine.", "Two?"]


def test_responses_that_follow_their_own_lines_carry_them():
    first = make_turn(user_message="One?")
    second, third = (make_turn(first.session, user_message=text) for text in ("Two?", "Three?"))
    start_a, start_b = (make_response(first, text=text) for text in ("A1.", "B1."))
    middle_a = make_response(second, text="A2.", continues=start_a)
    middle_b = make_response(second, text="B2.", continues=start_b)
    comparison = make_comparison(
        third,
        response_a=make_response(third, text="A3.", continues=middle_a),
        response_b=make_response(third, text="B3.", continues=middle_b),
    )
    found = texts_of([comparison.pk])[comparison.pk]
    assert [message.text for message in found.dialogue] == ["One?"]
    assert found.text_a == "\n\n".join(
        [
            "[Assistant]\nA1.",
            "[User]\nTwo?",
            "[Assistant]\nA2.",
            "[User]\nThree?",
            "[Assistant]\nA3.",
        ]
    )
    assert "B2." in found.text_b


def test_a_circle_of_continuations_ends():
    first = make_turn()
    second = make_turn(first.session)
    one, two = make_response(first), make_response(second)
    one.continues, two.continues = two, one
    one.save()
    two.save()
    comparison = make_comparison(second, response_a=two, response_b=make_response(second))
    assert len(texts_of([comparison.pk])) == 1


def test_what_labels_leave_to_learn_from_counts_conversations_with_a_winner(
    django_assert_num_queries,
):
    dataset, ann = make_pairs(scenarios=2, comparisons=12)
    first = Comparison.objects.order_by("pk").first()
    beside = make_pair(first.turn.session.scenario, session=first.turn.session)
    label_pair(beside, ann)
    bea = make_rater(dataset, "bea")
    for comparison in Comparison.objects.order_by("pk")[:7]:
        label_pair(comparison, bea, "A")
    label_pair(Comparison.objects.order_by("pk").last(), bea, "TIE")
    with django_assert_num_queries(1):
        found = learnable_labels(dataset.pk)
    assert found == [(ann.pk, 24, 2, 12, False, 0, 16), (bea.pk, 7, 1, 3, False, 0, 13)]
    for comparison in Comparison.objects.order_by("pk")[12:14]:
        label_pair(comparison, bea, "A")
    # Scenarios of 7 and 2 would give 3 and 1 dev pairs: one set of 4. With 10 and 10 each has 5.
    assert learnable_labels(dataset.pk)[1] == (bea.pk, 9, 2, 4, True, 11, 31)


def test_responses_that_are_not_compared_yet_are_shown_as_they_will_be():
    session = make_session(system_prompt="Be brief.", language="en")
    first, second = make_turn(session), make_turn(session)
    made = []
    for model in "ab":
        before = make_response(first, model=model)
        made.append(make_response(second, model=model, continues=before))
    pair = (made[0].pk, made[1].pk)
    missing = make_response(second, text=None)
    shown = texts_of_responses([pair, (pair[0], missing.pk)])
    comparison = make_comparison(second, response_a=made[0], response_b=made[1])
    assert shown == {pair: texts_of([comparison.pk])[comparison.pk]}
