from __future__ import annotations

from datetime import UTC, datetime

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.formats import arena
from tests.annotation.core.formats.rows import faults_of, record_of


def without(told):
    return {key: value for key, value in told.items() if value is not ...}


def battle(**changes):
    return without(
        {
            "model_a": "vicuna",
            "model_b": "gpt-4",
            "winner": "model_b",
            "judge": "arena_user_1",
            "turn": 1,
            "anony": True,
            "language": "English",
            "tstamp": 1682351591.5,
            "conv_metadata": {"sum_assistant_a_tokens": 54},
            **changes,
        }
    )


def talk(*texts):
    return [
        {"role": "assistant" if place % 2 else "user", "content": text}
        for place, text in enumerate(texts)
    ]


def test_a_system_prompt_of_both_conversations_is_the_sessions():
    system = [{"role": "system", "content": "Be brief."}]
    conversations = {
        f"conversation_{side}": system + talk("Hi", text)
        for side, text in zip("ab", "xy", strict=True)
    }
    session = record_of(battle(**conversations), arena.parse_battle)
    assert session.system_prompt == "Be brief."
    assert [turn.user_message for turn in session.turns] == ["Hi"]


@pytest.mark.parametrize(
    ("a", "b", "fault"),
    [
        (
            [{"role": "system", "content": "Be brief."}, *talk("Hi", "x")],
            talk("Hi", "y"),
            "Differs from the other system prompt of this row",
        ),
        (talk("Hi", "x"), talk("Bye", "y"), "The two conversations have different user messages"),
        (
            talk("Hi", "x", "Go on", "z"),
            talk("Hi", "y"),
            "The two conversations have different user messages",
        ),
    ],
)
def test_conversations_of_which_a_part_would_be_lost_are_a_fault(a, b, fault):
    row = battle(conversation_a=a, conversation_b=b)
    assert faults_of(row, arena.parse_battle) == [("conversation_b", fault)]


def test_an_answer_to_several_messages_is_a_fault():
    row = {"uid": "u", "model": "m", "messages": talk("Hi", "x", "Go on", "z")}
    reason = "Only the answer to one user message can be read"
    assert faults_of(row, arena.parse_answer) == [("messages", reason)]


def test_a_battle_is_a_vote_on_two_models_the_first_of_them_on_the_left():
    session = record_of(battle(), arena.parse_battle)
    [turn] = session.turns
    [comparison] = turn.comparisons
    [label] = comparison.labels
    assert (session.scenario, turn.user_message) == ("arena", None)
    assert [(one.model, one.text) for one in turn.responses] == [("vicuna", None), ("gpt-4", None)]
    assert (label.verdict, label.shown_order, label.both_bad) == (Verdict.B, Order.ORIGINAL, False)
    assert label.details.annotator == "arena_user_1"
    assert label.details.given_at == datetime(2023, 4, 24, 15, 53, 11, 500_000, UTC)
    assert comparison.extra == {
        "anony": True,
        "language": "English",
        "conv_metadata": {"sum_assistant_a_tokens": 54},
    }


def test_in_which_turn_a_battle_without_texts_was_is_kept():
    for told, kept in ((2, {"turn": 2}), (1, {}), ([2], {"turn": [2]})):
        [turn] = record_of(battle(turn=told, anony=..., language=...), arena.parse_battle).turns
        assert turn.comparisons[0].extra == {"conv_metadata": {"sum_assistant_a_tokens": 54}} | kept


def test_both_can_be_bad_and_voters_can_be_unknown():
    told = battle(winner="tie (bothbad)", judge=..., tstamp=None, question_id="q1")
    [turn] = record_of(told, arena.parse_battle).turns
    [label] = turn.comparisons[0].labels
    assert (label.verdict, label.both_bad) == (Verdict.TIE, True)
    assert (label.details.annotator, label.details.given_at) == ("arena", None)


def test_a_battle_is_named_by_its_id_or_by_all_but_its_outcome():
    one, other = battle(), battle(winner="tie")
    keys = {record_of(each, arena.parse_battle).key for each in (one, other)}
    assert len(keys) == 1
    assert record_of(battle(tstamp=1.0), arena.parse_battle).key not in keys
    assert record_of(battle(question_id="q1"), arena.parse_battle).key == "q1"


def test_conversations_bring_the_texts_each_model_after_its_own():
    told = battle(
        conversation_a=talk("Hi", "Hello!", "Bye", "Goodbye!"),
        conversation_b=talk("Hi", "Hi.", "Bye", "Bye."),
    )
    session = record_of(told, arena.parse_battle)
    assert [turn.user_message for turn in session.turns] == ["Hi", "Bye"]
    assert [[one.text for one in turn.responses] for turn in session.turns] == [
        ["Hello!", "Hi."],
        ["Goodbye!", "Bye."],
    ]
    assert [[one.continues for one in turn.responses] for turn in session.turns] == [
        [None, None],
        ["a", "b"],
    ]
    assert [len(turn.comparisons) for turn in session.turns] == [0, 1]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"winner": "model_c"},
            (
                "winner",
                "Expected one of model_a, model_b, tie, tie (bothbad), tie (inconsistent)",
            ),
        ),
        ({"winner": None}, ("winner", "Missing")),
        ({"tstamp": None}, ("tstamp", "Needs question_id or tstamp to tell battles apart")),
        ({"tstamp": "noon"}, ("tstamp", "Expected a number of seconds")),
        (
            {"conversation_a": talk("a", "b")[::-1], "conversation_b": talk("a", "b")},
            (
                "conversation_a",
                "Expected user and assistant messages in turns, the user first",
            ),
        ),
    ],
)
def test_what_a_battle_lacks_is_a_fault(changes, fault):
    assert faults_of(battle(**changes), arena.parse_battle) == [fault]


def question(**changes):
    told = {"uid": "2edb", "category": "hard_prompt", "subcategory": "coding", "prompt": "Parse."}
    return without({**told, **changes})


def answer(content, **changes):
    messages = [{"role": "user", "content": "Parse."}, {"role": "assistant", "content": content}]
    told = {"uid": "2edb", "model": "qwen", "messages": messages, "metadata": {"token_len": 2}}
    return without({**told, **changes})


def test_a_question_of_arena_hard_is_an_unanswered_session():
    session = record_of(question(), arena.parse_question)
    assert (session.key, session.scenario, session.sketch) == ("2edb", "hard_prompt", False)
    assert [(turn.user_message, turn.responses) for turn in session.turns] == [("Parse.", ())]
    assert session.extra == {"subcategory": "coding"}


@pytest.mark.parametrize("content", [{"answer": "def"}, "def"])
def test_an_answer_names_its_question_and_keeps_what_was_counted(content):
    session = record_of(answer(content), arena.parse_answer)
    [[response]] = [turn.responses for turn in session.turns]
    assert session.sketch
    assert (response.model, response.text, response.extra) == ("qwen", "def", {"token_len": 2})


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (answer("x", messages=[]), ("messages", "Expected at least one message")),
        (answer({"text": "x"}), ("messages[1].content", "Missing")),
        (answer(["x"]), ("messages[1].content", "Expected a string")),
    ],
)
def test_what_an_answer_lacks_is_a_fault(told, fault):
    assert faults_of(told, arena.parse_answer) == [fault]


def game(score, judgment="…"):
    return {"score": score, "judgment": judgment}


def judgment(*games, **changes):
    told = {"uid": "2edb", "judge": "gpt-4.1", "model": "qwen", "baseline": "o3"}
    return without({**told, "games": list(games), **changes})


def verdicts(told):
    record = record_of(told, arena.parse_judgment)
    return [(each.order, each.verdict, each.raw) for each in record.verdicts]


def test_the_baseline_is_shown_first_in_the_first_game_and_last_in_the_second():
    """The comparison is o3 | qwen: A is the baseline, and then, as `a-model`, the model."""
    games = (game("A>>B", {"answer": "[[A>>B]]"}), game("A=B"))
    assert verdicts(judgment(*games)) == [
        (Order.ORIGINAL, Verdict.A, "[[A>>B]]"),
        (Order.SWAPPED, Verdict.TIE, "…"),
    ]
    assert verdicts(judgment(*games, model="a-model")) == [
        (Order.SWAPPED, Verdict.B, "[[A>>B]]"),
        (Order.ORIGINAL, Verdict.TIE, "…"),
    ]


@pytest.mark.parametrize(
    ("score", "verdict"),
    [("A>B", Verdict.A), ("B>>A", Verdict.B), ("B<A", Verdict.A), ("A<<B", Verdict.B)],
)
def test_every_label_and_its_mirror_image_is_read(score, verdict):
    assert verdicts(judgment(game(score, None))) == [(Order.ORIGINAL, verdict, score)]


def test_a_game_without_a_verdict_or_that_was_not_played_has_none():
    assert verdicts(judgment(game(None), None)) == [
        (Order.ORIGINAL, None, "…"),
        (Order.SWAPPED, None, ""),
    ]


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (judgment(), ("games", "Expected one or two games")),
        (judgment(games=None), ("games", "Expected one or two games")),
        (judgment("A"), ("games[0]", "Expected an object")),
        (judgment(game("A>>>B")), ("games[0].score", None)),
        (judgment(game(1)), ("games[0].score", None)),
        (judgment(game("A>B"), baseline="qwen"), ("baseline", "This is the other model")),
    ],
)
def test_what_cannot_be_understood_of_a_judgment_is_a_fault(told, fault):
    [(field, reason)] = faults_of(told, arena.parse_judgment)
    assert field == fault[0]
    assert fault[1] in {None, reason}


def test_rows_are_told_apart():
    rows = {
        arena.looks_like_battles: battle(),
        arena.looks_like_questions: question(),
        arena.looks_like_answers: answer("x"),
        arena.looks_like_judgments: judgment(),
    }
    for looks_like, own in rows.items():
        assert [each for each in rows.values() if looks_like(each)] == [own]
        assert not looks_like("row")
    vote = {"question_id": 81, "model_a": "a", "model_b": "b", "winner": "tie", "judge": "j"}
    assert not arena.looks_like_battles({**vote, "turn": 1})
