from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.compared import SAME_TEXTS
from annotation.core.formats.fields import parsed
from annotation.core.formats.ultrafeedback_binarized import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def said(role, content, **more):
    return {"content": content, "role": role, **more}


def dialogue(answer, *before):
    return [*(before or [said("user", "How tall?")]), said("assistant", answer)]


def row(**changes):
    told = {
        "prompt": "How tall?",
        "prompt_id": "f0e1" * 16,
        "chosen": dialogue("Five metres."),
        "rejected": dialogue("Tall."),
        "messages": dialogue("Five metres."),
        "score_chosen": 8.5,
        "score_rejected": 3.0,
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


def argilla(**changes):
    return row(
        **{
            "prompt_id": ...,
            "messages": ...,
            "score_chosen": ...,
            "score_rejected": ...,
            "source": "evol_instruct",
            "chosen-rating": 4.75,
            "chosen-model": "gpt-4",
            "rejected-rating": 2.25,
            "rejected-model": "alpaca-7b",
            **changes,
        }
    )


def test_the_chosen_response_is_the_gold_answer_and_scores_are_kept():
    session = record_of(row(), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    texts = {each.key: each.text for each in turn.responses}
    assert (session.scenario, turn.user_message) == ("ultrafeedback", "How tall?")
    assert texts == {"chosen": "Five metres.", "rejected": "Tall."}
    [gold] = comparison.gold
    assert (comparison.a if gold.verdict is Verdict.A else comparison.b) == "chosen"
    assert [each.details.annotator for each in comparison.labels] == ["benchmark"]
    assert comparison.extra == {
        "prompt_id": "f0e1" * 16,
        "score_chosen": 8.5,
        "score_rejected": 3.0,
    }
    assert comparison.key.startswith("f0e1" * 8 + "-")


def test_argillas_rows_name_the_models():
    session = record_of(argilla(), parse)
    [turn] = session.turns
    assert session.scenario == "evol_instruct"
    assert {each.key: each.model for each in turn.responses} == {
        "chosen": "gpt-4",
        "rejected": "alpaca-7b",
    }
    assert turn.comparisons[0].extra == {"chosen-rating": 4.75, "rejected-rating": 2.25}


@pytest.mark.parametrize("rejected", ["Five metres.", "Tall.", ""])
def test_equal_scores_are_a_tie_also_of_equal_texts(rejected):
    session = record_of(row(rejected=dialogue(rejected), score_rejected=8.5), parse)
    [turn] = session.turns
    assert [gold.verdict for gold in turn.comparisons[0].gold] == [Verdict.TIE]
    assert len({(each.text, each.variant) for each in turn.responses}) == 2


def test_equal_texts_with_other_scores_say_nothing():
    found = parsed(1, row(rejected=dialogue("Five metres.")), parse)
    assert (found.record, found.faults, found.skipped) == (None, (), SAME_TEXTS)


def test_an_empty_response_is_one_and_a_score_may_be_missing():
    session = record_of(row(rejected=dialogue(""), score_rejected=None), parse)
    [turn] = session.turns
    assert "" in {each.text for each in turn.responses}
    assert turn.comparisons[0].gold[0].verdict is not Verdict.TIE


def test_a_dialogue_a_system_prompt_and_what_was_thought_are_kept():
    before = [
        said("system", "Be brief."),
        said("user", "How tall?"),
        said("assistant", "Who?"),
        said("user", "A giraffe."),
    ]
    chosen = [*before, said("assistant", "Five metres.", thinking="Long neck.")]
    session = record_of(
        row(chosen=chosen, messages=chosen, rejected=dialogue("Tall.", *before)), parse
    )
    assert session.system_prompt == "Be brief."
    assert [turn.user_message for turn in session.turns] == ["How tall?", "A giraffe."]
    [one] = [each for each in session.turns[1].responses if each.key == "chosen"]
    assert (one.text, one.extra) == ("Five metres.", {"reasoning": "Long neck."})


DIFFER = (
    "The dialogues in chosen and rejected differ before the last message, so they do not compare "
    "two responses to the same message"
)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"rejected": dialogue("Tall.", said("user", "How?"))}, ("rejected", DIFFER)),
        (
            {"prompt": "How wide?"},
            ("prompt", "The messages before the response do not begin with the prompt"),
        ),
        ({"rejected": []}, ("rejected", "Must end with an assistant message")),
        (
            {"rejected": [said("user", "How tall?")]},
            ("rejected", "Must end with an assistant message"),
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, fault):
    assert fault in faults_of(row(**changes), parse)


def test_other_messages_than_the_chosen_dialogue_have_no_place():
    assert [field for field, _reason in faults_of(row(messages=dialogue("x")), parse)] == [
        "messages"
    ]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert looks_like(argilla())
    assert not looks_like(row(score_chosen=...))
    assert not looks_like(row(chosen=...))
    assert not looks_like("row")
