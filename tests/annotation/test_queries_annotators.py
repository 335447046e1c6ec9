from __future__ import annotations

import pytest

from annotation.core.refusals import Refused
from annotation.queries.participants import annotators, names_of, resolve_annotator
from tests.factory import (
    make_comparison,
    make_dataset,
    make_label,
    make_rater,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    return make_dataset(slug="data")


@pytest.fixture
def turn(dataset):
    return make_turn(make_session(make_scenario(dataset)))


def test_raters_go_by_their_own_name_and_people_by_their_user_name(dataset, turn):
    make_label(make_comparison(turn), annotator=make_rater(dataset, "zoe"))
    make_rating(make_response(turn), annotator=make_user(username="alice"))
    assert [(each.name, each.imported) for each in annotators(dataset=dataset)] == [
        ("alice", False),
        ("zoe", True),
    ]


def test_everybody_with_a_part_in_the_dataset_is_there(dataset, turn):
    session = turn.session
    rater = make_rater(dataset, "of-session")
    make_rating(None, session=session, annotator=rater)
    asked = make_rater(dataset, "asked")
    session.questionnaires.create(annotator=asked, answers=[])
    session.original_user = make_rater(dataset, "talked")
    session.save()
    make_label()
    make_rater(dataset, "never-labelled")
    names = [each.name for each in annotators(dataset=dataset)]
    assert names == ["asked", "of-session", "talked"]


def test_a_rater_whose_name_a_person_has_keeps_the_full_name(dataset, turn):
    comparison = make_comparison(turn)
    rater, person = make_rater(dataset, "alice"), make_user(username="alice")
    make_label(comparison, annotator=rater)
    make_label(comparison, annotator=person)
    assert names_of(dataset=dataset) == {rater.pk: "data:alice", person.pk: "alice"}
    assert resolve_annotator(dataset=dataset, name="alice").id == person.pk
    assert resolve_annotator(dataset=dataset, name="data:alice").id == rater.pk


def test_the_full_user_name_is_understood_too(dataset, turn):
    rater = make_rater(dataset, "ann")
    make_label(make_comparison(turn), annotator=rater)
    for name in ("ann", "data:ann"):
        assert resolve_annotator(dataset=dataset, name=name).username == "data:ann"


def test_a_name_may_be_written_in_another_unicode_form(dataset, turn):
    rater = make_rater(dataset, "李雷（二组）")
    make_label(make_comparison(turn), annotator=rater)
    for name in ("李雷（二组）", " 李雷(二组)", "data:李雷(二组)"):
        assert resolve_annotator(dataset=dataset, name=name).id == rater.pk


def test_an_unknown_name_is_answered_with_the_known_ones(dataset, turn):
    with pytest.raises(Refused, match="no annotator 'x' in dataset data; known annotators: none"):
        resolve_annotator(dataset=dataset, name="x")
    comparison = make_comparison(turn)
    for number in range(14):
        make_label(comparison, annotator=make_rater(dataset, f"a{number:02}"))
    with refuses("annotator:unknown", match=r"annotators: a00, a01, .* a11 and 2 more"):
        resolve_annotator(dataset=dataset, name="x")


def test_it_costs_one_query(dataset, turn, django_assert_num_queries):
    make_label(make_comparison(turn), annotator=make_rater(dataset, "ann"))
    with django_assert_num_queries(1):
        annotators(dataset=dataset)


def test_names_come_in_the_order_a_reader_expects(dataset, turn):
    comparison = make_comparison(turn)
    for name in ("User_10", "User_2", "User_1"):
        make_label(comparison, annotator=make_rater(dataset, name))
    names = [each.name for each in annotators(dataset=dataset)]
    assert names == ["User_1", "User_2", "User_10"]
