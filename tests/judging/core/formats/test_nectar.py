from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.formats.nectar import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def answer(text, model, rank):
    return {"answer": text, "model": model, "rank": rank}


THREE = (
    answer("Six minutes.", "gpt-4", 1.0),
    answer("Ten.", "llama", 2.0),
    answer("Eggs boil.", "mistral", 3.0),
)


def row(*answers, **changes):
    told = {
        "prompt": "\n\nHuman: How long do eggs boil?\n\nAssistant: ",
        "answers": list(answers or THREE),
        "turns": 1,
        "num_responses": 3,
        "source": ["sharegpt", "other"],
        "good_natured": True,
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


def winners(session):
    turn = session.turns[-1]
    texts = {each.key: each.text for each in turn.responses}
    pairs = {each.key: (texts[each.a], texts[each.b]) for each in turn.comparisons}
    won = []
    for each in session.verdicts:
        assert (each.judge, each.order, each.turn) == (
            "gpt-4",
            Order.COMBINED,
            len(session.turns) - 1,
        )
        a, b = pairs[each.comparison]
        won.append({Verdict.A: (a, b), Verdict.B: (b, a), Verdict.TIE: {a, b}}[each.verdict])
    return won


def test_of_every_two_answers_the_one_of_lower_rank_is_better():
    session = record_of(row(), parse)
    [turn] = session.turns
    assert (session.scenario, turn.user_message) == ("sharegpt", "How long do eggs boil?")
    assert [(each.model, each.text) for each in turn.responses] == [
        ("gpt-4", "Six minutes."),
        ("llama", "Ten."),
        ("mistral", "Eggs boil."),
    ]
    assert sorted(winners(session)) == [
        ("Six minutes.", "Eggs boil."),
        ("Six minutes.", "Ten."),
        ("Ten.", "Eggs boil."),
    ]
    assert not any(each.labels or each.gold for each in turn.comparisons)
    assert turn.responses[0].extra == {"rank": 1.0}
    assert session.extra == {
        "turns": 1,
        "num_responses": 3,
        "source": ["sharegpt", "other"],
        "good_natured": True,
    }


def test_equal_ranks_tie_equal_answers_are_two_and_some_have_no_rank():
    told = row(answer("Ten.", "llama", 1), answer("Ten.", "llama", 1.0), answer("Six.", None, None))
    session = record_of(told, parse)
    [turn] = session.turns
    assert [(each.model, each.variant) for each in turn.responses] == [
        ("llama", ""),
        ("llama", "B"),
        ("", ""),
    ]
    assert winners(session) == [{"Ten."}]


@pytest.mark.parametrize(
    ("prompt", "asked", "said"),
    [
        (
            "\n\nHuman: A tree?\n\nAssistant: Oak.\n\nHuman: Another.\n\nAssistant:",
            ["A tree?", "Another."],
            ["Oak."],
        ),
        ("Human: A tree?\n\nOr a bush?\n\nAssistant: ", ["A tree?\n\nOr a bush?"], []),
        ("\n\nHuman: Say\nHuman: no\n\nAssistant: ", ["Say\nHuman: no"], []),
        ("A tree?", ["A tree?"], []),
        ("Well.\n\nHuman: A tree?", ["Well.\n\nHuman: A tree?"], []),
        ("\n\nHuman: A tree?", ["A tree?"], []),
    ],
)
def test_a_prompt_is_split_where_somebody_speaks(prompt, asked, said):
    session = record_of(row(prompt=prompt), parse)
    assert [turn.user_message for turn in session.turns] == asked
    assert [turn.responses[0].text for turn in session.turns[:-1]] == said
    assert len(winners(session)) == 3


@pytest.mark.parametrize(
    ("source", "scenario"), [([], "nectar"), ("flan", "flan"), (None, "nectar"), ([3], "nectar")]
)
def test_the_first_source_is_the_scenario(source, scenario):
    assert record_of(row(source=source), parse).scenario == scenario


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (row(answer("x", "m", "first")), ("answers[0].rank", "Expected a whole number from 0 to")),
        (row(turns=[{"user": "x"}]), ("turns", "This format has no place for this field")),
    ],
)
def test_what_cannot_be_understood_is_a_fault(told, fault):
    [(field, reason)] = faults_of(told, parse)
    assert (field, reason[: len(fault[1])]) == fault


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(prompt=...))
    assert not looks_like(row(answers=[]))
    assert not looks_like(row(answers="x"))
    assert not looks_like(row(answers=[{"answer": "x"}]))
    assert not looks_like("row")
