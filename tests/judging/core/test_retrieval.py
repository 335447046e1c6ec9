from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from annotation.core.conversations import Message, Speaker
from judging.core.memory import Memory, content, render, statistics
from judging.core.memory_parsing import parse_texts
from judging.core.retrieval import (
    HistoryRating,
    UserSession,
    UserTurn,
    build_blocks,
    conversation,
    known_profile,
    memory_question,
    rated_turns,
    response_target,
    session_target,
    turn_question,
    window,
)
from judging.core.rules import Level, Variant

TEXTS = {
    "scoring_style": "Strict.",
    "four_vs_five_distinction": "",
    "three_vs_four_distinction": "",
    "user_specific_requirements": [],
    "preferred_response_format": "",
    "task_specific_observations": [],
}


def rate(turn_id, response, score):
    if score is None:
        return ()
    return (HistoryRating(turn_id, response, score, Reason.UNUSABLE if score < 4 else None),)


def make_session(key, scenario, scores, *, user="u", profile=None):
    turns = tuple(
        UserTurn(f"ask {at}", f"answer {at}", rate(f"{key}-{at}", f"answer {at}", score))
        for at, score in enumerate(scores)
    )
    return UserSession(user, scenario, key, f"task of {key}", turns, profile or {})


def test_history_is_the_users_other_scenarios():
    blocks = build_blocks(
        [
            make_session("t1", "travel", [5, 3]),
            make_session("g1", "gifts", [4]),
            make_session("o1", "gifts", [1], user="other"),
            make_session("t2", "travel", [2]),
        ]
    )
    assert [(block.user, block.scenario) for block in blocks] == [
        ("u", "travel"),
        ("u", "gifts"),
        ("other", "gifts"),
    ]
    travel, gifts, other = blocks
    assert [target.turn_id for target in travel.targets] == ["t1-0", "t1-1", "t2-0"]
    assert [(turn.turn_id, turn.score) for turn in travel.history] == [("g1-0", 4)]
    assert [turn.turn_id for turn in gifts.history] == ["t1-0", "t1-1", "t2-0"]
    assert gifts.history[1].reason is Reason.UNUSABLE
    assert other.history == ()


def test_only_labelled_turns_count():
    blocks = build_blocks(
        [make_session("t", "travel", [None, 4]), make_session("x", "gifts", [None])]
    )
    (block,) = blocks
    assert [target.turn_id for target in block.targets] == ["t-1"]
    assert block.history == ()


def test_a_target_says_where_it_stands():
    (block,) = build_blocks([make_session("t", "travel", [4, 4], profile={"age": 20})])
    target = block.targets[1]
    assert (target.session_key, target.position, target.task_context) == ("t", 1, "task of t")
    assert (target.user_message, target.response) == ("ask 1", "answer 1")
    assert target.profile == {"age": 20}


def test_the_window_is_the_last_five_messages_before_the_response():
    session = make_session("t", "travel", [4, 4, 4, 4])
    assert [message.text for message in window(session.turns, before=3)] == [
        "ask 1",
        "answer 1",
        "ask 2",
        "answer 2",
        "ask 3",
    ]
    assert window(session.turns, before=0) == (Message(Speaker.USER, "ask 0"),)
    assert len(window(session.turns, before=3, messages=1)) == 1


def test_two_messages_of_one_side_in_a_row_both_stand():
    turns = (
        UserTurn("first", None),
        UserTurn("second", "answer"),
        UserTurn(None, "more", rate("m", "more", 2)),
    )
    assert window(turns, before=1) == (
        Message(Speaker.USER, "first"),
        Message(Speaker.USER, "second"),
    )
    assert window(turns, before=2)[-1] == Message(Speaker.ASSISTANT, "answer")
    (block,) = build_blocks([UserSession("u", "travel", "t", "", turns)])
    assert block.targets[0].user_message == ""


def test_several_rated_responses_of_a_turn_are_targets_with_one_context():
    ratings = rate("a", "original", 4) + rate("b", "candidate", 2)
    session = UserSession("u", "travel", "t", "", (UserTurn("ask", "original", ratings),))
    (block,) = build_blocks([session])
    assert [target.response for target in block.targets] == ["original", "candidate"]
    assert block.targets[0].dialogue == block.targets[1].dialogue
    assert [turn.score for turn in rated_turns(session)] == [4, 2]


@given(st.integers(1, 12), st.data())
def test_a_window_never_holds_the_response_or_what_follows(length, data):
    session = make_session("t", "travel", [4] * length)
    before = data.draw(st.integers(0, length - 1))
    texts = [message.text for message in window(session.turns, before=before)]
    assert texts[-1] == f"ask {before}"
    assert len(texts) == min(5, 2 * before + 1)
    assert f"answer {before}" not in texts


def test_only_the_structured_profile_is_shown():
    profile = {"age": 20, "gender": "", "personality": [], "complete_tid": {"x": [1]}}
    assert known_profile(profile) == {"age": 20}
    assert known_profile({"age": 0}) == {"age": 0}


def test_questions_carry_what_the_paper_names():
    profile = {"occupation": "nurse"}
    travel, _ = build_blocks(
        [make_session("t", "travel", [5], profile=profile), make_session("g", "gifts", [4])]
    )
    asked = memory_question(travel, language="zh")
    assert asked.history == travel.history
    assert (asked.target_scenario, asked.language, asked.profile) == ("travel", "zh", profile)

    memory = Memory(statistics(travel.history), parse_texts(TEXTS, turn_ids=[]).texts)
    question = turn_question(travel.targets[0], memory=memory, language="zh")
    assert question.memory == render(memory, "zh")
    assert question.memory_content == content(memory)
    assert (question.response, question.task_context) == ("answer 0", "task of t")
    assert question.profile == profile


def test_without_memory_the_question_says_nothing_of_the_history():
    (block,) = build_blocks([make_session("t", "travel", [5])])
    question = turn_question(block.targets[0], memory=None, language="en")
    assert (question.memory, question.memory_content) == ("", {})


def test_a_block_of_no_target_still_has_a_question():
    (block,) = build_blocks([make_session("t", "travel", [5])])
    empty = type(block)(user="u", scenario="x", targets=(), history=block.history)
    assert memory_question(empty, language="en").profile == {}


SCENARIOS = ("travel", "gifts", "recipes")
SESSIONS = st.lists(
    st.tuples(
        st.sampled_from(["u", "v"]),
        st.sampled_from(SCENARIOS),
        st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=8,
)


def everything_asked(sessions):
    """All that a judge reads, by user and scenario, with a memory made of the block's history."""
    asked = {}
    for block in build_blocks(sessions):
        memory = Memory(statistics(block.history), parse_texts(TEXTS, turn_ids=[]).texts)
        asked[block.user, block.scenario] = (
            memory_question(block, language="zh"),
            [turn_question(target, memory=memory, language="zh") for target in block.targets],
        )
    return asked


def relabelled(session, score, reason):
    turns = tuple(
        UserTurn(
            turn.user_message,
            turn.response,
            tuple(replace(rating, score=score, reason=reason) for rating in turn.ratings),
        )
        for turn in session.turns
    )
    return UserSession(
        session.user, session.scenario, session.key, session.task_context, turns, session.profile
    )


@given(rows=SESSIONS, score=st.integers(1, 5), scenario=st.sampled_from(SCENARIOS))
def test_no_label_of_the_target_scenario_changes_anything_a_judge_reads(rows, score, scenario):
    sessions = [
        make_session(str(at), name, scores, user=user)
        for at, (user, name, scores) in enumerate(rows)
    ]
    other = [
        relabelled(session, score, Reason.OTHER) if session.scenario == scenario else session
        for session in sessions
    ]
    before, after = everything_asked(sessions), everything_asked(other)
    for user in ("u", "v"):
        assert before.get((user, scenario)) == after.get((user, scenario))


def test_sentinel_labels_of_the_target_scenario_appear_nowhere():
    """The reason is a sentinel that no other text holds; scores would show in the statistics."""
    sessions = [
        make_session("t", "travel", [1, 1, 1]),
        make_session("g", "gifts", [5, 5, 5, 5]),
    ]
    memory, turns = everything_asked(sessions)["u", "travel"]
    seen = repr(asdict(memory)) + repr([asdict(turn) for turn in turns])
    assert Reason.UNUSABLE.value not in seen
    assert turns[0].memory_content["statistics"]["counts"] == [0, 0, 0, 0, 4]
    there = repr(everything_asked(sessions)["u", "gifts"])
    assert Reason.UNUSABLE.value in there


@pytest.mark.parametrize("field", ["score", "reason"])
def test_a_target_has_no_place_for_a_label(field):
    (block,) = build_blocks([make_session("t", "travel", [5])])
    assert field not in asdict(block.targets[0])


def rate_session(session, score):
    rating = HistoryRating(f"session {session.key}", "", score, Reason.OTHER if score < 4 else None)
    return replace(session, rating=rating)


def test_whole_sessions_stand_in_the_place_of_turns():
    blocks = build_blocks(
        [
            rate_session(make_session("t1", "travel", [5, 1]), 2),
            make_session("t2", "travel", [3]),
            rate_session(make_session("g1", "gifts", [None, None]), 5),
        ],
        level=Level.SESSION,
    )
    travel, gifts = blocks
    assert [target.turn_id for target in travel.targets] == ["session t1"]
    (target,) = travel.targets
    said = [message.text for message in target.dialogue]
    assert (said, target.response) == (["ask 0", "answer 0", "ask 1"], "answer 1")
    assert (target.user_message, target.position) == ("ask 0\nask 1", 1)
    (before,) = travel.history
    assert (before.turn_id, before.scenario, before.score) == ("session g1", "gifts", 5)
    assert (before.user_message, before.response) == ("ask 0\nask 1", "answer 0\nanswer 1")
    assert [message.text for message in before.dialogue][-1] == "answer 1"
    assert gifts.history[0].score == 2
    assert gifts.history[0].reason is Reason.OTHER


def test_labels_of_the_other_level_are_not_looked_at():
    session = rate_session(make_session("t", "travel", [5, 4]), 1)
    (turns,) = build_blocks([session])
    assert [target.turn_id for target in turns.targets] == ["t-0", "t-1"]
    assert [turn.score for turn in rated_turns(session)] == [5, 4]
    assert [turn.score for turn in rated_turns(session, level=Level.SESSION)] == [1]
    assert build_blocks([make_session("t", "travel", [5])], level=Level.SESSION) == ()


def test_a_session_that_ends_on_its_user_has_no_last_response():
    session = UserSession(
        "u",
        "travel",
        "t",
        "",
        (UserTurn("a", "b"), UserTurn("c", None)),
        {},
        HistoryRating("1", "", 4),
    )
    (block,) = build_blocks([session], level=Level.SESSION)
    (target,) = block.targets
    assert target.response == ""
    assert target.dialogue == conversation(session.turns)
    assert [message.text for message in target.dialogue] == ["a", "b", "c"]


def test_a_question_carries_what_its_variant_shows():
    (block,) = build_blocks([make_session("t", "travel", [5])])
    question = turn_question(
        block.targets[0], memory=None, language="en", variant=Variant.RETRIEVAL, scenario="travel"
    )
    assert (question.variant, question.scenario) == (Variant.RETRIEVAL, "travel")


def test_a_response_that_goes_on_from_its_own_line_is_read_after_that():
    session = make_session("t1", "travel", [5, 3, 4])
    asked = {"turn_id": "9", "position": 2, "response": "mine 2"}
    target = response_target(session, **asked, line={1: "mine 1"})
    assert [message.text for message in target.dialogue] == [
        "ask 0",
        "answer 0",
        "ask 1",
        "mine 1",
        "ask 2",
    ]
    assert target.earlier == (("ask 0", "answer 0"), ("ask 1", "mine 1"))
    assert (target.turn_id, target.position, target.user_message) == ("9", 2, "ask 2")
    plain = response_target(session, **asked, line={})
    assert [message.text for message in plain.dialogue][3] == "answer 1"


def test_an_unanswered_turn_is_no_earlier_turn():
    turns = (UserTurn("ask 0", None), UserTurn(None, "answer 1"), UserTurn("ask 2", None))
    session = UserSession("u", "travel", "t", "", turns)
    target = response_target(session, turn_id="1", position=2, response="yes", line={})
    assert target.earlier == (("", "answer 1"),)


def test_a_rated_session_is_the_target_that_it_is_without_its_rating():
    session = make_session("t1", "travel", [None, None])
    rated = replace(session, rating=HistoryRating("7", "", 2))
    (block,) = build_blocks([rated], level=Level.SESSION)
    assert block.level is Level.SESSION
    assert block.targets == (session_target(session, turn_id="7"),)
    assert block.targets[0].response == "answer 1"
