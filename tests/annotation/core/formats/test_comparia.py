from __future__ import annotations

import json

import pytest

from annotation.core.choices import Order, Reason, Verdict
from annotation.core.formats import comparia
from tests.annotation.core.formats.rows import faults_of, record_of


def dialogue(*texts, **more):
    return [
        {"role": ("user", "assistant")[place % 2], "content": text, **(more if place % 2 else {})}
        for place, text in enumerate(texts)
    ]


A = dialogue("Quel fromage ?", "De la raclette.", "Et sans lait ?", "Un fromage végétal.")
B = dialogue("Quel fromage ?", "Du brie.", "Et sans lait ?", "Impossible.")


def pair(**changes):
    told = {
        "timestamp": "2025-01-05 12:00:01.5",
        "model_a_name": "mistral",
        "model_b_name": "gemma",
        "conversation_a": A,
        "conversation_b": B,
        "conversation_pair_id": "p1",
        "session_hash": "s1",
        "visitor_id": "v1",
        "model_pair_name": ["gemma", "mistral"],
        "opening_msg": "Quel fromage ?",
        "conv_turns": 2,
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


def vote(**changes):
    told = {
        "chosen_model_name": "mistral",
        "both_equal": False,
        "conv_comments_a": "Clair.",
        "conv_comments_b": "Faux.\n",
        "conv_useful_a": True,
    }
    return pair(**{**told, **changes})


def reaction(**changes):
    told = {
        "model_pos": "b",
        "refers_to_model": "gemma",
        "msg_index": 3,
        "msg_rank": 1,
        "response_content": "Impossible.",
        "question_content": "Et sans lait ?",
        "liked": False,
        "disliked": True,
        "comment": "Faux.",
        "superficial": True,
    }
    return pair(**{**told, **changes})


def test_a_vote_is_on_the_last_turn_of_both_conversations():
    session = record_of(vote(), comparia.parse_vote)
    assert (session.key, session.scenario, session.user) == ("p1", "comparia", None)
    first, last = session.turns
    assert [turn.user_message for turn in session.turns] == ["Quel fromage ?", "Et sans lait ?"]
    assert [(each.model, each.text, each.continues) for each in first.responses] == [
        ("mistral", "De la raclette.", None),
        ("gemma", "Du brie.", None),
    ]
    assert [each.continues for each in last.responses] == ["a", "b"]
    assert not any(each.original for turn in session.turns for each in turn.responses)
    assert first.comparisons == ()
    [comparison] = last.comparisons
    [label] = comparison.labels
    assert (comparison.a, label.verdict, label.shown_order) == ("a", Verdict.A, Order.ORIGINAL)
    assert (label.details.annotator, label.details.comment) == ("v1", "A: Clair.\nB: Faux.\n")
    assert label.details.given_at is None
    assert label.details.extra == {
        "timestamp": "2025-01-05 12:00:01.5",
        "session_hash": "s1",
        "conv_useful_a": True,
    }
    assert comparison.extra == {}


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({"chosen_model_name": "gemma"}, [Verdict.B]),
        ({"chosen_model_name": None, "both_equal": True}, [Verdict.TIE]),
        ({"chosen_model_name": None, "both_equal": False}, []),
    ],
)
def test_a_vote_may_be_a_tie_or_none(changes, verdicts):
    [comparison] = record_of(vote(**changes), comparia.parse_vote).turns[1].comparisons
    assert [each.verdict for each in comparison.labels] == verdicts
    assert bool(comparison.extra) is not bool(verdicts)


def test_who_votes_is_the_visitor_the_session_or_nobody():
    for changes, name in (
        ({"visitor_id": None}, "s1"),
        ({"visitor_id": "", "session_hash": ...}, "comparia"),
    ):
        told = record_of(vote(**changes, conv_comments_a=""), comparia.parse_vote)
        [label] = told.turns[1].comparisons[0].labels
        assert (label.details.annotator, label.details.comment) == (name, "B: Faux.\n")


def test_conversations_may_be_json_and_a_reply_may_be_missing():
    told = vote(conversation_a=json.dumps(A), conversation_b=B[:3])
    session = record_of(told, comparia.parse_vote)
    assert [each.text for each in session.turns[0].responses] == ["De la raclette.", "Du brie."]
    assert [each.text for each in session.turns[1].responses] == ["Un fromage végétal.", None]


def test_what_both_models_were_told_is_the_system_prompt():
    system = [{"role": "system", "content": "Réponds en français."}]
    same = record_of(
        vote(conversation_a=system + A, conversation_b=system + B), comparia.parse_vote
    )
    assert same.system_prompt == "Réponds en français."
    named = vote(system_prompt_a="Sois bref.", system_prompt_b="Sois bref.")
    assert record_of(named, comparia.parse_vote).system_prompt == "Sois bref."
    other = record_of(vote(system_prompt_a="Sois bref."), comparia.parse_vote)
    assert other.system_prompt == ""
    assert [each.extra for each in other.turns[0].responses] == [
        {"system_prompt": "Sois bref."},
        {},
    ]


def test_what_a_model_thought_is_kept_apart_and_one_model_twice_is_two():
    thought = dialogue("Quel fromage ?", "Du brie.", reasoning_content="Mou.")
    told = vote(
        conversation_a=thought, conversation_b=thought, model_b_name="mistral", conv_turns=1
    )
    [turn] = record_of(told, comparia.parse_vote).turns
    assert [(each.text, each.variant, each.extra) for each in turn.responses] == [
        ("Du brie.", "", {"reasoning": "Mou."}),
        ("Du brie.", "B", {"reasoning": "Mou."}),
    ]


DIFFER = "The two conversations have different user messages"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"chosen_model_name": "gpt"}, ("chosen_model_name", "Neither of the two models")),
        ({"conversation_b": B[:2]}, ("conversation_b", DIFFER)),
        ({"conversation_a": [], "conversation_b": []}, ("conversation_b", DIFFER)),
    ],
)
def test_a_vote_that_cannot_be_understood_is_a_fault(changes, fault):
    assert faults_of(vote(**changes), comparia.parse_vote) == [fault]


def test_json_that_is_none_is_a_fault():
    faults = faults_of(vote(conversation_a="[{"), comparia.parse_vote)
    assert faults[0][0] == "conversation_a"


@pytest.mark.parametrize(
    ("changes", "side", "turn", "score", "reason"),
    [
        ({}, "b", 1, 1, Reason.NOT_RECORDED),
        (
            {
                "model_pos": "a",
                "msg_rank": ...,
                "response_content": "De la raclette.",
                "liked": True,
                "disliked": False,
            },
            "a",
            0,
            5,
            None,
        ),
    ],
)
def test_a_reaction_rates_one_reply(changes, side, turn, score, reason):
    session = record_of(reaction(**changes), comparia.parse_reaction)
    rated = [
        (place, each.key, rating)
        for place, told in enumerate(session.turns)
        for each in told.responses
        for rating in each.satisfaction
    ]
    [(place, key, rating)] = rated
    assert (place, key, rating.score, rating.reason) == (turn, side, score, reason)
    assert (rating.details.annotator, rating.details.comment) == ("v1", "Faux.")
    assert rating.details.extra["superficial"] is True


def test_a_reaction_that_likes_nothing_rates_nothing_and_is_kept():
    told = reaction(liked=None, disliked=False)
    [_first, last] = record_of(told, comparia.parse_reaction).turns
    assert last.responses[1].satisfaction == ()
    kept = last.responses[1].extra["reaction"]
    assert (kept["superficial"], kept["comment"], kept["visitor_id"]) == (True, "Faux.", "v1")


def test_of_equal_replies_the_rank_tells_which():
    twice = dialogue("Un ?", "Oui.", "Deux ?", "Oui.")
    told = {"conversation_a": twice, "conversation_b": twice, "response_content": "Oui."}
    for rank, place in ((0, 0), (1, 1), (7, 0)):
        turns = record_of(reaction(**told, msg_rank=rank), comparia.parse_reaction).turns
        assert [bool(turn.responses[1].satisfaction) for turn in turns] == [place == 0, place == 1]


def test_a_vote_and_a_reaction_share_their_session():
    one = record_of(vote(), comparia.parse_vote)
    other = record_of(reaction(), comparia.parse_reaction)
    assert (one.key, one.scenario) == (other.key, other.scenario)


def test_the_system_prompt_of_a_reaction_is_that_of_its_model():
    told = record_of(reaction(system_prompt="Sois bref."), comparia.parse_reaction)
    assert [each.extra for each in told.turns[0].responses] == [
        {},
        {"system_prompt": "Sois bref."},
    ]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"model_pos": "c"}, ("model_pos", "Expected one of a, b")),
        ({"liked": True}, ("liked", "A reply cannot be both liked and disliked")),
        ({"response_content": "Non."}, ("response_content", "Not among the replies of this model")),
        ({"conversation_b": B[:2]}, ("conversation_b", DIFFER)),
    ],
)
def test_a_reaction_that_cannot_be_understood_is_a_fault(changes, fault):
    assert fault in faults_of(reaction(**changes), comparia.parse_reaction)


def test_rows_are_told_apart():
    assert comparia.looks_like_votes(vote())
    assert not comparia.looks_like_votes(reaction())
    assert not comparia.looks_like_votes("row")
    assert comparia.looks_like_reactions(reaction())
    assert not comparia.looks_like_reactions(vote())
    assert not comparia.looks_like_reactions("row")
