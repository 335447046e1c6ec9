from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from judging.core.structured import compare_scores, parse_bracketed, parse_grade


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("[[A]]", Verdict.A),
        ("Both are fine, but... [[B]].", Verdict.B),
        ("[[C]]", Verdict.TIE),
        ("**[[ a ]]**", Verdict.A),
        ("［［Ｂ］］", Verdict.B),
        ("The form is [[A]], my verdict [[B]]", Verdict.B),
        ("Response A says [[A]]. I cannot decide: [[?]]", None),
        ("[[A]] and then [[AB]]", None),
        ("A", None),
        ("[A]", None),
        ("[[]]", None),
        ("", None),
        ("[[A", None),
        ("[[Tie]]", None),
        ("[[[A]]]", Verdict.A),
        ("[[B]]\n> [[A]]", Verdict.B),
        ('[[B]] {"text": "[[A]]"}', Verdict.B),
        ('{"verdict": "[[A]]"}', Verdict.A),
        ("[[B]]\n```\n[[A]]\n```", Verdict.B),
        ("It says:\n~~~\n[[A]]\n~~~", None),
    ],
)
def test_the_last_mark_is_the_verdict(text, verdict):
    assert parse_bracketed(text) is verdict


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Rating: [[7]]", 7.0),
        ("评分：［［１０］］", 10.0),
        ("[[8.5]]", 8.5),
        ("[[3]]\n> [[10]]", 3.0),
        ("[[ 3 ]]", 3.0),
        ("[[5]] is the form. [[9]]", 9.0),
        ("[[9]] [[rating]]", None),
        ("[[0]]", None),
        ("[[0.9]]", None),
        ("[[11]]", None),
        ("[[10.5]]", None),
        ("[[8/10]]", None),
        ("[[-3]]", None),
        ("[[1e1]]", None),
        ("[[٣]]", None),
        ("7", None),
    ],
)
def test_the_last_mark_is_the_grade(text, grade):
    assert parse_grade(text) == grade


@given(st.text(), st.sampled_from("ABC"))
def test_what_stands_before_a_mark_changes_nothing(before, letter):
    assert parse_bracketed(f"{before}\n[[{letter}]]") is parse_bracketed(f"[[{letter}]]")


@given(st.floats(1, 10), st.floats(1, 10))
def test_comparing_the_other_way_round_flips_the_verdict(first, second):
    assert compare_scores(first, second) is compare_scores(second, first).flipped()
    assert (compare_scores(first, second) is Verdict.TIE) == (first == second)
    if first > second:
        assert compare_scores(first, second) is Verdict.A
