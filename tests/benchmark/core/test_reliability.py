from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.metrics import ReliabilityPoint, reliability

scores = st.integers(1, 5)


def test_turns_predicted_alike_share_a_point():
    assert reliability([(4, 5), (2, 1), (4, 4)]) == (
        ReliabilityPoint(2, 1.0, 1),
        ReliabilityPoint(4, 4.5, 2),
    )


def test_nothing_predicted_has_no_points():
    assert reliability([]) == ()


@given(st.lists(scores))
def test_a_perfect_judge_lies_on_the_diagonal(stated):
    points = reliability((score, score) for score in stated)
    assert all(point.predicted == point.stated for point in points)
    assert sum(point.n for point in points) == len(stated)
