from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import ChatRequest, Sampling
from judging.core.estimates import (
    RunEstimate,
    StageEstimate,
    TightRequest,
    WriterRates,
    estimates_as_json,
    spread,
    stage_estimate,
    total_of,
)
from judging.core.money import Prices
from judging.core.runs import StageName

PRICES = Prices(input=Decimal(1), output=Decimal(2))


def request(text):
    return ChatRequest("http://x", "m", (Message(Speaker.USER, text),), Sampling(max_tokens=50))


def stage(*texts, questions, looked_at, unasked=0):
    return stage_estimate(
        StageName.JUDGE,
        questions=questions,
        looked_at=looked_at,
        requests=[request(text) for text in texts],
        unasked=unasked,
        prices=PRICES,
    )


def test_equal_questions_make_one_call_and_missing_texts_none():
    found = stage("one", "two two", "one", questions=6, looked_at=6, unasked=2)
    # 2 calls, 2 without a judge; of the other 2 one is equal to a call and one is stored
    assert (found.questions, found.calls, found.equal, found.stored) == (6, 2, 1, 1)
    # 3 and 7 characters at 3.5 each token, rounded up: 1 + 2
    assert (found.input_tokens, found.most_output_tokens) == (3, 100)
    # 3 + 80 and 7 + 80 tokens at 1, twice 50 at 2, of a million
    assert found.cost_at_most == Decimal("0.00037")
    # 3 tokens at 1, twice one at 2, of a million
    assert found.cost_low == Decimal("0.000007")


def test_a_part_stands_for_the_whole():
    found = stage("one", "two two", questions=10, looked_at=4)
    assert (found.calls, found.stored, found.input_tokens, found.most_output_tokens) == (
        5,
        5,
        8,
        250,
    )
    assert found.cost_at_most == Decimal("0.000925")


def test_nothing_to_ask_costs_nothing():
    found = stage(questions=0, looked_at=0)
    assert (found.calls, found.stored, found.cost_at_most) == (0, 0, 0)


@pytest.mark.parametrize(
    ("count", "most", "places"),
    [(0, 3, []), (3, 3, [0, 1, 2]), (4, 3, [0, 2]), (7, 3, [0, 3, 6]), (9, 3, [0, 3, 6])],
)
def test_a_part_is_spread_evenly(count, most, places):
    assert list(spread(count, most=most)) == places


DISTIL = StageEstimate(StageName.DISTIL, 5, 1, 0, 4, 400, 200, Decimal("0.0025"), Decimal("0.25"))
JUDGE = StageEstimate(StageName.JUDGE, 9, 0, 3, 6, 600, 300, Decimal("0.005"), Decimal("0.5"))
LETTERS = replace(JUDGE, most_output_tokens=6)


def run(*, prices=PRICES, mean=None, stages=(DISTIL, JUDGE), writer=None):
    return RunEstimate("ann", "e", stages, prices, mean, sampled=False, writer=writer)


def test_a_run_adds_its_stages_up():
    found = run(mean=12.5)
    assert (found.calls, found.stored, found.input_tokens, found.output_tokens) == (
        10,
        1,
        1000,
        125,
    )
    assert (found.cost_likely, found.cost_at_most) == (Decimal("0.00125"), Decimal("0.75"))


def test_what_is_not_known_is_not_made_up():
    fresh = run()
    assert (fresh.output_tokens, fresh.cost_likely, fresh.cost_at_most) == (
        None,
        None,
        Decimal("0.75"),
    )
    free = run(prices=Prices(), mean=3.0)
    assert (free.output_tokens, free.cost_likely, free.cost_at_most) == (30, None, None)


def test_a_letter_is_one_token_whatever_replies_were_so_far():
    for mean in (None, 12.5):
        found = run(mean=mean, stages=(LETTERS,))
        assert found.output_tokens == found.most_output_tokens == 6
        assert found.cost_likely == Decimal("0.000612")  # 600 at 1 and 6 at 2, of a million
    both = run(mean=12.5, stages=(DISTIL, LETTERS))
    assert both.output_tokens == 4 * 12.5 + 6
    assert run(stages=(DISTIL, LETTERS)).output_tokens is None
    assert total_of([run(stages=(LETTERS,))]).only_letters
    assert not total_of([both]).only_letters


def test_no_reply_is_longer_than_its_limit():
    assert run(mean=1000.0).output_tokens == 500


def test_an_estimate_as_json():
    assert run(mean=12.5).to_json() == {
        "name": "ann, e",
        "annotator": "ann",
        "judge": "e",
        "writer": "e",
        "stages": [
            {
                "stage": "distil",
                "questions": 5,
                "stored": 1,
                "equal": 0,
                "calls": 4,
                "input_tokens": 400,
                "output_tokens_at_most": 200,
            },
            {
                "stage": "judge",
                "questions": 9,
                "stored": 0,
                "equal": 3,
                "calls": 6,
                "input_tokens": 600,
                "output_tokens_at_most": 300,
            },
        ],
        "calls": 10,
        "stored": 1,
        "equal": 3,
        "input_tokens": 1000,
        "output_tokens": 125,
        "output_tokens_at_most": 500,
        "cost_low": 0.0075,
        "cost_likely": 0.00125,
        "cost_at_most": 0.75,
        "sampled": False,
    }
    assert run(prices=Prices()).to_json()["cost_at_most"] is None


def test_several_runs_add_up_and_what_is_not_known_stays_so():
    both = total_of([run(mean=12.5), run(mean=12.5)])
    assert (both.calls, both.stored, both.sampled) == (20, 2, False)
    assert (both.cost_likely, both.cost_at_most) == (Decimal("0.0025"), Decimal("1.5"))
    mixed = total_of([run(mean=12.5), run(prices=Prices())])
    assert (mixed.cost_likely, mixed.cost_at_most) == (None, None)
    # A run that asks nobody has no price and needs none.
    silent = RunEstimate("ann", "lexical", (), Prices(), None, sampled=True)
    some = total_of([run(), silent])
    assert (some.cost_likely, some.cost_at_most, some.sampled) == (None, Decimal("0.75"), True)
    assert total_of([silent]).cost_at_most == 0


WRITER = WriterRates("big", Prices(input=Decimal(10), output=Decimal(20)), 5.0)


def test_what_another_judge_writes_costs_its_prices():
    found = run(mean=12.5, writer=WRITER)
    # It writes 4 replies of 5 tokens, the judge 6 of 12.5.
    assert found.output_tokens == 20 + 75
    # 400 x 10 + 20 x 20 and 600 x 1 + 75 x 2, of a million
    assert found.cost_likely == Decimal("0.0044") + Decimal("0.00075")
    assert found.cost_at_most == Decimal("0.75")
    assert found.to_json()["writer"] == "big"


def test_the_cost_is_known_where_that_of_all_who_are_asked_is():
    free = WriterRates("big", Prices(), 5.0)
    assert run(mean=12.5, writer=free).cost_at_most is None
    assert run(mean=12.5, writer=free, stages=(JUDGE,)).cost_at_most == Decimal("0.5")
    assert run(prices=Prices(), writer=WRITER, stages=(DISTIL,)).cost_at_most == Decimal("0.25")
    stored = replace(DISTIL, stored=5, calls=0, cost_at_most=Decimal(0))
    assert run(prices=Prices(), writer=WRITER, stages=(stored,)).cost_at_most is None
    assert run(writer=free, stages=(stored,)).cost_at_most == 0


def test_several_runs_as_json_stand_beneath_their_sums():
    both = [run(mean=12.5), run()]
    assert estimates_as_json(both) == {
        "calls": 20,
        "stored": 2,
        "equal": 6,
        "cost_low": 0.015,
        "cost_likely": None,
        "cost_at_most": 1.5,
        "runs": [one.to_json() for one in both],
    }


@pytest.mark.parametrize(("fewest", "is_beyond"), [(100, False), (101, True)])
def test_a_request_is_beyond_a_context_that_no_tokenizer_fits_it_into(fewest, is_beyond):
    assert TightRequest("judge", context=100, fewest=fewest, most=200).is_beyond is is_beyond


@pytest.mark.parametrize(
    ("low", "likely", "most", "wide"),
    [
        (1, None, 11, True),
        (1, None, 10, False),
        (1, 2, 99, False),
        (None, None, None, False),
        (1, None, None, False),
    ],
)
def test_a_range_without_a_likely_cost_is_too_wide_beyond_a_factor_of_ten(low, likely, most, wide):
    costs = {"cost_low": low, "cost_likely": likely, "cost_at_most": most}
    costs = {name: None if cost is None else Decimal(cost) for name, cost in costs.items()}
    assert replace(total_of([]), **costs).is_too_wide is wide
