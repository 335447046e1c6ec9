import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from judging.core.memory import (
    TEXT_FIELDS,
    Memory,
    content,
    grouped_examples,
    render,
    statistics,
    texts_to_json,
)
from judging.core.memory_parsing import MAX_ITEMS, MAX_TEXT, memory_from_content, parse_texts
from judging.core.questions import HistoryTurn
from tests.refusals import refuses


def make_turn(turn_id, score, *, scenario="travel", session="1"):
    return HistoryTurn(
        turn_id=turn_id,
        scenario=scenario,
        task_context="a week in Dalian",
        user_message="where to?",
        response="there",
        score=score,
        reason=Reason.OTHER if score < 4 else None,
        session_key=session,
    )


def make_texts(**changes):
    return {
        "scoring_style": {"text": "Strict.", "turn_ids": ["t1"]},
        "four_vs_five_distinction": {"text": "Prices make a 5.", "turn_ids": ["t2", "t1"]},
        "three_vs_four_distinction": "Plain lists stay at 3.",
        "user_specific_requirements": [{"text": "Names shops.", "turn_ids": ["t3"]}, "By train"],
        "preferred_response_format": {"text": "Numbered days."},
        "task_specific_observations": [
            {"task_name": "travel", "observation": "Wants times.", "turn_ids": ["t2"]}
        ],
    } | changes


def make_memory():
    history = [make_turn("t1", 5), make_turn("t2", 4), make_turn("t3", 4, scenario="gifts")]
    texts = parse_texts(make_texts(), turn_ids=["t1", "t2", "t3"]).texts
    return Memory(statistics(history), texts)


def test_words_are_all_that_is_said_and_no_turn():
    words = make_memory().texts.words()
    assert words[0] == "Strict."
    assert words[3] == ("Names shops.", "By train")
    assert words[5] == (("travel", "Wants times."),)
    other = parse_texts(
        make_texts(scoring_style={"text": "Strict.", "turn_ids": ["t2"]}), turn_ids=["t2"]
    )
    assert other.texts.words() == words
    changed = parse_texts(make_texts(preferred_response_format="Maps."), turn_ids=[])
    assert changed.texts.words() != words


def test_statistics_count_the_whole_history():
    stats = statistics(
        [
            make_turn("a", 5),
            make_turn("b", 3, session="2"),
            make_turn("c", 4, scenario="gifts"),
            make_turn("d", 5, scenario="gifts"),
        ]
    )
    assert stats.counts == (0, 0, 1, 1, 2)
    assert (stats.turns, stats.sessions, stats.mean) == (4, 3, 4.25)
    assert [(item.scenario, item.counts) for item in stats.scenarios] == [
        ("travel", (0, 0, 1, 0, 1)),
        ("gifts", (0, 0, 0, 1, 1)),
    ]
    assert stats.can_compare_3_vs_4
    assert stats.can_compare_4_vs_5


def test_statistics_of_no_history():
    stats = statistics([])
    assert (stats.turns, stats.sessions, stats.mean) == (0, 0, None)
    assert not stats.can_compare_3_vs_4
    assert not stats.can_compare_4_vs_5


@given(st.lists(st.integers(1, 5), min_size=1, max_size=80))
def test_no_turn_is_left_out_of_the_statistics(scores):
    history = [make_turn(str(at), score, session=str(at % 9)) for at, score in enumerate(scores)]
    stats = statistics(history)
    assert stats.turns == len(scores)
    assert stats.mean == pytest.approx(sum(scores) / len(scores))


def test_examples_are_grouped_highest_first_and_spread():
    history = [
        make_turn("a1", 5, session="1"),
        make_turn("a2", 5, session="1"),
        make_turn("a3", 5, session="2"),
        make_turn("b1", 5, scenario="gifts", session="1"),
        make_turn("c1", 2, scenario="gifts", session="1"),
    ]
    groups = grouped_examples(history, per_score=3)
    assert [(group.score, group.total) for group in groups] == [(5, 4), (2, 1)]
    # Scenarios take turns (travel, gifts, travel ...), within travel session 2 before a second
    # turn of session 1.
    assert [turn.turn_id for turn in groups[0].turns] == ["a1", "b1", "a3"]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(0, 2)), max_size=40))
def test_examples_repeat_no_turn_and_fill_each_group(rows):
    history = [
        make_turn(str(at), score, scenario=str(scenario), session=str(session))
        for at, (score, scenario, session) in enumerate(rows)
    ]
    for group in grouped_examples(history, per_score=4):
        ids = [turn.turn_id for turn in group.turns]
        assert len(set(ids)) == len(ids) == min(4, group.total)
        assert all(turn.score == group.score for turn in group.turns)


def test_texts_are_read_with_their_citations():
    parsed = parse_texts(make_texts(), turn_ids=["t1", "t2", "t3"])
    assert parsed.unknown_citations == 0
    assert parsed.texts.four_vs_five_distinction.turn_ids == ("t2", "t1")
    assert [item.text for item in parsed.texts.user_specific_requirements] == [
        "Names shops.",
        "By train",
    ]
    assert parsed.texts.cited() == ("t1", "t2", "t3")


def test_citations_beyond_the_history_are_dropped_and_counted():
    parsed = parse_texts(make_texts(), turn_ids=["t1"])
    assert parsed.texts.cited() == ("t1",)
    assert parsed.unknown_citations == 3  # t2 twice in two statements, t3 once


def test_ids_written_as_numbers_are_ids():
    texts = make_texts(scoring_style={"text": "Strict.", "turn_ids": [7, "7"]})
    assert parse_texts(texts, turn_ids=["7"]).texts.scoring_style.turn_ids == ("7",)


def test_white_space_is_folded_and_empty_items_go():
    parsed = parse_texts(
        make_texts(
            scoring_style=" Quite\n strict. ",
            user_specific_requirements=["", " "],
            task_specific_observations=[{"task_name": "x", "observation": " "}],
            four_vs_five_distinction="",
        ),
        turn_ids=[],
    )
    assert parsed.texts.scoring_style.text == "Quite strict."
    assert parsed.texts.user_specific_requirements == ()
    assert parsed.texts.task_specific_observations == ()
    assert parsed.texts.four_vs_five_distinction.text == ""


def test_a_judges_own_statistics_never_enter():
    parsed = parse_texts(make_texts(avg_satisfaction_score=1.0), turn_ids=[])
    assert "avg_satisfaction_score" not in texts_to_json(parsed.texts)


@pytest.mark.parametrize("name", TEXT_FIELDS)
def test_a_missing_field_is_refused(name):
    texts = make_texts()
    del texts[name]
    with refuses("memory:unparseable", match=f"{name} is missing"):
        parse_texts(texts, turn_ids=[])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scoring_style": ""}, "scoring_style is empty"),
        ({"scoring_style": 4}, "scoring_style is not a text"),
        ({"scoring_style": {"turn_ids": []}}, "text is missing"),
        ({"scoring_style": {"text": "x", "turn_ids": "t1"}}, "turn_ids of scoring_style"),
        ({"scoring_style": {"text": "x", "turn_ids": [None]}}, "turn_ids of scoring_style"),
        ({"scoring_style": "x" * (MAX_TEXT + 1)}, "longer than"),
        ({"user_specific_requirements": "none"}, "is not a list"),
        ({"user_specific_requirements": ["x"] * (MAX_ITEMS + 1)}, "more than 30 items"),
        ({"task_specific_observations": ["travel"]}, "is not an object"),
        ({"task_specific_observations": [{"task_name": "x"}]}, "observation is missing"),
    ],
)
def test_texts_of_another_form_are_refused(changes, message):
    with refuses("memory:unparseable", match=message) as caught:
        parse_texts(make_texts(**changes), turn_ids=[])
    assert caught.value.code == "memory:unparseable"


def test_a_memory_survives_storage():
    memory = make_memory()
    assert memory_from_content(content(memory)) == memory


def test_stored_citations_are_kept_whatever_they_name():
    stored = content(make_memory())
    assert memory_from_content(stored).texts.cited() == ("t1", "t2", "t3")


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("statistics", [], "not an object"),
        ("texts", None, "not an object"),
        ("statistics", {"counts": [0] * 5, "scenarios": []}, "sessions is missing"),
        ("statistics", {"counts": [0] * 5, "scenarios": [], "sessions": "2"}, "not a number"),
        ("statistics", {"counts": [0] * 5, "scenarios": ["x"], "sessions": 1}, "not an object"),
        ("statistics", {"counts": [0] * 5, "scenarios": [], "sessions": True}, "not a number"),
        ("statistics", {"counts": [True] * 5, "scenarios": [], "sessions": 1}, "counts is not"),
        ("statistics", {"counts": [0] * 4, "scenarios": [], "sessions": 1}, "counts is not"),
        ("statistics", {"counts": [-1] * 5, "scenarios": [], "sessions": 1}, "counts is not"),
    ],
)
def test_stored_data_of_another_form_is_refused(part, change, message):
    with refuses("memory:unparseable", match=message):
        memory_from_content(content(make_memory()) | {part: change})


def test_the_block_for_a_prompt_in_english():
    assert render(make_memory(), "en") == "\n".join(
        [
            "Scoring style: Strict.",
            "Historical average score: 4.33 over 3 turns"
            " (score 1: 0, score 2: 0, score 3: 0, score 4: 2, score 5: 1)",
            "Score-4 baseline: Plain lists stay at 3.",
            "Score-5 threshold: Prices make a 5.",
            "User-specific requirements:",
            "- Names shops.",
            "- By train",
            "Preferred response format: Numbered days.",
            "Task-specific observations:",
            "- travel: Wants times.",
        ]
    )


def test_the_block_for_a_prompt_in_chinese():
    lines = render(make_memory(), "zh-hans").splitlines()
    assert lines[0] == "评分风格：Strict."
    assert lines[1] == "历史平均分：4.33，共 3 轮（1分×0 / 2分×0 / 3分×0 / 4分×2 / 5分×1）"
    assert lines[-1] == "- travel：Wants times."


def test_what_the_history_does_not_show_is_said():
    texts = make_texts(
        four_vs_five_distinction="", user_specific_requirements=[], task_specific_observations=[]
    )
    memory = Memory(statistics([]), parse_texts(texts, turn_ids=[]).texts)
    text = render(memory, "en")
    assert "Historical average score: - over 0 turns" in text
    assert text.count("the history does not show it") == 3


def test_braces_in_a_text_are_text():
    texts = make_texts(scoring_style="Likes {curly} braces.")
    memory = Memory(statistics([]), parse_texts(texts, turn_ids=[]).texts)
    assert "Likes {curly} braces." in render(memory, "en")
