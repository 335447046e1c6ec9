from __future__ import annotations

import pytest

from annotation.models import Response
from judging.queries.comparisons import response_texts_of
from judging.queries.prompts import comparison_references, response_references
from tests.factory import make_comparison, make_response, make_session, make_turn

pytestmark = pytest.mark.django_db


def test_a_response_is_shown_after_its_own_line(django_assert_num_queries):
    session = make_session(system_prompt="Be brief.", extra={"reference": ["one", "two"]})
    first, second = (make_turn(session, user_message=text) for text in ("One?", "Two?"))
    make_response(first, text="Said.", original=True)
    own = make_response(first, text="My own.")
    follows = make_response(second, text="Mine.", continues=own)
    original = make_response(second, text="Theirs.")
    with django_assert_num_queries(4):
        found = response_texts_of([follows.pk, original.pk])
    said = {key: [each.text for each in one.dialogue] for key, one in found.items()}
    assert said == {
        follows.pk: ["Be brief.", "One?", "My own.", "Two?"],
        original.pk: ["Be brief.", "One?", "Said.", "Two?"],
    }
    assert (found[follows.pk].text_a, found[follows.pk].turns) == ("Mine.", 2)
    assert response_references([follows.pk, own.pk]) == {
        follows.pk: "[1] one\n\n[2] two",
        own.pk: "one",
    }


def test_a_response_without_a_text_is_left_out():
    response = make_response()
    Response.objects.filter(pk=response.pk).update(text=None)
    assert response_texts_of([response.pk]) == {}


def test_a_comparison_s_own_reference_comes_before_its_session_s():
    turn = make_turn(make_session(extra={"reference": "of the session"}))
    own = make_comparison(turn, extra={"reference": "its own"})
    other = make_comparison(turn)
    assert comparison_references([own.pk, other.pk]) == {
        own.pk: "its own",
        other.pk: "of the session",
    }
