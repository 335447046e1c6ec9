from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from benchmark.core.self_preference import Rivals, self_preference
from judging.core.endpoints import family_of

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4", "gpt"),
        ("GPT-3.5-Turbo", "gpt"),
        ("gpt4_pair", "gpt"),
        ("ChatGPT-0301", "gpt"),
        ("text-davinci-003", "gpt"),
        ("alpaca_eval_gpt4", "gpt"),
        ("claude-v1", "claude"),
        ("PaLM2", "gemini"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("Qwen2.5-72B-Instruct", "qwen"),
        ("alpaca-13b", "alpaca"),
        ("lexical", "lexical"),
        ("small-warm", "small-warm"),
        ("Small-Cold", "small-cold"),
        ("acme/rocket-7b", "acme"),
        ("Acme/comet", "acme"),
        ("/models/rocket", "/models/rocket"),
        ("13", "13"),
        ("", ""),
    ],
)
def test_a_family_is_what_a_name_states(name, family):
    assert family_of(name) == family


def rivals(human, *verdicts, a="gpt-4", b="claude-v1"):
    return Rivals(a, b, human, verdicts)


def test_the_gap_is_what_the_judge_adds_to_the_people():
    found = self_preference(
        [
            rivals(A, A, A),  # judge 2 of 2, people 1
            rivals(B, A, TIE),  # judge 1.5 of 2, people 0
            rivals(TIE, B, None, a="vicuna-13b", b="gpt-3.5-turbo"),  # own is B: 1 of 1, people .5
        ]
        * 4,
        judge="gpt4_pair",
        seed=1,
    )
    assert (found.family, found.comparisons) == ("gpt", 12)
    assert found.judge_rate == pytest.approx(4.5 / 5)
    assert found.human_rate == pytest.approx(1.5 / 3)
    assert found.value == pytest.approx(4.5 / 5 - 1.5 / 3)
    assert found.interval is not None
    assert found.interval.low <= found.value <= found.interval.high


@pytest.mark.parametrize(
    "row",
    [
        rivals(A, A, b="gpt-3.5-turbo"),  # both of the family
        rivals(A, A, a="alpaca-13b"),  # neither
        rivals(A, None),  # nothing was read
        rivals(A, A, a="", b=""),  # nobody knows who wrote them
    ],
)
def test_other_comparisons_say_nothing(row):
    found = self_preference([row], judge="gpt-4", seed=1)
    assert (found.value, found.interval, found.judge_rate, found.human_rate) == (None,) * 4
    assert found.comparisons == 0


def test_a_first_word_in_common_makes_no_family():
    items = [rivals(A, A, a="small-cold", b="other")]
    assert self_preference(items, judge="small-warm", seed=1).comparisons == 0
    assert self_preference(items, judge="small-cold", seed=1).comparisons == 1


def test_a_judge_whose_name_says_nothing_has_no_family():
    assert self_preference([rivals(A, A, a="", b="claude")], judge="13", seed=1).value is None
