from __future__ import annotations

import pytest

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.formats.fastchat import looks_like_answers, looks_like_questions
from judging.core.formats import arena_hard as arena
from tests.annotation.core.formats.rows import faults_of, record_of
from tests.judging.core.formats.test_arena import battle, talk, without


def first_question():
    turns = [{"content": "Plan a bed."}]
    return {"question_id": "1a1a", "category": "arena-hard-v0.1", "cluster": "G", "turns": turns}


def first_answer(**changes):
    turns = [{"content": "Sage.", "token_len": 2}, {"content": "$ERROR$", "token_len": 0}]
    choices = [{"index": 0, "turns": turns}, {"index": 1, "turns": turns[:1]}]
    told = {"question_id": "1a1a", "answer_id": "x", "model_id": "m", "choices": choices}
    return {**told, "tstamp": 1.5, **changes}


def first_judgment(*games, **changes):
    told = {"question_id": "1a1a", "model": "m-small", "judge": "gpt-4-1106-preview"}
    return {**told, "games": list(games), **changes}


def test_an_answer_to_several_messages_is_a_fault():
    row = {"uid": "u", "model": "m", "messages": talk("Hi", "x", "Go on", "z")}
    reason = "Only the answer to one user message can be read"
    assert faults_of(row, arena.parse_answer) == [("messages", reason)]


def question(**changes):
    told = {"uid": "2edb", "category": "hard_prompt", "subcategory": "coding", "prompt": "Parse."}
    return without({**told, **changes})


def answer(content, **changes):
    messages = [{"role": "user", "content": "Parse."}, {"role": "assistant", "content": content}]
    told = {"uid": "2edb", "model": "qwen", "messages": messages, "metadata": {"token_len": 2}}
    return without({**told, **changes})


def test_the_first_layout_has_objects_as_turns():
    asked = record_of(first_question(), arena.parse_question)
    assert (asked.key, asked.scenario, asked.extra) == ("1a1a", "arena-hard-v0.1", {"cluster": "G"})
    assert [turn.user_message for turn in asked.turns] == ["Plan a bed."]
    answered = record_of(first_answer(), arena.parse_answer)
    assert answered.key == "1a1a"
    assert [
        [(one.variant, one.text, one.continues, one.extra) for one in turn.responses]
        for turn in answered.turns
    ] == [
        [("", "Sage.", None, {"token_len": 2}), ("choice 1", "Sage.", None, {"token_len": 2})],
        [("", None, "", {"token_len": 0})],
    ]


def test_the_baseline_of_the_first_layout_is_always_the_same():
    """The comparison is gpt-4-0314 | m-small: the baseline, which is A, is shown first."""
    told = first_judgment(game("A>>B", "[[A>>B]]"), game(None, "Either."))
    record = record_of(told, arena.parse_judgment)
    assert [one.model for one in record.turns[0].responses] == ["gpt-4-0314", "m-small"]
    assert verdicts(told) == [
        (Order.ORIGINAL, Verdict.A, "[[A>>B]]"),
        (Order.SWAPPED, None, "Either."),
    ]


@pytest.mark.parametrize("content", [None, {"answer": None}, "$ERROR$", {"answer": "$ERROR$"}])
def test_an_answer_that_was_not_given_is_not_available(content):
    [[response]] = [each.responses for each in record_of(answer(content), arena.parse_answer).turns]
    assert response.text is None


def test_what_a_model_thought_is_kept_beside_its_answer():
    told = answer({"answer": "def", "thought": "Let me see."}, metadata=...)
    [[response]] = [each.responses for each in record_of(told, arena.parse_answer).turns]
    assert (response.text, response.extra) == ("def", {"reasoning": "Let me see."})


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
        (answer({}, messages=[{"role": "assistant"}]), ("messages[0].content", "Missing")),
        (
            answer(
                "",
                messages=[
                    {"role": "system", "content": "Hi"},
                    {"role": "assistant", "content": "x"},
                ],
            ),
            ("messages[0].role", "Expected user or assistant"),
        ),
        (first_answer(choices=[]), ("choices", "Expected at least one choice")),
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
    record = record_of(judgment(game(None), None), arena.parse_judgment)
    assert [each.status for each in record.verdicts] == [
        JudgmentStatus.UNPARSEABLE,
        JudgmentStatus.FAILED,
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
        arena.looks_like_questions: question(),
        arena.looks_like_answers: answer("x"),
        arena.looks_like_judgments: judgment(),
    }
    for looks_like, own in rows.items():
        assert [each for each in rows.values() if looks_like(each)] == [own]
        assert not looks_like("row")
    first = {
        arena.looks_like_questions: first_question(),
        arena.looks_like_answers: first_answer(),
        arena.looks_like_judgments: first_judgment(game("A>B")),
    }
    for looks_like, own in first.items():
        assert [each for each in first.values() if looks_like(each)] == [own]
        assert not looks_like(battle())
    assert not looks_like_questions(first_question())
    assert not looks_like_answers(first_answer())
    assert looks_like_answers({**first_answer(), "choices": [{"turns": []}]})
