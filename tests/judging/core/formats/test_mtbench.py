from __future__ import annotations

import pytest

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.formats.mtbench import (
    looks_like_pairs,
    looks_like_singles,
    looks_like_votes,
    parse_pair,
    parse_single,
    parse_vote,
)
from tests.annotation.core.formats.rows import faults_of, record_of


def vote(**changes):
    data = {
        "question_id": 81,
        "model_a": "vicuna",
        "model_b": "alpaca",
        "winner": "model_a",
        "judge": "expert_1",
        "turn": 2,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def pair(**changes):
    data = {
        "question_id": 81,
        "model_1": "alpaca",
        "model_2": "vicuna",
        "g1_winner": "model_1",
        "g2_winner": "model_2",
        "judge": ["gpt-4", "pair-v2"],
        "g1_judgment": "[[A]]",
        "g2_judgment": "[[A]] too",
        "turn": 1,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def talk(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]


def test_a_persons_vote_is_a_label_on_the_turn_it_is_about():
    session = record_of(vote(), parse_vote)
    first, second = session.turns
    [comparison] = second.comparisons
    assert (session.key, session.sketch, session.verdicts) == ("81", True, ())
    assert first.comparisons == ()
    # The models stand in the order of their names, so vicuna, the first in the row, is B.
    assert comparison.key == "alpaca | vicuna"
    assert [(one.details.annotator, one.verdict) for one in comparison.labels] == [
        ("expert_1", Verdict.B)
    ]
    assert comparison.labels[0].shown_order is None
    assert [(one.model, one.text, one.continues) for one in second.responses] == [
        ("alpaca", None, "alpaca/"),
        ("vicuna", None, "vicuna/"),
    ]
    assert (comparison.a, comparison.b) == tuple(one.key for one in second.responses)


@pytest.mark.parametrize(
    ("winner", "verdict"),
    [("model_b", Verdict.A), ("tie", Verdict.TIE), ("tie (inconsistent)", Verdict.TIE)],
)
@pytest.mark.parametrize("judge", ["gpt4_pair", ["gpt-4", "pair-v2"]])
def test_any_other_judges_vote_stands_for_both_orders(winner, verdict, judge):
    session = record_of(vote(winner=winner, judge=judge), parse_vote)
    [said] = session.verdicts
    assert session.turns[1].comparisons[0].labels == ()
    assert (said.order, said.verdict, said.raw, said.turn) == (Order.COMBINED, verdict, winner, 1)
    assert said.judge in {"gpt4_pair", "gpt-4_pair"}


def test_conversations_bring_the_texts():
    session = record_of(
        vote(
            conversation_a=talk("Write.", "va", "Again.", "vb"),
            conversation_b=talk("Write.", "aa", "Again.", "ab"),
        ),
        parse_vote,
    )
    assert [turn.user_message for turn in session.turns] == ["Write.", "Again."]
    assert [[(one.model, one.text) for one in turn.responses] for turn in session.turns] == [
        [("alpaca", "aa"), ("vicuna", "va")],
        [("alpaca", "ab"), ("vicuna", "vb")],
    ]


def test_a_vote_on_the_first_turn_takes_the_first_turn_of_the_conversations():
    session = record_of(
        vote(turn=1, conversation_a=talk("W", "v", "A", "x"), conversation_b=talk("W", "a")),
        parse_vote,
    )
    assert len(session.turns) == 1


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"winner": "vicuna"}, "winner"),
        ({"winner": None}, "winner"),
        ({"model_b": "vicuna"}, "model_b"),
        ({"turn": 0}, "turn"),
        ({"turn": None}, "turn"),
        ({"judge": ["gpt-4"]}, "judge"),
        ({"judge": ["gpt-4", 1]}, "judge"),
        ({"judge": None}, "judge"),
        ({"conversation_a": talk("W", "v"), "conversation_b": talk("W", "a")}, "conversation_a"),
        (
            {"conversation_a": [{"role": "tool", "content": ""}], "conversation_b": talk("W", "a")},
            "conversation_a[0].role",
        ),
        (
            {
                "turn": 1,
                "conversation_a": talk("W", "v"),
                "conversation_b": talk("Another", "a"),
            },
            "conversation_b",
        ),
        (
            {
                "turn": "1",
                "conversation_a": talk("W"),
                "conversation_b": talk("W", "a"),
            },
            "conversation_a",
        ),
    ],
)
def test_what_a_vote_cannot_mean_is_a_fault(changes, fault):
    assert fault in [field for field, _reason in faults_of(vote(**changes), parse_vote)]


def test_game_1_shows_model_1_first_and_game_2_model_2():
    # alpaca is A: game 1 shows it first and it wins; game 2 shows vicuna, B, first and it wins.
    session = record_of(pair(), parse_pair)
    assert [(one.order, one.verdict, one.raw, one.judge) for one in session.verdicts] == [
        (Order.ORIGINAL, Verdict.A, "[[A]]", "gpt-4_pair"),
        (Order.SWAPPED, Verdict.B, "[[A]] too", "gpt-4_pair"),
    ]


def test_models_named_the_other_way_round_mean_the_same_comparison():
    turned = record_of(
        pair(model_1="vicuna", model_2="alpaca", g1_winner="model_2", g2_winner="tie"), parse_pair
    )
    straight = record_of(pair(), parse_pair)
    assert turned.turns[0].comparisons[0].key == straight.turns[0].comparisons[0].key
    assert [(one.order, one.verdict) for one in turned.verdicts] == [
        (Order.SWAPPED, Verdict.A),
        (Order.ORIGINAL, Verdict.TIE),
    ]


def test_an_error_is_no_verdict_and_a_failed_call_no_reply():
    session = record_of(
        pair(g1_winner="error", g2_winner="error", g2_judgment="$ERROR$"), parse_pair
    )
    assert [(one.status, one.error_code, one.verdict) for one in session.verdicts] == [
        (JudgmentStatus.UNPARSEABLE, "verdict:unparseable", None),
        (JudgmentStatus.FAILED, "recorded:call-failed", None),
    ]


def test_one_game_alone_is_one_order():
    session = record_of(pair(g2_winner=..., g2_judgment=..., judge="me"), parse_pair)
    assert [(one.order, one.judge) for one in session.verdicts] == [(Order.ORIGINAL, "me")]


def test_other_prompts_make_other_judges():
    assert record_of(pair(judge=["m", "arena-v1"]), parse_pair).verdicts[0].judge == "m_arena-v1"


def test_an_unknown_word_of_a_game_is_a_fault():
    [fault] = faults_of(pair(g1_winner="A"), parse_pair)
    assert fault == ("g1_winner", "Expected one of model_1, model_2, tie, error")


def test_rows_are_told_apart():
    assert looks_like_votes(vote())
    assert looks_like_pairs(pair())
    assert not looks_like_votes(vote(judge=...))
    assert not looks_like_pairs(pair(g1_winner=...))
    assert not looks_like_votes(1)
    assert not looks_like_pairs(None)


def single(**changes):
    data = {
        "question_id": 81,
        "model": "alpaca",
        "judge": ["gpt-4", "single-v1"],
        "judgment": "Rating: [[7]]",
        "score": 7,
        "turn": 1,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def test_a_single_judgment_grades_the_models_own_answer():
    record = record_of(single(turn=2, judge=["gpt-4", "single-math-v1-multi-turn"]), parse_single)
    assert (record.key, record.sketch, len(record.turns)) == ("81", True, 2)
    [score] = record.scores
    assert (score.judge, score.turn, score.model, score.value) == ("gpt-4_single", 1, "alpaca", 7)
    assert (score.status, score.raw) == (JudgmentStatus.DONE, "Rating: [[7]]")


@pytest.mark.parametrize(
    ("judgment", "status", "code"),
    [
        ("Fine.", JudgmentStatus.UNPARSEABLE, "verdict:unparseable"),
        ("$ERROR$", JudgmentStatus.FAILED, "recorded:call-failed"),
    ],
)
def test_a_reply_without_a_grade_is_no_grade(judgment, status, code):
    [score] = record_of(single(score=-1, judgment=judgment), parse_single).scores
    assert (score.value, score.status, score.error_code) == (None, status, code)


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (11, "Must be between 1 and 10"),
        (0.5, "Must be between 1 and 10"),
        ("7", "Expected a number"),
        (True, "Expected a number"),
        (None, "Expected a number"),
    ],
)
def test_a_grade_is_a_number_from_1_to_10(score, reason):
    assert faults_of(single(score=score), parse_single) == [("score", reason)]


def test_single_judgments_are_told_apart():
    assert looks_like_singles(single())
    assert not looks_like_singles(pair())
    assert not looks_like_singles("row")
