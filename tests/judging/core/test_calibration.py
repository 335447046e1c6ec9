from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import is_satisfied
from judging.core.calibration import (
    Calibrated,
    Calibration,
    Fallback,
    calibrate,
    cdf,
    cdf_expected,
    history_mean,
    mean_shift,
    paper_clip_round,
    paper_inverse_cdf,
    paper_reference_cdf,
    paper_reference_mean_shift,
    paper_reference_transfer,
    round_half_up,
    score_counts,
)
from tests.paths import paper_vectors

SCORES = st.integers(1, 5)
BLOCKS = st.lists(SCORES, min_size=1, max_size=25)
HISTORIES = st.lists(st.integers(0, 12), min_size=5, max_size=5).filter(lambda h: sum(h) >= 5)


@pytest.fixture(scope="module")
def vectors():
    return paper_vectors()


def test_rounding_goes_half_up_and_stays_on_the_scale(vectors):
    for value, expected in vectors["ptb_history_round_half_up"]:
        assert round_half_up(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.5, 3), (3.5, 4), (4.5, 5), (0.2, 1), (7.0, 5), (2.4999, 2), (Fraction(5, 2), 3)],
)
def test_rounding(value, expected):
    assert round_half_up(value) == expected


def test_the_released_inverse_of_a_history(vectors):
    for scores, quantile, expected in vectors["ptb_inverse_cdf_floor"]:
        assert paper_inverse_cdf(score_counts(scores), quantile=quantile) == expected


def test_the_released_inverse_ends_at_the_highest_score():
    assert paper_inverse_cdf((0, 2, 0, 1, 0), quantile=1.0) == 4


def test_satisfied_is_what_the_released_code_calls_so(vectors):
    for score, expected in vectors["ptb_to_binary_sat"]:
        if score is not None:  # no score counts as dissatisfied there; here it is no answer
            assert is_satisfied(score) == bool(expected)


def test_counts():
    assert score_counts([5, 5, 3]) == (0, 0, 1, 0, 2)
    assert score_counts([]) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("score", [0, 6])
def test_counts_refuse_what_is_no_score(score):
    with pytest.raises(ValueError, match="is not a score"):
        score_counts([score])


def test_mean_shift_by_hand():
    # History 4, 5: mean 4.5. Block 3, 3, 4: mean 10/3. Shift 7/6: 3 -> 4.17 -> 4, 4 -> 5.17 -> 5.
    assert mean_shift([3, 3, 4], history=(0, 0, 0, 1, 1)) == (4, 4, 5)


def test_mean_shift_rounds_an_exact_half_up():
    # History mean 3.5, block mean 3: 2 + .5 -> 3, 3 + .5 -> 4, 4 + .5 -> 5.
    assert mean_shift([2, 3, 4], history=(0, 0, 1, 1, 0)) == (3, 4, 5)


def test_mean_shift_is_exact_where_floats_are_not():
    # History 1, 2, 2, 3, 4, 5: mean 17/6. Block 1, 1, 2: mean 4/3. 1 + 17/6 - 4/3 = 5/2 -> 3.
    history = (1, 2, 1, 1, 1)
    assert history_mean(history) == Fraction(17, 6)
    assert mean_shift([1, 1, 2], history=history) == (3, 3, 4)


def test_mean_shift_of_nothing():
    assert mean_shift([], history=(0, 0, 0, 1, 1)) == ()


def test_cdf_by_hand():
    # Block 3, 4, 4, 5: q = 1/8, 1/2, 1/2, 7/8. History 3, 4, 5, 5: F(3)=1/4, F(4)=1/2, F(5)=1.
    # q = 1/2 reaches F(4) exactly.
    block = [3, 4, 4, 5]
    assert cdf(block, among=block, history=(0, 0, 1, 1, 2)) == (3, 4, 4, 5)


def test_cdf_hits_an_exact_quantile_that_floats_miss():
    """q = 3/10 against F = 3/10: integers agree that the quantile is reached."""
    block = [1, 2, 3, 4, 5]  # q of the second is 3/10
    assert cdf(block, among=block, history=(3, 7, 0, 0, 0))[1] == 1
    assert cdf(block, among=block, history=(30, 70, 0, 0, 0))[1] == 1
    assert cdf(block, among=block, history=(29, 71, 0, 0, 0))[1] == 2


def test_scores_that_never_occur_in_the_history_are_never_given():
    block = [1, 2, 3, 4, 5]
    assert set(cdf(block, among=block, history=(0, 3, 0, 3, 0))) == {2, 4}


def test_reference_cdf_keeps_a_candidate_within_half_a_rank():
    # Two originals rated 3: a candidate at 5 has q = 1 -> kept at 3/4, one at 1 has q = 0 -> 1/4.
    history = (2, 0, 4, 0, 2)  # F: 1 at 1/4, 3 at 3/4, 5 at 1
    assert cdf([5, 3, 1], among=[3, 3], history=history) == (3, 3, 1)


def test_expected_scores_break_ties():
    raw = [3.9, 4.1, 4.0]
    result = cdf(raw, among=raw, history=(0, 0, 2, 2, 2))
    assert result == (3, 5, 4)


@given(block=BLOCKS, history=HISTORIES)
def test_cdf_equals_its_definition_in_fractions(block, history):
    cumulative = list(accumulate(history))
    for raw, calibrated in zip(block, cdf(block, among=block, history=history), strict=True):
        below = sum(other < raw for other in block)
        equal = sum(other == raw for other in block)
        q = (below + Fraction(equal, 2)) / len(block)
        smallest = min(s for s in range(1, 6) if Fraction(cumulative[s - 1], cumulative[-1]) >= q)
        assert calibrated == smallest


@given(raw=BLOCKS, history=HISTORIES, method=st.sampled_from(Calibration), data=st.data())
def test_equal_raw_scores_get_equal_results_in_any_order(raw, history, method, data):
    order = data.draw(st.permutations(range(len(raw))))
    straight = calibrate(raw, method=method, history=history, reference=raw)
    shuffled = calibrate([raw[at] for at in order], method=method, history=history, reference=raw)
    assert [straight[at] for at in order] == list(shuffled)
    by_raw = dict(zip(raw, straight, strict=True))
    assert [by_raw[score] for score in raw] == list(straight)
    assert all(1 <= item.score <= 5 for item in straight)


@given(raw=BLOCKS, history=HISTORIES, method=st.sampled_from(Calibration))
def test_calibration_never_turns_an_order_round(raw, history, method):
    results = calibrate(raw, method=method, history=history, reference=[3, 4, 5])
    pairs = sorted(zip(raw, [item.score for item in results], strict=True))
    assert [score for _, score in pairs] == sorted(score for _, score in pairs)


@given(reference=BLOCKS, history=HISTORIES, candidates=BLOCKS, other=SCORES)
def test_candidates_do_not_influence_one_another(reference, history, candidates, other):
    alone = cdf(candidates, among=reference, history=history)
    together = cdf([*candidates, other], among=reference, history=history)
    assert together[:-1] == alone


@given(block=BLOCKS, history=HISTORIES)
def test_the_originals_of_a_block_get_the_same_under_both_maps(block, history):
    assert calibrate(block, method=Calibration.CDF, history=history) == calibrate(
        block, method=Calibration.REFERENCE_CDF, history=history, reference=block
    )


def test_unrounded_cdf_by_hand():
    # History 3, 4, 5, 5. Block 2, 3, 3, 4: 2 spans 0-1/4: 3. The threes span 1/4-3/4: half 4,
    # half 5: 4.5. 4 spans the last quarter: 5.
    assert cdf_expected([2, 3, 3, 4], history=(0, 0, 1, 1, 2)) == (3.0, 4.5, 4.5, 5.0)
    assert cdf_expected([], history=(0, 0, 1, 1, 2)) == ()


@given(block=BLOCKS, history=HISTORIES)
def test_unrounded_cdf_has_the_historys_mean_and_the_blocks_order(block, history):
    results = cdf_expected(block, history=history)
    assert sum(results) / len(block) == pytest.approx(float(history_mean(history)))
    pairs = sorted(zip(block, results, strict=True))
    assert [value for _, value in pairs] == sorted(value for _, value in pairs)


@pytest.mark.parametrize("method", [Calibration.MEAN_SHIFT, Calibration.CDF])
@pytest.mark.parametrize(
    ("history", "reason"),
    [((0,) * 5, Fallback.NO_HISTORY), ((0, 0, 0, 0, 4), Fallback.SHORT_HISTORY)],
)
def test_raw_scores_stand_where_the_history_says_too_little(method, history, reason):
    assert calibrate([2, 4.5], method=method, history=history) == (
        Calibrated(2, reason),
        Calibrated(5, reason),
    )


def test_raw_scores_stand_without_a_reference():
    assert calibrate([2], method=Calibration.REFERENCE_CDF, history=(0, 0, 0, 0, 5)) == (
        Calibrated(2, Fallback.NO_REFERENCE),
    )


def test_five_turns_of_history_are_enough():
    (result,) = calibrate([2], method=Calibration.CDF, history=(0, 0, 0, 0, 5))
    assert result == Calibrated(5)


def test_raw_rounds_and_has_no_reason():
    assert calibrate([2, 3.5], method=Calibration.RAW, history=(0,) * 5) == (
        Calibrated(2),
        Calibrated(4),
    )


def test_the_papers_variants_by_hand():
    assert [paper_clip_round(value) for value in (2.5, 3.5, -1, 9)] == [2, 4, 1, 5]
    # Pool by score, id, ref before target: 3 b ref, 4 a target, 4 b ref, 4 b target; q of the
    # targets 3/8 and 7/8; history 3, 4, 5, 5: F(4) = 1/2, F(5) = 1.
    history = (0, 0, 1, 1, 2)
    target, reference = [("b", 4), ("a", 4)], [("b", 3), ("b", 4)]
    assert paper_reference_cdf(target, reference=reference, history=history) == (5, 4)
    # Shift 4.5 - 4 = .5: 2 -> 2.5 -> 2, 3 -> 3.5 -> 4.
    assert paper_reference_mean_shift([2, 3], reference=[4, 4], mean=4.5) == (2, 4)
    # Raw 3 is as near to 2 as to 4: the lower stands.
    assert paper_reference_transfer([3, 5], means={2: 1.2, 4: 4.6}) == (1, 5)


def test_paper_clip_round(vectors):
    for value, expected in vectors["ptb_clip_round"]:
        assert paper_clip_round(value) == expected


def test_paper_reference_cdf(vectors):
    case = vectors["ptb_reference_cdf"]
    result = paper_reference_cdf(
        [tuple(item) for item in case["target"]],
        reference=[tuple(item) for item in case["reference"]],
        history=case["history_counts"],
    )
    assert list(result) == case["calibrated"]


def test_our_reference_cdf_gives_the_papers_tied_candidates_one_score(vectors):
    case = vectors["ptb_reference_cdf"]
    raw = [score for _, score in case["target"]]  # 4, 4, 2: the paper makes 4, 5 of the fours
    reference = [score for _, score in case["reference"]]  # 4, 4, 5, 3, 4
    # q(4) = (1 + 3/2)/5 = 1/2; history 0 1 1 4 4 of 10: F(4) = 6/10. q(2) = 0 -> 1/10 = F(2).
    assert cdf(raw, among=reference, history=case["history_counts"]) == (4, 4, 2)


def test_paper_reference_mean_shift(vectors):
    case, base = vectors["ptb_reference_mean_shift"], vectors["ptb_reference_cdf"]
    reference = [score for _, score in base["reference"]]
    assert sum(reference) / len(reference) == case["ref_mean"]
    result = paper_reference_mean_shift(
        [score for _, score in base["target"]], reference=reference, mean=case["hist_mean"]
    )
    assert list(result) == case["calibrated"]


def test_paper_reference_transfer(vectors):
    case = vectors["ptb_reference_transfer"]
    means = {int(raw): mean for raw, mean in case["map"].items()}
    assert list(paper_reference_transfer(case["targets"], means=means)) == case["calibrated"]
