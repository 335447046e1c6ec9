from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from benchmark.core.vote_agreement import (
    AgreementTables,
    Votes,
    conservative,
    gap_agreement,
    scenario_agreement,
    vote_agreement,
)
from judging.core.formats.battles import WINNERS
from tests.paths import shared_data

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


def counts(votes):
    return {
        (row.turn, row.ties): (row.judge.agree, row.judge.pairs, row.people.agree, row.people.pairs)
        for row in vote_agreement(votes)
    }


def test_each_pair_of_votes_on_a_comparison_counts_once():
    votes = [
        Votes(1, A, (A, A, B)),  # judge 2 of 3, people 1 of 3
        Votes(1, TIE, (TIE,)),  # judge 1 of 1
        Votes(1, None, (B, B)),  # people 1 of 1
        Votes(2, B, ()),
    ]
    assert counts(votes) == {
        (1, True): (3, 4, 2, 4),
        (1, False): (2, 3, 2, 4),
        (2, True): (0, 0, 0, 0),
        (2, False): (0, 0, 0, 0),
    }


def test_without_ties_a_pair_with_a_tie_is_left_out():
    assert counts([Votes(1, A, (TIE, A, TIE))])[1, False] == (1, 1, 0, 0)


def test_a_share_without_pairs_is_none():
    [row, _] = vote_agreement([Votes(1, None, (A,))])
    assert row.judge.value is row.people.value is row.judge.interval is None


def test_a_row_holds_judge_and_people_with_their_ends():
    [row, _] = vote_agreement([Votes(2, A, (A, A, B))])
    assert row.record() == {
        "turn": 2,
        "ties": True,
        "judge_agree": 2,
        "judge_pairs": 3,
        "judge_share": pytest.approx(2 / 3),
        "judge_low": None,
        "judge_high": None,
        "people_agree": 1,
        "people_pairs": 3,
        "people_share": pytest.approx(1 / 3),
        "people_low": None,
        "people_high": None,
    }


def test_the_interval_draws_sessions():
    votes = ((B, B), (A, A, B, B), (A, A, A))
    alone = [Votes(1, A, votes[key % 3], key) for key in range(30)]
    thrice = [each for each in alone for _ in range(3)]
    once, several = (vote_agreement(each)[0] for each in (alone, thrice))
    assert (several.judge.pairs, several.judge.comparisons) == (3 * once.judge.pairs, 90)
    for one, other in ((once.judge, several.judge), (once.people, several.people)):
        assert other.interval.low == pytest.approx(one.interval.low)
        assert other.interval.high == pytest.approx(one.interval.high)
    [few, _] = vote_agreement([Votes(1, A, (A, B), key % 9) for key in range(90)])
    assert (few.judge.value, few.judge.interval) == (0.5, None)


def test_a_comparison_without_a_session_is_drawn_by_itself():
    [row, _] = vote_agreement([Votes(1, A, (A,)), Votes(1, A, (B,))] * 50)
    assert row.judge.value == 0.5
    assert row.judge.interval is not None
    assert 0.35 < row.judge.interval.low < 0.5 < row.judge.interval.high < 0.65
    assert row.judge.comparisons == 100


@pytest.mark.parametrize(
    ("decisions", "verdict"),
    [
        ({}, None),
        ({Order.COMBINED: A}, A),
        ({Order.ORIGINAL: A, Order.SWAPPED: A}, A),
        ({Order.ORIGINAL: A, Order.SWAPPED: B}, TIE),
        ({Order.ORIGINAL: A, Order.SWAPPED: TIE}, TIE),
        ({Order.ORIGINAL: A, Order.SWAPPED: None}, None),
    ],
)
def test_a_judge_wins_only_where_its_orders_agree(decisions, verdict):
    assert conservative(decisions) is verdict


@given(st.lists(st.sampled_from([A, B, TIE]), max_size=8))
def test_renaming_the_responses_changes_no_fraction(people):
    flipped = tuple(each.flipped() for each in people)
    assert counts([Votes(1, A, tuple(people))]) == counts([Votes(1, B, flipped)])


RATES = {"strong": 0.75, "even": 0.5, "weak": 0.25}
BY_MODELS = [
    Votes(1, A, (A, A), scenario="Math", models=("strong", "weak")),
    Votes(2, B, (B, TIE), scenario="Code", models=("weak", "strong")),
    Votes(1, A, (B, A), scenario="Math", models=("even", "weak")),
    Votes(1, TIE, (A,), scenario="Math", models=("even", "strong")),  # no pair without ties
    Votes(1, A, (A,), scenario="Math", models=("strong", "strong")),
    Votes(1, A, (A,), scenario="Math", models=("strong", "")),
]


def test_the_agreement_on_two_models_stands_by_their_gap():
    found = gap_agreement(BY_MODELS, RATES)
    assert [(row.first, row.second, row.gap, row.votes.turn, row.votes.ties) for row in found] == [
        ("even", "weak", 0.25, None, False),
        ("strong", "weak", 0.5, None, False),
    ]
    # Judge with people: A against B and A; A against A twice, and B against B.
    assert [(row.votes.judge.agree, row.votes.judge.pairs) for row in found] == [(1, 2), (3, 3)]
    # Two people: B and A; A and A, the pair with the tie left out.
    assert [(row.votes.people.agree, row.votes.people.pairs) for row in found] == [(0, 1), (1, 1)]


def test_the_agreement_in_each_scenario_is_over_all_turns():
    found = scenario_agreement(BY_MODELS)
    assert [(name, row.ties, row.judge.agree, row.judge.pairs) for name, row in found] == [
        ("Math", True, 5, 7),
        ("Math", False, 5, 6),
        ("Code", True, 1, 2),
        ("Code", False, 1, 1),
    ]


def test_records_say_what_they_are_about():
    tables = AgreementTables(
        vote_agreement(BY_MODELS), scenario_agreement(BY_MODELS), gap_agreement(BY_MODELS, RATES)
    )
    found = tables.records()
    assert {by: len(rows) for by, rows in found.items()} == {"turn": 4, "scenario": 4, "gap": 2}
    assert list(found["turn"][0])[:2] == ["turn", "ties"]
    assert list(found["scenario"][0])[:3] == ["scenario", "ties", "judge_agree"]
    assert list(found["gap"][0])[:5] == ["first", "second", "gap", "ties", "judge_agree"]


def test_mt_bench_has_its_eight_fractions():
    """Protocols part D, from the recorded votes alone: FastChat's rule, people are expert_N.

    Key: question, the two models sorted, turn; any winner that begins with tie is a tie.
    """
    found: dict = {}
    for name in ("mtbench_votes_gpt4_pair.jsonl", "mtbench_votes_human.jsonl"):
        for line in shared_data(name).read_text("utf-8").splitlines():
            row = json.loads(line)
            verdict = WINNERS[row["winner"]]
            if row["model_a"] > row["model_b"]:
                verdict = verdict.flipped()
            models = tuple(sorted((row["model_a"], row["model_b"])))
            judge, people = found.setdefault((row["turn"], row["question_id"], models), ([], []))
            if row["judge"] == "gpt4_pair":
                judge.append(verdict)
            elif row["judge"].startswith("expert"):
                people.append(verdict)
    votes = [
        Votes(turn, judge[0] if judge else None, tuple(people))
        for (turn, _question, _models), (judge, people) in found.items()
    ]
    assert counts(votes) == {
        (1, True): (886, 1343, 454, 721),
        (1, False): (727, 859, 388, 479),
        (2, True): (871, 1325, 471, 707),
        (2, False): (731, 864, 388, 474),
    }
