from __future__ import annotations

import pytest

from judging.queries.endpoints import likely_judge, likely_models
from tests.factory import make_endpoint, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoints():
    make_endpoint(name="off", model="m0", enabled=False)
    make_endpoint(name="reward", model="m0", has_scores=True)
    return [make_endpoint(name=name, model=f"m{name}") for name in "abc"]


def test_nobody_is_guessed_where_nobody_can_be_asked():
    make_endpoint(enabled=False)
    assert (likely_judge([]), likely_models([])) == ("", [])


def test_the_judge_is_one_that_judges_no_answers_of_its_own(endpoints, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert likely_judge([]) == "a"
    assert likely_judge(["ma", "mc"]) == "b"
    assert likely_judge(["ma", "mb", "mc"]) == "a"


def test_the_judge_is_the_one_that_judged_last(endpoints):
    make_run(endpoint=endpoints[1])
    make_run(endpoint=endpoints[2])
    make_run(endpoint=endpoints[1], kind="GENERATE")
    assert likely_judge([]) == "c"
    assert likely_judge(["mc"]) == "b"
    assert likely_judge(["ma", "mb", "mc"]) == "c"


def test_models_that_answered_and_mere_judges_are_not_asked(endpoints, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert likely_models(["mb"]) == ["a", "c"]
    for endpoint in endpoints[:2]:
        make_run(endpoint=endpoint)
    make_run(endpoint=endpoints[1], kind="GENERATE")
    assert likely_models([]) == ["b", "c"]


def test_of_many_models_none_is_guessed(endpoints):
    make_endpoint(name="d")
    assert likely_models([]) == []
    assert likely_models(["ma"]) == ["b", "c", "d"]
