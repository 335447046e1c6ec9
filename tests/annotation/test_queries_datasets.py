from __future__ import annotations

import pytest

from annotation.core.datasets import DatasetCounts
from annotation.models import Comparison, Dataset, Session
from annotation.queries.datasets import (
    annotators_with_counts,
    counts_of,
    dataset_of,
    datasets,
    dialogue_before,
    labelled_comparison,
    scenarios,
    sessions_page,
    slugs,
    whole_session,
)
from tests.annotation.records import everything, import_rows, rated
from tests.factory import make_dataset
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(tmp_path):
    import_rows(tmp_path, *everything())
    return Dataset.objects.get()


ALL = DatasetCounts(sessions=2, turns=5, responses=9, comparisons=4, labels=6, ratings=4)


def test_datasets_have_their_counts(dataset):
    make_dataset(slug="empty", name="A first one")
    assert [(row.slug, counts) for row, counts in datasets()] == [
        ("empty", DatasetCounts()),
        ("data", ALL),
    ]
    assert counts_of(dataset) == ALL
    assert slugs() == ["data", "empty"]


def test_scenarios_share_the_counts_out(dataset):
    assert [(row.name, counts) for row, counts in scenarios(dataset)] == [
        ("s", DatasetCounts(1, 4, 6, 2, 4, 4)),
        ("t", DatasetCounts(1, 1, 3, 2, 2, 0)),
    ]


def test_annotators_have_their_counts(dataset):
    counted = annotators_with_counts(dataset)
    assert [(each.name, labels, ratings) for each, labels, ratings in counted] == [
        ("User_1", 0, 1),
        ("ann", 4, 2),
        ("bob", 2, 1),
    ]
    assert all(each.imported for each, *_counts in counted)


def test_an_unknown_dataset_is_answered_with_the_known_ones(dataset):
    assert dataset_of("data") == dataset
    with refuses("dataset:unknown", match="no dataset 'x'; known datasets: data"):
        dataset_of("x")


def test_sessions_come_in_file_order_with_how_they_open(dataset):
    page = sessions_page(dataset)
    assert [(row.scenario.name, opening) for row, opening, _counts in page] == [
        ("s", "a"),
        ("t", "p"),
    ]
    assert page.object_list[0][2] == DatasetCounts(1, 4, 6, 2, 4, 4)
    assert (page.number, page.paginator.count) == (1, 2)


@pytest.mark.parametrize(
    ("search", "keys"),
    [("K", ["k"]), ("nobody ANSWERS", ["k"]), ("%", []), ("", 2)],
)
def test_sessions_are_found_by_key_and_by_what_users_say(dataset, search, keys):
    found = [row.key for row, *_more in sessions_page(dataset, search=search)]
    assert found == keys or len(found) == keys


def test_sessions_of_a_scenario(dataset):
    scenario = scenarios(dataset)[1][0].pk
    found = sessions_page(dataset, scenario_id=scenario)
    assert [row.scenario.name for row, *_more in found] == ["t"]


@pytest.mark.parametrize(("page", "number"), [("2", 2), ("99", 2), ("x", 1), ("-1", 2)])
def test_a_page_that_is_not_there_gives_the_nearest(tmp_path, page, number):
    import_rows(tmp_path, *(rated(key=f"k{place}", questionnaires=[]) for place in range(60)))
    assert sessions_page(Dataset.objects.get(), page=page).number == number


def test_pages_cost_a_fixed_number_of_queries(dataset, django_assert_num_queries):
    with django_assert_num_queries(8):
        datasets()
    with django_assert_num_queries(10):
        list(sessions_page(dataset))
    session, comparison = Session.objects.get(key="k").pk, Comparison.objects.get(key="later").pk
    with django_assert_num_queries(10):
        whole_session(session)
    with django_assert_num_queries(3):
        labelled_comparison(comparison)


def test_a_session_with_everything_about_it(dataset):
    session = whole_session(Session.objects.get(key="k").pk)
    assert session is not None
    assert (session.number, session.language, session.system_prompt) == (1, "zh", "be kind")
    first, second, third, fourth = session.turns.all()
    rated, golden = first.responses.all()[:2]
    assert [each.score for each in rated.labels.all()] == [2, 5, 1]
    assert golden.gold_labels.all()[0].score == 4
    continued = [each.continues for each in second.responses.all()]
    assert [each and each.model for each in continued] == ["m", "n", None]
    assert second.responses.all()[2].text is None
    fell = second.comparisons.all()[1]
    assert (fell.for_a, fell.for_b, fell.ties) == (1, 1, 1)
    assert (third.number, third.user_message, list(fourth.responses.all())) == (3, None, [])
    assert session.questionnaires.all()[0].answers == [{"query": "q", "option": "yes"}]
    assert session.labels.all()[0].score == 4
    assert session.gold_labels.all()[0].score == 5


def test_a_comparison_with_the_dialogue_before_it(dataset):
    found = labelled_comparison(Comparison.objects.get(key="later").pk)
    assert found is not None
    assert dialogue_before(found.turn) == [(True, "a"), (False, "A"), (True, "b")]
    assert (found.response_a.text, found.response_b.text) == ("B2", "A2")
    first, tie, _third = found.labels.all()
    assert (first.verdict, first.study and first.study.name) == ("B", "pilot")
    assert (tie.both_bad, tie.shown_order, tie.study) == (True, None, None)
    assert found.gold_labels.all()[0].verdict == "B"


def test_after_an_answer_without_a_question_there_is_none_in_the_dialogue(tmp_path):
    turns = [
        {"user": None, "responses": [{"text": "hello", "original": True}]},
        {
            "user": "hi",
            "responses": [{"text": "1"}, {"text": "2"}],
            "comparisons": [{"a": "0", "b": "1"}],
        },
    ]
    import_rows(tmp_path, rated(turns=turns))
    turn = Comparison.objects.get().turn
    assert dialogue_before(turn) == [(False, "hello"), (True, "hi")]


def test_what_is_not_there_is_none():
    assert whole_session(1) is None
    assert labelled_comparison(1) is None
