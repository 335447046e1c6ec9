from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.datasets import AnnotatorCounts, DatasetCounts
from annotation.models import Comparison, Dataset, Session
from annotation.queries.datasets import (
    annotator_rows,
    comparison_page,
    dataset_of,
    dataset_row,
    datasets,
    scenarios,
    session_page,
    sessions_page,
    slugs,
)
from tests.annotation.records import everything, import_rows, pair, rated
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
    empty, full = datasets()
    assert (empty.slug, empty.counts) == ("empty", DatasetCounts())
    assert (full.name, full.simulated, full.licence) == ("Everything", True, "CC0-1.0")
    assert full.counts == ALL == dataset_row(dataset).counts
    assert slugs() == ["data", "empty"]


def test_scenarios_share_the_counts_out(dataset):
    first, second = scenarios(dataset)
    assert (first.name, second.name) == ("s", "t")
    assert first.counts == DatasetCounts(1, 4, 6, 2, 4, 4)
    assert second.counts == DatasetCounts(1, 1, 3, 2, 2, 0)


def test_annotators_have_their_counts(dataset):
    assert annotator_rows(dataset) == [
        AnnotatorCounts("User_1", imported=True, labels=0, ratings=1),
        AnnotatorCounts("ann", imported=True, labels=4, ratings=2),
        AnnotatorCounts("bob", imported=True, labels=2, ratings=1),
    ]


def test_an_unknown_dataset_is_answered_with_the_known_ones(dataset):
    assert dataset_of("data") == dataset
    with refuses("dataset:unknown", match="no dataset 'x'; known datasets: data"):
        dataset_of("x")


def test_sessions_come_in_file_order_with_how_they_open(dataset):
    page = sessions_page(dataset)
    assert [(row.scenario, row.opening) for row in page] == [("s", "a"), ("t", "p")]
    assert page.object_list[0].counts == DatasetCounts(1, 4, 6, 2, 4, 4)
    assert (page.number, page.paginator.count) == (1, 2)


@pytest.mark.parametrize(
    ("search", "keys"),
    [("K", ["k"]), ("nobody ANSWERS", ["k"]), ("%", []), ("", 2)],
)
def test_sessions_are_found_by_key_and_by_what_users_say(dataset, search, keys):
    found = [row.key for row in sessions_page(dataset, search=search)]
    assert found == keys or len(found) == keys


def test_sessions_of_a_scenario(dataset):
    scenario = scenarios(dataset)[1].id
    assert [row.scenario for row in sessions_page(dataset, scenario_id=scenario)] == ["t"]


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
    with django_assert_num_queries(11):
        session_page(session)
    with django_assert_num_queries(6):
        comparison_page(comparison)


def test_a_session_with_everything_about_it(dataset):
    page = session_page(Session.objects.get(key="k").pk)
    assert page is not None
    assert (page.user, page.language, page.system_prompt) == ("User_1", "zh", "be kind")
    assert ("personality", "calm") in page.profile
    assert ("strategy", "[1]") in page.extra
    first, second, third, fourth = page.turns
    assert [(each.annotator, each.score) for each in first.responses[0].ratings] == [
        ("User_1", 2),
        ("bob", 5),
        ("ann", 1),
    ]
    assert first.responses[1].gold[0].answer == "4"
    assert [each.continues for each in second.responses] == ["m", "n", ""]
    assert second.responses[2].text is None
    assert second.comparisons[1].verdicts == {Verdict.A: 1, Verdict.B: 1, Verdict.TIE: 1}
    assert (third.user_message, fourth.responses) == (None, ())
    assert page.questionnaires[0].answers == (("q", "yes"),)
    assert page.ratings[0].score == 4
    assert page.gold[0].answer == "5"


def test_a_comparison_with_the_dialogue_before_it(dataset):
    page = comparison_page(Comparison.objects.get(key="later").pk)
    assert page is not None
    assert (page.turn, page.scenario, page.session_number) == (2, "s", 1)
    assert [(each.by_user, each.text) for each in page.dialogue] == [
        (True, "a"),
        (False, "A"),
        (True, "b"),
    ]
    assert (page.a.text, page.a.variant, page.b.text) == ("B2", "memory", "A2")
    first, tie, _third = page.labels
    assert (first.verdict, first.strength, first.shown_order) == (Verdict.B, 2, "swapped")
    assert (first.study, first.repeat, first.comment) == ("pilot", 1, "=1+1")
    assert (tie.both_bad, tie.shown_order, tie.study) == (True, "", "")
    assert page.gold[0].answer == "B"
    assert page.extra == (("idx", "4"),)


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
    page = comparison_page(Comparison.objects.get().pk)
    assert page is not None
    assert [each.text for each in page.dialogue] == ["hello", "hi"]


def test_what_is_not_there_is_none():
    assert session_page(1) is None
    assert comparison_page(1) is None


def test_a_session_nobody_owns_has_no_user(tmp_path):
    import_rows(tmp_path, pair())
    page = session_page(Session.objects.get().pk)
    assert page is not None
    assert page.user == ""
