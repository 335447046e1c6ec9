from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from judging.core.verdicts import (
    TokenLogprob,
    letter_log_odds,
    parse_paper,
    parse_strict,
    swap_average,
    verdict_of_log_odds,
)
from tests.paths import paper_vectors

A, B = Verdict.A, Verdict.B

CASES = [
    # text, strict, paper
    ("The final decision is Response A.", A, A),
    ("So:\n\nThe final decision is **Response B**.\n", B, B),
    ("The final decision is: Response A", A, None),
    ('The final decision is: "**Response B**"', B, None),
    ("The final decision is `Response A`", A, None),
    ("The final decision is [[Response B]].", B, None),
    ("The final decision is （Response A）", A, None),
    ("the final\n decision\tis\nresponse a", A, A),
    ("THE FINAL DECISION IS RESPONSE b", B, B),
    ("The final decision is Response Ａ。", A, None),
    ("最终决定是回应B", B, B),
    ("最终决定是：回复 A。", A, None),
    ("最终决定是**回答B**更好", B, B),
    ("最终 决定 是 回应 A", None, A),
    ("The final decision is a tie", None, A),
    ("The final decision is A", None, A),
    ("Final decision: B", None, B),
    ("**Final Decision:** Response A", None, A),
    ("The final decision is", None, None),
    ("The final decision is not Response A", None, None),
    ("The final decision is Response C", None, None),
    ("The final decision isn't Response A", None, None),
    ("The final decision is Response Apple", None, A),
    ("The final decision is Response AB", None, A),
    ("The final decision is Response A or Response B", None, A),
    ("The final decision is Response A or B.", None, A),
    ("The final decision is response a or b.", None, A),
    ("The final decision is Response A, not Response C.", None, A),
    ("The final decision is Response B, a better text.", B, B),
    ("The final decision is Response A. Response B is weaker.", A, A),
    ("The final decision is Response A\nResponse B is weaker", A, A),
    ("As Response B errs, the final decision is Response A.", A, A),
    ("The final decision is Response A. Wait. The final decision is Response B.", B, B),
    ("The final decision is Response A. No: the final decision is neither", None, A),
    ("最终决定是回应A。The final decision is Response B.", B, B),
    ("Response A is better.", None, None),
    ("[[A]]", None, None),
    ("", None, None),
    # What is only quoted is no verdict; the last one outside of quotes is.
    ("> The final decision is Response A.", None, A),
    ("It ends so:\n```\nThe final decision is Response A.\n```\nI disagree.", None, A),
    ("The final decision is Response B.\n> The final decision is Response A.", B, A),
    ("The final decision is Response B.\n```\nThe final decision is Response A.\n```", B, A),
    ("```\nThe final decision is Response A.\n```", A, A),
    ('The final decision is Response A. {"text": "The final decision is Response B."}', A, B),
    ('{"decision": "The final decision is Response B."}', B, B),
]


@pytest.mark.parametrize(("text", "strict", "paper"), CASES)
def test_a_reply_is_read_by_the_rule(text, strict, paper):
    assert (parse_strict(text), parse_paper(text)) == (strict, paper)


def test_paper_reads_the_released_vectors_and_strict_differs_where_the_protocol_says():
    vectors = paper_vectors()
    differs = {}
    for text, expected in vectors["sensejudge_extract_final_decision"]:
        released = Verdict(expected) if expected else None
        assert parse_paper(text) is released, text
        if parse_strict(text) is not released:
            differs[text] = parse_strict(text)
    assert differs == {
        "The final decision is: Response A": A,
        "The final decision is `Response A`": A,
        "The final decision is a tie": None,
        "Final decision: B": None,
        "final decision\n\nBoth are good": None,
        "**Final Decision:** Response A": None,
        "final decision ： Response B": None,
        "最终 决定 是 回应 A": None,
    }


RELEASED = [
    r"The\s*final\s*decision\s*is\s*(?:\*\*)?\s*(?:Response\s*)?([AB])",
    r"final\s*decision\s*[:：]?\s*(?:\*\*)?\s*(?:Response\s*)?([AB])",
    r"最终(?:决定|决策|选择|答案|回答)(?:是|为|：|:)?\s*(?:\*\*)?\s*"
    r"(?:回应|回复|响应|回答|Response)?\s*([ABＡＢ])",
]
"""The patterns released with seed 001, letter for letter; they take cubic time."""
PIECES = [
    "The", "final", "decision", "is", " ", "\n", "\x1c", "\u3000", "**", "*", ":", "：", "Response",
    "response", "A", "b", "Ａ", "最终", "决定", "回答", "是", "为", "回应", ".", "final decision",
    "ſ", "İ",
]  # fmt: skip


def read_as_released(text):
    compact = re.sub(r"\s+", "", text)
    hits = [
        (match.start(), match.group(1))
        for rule in RELEASED
        for variant in (text, compact)
        for match in re.finditer(rule, variant, re.IGNORECASE)
    ]
    last = max((start for start, _ in hits), default=None)
    letters = [letter for start, letter in hits if start == last]
    return Verdict({"Ａ": "A", "Ｂ": "B"}.get(letters[-1], letters[-1].upper())) if hits else None


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_paper_reads_any_text_as_the_released_patterns_do(text):
    assert parse_paper(text) is read_as_released(text)


def test_of_paper_hits_that_start_together_the_last_pattern_counts():
    # In the text "最终决定" starts at 0; without its white space too: the later hit is the same.
    assert parse_paper("最终答案：Ｂ") is B


@given(st.text())
def test_strict_never_fails_and_never_ties(text):
    assert parse_strict(text) in (A, B, None)
    assert parse_paper(text) in (A, B, None)


@given(st.text(alphabet="AB response\n.", max_size=40), st.sampled_from("AB"))
def test_the_last_decision_is_all_that_counts(before, letter):
    text = f"{before}\nThe final decision is Response {letter}."
    assert parse_strict(text) is Verdict(letter)


def entries(**logprobs):
    return [TokenLogprob(token, value) for token, value in logprobs.items()]


def test_tokens_of_one_letter_are_summed():
    top = [
        TokenLogprob("A", math.log(0.3)),
        TokenLogprob(" A", math.log(0.2)),
        TokenLogprob("B", math.log(0.25)),
        TokenLogprob("The", math.log(0.01)),
    ]
    assert letter_log_odds(top) == pytest.approx(math.log(0.5 / 0.25))


def test_a_missing_letter_takes_the_lowest_log_probability():
    assert letter_log_odds(entries(A=-0.1, C=-2.0, D=-5.0)) == pytest.approx(4.9)
    assert letter_log_odds(entries(B=-0.1, C=-2.0)) == pytest.approx(-1.9)


@pytest.mark.parametrize("top", [[], entries(C=-0.1), entries(A=-math.inf)])
def test_without_either_letter_there_is_no_verdict(top):
    assert letter_log_odds(top) is None


def test_entries_that_are_not_finite_are_left_out():
    assert letter_log_odds(entries(A=-1.0, B=-math.inf, C=-3.0)) == pytest.approx(2.0)


def test_very_small_probabilities_do_not_underflow():
    assert letter_log_odds(entries(A=-9999.0, B=-9000.0)) == pytest.approx(-999.0)


@pytest.mark.parametrize(("log_odds", "verdict"), [(0.1, A), (-0.1, B), (0.0, Verdict.TIE)])
def test_the_sign_names_the_winner(log_odds, verdict):
    assert verdict_of_log_odds(log_odds) is verdict


@given(quality=st.integers(-9, 9), leaning=st.integers(-9, 9))
def test_a_leaning_to_the_first_place_cancels(quality, leaning):
    # As shown: original prefers A by quality, swapped shows B first; leaning helps the first.
    assert swap_average(original=quality + leaning, swapped=-quality + leaning) == quality


@pytest.mark.parametrize("write", ["Ġ{}", "▁{}", '"{}"', "**{}**", "({})", "{}.", "\n{}"])
def test_letters_are_read_through_marks(write):
    top = [TokenLogprob(write.format("A"), -0.5), TokenLogprob(write.format("B"), -1.5)]
    assert letter_log_odds(top) == pytest.approx(1.0)


def test_wide_letters_are_letters():
    top = [TokenLogprob("「Ａ」", -0.5), TokenLogprob(" Ｂ", -1.5)]
    assert letter_log_odds(top) == pytest.approx(1.0)


def test_small_letters_count_where_there_are_no_capitals():
    assert letter_log_odds(entries(a=-0.5, b=-1.5)) == pytest.approx(1.0)
    assert letter_log_odds(entries(a=-0.1, A=-2.0, B=-1.0)) == pytest.approx(-1.0)
