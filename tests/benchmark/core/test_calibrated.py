from benchmark.core.calibrated import ScoreTriple, UserShift, histograms, user_shifts

TURNS = [ScoreTriple(1, 5, 4, 5), ScoreTriple(2, 2, 4, 3), ScoreTriple(1, 4, 4, 4)]


def test_three_distributions_of_the_same_turns():
    found = histograms(TURNS)
    assert found.stated == (0, 1, 0, 1, 1)
    assert found.raw == (0, 0, 0, 3, 0)
    assert found.calibrated == (0, 0, 1, 1, 1)


def test_every_user_s_means():
    assert user_shifts(TURNS) == (
        UserShift(1, 2, 4.5, 4.0, 4.5),
        UserShift(2, 1, 2.0, 4.0, 3.0),
    )
    assert user_shifts([]) == ()
