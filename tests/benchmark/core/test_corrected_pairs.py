from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.corrected_pairs import FEWEST_LABELS, JudgedWinner, corrected_confidences

UNLABELLED = 10_000


def rows(*levels, sessions=10):
    """Of each level (confidence, agreed, how many) rows that go around the sessions."""
    return [
        JudgedWinner(confidence, place % sessions, agreed)
        for confidence, agreed, count in levels
        for place in range(count)
    ]


def test_a_judge_who_is_always_sure_gets_the_share_that_agrees():
    # 30 of 40 agree whatever session is left out; the level of the others is no other.
    told = rows((1.0, 1.0, 30), (1.0, 0.0, 10)) + rows((1.0, 0.5, 20))
    asked = JudgedWinner(1.0, UNLABELLED)
    found = corrected_confidences([*told, asked])
    assert found is not None
    assert found == pytest.approx([(30 + 0.5 * 20) / 60] * 61)


def test_levels_that_fall_are_joined_and_between_levels_it_is_a_line():
    # .6: 10/20, .7: 4/20 joined to 14/40 = .35, .9: 18/20.
    told = rows(
        (0.6, 1.0, 10), (0.6, 0.0, 10), (0.7, 1.0, 4), (0.7, 0.0, 16), (0.9, 1.0, 18), (0.9, 0.0, 2)
    )
    asked = [JudgedWinner(sure, UNLABELLED) for sure in (0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)]
    found = corrected_confidences([*told, *asked])
    assert found is not None
    assert found[-7:] == pytest.approx([0.35, 0.35, 0.35, 0.35, (0.35 + 0.9) / 2, 0.9, 0.9])


def test_a_label_that_stands_for_more_weighs_more():
    told = rows((1.0, 1.0, 30)) + [each._replace(weight=3.0) for each in rows((1.0, 0.0, 30))]
    found = corrected_confidences([*told, JudgedWinner(1.0, UNLABELLED)])
    assert found is not None
    assert found[-1] == pytest.approx(30 / 120)


def test_no_label_speaks_for_its_own_session():
    told = rows((1.0, 1.0, 60))
    turned = [row._replace(agreed=0.0) if row.session == 3 else row for row in told]
    before, after = corrected_confidences(told), corrected_confidences(turned)
    assert before is not None
    assert after is not None
    own = [place for place, row in enumerate(told) if row.session == 3]
    assert [after[place] for place in own] == [before[place] for place in own] == [1.0] * 6
    assert after != before


@pytest.mark.parametrize(
    ("told", "is_refused"),
    [
        (rows((1.0, 1.0, FEWEST_LABELS)), False),
        (rows((1.0, 1.0, FEWEST_LABELS - 1)), True),
        (rows((1.0, 1.0, FEWEST_LABELS - 1)) + rows((1.0, None, 5)), True),
        (rows((1.0, 1.0, FEWEST_LABELS), sessions=5), False),
        (rows((1.0, 1.0, FEWEST_LABELS), sessions=4), True),
        ([], True),
    ],
)
def test_few_labels_or_sessions_correct_nothing(told, is_refused):
    assert (corrected_confidences(told) is None) == is_refused


chances = st.floats(0.0, 1.0)
labelled = st.lists(
    st.builds(
        JudgedWinner,
        confidence=chances,
        session=st.integers(0, 8),
        agreed=st.sampled_from([0.0, 0.5, 1.0]),
        weight=st.floats(0.1, 10.0),
    ),
    min_size=FEWEST_LABELS,
    max_size=80,
)


@given(told=labelled, asked=st.lists(chances, min_size=2, max_size=8))
def test_the_surer_the_judge_the_likelier_people_agree(told, asked):
    found = corrected_confidences(
        [*told, *(JudgedWinner(each, UNLABELLED) for each in sorted(asked))]
    )
    if found is None:
        assert len({row.session for row in told}) < 5
        return
    assert all(-1e-9 <= each <= 1 + 1e-9 for each in found)
    mapped = found[len(told) :]
    assert all(one <= other + 1e-9 for one, other in pairwise(mapped))
